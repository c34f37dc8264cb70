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

from veilroute.arrays import Flags, Floats, Indices, Int32s, Ints, Walk
from veilroute.domain.graph import Domain
from veilroute.kernels.sweep import FAR, descend_costs, descend_hops, sweep_costs, sweep_hops
from veilroute.progress import Watch

if TYPE_CHECKING:
    from veilroute.covering.task import CoveringTask

_ROUNDING = 1e-9
_NANOSECONDS_PER_EDGE_BY_HOPS = 3.0
_NANOSECONDS_PER_EDGE_BY_HEAP = 25.0
_NANOSECONDS_PER_LOOK = 2e7
_NO_FIELD: Floats = np.empty(0)
_NO_FLAGS: Flags = np.empty(0, dtype=np.bool_)
_NO_NODES: Indices = np.empty(0, dtype=np.uint32)


def num_threads() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def estimate_sweep(domain: Domain) -> float:
    """Rough nanoseconds of a sweep of the whole domain."""
    per_edge = _NANOSECONDS_PER_EDGE_BY_HOPS if domain.unit_cost is not None else _NANOSECONDS_PER_EDGE_BY_HEAP
    return max(1, domain.num_edges + domain.num_nodes) * per_edge


class _Rows:
    """One direction of a domain, and the memory that sweeps over it need."""

    def __init__(self, domain: Domain, *, backward: bool, num_seeds: int) -> None:
        indptr, indices, costs = domain.reversed_rows if backward else (domain.indptr, domain.indices, domain.costs)
        self.by_hops = domain.unit_cost is not None
        self.indptr: Indices = indptr
        self.indices: Indices = indices
        self.onward = (domain.indptr, domain.indices) if backward else domain.reversed_rows[:2]
        room = max(domain.num_nodes, domain.num_edges) + num_seeds + 1
        num_by_costs = 0 if self.by_hops else domain.num_nodes
        self.costs: Floats = np.empty(0) if self.by_hops else costs.astype(np.float64)
        self.distances: Floats = np.full(num_by_costs, np.inf)
        self.towards: Ints = np.full(num_by_costs, -1, dtype=np.int64)
        self.heap_keys: Floats = np.empty(0 if self.by_hops else room)
        self.heap_nodes: Indices = np.empty(room, dtype=np.uint32)
        self.hops: Int32s = np.full(domain.num_nodes if self.by_hops else 0, FAR, dtype=np.int32)

    def sweep(
        self,
        nodes: Indices,
        values: Floats,
        limit: float = math.inf,
        *,
        ahead: Floats = _NO_FIELD,
        ahead_limit: float = math.inf,
        behind: Floats = _NO_FIELD,
        behind_limit: float = math.inf,
        wanted: Flags = _NO_FLAGS,
        num_wanted: int = 0,
        reached: Indices = _NO_NODES,
    ) -> int:
        """Run the kernel for this domain; returns how many nodes are in the queue or were ``reached``."""
        if not self.by_hops:
            return sweep_costs(
                self.indptr, self.indices, self.costs, nodes, values, limit, ahead, ahead_limit, behind, behind_limit,
                wanted, num_wanted, self.distances, self.towards, self.heap_keys, self.heap_nodes, reached,
            )  # fmt: skip
        if nodes.size == 1 and values[0] == 0:  # most sweeps; two numpy calls in place of six
            seeds = nodes.astype(np.int64)
        else:
            is_near = values < FAR
            seeds = np.sort((values[is_near].astype(np.int64) << 32) | nodes[is_near])
        whole_limit = int(FAR) - 1 if limit >= FAR - 1 else math.floor(limit)
        return sweep_hops(
            self.indptr, self.indices, seeds, whole_limit, ahead, ahead_limit, behind, behind_limit,
            wanted, num_wanted, self.hops, self.heap_nodes,
        )  # fmt: skip

    def values_at(self, nodes: Indices) -> Floats:
        """What the last sweep found for some nodes."""
        return _write_distances(self.hops[nodes], np.empty(nodes.size)) if self.by_hops else self.distances[nodes]

    def follow(self, node: int) -> Ints:
        """The path along the last sweep between ``node`` and the seed, starting at ``node``."""
        return descend_hops(*self.onward, self.hops, node) if self.by_hops else descend_costs(self.towards, node)


def _write_distances(hops: Int32s, out: Floats) -> Floats:
    """Write hop counts as numbers, infinite where unreached."""
    np.copyto(out, hops)
    np.putmask(out, hops == FAR, np.inf)
    return out


class Sweeper:
    """Runs sweeps with at most ``num_seeds`` seeds over one direction of a domain, in memory that they share.

    ``backward`` sweeps follow edges from head to tail, which measures distances *to* the seeds. On domains whose edges
    all cost the same, distances count edges and ``unit`` is the cost of one; elsewhere ``unit`` is 1 and distances are
    costs.
    """

    def __init__(self, domain: Domain, *, backward: bool, num_seeds: int) -> None:
        self._rows = _Rows(domain, backward=backward, num_seeds=num_seeds)
        self.unit = 1.0 if domain.unit_cost is None else domain.unit_cost
        self._nanoseconds = estimate_sweep(domain)
        self.size = domain.num_nodes + domain.num_edges
        self._distances: Floats = np.empty(domain.num_nodes if self._rows.by_hops else 0)
        self.num_sweeps = 0

    def run(self, node: int, limit: float = math.inf) -> Floats:
        """Distances from (or, backward, to) one node; the array is overwritten by the next sweep."""
        return self.run_from(np.array([node], dtype=np.uint32), np.zeros(1), limit)

    def run_from(self, nodes: Indices, values: Floats, limit: float = math.inf) -> Floats:
        """For every node the least of ``values[i]`` plus the distance from (or, backward, to) ``nodes[i]``."""
        self._sweep(nodes, values, limit)
        return _write_distances(self._rows.hops, self._distances) if self._rows.by_hops else self._rows.distances

    def values(self, nodes: Indices, values: Floats, asked: Indices) -> Floats:
        """The values of :meth:`run_from` for the ``asked`` nodes only."""
        self._sweep(nodes, values, math.inf)
        return self._rows.values_at(asked)

    def _sweep(self, nodes: Indices, values: Floats, limit: float) -> None:
        if self._rows.by_hops:
            self._rows.hops.fill(FAR)
        else:
            self._rows.distances.fill(np.inf)
            self._rows.towards.fill(-1)
        self._rows.sweep(nodes, values, limit)
        self.num_sweeps += 1

    def fill_rows(self, nodes: Indices, first: int, out: Floats) -> None:
        """Distances from (or, backward, to) ``nodes[first]`` and those after it, a row of ``out`` for each."""
        at_once = np.zeros(1)
        hops = np.empty(out.shape if self._rows.by_hops else (0, 0), dtype=np.int32)
        for number in range(len(out)):
            self._sweep(nodes[first + number : first + number + 1], at_once, math.inf)
            if self._rows.by_hops:
                np.take(self._rows.hops, nodes, out=hops[number])
            else:
                np.take(self._rows.distances, nodes, out=out[number])
        if self._rows.by_hops:
            _write_distances(hops, out)

    @property
    def sweeps_per_look(self) -> int:
        """How many sweeps take some hundredths of a second."""
        return max(1, int(_NANOSECONDS_PER_LOOK / self._nanoseconds))

    def follow(self, node: int) -> Walk:
        """The path along the last sweep between ``node`` and the seed, starting at ``node``.

        Ties: on equal edge costs each step goes to the lowest-numbered neighbour on a shortest path; otherwise to
        the one that the sweep settled first, and it settles by (distance, node number).
        """
        return self._rows.follow(node)


class LocalSweeper:
    """Runs sweeps that go no farther than they must; built as a :class:`Sweeper` is, with its answers to the last bit.

    A sweep takes time and memory for the part of the domain that the question is about.
    """

    def __init__(self, domain: Domain, *, backward: bool, num_seeds: int) -> None:
        # Between two sweeps nothing is reached and nobody is wanted: each one tidies up after itself.
        self._rows = _Rows(domain, backward=backward, num_seeds=num_seeds)
        self._wanted: Flags = np.zeros(domain.num_nodes, dtype=np.bool_)
        self._reached: Indices = np.empty(0 if self._rows.by_hops else domain.num_nodes, dtype=np.uint32)
        self.num_sweeps = 0

    def _forget(self, seeds: Indices, num_reached: int) -> None:
        """Make the memory as it was before the last sweep."""
        if self._rows.by_hops:
            self._rows.hops[self._rows.heap_nodes[:num_reached]] = FAR
            self._rows.hops[seeds] = FAR
        else:
            self._rows.distances[self._reached[:num_reached]] = np.inf

    def values(
        self, nodes: Indices, values: Floats, asked: Indices, ahead: Floats = _NO_FIELD, limit: float = math.inf
    ) -> Floats:
        """For each of the ``asked`` the least of ``values[i]`` plus the distance from (or, backward, to) ``nodes[i]``.

        Where that and what lies ``ahead``, at the least, come to more than ``limit``, infinity will do.
        """
        self._wanted[asked] = True
        num_reached = self._rows.sweep(
            nodes,
            values,
            ahead=ahead,
            ahead_limit=limit * (1 + _ROUNDING),
            behind=ahead,
            wanted=self._wanted,
            num_wanted=len(set(asked.tolist())),
            reached=self._reached,
        )
        self.num_sweeps += 1
        self._wanted[asked] = False
        out = self._rows.values_at(asked)
        self._forget(nodes, num_reached)
        return out

    def follow(self, here: int, stop: int, length: float, from_start: Floats, to_goal: Floats) -> Walk:
        """The path from ``here`` to ``stop`` of a given length, for sweepers that are backward.

        The same as that of :meth:`Sweeper.follow` after a sweep towards ``stop``. What is known per node about the
        distance from the start and to the goal of a trip keeps the sweep to nodes that may lie on the path.
        """
        slack = 0.0 if self._rows.by_hops else _ROUNDING * (from_start[here] + length + to_goal[here])
        path = self._lead(here, stop, length, slack, from_start, to_goal)
        if not path.size:  # longer than was said, as sums of very different costs may be
            path = self._lead(here, stop, math.inf, 0.0, from_start, to_goal)
        return path

    def _lead(self, here: int, stop: int, length: float, slack: float, from_start: Floats, to_goal: Floats) -> Ints:
        """A shortest path, of several the one of a whole sweep; empty where there is none of that length."""
        seeds = np.array([stop], dtype=np.uint32)
        self._wanted[here] = True
        num_reached = self._rows.sweep(
            seeds,
            np.zeros(1),
            ahead=from_start,
            ahead_limit=length + float(from_start[here]) + slack,
            behind=to_goal,
            behind_limit=length - float(to_goal[here]) + slack,
            wanted=self._wanted,
            num_wanted=1,
            reached=self._reached,
        )
        self.num_sweeps += 1
        is_there = not self._wanted[here]
        self._wanted[here] = False
        path = self._rows.follow(here) if is_there else NO_WALK
        self._forget(seeds, num_reached)
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


def _add_costs(domain: Domain, nodes: Walk) -> float:
    """Sum of the costs along a walk, from its first edge to its last; infinite where an edge is missing."""
    tails, heads = nodes[:-1], nodes[1:]
    first, end = domain.indptr[tails].astype(np.int64), domain.indptr[tails + 1].astype(np.int64)
    num = end - first
    step = np.repeat(np.arange(tails.size), num)
    # The edges that leave each node of the walk, one behind the other; of those to the next node the first counts.
    edges = np.arange(step.size) + np.repeat(first - np.cumsum(num) + num, num)
    is_taken = domain.indices[edges] == heads[step]
    taken_steps, place = np.unique(step[is_taken], return_index=True)
    costs = np.full(tails.size, np.inf)
    costs[taken_steps] = domain.costs[edges[is_taken][place]]
    # Not by `sum`, which adds in another order.
    return float(np.cumsum(costs)[-1]) if costs.size else 0.0


def walk_cost(domain: Domain, nodes: Walk) -> float:
    """Sum of the edge costs along a walk, an integer when the domain's costs are."""
    total = _add_costs(domain, nodes)
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

    Parameters
    ----------
    walk
        Nodes from start to goal; empty when there is none to show.
    cost
        Cost of the walk, infinite without one.
    status
        How much is proved.
    lower_bound
        What the search proved that every covering walk costs at least.
    counts
        How much work it was.
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
