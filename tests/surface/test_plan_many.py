"""`veilroute plan` on several files in one process, and what is counted as its runtime."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.chdir(tmp_path)
    building = vr.generate_rooms(14, 18, seed=1)
    ends = building.label(0), building.label(building.num_nodes - 1)
    paths = []
    for seed in (1, 2, 3):
        problem = vr.Problem(building, [vr.Trip(*ends)], vr.draw_candidates(building, *ends, 6, seed=seed))
        paths.append(Path(f"case-{seed}.json"))
        vr.write_instance(vr.Instance(problem, vr.Privacy(k=3)), paths[-1])
    return paths


def test_several_files_give_the_playbooks_that_each_gives_alone(files: list[Path], command: Command) -> None:
    done = command("plan", *files, "--out-dir", "books/deep")
    assert (done.code, len(done.out.splitlines())) == (0, 3)
    for path, line in zip(files, done.out.splitlines(), strict=True):
        assert line.startswith(f"books/deep/{path.name}: ")
        assert command("plan", path, "-o", "alone.json").code == 0
        assert Path("alone.json").read_bytes() == Path("books/deep", path.name).read_bytes()
    done = command("plan", *files, "--out-dir", "books", "-k", "2", "--json")
    objects = [json.loads(line) for line in done.out.splitlines()]
    assert [(each["instance"], each["k"]) for each in objects] == [(str(path), 2) for path in files]
    for each in objects:
        book = vr.read_playbook(each["playbook"])
        assert (book.mac, book.status) == (each["mac"], each["status"])


def test_a_bad_file_is_told_of_and_the_others_are_planned(files: list[Path], command: Command) -> None:
    files[1].write_text("{", encoding="ascii")
    done = command("plan", *files, "--out-dir", "books")
    assert (done.code, done.err.count("\n"), "case-2.json" in done.err) == (2, 1, True)
    assert sorted(path.name for path in Path("books").iterdir()) == ["case-1.json", "case-3.json"]
    assert command("plan", files[0], files[2], "--out-dir", "books", "--ell", "500").code == 3


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--out-dir books -o one.json",
        "--out-dir books --ledger week.jsonl",
        "case-1.json --out-dir books",
        "--out-dir .",
    ],
)
def test_what_several_files_cannot_have_is_refused(files: list[Path], command: Command, line: str) -> None:
    assert_refused(command("plan", *files, *line.split()), "--ledger" if "ledger" in line else "--out-dir")
    assert files[0].read_bytes().startswith(b'{"candidates"'), "nothing was written over"


def test_runtime_leaves_out_how_long_kernels_take_to_load(files: list[Path]) -> None:
    """In a process of its own, in which loading each kernel takes a quarter of a second longer than it does."""
    script = (
        "import json, sys, time\n"
        "from numba.core.caching import Cache\n"
        "load = Cache._load_overload\n"
        "def slow(*given):\n"
        "    time.sleep(0.25)\n"
        "    return load(*given)\n"
        "Cache._load_overload = slow\n"
        "from veilroute.cli import run\n"
        "began = time.perf_counter()\n"
        f"code = run(['plan', '{files[0]}', '--json'])\n"
        "print(time.perf_counter() - began)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    summary, wall_s = done.stdout.splitlines()
    assert float(wall_s) > 0.75, "three kernels at least"
    assert json.loads(summary)["runtime_s"] < 0.25
