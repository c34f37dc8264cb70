"""The best partition out of given classes, for few members: each class a bit mask, each set of members solved once."""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Floats, Ints, Masks
from veilroute.kernels.jit import jit
from veilroute.kernels.subsets import count_bits


@jit
def combine_classes(num: int, masks: Masks, shares: Floats, first_of: Ints, may_leave_out: bool) -> Masks:
    """The class chosen for every set of members that comes up, 0 where its lowest member is best left out.

    Classes are sorted by their lowest member; those of member i are ``masks[first_of[i]:first_of[i + 1]]``. More
    members grouped beats a lower cost; of equally good classes the first one wins. The last entry is the whole set's;
    it is -1 where nobody may be left out and there is no partition.
    """
    everyone = (1 << num) - 1
    comes_up = np.zeros(1 << num, dtype=np.bool_)
    comes_up[everyone] = True
    # What is left of a set is a smaller number: from above for what comes up, from below for what is best.
    for now in range(everyone, 0, -1):
        if not comes_up[now]:
            continue
        lowest = 0
        while not (now >> lowest) & 1:
            lowest += 1
        if may_leave_out:
            comes_up[now ^ (1 << lowest)] = True
        for c in range(first_of[lowest], first_of[lowest + 1]):
            if not masks[c] & ~now:
                comes_up[now ^ masks[c]] = True
    grouped = np.full(1 << num, -1, dtype=np.int8)
    cost = np.full(1 << num, np.inf)
    choice = np.full(1 << num, -1, dtype=np.int64)
    grouped[0] = 0
    cost[0] = 0.0
    for now in range(1, everyone + 1):
        if not comes_up[now]:
            continue
        lowest = 0
        while not (now >> lowest) & 1:
            lowest += 1
        if may_leave_out:
            grouped[now] = grouped[now ^ (1 << lowest)]
            cost[now] = cost[now ^ (1 << lowest)]
            choice[now] = 0
        for c in range(first_of[lowest], first_of[lowest + 1]):
            if masks[c] & ~now or grouped[now ^ masks[c]] < 0:
                continue
            total = grouped[now ^ masks[c]] + count_bits(masks[c])
            value = cost[now ^ masks[c]] + shares[c]
            if total > grouped[now] or (total == grouped[now] and value < cost[now]):
                grouped[now] = total
                cost[now] = value
                choice[now] = masks[c]
    return choice
