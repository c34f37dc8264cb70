"""One more member for each of many sets, as far as a class of low reduced cost can still come of it.

With ``c`` the covering cost, ``w`` the ratio weights and ``prize`` what a class earns for a member, a set P has the
reduced cost ``c(P) * w(P) - prize(P) + penalty(P)``, summed over trips. As ``c`` is monotone, any extension P + X has
at least ``c(P) * w(P + X) - prize(P + X) + penalty(P)``: each further member adds ``c(P) * w_x - prize_x`` or more
(docs/theory, :ref:`Extension bound <theory-extension>`).

Penalties come from subset-row cuts: a class pays ``sigma_S`` for every two members that it has in S. They only grow.
Such cuts are grown here, too: odd sets of members of which a fractional solution makes more pairs than partitions can.
"""

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints, Masks
from veilroute.kernels.jit import inner, jit
from veilroute.kernels.subsets import count_bits


@inner
def has_clique(far: Masks, within: int, size: int) -> bool:
    """Whether some ``size`` members of a set are pairwise far; ``far[i]`` holds i's far partners."""
    if size <= 1:
        return count_bits(within) >= size
    left = np.empty(size, dtype=np.int64)
    left[0] = within
    depth = 0
    while depth >= 0:
        if count_bits(left[depth]) < size - depth:
            depth -= 1
            continue
        lowest = 0
        while not (left[depth] >> lowest) & 1:
            lowest += 1
        left[depth] &= left[depth] - 1
        ahead = left[depth] & far[lowest]
        if depth + 1 == size - 1:
            if ahead:
                return True
            continue
        depth += 1
        left[depth] = ahead
    return False


@inner
def splits_with(far: Masks, num: int, newest: int, k: int) -> bool:
    """Whether a set of ``num`` members holds two disjoint far k-cliques, one of them with the member ``newest``."""
    everyone = (1 << num) - 1
    others = everyone ^ (1 << newest)
    if count_bits(everyone) < 2 * k:
        return False
    if k == 1:
        return True
    left = np.empty(k, dtype=np.int64)
    taken = np.zeros(k, dtype=np.int64)
    left[0] = others & far[newest]
    taken[0] = 1 << newest
    depth = 0
    while depth >= 0:
        if count_bits(left[depth]) < k - 1 - depth:
            depth -= 1
            continue
        lowest = 0
        while not (left[depth] >> lowest) & 1:
            lowest += 1
        left[depth] &= left[depth] - 1
        clique = taken[depth] | (1 << lowest)
        if depth + 1 == k - 1:
            if has_clique(far, everyone & ~clique, k):
                return True
            continue
        depth += 1
        left[depth] = left[depth - 1] & far[lowest]
        taken[depth] = clique
    return False


@jit
def extend_sets(
    sets: Int32s, costs: Floats, offsets: Floats, weights: Floats, prizes: Floats, pair_costs: Floats,
    compatible: Flags, far: Flags | None, groups: Ints, num_groups: int, k: int, max_size: int, cut_ptr: Ints,
    cut_members: Ints, cut_duals: Floats, member_ptr: Ints, member_cuts: Ints, threshold: float, out_sets: Int32s,
    out_offsets: Floats, out_bounds: Floats, out_qualifies: Flags, out_parents: Ints,
) -> int:  # fmt: skip
    """Write all sets of one member more, behind the last one, whose extensions may stay within ``threshold``.

    ``offsets`` is what the reduced cost holds beside ``c * w``. Where ``far`` is given, a class may hold members that
    are near each other: it must not split into two that qualify, and members of one of the ``groups`` are pairwise far.
    Otherwise members must be ``compatible`` and at most ``max_size``. ``out_parents`` tells which set was extended.
    Returns how many sets there are.
    """
    size = sets.shape[1]
    num = prizes.size
    num_trips = weights.shape[0]
    counts = np.zeros(cut_duals.size, dtype=np.int64)
    touched = np.empty(cut_duals.size, dtype=np.int64)
    penalty = np.empty(num)
    # Compiling each way of making an array takes time: here and below there are as few as possible.
    for x in range(num):
        penalty[x] = 0.0
    gains = np.empty(num)
    weight = np.empty(num_trips)
    more = max_size - size - 1
    must = 0 if far is not None else max(0, k - size - 1)
    room = 2 * k if far is not None else max(more, 0) + 1
    best = np.empty((num_groups, room))
    num_best = np.zeros(num_groups, dtype=np.int64)
    rest = np.empty(num + 1)
    far_of = np.zeros(64, dtype=np.int64)
    found = 0
    # Each set by itself: its price so far, what further members could add at best, and then those worth writing down.
    for s in range(sets.shape[0]):
        members = sets[s]
        newest = members[size - 1]
        so_far = offsets[s]
        for trip in range(num_trips):
            weight[trip] = 0.0
            for i in range(size):
                weight[trip] += weights[trip, members[i]]
            so_far += costs[s, trip] * weight[trip]
        # How many members the set has in each cut; a further member of a cut with an odd number pays its dual.
        num_touched = 0
        for i in range(size):
            for e in range(member_ptr[members[i]], member_ptr[members[i] + 1]):
                cut = member_cuts[e]
                if counts[cut] == 0:
                    touched[num_touched] = cut
                    num_touched += 1
                counts[cut] += 1
        for e in range(num_touched):
            cut = touched[e]
            if counts[cut] & 1:
                for i in range(cut_ptr[cut], cut_ptr[cut + 1]):
                    penalty[cut_members[i]] += cut_duals[cut]
        per_group = more
        if far is not None:
            for i in range(size):
                far_of[i] = 0
                for j in range(size):
                    if far[members[i], members[j]]:
                        far_of[i] |= 1 << j
            # Beside k members that qualify, what is added must not: fewer than k of each group.
            per_group = k - 1 if has_clique(far_of, (1 << size) - 1, k) else 2 * k - 1
        # From the last member down: what those behind it could add.
        for e in range(num_groups):
            num_best[e] = 0
        total = 0.0
        for x in range(num - 1, newest, -1):
            if far is not None:
                rest[x] = total
            elif num_best[0] < must:
                rest[x] = np.inf
            else:
                rest[x] = 0.0
                for e in range(num_best[0]):
                    if e >= must and best[0, e] >= 0:
                        break
                    rest[x] += best[0, e]
            # A member that may not join has no gain.
            gains[x] = -prizes[x]
            for i in range(size):
                if not compatible[members[i], x]:
                    gains[x] = np.nan
                    break
            if np.isnan(gains[x]):
                continue
            gain = gains[x]
            for trip in range(num_trips):
                gain += costs[s, trip] * weights[trip, x]
            gains[x] = gain
            group = groups[x]
            held = num_best[group]
            if (
                per_group <= 0
                or (far is not None and gain >= 0)
                or (held == per_group and gain >= best[group, held - 1])
            ):
                continue
            if far is not None:
                total += gain
                if held == per_group:
                    total -= best[group, held - 1]
            e = held - 1 if held == per_group else held
            num_best[group] = e + 1
            while e > 0 and best[group, e - 1] > gain:
                best[group, e] = best[group, e - 1]
                e -= 1
            best[group, e] = gain
        # Write the set with each further member down, unless no extension of it stays within the threshold.
        for x in range(newest + 1, num):
            if np.isnan(gains[x]) or so_far + gains[x] + penalty[x] + rest[x] > threshold:
                continue
            offset = offsets[s] - prizes[x] + penalty[x]
            bound = offset + rest[x]
            for trip in range(num_trips):
                cost = costs[s, trip]
                for i in range(size):
                    cost = max(cost, pair_costs[trip, members[i], x])
                bound += cost * (weight[trip] + weights[trip, x])
            if bound > threshold:
                continue
            qualifies = size + 1 >= k
            if far is not None:
                far_of[size] = 0
                for i in range(size):
                    far_of[i] &= ~(1 << size)
                    if far[members[i], x]:
                        far_of[i] |= 1 << size
                        far_of[size] |= 1 << i
                if splits_with(far_of, size + 1, size, k):
                    continue
                qualifies = has_clique(far_of, (1 << (size + 1)) - 1, k)
            for i in range(size):
                out_sets[found, i] = members[i]
            out_sets[found, size] = x
            out_offsets[found] = offset
            out_bounds[found] = bound
            out_qualifies[found] = qualifies
            out_parents[found] = s
            found += 1
        # Leave counts and penalties clean for the next set.
        for e in range(num_touched):
            cut = touched[e]
            if counts[cut] & 1:
                for i in range(cut_ptr[cut], cut_ptr[cut + 1]):
                    penalty[cut_members[i]] = 0.0
            counts[cut] = 0
    return found


@jit
def pick_columns(order: Ints, sets: Int32s, num: int, per_member: int) -> Flags:
    """Mark sets in the given order, passing over those all of whose members have ``per_member`` marked ones already."""
    counts = np.zeros(num, dtype=np.int64)
    is_picked = np.zeros(order.size, dtype=np.bool_)
    for row in order:
        for i in range(sets.shape[1]):
            if sets[row, i] >= 0 and counts[sets[row, i]] < per_member:
                is_picked[row] = True
                break
        if is_picked[row]:
            for i in range(sets.shape[1]):
                if sets[row, i] >= 0:
                    counts[sets[row, i]] += 1
    return is_picked


@jit
def grow_cuts(
    sets: Int32s, values: Floats, member_ptr: Ints, member_columns: Ints, seeds: Int32s, max_size: int, out: Int32s,
    surplus: Floats,
) -> None:  # fmt: skip
    """From each seed the best odd set that adding two members at a time leads to, and by how much it is violated.

    ``sets`` and ``values`` are the classes in use and how much of each; those that hold member i are
    ``member_columns[member_ptr[i]:member_ptr[i + 1]]``. A set of 2q + 1 members has the surplus "sum over classes of
    the value times the rounded half of the members in common" minus q. Of equally good pairs the first one is added.
    """
    num = member_ptr.size - 1
    counts = np.zeros(values.size, dtype=np.int64)
    # 1: inside the set that is grown; 2: in a class with somebody inside.
    place = np.zeros(num, dtype=np.int64)
    near = np.empty(num, dtype=np.int64)
    grown = np.empty(max_size, dtype=np.int64)
    for s in range(seeds.shape[0]):
        size = 0
        level = 0.0
        for i in range(seeds.shape[1]):
            grown[size] = seeds[s, i]
            place[grown[size]] = 1
            size += 1
        for i in range(size):
            for e in range(member_ptr[grown[i]], member_ptr[grown[i] + 1]):
                counts[member_columns[e]] += 1
                if counts[member_columns[e]] % 2 == 0:
                    level += values[member_columns[e]]
        surplus[s] = level - size // 2
        # Member by member: to assign a slice, numba compiles how to word a wrong shape, which takes seconds.
        for i in range(out.shape[1]):
            out[s, i] = grown[i] if i < size else -1
        # Add the two members that raise the level most, as long as there is room.
        while size + 2 <= max_size:
            num_near = 0
            for i in range(size):
                for e in range(member_ptr[grown[i]], member_ptr[grown[i] + 1]):
                    column = sets[member_columns[e]]
                    for j in range(column.size):
                        if column[j] >= 0 and place[column[j]] == 0:
                            place[column[j]] = 2
                            near[num_near] = column[j]
                            num_near += 1
            best = -np.inf
            first = np.int64(-1)
            second = np.int64(-1)
            for a in range(num_near):
                one = near[a]
                gain_one = 0.0
                for e in range(member_ptr[one], member_ptr[one + 1]):
                    counts[member_columns[e]] += 1
                    if counts[member_columns[e]] % 2 == 0:
                        gain_one += values[member_columns[e]]
                # The partner is near the set, or shares a class with the first of the two.
                for e in range(member_ptr[one], member_ptr[one + 1]):
                    column = sets[member_columns[e]]
                    for j in range(column.size):
                        other = column[j]
                        if other < 0 or place[other] == 1 or other == one:
                            continue
                        gain = gain_one
                        for f in range(member_ptr[other], member_ptr[other + 1]):
                            if counts[member_columns[f]] % 2 == 1:
                                gain += values[member_columns[f]]
                        if gain > best + 1e-9:
                            best = gain
                            first = one
                            second = np.int64(other)
                for b in range(a + 1, num_near):
                    other_near = near[b]
                    gain = gain_one
                    for f in range(member_ptr[other_near], member_ptr[other_near + 1]):
                        if counts[member_columns[f]] % 2 == 1:
                            gain += values[member_columns[f]]
                    if gain > best + 1e-9:
                        best = gain
                        first = one
                        second = other_near
                for e in range(member_ptr[one], member_ptr[one + 1]):
                    counts[member_columns[e]] -= 1
            for a in range(num_near):
                place[near[a]] = 0
            if first < 0:
                break
            level += best
            for member in (first, second):
                grown[size] = member
                place[member] = 1
                size += 1
                for e in range(member_ptr[member], member_ptr[member + 1]):
                    counts[member_columns[e]] += 1
            if level - size // 2 > surplus[s] + 1e-9:
                surplus[s] = level - size // 2
                for i in range(size):
                    out[s, i] = grown[i]
        for i in range(size):
            place[grown[i]] = 0
            for e in range(member_ptr[grown[i]], member_ptr[grown[i] + 1]):
                counts[member_columns[e]] = 0
