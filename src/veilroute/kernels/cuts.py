"""Odd sets of members of which a fractional solution makes more pairs than a partition can."""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Floats, Int32s, Ints
from veilroute.kernels.jit import jit


@jit
def grow_cuts(
    sets: Int32s,
    values: Floats,
    member_ptr: Ints,
    member_columns: Ints,
    seeds: Int32s,
    max_size: int,
    out: Int32s,
    surplus: Floats,
) -> None:
    """From each seed the best odd set that adding two members at a time leads to, and by how much it is violated.

    ``sets`` and ``values`` are the classes in use and how much of each; those that hold member i are
    ``member_columns[member_ptr[i]:member_ptr[i + 1]]``. A set of 2q + 1 members has the surplus "sum over classes of
    the value times the rounded half of the members in common" minus q. Of equally good pairs the first one is added.
    """
    num = member_ptr.size - 1
    counts = np.zeros(values.size, dtype=np.int64)
    is_inside = np.zeros(num, dtype=np.bool_)
    is_near = np.zeros(num, dtype=np.bool_)
    near = np.empty(num, dtype=np.int64)
    grown = np.empty(max_size, dtype=np.int64)
    for s in range(seeds.shape[0]):
        size = 0
        level = 0.0
        for i in range(seeds.shape[1]):
            grown[size] = seeds[s, i]
            is_inside[grown[size]] = True
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
        while size + 2 <= max_size:
            num_near = 0
            for i in range(size):
                for e in range(member_ptr[grown[i]], member_ptr[grown[i] + 1]):
                    column = sets[member_columns[e]]
                    for j in range(column.size):
                        if column[j] >= 0 and not is_inside[column[j]] and not is_near[column[j]]:
                            is_near[column[j]] = True
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
                        if other < 0 or is_inside[other] or other == one:
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
                is_near[near[a]] = False
            if first < 0:
                break
            level += best
            for member in (first, second):
                grown[size] = member
                is_inside[member] = True
                size += 1
                for e in range(member_ptr[member], member_ptr[member + 1]):
                    counts[member_columns[e]] += 1
            if level - size // 2 > surplus[s] + 1e-9:
                surplus[s] = level - size // 2
                for i in range(size):
                    out[s, i] = grown[i]
        for i in range(size):
            is_inside[grown[i]] = False
            for e in range(member_ptr[grown[i]], member_ptr[grown[i] + 1]):
                counts[member_columns[e]] = 0
