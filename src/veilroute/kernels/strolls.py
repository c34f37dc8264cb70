"""Strolls: walks past k members in some order, which may come by a member again once they have forgotten it.

A stroll stands for a class of k members: it begins at the start, goes from member to member and ends at the goal. It
remembers only some of those it has met: at a member, those of that member's ``near`` ones that it has met since it last
was where they are not near. It never comes by a member that it remembers. Every order of k members is a stroll, so the
least value of all strolls is at most that of all classes, and it is found by steps in proportion to what they remember,
not to all sets (the ng-routes of vehicle routing).

The value of a stroll is ``rate`` times its length, plus what each member on it is worth each time.
"""

from typing import NamedTuple

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int8s, Int32s, Ints
from veilroute.kernels.jit import inner, jit


@inner
def bound_strolls(
    members: Ints, k: int, rate: float, worth: Floats, to_goal: Floats, between: Floats, is_open: Flags,
    rest: Floats, following: Ints, otherwise: Floats,
) -> None:  # fmt: skip
    """What strolls that do not turn back at once add at least, from each member on.

    ``rest[c, i]`` is for those that have met c members, the last one ``members[i]``; ``following`` is who comes next
    then, and ``otherwise`` the least when somebody else does.
    """
    num = members.size
    # Who has met enough goes to the goal.
    for i in range(num):
        rest[k, i] = otherwise[k, i] = rate * to_goal[members[i]]
        following[k, i] = -1
    # From the last member on a stroll back to its first.
    for met in range(k - 1, 0, -1):
        for i in range(num):
            a = members[i]
            least = second = np.inf
            who = -1
            for j in range(num):
                b = members[j]
                if is_open[a, b]:
                    onward = otherwise[met + 1, j] if following[met + 1, j] == i else rest[met + 1, j]
                    value = rate * between[a, b] + worth[b] + onward
                    if value < least:
                        second = least
                        least = value
                        who = j
                    elif value < second:
                        second = value
            rest[met, i] = least
            following[met, i] = who
            otherwise[met, i] = second


@jit
def find_strolls(
    members: Ints, k: int, rate: float, offset: float, worth: Floats, from_start: Floats, to_goal: Floats,
    between: Floats, is_open: Flags, near: Ints, places: Int8s, threshold: float, out_sets: Int32s, out_values: Floats,
) -> tuple[float, int]:  # fmt: skip
    """The least value of all strolls past k of the members, or ``threshold`` if none is below; writes some that are.

    ``members``: whom strolls may come by, ascending. ``k``: how many they meet. ``rate``, ``offset``, ``worth``: a
    stroll's value is the offset, plus the rate times its length, plus what its members are worth. ``from_start``,
    ``to_goal``, ``between``: distances. ``is_open``: per two members whether one may follow upon the other. ``near``,
    ``places``: those near each member, at most eight, and where they stand. ``threshold``: only strolls of less value
    matter. ``out_sets``, ``out_values``: for each member the best stroll that ends there, if it matters; it may hold a
    member twice. The second number returned is how many there are.
    """
    num = members.size
    num_near = near.shape[1]
    num_masks = 1 << num_near
    rest, otherwise = np.empty((k + 1, num)), np.empty((k + 1, num))
    following = np.empty((k + 1, num), dtype=np.int64)
    bound_strolls(members, k, rate, worth, to_goal, between, is_open, rest, following, otherwise)
    is_any = False
    # Most often the bounds tell at once that nothing is below the threshold.
    for i in range(num):
        is_any |= offset + rate * from_start[members[i]] + worth[members[i]] + rest[1, i] < threshold
    if not is_any:
        return threshold, 0
    # The best way to have met so many, to be at a member and to remember some of those near it.
    values = np.full((num, num_masks), np.inf)
    onwards = np.empty((num, num_masks))
    before = np.empty((k + 1, num, num_masks), dtype=np.int32)
    for i in range(num):
        value = offset + rate * from_start[members[i]] + worth[members[i]]
        if value + rest[1, i] < threshold:
            values[i, 0] = value
    # Let strolls meet one member more, from every state that is worth it.
    for met in range(1, k):
        onwards[:] = np.inf
        for i in range(num):
            a = members[i]
            for mask in range(num_masks):
                value = values[i, mask]
                if value == np.inf:
                    continue
                # Who remembers less for less has every way that is open to this one.
                part = mask
                while part:
                    part = (part - 1) & mask
                    if values[i, part] <= value:
                        break
                else:
                    part = -1
                if part >= 0:
                    continue
                for j in range(num):
                    b = members[j]
                    if not is_open[a, b] or (places[a, b] >= 0 and (mask >> places[a, b]) & 1):
                        continue
                    there = value + rate * between[a, b] + worth[b]
                    onward = otherwise[met + 1, j] if following[met + 1, j] == i else rest[met + 1, j]
                    if not there + onward < threshold:
                        continue
                    remembered = 0
                    for e in range(num_near):
                        c = near[b, e]
                        if c == a or (places[a, c] >= 0 and (mask >> places[a, c]) & 1):
                            remembered |= 1 << e
                    if there < onwards[j, remembered]:
                        onwards[j, remembered] = there
                        before[met + 1, j, remembered] = i * num_masks + mask
        values, onwards = onwards, values
    least = threshold
    found = 0
    # The best stroll that ends at each member, traced back.
    for i in range(num):
        at = -1
        best = threshold
        for mask in range(num_masks):
            value = values[i, mask] + rate * to_goal[members[i]]
            if value < best:
                best = value
                at = mask
        if at < 0:
            continue
        least = min(least, best)
        j = i
        for met in range(k, 0, -1):
            out_sets[found, met - 1] = members[j]
            if met > 1:
                j, at = before[met, j, at] // num_masks, before[met, j, at] % num_masks
        out_values[found] = best
        found += 1
    return least, found


class Memory(NamedTuple):
    """What strolls remember: of the members near the one where they are, which they have met, and which they count.

    By two members and what is remembered at the first: what is remembered at the second, once the stroll has come by it
    or counts it; -1 where it may not.
    """

    met: Int32s
    counted: Int32s
    start: Ints  # what is remembered at a member that comes first: when it is not counted, and when it is


@inner
def _bound_rest(
    members: Ints, k: int, most: int, rate: float, worth: Floats, to_goal: Floats, between: Floats, is_open: Flags,
    rest: Floats,
) -> None:  # fmt: skip
    """What strolls add at least from a member on, by how many stops they have made and members they have counted."""
    num = members.size
    for made in range(most, 0, -1):
        for counted in range(k, -1, -1):
            for i in range(num):
                a = members[i]
                least = rate * to_goal[a] if counted == k else np.inf
                if made < most:
                    then = min(k, counted + 1)
                    for j in range(num):
                        b = members[j]
                        if is_open[a, b] and (counted < k or worth[b] < 0):
                            least = min(least, rate * between[a, b] + worth[b] + rest[made + 1, then, j])
                rest[made, counted, i] = least


@jit
def stroll_crowd(
    members: Ints, k: int, most: int, rate: float, offset: float, worth: Floats, from_start: Floats, to_goal: Floats,
    between: Floats, is_open: Flags, memory: Memory, threshold: float, halt: Ints, rest: Floats, values: Floats,
    before: Int32s, out_sets: Int32s, out_values: Floats,
) -> tuple[float, int]:  # fmt: skip
    """The least value of strolls that count k members, at up to ``most`` stops.

    As :func:`find_strolls`, but a stroll may come by any number of members, of which it counts k. It counts none that
    is near one that it remembers to have counted. ``rest``, ``values`` and ``before`` are room to work in: by number of
    stops, how many were counted, member and, for the last two, what is remembered. What it returns once ``halt`` is set
    says nothing.
    """
    num, num_masks = members.size, values.shape[3]
    _bound_rest(members, k, most, rate, worth, to_goal, between, is_open, rest)
    least = threshold
    is_any = False
    for i in range(num):
        is_any |= (
            offset + rate * from_start[members[i]] + worth[members[i]] + min(rest[1, 0, i], rest[1, 1, i]) < threshold
        )
    if not is_any:
        return threshold, 0
    for i in range(num):
        out_values[i] = threshold
    for made in range(1, most + 1):
        for counted in range(k + 1):
            for i in range(num):
                for mask in range(num_masks):
                    values[made, counted, i, mask] = np.inf
    for i in range(num):
        value = offset + rate * from_start[members[i]] + worth[members[i]]
        for counted in range(2):
            if value + rest[1, counted, i] < threshold and (counted or worth[members[i]] < 0):
                values[1, counted, i, memory.start[counted]] = value
    # One stop more, from every state that is worth it.
    for made in range(1, most + 1):
        for counted in range(k + 1):
            for i in range(num):
                a = members[i]
                if halt[0]:
                    return threshold, 0
                for mask in range(num_masks):
                    value = values[made, counted, i, mask]
                    if value + rest[made, counted, i] >= threshold:
                        continue
                    if counted == k and value + rate * to_goal[a] < out_values[i]:
                        out_values[i] = value + rate * to_goal[a]
                        least = min(least, out_values[i])
                        # The stops of this stroll, from the last one back.
                        at, now, have = i, mask, counted
                        for stop in range(made, 0, -1):
                            out_sets[i, stop - 1] = members[at]
                            state = before[stop, have, at, now]
                            now = state % num_masks
                            at = state // num_masks % num
                            have = state // num_masks // num
                        for stop in range(made, out_sets.shape[1]):
                            out_sets[i, stop] = -1
                    if made == most:
                        continue
                    for j in range(num):
                        b = members[j]
                        if not is_open[a, b]:
                            continue
                        onward = value + rate * between[a, b] + worth[b]
                        for more in range(2):
                            if (more and counted == k) or (not more and worth[b] >= 0):
                                continue
                            kept = memory.counted[a, b, mask] if more else memory.met[a, b, mask]
                            then = counted + more
                            if kept < 0 or onward + rest[made + 1, then, j] >= threshold:
                                continue
                            if onward < values[made + 1, then, j, kept]:
                                values[made + 1, then, j, kept] = onward
                                before[made + 1, then, j, kept] = (counted * num + i) * num_masks + mask
    found = 0
    for i in range(num):
        if out_values[i] < threshold:
            out_values[found] = out_values[i]
            for stop in range(out_sets.shape[1]):
                out_sets[found, stop] = out_sets[i, stop]
            found += 1
    return least, found
