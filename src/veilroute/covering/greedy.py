"""A quick covering walk, for searches that have to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veilroute.arrays import Walk
from veilroute.covering.found import Counts, Found
from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask
from veilroute.covering.walks import NO_WALK, walk_cost


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
    """What a search returns when it has to stop: what it proved, and a quick walk if one keeps to the bound."""
    swept = forward.num_sweeps
    walk = walk_greedily(task, members, trip, forward)
    counts = replace(counts, num_sweeps=counts.num_sweeps + forward.num_sweeps - swept)
    cost = walk_cost(task.domain, walk) if walk.size else math.inf
    # Covering one member alone, or none, never costs more.
    lower = max(lower, float(task.least_costs(members, trip).max()))
    if cost > highest or cost == math.inf:
        return Found(NO_WALK, math.inf, "unknown", lower, counts)
    return Found(walk, cost, "optimal" if cost <= lower else "feasible", min(lower, cost), counts)
