"""Classes under a prior: sets that begin with their heaviest member, and one more member for each of many.

A class of heaviest member h needs a mass of ``more * mass_h`` beside it, where ``more`` is 1 / beta - 1. Members are
added in an order that depends on h: those with whom it is dearest to cover first, so that a set has nearly its full
price at once. What may still come of a set P with a further member x is bounded by Lagrange: with ``gain_y`` what y
adds at least and any price ``mu >= 0`` of mass, those that follow add at least ``mu * (mass that is missing)`` plus the
sum of ``min(0, gain_y - mu * mass_y)``. The best price is found as in a knapsack, by sorting.
"""

import numpy as np

from veilroute.arrays import Flags, Floats, Int32s, Ints
from veilroute.kernels.jit import jit


@jit
def extend_heaviest(
    sets: Int32s, costs: Floats, offsets: Floats, weights: Floats, prizes: Floats, pair_costs: Floats,
    compatible: Flags, masses: Floats, more: float, orders: Int32s, places: Int32s, cut_ptr: Ints, cut_members: Ints,
    cut_duals: Floats, member_ptr: Ints, member_cuts: Ints, threshold: float, out_sets: Int32s, out_offsets: Floats,
    out_bounds: Floats, out_parents: Ints,
) -> int:  # fmt: skip
    """Write all sets of one member more whose extensions may become a class within ``threshold``.

    ``orders[h]`` lists who may follow the heaviest member h, -1 behind them, and ``places[h]`` where each stands there;
    a member is added only behind the last one. ``offsets`` and the cuts are those of
    :func:`~veilroute.kernels.extension.extend_sets`. Returns how many sets there are.
    """
    size = sets.shape[1]
    num = prizes.size
    num_trips = weights.shape[0]
    counts = np.zeros(cut_duals.size, dtype=np.int64)
    penalty = np.zeros(num)
    weight = np.empty(num_trips)
    joined = np.empty((num, num_trips))
    gains = np.empty(num)
    ratios = np.empty(num)
    listed = np.empty(num, dtype=np.int64)
    found = 0
    for s in range(sets.shape[0]):
        members = sets[s]
        heaviest = members[0]
        missing = more * masses[heaviest]
        for trip in range(num_trips):
            weight[trip] = 0.0
        for i in range(size):
            if i > 0:
                missing -= masses[members[i]]
            for trip in range(num_trips):
                weight[trip] += weights[trip, members[i]]
            for e in range(member_ptr[members[i]], member_ptr[members[i] + 1]):
                counts[member_cuts[e]] += 1
        # A further member of a cut with an odd number pays its dual.
        for i in range(size):
            for e in range(member_ptr[members[i]], member_ptr[members[i] + 1]):
                cut = member_cuts[e]
                if counts[cut] & 1:
                    for j in range(cut_ptr[cut], cut_ptr[cut + 1]):
                        penalty[cut_members[j]] += cut_duals[cut]
                # Looked at once, and left clean for the next set.
                counts[cut] = 0
        first = 0
        if size > 1:
            first = places[heaviest, members[size - 1]] + 1
        last = first
        while last < num and orders[heaviest, last] >= 0:
            last += 1
        num_listed = 0
        # From the last one down: what those behind it could add, sorted by what a unit of their mass adds.
        for at in range(last - 1, first - 1, -1):
            x = orders[heaviest, at]
            may_join = True
            for i in range(size):
                if not compatible[members[i], x]:
                    may_join = False
                    break
            if not may_join:
                continue
            gain = -prizes[x]
            bound = offsets[s] - prizes[x] + penalty[x]
            for trip in range(num_trips):
                cost = costs[s, trip]
                for i in range(size):
                    cost = max(cost, pair_costs[trip, members[i], x])
                joined[x, trip] = cost
                gain += cost * weights[trip, x]
                bound += cost * (weight[trip] + weights[trip, x])
            # The price of mass at which those behind just bring what is missing.
            lacking = missing - masses[x]
            price = 0.0
            left = lacking
            for e in range(num_listed):
                if left <= 0:
                    break
                left -= masses[listed[e]]
                price = ratios[listed[e]]
            price = max(0.0, price)
            is_possible = left <= 0
            if is_possible:
                bound += price * max(0.0, lacking)
                for e in range(num_listed):
                    y = listed[e]
                    if ratios[y] >= price and ratios[y] >= 0:
                        break
                    added = -prizes[y] - price * masses[y]
                    for trip in range(num_trips):
                        added += max(joined[x, trip], joined[y, trip]) * weights[trip, y]
                    if added < 0:
                        bound += added
                if bound <= threshold:
                    for i in range(size):
                        out_sets[found, i] = members[i]
                    out_sets[found, size] = x
                    out_offsets[found] = offsets[s] - prizes[x] + penalty[x]
                    out_bounds[found] = bound
                    out_parents[found] = s
                    found += 1
            gains[x] = gain
            ratios[x] = gain / masses[x]
            e = num_listed
            while e > 0 and ratios[listed[e - 1]] > ratios[x]:
                listed[e] = listed[e - 1]
                e -= 1
            listed[e] = x
            num_listed += 1
        for i in range(size):
            for e in range(member_ptr[members[i]], member_ptr[members[i] + 1]):
                cut = member_cuts[e]
                for j in range(cut_ptr[cut], cut_ptr[cut + 1]):
                    penalty[cut_members[j]] = 0.0
    return found


@jit
def mark_splitting(sets: Int32s, masses: Floats, beta: float, out: Flags) -> None:
    """Which sets, the heaviest member first, are two classes, and so are all that come of them by adding lighter ones.

    Without the heaviest, some of the others are a class, and what is left is still one. Only where nobody is near
    anybody: a class is then a set of which the heaviest has at most beta. (Of the two classes, the one that keeps the
    heaviest member takes the lighter ones.)
    """
    size = sets.shape[1]
    num_sets = 1 << (size - 1)
    light = np.empty(size - 1)
    sums = np.empty(num_sets)
    for s in range(sets.shape[0]):
        total = masses[sets[s, 0]]
        for i in range(1, size):
            mass = masses[sets[s, i]]
            total += mass
            e = i - 1
            while e > 0 and light[e - 1] > mass:
                light[e] = light[e - 1]
                e -= 1
            light[e] = mass
        spare = total - masses[sets[s, 0]] / beta
        spare += 1e-9 * total
        out[s] = False
        if spare < light[0] / beta * (1 - 1e-9):
            continue
        sums[0] = 0.0
        highest = 0
        for chosen in range(1, num_sets):
            if chosen >> (highest + 1):
                highest += 1
            sums[chosen] = sums[chosen ^ (1 << highest)] + light[highest]
            if sums[chosen] <= spare and light[highest] <= beta * sums[chosen] * (1 + 1e-9):
                out[s] = True
                break
