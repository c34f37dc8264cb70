"""`veilroute plan`: compute a playbook."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from typer import Option

from veilroute.base.checks import check_name
from veilroute.base.cluster import hush_dask
from veilroute.base.errors import InvalidInputError, VeilrouteError
from veilroute.base.registry import read_option
from veilroute.base.run import COUNTED, Progress, ProgressCallback, Watch
from veilroute.bench.executors import Stopwatch
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
from veilroute.cli.ledger import SinceOption, enter_playbook, history_lines
from veilroute.cli.summaries import least_possible_risk, plan_summary, print_plan
from veilroute.ledger.ledger import Ledger, read_ledger
from veilroute.model.playbook import Playbook, read_playbook
from veilroute.model.problem import OBJECTIVES, Privacy, Problem
from veilroute.planners.solve import solve


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
        metavar="'STREET; A,B; ...'|'worst N'",
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
    broken = () if record is None else record.broken_by(playbook)
    if json:
        figures: dict[str, Any] = {} if made.tours is None else {"fleet": made.tours.summary()}
        if record is not None:
            turnover = record.turnover(playbook)
            figures |= {"broken": [each.to_dict() for each in broken]}
            figures |= {"moved": [each.to_dict() for each in turnover.moved], "not_judged": [*turnover.not_judged]}
        console.emit_json({**plan_summary(playbook, made.runtime_s, shortfalls), **made.effort, **figures})
    else:
        print_plan(playbook, made.runtime_s, out, shortfalls)
        if made.tours is not None and (told := made.tours.text()):
            console.emit(told + "\n")
        for line in () if record is None else history_lines(record, playbook, broken):
            console.emit(line + "\n")
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
    from veilroute.planners.replan import with_contingencies

    field = "--contingencies"
    if worst := re.fullmatch(r"\s*worst\s+(\d{1,6})\s*", wanted):
        if int(worst[1]) < 1:
            raise InvalidInputError(field, "worst N with a number >= 1", wanted)
        return with_contingencies(playbook, worst=int(worst[1]), watch=watch)
    roads, one_way = read_roads(playbook, wanted, field)
    if one_way or not roads:
        expected = "roads by a street's name or as A,B, closed in both directions, or worst N"
        raise InvalidInputError(field, expected, wanted)
    return with_contingencies(playbook, roads, watch=watch)


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
