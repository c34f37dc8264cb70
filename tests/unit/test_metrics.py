"""The measures of the paper, by hand."""

from __future__ import annotations

import pytest

import veilroute as vr
from veilroute.model.metrics import anonymized_path_ratio, local_anonymity, mean_anonymization_cost, weighted_mean


def test_measures_by_hand() -> None:
    assert (anonymized_path_ratio(3, 4), anonymized_path_ratio(0, 0)) == (0.75, 0)
    assert (local_anonymity(2, 4), local_anonymity(0, 0)) == (0.5, None)
    assert weighted_mean([0.1, 0.4], [1, 2]) == pytest.approx(0.3)
    assert weighted_mean([None], [1]) is None
    # A base cost of zero is replaced by the smallest positive cost.
    for costs, base, smallest, expected in (
        ([6, 6], [4, 6], 1, pytest.approx(0.25)), ([], [], 1, None), ([3], [0], 2, pytest.approx(1.5))
    ):  # fmt: skip
        assert mean_anonymization_cost(costs, base, smallest_positive_cost=smallest) == expected
    with pytest.raises(vr.InvalidInputError, match="base_costs"):
        mean_anonymization_cost([1, 2], [1], smallest_positive_cost=1)


def test_directed_counterexample_of_the_paper() -> None:
    """Figure `failure`: all five are (3, 1, infinity)-anonymizable, yet no planner anonymizes them all."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 6), (1, 4), (4, 5), (5, 6)]
    both = edges + [(head, tail) for tail, head in edges]
    for pairs, num_anonymized in ((edges, 3), (both, 5)):
        domain = vr.Domain.from_edges(7, [a for a, _ in pairs], [b for _, b in pairs], [1] * len(pairs))
        claims = vr.solve(vr.Problem(domain, [vr.Trip(0, 6)], [1, 2, 3, 4, 5]), vr.Privacy(k=3)).claims
        assert (claims.num_anonymizable, claims.num_anonymized) == (5, num_anonymized)
        assert claims.delta == pytest.approx(num_anonymized / 5)
