"""Branch and bound over partitions into classes, as trees walked depth first (paper, Algorithm 2 and supplement).

A partition is a list of sets in the order of their lowest members; a set is an entry of a pool that holds its bit mask
and covering costs. The caller owns the arrays. A search stops whenever it meets a set that is not in the pool yet and
goes on there once the caller has put it in, so covering costs may come from anywhere and each is asked for once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veilroute.arrays import Floats, Int32s, Masks
from veilroute.kernels.jit import jit

EXHAUSTED, PAUSED, IMPROVED, NEEDS_SET, NO_ROOM = range(5)
"""How a search returns: at its end, after its share of steps, with a better partition, or for want of something."""

DEPTH, IS_FRESH, NUM_VISITED, NUM_DUPLICATES, BEST_GROUPED, BEST_COUNT, WANTED, NUM_CLOSED, MAY_GROW, DRAW = range(10)
"""What stands where in ``numbers``."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX_AGAIN = np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)


class Pool(NamedTuple):
    """The sets that are known.

    Parameters
    ----------
    masks, sizes
        Members of each set, and how many.
    near
        Members that stand too close to a member of the set.
    costs
        Covering cost by set and trip; infinite where no walk covers it.
    ratios
        By set and trip the sum of ``w_t`` over its members, times the weight of the trip.
    fixed
        By set the sum of ``w_t * b_t``, trips weighted, so that a set costs ``costs . ratios - fixed``.
    shares
        That cost, the paper's ``ac``.
    slots
        Open hashing from masks to sets, -1 where free; a power of two.
    """

    masks: Masks
    sizes: Masks
    near: Masks
    costs: Floats
    ratios: Floats
    fixed: Floats
    shares: Floats
    slots: Int32s


class Tree(NamedTuple):
    """Where a search stands.

    Parameters
    ----------
    parts, counts
        The partition at each depth: its sets, and how many.
    pairs, num_pairs
        What is to be tried at each depth, in order.
    positions
        How far it has been tried.
    sums
        What the qualifying sets cost at each depth.
    best
        The sets of the best partition so far; its cost is ``best_cost[0]``.
    numbers
        See :data:`DEPTH` and the names after it.
    """

    parts: Int32s
    counts: Masks
    pairs: Int32s
    num_pairs: Masks
    positions: Masks
    sums: Floats
    best: Int32s
    best_cost: Floats
    numbers: Masks


@jit
def mix(word: int) -> np.uint64:
    """Scatter a number over all bits."""
    mixed = np.uint64(word) * _MIX
    mixed = (mixed ^ (mixed >> _HALF)) * _MIX_AGAIN
    return mixed ^ (mixed >> _HALF)


@jit
def find_set(mask: int, pool: Pool) -> int:
    """Where a set stands in the pool, or -1 less the slot where it belongs."""
    last = pool.slots.size - 1
    at = np.int64(mix(mask) & np.uint64(last))
    while pool.slots[at] >= 0:
        if pool.masks[pool.slots[at]] == mask:
            return int(pool.slots[at])
        at = (at + 1) & last
    return int(-1 - at)


@jit
def find_union(one: int, other: int, pool: Pool, tree: Tree) -> int:
    """Where the union of two sets stands in the pool; -1 when it does not, after noting that it is wanted."""
    union = pool.masks[one] | pool.masks[other]
    found = find_set(union, pool)
    if found >= 0:
        return found
    tree.numbers[WANTED] = union
    return -1


@jit
def fill_slots(first: int, end: int, pool: Pool) -> None:
    """Enter the sets from ``first`` up to ``end``, which are all different, into the slots."""
    for i in range(first, end):
        pool.slots[-1 - find_set(pool.masks[i], pool)] = i


@jit
def measure(k: int, depth: int, pool: Pool, tree: Tree) -> tuple[int, float]:
    """How many members the qualifying sets hold (the paper's \\|ap\\|), and what they cost (\\|ap\\| times mac)."""
    grouped = 0
    cost = 0.0
    for p in range(tree.counts[depth]):
        one = tree.parts[depth, p]
        if pool.sizes[one] >= k:
            grouped += pool.sizes[one]
            cost += pool.shares[one]
    return grouped, cost


@jit
def is_prunable(k: int, num: int, margin: float, one: int, other: int, cost: float, pool: Pool, tree: Tree) -> bool:
    """The paper's Prunable (Algorithm 3) for the sets ``one`` and ``other`` of a partition that costs ``cost``.

    Merging two qualifying sets never pays; sets that hold members too close never qualify; and once a partition holds
    everybody, a merge is not worth trying whose cheapest possible cost leaves no room for improvement.
    """
    if pool.sizes[one] >= k and pool.sizes[other] >= k:
        return True
    if pool.masks[one] & pool.near[other]:
        return True
    if tree.numbers[BEST_GROUPED] == num:
        allowed = tree.best_cost[0] - cost + pool.shares[one] + pool.shares[other]
        least = -pool.fixed[one] - pool.fixed[other]
        for trip in range(pool.costs.shape[1]):
            dearer = max(pool.costs[one, trip], pool.costs[other, trip])
            least += dearer * (pool.ratios[one, trip] + pool.ratios[other, trip])
        return bool(least >= allowed - margin)
    return False


@jit
def keep_if_better(grouped: int, cost: float, margin: float, depth: int, tree: Tree) -> bool:
    """Make the partition at ``depth`` the best one if it groups more members, or as many for less."""
    best = tree.numbers[BEST_GROUPED]
    if grouped < best or (grouped == best and (grouped == 0 or cost >= tree.best_cost[0] - margin)):
        return False
    tree.numbers[BEST_GROUPED] = grouped
    tree.best_cost[0] = cost
    tree.numbers[BEST_COUNT] = tree.counts[depth]
    for p in range(tree.counts[depth]):
        tree.best[p] = tree.parts[depth, p]
    return True
