"""Distances in metres, for the auditor alone: by car, on foot and in a straight line, with plain code of its own."""

from __future__ import annotations

import math

from veilroute.audit.walking import WalkingMap
from veilroute.domain.graph import Domain
from veilroute.domain.streets import EARTH_RADIUS_M
from veilroute.errors import InvalidInputError


def measured_map(domain: Domain, measure: str) -> WalkingMap:
    """The map whose edges are as long as the streets; on foot, every street goes both ways."""
    if domain.streets is None:
        raise InvalidInputError("measure", "cost: only street networks know distances in metres", measure)
    shortest = domain.streets.shortest.tolist()
    if measure == "driving":
        return WalkingMap(domain, (domain.indptr.tolist(), domain.indices.tolist(), shortest))
    around: list[list[tuple[int, float]]] = [[] for _ in range(domain.num_nodes)]
    tails, heads, _ = domain.edge_arrays()
    for tail, head, metres in zip(tails.tolist(), heads.tolist(), shortest, strict=True):
        around[tail].append((head, metres))
        around[head].append((tail, metres))
    offsets, ends, lengths = [0], [], []
    for neighbours in around:
        ends += [there for there, _ in neighbours]
        lengths += [metres for _, metres in neighbours]
        offsets.append(len(ends))
    return WalkingMap(domain, (offsets, ends, lengths))


class CrowMap:
    """Straight-line distances, along the great circle.

    Parameters
    ----------
    domain
        A street network.
    """

    def __init__(self, domain: Domain) -> None:
        if domain.streets is None:
            raise InvalidInputError("measure", "cost: only street networks know distances in metres", "straight")
        self._places = [_on_sphere(lon, lat) for lon, lat in domain.streets.lonlat.tolist()]

    def distance(self, a: int, b: int) -> float:
        """How far two nodes are apart: by the angle between them, seen from the middle of the earth."""
        chord = math.dist(self._places[a], self._places[b])
        return 2 * EARTH_RADIUS_M * math.asin(min(1.0, chord / 2))

    def within(self, node: int, reach: float) -> frozenset[int]:
        """The nodes at most ``reach`` away from one."""
        return frozenset(there for there in range(len(self._places)) if self.distance(node, there) <= reach)


def _on_sphere(lon: float, lat: float) -> tuple[float, float, float]:
    east, north = math.radians(lon), math.radians(lat)
    return math.cos(north) * math.cos(east), math.cos(north) * math.sin(east), math.sin(north)
