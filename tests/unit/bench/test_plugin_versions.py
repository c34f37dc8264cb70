"""Records of plug-ins: which version made them, and what is run again when another is installed."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench_runs import InlineWorkforce, quick_cells, small_terrain
from plugin_packages import install
from veilroute import bench
from veilroute.covering import HEURISTICS
from veilroute.partition import MERGE_ORDERS, PARTITIONERS
from veilroute.planners import PLANNERS

TWOS = """
from veilroute.partition import Partition
from veilroute.planners import plan_pbp

def plan(problem, privacy, *, seed, watch):
    return plan_pbp(problem, privacy, seed=seed, watch=watch, partitioner="naive")

def partition(problem, task, rule, *, seed, watch):
    num = len(task.members)
    return Partition(tuple(tuple(range(i, i + 2)) for i in range(0, num - 1, 2)), (), is_optimal=False)
"""
OFFERS = {"veilroute.planners": {"twos": "twos:plan"}, "veilroute.partitioners": {"pairs": "twos:partition"}}
PLANNER, PARTITIONER = bench.Method("twos"), bench.Method("pbp", "pairs")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path, to install packages into."""
    folder = tmp_path / "installed"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    forget()
    return folder


def forget() -> None:
    """Make of this process a fresh one, which has imported no plug-in."""
    for table in (PLANNERS, PARTITIONERS, MERGE_ORDERS, HEURISTICS):
        table._loaded.clear()
    sys.modules.pop("twos", None)
    importlib.invalidate_caches()


def put(packages: Path, *, module: str = TWOS, version: str = "1.0") -> None:
    install(packages, "twos", module, OFFERS, version=version, listed=["twos.py", "twos-1.0.dist-info/METADATA"])
    forget()


@pytest.fixture
def terrain() -> bench.Terrain:
    return small_terrain()


@pytest.fixture
def cells(terrain: bench.Terrain) -> list[bench.Cell]:
    """Two cells of a built-in method, two of a planner and one of a partitioner from the package."""
    plain = quick_cells(terrain)[:2]
    first = replace(plain[0], k=2, ell=0.0)
    own = [replace(first, method=PLANNER), replace(plain[1], method=PLANNER), replace(first, method=PARTITIONER)]
    return [*plain, *own]


class Runs:
    """Runs of the same cells into one folder, and what they warned of."""

    def __init__(self, cells: list[bench.Cell], terrain: bench.Terrain, folder: Path) -> None:
        self.cells, self.terrain, self.folder = cells, terrain, folder
        self.warnings: list[str] = []

    def __call__(self, run: Callable[[bench.Job], dict[str, Any]] = bench.run_cell, **options: Any) -> bench.RunReport:
        self.warnings.clear()
        workforce = options.pop("workforce", None) or InlineWorkforce(run)
        with bench.RecordStore(self.folder) as store:
            return bench.run_cells(
                self.cells, self.terrain.domains, store, workforce, run_id="test", warn=self.warnings.append, **options
            )

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / bench.FILE_NAME).read_bytes().splitlines()]


@pytest.fixture
def runs(cells: list[bench.Cell], terrain: bench.Terrain, tmp_path: Path) -> Runs:
    return Runs(cells, terrain, tmp_path / "out")


def test_a_fingerprint_is_found_without_importing(packages: Path) -> None:
    put(packages, module="raise SystemExit(3)")
    found = PLANNERS.fingerprint("twos")
    assert (found["package"], found["version"], len(found["sha256"])) == ("twos", "1.0", 64)
    assert "twos" not in sys.modules
    assert PLANNERS.fingerprint("optimal") == PLANNERS.fingerprint("no-such") == {}
    assert PARTITIONER.plugins() == {"partitioner": found} and bench.Method("pbp", "naive").plugins() == {}


def test_what_the_hash_covers(packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changes(path: Path, text: str) -> bool:
        before = PLANNERS.fingerprint("twos")
        path.write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        return PLANNERS.fingerprint("twos") != before

    listed = ["twos.py", "beside.py", "data.csv", "gone.py"]
    install(packages, "twos", TWOS, OFFERS, listed=listed)
    assert changes(packages / "twos.py", TWOS + "#")
    assert changes(packages / "beside.py", "one = 1") and changes(packages / "beside.py", "one = 2")
    assert not changes(packages / "beside.py", "one = 2"), "of the same content"
    assert not changes(packages / "data.csv", "1") and not changes(packages / "other.py", "another package's")

    # Editable: the list has only what points to the source, and that is elsewhere.
    source = tmp_path / "source"
    (source / "twos" / "deep").mkdir(parents=True)
    (source / "twos" / "__init__.py").write_text(TWOS)
    (packages / "twos.py").unlink()
    (packages / "twos-1.0.dist-info" / "RECORD").write_text("twos.pth,,\n__editable___twos_finder.py,,\n")
    monkeypatch.syspath_prepend(source)
    assert changes(source / "twos" / "deep" / "more.py", "one = 1")
    assert not changes(source / "beside.py", "not in the package")


def test_the_code_that_runs_counts_and_not_the_file(packages: Path) -> None:
    put(packages)
    PLANNERS.find("twos")
    before = PLANNERS.fingerprint("twos")
    (packages / "twos.py").write_text(TWOS + "# edited")
    assert PLANNERS.fingerprint("twos", as_loaded=True) == before != PLANNERS.fingerprint("twos")
    # The other plug-in of the package comes from the module that is imported already.
    assert PARTITIONERS.fingerprint("pairs", as_loaded=True) == before
    forget()
    PARTITIONERS.find("pairs")
    assert PARTITIONERS.fingerprint("pairs", as_loaded=True) == PARTITIONERS.fingerprint("pairs") != before


@pytest.mark.parametrize(
    ("module", "version", "warning"),
    [
        (TWOS + "# edited", "1.0", "twos 1.0 has changed since: 3 cells run again"),
        (TWOS, "1.1", "twos 1.0 is twos 1.1 now: 3 cells run again"),
        ("", "1.0", "it is not recorded which twos ran: 3 cells run again"),  # records of earlier versions
    ],
)
def test_cells_of_a_changed_plugin_run_again_and_no_others(
    packages: Path, runs: Runs, module: str, version: str, warning: str
) -> None:
    put(packages)
    first = runs()
    assert not first.errors and first.num_run == 5 and not runs.warnings
    kinds = [{}, {}, *({kind: PLANNERS.fingerprint("twos")} for kind in ("planner", "planner", "partitioner"))]
    assert [record.plugins for record in first.records] == kinds
    assert "plugins" not in first.records[0].provenance, "records without plug-ins are what they were"
    forget()
    assert runs().num_run == 0 and not runs.warnings
    if module:
        put(packages, module=module, version=version)
    else:
        old = runs.lines
        for line in old:
            line["provenance"].pop("plugins", None)
        (runs.folder / bench.FILE_NAME).write_text("".join(json.dumps(line) + "\n" for line in old))
    again = runs()
    assert (again.num_run, runs.warnings) == (3, [warning]) and again.records[:2] == first.records[:2]
    assert {record.plugins["planner"]["version"] for record in again.records[2:4]} == {version}
    assert bench.read_records(runs.folder / bench.FILE_NAME) == {record.cell.key: record for record in again.records}
    assert len(runs.lines) == 8, "the earlier records stay in the file"


def test_an_error_is_forgotten_with_the_plugin_that_made_it(packages: Path, runs: Runs) -> None:
    put(packages, module="def plan(problem, privacy, *, seed, watch):\n    raise KeyError(1)\npartition = plan\n")
    assert len(runs().errors) == 3
    forget()
    broken = runs()
    assert broken.num_run == 0 and len(broken.errors) == 3, "it is the result of what is installed"
    put(packages)
    assert not runs().errors
    for path in (packages / "twos-1.0.dist-info").iterdir():
        path.unlink()
    forget()
    assert (runs().num_run, runs.warnings) == (0, []), "without the plug-in its records stay"


def test_a_worker_with_another_version_is_told_of_and_its_results_do_not_count(packages: Path, runs: Runs) -> None:
    put(packages)
    PLANNERS.find("twos")  # this process is the worker, and keeps what it has imported
    PARTITIONERS.find("pairs")
    (packages / "twos.py").write_text(TWOS + "# edited")
    mixed = runs()
    assert len(mixed.errors) == 3 and mixed.num_run == 5
    (warning,) = runs.warnings
    assert warning.startswith("a worker has twos 1.0 (source ") and "install the same for all workers" in warning
    assert {record.outcome.error for record in mixed.errors} == {warning.partition(". What")[0]}
    assert all(record.outcome.mac is None and not record.plugins for record in mixed.errors)
    forget()
    again = runs()
    assert (again.num_run, len(again.errors)) == (3, 0)
