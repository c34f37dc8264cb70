"""Members exchanged between two classes that are too large to be grouped anew as a whole."""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Floats, Ints
from veilroute.kernels.extension import has_clique
from veilroute.kernels.jit import jit
from veilroute.kernels.regroup import Listed, Union
from veilroute.kernels.subsets import count_bits


@jit
def _share(inside: Ints, size: int, union: Union, costs: Floats) -> float:
    """What a set adds, infinite where no walk covers it.

    By dynamic programming over (visited members, last post), whose values are kept in ``costs``.
    """
    weights, steps = union.weights, union.steps
    first_post, first, last = union.first_post, union.first, union.last
    everyone = (1 << size) - 1
    share = 0.0
    for e in range(size):
        share -= union.fixed[inside[e]]
    for trip in range(weights.shape[0]):
        weight = 0.0
        for e in range(size):
            weight += weights[trip, inside[e]]
        cost = np.inf
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
                                so_far = min(so_far, costs[before, trip, p] + steps[p, q])
                    costs[visited, trip, q] = so_far
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
    costs: Floats,
    listed: Listed,
) -> tuple[int, int]:
    """Two classes that come of two by swapping two members, or by moving one: the first that cost less than wanted.

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
        The members.
    costs
        Memory, see :class:`~veilroute.kernels.regroup.Rows`.
    listed
        Where the classes are returned.

    Returns
    -------
    tuple[int, int]
        2, or -1 when there is nothing; then how many sets were priced.
    """
    weights, pairs, fixed, friends, far = union.weights, union.pairs, union.fixed, union.friends, union.far
    own = (1 << num_own) - 1
    everyone = (1 << num) - 1
    inside = np.empty((2, num), dtype=np.int64)
    masks = np.empty(2, dtype=np.int64)
    shares = np.empty(2)
    work = 0
    for x in range(leaving[0], leaving[1]):
        for y in range(coming[0], coming[1]):
            masks[0] = own
            if x >= 0:
                masks[0] ^= 1 << x
            if y >= num_own:
                masks[0] ^= 1 << y
            masks[1] = everyone ^ masks[0]
            if masks[0] == own or (x >= 0 and masks[1] & ~friends[x] & ~(1 << x)):
                continue
            if y >= num_own and masks[0] & ~friends[y] & ~(1 << y):
                continue
            # What classes add at least: their walks cover every two of their members.
            total = 0.0
            for side in range(2):
                size = 0
                shares[side] = 0.0
                for i in range(num):
                    if (masks[side] >> i) & 1:
                        inside[side, size] = i
                        shares[side] -= fixed[i]
                        size += 1
                if size < k or size > max_size or (is_loose and not has_clique(far, masks[side], k)):
                    shares[side] = np.inf
                for trip in range(weights.shape[0]):
                    cost = 0.0
                    weight = 0.0
                    for e in range(size):
                        weight += weights[trip, inside[side, e]]
                        for f in range(e):
                            cost = max(cost, pairs[trip, inside[side, e], inside[side, f]])
                    shares[side] += cost * weight
                total += shares[side]
            for side in range(2):
                if total < below:
                    work += 1
                    total -= shares[side]
                    shares[side] = _share(inside[side], count_bits(masks[side]), union, costs)
                    total += shares[side]
            if total < below:
                for side in range(2):
                    listed.found_masks[side] = masks[side]
                    listed.found_shares[side] = shares[side]
                return 2, work
    return -1, work
