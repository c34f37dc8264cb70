"""The best plans under a bound on the risk, against programmes that scipy solves (tests/scipy_optima.py)."""

from __future__ import annotations

from dataclasses import replace

import pytest

import veilroute as vr
from scipy_optima import Oracle, check, draw_case
from veilroute.partition import other_limits

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


def test_where_being_together_costs_nothing_but_rounding_everybody_is_hidden() -> None:
    """So did this never end: the programme took what dropping somebody costs for nothing as well."""
    rooms = vr.generate_rooms(seed=11)
    start, goal = rooms.label(0), rooms.label(rooms.num_nodes - 1)
    problem = vr.Problem(rooms, [vr.Trip(start, goal)], vr.draw_candidates(rooms, start, goal, 8, seed=1))
    playbook = vr.solve(problem, vr.Privacy(risk=0.5, m=5, mechanism="randomised"))
    assert playbook.status == "optimal" and playbook.claims.hidden_mass == pytest.approx(1)
    assert playbook.claims.expected_mac == pytest.approx(0, abs=1e-9)
