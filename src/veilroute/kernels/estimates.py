"""Lower bounds on what a covering walk still has to travel, for A* (paper, section 4.3, and two steps beyond).

A state is a node and the bit mask of the targets that are left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veilroute.arrays import Floats, Ints
from veilroute.kernels.jit import jit

BLIND, TUNNEL, SINGLETON, TREE, TOUR = range(5)
"""The heuristics by number."""


class Estimator(NamedTuple):
    """A heuristic made ready for the targets of one search. Arrays that its kind does not need are empty.

    Parameters
    ----------
    kind
        Which heuristic.
    reach_rows, reach
        ``reach[reach_rows[u], n]`` is the distance from n to the nearest watcher of target u.
    through_rows, through
        ``through[through_rows[u], n]`` is the distance from n by some watcher of u to the goal.
    to_goal
        Per node the distance to the goal.
    ends
        Per target the distance from its nearest watcher to the goal.
    rest
        The table of :func:`tree_table` or :func:`tour_table`.
    """

    kind: int
    reach_rows: Ints
    reach: Floats
    through_rows: Ints
    through: Floats
    to_goal: Floats
    ends: Floats
    rest: Floats


@jit
def estimate_state(estimator: Estimator, node: int, left: int) -> float:
    """The heuristic at a state, in O(targets)."""
    kind = estimator.kind
    if kind == BLIND:
        return 0.0
    if left == 0:
        onward: float = estimator.to_goal[node]
        return onward
    furthest = 0.0
    nearest = np.inf
    last = np.inf
    alone = 0.0
    tour = np.inf
    for u in range(estimator.ends.size):
        if not (left >> u) & 1:
            continue
        if kind != SINGLETON:
            there = estimator.reach[estimator.reach_rows[u], node]
            furthest = max(furthest, there)
            nearest = min(nearest, there)
            if kind == TOUR:
                tour = min(tour, there + estimator.rest[left, u])
        if kind in (SINGLETON, TOUR):
            alone = max(alone, estimator.through[estimator.through_rows[u], node])
        last = min(last, estimator.ends[u])
    if kind == TUNNEL:
        return furthest + last
    if kind == SINGLETON:
        return alone
    if kind == TREE:
        tree: float = nearest + estimator.rest[left, 0]
        return tree
    return max(alone, tour)


@jit
def estimate_states(estimator: Estimator) -> Floats:
    """The heuristic at every state, a row for each set of targets left, a column for each node: to study it."""
    values = np.empty((1 << estimator.ends.size, estimator.to_goal.size))
    for left in range(values.shape[0]):
        for node in range(values.shape[1]):
            values[left, node] = estimate_state(estimator, node, left)
    return values


@jit
def tour_table(between: Floats, ends: Floats) -> Floats:
    """For every set of targets and first target in it the least sum of ``between`` along an order, plus its end.

    ``between[u, x]`` is the least distance from a watcher of u to one of x. Held and Karp's recursion, O(2^z z^2).
    """
    num = ends.size
    table = np.full((1 << num, num), np.inf)
    for left in range(1, 1 << num):
        for u in range(num):
            if not (left >> u) & 1:
                continue
            others = left ^ (1 << u)
            if others == 0:
                table[left, u] = ends[u]
                continue
            best = np.inf
            for x in range(num):
                if (others >> x) & 1:
                    best = min(best, between[u, x] + table[others, x])
            table[left, u] = best
    return table


@jit
def tree_table(between: Floats, ends: Floats) -> Floats:
    """For every set of targets the weight of a minimum spanning tree over them and the goal, one column.

    Edges weigh the lesser of ``between`` in both directions, those to the goal ``ends``. Prim's algorithm for each
    set, O(2^z z^2).
    """
    num = ends.size
    table = np.zeros((1 << num, 1))
    nearest = np.empty(num)
    is_in = np.empty(num, dtype=np.bool_)
    for left in range(1, 1 << num):
        for u in range(num):
            nearest[u] = ends[u]
            is_in[u] = not (left >> u) & 1
        total = 0.0
        while True:
            best = -1
            for u in range(num):
                if not is_in[u] and (best < 0 or nearest[u] < nearest[best]):
                    best = u
            if best < 0:
                break
            total += nearest[best]
            is_in[best] = True
            for u in range(num):
                nearest[u] = min(nearest[u], between[u, best], between[best, u])
        table[left, 0] = total
    return table
