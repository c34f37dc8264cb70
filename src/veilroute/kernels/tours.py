"""Covering costs of small sets whose members are watched from one post each: the cheapest order to visit them."""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Floats, Int32s
from veilroute.kernels.jit import jit

_BLOCK = 64


@jit
def tour_costs(sets: Int32s, from_start: Floats, to_goal: Floats, between: Floats, out: Floats) -> None:
    """Cheapest way from the start through all members of each set to the goal, per trip.

    By dynamic programming over (visited members, last one), which takes ``2^z z^2 / 2`` steps for z members; pairs and
    triples directly. ``from_start`` and ``to_goal`` are per trip and member, ``out`` per set and trip.
    """
    size = sets.shape[1]
    everyone = (1 << size) - 1
    best = np.empty((1 << size if size > 3 else 1, size))
    step = np.empty((size, size))
    for s in range(sets.shape[0]):
        members = sets[s]
        for i in range(size):
            for j in range(size):
                step[i, j] = between[members[i], members[j]]
        for trip in range(from_start.shape[0]):
            first = from_start[trip]
            last = to_goal[trip]
            least = np.inf
            if size == 1:
                least = first[members[0]] + last[members[0]]
            elif size == 2:
                there = first[members[0]] + step[0, 1] + last[members[1]]
                least = min(there, first[members[1]] + step[1, 0] + last[members[0]])
            elif size == 3:
                for middle in range(3):
                    i = (middle + 1) % 3
                    j = (middle + 2) % 3
                    there = first[members[i]] + step[i, middle] + step[middle, j] + last[members[j]]
                    back = first[members[j]] + step[j, middle] + step[middle, i] + last[members[i]]
                    least = min(least, there, back)
            else:
                best[:] = np.inf
                for i in range(size):
                    best[1 << i, i] = first[members[i]]
                for visited in range(1, everyone):
                    for i in range(size):
                        so_far = best[visited, i]
                        if so_far == np.inf:
                            continue
                        for j in range(size):
                            if not (visited >> j) & 1:
                                ahead = visited | (1 << j)
                                best[ahead, j] = min(best[ahead, j], so_far + step[i, j])
                for i in range(size):
                    least = min(least, best[everyone, i] + last[members[i]])
            out[s, trip] = least


@jit
def pair_costs(from_start: Floats, to_goal: Floats, between: Floats, out: Floats) -> None:
    """Costs of the walks past every two members, in the cheaper order, per trip into ``out``."""
    num = between.shape[0]
    for first in range(0, num, _BLOCK):
        for second in range(0, num, _BLOCK):
            # By blocks, because going down columns of a large table is slow.
            for i in range(first, min(first + _BLOCK, num)):
                for j in range(second, min(second + _BLOCK, num)):
                    for trip in range(from_start.shape[0]):
                        there = from_start[trip, i] + between[i, j] + to_goal[trip, j]
                        back = from_start[trip, j] + between[j, i] + to_goal[trip, i]
                        out[trip, i, j] = min(there, back)
