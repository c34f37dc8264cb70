"""Memory on large maps: so much for each node and for each two candidates, never for each candidate and node."""

from __future__ import annotations

import tracemalloc

import pytest

import veilroute as vr
from scale import draw_problem, generate_country

SMALL, LARGE = 6_000, 18_000
FEW, MANY = 20, 60


def peak_bytes(domain: vr.Domain, num_customers: int, ell: float) -> int:
    problem = draw_problem(domain, num_customers)
    tracemalloc.start()
    try:
        vr.solve(problem, vr.Privacy(k=2, ell=ell), workers=1)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("ell", [500.0, pytest.param(1.0, marks=pytest.mark.slow)])
def test_more_candidates_take_no_more_memory_for_each_node(ell: float) -> None:
    """What a node more takes is the same for few candidates and for many: not even a byte for each of them."""
    small, large = generate_country(SMALL), generate_country(LARGE)
    for domain in (small, large):
        peak_bytes(domain, FEW, ell)  # which loads kernels, and turns the graph round
    per_node = {
        num: (peak_bytes(large, num, ell) - peak_bytes(small, num, ell)) / (large.num_nodes - small.num_nodes)
        for num in (FEW, MANY)
    }
    assert per_node[FEW] < 250, "some sweepers, distances from the start and to the goal"
    assert per_node[MANY] - per_node[FEW] < 0.75 * (MANY - FEW)
