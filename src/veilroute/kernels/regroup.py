"""The members of a few classes grouped anew, as well as they can be.

With ``least_i`` what a member adds to any class within the union at least, the excess of a set P,
``c(P) * w(P) - fixed(P) - least(P)`` summed over trips, only grows with the set. No set whose excess is as much as the
union's own can be part of anything better, so near a local optimum a handful of sets is looked at. What they show is
used to raise ``least_i`` further, and then the cheapest cover of the union by these classes is searched for.

Two classes that are too large to be grouped anew as a whole exchange members instead.
"""

from typing import NamedTuple

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints
from veilroute.kernels.extension import has_clique
from veilroute.kernels.jit import inner
from veilroute.kernels.subsets import count_bits
from veilroute.kernels.tables import find_key

MAX_UNION = 40  #: the most members that are grouped anew at once
MAX_ROWS = 1 << 12  #: the most subsets of a union that may be looked at; a union that needs more is left as it is
MAX_STEPS = 1 << 13  #: the most steps of the search for a cover; after as many the best one so far is taken

HEAD, COVERED, OUTSIDE, CHOSEN, FOLLOWING = range(5)
"""What stands where in ``Listed.levels``: by member the first class that begins with it; by depth who is covered, how
many are left out, which class was chosen and which one comes next."""

LEAST_GAIN = 1e-9  #: what an improvement must be more than


class Tours(NamedTuple):
    """What sets of members cost, and which are classes."""

    # How many members a class must and may have.
    k: int
    max_size: int
    is_loose: bool  # whether a class needs k members that are pairwise far; if not, all its members must be compatible
    weights: Floats  # per trip and member
    fixed: Floats  # per member
    pair_costs: Floats  # per trip and two members
    # Per two members.
    compatible: Flags
    far: Flags
    # Member i is watched from ``posts[post_ptr[i]:post_ptr[i + 1]]``, and perhaps from elsewhere.
    post_ptr: Ints
    posts: Ints
    # Distances per trip and post.
    from_start: Floats
    to_goal: Floats
    between: Floats  # distances from each post (row) to each


class Union(NamedTuple):
    """What concerns the members that are to be grouped anew."""

    # Per trip and member, and per trip and two of them.
    weights: Floats
    pairs: Floats
    # Per member.
    fixed: Floats
    least: Floats
    # Per member the bit mask of its partners.
    friends: Ints
    far: Ints
    first_post: Ints  # where each member's posts begin
    # Distances from the start and to the goal, per trip and post, and between posts.
    first: Floats
    last: Floats
    steps: Floats
    # Scratch: the cheapest pairs of a member; of a set its costs and weights by trip, and its members.
    smallest: Floats
    costs: Floats
    weight: Floats
    inside: Ints


class Rows(NamedTuple):
    """The subsets of a union that are looked at."""

    costs: Floats  # per subset, trip and post the cheapest way to cover the subset and end there
    # Each subset, and where it stands in ``slots``.
    masks: Ints
    places: Ints
    slots: Int32s  # the hash table from subsets to rows


class Listed(NamedTuple):
    """The classes that come into question for a union, and those that were chosen."""

    # Classes.
    masks: Ints
    shares: Floats
    excess: Floats
    following: Ints  # the next one with the same first member, by excess
    # The best of them together.
    found_masks: Ints
    found_shares: Floats
    # Scratch of the search for these, by depth; see :data:`HEAD` and the names after it.
    levels: Ints
    values: Floats


def make_union(num_trips: int, posts_per_member: int, most_rows: int = MAX_ROWS) -> tuple[Union, Rows, Listed]:
    """Memory for members with at most ``posts_per_member`` posts, and for ``most_rows`` subsets of a union.

    There must be room for one subset of each member.
    """
    num_posts = MAX_UNION * posts_per_member
    union = Union(
        weights=np.empty((num_trips, MAX_UNION)),
        pairs=np.empty((num_trips, MAX_UNION, MAX_UNION)),
        fixed=np.empty(MAX_UNION),
        least=np.empty(MAX_UNION),
        friends=np.empty(MAX_UNION, dtype=np.int64),
        far=np.empty(MAX_UNION, dtype=np.int64),
        first_post=np.empty(MAX_UNION + 1, dtype=np.int64),
        first=np.empty((num_trips, num_posts)),
        last=np.empty((num_trips, num_posts)),
        steps=np.empty((num_posts, num_posts)),
        smallest=np.empty(MAX_UNION),
        costs=np.empty(num_trips),
        weight=np.empty(num_trips),
        inside=np.empty(MAX_UNION, dtype=np.int64),
    )
    rows = Rows(
        costs=np.empty((MAX_ROWS, num_trips, num_posts)),
        masks=np.empty(most_rows, dtype=np.int64),
        places=np.empty(most_rows, dtype=np.int64),
        slots=np.full(4 * MAX_ROWS, -1, dtype=np.int32),
    )
    listed = Listed(
        masks=np.empty(MAX_ROWS, dtype=np.int64),
        shares=np.empty(MAX_ROWS),
        excess=np.empty(MAX_ROWS),
        following=np.empty(MAX_ROWS, dtype=np.int64),
        found_masks=np.empty(MAX_UNION, dtype=np.int64),
        found_shares=np.empty(MAX_UNION),
        levels=np.empty((5, MAX_UNION + 1), dtype=np.int64),
        values=np.empty(MAX_UNION + 1),
    )
    return union, rows, listed


@inner
def gather_union(tours: Tours, members: Ints, num: int, union: Union) -> float:
    """Bring together what concerns some members; returns what they add to any classes at least."""
    k, is_loose, tour_weights, tour_fixed = tours.k, tours.is_loose, tours.weights, tours.fixed
    pair_costs, compatible, tour_far = tours.pair_costs, tours.compatible, tours.far
    post_ptr, posts, from_start, to_goal, between = (
        tours.post_ptr, tours.posts, tours.from_start, tours.to_goal, tours.between,
    )  # fmt: skip
    weights, pairs, fixed, least_of, friends, far = (
        union.weights, union.pairs, union.fixed, union.least, union.friends, union.far,
    )  # fmt: skip
    first_post, first, last, steps = union.first_post, union.first, union.last, union.steps
    num_trips = tour_weights.shape[0]
    smallest = union.smallest
    first_post[0] = 0
    total = 0.0
    for i in range(num):
        a = members[i]
        first_post[i + 1] = first_post[i] + post_ptr[a + 1] - post_ptr[a]
        friends[i] = 0
        far[i] = 0
        for j in range(num):
            if compatible[a, members[j]]:
                friends[i] |= 1 << j
            if is_loose and tour_far[a, members[j]]:
                far[i] |= 1 << j
        fixed[i] = tour_fixed[a]
        least = -tour_fixed[a]
        for trip in range(num_trips):
            weights[trip, i] = tour_weights[trip, a]
            for e in range(k - 1):
                smallest[e] = np.inf
            for j in range(num):
                cost = pair_costs[trip, a, members[j]]
                pairs[trip, i, j] = cost
                if (friends[i] >> j) & 1 and cost < smallest[k - 2]:
                    e = k - 2
                    while e > 0 and smallest[e - 1] > cost:
                        smallest[e] = smallest[e - 1]
                        e -= 1
                    smallest[e] = cost
            least += smallest[k - 2] * weights[trip, i]
        # Who has too few partners here stays out, which is counted apart.
        least_of[i] = least if least < np.inf else 0.0
        total += least_of[i]
        for p in range(post_ptr[a + 1] - post_ptr[a]):
            post = posts[post_ptr[a] + p]
            at = first_post[i] + p
            for trip in range(num_trips):
                first[trip, at] = from_start[trip, post]
                last[trip, at] = to_goal[trip, post]
            for j in range(i + 1):
                for q in range(post_ptr[members[j] + 1] - post_ptr[members[j]]):
                    other = posts[post_ptr[members[j]] + q]
                    steps[at, first_post[j] + q] = between[post, other]
                    steps[first_post[j] + q, at] = between[other, post]
    return total


@inner
def list_classes(
    k: int, max_size: int, is_loose: bool, num: int, gap: float, union: Union, rows: Rows, listed: Listed
) -> tuple[int, int]:
    """All classes whose excess is below ``gap``, by size: how many there are, or -1 if too many, and the sets priced.

    ``rows.costs[P, q]`` is the cheapest way from the start through P that ends at the post q. A set is priced when all
    that are smaller have been, and then tried with one member more.
    """
    weights, pairs, fixed, least, friends, far = (
        union.weights, union.pairs, union.fixed, union.least, union.friends, union.far,
    )  # fmt: skip
    first_post, first, last, steps = union.first_post, union.first, union.last, union.steps
    table, row_masks, places, slots = rows.costs, rows.masks, rows.places, rows.slots
    num_trips = weights.shape[0]
    costs, weight, inside = union.costs, union.weight, union.inside
    num_classes = 0
    num_rows = num
    # Single members come first.
    for i in range(num):
        row_masks[i] = 1 << i
        for trip in range(num_trips):
            for p in range(first_post[i], first_post[i + 1]):
                table[i, trip, p] = first[trip, p]
    r = 0
    # Price one set after the other; those with one member more are put behind the last.
    while r < num_rows:
        mask = row_masks[r]
        size = 0
        taken = 0.0
        paid = 0.0
        for trip in range(num_trips):
            weight[trip] = 0.0
        for i in range(num):
            if (mask >> i) & 1:
                inside[size] = i
                size += 1
                taken += fixed[i]
                paid += least[i]
                for trip in range(num_trips):
                    weight[trip] += weights[trip, i]
        share = -taken
        for trip in range(num_trips):
            cost = np.inf
            for e in range(size):
                for p in range(first_post[inside[e]], first_post[inside[e] + 1]):
                    cost = min(cost, table[r, trip, p] + last[trip, p])
            if size == 2:
                cost = min(cost, pairs[trip, inside[0], inside[1]])
            costs[trip] = cost
            share += cost * weight[trip]
        row = r
        r += 1
        if not share - paid < gap:
            continue
        if size >= k and (not is_loose or has_clique(far, mask, k)):
            listed.masks[num_classes] = mask
            listed.excess[num_classes] = share - paid
            listed.shares[num_classes] = share
            num_classes += 1
        if size == max_size:
            continue
        # Try the set with each further member.
        for j in range(num):
            if (mask >> j) & 1 or mask & ~friends[j]:
                continue
            lowest = -taken - paid - fixed[j] - least[j]
            for trip in range(num_trips):
                cost = costs[trip]
                for e in range(size):
                    cost = max(cost, pairs[trip, inside[e], j])
                lowest += cost * (weight[trip] + weights[trip, j])
            if not lowest < gap:
                continue
            wider = mask | (1 << j)
            slot = find_key(wider, row_masks, slots)
            at = slots[slot]
            if at < 0:
                if num_rows == row_masks.size:
                    for e in range(slots.size):
                        slots[e] = -1
                    return -1, num_rows
                at = num_rows
                num_rows += 1
                slots[slot] = at
                places[at] = slot
                row_masks[at] = wider
                for trip in range(num_trips):
                    for e in range(size):
                        for p in range(first_post[inside[e]], first_post[inside[e] + 1]):
                            table[at, trip, p] = np.inf
            for trip in range(num_trips):
                for q in range(first_post[j], first_post[j + 1]):
                    cost = np.inf
                    for e in range(size):
                        for p in range(first_post[inside[e]], first_post[inside[e] + 1]):
                            cost = min(cost, table[row, trip, p] + steps[p, q])
                    table[at, trip, q] = cost
    # Leave the hash table clean for the next union.
    for r in range(num, num_rows):
        slots[places[r]] = -1
    return num_classes, num_rows


@inner
def find_cover(num: int, num_classes: int, gap: float, now: float, num_out: int, listed: Listed) -> tuple[int, int]:
    """The cheapest cover of a union by the classes listed: how many, or -1 for none, and how many steps it took.

    ``num``, ``num_classes``: how many members and classes there are. ``gap``: what the excess of all classes together
    must be less than, when everybody must be in a class. ``now``: what the sum of shares must be less than when
    ``num_out`` members may be left out and as many are. ``num_out``: how many members may be left out. ``listed``:
    where the classes are and the cover is returned. Excesses are changed.
    """
    masks, shares, excess, following_class = listed.masks, listed.shares, listed.excess, listed.following
    # Each member in turn takes what the classes that it can be in leave over.
    if num_out == 0:
        for i in range(num):
            least = np.inf
            for c in range(num_classes):
                if (masks[c] >> i) & 1:
                    least = min(least, excess[c])
            gap -= least
            if not gap > 0:
                return -1, 0
            for c in range(num_classes):
                if (masks[c] >> i) & 1:
                    excess[c] -= least
    levels, value = listed.levels, listed.values
    # A list of classes for each first member, by excess.
    for i in range(num):
        levels[HEAD, i] = -1
    for c in range(num_classes):
        if num_out == 0 and excess[c] >= gap:
            continue
        first = 0
        while not (masks[c] >> first) & 1:
            first += 1
        before = -1
        after = levels[HEAD, first]
        while after >= 0 and excess[after] <= excess[c]:
            before = after
            after = following_class[after]
        following_class[c] = after
        if before < 0:
            levels[HEAD, first] = c
        else:
            following_class[before] = c
    # Depth first. The first member not decided upon is in the next class, or left out.
    everyone = (1 << num) - 1
    levels[COVERED, 0] = 0
    levels[OUTSIDE, 0] = 0
    value[0] = 0.0
    below = gap if num_out == 0 else now
    best_out = num_out
    num_found = -1
    steps = 0
    depth = 0
    levels[FOLLOWING, 0] = levels[HEAD, 0]
    while depth >= 0 and steps < MAX_STEPS:
        steps += 1
        c = levels[FOLLOWING, depth]
        if c == -2:
            depth -= 1
            continue
        mask = levels[COVERED, depth]
        if c >= 0:
            levels[FOLLOWING, depth] = following_class[c]
            if masks[c] & mask:
                continue
            wider = mask | masks[c]
            away = levels[OUTSIDE, depth]
            worth = value[depth] + (excess[c] if num_out == 0 else shares[c])
            if num_out == 0 and worth >= below:
                levels[FOLLOWING, depth] = -2
        else:
            levels[FOLLOWING, depth] = -2
            wider = mask | (mask + 1)
            away = levels[OUTSIDE, depth] + 1
            worth = value[depth]
        if away > best_out or (away == best_out and worth >= below):
            continue
        levels[CHOSEN, depth] = c
        if wider == everyone:
            best_out = away
            below = worth
            num_found = 0
            for e in range(depth + 1):
                if levels[CHOSEN, e] >= 0:
                    listed.found_masks[num_found] = masks[levels[CHOSEN, e]]
                    listed.found_shares[num_found] = shares[levels[CHOSEN, e]]
                    num_found += 1
            continue
        depth += 1
        levels[COVERED, depth] = wider
        value[depth] = worth
        levels[OUTSIDE, depth] = away
        first = 0
        while (wider >> first) & 1:
            first += 1
        levels[FOLLOWING, depth] = levels[HEAD, first]
    return num_found, steps


@inner
def _share(inside: Ints, size: int, union: Union, costs: Floats) -> float:
    """What a set adds, infinite where no walk covers it.

    By dynamic programming over (visited members, last post), whose values are kept in ``costs``.
    """
    weights, steps = union.weights, union.steps
    first_post, first, last = union.first_post, union.first, union.last
    everyone = (1 << size) - 1
    share = 0.0
    # What the members pay without hiding, and then for each trip what the cheapest order of visits costs.
    for e in range(size):
        share -= union.fixed[inside[e]]
    for trip in range(weights.shape[0]):
        weight = 0.0
        for e in range(size):
            weight += weights[trip, inside[e]]
        cost = np.inf
        for visited in range(1, everyone + 1):
            for e in range(size):
                if not (visited >> e) & 1:
                    continue
                before = visited ^ (1 << e)
                for q in range(first_post[inside[e]], first_post[inside[e] + 1]):
                    so_far = first[trip, q] if before == 0 else np.inf
                    for f in range(size):
                        if (before >> f) & 1:
                            for p in range(first_post[inside[f]], first_post[inside[f] + 1]):
                                so_far = min(so_far, costs[before, trip, p] + steps[p, q])
                    costs[visited, trip, q] = so_far
                    if visited == everyone:
                        cost = min(cost, so_far + last[trip, q])
        share += cost * weight
    return share


@inner
def exchange(
    k: int, max_size: int, is_loose: bool, num: int, num_own: int, leaving: tuple[int, int], coming: tuple[int, int],
    below: float, union: Union, costs: Floats, listed: Listed,
) -> tuple[int, int]:  # fmt: skip
    """Two classes that come of two by swapping two members, or by moving one: the first that cost less than wanted.

    ``k``, ``max_size``, ``is_loose``: see :class:`~veilroute.kernels.regroup.Tours`. ``num``, ``num_own``: how many
    members the union has, and how many of them, the first ones, are in one class; the others are in one. ``leaving``,
    ``coming``: from which to which (excluded) of the members one may leave the first class, and one may come in; -1,
    and the last member of the first class, stand for nobody. ``below``: what the sum of shares must be less than.
    ``union``: the members. ``costs``: memory, see :class:`~veilroute.kernels.regroup.Rows`. ``listed``: where the
    classes are returned.

    Returns 2, or -1 when there is nothing; then how many sets were priced.
    """
    weights, pairs, fixed, friends, far = union.weights, union.pairs, union.fixed, union.friends, union.far
    own = (1 << num_own) - 1
    everyone = (1 << num) - 1
    inside = np.empty((2, num), dtype=np.int64)
    masks = np.empty(2, dtype=np.int64)
    shares = np.empty(2)
    work = 0
    # Try every two members that may change places, or one that moves.
    for x in range(leaving[0], leaving[1]):
        for y in range(coming[0], coming[1]):
            masks[0] = own
            if x >= 0:
                masks[0] ^= 1 << x
            if y >= num_own:
                masks[0] ^= 1 << y
            masks[1] = everyone ^ masks[0]
            if masks[0] == own or (x >= 0 and masks[1] & ~friends[x] & ~(1 << x)):
                continue
            if y >= num_own and masks[0] & ~friends[y] & ~(1 << y):
                continue
            # What classes add at least: their walks cover every two of their members.
            total = 0.0
            for side in range(2):
                size = 0
                shares[side] = 0.0
                for i in range(num):
                    if (masks[side] >> i) & 1:
                        inside[side, size] = i
                        shares[side] -= fixed[i]
                        size += 1
                if size < k or size > max_size or (is_loose and not has_clique(far, masks[side], k)):
                    shares[side] = np.inf
                for trip in range(weights.shape[0]):
                    cost = 0.0
                    weight = 0.0
                    for e in range(size):
                        weight += weights[trip, inside[side, e]]
                        for f in range(e):
                            cost = max(cost, pairs[trip, inside[side, e], inside[side, f]])
                    shares[side] += cost * weight
                total += shares[side]
            for side in range(2):
                if total < below:
                    work += 1
                    total -= shares[side]
                    shares[side] = _share(inside[side], count_bits(masks[side]), union, costs)
                    total += shares[side]
            if total < below:
                for side in range(2):
                    listed.found_masks[side] = masks[side]
                    listed.found_shares[side] = shares[side]
                return 2, work
    return -1, work
