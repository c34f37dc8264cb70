"""Areas: sets of candidates that are pairwise close, "less than ell across".

Two candidates are close when they are at the same node or less than ell apart. An area is a clique of the graph that
joins close candidates, so what an observer may believe of an area is a sum of fixed masses: it does not depend on which
candidates are in a group, and the bound on it is linear (docs/theory, :ref:`Areas <theory-areas>`).

Sets of candidates are bit masks here. The auditor has its own code for the same question.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator, Sequence

import numpy as np

from veilroute.base.arrays import Flags

MAX_AREAS = 4096
"""The most maximal areas that are listed. On streets and grids there are about as many as candidates; places that are
all at nearly the same distance could make exponentially many."""

_MAX_BRANCHES = 200_000  #: after this many branches the heaviest area is bounded from above instead of found
_MAX_APART_BRANCHES = 20_000


def close_masks(near: Flags) -> list[int]:
    """For each candidate the mask of the others that are close to it, of a symmetric matrix of close pairs."""
    masks = []
    for at, row in enumerate(near):
        others = np.packbits(row, bitorder="little").tobytes()
        masks.append(int.from_bytes(others, "little") & ~(1 << at))
    return masks


def members_of(mask: int) -> Iterator[int]:
    """The candidates in a mask, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def maximal_areas(close: Sequence[int], most: int = MAX_AREAS) -> list[int] | None:
    """All areas of two or more candidates that are part of no larger one; ``None`` when these are more than ``most``.

    Bron and Kerbosch's enumeration of maximal cliques with Tomita's pivot. Order: the same for equal input.
    """
    found: list[int] = []
    everybody = (1 << len(close)) - 1
    # An area so far, the candidates that may join it, and those that were tried with it already.
    waiting = [(0, everybody, 0)]
    while waiting:
        area, joining, tried = waiting.pop()
        if not joining and not tried:
            if area & (area - 1):  # two or more
                found.append(area)
                if len(found) > most:
                    return None
            continue
        # Every maximal area holds the pivot or a candidate that is not close to it, so only these are branched on.
        pivot = max(members_of(joining | tried), key=lambda one: ((close[one] & joining).bit_count(), -one))
        for one in members_of(joining & ~close[pivot]):
            waiting.append((area | 1 << one, joining & close[one], tried & close[one]))
            joining &= ~(1 << one)
            tried |= 1 << one
    return found


def area_rows(near: Flags) -> Flags | None:
    """The same as a matrix: per maximal area a row that says which candidates it holds."""
    areas = maximal_areas(close_masks(near))
    if areas is None:
        return None
    rows = np.zeros((len(areas), len(near)), dtype=np.bool_)
    for row, area in zip(rows, areas, strict=True):
        row[list(members_of(area))] = True
    return rows


def heaviest_area(masses: Sequence[float], close: Sequence[int]) -> float:
    """The largest mass of an area: a maximum-weight clique, by branch and bound.

    After 200,000 branches, which no map of ours has needed, the answer is an upper bound instead: a promise may then
    look worse than it is, never better.
    """
    best, branches = max(masses, default=0.0), 0
    everybody = (1 << len(masses)) - 1
    for first in range(len(masses)):
        # All areas of which this is the first candidate: the mass so far, and the candidates that may still join.
        waiting = [(masses[first], close[first] & everybody & -(2 << first))]
        while waiting:
            mass, joining = waiting.pop()
            rest = math.fsum(masses[one] for one in members_of(joining))
            if mass + rest <= best:
                continue
            num_close = {one: (close[one] & joining).bit_count() for one in members_of(joining)}
            fewest = min(num_close, key=num_close.__getitem__, default=-1)
            if num_close.get(fewest, -1) == joining.bit_count() - 1:
                best = mass + rest  # all who may join are close to each other
                continue
            if mass + _most_to_add(masses, close, joining) <= best:
                continue
            if (branches := branches + 1) > _MAX_BRANCHES:
                return _heaviest_surroundings(masses, close)
            # Without the candidate that is close to the fewest, or with it: the second is looked at first.
            waiting.append((mass, joining & ~(1 << fewest)))
            waiting.append((mass + masses[fewest], joining & close[fewest]))
    return best


def _heaviest_surroundings(masses: Sequence[float], close: Sequence[int]) -> float:
    """A bound on every area: it is part of all that is close to any one of its candidates."""
    everybody = (1 << len(masses)) - 1
    return max(
        math.fsum([mass, *(masses[other] for other in members_of(close[one] & everybody))])
        for one, mass in enumerate(masses)
    )


def _most_to_add(masses: Sequence[float], close: Sequence[int], joining: int) -> float:
    """An upper bound on an area among some candidates: of each set that is pairwise not close it holds one at most."""
    bound = 0.0
    heaviest_first = sorted(members_of(joining), key=lambda one: (-masses[one], one))
    apart: list[int] = []
    for one in heaviest_first:
        for at, others in enumerate(apart):
            if not others & close[one]:
                apart[at] = others | 1 << one
                break
        else:
            apart.append(1 << one)
            bound += masses[one]
    return bound


def has_apart(close: Sequence[int], num: int) -> bool | None:
    """Whether some ``num`` of the candidates are pairwise not close; ``None`` when 20,000 branches do not decide it.

    Clusters that are not close to each other are looked at one by one: what counts in one has no part in another.
    """
    least = most = 0  # that many are apart in the clusters so far, and not more
    for cluster in _clusters(close):
        at_least, at_most = 1, len(_covering_areas(close, cluster))
        while least + at_least < num and at_least < at_most:
            found = _has_apart_in(close, cluster, at_least + 1)
            if found is None:
                break
            at_least, at_most = (at_least + 1, at_most) if found else (at_least, at_least)
        least, most = least + at_least, most + at_most
        if least >= num:
            return True
    return False if most < num else None


def _clusters(close: Sequence[int]) -> Iterator[int]:
    """The candidates in parts of which none is close to another part; the part with the first candidate comes first."""
    left = (1 << len(close)) - 1
    while left:
        cluster, growing = 0, left & -left
        while growing:
            cluster |= growing
            growing = functools.reduce(operator.or_, (close[one] for one in members_of(growing))) & left & ~cluster
        left &= ~cluster
        yield cluster


def _has_apart_in(close: Sequence[int], some: int, num: int) -> bool | None:
    """The same for some of the candidates, without parting them.

    Of an area at most one candidate counts, so candidates that are covered by fewer areas than are still needed are not
    tried. Branches are on a candidate of the first area and all candidates that are not close to it.
    """
    waiting, branches = [(num, some)], 0
    while waiting:
        needed, left = waiting.pop()
        if needed <= 0:
            return True
        areas = _covering_areas(close, left)
        if len(areas) < needed:
            continue
        if (branches := branches + 1) > _MAX_APART_BRANCHES:
            return None
        # The areas beyond the first few are too few by themselves, so one of the others has to give a candidate.
        for area in areas[needed - 1 :]:
            for one in members_of(area):
                waiting.append((needed - 1, left & ~close[one] & ~(1 << one)))
                left &= ~(1 << one)
    return False


def _covering_areas(close: Sequence[int], left: int) -> list[int]:
    """Areas that hold all of some candidates, each once: candidates join the first area that they are close to."""
    areas: list[int] = []
    for one in members_of(left):
        for at, area in enumerate(areas):
            if not area & ~close[one]:
                areas[at] = area | 1 << one
                break
        else:
            areas.append(1 << one)
    return areas
