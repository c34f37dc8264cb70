"""The linear programme of randomised playbooks: its items, what is left of it when it is stopped."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

import veilroute as vr

NUM = 60


def large(seed: int = 1, num: int = NUM) -> vr.Problem:
    """A building with many candidates under a Zipf prior."""
    domain = vr.generate_rooms(seed=seed)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    ranks = np.random.default_rng(seed).permutation(num) + 1
    candidates = vr.draw_candidates(domain, start, goal, num, seed=seed)
    return vr.Problem(domain, [vr.Trip(start, goal)], candidates, prior=(1 / ranks).tolist())


def check_stopped(book: vr.Playbook, best: vr.Playbook) -> None:
    """What is left of a plan keeps its promise, and says no more than is true."""
    assert book.status in ("feasible", "optimal")
    assert book.status == "optimal" or book.options["stopped_early"]
    report = vr.audit(book)
    assert report.holds, report.to_text()
    claims, optimum = book.claims, best.claims.expected_mac
    assert claims.hidden_mass is not None and optimum is not None
    if claims.hidden_mass > 0.999:
        assert claims.expected_mac is not None and claims.expected_mac >= optimum * (1 - 1e-9)
    if claims.expected_mac_lower_bound is not None:
        assert claims.expected_mac_lower_bound <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("beta", [0.5, 0.4])
def test_a_programme_that_is_stopped_gives_what_it_has(beta: float) -> None:
    """Everybody is hidden as soon as classes are priced, and for less the longer it takes."""
    problem, privacy = large(), vr.Privacy(risk=beta, mechanism="randomised")
    asked = count()
    told: list[vr.Progress] = []
    best = vr.solve(problem, privacy, should_stop=lambda: next(asked) < 0, progress=told.append)
    assert best.status == "optimal"
    assert any(each.stage == "shares" and each.done for each in told)
    num_looks = next(asked)
    paid = []
    for looks in (0, 3, *(num_looks * part // 10 for part in range(1, 10)), num_looks - 1):
        seen = count()
        book = vr.solve(problem, privacy, should_stop=lambda seen=seen, looks=looks: next(seen) >= looks)  # type: ignore[misc]
        check_stopped(book, best)
        if looks > 20:
            assert book.claims.hidden_mass == pytest.approx(1.0)
            paid.append(book.claims.expected_mac or 0.0)
    assert paid == pytest.approx(sorted(paid, reverse=True), rel=1e-9)
    assert paid[0] > 1.5 * paid[-1]


def test_it_ends_where_thousands_of_classes_cost_nothing() -> None:
    domain = vr.grid_domain(["." * 64])
    problem = vr.Problem(domain, [vr.Trip((0, 0), (0, 63))], [(0, i) for i in range(1, 31)])
    playbook = vr.solve(problem, vr.Privacy(k=4, mechanism="randomised"))
    assert playbook.status == "optimal"
    assert playbook.claims.expected_mac == 0
    assert playbook.claims.worst_posterior == pytest.approx(1 / 30)  # all routes are the same one
    heavy = replace(problem, candidates=problem.candidates[:5], prior=[9, 9, 1, 1, 1])
    nobody = vr.solve(heavy, vr.Privacy(k=4, mechanism="randomised"))
    assert (nobody.status, nobody.claims.num_anonymized) == ("infeasible", 0)


def test_everybody_is_hidden_if_being_together_costs_nothing_but_rounding() -> None:
    """So did this never end: the programme took what dropping somebody costs for nothing as well."""
    rooms = vr.generate_rooms(seed=11)
    start, goal = rooms.label(0), rooms.label(rooms.num_nodes - 1)
    problem = vr.Problem(rooms, [vr.Trip(start, goal)], vr.draw_candidates(rooms, start, goal, 8, seed=1))
    playbook = vr.solve(problem, vr.Privacy(risk=0.5, m=5, mechanism="randomised"))
    assert playbook.status == "optimal" and playbook.claims.hidden_mass == pytest.approx(1)
    assert playbook.claims.expected_mac == pytest.approx(0, abs=1e-9)
