"""Tours of many days at once: short ones, quickly; and what it adds to them to visit some more places.

A day is a round trip from the depot, the last place of the table, past those that are visited, kept as who comes
``after`` and ``before`` whom. Costs are the same in both directions. ``near`` has for each place all others, the
nearest first. Places are put where they cost least beside some visited ones that are near; then parts of tours are
turned round and moved for as long as that makes them shorter.
"""

import numpy as np

from veilroute.base.arrays import Flags, Floats, Ints
from veilroute.kernels.jit import inner, jit

_LEAST_GAIN = 1e-9
_NUM_TRIED = 8
_LONGEST_MOVED = 3


@inner
def insert(day: int, place: int, between: Floats, near: Ints, after: Ints, before: Ints, visited: Flags) -> float:
    """Visit a place on a day where that costs least; returns what it costs."""
    least, where, num = np.inf, near.shape[0] - 1, 0
    for rank in range(near.shape[1]):
        other = near[place, rank]
        if visited[day, other]:
            for one in (other, before[day, other]):
                following = after[day, one]
                more = between[one, place] + between[place, following] - between[one, following]
                if more < least:
                    least, where = more, one
            num += 1
            if num == _NUM_TRIED:
                break
    following = after[day, where]
    after[day, where], before[day, place] = place, where
    after[day, place], before[day, following] = following, place
    visited[day, place] = True
    return least


@inner
def remove(day: int, place: int, after: Ints, before: Ints, visited: Flags) -> None:
    """Visit a place no longer."""
    one, other = before[day, place], after[day, place]
    after[day, one], before[day, other] = other, one
    visited[day, place] = False


@inner
def turn_round(order: Ints, at: Ints, num: int, first: int, last: int) -> None:
    """Turn the part of a round trip from one position to another, or else the rest of it, which is the same."""
    length = (last - first) % num + 1
    if 2 * length > num:
        first, last, length = (last + 1) % num, (first - 1) % num, num - length
    for _ in range(length // 2):
        order[first], order[last] = order[last], order[first]
        at[order[first]], at[order[last]] = first, last
        first, last = (first + 1) % num, (last - 1) % num


@inner
def cross_less(a: int, between: Floats, near: Ints, is_there: Flags, order: Ints, at: Ints, num: int) -> bool:
    """Turn a part of the trip round that begins or ends at a place, if that makes it shorter."""
    for step in (1, -1):
        b = order[(at[a] + step) % num]
        for rank in range(near.shape[1]):
            c = near[a, rank]
            if between[a, b] - between[a, c] <= _LEAST_GAIN:
                break
            if not is_there[c]:
                continue
            d = order[(at[c] + step) % num]
            if between[a, b] + between[c, d] - between[a, c] - between[b, d] > _LEAST_GAIN:
                if step == 1:
                    turn_round(order, at, num, at[b], at[c])
                else:
                    turn_round(order, at, num, at[c], at[b])
                return True
    return False


@inner
def move_part(
    a: int, between: Floats, near: Ints, is_there: Flags, order: Ints, at: Ints, num: int, room: Ints
) -> bool:
    """Move a place and up to two that follow it to between two others, if that makes the trip shorter."""
    for length in range(1, min(_LONGEST_MOVED, num - 3) + 1):
        begin = at[a]
        last, one, other = order[(begin + length - 1) % num], order[(begin - 1) % num], order[(begin + length) % num]
        saved = between[one, a] + between[last, other] - between[one, other]
        for rank in range(near.shape[1]):
            c = near[a, rank]
            if saved - between[a, c] <= _LEAST_GAIN:
                break
            if not is_there[c] or (at[c] - begin) % num < length:
                continue
            behind, ahead = order[(at[c] + 1) % num], order[(at[c] - 1) % num]
            follows = c != one and saved - between[c, a] - between[last, behind] + between[c, behind] > _LEAST_GAIN
            leads = c != other and saved - between[a, c] - between[last, ahead] + between[ahead, c] > _LEAST_GAIN
            if not follows and not leads:
                continue
            target, num_written = c if follows else ahead, 0
            for i in range(length, num):
                room[num_written] = order[(begin + i) % num]
                num_written += 1
                if room[num_written - 1] == target:
                    for j in range(length):
                        room[num_written] = order[(begin + (j if follows else length - 1 - j)) % num]
                        num_written += 1
            for i in range(num):
                order[i] = room[i]
                at[room[i]] = i
            return True
    return False


@jit
def join_tours(wanted: Flags, between: Floats, near: Ints, after: Ints, before: Ints, visited: Flags) -> float:
    """Make a tour for each day past the places that are ``wanted`` on it; returns what all of them cost."""
    depot = near.shape[0] - 1
    order, at, room = np.empty(depot + 1, np.int64), np.empty(depot + 1, np.int64), np.empty(depot + 1, np.int64)
    is_there = np.empty(depot + 1, np.bool_)
    total = 0.0
    for day in range(wanted.shape[0]):
        for place in range(depot + 1):
            visited[day, place] = place == depot
        after[day, depot] = before[day, depot] = depot
        # Far ones first: who is put between these later finds the outline of the tour.
        for rank in range(depot - 1, -1, -1):
            place = near[depot, rank]
            if wanted[day, place]:
                insert(day, place, between, near, after, before, visited)
        num, place = 0, depot
        while num == 0 or place != depot:
            order[num], at[place] = place, num
            place = after[day, place]
            num += 1
        for place in range(depot + 1):
            is_there[place] = visited[day, place]
        is_better = num > 3
        while is_better:
            is_better = False
            for i in range(num):
                a = order[i]
                if cross_less(a, between, near, is_there, order, at, num):
                    is_better = True
                if move_part(a, between, near, is_there, order, at, num, room):
                    is_better = True
        for i in range(num):
            one, other = order[i], order[(i + 1) % num]
            after[day, one], before[day, other] = other, one
            total += between[one, other]
    return total


@jit
def insertion_costs(between: Floats, near: Ints, after: Ints, before: Ints, visited: Flags, costs: Floats) -> None:
    """What it adds on average to the tours that do not visit a place to do so; nothing where all visit it."""
    for place in range(costs.size):
        total, num = 0.0, 0
        for day in range(visited.shape[0]):
            if not visited[day, place]:
                total += insert(day, place, between, near, after, before, visited)
                remove(day, place, after, before, visited)
                num += 1
        costs[place] = total / max(num, 1)


@jit
def spanning_cost(members: Ints, entry: Floats, between: Floats, share: float, keys: Floats) -> float:
    """The least tree that joins places to a tour: each by what it costs alone, or to another by a share of the way."""
    size, total = members.size, 0.0
    for i in range(size):
        keys[i] = entry[members[i]]
    for _ in range(size):
        nearest = -1
        for i in range(size):
            if keys[i] >= 0 and (nearest < 0 or keys[i] < keys[nearest]):
                nearest = i
        total += keys[nearest]
        keys[nearest] = -1.0
        for i in range(size):
            keys[i] = min(keys[i], share * between[members[nearest], members[i]])
    return total
