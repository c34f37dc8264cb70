"""What each class costs when only the first m nodes are shared, by following every walk of m nodes.

Up to a dozen candidates all classes are priced at once (`price_prefixes`). Beyond that they are priced one by one when
they are asked for (`PrefixPrices`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veilroute.arrays import Floats, Ints
from veilroute.auditing.apartness import members_of
from veilroute.auditing.pricing import HEAP_VISIT, MAX_EFFORT, TABLE_STEP, Effort, Prices, TooMuchError
from veilroute.auditing.sight import Facts, TripFacts

_LAYER_VISIT = 4
"""What keeping one (node, covered set) takes, measured in visits by breadth-first search."""

_ARRAY_STEP = 4
_ARRAY_CELL = 0.002
"""What an operation on arrays takes, and each of its cells, measured the same way."""

_MAX_BYTES = 1 << 29
"""More memory than this is not used for walks that are kept, on all trips together."""


def price_prefixes(
    facts: Facts, trip: TripFacts, candidates: Sequence[int], m: int, effort: float = MAX_EFFORT
) -> Prices:
    """What each subset adds to the sum behind MAC when its members share their first ``m`` nodes.

    They share either a walk of exactly m nodes, after which each goes its own cheapest way, or one complete walk of
    at most m nodes that covers them all. Walks are followed node by node, keeping for each (node, covered set) the
    cheapest; gives up with `TooMuchError` beyond ``effort``.
    """
    num_subsets = 1 << len(candidates)
    if len(candidates) * facts.walking.num_nodes * HEAP_VISIT > effort:
        raise TooMuchError
    # Every walk that is kept at the end is held against every subset.
    layer, complete = _walk_layers(facts, trip, candidates, m, effort, int(effort / (num_subsets * TABLE_STEP)))
    base = [trip.base_costs[c] for c in candidates]
    divisor = [facts.divisor(cost) for cost in base]
    covering = [
        facts.walking.distances(
            [(q, trip.to_goal[q]) for q in sorted(facts.watchers[c]) if trip.to_goal[q] < math.inf], backwards=True
        )
        for c in candidates
    ]
    prices = [math.inf] * num_subsets
    prices[0] = 0.0
    for seen, cost in complete.items():
        _lower(prices, [(cost - base[i]) / divisor[i] if seen >> i & 1 else math.inf for i in range(len(base))])
    for (node, seen), cost in layer.items():
        ahead = [trip.to_goal[node] if seen >> i & 1 else covering[i][node] for i in range(len(base))]
        _lower(prices, [(cost + ahead[i] - base[i]) / divisor[i] for i in range(len(base))])
    return prices


def _walk_layers(
    facts: Facts, trip: TripFacts, candidates: Sequence[int], m: int, effort: float, most: int
) -> tuple[dict[tuple[int, int], float], dict[int, float]]:
    """Cheapest walks of exactly m nodes by (last node, covered set), and complete ones of at most m by covered set.

    Gives up beyond ``effort``, or when more than ``most`` walks of the same length have to be kept.
    """
    seen_at: dict[int, int] = {}
    for i, c in enumerate(candidates):
        for node in facts.watchers[c]:
            seen_at[node] = seen_at.get(node, 0) | 1 << i
    layer = {(trip.start, seen_at.get(trip.start, 0)): 0.0}
    complete: dict[int, float] = {}
    spent = 0
    for length in range(1, m + 1):
        for (node, seen), cost in layer.items():
            if node == trip.goal:
                complete[seen] = min(cost, complete.get(seen, math.inf))
        if length == m:
            break
        ahead: dict[tuple[int, int], float] = {}
        for (node, seen), cost in layer.items():
            for head, step in facts.walking.edges_from(node):
                state = (head, seen | seen_at.get(head, 0))
                if cost + step < ahead.get(state, math.inf):
                    ahead[state] = cost + step
        layer = ahead
        if not layer:
            break
        spent += _LAYER_VISIT * len(layer)
        if spent > effort or len(layer) > most:
            raise TooMuchError
    return layer, complete


def _lower(prices: Prices, parts: list[float]) -> None:
    """Lower the price of every subset to the sum of its members' parts where that is less."""
    sums = [0.0]
    for part in parts:
        sums += [value + part for value in sums]
    for chosen, value in enumerate(sums):
        if value < prices[chosen]:
            prices[chosen] = value


def is_beyond_every_route(facts: Facts, k: int, m: int, mac_sum: float) -> bool:
    """Whether sharing only the first m nodes is never worth it, so that m counts as infinite.

    Whoever goes their own way after m nodes has paid for m - 1 edges, and so have at least k members of the class.
    Where that alone costs more than ``mac_sum``, all classes of a plan that costs no more share whole routes.
    """
    least = (m - 1) * facts.walking.smallest_cost
    total = math.fsum(trip.weight for trip in facts.problem.trips)
    for trip, asked in zip(facts.trips, facts.problem.trips, strict=True):
        base_costs = (trip.base_costs[c] for c in facts.coverable)
        extras = sorted(max(0.0, least - cost) / facts.divisor(cost) for cost in base_costs)
        if asked.weight / total * math.fsum(extras[:k]) <= mac_sum:
            return False
    return True


class PrefixPrices:
    """What classes add to the MAC sum when their members share the first m nodes.

    With ``g(S, n)`` the cheapest walk of exactly m nodes from the start to n covering S, a class C shares such a walk,
    and each member goes on alone: straight to the goal from n, or first past a watcher of its own. Or all of C share
    one complete walk of at most m nodes that covers them.

    Parameters
    ----------
    facts
        The map and the trips.
    members
        Positions of the candidates; sets of them are bit masks over this order.
    m
        How many nodes are shared.
    weights
        By trip and member, what a unit of cost adds to the MAC sum.
    effort
        What may be spent.
    """

    def __init__(
        self, facts: Facts, members: Sequence[int], m: int, weights: Sequence[Sequence[float]], effort: Effort
    ) -> None:
        posts = sorted(set().union(*(facts.watchers[c] for c in members)))
        from_posts = _find_distances(facts, posts, effort) if can_pad(facts) else None
        self._trips = []
        for trip, own in zip(facts.trips, weights, strict=True):
            walks: _Layers | _Padded = _Layers(facts, trip, posts, m, effort)
            if from_posts is not None:
                walks = _Padded(facts, trip, posts, m, effort, from_posts)
            self._trips.append(_TripPrefixes(facts, trip, members, posts, np.array(own), walks, effort))
        self._known: dict[int, float] = {}

    def share(self, chosen: int) -> float:
        """What the class adds, over all trips; infinite when it is impossible."""
        known = self._known.get(chosen)
        if known is None:
            known = self._known[chosen] = math.fsum(trip.share(chosen) for trip in self._trips)
        return known


def can_pad(facts: Facts) -> bool:
    """Whether all edges cost the same, lead both ways, and join nodes of two colours, as on a 4-way grid.

    A walk can then be made longer by two steps, to and fro, and the number of steps to a node is always odd or always
    even. So a walk of exactly m nodes to n covering S exists where the shortest such walk has at most m nodes, as odd
    or even a number, and all of them cost the same.
    """
    walking = facts.walking
    if walking.unit is None:
        return False
    edges = {(tail, head) for tail in range(walking.num_nodes) for head, _ in walking.edges_from(tail)}
    if any((head, tail) not in edges for tail, head in edges):
        return False
    for trip in facts.trips:
        steps = [distance / walking.unit for distance in trip.from_start]
        if any(steps[tail] < math.inf and (steps[tail] - steps[head]) % 2 == 0 for tail, head in edges):
            return False
    return True


def _find_distances(facts: Facts, posts: Sequence[int], effort: Effort) -> Floats:
    """From every post to every node."""
    if 8 * len(posts) * facts.walking.num_nodes > _MAX_BYTES:
        raise TooMuchError
    effort.spend(len(posts) * facts.walking.num_nodes)
    rows = [facts.walking.distances([(post, 0)]) for post in posts]
    return np.array(rows).reshape(len(posts), facts.walking.num_nodes)


@dataclass(frozen=True, eq=False)
class _Walks:
    """The cheapest walks that cover a set.

    Parameters
    ----------
    at_posts
        To every post; by number of nodes, where that matters.
    last
        Of exactly m nodes, to each of the ends.
    complete
        To the goal, with at most m nodes.
    """

    at_posts: Floats
    last: Floats
    complete: float


_Parts = list[tuple[Ints, Ints, _Walks]]
"""For each member of a set: its watchers, as nodes and as places among the posts, and the walks for the others."""


class _Layers:
    """Walks followed node by node, on any map: a set is covered when its last member is, and the rest was before.

    ``ends`` are the nodes where a walk of m nodes may end.
    """

    def __init__(self, facts: Facts, trip: TripFacts, posts: Sequence[int], m: int, effort: Effort) -> None:
        offsets, tails, costs = facts.walking.edges_into
        starts = np.array(offsets, dtype=np.int64)
        self.ends: Ints = np.flatnonzero(np.isfinite(trip.from_start))
        self._trip = trip
        self._num_nodes = facts.walking.num_nodes
        self._tails: Ints = np.array(tails, dtype=np.int64)
        self._costs: Floats = np.array(costs, dtype=np.float64)
        self._entered: Ints = np.flatnonzero(np.diff(starts))
        self._firsts: Ints = starts[self._entered]
        self._posts: Ints = np.array(posts, dtype=np.int64)
        self._m = m
        self._effort = effort

    @property
    def num_bytes(self) -> int:
        """How much memory the walks of one set take."""
        return 8 * (self._m * self._posts.size + self.ends.size)

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
                field[self._trip.start] = 0.0
            for watchers, places, before in parts:
                field[watchers] = np.minimum(field[watchers], before.at_posts[length, places])
            at_posts[length] = field[self._posts]
            complete = min(complete, float(field[self._trip.goal]))
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
        self, facts: Facts, trip: TripFacts, posts: Sequence[int], m: int, effort: Effort, from_posts: Floats
    ) -> None:
        unit = facts.walking.unit or 1.0
        self._length = (m - 1) * unit
        from_start = np.array(trip.from_start)
        near = np.flatnonzero(from_start <= self._length)
        self.ends: Ints = near[(self._length - from_start[near]) / unit % 2 == 0]
        if self._length > 0 and np.isfinite(from_start).sum() == 1:
            # A start without an edge is no place to walk to and fro.
            self.ends = self.ends[:0]
        # Distances are needed at the ends, then at the posts, then at the goal.
        self._wanted: Ints = np.concatenate((self.ends, np.array(posts, dtype=np.int64), [trip.goal]))
        self._from_start: Floats = from_start[self._wanted]
        self._from_posts: Floats = from_posts[:, self._wanted]
        self._effort = effort

    @property
    def num_bytes(self) -> int:
        """How much memory the walks of one set take."""
        return 8 * self._wanted.size

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
        facts: Facts,
        trip: TripFacts,
        members: Sequence[int],
        posts: Sequence[int],
        weights: Floats,
        walks: _Layers | _Padded,
        effort: Effort,
    ) -> None:
        place = {node: i for i, node in enumerate(posts)}
        watchers = [sorted(facts.watchers[c]) for c in members]
        self._weights = weights
        self._walks_by = walks
        self._effort = effort
        self._max_bytes = _MAX_BYTES // len(facts.trips)
        self._watchers: list[Ints] = [np.array(nodes, dtype=np.int64) for nodes in watchers]
        self._places: list[Ints] = [np.array([place[node] for node in nodes], dtype=np.int64) for nodes in watchers]
        self._credits: Floats = weights * np.array([trip.base_costs[c] for c in members])
        self._to_goal: Floats = np.array(trip.to_goal)[walks.ends]
        # From every end to the goal past a watcher of each member, times the member's weight.
        self._past: list[Floats] = []
        for nodes, weight in zip(watchers, weights.tolist(), strict=True):
            effort.spend(facts.walking.num_nodes * HEAP_VISIT)
            seeds = [(node, trip.to_goal[node]) for node in nodes if trip.to_goal[node] < math.inf]
            self._past.append(weight * np.array(facts.walking.distances(seeds, backwards=True))[walks.ends])
        self._kept: dict[int, _Walks] = {}

    def share(self, chosen: int) -> float:
        """What a class adds to the MAC sum on this trip."""
        members = list(members_of(chosen))
        whole = math.fsum(self._weights[members])
        best = self._walks(chosen).complete * whole
        # Those who are covered on the way go straight to the goal, the others past a watcher of their own.
        subsets = [(0, 0.0, np.zeros(self._to_goal.size))]
        for i in members:
            going = [(covered, weight, past + self._past[i]) for covered, weight, past in subsets]
            subsets = [(covered | 1 << i, weight + self._weights[i], past) for covered, weight, past in subsets] + going
        self._effort.spend(len(subsets) * (4 * _ARRAY_STEP + 4 * _ARRAY_CELL * self._to_goal.size))
        for covered, weight, past in subsets:
            total = self._walks(covered).last * whole + past
            if covered:
                total += self._to_goal * weight
            best = min(best, float(total.min(initial=math.inf)))
        return best - math.fsum(self._credits[members])

    def _walks(self, chosen: int) -> _Walks:
        known = self._kept.get(chosen)
        if known is None:
            if self._walks_by.num_bytes * len(self._kept) > self._max_bytes:
                raise TooMuchError
            parts = [(self._watchers[i], self._places[i], self._walks(chosen ^ 1 << i)) for i in members_of(chosen)]
            known = self._kept[chosen] = self._walks_by.follow(parts)
        return known
