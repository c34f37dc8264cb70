"""A* over (node, targets left) with its states in flat arrays, and its heuristics (paper, section 4.3, and beyond).

A state is a node and the bit mask of the targets that are left. The heuristics are lower bounds on what a covering walk
still has to travel from there. The caller owns the arrays and makes them larger when :func:`expand_states` asks for it,
so the kernel can be left and entered again between two expansions.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from veilroute.base.arrays import Flags, Floats, Indices, Int32s, Ints
from veilroute.kernels.jit import compile_plain, jit, specialise
from veilroute.kernels.tables import drop_first, find_key, push

BLIND, TUNNEL, SINGLETON, TREE, TOUR, PLUGIN = range(6)
"""The heuristics by number; the last stands for any that is not written here."""


class Estimator(NamedTuple):
    """A heuristic made ready for the targets of one search. Arrays that its kind does not need are empty."""

    kind: int  # which heuristic
    # ``reach[reach_rows[u], n]`` is the distance from n to the nearest watcher of target u.
    reach_rows: Ints
    reach: Floats
    # ``through[through_rows[u], n]`` is the distance from n by some watcher of u to the goal.
    through_rows: Ints
    through: Floats
    to_goal: Floats  # per node the distance to the goal
    ends: Floats  # per target the distance from its nearest watcher to the goal
    rest: Floats  # the table of :func:`tree_table` or :func:`tour_table`


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
    # One tree for each set of targets.
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


PAUSED, FOUND, EXHAUSTED, NO_ROOM = range(4)  #: how :func:`expand_states` ends

NUM_STATES, HEAP_SIZE, NUM_EXPANDED, NUM_GENERATED, GOAL_STATE = range(5)  #: what stands where in ``counts``

_NODE_BITS = 32
_NODE = (1 << _NODE_BITS) - 1


@jit
def mark_seen(num_nodes: int, watch_ptr: Ints, watch_nodes: Indices) -> Ints:
    """For every node the bit mask of the targets that it sees."""
    seen = np.zeros(num_nodes, dtype=np.int64)
    for u in range(watch_ptr.size - 1):
        for w in range(watch_ptr[u], watch_ptr[u + 1]):
            seen[watch_nodes[w]] |= np.int64(1) << u
    return seen


@jit
def expand_states(
    num_expansions: int, goal: int, bound: float, margin: float, indptr: Indices, indices: Indices, costs: Floats,
    seen: Ints, estimator: Estimator, keys: Ints, paid: Floats, ahead: Floats, parents: Int32s, is_open: Flags,
    slots: Int32s, heap_keys: Floats, heap_states: Indices, counts: Ints, least_cut: Floats, is_last_first: bool,
    is_late: bool,
) -> int:  # fmt: skip
    """Expand states in the order of (f, h, when made) until the goal is due, at most ``num_expansions``.

    ``is_last_first``: of states with equal f and h the one that was made last is expanded first, and a state that is
    reached more cheaply is made again; else the one that was made first, and such a state keeps its turn. ``is_late``:
    what a node sees is taken off when the walk leaves it, and not when it arrives there.
    ``num_expansions``: pause after this many. ``goal``, ``bound``: where to end; states whose f is above the bound are
    cut, ``least_cut[0]`` keeps the smallest such f. ``margin``: a state that was expanded is taken up again only when
    it is reached for less than this times what was paid, so that the order of additions does not reopen it. ``indptr``,
    ``indices``, ``costs``, ``seen``: the graph, and the targets that each node sees. ``estimator``: the heuristic.
    ``keys``, ``paid``, ``ahead``, ``parents``, ``is_open``: the states: ``targets left << 32 | node``, g, h, the state
    before it, whether it waits to be expanded. ``slots``: the hash table from keys to states. ``heap_keys``,
    ``heap_states``: the open list: f and state, the lower h first. Entries whose state has been improved since are
    passed over. ``counts``: see :data:`NUM_STATES` and the names after it.

    Returns ``FOUND``, ``EXHAUSTED``, ``PAUSED``, or ``NO_ROOM`` when arrays must grow before the next expansion.
    """
    for _ in range(num_expansions):
        # Drop what was improved or expanded since it was put here.
        while counts[HEAP_SIZE] > 0:
            state = heap_states[0]
            if is_open[state] and heap_keys[0] == paid[state] + ahead[state]:
                break
            counts[HEAP_SIZE] = drop_first(heap_keys, heap_states, counts[HEAP_SIZE], ahead, is_last_first)
        if counts[HEAP_SIZE] == 0:
            return EXHAUSTED
        state = heap_states[0]
        node = np.uint32(keys[state] & _NODE)
        left = keys[state] >> _NODE_BITS
        if is_late:
            left &= ~seen[node]
        if left == 0 and node == goal:
            counts[GOAL_STATE] = state
            return FOUND
        degree = np.int64(indptr[node + 1]) - np.int64(indptr[node])
        if (
            counts[NUM_STATES] + degree > keys.size
            or 2 * (counts[NUM_STATES] + degree) > slots.size
            or counts[HEAP_SIZE] + degree > heap_keys.size
        ):
            return NO_ROOM
        counts[HEAP_SIZE] = drop_first(heap_keys, heap_states, counts[HEAP_SIZE], ahead, is_last_first)
        is_open[state] = False
        counts[NUM_EXPANDED] += 1
        # Generate the state of each neighbour, or improve it.
        for e in range(indptr[node], indptr[node + 1]):
            other = indices[e]
            other_left = left if is_late else left & ~seen[other]
            cost = paid[state] + costs[e]
            key = (other_left << _NODE_BITS) | np.int64(other)
            slot = find_key(key, keys, slots)
            next_state = slots[slot]
            if next_state >= 0:
                if cost >= (paid[next_state] if is_open[next_state] else margin * paid[next_state]):
                    continue
                value = ahead[next_state]
            else:
                value = estimate_state(estimator, other, other_left)
            if value == np.inf:
                continue
            if cost + value > bound:
                least_cut[0] = min(least_cut[0], cost + value)
                continue
            if next_state >= 0 and is_last_first:
                # The cheaper way makes the state again, under a later number; its old entry is passed over.
                is_open[next_state] = False
                next_state = np.int32(-1)
            if next_state < 0:
                next_state = np.int32(counts[NUM_STATES])
                counts[NUM_STATES] += 1
                slots[slot] = next_state
                keys[next_state] = key
                ahead[next_state] = value
            paid[next_state] = cost
            parents[next_state] = state
            is_open[next_state] = True
            counts[NUM_GENERATED] += 1
            counts[HEAP_SIZE] = push(
                heap_keys, heap_states, counts[HEAP_SIZE], cost + value, np.uint32(next_state), ahead, is_last_first
            )
    return PAUSED


def expand_states_by(estimate: Callable[..., float]) -> tuple[Callable[..., int], Callable[..., float]]:
    """:func:`expand_states` for another heuristic, and that heuristic compiled, after it was tried once.

    ``estimate(estimator, node, left)`` stands for :func:`estimate_state`.
    """
    compiled = compile_plain(estimate)
    row, field = np.zeros(1, dtype=np.int64), np.zeros((1, 1))
    float(compiled(Estimator(PLUGIN, row, field, row, field, np.zeros(1), np.zeros(1), np.empty((0, 0))), 0, 1))
    return specialise(expand_states, estimate_state=compiled), compiled


@jit
def trace_walk(goal_state: int, keys: Ints, parents: Int32s) -> Ints:
    """The nodes of the walk to a state, from its first."""
    num = 0
    state = goal_state
    # Back to the first state: how many there are, and then their nodes from the last on.
    while state >= 0:
        num += 1
        state = parents[state]
    walk = np.empty(num, dtype=np.int64)
    state = goal_state
    while state >= 0:
        num -= 1
        walk[num] = keys[state] & _NODE
        state = parents[state]
    return walk
