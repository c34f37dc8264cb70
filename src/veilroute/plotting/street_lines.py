"""Streets as lines: with their bends, both directions of a street once, main roads told from side streets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from veilroute.arrays import Flags, Ints, Points
from veilroute.domain.graph import Domain
from veilroute.plotting.lanes import Walk
from veilroute.streets.itinerary import edge_number, streets_of

NUM_RANKS = 4
"""Main roads, secondary roads, other streets, and what is narrower than a street."""

_RANKS = {
    "motorway": 0,
    "trunk": 0,
    "primary": 0,
    "secondary": 1,
    "tertiary": 1,
    "bridleway": 3,
    "corridor": 3,
    "cycleway": 3,
    "footway": 3,
    "path": 3,
    "pedestrian": 3,
    "service": 3,
    "steps": 3,
    "track": 3,
}
_SAME_LENGTH_M = 0.05


def street_rank(kind: str) -> int:
    """How important a kind of street is: 0 for main roads to 3 for service roads and paths."""
    return _RANKS.get(kind.removesuffix("_link"), 2)


@dataclass(frozen=True, eq=False)
class StreetLines:
    """What there is to draw of a street network.

    Parameters
    ----------
    tails, heads
        The nodes at the ends of each line.
    edges
        The edge of the domain that each line shows; two-way streets are shown once.
    is_one_way
        Which lines are streets that lead only from tail to head.
    ranks
        See :func:`street_rank`.
    """

    tails: Ints
    heads: Ints
    edges: Ints
    is_one_way: Flags
    ranks: Ints


def street_lines(domain: Domain) -> StreetLines:
    """Choose the edges to draw: of two that are one street in both directions only one."""
    streets = streets_of(domain)
    tails, heads, _ = domain.edge_arrays()
    key, key_back = tails * domain.num_nodes + heads, heads * domain.num_nodes + tails
    back = np.minimum(np.searchsorted(key, key_back), max(key.size - 1, 0))
    has_back = key[back] == key_back
    num_bends = np.diff(streets.shape_ptr)
    alike = (num_bends == num_bends[back]) & (np.abs(streets.lengths - streets.lengths[back]) < _SAME_LENGTH_M)
    drawn = np.flatnonzero(~(has_back & alike) | (tails < heads))
    ranks = np.array([street_rank(kind) for kind in streets.kinds], dtype=np.int64)[streets.kind_ids[drawn]]
    return StreetLines(tails[drawn], heads[drawn], drawn, ~has_back[drawn], ranks)


@dataclass
class BentWalks:
    """Walks whose bends count as nodes, so that lanes and arrows follow the streets.

    Numbers beyond the domain's own nodes are bends. A bend has the same number in both directions of a street, so
    that routes which meet on it are drawn side by side.

    Parameters
    ----------
    domain
        A street network.
    """

    domain: Domain
    _bends: dict[bytes, list[int]] = field(default_factory=dict)
    _points: list[tuple[float, float]] = field(default_factory=list)

    def bend(self, walk: Walk) -> list[int]:
        """A walk with the bends of its streets between its nodes."""
        bent = list(walk[:1])
        for tail, head in pairwise(walk):
            bent += [*self._between(tail, head), head]
        return bent

    @property
    def positions(self) -> Points:
        """Where the nodes and all bends so far are."""
        assert self.domain.coordinates is not None
        return np.concatenate([self.domain.coordinates, np.array(self._points).reshape(-1, 2)])

    def _between(self, tail: int, head: int) -> Sequence[int]:
        streets = streets_of(self.domain)
        shape = streets.bends(edge_number(self.domain, tail, head))
        is_back = tail > head
        # By their ends and their line, seen from the lower node: this is how both directions find each other.
        line = np.ascontiguousarray(shape[::-1] if is_back else shape)
        key = np.array(sorted((tail, head)), dtype=np.int64).tobytes() + line.tobytes()
        if key not in self._bends:
            first = self.domain.num_nodes + len(self._points)
            self._points += [(x, y) for x, y in streets.project(line).tolist()]
            self._bends[key] = list(range(first, first + len(line)))
        return self._bends[key][::-1] if is_back else self._bends[key]
