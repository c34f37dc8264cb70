"""Planning by risk against programmes that scipy solves (tests/scipy_optima.py)."""

from __future__ import annotations

from dataclasses import replace

import pytest

import veilroute as vr
from scipy_optima import Oracle, check, draw_case
from veilroute.partition.limits import other_limits

NUM_QUICK, NUM_PROBLEMS = 80, 200
FOR_NOTHING = 762  #: where detours are 0 but for rounding


def compare(seed: int) -> None:
    """Both mechanisms; the partition by tables and by column generation."""
    world, privacy = draw_case(seed)
    oracle = Oracle(world, privacy)
    best = oracle.partition()
    check(vr.solve(world.problem, privacy), oracle, best)
    with other_limits(tried=0):
        check(vr.solve(world.problem, privacy), oracle, best)
    drawn = replace(privacy, mechanism="randomised")
    oracle = Oracle(world, drawn)
    check(vr.solve(world.problem, drawn), oracle, oracle.randomised())


@pytest.mark.parametrize("seed", [*range(NUM_QUICK), FOR_NOTHING])
def test_optima_equal_those_of_scipy(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(NUM_QUICK, NUM_PROBLEMS))
def test_more_optima_equal_those_of_scipy(seed: int) -> None:
    compare(seed)
