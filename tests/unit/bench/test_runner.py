"""Running cells: each once, recorded at once, whatever happens to some of them."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from bench_runs import InlineWorkforce, quick_cells, small_terrain, without_times
from veilroute import VeilrouteError
from veilroute.bench import (
    BOUNDED,
    FILE_NAME,
    KLR_METHODS,
    PARTITIONING,
    Cell,
    Job,
    Layout,
    MemoryGauge,
    Method,
    Outcome,
    Record,
    RecordStore,
    RunProgress,
    RunReport,
    Selection,
    Terrain,
    TimeEstimate,
    bounded_m,
    build_means,
    map_text,
    peak_memory_mb,
    record_from_dict,
    run_cell,
    run_cells,
)


@pytest.fixture(scope="module")
def terrain() -> Terrain:
    return small_terrain()


@pytest.fixture(scope="module")
def cells(terrain: Terrain) -> list[Cell]:
    return quick_cells(terrain)


def run(cells: list[Cell], terrain: Terrain, folder: Path, workforce: InlineWorkforce, **options: Any) -> RunReport:
    with RecordStore(folder) as store:
        return run_cells(cells, terrain.domains, store, workforce, run_id="test", **options)


def job_of(cell: Cell, terrain: Terrain) -> Job:
    return Job(cell, map_text(terrain.domains[cell.instance.map_name]), "test")


def test_a_cell_gives_what_solve_gives(cells: list[Cell], terrain: Terrain) -> None:
    cell = next(cell for cell in cells if (cell.k, cell.ell, cell.radius) == (3, 10, 2))
    record = record_from_dict(run_cell(job_of(replace(cell, keep_playbook=True), terrain)))
    at = cell.instance
    problem = vr.Problem(terrain.domains["rooms-2"], [vr.Trip(at.start, at.goal)], at.candidates, vr.WithinDistance(2))
    playbook = vr.solve(problem, vr.Privacy(k=3, ell=10, spread="all-pairs"), seed=cell.seed)
    outcome = record.outcome
    assert (outcome.status, outcome.apr, outcome.mac) == (playbook.status, playbook.apr, playbook.mac)
    assert outcome.num_anonymized == playbook.claims.num_anonymized
    assert outcome.is_finished
    assert outcome.runtime_s > 0
    assert outcome.improvements[-1][1] == outcome.num_anonymized
    assert outcome.audit_holds is True
    assert outcome.playbook == playbook.to_dict(embed_domain=False)
    assert outcome.error == ""
    assert run_cell(job_of(cell, terrain))["outcome"]["playbook"] is None


def test_records_of_earlier_versions_are_of_the_kind_of_map_that_is_run_now(
    cells: list[Cell], terrain: Terrain, tmp_path: Path
) -> None:
    """They do not say it, and in tables they would stand apart from the others of the same map."""
    first = cells[:1]
    run(first, terrain, tmp_path, InlineWorkforce())
    path = tmp_path / FILE_NAME
    path.write_bytes(path.read_bytes().replace(b',"kind":"rooms"', b"").replace(b'"kind":"rooms",', b""))
    found = run(cells[:2], terrain, tmp_path, InlineWorkforce())
    assert found.num_run == 1 and {record.cell.instance.map_kind for record in found.records} == {"rooms"}


def test_what_was_done_is_counted(cells: list[Cell], terrain: Terrain) -> None:
    """Naive cuts 8 candidates into 4 groups of 2: one partition, and a search for each group."""
    at, method = cells[0], Method("pbp", "naive", "", "blind")
    outcome = record_from_dict(run_cell(job_of(replace(at, method=method, k=2, ell=0.0), terrain))).outcome
    assert (outcome.num_partitions, outcome.num_searches) == (1, 4)
    assert (outcome.num_expansions or 0) > 4 and (outcome.cpu_s or 0) > 0
    merging = Method("pbp", "merge-bb", "cost-asc", "tunnel")
    more = record_from_dict(run_cell(job_of(replace(at, method=merging), terrain))).outcome
    assert (more.num_partitions or 0) > 1 and (more.num_searches or 0) > 8
    exact = record_from_dict(run_cell(job_of(at, terrain))).outcome
    assert exact.num_expansions is exact.num_partitions is None and (exact.num_searches or 0) > 8


def test_records_without_counts_are_read(cells: list[Cell], terrain: Terrain) -> None:
    data = run_cell(job_of(cells[0], terrain))
    for name in ("cpu_s", "num_expansions", "num_searches", "num_partitions"):
        del data["outcome"][name]
    assert record_from_dict(data).outcome.cpu_s is None


def test_memory_is_that_of_the_work(cells: list[Cell], terrain: Terrain) -> None:
    """Not of what the process has imported."""
    at = terrain.instances[0]
    data = run_cell(job_of(replace(cells[0], instance=at, k=2, ell=1.0), terrain))
    memory_mb = data["outcome"]["memory_mb"]
    if MemoryGauge().read_mb() is not None:
        assert 0 <= memory_mb < 40 < (peak_memory_mb() or 0)
    assert record_from_dict(data).outcome.memory_mb == memory_mb


def test_what_earlier_versions_called_memory_is_that_of_programs_only(cells: list[Cell], terrain: Terrain) -> None:
    data = run_cell(job_of(cells[0], terrain))
    del data["outcome"]["memory_mb"]
    data["outcome"]["peak_memory_mb"] = 731.5
    ours = record_from_dict(data)
    data["cell"]["method"] = {
        **data["cell"]["method"],
        "planner": "external",
        "extra": {"command": "true", "name": "mine"},
    }
    theirs = record_from_dict(data)
    assert (ours.outcome.memory_mb, theirs.outcome.memory_mb) == (None, 731.5)
    (table,) = build_means(Layout("means", "Means", ("memory",), across="measure"), Selection((theirs,)))
    assert str(table.rows[0][table.columns.index("memory of the work [MB]")]) == "732"


def test_each_improvement_is_recorded_once(cells: list[Cell], terrain: Terrain) -> None:
    method = next(method for method in PARTITIONING if method.partitioner == "merge-bb")
    outcome = record_from_dict(run_cell(job_of(replace(cells[0], method=method), terrain))).outcome
    steps = [(-num_anonymized, mac) for _, num_anonymized, mac in outcome.improvements]
    assert len(steps) > 1
    assert steps == sorted(set(steps), reverse=True)
    assert steps[-1][0] == -outcome.num_anonymized
    assert steps[-1][1] == pytest.approx(outcome.mac)


def test_m_follows_the_shortest_path(cells: list[Cell], terrain: Terrain) -> None:
    at = cells[0].instance
    problem = vr.Problem(terrain.domains["rooms-2"], [vr.Trip(at.start, at.goal)], at.candidates)
    num_nodes = len(vr.cover(problem, []).walk)
    assert [bounded_m(problem, ratio) for ratio in (None, 0.0001, 1.0, 5.0)] == [None, 1, num_nodes, 5 * num_nodes]
    record = record_from_dict(run_cell(job_of(replace(cells[0], m_ratio=0.5), terrain)))
    assert record.outcome.m == round(0.5 * num_nodes)


def test_a_record_says_where_it_comes_from_and_no_paths(cells: list[Cell], terrain: Terrain) -> None:
    record = run_cell(job_of(cells[0], terrain))
    assert set(record["provenance"]) == {"versions", "machine", "worker", "run", "finished_at"}
    assert set(record["provenance"]["versions"]) == {"veilroute", "python", "numpy", "numba", "platform"}
    assert set(record["provenance"]["machine"]) == {"system", "processor", "cores", "memory_mb"}
    assert set(record["provenance"]["worker"]) == {"host", "pid"}
    assert record["provenance"]["versions"]["veilroute"] == vr.__version__
    for path in (Path.home(), Path.cwd(), Path(sys.prefix)):
        assert len(path.parts) < 3 or str(path) not in str(record)


def test_a_map_that_is_not_the_cells_is_noticed(cells: list[Cell], terrain: Terrain) -> None:
    other = replace(cells[0], map_sha256="0" * 64)
    assert "SHA-256" in run_cell(job_of(other, terrain))["outcome"]["error"]


def test_compiling_is_not_timed(tmp_path: Path) -> None:
    """In a fresh process: once a method is warm, no cell of it loads or compiles a kernel."""
    script = """
import sys
from bench_runs import small_terrain
from veilroute.bench.runner import Job, _warm_up, map_text, run_cell
from veilroute.bench.suites import Choice, build_cells
from veilroute.planners import PLANNERS

def kernels():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("veilroute.kernels."):
            for attribute, value in vars(module).items():
                if hasattr(value, "signatures"):
                    found[name, attribute] = len(value.signatures)
    return found

terrain = small_terrain()
cells = build_cells(["table1", "table3", "klr"], terrain, Choice(time_limit_s=0.1, sizes=(8, 16)))
seen = set()
for cell in cells:
    kind = (cell.method, cell.radius, cell.m_ratio is not None)
    if kind + (cell.num_candidates,) in seen or cell.method.planner not in PLANNERS:
        continue
    seen.add(kind + (cell.num_candidates,))
    _warm_up(*kind, is_large=cell.num_candidates > 12 and cell.method.planner == "optimal")
    warm = kernels()
    record = run_cell(Job(cell, map_text(terrain.domains["rooms-2"]), "test"))
    late = [name for name, count in kernels().items() if count > warm.get(name, 0)]
    if late:
        print(cell.method.name, cell.num_candidates, cell.k, cell.radius, cell.m_ratio, late)
print(len(seen), "kinds")
"""
    tests = str(Path(__file__).resolve().parents[2])
    paths = [tests, *(path for path in sys.path if path)]
    script = f"import sys; sys.path[:0] = {paths!r}\n" + script
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip().endswith("kinds")
    assert len(done.stdout.splitlines()) == 1, done.stdout
    assert int(done.stdout.split()[0]) >= 5


def test_every_cell_is_run_once_and_never_again(cells: list[Cell], terrain: Terrain, tmp_path: Path) -> None:
    workforce = InlineWorkforce()
    first = run(cells, terrain, tmp_path, workforce)
    assert first.is_complete
    assert (first.num_cells, first.num_run) == (len(cells), len(cells))
    assert [record.cell for record in first.records] == cells
    assert not first.errors
    before = (tmp_path / FILE_NAME).read_bytes()
    again = run(cells, terrain, tmp_path, workforce)
    assert (again.records, again.num_run) == (first.records, 0)
    assert workforce.executor.num_jobs == len(cells)
    assert (tmp_path / FILE_NAME).read_bytes() == before
    assert workforce.closings == [False]


def test_other_experiments_in_the_file_are_left_alone(cells: list[Cell], terrain: Terrain, tmp_path: Path) -> None:
    some = run(cells[::2], terrain, tmp_path, InlineWorkforce())
    every = run(cells, terrain, tmp_path, InlineWorkforce())
    assert every.num_run == len(cells) // 2
    assert every.records[::2] == some.records
    assert run(cells[1:4], terrain, tmp_path, InlineWorkforce()).records == every.records[1:4]


def test_a_stopped_run_goes_on_where_it_was(cells: list[Cell], terrain: Terrain, tmp_path: Path) -> None:
    workforce = InlineWorkforce()
    stopped = run(cells, terrain, tmp_path, workforce, should_stop=lambda: workforce.executor.num_jobs >= 5)
    assert not stopped.is_complete
    assert 5 <= len(stopped.records) == stopped.num_run < len(cells)
    rest = run(cells, terrain, tmp_path, InlineWorkforce())
    assert rest.num_run == len(cells) - stopped.num_run
    whole = run(cells, terrain, tmp_path / "whole", InlineWorkforce())
    assert list(map(without_times, rest.records)) == list(map(without_times, whole.records))


def test_a_cell_that_fails_does_not_stop_the_others(cells: list[Cell], terrain: Terrain, tmp_path: Path) -> None:
    unknown = replace(cells[0], method=Method("no-such-planner"))
    mixed = [cells[0], unknown, cells[1]]
    report = run(mixed, terrain, tmp_path, InlineWorkforce())
    assert report.is_complete
    assert [record.outcome.status for record in report.errors] == ["error"]
    assert "no-such-planner" in report.errors[0].outcome.error
    assert run(mixed, terrain, tmp_path, InlineWorkforce()).num_run == 0
    assert run(mixed, terrain, tmp_path, InlineWorkforce(), retry_errors=True).num_run == 1


def test_a_fault_in_a_method_is_recorded_in_one_line(
    cells: list[Cell], terrain: Terrain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise IndexError("out of   range\nand more")

    monkeypatch.setattr("veilroute.bench.runner.solve", fail)
    assert run_cell(job_of(cells[0], terrain))["outcome"]["error"] == "IndexError: out of range"


def test_a_worker_without_our_code_ends_the_run(cells: list[Cell], terrain: Terrain, tmp_path: Path) -> None:
    def fail(job: Job) -> dict[str, Any]:
        if job.cell == cells[4]:
            raise ModuleNotFoundError("No module named 'veilroute'")
        return run_cell(job)

    workforce = InlineWorkforce(fail)
    with pytest.raises(VeilrouteError, match="No module named 'veilroute'.*same veilroute"):
        run(cells, terrain, tmp_path, workforce)
    assert workforce.closings == [True]
    assert run(cells, terrain, tmp_path, InlineWorkforce()).num_run <= len(cells) - 4


def test_ctrl_c_closes_the_workforce_at_once(cells: list[Cell], terrain: Terrain, tmp_path: Path) -> None:
    workforce = InlineWorkforce()

    def report(progress: RunProgress) -> None:
        if progress.done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(cells, terrain, tmp_path, workforce, report=report)
    assert workforce.closings == [True]
    assert run(cells, terrain, tmp_path, InlineWorkforce()).num_run == len(cells) - 4


def test_a_cancelled_job_is_diagnosed_and_not_waited_for(cells: list[Cell], terrain: Terrain, tmp_path: Path) -> None:
    def fail(job: Job) -> dict[str, Any]:
        raise CancelledError

    with pytest.raises(VeilrouteError, match="CancelledError"):
        run(cells, terrain, tmp_path, InlineWorkforce(fail))


def test_progress_counts_up_and_ends_at_nothing_left(cells: list[Cell], terrain: Terrain, tmp_path: Path) -> None:
    told: list[RunProgress] = []
    run(cells, terrain, tmp_path, InlineWorkforce(), report=told.append)
    assert (told[0].done, told[0].total) == (0, len(cells))
    assert math.isnan(told[0].seconds_left)
    assert [progress.done for progress in told] == sorted(progress.done for progress in told)
    assert 0 < told[len(told) // 2].seconds_left < 60
    assert (told[-1].done, told[-1].seconds_left) == (len(cells), 0)
    told.clear()
    run(cells, terrain, tmp_path, InlineWorkforce(), report=told.append)
    assert told[-1].done == len(cells)


def test_time_left_goes_by_method_and_size(cells: list[Cell]) -> None:
    def finished(cell: Cell, seconds: float) -> Record:
        outcome = Outcome("optimal", True, None, 8, 8, 1.0, 0.1, 0.1, seconds)
        return Record(cell, outcome, {})

    slow, quick = replace(cells[0], method=Method("slow"), time_limit_s=50.0), cells[0]
    estimate = TimeEstimate()
    assert math.isnan(estimate.seconds_left([quick], [], 2))
    estimate.learn(finished(slow, 40), turnaround_s=41)
    estimate.learn(finished(quick, 2), turnaround_s=3)
    estimate.learn(finished(quick, 4), turnaround_s=5)
    # 41 s for slow cells, 4 s for quick ones, with a second for coming and going; two at a time.
    assert estimate.seconds_left([quick] * 10, [], 2) == pytest.approx(20)
    assert estimate.seconds_left([slow] * 2 + [quick], [(slow, 31.0)], 2) == pytest.approx((82 + 4 + 10) / 2)
    assert estimate.seconds_left([slow], [], 8) == pytest.approx(41), "one cell cannot be shared"
    assert estimate.seconds_left([], [(quick, 12.0)], 2) == pytest.approx(min(12.0, quick.time_limit_s - 12.0))
    assert estimate.seconds_left([], [(slow, 45.0)], 2) == pytest.approx(5), "its limit is 50 s"
    assert estimate.seconds_left([], [(slow, 100.0)], 2) == 0
    assert estimate.seconds_left([slow], [], 0) == math.inf
    # A method that has not been seen yet: as others of its size and limit did.
    assert estimate.seconds_left([replace(quick, method=Method("new"))], [], 1) == pytest.approx(4)


def test_all_methods_of_the_design_have_a_name_of_their_own() -> None:
    methods = {*PARTITIONING, *BOUNDED, *KLR_METHODS}
    assert len({method.name for method in methods}) == len(methods)
