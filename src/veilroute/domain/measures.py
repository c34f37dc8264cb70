"""How far apart places are: by the graph's costs, or in metres by car, on foot or in a straight line.

Costs decide which route is best; privacy and sight are often wanted in metres although routes are planned in seconds.
"""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Floats
from veilroute.domain.graph import Domain
from veilroute.domain.streets import great_circle_m
from veilroute.errors import InvalidInputError

MEASURES = ("cost", "driving", "walking", "straight")
"""The edges' costs; metres along the edges; metres along the edges in either direction; metres as the crow flies."""


def check_measure(measure: object, field: str) -> None:
    """Raise when there is no such measure."""
    if measure not in MEASURES:
        raise InvalidInputError(field, ", ".join(MEASURES[:-1]) + f" or {MEASURES[-1]}", measure)


def check_measurable(domain: Domain, measure: str, field: str) -> None:
    """Raise when the domain does not know the lengths or places that a measure needs."""
    if measure != "cost" and domain.streets is None:
        raise InvalidInputError(field, "cost: only street networks know distances in metres", measure)


def measured_domain(domain: Domain, measure: str) -> Domain:
    """The graph whose walks are as long as ``cost``, ``driving`` or ``walking`` says; node numbers stay."""
    if measure == "cost":
        return domain
    assert domain.streets is not None, "checked with the problem"
    tails, heads, _ = domain.edge_arrays()
    metres = domain.streets.shortest
    if measure == "driving":
        return Domain.from_edges(domain.num_nodes, tails, heads, metres)
    return Domain.from_edges(
        domain.num_nodes,
        np.concatenate([tails, heads]),
        np.concatenate([heads, tails]),
        np.concatenate([metres, metres]),
    )


def straight_distances(domain: Domain, node: int) -> Floats:
    """Metres from a node of a street network to every node, along the great circle."""
    assert domain.streets is not None, "checked with the problem"
    return great_circle_m(domain.streets.lonlat, domain.streets.lonlat[node])
