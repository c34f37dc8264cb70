"""Running cells: each once, recorded at once, whatever happens to some of them, and where they run."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from bench_runs import InlineWorkforce, quick_cells, small_terrain, without_times
from veilroute import VeilrouteError, bench
from veilroute.base.run import peak_memory_mb


@pytest.fixture(scope="module")
def terrain() -> bench.Terrain:
    return small_terrain()


@pytest.fixture(scope="module")
def cells(terrain: bench.Terrain) -> list[bench.Cell]:
    return quick_cells(terrain)


def run(
    cells: list[bench.Cell], terrain: bench.Terrain, folder: Path, workforce: InlineWorkforce, **options: Any
) -> bench.RunReport:
    with bench.RecordStore(folder) as store:
        return bench.run_cells(cells, terrain.domains, store, workforce, run_id="test", **options)


def job_of(cell: bench.Cell, terrain: bench.Terrain) -> bench.Job:
    return bench.Job(cell, bench.map_text(terrain.domains[cell.instance.map_name]), "test")


def test_a_cell_gives_what_solve_gives(cells: list[bench.Cell], terrain: bench.Terrain) -> None:
    cell = next(cell for cell in cells if (cell.k, cell.ell, cell.radius) == (3, 10, 2))
    record = bench.record_from_dict(bench.run_cell(job_of(replace(cell, keep_playbook=True), terrain)))
    at = cell.instance
    problem = vr.Problem(terrain.domains["rooms-2"], [vr.Trip(at.start, at.goal)], at.candidates, vr.WithinDistance(2))
    playbook = vr.solve(problem, vr.Privacy(k=3, ell=10, spread="all-pairs"), seed=cell.seed)
    outcome, claims = record.outcome, playbook.claims
    assert (outcome.status, outcome.apr, outcome.mac) == (playbook.status, playbook.apr, playbook.mac)
    assert (outcome.mac_lower_bound, outcome.num_coverable, outcome.num_anonymized, outcome.m) == (
        claims.mac_lower_bound, claims.num_coverable, claims.num_anonymized, None
    )  # fmt: skip
    assert outcome.is_finished and outcome.audit_holds is True and outcome.error == "" and outcome.runtime_s > 0
    assert outcome.playbook == playbook.to_dict(embed_domain=False)
    # Memory is that of the work and not of what the process has imported.
    if bench.MemoryGauge().read_mb() is not None:
        assert 0 <= (outcome.memory_mb or 0) < 40 < (peak_memory_mb() or 0)
    assert bench.run_cell(job_of(cell, terrain))["outcome"]["playbook"] is None
    other = bench.run_cell(job_of(replace(cell, map_sha256="0" * 64), terrain))
    assert "SHA-256" in other["outcome"]["error"]
    fault: Any = 5  # of ours, and not a map
    assert bench.run_cell(bench.Job(cell, fault, "test"))["outcome"]["error"].startswith("AttributeError: 'int' object")


def test_a_record_says_where_it_comes_from_and_no_paths(cells: list[bench.Cell], terrain: bench.Terrain) -> None:
    record = bench.run_cell(job_of(cells[0], terrain))
    told = record["provenance"]
    assert {name: set(part) for name, part in told.items() if isinstance(part, dict)} == {
        "versions": {"veilroute", "python", "numpy", "numba", "platform"},
        "machine": {"system", "processor", "cores", "memory_mb"}, "worker": {"host", "pid"},
    }  # fmt: skip
    assert (told["versions"]["veilroute"], told["run"]) == (vr.__version__, "test") and told["finished_at"]
    for path in (Path.home(), Path.cwd(), Path(sys.prefix)):
        assert len(path.parts) < 3 or str(path) not in str(record)


def test_compiling_is_not_timed(tmp_path: Path) -> None:
    """In a fresh process: once a method is warm, no cell of it loads or compiles a kernel."""
    script = """
import sys
from dataclasses import replace
from bench_runs import small_terrain
from veilroute.bench import Choice, Job, build_cells, map_text, run_cell
from veilroute.bench.runner import _warm_up

def kernels():
    return {
        (name, attribute): len(value.signatures)
        for name, module in list(sys.modules.items()) if name.startswith("veilroute.kernels.")
        for attribute, value in vars(module).items() if hasattr(value, "signatures")
    }

terrain = small_terrain()
cells = build_cells(["table1", "table3", "klr"], terrain, Choice(time_limit_s=0.1, sizes=(8, 16)))
kinds = {}
for cell in cells:
    kinds.setdefault((cell.method, cell.radius, cell.m_ratio is not None, cell.num_candidates), cell)
for kind, cell in kinds.items():
    _warm_up(*kind[:3], is_large=cell.num_candidates > 12 and cell.method.planner == "optimal")
    warm = kernels()
    run_cell(Job(cell, map_text(terrain.domains["rooms-2"]), "test"))
    late = [name for name, count in kernels().items() if count > warm.get(name, 0)]
    if late:
        print(kind, late)
print(len(kinds), "kinds")
"""
    paths = [str(Path(__file__).resolve().parents[2]), *(path for path in sys.path if path)]
    script = f"import sys; sys.path[:0] = {paths!r}\n" + script
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.endswith(" kinds\n") and done.stdout.count("\n") == 1, done.stdout
    (line,) = done.stdout.splitlines()
    assert int(line.removesuffix(" kinds")) >= 5


def test_every_cell_is_run_once_and_never_again(
    cells: list[bench.Cell], terrain: bench.Terrain, tmp_path: Path
) -> None:
    workforce, told = InlineWorkforce(), list[bench.RunProgress]()
    first = run(cells, terrain, tmp_path, workforce, report=told.append)
    assert first.is_complete and not first.errors and (first.num_cells, first.num_run) == (len(cells), len(cells))
    assert [record.cell for record in first.records] == cells
    assert [progress.done for progress in told] == sorted(progress.done for progress in told)
    before = (tmp_path / bench.FILE_NAME).read_bytes()
    again = run(cells, terrain, tmp_path, workforce, report=told.append)
    assert (again.records, again.num_run, told[-1].done) == (first.records, 0, len(cells))
    assert workforce.executor.num_jobs == len(cells) and workforce.closings == [False]
    assert (tmp_path / bench.FILE_NAME).read_bytes() == before


def test_a_stopped_run_goes_on_where_it_was(cells: list[bench.Cell], terrain: bench.Terrain, tmp_path: Path) -> None:
    workforce = InlineWorkforce()
    stopped = run(cells, terrain, tmp_path, workforce, should_stop=lambda: workforce.executor.num_jobs >= 5)
    assert not stopped.is_complete
    assert 5 <= len(stopped.records) == stopped.num_run < len(cells)
    others = run(cells[:2], terrain, tmp_path, InlineWorkforce())
    assert others.num_run == 0 and others.records == stopped.records[:2], "other experiments in the file stay there"
    rest = run(cells, terrain, tmp_path, InlineWorkforce())
    assert rest.num_run == len(cells) - stopped.num_run
    whole = run(cells, terrain, tmp_path / "whole", InlineWorkforce())
    assert list(map(without_times, rest.records)) == list(map(without_times, whole.records))


def test_a_cell_that_fails_does_not_stop_the_others(
    cells: list[bench.Cell], terrain: bench.Terrain, tmp_path: Path
) -> None:
    unknown = replace(cells[0], method=bench.Method("no-such-planner"))
    mixed = [cells[0], unknown, cells[1]]
    report = run(mixed, terrain, tmp_path, InlineWorkforce())
    assert report.is_complete
    assert [record.outcome.status for record in report.errors] == ["error"]
    assert "no-such-planner" in report.errors[0].outcome.error
    assert run(mixed, terrain, tmp_path, InlineWorkforce()).num_run == 0
    assert run(mixed, terrain, tmp_path, InlineWorkforce(), retry_errors=True).num_run == 1


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("No module named 'veilroute'"), CancelledError("gone"), KeyboardInterrupt()]
)
def test_a_run_that_ends_early_closes_its_workforce_and_goes_on_there(
    cells: list[bench.Cell], terrain: bench.Terrain, tmp_path: Path, error: BaseException
) -> None:
    """Workers without our code, a scheduler that has gone, and Ctrl-C."""
    is_key = isinstance(error, KeyboardInterrupt)

    def fail(job: bench.Job) -> dict[str, Any]:
        if job.cell == cells[4] and not is_key:
            raise error
        return bench.run_cell(job)

    def report(progress: bench.RunProgress) -> None:
        if progress.done >= 4 and is_key:
            raise error

    workforce = InlineWorkforce(fail)
    words = None if is_key else f"{type(error).__name__}: {error}.*same veilroute"
    with pytest.raises(KeyboardInterrupt if is_key else VeilrouteError, match=words):
        run(cells, terrain, tmp_path, workforce, report=report)
    assert workforce.closings == [True]
    assert run(cells, terrain, tmp_path, InlineWorkforce()).num_run == len(cells) - 4


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
