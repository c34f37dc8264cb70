"""Slow and plain: the definitions of docs/theory.rst as directly as possible, to compare fast code with.

Dictionaries, tuples and one search: Dijkstra's algorithm over what a walk has passed last and whom it has covered.
Nothing here is taken from the planners or the auditor but the problem, the privacy and the edges of the map.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise, product

import veilroute as vr
from veilroute.base.arrays import Flags
from veilroute.domain.turns import Turns
from veilroute.model.rules import KAndEll

Adjacency = list[list[tuple[int, float]]]
Past = tuple[int, ...]  #: the last nodes of a walk, as many as the rules for turns can ask for
Group = tuple[int, ...]  #: candidates by their positions among those that count, ascending
SLACK = 1e-9  #: what sums of floating-point numbers may differ by, relatively


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
    """Nodes that see a candidate node."""
    domain = problem.domain
    match problem.visibility:
        case vr.AtNode():
            return {candidate}
        case vr.WithinDistance(radius):
            graph = adjacency(domain)
            return {n for n in range(domain.num_nodes) if distances(graph, n)[candidate] <= radius * (1 + SLACK)}
        case vr.LineOfSight(reach):
            grid = domain.grid
            assert grid is not None
            free = [[cell == "." for cell in row] for row in grid.rows()]
            cells = {node: grid.cell(node) for node in range(domain.num_nodes)}
            here = cells[candidate]
            return {
                node
                for node, cell in cells.items()
                if math.dist(cell, here) <= reach * (1 + SLACK) and is_in_sight(free, cell, here)
            }
        case vr.Explicit(sees):
            label = domain.label(candidate)
            return {domain.node(seer) for seer, seen in sees.items() if label in seen}
        case other:
            raise NotImplementedError(other)


def is_in_sight(free: Sequence[Sequence[bool]], one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether the line between the centres of two cells misses the inside of each wall, and squeezes between none."""
    (row, col), down, right = one, other[0] - one[0], other[1] - one[1]
    rows, cols = (range(min(a, b), max(a, b) + 1) for a, b in zip(one, other, strict=True))
    for at in product(rows, cols):
        if free[at[0]][at[1]]:
            continue
        first, last = Fraction(0), Fraction(1)  # the part of the line within the cell
        for centre, begin, step in ((at[0], row, down), (at[1], col, right)):
            if step == 0:
                continue  # the cell is in the same row or column
            ends = sorted(Fraction(2 * (centre - begin) + side, 2 * step) for side in (-1, 1))
            first, last = max(first, ends[0]), min(last, ends[1])
        if first < last:
            return False
    for r, c in product(rows[:-1], cols[:-1]):  # the corner between four cells
        is_on_line = (2 * (r - row) + 1) * right == (2 * (c - col) + 1) * down
        aside = ((r, c), (r + 1, c + 1)) if down * right < 0 else ((r, c + 1), (r + 1, c))
        if is_on_line and not any(free[a][b] for a, b in aside):
            return False
    return True


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
    """All ways to part items into groups."""
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
    """Whether a group has k members that stand apart, or all do; by distances, whatever else is near."""

    def is_spread(members: Sequence[int]) -> bool:
        pairs = combinations(members, 2)
        return all(min(apart[i][j], apart[j][i]) >= privacy.ell * (1 - SLACK) for i, j in pairs)

    if privacy.spread == "all-pairs":
        return len(group) >= privacy.k and is_spread(group)
    return any(is_spread(chosen) for chosen in combinations(group, privacy.k))


def is_spread(members: Sequence[int], far: Flags, privacy: vr.Privacy) -> bool:
    """The rule of a privacy, as planners ask it."""
    return KAndEll.of(far, privacy.k, privacy.spread).qualifies(members)


class World:
    """What walks past sets of a problem's candidates cost, by brute force; legal walks where there are rules for turns.

    Candidates are named by their positions among those that count. ``costs`` and ``ac`` are given by ascending tuples
    of them; ``ac`` is the paper's: the sum over trips and members of what the set costs them, trips weighted.
    """

    def __init__(self, problem: vr.Problem) -> None:
        domain = problem.domain
        self.problem = problem
        self.graph = adjacency(domain)
        self.turns: Turns = domain.turns or Turns.of("allow")
        self.nodes = [problem.candidate_nodes[i] for i in problem.counted]
        self.seen = [watchers(problem, node) for node in self.nodes]
        self.trips = list(zip(problem.start_nodes, problem.goal_nodes, strict=True))
        self.weights = [trip.weight / sum(t.weight for t in problem.trips) for trip in problem.trips]
        self.apart = [[distances(self.graph, a)[b] for b in self.nodes] for a in self.nodes]
        everybody = range(len(self.nodes))
        cheapest = [self._cheapest_by_covered(start, goal) for start, goal in self.trips]

        def cost(group: Group, trip: int) -> float:
            wanted = _mask(group)
            return min((c for mask, c in cheapest[trip].items() if mask & wanted == wanted), default=math.inf)

        self.base = [[cost((i,), trip) for i in everybody] for trip in range(len(self.trips))]
        self.divisors = [[b if b > 0 else domain.smallest_positive_cost for b in costs] for costs in self.base]
        self.coverable = [i for i in everybody if all(math.isfinite(costs[i]) for costs in self.base)]
        self.costs: dict[Group, list[float]] = {}
        self.ac: dict[Group, float] = {}
        for size in range(1, len(self.coverable) + 1):
            for group in combinations(self.coverable, size):
                self.costs[group] = [cost(group, trip) for trip in range(len(self.trips))]
                self.ac[group] = self.price(group, self.costs[group])
        self._rests: dict[tuple[Past, int, int | None], float] = {}

    @cached_property
    def _memory(self) -> int:
        """How many of its last nodes tell how a walk may go on."""
        if self.turns.is_free:
            return 1
        return max(2, *(len(stretch) - 1 for stretch in self.turns.banned)) if self.turns.banned else 2

    def steps(self, past: Past) -> Iterator[tuple[Past, float]]:
        """How a walk may go on, and what that costs."""
        for head, cost in self.graph[past[-1]]:
            longer = (*past, head)
            is_turned = len(past) > 1 and past[-2] == head
            if self.is_legal(longer[-3:]) and not any(_ends_with(longer, banned) for banned in self.turns.banned):
                yield longer[-self._memory :], cost + (self.turns.u_turn_cost if is_turned else 0.0)

    def is_legal(self, walk: Sequence[int]) -> bool:
        """Whether a walk turns round only where it may, and makes no banned stretch."""
        for before, here, after in zip(walk, walk[1:], walk[2:], strict=False):
            is_dead_end = len({head for head, _ in self.graph[here]}) == 1
            may_turn = self.turns.u_turns == "allow" or (self.turns.u_turns == "dead-ends" and is_dead_end)
            if before == after and not may_turn:
                return False
        return not any(_ends_with(walk[: i + 1], banned) for banned in self.turns.banned for i in range(len(walk)))

    def cost_of(self, walk: Sequence[int]) -> float:
        """What a walk costs, edge by edge; infinite where it is none."""
        steps = [min((c for head, c in self.graph[a] if head == b), default=math.inf) for a, b in pairwise(walk)]
        num_turned = sum(before == after for before, after in zip(walk, walk[2:], strict=False))
        return math.fsum(steps) + num_turned * self.turns.u_turn_cost

    def _sees(self, node: int) -> int:
        return _mask(i for i, seers in enumerate(self.seen) if node in seers)

    def _cheapest_by_covered(self, start: int, goal: int) -> dict[int, float]:
        """What the cheapest walk to the goal costs for each set of candidates that a walk there may have covered."""
        sees = [self._sees(node) for node in range(len(self.graph))]
        paid: dict[tuple[Past, int], float] = {((start,), sees[start]): 0.0}
        waiting: list[tuple[float, Past, int]] = [(0.0, (start,), sees[start])]
        found: dict[int, float] = {}
        while waiting:
            d, past, covered = heapq.heappop(waiting)
            if d > paid[past, covered]:
                continue
            if past[-1] == goal:
                found.setdefault(covered, d)
            for longer, cost in self.steps(past):
                state = (longer, covered | sees[longer[-1]])
                if d + cost < paid.get(state, math.inf):
                    paid[state] = d + cost
                    heapq.heappush(waiting, (d + cost, *state))
        return found

    def bounded_least(self, group: Sequence[int], m: int, price: Callable[[int, int, float], float]) -> float:
        """The least sum over trips and members of a price, which is told the trip, the member and what it pays."""
        total = 0.0
        for trip in range(len(self.trips)):
            sums = (
                sum(price(trip, i, cost) for i, cost in zip(group, costs, strict=True))
                for costs in self.bounded_costs(group, m, trip)
            )
            total += min(sums, default=math.inf)
        return total

    def bounded_costs(self, group: Sequence[int], m: int, trip: int) -> Iterator[list[float]]:
        """What each member pays, for all that they can share: their first ``m`` nodes, or a shorter whole walk.

        Only what is cheapest to each end and having covered the same is listed.
        """
        start, goal = self.trips[trip]
        begun = frozenset(i for i in group if start in self.seen[i])
        layer: dict[tuple[Past, frozenset[int]], float] = {((start,), begun): 0.0}
        for length in range(1, m + 1):
            for (past, seen), paid in layer.items():
                if past[-1] == goal and len(seen) == len(group):  # all of them walk this and stop here
                    yield [paid] * len(group)
                if length == m:
                    yield [paid + self.rest(past, goal, None if i in seen else i) for i in group]
            ahead: dict[tuple[Past, frozenset[int]], float] = {}
            for (past, seen), paid in layer.items():
                for longer, cost in self.steps(past):
                    state = (longer, seen | {i for i in group if longer[-1] in self.seen[i]})
                    ahead[state] = min(ahead.get(state, math.inf), paid + cost)
            layer = ahead

    def rest(self, walked: Sequence[int], goal: int, member: int | None) -> float:
        """The cheapest way on to the goal, past a member that is not covered yet."""
        past = tuple(walked[-self._memory :])
        key = (past, goal, member)
        if key not in self._rests:
            self._rests[key] = self._way_on(past, goal, None if member is None else self.seen[member])
        return self._rests[key]

    def _way_on(self, past: Past, goal: int, wanted: set[int] | None) -> float:
        waiting = [(0.0, past, wanted is None or past[-1] in wanted)]
        settled: set[tuple[Past, bool]] = set()
        while waiting:
            d, here, is_met = heapq.heappop(waiting)
            if (here, is_met) in settled:
                continue
            settled.add((here, is_met))
            if here[-1] == goal and is_met:
                return d
            for longer, cost in self.steps(here):
                heapq.heappush(waiting, (d + cost, longer, is_met or (wanted is not None and longer[-1] in wanted)))
        return math.inf

    def price(self, group: Sequence[int], costs: Sequence[float]) -> float:
        """What it adds to MAC's sum when the members of a group pay these costs, one for each trip."""
        return sum(self.price_of(trip, i, cost) for trip, cost in enumerate(costs) for i in group)

    def price_of(self, trip: int, i: int, cost: float) -> float:
        """What it adds to MAC's sum when a member pays this cost on a trip."""
        return self.weights[trip] * (cost - self.base[trip][i]) / self.divisors[trip][i]


def _mask(members: Iterator[int] | Sequence[int]) -> int:
    return sum(1 << i for i in members)


def _ends_with(walk: Sequence[int], stretch: Sequence[int]) -> bool:
    return len(walk) >= len(stretch) and tuple(walk[-len(stretch) :]) == tuple(stretch)


@dataclass(frozen=True)
class Best:
    """What the best partition hides, in the unit of :meth:`Reference.worth`, and the sum that it keeps small."""

    worth: float
    total: float

    @property
    def mean(self) -> float | None:
        """The mean of the objective; ``None`` where nobody is hidden."""
        return self.total / self.worth if self.worth > 0 else None


def best_of(classes: Iterable[tuple[Group, float, float]], everybody: Sequence[int]) -> Best:
    """The best choice of disjoint classes, of each of which its worth and its share are told.

    Of every set of candidates: its first one is left out, or in one of the classes that the set holds.
    """
    masked = [(_mask(group), worth, share) for group, worth, share in classes]
    found = {0: Best(0.0, 0.0)}

    def best_within(left: int) -> Best:
        if left not in found:
            first = left & -left
            best = best_within(left ^ first)
            for mask, worth, share in masked:
                if mask & first and mask & ~left == 0:
                    rest = best_within(left ^ mask)
                    other = Best(worth + rest.worth, share + rest.total)
                    if other.worth > best.worth + SLACK or (
                        other.worth > best.worth - SLACK and other.total < best.total
                    ):
                        best = other
            found[left] = best
        return found[left]

    return best_within(_mask(everybody))


class Reference:
    """What a privacy asks of a problem's partitions, and the best of all of them."""

    def __init__(self, world: World, privacy: vr.Privacy, problem: vr.Problem | None = None) -> None:
        self.world, self.privacy = world, privacy
        self.problem = world.problem if problem is None else problem
        self.label = [self.problem.candidates[i] for i in self.problem.counted]
        self.place = {label: i for i, label in enumerate(self.label)}
        prior = self.problem.prior or [1.0] * len(self.problem.candidates)
        mass = {i: prior[self.problem.counted[i]] for i in world.coverable}
        total = sum(mass.values())
        self.prior = {i: weight / total if total else 1 / len(mass) for i, weight in mass.items()}

    def worth(self, group: Sequence[int]) -> float:
        """What comes first: how many are hidden or, where a risk is bounded, how much probability."""
        return float(len(group)) if self.privacy.beta is None else sum(self.prior[i] for i in group)

    def is_near(self, one: int, other: int) -> bool:
        """Whether two stand at one node, or less than ell apart in some direction, now or when they were promised."""
        if one == other or self.world.nodes[one] == self.world.nodes[other]:
            return True
        past = () if self.problem.past is None else self.problem.past.near
        if any({self.label[one], self.label[other]} == set(pair) for pair in past):
            return True
        apart = self.world.apart
        return min(apart[one][other], apart[other][one]) < self.privacy.ell * (1 - SLACK)

    def is_apart(self, group: Sequence[int]) -> bool:
        """Whether no two members are near each other."""
        return not any(self.is_near(one, other) for one, other in combinations(group, 2))

    def heaviest_area(self, masses: dict[int, float]) -> float:
        """The most mass of some who are pairwise near each other."""
        areas = (a for size in range(1, len(masses) + 1) for a in combinations(masses, size))
        sums = (
            sum(masses[i] for i in area)
            for area in areas
            if all(self.is_near(one, other) for one, other in combinations(area, 2))
        )
        return max(sums, default=0.0)

    def hides(self, group: Sequence[int]) -> bool:
        """Whether a group hides its members as far as one trip is concerned."""
        privacy = self.privacy
        if privacy.spread == "all-pairs" and not self.is_apart(group):
            return False
        if privacy.risk is None:
            return any(self.is_apart(chosen) for chosen in combinations(group, privacy.k))
        mass = sum(self.prior[i] for i in group)
        heaviest = self.heaviest_area({i: self.prior[i] for i in group})
        return mass > 0 and heaviest <= privacy.risk * mass * (1 + SLACK)

    def is_class(self, group: Sequence[int]) -> bool:
        """Whether a group hides its members, and so does for each of them what its history leaves of the group."""
        if not all(self.prior[i] > 0 for i in group) or not self.hides(group):
            return False
        lines = () if self.problem.past is None else self.problem.past.left
        return all(
            self.hides([i for i in group if self.label[i] in others])
            for owner, others in lines
            if self.place.get(owner) in group
        )

    def price(self, trip: int, i: int, cost: float) -> float:
        """What it adds to the sum that is kept small when a member pays this cost on a trip."""
        world = self.world
        mass = 1.0 if self.privacy.beta is None else self.prior[i]
        if self.problem.objective == "total":
            return mass * world.weights[trip] * (cost - world.base[trip][i])
        return mass * world.price_of(trip, i, cost)

    def share(self, group: Group, m: int | None) -> float:
        """The least that a class adds, if its members share their first ``m`` nodes."""
        if m is not None:
            return self.world.bounded_least(group, m, self.price)
        costs = self.world.costs[group]
        return sum(self.price(trip, i, cost) for trip, cost in enumerate(costs) for i in group)

    @cached_property
    def groups(self) -> list[Group]:
        """All classes there are, whether a walk covers them or not."""
        everybody = self.world.coverable
        sizes = range(1, len(everybody) + 1)
        return [group for size in sizes for group in combinations(everybody, size) if self.is_class(group)]

    @cached_property
    def shares(self) -> dict[Group, float]:
        """What each class adds at the privacy's m; those without walks are left out."""
        return self._shares(self.privacy.m)

    @cached_property
    def whole_shares(self) -> dict[Group, float]:
        """The same where members share their whole walks."""
        return self.shares if self.privacy.m is None else self._shares(None)

    def _shares(self, m: int | None) -> dict[Group, float]:
        priced = ((group, self.share(group, m)) for group in self.groups)
        return {group: share for group, share in priced if math.isfinite(share)}

    @cached_property
    def best(self) -> Best:
        """The best of all partitions: the most that can be hidden, then the least cost."""
        return self._best(self.shares)

    @cached_property
    def best_whole(self) -> Best:
        """The best of those whose classes share their whole walks."""
        return self.best if self.privacy.m is None else self._best(self.whole_shares)

    def _best(self, shares: dict[Group, float]) -> Best:
        return best_of([(group, self.worth(group), share) for group, share in shares.items()], self.world.coverable)
