"""The engine against plain Python on random problems over all dimensions at once (tests/harness.py)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import harness
import veilroute

SOURCES = Path(veilroute.__file__).parent
HARNESS = Path(harness.__file__)
QUICK, MANY = range(60), range(60, 1060)
PLAIN = range(1060, 1070)  #: without compiled kernels: a problem takes ten times as long
MOST_TRIED = 150  #: problems that a planted fault may stay unseen for

FAULTS = """
partition/bitmask.py: enumerate(task.weights): => enumerate(task.weights[:1]):
partition/class_space.py: qualifies[kept] & is_there & (reduced => is_there & (reduced
partition/master.py: np.sort(duals)[:num_grouped].sum() => duals.sum()
partition/weighed_space.py: chosen[space.rule.qualify(grown.sets[chosen])] => chosen
kernels/branching.py: grouped > 0 and cost * num >= ( => grouped > 0 and cost * num <= (
kernels/extension.py: per_group = k - 1 if has => per_group = k - 2 if has
kernels/floors.py: for _ in range(k - 1): => for _ in range(k):
kernels/regroup.py: table[r, trip, p] + last[trip, p]) => table[r, trip, p])
kernels/set_partition.py: and value < best_cost): => and value > best_cost):
kernels/strolls.py: value = values[i, mask] + rate * to_goal => value = values[i, mask] + 2 * rate * to_goal
kernels/subsets.py: row = previous[smaller[i]] => row = previous[smaller[0]]
kernels/weighing.py: missing -= masses[members[i]] => missing -= 0.0
covering/prefixes.py: % 2 == (m - 1) % 2 => % 2 == m % 2
covering/states.py: kept &= (came < 0) | ~np.isin => kept |= (came < 0) | ~np.isin
covering/task.py: is_close = row < limit => is_close = row <= limit
planners/pbp.py: completions.complete(walk[:m], member => completions.complete(walk[: m - 1], member
planners/randomised.py: shares[Member(i % num)] += amount => shares[Member(i % num)] += 2 * amount
planners/rbp.py: num_nodes >= m, watch) => num_nodes >= m - 1, watch)
planners/reuse.py: for members in left if rule.qualifies(members) => for members in left if members
areas.py: if area & (area - 1): => if area.bit_count() > 2:
rules.py: limit = self.beta * total * (1 + ROUNDING) => limit = self.beta * total * 1.1
rules.py: is_class[rows] = self.own.hides( => is_class[rows] |= self.own.hides(
"""
"""Where a fault is planted, the text that it takes the place of, and the fault."""


def test_every_method_agrees_with_plain_python() -> None:
    check(QUICK)


@pytest.mark.slow
def test_every_method_agrees_with_plain_python_on_many_problems() -> None:
    check(MANY)


def check(seeds: range) -> None:
    lines: list[str] = []
    tally = harness.run(seeds, tell=lines.append)
    assert not tally.differences, "\n".join([*lines, *tally.lines()])


def test_kernels_agree_as_plain_python() -> None:
    """As Python runs them, so that it is seen which of their lines run."""
    found = run_plainly(SOURCES.parent, PLAIN)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS.split("\n")[1:-1])
def test_planted_faults_are_found(fault: str, tmp_path: Path) -> None:
    shutil.copytree(SOURCES, tmp_path / "veilroute", ignore=shutil.ignore_patterns("__pycache__"))
    file, change = fault.split(": ", 1)
    before, after = change.split(" => ")
    path = tmp_path / "veilroute" / file
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), encoding="utf-8")
    found = run_plainly(tmp_path, range(MOST_TRIED), "--most", "1", "--as-drawn")
    assert found.returncode == 1, found.stdout + found.stderr


def run_plainly(sources: Path, seeds: range, *options: str) -> subprocess.CompletedProcess[str]:
    """The harness in a process that compiles nothing."""
    command = [sys.executable, "-W", "error", str(HARNESS), str(len(seeds)), "--seed", str(seeds.start), *options]
    paths = [str(sources), str(HARNESS.parent), os.environ.get("PYTHONPATH", "")]
    where = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(command, env=where, capture_output=True, text=True, check=False)
