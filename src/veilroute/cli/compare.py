"""`veilroute compare`: what more privacy costs; for all starts and goals of a map, what one privacy costs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from cyclopts import Parameter
from rich.table import Table

from veilroute.analysis.all_pairs import MAX_POINTS
from veilroute.analysis.frontier import Frontier, FrontierPoint
from veilroute.app.compare import compare, pairs
from veilroute.app.problem_file import override
from veilroute.app.requests import CompareRequest, PairsRequest, ProblemRequest
from veilroute.base.errors import InvalidInputError
from veilroute.base.io import dump_canonical, write_file
from veilroute.base.run import Run
from veilroute.cli import console
from veilroute.cli.console import DONE, INTERRUPTED, NOTHING_ANONYMIZED, JsonOption, TimeLimitOption, read_time_limit
from veilroute.cli.options import FileArgument, complete, out_option, takes_request
from veilroute.domain.geography import distance_text, duration_text
from veilroute.model.exposure import percent
from veilroute.model.problem import Privacy

_CHARTS = (".json", ".png", ".svg")
_HEAT_MAPS = (".png", ".svg", ".pdf", ".json")
_Number = TypeVar("_Number", int, float)


@takes_request(ProblemRequest, shown={}, without=("k", "risk", "apart", "until", "mechanism"))
def run_compare(
    problem: FileArgument,
    /,
    *,
    request: ProblemRequest,
    k: Annotated[
        str | None,
        Parameter(name=("-k", "--k"), metavar="INT,...", help="How many places must stay possible. [2,3,4,5]"),
    ] = None,
    risk: Annotated[
        str | None,
        Parameter(metavar="BETA,...", help="How sure an observer who saw the route can be of any one area."),
    ] = None,
    ell: Annotated[
        str | None,
        Parameter(
            name=("--apart", "--ell"), metavar="FLOAT,...", help="How far apart places must be. [0: different places]"
        ),
    ] = None,
    m: Annotated[
        str | None,
        Parameter(name=("--until", "--m"), metavar="INT|end,...", help="For how many nodes of the route. [end]"),
    ] = None,
    mechanism: Annotated[
        str | None,
        Parameter(metavar="partition|randomised|both", help="How places get their group. [both]", show=False),
    ] = None,
    budget: Annotated[
        str | None, Parameter(metavar="PERCENT", help="Name the most private point that costs no more.")
    ] = None,
    all_pairs: Annotated[
        str | None,
        Parameter(
            name=("--pairs", "--points"),
            metavar="N|all",
            help="Plan instead for all pairs of start and goal among N points of the map, or all, with one privacy.",
        ),
    ] = None,
    time_limit: TimeLimitOption = None,
    out: Annotated[
        Path | None,
        out_option(
            "A chart (.png, .svg), or the points (.json); with --pairs heat maps, also as .pdf, or all figures."
        ),
    ] = None,
    playbooks: Annotated[
        Path | None,
        Parameter(
            metavar="DIR",
            help="Write the playbook of each point that hides somebody here, as playbook-0.json, ...",
            show=False,
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Compare what privacy costs: how much longer routes get with k or the risk, the distance apart and the time.

    Every combination of the values is planned, and each is what `plan` gives by itself. The points share their work.
    The options of `plan` that say what the problem is can be used here too: `veilroute compare --help-all`.
    """
    if all_pairs is None:
        console.check_out(out, endings=_CHARTS)
    share = None if budget is None else _share(budget)
    limit = read_time_limit(time_limit, "a point" if all_pairs is None else "")
    ks, risks = _numbers("k", k, int), _numbers("risk", risk, float)
    ells, ms = _numbers("apart", ell, float), _lengths(m)
    asked = complete(request, [problem])[0]
    if all_pairs is not None:
        for key, given in (("budget", budget), ("playbooks", playbooks)):
            if given is not None:
                raise InvalidInputError(key, "none with --pairs, which compares no privacies", str(given))
        untils = ["end" if each is None else str(each) for each in ms]
        named: dict[str, Sequence[Any]] = {"k": ks, "risk": risks, "apart": ells, "until": untils}
        if several := next((key for key, each in named.items() if len(each) > 1), None):
            raise InvalidInputError(several, "one value with --pairs")
        single = {key: each[0] for key, each in named.items() if each}
        asked = override(asked, single | ({} if mechanism in (None, "both") else {"mechanism": mechanism}))
        return _compare_pairs(
            PairsRequest(asked=asked, points=_read_points("--pairs", all_pairs)), limit, out, json=json
        )
    wanted = CompareRequest(
        asked=asked, ks=tuple(ks), risks=tuple(risks), aparts=tuple(ells), untils=tuple(ms),
        mechanism=mechanism or "both", time_limit_s=limit.seconds, budget=share, playbooks=playbooks,
    )  # fmt: skip
    with (
        console.live_progress(limit=limit) as report,
        console.polite_interrupt("stopping with the points so far") as stop,
    ):
        made = compare(wanted, Run(report, stop, console.remark, console.tell_compiling))
    found = made.frontier
    if out is not None:
        _write(found, out, share)
    if json:
        console.emit_json(made.to_dict())
    else:
        _print(found, share, out)
    if made.is_stopped:
        console.remark(f"interrupted; these are {len(found.points)} of {made.num_wanted} points")
        return INTERRUPTED
    if any(point.status == "feasible" for point in found.points):
        limit.tell_if_reached(made.runtime_s)
    return DONE if any(point.num_anonymized for point in found.points) else NOTHING_ANONYMIZED


@takes_request(ProblemRequest, without=("map",))
def run_survey(
    instance: FileArgument,
    /,
    *,
    request: ProblemRequest,
    points: Annotated[
        str, Parameter(metavar="N|all", help="How many points of the map to draw, for all pairs of them; or all.")
    ] = str(PairsRequest.points),
    planner: Annotated[str, Parameter(help="Any planner of `plan` that needs nothing else.")] = "optimal",
    partitioner: Annotated[str | None, Parameter(help="For pbp and m-pbp.")] = None,
    time_limit: TimeLimitOption = None,
    out: Annotated[Path | None, out_option("Heat maps (.png, .svg, .pdf), or all figures (.json).")] = None,
    json: JsonOption = False,
) -> int:
    """Plan for all pairs of start and goal of a map: who can be hidden where, and at what cost.

    Trips in the file play no part. Where neither the file nor an option has candidates, eight are drawn.
    """
    wanted = PairsRequest(
        asked=complete(request, [instance])[0],
        points=_read_points("--points", points),
        planner=planner,
        partitioner=partitioner,
    )
    return _compare_pairs(wanted, read_time_limit(time_limit), out, json=json)


def _compare_pairs(wanted: PairsRequest, limit: console.TimeLimit, out: Path | None, *, json: bool) -> int:
    """Survey all pairs, and say or draw what was found."""
    console.check_out(out, endings=_HEAT_MAPS)
    with (
        console.live_progress(limit=limit) as report,
        console.polite_interrupt("stopping with the pairs so far") as stop,
    ):
        run = Run(report, stop, console.remark, console.tell_compiling)
        survey = pairs(replace(wanted, time_limit_s=limit.seconds), run)
    if out is not None and out.suffix.lower() == ".json":
        write_file(out, dump_canonical(survey.to_dict()))
    elif out is not None:
        from veilroute.plotting import draw_survey  # here, because it loads matplotlib

        draw_survey(survey, out)
    if json:
        console.emit_json(survey.to_dict())
    else:
        console.emit(survey.text())
        if out is not None:
            console.emit(f"{'Figures' if out.suffix.lower() == '.json' else 'Picture'}: {out}\n")
    if len(survey.pairs) < survey.num_wanted:
        why = "interrupted" if stop() else "out of time"
        console.remark(f"{why}; these are {len(survey.pairs)} of {survey.num_wanted} pairs")
        if stop():
            return INTERRUPTED
    return DONE if survey.num_anonymized else NOTHING_ANONYMIZED


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
        raise InvalidInputError("budget", "a percentage >= 0, such as 20%", text)
    return value / 100


def _numbers(key: str, text: str | None, kind: Callable[[str], _Number]) -> list[_Number]:
    """The numbers of a list with commas, each once."""
    values: list[_Number] = []
    for part in [] if text is None else text.split(","):
        try:
            values.append(kind(part))
        except ValueError:
            raise InvalidInputError(key, "numbers separated by commas, such as 2,3,4", text) from None
    return list(dict.fromkeys(values))


def _lengths(text: str | None) -> Sequence[int | None]:
    if text is None:
        return ()
    parts = [part.strip() for part in text.split(",")]
    try:
        return list(dict.fromkeys(None if part in ("inf", "end") else int(part) for part in parts))
    except ValueError:
        raise InvalidInputError("until", "whole numbers >= 1 or end, separated by commas", text) from None


def _read_points(option: str, text: str) -> int | None:
    if text.strip().lower() == "all":
        return None
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= MAX_POINTS:
        raise InvalidInputError(option, f"a number from 1 to {MAX_POINTS}, or all", text)
    return int(text)
