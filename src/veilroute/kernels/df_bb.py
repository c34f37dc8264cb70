"""Depth_BB_Search: all partitions by assigning one member after the other (paper's supplement)."""

from __future__ import annotations

import numpy as np

from veilroute.kernels.branching import (
    DEPTH,
    EXHAUSTED,
    IMPROVED,
    IS_FRESH,
    NEEDS_SET,
    NUM_VISITED,
    PAUSED,
    Pool,
    Tree,
    find_union,
    is_prunable,
    keep_if_better,
    measure,
)
from veilroute.kernels.jit import jit


@jit
def search_assignments(num_steps: int, k: int, num: int, margin: float, pool: Pool, tree: Tree) -> int:
    """Depth_BB_Search (supplement) from where it stands, for at most ``num_steps`` partitions; see
    :func:`veilroute.kernels.merge_bb.search_merges`.

    At each depth the next member joins each of the sets in turn, then opens one of its own. Sets 0 to ``num - 1`` of
    the pool are the single members.
    """
    numbers = tree.numbers
    while numbers[DEPTH] >= 0:
        depth = numbers[DEPTH]
        if numbers[IS_FRESH]:
            if num_steps == 0:
                return PAUSED
            num_steps -= 1
            numbers[IS_FRESH] = 0
            numbers[NUM_VISITED] += 1
            tree.positions[depth] = 0
            grouped, cost = measure(k, depth, pool, tree)
            tree.sums[depth] = cost
            if depth == num:
                numbers[DEPTH] -= 1
                if keep_if_better(grouped, cost, margin, depth, tree):
                    return IMPROVED
                continue
        cost = tree.sums[depth]
        at = tree.positions[depth]
        if at > tree.counts[depth]:
            numbers[DEPTH] -= 1
            continue
        joined = depth
        if at < tree.counts[depth]:
            one = tree.parts[depth, at]
            if is_prunable(k, num, margin, one, depth, cost, pool, tree):
                tree.positions[depth] += 1
                continue
            joined = find_union(one, depth, pool, tree)
            if joined < 0:
                return NEEDS_SET
        tree.positions[depth] += 1
        if pool.shares[joined] == np.inf:
            continue
        for p in range(tree.counts[depth]):
            tree.parts[depth + 1, p] = tree.parts[depth, p]
        tree.parts[depth + 1, at] = joined
        tree.counts[depth + 1] = max(tree.counts[depth], at + 1)
        numbers[DEPTH] += 1
        numbers[IS_FRESH] = 1
    return EXHAUSTED
