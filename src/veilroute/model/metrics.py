"""The paper's measures of a plan: APR, MAC and local anonymity.

- **APR**, anonymized path ratio: anonymized candidates over coverable ones.
- **MAC**, mean anonymization cost: the mean over anonymized candidates of how much longer their route is than the
  cheapest route covering them alone, relative to that base cost. A base cost of 0 (the start watches the candidate
  and is the goal, or is joined to it for free) has no ratio; the extra cost is then divided by the domain's smallest
  positive edge cost instead. With several trips, the MAC is the mean of the trips' MACs, weighted by the trips.
- **delta**, local anonymity: anonymized candidates over those that some planner could anonymize.
- **Anonymity over time** is measured by the auditor, which replays the routes: see :mod:`veilroute.auditing`.
"""

import math
import operator
from collections.abc import Sequence

from veilroute.base.errors import InvalidInputError

_ROUNDING = 1e-12
"""Routes this close, relatively, to their base cost are as cheap as it: the rest is the order of adding up."""


def anonymized_path_ratio(num_anonymized: int, num_coverable: int) -> float:
    """APR; 0 when nothing can be covered."""
    return num_anonymized / num_coverable if num_coverable else 0.0


def mean_anonymization_cost(
    route_costs: Sequence[float],
    base_costs: Sequence[float],
    weights: Sequence[float] | None = None,
    *,
    smallest_positive_cost: float,
) -> float | None:
    """MAC of one trip over its anonymized candidates, ``None`` when there are none.

    There is one route for each of these, and as its base the cheapest route that covers the candidate alone;
    ``smallest_positive_cost`` stands in for base costs of 0. With ``weights``, such as probabilities, it is the
    weighted mean; a candidate may then have several routes.
    """
    if len(route_costs) != len(base_costs):
        raise InvalidInputError("base_costs", f"{len(route_costs)} values, one per route", len(base_costs))
    if not route_costs:
        return None
    ratios = [
        extra / (base if base > 0 else smallest_positive_cost)
        for extra, base in zip(extra_costs(route_costs, base_costs), base_costs, strict=True)
    ]
    if weights is None or len(set(weights)) == 1:
        return math.fsum(ratios) / len(ratios)
    return math.fsum(map(operator.mul, ratios, weights)) / math.fsum(weights)


def extra_costs(route_costs: Sequence[float], base_costs: Sequence[float]) -> list[float]:
    """How much more each route costs than the cheapest one that covers its candidate alone."""
    return [
        0.0 if math.isclose(route, base, rel_tol=_ROUNDING) else route - base
        for route, base in zip(route_costs, base_costs, strict=True)
    ]


def weighted_mean(by_trip: Sequence[float | None], weights: Sequence[float]) -> float | None:
    """The weighted mean over trips of what was measured on each; ``None`` when nothing is anonymized."""
    pairs = [(value, weight) for value, weight in zip(by_trip, weights, strict=True) if value is not None]
    if not pairs:
        return None
    return math.fsum(value * weight for value, weight in pairs) / math.fsum(weight for _, weight in pairs)


def local_anonymity(num_anonymized: int, num_anonymizable: int | None) -> float | None:
    """The delta of (k, ell, m, delta)-local anonymity, ``None`` when nothing is anonymizable or it is not known."""
    return num_anonymized / num_anonymizable if num_anonymizable else None
