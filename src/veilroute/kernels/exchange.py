"""Members exchanged between two classes that are too large to be grouped anew as a whole."""

from __future__ import annotations

import numpy as np

from veilroute.kernels.extension import has_clique
from veilroute.kernels.jit import jit
from veilroute.kernels.regroup import Listed, Union
from veilroute.kernels.subsets import Positions, count_bits
from veilroute.kernels.sweep import Floats


@jit
def _share(inside: Positions, size: int, below: float, union: Union, costs: Floats) -> float:
    """What a set adds, infinite where no walk covers it or where two of its members make it clear that it is too much.

    By dynamic programming over (visited members, last post), whose values are kept in ``costs``.
    """
    weights, pairs, steps = union.weights, union.pairs, union.steps
    first_post, first, last = union.first_post, union.first, union.last
    everyone = (1 << size) - 1
    num_trips = weights.shape[0]
    weight = np.zeros(num_trips)
    share = 0.0
    for e in range(size):
        share -= union.fixed[inside[e]]
    at_least = share
    for trip in range(num_trips):
        cost = 0.0
        for e in range(size):
            weight[trip] += weights[trip, inside[e]]
            for f in range(e):
                cost = max(cost, pairs[trip, inside[e], inside[f]])
        at_least += cost * weight[trip]
    if at_least >= below:
        return np.inf
    for trip in range(num_trips):
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
        share += cost * weight[trip]
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
        The members.
    costs
        Memory, see :class:`~veilroute.kernels.regroup.Rows`.
    listed
        Where the classes are returned.

    Returns
    -------
    tuple[int, int]
        2, or -1 when there is nothing; then how many sets were priced. Ties: the first leaving, then the first coming.
    """
    friends, far, least = union.friends, union.far, union.least
    own = (1 << num_own) - 1
    everyone = (1 << num) - 1
    inside = np.empty(num, dtype=np.int64)
    masks = np.empty(2, dtype=np.int64)
    shares = np.empty(2)
    found = -1
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
            # What the second class adds at least is spared while the first one is priced.
            spared = 0.0
            for i in range(num):
                if (masks[1] >> i) & 1:
                    spared += least[i]
            total = 0.0
            for side in range(2):
                size = count_bits(masks[side])
                e = 0
                for i in range(num):
                    if (masks[side] >> i) & 1:
                        inside[e] = i
                        e += 1
                if size < k or size > max_size or (is_loose and not has_clique(far, masks[side], k)):
                    total = np.inf
                    break
                work += 1
                shares[side] = _share(inside, size, below - total - spared, union, costs)
                total += shares[side]
                if total + spared >= below:
                    total = np.inf
                    break
                spared = 0.0
            if total < below:
                below = total
                found = 2
                for side in range(2):
                    listed.found_masks[side] = masks[side]
                    listed.found_shares[side] = shares[side]
    return found, work
