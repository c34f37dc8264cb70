"""Short ways past many members, and classes of many members: not the best there are, but good ones, quickly.

A way leads from the start past members to the goal, each watched from one post. -1 stands for the start before the
first member, and for the goal behind the last.
"""

import numpy as np

from veilroute.base.arrays import Flags, Floats, Ints
from veilroute.kernels.jit import inner, jit

_LEAST_GAIN = 1e-9
_KICKS_PER_MEMBER = 5


@inner
def leg(a: int, b: int, from_start: Floats, to_goal: Floats, between: Floats) -> float:
    """How long the way from a to b is."""
    length: float = from_start[b] if a < 0 else to_goal[a] if b < 0 else between[a, b]
    return length


@inner
def detour(a: int, x: int, b: int, from_start: Floats, to_goal: Floats, between: Floats) -> float:
    """How much longer the way from a to b gets by way of x."""
    direct = 0.0 if a < 0 and b < 0 else leg(a, b, from_start, to_goal, between)
    return leg(a, x, from_start, to_goal, between) + leg(x, b, from_start, to_goal, between) - direct


@inner
def length_of(order: Ints, size: int, from_start: Floats, to_goal: Floats, between: Floats) -> float:
    """How long a way is."""
    total: float = from_start[order[0]] + to_goal[order[size - 1]]
    for i in range(1, size):
        total += between[order[i - 1], order[i]]
    return total


@inner
def insert(order: Ints, size: int, at: int, x: int) -> None:
    """Let a way of so many members pass x as well, as its ``at``-th."""
    for i in range(size, at, -1):
        order[i] = order[i - 1]
    order[at] = x


@inner
def shorten(order: Ints, size: int, from_start: Floats, to_goal: Floats, between: Floats) -> float:
    """Turn parts of a way round, and move members, for as long as that makes it shorter; returns its length."""
    is_better = True
    while is_better:
        is_better = False
        for i in range(size):
            before = order[i - 1] if i > 0 else -1
            forth = back = 0.0  # the way within the part, and in the other direction
            for j in range(i + 1, size):
                forth += between[order[j - 1], order[j]]
                back += between[order[j], order[j - 1]]
                after = order[j + 1] if j + 1 < size else -1
                now = leg(before, order[i], from_start, to_goal, between) + forth
                now += leg(order[j], after, from_start, to_goal, between)
                turned = leg(before, order[j], from_start, to_goal, between) + back
                turned += leg(order[i], after, from_start, to_goal, between)
                if turned < now - _LEAST_GAIN:
                    low, high = i, j
                    while low < high:
                        order[low], order[high] = order[high], order[low]
                        low += 1
                        high -= 1
                    forth, back = back, forth
                    is_better = True
        for i in range(size):
            x = order[i]
            before, after = (order[i - 1] if i > 0 else -1), (order[i + 1] if i + 1 < size else -1)
            best, where = detour(before, x, after, from_start, to_goal, between) - _LEAST_GAIN, -1
            for j in range(size + 1):
                if j == i or j == i + 1:
                    continue
                a, b = (order[j - 1] if j > 0 else -1), (order[j] if j < size else -1)
                more = detour(a, x, b, from_start, to_goal, between)
                if more < best:
                    best, where = more, j
            if where >= 0:
                step = 1 if where > i else -1
                last = where - 1 if where > i else where
                for e in range(i, last, step):
                    order[e] = order[e + step]
                order[last] = x
                is_better = True
    return length_of(order, size, from_start, to_goal, between)


@jit
def order_members(members: Ints, from_start: Floats, to_goal: Floats, between: Floats, out: Ints) -> float:
    """Write a short way past all members, and return its length.

    The cheapest to insert comes first. Then parts of the way are exchanged, always in the same manner, and what is not
    shorter after that is undone.
    """
    num = members.size
    is_left = np.full(num, True)
    size = 0
    while size < num:
        best, who, where = np.inf, -1, -1
        for e in range(num):
            if not is_left[e]:
                continue
            for j in range(size + 1):
                a, b = (out[j - 1] if j > 0 else -1), (out[j] if j < size else -1)
                more = detour(a, members[e], b, from_start, to_goal, between)
                if more < best:
                    best, who, where = more, e, j
        if who < 0:
            return np.inf
        insert(out, size, where, members[who])
        is_left[who] = False
        size += 1
    least = shorten(out, size, from_start, to_goal, between)
    kept = np.empty(num, dtype=np.int64)
    cuts = np.empty(3, dtype=np.int64)
    state = 1
    for _ in range(_KICKS_PER_MEMBER * num):
        for e in range(3):
            state = (state * 1103515245 + 12345) % 2147483648
            cuts[e] = 1 + (state >> 8) % (num - 1)
        low = min(cuts[0], cuts[1], cuts[2])
        high = max(cuts[0], cuts[1], cuts[2])
        middle = cuts[0] + cuts[1] + cuts[2] - low - high
        if low == middle or middle == high:
            continue
        for i in range(num):
            kept[i] = out[i]
        for i in range(middle, high):
            out[low + i - middle] = kept[i]
        for i in range(low, middle):
            out[high - middle + i] = kept[i]
        length = shorten(out, size, from_start, to_goal, between)
        if length < least - _LEAST_GAIN:
            least = length
        else:
            for i in range(num):
                out[i] = kept[i]
    return least


@jit
def gather_class(
    heaviest: int, others: Ints, missing: float, level: float, rate: float, weights: Floats, prizes: Floats,
    masses: Floats, compatible: Flags, from_start: Floats, to_goal: Floats, between: Floats, order: Ints, size: int,
) -> tuple[int, float]:  # fmt: skip
    """Write a class of low reduced cost in the order of a short way; returns its size and reduced cost.

    ``others``: who may join the heaviest member. ``missing``: the mass that they must bring. It begins with those who
    are cheapest for their mass where the class costs about ``level`` and a longer way the ``rate``. Then members
    leave, join or give way to others for as long as that helps. ``order`` has room for the largest class, and at first
    ``size`` members, the heaviest one among them. The size is 0 where there is none.
    """
    room = order.size
    num = others.size
    is_in = np.zeros(masses.size, dtype=np.bool_)
    mass = -masses[heaviest]
    weight = prize = 0.0
    for i in range(size):
        is_in[order[i]] = True
        mass += masses[order[i]]
        weight += weights[order[i]]
        prize += prizes[order[i]]
    while mass < missing:
        best, who, where = np.inf, -1, -1
        for e in range(num):
            x = others[e]
            if is_in[x]:
                continue
            least, at = np.inf, -1
            for j in range(size + 1):
                a, b = (order[j - 1] if j > 0 else -1), (order[j] if j < size else -1)
                more = detour(a, x, b, from_start, to_goal, between)
                if more < least:
                    least, at = more, j
            value = (level * weights[x] - prizes[x] + rate * least) / min(masses[x], missing - mass)
            if value < best:
                may_join = True
                for i in range(size):
                    may_join &= compatible[order[i], x]
                if may_join:
                    best, who, where = value, x, at
        if who < 0 or size == room:
            return 0, np.inf
        insert(order, size, where, who)
        is_in[who] = True
        size += 1
        mass += masses[who]
        weight += weights[who]
        prize += prizes[who]
    length = shorten(order, size, from_start, to_goal, between)
    while True:
        now = length * weight - prize
        best, out, who = now - _LEAST_GAIN, -1, -1
        where = -1
        # Somebody leaves (all but the heaviest may, or nobody), and somebody joins, or nobody.
        for i in range(-1, size):
            y = order[i] if i >= 0 else -1
            if y == heaviest:
                continue
            length_then, mass_then, weight_then, prize_then = length, mass, weight, prize
            if i >= 0:
                a, b = (order[i - 1] if i > 0 else -1), (order[i + 1] if i + 1 < size else -1)
                length_then -= detour(a, y, b, from_start, to_goal, between)
                mass_then -= masses[y]
                weight_then -= weights[y]
                prize_then -= prizes[y]
                value = length_then * weight_then - prize_then
                if mass_then >= missing and value < best:
                    best, out, who = value, i, -1
            elif size == room:
                continue
            for e in range(num):
                x = others[e]
                if is_in[x] or mass_then + masses[x] < missing:
                    continue
                if length_then * (weight_then + weights[x]) - prize_then - prizes[x] >= best:
                    continue
                may_join = True
                for j in range(size):
                    may_join &= j == i or compatible[order[j], x]
                if not may_join:
                    continue
                least, at = np.inf, -1
                for j in range(size + 1):
                    if j == i:
                        continue
                    before = j - 1 if j - 1 != i or i < 0 else j - 2
                    a, b = (order[before] if before >= 0 else -1), (order[j] if j < size else -1)
                    more = detour(a, x, b, from_start, to_goal, between)
                    if more < least:
                        least, at = more, j
                value = (length_then + least) * (weight_then + weights[x]) - prize_then - prizes[x]
                if value < best:
                    best, out, who, where = value, i, x, at
        if out < 0 and who < 0:
            return size, now
        if out >= 0:
            y = order[out]
            for i in range(out, size - 1):
                order[i] = order[i + 1]
            size -= 1
            is_in[y] = False
            mass -= masses[y]
            weight -= weights[y]
            prize -= prizes[y]
            where -= where > out
        if who >= 0:
            insert(order, size, where, who)
            is_in[who] = True
            size += 1
            mass += masses[who]
            weight += weights[who]
            prize += prizes[who]
        length = shorten(order, size, from_start, to_goal, between)
