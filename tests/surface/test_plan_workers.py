"""`veilroute plan` by a cluster: the same playbook, also when a worker is killed. (Of threads: tests/golden.)"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from dask_cluster import Cluster
from veilroute.covering import at_work

TRIP = ("--start", "1,18", "--goal", "32,60", "--random-candidates", 40)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--workers", 0), ("--workers", ">= 1", "0")),
        pytest.param(("--dask", "tcp://127.0.0.1:1"), ("--dask", "running Dask scheduler"), marks=pytest.mark.slow),
        (("--dask", ""), ("--dask", "running Dask scheduler")),
    ],
)
def test_nobody_to_do_the_work_is_told_in_one_line(
    command: Command, building: Path, options: tuple[object, ...], words: tuple[str, ...]
) -> None:
    assert_refused(command("plan", building, *TRIP, *options), *words)


def test_without_dask_one_line_says_what_to_install(
    command: Command, building: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert_refused(command("plan", building, *TRIP, "--dask", "tcp://127.0.0.1:1"), "veilroute[cluster]")


@pytest.mark.slow
def test_a_cluster_without_workers_is_told_in_one_line(command: Command, building: Path, cluster: Cluster) -> None:
    address, workers = cluster
    for worker in workers:
        worker.kill()
        worker.wait()
    assert_refused(command("plan", building, *TRIP, "--dask", address), "a cluster with workers", "dask worker")


@pytest.mark.slow
@pytest.mark.parametrize("num_killed", [0, 1, 2])
def test_killed_workers_cost_time_only(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, num_killed: int) -> None:
    address, workers = cluster
    town = vr.generate_streets(60, 60, seed=5)
    problem = vr.Problem(town, [vr.Trip(0, 3000)], range(50, 2450, 8))
    privacy = vr.Privacy(k=2, ell=300)
    alone = vr.solve(problem, privacy, workers=1)
    # So that there are many jobs, and a worker can be killed between them.
    monkeypatch.setattr("veilroute.covering.crew._LOOKS_PER_JOB", 1)
    monkeypatch.setattr("veilroute.covering.walks._NANOSECONDS_PER_LOOK", 1e6)
    seen = []

    def watch(progress: vr.Progress) -> None:
        if progress.stage == "distances":
            seen.append(progress.done)
            if 20 <= progress.done < 280:
                for worker in workers[:num_killed]:
                    worker.kill()

    with at_work(address) as crew_there:
        book = vr.solve(problem, privacy, progress=watch)
    assert book.to_json() == alone.to_json()
    assert any(20 <= done < 280 for done in seen), "the workers were meant to be killed midway"
    assert [worker.poll() is None for worker in workers] == [i >= num_killed for i in range(2)]
    assert bool(crew_there.complaint) == (num_killed == 2)
