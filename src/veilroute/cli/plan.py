"""`veilroute plan`: compute a playbook."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from typer import Option

from veilroute.bench.executors import Stopwatch, peak_memory_mb
from veilroute.checks import check_name
from veilroute.cli import console
from veilroute.cli.beside import link_warning
from veilroute.cli.console import (
    BAD_INPUT,
    DONE,
    INTERRUPTED,
    NOTHING_ANONYMIZED,
    JsonOption,
    TimeLimit,
    TimeLimitOption,
    read_time_limit,
)
from veilroute.cli.fleet_plan import FleetPlan, plan_for_fleet, read_request
from veilroute.cli.instances import FilesArgument, InstanceOptions, load_instance, takes_instance_options
from veilroute.cli.ledger import SinceOption, enter_playbook, shortfall_lines
from veilroute.cluster import hush_dask
from veilroute.diagnosis import MAX_OBSTACLES, Obstacle, coverable_positions, find_obstacles
from veilroute.domain.geography import cost_text
from veilroute.domain.graph import Label
from veilroute.errors import InvalidInputError, VeilrouteError
from veilroute.ledger import Ledger, read_ledger
from veilroute.playbook import Claims, Playbook, PlaybookClass, read_playbook
from veilroute.problem import OBJECTIVES, ROUNDING, Past, Privacy, Problem
from veilroute.progress import COUNTED, Progress, ProgressCallback, Watch
from veilroute.registry import read_option
from veilroute.rules import least_risk
from veilroute.shortfalls import Shortfall
from veilroute.solver import solve

_SAYS_LITTLE = 1.0  # a gap above which the bound is of no use to judge a plan by
_MOST_REASONS = 12
_MOST_ROWS = 200


@takes_instance_options
def run_plan(
    instances: FilesArgument,
    options: InstanceOptions,
    planner: str | None = Option(None, help="optimal, pbp, m-pbp, cbp, rbp, constructive, reuse or fleet. [optimal]"),
    partitioner: str | None = Option(None, help="exact, local-search, merge-bb, df-bb or naive; for pbp and m-pbp."),
    merge_order: str | None = Option(None, help="cost-asc or random; for merge-bb."),
    heuristic: str | None = Option(None, help="tunnel, blind, singleton, tree or tour; for merge-bb, df-bb and naive."),
    engine: str | None = Option(None, help="astar or fields, to find covering walks; for merge-bb, df-bb and naive."),
    option: list[str] | None = Option(
        None, metavar="NAME=VALUE", help="A further option of a planner or partitioner, also of a plug-in; repeatable."
    ),
    reuse: Path | None = Option(
        None, metavar="PLAYBOOK", help="Keep the classes of this earlier playbook, for a new trip."
    ),
    ledger: Path | None = Option(
        None, metavar="FILE", help="Plan under this ledger: everybody stays hidden from who links its trips with this."
    ),
    since: SinceOption = None,
    enter: bool = Option(False, "--enter", help="Enter the playbook in the ledger as well, in use from today."),
    objective: str | None = Option(
        None, help="What to keep small: mac (the mean ratio of detours) or total (their sum). [mac]"
    ),
    purpose: str | None = Option(
        None, "--for", metavar="trips|fleet", help="Classes for single trips, or for the tours of a fleet. [trips]"
    ),
    orders_per_day: float | None = Option(
        None, metavar="N", help="With --for fleet: how many order on a day. [15 % of the candidates]"
    ),
    customers: Path | None = Option(
        None, metavar="FILE", help="With --for fleet: when customers can be visited and how often they order."
    ),
    contingencies: str | None = Option(
        None,
        metavar="'A,B C,D'|'worst N'",
        help="Also plan what to do where one of these roads is closed, or one of the N that hurt most.",
    ),
    time_limit: TimeLimitOption = None,
    workers: int | None = Option(None, metavar="N", help="Threads on this machine. [one for each core]"),
    dask: str | None = Option(
        None, metavar="ADDRESS", help="Have the Dask cluster with this scheduler make the sweeps of the map."
    ),
    out: Path | None = Option(None, "-o", "--out", metavar="FILE", help="Write the playbook here."),
    out_dir: Path | None = Option(
        None, metavar="DIR", help="Plan all files, one after the other, and write DIR/NAME.json for each NAME.*."
    ),
    embed: bool = Option(True, help="Keep the whole map in the playbook, or only its hash."),
    json: JsonOption = False,
) -> int:
    """Compute a playbook: which candidates share a route, and the routes.

    Options override what the instance file says. The secret is not needed here; see `veilroute route`.
    """
    asked = _Asked(
        options, planner, partitioner, merge_order, heuristic, engine, tuple(option or ()), reuse, ledger, since, enter,
        objective, purpose, orders_per_day, customers, contingencies, read_time_limit(time_limit), workers, dask,
    )  # fmt: skip
    if out_dir is not None or len(instances) > 1:
        return _plan_all(instances, asked, out, out_dir, embed=embed, as_json=json)
    if out is not None:
        console.check_out(out)
    made = _make_plan(instances[0], asked, has_out=out is not None)
    playbook, record = made.playbook, made.record
    if out is not None:
        if record is None and (line := link_warning(playbook, out.parent)):
            console.remark(line)
        playbook.write(out, embed_domain=embed)
    shortfalls = () if record is None else record.explain(playbook)
    if json:
        figures = {} if made.tours is None else {"fleet": made.tours.summary()}
        console.emit_json({**plan_summary(playbook, made.runtime_s, shortfalls), **made.effort, **figures})
    else:
        print_plan(playbook, made.runtime_s, out, shortfalls)
        if made.tours is not None and (told := made.tours.text()):
            console.emit(told + "\n")
    if made.is_stopped:
        console.remark("interrupted; this is the best playbook so far")
        return INTERRUPTED
    if playbook.status == "feasible":
        asked.limit.tell_if_reached(made.runtime_s)
    if playbook.claims.num_anonymized:
        if record is not None and enter:
            return enter_playbook(record, playbook, is_quiet=json)
        if record is not None and not json:
            console.emit(f"Before it is used, enter it: veilroute ledger add {ledger} {out or 'PLAYBOOK'}\n")
        return DONE
    if (least := least_possible_risk(playbook)) is not None:
        console.remark(f"--risk: no plan reaches {playbook.privacy.beta:g}; the least that is possible here is {least}")
    return NOTHING_ANONYMIZED


@dataclass(frozen=True)
class _Asked:
    """What the command line asks for besides files."""

    options: InstanceOptions
    planner: str | None
    partitioner: str | None
    merge_order: str | None
    heuristic: str | None
    engine: str | None
    option: tuple[str, ...]
    reuse: Path | None
    ledger: Path | None
    since: str | None
    enter: bool
    objective: str | None
    purpose: str | None
    orders_per_day: float | None
    customers: Path | None
    contingencies: str | None
    limit: TimeLimit
    workers: int | None
    dask: str | None


@dataclass(frozen=True)
class _Made:
    """A plan, and what is to be told of how it came about."""

    playbook: Playbook
    runtime_s: float
    record: Ledger | None
    tours: FleetPlan | None
    effort: dict[str, float | int | None]
    is_stopped: bool


def _make_plan(instance: Path, asked: _Asked, *, has_out: bool) -> _Made:
    """Read the file, apply the options, and plan."""
    options, planner = asked.options, asked.planner
    if asked.workers is not None and asked.dask is not None:
        raise InvalidInputError("--workers", "--workers or --dask, not both")
    extra: dict[str, Any] = {
        "partitioner": asked.partitioner, "merge_order": asked.merge_order, "heuristic": asked.heuristic,
        "engine": asked.engine, "option": asked.option or None,
    }  # fmt: skip
    extra = {name: value for name, value in extra.items() if value is not None}
    earlier: Playbook | None = None
    if asked.reuse is not None:
        if planner not in (None, "reuse"):
            raise InvalidInputError("--planner", "reuse, or none named, with --reuse", planner)
        if extra:
            given = "--" + next(iter(extra)).replace("_", "-")
            raise InvalidInputError(given, "none with --reuse, which keeps the classes of the earlier playbook")
        planner, earlier = "reuse", read_playbook(asked.reuse)
        extra["partition"] = earlier
    elif planner == "reuse":
        raise InvalidInputError("--reuse", "the playbook of an earlier trip, for the planner reuse")
    methods = {"planner": planner, "reuse": asked.reuse}
    methods |= {name.replace("_", "-"): value for name, value in extra.items()}
    fleet = read_request(asked.purpose, asked.orders_per_day, asked.customers, methods)
    record = _open_ledger(
        asked.ledger, asked.since, enter=asked.enter, has_out=has_out, is_reuse=asked.reuse is not None
    )
    if asked.objective is not None:
        check_name("--objective", asked.objective, OBJECTIVES)
    for name, value in map(read_option, extra.pop("option", ())):
        if name in extra:
            raise InvalidInputError("--option", f"{name} only once", value)
        extra[name] = value
    loaded = load_instance(instance, options, earlier)
    problem = loaded.problem if asked.objective is None else replace(loaded.problem, objective=asked.objective)
    if record is not None:
        problem = replace(problem, past=record.past(problem, loaded.privacy, since=asked.since))
    figure = "MAC" if problem.objective == "mac" else "mean extra cost"
    with (
        console.live_progress(figure=figure, limit=asked.limit) as report,
        console.polite_interrupt() as stop,
        _at_work(asked.workers if asked.dask is None else asked.dask),
    ):
        effort = Effort(report)
        extra |= {"seed": options.seed, "time_limit_s": asked.limit.seconds, "progress": effort, "should_stop": stop}
        chosen = "optimal" if planner is None else planner
        tours = None if fleet is None else plan_for_fleet(fleet, problem, loaded.privacy, timed_solve, **extra)
        if tours is None:
            playbook, runtime_s = timed_solve(problem, loaded.privacy, planner=chosen, **extra)
        else:
            playbook, runtime_s = tours.playbook, tours.runtime_s
        if asked.contingencies is not None:
            playbook = _with_contingencies(playbook, asked.contingencies, Watch(report, should_stop=stop))
        return _Made(playbook, runtime_s, record, tours, effort.summary(), stop())


def _plan_all(
    instances: Sequence[Path], asked: _Asked, out: Path | None, out_dir: Path | None, *, embed: bool, as_json: bool
) -> int:
    """Plan several files in one process, which loads and compiles once; a line for each, or an object.

    A file that cannot be planned is told of, and the others go on. The exit code is that of the first that has one.
    """
    if out is not None or out_dir is None:
        raise InvalidInputError("--out-dir", "a folder for the playbooks of several files, in place of -o")
    if asked.ledger is not None:
        raise InvalidInputError("--ledger", "one file at a time: each playbook is entered before the next is planned")
    targets = [out_dir / f"{path.stem}.json" for path in instances]
    if twice := next((path for path, times in Counter(targets).items() if times > 1), None):
        raise InvalidInputError("--out-dir", "files with different names: playbooks are named after them", twice.name)
    if same := next((target for target in targets if target.resolve() in {path.resolve() for path in instances}), None):
        raise InvalidInputError(
            "--out-dir", "another folder: a playbook would take the place of its instance", str(same)
        )
    out_dir.mkdir(parents=True, exist_ok=True)
    codes = []
    for path, target in zip(instances, targets, strict=True):
        try:
            made = _make_plan(path, asked, has_out=True)
        except VeilrouteError as error:
            if len(instances) == 1:
                raise
            console.remark(f"{path}: {error}")
            codes.append(BAD_INPUT)
            continue
        made.playbook.write(target, embed_domain=embed)
        codes.append(DONE if made.playbook.claims.num_anonymized else NOTHING_ANONYMIZED)
        if as_json:
            names = {"instance": str(path), "playbook": str(target)}
            console.emit_json({**names, **plan_summary(made.playbook, made.runtime_s), **made.effort})
        else:
            claims, mac = made.playbook.claims, made.playbook.mac
            cost = "" if mac is None else f", MAC {mac:.6g}"
            told = f"{claims.num_anonymized} of {claims.num_coverable} hidden{cost} ({made.playbook.status})"
            console.emit(f"{target}: {told}, {made.runtime_s:.3g} s\n")
        if made.is_stopped:
            console.remark(f"interrupted; {len(codes)} of {len(instances)} files are planned")
            return INTERRUPTED
    return next((code for code in codes if code != DONE), DONE)


@contextmanager
def _at_work(workers: int | str | None) -> Iterator[None]:
    """Have this many threads, or the cluster at this address, do the work; afterwards it is said what went wrong."""
    from veilroute.covering.crew import at_work

    if isinstance(workers, str):
        hush_dask()
    with at_work(workers) as crew:
        yield
        if crew.complaint:
            console.remark(crew.complaint)


def _open_ledger(path: Path | None, since: str | None, *, enter: bool, has_out: bool, is_reuse: bool) -> Ledger | None:
    """The ledger to plan under, if one is named."""
    if path is None:
        for option, is_given in (("--since", since is not None), ("--enter", enter)):
            if is_given:
                raise InvalidInputError(option, "--ledger FILE as well")
        return None
    if is_reuse:
        raise InvalidInputError("--ledger", "either --ledger, by which classes may change, or --reuse, not both")
    if enter and not has_out:
        raise InvalidInputError("--enter", "-o FILE as well: what is entered must be kept")
    return read_ledger(path)


def _with_contingencies(playbook: Playbook, wanted: str, watch: Watch) -> Playbook:
    """The playbook with what to do where roads are closed: those that were typed, or the worst ones."""
    from veilroute.cli.replan import read_roads
    from veilroute.replanning import with_contingencies

    field = "--contingencies"
    if worst := re.fullmatch(r"\s*worst\s+(\d{1,6})\s*", wanted):
        if int(worst[1]) < 1:
            raise InvalidInputError(field, "worst N with a number >= 1", wanted)
        return with_contingencies(playbook, worst=int(worst[1]), watch=watch)
    roads, one_way = read_roads(playbook, wanted, field)
    if one_way or not roads:
        raise InvalidInputError(field, "roads as A,B, closed in both directions, or worst N", wanted)
    return with_contingencies(playbook, roads, watch=watch)


def least_possible_risk(playbook: Playbook) -> str | None:
    """The least risk that probabilities allow, rounded up, where less was asked for than that."""
    beta, problem = playbook.privacy.beta, playbook.problem
    if beta is None:
        return None
    least = least_risk(problem.prior_of(coverable_positions(playbook)))
    if least is None or least <= beta * (1 + ROUNDING):
        return None
    return f"{math.ceil(least * 1e4 - 1e-6) / 1e4:g}"


@dataclass
class Effort:
    """Passes progress on, and keeps what it took to plan."""

    tell: ProgressCallback
    cpu_s: float = 0.0
    counts: list[Mapping[str, int]] = field(default_factory=list)  # of each search

    def __call__(self, progress: Progress) -> None:
        """Take a report."""
        if not any(known is progress.counts for known in self.counts):
            self.counts.append(progress.counts)
        self.tell(progress)

    def summary(self) -> dict[str, float | int | None]:
        """Its part of what `plan --json` prints; null where nothing is counted."""
        known = {what: [counts[what] for counts in self.counts if what in counts] for what in COUNTED}
        sums = {f"num_{what}": sum(numbers) if numbers else None for what, numbers in known.items()}
        return {"cpu_s": self.cpu_s, **sums}


def timed_solve(problem: Problem, privacy: Privacy, **options: Any) -> tuple[Playbook, float]:
    """Solve and measure, without imports and without the time in which kernels are loaded or compiled.

    Says so when kernels must be compiled first.
    """
    from veilroute.kernels.jit import remember_types
    from veilroute.partition import PARTITIONERS
    from veilroute.planners import PLANNERS

    remember_types()
    # What they import is not part of planning; of names that are not known `solve` tells.
    with suppress(VeilrouteError):
        PLANNERS.find(options.get("planner", "optimal"))
        _ = PARTITIONERS.find(options.get("partitioner", "exact")).function
    stopwatch = Stopwatch()
    with console.compile_notice():
        playbook = solve(problem, privacy, **options)
    runtime_s, cpu_s = stopwatch.read()
    if isinstance(effort := options.get("progress"), Effort):
        effort.cpu_s += cpu_s
    return playbook, runtime_s


def plan_summary(playbook: Playbook, runtime_s: float, shortfalls: Sequence[Shortfall] = ()) -> dict[str, Any]:
    """The object that `plan --json` prints; shortfalls are those of a plan under a ledger."""
    claims, privacy = playbook.claims, playbook.privacy
    figures = asdict(claims)
    worst, success = figures.pop("worst_posterior"), figures.pop("bayes_success")
    return {
        "status": playbook.status,
        "planner": playbook.planner,
        "objective": playbook.objective,
        **privacy.to_dict(),
        "mechanism": privacy.mechanism,
        **figures,
        "risk": {"bound": privacy.beta, "worst": worst, "bayes_success": success},
        "gap": claims.gap,
        "classes": [_class_summary(group, privacy.m) for group in playbook.classes],
        "uncoverable": playbook.uncoverable,
        "obstacles": [obstacle.to_dict() for obstacle in _other_obstacles(playbook, shortfalls)],
        **({} if playbook.past is None else _history_summary(playbook.past, shortfalls)),
        "names": [[label, name] for label, name in playbook.names.items()],
        **({"contingencies": [one.to_dict() for one in playbook.contingencies]} if playbook.contingencies else {}),
        "runtime_s": runtime_s,
        "peak_memory_mb": peak_memory_mb(),
    }


def _history_summary(past: Past, shortfalls: Sequence[Shortfall]) -> dict[str, Any]:
    """What is printed of a plan under a ledger besides."""
    found = [each.to_dict() for each in shortfalls]
    return {"ledger": past.ledger, "since": past.since, "shortfalls": found}


def _other_obstacles(
    playbook: Playbook, shortfalls: Sequence[Shortfall], *, limit: int = MAX_OBSTACLES
) -> tuple[Obstacle, ...]:
    """Why candidates get no route for other reasons than their history."""
    explained = {each.candidate for each in shortfalls}
    found = find_obstacles(playbook, limit=limit + len(explained))
    return tuple(each for each in found if each.candidate not in explained or each.kind == "uncoverable")[:limit]


def _class_summary(group: PlaybookClass, m: int | None) -> dict[str, Any]:
    """What all members walk, on the first trip and, where there are several, on each."""
    trips: list[dict[str, Any]]
    if m is None:
        name, trips = "routes", [{"cost": route.cost, "route": route.nodes} for route in group.routes]
    else:
        name, numbers = "prefixes", range(len(group.routes))
        trips = [{"costs": _member_costs(group, trip), "prefix": group.shared(trip)[:m]} for trip in numbers]
    summary = {"members": group.members, "anonymized": group.anonymized, **trips[0]}
    if group.shares:
        summary["shares"] = group.shares
    if m is not None:
        summary["cost"] = sum(summary["costs"]) / len(group.members)
    if len(trips) > 1:
        summary[name] = [{"trip": number, **trip} for number, trip in enumerate(trips)]
    return summary


def _member_costs(group: PlaybookClass, trip: int) -> list[float]:
    return [group.route_of(member, trip).cost for member in group.members]


def print_plan(playbook: Playbook, runtime_s: float, out: Path | None, shortfalls: Sequence[Shortfall] = ()) -> None:
    """Print the readable summary; shortfalls are those of a plan under a ledger."""
    screen = console.stdout()
    for line in headline(playbook):
        screen.print(line)
    hidden = playbook.hidden_classes
    if playbook.claims.num_anonymized:
        screen.print(_class_table(playbook, hidden[:_MOST_ROWS]))
    if len(hidden) > _MOST_ROWS:
        screen.print(f"... and {len(hidden) - _MOST_ROWS} classes more: --json, or the playbook")
    exposed = playbook.exposed_candidates
    if exposed:
        screen.print(f"Not protected (no route is given): {_listing(playbook, exposed)}")
    if playbook.uncoverable:
        screen.print(f"Cannot be covered: {_listing(playbook, playbook.uncoverable)}")
    if exposed or playbook.uncoverable:
        _print_shortfall(screen, playbook, shortfalls)
    if playbook.contingencies:
        undecided = sum(entry.choice is None for entry in playbook.contingencies)
        told = f"Contingencies: {len(playbook.contingencies)}"
        screen.print(told + (f", of which {undecided} leave too few possible." if undecided else "."))
    peak = peak_memory_mb()
    screen.print(f"Planned in {runtime_s:.2f} s" + (f", peak memory {peak:.0f} MB." if peak is not None else "."))
    hint = "Add -o FILE to keep the playbook."
    screen.print(hint if out is None else f"Playbook: {out}   (check it: veilroute audit {out})")


def _class_table(playbook: Playbook, groups: Sequence[PlaybookClass]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    streets = None if playbook.domain is None else playbook.domain.streets
    drawn = ("drawn",) if any(group.shares for group in groups) else ()
    figure = "cost" if streets is None else "time" if streets.unit == "seconds" else "length"
    for name in ("class", *drawn, "size", figure, "route", "members"):
        table.add_column(name, justify="left" if name == "members" else "right", overflow="fold")
    for number, group in enumerate(groups, start=1):
        costs = " ".join(_costs_text(playbook, group, route.trip) for route in group.routes)
        nodes = f"{len(group.shared(0))} nodes{' shared' if group.rests(0) else ''}"
        chance = (f"{math.fsum(group.shares):.1%}",) if drawn else ()
        members = _listing(playbook, group.members)
        table.add_row(str(number), *chance, str(len(group.members)), costs, nodes, members)
    return table


def _listing(playbook: Playbook, labels: Sequence[Label]) -> str:
    return (", " if playbook.names else " ").join(playbook.name(label) for label in labels)


def _print_shortfall(screen: Console, playbook: Playbook, shortfalls: Sequence[Shortfall]) -> None:
    """Against what the figures are to be read, and why candidates are missing."""
    claims = playbook.claims
    shares = f"{claims.num_coverable} of {claims.num_candidates} candidates can be covered"
    if claims.num_coverable:
        shares += f", {claims.num_anonymized} of these are hidden (APR {claims.apr:.3g})"
    if claims.num_anonymizable is not None and claims.delta is not None:
        shares += f", {claims.num_anonymizable} could be in some class (delta {claims.delta:.3g})"
    screen.print(shares + ".")
    if shortfalls:
        screen.print("Because of earlier trips, which whoever watches may link with this one:")
        for line in shortfall_lines(playbook, shortfalls):
            screen.print(line)
    obstacles = _other_obstacles(playbook, shortfalls, limit=_MOST_REASONS + 1)
    for obstacle in obstacles[:_MOST_REASONS]:
        screen.print(f"  {playbook.name(obstacle.candidate)}: {obstacle.reason}.")
    if len(obstacles) > _MOST_REASONS:
        screen.print("  More reasons: --json")


def _costs_text(playbook: Playbook, group: PlaybookClass, trip: int) -> str:
    costs = _member_costs(group, trip)
    low, high = (cost_text(playbook.domain, cost) for cost in (min(costs), max(costs)))
    return low if low == high else f"{low} to {high}"


def headline(playbook: Playbook) -> list[str]:
    """What was reached, in a few sentences, and what is to be known about them."""
    claims, privacy = playbook.claims, playbook.privacy
    span = "the whole route" if privacy.m is None else f"the first {privacy.m} nodes"
    wanted = f"k={privacy.k}" if privacy.risk is None else f"risk at most {percent(privacy.risk)}"
    goal = f"{wanted}, ell={privacy.distance_text}, {span}, spread by {privacy.spread}"
    if playbook.status == "infeasible":
        advice = "Lower k or ell, or add candidates." if privacy.risk is None else "Allow more risk, or lower ell."
        if playbook.past is not None and playbook.past.left:
            goal += " after what earlier trips have shown"
            advice = "Add candidates who were never listed; --since says which trips nobody can link any more."
        return [f"Nothing can be hidden: no class of candidates reaches {goal}.", advice]
    if not claims.num_anonymized and playbook.planner == "reuse":
        return [
            f"Nothing is hidden: no class of the earlier playbook reaches {goal} on this trip.",
            "Lower k or ell, or plan all trips together, before the first one is taken.",
        ]
    if not claims.num_anonymized:
        return [f"Nothing is hidden: no class was found that reaches {goal}.", "That is not proved impossible."]
    num_classes = len(playbook.hidden_classes)
    word = "class" if num_classes == 1 else "classes"
    if privacy.mechanism == "randomised":
        word += ", of which one is drawn"
    proof = f", {_proof_text(playbook)}"
    of_mac, of_total = (proof, "") if playbook.objective == "mac" else ("", proof)
    average, mean, figure = "on average", claims.mac, "MAC"
    if playbook.prior is not None and privacy.beta is not None and claims.expected_mac is not None:
        average, mean, figure = "on average, by how probable each is,", claims.expected_mac, "expected MAC"
    lines = [
        f"{claims.num_anonymized} of {claims.num_coverable} candidates hidden in {num_classes} {word} ({goal}).",
        f"Routes are {mean:.1%} longer {average} than without hiding ({figure} {mean:.6g}{of_mac}).",
        *_odds(playbook),
    ]
    if claims.total_extra is not None and claims.worst_extra is not None:
        total, worst = (cost_text(playbook.domain, cost) for cost in (claims.total_extra, claims.worst_extra))
        share = claims.total_extra / max(_total_cost(playbook) - claims.total_extra, 1e-12)
        lines.append(
            f"All routes together cost {total} ({share:.1%}) more{of_total}; the worst single detour is {worst}."
        )
    if claims.gap is not None and claims.gap > _SAYS_LITTLE and playbook.status != "optimal":
        bound = f"The proved bound of {_bound(claims):.3g}"
        lines.append(f"{bound} says little about how good the plan is: allow more time, or lower k.")
    if privacy.m is not None and any(group.member_routes for group in playbook.classes):
        lines.append(f"After {privacy.m} nodes the routes of a class may part: from there on nothing is promised.")
    return lines


def _odds(playbook: Playbook) -> list[str]:
    """What whoever watches may believe, in words; nothing where the playbook does not say."""
    claims, privacy = playbook.claims, playbook.privacy
    if claims.worst_posterior is None or claims.bayes_success is None:
        return []
    lines = []
    if claims.hidden_mass is not None and claims.hidden_mass < 1 - ROUNDING and playbook.prior is not None:
        lines.append(f"The secret is one of those hidden with a probability of {percent(claims.hidden_mass)}.")
    watcher = "Whoever watches" if playbook.prior is None else "Whoever watches and knows the prior"
    lines.append(f"{watcher} guesses right at most {percent(claims.bayes_success)} of the time.")
    worst = percent(claims.worst_posterior)
    is_alone = playbook.domain is None or privacy.ell <= playbook.domain.smallest_cost
    spot = "one place" if is_alone else "one place and those closer than ell to it"
    promised = "" if privacy.beta is None else f" ({percent(privacy.beta)} promised)"
    if privacy.beta is not None or claims.worst_posterior <= (1 / privacy.k) * (1 + ROUNDING):
        lines.append(f"No route gives {spot} more than {worst}{promised}.")
    else:
        lines.append(f"A route gives {spot} {worst}: --risk bounds that, k does not.")
    return lines


def percent(share: float) -> str:
    """A share as people say it: ``41.2%``, ``50%``."""
    return f"{100 * share:.3g}%"


def _proof_text(playbook: Playbook) -> str:
    """How good the plan is proved to be."""
    claims = playbook.claims
    if playbook.status == "optimal":
        return "proved optimal"
    gap = "" if claims.gap is None else console.gap_text(claims.gap)
    if not gap:
        return "not proved optimal"
    best = "the optimum" if claims.num_anonymized == claims.num_coverable else "the best that hides as many"
    return f"at most {gap} above {best}: bound {_bound(claims):.6g}"


def _bound(claims: Claims) -> float | None:
    bounds = (claims.total_extra_lower_bound, claims.expected_mac_lower_bound, claims.mac_lower_bound)
    return next((bound for bound in bounds if bound is not None), None)


def _total_cost(playbook: Playbook) -> float:
    """What the routes of all hidden candidates cost together, trips averaged by their weights."""
    weights = [trip.weight for trip in playbook.trips]
    trips, groups = range(len(weights)), playbook.hidden_classes
    drawn: dict[Label, float] = {}
    for group in groups:
        for member, share in zip(group.members, group.shares or [1.0] * len(group.members), strict=True):
            drawn[member] = drawn.get(member, 0.0) + share
    costs = [0.0] * len(weights)
    for trip in trips:
        for group in groups:
            shares = group.shares or [1.0] * len(group.members)
            parts = zip(group.members, shares, _member_costs(group, trip), strict=True)
            costs[trip] += sum(cost * share / drawn[member] for member, share, cost in parts)
    return sum(weight * cost for weight, cost in zip(weights, costs, strict=True)) / sum(weights)
