"""What the costs of pairs tell about classes: good partners for each member, and a first partition."""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Flags, Floats, Ints
from veilroute.kernels.jit import jit


@jit
def find_partners(
    k: int,
    num_apart: int,
    weights: Floats,
    fixed: Floats,
    pair_costs: Floats,
    compatible: Flags,
    apart: Flags,
    partners: Ints,
    least: Floats,
) -> None:
    """Write each member's best partners, the cheapest pair first, and what it adds to any class at least.

    Parameters
    ----------
    k
        How many members a class must have.
    num_apart
        How many of the partners must be ``apart``; these come first.
    weights, fixed, pair_costs, compatible
        See :class:`~veilroute.kernels.regroup.Tours`.
    apart
        Per two members.
    partners
        As many as there are columns, -1 where there are no more. Ties: the lower member.
    least
        A class holds k - 1 others; 0 for members that have fewer partners.
    """
    num_trips, num = weights.shape
    num_partners = partners.shape[1]
    values = np.empty(num)
    best = np.empty(num_partners)
    smallest = np.empty(k - 1)
    for a in range(num):
        least[a] = -fixed[a]
        for trip in range(num_trips):
            smallest[:] = np.inf
            for b in range(num):
                cost = pair_costs[trip, a, b]
                if compatible[a, b] and cost < smallest[k - 2]:
                    e = k - 2
                    while e > 0 and smallest[e - 1] > cost:
                        smallest[e] = smallest[e - 1]
                        e -= 1
                    smallest[e] = cost
            least[a] += smallest[k - 2] * weights[trip, a]
        if least[a] == np.inf:
            least[a] = 0.0
        for b in range(num):
            values[b] = np.inf
            if compatible[a, b]:
                values[b] = -fixed[a] - fixed[b]
                for trip in range(num_trips):
                    values[b] += pair_costs[trip, a, b] * (weights[trip, a] + weights[trip, b])
        held = 0
        for turn in range(2):
            first = held
            end = num_apart if turn == 0 else num_partners
            for b in range(num):
                if values[b] == np.inf or (turn == 0 and not apart[a, b]):
                    continue
                if held == end and (held == first or values[b] >= best[held - 1]):
                    continue
                e = held if held < end else held - 1
                held = e + 1
                while e > first and best[e - 1] > values[b]:
                    best[e] = best[e - 1]
                    partners[a, e] = partners[a, e - 1]
                    e -= 1
                best[e] = values[b]
                partners[a, e] = b
            for e in range(first, held):
                values[partners[a, e]] = np.inf
        for e in range(held, num_partners):
            partners[a, e] = -1


@jit
def group_greedily(
    order: Ints,
    k: int,
    max_size: int,
    weights: Floats,
    fixed: Floats,
    pair_costs: Floats,
    compatible: Flags,
    apart: Flags,
    class_of: Ints,
) -> int:
    """Let each member in no class yet begin one with the k - 1 that seem to fit best; returns how many there are.

    Those who find too few then join the class where that seems to cost least. What a class costs is taken to be the
    most that two of its members cost. Ties: the lowest member or class. Complexity: a look at every pair, k times.

    Parameters
    ----------
    order
        Who begins first.
    k, max_size
        How many members a class must and may have.
    weights, fixed, pair_costs
        See :class:`~veilroute.kernels.regroup.Tours`.
    compatible, apart
        Who may be in a class together, and who may be among its first k together.
    class_of
        Where the class of each member is written, -1 before.
    """
    num_trips, num = weights.shape
    num_classes = 0
    # For the class that is begun: who may come in, and at what costs.
    is_open = np.empty(num, dtype=np.bool_)
    costs = np.empty((num, num_trips))
    weight = np.empty(num_trips)
    chosen = np.empty(k, dtype=np.int64)
    for a in order:
        if class_of[a] >= 0:
            continue
        for b in range(num):
            is_open[b] = class_of[b] < 0
            for trip in range(num_trips):
                costs[b, trip] = pair_costs[trip, a, a]
        weight[:] = 0.0
        size = 0
        newest = a
        while newest >= 0:
            chosen[size] = newest
            size += 1
            if size == k:
                break
            is_open[newest] = False
            for trip in range(num_trips):
                weight[trip] += weights[trip, newest]
            following = -1
            lowest = np.inf
            for b in range(num):
                if not is_open[b]:
                    continue
                if not (compatible[newest, b] and apart[newest, b]):
                    is_open[b] = False
                    continue
                value = -fixed[b]
                for trip in range(num_trips):
                    # The class has cost as much as its newest member with those before it.
                    cost = max(costs[newest, trip], pair_costs[trip, newest, b])
                    costs[b, trip] = max(costs[b, trip], cost)
                    value += costs[b, trip] * (weight[trip] + weights[trip, b])
                if value < lowest:
                    lowest = value
                    following = b
            newest = following
        if size == k:
            for e in range(k):
                class_of[chosen[e]] = num_classes
            num_classes += 1
    sizes = np.zeros(num_classes, dtype=np.int64)
    class_costs = np.zeros((num_classes, num_trips))
    class_weights = np.zeros((num_classes, num_trips))
    for b in range(num):
        c = class_of[b]
        if c >= 0:
            sizes[c] += 1
            for trip in range(num_trips):
                class_weights[c, trip] += weights[trip, b]
                for a in range(num):
                    if class_of[a] == c:
                        class_costs[c, trip] = max(class_costs[c, trip], pair_costs[trip, a, b])
    wider_costs = np.empty((num_classes, num_trips))
    may_join = np.empty(num_classes, dtype=np.bool_)
    for a in order:
        if class_of[a] >= 0:
            continue
        for c in range(num_classes):
            may_join[c] = sizes[c] < max_size
            for trip in range(num_trips):
                wider_costs[c, trip] = class_costs[c, trip]
        for b in range(num):
            c = class_of[b]
            if c >= 0:
                may_join[c] &= compatible[a, b]
                for trip in range(num_trips):
                    wider_costs[c, trip] = max(wider_costs[c, trip], pair_costs[trip, a, b])
        joined = -1
        lowest = np.inf
        for c in range(num_classes):
            value = 0.0
            for trip in range(num_trips):
                value += wider_costs[c, trip] * (class_weights[c, trip] + weights[trip, a])
                value -= class_costs[c, trip] * class_weights[c, trip]
            if may_join[c] and value < lowest:
                lowest = value
                joined = c
        if joined >= 0:
            class_of[a] = joined
            sizes[joined] += 1
            for trip in range(num_trips):
                class_costs[joined, trip] = wider_costs[joined, trip]
                class_weights[joined, trip] += weights[trip, a]
    return num_classes
