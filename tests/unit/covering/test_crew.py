"""The crew that makes the sweeps of a plan: any number of threads, and a cluster that loses workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from itertools import chain
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

import veilroute as vr
from veilroute import InvalidInputError, OutOfTimeError, VeilrouteError, Watch
from veilroute.covering import ClusterCrew, Crew, PostTable, Sweeper, Sweeps, at_work, num_threads, prepare_task

ADDRESS = "tcp://10.0.0.5:8786"


Floats = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def town() -> vr.Domain:
    """So large that a hundred sweeps are much work."""
    return vr.generate_streets(60, 60, seed=5)


def some_sweeps(town: vr.Domain, *, backward: bool = False) -> tuple[Sweeps, Any]:
    nodes = np.arange(0, town.num_nodes, 16, dtype=np.uint32)
    return Sweeps(town, nodes, backward=backward, num_seeds=3), nodes


def read(crew: Crew, sweeps: Sweeps, work: Any, watch: Watch | None = None) -> Floats:
    return np.array(list(chain.from_iterable(crew.read(sweeps, work, watch))))


@pytest.mark.parametrize("backward", [False, True])
def test_rows_are_those_of_one_sweep_each(town: vr.Domain, backward: bool) -> None:
    sweeps, nodes = some_sweeps(town, backward=backward)
    plain = Sweeper(town, backward=backward, num_seeds=3)
    expected = np.array([plain.run(int(node))[nodes] for node in nodes])
    seeds = [(nodes[i : i + 3], np.array([5.0, 0.0, 70.0])[: nodes[i : i + 3].size]) for i in range(nodes.size)]
    from_seeds = np.array([plain.run_from(*each)[nodes] for each in seeds])
    for num in (1, 2, 3):
        assert np.array_equal(read(Crew(num), sweeps, nodes), expected)
        assert np.array_equal(read(Crew(num), sweeps, seeds), from_seeds)


def test_sweeps_end_at_a_limit(town: vr.Domain) -> None:
    _, nodes = some_sweeps(town)
    asked = np.concatenate([nodes, nodes[:3]])  # several candidates may stand at one spot
    rows = read(Crew(2), Sweeps(town, asked, limit=400.0), nodes)
    whole = read(Crew(1), Sweeps(town, asked), nodes)
    assert np.array_equal(rows, np.where(whole <= 400, whole, np.inf))
    sweeper = Sweeper(town, backward=True, num_seeds=1)
    for node in nodes[:5].tolist():
        near = np.flatnonzero(sweeper.run(node) <= 400)
        assert np.array_equal(sweeper.within(node, 400.0), near)


def test_a_table_goes_on_where_it_was_stopped(town: vr.Domain) -> None:
    task = prepare_task(vr.Problem(town, [vr.Trip(0, 100)], range(1, 3000, 25)))
    whole = PostTable(task.domain, task.posts)
    whole.complete(Watch())
    table, left = PostTable(task.domain, task.posts), [3]

    def is_enough() -> bool:
        left[0] -= 1
        return left[0] <= 0

    with at_work(2):
        with pytest.raises(OutOfTimeError):
            table.complete(Watch(should_stop=is_enough))
        done = table.num_done
        assert 0 < done < 120
        table.complete(Watch())
    assert np.array_equal(table.distances, whole.distances)


def test_a_crew_is_at_work_within_and_not_beyond() -> None:
    before = num_threads()
    with at_work(7):
        with at_work(None) as same, at_work(2):
            assert num_threads() == 2
        assert same.num_threads == num_threads() == 7
    assert num_threads() == before
    bad: Any
    for bad in (0, -1, True, 1.5):
        with pytest.raises(InvalidInputError, match="--workers"), at_work(bad):
            pass


class FakeCluster:
    """A cluster in this process: what is sent there is pickled, and jobs end as the test says."""

    def __init__(self, address: str, _name: str) -> None:
        self.address, self.client = address, self
        self.num_workers = self.num_threads = 2
        self.sent: list[object] = []
        self.num_jobs = 0
        self.happens: Callable[[int], BaseException | None] = lambda _: None
        self.changes: Callable[[tuple[Any, ...]], tuple[Any, ...]] = lambda given: given  # what is asked of workers
        self.answers: Callable[[Floats], Floats] = lambda rows: rows
        self._pool = ThreadPoolExecutor(2)

    def get_executor(self, **_: object) -> FakeCluster:
        return self

    def scatter(self, what: object, *, broadcast: bool, hash: bool) -> object:
        assert broadcast
        assert not hash
        self.sent.append(pickle.loads(pickle.dumps(what)))
        return self.sent[-1]

    def submit(self, function: Callable[..., Floats], *arguments: object) -> Future[Floats]:
        self.num_jobs += 1
        error = self.happens(self.num_jobs)
        if error is None:
            return self._pool.submit(lambda: self.answers(function(*self.changes(arguments))))
        failed: Future[Floats] = Future()
        if not isinstance(error, _NeverError):
            failed.set_exception(error)
        return failed

    def close(self) -> None:
        self._pool.shutdown()


class _NeverError(Exception):
    """The job waits for somebody to do it."""


@pytest.fixture
def cluster() -> ClusterCrew:
    return ClusterCrew(ADDRESS, connect=cast("Any", FakeCluster), patience_looks=2)


def faked(crew: ClusterCrew) -> FakeCluster:
    fake: Any = crew._cluster
    assert isinstance(fake, FakeCluster)
    return fake


def test_a_map_is_sent_once_and_bare(town: vr.Domain, cluster: ClusterCrew) -> None:
    for backward in (False, True):
        sweeps, nodes = some_sweeps(town, backward=backward)
        for _ in range(2):
            assert np.array_equal(read(cluster, sweeps, nodes, Watch()), read(Crew(1), sweeps, nodes))
    sent = faked(cluster).sent
    (there,) = (each for each in sent if isinstance(each, vr.Domain))
    assert there.coordinates is None
    assert there.labels is None
    assert len(sent) == 3, "and twice what is asked of it"
    assert faked(cluster).num_jobs > 8
    assert not cluster.complaint
    cluster.close()


def killed() -> BaseException:
    from distributed.scheduler import KilledWorker

    return KilledWorker.__new__(KilledWorker)


@pytest.mark.parametrize(
    ("error", "num_times", "is_lost"),
    [
        (CancelledError(), 1, False),  # those who had the map are gone, others are there
        (OSError("connection lost"), 2, False),
        (CancelledError(), 10**6, True),  # and it happens again and again
        (RuntimeError("pool is closed"), 10**6, True),
        (MemoryError(), 10**6, True),
        (None, 10**6, True),  # a job that killed three workers
    ],
)
def test_losses_cost_time_only(
    town: vr.Domain, cluster: ClusterCrew, error: BaseException | None, num_times: int, is_lost: bool
) -> None:
    sweeps, nodes = some_sweeps(town)
    loss = killed() if error is None else error
    left = [num_times]

    def happens(number: int) -> BaseException | None:
        left[0] -= number > 2
        return loss if number > 2 and left[0] >= 0 else None

    faked(cluster).happens = happens
    assert np.array_equal(read(cluster, sweeps, nodes, Watch()), read(Crew(1), sweeps, nodes))
    assert bool(cluster.complaint) == is_lost
    assert not is_lost or ADDRESS in cluster.complaint


def test_nobody_waits_for_workers_for_ever(town: vr.Domain, cluster: ClusterCrew) -> None:
    sweeps, nodes = some_sweeps(town)

    def happens(number: int) -> BaseException | None:
        if number < 3:
            return None
        faked(cluster).num_threads = faked(cluster).num_workers = 0
        return _NeverError()

    faked(cluster).happens = happens
    assert np.array_equal(read(cluster, sweeps, nodes, Watch()), read(Crew(1), sweeps, nodes))
    assert cluster.complaint


def test_the_time_ends_while_a_cluster_works(town: vr.Domain, cluster: ClusterCrew) -> None:
    sweeps, nodes = some_sweeps(town)
    faked(cluster).happens = lambda _: _NeverError()
    with pytest.raises(OutOfTimeError):
        read(cluster, sweeps, nodes, Watch(time_limit_s=0.05))
    assert not cluster.complaint


def test_workers_with_other_kernels_are_refused(town: vr.Domain, cluster: ClusterCrew) -> None:
    sweeps, nodes = some_sweeps(town)
    faked(cluster).changes = lambda given: (*given[:-1], "other kernels")
    with pytest.raises(VeilrouteError, match="--dask: a worker of the cluster has another veilroute"):
        read(cluster, sweeps, nodes, Watch())


def test_a_cluster_that_lies_makes_nobody_less_hidden(town: vr.Domain, cluster: ClusterCrew) -> None:
    problem = vr.Problem(town, [vr.Trip(0, 100)], range(1, 61))
    faked(cluster).answers = lambda rows: 5000 - rows
    book = vr.solve(problem, vr.Privacy(k=2, ell=300), workers=cluster)
    assert faked(cluster).num_jobs
    assert book.claims.num_anonymized
    report = vr.audit(book)
    kept = {claim.claim for claim in report.claims if claim.holds}
    assert {"walk", "coverage", "spread"} <= kept, report
    assert not report.holds, "what was proved with wrong distances is found out"
