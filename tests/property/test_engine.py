"""The engine against plain Python on random problems over all dimensions at once (tests/harness.py)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from shutil import copytree

import pytest

import harness
import veilroute as vr

FOUND = (34, 38, 70, 82, 294, 4064, 30087)  #: what it was that differed, since there is a harness, or would with faults
QUICK, MANY = (*FOUND, *range(30)), range(30, 1060)
#: Few of those in which Python itself runs the kernels, which takes ten times as long: between them they run nearly all
#: of their lines.
PLAIN = (0, 6, 8, 10, 15, 22, 23, 24, 27, 33, 43, 58, 110)


@pytest.mark.parametrize("seed", QUICK)
def test_every_method_agrees_with_plain_python(seed: int) -> None:
    check([seed])


@pytest.mark.slow
def test_every_method_agrees_with_plain_python_on_many_problems() -> None:
    check(MANY)


def check(seeds: Iterable[int]) -> None:
    lines: list[str] = []
    tally = harness.run(seeds, tell=lines.append)
    assert not tally.differences, "\n".join([*lines, *tally.lines()])


def test_kernels_agree_as_plain_python() -> None:
    """As Python runs them, so that it is seen which of their lines run."""
    command = [sys.executable, "-W", "error", str(harness.__file__), "1", "--seed", *map(str, PLAIN)]
    where = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    found = subprocess.run(command, env=where, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("partition/bitmask.py", "enumerate(task.weights):", "enumerate(task.weights[:1]):"),
        ("partition/master.py", "np.sort(duals)[:num_grouped].sum()", "duals.sum()"),
        ("kernels/branching.py", "grouped > 0 and cost * num >= (", "grouped > 0 and cost * num <= ("),
        ("kernels/subsets.py", "before[source, indices[e]] + costs[e]", "before[source, indices[e]]"),
        ("kernels/set_partition.py", "and value < best_cost):", "and value > best_cost):"),
        ("covering/states.py", "kept &= (came < 0) | ~np.isin", "kept |= (came < 0) | ~np.isin"),
        ("covering/task.py", "is_close = row < limit", "is_close = row <= limit"),
        ("planners/randomised.py", "shares[Member(i % num)] += amount", "shares[Member(i % num)] += 2 * amount"),
        ("planners/rbp.py", "num_nodes >= m, watch)", "num_nodes >= m - 1, watch)"),
        ("model/rules.py", "limit = self.beta * total * (1 + ROUNDING)", "limit = self.beta * total * 1.1"),
    ],
)
def test_planted_faults_are_found(file: str, before: str, after: str, tmp_path: Path) -> None:
    """In a copy of the package with its compiled kernels; a kernel with a fault runs as plain Python."""
    copy = tmp_path / "veilroute"
    copytree(Path(vr.__file__).parent, copy)
    text = (copy / file).read_text(encoding="utf-8")
    assert text.count(before) == 1
    (copy / file).write_text(text.replace(before, after), encoding="utf-8")
    where = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    where |= {"PYTHONPATH": str(tmp_path)} | ({"NUMBA_DISABLE_JIT": "1"} if file.startswith("kernels/") else {})
    command = [sys.executable, str(harness.__file__), "200", "--most", "1"]
    found = subprocess.run(command, env=where, capture_output=True, text=True, check=False)
    assert " 1 differ\n" in found.stdout, found.stdout + found.stderr
