"""The cheapest walk covering each subset of the candidates, in plain Python.

The cheapest walks that cover sets of candidates, worked out one by one when they are asked for.

`pricing` prices all subsets of a few candidates at once; here there are more candidates, and only small sets matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from veilroute.auditing.apartness import members_of
from veilroute.auditing.sight import Facts, TripFacts
from veilroute.auditing.walking import WalkingMap

Prices = list[float]
"""One figure per subset of the candidates, by bit mask; infinite where there is no walk."""

MAX_EFFORT = 4_000_000
"""Node visits (or steps of similar cost) after which a price list is given up: a few seconds."""

HEAP_VISIT = 4
TABLE_STEP = 0.125
"""What a visit by Dijkstra's algorithm and a look into a table take, measured in visits by breadth-first search."""


_FEW_POSTS = 300
_TABLE_ALLOWANCE = 5
"""Where there are few watchers, their distances may take this many times the effort: on a city of 100,000 junctions
they are nearly all of the work, and worth some seconds."""


class TooMuchError(Exception):
    """The problem is too large to try everything; never leaves the auditor."""


def price_walks(facts: Facts, trip: TripFacts, candidates: Sequence[int], effort: float = MAX_EFFORT) -> Prices:
    """Cost of the cheapest start-goal walk covering each subset.

    With ``f(S, n)`` the cheapest walk from the start to n covering S: ``f({}, n) = d(start, n)`` and ``f(S, n)`` is
    the least of ``f(S - t, q) + d(q, n)`` over t in S and watchers q of t. Either ``f`` is kept at watchers only,
    with a table of their distances, or one sweep of the map is made per subset, whichever is less work. Gives up with
    `TooMuchError` when both are more than ``effort``.
    """
    watchers = [sorted(facts.watchers[c]) for c in candidates]
    posts = sorted(set().union(*watchers))
    num_subsets = 1 << len(candidates)
    visit = 1 if facts.walking.unit is not None else HEAP_VISIT
    building = len(posts) * facts.walking.num_nodes * visit
    with_table = building + num_subsets * len(posts) ** 2 * TABLE_STEP
    with_sweeps = num_subsets * facts.walking.num_nodes * HEAP_VISIT
    spared = min(building, table_allowance(len(posts), effort))
    if min(with_table - spared, with_sweeps) > effort:
        raise TooMuchError
    if with_table <= with_sweeps:
        return _price_at_posts(facts.walking, trip, watchers, posts)
    return _price_by_sweeps(facts.walking, trip, watchers)


def table_allowance(num_posts: int, effort: float) -> float:
    """What a table of the distances between watchers may take beyond an effort."""
    return (_TABLE_ALLOWANCE - 1) * effort if num_posts <= _FEW_POSTS else 0.0


def _price_at_posts(walking: WalkingMap, trip: TripFacts, watchers: list[list[int]], posts: list[int]) -> Prices:
    place = {node: i for i, node in enumerate(posts)}
    table = walking.table(posts)
    to_goal = [trip.to_goal[node] for node in posts]
    reached = [[trip.from_start[node] for node in posts]]
    prices = [trip.from_start[trip.goal]]
    for chosen in range(1, 1 << len(watchers)):
        seeds: dict[int, float] = {}
        for i, nodes in enumerate(watchers):
            if chosen >> i & 1:
                before = reached[chosen ^ 1 << i]
                for node in nodes:
                    at = place[node]
                    seeds[at] = min(before[at], seeds.get(at, math.inf))
        row = [math.inf] * len(posts)
        for at, cost in seeds.items():
            if cost < math.inf:
                row = [min(old, cost + step) for old, step in zip(row, table[at], strict=True)]
        reached.append(row)
        prices.append(min((cost + to_goal[at] for at, cost in seeds.items()), default=math.inf))
    return prices


def _price_by_sweeps(walking: WalkingMap, trip: TripFacts, watchers: list[list[int]]) -> Prices:
    fields: list[Sequence[float]] = [trip.from_start]
    for chosen in range(1, 1 << len(watchers)):
        seeds = [
            (node, fields[chosen ^ 1 << i][node])
            for i, nodes in enumerate(watchers)
            if chosen >> i & 1
            for node in nodes
        ]
        fields.append(walking.distances(seed for seed in seeds if seed[1] < math.inf))
    return [field[trip.goal] for field in fields]


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
