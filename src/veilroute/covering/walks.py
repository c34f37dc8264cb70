"""Sweeps and walks: how shortest paths are measured and followed, and what an engine says about a covering walk.

A :class:`Sweeper` measures from some nodes to all others, or to those asked for. From sweeps come walks, which are
arrays of node numbers; one that covers a set of members is a :class:`CoveringWalk`, with what is proved about it.
Searches that run out of time or memory end with :func:`stop_with_walk`: a quick walk and the bound that they have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from veilroute.base.arrays import Flags, Floats, Indices, Int8s, Int32s, Ints, Walk
from veilroute.covering.states import Shortcuts, StateGraph
from veilroute.domain.graph import Domain, spans
from veilroute.kernels.sweep import FAR, descend_costs, descend_hops, sweep_costs, sweep_hops, sweep_states

if TYPE_CHECKING:
    from veilroute.covering.task import CoveringTask

_ROUNDING = 1e-9
_NANOSECONDS_PER_EDGE_BY_HOPS = 3.0
_NANOSECONDS_PER_EDGE_BY_HEAP = 25.0
_NANOSECONDS_PER_LOOK = 2e7
_NO_FIELD: Floats = np.empty(0)
_NO_NODES: Indices = np.empty(0, dtype=np.uint32)
_AT_ONCE: Floats = np.zeros(1)
_MANY = 8  # one node in so many


def estimate_sweep(domain: Domain) -> float:
    """Rough nanoseconds of a sweep of the whole domain."""
    per_edge = _NANOSECONDS_PER_EDGE_BY_HOPS if domain.unit_cost is not None else _NANOSECONDS_PER_EDGE_BY_HEAP
    return max(1, domain.num_edges + domain.num_nodes) * per_edge


def sweeps_per_look(domain: Domain) -> int:
    """How many sweeps of the whole domain to make between two looks at the clock."""
    return max(1, int(_NANOSECONDS_PER_LOOK / estimate_sweep(domain)))


class Sweeper:
    """Runs sweeps with at most ``num_seeds`` seeds over one direction of a domain, in memory that they share.

    ``backward`` sweeps follow edges from head to tail, which measures distances *to* the seeds. On domains whose edges
    all cost the same, distances count edges and ``unit`` is the cost of one; elsewhere ``unit`` is 1 and distances are
    costs. Sweeps of the whole domain (:meth:`run`, :meth:`run_from`) and those that end when they have reached what is
    asked for give the same answers to the last bit; the latter take time for that part of the domain only.
    """

    def __init__(self, domain: Domain, *, backward: bool, num_seeds: int) -> None:
        indptr, indices, costs = domain.reversed_rows if backward else (domain.indptr, domain.indices, domain.costs)
        self.domain, self.is_backward, self.num_seeds = domain, backward, num_seeds
        self._by_hops = domain.unit_cost is not None
        self._indptr: Indices = indptr
        self._indices: Indices = indices
        self.unit = 1.0 if domain.unit_cost is None else domain.unit_cost
        self.size = domain.num_nodes + domain.num_edges
        self.num_sweeps = 0
        room = max(domain.num_nodes, domain.num_edges) + num_seeds + 1
        num_by_costs = 0 if self._by_hops else domain.num_nodes
        self._costs: Floats = np.empty(0) if self._by_hops else costs.astype(np.float64, copy=False)
        self._distances: Floats = np.full(domain.num_nodes, np.nan if self._by_hops else np.inf)
        self._towards: Ints = np.empty(num_by_costs, dtype=np.int64)
        self._heap_keys: Floats = np.empty(0 if self._by_hops else room)
        self._queue: Indices = np.empty(room, dtype=np.uint32)
        self._hops: Int32s = np.full(domain.num_nodes if self._by_hops else 0, FAR, dtype=np.int32)
        self._wanted: Flags = np.zeros(domain.num_nodes, dtype=np.bool_)
        # What the last sweep has reached, apart from its seeds where it counts hops.
        self._reached: Indices = self._queue if self._by_hops else np.empty(num_by_costs, dtype=np.uint32)
        self._num_reached = 0
        self._seeds: Indices = _NO_NODES
        self._shortcuts = domain.shortcuts if isinstance(domain, StateGraph) and not backward else None
        # What was last asked for by shortcuts: the posts, their numbers per state, marks per edge, and scratch.
        self._asked: tuple[Indices | Ints, Int32s, Int8s, Int8s, Floats, Int32s] | None = None

    def run(self, node: int, limit: float = math.inf) -> Floats:
        """Distances from (or, backward, to) one node; the array is overwritten by the next sweep."""
        return self.run_from(np.array([node], dtype=np.uint32), _AT_ONCE, limit)

    def run_from(self, nodes: Indices, values: Floats, limit: float = math.inf) -> Floats:
        """For every node the least of ``values[i]`` plus the distance from (or, backward, to) ``nodes[i]``."""
        self._sweep(nodes, values, limit)
        return _write_distances(self._hops, self._distances) if self._by_hops else self._distances

    def values(self, nodes: Indices, values: Floats, asked: Indices | Ints) -> Floats:
        """The values of :meth:`run_from` for the ``asked`` only, which are different nodes."""
        self._sweep(nodes, values, wanted=asked)
        return self._values_at(asked)

    def near(self, node: int, asked: Indices | Ints, ahead: Floats = _NO_FIELD, limit: float = math.inf) -> Floats:
        """Distances from (or, backward, to) a node, of the ``asked`` only, which are different nodes.

        Where one of them and what lies ``ahead``, at the least, come to more than ``limit``, infinity will do.
        """
        seeds = np.array([node], dtype=np.uint32)
        self._sweep(seeds, _AT_ONCE, wanted=asked, ahead=ahead, ahead_limit=limit * (1 + _ROUNDING), behind=ahead)
        return self._values_at(asked)

    def fill_rows(self, nodes: Indices, asked: Indices | Ints, out: Floats, limit: float = math.inf) -> None:
        """Distances from (or, backward, to) each of the nodes, of the ``asked``: a row of ``out`` for each.

        What is farther than the limit is infinitely far.
        """
        wanted = np.unique(asked).astype(np.int64)
        if self._shortcuts is not None and wanted.size == asked.size and limit == math.inf:
            # They pass over the states in which trips end, and these are posts only where a goal is seen from.
            ends = self._shortcuts.ends
            if not (np.isin(asked, ends).any() or np.isin(nodes, ends).any()):
                self._fill_by_shortcuts(self._shortcuts, nodes, asked, out)
                return
        hops = np.empty(out.shape if self._by_hops else (0, 0), dtype=np.int32)
        for number in range(len(out)):
            self._sweep(nodes[number : number + 1], _AT_ONCE, limit, wanted=wanted)
            if self._by_hops:
                np.take(self._hops, asked, out=hops[number])
            else:
                np.take(self._distances, asked, out=out[number])
        if self._by_hops:
            _write_distances(hops, out)

    def _fill_by_shortcuts(self, shortcuts: Shortcuts, nodes: Indices, asked: Indices | Ints, out: Floats) -> None:
        if self._asked is None or self._asked[0] is not asked:
            posts = np.full(shortcuts.nodes.size, -1, dtype=np.int32)
            posts[asked] = np.arange(asked.size)
            marks = np.zeros(shortcuts.num_numbers, dtype=np.int8)
            marks[: shortcuts.state_of.size] = 2 * (posts[shortcuts.state_of] >= 0)
            nearest, at = np.empty((shortcuts.is_plain.size, 2)), np.empty(shortcuts.is_plain.size, dtype=np.int32)
            self._asked = asked, posts, marks, marks.copy(), nearest, at
        _, posts, marks, used, nearest, at = self._asked
        num_posts = int((posts >= 0).sum())
        indptr, heads, costs = shortcuts.rows
        out.fill(np.inf)
        for node, row in zip(nodes.tolist(), out, strict=True):
            np.copyto(used, marks)
            nearest.fill(np.inf)
            sweep_states(
                indptr, heads, costs, shortcuts.back, shortcuts.state_of, shortcuts.is_plain, shortcuts.nodes,
                *shortcuts.steps, node, posts, num_posts, used, nearest, at, self._heap_keys, self._queue, row,
            )  # fmt: skip
            self.num_sweeps += 1
        # Of posts at one state only the last has its distance so far.
        same = posts[asked]
        if (same != np.arange(asked.size)).any():
            out[:] = out[:, same]

    def within(self, node: int, limit: float) -> Indices:
        """The nodes no farther than the limit from (or, backward, to) a node, itself included, ascending."""
        seeds = np.array([node], dtype=np.uint32)
        self._sweep(seeds, _AT_ONCE, limit)
        return np.unique(np.concatenate((seeds, self._reached[: self._num_reached])))

    def follow(self, node: int) -> Walk:
        """The path along the last sweep between ``node`` and the seed, starting at ``node``.

        Ties: on equal edge costs each step goes to the lowest-numbered neighbour on a shortest path; otherwise to
        the one that the sweep settled first, and it settles by (distance, node number).
        """
        if not self._by_hops:
            return descend_costs(self._towards, node)
        domain = self.domain
        onward = (domain.indptr, domain.indices) if self.is_backward else domain.reversed_rows[:2]
        return descend_hops(*onward, self._hops, node)

    def path(self, here: int, stop: int, length: float, from_start: Floats, to_goal: Floats) -> Walk:
        """The path from ``here`` to ``stop`` of a given length, for sweepers that are backward.

        The same as that of :meth:`follow` after a sweep of the whole domain towards ``stop``. What is known per node
        about the distance from the start and to the goal of a trip keeps the sweep to nodes that may lie on the path.
        """
        wanted, seeds = np.array([[here], [stop]], dtype=np.uint32)
        slack = 0.0 if self._by_hops else _ROUNDING * (from_start[here] + length + to_goal[here])
        # The second time where it is longer than was said, as sums of very different costs may be.
        for reach in (length + slack, math.inf):
            self._sweep(
                seeds,
                _AT_ONCE,
                wanted=wanted,
                ahead=from_start,
                ahead_limit=reach + float(from_start[here]),
                behind=to_goal,
                behind_limit=reach - float(to_goal[here]),
            )
            if np.isfinite(self._values_at(wanted)).all():
                break
        return self.follow(here)

    def _sweep(
        self, nodes: Indices, values: Floats, limit: float = math.inf, *, wanted: Indices | Ints = _NO_NODES,
        ahead: Floats = _NO_FIELD, ahead_limit: float = math.inf,
        behind: Floats = _NO_FIELD, behind_limit: float = math.inf,
    ) -> None:  # fmt: skip
        """Run the kernel for this domain, up to the nodes that are wanted or, where none is, as far as it goes."""
        self._forget()
        if wanted.size > self._wanted.size // _MANY:
            wanted = _NO_NODES  # the last of so many is far away, and looking for them takes time
        self._wanted[wanted] = True
        is_local = wanted.size > 0 or limit < math.inf
        if self._by_hops:
            if nodes.size == 1 and values[0] == 0:  # most sweeps; two numpy calls in place of six
                seeds = nodes.astype(np.int64)
            else:
                is_near = values < FAR
                seeds = np.sort((values[is_near].astype(np.int64) << 32) | nodes[is_near])
            whole_limit = int(FAR) - 1 if limit >= FAR - 1 else math.floor(limit)
            num = sweep_hops(
                self._indptr, self._indices, seeds, whole_limit, ahead, ahead_limit, behind, behind_limit,
                self._wanted, wanted.size, self._hops, self._queue,
            )  # fmt: skip
        else:
            reached = self._reached if is_local else _NO_NODES
            num = sweep_costs(
                self._indptr, self._indices, self._costs, nodes, values, limit, ahead, ahead_limit, behind,
                behind_limit, self._wanted, wanted.size, self._distances, self._towards, self._heap_keys, self._queue,
                reached,
            )  # fmt: skip
        self._wanted[wanted] = False
        self._seeds, self._num_reached = nodes, num if is_local else self.size
        self.num_sweeps += 1

    def _forget(self) -> None:
        """Make the memory as it was before the last sweep: node by node where it has reached few."""
        memory, unreached = (self._hops, FAR) if self._by_hops else (self._distances, np.inf)
        if self._num_reached > memory.size // _MANY:
            memory.fill(unreached)
        else:
            memory[self._reached[: self._num_reached]] = unreached
            memory[self._seeds] = unreached

    def _values_at(self, nodes: Indices | Ints) -> Floats:
        """What the last sweep found for some nodes."""
        return _write_distances(self._hops[nodes], np.empty(nodes.size)) if self._by_hops else self._distances[nodes]


def _write_distances(hops: Int32s, out: Floats) -> Floats:
    """Write hop counts as numbers, infinite where unreached."""
    np.copyto(out, hops)
    np.putmask(out, hops == FAR, np.inf)
    return out


class Sweepers:
    """What the walks of a task are found with: a sweeper each way, and a whole sweep towards each goal.

    Each is made when it is first needed. All walks of a trip end alike, so one sweep towards its goal serves them all.
    """

    def __init__(self, domain: Domain, num_seeds: int) -> None:
        self._domain, self._num_seeds = domain, num_seeds
        self._each_way: dict[bool, Sweeper] = {}
        self._to_goals: dict[int, Sweeper] = {}

    def sweeper(self, *, backward: bool) -> Sweeper:
        """The sweeper of a direction."""
        if backward not in self._each_way:
            self._each_way[backward] = Sweeper(self._domain, backward=backward, num_seeds=self._num_seeds)
        return self._each_way[backward]

    def path_to_goal(self, node: int, goal: int) -> Walk:
        """The path of :meth:`Sweeper.follow` from a node to a goal."""
        if goal not in self._to_goals:
            self._to_goals[goal] = Sweeper(self._domain, backward=True, num_seeds=1)
            self._to_goals[goal].run(goal)
        return self._to_goals[goal].follow(node)

    @property
    def num_sweeps(self) -> int:
        """Sweeps of the graph so far."""
        return sum(one.num_sweeps for one in (*self._each_way.values(), *self._to_goals.values()))


NO_WALK: Walk = np.empty(0, dtype=np.int64)  #: what stands for a walk where there is none


def walk_cost(domain: Domain, nodes: Walk) -> float:
    """Sum of the edge costs along a walk from its first edge to its last, with what turning round costs.

    An integer where all of these are.
    """
    if domain.unit_cost is not None:
        total = domain.unit_cost * (nodes.size - 1)
    elif nodes.size < 2:
        total = 0.0
    else:
        first = domain.indptr[nodes[:-1]].astype(np.int64)
        num = domain.indptr[nodes[:-1] + 1] - first
        edges = spans(first, num)  # all that leave a node of the walk; of each node's, one leads to the next
        taken = edges[domain.indices[edges] == np.repeat(nodes[1:], num)]
        total = float(np.cumsum(domain.costs[taken])[-1])  # not by `sum`, which adds in another order
    if domain.turns is not None and domain.turns.u_turn_cost:
        total += domain.turns.u_turn_cost * int((nodes[2:] == nodes[:-2]).sum())
    return int(total) if has_whole_costs(domain) else total


def has_whole_costs(domain: Domain) -> bool:
    """Whether what walks cost is a whole number: of all edges, and of turning round."""
    return domain.has_integer_costs and (domain.turns is None or domain.turns.u_turn_cost.is_integer())


def walk_through(
    backward: Sweeper, start: int, stops: Sequence[int], lengths: Sequence[float], from_start: Floats, to_goal: Floats
) -> Walk:
    """The walk from ``start`` to each stop in turn, given the lengths of the ways there: see :meth:`Sweeper.path`."""
    legs = [np.array([start], dtype=np.int64)]
    for here, stop, length in zip([start, *stops], stops, lengths, strict=False):
        if here != stop:
            legs.append(backward.path(here, stop, length, from_start, to_goal)[1:])
    return np.concatenate(legs)


CoverStatus = Literal["optimal", "feasible", "infeasible", "over-bound", "unknown"]
"""What is known about a covering walk, see :class:`~veilroute.covering.cover.Cover`."""


@dataclass(frozen=True)
class Counts:
    """How much work a search was: the states that A* took off and put on its open list, and sweeps of the graph."""

    num_expanded: int = 0
    num_generated: int = 0
    num_sweeps: int = 0


@dataclass(frozen=True, eq=False)
class CoveringWalk:
    """What an engine has to say about the cheapest walk that covers a set of members."""

    walk: Walk  #: nodes from start to goal; empty when there is none to show
    cost: float  #: cost of the walk, infinite without one
    status: CoverStatus  #: how much is proved
    lower_bound: float  #: what the search proved that every covering walk costs at least
    counts: Counts  #: how much work it was

    @classmethod
    def none(cls, status: CoverStatus, lower_bound: float, counts: Counts) -> CoveringWalk:
        """No walk to show."""
        return cls(NO_WALK, math.inf, status, lower_bound, counts)


class WalkSource(Protocol):
    """Whatever can be asked for the covering walks of one task."""

    def find(self, members: Sequence[int], trip: int = 0) -> CoveringWalk:
        """The cheapest walk of a trip that covers ``members`` (positions in the task)."""


def walk_greedily(task: CoveringTask, members: Sequence[int], trip: int, forward: Sweeper) -> Walk:
    """A covering walk by always going to the nearest post of something uncovered; empty where that gets stuck.

    At most one sweep for each member and one more. Ties: the post with the lowest number. On one-way graphs the
    nearest post may lead away from the others.
    """
    posts, left = task.posts, set(members)
    walk = np.array([task.starts[trip]], dtype=np.int64)
    fresh = walk
    while True:
        passed = np.flatnonzero(np.isin(posts.nodes, fresh))
        left -= {i for i in left if np.isin(posts.posts_of(i), passed).any()}
        distances = forward.run(int(walk[-1]))
        nodes = np.array([task.goals[trip]])
        if left:
            wanted = np.unique(np.concatenate([posts.posts_of(i) for i in left]))
            nodes = posts.nodes[wanted[np.isfinite(task.to_goal[trip][wanted])]]
        if not np.isfinite(distances[nodes]).any():
            return NO_WALK
        nearest = int(nodes[distances[nodes].argmin()])
        fresh = forward.follow(nearest)[::-1]
        walk = np.concatenate((walk, fresh[1:]))
        if not left:
            return walk


def stop_with_walk(
    task: CoveringTask, members: Sequence[int], trip: int, forward: Sweeper, lower: float, highest: float,
    counts: Counts,
) -> CoveringWalk:  # fmt: skip
    """What a search returns when it has to stop: what it proved, and a quick walk if one keeps to the bound."""
    swept = forward.num_sweeps
    walk = walk_greedily(task, members, trip, forward)
    counts = replace(counts, num_sweeps=counts.num_sweeps + forward.num_sweeps - swept)
    cost = walk_cost(task.domain, walk) if walk.size else math.inf
    # Covering one member alone, or none, never costs more.
    lower = max(lower, float(task.least_costs(members, trip).max()))
    if cost > highest or cost == math.inf:
        return CoveringWalk.none("unknown", lower, counts)
    return CoveringWalk(walk, cost, "optimal" if cost <= lower else "feasible", min(lower, cost), counts)
