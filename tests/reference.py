"""Slow and plain: the definitions of docs/theory.rst as directly as possible, to compare fast code with."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import veilroute as vr
from veilroute.arrays import Flags
from veilroute.rules import KAndEll

Adjacency = list[list[tuple[int, float]]]


def adjacency(domain: vr.Domain) -> Adjacency:
    tails, heads, costs = domain.edge_arrays()
    out: Adjacency = [[] for _ in range(domain.num_nodes)]
    for tail, head, cost in zip(tails.tolist(), heads.tolist(), costs.tolist(), strict=True):
        out[tail].append((head, cost))
    return out


def distances(graph: Adjacency, source: int) -> list[float]:
    best = [math.inf] * len(graph)
    best[source] = 0
    heap: list[tuple[float, int]] = [(0, source)]
    while heap:
        d, node = heapq.heappop(heap)
        if d > best[node]:
            continue
        for other, cost in graph[node]:
            if d + cost < best[other]:
                best[other] = d + cost
                heapq.heappush(heap, (d + cost, other))
    return best


def watchers(problem: vr.Problem, candidate: int) -> set[int]:
    """Nodes that see a candidate node: at-node, within-distance and explicit visibility."""
    domain = problem.domain
    match problem.visibility:
        case vr.AtNode():
            return {candidate}
        case vr.WithinDistance(radius):
            graph = adjacency(domain)
            return {n for n in range(domain.num_nodes) if distances(graph, n)[candidate] <= radius + 1e-9}
        case vr.Explicit(sees):
            label = domain.label(candidate)
            return {domain.node(seer) for seer, seen in sees.items() if label in seen}
        case other:
            raise NotImplementedError(other)


def covering_cost(graph: Adjacency, start: int, goal: int, watched_from: Sequence[set[int]]) -> float:
    """Cheapest start-goal walk that covers everything, by Dijkstra over (node, what is covered)."""
    everything = (1 << len(watched_from)) - 1
    seen_from = [sum(1 << i for i, w in enumerate(watched_from) if node in w) for node in range(len(graph))]
    first = (start, seen_from[start])
    best = {first: 0.0}
    heap: list[tuple[float, int, int]] = [(0.0, *first)]
    while heap:
        d, node, covered = heapq.heappop(heap)
        if d > best[node, covered]:
            continue
        if node == goal and covered == everything:
            return d
        for other, cost in graph[node]:
            state = (other, covered | seen_from[other])
            if d + cost < best.get(state, math.inf):
                best[state] = d + cost
                heapq.heappush(heap, (d + cost, *state))
    return math.inf


def set_partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for size in range(len(rest) + 1):
        for others in combinations(rest, size):
            left = [item for item in rest if item not in others]
            for partition in set_partitions(left):
                yield [[first, *others], *partition]


def qualifies(group: Sequence[int], privacy: vr.Privacy, apart: list[list[float]]) -> bool:
    def is_spread(members: Sequence[int]) -> bool:
        pairs = combinations(members, 2)
        return all(min(apart[i][j], apart[j][i]) >= privacy.ell * (1 - 1e-9) for i, j in pairs)

    if privacy.spread == "all-pairs":
        return len(group) >= privacy.k and is_spread(group)
    return any(is_spread(chosen) for chosen in combinations(group, privacy.k))


class World:
    """What a problem's sets of coverable candidates cost, by brute force.

    Candidates are named by their positions among those that count. ``costs`` and ``ac`` are given by ascending tuples
    of them; ``ac`` is the paper's: the sum over trips and members of what the set costs them, trips weighted.
    """

    def __init__(self, problem: vr.Problem) -> None:
        domain = problem.domain
        self.graph = adjacency(domain)
        nodes = [problem.candidate_nodes[i] for i in problem.counted]
        self.seen = [watchers(problem, node) for node in nodes]
        trips = list(zip(problem.start_nodes, problem.goal_nodes, strict=True))
        base = [[covering_cost(self.graph, s, g, [w]) for w in self.seen] for s, g in trips]
        self.weights = [trip.weight / sum(t.weight for t in problem.trips) for trip in problem.trips]
        self.coverable = [i for i in range(len(nodes)) if all(math.isfinite(costs[i]) for costs in base)]
        self.apart = [[distances(self.graph, a)[b] for b in nodes] for a in nodes]
        self.base = base
        self.divisors = [[b if b > 0 else domain.smallest_positive_cost for b in costs] for costs in base]
        self.costs: dict[tuple[int, ...], list[float]] = {}
        self.ac: dict[tuple[int, ...], float] = {}
        for size in range(1, len(self.coverable) + 1):
            for group in combinations(self.coverable, size):
                costs = [covering_cost(self.graph, s, g, [self.seen[i] for i in group]) for s, g in trips]
                self.costs[group] = costs
                self.ac[group] = self.price(group, costs)

        self.problem, self.trips = problem, trips
        self._rests: dict[tuple[int, int, int | None], float] = {}

    def bounded_price(self, group: Sequence[int], m: int) -> float:
        """The least that a group adds to MAC's sum when its members share their first ``m`` nodes on every trip."""
        total = 0.0
        for trip, weight in enumerate(self.weights):
            ways = self.bounded_costs(group, m, trip)
            total += weight * min((self._spend(group, costs, trip) for costs in ways), default=math.inf)
        return total

    def bounded_costs(self, group: Sequence[int], m: int, trip: int) -> Iterator[list[float]]:
        """What each member pays, for all that they can share: their first ``m`` nodes, or a shorter whole walk.

        Only what is cheapest to each end and having covered the same is listed.
        """
        start, goal = self.trips[trip]
        layer = {(start, frozenset(i for i in group if start in self.seen[i])): 0.0}
        for length in range(1, m + 1):
            for (node, seen), paid in layer.items():
                if node == goal and len(seen) == len(group):  # all of them walk this and stop here
                    yield [paid] * len(group)
                if length == m:
                    yield [paid + self._rest(node, goal, None if i in seen else i) for i in group]
            ahead: dict[tuple[int, frozenset[int]], float] = {}
            for (node, seen), paid in layer.items():
                for other, cost in self.graph[node]:
                    state = (other, seen | {i for i in group if other in self.seen[i]})
                    ahead[state] = min(ahead.get(state, math.inf), paid + cost)
            layer = ahead

    def _rest(self, node: int, goal: int, member: int | None) -> float:
        key = (node, goal, member)
        if key not in self._rests:
            self._rests[key] = covering_cost(self.graph, node, goal, [] if member is None else [self.seen[member]])
        return self._rests[key]

    def _spend(self, group: Sequence[int], costs: Sequence[float], trip: int) -> float:
        base, divisors = self.base[trip], self.divisors[trip]
        return sum((cost - base[i]) / divisors[i] for i, cost in zip(group, costs, strict=True))

    def price(self, group: Sequence[int], costs: Sequence[float]) -> float:
        """What it adds to MAC's sum when the members of a group pay these costs, one for each trip."""
        total = 0.0
        for trip, (weight, cost) in enumerate(zip(self.weights, costs, strict=True)):
            total += weight * sum((cost - self.base[trip][i]) / self.divisors[trip][i] for i in group)
        return total


def best_partition(problem: vr.Problem, privacy: vr.Privacy) -> tuple[int, int, float | None]:
    """Coverable and anonymized counts and the optimal MAC, over all set partitions."""
    world = World(problem)
    shares = {}
    for group, ac in world.ac.items():
        is_class = qualifies(group, privacy, world.apart)
        share = ac if privacy.m is None or not is_class else world.bounded_price(group, privacy.m)
        shares[group] = share if is_class else math.inf
    best_count, best_sum = 0, 0.0
    for partition in set_partitions(world.coverable):
        good_groups = [tuple(g) for g in partition if math.isfinite(shares[tuple(g)])]
        count = sum(len(g) for g in good_groups)
        value = sum(shares[g] for g in good_groups)
        if count > best_count or (count == best_count and value < best_sum - 1e-12):
            best_count, best_sum = count, value
    return len(world.coverable), best_count, best_sum / best_count if best_count else None


def is_spread(members: Sequence[int], far: Flags, privacy: vr.Privacy) -> bool:
    """The rule of a privacy, as planners ask it."""
    return KAndEll.of(far, privacy.k, privacy.spread).qualifies(members)
