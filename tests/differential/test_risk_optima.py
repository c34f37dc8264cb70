"""The best plans under a bound on the risk, against brute force over all classes."""

from __future__ import annotations

from random import Random

import pytest

import veilroute as vr
from risk_plans import Best, best_partition, best_randomised, small_problem

NUM_PROBLEMS = 200


@pytest.mark.parametrize("seed", range(0, NUM_PROBLEMS, 20))
def test_partitions_are_the_best(seed: int) -> None:
    for number in range(seed, seed + 20):
        rng = Random(number)
        problem = small_problem(rng, rng.randint(3, 7))
        privacy = vr.Privacy(
            risk=rng.choice([0.5, 0.4, 1 / 3, 0.6, 0.75]), ell=rng.choice([1, 1, 3, 6]),
            spread=rng.choice(["witness", "all-pairs"]), m=rng.choice([None, None, 6]),
        )  # fmt: skip
        compare(vr.solve(problem, privacy), best_partition(problem, privacy), number)


@pytest.mark.parametrize("seed", range(0, NUM_PROBLEMS, 20))
def test_randomised_playbooks_are_the_best(seed: int) -> None:
    for number in range(seed, seed + 20):
        rng = Random(1000 + number)
        problem = small_problem(rng, rng.randint(3, 6))
        beta, ell = rng.choice([0.5, 0.4, 1 / 3, 0.6, 0.75]), rng.choice([1, 1, 3, 6])
        privacy = vr.Privacy(risk=beta, ell=ell, mechanism="randomised")
        compare(vr.solve(problem, privacy), best_randomised(problem, privacy), number)


def test_where_being_together_costs_nothing_but_rounding_everybody_is_hidden() -> None:
    """So did this never end: the programme took what dropping somebody costs for nothing as well."""
    rooms = vr.generate_rooms(seed=11)
    start, goal = rooms.label(0), rooms.label(rooms.num_nodes - 1)
    problem = vr.Problem(rooms, [vr.Trip(start, goal)], vr.draw_candidates(rooms, start, goal, 8, seed=1))
    playbook = vr.solve(problem, vr.Privacy(risk=0.5, m=5, mechanism="randomised"))
    assert playbook.status == "optimal" and playbook.claims.hidden_mass == pytest.approx(1)
    assert playbook.claims.expected_mac == pytest.approx(0, abs=1e-9)


def compare(playbook: vr.Playbook, best: Best, number: int) -> None:
    claims = playbook.claims
    assert claims.hidden_mass == pytest.approx(best.hidden_mass, abs=1e-9), number
    assert (claims.expected_mac is None) == (best.hidden_mass == 0)
    assert (claims.expected_mac or 0.0) == pytest.approx(best.expected_mac, rel=1e-6, abs=1e-9), number
