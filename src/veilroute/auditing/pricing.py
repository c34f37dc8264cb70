"""What a class costs, worked out one by one when it is asked for: its walks, or what it adds where prefixes are shared.

`optimality` prices all subsets of a dozen candidates at once; here there are more, and only small sets matter.
"""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from veilroute.auditing.apartness import members_of
from veilroute.auditing.survey import Survey, TripDistances
from veilroute.auditing.walking import HEAP_VISIT, TABLE_STEP, Effort, TooMuchError, WalkingMap
from veilroute.base.arrays import Floats, Ints

_FEW_POSTS = 300
_TABLE_ALLOWANCE = 5
"""Where there are few watchers, their distances may take this many times the effort: on a city of 100,000 junctions
they are nearly all of the work, and worth some seconds."""

_POST_STEP = 0.3
_ARRAY_STEP = 4
_ARRAY_CELL = 0.002
"""What meeting at a post, an operation on arrays, and each of its cells take, measured in visits by breadth-first
search."""

_MAX_BYTES = 1 << 29  #: more memory than this is not used for walks that are kept, on all trips together

Row = list[float]  #: a figure for each post

_Tables = tuple[list[Row], list[Row]]  #: for each post the distances to all posts, and from all


def _table_allowance(num_posts: int, effort: float) -> float:
    """What a table of the distances between watchers may take beyond an effort."""
    return (_TABLE_ALLOWANCE - 1) * effort if num_posts <= _FEW_POSTS else 0.0


class SetPrices:
    """What the cheapest walk of each trip that covers a set costs.

    Sets are bit masks over ``members``. With ``f(A, q)`` the cheapest walk from the start to q covering A, ``h(B, q)``
    the cheapest from q to the goal covering B: of the members of a set C, in the order in which a walk first sees them,
    some j is the middle one, so c(C) is the least of ``f(A, q) + h(B, q)`` over j, watchers q of j, and divisions of
    the others into halves A and B. So f and h are needed for sets of half the size only, and only at watchers.

    ``half`` is how large the halves will be, as far as known; it decides how f and h are worked out.
    """

    def __init__(self, survey: Survey, members: Sequence[int], half: int, effort: Effort) -> None:
        posts, places = _find_posts(survey, members)
        half = min(half, len(members))  # a file may name any k
        sweep = survey.ground.num_nodes * survey.ground.visit
        num_rows = 2 * len(survey.trips) * sum(math.comb(len(members), size) for size in range(1, half + 1))
        seeds = half * sum(map(len, places)) / max(1, len(members))
        building = len(posts) * sweep
        has_table = building + num_rows * seeds * len(posts) * TABLE_STEP <= num_rows * sweep
        if has_table:
            effort.spend(max(0.0, building - _table_allowance(len(posts), effort.limit)))
        tables = _find_tables(survey, posts) if has_table else None
        self._trips = [_TripPrices(survey.ground, trip, posts, places, tables, effort) for trip in survey.trips]
        self.weights, self.credits = survey.weights(members), survey.credits(members)
        self._base_costs = [[trip.base_costs[c] for c in members] for trip in survey.trips]

    def costs(self, chosen: int) -> tuple[float, ...]:
        """The cost on each trip, infinite where no walk covers the set."""
        return tuple([trip.cost(chosen) for trip in self._trips])

    def share(self, chosen: int) -> float:
        """What the class adds to the objective's sum; infinite when it is impossible."""
        costs = self.costs(chosen)
        if math.inf in costs:
            return math.inf
        by_trip = zip(self.weights, self._base_costs, costs, strict=True)
        return math.fsum(own[i] * (cost - base[i]) for own, base, cost in by_trip for i in members_of(chosen))


def price_walks(
    survey: Survey,
    trip: TripDistances,
    members: Sequence[int],
    effort: float = math.inf,
    *,
    table_step: float = TABLE_STEP,
) -> list[float]:
    """Cost of the cheapest start-goal walk covering each subset of the members, by bit mask.

    With f as in `SetPrices`, the least of ``f(S, q) + d(q, goal)`` over all watchers q, where the last member is seen.
    Either with a table of the distances between watchers, or with one sweep of the map per subset, whichever is less
    work; gives up with `TooMuchError` beyond ``effort``.
    """
    posts, places = _find_posts(survey, members)
    num_subsets, num_nodes = 1 << len(members), survey.ground.num_nodes
    building = len(posts) * num_nodes * survey.ground.visit
    with_table = building + num_subsets * len(posts) ** 2 * table_step
    with_sweeps = num_subsets * num_nodes * HEAP_VISIT
    if min(with_table - min(building, _table_allowance(len(posts), effort)), with_sweeps) > effort:
        raise TooMuchError
    tables = _find_tables(survey, posts) if with_table <= with_sweeps else None
    walks = _TripPrices(survey.ground, trip, posts, places, tables, Effort(math.inf))
    return [walks.cost(0), *(walks.cost_from_start(chosen) for chosen in range(1, num_subsets))]


def _find_posts(survey: Survey, members: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """The nodes from which some member is seen, and for each member their places in that list."""
    posts = sorted(set().union(*(survey.posts[c] for c in members)))
    place = {node: i for i, node in enumerate(posts)}
    return posts, [[place[node] for node in sorted(survey.posts[c])] for c in members]


def _find_tables(survey: Survey, posts: list[int]) -> _Tables:
    out = survey.ground.table(posts)
    return out, [list(column) for column in zip(*out, strict=True)]


@dataclass(eq=False)
class _TripPrices:
    """The walks of one trip; see `SetPrices`."""

    walking: WalkingMap
    trip: TripDistances
    posts: list[int]
    places: list[list[int]]
    tables: _Tables | None
    effort: Effort

    def __post_init__(self) -> None:
        self._before: dict[int, Row] = {0: [self.trip.from_start[node] for node in self.posts]}
        self._after: dict[int, Row] = {0: [self.trip.to_goal[node] for node in self.posts]}
        self._known: dict[int, float] = {0: self.trip.to_goal[self.trip.begin]}

    def cost_from_start(self, chosen: int) -> float:
        return min(map(operator.add, self._row(chosen, backwards=False), self._after[0]), default=math.inf)

    def cost(self, chosen: int) -> float:
        if chosen not in self._known:
            self._known[chosen] = self._price(chosen)
        return self._known[chosen]

    def _price(self, chosen: int) -> float:
        members = list(members_of(chosen))
        best = math.inf
        num_before = (len(members) - 1) // 2
        for middle in members:
            others = [1 << i for i in members if i != middle]
            rest = chosen ^ 1 << middle
            places = self.places[middle]
            self.effort.spend(math.comb(len(others), num_before) * (1.5 + len(places) * _POST_STEP))
            for some in combinations(others, num_before):
                seen = sum(some)
                before, after = self._row(seen, backwards=False), self._row(rest ^ seen, backwards=True)
                for at in places:
                    if before[at] + after[at] < best:
                        best = before[at] + after[at]
        return best

    def _row(self, chosen: int, *, backwards: bool) -> Row:
        rows = self._after if backwards else self._before
        if chosen not in rows:
            rows[chosen] = self._work_out(chosen, backwards=backwards)
        return rows[chosen]

    def _work_out(self, chosen: int, *, backwards: bool) -> Row:
        """The set is covered when its last member is: at one of that member's watchers, and the rest before."""
        seeds: dict[int, float] = {}
        for member in members_of(chosen):
            rest = self._row(chosen ^ 1 << member, backwards=backwards)
            for at in self.places[member]:
                if rest[at] < seeds.get(at, math.inf):
                    seeds[at] = rest[at]
        if self.tables is None:
            self.effort.spend(self.walking.num_nodes * self.walking.visit)
            starts = [(self.posts[at], cost) for at, cost in seeds.items()]
            distances = self.walking.distances(starts, backwards=backwards)
            return [distances[node] for node in self.posts]
        table = self.tables[backwards]
        self.effort.spend(1 + len(seeds) * len(self.posts) * TABLE_STEP)
        row = [math.inf] * len(self.posts)
        for at, cost in seeds.items():
            row = [min(old, cost + step) for old, step in zip(row, table[at], strict=True)]
        return row


class PrefixPrices:
    """What classes add to the objective's sum when their members share the first m nodes.

    With ``g(S, n)`` the cheapest walk of exactly m nodes from the start to n covering S, a class C shares such a walk,
    and each member goes on alone: straight to the goal from n, or first past a watcher of its own. Or all of C share
    one complete walk of at most m nodes that covers them.
    """

    def __init__(
        self, survey: Survey, members: Sequence[int], m: int, effort: Effort, *, max_bytes: int = _MAX_BYTES
    ) -> None:
        posts, places = _find_posts(survey, members)
        from_posts = _find_distances(survey, posts, effort) if can_pad(survey) else None
        self._trips = []
        for trip, weights in zip(survey.trips, survey.weights(members), strict=True):
            ways = (survey, trip, posts, m, effort)
            walks = _Layers(*ways) if from_posts is None else _Padded(*ways, from_posts)
            ways_on = (np.array(weights), walks, effort, max_bytes // len(survey.trips))
            self._trips.append(_TripPrefixes(survey, trip, members, places, *ways_on))
        self._known: dict[int, float] = {}

    def share(self, chosen: int, member: int | None = None, rest: float = 1.0) -> float:
        """What the class adds, over all trips, where one ``member`` may count for less; infinite when impossible."""
        if member is not None:
            return math.fsum(trip.share(chosen, member, rest) for trip in self._trips)
        if chosen not in self._known:
            self._known[chosen] = math.fsum(trip.share(chosen) for trip in self._trips)
        return self._known[chosen]


def can_pad(survey: Survey) -> bool:
    """Whether all edges cost the same, lead both ways, and join nodes of two colours, as on a 4-way grid.

    A walk can then be made longer by two steps, to and fro, and the number of steps to a node is always odd or always
    even. So a walk of exactly m nodes to n covering S exists where the shortest such walk has at most m nodes, as odd
    or even a number, and all of them cost the same. Not where turning round may be illegal.
    """
    walking = survey.ground
    if survey.legal is not None or walking.unit is None or not walking.is_two_way:
        return False
    edges = [(tail, head) for tail in range(walking.num_nodes) for head, _ in walking.edges_from(tail)]
    for trip in survey.trips:
        steps = [distance / walking.unit for distance in trip.from_start]
        if any(steps[tail] < math.inf and (steps[tail] - steps[head]) % 2 == 0 for tail, head in edges):
            return False
    return True


def _find_distances(survey: Survey, posts: Sequence[int], effort: Effort) -> Floats:
    """From every post to every node."""
    if 8 * len(posts) * survey.ground.num_nodes > _MAX_BYTES:
        raise TooMuchError
    effort.spend(len(posts) * survey.ground.num_nodes)
    rows = [survey.ground.distances([(post, 0)]) for post in posts]
    return np.array(rows).reshape(len(posts), survey.ground.num_nodes)


class _Walks(NamedTuple):
    """The cheapest walks that cover a set."""

    at_posts: Floats  # to every post, by number of nodes where that matters
    last: Floats  # of exactly m nodes, to each of the ends
    complete: float  # to the goal, with at most m nodes


_Parts = list[tuple[Ints, Ints, _Walks]]
"""For each member of a set: its watchers, as nodes and as places among the posts, and the walks for the others."""


class _Layers:
    """Walks followed node by node, on any map: a set is covered when its last member is, and the rest was before.

    ``ends`` are the nodes where a walk of m nodes may end; the walks of one set take ``num_bytes`` of memory.
    """

    def __init__(self, survey: Survey, trip: TripDistances, posts: Sequence[int], m: int, effort: Effort) -> None:
        offsets, tails, costs = survey.ground.edges_into
        starts = np.array(offsets, dtype=np.int64)
        self.ends: Ints = np.flatnonzero(np.isfinite(trip.from_start))
        self._trip, self._m, self._num_nodes, self._effort = trip, m, survey.ground.num_nodes, effort
        self._tails: Ints = np.array(tails, dtype=np.int64)
        self._costs: Floats = np.array(costs, dtype=np.float64)
        self._entered: Ints = np.flatnonzero(np.diff(starts))
        self._firsts: Ints = starts[self._entered]
        self._posts: Ints = np.array(posts, dtype=np.int64)
        self._goals: Ints = np.array(trip.ends, dtype=np.int64)
        self.num_bytes = 8 * (m * len(posts) + self.ends.size)

    def follow(self, parts: _Parts) -> _Walks:
        """The walks that cover a set, from those that cover all but one of its members."""
        self._effort.spend(self._m * (_ARRAY_STEP * (5 + 3 * len(parts)) + _ARRAY_CELL * 4 * self._tails.size))
        field = np.full(self._num_nodes, math.inf)
        at_posts = np.full((self._m, self._posts.size), math.inf)
        complete = math.inf
        for length in range(self._m):
            if length:
                field = self._step(field)
            elif not parts:
                field[self._trip.begin] = 0.0
            for watchers, places, before in parts:
                field[watchers] = np.minimum(field[watchers], before.at_posts[length, places])
            at_posts[length] = field[self._posts]
            complete = min(complete, float(field[self._goals].min(initial=math.inf)))
        return _Walks(at_posts, field[self.ends], complete)

    def _step(self, field: Floats) -> Floats:
        """For every node the cheapest way to it that takes one more edge."""
        ahead = np.full(self._num_nodes, math.inf)
        if self._tails.size:
            ahead[self._entered] = np.minimum.reduceat(field[self._tails] + self._costs, self._firsts)
        return ahead


class _Padded:
    """The same on maps where walks can be padded (:func:`can_pad`): the shortest ones tell everything."""

    def __init__(
        self, survey: Survey, trip: TripDistances, posts: Sequence[int], m: int, effort: Effort, from_posts: Floats
    ) -> None:
        unit = survey.ground.unit or 1.0
        self._length = (m - 1) * unit
        from_start = np.array(trip.from_start)
        near = np.flatnonzero(from_start <= self._length)
        self.ends: Ints = near[(self._length - from_start[near]) / unit % 2 == 0]
        # At a start without an edge nobody walks to and fro; but there the walk of one node covers all that any does.
        # Distances are needed at the ends, then at the posts, then at the goal.
        self._wanted: Ints = np.concatenate((self.ends, np.array(posts, dtype=np.int64), [trip.goal]))
        self._from_start: Floats = from_start[self._wanted]
        self._from_posts: Floats = from_posts[:, self._wanted]
        self._effort = effort
        self.num_bytes = 8 * self._wanted.size

    def follow(self, parts: _Parts) -> _Walks:
        """The walks that cover a set, from those that cover all but one of its members."""
        shortest = np.full(self._wanted.size, math.inf) if parts else self._from_start
        for _, places, before in parts:
            self._effort.spend(2 * len(places) * (_ARRAY_STEP + _ARRAY_CELL * self._wanted.size))
            for at in places.tolist():
                shortest = np.minimum(shortest, self._from_posts[at] + before.at_posts[at])
        num = self.ends.size
        last = np.where(shortest[:num] <= self._length, self._length, math.inf)
        whole = float(shortest[-1])
        return _Walks(shortest[num:-1], last, whole if whole <= self._length else math.inf)


class _TripPrefixes:
    """The classes of one trip."""

    def __init__(
        self,
        survey: Survey,
        trip: TripDistances,
        members: Sequence[int],
        places: list[list[int]],
        weights: Floats,
        walks: _Layers | _Padded,
        effort: Effort,
        max_bytes: int,
    ) -> None:
        watchers = [sorted(survey.posts[c]) for c in members]
        self._weights, self._walks_by, self._effort = weights, walks, effort
        self._max_bytes = max_bytes
        self._watchers: list[Ints] = [np.array(nodes, dtype=np.int64) for nodes in watchers]
        self._places: list[Ints] = [np.array(own, dtype=np.int64) for own in places]
        self._credits: Floats = weights * np.array([trip.base_costs[c] for c in members])
        self._to_goal: Floats = np.array(trip.to_goal)[walks.ends]
        # From every end to the goal past a watcher of each member, times the member's weight.
        self._past: list[Floats] = []
        for nodes, weight in zip(watchers, weights.tolist(), strict=True):
            effort.spend(survey.ground.num_nodes * HEAP_VISIT)
            seeds = [(node, trip.to_goal[node]) for node in nodes if trip.to_goal[node] < math.inf]
            self._past.append(weight * np.array(survey.ground.distances(seeds, backwards=True))[walks.ends])
        self._kept: dict[int, _Walks] = {}

    def share(self, chosen: int, member: int | None = None, rest: float = 1.0) -> float:
        """What a class adds to the objective's sum on this trip; one ``member`` may count for less."""
        members = list(members_of(chosen))
        counts = {i: rest if i == member else 1.0 for i in members}
        whole = math.fsum(self._weights[i] * count for i, count in counts.items())
        best = self._walks(chosen).complete * whole
        self._effort.spend((1 << len(members)) * (4 * _ARRAY_STEP + 4 * _ARRAY_CELL * self._to_goal.size))
        # Those who are covered on the way go straight to the goal, the others past a watcher of their own.
        subsets = [(0, 0.0, np.zeros(self._to_goal.size))]
        for i, count in counts.items():
            going = [(covered, weight, past + count * self._past[i]) for covered, weight, past in subsets]
            weighed = count * self._weights[i]
            subsets = [(covered | 1 << i, weight + weighed, past) for covered, weight, past in subsets] + going
        for covered, weight, past in subsets:
            total = self._walks(covered).last * whole + past
            if covered:
                total += self._to_goal * weight
            best = min(best, float(total.min(initial=math.inf)))
        return best - math.fsum(self._credits[i] * count for i, count in counts.items())

    def _walks(self, chosen: int) -> _Walks:
        if chosen not in self._kept:
            if self._walks_by.num_bytes * len(self._kept) > self._max_bytes:
                raise TooMuchError
            parts = [(self._watchers[i], self._places[i], self._walks(chosen ^ 1 << i)) for i in members_of(chosen)]
            self._kept[chosen] = self._walks_by.follow(parts)
        return self._kept[chosen]
