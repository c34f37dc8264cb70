"""Shared prefixes: what domains they are found on, how the optimum goes with m, and what is too much work."""

from __future__ import annotations

import veilroute as vr
from veilroute.covering import fits_memory, has_two_colours, prepare_task


def one_trip(domain: vr.Domain, num: int, seed: int, *, radius: float = 0) -> vr.Problem:
    ends = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, *ends, num, seed=seed)
    return vr.Problem(domain, [vr.Trip(*ends)], candidates, vr.WithinDistance(radius))


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


def test_too_much_work_is_m_pbp_without_proof() -> None:
    """One edge that costs nothing, so that no m is beyond all routes; and nodes of more than two colours."""
    town = vr.generate_streets(7, 7, seed=2)
    tails, heads, costs = town.edge_arrays()
    domain = vr.Domain.from_edges(town.num_nodes, tails, heads, [0.0, *costs[1:].tolist()])
    problem = one_trip(domain, 6, 5)
    best, spared = (vr.solve(problem, vr.Privacy(k=2, ell=0, m=m)) for m in (12, 10**7))
    assert (best.status, spared.status, spared.mac_lower_bound) == ("optimal", "feasible", None)
    assert spared.classes == vr.solve(problem, vr.Privacy(k=2, ell=0, m=10**7), planner="m-pbp").classes


def test_prefixes_that_would_not_fit_the_memory_are_not_priced() -> None:
    square = vr.grid_domain(["." * 90] * 90)
    cells = [square.label(node) for node in range(1, 801)]
    fits = [
        fits_memory(prepare_task(vr.Problem(square, [vr.Trip((89, 0), (89, 89))], cells[:num]))) for num in (500, 800)
    ]
    assert fits == [True, False]


def test_stopped_before_it_is_priced() -> None:
    problem = one_trip(vr.generate_rooms(20, 26, seed=4), 8, 1)
    playbook = vr.solve(problem, vr.Privacy(k=2, m=20), should_stop=lambda: True)
    assert (playbook.status, playbook.mac_lower_bound) == ("feasible", None)
    assert vr.audit(playbook).holds
