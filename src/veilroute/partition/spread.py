"""Whether a group keeps to the reading of spread in force, and how to make groups that do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veilroute.arrays import Flags, Members
from veilroute.kernels.partition import largest_spread, mark_needed, partition_range, start_partition
from veilroute.partition.bitmask import read_classes
from veilroute.problem import Privacy

_MAX_TRIED = 14


def is_spread(group: Sequence[int], far: Flags, privacy: Privacy) -> bool:
    """Whether a group has k members, and stands apart as the privacy asks (theory, section 2)."""
    if len(group) < privacy.k:
        return False
    if privacy.spread == "all-pairs":
        inside = far[np.ix_(group, group)]
        return int(inside.sum()) == len(group) * (len(group) - 1)
    return _has_far_members(list(group), far, privacy.k)


def _has_far_members(pool: list[int], far: Flags, num: int) -> bool:
    """Whether some ``num`` of the pool are pairwise far: each is tried in turn with those after it."""
    if num <= 1:
        return len(pool) >= num
    for at in range(len(pool) - num + 1):
        ahead = [other for other in pool[at + 1 :] if far[pool[at], other]]
        if len(ahead) >= num - 1 and _has_far_members(ahead, far, num - 1):
            return True
    return False


def split_into_classes(group: Sequence[int], far: Flags, privacy: Privacy) -> tuple[list[Members], Members]:
    """Classes out of members who share their first m nodes anyway, and those who fit in none.

    Under ``witness`` they are one class or none. Under ``all-pairs`` as many as possible are grouped, by trying all
    classes, if there are at most 14 of them. Of more, each member, in order, joins the first class from all of which it
    stands apart; classes that stay too small are dissolved, and their members try the others.
    """
    if privacy.spread == "witness":
        return ([tuple(group)], ()) if is_spread(group, far, privacy) else ([], tuple(group))
    if is_spread(group, far, privacy):
        return [tuple(group)], ()
    if len(group) <= _MAX_TRIED:
        return _group_most(group, far, privacy.k)
    classes = _join_first_fit(group, [], far, is_open=True)
    kept = [members for members in classes if len(members) >= privacy.k]
    stray = [i for members in classes if len(members) < privacy.k for i in members]
    kept = _join_first_fit(stray, kept, far, is_open=False)
    grouped = {i for members in kept for i in members}
    return sorted(tuple(sorted(members)) for members in kept), tuple(i for i in group if i not in grouped)


def _group_most(group: Sequence[int], far: Flags, k: int) -> tuple[list[Members], Members]:
    num = len(group)
    masks = far[np.ix_(group, group)].astype(np.int64) @ (np.int64(1) << np.arange(num, dtype=np.int64))
    spread = largest_spread(num, masks)
    needed = mark_needed(num, k, True, spread)
    shares = np.where(needed & (spread >= k), 0.0, np.inf)
    grouped, cost, choice = start_partition(num)
    partition_range(1, 1 << num, 2 * k - 1, needed, shares, grouped, cost, choice)
    classes = [tuple(group[i] for i in members) for members in read_classes(num, choice, (1 << num) - 1)]
    inside = {i for members in classes for i in members}
    return sorted(classes), tuple(i for i in group if i not in inside)


def _join_first_fit(members: Sequence[int], classes: list[list[int]], far: Flags, *, is_open: bool) -> list[list[int]]:
    for i in members:
        home = next((inside for inside in classes if far[i, inside].all()), None)
        if home is not None:
            home.append(i)
        elif is_open:
            classes.append([i])
    return classes
