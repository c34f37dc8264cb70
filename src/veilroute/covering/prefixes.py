"""The best shared beginning of every class, when routes may part after m nodes.

The proofs are in docs/theory, :ref:`The first m nodes <theory-prefixes>` and
:ref:`Two-coloured domains <theory-colours>`.

The members of a class share their first m nodes and then go each its own cheapest way, or they share one complete walk
of at most m nodes. A beginning that ends at n, costs P and has covered S costs the class C

    sum over t in S of  w_t * (P + d(n, goal))   +   sum over t in C - S of  w_t * (P + h_t(n))

with ``h_t(n)`` the cheapest way from n to the goal that covers t. So for each S one needs, at every node, the cheapest
walk of exactly m nodes that covers at least S. Two ways to get it:

- :class:`PaddedWalks`, where all edges cost the same, lead both ways and join nodes of two colours, as on grids: such a
  walk of m nodes exists if and only if the shortest one, ``f_S(n)``, is no longer and differs by an even number of
  steps, because one can go back and forth, unless the start has no edge. One sweep for each S, whatever m is.
- :class:`LayeredWalks` elsewhere: the walks of 1, 2, ... m nodes, each from those before.

The cheapest way on from a node to the goal that covers one member: how routes end once they may part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from veilroute.arrays import Floats, Masks, Walk
from veilroute.covering.fields_engine import FieldsEngine
from veilroute.covering.task import CoveringTask
from veilroute.covering.walks import NO_WALK, Near, Sweeper, walk_cost, walk_through
from veilroute.domain.graph import Domain
from veilroute.kernels.subsets import advance_layer, lower_prices
from veilroute.progress import Watch

MAX_WORK = 3e9
"""The most steps that :class:`LayeredWalks` may take; some ten seconds."""

MAX_LAYER_BYTES = 2**30
"""The most memory that its layers may take while a walk is read off."""

_ROUNDING = 1e-13


class Beginnings(Protocol):
    """Walks of exactly m nodes from one trip's start."""

    def by_set(self, watch: Watch) -> Iterator[tuple[int, Floats, float]]:
        """Each set of the family with the least cost at every node, and that of a whole walk of at most m nodes."""

    def walk_to(self, node: int, covered: int) -> Walk:
        """The cheapest walk of m nodes to a node that covers a set."""

    def whole_walk(self, covered: int) -> Walk:
        """The cheapest walk to the goal, of at most m nodes, that covers a set."""


@dataclass(frozen=True, eq=False)
class SharedBeginnings:
    """The best beginning of every class.

    Parameters
    ----------
    shares
        By bit mask what the class adds to the MAC sum, trips weighted; infinite where it is impossible.
    best_sets, best_nodes
        By trip and mask: what the beginning covers, and where it ends; node -1 stands for a whole walk.
    beginnings
        For each trip, to get the walks from.
    """

    shares: Floats
    best_sets: Masks
    best_nodes: Masks
    beginnings: tuple[Beginnings, ...]

    def walk(self, mask: int, trip: int) -> tuple[Walk, bool]:
        """The nodes that a class shares on a trip, and whether they are the whole walk."""
        node = int(self.best_nodes[trip, mask])
        if node < 0:
            return self.beginnings[trip].whole_walk(mask), True
        return self.beginnings[trip].walk_to(node, int(self.best_sets[trip, mask])), False


def find_beginnings(task: CoveringTask, needed: Masks, classes: Masks, m: int, watch: Watch) -> SharedBeginnings | None:
    """The best beginnings of ``classes``, or ``None`` when that is too much work.

    Complexity: that of the walks (see the module), then for each class and each of its subsets a look at every node.
    Ties: a whole walk first, then the beginning that covers fewer members, then the lowest node.

    Parameters
    ----------
    task
        Members, posts and trips.
    needed
        Bit masks of the classes and all their subsets, by size, the empty set first.
    classes
        Bit masks of the classes.
    m
        How many nodes are shared.
    watch
        Progress and stop conditions.
    """
    num_sets = 1 << len(task.members)
    is_padded = has_two_colours(task.domain)
    if not is_padded and not _fits_layers(task, needed, m):
        return None
    shares = np.zeros(num_sets)
    best_sets, best_nodes = np.zeros((2, task.num_trips, num_sets), dtype=np.int64)
    beginnings: list[Beginnings] = []
    backward = Sweeper(task.domain, backward=True, num_seeds=max(1, task.posts.nodes.size))
    for trip in range(task.num_trips):
        kind = PaddedWalks if is_padded else LayeredWalks
        walks = kind(task, trip, needed, m)
        prices = _price(task, trip, walks, classes, backward, best_sets[trip], best_nodes[trip], watch)
        fixed = task.rates[trip] * task.base_costs[trip]
        for mask in classes.tolist():
            inside = [i for i in range(len(task.members)) if mask >> i & 1]
            shares[mask] += task.weights[trip] * (prices[mask] - float(fixed[inside].sum()))
        beginnings.append(walks)
    outside = np.ones(num_sets, dtype=bool)
    outside[classes] = False
    shares[outside] = np.inf
    return SharedBeginnings(shares, best_sets, best_nodes, tuple(beginnings))


def _price(
    task: CoveringTask,
    trip: int,
    walks: Beginnings,
    classes: Masks,
    backward: Sweeper,
    best_sets: Masks,
    best_nodes: Masks,
    watch: Watch,
) -> Floats:
    """What the best beginning of each class costs."""
    num = len(task.members)
    ratios = task.rates[trip]
    to_goal = backward.run(task.goals[trip]) * task.unit
    ahead = np.empty((num, task.domain.num_nodes))
    for i in range(num):
        mine = task.posts.posts_of(i)
        ahead[i] = backward.run_from(task.posts.nodes[mine], task.to_goal[trip][mine]) * task.unit
    prices = np.full(1 << num, np.inf)
    is_class = np.zeros(1 << num, dtype=bool)
    is_class[classes] = True
    # A whole walk is tried before beginnings that cover as much, so that it wins ties with them.
    for covered, at_nodes, whole in walks.by_set(watch):
        watch.check()
        if is_class[covered] and np.isfinite(whole):
            inside = [i for i in range(num) if covered >> i & 1]
            price = whole * float(ratios[inside].sum())
            if price <= prices[covered] + _ROUNDING * (1 + price):
                prices[covered], best_sets[covered], best_nodes[covered] = price, covered, -1
        nodes = np.flatnonzero(np.isfinite(at_nodes) & np.isfinite(to_goal))
        lower_prices(
            covered, nodes, at_nodes[nodes], to_goal, ahead, ratios, classes, _ROUNDING, prices, best_sets, best_nodes
        )
    return prices


def has_two_colours(domain: Domain) -> bool:
    """Whether all edges cost the same, lead both ways, and join nodes of two colours, as on a grid."""
    if domain.unit_cost is None:
        return False
    indptr, indices, _ = domain.reversed_rows
    if not (np.array_equal(indptr, domain.indptr) and np.array_equal(indices, domain.indices)):
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

    Parameters
    ----------
    task
        Members, posts and trips.
    trip
        Which trip.
    needed
        The family of sets, by size, the empty set first.
    m
        How many nodes.
    """

    def __init__(self, task: CoveringTask, trip: int, needed: Masks, m: int) -> None:
        self.task, self.trip, self.needed, self.m = task, trip, needed, m
        self._forward = Sweeper(task.domain, backward=False, num_seeds=max(1, task.posts.watch_posts.size))
        self._backward = Sweeper(task.domain, backward=True, num_seeds=1)
        self._at_posts: dict[int, Floats] = {}
        self._engine = FieldsEngine(task)

    def by_set(self, watch: Watch) -> Iterator[tuple[int, Floats, float]]:
        """See :class:`Beginnings`; one sweep for each set."""
        start, goal = self.task.starts[self.trip], self.task.goals[self.trip]
        distances = self._forward.run(start)
        has_colour = np.where(np.isfinite(distances), distances, 0) % 2 == (self.m - 1) % 2
        is_stuck = self.m > 1 and self.task.domain.indptr[start] == self.task.domain.indptr[start + 1]
        for number, covered in enumerate(self.needed.tolist()):
            watch.check()
            watch.tell("beginnings", number, self.needed.size)
            field = self._sweep(covered)
            self._at_posts[covered] = field[self.task.posts.nodes]
            whole = float(field[goal])
            is_there = (field <= self.m - 1) & has_colour & (not is_stuck)
            cost = (self.m - 1) * self.task.unit
            yield (
                covered,
                np.where(is_there, cost, np.inf),
                whole * self.task.unit if whole <= self.m - 1 else np.inf,
            )

    def _sweep(self, covered: int) -> Floats:
        if not covered:
            return self._forward.run(self.task.starts[self.trip])
        members = _bits(covered)
        mine = [self.task.posts.posts_of(i) for i in members]
        values = [self._at_posts[covered ^ (1 << i)][posts] for i, posts in zip(members, mine, strict=True)]
        nodes, seeds = self.task.posts.nodes[np.concatenate(mine)], np.concatenate(values)
        is_reached = np.isfinite(seeds)
        return self._forward.run_from(nodes[is_reached], seeds[is_reached])

    def walk_to(self, node: int, covered: int) -> Walk:
        """See :class:`Beginnings`."""
        posts = self.task.posts
        stops = [node]
        while covered:
            to_here = self._backward.run(stops[-1])[posts.nodes]
            best, stop, member = np.inf, -1, -1
            for i in _bits(covered):
                mine = posts.posts_of(i)
                through = self._at_posts[covered ^ (1 << i)][mine] + to_here[mine]
                at = int(through.argmin())
                if through[at] < best:
                    best, stop, member = float(through[at]), int(posts.nodes[mine[at]]), i
            stops.append(stop)
            covered ^= 1 << member
        walk = walk_through(self._backward, self.task.starts[self.trip], stops[::-1])
        missing = self.m - walk.size
        neighbour = int(self.task.domain.indices[self.task.domain.indptr[node]]) if missing else node
        return np.concatenate((walk, np.array([neighbour, node] * (missing // 2), dtype=np.int64)))

    def whole_walk(self, covered: int) -> Walk:
        """See :class:`Beginnings`."""
        return self._engine.find(_bits(covered), self.trip).walk


class LayeredWalks:
    """Walks of exactly m nodes on any graph, layer by layer.

    Parameters as for :class:`PaddedWalks`.
    """

    def __init__(self, task: CoveringTask, trip: int, needed: Masks, m: int) -> None:
        self.task, self.trip, self.needed, self.m = task, trip, needed, m
        self._seen = np.zeros(task.domain.num_nodes, dtype=np.int64)
        for i in range(len(task.members)):
            self._seen[task.posts.nodes[task.posts.posts_of(i)]] |= 1 << i
        indptr, indices, costs = task.domain.reversed_rows
        self._into = (indptr, indices, costs.astype(np.float64))

    def by_set(self, watch: Watch) -> Iterator[tuple[int, Floats, float]]:
        """See :class:`Beginnings`."""
        goal = self.task.goals[self.trip]
        layer, whole = self._first(self.needed), np.full(self.needed.size, np.inf)
        spare = np.empty_like(layer)
        row_of = self._rows(self.needed)
        for length in range(1, self.m + 1):
            np.minimum(whole, layer[:, goal], out=whole)
            if length == self.m:
                break
            watch.check()
            watch.tell("beginnings", length, self.m)
            advance_layer(*self._into, self._seen, self.needed, row_of, layer, spare)
            layer, spare = spare, layer
        for row, covered in enumerate(self.needed.tolist()):
            yield covered, layer[row], float(whole[row])

    def walk_to(self, node: int, covered: int) -> Walk:
        """See :class:`Beginnings`; ties go to the lowest node before."""
        return self._read(node, covered, self.m)

    def whole_walk(self, covered: int) -> Walk:
        """See :class:`Beginnings`; of equally cheap ones the one of fewest nodes."""
        layers, family = self._layers(covered)
        costs = [layer[family.size - 1, self.task.goals[self.trip]] for layer in layers]
        return self._read(self.task.goals[self.trip], covered, 1 + int(np.argmin(costs)))

    def _read(self, node: int, covered: int, length: int) -> Walk:
        layers, family = self._layers(covered)
        row_of = self._rows(family)
        walk = [node]
        for layer in layers[length - 2 :: -1] if length > 1 else []:
            covered &= ~int(self._seen[node])
            first, end = int(self._into[0][node]), int(self._into[0][node + 1])
            before = self._into[1][first:end].astype(np.int64)
            node = int(before[(layer[row_of[covered], before] + self._into[2][first:end]).argmin()])
            walk.append(node)
        return np.array(walk[::-1], dtype=np.int64)

    def _layers(self, covered: int) -> tuple[list[Floats], Masks]:
        """The layers of all subsets of one set, which stands last."""
        family = np.array([part for part in range(covered + 1) if part & covered == part], dtype=np.int64)
        row_of = self._rows(family)
        layers = [self._first(family)]
        for _ in range(self.m - 1):
            layers.append(np.empty_like(layers[-1]))
            advance_layer(*self._into, self._seen, family, row_of, layers[-2], layers[-1])
        return layers, family

    def _first(self, family: Masks) -> Floats:
        start = self.task.starts[self.trip]
        layer = np.full((family.size, self.task.domain.num_nodes), np.inf)
        layer[(family & ~self._seen[start]) == 0, start] = 0.0
        return layer

    def _rows(self, family: Masks) -> Masks:
        row_of = np.zeros(1 << len(self.task.members), dtype=np.int64)
        row_of[family] = np.arange(family.size)
        return row_of


def _fits_layers(task: CoveringTask, needed: Masks, m: int) -> bool:
    largest = int(np.bitwise_count(needed).max(initial=0))
    size = task.domain.num_edges + task.domain.num_nodes
    layer_bytes = 8.0 * task.domain.num_nodes * 2**largest * m
    return float(m) * needed.size * size * task.num_trips <= MAX_WORK and layer_bytes <= MAX_LAYER_BYTES


def _bits(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


class Completions:
    """Completes walks that begin alike, each member's in its own way.

    Ties: of equally cheap posts the lowest node; between posts the walk is that of :meth:`Sweeper.follow`.

    Parameters
    ----------
    task
        Members, posts and trips.
    """

    def __init__(self, task: CoveringTask) -> None:
        self.task = task
        self._near = Near.over(task.domain, 1)

    def complete(self, prefix: Walk, member: int, trip: int, *, at_most: float = math.inf) -> tuple[Walk, float]:
        """The whole walk and its cost: the prefix, then on to the goal, past a post of the member if none was passed.

        An empty walk of infinite cost when there is no way on. Where it is known what the rest costs ``at_most``, in
        units of the task, nothing is looked for beyond. Two sweeps of the surroundings.
        """
        posts, goal = self.task.posts, self.task.goals[trip]
        mine = posts.posts_of(member)
        here = int(prefix[-1])
        from_start, to_goal = self.task.all_from_start[trip], self.task.all_to_goal[trip]
        walks = [prefix]
        if np.isin(posts.nodes[mine], prefix).any():
            is_possible = math.isfinite(to_goal[here])
        else:
            nodes = posts.nodes[mine]
            seed = np.array([here], dtype=np.uint32)
            distances = self._near.forward.values(seed, np.zeros(1), nodes, to_goal, at_most)
            through = distances + self.task.to_goal[trip][mine]
            best = int(through.argmin())
            is_possible = math.isfinite(through[best])
            if is_possible:
                stop = int(nodes[best])
                walks.append(self._near.backward.follow(here, stop, float(distances[best]), from_start, to_goal)[1:])
                here = stop
        if not is_possible:
            return NO_WALK, math.inf
        walks.append(self._near.follow_to_goal(here, goal)[1:])
        walk = np.concatenate(walks)
        return walk, walk_cost(self.task.domain, walk)
