"""Damaged files of every format through the command line: a short line and exit code 2, no traceback, little memory.

What each reader makes of damages of each kind is in ``tests/unit/formats/test_damaged.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from damaged_files import judge
from veilroute.cli import run

NUM_QUICK, NUM_ALL, NUM_SHARDS = 312, 20_000, 10
LONG = "x" * 10**6


def test_a_report_shows_no_label_whole(command: Command, building: Path) -> None:
    planned = building.with_name("book.json")
    few = ("--start", "1,18", "--goal", "2,20", "--random-candidates", 4, "-o", planned)
    assert command("plan", building, *few).code == 0
    data = json.loads(planned.read_bytes())
    data["classes"][0]["members"].append(LONG)
    data["classes"][0]["routes"][0]["route"][1] = LONG
    planned.write_text(json.dumps(data))
    for options in ((), ("--json",)):
        outcome = command("audit", planned, *options)
        assert outcome.code == 1 and outcome.err == ""
        assert LONG[:1000] not in outcome.out
    assert "xxx ... xxx" in outcome.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", LONG[: 10**5], "-k", "1"),
        ("plan", "a.map", f"--{LONG[: 10**5]}"),
        ("plan", "a.map", "-k", "\x1b[31m\n\u202e"),
        ("audit", "nothing\n\x1b[31m.json"),
        (LONG[: 10**5],),
    ],
)
def test_arguments_that_are_repeated(command: Command, arguments: tuple[str, ...]) -> None:
    outcome = command(*arguments)
    assert_refused(outcome)
    assert not judge(outcome.code, outcome.err, 0)


def test_an_endless_line_of_standard_input(planned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        def readline(self, size: int = -1) -> str:
            assert 0 < size <= 2**20
            return "9" * size

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Endless())
    assert run(["route", str(planned), "--transit", "-"]) == 2


def run_worker(folder: Path, *arguments: object) -> None:
    """Run the worker and fail with what it printed, or with where it was when it hung."""
    tests = Path(__file__).resolve().parents[1]
    paths = os.pathsep.join([str(Path(vr.__file__).resolve().parents[1]), str(tests)])
    ended = subprocess.run(
        [sys.executable, str(tests / "damaged_files.py"), *map(str, arguments), str(folder)],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    last = [path.read_text() for path in folder.glob("case.txt")]
    assert (ended.returncode, ended.stdout) == (0, "0 failures\n"), f"{ended.stdout} {last}: {ended.stderr[-3000:]}"


def test_some_damaged_files(tmp_path: Path) -> None:
    run_worker(tmp_path / "work", 0, NUM_QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(NUM_SHARDS))
def test_twenty_thousand_damaged_files(tmp_path: Path, shard: int) -> None:
    share = NUM_ALL // NUM_SHARDS
    run_worker(tmp_path / "work", shard * share, (shard + 1) * share)


@pytest.mark.slow
def test_large_files_in_little_memory(tmp_path: Path) -> None:
    """Files just below 10 MB, each made to need as much memory as it can."""
    run_worker(tmp_path / "work", "large")
