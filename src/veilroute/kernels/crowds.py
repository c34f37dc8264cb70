"""Classes that may hold members who stand near each other, and so many members: searched by who is in and who is out.

A class has one *leader*: the first of its members in a given order. From a leader on, a set P is extended by one member
after the other. For each member y that may still follow, ``lows[y]`` is what a class with all of P and y costs at
least: the cost of P + y itself, or more, since y and each member of P need a witness beside them
(:mod:`veilroute.kernels.floors`).

Whatever comes of P costs some ``g``, everybody in it pays ``g``, and whoever is in it has a low of at most ``g``. So
its reduced cost is at least the least, over the levels ``g``, of ::

    g * w(P) - prize(P) + sum over y with lows[y] <= g of  min(0, g * w(y) - prize(y))

plus, where P has fewer than k members that could stand apart, what the cheapest others add that make them k: at most
one of each *cluster*, within which all stand near each other (docs/theory, :ref:`Crowds <theory-crowds>`).

The cost of P with one member more is joined from two tables over the parts of P: the cheapest walks from the start that
end at a member, and those from a member on to the goal.
"""

from typing import NamedTuple

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints
from veilroute.kernels.extension import has_clique, splits_with
from veilroute.kernels.jit import inner, jit

MAX_DEPTH = 60  #: the most members of a set
COMPLETE, UNFINISHED, FULL = range(3)  #: how a search ends: all was seen, or it was too much work, or there was no room
_PART = 0.5
_FREE = 1e-12


class Ways(NamedTuple):
    """Distances between stops: member i is met at the stops from ``ptr[i]`` up to ``ptr[i + 1]``."""

    ptr: Ints
    from_start: Floats
    to_goal: Floats
    between: Floats


class Crowd(NamedTuple):
    """Members, and what makes them a class."""

    weights: Floats
    prizes: Floats  # what a class earns for each
    floors: Floats  # per two members what a class with both costs at least; infinite where there is none
    far: Flags
    clusters: Ints
    num_clusters: int
    k: int
    largest: int  # the most members of a class
    is_loose: bool  # whether a class may hold members who are near each other


class Walks(NamedTuple):
    """What is known of the walks past the parts of a set, whose members have local stops."""

    stops: Ints  # by local stop
    ptr: Ints  # per place in the set its local stops
    steps: Floats  # between local stops
    ahead: Floats  # by part and local stop: from the start past the part, ending there
    behind: Floats  # from there past the part to the goal


class Room(NamedTuple):
    """Memory of a search: mostly what is known of the set at each depth, and of those who may follow there."""

    chosen: Ints
    tours: Ints
    members: Ints
    lows: Floats
    ends: Ints
    places: Ints
    costs: Floats
    weight: Floats
    prize: Floats
    is_exact: Flags
    num_hits: Ints
    hits: Ints  # by cluster
    is_hit: Flags
    cheapest: Floats
    far_of: Ints
    raised: Floats  # by member
    is_kept: Flags
    counts: Ints  # by cut
    first: Floats  # by part of a set
    last: Floats
    wider: Ints


def make_room(num: int, num_clusters: int, num_cuts: int, num_stops: int, exact: int) -> tuple[Room, Walks]:
    """Memory for ``num`` members, each with at most ``num_stops`` stops.

    Sets of more than ``exact`` members have bounds on their costs, unless a walk past the others meets them as well.
    """
    depth = MAX_DEPTH + 2

    def ints(*shape: int) -> Ints:
        return np.empty(shape, dtype=np.int64)

    room = Room(
        ints(depth), ints(depth, depth), ints(depth, num), np.empty((depth, num)), ints(depth), ints(depth),
        np.empty(depth), np.empty(depth), np.empty(depth), np.empty(depth, dtype=np.bool_), ints(depth),
        ints(num_clusters), np.empty(num_clusters, dtype=np.bool_), np.empty(num_clusters), ints(64), np.empty(num),
        np.empty(num, dtype=np.bool_), ints(num_cuts), np.empty(1 << exact), np.empty(1 << exact), ints(depth),
    )  # fmt: skip
    most = exact * num_stops
    tables = np.empty((1 << exact, most)), np.empty((1 << exact, most))
    return room, Walks(ints(most), ints(exact + 2), np.empty((most, most)), *tables)


@inner
def _add_to_tables(ways: Ways, walks: Walks, size: int, member: int) -> None:
    """Enter the parts of a set of ``size`` members, to which a member is added, that hold this one."""
    first = walks.ptr[size]
    for e in range(ways.ptr[member], ways.ptr[member + 1]):
        walks.stops[first + e - ways.ptr[member]] = e
    last = first + ways.ptr[member + 1] - ways.ptr[member]
    walks.ptr[size + 1] = last
    for p in range(first, last):
        for q in range(last):
            walks.steps[p, q] = ways.between[walks.stops[p], walks.stops[q]]
            walks.steps[q, p] = ways.between[walks.stops[q], walks.stops[p]]
    # Each part with the new member comes after the parts that it is made of.
    for part in range(1 << size, 2 << size):
        for i in range(size + 1):
            if not (part >> i) & 1:
                continue
            rest = part ^ (1 << i)
            for p in range(walks.ptr[i], walks.ptr[i + 1]):
                if rest == 0:
                    walks.ahead[part, p] = ways.from_start[walks.stops[p]]
                    walks.behind[part, p] = ways.to_goal[walks.stops[p]]
                    continue
                there = back = np.inf
                for j in range(size + 1):
                    if (rest >> j) & 1:
                        for q in range(walks.ptr[j], walks.ptr[j + 1]):
                            there = min(there, walks.ahead[rest, q] + walks.steps[q, p])
                            back = min(back, walks.steps[p, q] + walks.behind[rest, q])
                walks.ahead[part, p] = there
                walks.behind[part, p] = back


@inner
def _read_tour(ways: Ways, walks: Walks, size: int, tour: Ints) -> float:
    """What a set costs, by its tables; writes the stops of a cheapest walk."""
    part = (1 << size) - 1
    cost = np.inf
    at = np.int64(-1)
    for p in range(walks.ptr[size]):
        if walks.ahead[part, p] + ways.to_goal[walks.stops[p]] < cost:
            cost = walks.ahead[part, p] + ways.to_goal[walks.stops[p]]
            at = np.int64(p)
    if at < 0:
        return np.inf
    # Back from the last stop to the first.
    for place in range(size - 1, -1, -1):
        tour[place] = walks.stops[at]
        i = 0
        while walks.ptr[i + 1] <= at:
            i += 1
        part ^= 1 << i
        best = np.inf
        before = np.int64(-1)
        for j in range(size):
            if (part >> j) & 1:
                for q in range(walks.ptr[j], walks.ptr[j + 1]):
                    if walks.ahead[part, q] + walks.steps[q, at] < best:
                        best = walks.ahead[part, q] + walks.steps[q, at]
                        before = np.int64(q)
        at = before
    return cost


@inner
def _join(ways: Ways, walks: Walks, size: int, member: int, first: Floats, last: Floats) -> float:
    """What a set with one member more costs, by the tables of the set."""
    everyone = (1 << size) - 1
    least = np.inf
    for x in range(ways.ptr[member], ways.ptr[member + 1]):
        first[0] = ways.from_start[x]
        last[0] = ways.to_goal[x]
        # From each part on to the member, and from the member on to each part.
        for part in range(1, everyone + 1):
            there = back = np.inf
            for i in range(size):
                if (part >> i) & 1:
                    for p in range(walks.ptr[i], walks.ptr[i + 1]):
                        there = min(there, walks.ahead[part, p] + ways.between[walks.stops[p], x])
                        back = min(back, ways.between[x, walks.stops[p]] + walks.behind[part, p])
            first[part] = there
            last[part] = back
        for part in range(everyone + 1):
            least = min(least, first[part] + last[everyone ^ part])
    return least


@inner
def _insert(ways: Ways, tour: Ints, size: int, member: int, wider: Ints) -> float:
    """How much longer a walk gets that meets one member more; writes the walk."""
    least = np.inf
    place = where = 0
    for x in range(ways.ptr[member], ways.ptr[member + 1]):
        for j in range(size + 1):
            a = tour[j - 1] if j > 0 else -1
            b = tour[j] if j < size else -1
            there = ways.from_start[x] if a < 0 else ways.between[a, x]
            back = ways.to_goal[x] if b < 0 else ways.between[x, b]
            now = ways.from_start[b] if a < 0 else ways.to_goal[a] if b < 0 else ways.between[a, b]
            if there + back - now < least:
                least = there + back - now
                place = j
                where = x
    for j in range(size + 1):
        wider[j] = tour[j] if j < place else where if j == place else tour[j - 1]
    return least


@inner
def _may_come(
    crowd: Crowd, cost: float, weight: float, prize: float, is_hit: Flags, newest: int, num_hit: int, members: Ints,
    lows: Floats, begin: int, end: int, skipped: int, threshold: float, cheapest: Floats,
) -> bool:  # fmt: skip
    """Whether a class within the threshold may come of a set that costs at least ``cost``.

    Those from ``begin`` to ``end`` may follow, but for the ``skipped`` one; ``prize`` is what the set earns, less what
    it pays for cuts. ``is_hit`` tells which clusters the set had members of before its newest one came, ``num_hit`` how
    many it has now.
    """
    weights, prizes = crowd.weights, crowd.prizes
    gained = 0.0
    for e in range(begin, end):
        if e != skipped:
            y = members[e]
            gained += min(0.0, max(lows[e], cost) * weights[y] - prizes[y])
    if cost * weight - prize + gained > threshold:
        return False
    lacking = crowd.k - num_hit
    own = crowd.clusters[newest]
    # Level by level: the cost of the set, and the low of each that may follow.
    for at in range(begin - 1, end):
        level = cost
        if at >= begin:
            if at == skipped or lows[at] <= cost:
                continue
            level = lows[at]
        value = level * weight - prize
        if value + gained > threshold:
            continue
        if lacking <= 0:
            for e in range(begin, end):
                if lows[e] <= level and e != skipped:
                    value += min(0.0, level * weights[members[e]] - prizes[members[e]])
            if value <= threshold:
                return True
            continue
        for c in range(crowd.num_clusters):
            cheapest[c] = np.inf
        for e in range(begin, end):
            if lows[e] <= level and e != skipped:
                y = members[e]
                c = crowd.clusters[y]
                more = level * weights[y] - prizes[y]
                value += min(0.0, more)
                if not is_hit[c] and c != own:
                    cheapest[c] = min(cheapest[c], max(0.0, more))
        # So many clusters more are needed: those that add least.
        for _ in range(lacking):
            best = np.inf
            who = -1
            for c in range(crowd.num_clusters):
                if cheapest[c] < best:
                    best = cheapest[c]
                    who = c
            value += best
            if who < 0 or value > threshold:
                break
            cheapest[who] = np.inf
        if value <= threshold:
            return True
    return False


@jit
def search_leader(
    crowd: Crowd, ways: Ways, order: Ints, lowest: Floats, leader: int, cut_ptr: Ints, cut_members: Ints,
    cut_duals: Floats, member_ptr: Ints, member_cuts: Ints, threshold: float, is_listing: bool, max_steps: int,
    halt: Ints, room: Room, walks: Walks, out_sets: Int32s, out_costs: Floats,
) -> tuple[int, int, float, int]:  # fmt: skip
    """Look for classes with a reduced cost of at most ``threshold`` whose first member in the ``order`` is the leader.

    ``lowest`` is what classes with each member cost at least. Where it ``is_listing``, all are written down. Otherwise
    each that is found lowers the threshold to a part of its reduced cost, and when there is no room, the last ones are
    kept: of these one has the least reduced cost of all. It ends early after ``max_steps``, or when
    ``halt`` says so. Returns how it ended, how many were found, the least reduced
    cost that any class may have (the threshold, if there is none below) and how many steps it took.
    """
    num = order.size
    weights, prizes = crowd.weights, crowd.prizes
    chosen, tours, members, lows, ends, places, costs, weight, prize, is_exact, num_hits = (
        room.chosen, room.tours, room.members, room.lows, room.ends, room.places, room.costs, room.weight, room.prize,
        room.is_exact, room.num_hits,
    )  # fmt: skip
    hits, is_hit, cheapest, far_of, raised, is_kept, counts = (
        room.hits, room.is_hit, room.cheapest, room.far_of, room.raised, room.is_kept, room.counts,
    )  # fmt: skip
    for c in range(crowd.num_clusters):
        hits[c] = 0
        is_hit[c] = False
    for c in range(counts.size):
        counts[c] = 0
    places[0] = num_hits[0] = walks.ptr[0] = 0
    costs[0] = weight[0] = prize[0] = 0.0
    found = 0
    least = threshold
    num_steps = 0
    # The leader by itself is the only one that may come first.
    members[0, 0] = order[leader]
    lows[0, 0] = lowest[order[leader]]
    ends[0] = 1
    size = 0
    is_new = False
    while size >= 0:
        if is_new:
            is_new = False
            # Who may follow at all, first by what is known, and again when the costs are there.
            for turn in range(2):
                for e in range(ends[size]):
                    u = members[size, e]
                    for f in range(ends[size]):
                        raised[f] = max(lows[size, e], max(lows[size, f], crowd.floors[u, members[size, f]]))
                    num_hit = num_hits[size] + (0 if is_hit[crowd.clusters[u]] else 1)
                    is_kept[e] = _may_come(
                        crowd, lows[size, e], weight[size] + weights[u], prize[size] + prizes[u], is_hit, u, num_hit,
                        members[size], raised, 0, ends[size], e, threshold, cheapest,
                    )  # fmt: skip
                num_steps += ends[size]
                num_kept = 0
                for e in range(ends[size]):
                    if is_kept[e]:
                        members[size, num_kept] = members[size, e]
                        lows[size, num_kept] = lows[size, e]
                        num_kept += 1
                ends[size] = num_kept
                if turn == 0 and is_exact[size] and size < walks.ptr.size - 2:
                    for e in range(num_kept):
                        u = members[size, e]
                        more = _insert(ways, tours[size], size, u, room.wider)
                        if costs[size] + more > max(costs[size], lows[size, e]) * (1 + _FREE):
                            lows[size, e] = max(lows[size, e], _join(ways, walks, size, u, room.first, room.last))
                            num_steps += 1 << max(0, size - 4)
            # The dearest first: what follows then has nearly its full price at once.
            for e in range(1, ends[size]):
                low, who, f = lows[size, e], members[size, e], e - 1
                while f >= 0 and lows[size, f] < low:
                    lows[size, f + 1] = lows[size, f]
                    members[size, f + 1] = members[size, f]
                    f -= 1
                lows[size, f + 1] = low
                members[size, f + 1] = who
        if size > 0 and (num_steps > max_steps or halt[0]):
            return UNFINISHED, found, least, num_steps
        if places[size] >= ends[size]:
            size -= 1
            if size >= 0:
                gone = chosen[size]
                hits[crowd.clusters[gone]] -= 1
                is_hit[crowd.clusters[gone]] = hits[crowd.clusters[gone]] > 0
                for e in range(member_ptr[gone], member_ptr[gone + 1]):
                    counts[member_cuts[e]] -= 1
            continue
        e = places[size]
        places[size] += 1
        u = members[size, e]
        num_steps += 1
        penalty = 0.0
        for at in range(member_ptr[u], member_ptr[u + 1]):
            if counts[member_cuts[at]] & 1:
                penalty += cut_duals[member_cuts[at]]
        low = max(costs[size], lows[size, e])
        begin = e + 1
        if size == 0:
            # All after the leader.
            num_left = 0
            for f in range(leader + 1, num):
                y = order[f]
                if crowd.floors[u, y] < np.inf:
                    members[1, num_left] = y
                    lows[1, num_left] = max(max(lowest[y], low), crowd.floors[u, y])
                    num_left += 1
        else:
            num_left = 0
            for f in range(begin, ends[size]):
                y = members[size, f]
                if crowd.floors[u, y] < np.inf:
                    members[size + 1, num_left] = y
                    lows[size + 1, num_left] = max(max(lows[size, f], low), crowd.floors[u, y])
                    num_left += 1
        num_hit = num_hits[size] + (0 if is_hit[crowd.clusters[u]] else 1)
        if not _may_come(
            crowd, low, weight[size] + weights[u], prize[size] + prizes[u] - penalty, is_hit, u, num_hit,
            members[size + 1], lows[size + 1], 0, num_left, -1, threshold, cheapest,
        ):  # fmt: skip
            continue
        # The set with this member: how it stands to the others, and whether it is two classes.
        far_of[size] = 0
        for i in range(size):
            far_of[i] &= ~(1 << size)
            if crowd.far[chosen[i], u]:
                far_of[i] |= 1 << size
                far_of[size] |= 1 << i
        if crowd.is_loose and splits_with(far_of, size + 1, size, crowd.k):
            continue
        chosen[size] = u
        grown = size + 1
        weight[grown] = weight[size] + weights[u]
        prize[grown] = prize[size] + prizes[u] - penalty
        num_hits[grown] = num_hit
        more = _insert(ways, tours[size], size, u, tours[grown]) if size else 0.0
        if grown <= walks.ptr.size - 2 and (size == 0 or is_exact[size]):
            _add_to_tables(ways, walks, size, u)
            costs[grown] = _read_tour(ways, walks, grown, tours[grown])
            is_exact[grown] = True
            num_steps += 1 << max(0, size - 3)
        else:
            # Meeting it on the way costs nothing more; else a bound must do.
            is_exact[grown] = is_exact[size] and more <= costs[size] * _FREE
            costs[grown] = costs[size] if is_exact[grown] else low
        if costs[grown] == np.inf:
            continue
        reduced = costs[grown] * weight[grown] - prize[grown]
        if reduced <= threshold and num_hit >= crowd.k and has_clique(far_of, (1 << grown) - 1, crowd.k):
            if is_listing and found == out_costs.size:
                return FULL, found, least, num_steps
            row = found % out_costs.size
            for i in range(out_sets.shape[1]):
                out_sets[row, i] = chosen[i] if i < grown else -1
            out_costs[row] = costs[grown]
            found += 1
            least = min(least, reduced)
            if not is_listing:
                threshold = min(threshold, _PART * reduced)
        if grown == crowd.largest or num_left == 0:
            continue
        if grown == MAX_DEPTH:
            return UNFINISHED, found, least, num_steps
        hits[crowd.clusters[u]] += 1
        is_hit[crowd.clusters[u]] = True
        for at in range(member_ptr[u], member_ptr[u + 1]):
            counts[member_cuts[at]] += 1
        size = grown
        ends[size] = num_left
        places[size] = 0
        is_new = True
    return COMPLETE, found, least, num_steps
