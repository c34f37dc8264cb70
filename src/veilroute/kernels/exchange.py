"""Members exchanged between two classes that are too large to be grouped anew as a whole."""

from __future__ import annotations

import numpy as np

from veilroute.kernels.extension import has_clique
from veilroute.kernels.jit import jit
from veilroute.kernels.regroup import Union
from veilroute.kernels.subsets import Positions


@jit
def _least_share(inside: Positions, size: int, union: Union) -> float:
    """What a set adds at least: its walk covers every two of its members."""
    weights, pairs = union.weights, union.pairs
    share = 0.0
    for e in range(size):
        share -= union.fixed[inside[e]]
    for trip in range(weights.shape[0]):
        cost = 0.0
        weight = 0.0
        for e in range(size):
            weight += weights[trip, inside[e]]
            for f in range(e):
                cost = max(cost, pairs[trip, inside[e], inside[f]])
        share += cost * weight
    return share


@jit
def _share(inside: Positions, size: int, union: Union) -> float:
    """What a set adds, infinite where no walk covers it; by dynamic programming over (visited members, last post)."""
    weights, rows, steps = union.weights, union.rows, union.steps
    first_post, first, last = union.first_post, union.first, union.last
    everyone = (1 << size) - 1
    share = 0.0
    for e in range(size):
        share -= union.fixed[inside[e]]
    for trip in range(weights.shape[0]):
        cost = np.inf
        weight = 0.0
        for e in range(size):
            weight += weights[trip, inside[e]]
        for visited in range(1, everyone + 1):
            for e in range(size):
                if not (visited >> e) & 1:
                    continue
                before = visited ^ (1 << e)
                for q in range(first_post[inside[e]], first_post[inside[e] + 1]):
                    so_far = first[trip, q] if before == 0 else np.inf
                    for f in range(size):
                        if (before >> f) & 1:
                            for p in range(first_post[inside[f]], first_post[inside[f] + 1]):
                                so_far = min(so_far, rows[before, trip, p] + steps[p, q])
                    rows[visited, trip, q] = so_far
                    if visited == everyone:
                        cost = min(cost, so_far + last[trip, q])
        share += cost * weight
    return share


@jit
def exchange(
    k: int,
    max_size: int,
    is_loose: bool,
    num: int,
    num_own: int,
    leaving: tuple[int, int],
    coming: tuple[int, int],
    below: float,
    union: Union,
) -> tuple[int, int]:
    """The best two classes that come of two by swapping two members, or by moving one.

    Parameters
    ----------
    k, max_size, is_loose
        See :class:`~veilroute.kernels.regroup.Tours`.
    num, num_own
        How many members the union has, and how many of them, the first ones, are in one class; the others are in one.
    leaving, coming
        From which to which (excluded) of the members one may leave the first class, and one may come in; -1, and the
        last member of the first class, stand for nobody.
    below
        What the sum of shares must be less than.
    union
        Where the classes are returned.

    Returns
    -------
    tuple[int, int]
        2, or -1 when there is nothing; then how many sets were priced. Ties: the first leaving, then the first coming.
    """
    friends = union.friends
    own = (1 << num_own) - 1
    others = ((1 << num) - 1) ^ own
    inside = np.empty(num, dtype=np.int64)
    outside = np.empty(num, dtype=np.int64)
    found = -1
    work = 0
    for x in range(leaving[0], leaving[1]):
        for y in range(coming[0], coming[1]):
            one = own
            other = others
            if x >= 0:
                one ^= 1 << x
                other ^= 1 << x
            if y >= num_own:
                one ^= 1 << y
                other ^= 1 << y
            if x >= 0 and other & ~friends[x] & ~(1 << x):
                continue
            if y >= num_own and one & ~friends[y] & ~(1 << y):
                continue
            size = 0
            size_other = 0
            for i in range(num):
                if (one >> i) & 1:
                    inside[size] = i
                    size += 1
                else:
                    outside[size_other] = i
                    size_other += 1
            if min(size, size_other) < k or max(size, size_other) > max_size or (x < 0 and y < num_own):
                continue
            if is_loose and not (has_clique(union.far, one, k) and has_clique(union.far, other, k)):
                continue
            at_least = _least_share(outside, size_other, union)
            if _least_share(inside, size, union) + at_least >= below:
                continue
            work += 1
            share = _share(inside, size, union)
            if share + at_least >= below:
                continue
            work += 1
            share_other = _share(outside, size_other, union)
            if share + share_other < below:
                below = share + share_other
                found = 2
                union.found_masks[0] = one
                union.found_masks[1] = other
                union.found_shares[0] = share
                union.found_shares[1] = share_other
    return found, work
