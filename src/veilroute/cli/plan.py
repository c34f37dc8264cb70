"""`veilroute plan`: compute a playbook."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from veilroute.bench.executors import peak_memory_mb
from veilroute.cli.console import (
    DONE,
    INTERRUPTED,
    NOTHING_ANONYMIZED,
    Interrupt,
    check_out,
    emit,
    gap_text,
    live_progress,
    remark,
    stdout,
)
from veilroute.cli.instances import (
    FileArgument,
    InstanceOptions,
    load_instance,
    takes_instance_options,
)
from veilroute.domain.graph import Label
from veilroute.errors import InvalidInputError
from veilroute.jsontext import dump_canonical
from veilroute.playbook import Playbook, PlaybookClass, read_playbook
from veilroute.problem import Privacy, Problem
from veilroute.progress import ProgressCallback

_SAYS_LITTLE = 1.0
"""A gap above which the bound is of no use to judge a plan by."""

_MOST_REASONS = 12
_MOST_ROWS = 200


@takes_instance_options
def run_plan(
    instance: FileArgument,
    options: InstanceOptions,
    planner: Annotated[str | None, typer.Option(help="optimal, pbp, m-pbp, cbp, rbp or reuse. [optimal]")] = None,
    partitioner: Annotated[
        str | None, typer.Option(help="exact, local-search, merge-bb, df-bb or naive; for pbp and m-pbp.")
    ] = None,
    merge_order: Annotated[str | None, typer.Option(help="cost-asc or random; for merge-bb.")] = None,
    heuristic: Annotated[
        str | None, typer.Option(help="tunnel, blind, singleton, tree or tour; for merge-bb, df-bb and naive.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="astar or fields, to find covering walks; for merge-bb, df-bb and naive.")
    ] = None,
    reuse: Annotated[
        Path | None, typer.Option(metavar="PLAYBOOK", help="Keep the classes of this earlier playbook, for a new trip.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(metavar="SECONDS", help="Stop with the best so far.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the playbook here.")] = None,
    embed: Annotated[bool, typer.Option(help="Keep the whole map in the playbook, or only its hash.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Compute a playbook: which candidates share a route, and the routes.

    Options override what the instance file says. The secret is not needed here; see `veilroute route`.
    """
    if out is not None:
        check_out(out)
    given = {"partitioner": partitioner, "merge_order": merge_order, "heuristic": heuristic, "engine": engine}
    extra: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    earlier: Playbook | None = None
    if reuse is not None:
        planner = _check_reuse(planner, extra)
        extra["partition"] = earlier = read_playbook(reuse)
    elif planner == "reuse":
        raise InvalidInputError("--reuse", "the playbook of an earlier trip, for the planner reuse")
    loaded = load_instance(instance, options, earlier)
    with live_progress() as report, Interrupt() as interrupt:
        playbook, runtime_s = timed_solve(
            loaded.problem,
            loaded.privacy,
            planner="optimal" if planner is None else planner,
            time_limit_s=time_limit,
            seed=options.seed,
            progress=report,
            should_stop=interrupt,
            **extra,
        )
    if out is not None:
        playbook.write(out, embed_domain=embed)
    if json:
        emit(dump_canonical(plan_summary(playbook, runtime_s)).decode())
    else:
        print_plan(playbook, runtime_s, out)
    if interrupt.is_requested:
        remark("interrupted; this is the best playbook so far")
        return INTERRUPTED
    return DONE if playbook.claims.num_anonymized else NOTHING_ANONYMIZED


def _check_reuse(planner: str | None, extra: dict[str, Any]) -> str:
    """The planner for --reuse, after refusing options that would make other classes."""
    if planner not in (None, "reuse"):
        raise InvalidInputError("--planner", "reuse, or none named, with --reuse", planner)
    if extra:
        option = "--" + next(iter(extra)).replace("_", "-")
        raise InvalidInputError(option, "none with --reuse, which keeps the classes of the earlier playbook")
    return "reuse"


def timed_solve(
    problem: Problem, privacy: Privacy, *, progress: ProgressCallback | None = None, **options: Any
) -> tuple[Playbook, float]:
    """Solve and measure, imports excluded; says so when kernels must be compiled first."""
    from veilroute.kernels.jit import postpone_blas, telling
    from veilroute.solver import solve

    postpone_blas()
    import veilroute.planners.registry  # noqa: F401

    began = time.perf_counter()
    with telling(_CompileNotice()):
        playbook = solve(problem, privacy, progress=progress, **options)
    return playbook, time.perf_counter() - began


class _CompileNotice:
    """Says once that kernels are being compiled."""

    def __init__(self) -> None:
        self._is_said = False

    def __call__(self) -> None:
        if not self._is_said:
            remark("compiling for this machine: this takes some seconds, and only the first time")
        self._is_said = True


def plan_summary(playbook: Playbook, runtime_s: float) -> dict[str, Any]:
    """The object that `plan --json` prints."""
    from veilroute.diagnosis import find_obstacles

    claims, privacy = playbook.claims, playbook.privacy
    return {
        "status": playbook.status,
        "planner": playbook.planner,
        **privacy.to_dict(),
        "num_candidates": claims.num_candidates,
        "num_coverable": claims.num_coverable,
        "num_anonymized": claims.num_anonymized,
        "num_anonymizable": claims.num_anonymizable,
        "apr": claims.apr,
        "delta": claims.delta,
        "mac": claims.mac,
        "mac_by_trip": claims.mac_by_trip,
        "mac_lower_bound": claims.mac_lower_bound,
        "gap": claims.gap,
        "classes": [_class_summary(group, privacy.m) for group in playbook.classes],
        "uncoverable": playbook.uncoverable,
        "obstacles": [obstacle.to_dict() for obstacle in find_obstacles(playbook)],
        "names": [[label, name] for label, name in playbook.names.items()],
        "runtime_s": runtime_s,
        "peak_memory_mb": peak_memory_mb(),
    }


def _class_summary(group: PlaybookClass, m: int | None) -> dict[str, Any]:
    first = group.routes[0]
    summary: dict[str, Any] = {"members": group.members, "anonymized": group.anonymized}
    if m is None:
        summary |= {"cost": first.cost, "route": first.nodes}
    else:
        costs = _member_costs(group, 0)
        summary |= {"cost": sum(costs) / len(costs), "costs": costs, "prefix": group.shared(0)[:m]}
    if len(group.routes) > 1 and m is None:
        summary["routes"] = [{"trip": r.trip, "cost": r.cost, "route": r.nodes} for r in group.routes]
    elif len(group.routes) > 1:
        summary["prefixes"] = [
            {"trip": r.trip, "costs": _member_costs(group, r.trip), "prefix": group.shared(r.trip)[:m]}
            for r in group.routes
        ]
    return summary


def _member_costs(group: PlaybookClass, trip: int) -> list[float]:
    return [group.route_of(member, trip).cost for member in group.members]


def print_plan(playbook: Playbook, runtime_s: float, out: Path | None) -> None:
    """The readable summary."""
    console = stdout()
    claims = playbook.claims
    for line in headline(playbook):
        console.print(line)
    table = Table(box=None, pad_edge=False, header_style="bold")
    streets = None if playbook.domain is None else playbook.domain.streets
    for name in ("class", "size", "cost" if streets is None else streets.unit, "route", "members"):
        table.add_column(name, justify="left" if name == "members" else "right", overflow="fold")
    hidden = [group for group in playbook.classes if group.anonymized]
    for number, group in enumerate(hidden[:_MOST_ROWS], start=1):
        costs = " ".join(_cost_text(group, r.trip) for r in group.routes)
        table.add_row(
            str(number),
            str(len(group.members)),
            costs,
            _route_text(group),
            _listing(playbook, group.members),
        )
    if claims.num_anonymized:
        console.print(table)
    if len(hidden) > _MOST_ROWS:
        console.print(f"... and {len(hidden) - _MOST_ROWS} classes more: --json, or the playbook")
    exposed = [label for group in playbook.classes if not group.anonymized for label in group.members]
    if exposed:
        console.print(f"Not protected (no route is given): {_listing(playbook, exposed)}")
    if playbook.uncoverable:
        console.print(f"Cannot be covered: {_listing(playbook, playbook.uncoverable)}")
    if exposed or playbook.uncoverable:
        _print_shortfall(console, playbook)
    peak = peak_memory_mb()
    console.print(f"Planned in {runtime_s:.2f} s" + (f", peak memory {peak:.0f} MB." if peak is not None else "."))
    if out is not None:
        console.print(f"Playbook: {out}   (check it: veilroute audit {out})")
    else:
        console.print("Add -o FILE to keep the playbook.")


def _listing(playbook: Playbook, labels: Sequence[Label]) -> str:
    return (", " if playbook.names else " ").join(playbook.name(label) for label in labels)


def _print_shortfall(console: Console, playbook: Playbook) -> None:
    """Against what the figures are to be read, and why candidates are missing."""
    from veilroute.diagnosis import find_obstacles

    claims = playbook.claims
    shares = f"{claims.num_coverable} of {claims.num_candidates} candidates can be covered"
    if claims.num_coverable:
        shares += f", {claims.num_anonymized} of these are hidden (APR {claims.apr:.3g})"
    if claims.num_anonymizable is not None and claims.delta is not None:
        shares += f", {claims.num_anonymizable} could be in some class (delta {claims.delta:.3g})"
    console.print(shares + ".")
    obstacles = find_obstacles(playbook, limit=_MOST_REASONS + 1)
    for obstacle in obstacles[:_MOST_REASONS]:
        console.print(f"  {playbook.name(obstacle.candidate)}: {obstacle.reason}.")
    if len(obstacles) > _MOST_REASONS:
        console.print("  More reasons: --json")


def _cost_text(group: PlaybookClass, trip: int) -> str:
    costs = _member_costs(group, trip)
    low, high = f"{min(costs):g}", f"{max(costs):g}"
    return low if low == high else f"{low} to {high}"


def _route_text(group: PlaybookClass) -> str:
    return f"{len(group.shared(0))} nodes{' shared' if group.rests(0) else ''}"


def headline(playbook: Playbook) -> list[str]:
    """What was reached, in two sentences, and what is to be known about them."""
    claims, privacy = playbook.claims, playbook.privacy
    span = "the whole route" if privacy.m is None else f"the first {privacy.m} nodes"
    goal = f"k={privacy.k}, ell={privacy.distance_text}, {span}, spread by {privacy.spread}"
    if playbook.status == "infeasible":
        return [f"Nothing can be hidden: no class of candidates reaches {goal}.", "Lower k or ell, or add candidates."]
    if not claims.num_anonymized and playbook.planner == "reuse":
        return [
            f"Nothing is hidden: no class of the earlier playbook reaches {goal} on this trip.",
            "Lower k or ell, or plan all trips together, before the first one is taken.",
        ]
    if not claims.num_anonymized:
        return [f"Nothing is hidden: no class was found that reaches {goal}.", "That is not proved impossible."]
    num_classes = sum(group.anonymized for group in playbook.classes)
    word = "class" if num_classes == 1 else "classes"
    lines = [
        f"{claims.num_anonymized} of {claims.num_coverable} candidates hidden in {num_classes} {word} ({goal}).",
        f"Routes are {claims.mac:.1%} longer on average than without hiding "
        f"(MAC {claims.mac:.6g}, {_proof_text(playbook)}).",
    ]
    if claims.gap is not None and claims.gap > _SAYS_LITTLE and playbook.status != "optimal":
        bound = f"The proved bound of {claims.mac_lower_bound:.3g}"
        lines.append(f"{bound} says little about how good the plan is: allow more time, or lower k.")
    if privacy.m is not None and any(group.member_routes for group in playbook.classes):
        lines.append(f"After {privacy.m} nodes the routes of a class may part: from there on nothing is promised.")
    return lines


def _proof_text(playbook: Playbook) -> str:
    """How good the plan is proved to be."""
    claims = playbook.claims
    if playbook.status == "optimal":
        return "proved optimal"
    gap = "" if claims.gap is None else gap_text(claims.gap)
    if not gap:
        return "not proved optimal"
    best = "the optimum" if claims.num_anonymized == claims.num_coverable else "the best that hides as many"
    return f"at most {gap} above {best}: bound {claims.mac_lower_bound:.6g}"
