"""Who stands far from whom: the spread condition and the largest set of candidates that stand apart.

Sets of candidates are bit masks over their positions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from veilroute.auditing.sight import CrowMap, Facts, measured_map
from veilroute.domain.graph import at_least
from veilroute.problem import Privacy

_MAX_BRANCHES = 20_000
_MAX_BRANCHES_WIDEST = 500
"""Effort after which the search for a large enough or the largest set stops and reports what it has."""


def mask_of(candidates: Iterable[int]) -> int:
    """The bit mask of some candidates."""
    mask = 0
    for candidate in candidates:
        mask |= 1 << candidate
    return mask


def members_of(mask: int) -> Iterator[int]:
    """The candidates in a bit mask, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@dataclass(frozen=True)
class FarSet:
    """Candidates that are pairwise far apart.

    Parameters
    ----------
    mask
        The set.
    is_largest
        Whether it is proved that no larger one exists (or that the wanted size was reached).
    """

    mask: int
    is_largest: bool

    @property
    def size(self) -> int:
        """How many there are."""
        return self.mask.bit_count()


class Spread:
    """Distances between candidates as far as the spread condition needs them.

    The distance of two candidates is the smaller of both directions; a candidate is infinitely far from itself.

    Parameters
    ----------
    facts
        Map and candidates.
    privacy
        The distance to keep, and what it is measured in.
    """

    def __init__(self, facts: Facts, privacy: Privacy) -> None:
        # Who is close to whom is kept as bits, and how close is worked out again when asked: there may be many pairs.
        self._close = dict.fromkeys(facts.nodes, 0)
        self._known: dict[tuple[int, int | None], FarSet] = {}
        self._facts, self._measure = facts, privacy.measure
        is_cost = privacy.measure == "cost"
        self._limit = at_least(privacy.ell, exact=is_cost and facts.problem.domain.has_integer_costs)
        if self._limit <= 0:
            return
        candidate_at = {node: c for c, node in facts.nodes.items()}
        for a, around in _surroundings(facts, privacy.measure, self._limit, facts.nodes):
            fewest = around if len(around) < len(candidate_at) else candidate_at
            for there in fewest:
                b = candidate_at.get(there, a)
                if a != b and around.get(there, self._limit) < self._limit:
                    self._close[a] |= 1 << b
                    self._close[b] |= 1 << a

    def close_pairs(self, mask: int) -> list[tuple[int, int, float]]:
        """The pairs within a set that stand too close, closest first, with their distance."""
        close = {a: self._close[a] & mask for a in members_of(mask)}
        gaps: dict[tuple[int, int], float] = {}
        for a, around in _surroundings(self._facts, self._measure, self._limit, [a for a in close if close[a]]):
            for b in members_of(close[a]):
                pair = (min(a, b), max(a, b))
                gap = around.get(self._facts.nodes[b], math.inf)
                gaps[pair] = min(gap, gaps.get(pair, math.inf))
        return [(a, b, gap) for gap, a, b in sorted((gap, a, b) for (a, b), gap in gaps.items())]

    def is_far(self, mask: int) -> bool:
        """Whether all members of a set are pairwise far apart."""
        return all(not self._close[a] & mask for a in members_of(mask))

    def largest_far_set(self, mask: int, *, enough: int | None = None) -> FarSet:
        """A largest subset whose members are pairwise far apart; one of size ``enough`` will do.

        Branch and bound: whoever is close to nobody or to one only is taken, then the most crowded candidate is
        tried in and out. A cover of the rest by cliques of mutually close candidates bounds what can follow.
        Exact up to an effort that groups met in practice do not reach; without ``enough``, which no verdict hangs
        on, the effort is smaller.
        """
        key = (mask, enough)
        if key not in self._known:
            limit = _MAX_BRANCHES_WIDEST if enough is None else _MAX_BRANCHES
            search = _FarSearch(self._close, mask.bit_count() if enough is None else enough, limit)
            search.extend(0, mask)
            self._known[key] = FarSet(search.best, search.is_done or search.branches < limit)
        return self._known[key]


def _surroundings(
    facts: Facts, measure: str, limit: float, candidates: Iterable[int]
) -> Iterator[tuple[int, dict[int, float]]]:
    """For each of some candidates the distances to the others' nodes, as far as they are within the limit."""
    domain, everyone = facts.problem.domain, frozenset(facts.nodes.values())
    crow = CrowMap(domain) if measure == "straight" else None
    ground = facts.walking if measure in ("cost", "straight") else measured_map(domain, measure)
    for a in candidates:
        node = facts.nodes[a]
        if crow is not None:
            yield a, {there: crow.distance(node, there) for there in everyone}
        else:
            yield a, ground.near(node, limit, wanted=everyone)


class _FarSearch:
    def __init__(self, close: dict[int, int], enough: int, limit: int) -> None:
        self.close = close
        self.enough = enough
        self.limit = limit
        self.best = 0
        self.branches = 0

    @property
    def is_done(self) -> bool:
        return self.best.bit_count() >= self.enough

    def extend(self, taken: int, rest: int) -> None:
        """Try to complete ``taken`` from ``rest``, all of whom are far from it."""
        while True:
            taken, rest, crowd = self._take_loners(taken, rest)
            if taken.bit_count() > self.best.bit_count():
                self.best = taken
            self.branches += 1
            if not rest or self.is_done or self.branches >= self.limit:
                return
            if taken.bit_count() + self._bound(rest) <= self.best.bit_count():
                return
            pivot = max(crowd, key=lambda a: (crowd[a], -a))
            rest &= ~(1 << pivot)
            self.extend(taken | 1 << pivot, rest & ~self.close[pivot])

    def _take_loners(self, taken: int, rest: int) -> tuple[int, int, dict[int, int]]:
        """Take everyone close to at most one other: that never costs a larger set."""
        while True:
            crowd = {a: (self.close[a] & rest).bit_count() for a in members_of(rest)}
            loners = [a for a, num in crowd.items() if num <= 1]
            if not loners:
                return taken, rest, crowd
            for loner in loners:
                if rest >> loner & 1:
                    taken |= 1 << loner
                    rest &= ~(self.close[loner] | 1 << loner)

    def _bound(self, rest: int) -> int:
        """At most one of each clique of mutually close candidates can be taken."""
        cliques: list[int] = []
        for a in members_of(rest):
            for i, clique in enumerate(cliques):
                if clique & ~self.close[a] == 0:
                    cliques[i] = clique | 1 << a
                    break
            else:
                cliques.append(1 << a)
        return len(cliques)
