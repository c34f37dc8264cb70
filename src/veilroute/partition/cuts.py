"""Subset-row cuts: what every partition keeps to and a fractional solution need not (theory, section 3).

Of an odd set S of members, a partition has at most ``|S| // 2`` classes that hold two of them, a class with four
counted twice: the rounded half of the rows of S. Three members close most of the gap. Larger sets are grown from three
by two members at a time (:func:`~veilroute.kernels.cuts.grow_cuts`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veilroute.arrays import Floats, Int32s, Members
from veilroute.kernels.cuts import grow_cuts

MAX_CUT = 9
"""The most members of a cut."""

_LEAST_VIOLATION = 1e-3
_LEAST_VALUE = 1e-7
_LEAST_SEED = 0.6
_MAX_SEEDS = 20_000
_CUTS_PER_MEMBER = 3


def separate(
    num: int, sets: Int32s, values: Floats, known: Sequence[Members], most: int, *, is_wide: bool = False
) -> list[Members]:
    """Cuts that a fractional solution violates most, at most ``most`` and few through each member.

    Of three members where there are some, unless it ``is_wide``; else of up to :data:`MAX_CUT`.

    Complexity: the sum over members of the square of how many others they share a class with, times that number for
    the larger sets.
    """
    is_used = (values > _LEAST_VALUE) & (values < 1 - _LEAST_VALUE)
    used, amounts = sets[is_used], values[is_used]
    seeds = _seeds(num, used, amounts)
    if not len(seeds):
        return []
    columns, places = np.nonzero(used >= 0)
    members = used[columns, places].astype(np.int64)
    by_member = np.argsort(members, kind="stable")
    member_ptr = np.searchsorted(members[by_member], np.arange(num + 1)).astype(np.int64)
    found: dict[Members, float] = {}
    for max_size in (MAX_CUT,) if is_wide else (3, MAX_CUT):
        out = np.empty((len(seeds), max_size), dtype=np.int32)
        surplus = np.empty(len(seeds))
        grow_cuts(used, amounts, member_ptr, columns[by_member], seeds, max_size, out, surplus)
        for row in np.flatnonzero(surplus > _LEAST_VIOLATION).tolist():
            found[tuple(sorted(out[row][out[row] >= 0].tolist()))] = float(surplus[row])
        if found:
            break
    have = set(known)
    return _spread_out([(surplus, cut) for cut, surplus in found.items() if cut not in have], most)


def _seeds(num: int, used: Int32s, amounts: Floats) -> Int32s:
    """Triples of members that are often together: each two of two partners of a member, with the member."""
    together = np.zeros((num, num))
    for i in range(used.shape[1]):
        for j in range(used.shape[1]):
            both = (used[:, i] >= 0) & (used[:, j] >= 0)
            if i != j and both.any():
                np.add.at(together, (used[both, i], used[both, j]), amounts[both])
    found: dict[tuple[int, ...], float] = {}
    for j in np.flatnonzero(together.any(axis=1)).tolist():
        mine = np.flatnonzero(together[j])
        sums = together[j, mine][:, None] + together[j, mine][None, :] + together[np.ix_(mine, mine)]
        for a, b in zip(*np.nonzero(np.triu(sums > _LEAST_SEED, 1)), strict=True):
            found[tuple(sorted((j, int(mine[a]), int(mine[b]))))] = float(sums[a, b])
    best = sorted(found, key=lambda seed: (-round(found[seed], 9), seed))[:_MAX_SEEDS]
    return np.array(best, dtype=np.int32).reshape(len(best), 3)


def _spread_out(found: list[tuple[float, Members]], most: int) -> list[Members]:
    counts: dict[int, int] = {}
    chosen: list[Members] = []
    for _, cut in sorted(found, key=lambda item: (-round(item[0], 9), item[1])):
        if len(chosen) == most:
            break
        if all(counts.get(i, 0) < _CUTS_PER_MEMBER for i in cut):
            chosen.append(cut)
            for i in cut:
                counts[i] = counts.get(i, 0) + 1
    return chosen
