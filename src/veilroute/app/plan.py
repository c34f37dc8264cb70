"""Plan: from a request to a playbook, with what it took and what is to be said of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from veilroute.app.load import load_instance
from veilroute.app.places import read_roads
from veilroute.app.requests import LedgerSpec, MethodSpec, PlanRequest
from veilroute.app.summary import plan_summary
from veilroute.base.checks import check_name, count_text
from veilroute.base.cluster import hush_dask
from veilroute.base.errors import InvalidInputError, VeilrouteError
from veilroute.base.run import COUNTED, Progress, ProgressCallback, Run, Stopwatch, Watch
from veilroute.domain.graph import Label
from veilroute.model.playbook import Playbook, read_playbook
from veilroute.model.problem import OBJECTIVES, Privacy, Problem
from veilroute.planners.solve import solve

if TYPE_CHECKING:
    from veilroute.app.fleet_plan import FleetPlan
    from veilroute.ledger.explain import Shortfall
    from veilroute.ledger.ledger import Ledger, Standing

USUAL_LIMIT_S = 300.0
PURPOSES = ("trips", "fleet")


@dataclass(frozen=True, repr=False)
class PlanResult:
    """A playbook, and what is to be told of how it came about."""

    playbook: Playbook
    runtime_s: float  #: without imports, and without the time in which kernels are compiled
    effort: Mapping[str, float | int | None]  #: processor time, and how much was searched
    is_stopped: bool  #: whether it was stopped before its time, with the best so far
    record: Ledger | None = None  #: the ledger it was planned under
    shortfalls: tuple[Shortfall, ...] = ()  #: why the ledger leaves places out
    broken: tuple[Standing, ...] = ()  #: who was not hidden before this plan, under the ledger
    tours: FleetPlan | None = None  #: what days cost, for a plan that is made for a fleet
    warnings: tuple[str, ...] = ()

    @property
    def places(self) -> Mapping[Label, tuple[float, float]]:
        """Longitude and latitude of the places that were found, by their labels in the playbook."""
        return self.playbook.places

    def __repr__(self) -> str:
        told = f", {count_text(len(self.warnings), 'warning')}" if self.warnings else ""
        return f"<PlanResult: {self.playbook!r}, {self.runtime_s:.2f} s{told}>"

    def to_dict(self) -> dict[str, Any]:
        """The object that `plan --json` prints."""
        figures: dict[str, Any] = {} if self.tours is None else {"fleet": self.tours.summary()}
        if self.record is not None:
            turnover = self.record.turnover(self.playbook)
            figures |= {"broken": [each.to_dict() for each in self.broken]}
            figures |= {"moved": [each.to_dict() for each in turnover.moved], "not_judged": [*turnover.not_judged]}
        return {**plan_summary(self.playbook, self.runtime_s, self.shortfalls), **self.effort, **figures}


def plan(request: PlanRequest, run: Run | None = None) -> PlanResult:
    """Group the places and plan the routes."""
    run = Run() if run is None else run
    method, asked = request.method, request.asked
    options = _method_options(method)
    planner, earlier = method.planner, None
    if method.reuse is not None:
        planner, earlier = "reuse", read_playbook(method.reuse)
        options["partition"] = earlier
    is_for_fleet = _is_for_fleet(method, options)
    record = _open_ledger(request.ledger, is_reuse=method.reuse is not None)
    if method.objective is not None:
        check_name("objective", method.objective, OBJECTIVES)
    limit_s = read_time_limit(method.time_limit)
    loaded = load_instance(asked, run, earlier)
    problem = loaded.problem if method.objective is None else replace(loaded.problem, objective=method.objective)
    if record is not None:
        problem = replace(problem, past=record.past(problem, loaded.privacy, since=request.ledger.since))
    with _at_work(method.workers, run):
        effort = Effort(run.progress)
        options |= {"seed": request.problem.seed or 0, "time_limit_s": limit_s, "progress": effort}
        options |= {"should_stop": run.should_stop}
        tours = None
        if is_for_fleet:
            from veilroute.app.fleet_plan import plan_for_fleet

            tours = plan_for_fleet(request, problem, loaded.privacy, run, timed_solve, effort, limit_s)
            playbook, runtime_s = tours.playbook, tours.runtime_s
        else:
            chosen = "optimal" if planner is None else planner
            playbook, runtime_s = timed_solve(problem, loaded.privacy, run, planner=chosen, **options)
        if method.contingencies is not None:
            watch = Watch(run.progress, should_stop=run.should_stop)
            playbook = with_typed_contingencies(playbook, method.contingencies, watch, run)
    playbook = replace(playbook, stats=replace(playbook.stats, runtime_s=runtime_s, cpu_s=effort.cpu_s))
    return PlanResult(
        playbook, runtime_s, effort.summary(), run.should_stop(), record,
        () if record is None else tuple(record.explain(playbook)),
        () if record is None else tuple(record.broken_by(playbook)),
        tours, tuple(run.warnings),
    )  # fmt: skip


def read_time_limit(text: str | float | None) -> float | None:
    """Seconds from a text; 300 if nobody has said anything, and ``None`` for none."""
    if text is None:
        return USUAL_LIMIT_S
    if str(text).strip().lower() == "none":
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise InvalidInputError("time_limit", "a number of seconds > 0, or none", text)
    return seconds


def _method_options(method: MethodSpec) -> dict[str, Any]:
    """The parameters of a planner that were given, by their names."""
    named = {name: getattr(method, name) for name in ("partitioner", "merge_order", "heuristic", "engine")}
    options = {name: value for name, value in named.items() if value is not None}
    for name, value in method.options.items():
        if name in options:
            raise InvalidInputError("options", f"{name} only once", value)
        options[name] = value
    if method.reuse is not None:
        if method.planner not in (None, "reuse"):
            raise InvalidInputError("planner", "reuse, or none named, with `reuse`", method.planner)
        if options:
            expected = "none with `reuse`, which keeps the classes of the earlier playbook"
            raise InvalidInputError(next(iter(options)), expected)
    elif method.planner == "reuse":
        raise InvalidInputError("reuse", "the playbook of an earlier trip, for the planner reuse")
    return options


def _is_for_fleet(method: MethodSpec, options: Mapping[str, Any]) -> bool:
    """Whether classes are made for tours, which has a method of its own."""
    if method.purpose is None or check_name("purpose", method.purpose, PURPOSES) != "fleet":
        for name in ("orders_per_day", "customers"):
            if getattr(method, name) is not None:
                raise InvalidInputError(name, "`purpose` fleet as well")
        return False
    others = {"planner": method.planner, "reuse": method.reuse, **options}
    for name, value in others.items():
        if value is not None:
            raise InvalidInputError(name, "none with `purpose` fleet, which has a method of its own")
    return True


def _open_ledger(wanted: LedgerSpec, *, is_reuse: bool) -> Ledger | None:
    """The ledger to plan under, if one is named."""
    if wanted.file is None:
        for name, is_given in (("since", wanted.since is not None), ("enter", wanted.enter)):
            if is_given:
                raise InvalidInputError(name, "`ledger` FILE as well")
        return None
    if is_reuse:
        expected = "either `ledger`, by which classes may change, or `reuse`, not both"
        raise InvalidInputError("ledger", expected)
    from veilroute.ledger.ledger import read_ledger  # here, because most plans have none

    return read_ledger(wanted.file)


@contextmanager
def _at_work(workers: str | None, run: Run) -> Iterator[None]:
    """Have this many threads, or the cluster at this address, do the work, and tell afterwards what went wrong."""
    from veilroute.covering.crew import at_work  # here, because it loads kernels

    given: int | str | None = workers
    if workers is not None and str(workers).strip().lstrip("-").isdigit():
        given = int(workers)
    elif workers is not None:
        hush_dask()
    with at_work(given) as crew:
        yield
        if crew.complaint:
            run.warn(crew.complaint)


def with_typed_contingencies(playbook: Playbook, wanted: str, watch: Watch, run: Run) -> Playbook:
    """The playbook with what to do where roads are closed: those that were typed, or the worst ones."""
    from veilroute.planners.replan import with_contingencies  # here, because it loads kernels

    key = "contingencies"
    if worst := re.fullmatch(r"\s*worst\s+(\d{1,6})\s*", wanted):
        if int(worst[1]) < 1:
            raise InvalidInputError(key, "worst N with a number >= 1", wanted)
        return with_contingencies(playbook, worst=int(worst[1]), watch=watch)
    roads, one_way = read_roads(playbook, wanted, key, run)
    if one_way or not roads:
        expected = "roads by a street's name or as A,B, closed in both directions, or worst N"
        raise InvalidInputError(key, expected, wanted)
    return with_contingencies(playbook, roads, watch=watch)


@dataclass
class Effort:
    """Passes progress on, and keeps what it took to plan."""

    tell: ProgressCallback
    cpu_s: float = 0.0
    counts: list[Mapping[str, int]] = field(default_factory=list)  #: of each search

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


def timed_solve(problem: Problem, privacy: Privacy, run: Run, **options: Any) -> tuple[Playbook, float]:
    """Solve and measure, without imports and without the time in which kernels are loaded or compiled."""
    from veilroute.kernels.jit import ready_seconds, remember_types, telling
    from veilroute.partition import PARTITIONERS
    from veilroute.planners.choose import PLANNERS

    remember_types()
    # What they import is not part of planning; of names that are not known `solve` tells.
    with suppress(VeilrouteError):
        _ = PLANNERS.find(options.get("planner", "optimal")).function
        _ = PARTITIONERS.find(options.get("partitioner", "exact")).function
    stopwatch = Stopwatch(ready_seconds)
    with telling(cache(run.tell_compiling)):
        playbook = solve(problem, privacy, **options)
    runtime_s, cpu_s = stopwatch.read()
    if isinstance(effort := options.get("progress"), Effort):
        effort.cpu_s += cpu_s
    return playbook, runtime_s
