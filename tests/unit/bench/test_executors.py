"""Where cells run: real processes that die, and a cluster that is not there."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from concurrent.futures import BrokenExecutor, CancelledError
from pathlib import Path
from typing import Any

import pytest

from bench_runs import InlineWorkforce, quick_cells, small_terrain
from veilroute import InvalidInputError, MissingExtraError, VeilrouteError, bench


def test_a_cell_that_kills_its_worker_is_found_and_the_others_finish(tmp_path: Path) -> None:
    """One cell breaks the pool each time, and its neighbour is lost with it once."""
    terrain = small_terrain()
    cells = quick_cells(terrain)
    tries: Counter[int] = Counter()

    def run(job: bench.Job) -> dict[str, Any]:
        at = cells.index(job.cell)
        tries[at] += 1
        if at == 5 or (at == 4 and tries[at] == 1):
            raise BrokenExecutor
        return bench.run_cell(job)

    workforce = InlineWorkforce(run)
    workforce.diagnose = bench.LocalWorkforce(1).diagnose  # type: ignore[method-assign]
    with bench.RecordStore(tmp_path) as store:
        report = bench.run_cells(cells, terrain.domains, store, workforce, run_id="test")
    assert report.is_complete and [record.cell for record in report.errors] == [cells[5]]
    assert "out of memory" in report.errors[0].outcome.error
    assert len((tmp_path / bench.FILE_NAME).read_bytes().splitlines()) == len(cells)
    assert {at: count for at, count in tries.items() if count > 1} == {4: 2, 5: 2}, "the neighbour is not blamed"


def test_processes_of_a_pool_ignore_ctrl_c_and_end_at_once_when_told() -> None:
    workforce = bench.LocalWorkforce(1)
    executor = workforce.open()
    pid = executor.submit(os.getpid).result()
    assert pid != os.getpid()
    os.kill(pid, signal.SIGINT)
    assert executor.submit(os.getpid).result() == pid
    long = executor.submit(time.sleep, 600)
    while not long.running():
        time.sleep(0.01)
    workforce.close(at_once=True)
    with pytest.raises(ProcessLookupError):  # it has been waited for
        os.kill(pid, 0)
    error = long.exception()
    assert isinstance(error, BrokenExecutor) and workforce.diagnose(error) == "executor"
    assert workforce.diagnose(ValueError()) == ""
    workforce.close()


def test_what_cannot_be_worked_with_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for num_workers in (0, -1, True):
        with pytest.raises(InvalidInputError, match="--workers"):
            bench.LocalWorkforce(num_workers)
    for address in ("nonsense://here", ""):
        with pytest.raises(InvalidInputError, match="--dask: expected the address of a running Dask scheduler"):
            bench.DaskWorkforce(address).open()
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match="veilroute\\[cluster\\]"):
        bench.DaskWorkforce("tcp://127.0.0.1:1").open()


def test_what_dask_says_of_lost_jobs() -> None:
    from distributed.scheduler import KilledWorker

    workforce = bench.DaskWorkforce("tcp://127.0.0.1:1")
    assert workforce.diagnose(KilledWorker.__new__(KilledWorker)) == "job" and workforce.diagnose(ValueError()) == ""
    with pytest.raises(VeilrouteError, match="scheduler at tcp://127.0.0.1:1 has gone"):
        workforce.diagnose(CancelledError())
