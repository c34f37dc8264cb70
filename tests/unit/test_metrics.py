from __future__ import annotations

import pytest

import veilroute as vr
from veilroute.metrics import anonymized_path_ratio, local_anonymity, mean_anonymization_cost, weighted_mean


def test_apr_divides_by_coverable_candidates() -> None:
    assert anonymized_path_ratio(3, 4) == 0.75
    assert anonymized_path_ratio(0, 0) == 0


def test_mac_is_the_mean_relative_detour() -> None:
    assert mean_anonymization_cost([6, 6], [4, 6], smallest_positive_cost=1) == pytest.approx(0.25)
    assert mean_anonymization_cost([], [], smallest_positive_cost=1) is None


def test_base_cost_zero_is_replaced_by_the_smallest_positive_cost() -> None:
    assert mean_anonymization_cost([3], [0], smallest_positive_cost=2) == pytest.approx(1.5)


def test_lengths_must_agree() -> None:
    with pytest.raises(vr.InvalidInputError, match="base_costs"):
        mean_anonymization_cost([1, 2], [1], smallest_positive_cost=1)


def test_trips_are_weighted() -> None:
    assert weighted_mean([0.1, 0.4], [1, 2]) == pytest.approx(0.3)
    assert weighted_mean([None], [1]) is None


def test_delta_divides_by_anonymizable_candidates() -> None:
    assert local_anonymity(2, 4) == 0.5
    assert local_anonymity(0, 0) is None


def test_directed_counterexample_of_the_paper() -> None:
    """Figure `failure`: all five are (3, 1, infinity)-anonymizable, yet no planner anonymizes them all."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 6), (1, 4), (4, 5), (5, 6)]
    domain = vr.Domain.from_edges(7, [a for a, _ in edges], [b for _, b in edges], [1] * 7)
    directed = vr.solve(vr.Problem(domain, [vr.Trip(0, 6)], [1, 2, 3, 4, 5]), vr.Privacy(k=3))
    assert directed.claims.num_anonymizable == 5
    assert directed.claims.num_anonymized == 3
    assert directed.claims.delta == pytest.approx(0.6)
    both = vr.Domain.from_edges(7, [a for e in edges for a in e], [b for e in edges for b in e[::-1]], [1] * 14)
    undirected = vr.solve(vr.Problem(both, [vr.Trip(0, 6)], [1, 2, 3, 4, 5]), vr.Privacy(k=3))
    assert undirected.apr == 1
