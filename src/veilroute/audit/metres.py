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
        raise InvalidInputError("measure", "cost: only street networks know lengths in metres", measure)
    if measure == "driving":
        return WalkingMap(domain, (domain.indptr.tolist(), domain.indices.tolist(), domain.streets.lengths.tolist()))
    around: list[list[tuple[int, float]]] = [[] for _ in range(domain.num_nodes)]
    tails, heads, _ = domain.edge_arrays()
    for tail, head, metres in zip(tails.tolist(), heads.tolist(), domain.streets.lengths.tolist(), strict=True):
        around[tail].append((head, metres))
        around[head].append((tail, metres))
    offsets, ends, lengths = [0], [], []
    for neighbours in around:
        ends += [there for there, _ in neighbours]
        lengths += [metres for _, metres in neighbours]
        offsets.append(len(ends))
    return WalkingMap(domain, (offsets, ends, lengths))


class CrowMap:
    """Straight-line distances: along the great circle on street networks, else by the coordinates.

    Parameters
    ----------
    domain
        The world to fly over.
    """

    def __init__(self, domain: Domain) -> None:
        self._is_sphere = domain.streets is not None
        self._places: list[tuple[float, ...]]
        if domain.streets is not None:
            self._places = [_on_sphere(lon, lat) for lon, lat in domain.streets.lonlat.tolist()]
        elif domain.coordinates is not None:
            self._places = [tuple(place) for place in domain.coordinates.tolist()]
        else:
            raise InvalidInputError("measure", "cost: this domain has no coordinates", "straight")

    def distance(self, a: int, b: int) -> float:
        """How far two nodes are apart."""
        chord = math.dist(self._places[a], self._places[b])
        # The angle between the two places as seen from the middle of the earth, from their chord.
        return 2 * EARTH_RADIUS_M * math.asin(min(1.0, chord / 2)) if self._is_sphere else chord

    def within(self, node: int, reach: float) -> frozenset[int]:
        """The nodes at most ``reach`` away from one."""
        return frozenset(there for there in range(len(self._places)) if self.distance(node, there) <= reach)


def _on_sphere(lon: float, lat: float) -> tuple[float, float, float]:
    east, north = math.radians(lon), math.radians(lat)
    return math.cos(north) * math.cos(east), math.cos(north) * math.sin(east), math.sin(north)
