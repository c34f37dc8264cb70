"""Shared prefixes on grids, by padding and layer by layer, and what the planner makes of them."""

from __future__ import annotations

import random

import pytest

import veilroute as vr
from reference import best_partition
from veilroute.covering import has_two_colours


def random_grid(rng: random.Random) -> vr.Problem:
    height, width = rng.randint(2, 5), rng.randint(3, 6)
    rows = ["".join("@" if rng.random() < 0.2 else "." for _ in range(width)) for _ in range(height)]
    domain = vr.grid_domain([*rows[:-1], "." * width])
    start, goal = (domain.label(rng.randrange(domain.num_nodes)) for _ in range(2))
    candidates = [domain.label(i) for i in rng.sample(range(domain.num_nodes), min(5, domain.num_nodes))]
    return vr.Problem(domain, [vr.Trip(start, goal)], candidates, vr.WithinDistance(rng.choice([0, 0, 1, 2])))


def test_padding_and_layers_and_brute_force_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    num_proved = 0
    for number in range(60):
        rng = random.Random(f"grid-{number}")
        problem = random_grid(rng)
        privacy = vr.Privacy(rng.choice([2, 2, 3]), 1, rng.randint(1, 14), rng.choice(["witness", "all-pairs"]))
        if privacy.k > len(problem.counted):
            continue
        padded = vr.solve(problem, privacy)
        with monkeypatch.context() as patch:
            patch.setattr("veilroute.covering.prefixes.has_two_colours", lambda _domain: False)
            layered = vr.solve(problem, privacy)
        _, anonymized, mac = best_partition(problem, privacy)
        for playbook in (padded, layered):
            assert playbook.status == ("optimal" if anonymized else "infeasible")
            assert playbook.claims.num_anonymized == anonymized
            assert playbook.mac == (None if mac is None else pytest.approx(mac, abs=1e-9))
            assert vr.audit(playbook).holds
        num_proved += bool(mac)
    assert num_proved > 15


def test_colours() -> None:
    assert has_two_colours(vr.grid_domain(["...", ".@.", "..."]))
    assert not has_two_colours(vr.grid_domain(["..", ".."], movement=8))
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    for pairs, expected in (
        (square, False),  # one way
        (square + [(b, a) for a, b in square], True),
        ([*square, (0, 2)] + [(b, a) for a, b in [*square, (0, 2)]], False),  # a triangle
    ):
        domain = vr.Domain.from_edges(4, [a for a, _ in pairs], [b for _, b in pairs], [2] * len(pairs))
        assert has_two_colours(domain) is expected
    uneven = vr.Domain.from_edges(2, [0, 1], [1, 0], [1, 2])
    assert not has_two_colours(uneven)


@pytest.mark.slow
def test_the_optimum_rises_with_m_to_that_of_whole_routes_and_is_never_above_the_papers_planners() -> None:
    domain = vr.generate_rooms(20, 26, seed=4)
    ends = (domain.label(0), domain.label(domain.num_nodes - 1))
    problem = vr.Problem(domain, [vr.Trip(*ends)], vr.draw_candidates(domain, *ends, 8, seed=1))
    whole = vr.solve(problem, vr.Privacy(k=3))
    longest = max(len(route) for group in whole.classes for route in group.routes)
    macs = []
    for m in (1, 5, 20, longest, longest + 30):
        best = vr.solve(problem, vr.Privacy(k=3, m=m))
        assert best.status == "optimal"
        assert vr.audit(best).holds
        macs.append(best.mac)
        for planner in ("m-pbp", "cbp", "rbp"):
            other = vr.solve(problem, vr.Privacy(k=3, m=m), planner=planner)
            assert other.mac is not None
            assert best.mac is not None
            assert best.mac <= other.mac + 1e-12
    assert macs == sorted(macs)  # type: ignore[type-var]
    assert macs[0] == 0
    assert macs[-1] == pytest.approx(whole.mac)


def test_too_much_work_is_m_pbp_without_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = vr.generate_streets(7, 7, seed=2)
    start = domain.label(0)
    problem = vr.Problem(domain, [vr.Trip(start, start)], vr.draw_candidates(domain, start, start, 6, seed=5))
    privacy = vr.Privacy(k=2, ell=0, m=12)
    best = vr.solve(problem, privacy)
    monkeypatch.setattr("veilroute.covering.prefixes.MAX_WORK", 0)
    spared = vr.solve(problem, privacy)
    assert (best.status, spared.status) == ("optimal", "feasible")
    assert spared.classes == vr.solve(problem, privacy, planner="m-pbp").classes
    assert best.mac is not None
    assert spared.mac is not None
    assert best.mac <= spared.mac


def test_stopped_before_it_is_priced() -> None:
    domain = vr.generate_rooms(20, 26, seed=4)
    ends = (domain.label(0), domain.label(domain.num_nodes - 1))
    problem = vr.Problem(domain, [vr.Trip(*ends)], vr.draw_candidates(domain, *ends, 8, seed=1))
    playbook = vr.solve(problem, vr.Privacy(k=2, m=20), should_stop=lambda: True)
    assert playbook.status == "feasible"
    assert playbook.mac_lower_bound is None
    assert vr.audit(playbook).holds
