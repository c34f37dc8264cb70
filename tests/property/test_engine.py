"""The engine against plain Python on random problems over all dimensions at once (tests/harness.py)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable

import pytest

import harness
from engine_faults import FAULTS, search

FOUND = (4064,)  #: what it was that differed, since there is a harness
QUICK, MANY = (*FOUND, *range(60)), range(60, 1060)
#: Few of those in which Python itself runs the kernels, which takes ten times as long: between them they run nearly all
#: of their lines.
PLAIN = (0, 6, 8, 10, 15, 22, 23, 24, 27, 33, 43, 58, 110)


def test_every_method_agrees_with_plain_python() -> None:
    check(QUICK)


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
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault: str) -> None:
    num, lines = search(fault)
    assert num, "\n".join(lines)
