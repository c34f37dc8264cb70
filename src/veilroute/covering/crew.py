"""Who makes the sweeps of a plan: the cores of this machine, or the workers of a cluster.

Nearly all the work on a large map is whole sweeps, hundreds of them, none of which waits for another: distances between
posts, fields, who is near whom. :class:`Sweeps` says which ones, and a :class:`Crew` makes them and hands the rows back
in the order asked for. Each row is worked out by one thread from first to last, so its bytes are the same whoever makes
it, and however many work beside. Only the nodes that are asked for come back: memory is O(nodes) for each thread and
O(sweeps x asked) for the rows.

Who works is no part of what is worked out. So it is said once, around a plan (:func:`at_work`), and handed to nobody.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from veilroute.base.arrays import Floats, Indices, Ints
from veilroute.base.checks import check_whole
from veilroute.base.cluster import Cluster
from veilroute.base.errors import VeilrouteError
from veilroute.base.run import Watch
from veilroute.covering.states import StateGraph
from veilroute.covering.walks import Sweeper, sweeps_per_look
from veilroute.domain.graph import Domain
from veilroute.kernels.jit import digest_sources

Seeds = tuple[Indices, Floats]  #: nodes, and the value at which the sweep begins at each

MAX_THREADS = 1024  #: each has memory of its own, for the whole map
_LOOK_EVERY_S = 0.2
_LOOKS_PER_JOB = 10  # a worker far away gets more at a time: each job costs some milliseconds on the way
_JOBS_PER_THREAD = 2
_PATIENCE_LOOKS = 100  # so many looks at a cluster without workers, before this machine goes on alone
_MAX_LOSSES = 3
_NOT_THERE = "a domain is where the work is done"
_making = threading.Lock()


class Sweeps:
    """Many sweeps over one direction of a domain, each read at the same nodes; several threads may make them at once.

    Parameters
    ----------
    domain
        Where to sweep.
    asked
        The nodes whose values are wanted; different ones, where seeds are given.
    backward, num_seeds
        As for :class:`~veilroute.covering.walks.Sweeper`.
    limit
        Sweeps end there; what is farther is infinitely far. For sweeps from single nodes.
    """

    def __init__(
        self, domain: Domain, asked: Indices | Ints, *, backward: bool = False, num_seeds: int = 1,
        limit: float = math.inf,
    ) -> None:  # fmt: skip
        self.domain: Domain | None = domain
        self.asked = asked
        self._backward, self._num_seeds, self._limit = backward, num_seeds, limit
        self._idle: deque[Sweeper] = deque()

    @classmethod
    def shared(cls, sweeper: Sweeper, asked: Indices | Ints) -> Sweeps:
        """Sweeps of which the first thread makes those of its own with a sweeper that others use as well."""
        sweeps = cls(sweeper.domain, asked, backward=sweeper.is_backward, num_seeds=sweeper.num_seeds)
        sweeps._idle.append(sweeper)
        return sweeps

    def __getstate__(self) -> dict[str, Any]:
        """What travels to a worker, where the domain is already."""
        return {**vars(self), "domain": None, "_idle": deque()}

    @property
    def per_look(self) -> int:
        """How many sweeps a thread makes between two looks at the clock."""
        assert self.domain is not None, _NOT_THERE
        return sweeps_per_look(self.domain)

    def rows(self, work: Indices | Sequence[Seeds]) -> Floats:
        """A row for each sweep: from single nodes, or from several seeds."""
        sweeper = self._take()
        out = np.empty((len(work), self.asked.size))
        if isinstance(work, np.ndarray):
            sweeper.fill_rows(work, self.asked, out, self._limit)
        else:
            for row, (nodes, values) in zip(out, work, strict=True):
                row[:] = sweeper.values(nodes, values, self.asked)
        self._idle.append(sweeper)
        return out

    def _take(self) -> Sweeper:
        """A sweeper that nobody uses; each has memory of its own."""
        assert self.domain is not None, _NOT_THERE
        try:
            return self._idle.pop()
        except IndexError:
            with _making:  # what sweepers share is worked out by the first
                return Sweeper(self.domain, backward=self._backward, num_seeds=self._num_seeds)


def _num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Crew:
    """The cores of this machine: as many threads as are wanted, or one for each core."""

    def __init__(self, num_threads: int | None = None) -> None:
        if num_threads is None:
            num_threads = min(MAX_THREADS, _num_cores())
        expected = f"an integer >= 1, and at most {MAX_THREADS}"
        self.num_threads = check_whole("--workers", num_threads, expected, least=1, most=MAX_THREADS)

    def read(self, sweeps: Sweeps, work: Indices | Sequence[Seeds], watch: Watch | None = None) -> Iterator[Floats]:
        """The rows of all sweeps, some at a time, in order; :class:`OutOfTimeError` when the watch is over."""
        parts = _cut(work, sweeps.per_look)
        num = min(self.num_threads, len(parts))
        if num < 2:
            for part in parts:
                _look(watch)
                yield sweeps.rows(part)
            return
        with ThreadPoolExecutor(num) as pool:
            yield from _in_order(lambda part: pool.submit(sweeps.rows, part), parts, lambda: num + 1, watch)

    @property
    def num_at_once(self) -> int:
        """How many sweeps can be under way at the same time."""
        return self.num_threads

    @property
    def own(self) -> Crew:
        """Who of them is in this process: for what promises rest on, which nobody else is trusted with."""
        return self

    @property
    def complaint(self) -> str:
        """What went wrong without changing any result, in a few words; empty when nothing did."""
        return ""

    def close(self) -> None:
        """Let everybody go."""


class ClusterCrew(Crew):
    """The workers of a Dask cluster; what is too little to be sent away is done on this machine.

    A domain travels to the workers once, bare: edges, costs and rules for turns, no labels and no places. Lost workers
    cost time only. Where all are lost for good, or the scheduler is, this machine does the rest.
    """

    def __init__(
        self, address: str, *, connect: Callable[[str, str], Cluster] = Cluster, patience_looks: int = _PATIENCE_LOOKS
    ) -> None:
        super().__init__()
        self._cluster = connect(address, "veilroute-plan")
        self._patience_looks = patience_looks
        self._executor: Any = self._cluster.client.get_executor(pure=False, retries=0)
        self._there: WeakKeyDictionary[Domain | Sweeps, Any] = WeakKeyDictionary()
        self._is_lost = False

    def read(self, sweeps: Sweeps, work: Indices | Sequence[Seeds], watch: Watch | None = None) -> Iterator[Floats]:
        """See :meth:`Crew.read`."""
        done = num_losses = 0
        while not self._is_lost and len(work) - done > sweeps.per_look:
            try:
                for rows in self._read_there(sweeps, work[done:], watch):
                    done += len(rows)
                    yield rows
            except _LOSSES as error:
                # What was sent there may have gone with those who had it: once more, if somebody is left.
                self._there.clear()
                num_losses += 1
                is_hopeless = isinstance(error, _NobodyLeftError) or not self._cluster.num_workers
                self._is_lost = is_hopeless or num_losses == _MAX_LOSSES
        if done < len(work):
            yield from super().read(sweeps, work[done:], watch)

    def _read_there(self, sweeps: Sweeps, work: Indices | Sequence[Seeds], watch: Watch | None) -> Iterator[Floats]:
        from distributed.scheduler import KilledWorker

        domain = sweeps.domain
        assert domain is not None, _NOT_THERE
        bare = self._send(domain, lambda: _strip(domain))
        kind = self._send(sweeps, lambda: sweeps)
        num_jobs = max(1, _JOBS_PER_THREAD * self._cluster.num_threads)
        parts = _cut(work, min(_LOOKS_PER_JOB * sweeps.per_look, math.ceil(len(work) / num_jobs)))
        looks_alone = 0

        def num_waiting() -> int:
            nonlocal looks_alone
            num = self._cluster.num_threads
            looks_alone = 0 if num else looks_alone + 1
            if looks_alone > self._patience_looks:
                raise _NobodyLeftError
            return max(1, _JOBS_PER_THREAD * num)

        def submit(part: Indices | Sequence[Seeds]) -> Future[Floats]:
            job: Future[Floats] = self._executor.submit(_rows_there, bare, kind, part, digest_sources())
            return job

        try:
            yield from _in_order(submit, parts, num_waiting, watch)
        except KilledWorker:
            raise _NobodyLeftError from None

    def _send(self, key: Domain | Sweeps, make: Callable[[], object]) -> Any:
        """Something on every worker, sent there when it is first needed."""
        if key not in self._there:
            self._there[key] = self._cluster.client.scatter(make(), broadcast=True, hash=False)
        return self._there[key]

    @property
    def num_at_once(self) -> int:
        """How many sweeps can be under way at the same time."""
        return max(self.num_threads, _JOBS_PER_THREAD * self._cluster.num_threads)

    @property
    def own(self) -> Crew:
        """The threads of this process."""
        return Crew(self.num_threads)

    @property
    def complaint(self) -> str:
        """What went wrong without changing any result, in a few words; empty when nothing did."""
        return f"the cluster at {self._cluster.address} was lost, and this machine did the rest" * self._is_lost

    def close(self) -> None:
        """Leave the cluster, which goes on for others."""
        self._there.clear()
        self._cluster.close()


class _NobodyLeftError(OSError):
    """A cluster has nobody who could do the work."""


# What becomes of jobs when those who had them, or what these needed, are gone. Whatever was wrong with the work itself
# shows when this machine does it.
_LOSSES = (CancelledError, OSError, RuntimeError, MemoryError)


def _strip(domain: Domain) -> Domain:
    """What sweeps need of a domain: edges and costs; of states also the rules for turns."""
    if isinstance(domain, StateGraph):
        world = domain.world
        return replace(domain, world=Domain(world.indptr, world.indices, world.costs, turns=world.turns))
    return Domain(domain.indptr, domain.indices, domain.costs)


def _rows_there(domain: Domain, sweeps: Sweeps, work: Indices | Sequence[Seeds], kernels: str) -> Floats:
    """What a worker of a cluster does; it keeps sweepers and domain for as long as it keeps the sweeps."""
    if kernels != digest_sources():
        raise VeilrouteError("--dask: a worker of the cluster has another veilroute; install this one there")
    if sweeps.domain is None:
        sweeps.domain = domain
    return sweeps.rows(work)


def _cut(work: Any, size: int) -> list[Any]:
    return [work[first : first + size] for first in range(0, len(work), size)]


def _look(watch: Watch | None) -> None:
    if watch is not None:
        watch.check()


def _in_order(
    submit: Callable[[Any], Future[Floats]], parts: Sequence[Any], num_waiting: Callable[[], int], watch: Watch | None
) -> Iterator[Floats]:
    """What becomes of the parts, in their order; ``num_waiting`` says how many to hand in before the first is there."""
    left = iter(parts)
    waiting: deque[Future[Floats]] = deque()
    try:
        while True:
            _look(watch)
            waiting.extend(submit(part) for part in islice(left, max(0, num_waiting() - len(waiting))))
            if not waiting:
                return
            if wait([waiting[0]], _LOOK_EVERY_S).done:
                yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


_at_work: ContextVar[Crew | None] = ContextVar("veilroute_crew", default=None)


def crew_at_work() -> Crew:
    """Who makes the sweeps here: whoever was said to, or all cores."""
    return _at_work.get() or Crew()


def num_threads() -> int:
    """How many threads this process may use."""
    return crew_at_work().num_threads


@contextmanager
def at_work(workers: int | str | Crew | None) -> Iterator[Crew]:
    """Within it, this crew makes the sweeps: so many threads, a Dask cluster by its address, or who is at work anyway.

    A crew that is made here is let go at the end.
    """
    if workers is None or isinstance(workers, Crew):
        crew = workers or crew_at_work()
    else:
        crew = ClusterCrew(workers) if isinstance(workers, str) else Crew(workers)
    before = _at_work.set(crew)
    try:
        yield crew
    finally:
        _at_work.reset(before)
        if isinstance(workers, int | str):
            crew.close()
