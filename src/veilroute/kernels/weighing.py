"""Classes under a prior: sets that begin with their heaviest member, and one more member for each of many.

A class of heaviest member h needs a mass of ``more * mass_h`` beside it, where ``more`` is 1 / beta - 1. Members are
added in an order that depends on h: those with whom it is dearest to cover first, so that a set has nearly its full
price at once. What may still come of a set P with a further member x is bounded by Lagrange: with ``gain_y`` what y
adds at least and any price ``mu >= 0`` of mass, those that follow add at least ``mu * (mass that is missing)`` plus the
sum of ``min(0, gain_y - mu * mass_y)``. The best price is found as in a knapsack, by sorting.
"""

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints
from veilroute.kernels.jit import inner, jit

_LEAST = 1e-300  #: below any cost but 0, of which no part is a step


@inner
def least_addition(
    cost: float, weight: float, lacking: float, room: float, listed: Ints, num_listed: int, costs: Floats,
    weights: Floats, prizes: Floats, masses: Floats,
) -> float:  # fmt: skip
    """What must be added at least to a set that costs ``cost``, on one trip, to bring it the mass that it is lacking.

    The ``listed`` members may be added, sorted by what a unit of their mass adds; with one of them the set costs its
    ``costs`` at least. So it does not only matter what they add themselves: whoever is there already, of the weight
    given, pays as much. Level by level of what the class may cost: at each, those within reach are weighed. Whatever is
    beyond ``room`` is all the same.
    """
    lowest = 0.0
    for e in range(num_listed):
        y = listed[e]
        lowest += min(0.0, cost * weights[y] - prizes[y])
    best = np.inf
    level = cost
    while (level - cost) * weight + lowest < min(best, room):
        above = np.inf
        following = max(level * 1.02, _LEAST)
        price = 0.0
        left = lacking
        for e in range(num_listed):
            y = listed[e]
            if costs[y] >= following:
                above = min(above, costs[y])
            elif left > 0:
                left -= masses[y]
                price = (level * weights[y] - prizes[y]) / masses[y]
        if left <= 0:
            price = max(0.0, price)
            value = (level - cost) * weight + price * max(0.0, lacking)
            for e in range(num_listed):
                y = listed[e]
                if costs[y] < following:
                    value += min(0.0, level * weights[y] - prizes[y] - price * masses[y])
            best = min(best, value)
        if above == np.inf:
            break
        level = max(following, above / 1.02)
    return best


@jit
def extend_heaviest(
    sets: Int32s, costs: Floats, offsets: Floats, weights: Floats, prizes: Floats, pair_costs: Floats,
    compatible: Flags, masses: Floats, more: float, orders: Int32s, places: Int32s, cut_ptr: Ints, cut_members: Ints,
    cut_duals: Floats, member_ptr: Ints, member_cuts: Ints, threshold: float, known: Floats, out_sets: Int32s,
    out_offsets: Floats, out_bounds: Floats, out_parents: Ints,
) -> int:  # fmt: skip
    """Write all sets of one member more whose extensions may become a class within ``threshold``.

    ``orders[h]`` lists who may follow the heaviest member h, -1 behind them, and ``places[h]`` where each stands there;
    a member is added only behind the last one. ``known`` has per set and member what the set with this member costs, on
    the one trip that there is, or -1; it is empty where that is not known yet. ``offsets`` and the cuts are those of
    :func:`~veilroute.kernels.extension.extend_sets`. Returns how many sets there are.
    """
    size = sets.shape[1]
    num = prizes.size
    num_trips = weights.shape[0]
    counts = np.zeros(cut_duals.size, dtype=np.int64)
    penalty = np.zeros(num)
    weight = np.empty(num_trips)
    joined = np.empty((num_trips, num))
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
                if known.shape[0] > 0:
                    cost = max(cost, known[s, x])
                joined[trip, x] = cost
                gain += cost * weights[trip, x]
                bound += cost * (weight[trip] + weights[trip, x])
            lacking = missing - masses[x]
            if num_trips == 1:
                bound += least_addition(
                    joined[0, x], weight[0] + weights[0, x], lacking, threshold - bound, listed, num_listed, joined[0],
                    weights[0], prizes, masses,
                )  # fmt: skip
            else:
                # The price of mass at which those behind just bring what is missing.
                price = 0.0
                left = lacking
                for e in range(num_listed):
                    if left <= 0:
                        break
                    left -= masses[listed[e]]
                    price = ratios[listed[e]]
                price = max(0.0, price)
                bound += price * max(0.0, lacking) if left <= 0 else np.inf
                for e in range(num_listed):
                    y = listed[e]
                    added = -prizes[y] - price * masses[y]
                    for trip in range(num_trips):
                        added += max(joined[trip, x], joined[trip, y]) * weights[trip, y]
                    bound += min(0.0, added)
            if bound <= threshold and (known.shape[0] == 0 or known[s, x] >= 0):
                for i in range(size):
                    out_sets[found, i] = members[i]
                out_sets[found, size] = x
                out_offsets[found] = offsets[s] - prizes[x] + penalty[x]
                out_bounds[found] = bound
                out_parents[found] = s
                found += 1
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
        spare = total - masses[sets[s, 0]] / beta * (1 - 0.999e-9)
        out[s] = False
        if spare < light[0] / beta * (1 - 1e-9):
            continue
        sums[0] = 0.0
        highest = 0
        for chosen in range(1, num_sets):
            if chosen >> (highest + 1):
                highest += 1
            sums[chosen] = sums[chosen ^ (1 << highest)] + light[highest]
            if sums[chosen] <= spare and light[highest] <= beta * sums[chosen] * (1 + 0.999e-9):
                out[s] = True
                break
