"""Runs cells: :func:`run_cell` one, in any process on any machine that has veilroute; :func:`run_cells` those that are
not recorded yet, each recorded as soon as it is finished.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

from veilroute.analysis import ADVERSARIES, watch_playbook
from veilroute.app.audit import audit_playbook
from veilroute.base.errors import InvalidInputError, VeilrouteError, one_line
from veilroute.base.io import dump_canonical, parse_json
from veilroute.base.run import Incumbent, Progress, Stopwatch, Watch
from veilroute.bench.authors import read_as_authors
from veilroute.bench.cells import CARRIED, SPREAD, TEXT, Cell, Method, Outcome, Plugins, Record
from veilroute.bench.executors import MemoryGauge, TimeEstimate, Workforce, provenance
from veilroute.bench.external import run_external
from veilroute.bench.results import RecordStore
from veilroute.bench.table import counted
from veilroute.covering.cover import cover, m_of_ratio
from veilroute.domain import Domain, WithinDistance, draw_candidates, generate_rooms, generate_streets, grid_domain
from veilroute.domain.codec import domain_from_dict, domain_to_dict
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy, Problem, Trip
from veilroute.planners.solve import solve

_SHOWN = 300
_TICK_S = 0.25
_DOZEN = 12  # up to this many candidates the exact partitioner does without linear programmes
_ALIKE_AT_ALL_SIZES = ("naive", "merge-bb", "df-bb")
_WARM_UP_S = 1.0  # for more than a dozen, which slow methods would search for long

# A Dask worker may have several threads. Cells take turns, because two at once would spoil each other's times.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Job:
    """A cell with all that a worker needs to run it."""

    cell: Cell
    map_text: str  #: The map, by :func:`map_text`, because a worker elsewhere has no files.
    run_id: str  #: Names the run in the record.


def map_text(domain: Domain) -> str:
    """A domain as a :class:`Job` carries it: the rows of a plain grid, or else JSON."""
    grid = domain.grid
    if grid is not None and grid.movement == 4 and grid.anchor is None:
        return "\n".join(grid.rows())
    return dump_canonical(domain_to_dict(domain)).decode("utf-8")


def run_cell(job: Job) -> dict[str, Any]:
    """Run a cell and return its record as plain data.

    What goes wrong with the cell is told in the record; the run goes on with the others.
    """
    plugins: Plugins = {}
    with _one_at_a_time:
        try:
            plugins = job.cell.method.plugins(as_loaded=True)
            outcome = _run(job)
            dump_canonical(outcome.to_dict())  # a figure that cannot be written down fails here, not where it is kept
        except VeilrouteError as error:
            outcome = failed_outcome(str(error))
        except Exception as error:
            # A fault of ours in one method must not cost somebody the other cells of a night.
            outcome = failed_outcome(f"{type(error).__name__}: {error}")
        return Record(job.cell, outcome, provenance(job.run_id, plugins)).to_dict()


def failed_outcome(reason: str) -> Outcome:
    """The outcome of a cell that could not be run to an end."""
    return Outcome("error", error=one_line(reason.split("\n", 1)[0], _SHOWN) or "unknown")


def bounded_m(problem: Problem, ratio: float | None) -> int | None:
    """``m = max(1, round(ratio * nodes on a shortest start-goal path))``; ``None`` for infinity stays so."""
    return None if ratio is None else m_of_ratio(problem, ratio)


def _run(job: Job) -> Outcome:
    cell = job.cell
    domain = _parse_map(job.map_text)
    if domain.sha256 != cell.map_sha256:
        raise InvalidInputError("map", f"the one with SHA-256 {cell.map_sha256[:12]}...", domain.sha256[:12])
    is_bounded = cell.m_ratio is not None or cell.m is not None
    if not cell.method.command:
        is_grid = domain.grid is not None
        is_large = cell.num_candidates > _DOZEN and cell.method.partitioner not in _ALIKE_AT_ALL_SIZES
        _warm_up(cell.method, cell.radius, is_bounded, is_grid=is_grid, is_large=is_large)
    instance = cell.instance
    problem = Problem(domain, [Trip(instance.start, instance.goal)], instance.candidates, WithinDistance(cell.radius))
    if cell.reading != TEXT:
        return _read_as_authors(cell, problem)
    m = bounded_m(problem, cell.m_ratio) if cell.m is None else cell.m
    if cell.method.command:
        privacy = Privacy(cell.k, cell.ell, m, cell.spread)
        return run_external(cell.method.command, problem, privacy, seed=cell.seed, time_limit_s=cell.time_limit_s)
    asked: dict[str, Any] = {"k": cell.k} if cell.risk is None else {"risk": cell.risk}
    privacy = Privacy(ell=cell.ell, m=m, spread=cell.spread, mechanism=cell.mechanism, **asked)
    prior = instance.prior
    if prior is None and cell.is_watched:
        prior = tuple(1 / rank for rank in range(1, cell.num_candidates + 1))
    problem = replace(problem, prior=prior)
    found: list[Incumbent] = []
    counts: Mapping[str, int] = {}

    def collect(progress: Progress) -> None:
        nonlocal counts
        counts = progress.counts
        # Every report holds the best so far: the same object until a better one is found.
        if progress.incumbent is not None and progress.incumbent not in found[-1:]:
            found.append(progress.incumbent)

    from veilroute.kernels.jit import ready_seconds  # here, because commands that plan nothing do without kernels

    memory, stopwatch = MemoryGauge(), Stopwatch(ready_seconds)
    playbook = _solve(cell.method, problem, privacy, seed=cell.seed, time_limit_s=cell.time_limit_s, progress=collect)
    runtime_s, cpu_s = stopwatch.read()
    memory_mb = memory.read_mb()
    claims = playbook.claims
    return Outcome(
        status=playbook.status,
        is_finished=not playbook.options.get("stopped_early", False),
        m=privacy.m,
        num_coverable=claims.num_coverable,
        num_anonymized=claims.num_anonymized,
        apr=float(claims.apr),
        mac=None if claims.mac is None else float(claims.mac),
        mac_lower_bound=None if claims.mac_lower_bound is None else float(claims.mac_lower_bound),
        runtime_s=runtime_s,
        improvements=tuple((float(best.elapsed_s), int(best.num_anonymized), float(best.mac)) for best in found),
        memory_mb=memory_mb,
        cpu_s=cpu_s,
        num_expansions=counts.get("expansions"),
        num_searches=counts.get("searches"),
        num_partitions=counts.get("partitions"),
        audit_holds=audit_playbook(playbook).holds if cell.keep_playbook else None,
        playbook=playbook.to_dict(embed_domain=False) if cell.keep_playbook else None,
        guesses=tuple(_guesses(playbook)) if cell.is_watched else (),
    )


def _read_as_authors(cell: Cell, problem: Problem) -> Outcome:
    privacy = Privacy(cell.k, cell.ell, None, cell.spread)
    watch, is_carried = Watch(time_limit_s=cell.time_limit_s), cell.reading == CARRIED
    from veilroute.kernels.jit import ready_seconds  # here, because commands that plan nothing do without kernels

    memory, stopwatch = MemoryGauge(), Stopwatch(ready_seconds)
    outcome = read_as_authors(problem, privacy, cell.method, cell.m_ratio, is_carried=is_carried, watch=watch)
    runtime_s, cpu_s = stopwatch.read()
    return replace(outcome, runtime_s=runtime_s, cpu_s=cpu_s, memory_mb=memory.read_mb())


def _guesses(playbook: Playbook) -> Iterator[tuple[str, float, float]]:
    """How often each of the built-in observers guesses right, where somebody is hidden."""
    for name in ADVERSARIES:
        watched = watch_playbook(playbook, name)
        if watched.success is not None and watched.success_at_end is not None:
            yield name, watched.success, watched.success_at_end


def _solve(method: Method, problem: Problem, privacy: Privacy, **options: Any) -> Playbook:
    # Cells run side by side: a core for each.
    return solve(problem, privacy, planner=method.planner, workers=1, **method.options, **options)


@lru_cache(maxsize=8)
def _parse_map(text: str) -> Domain:
    if text.startswith("{"):
        return domain_from_dict(parse_json(text.encode("utf-8"), "map"))
    return grid_domain(text.split("\n"))


@cache
def _warm_up(method: Method, radius: float, is_bounded: bool, *, is_grid: bool = True, is_large: bool = False) -> None:
    """Compile, or load, what the method runs, so that no cell is charged for it: tiny problems of the same kind."""
    streets = generate_streets(5, 5, seed=1)  # where the first partition of more than a dozen is not the best at once
    small, large = (generate_rooms(12, 16, seed=1) if is_grid else streets, 6, None), (streets, _DOZEN + 2, _WARM_UP_S)
    for domain, num, limit_s in (small, large)[: 1 + is_large]:
        start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
        places = draw_candidates(domain, start, goal, num, seed=1)
        problem = Problem(domain, [Trip(start, goal)], places, WithinDistance(radius))
        cover(problem, [])
        for k in (2, 3):
            privacy = Privacy(k, 1.0, bounded_m(problem, 0.5 if is_bounded else None), SPREAD)
            with suppress(VeilrouteError):  # the cell itself will tell
                _solve(method, problem, privacy, seed=0, time_limit_s=limit_s)


@dataclass(frozen=True)
class RunProgress:
    """How far a run is."""

    done: int  #: Cells that are recorded, those of earlier runs included.
    total: int
    num_workers: int  #: 0 when a cluster has lost all, and the run waits for new ones.
    seconds_left: float  #: Estimated: NaN while nothing is known, infinite without workers.


@dataclass(frozen=True)
class RunReport:
    """What a run has done."""

    records: tuple[Record, ...]  #: In the order that was asked for; after an early stop some are missing.
    num_cells: int
    num_run: int  #: How many were run now; the others were recorded already, or are missing.

    @property
    def is_complete(self) -> bool:
        """Whether every cell has its record."""
        return len(self.records) == self.num_cells

    @property
    def errors(self) -> tuple[Record, ...]:
        """The records of cells that could not be run to an end."""
        return tuple(record for record in self.records if record.outcome.error)


def run_cells(
    cells: Sequence[Cell],
    domains: Mapping[str, Domain],
    store: RecordStore,
    workforce: Workforce,
    *,
    run_id: str,
    retry_errors: bool = False,
    report: Callable[[RunProgress], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    warn: Callable[[str], None] = lambda _: None,
) -> RunReport:
    """Run the cells that the open store does not hold, in this order, and add each to it when it is finished.

    A record that another version of a plug-in made than the one that is installed here now, or an unknown one, is taken
    out of the store, and its cell is run again. With ``retry_errors`` so are cells whose record tells of an error.
    ``report`` is called, and ``should_stop`` asked, now and then; true means that no further cell is begun. Those that
    are running are still recorded. ``warn`` gets a line about plug-ins that have changed, or that differ on a worker.
    """
    texts = {name: map_text(domain) for name, domain in domains.items()}
    run = _Run(store, workforce, texts, run_id, len(cells), report, should_stop, warn)
    for method in {tuple(cell.method.parts.items()): cell.method for cell in cells}.values():
        run.plugins |= {(kind, method.parts[kind]): found for kind, found in method.plugins().items()}
    changes: Counter[str] = Counter()
    for cell in cells:
        if cell.key in store and (change := run.change_since(store[cell.key])):
            changes[change] += 1
            del store[cell.key]
        if cell.key not in store or (retry_errors and store[cell.key].outcome.error):
            run.waiting.append(cell)
        else:
            run.estimate.learn(store[cell.key])
    if run.waiting:
        numbers = {change: f"{counted(num, 'cell')} run{'s' * (num == 1)} again" for change, num in changes.items()}
        run.remarks = [f"{change}: {number}" for change, number in numbers.items()]
        try:
            run.work()
        except BaseException:
            workforce.close(at_once=True)
            raise
        workforce.close()
    else:
        report(RunProgress(len(cells), len(cells), num_workers=0, seconds_left=0.0))
    # With the cells as they are asked for, because records of earlier versions do not say which kind of map it is.
    records = tuple(replace(store[cell.key], cell=cell) for cell in cells if cell.key in store)
    return RunReport(records, len(cells), run.num_finished)


def _told(plugin: Mapping[str, str]) -> str:
    return f"{plugin['package']} {plugin['version']} (source {plugin['sha256'][:8] or 'unknown'})"


class _Begun(NamedTuple):
    cell: Cell
    at_s: float
    is_alone: bool


@dataclass
class _Run:
    """The state of one run.

    When a process of a pool dies, the pool breaks and takes all its cells with it, and nobody knows which of them was
    to blame. They are then run once more, one at a time; the cell whose process dies again is recorded as an error.
    """

    store: RecordStore
    workforce: Workforce
    map_texts: Mapping[str, str]
    run_id: str
    num_cells: int
    report: Callable[[RunProgress], None]
    should_stop: Callable[[], bool]
    warn: Callable[[str], None]
    #: By kind and name: what is installed here now, or of a plug-in that is not, what the first worker has.
    plugins: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)  #: What is warned of, once there are workers.
    num_finished: int = 0
    waiting: deque[Cell] = field(default_factory=deque)
    suspects: deque[Cell] = field(default_factory=deque)
    running: dict[Future[dict[str, Any]], _Begun] = field(default_factory=dict)
    estimate: TimeEstimate = field(default_factory=TimeEstimate)

    def work(self) -> None:
        """Run all that is waiting, or until told to stop."""
        num_before = self.num_cells - len(self.waiting)
        executor = self.workforce.open()
        self._tell(num_before)
        for line in self.remarks:
            self.warn(line)
        while self.waiting or self.suspects or self.running:
            if self.should_stop():
                self.waiting.clear()
                self.suspects.clear()
            self._hand_in(executor)
            finished = wait(self.running, timeout=_TICK_S, return_when=FIRST_COMPLETED).done
            # In the order in which they were handed in, so that nothing depends on a set's order.
            broken = [self._settle(future) for future in list(self.running) if future in finished]
            if any(broken):
                # Some of the others may have finished just in time.
                wait(self.running, timeout=_TICK_S * 20)
                for future in list(self.running):
                    if future.done():
                        self._settle(future)
                    else:
                        self.suspects.append(self.running.pop(future).cell)
                self.workforce.close(at_once=True)
                executor = self.workforce.open()
            self._tell(num_before)

    def _hand_in(self, executor: Executor) -> None:
        """Begin a cell for each free slot; nothing runs beside a suspect, which could then not be blamed for sure."""
        queue, is_alone = (self.suspects, True) if self.suspects else (self.waiting, False)
        is_one_only = is_alone or any(begun.is_alone for begun in self.running.values())
        while queue and len(self.running) < (1 if is_one_only else self.workforce.num_slots):
            cell = queue.popleft()
            begun = _Begun(cell, time.monotonic(), is_alone)
            try:
                future = executor.submit(run_cell, Job(cell, self.map_texts[cell.instance.map_name], self.run_id))
            except Exception as error:
                # The pool broke since we last looked. This cell was not in it, but is among those to be tried again.
                future, begun = Future(), begun._replace(is_alone=False)
                future.set_exception(error)
            self.running[future] = begun

    def _settle(self, future: Future[dict[str, Any]]) -> bool:
        """Record what came of a job; whether its executor is broken."""
        begun = self.running.pop(future)
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            self._record(future.result(), time.monotonic() - begun.at_s)
            return False
        loss = self.workforce.diagnose(error)
        if not loss:
            raise VeilrouteError(
                f"a worker could not run a cell ({type(error).__name__}: {str(error).split(chr(10), 1)[0][:200]}); "
                "check that all workers have the same veilroute"
            ) from error
        if loss == "executor" and not begun.is_alone:
            self.suspects.append(begun.cell)
        else:
            outcome = failed_outcome("the process that ran it died each time: killed, or out of memory")
            expected = {kind: self.plugins.get((kind, part), {}) for kind, part in begun.cell.method.parts.items()}
            plugins = {kind: found for kind, found in expected.items() if found}
            self._record(Record(begun.cell, outcome, provenance(self.run_id, plugins)).to_dict(), None)
        return loss == "executor"

    def change_since(self, record: Record) -> str:
        """How a plug-in has changed since a record was made, in words; empty if none has."""
        for kind, part in record.cell.method.parts.items():
            now, then = self.plugins.get((kind, part)), record.plugins.get(kind)
            if now is not None and now != then:
                package, version = now["package"], now["version"]
                if then is None:
                    return f"it is not recorded which {package} ran"
                if (then["package"], then["version"]) != (package, version):
                    return f"{then['package']} {then['version']} is {package} {version} now"
                return f"{package} {version} has changed since"
        return ""

    def _record(self, data: dict[str, Any], turnaround_s: float | None) -> None:
        plugins: Plugins = data["provenance"].get("plugins", {})
        for kind, found in plugins.items():
            expected = self.plugins.setdefault((kind, data["cell"]["method"][kind]), found)
            if found != expected:
                trouble = f"a worker has {_told(found)}, this run {_told(expected)}"
                trouble += "; install the same for all workers and restart them"
                line = f"{trouble}. What that worker runs counts as an error, and the same command runs it again"
                if line not in self.remarks:
                    self.remarks.append(line)
                    self.warn(line)
                # No plug-in is named in this record, because none must be taken for what made it.
                provenance = {name: value for name, value in data["provenance"].items() if name != "plugins"}
                data = {**data, "outcome": failed_outcome(trouble).to_dict(), "provenance": provenance}
        self.estimate.learn(self.store.append(data), turnaround_s)
        self.num_finished += 1

    def _tell(self, num_before: int) -> None:
        now_s = time.monotonic()
        running = [(begun.cell, now_s - begun.at_s) for begun in self.running.values()]
        num_workers = self.workforce.num_slots
        left_s = self.estimate.seconds_left([*self.suspects, *self.waiting], running, num_workers)
        done = num_before + self.num_finished
        self.report(RunProgress(done, self.num_cells, num_workers, left_s if done < self.num_cells else 0.0))
