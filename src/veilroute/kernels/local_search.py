"""Local search over partitions by grouping the members of neighbouring classes anew.

Swapping two members, relocating one, splitting a class and merging two are all ways to group the members of two classes
anew; chains of ejections take more classes. Instead of trying such moves one by one, the search takes a *union* of
neighbouring classes and finds the best way to group its members (:mod:`veilroute.kernels.regroup`): first each class
with those of its members' best partners, then wider and wider unions around each member. A member is looked at again
when its class has changed.

Where nothing is left to improve that way, rounds follow, by turns of two kinds: a random wide union is grouped anew; or
a few neighbouring pairs of classes are kicked out of place, which is to group them well but not as they were, and the
search goes on from there. What is worse in the end is undone.
"""

from typing import NamedTuple

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints
from veilroute.kernels.jit import inner, jit, spliced
from veilroute.kernels.regroup import (
    LEAST_GAIN,
    Listed,
    Rows,
    Tours,
    Union,
    exchange,
    find_cover,
    gather_union,
    list_classes,
)

NUM_FREE, NUM_OUT, QUEUE_START, QUEUE_LENGTH, MEMBER, STEP, WORK, ROUND, KICKS, CENTER, IS_TRIAL, IS_KICK, DRAW = (
    range(13)
)  # fmt: skip
"""What stands where in ``Groups.numbers``."""

NUM_NUMBERS = DRAW + 1

PAUSED, DONE, CROWDED = range(3)  #: how :func:`search` ends

GAP, SLACK, NOW, UNION_OUT, UNION_CLASSES, UNION_FIRST, UNION_SIZE = range(7)
"""What stands where in the figures of a union: what a better grouping saves, the noise that a kick adds, what its
classes add now, how many members are in none, how many classes it has, how many members the first one has, and how many
there are in all."""

NUM_FIGURES = UNION_SIZE + 1

_MULTIPLIER = 48271
_MODULUS = 2147483647

_NUM_KICKS = 3
_NOISE = 1.0
_NUM_DRAWN = 3
_BREADTH = 2.0
_LEAST_PART = 0.35
_MAX_WHOLE = 12


class Groups(NamedTuple):
    """A partition that is being changed."""

    # The classes, by slot.
    sets: Int32s
    sizes: Ints
    shares: Floats
    class_of: Ints  # the slot of each member's class, -1 for those that are left out
    free: Ints  # slots that hold no class
    # A ring of members whose surroundings have changed.
    queue: Ints
    is_queued: Flags
    numbers: Ints  # see :data:`NUM_FREE` and the names after it


@inner
def _draw(numbers: Ints, num: int) -> int:
    """A random number below ``num``."""
    numbers[DRAW] = numbers[DRAW] * _MULTIPLIER % _MODULUS
    return int(numbers[DRAW] % num)


@inner
def _add_class(sets: Int32s, sizes: Ints, class_of: Ints, member: int, most: int, members: Ints, num: int) -> int:
    """Put a member's class behind the first ``num`` of a union; returns how many they are then, or -1 if too many."""
    for i in range(num):
        if members[i] == member:
            return num
    c = class_of[member]
    size = 1 if c < 0 else sizes[c]
    if num + size > most:
        return -1
    if c < 0:
        members[num] = member
    else:
        for e in range(size):
            members[num + e] = sets[c, e]
    return int(num + size)


@inner
def _propose(
    sets: Int32s, sizes: Ints, class_of: Ints, numbers: Ints, partners: Ints, wide: Ints, members: Ints,
) -> int:  # fmt: skip
    """The next union to try around the member that is being looked at; returns its size, or 0 for none.

    First its class with that of each partner. Then wide ones: the classes of all members' best partners, of the second
    best, and so on, up to the first that does not fit.
    """
    a = numbers[MEMBER]
    step = numbers[STEP]
    numbers[STEP] += 1
    num_partners = partners.shape[1]
    is_pair = step < num_partners
    if step == num_partners + wide.size or (numbers[IS_TRIAL] and not is_pair):
        numbers[MEMBER] = -1
        return 0
    most = members.size if is_pair else wide[step - num_partners]
    num = _add_class(sets, sizes, class_of, a, most, members, 0)
    if num < 0:
        return 0
    if is_pair:
        for e in range(step):
            if class_of[partners[a, step]] >= 0 and class_of[partners[a, step]] == class_of[partners[a, e]]:
                return 0
    alone = num
    for rank in range(step if is_pair else 0, step + 1 if is_pair else num_partners):
        i = 0
        while i < num:
            b = partners[a if is_pair else members[i], rank]
            if b >= 0:
                wider = _add_class(sets, sizes, class_of, b, most, members, num)
                if wider < 0:
                    return num if num > alone else 0
                num = wider
            i += 1
            if is_pair:
                break
    return num if num > alone or not is_pair else 0


@inner
def _propose_random(
    sets: Int32s, sizes: Ints, shares: Floats, class_of: Ints, numbers: Ints, partners: Ints, least: Floats, most: int,
    most_classes: int, members: Ints,
) -> int:  # fmt: skip
    """A random union of so many members and classes at most, around one that costs more than it must.

    If there is a centre, around a partner of that instead.
    """
    num_partners = partners.shape[1]
    a = -1
    if numbers[CENTER] >= 0:
        a = partners[numbers[CENTER], _draw(numbers, num_partners)]
    highest = -np.inf
    # Of some drawn at random, the member whose class costs most beyond what its members must.
    for _ in range(_NUM_DRAWN if a < 0 else 0):
        b = _draw(numbers, class_of.size)
        c = class_of[b]
        regret = np.inf
        if c >= 0:
            regret = shares[c]
            for e in range(sizes[c]):
                regret -= least[sets[c, e]]
        if regret > highest or a < 0:
            highest = regret
            a = b
    numbers[CENTER] = a
    num = 0
    num_classes = 0
    # Add the classes of partners of those who are in the union already, drawn at random.
    for _ in range(2 * most):
        b = a
        if num > 0:
            # Better partners are drawn more often.
            rank = _draw(numbers, num_partners) * _draw(numbers, num_partners) // num_partners
            b = partners[members[_draw(numbers, num)], rank]
        if b < 0:
            continue
        wider = _add_class(sets, sizes, class_of, b, most, members, num)
        if wider < 0:
            break
        if wider > num:
            num = wider
            num_classes += 1
            if num_classes == most_classes:
                break
    return num


@inner
def _replace(groups: Groups, members: Ints, num: int, num_found: int, found: Ints, found_shares: Floats) -> None:
    """Put the classes that were found in the place of those that a union consists of, and note who has changed."""
    sets, sizes, shares, class_of, free = groups.sets, groups.sizes, groups.shares, groups.class_of, groups.free
    queue, is_queued, numbers = groups.queue, groups.is_queued, groups.numbers
    changed = 0
    at = 0
    # Take the old classes apart, except for those that were found again.
    while at < num:
        c = class_of[members[at]]
        if c < 0:
            at += 1
            continue
        size = sizes[c]
        stays = False
        for e in range(num_found):
            if found[e] == ((1 << size) - 1) << at:
                found[e] = 0
                stays = True
        if not stays:
            for e in range(size):
                class_of[members[at + e]] = -1
            changed |= ((1 << size) - 1) << at
            sizes[c] = 0
            free[numbers[NUM_FREE]] = c
            numbers[NUM_FREE] += 1
            numbers[NUM_OUT] += size
        at += size
    # Put each class that is new into a free slot.
    for e in range(num_found):
        if found[e] == 0:
            continue
        changed |= found[e]
        numbers[NUM_FREE] -= 1
        c = free[numbers[NUM_FREE]]
        size = 0
        for i in range(num):
            if (found[e] >> i) & 1:
                sets[c, size] = members[i]
                class_of[members[i]] = c
                size += 1
        sizes[c] = size
        shares[c] = found_shares[e]
        numbers[NUM_OUT] -= size
    # Whoever is in another class now is looked at again.
    for i in range(num):
        if (changed >> i) & 1 and not is_queued[members[i]]:
            queue[(numbers[QUEUE_START] + numbers[QUEUE_LENGTH]) % queue.size] = members[i]
            is_queued[members[i]] = True
            numbers[QUEUE_LENGTH] += 1


@inner
def _begin_round(groups: Groups, saved: Groups, has_rounds: bool) -> bool:
    """End a round, undoing it if it made things worse, and begin another one; false when there is to be none."""
    numbers, saved_numbers = groups.numbers, saved.numbers
    is_back = False
    if numbers[IS_TRIAL]:
        worse = float(numbers[NUM_OUT] - saved_numbers[NUM_OUT])
        if worse == 0:
            for c in range(groups.sizes.size):
                if groups.sizes[c] > 0:
                    worse += groups.shares[c]
                if saved.sizes[c] > 0:
                    worse -= saved.shares[c]
        is_back = worse > LEAST_GAIN / 2
    numbers[WORK] += 1
    numbers[ROUND] += 1
    numbers[CENTER] = -1
    numbers[IS_TRIAL] = has_rounds and numbers[ROUND] % 2 == 0
    numbers[KICKS] = _NUM_KICKS if numbers[IS_TRIAL] else 0
    # Undone or not, both are alike when a round that may be undone begins.
    if is_back or numbers[IS_TRIAL]:
        source, target = (saved, groups) if is_back else (groups, saved)
        for c in range(source.sizes.size):
            target.sizes[c] = source.sizes[c]
            target.shares[c] = source.shares[c]
            target.free[c] = source.free[c]
            for e in range(source.sizes[c]):
                target.sets[c, e] = source.sets[c, e]
        for i in range(source.class_of.size):
            target.class_of[i] = source.class_of[i]
        target.numbers[NUM_FREE] = source.numbers[NUM_FREE]
        target.numbers[NUM_OUT] = source.numbers[NUM_OUT]
    return has_rounds


@inner
def _add_noise(
    sizes: Ints, class_of: Ints, numbers: Ints, members: Ints, num: int, num_listed: int, slack: float, masks: Ints,
    excess: Floats,
) -> None:  # fmt: skip
    """Make classes cost up to ``slack`` more than they do: those that are there all of it, the others at random."""
    for c in range(num_listed):
        is_there = False
        at = 0
        while at < num:
            size = sizes[class_of[members[at]]]
            if masks[c] == ((1 << size) - 1) << at:
                is_there = True
            at += size
        excess[c] += slack if is_there else slack * _draw(numbers, 1024) / 1024.0


@spliced
def next_union(
    groups: Groups, saved: Groups, partners: Ints, least: Floats, wide: Ints, widest: int, has_rounds: bool,
    members: Ints,
) -> int:  # fmt: skip
    """Write the members of the next union to look at; returns how many they are, 0 for none yet, -1 at the end."""
    sets, sizes, shares, class_of, numbers = groups.sets, groups.sizes, groups.shares, groups.class_of, groups.numbers
    is_kick = numbers[KICKS] > 0
    numbers[IS_KICK] = is_kick
    if is_kick:
        numbers[KICKS] -= 1
    elif numbers[MEMBER] < 0 and numbers[QUEUE_LENGTH] > 0:
        numbers[MEMBER] = groups.queue[numbers[QUEUE_START]]
        numbers[STEP] = 0
        groups.is_queued[numbers[MEMBER]] = False
        numbers[QUEUE_START] = (numbers[QUEUE_START] + 1) % groups.queue.size
        numbers[QUEUE_LENGTH] -= 1
    if numbers[MEMBER] >= 0 and not is_kick:
        return _propose(sets, sizes, class_of, numbers, partners, wide, members)
    if not is_kick:
        if not _begin_round(groups, saved, has_rounds):
            return -1
        if numbers[KICKS] > 0:
            return 0
    most = members.size if is_kick else wide[0] + _draw(numbers, widest - wide[0] + 1)
    most_classes = 2 if is_kick else most
    return _propose_random(sets, sizes, shares, class_of, numbers, partners, least, most, most_classes, members)


@spliced
def list_union(
    tours: Tours, groups: Groups, members: Ints, num: int, union: Union, rows: Rows, listed: Listed, figures: Floats
) -> int:
    """List the classes that may improve a union; how many, -1 if too many, -2 if there is nothing to improve.

    ``figures`` is what :func:`settle_union` needs to know.
    """
    sizes, shares, class_of, numbers = groups.sizes, groups.shares, groups.class_of, groups.numbers
    is_kick = numbers[IS_KICK] > 0
    now = 0.0
    num_out = 0
    num_classes = 0
    num_first = 0
    # The classes of a union stand one behind the other.
    at = 0
    while at < num:
        c = class_of[members[at]]
        if c < 0:
            num_out += 1
            at += 1
        else:
            now += shares[c]
            num_classes += 1
            at += sizes[c]
        if num_first == 0:
            num_first = at
    if num_out > 0 and (num > _MAX_WHOLE or is_kick):
        return -2
    numbers[WORK] += 1
    gap = np.inf
    slack = 0.0
    at_least = gather_union(tours, members, num, union)
    if num_out == 0:
        gap = now - at_least - LEAST_GAIN
        if is_kick:
            slack = _NOISE * now / num_classes
        if gap + slack <= 0:
            return -2
    part = 1.0
    if num > _MAX_WHOLE and num_classes > 2:
        part = max(_LEAST_PART, _BREADTH / num_classes)
    num_listed, work = list_classes(
        tours.k, tours.max_size, tours.is_loose, num, part * gap + slack, union, rows, listed
    )  # fmt: skip
    numbers[WORK] += work
    figures[GAP], figures[SLACK], figures[NOW] = gap, slack, now
    figures[UNION_OUT], figures[UNION_CLASSES], figures[UNION_FIRST] = num_out, num_classes, num_first
    return num_listed


@spliced
def settle_union(groups: Groups, members: Ints, num: int, num_listed: int, listed: Listed, figures: Floats) -> None:
    """Put the best of the classes that were listed in the place of those that a union consists of, if it is better."""
    sizes, class_of, numbers = groups.sizes, groups.class_of, groups.numbers
    is_kick = numbers[IS_KICK] > 0
    gap, slack, now = figures[GAP], figures[SLACK], figures[NOW]
    num_out, num_classes = int(figures[UNION_OUT]), int(figures[UNION_CLASSES])
    if is_kick:
        gap += slack * num_classes + 2 * LEAST_GAIN
        _add_noise(sizes, class_of, numbers, members, num, num_listed, slack, listed.masks, listed.excess)
    found, work = find_cover(num, num_listed, gap, now - LEAST_GAIN, num_out, listed)
    numbers[WORK] += work
    if found >= 0:
        _replace(groups, members, num, found, listed.found_masks, listed.found_shares)
        if not is_kick:
            numbers[MEMBER] = -1


@jit
def exchange_members(
    tours: Tours, groups: Groups, members: Ints, num: int, union: Union, rows: Rows, listed: Listed, figures: Floats
) -> None:
    """Exchange members between the two classes of a union that has too many sets to be listed, if that is better.

    A kernel of its own, because only large classes need it: most plans never compile it.
    """
    numbers = groups.numbers
    num_first = int(figures[UNION_FIRST])
    leaving = (-1, num_first)
    coming = (num_first - 1, num)
    below = figures[NOW] - LEAST_GAIN
    is_kick = numbers[IS_KICK] > 0
    if is_kick:
        x = _draw(numbers, num_first)
        y = num_first + _draw(numbers, num - num_first)
        leaving = (x, x + 1)
        coming = (y, y + 1)
        below = np.inf
    found, work = exchange(
        tours.k, tours.max_size, tours.is_loose, num, num_first, leaving, coming, below, union, rows.costs, listed
    )  # fmt: skip
    numbers[WORK] += work * (1 << min(num_first, num - num_first))
    if found >= 0:
        _replace(groups, members, num, found, listed.found_masks, listed.found_shares)
        if not is_kick:
            numbers[MEMBER] = -1


@jit
def search(
    tours: Tours, groups: Groups, saved: Groups, partners: Ints, least: Floats, wide: Ints, widest: int,
    has_rounds: bool, limit: int, members: Ints, figures: Floats, union: Union, rows: Rows, listed: Listed,
) -> int:  # fmt: skip
    """Improve a partition until ``limit`` sets have been looked at, or until nothing is left to do.

    ``tours``: costs and conditions. ``groups``: the partition. While a round goes on that may yet be undone, ``saved``
    is the better one. ``saved``: memory for a partition. ``partners``: for each member its best partners, the best
    first, with -1 behind them. ``least``: what each member adds to any class at least. ``wide``, ``widest``: how many
    members to group anew at once around each member, smaller numbers first, and at most in rounds. ``has_rounds``:
    whether there is always something left to do. ``limit``: where to pause; the search goes on there when it is called
    again. ``members``, ``figures``, ``union``, ``rows``, ``listed``: memory.

    Returns ``PAUSED``, ``DONE``, or ``CROWDED`` when :func:`exchange_members` is to be called before the search goes
    on.
    """
    while groups.numbers[WORK] < limit:
        num = next_union(groups, saved, partners, least, wide, widest, has_rounds, members)
        if num < 0:
            return DONE
        if num == 0:
            continue
        num_listed = list_union(tours, groups, members, num, union, rows, listed, figures)
        if num_listed >= 0:
            settle_union(groups, members, num, num_listed, listed, figures)
        elif num_listed == -1 and figures[UNION_CLASSES] == 2 and figures[UNION_OUT] == 0:
            figures[UNION_SIZE] = num
            return CROWDED
    return PAUSED
