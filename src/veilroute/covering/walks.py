"""Sweeps and walks: how shortest paths are measured and followed, and what an engine says about a covering walk.

A :class:`Sweeper` measures from some nodes to all others. A :class:`LocalSweeper` gives the same answers but stops as
soon as it has them, for many questions about small parts of a large domain. From sweeps come walks, which are arrays of
node numbers; one that covers a set of members is a :class:`CoveringWalk`, with what is proved about it. Searches that
run out of time or memory end with :func:`stop_with_walk`: a quick walk and the bound that they have.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from veilroute.arrays import Floats, Indices, Int32s, Ints, Walk
from veilroute.domain.graph import Domain
from veilroute.kernels.near import Ground, lead, values_at
from veilroute.kernels.sweep import FAR, add_costs, descend_costs, descend_hops, hops_to_distances, sweep, sweep_rows
from veilroute.progress import Watch

if TYPE_CHECKING:
    from veilroute.covering.task import CoveringTask

_ROUNDING = 1e-9
_NANOSECONDS_PER_EDGE_BY_HOPS = 3.0
_NANOSECONDS_PER_EDGE_BY_HEAP = 25.0
_NANOSECONDS_PER_LOOK = 2e7
_NO_FIELD: Floats = np.empty(0)


def num_threads() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def estimate_sweep(domain: Domain) -> float:
    """Rough nanoseconds of a sweep of the whole domain."""
    per_edge = _NANOSECONDS_PER_EDGE_BY_HOPS if domain.unit_cost is not None else _NANOSECONDS_PER_EDGE_BY_HEAP
    return max(1, domain.num_edges + domain.num_nodes) * per_edge


class Sweeper:
    """Runs sweeps with at most ``num_seeds`` seeds over one direction of a domain, in memory that they share.

    ``backward`` sweeps follow edges from head to tail, which measures distances *to* the seeds. On domains whose edges
    all cost the same, distances count edges and ``unit`` is the cost of one; elsewhere ``unit`` is 1 and distances are
    costs.
    """

    def __init__(self, domain: Domain, *, backward: bool, num_seeds: int) -> None:
        indptr, indices, costs = domain.reversed_rows if backward else (domain.indptr, domain.indices, domain.costs)
        self.by_hops = domain.unit_cost is not None
        self.unit = 1.0 if domain.unit_cost is None else domain.unit_cost
        self.num_nodes = domain.num_nodes
        self._nanoseconds = estimate_sweep(domain)
        self.num_sweeps = 0
        self.indptr: Indices = indptr
        self.indices: Indices = indices
        self._onward = (domain.indptr, domain.indices) if backward else domain.reversed_rows[:2]
        room = max(domain.num_nodes, domain.num_edges) + num_seeds + 1
        self.costs: Floats = np.empty(0) if self.by_hops else costs.astype(np.float64)
        self.distances: Floats = np.empty(domain.num_nodes)
        self.towards: Ints = np.empty(0 if self.by_hops else domain.num_nodes, dtype=np.int64)
        self.heap_keys: Floats = np.empty(0 if self.by_hops else room)
        self.heap_nodes: Indices = np.empty(room, dtype=np.uint32)
        self.hops: Int32s = np.empty(domain.num_nodes if self.by_hops else 0, dtype=np.int32)

    def run(self, node: int, limit: float = math.inf) -> Floats:
        """Distances from (or, backward, to) one node; the array is overwritten by the next sweep."""
        return self.run_from(np.array([node], dtype=np.uint32), np.zeros(1), limit)

    def run_from(self, nodes: Indices, values: Floats, limit: float = math.inf) -> Floats:
        """For every node the least of ``values[i]`` plus the distance from (or, backward, to) ``nodes[i]``."""
        sweep(
            self.by_hops, self.indptr, self.indices, self.costs, nodes, values, limit,
            self.distances, self.towards, self.heap_keys, self.heap_nodes, self.hops,
        )  # fmt: skip
        self.num_sweeps += 1
        if self.by_hops:
            hops_to_distances(self.hops, self.distances)
        return self.distances

    def fill_rows(self, nodes: Indices, first: int, out: Floats) -> None:
        """Distances from (or, backward, to) ``nodes[first]`` and those after it, a row of ``out`` for each."""
        sweep_rows(
            self.by_hops, self.indptr, self.indices, self.costs, nodes, first,
            self.distances, self.towards, self.heap_keys, self.heap_nodes, self.hops, out,
        )  # fmt: skip
        self.num_sweeps += len(out)

    @property
    def sweeps_per_look(self) -> int:
        """How many sweeps take some hundredths of a second."""
        return max(1, int(_NANOSECONDS_PER_LOOK / self._nanoseconds))

    def follow(self, node: int) -> Walk:
        """The path along the last sweep between ``node`` and the seed, starting at ``node``.

        Ties: on equal edge costs each step goes to the lowest-numbered neighbour on a shortest path; otherwise to
        the one that the sweep settled first, and it settles by (distance, node number).
        """
        if self.by_hops:
            return descend_hops(*self._onward, self.hops, node)
        return descend_costs(self.towards, node)


class LocalSweeper:
    """Runs sweeps that go no farther than they must; built as a :class:`Sweeper` is, with its answers to the last bit.

    A sweep takes time and memory for the part of the domain that the question is about.
    """

    def __init__(self, domain: Domain, *, backward: bool, num_seeds: int) -> None:
        indptr, indices, costs = domain.reversed_rows if backward else (domain.indptr, domain.indices, domain.costs)
        by_hops = domain.unit_cost is not None
        num, room = domain.num_nodes, max(domain.num_nodes, domain.num_edges) + num_seeds + 1
        self._onward = (domain.indptr, domain.indices) if backward else domain.reversed_rows[:2]
        self._ground = Ground(
            by_hops,
            indptr,
            indices,
            np.empty(0) if by_hops else costs.astype(np.float64),
            wanted=np.zeros(num, dtype=np.bool_),
            hops=np.full(num if by_hops else 0, FAR, dtype=np.int32),
            distances=np.full(0 if by_hops else num, np.inf),
            towards=np.empty(0 if by_hops else num, dtype=np.int64),
            heap_keys=np.empty(0 if by_hops else room),
            heap_nodes=np.empty(room, dtype=np.uint32),
            reached=np.empty(0 if by_hops else num, dtype=np.uint32),
        )
        self.num_sweeps = 0

    def values(
        self, nodes: Indices, values: Floats, asked: Indices, ahead: Floats = _NO_FIELD, limit: float = math.inf
    ) -> Floats:
        """For each of the ``asked`` the least of ``values[i]`` plus the distance from (or, backward, to) ``nodes[i]``.

        Where that and what lies ``ahead``, at the least, come to more than ``limit``, infinity will do.
        """
        out = np.empty(asked.size)
        values_at(self._ground, nodes, values, ahead, limit * (1 + _ROUNDING), asked, out)
        self.num_sweeps += 1
        return out

    def follow(self, here: int, stop: int, length: float, from_start: Floats, to_goal: Floats) -> Walk:
        """The path from ``here`` to ``stop`` of a given length, for sweepers that are backward.

        The same as that of :meth:`Sweeper.follow` after a sweep towards ``stop``. What is known per node about the
        distance from the start and to the goal of a trip keeps the sweep to nodes that may lie on the path.
        """
        slack = 0.0 if self._ground.by_hops else _ROUNDING * (from_start[here] + length + to_goal[here])
        path = lead(self._ground, *self._onward, here, stop, from_start, to_goal, length, slack)
        self.num_sweeps += 1
        if not path.size:  # longer than was said, as sums of very different costs may be
            path = lead(self._ground, *self._onward, here, stop, from_start, to_goal, math.inf, 0.0)
            self.num_sweeps += 1
        return path


class LocalSweepers:
    """What the walks of many classes are found with: a local sweeper each way, and a whole sweep towards each goal."""

    def __init__(self, domain: Domain, num_seeds: int) -> None:
        self.forward = LocalSweeper(domain, backward=False, num_seeds=num_seeds)
        self.backward = LocalSweeper(domain, backward=True, num_seeds=num_seeds)
        self.to_goals = GoalSweeps(domain)


class GoalSweeps:
    """Paths to goals: all walks of a trip end alike, so one sweep towards its goal serves them all."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._sweepers: dict[int, Sweeper] = {}

    @property
    def num_sweeps(self) -> int:
        """Towards how many goals was swept."""
        return len(self._sweepers)

    def follow(self, node: int, goal: int) -> Walk:
        """The path of :meth:`Sweeper.follow` from a node to a goal."""
        if goal not in self._sweepers:
            self._sweepers[goal] = Sweeper(self._domain, backward=True, num_seeds=1)
            self._sweepers[goal].run(goal)
        return self._sweepers[goal].follow(node)


NO_WALK: Walk = np.empty(0, dtype=np.int64)
"""What stands for a walk where there is none."""


def walk_cost(domain: Domain, nodes: Walk) -> float:
    """Sum of the edge costs along a walk, an integer when the domain's costs are."""
    total = float(add_costs(domain.indptr, domain.indices, domain.costs, nodes))
    return int(total) if domain.has_integer_costs and math.isfinite(total) else total


def walk_through(backward: Sweeper, start: int, stops: Sequence[int], lengths: Sequence[float] | None = None) -> Walk:
    """The walk from ``start`` to each stop in turn, by the shortest paths of :meth:`Sweeper.follow`; a sweep each.

    Where the ``lengths`` of the ways to the stops are known, in the sweeper's units, sweeps go no farther.
    """
    legs = [np.array([start], dtype=np.int64)]
    for number, stop in enumerate(stops):
        here = int(legs[-1][-1])
        if here != stop:
            # With some room: what is rounded must not cut the way off.
            backward.run(stop, math.inf if lengths is None else 1 + lengths[number] * (1 + 1e-9))
            legs.append(backward.follow(here)[1:])
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
    """What an engine has to say about the cheapest walk that covers a set of members.

    The walk goes from start to goal; it is empty and its cost infinite where there is none to show. Every covering walk
    is proved to cost ``lower_bound`` at least.
    """

    walk: Walk
    cost: float
    status: CoverStatus
    lower_bound: float
    counts: Counts


class WalkSource(Protocol):
    """Whatever can be asked for the covering walks of one task."""

    def find(self, members: Sequence[int], trip: int = 0) -> CoveringWalk:
        """The cheapest walk of a trip that covers ``members`` (positions in the task)."""


class CoverEngine(Protocol):
    """Finds covering walks for the members of one task, unless they cost more than a bound or the time is over."""

    def find(
        self, members: Sequence[int], trip: int = 0, *, cost_bound: float = math.inf, watch: Watch | None = None
    ) -> CoveringWalk:
        """The cheapest walk of a trip that covers ``members`` (positions in the task)."""


def walk_greedily(task: CoveringTask, members: Sequence[int], trip: int, forward: Sweeper) -> Walk:
    """A covering walk by always going to the nearest post of something uncovered; empty where that gets stuck.

    At most one sweep for each member and one more. Ties: the post with the lowest number. On one-way graphs the
    nearest post may lead away from the others.
    """
    posts = task.posts
    left = set(members)
    walk = np.array([task.starts[trip]], dtype=np.int64)
    fresh = walk
    while True:
        passed = np.flatnonzero(np.isin(posts.nodes, fresh))
        left -= {i for i in left if np.isin(posts.posts_of(i), passed).any()}
        distances = forward.run(int(walk[-1]))
        if not left:
            nearest: int = task.goals[trip]
        else:
            wanted = np.unique(np.concatenate([posts.posts_of(i) for i in left]))
            wanted = wanted[np.isfinite(task.to_goal[trip][wanted])]
            nodes = posts.nodes[wanted]
            nearest = int(nodes[distances[nodes].argmin()]) if nodes.size else -1
        if nearest < 0 or not np.isfinite(distances[nearest]):
            return NO_WALK
        fresh = forward.follow(nearest)[::-1]
        walk = np.concatenate((walk, fresh[1:]))
        if not left:
            return walk


def stop_with_walk(
    task: CoveringTask,
    members: Sequence[int],
    trip: int,
    forward: Sweeper,
    lower: float,
    highest: float,
    counts: Counts,
) -> CoveringWalk:
    """What a search returns when it has to stop: what it proved, and a quick walk if one keeps to the bound."""
    swept = forward.num_sweeps
    walk = walk_greedily(task, members, trip, forward)
    counts = replace(counts, num_sweeps=counts.num_sweeps + forward.num_sweeps - swept)
    cost = walk_cost(task.domain, walk) if walk.size else math.inf
    # Covering one member alone, or none, never costs more.
    lower = max(lower, float(task.least_costs(members, trip).max()))
    if cost > highest or cost == math.inf:
        return CoveringWalk(NO_WALK, math.inf, "unknown", lower, counts)
    return CoveringWalk(walk, cost, "optimal" if cost <= lower else "feasible", min(lower, cost), counts)
