"""`veilroute bench` as somebody uses it: killed, interrupted, resumed, on a cluster that loses a worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from bench_runs import InlineWorkforce, quick_cells, without_times
from commands import Command, assert_refused
from dask_cluster import Cluster, wait_until
from veilroute import bench

# Cells of some 50 ms: long enough to be killed among them.
MAPS = ("rooms-3", "rooms-4")
SUITE = ("klr", "--map", MAPS[0], "--map", MAPS[1], "--pairs", "2", "--method", "optimal", "--time-limit", "20")
NUM_CELLS = 48


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command in a process of its own, as a group of its own."""
    call, pipe = [sys.executable, "-m", "veilroute", "bench", *arguments], subprocess.PIPE
    return subprocess.Popen(call, stdout=pipe, stderr=pipe, text=True, cwd=folder, start_new_session=True)


def records_file(folder: Path) -> Path:
    return folder / "veilroute-bench" / "records.jsonl"


def read_lines(folder: Path) -> list[bytes]:
    return records_file(folder).read_bytes().splitlines(keepends=True)


def pids_in(folder: Path) -> list[int]:
    """Of the processes that ran the cells."""
    lines = [line for line in read_lines(folder) if line.endswith(b"\n")]
    return [json.loads(line)["provenance"]["worker"]["pid"] for line in lines]


def wait_for_lines(folder: Path, num_lines: int, process: subprocess.Popen[str]) -> None:
    path = records_file(folder)
    while not (path.exists() and path.read_bytes().count(b"\n") >= num_lines):
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def group_members(group: int) -> list[int]:
    """The processes of a group that are still alive."""
    alive = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            alive.append(int(path.parent.name))
    return alive


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[bench.Record]:
    """The same cells, run one after the other in this process."""
    terrain = bench.find_terrain(num_pairs=2, map_names=MAPS)
    cells = quick_cells(terrain)
    with bench.RecordStore(tmp_path_factory.mktemp("undisturbed")) as store:
        report = bench.run_cells(cells, terrain.domains, store, InlineWorkforce(), run_id="undisturbed")
    assert len(report.records) == NUM_CELLS
    return list(report.records)


def assert_same(folder: Path, printed: str, undisturbed: list[bench.Record]) -> None:
    """Every cell has exactly one line, with the same outcome but for the times, and the tables are the same."""
    assert len(read_lines(folder)) == NUM_CELLS
    found = bench.read_records(records_file(folder))
    assert list(map(without_times, (found[record.cell.key] for record in undisturbed))) == [
        without_times(record) for record in undisturbed
    ]
    tables = "".join(f"{table.to_text()}\n" for table in bench.find_suite("klr").build_tables(undisturbed))
    assert printed.partition("\nNote: ")[0].strip() == tables.strip()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for left processes in /proc")
def test_a_killed_run_goes_on_and_gives_the_same_table(tmp_path: Path, undisturbed: list[bench.Record]) -> None:
    first = start(tmp_path, *SUITE, "--workers", "2")
    wait_for_lines(tmp_path, 12, first)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    wait_until(lambda: not group_members(first.pid))
    kept = read_lines(tmp_path)
    assert 12 <= len(kept) < NUM_CELLS, "the run was meant to be killed half way"
    # As if it had been killed while it wrote.
    whole = [line for line in kept if line.endswith(b"\n")]
    with records_file(tmp_path).open("ab") as file:
        file.write(whole[0][:200] if whole == kept else b"")

    second = start(tmp_path, *SUITE, "--workers", "2")
    out, err = second.communicate(timeout=300)
    assert second.returncode == 0, err
    assert f"{NUM_CELLS} cells, {len(whole)} of them recorded already" in err
    assert read_lines(tmp_path)[: len(whole)] == whole
    assert_same(tmp_path, out, undisturbed)
    # The command is gone at once; the helper process of multiprocessing takes a moment to notice.
    wait_until(lambda: not group_members(second.pid), seconds=20)


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_gives_the_same_table(
    tmp_path: Path, cluster: Cluster, undisturbed: list[bench.Record]
) -> None:
    address, workers = cluster
    process = start(tmp_path, *SUITE, "--dask", address)
    wait_for_lines(tmp_path, 6, process)
    pids = pids_in(tmp_path)
    assert len(pids) < NUM_CELLS, "the worker was meant to be killed half way"
    busiest = Counter(pids).most_common(1)[0][0]
    (victim,) = (worker for worker in workers if worker.pid == busiest)
    victim.kill()
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert_same(tmp_path, out, undisturbed)
    assert set(pids_in(tmp_path)) == {worker.pid for worker in workers} and "Traceback" not in err


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_recorded(tmp_path: Path, undisturbed: list[bench.Record]) -> None:
    process = start(tmp_path, *SUITE, "--workers", "1")
    wait_for_lines(tmp_path, 5, process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    num_kept = len(read_lines(tmp_path))
    assert f"Note: interrupted: {num_kept} of {NUM_CELLS} cells are here." in out
    assert (records_file(tmp_path).parent / "report.html").is_file()
    assert f"interrupted; {num_kept} of {NUM_CELLS} cells are recorded" in err
    expected = {record.cell.key: without_times(record) for record in undisturbed}
    for key, record in bench.read_records(records_file(tmp_path)).items():
        assert without_times(record) == expected[key]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("SUITE",)),
        (("table1", "paper"), ("STUDY", "none after a suite")),
        (("table1", "--preset", "slow"), ("--preset", "quick, paper")),
        (("table1", "--workers", "2", "--dask", "tcp://127.0.0.1:1"), ("--workers", "not both")),
        (("table4", "--as-printed"), ("--as-printed", "veilroute bench paper --as-printed")),
        (("town.toml",), ("SUITE", "veilroute bench run FILE.toml")),
        (("run",), ("STUDY", "a study after run")),
        (("run", "odd.toml"), ("terrain",)),
        (("verify", "nothing"), ("nothing", "there is nothing of this name")),
        (("verify", ".", "--page", "no/page.html"), ("--page",)),
        (("instances", "export", "set", "--candidates", "1"), ("--candidates",)),
    ],
)
def test_bad_input_is_refused_in_one_line(command: Command, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    Path("odd.toml").write_text('format = "veilroute-study/1"\nterrain = 5\n', encoding="utf-8")
    assert_refused(command("bench", *arguments), *words)
    assert not Path("veilroute-bench").exists()


def test_a_study_of_ones_own_leaves_tables_and_figures(command: Command) -> None:
    """That of the page, on fewer candidates."""
    text = (Path(__file__).parents[2] / "docs" / "experiments.rst").read_text(encoding="utf-8")
    _, toml = text.split(".. code-block:: toml\n")
    lines = [line[3:] for line in toml.split("\n.. code-block::")[0].splitlines()]
    Path("town.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path("theirs.py").write_text("import sys; sys.stdin.read(); print('Partition 0')", encoding="utf-8")
    asked = ("bench", "run", "town.toml", "--out", "town", "--candidates", "6")
    done = command(*asked, "--workers", "1", "--external", f"theirs={sys.executable} theirs.py")
    # Two pairs, two k; the optimum once, two methods and the program three times each.
    assert done.code == 0 and f"{2 * 2 * (1 + 3 * 3)} cells run" in done.out, done.err
    assert {"tables", "figures"} <= {path.name for path in Path("town").iterdir()} and "theirs" in done.out
    summary = json.loads(command(*asked, "--json").out)
    assert (summary["suites"], summary["maps"], summary["num_run"]) == (["streets"], ["streets-8x10"], 0)


def test_a_data_set_is_exported_verified_and_ranked(command: Command) -> None:
    small = ("--map", "rooms-2", "--pairs", "1", "--candidates", "8")
    done = command("bench", "export", "set", *small)
    assert done.code == 0 and "2 instances in set, 2 with a proved optimum" in done.out, done.err
    # Plan with another method, hand in what `plan --json` prints, and hand in something broken.
    mine, broken = Path("set/submissions/mine"), Path("set/submissions/broken")
    for folder in (mine, broken):
        folder.mkdir(parents=True)
    for path in sorted(Path("set/instances").glob("*.json")):
        (mine / path.name).write_text(command("plan", path, "--json").out, encoding="ascii")
        (broken / path.name).write_text(json.dumps({"classes": [{}]}), encoding="ascii")
    done = command("bench", "verify", "set")
    assert done.code == 1 and done.out.index("mine") < done.out.index("broken")
    assert "Refused: broken/rooms-2-1-8-partition: classes[0]: expected an object with members and route" in done.out
    printed = json.loads(command("bench", "verify", "set", mine, "--optima", "--json").out)
    assert [(one["submission"], one["num_optimal"]) for one in printed["ranking"]] == [("mine", 2), ("optima", 2)]
    # The older name writes the same, and the archive stands for the folder.
    again = json.loads(command("bench", "instances", "export", "again", *small, "--json").out)
    assert Path(again["archive"]).read_bytes() == Path("set-1.0.0+generated.zip").read_bytes()
    done = command("bench", "verify", again["archive"], mine, broken, "--page", "page.html")
    assert done.code == 1 and "expected an object with members" in Path("page.html").read_text(encoding="utf-8")
