"""Prefixes: what a class shares when its routes may part after m nodes, and how they go on from there.

The proofs are in docs/theory, :ref:`The first m nodes <theory-prefixes>` and
:ref:`Two-coloured domains <theory-colours>`.

The members of a class share their first m nodes and then go each its own cheapest way, or they share one complete walk
of at most m nodes. A prefix that ends at n, costs P and has covered S costs the class C

    sum over t in S of  w_t * (P + d(n, goal))   +   sum over t in C - S of  w_t * (P + h_t(n))

with ``h_t(n)`` the cheapest way from n to the goal that covers t. So for each S one needs, at every node, the cheapest
walk of exactly m nodes that covers at least S. Two ways to get it:

- :class:`PaddedWalks`, where all edges cost the same, lead both ways and join nodes of two colours, as on grids: such a
  walk of m nodes exists if and only if the shortest one, ``f_S(n)``, is no longer and differs by an even number of
  steps, because one can go back and forth, unless the start has no edge. One sweep for each S, whatever m is.
- :class:`LayeredWalks` elsewhere: the walks of 1, 2, ... m nodes, each from those before.

:func:`find_prefixes` finds the best prefix of every class of a family, by either way. :class:`PrefixCosts` prices sets
by the thousand, for column generation, and needs padded walks: all prefixes of m nodes cost the same there, so that a
set needs the best end for each of its subsets S only, which is a look at the nodes that ``f_S`` reaches. Walks that
have a prefix are completed by :class:`Completions`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints, Masks, Members, Walk
from veilroute.base.run import Watch
from veilroute.covering.fields import FieldsEngine
from veilroute.covering.set_costs import FieldCosts, TourCosts
from veilroute.covering.states import states_beside
from veilroute.covering.task import CoveringTask, bits, leads_both_ways
from veilroute.covering.walks import NO_WALK, Sweeper, Sweepers, walk_cost, walk_through
from veilroute.domain.graph import Domain
from veilroute.kernels.subsets import advance_layer, lower_prices, price_prefixes

MAX_WORK = 3e9  #: the most steps that :class:`LayeredWalks` may take; some ten seconds
MAX_LAYER_BYTES = 2**30  #: the most memory that its layers may take while a walk is read off
MAX_BYTES = 2**30  #: the most memory for where prefixes that cover two members can end; some 500 members on 8,000 nodes
_ROUNDING = 1e-13
_SETS_PER_LOOK = 256


@dataclass(frozen=True, eq=False)
class SharedPrefixes:
    """The best prefix of every class."""

    shares: Floats  # by bit mask what the class adds to the MAC sum, trips weighted; infinite where it is impossible
    best_sets: Masks  # by trip and mask what the prefix covers
    best_nodes: Masks  # by trip and mask where it ends; -1 stands for a whole walk
    walks: tuple[PaddedWalks | LayeredWalks, ...]  # for each trip

    def walk(self, mask: int, trip: int) -> tuple[Walk, bool]:
        """The nodes that a class shares on a trip, and whether they are the whole walk."""
        node = int(self.best_nodes[trip, mask])
        if node < 0:
            return self.walks[trip].whole_walk(mask), True
        return self.walks[trip].walk_to(node, int(self.best_sets[trip, mask])), False


def find_prefixes(task: CoveringTask, is_needed: Flags, is_class: Flags, m: int, watch: Watch) -> SharedPrefixes | None:
    """The best prefixes of all classes, or ``None`` when that is too much work.

    By bit mask, ``is_class`` marks the classes and ``is_needed`` all their subsets as well.

    Complexity: that of the walks (see the module), then for each class and each of its subsets a look at every node.
    Ties: a whole walk first, then the prefix that covers fewer members, then the lowest node.
    """
    needed = np.union1d([0], np.flatnonzero(is_needed))
    needed = needed[np.argsort(np.bitwise_count(needed), kind="stable")]
    is_padded = has_two_colours(task.domain)
    if not is_padded and not _fits_layers(task, needed, m):
        return None
    shares = np.where(is_class, 0.0, np.inf)
    best_sets, best_nodes = np.zeros((2, task.num_trips, is_class.size), dtype=np.int64)
    all_walks: list[PaddedWalks | LayeredWalks] = []
    for trip in range(task.num_trips):
        walks = PaddedWalks(task, trip, m) if is_padded else LayeredWalks(task, trip, m)
        prices = _price(walks, needed, is_class, best_sets[trip], best_nodes[trip], watch)
        fixed = task.rates[trip] * task.base_costs[trip]
        for mask in np.flatnonzero(is_class).tolist():
            shares[mask] += task.weights[trip] * (prices[mask] - float(fixed[list(bits(mask))].sum()))
        all_walks.append(walks)
    return SharedPrefixes(shares, best_sets, best_nodes, tuple(all_walks))


def _price(
    walks: PaddedWalks | LayeredWalks, needed: Masks, is_class: Flags, best_sets: Masks, best_nodes: Masks, watch: Watch
) -> Floats:
    """What the best prefix of each class costs."""
    task, trip = walks.task, walks.trip
    rates, classes = task.rates[trip], np.flatnonzero(is_class)
    to_goal = task.all_to_goal[trip] * task.unit
    # Who shares a prefix to the goal and is covered may stay there, whatever others still do.
    to_goal[states_beside(task.domain, task.goals[trip])] = 0.0
    ahead = _ways_on(task, trip, range(len(task.members)), np.arange(task.domain.num_nodes))
    prices = np.full(is_class.size, np.inf)
    # A whole walk is tried before prefixes that cover as much, so that it wins ties with them.
    for covered, at_nodes, whole in walks.by_set(needed, watch):
        watch.check()
        if is_class[covered] and np.isfinite(whole):
            price = whole * float(rates[list(bits(covered))].sum())
            if price <= prices[covered] + _ROUNDING * (1 + price):
                prices[covered], best_sets[covered], best_nodes[covered] = price, covered, -1
        nodes = np.flatnonzero(np.isfinite(at_nodes) & np.isfinite(to_goal))
        lower_prices(
            covered, nodes, at_nodes[nodes], to_goal, ahead, rates, classes, _ROUNDING, prices, best_sets, best_nodes
        )
    return prices


def _ways_on(task: CoveringTask, trip: int, members: Sequence[int], nodes: Ints) -> Floats:
    """For each member and node what the way from there to the goal costs that covers the member; a sweep for each."""
    backward = Sweeper(task.domain, backward=True, num_seeds=max(1, task.posts.nodes.size))
    costs = np.empty((len(members), nodes.size))
    for row, member in enumerate(members):
        field = backward.run_from(task.posts.nodes_of(member), task.to_goal[trip][task.posts.posts_of(member)])
        costs[row] = field[nodes] * task.unit
    return costs


def has_two_colours(domain: Domain) -> bool:
    """Whether all edges cost the same, lead both ways, and join nodes of two colours, as on a grid."""
    if domain.unit_cost is None or not leads_both_ways(domain):
        return False
    tails, heads, _ = domain.edge_arrays()
    sweeper = Sweeper(domain, backward=False, num_seeds=1)
    colours = np.full(domain.num_nodes, -1, dtype=np.int64)
    while (unseen := np.flatnonzero(colours < 0)).size:
        distances = sweeper.run(int(unseen[0]))
        reached = np.isfinite(distances)
        colours[reached] = distances[reached].astype(np.int64) % 2
    return bool(np.all(colours[tails] != colours[heads]))


class PaddedWalks:
    """Walks of exactly m nodes on a grid, by going back and forth at the end of a shortest one.

    The recursion is that of :class:`~veilroute.covering.fields.FieldStepper`, a set at a time: the values are wanted at
    all nodes and not at posts alone, and no sweep goes farther than m - 1 steps.
    """

    def __init__(self, task: CoveringTask, trip: int, m: int) -> None:
        self.task, self.trip, self.m = task, trip, m
        self._limit = float(m - 1)
        self._forward = Sweeper(task.domain, backward=False, num_seeds=max(1, task.posts.watch_posts.size))
        self._from_start = task.all_from_start[trip]
        self._nowhere = np.full(task.domain.num_nodes, np.inf)
        self._at_posts: dict[Members, Floats] = {}  # of the sets that m nodes can cover
        start = task.starts[trip]
        is_stuck = m > 1 and task.domain.indptr[start] == task.domain.indptr[start + 1]
        has_colour = np.where(np.isfinite(self._from_start), self._from_start, 0) % 2 == (m - 1) % 2
        self.is_end: Flags = (self._from_start <= self._limit) & has_colour & (not is_stuck)

    def sweep(self, covered: Members) -> Floats:
        """``f_S`` at every node, right up to m - 1; the array is overwritten by the next sweep.

        All sets that are one smaller must have been swept before.
        """
        posts = self.task.posts
        field: Floats = self._from_start
        if covered:
            smaller = [covered[:i] + covered[i + 1 :] for i in range(len(covered))]
            if any(rest not in self._at_posts for rest in smaller):
                return self._nowhere
            mine = [posts.posts_of(member) for member in covered]
            values = np.concatenate([self._at_posts[rest][own] for rest, own in zip(smaller, mine, strict=True)])
            is_soon = values <= self._limit
            if not is_soon.any():
                return self._nowhere
            nodes = posts.nodes[np.concatenate(mine)]
            field = self._forward.run_from(nodes[is_soon], values[is_soon], self._limit)
        self._at_posts[covered] = field[posts.nodes]
        return field

    def by_set(self, needed: Masks, watch: Watch) -> Iterator[tuple[int, Floats, float]]:
        """Each set with the least cost at every node, and that of a whole walk of at most m nodes; a sweep for each.

        Those that m nodes cannot cover are passed over. With a set its subsets must be ``needed``, and smaller
        sets must come first.
        """
        for number, covered in enumerate(needed.tolist()):
            watch.check()
            watch.tell("prefixes", number, needed.size)
            field = self.sweep(bits(covered))
            if field is self._nowhere:
                continue
            at_nodes = np.where((field <= self._limit) & self.is_end, self._limit * self.task.unit, np.inf)
            whole = float(field[self.task.goals[self.trip]])
            yield covered, at_nodes, whole * self.task.unit if whole <= self._limit else np.inf

    @cached_property
    def _backward(self) -> Sweeper:
        return Sweeper(self.task.domain, backward=True, num_seeds=1)

    def walk_to(self, node: int, covered: int) -> Walk:
        """The cheapest walk of m nodes to a node that covers a set."""
        posts = self.task.posts
        stops, left, lengths = [node], bits(covered), []
        while left:
            to_here = self._backward.near(stops[-1], posts.nodes)
            ways = []  # by which member and post the walk may come here
            for i, member in enumerate(left):
                rest = left[:i] + left[i + 1 :]
                if rest in self._at_posts:
                    mine = posts.posts_of(member)
                    through = self._at_posts[rest][mine] + to_here[mine]
                    ways.append((float(through.min()), i, int(mine[through.argmin()]), rest))
            _, _, post, left = min(ways)
            stops.append(int(posts.nodes[post]))
            lengths.append(float(to_here[post]))
        lengths.append(float(self._from_start[stops[-1]]))
        ends = (self._from_start, self.task.all_to_goal[self.trip])
        walk = walk_through(self._backward, self.task.starts[self.trip], stops[::-1], lengths[::-1], *ends)
        missing = self.m - walk.size
        neighbour = int(self.task.domain.indices[self.task.domain.indptr[node]]) if missing else node
        return np.concatenate((walk, np.array([neighbour, node] * (missing // 2), dtype=np.int64)))

    @cached_property
    def _engine(self) -> FieldsEngine:
        return FieldsEngine(self.task)

    def whole_walk(self, covered: int) -> Walk:
        """The cheapest walk to the goal, of at most m nodes, that covers a set."""
        return self._engine.find(bits(covered), self.trip).walk


class LayeredWalks:
    """Walks of exactly m nodes on any graph, layer by layer; asked for as those of :class:`PaddedWalks` are."""

    def __init__(self, task: CoveringTask, trip: int, m: int) -> None:
        self.task, self.trip, self.m = task, trip, m
        self._seen = np.zeros(task.domain.num_nodes, dtype=np.int64)
        for i in range(len(task.members)):
            self._seen[task.posts.nodes_of(i)] |= 1 << i
        indptr, indices, costs = task.domain.reversed_rows
        self._into = (indptr, indices, costs.astype(np.float64))

    def by_set(self, needed: Masks, watch: Watch) -> Iterator[tuple[int, Floats, float]]:
        """See :meth:`PaddedWalks.by_set`."""
        whole = np.full(needed.size, np.inf)
        for length, layer in enumerate(self._layers(needed), start=1):
            watch.check()
            watch.tell("prefixes", length, self.m)
            np.minimum(whole, layer[:, self.task.goals[self.trip]], out=whole)
        for row, covered in enumerate(needed.tolist()):
            yield covered, layer[row], float(whole[row])

    def _layers(self, family: Masks) -> Iterator[Floats]:
        """The cheapest walks of 1, 2, ... m nodes, by the set that they cover and the node where they end."""
        start = self.task.starts[self.trip]
        row_of = np.zeros(1 << len(self.task.members), dtype=np.int64)
        row_of[family] = np.arange(family.size)
        layer = np.full((family.size, self.task.domain.num_nodes), np.inf)
        layer[(family & ~self._seen[start]) == 0, start] = 0.0
        yield layer
        for _ in range(self.m - 1):
            before, layer = layer, np.empty_like(layer)
            advance_layer(*self._into, self._seen, family, row_of, before, layer)
            yield layer

    def walk_to(self, node: int, covered: int) -> Walk:
        """See :meth:`PaddedWalks.walk_to`; ties go to the lowest node before."""
        family = _subsets(covered)
        return self._read(node, covered, family, list(self._layers(family)))

    def whole_walk(self, covered: int) -> Walk:
        """See :meth:`PaddedWalks.whole_walk`; of equally cheap ones the one of fewest nodes."""
        family, goal = _subsets(covered), self.task.goals[self.trip]
        layers = list(self._layers(family))
        length = 1 + int(np.argmin([layer[-1, goal] for layer in layers]))
        return self._read(goal, covered, family, layers[:length])

    def _read(self, node: int, covered: int, family: Masks, layers: list[Floats]) -> Walk:
        """The walk that ends in the last layer, from there back to the start."""
        walk = [node]
        for layer in layers[-2::-1]:
            covered &= ~int(self._seen[node])
            first, end = int(self._into[0][node]), int(self._into[0][node + 1])
            before = self._into[1][first:end].astype(np.int64)
            row = int(np.searchsorted(family, covered))
            node = int(before[(layer[row, before] + self._into[2][first:end]).argmin()])
            walk.append(node)
        return np.array(walk[::-1], dtype=np.int64)


def _subsets(covered: int) -> Masks:
    """All subsets of a set, ascending: it stands last."""
    return np.array([part for part in range(covered + 1) if part & covered == part], dtype=np.int64)


def _fits_layers(task: CoveringTask, needed: Masks, m: int) -> bool:
    largest = int(np.bitwise_count(needed).max(initial=0))
    size = task.domain.num_edges + task.domain.num_nodes
    layer_bytes = 8.0 * task.domain.num_nodes * 2**largest * m
    return float(m) * needed.size * size * task.num_trips <= MAX_WORK and layer_bytes <= MAX_LAYER_BYTES


def fits_memory(task: CoveringTask) -> bool:
    """Whether :class:`PrefixCosts` can keep the prefixes of all pairs: half of the nodes, those of one colour, each."""
    num = len(task.members)
    return num * (num - 1) / 2 * task.domain.num_nodes / 2 * task.num_trips <= MAX_BYTES


class PrefixCosts:
    """What sets add to the MAC sum when their members share their first m nodes, where walks can be padded.

    ``order`` numbers the members anew. ``whole`` has the covering costs of whole walks, in the same order: one of at
    most m nodes is shared to its end.
    """

    def __init__(self, task: CoveringTask, order: Ints, m: int, whole: TourCosts | FieldCosts) -> None:
        self.task, self.order, self.m, self.whole = task, order, m, whole
        self._trips = [_TripPrefixes(task, order, m, trip) for trip in range(task.num_trips)]

    def shares(self, sets: Int32s, watch: Watch) -> Floats:
        """What sets of one size add, trips weighted; infinite where it is impossible."""
        total = np.zeros(len(sets))
        whole = self.whole.costs(sets, watch)
        rates, base = self.task.rates[:, self.order], self.task.base_costs[:, self.order]
        for trip, prefixes in enumerate(self._trips):
            weight = rates[trip][sets].sum(axis=1)
            prices = prefixes.prices(sets, watch)
            is_short = whole[:, trip] <= (self.m - 1) * self.task.unit * (1 + 1e-12)
            prices = np.minimum(prices, np.where(is_short, whole[:, trip] * weight, np.inf))
            fixed = (rates[trip] * base[trip])[sets].sum(axis=1)
            total += self.task.weights[trip] * (prices - fixed)
        # Rounding must not make sharing look better than nothing.
        return np.maximum(total, 0.0)

    def pairs(self, watch: Watch) -> Floats:
        """What every two members add, as a symmetric matrix with zeros on its diagonal."""
        rows, cols = np.triu_indices(self.order.size, 1)
        out = np.zeros((self.order.size, self.order.size))
        out[rows, cols] = out[cols, rows] = self.shares(np.column_stack((rows, cols)).astype(np.int32), watch)
        return out


class _TripPrefixes:
    """Where the prefixes of one trip that cover a set can end: nodes from which the goal can be reached."""

    def __init__(self, task: CoveringTask, order: Ints, m: int, trip: int) -> None:
        self.task, self.m, self._order = task, m, order
        self._walks = PaddedWalks(task, trip, m)
        to_goal = task.all_to_goal[trip]
        self._ends = np.flatnonzero(self._walks.is_end & np.isfinite(to_goal))
        self._rates = task.rates[trip][order]
        self._to_goal: Floats = to_goal[self._ends] * task.unit
        self._ahead = _ways_on(task, trip, order.tolist(), self._ends)
        self._row_of: dict[Members, int] = {}
        self._is_there: Flags = np.zeros((64, self._ends.size), dtype=np.bool_)
        self._num_rows = 0

    def prices(self, sets: Int32s, watch: Watch) -> Floats:
        """What the best prefix of each set costs its members together."""
        out = np.empty(len(sets))
        subsets = [bits(mask) for mask in range(1 << sets.shape[1])]
        for first in range(0, len(sets), _SETS_PER_LOOK):
            watch.check()
            watch.tell("prefixes", first, len(sets))
            part = np.ascontiguousarray(sets[first : first + _SETS_PER_LOOK])
            # Subsets by their bits, so that smaller ones come before those that hold them.
            rows = [
                [self._row(tuple([members[i] for i in subset])) for subset in subsets]
                for members in self._order[part].tolist()
            ]
            prices = out[first : first + len(part)]
            price_prefixes(part, np.array(rows), self._is_there, self._to_goal, self._ahead, self._rates, prices)
        out += (self.m - 1) * self.task.unit * self._rates[sets].sum(axis=1)
        return out

    def _row(self, covered: Members) -> int:
        """Where the ends stand at which a prefix covers a set; -1 when there are none."""
        if covered not in self._row_of:
            is_there = self._walks.sweep(covered)[self._ends] <= self.m - 1
            self._row_of[covered] = self._num_rows if is_there.any() else -1
            if is_there.any():
                if self._num_rows == len(self._is_there):
                    self._is_there = np.concatenate((self._is_there, np.zeros_like(self._is_there)))
                self._is_there[self._num_rows] = is_there
                self._num_rows += 1
        return self._row_of[covered]


class Completions:
    """Completes walks that have a prefix in common, each member's in its own way.

    Ties: of equally cheap posts the lowest node; between posts the walk is that of :meth:`Sweeper.follow`.
    """

    def __init__(self, task: CoveringTask) -> None:
        self.task = task
        self._sweepers = Sweepers(task.domain, 1)

    def complete(self, prefix: Walk, member: int, trip: int, *, at_most: float = math.inf) -> tuple[Walk, float]:
        """The whole walk and its cost: the prefix, then on to the goal, past a post of the member if none was passed.

        An empty walk of infinite cost when there is no way on. Where it is known what the rest costs ``at_most``, in
        units of the task, nothing is looked for beyond. Two sweeps of the surroundings.
        """
        nodes, here = self.task.posts.nodes_of(member), int(prefix[-1])
        from_start, to_goal = self.task.all_from_start[trip], self.task.all_to_goal[trip]
        past = NO_WALK
        if not np.isin(nodes, prefix).any():
            distances = self._sweepers.sweeper(backward=False).near(here, nodes, to_goal, at_most)
            best = int((distances + to_goal[nodes]).argmin())
            if math.isinf(distances[best]):
                return NO_WALK, math.inf
            stop, back = int(nodes[best]), self._sweepers.sweeper(backward=True)
            past = back.path(here, stop, float(distances[best]), from_start, to_goal)[1:]
            here = stop
        elif np.isin(here, states_beside(self.task.domain, self.task.goals[trip])):
            return prefix, walk_cost(self.task.domain, prefix)
        if math.isinf(to_goal[here]):
            return NO_WALK, math.inf
        walk = np.concatenate((prefix, past, self._sweepers.path_to_goal(here, self.task.goals[trip])[1:]))
        return walk, walk_cost(self.task.domain, walk)
