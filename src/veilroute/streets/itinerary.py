"""A route laid over the streets: which street each move takes, how far it is, and along which line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from veilroute.arrays import Floats
from veilroute.domain.geography import Streets
from veilroute.domain.graph import Domain, Label
from veilroute.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class Leg:
    """One move of a route along a street; its name and kind are empty where the street has none."""

    name: str
    kind: str
    metres: float
    cost: float  #: in the domain's unit
    line: Floats  #: longitude and latitude of its points, both ends included


@dataclass(frozen=True, eq=False)
class Itinerary:
    """A route over the streets, made by :func:`lay_route`.

    It depends on the route alone. Members of a class have the same route, and so they have the same itinerary.
    """

    nodes: tuple[Label, ...]  #: labels of the junctions, start and goal included
    legs: tuple[Leg, ...]  #: the moves between them
    start_place: tuple[float, float]  #: longitude and latitude of the first junction
    unit: str  #: what costs are measured in: "seconds" or "metres"
    attribution: str  #: whom to credit for the map

    @property
    def metres(self) -> float:
        """How long the whole route is."""
        return math.fsum(leg.metres for leg in self.legs)

    @property
    def cost(self) -> float:
        """What the whole route costs, in the domain's unit."""
        return sum(leg.cost for leg in self.legs)

    @property
    def seconds(self) -> float | None:
        """How long the whole route takes, ``None`` when costs are metres."""
        return self.cost if self.unit == "seconds" else None

    @property
    def street_names(self) -> list[str]:
        """The streets in the order in which they are taken; unnamed ones are left out, and so are repetitions."""
        return [name for name, _ in groupby(leg.name for leg in self.legs if leg.name)]

    def polyline(self) -> Floats:
        """Longitude and latitude along the whole route, no point twice in a row."""
        points = np.concatenate([np.array([self.start_place]), *(leg.line[1:] for leg in self.legs)])
        kept = np.concatenate([[True], (np.diff(points, axis=0) != 0).any(axis=1)])
        return np.asarray(points[kept])


def lay_route(domain: Domain, route: Sequence[Label]) -> Itinerary:
    """Lay a route, given by the labels of its nodes, over the streets of its domain; raise where it leaves them."""
    streets = streets_of(domain)
    try:
        nodes = [domain.node(label) for label in route]
    except InvalidInputError:
        # Without the node, as below: this may be the route of a secret.
        raise InvalidInputError("route", "nodes of this domain") from None
    if not nodes:
        raise InvalidInputError("route", "at least one node", "none")
    legs = []
    for tail, head in pairwise(nodes):
        edge = edge_number(domain, tail, head)
        if edge < 0:
            raise InvalidInputError("route", "neighbouring nodes that a street joins in this direction")
        metres, cost = float(streets.lengths[edge]), domain.costs[edge].item()
        legs.append(Leg(streets.name(edge), streets.kind(edge), metres, cost, streets.line(tail, head, edge)))
    lon, lat = streets.lonlat[nodes[0]].tolist()
    return Itinerary(tuple(route), tuple(legs), (lon, lat), streets.unit, streets.attribution)


def streets_of(domain: Domain) -> Streets:
    """The streets behind a domain, or one line that says why there are none."""
    if domain.streets is None:
        raise InvalidInputError("domain", "a street network: only street networks have places on earth and directions")
    return domain.streets


def edge_number(domain: Domain, tail: int, head: int) -> int:
    """The number of the edge between two nodes, -1 where there is none."""
    first, last = int(domain.indptr[tail]), int(domain.indptr[tail + 1])
    edge = first + int(np.searchsorted(domain.indices[first:last], head))
    return edge if edge < last and int(domain.indices[edge]) == head else -1
