"""Merge_BB_Search: all partitions by merging sets two at a time (paper, Algorithm 2)."""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Floats, Int32s, Ints, Masks
from veilroute.kernels.branching import (
    BEST_GROUPED,
    DEPTH,
    DRAW,
    EXHAUSTED,
    IMPROVED,
    IS_FRESH,
    MAY_GROW,
    NEEDS_SET,
    NO_ROOM,
    NUM_CLOSED,
    NUM_DUPLICATES,
    NUM_VISITED,
    PAUSED,
    Pool,
    Tree,
    find_union,
    is_prunable,
    keep_if_better,
    measure,
    mix,
)
from veilroute.kernels.jit import jit

BITS_PER_MEMBER = 6
MEMBERS_PER_WORD = 10
"""A partition is written down as the number of each member's set."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_MIX_AGAIN = np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_PAIR_BASE = 64


@jit
def search_merges(
    num_steps: int,
    k: int,
    num: int,
    margin: float,
    by_cost: bool,
    weights: Floats,
    pool: Pool,
    tree: Tree,
    closed: Ints,
    closed_slots: Int32s,
    keys: Floats,
) -> int:
    """Merge_BB_Search (Algorithm 2) from where it stands, for at most ``num_steps`` partitions.

    Parameters
    ----------
    num_steps
        Pause after this many.
    k, num
        The least members of a class, and how many members there are.
    margin
        What a partition must be cheaper by to be better: rounding is no improvement.
    by_cost, weights
        Merge order CostAsc, with the weights of the trips, or Random.
    pool, tree
        Known sets, and where the search stands.
    closed, closed_slots
        Partitions met before, and open hashing into them; duplicates are skipped while there is room to remember.
    keys
        Scratch for sorting pairs.

    Returns
    -------
    int
        ``EXHAUSTED``, ``PAUSED``, ``IMPROVED``, ``NEEDS_SET`` for the set ``numbers[WANTED]``, or ``NO_ROOM`` when
        ``closed`` is full and ``numbers[MAY_GROW]`` says that it can be larger.
    """
    numbers = tree.numbers
    while numbers[DEPTH] >= 0:
        depth = numbers[DEPTH]
        if numbers[IS_FRESH]:
            if num_steps == 0:
                return PAUSED
            if numbers[MAY_GROW] and numbers[NUM_CLOSED] == closed.shape[0] - 1:
                return NO_ROOM
            num_steps -= 1
            grouped, cost = measure(k, depth, pool, tree)
            tree.sums[depth] = cost
            numbers[IS_FRESH] = 0
            numbers[NUM_VISITED] += 1
            is_better = keep_if_better(grouped, cost, margin, depth, tree)
            # mac >= mac*, by cross multiplication.
            is_dear = grouped > 0 and cost * num >= (tree.best_cost[0] - margin) * grouped
            if tree.counts[depth] == 1 or grouped == num or (numbers[BEST_GROUPED] == num and is_dear):
                numbers[DEPTH] -= 1
            else:
                _order_pairs(k, num, margin, by_cost, cost, weights, pool, tree, keys)
            if is_better:
                return IMPROVED
            continue
        if tree.positions[depth] == tree.num_pairs[depth]:
            numbers[DEPTH] -= 1
            continue
        cost = tree.sums[depth]
        code = tree.pairs[depth, tree.positions[depth]]
        i = code // _PAIR_BASE
        j = code % _PAIR_BASE
        one = tree.parts[depth, i]
        other = tree.parts[depth, j]
        # Again, because the best partition may be a better one since the pairs were put in order.
        if is_prunable(k, num, margin, one, other, cost, pool, tree):
            tree.positions[depth] += 1
            continue
        merged = find_union(one, other, pool, tree)
        if merged < 0:
            return NEEDS_SET
        tree.positions[depth] += 1
        if pool.shares[merged] == np.inf:
            continue
        count = 0
        for p in range(tree.counts[depth]):
            if p != j:
                tree.parts[depth + 1, count] = merged if p == i else tree.parts[depth, p]
                count += 1
        tree.counts[depth + 1] = count
        if _is_new(depth + 1, pool, tree, closed, closed_slots):
            numbers[DEPTH] += 1
            numbers[IS_FRESH] = 1
        else:
            numbers[NUM_DUPLICATES] += 1
    return EXHAUSTED


@jit
def _order_pairs(
    k: int, num: int, margin: float, by_cost: bool, cost: float, weights: Floats, pool: Pool, tree: Tree, keys: Floats
) -> None:
    """The paper's MergeOrder: all pairs of sets that may be merged, at random or by ascending cost.

    The cost of a pair is the dearer of its walks times the number of its members; ties keep the order of the sets.
    """
    depth = tree.numbers[DEPTH]
    num_pairs = 0
    for i in range(tree.counts[depth]):
        one = tree.parts[depth, i]
        for j in range(i + 1, tree.counts[depth]):
            other = tree.parts[depth, j]
            if is_prunable(k, num, margin, one, other, cost, pool, tree):
                continue
            code = i * _PAIR_BASE + j
            if by_cost:
                dearer = 0.0
                for trip in range(weights.size):
                    dearer += weights[trip] * max(pool.costs[one, trip], pool.costs[other, trip])
                key = dearer * (pool.sizes[one] + pool.sizes[other])
                at = num_pairs
                while at > 0 and keys[at - 1] > key:
                    keys[at] = keys[at - 1]
                    tree.pairs[depth, at] = tree.pairs[depth, at - 1]
                    at -= 1
                keys[at] = key
                tree.pairs[depth, at] = code
            else:
                drawn = _draw(num_pairs + 1, tree.numbers)
                tree.pairs[depth, num_pairs] = tree.pairs[depth, drawn]
                tree.pairs[depth, drawn] = code
            num_pairs += 1
    tree.num_pairs[depth] = num_pairs
    tree.positions[depth] = 0


@jit
def _draw(num: int, numbers: Masks) -> np.int64:
    """A number below ``num``, by splitmix64 from the state in ``numbers``."""
    state = np.uint64(numbers[DRAW]) + _STEP
    numbers[DRAW] = np.int64(state)
    state = (state ^ (state >> _SHIFTS[0])) * _MIX
    state = (state ^ (state >> _SHIFTS[1])) * _MIX_AGAIN
    return np.int64((state ^ (state >> _SHIFTS[2])) % np.uint64(num))


@jit
def _is_new(depth: int, pool: Pool, tree: Tree, closed: Ints, closed_slots: Int32s) -> bool:
    """Whether a partition was not met before; it is remembered as far as there is room."""
    num = tree.numbers[NUM_CLOSED]
    key = closed[num]  # the last row is never taken, so there always is one to write to
    key[:] = 0
    for p in range(tree.counts[depth]):
        mask = pool.masks[tree.parts[depth, p]]
        member = 0
        while mask:
            if mask & 1:
                key[member // MEMBERS_PER_WORD] |= np.int64(p) << (BITS_PER_MEMBER * (member % MEMBERS_PER_WORD))
            mask >>= 1
            member += 1
    last = closed_slots.size - 1
    at = _first_slot(key, last)
    while closed_slots[at] >= 0:
        known = closed[closed_slots[at]]
        same = True
        for w in range(key.size):
            same = same and known[w] == key[w]
        if same:
            return False
        at = (at + 1) & last
    if num < closed.shape[0] - 1:
        closed_slots[at] = num
        tree.numbers[NUM_CLOSED] += 1
    return True


@jit
def _first_slot(key: Ints, last: int) -> np.int64:
    mixed = np.uint64(0)
    for word in key:
        mixed = mix(np.int64(mixed) ^ word)
    return np.int64(mixed & np.uint64(last))


@jit
def fill_closed_slots(num: int, closed: Ints, closed_slots: Int32s) -> None:
    """Enter the first ``num`` partitions, which are all different, into empty slots."""
    last = closed_slots.size - 1
    for i in range(num):
        at = _first_slot(closed[i], last)
        while closed_slots[at] >= 0:
            at = (at + 1) & last
        closed_slots[at] = i
