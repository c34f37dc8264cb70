"""The cheapest walks that cover sets of candidates, worked out one by one when they are asked for.

`pricing` prices all subsets of a few candidates at once; here there are more candidates, and only small sets matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from veilroute.audit.facts import Facts, TripFacts
from veilroute.audit.pricing import HEAP_VISIT, TABLE_STEP, TooMuchError, table_allowance
from veilroute.audit.spread import members_of
from veilroute.audit.walking import WalkingMap

_POST_STEP = 0.3
"""What meeting at a post takes, measured in visits by breadth-first search."""

Row = list[float]
"""A figure for each post."""

_Tables = tuple[list[Row], list[Row]]
"""For each post the distances to all posts, and from all."""


class Effort:
    """An allowance of steps. Counted, not timed, so that a verdict does not depend on the machine.

    Parameters
    ----------
    limit
        In visits of a node by breadth-first search.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._left = limit

    def renew(self) -> None:
        """Begin a new piece of work with the whole allowance."""
        self._left = self.limit

    def spend(self, amount: float) -> None:
        """Note some work; raises `TooMuchError` when the allowance is used up."""
        self._left -= amount
        if self._left < 0:
            raise TooMuchError


class SetPrices:
    """What the cheapest walk of each trip that covers a set costs.

    Sets are bit masks over ``members``. With ``f(A, q)`` the cheapest walk from the start to q covering A, ``h(B, q)``
    the cheapest from q to the goal covering B: of the members of a set C, in the order in which a walk first sees them,
    some j is the middle one, so c(C) is the least of ``f(A, q) + h(B, q)`` over j, watchers q of j, and divisions of
    the others into halves A and B. So f and h are needed for sets of half the size only, and only at watchers.

    Parameters
    ----------
    facts
        The map and the trips.
    members
        Positions of the candidates.
    half
        How large the halves will be, as far as known; decides how f and h are worked out.
    effort
        What may be spent.
    """

    def __init__(self, facts: Facts, members: Sequence[int], half: int, effort: Effort) -> None:
        posts = sorted(set().union(*(facts.watchers[c] for c in members)))
        place = {node: i for i, node in enumerate(posts)}
        places = [[place[node] for node in sorted(facts.watchers[c])] for c in members]
        num_nodes = facts.walking.num_nodes
        visit = _visit(facts.walking)
        num_rows = 2 * len(facts.trips) * sum(math.comb(len(members), size) for size in range(1, half + 1))
        seeds = half * sum(map(len, places)) / max(1, len(members))
        building = len(posts) * num_nodes * visit
        with_table = building + num_rows * seeds * len(posts) * TABLE_STEP
        with_sweeps = num_rows * num_nodes * visit
        tables: _Tables | None = None
        if with_table <= with_sweeps:
            effort.spend(max(0.0, building - table_allowance(len(posts), effort.limit)))
            out = facts.walking.table(posts)
            tables = out, [list(column) for column in zip(*out, strict=True)]
        self._trips = [_TripPrices(facts, trip, posts, places, tables, effort) for trip in facts.trips]

    def costs(self, chosen: int) -> tuple[float, ...]:
        """The cost on each trip, infinite where no walk covers the set."""
        return tuple([trip.cost(chosen) for trip in self._trips])


class _TripPrices:
    def __init__(
        self,
        facts: Facts,
        trip: TripFacts,
        posts: list[int],
        places: list[list[int]],
        tables: _Tables | None,
        effort: Effort,
    ) -> None:
        self._walking = facts.walking
        self._posts = posts
        self._places = places
        self._tables = tables
        self._effort = effort
        self._before: dict[int, Row] = {0: [trip.from_start[node] for node in posts]}
        self._after: dict[int, Row] = {0: [trip.to_goal[node] for node in posts]}
        self._known: dict[int, float] = {0: trip.from_start[trip.goal]}

    def cost(self, chosen: int) -> float:
        known = self._known.get(chosen)
        if known is None:
            known = self._known[chosen] = self._price(chosen)
        return known

    def _price(self, chosen: int) -> float:
        members = list(members_of(chosen))
        best = math.inf
        num_before = (len(members) - 1) // 2
        for middle in members:
            others = [1 << i for i in members if i != middle]
            rest = chosen ^ 1 << middle
            places = self._places[middle]
            self._effort.spend(math.comb(len(others), num_before) * (1.5 + len(places) * _POST_STEP))
            for some in combinations(others, num_before):
                seen = sum(some)
                before, after = self._row(seen, backwards=False), self._row(rest ^ seen, backwards=True)
                for at in places:
                    if before[at] + after[at] < best:
                        best = before[at] + after[at]
        return best

    def _row(self, chosen: int, *, backwards: bool) -> Row:
        rows = self._after if backwards else self._before
        row = rows.get(chosen)
        if row is None:
            row = rows[chosen] = self._work_out(chosen, backwards=backwards)
        return row

    def _work_out(self, chosen: int, *, backwards: bool) -> Row:
        """The set is covered when its last member is: at one of that member's watchers, and the rest before."""
        seeds: dict[int, float] = {}
        for member in members_of(chosen):
            rest = self._row(chosen ^ 1 << member, backwards=backwards)
            for at in self._places[member]:
                if rest[at] < seeds.get(at, math.inf):
                    seeds[at] = rest[at]
        if self._tables is None:
            self._effort.spend(self._walking.num_nodes * _visit(self._walking))
            starts = [(self._posts[at], cost) for at, cost in seeds.items()]
            distances = self._walking.distances(starts, backwards=backwards)
            return [distances[node] for node in self._posts]
        table = self._tables[backwards]
        self._effort.spend(1 + len(seeds) * len(self._posts) * TABLE_STEP)
        row = [math.inf] * len(self._posts)
        for at, cost in seeds.items():
            row = [min(old, cost + step) for old, step in zip(row, table[at], strict=True)]
        return row


def _visit(walking: WalkingMap) -> float:
    return 1 if walking.unit is not None else HEAP_VISIT
