"""`veilroute frontier`: what privacy costs."""

import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from cyclopts import Parameter
from rich.table import Table

from veilroute.analysis.frontier import Frontier, FrontierPoint, frontier, privacies_of
from veilroute.app.load import load_instance
from veilroute.app.requests import ProblemRequest
from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError, UnknownMethodError
from veilroute.base.io import dump_canonical, write_file
from veilroute.cli import console
from veilroute.cli.console import DONE, INTERRUPTED, NOTHING_ANONYMIZED, JsonOption, TimeLimitOption, read_time_limit
from veilroute.cli.options import FileArgument, complete, takes_request
from veilroute.domain.geography import distance_text, duration_text
from veilroute.model.exposure import percent
from veilroute.model.playbook import Playbook
from veilroute.model.problem import MECHANISMS, Privacy

_OUTPUTS = (".json", ".png", ".svg")
_USUAL_KS = (2, 3, 4, 5)
_Number = TypeVar("_Number", int, float)


@takes_request(ProblemRequest, without=("k", "risk", "apart", "until", "mechanism"))
def run_frontier(
    instance: FileArgument,
    /,
    *,
    request: ProblemRequest,
    k: Annotated[
        str | None,
        Parameter(
            name=(
                "-k",
                "--k",
            ),
            metavar="INT,...",
            help="How many candidates must stay possible. [2,3,4,5]",
        ),
    ] = None,
    risk: Annotated[
        str | None, Parameter(metavar="BETA,...", help="How probable a place may be to whoever saw the route.")
    ] = None,
    ell: Annotated[
        str | None,
        Parameter(
            name=("--apart", "--ell"), metavar="FLOAT,...", help="How far apart they must stand. [0: different places]"
        ),
    ] = None,
    m: Annotated[
        str | None,
        Parameter(name=("--until", "--m"), metavar="INT|inf,...", help="For how many nodes of the route. [inf]"),
    ] = None,
    mechanism: Annotated[
        str, Parameter(metavar="partition|randomised|both", help="How candidates get their class.")
    ] = "both",
    budget: Annotated[
        str | None, Parameter(metavar="PERCENT", help="Name the most private point that costs no more.")
    ] = None,
    time_limit: TimeLimitOption = None,
    out: Annotated[
        Path | None,
        Parameter(
            name=(
                "-o",
                "--out",
            ),
            metavar="FILE",
            help="A chart (.png, .svg), or the points (.json).",
        ),
    ] = None,
    playbooks: Annotated[
        Path | None,
        Parameter(
            metavar="DIR", help="Write the playbook of each point that hides somebody here, as playbook-0.json, ..."
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Compute what privacy costs: how much longer routes get with k or the risk, ell, m and the mechanism.

    Every combination of the values is planned, and each is what `plan` gives by itself. The points share their work.
    """
    if out is not None:
        console.check_out(out)
        if out.suffix.lower() not in _OUTPUTS:
            raise UnknownMethodError("--out format", out.suffix or str(out), _OUTPUTS)
    most, limit = None if budget is None else _share(budget), read_time_limit(time_limit, "a point")
    check_name("--mechanism", mechanism, (*MECHANISMS, "both"))
    ks, risks = _numbers("--k", k, int), _numbers("--risk", risk, float)
    ells, ms = _numbers("--ell", ell, float), _lengths(m)
    loaded = load_instance(complete(request, [instance])[0], console.plain_run())
    if not ks and not risks:
        ks = [k for k in _USUAL_KS if k <= len(loaded.problem.counted)] or [2]
    if playbooks is not None:
        _check_playbooks(playbooks)
    mechanisms = MECHANISMS if mechanism == "both" else (mechanism,)
    wanted = list(privacies_of(loaded.privacy, ks=ks, risks=risks, ells=ells, ms=ms, mechanisms=mechanisms))
    more: dict[str, Any] = {"seed": request.problem.seed or 0}
    if playbooks is not None:
        more["keep"] = partial(_keep, playbooks)
    began = time.monotonic()
    with (
        console.live_progress(limit=limit) as report,
        console.polite_interrupt("stopping with the points so far") as stop,
    ):
        found = _compute(
            partial(frontier, loaded.problem, wanted, time_limit_s=limit.seconds, progress=report, **more),
            stop,
        )
    if out is not None:
        _write(found, out, most)
    if json:
        answer = {} if most is None else {"budget": most, "answer": found.answer(most), "best": _best(found, most)}
        console.emit_json({**found.to_dict(), **answer})
    else:
        _print(found, most, out)
    if stop():
        console.remark(f"interrupted; these are {len(found.points)} of {len(wanted)} points")
        return INTERRUPTED
    if any(point.status == "feasible" for point in found.points):
        limit.tell_if_reached(time.monotonic() - began)
    return DONE if any(point.num_anonymized for point in found.points) else NOTHING_ANONYMIZED


def _compute(work: Callable[..., Frontier], stop: Callable[[], bool]) -> Frontier:
    """Do the work; says so when kernels must be compiled first."""
    from veilroute.kernels.jit import remember_types, telling

    remember_types()
    with telling(cache(partial(console.remark, "compiling for this machine: this takes some seconds, once"))):
        return work(should_stop=stop)


def _check_playbooks(folder: Path) -> None:
    """Make the folder for playbooks; those of other points must not stay beside the new ones."""
    if folder.exists() and (not folder.is_dir() or any(folder.glob("playbook-*.json"))):
        raise InvalidInputError("--playbooks", "a folder without playbooks of an earlier frontier", str(folder))
    folder.mkdir(parents=True, exist_ok=True)


def _keep(folder: Path, number: int, playbook: Playbook) -> None:
    if playbook.claims.num_anonymized:
        playbook.write(folder / f"playbook-{number}.json")


def _best(found: Frontier, budget: float) -> dict[str, object] | None:
    best = found.best_within(budget)
    return None if best is None else best.to_dict()


def _write(found: Frontier, out: Path, budget: float | None) -> None:
    if out.suffix.lower() == ".json":
        write_file(out, dump_canonical(found.to_dict()))
        return
    from veilroute.plotting import draw_frontier

    draw_frontier(found, out, budget=budget)


def _print(found: Frontier, budget: float | None, out: Path | None) -> None:
    screen = console.stdout()
    screen.print(_table(found, None if budget is None else found.best_within(budget)))
    measure = found.points[0].privacy.measure if found.points else "cost"
    unit = found.unit if measure == "cost" else f"metres {measure}"
    if unit is not None:
        screen.print(f"(ell in {unit})")
    if budget is not None:
        screen.print(found.answer(budget))
    if out is not None:
        screen.print(f"{'Points' if out.suffix.lower() == '.json' else 'Chart'}: {out}")


def _table(found: Frontier, best: FrontierPoint | None) -> Table:
    """One row a point; what is the same for all is left out, and the best within the budget is marked."""
    columns: dict[str, Callable[[FrontierPoint], str]] = {
        "": lambda point: "*" * (point is best),
        "privacy": lambda point: _level(point.privacy),
        "ell": lambda point: f"{point.privacy.ell:g}",
        "m": lambda point: "inf" if point.privacy.m is None else str(point.privacy.m),
        "mechanism": lambda point: point.privacy.mechanism,
        "hidden": lambda point: f"{point.num_anonymized}/{point.num_coverable}",
        "longer": lambda point: "-" if point.longer is None else f"{point.longer:.1%}",
        "in all": lambda point: _cost(found, point.total_extra),
        "worst": lambda point: _cost(found, point.worst_extra),
        "status": lambda point: point.status,
    }
    table = Table(box=None, pad_edge=False, header_style="bold")
    cells = {name: [show(point) for point in found.points] for name, show in columns.items()}
    kept = [name for name, texts in cells.items() if name not in ("ell", "m") or len(set(texts)) > 1]
    for name in kept:
        table.add_column(name, justify="left" if name in ("mechanism", "status") else "right")
    for row in zip(*(cells[name] for name in kept), strict=True):
        table.add_row(*row)
    return table


def _cost(found: Frontier, cost: float | None) -> str:
    if cost is None:
        return "-"
    say = {"seconds": duration_text, "metres": distance_text}.get(found.unit or "")
    return f"{cost:.6g}" if say is None else say(cost)


def _level(privacy: Privacy) -> str:
    return f"k={privacy.k}" if privacy.risk is None else percent(privacy.risk)


def _share(text: str) -> float:
    """A budget in percent, with or without its sign, as a share."""
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise InvalidInputError("--budget", "a percentage >= 0, such as 20%", text)
    return value / 100


def _numbers(option: str, text: str | None, kind: Callable[[str], _Number]) -> list[_Number]:
    """The numbers of a list with commas, each once."""
    values: list[_Number] = []
    for part in [] if text is None else text.split(","):
        try:
            values.append(kind(part))
        except ValueError:
            raise InvalidInputError(option, "numbers separated by commas, such as 2,3,4", text) from None
    return list(dict.fromkeys(values))


def _lengths(text: str | None) -> Sequence[int | None]:
    if text is None:
        return ()
    parts = [part.strip() for part in text.split(",")]
    try:
        return list(dict.fromkeys(None if part == "inf" else int(part) for part in parts))
    except ValueError:
        raise InvalidInputError("--m", "whole numbers >= 1 or inf, separated by commas", text) from None
