"""Where cells run, and what is known of that place.

A workforce gives out a ``concurrent.futures.Executor``: processes of this machine, or a Dask cluster. A
:class:`TimeEstimate` learns how long cells take there. :class:`MemoryGauge` measures a cell, and
:func:`provenance` tells which software and machine its record came from, without paths and user names.
"""

import ctypes
import math
import multiprocessing
import os
import platform
import signal
import socket
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, Protocol

from veilroute import __version__
from veilroute.base.checks import check_whole
from veilroute.base.cluster import Cluster
from veilroute.base.errors import VeilrouteError
from veilroute.base.run import proc_line
from veilroute.bench.cells import Cell, Plugins, Record

_FEW = 3

Loss = Literal["executor", "job", ""]
"""What died with a job: its whole executor, so that other jobs may be to blame; its own worker, again and again;
nothing, the job failed by itself."""


class Workforce(Protocol):
    """Gives out executors, and takes them back."""

    def open(self) -> Executor:
        """An executor that is ready for jobs; a fresh one after the last was closed."""

    @property
    def num_slots(self) -> int:
        """How many jobs to hand in at a time: one for each process that can run them."""

    def diagnose(self, error: BaseException) -> Loss:
        """Why a job failed."""

    def close(self, *, at_once: bool = False) -> None:
        """Let the executor go, after its jobs or, at once, without waiting for them."""


class LocalWorkforce:
    """A pool of processes that never outlive this one."""

    def __init__(self, num_workers: int) -> None:
        #: The number of processes.
        self.num_slots = check_whole("--workers", num_workers, "an integer >= 1", least=1)
        self._executor: ProcessPoolExecutor | None = None
        self._lifeline: Connection | None = None

    def open(self) -> Executor:
        """A pool of fresh processes, after they have answered."""
        # Spawned and not forked: a fork of a process with threads may hang, and Windows has none.
        context = multiprocessing.get_context("spawn")
        watched, self._lifeline = context.Pipe(duplex=False)
        self._executor = ProcessPoolExecutor(
            self.num_slots, mp_context=context, initializer=_start_worker, initargs=(watched,)
        )
        try:
            # All at once, so that all processes are there from the start: a pool that starts one for a later job may
            # not look whether it lives until the next answer of another.
            with _without_ctrl_c():
                for answer in [self._executor.submit(os.getpid) for _ in range(self.num_slots)]:
                    answer.result()
        except BrokenExecutor:
            self.close(at_once=True)
            raise VeilrouteError("worker processes end as soon as they start; try fewer --workers") from None
        return self._executor

    def diagnose(self, error: BaseException) -> Loss:
        """A pool breaks when one of its processes is killed, or runs out of memory, and takes all jobs with it."""
        return "executor" if isinstance(error, BrokenExecutor) else ""

    def close(self, *, at_once: bool = False) -> None:
        """End the processes, after their jobs or at once."""
        if self._executor is None or self._lifeline is None:
            return
        if at_once:
            self._lifeline.close()
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._lifeline.close()
        self._executor = self._lifeline = None


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Keep Ctrl-C waiting while processes start: they inherit that, and would otherwise die of it halfway."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker(lifeline: Connection) -> None:
    """Make a process of the pool deaf to Ctrl-C, which is the parent's business, and tie its life to the parent's."""

    def end_with_parent() -> None:
        # The other end closes when the parent lets go of it, and also when the parent is killed.
        wait([lifeline])
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()


class DaskWorkforce:
    """The workers of a Dask cluster (:class:`~veilroute.base.cluster.Cluster`)."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._cluster: Cluster | None = None
        self._executor: Any = None

    @property
    def num_slots(self) -> int:
        """One for each worker that is there now, perhaps none; workers may come and go during a run."""
        return 1 if self._cluster is None else self._cluster.num_workers

    def open(self) -> Executor:
        """Connect to the scheduler, or say in one line why not."""
        self._cluster = Cluster(self.address, "veilroute-bench")
        # Equal jobs are never taken for one another, and an error of a job is final; lost workers do not count as such.
        self._executor = self._cluster.client.get_executor(pure=False, retries=0)
        executor: Executor = self._executor
        return executor

    def diagnose(self, error: BaseException) -> Loss:
        """The scheduler gives a job up that has lost its worker more often than it allows (three times by default)."""
        if isinstance(error, CancelledError):
            raise VeilrouteError(
                f"the Dask scheduler at {self.address} has gone; what was finished is recorded, and the same command "
                "goes on there"
            )
        return "job" if type(error).__name__ == "KilledWorker" else ""

    def close(self, *, at_once: bool = False) -> None:
        """Leave the cluster, which goes on for others."""
        with suppress(Exception):  # the cluster may be gone
            if self._executor is not None:
                self._executor.shutdown(wait=not at_once)
        if self._cluster is not None:
            self._cluster.close()
        self._executor = self._cluster = None


class TimeEstimate:
    """Learns from finished cells how long others will take.

    A cell is expected to take as long as finished ones of the same method and size did on average; where there is none
    yet, those of the same method, then of the same size, then all.
    """

    def __init__(self) -> None:
        self._seconds: dict[Hashable, float] = defaultdict(float)
        self._num_cells: Counter[Hashable] = Counter()
        self._overheads: list[float] = []

    def learn(self, record: Record, turnaround_s: float | None = None) -> None:
        """Take a finished cell into account, and the seconds from handing it in to its answer; errors teach nothing."""
        if record.outcome.error:
            return
        runtime_s = record.outcome.runtime_s
        for kind in _kinds(record.cell):
            self._seconds[kind] += runtime_s
            self._num_cells[kind] += 1
        if turnaround_s is not None:
            self._overheads.append(max(0.0, turnaround_s - runtime_s))

    def seconds_left(self, waiting: Iterable[Cell], running: Iterable[tuple[Cell, float]], num_slots: int) -> float:
        """Expected seconds until all is done; NaN while nothing is known, infinite without anybody to do it.

        Cells that are running come with the seconds since they began.
        """
        if not self._num_cells:
            return math.nan
        # The least of the overheads: the first cells of each method and process also load and compile.
        overhead = min(self._overheads) if len(self._overheads) >= _FEW else 0.0
        total = longest = 0.0
        for cell, spent_s in [*((cell, 0.0) for cell in waiting), *running]:
            kind = next(kind for kind in _kinds(cell) if kind in self._num_cells)
            left_s = min(self._seconds[kind] / self._num_cells[kind], cell.time_limit_s) + overhead - spent_s
            if left_s < 0:  # longer than expected already: perhaps as long again, up to its limit
                left_s = min(spent_s, max(0.0, cell.time_limit_s - spent_s))
            total += left_s
            longest = max(longest, left_s)
        return max(total / num_slots, longest) if num_slots else math.inf


def _kinds(cell: Cell) -> tuple[Hashable, ...]:
    """Groups of cells that a cell belongs to, the narrowest first."""
    method, size, limit = cell.method, cell.num_candidates, cell.time_limit_s
    return (method, size, limit), (method, limit), (size, limit), "any"


class MemoryGauge:
    """Measures the most memory that this process holds beyond what it held when the gauge was made; on Linux only."""

    def __init__(self) -> None:
        self._before_kb: int | None = None
        if sys.platform == "linux":
            with suppress(OSError, AttributeError):  # other C libraries than GNU's
                # What earlier cells have freed goes back to the system. Taken again, it would not be seen to be held.
                ctypes.CDLL(None).malloc_trim(0)
            with suppress(OSError):  # a container may forbid it
                Path("/proc/self/clear_refs").write_bytes(b"5")  # the peak begins again at what is held now
                self._before_kb = _peak_kb()

    def read_mb(self) -> float | None:
        """The most so far; ``None`` if the system does not tell."""
        return None if self._before_kb is None else max(0, (_peak_kb() or 0) - self._before_kb) / 1024


def _peak_kb() -> int | None:
    peak = proc_line("/proc/self/status", "VmHWM")
    return int(peak.split()[0]) if peak else None


def provenance(run_id: str, plugins: Plugins | None = None) -> dict[str, Any]:
    """Versions, machine, worker, run, time of day and plug-ins, for a record that is made here and now."""
    return {
        **_place(),
        "worker": {"host": socket.gethostname(), "pid": os.getpid()},
        "run": run_id,
        "finished_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        **({"plugins": plugins} if plugins else {}),
    }


@cache
def _place() -> dict[str, Any]:
    versions = {"veilroute": __version__, "python": platform.python_version(), "platform": platform.platform()}
    versions |= {name: version(name) for name in ("numpy", "numba")}
    processor = proc_line("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()
    memory_mb = None
    with suppress(AttributeError, OSError, ValueError):
        memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    machine = {"system": platform.system(), "processor": processor, "cores": os.cpu_count(), "memory_mb": memory_mb}
    return {"versions": versions, "machine": machine}
