"""Walks as node sequences, what a search for one returns, and a quick walk that is not the best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask
from veilroute.domain.graph import Domain
from veilroute.kernels.sweep import add_costs
from veilroute.progress import Watch

Walk = npt.NDArray[np.int64]
CoverStatus = Literal["optimal", "feasible", "infeasible", "over-bound", "unknown"]

NO_WALK: Walk = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Counts:
    """How much work a search was.

    Parameters
    ----------
    num_expanded, num_generated
        States that an A* search took off and put on its open list; 0 for other engines.
    num_sweeps
        Sweeps of the graph.
    """

    num_expanded: int = 0
    num_generated: int = 0
    num_sweeps: int = 0


@dataclass(frozen=True, eq=False)
class Found:
    """What an engine found for a set of members.

    Parameters
    ----------
    walk
        Nodes from start to goal; empty when there is none to show.
    cost
        Cost of the walk, infinite without one.
    status
        As :class:`~veilroute.covering.cover.Cover` has it.
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


class CoverEngine(Protocol):
    """Finds covering walks for the members of one task."""

    def find(
        self, members: Sequence[int], trip: int = 0, *, cost_bound: float = math.inf, watch: Watch | None = None
    ) -> Found:
        """The cheapest walk of a trip that covers ``members`` (positions in the task)."""


def walk_cost(domain: Domain, nodes: Walk) -> float:
    """Sum of the edge costs along a walk, an integer when the domain's costs are."""
    total = float(add_costs(domain.indptr, domain.indices, domain.costs, nodes))
    return int(total) if domain.has_integer_costs and math.isfinite(total) else total


def walk_through(backward: Sweeper, start: int, stops: Iterable[int]) -> Walk:
    """The walk from ``start`` to each stop in turn, by the shortest paths of :meth:`Sweeper.follow`."""
    legs = [np.array([start], dtype=np.int64)]
    for stop in stops:
        here = int(legs[-1][-1])
        if here != stop:
            backward.run(stop)
            legs.append(backward.follow(here)[1:])
    return np.concatenate(legs)


def walk_greedily(task: CoveringTask, members: Sequence[int], trip: int, forward: Sweeper) -> Walk:
    """A covering walk by always going to the nearest post of something uncovered; empty where that gets stuck.

    Something to return when the time is over, and a bound for searches. Ties: the post with the lowest number. On
    one-way graphs the nearest post may lead away from the others.
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
            nearest = task.goals[trip]
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
) -> Found:
    """What a search returns when the time is over: what it proved, and a quick walk if one keeps to the bound."""
    swept = forward.num_sweeps
    walk = walk_greedily(task, members, trip, forward)
    counts = replace(counts, num_sweeps=counts.num_sweeps + forward.num_sweeps - swept)
    cost = walk_cost(task.domain, walk) if walk.size else math.inf
    if cost > highest or cost == math.inf:
        return Found(NO_WALK, math.inf, "unknown", lower, counts)
    return Found(walk, cost, "optimal" if cost <= lower else "feasible", min(lower, cost), counts)
