"""Dynamic programmes over all subsets of up to about twenty candidates.

The best partition of every set, out of classes given by a table or by a list: each class is a bit mask, and each set of
members is solved once.
"""

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int8s, Ints, Masks
from veilroute.kernels.jit import jit
from veilroute.kernels.subsets import count_bits


@jit
def partition_range(
    first: int, last: int, max_size: int, needed: Flags, shares: Floats, worth: Int8s | Ints, grouped: Int8s | Ints,
    slack: int, cost: Floats, choice: Masks, stack: Masks, bits: Masks,
) -> None:  # fmt: skip
    """Best grouping of every set from ``first`` up to but not including ``last``.

    ``shares[C]`` is the cost of class C, infinite where C may not be a class; classes have at most ``max_size``
    members, and ``needed`` marks them and all their subsets. The lowest member either stays out or is in the class
    that is tried; classes are tried in lexicographic order of their members and the first best one wins. More that is
    grouped, by what sets are ``worth``, beats a lower cost; what differs by no more than the ``slack`` is as much.

    Left out are sets that are not met on the way down from all members up to some number: below its lowest member a set
    has lost everybody, so that above it, it has lost no more than the classes of these can hold. ``stack`` and ``bits``
    are scratch, an entry for each member.
    """
    num_up_to = 0
    # Each set in turn; all that is smaller has been solved.
    for mask in range(first, last):
        low = mask & -mask
        while mask >> num_up_to:
            num_up_to += 1
        num_below = 0
        while not (mask >> num_below) & 1:
            num_below += 1
        num_lost = num_up_to - num_below
        rest = mask
        while rest:
            rest &= rest - 1
            num_lost -= 1
        if num_lost > num_below * (max_size - 1):
            continue
        rest = mask ^ low
        best_grouped = most = np.int64(grouped[rest])
        best_cost = cost[rest]
        best_choice = low & 0
        num_bits = 0
        while rest:
            bits[num_bits] = rest & -rest
            rest &= rest - 1
            num_bits += 1
        group = low
        depth = 0
        following = 0
        # Every class with the lowest member, depth first in lexicographic order.
        while True:
            if shares[group] < np.inf:
                left = mask ^ group
                total = np.int64(grouped[left]) + worth[group]
                value = cost[left] + shares[group]
                most = max(most, total)
                if best_grouped < most - slack or (total >= most - slack and value < best_cost):
                    best_grouped = total
                    best_cost = value
                    best_choice = group
            is_stuck = depth + 1 == max_size or not needed[group]
            while depth > 0 and (following == num_bits or is_stuck):
                depth -= 1
                group ^= bits[stack[depth]]
                following = stack[depth] + 1
                is_stuck = False
            if following == num_bits or is_stuck:
                break
            stack[depth] = following
            group |= bits[following]
            depth += 1
            following += 1
        grouped[mask] = most
        cost[mask] = best_cost
        choice[mask] = best_choice


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
    grouped = np.empty(1 << num, dtype=np.int8)
    cost = np.empty(1 << num)
    choice = np.empty(1 << num, dtype=np.int64)
    # Nothing is known of any set but the empty one.
    for now in range(1 << num):
        grouped[now] = -1
        cost[now] = np.inf
        choice[now] = -1
    grouped[0] = 0
    cost[0] = 0.0
    # The lowest member of a set is left out, or in one of the classes that begin with it; the rest is known.
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
