"""Runs the cells that are not recorded yet, and records each as soon as it is finished."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import dataclass
from typing import Any

from veilroute.bench.cells import Cell
from veilroute.bench.estimate import TimeEstimate
from veilroute.bench.execute import Job, failed_outcome, map_text, run_cell
from veilroute.bench.executors import Workforce
from veilroute.bench.machine import provenance
from veilroute.bench.records import Record
from veilroute.bench.store import RecordStore
from veilroute.domain.graph import Domain
from veilroute.errors import VeilrouteError

_TICK_S = 0.25


@dataclass(frozen=True)
class RunProgress:
    """How far a run is.

    Parameters
    ----------
    done, total
        Cells that are recorded, those of earlier runs included, and cells in all.
    num_workers
        How many run cells; none when a cluster has lost all, and the run waits for new ones.
    seconds_left
        Estimated; NaN while nothing is known, infinite without workers.
    """

    done: int
    total: int
    num_workers: int
    seconds_left: float


@dataclass(frozen=True)
class RunReport:
    """What a run has done.

    Parameters
    ----------
    records
        Of the cells that were asked for, in their order; without those that are missing after an early stop.
    num_cells
        How many were asked for.
    num_run
        How many of them were run now; the others were recorded already, or are missing.
    """

    records: tuple[Record, ...]
    num_cells: int
    num_run: int

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
    report: Callable[[RunProgress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> RunReport:
    """Run the cells that the store does not hold, and add each to it when it is finished.

    Parameters
    ----------
    cells
        What is wanted, in the order in which to begin.
    domains
        The maps by name.
    store
        Open records; what they hold is not run again.
    workforce
        Who runs the cells.
    run_id
        Names this run in its records.
    retry_errors
        Whether cells whose record tells of an error are run again.
    report
        Called now and then with a :class:`RunProgress`.
    should_stop
        Asked now and then; true means that no further cell is begun. Those that are running are still recorded.
    """
    missing = [cell for cell in cells if cell.key not in store or (retry_errors and store.get(cell.key).outcome.error)]
    if missing:
        texts = {name: map_text(domain) for name, domain in domains.items()}
        run = _Run(cells, missing, texts, store, workforce, run_id, report, should_stop)
        try:
            run.work()
        except BaseException:
            workforce.close(at_once=True)
            raise
        workforce.close()
    elif report is not None:
        report(RunProgress(len(cells), len(cells), num_workers=0, seconds_left=0.0))
    records = tuple(store.get(cell.key) for cell in cells if cell.key in store)
    return RunReport(records, len(cells), run.num_finished if missing else 0)


@dataclass(frozen=True)
class _Begun:
    cell: Cell
    at_s: float
    is_alone: bool


class _Run:
    """The state of one run.

    When a process of a pool dies, the pool breaks and takes all its cells with it, and nobody knows which of them was
    to blame. They are then run once more, one at a time; the cell whose process dies again is recorded as an error.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        missing: Sequence[Cell],
        texts: Mapping[str, str],
        store: RecordStore,
        workforce: Workforce,
        run_id: str,
        report: Callable[[RunProgress], None] | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self.num_finished = 0
        self._num_cells, self._num_before = len(cells), len(cells) - len(missing)
        self._waiting = deque(missing)
        self._suspects: deque[Cell] = deque()
        self._running: dict[Future[dict[str, Any]], _Begun] = {}
        self._texts, self._store, self._workforce, self._run_id = texts, store, workforce, run_id
        self._report, self._should_stop = report, should_stop
        self._estimate = TimeEstimate()
        again = {cell.key for cell in missing}
        for cell in cells:
            if cell.key not in again:
                self._estimate.learn(store.get(cell.key))

    def work(self) -> None:
        """Run all that is waiting, or until told to stop."""
        executor = self._workforce.open()
        self._tell()
        while self._waiting or self._suspects or self._running:
            if self._should_stop is not None and self._should_stop():
                self._waiting.clear()
                self._suspects.clear()
            else:
                self._hand_in(executor)
            finished = wait(self._running, timeout=_TICK_S, return_when=FIRST_COMPLETED).done
            is_broken = False
            # In the order in which they were handed in, so that nothing depends on a set's order.
            for future in [future for future in self._running if future in finished]:
                is_broken |= self._settle(future)
            if is_broken:
                self._settle_broken()
                self._workforce.close(at_once=True)
                executor = self._workforce.open()
            self._tell()

    def _hand_in(self, executor: Executor) -> None:
        if self._suspects:
            if not self._running:
                self._begin(executor, self._suspects.popleft(), is_alone=True)
            return
        while self._waiting and len(self._running) < self._workforce.num_slots:
            self._begin(executor, self._waiting.popleft(), is_alone=False)

    def _begin(self, executor: Executor, cell: Cell, *, is_alone: bool) -> None:
        job = Job(cell, self._texts[cell.instance.map_name], self._run_id)
        try:
            future = executor.submit(run_cell, job)
        except Exception as error:
            # The pool broke since we last looked. This cell was not in it, but is among those to be tried again.
            future, is_alone = Future(), False
            future.set_exception(error)
        self._running[future] = _Begun(cell, time.monotonic(), is_alone)

    def _settle(self, future: Future[dict[str, Any]]) -> bool:
        """Record what came of a job; whether its executor is broken."""
        begun = self._running.pop(future)
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            self._record(future.result(), time.monotonic() - begun.at_s)
            return False
        match self._workforce.diagnose(error):
            case "executor":
                if begun.is_alone:
                    self._record_loss(begun.cell)
                else:
                    self._suspects.append(begun.cell)
                return True
            case "job":
                self._record_loss(begun.cell)
                return False
        raise VeilrouteError(
            f"a worker could not run a cell ({type(error).__name__}: {str(error).split(chr(10), 1)[0][:200]}); "
            "check that all workers have the same veilroute"
        ) from error

    def _settle_broken(self) -> None:
        """Wait for the other jobs of a broken executor: some may have finished just in time."""
        wait(self._running, timeout=_TICK_S * 20)
        for future in list(self._running):
            if future.done():
                self._settle(future)
            else:
                self._suspects.append(self._running.pop(future).cell)

    def _record(self, data: dict[str, Any], turnaround_s: float | None) -> None:
        self._estimate.learn(self._store.append(data), turnaround_s)
        self.num_finished += 1

    def _record_loss(self, cell: Cell) -> None:
        outcome = failed_outcome("the process that ran it died each time: killed, or out of memory")
        self._record(Record(cell, outcome, provenance(self._run_id)).to_dict(), None)

    def _tell(self) -> None:
        if self._report is None:
            return
        now_s = time.monotonic()
        running = [(begun.cell, now_s - begun.at_s) for begun in self._running.values()]
        num_workers = self._workforce.num_slots
        left_s = self._estimate.seconds_left([*self._suspects, *self._waiting], running, num_workers)
        done = self._num_before + self.num_finished
        self._report(RunProgress(done, self._num_cells, num_workers, left_s if done < self._num_cells else 0.0))
