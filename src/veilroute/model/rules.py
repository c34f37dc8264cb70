"""What makes some candidates a class: :class:`Rule`, the one place where partitioners and planners ask.

:class:`KAndEll` counts, :class:`RiskBound` weighs, :class:`Linked` takes into account what earlier trips have shown.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints, Masks
from veilroute.model.areas import area_rows
from veilroute.model.problem import ROUNDING

_ENTRIES_PER_STEP = 1 << 22  #: of the tables that hold a row for each set
_FEW_AREAS = 64  #: of so many all are looked at; of more only where a quicker look does not decide


@dataclass(frozen=True, eq=False)
class Rule(ABC):
    """What makes some of a task's members a class: the one place where partitioners ask.

    Members are numbered from 0. A set of them is a row, ascending; many sets of one size are the rows of an array. A
    rule of one's own says which sets qualify, and is then obeyed by tables, column generation and local search;
    ``may_grow`` makes these faster. The paper's searches know k and ell alone. Costs are not its concern
    (:func:`objective_rates`), except that a class has at least ``least`` members: bounds rest on each member's sharing
    its walk with that many.

    A partitioner asks :meth:`qualifies` about one set, or :meth:`qualify` about many sets of one size.

    Attributes
    ----------
    together
        By two members, whether they may be in one class at all; false for a member and itself.
    least
        The fewest members of a class: 2 or more, or 1 if every single member qualifies.
    largest
        The most members of a class that some best partition needs.
    """

    together: Flags
    least: int
    largest: int

    @property
    def num(self) -> int:
        """How many members there are."""
        return len(self.together)

    @property
    def worth(self) -> Floats:
        """How much it is worth that a class holds each member; partitions are compared by it before what they cost."""
        return np.ones(self.num)

    @property
    def is_alike(self) -> bool:
        """Whether everybody is worth the same, so that those who are left out need only be counted."""
        return True

    @property
    def is_exact(self) -> bool:
        """Whether every class that keeps the promise qualifies; if not, no plan is proved to be the best."""
        return True

    @abstractmethod
    def qualify(self, sets: Int32s) -> Flags:
        """Whether each of the sets, which all have one size, is a class.

        It may be asked about any set, also one whose members are not all ``together``: the answer is then no.
        """

    def may_grow(self, sets: Int32s) -> Flags:
        """Whether a class that a best partition needs may come of each set by adding members to it."""
        return np.full(len(sets), sets.shape[1] < self.largest, dtype=np.bool_)

    def renumbered(self, order: Ints) -> Rule:
        """The same rule where ``order[i]`` is called i. A rule that holds more per member renumbers that as well."""
        return replace(self, together=self.together[np.ix_(order, order)])

    def qualifies(self, members: Sequence[int]) -> bool:
        """Whether one set is a class; its members may be in any order."""
        return len(members) > 0 and bool(self.qualify(np.array([sorted(members)], dtype=np.int32))[0])


@dataclass(frozen=True, eq=False)
class KAndEll(Rule):
    """The rule of :class:`Privacy`: k members that stand ell apart, all of them or some k of them.

    The two readings: docs/theory, :ref:`Two readings of spread <theory-spread>`. Some best partition has classes of k
    to 2k - 1 members only (docs/theory, :ref:`Size lemma <theory-size>`), unless members that stand near each other may
    be in one class: then it is enough to look at classes that do not split in two.
    """

    far: Flags  #: per two members whether they stand far enough apart
    k: int  #: how many members must stand apart
    is_loose: bool  #: whether there are members who stand near each other and may be in one class (witness spread)
    value: float = 1.0  #: what each member is worth

    @classmethod
    def of(cls, far: Flags, k: int, spread: str, value: float = 1.0) -> KAndEll:
        """The rule under a reading of spread."""
        num = len(far)
        everybody = ~np.eye(num, dtype=np.bool_)
        is_loose = spread == "witness" and not np.array_equal(far, everybody)
        largest = num if is_loose else min(2 * k - 1, num)
        return cls(everybody if is_loose else far, k, largest, far, k, is_loose, value)

    @property
    def worth(self) -> Floats:
        """The same for everybody."""
        return np.full(self.num, self.value)

    def qualify(self, sets: Int32s) -> Flags:
        """At least k members, of which all, or some k, stand apart; classes may be larger than any that are needed."""
        if sets.shape[1] < self.k:
            return np.zeros(len(sets), dtype=np.bool_)
        if self.is_loose:
            return np.array([_has_far(members, self.far, self.k) for members in sets.tolist()], dtype=np.bool_)
        num_far = self.far[sets[:, :, None], sets[:, None, :]].sum(axis=(1, 2))
        return np.asarray(num_far == sets.shape[1] * (sets.shape[1] - 1))

    def hides(self, sets: Int32s, is_left: Flags) -> Flags:
        """Whether k of those who are left stand apart; all do where the rule is not loose and the set is a class."""
        if not self.is_loose:
            return np.asarray(is_left.sum(axis=1) >= self.k)
        rows = (row[left].tolist() for row, left in zip(sets, is_left, strict=True))
        return np.array([_has_far(row, self.far, self.k) for row in rows], dtype=np.bool_)

    def renumbered(self, order: Ints) -> KAndEll:
        """The same rule where ``order[i]`` is called i."""
        far = self.far[np.ix_(order, order)]
        return replace(self, together=~np.eye(len(order), dtype=np.bool_) if self.is_loose else far, far=far)

    @property
    def far_masks(self) -> Masks:
        """For each member the bit mask of those far from it, for at most 62 members."""
        return np.asarray(self.far.astype(np.int64) @ (np.int64(1) << np.arange(self.num, dtype=np.int64)))


def _has_far(members: list[int], far: Flags, num: int) -> bool:
    """Whether some ``num`` of the members are pairwise far: each is tried in turn with those after it."""
    if num <= 1:
        return len(members) >= num
    for at in range(len(members) - num + 1):
        ahead = [other for other in members[at + 1 :] if far[members[at], other]]
        if len(ahead) >= num - 1 and _has_far(ahead, far, num - 1):
            return True
    return False


@dataclass(frozen=True, eq=False)
class RiskBound(Rule):
    """The rule of a risk under a prior: no area holds more than beta of the class.

    An area is a set of members that are pairwise near each other (:mod:`veilroute.model.areas`). It is enough to look
    at the maximal ones. If there are too many to list, the rule is stricter than the promise: the members near any one
    member hold at most beta together. Every area is part of such a neighbourhood, so classes keep the promise, but
    nothing is proved about the best ones.

    A class that splits into two that qualify is never needed, because a part costs no more: docs/theory,
    :ref:`Classes under a prior <theory-risk>`.
    """

    near: Flags  #: per two members whether they stand near each other; true for a member and itself
    masses: Floats  #: how probable each member is, in any unit
    beta: float
    areas: Flags | None  #: per maximal area of two or more whether it holds each member; ``None``: too many to list

    @classmethod
    def of(cls, far: Flags, masses: Floats, beta: float, spread: str) -> RiskBound:
        """The rule under a reading of spread."""
        together = far if spread == "all-pairs" else ~np.eye(len(far), dtype=np.bool_)
        areas = area_rows(~far & together)
        return cls(together, _least_members(masses, beta), len(far), ~far, masses, beta, areas)

    @property
    def worth(self) -> Floats:
        """The most hidden probability comes first."""
        return self.masses

    @property
    def is_exact(self) -> bool:
        """Whether areas are looked at themselves, and not their neighbourhoods."""
        return self.areas is not None

    def qualify(self, sets: Int32s) -> Flags:
        """Whether no area holds more than beta of the set; impossible without any mass."""
        is_class = self.hides(sets, np.ones(sets.shape, dtype=np.bool_))
        if not self.together.all():
            size = sets.shape[1]
            is_class &= self.together[sets[:, :, None], sets[:, None, :]].sum(axis=(1, 2)) == size * (size - 1)
        return np.asarray(is_class)

    def hides(self, sets: Int32s, is_left: Flags) -> Flags:
        """Whether no area holds more than beta of the members that are left."""
        masses = np.where(is_left, self.masses[sets], 0.0)
        total = masses.sum(axis=1)
        limit = self.beta * total * (1 + ROUNDING)
        hides = (total > 0) & (masses.max(axis=1, initial=0.0) <= limit)
        if self.is_plain:
            return np.asarray(hides)
        rows = np.flatnonzero(hides)
        if self.areas is None or len(self.areas) > _FEW_AREAS:
            # Most sets keep the bound even for all that is near a member: only the others are asked about areas.
            is_within = np.ones(len(sets), dtype=np.bool_)
            for at, each in enumerate(sets.T):
                near = np.where(self.near[each[:, None], sets], masses, 0.0).sum(axis=1)
                is_within &= (near <= limit) | ~is_left[:, at]
            if self.areas is None:
                return np.asarray(hides & is_within)
            rows = np.flatnonzero(hides & ~is_within)
        step = max(1, _ENTRIES_PER_STEP // (self.num + len(self.areas)))
        for begin in range(0, rows.size, step):
            some = rows[begin : begin + step]
            spread_out = np.zeros((some.size, self.num))
            spread_out[np.arange(some.size)[:, None], sets[some]] = masses[some]
            hides[some] = (spread_out @ self._in_area).max(axis=1) <= limit[some]
        return np.asarray(hides)

    @cached_property
    def _in_area(self) -> Floats:
        """Per member and area 1 where the area holds the member: what sums of masses are multiplied by."""
        return np.asarray(() if self.areas is None else self.areas.T, dtype=np.float64)

    @property
    def is_alike(self) -> bool:
        """No: members differ in their probabilities."""
        return False

    @cached_property
    def is_plain(self) -> bool:
        """Whether no two members that may be in one class are near each other: only the heaviest one matters then."""
        return int((self.near & self.together).sum()) == 0

    def renumbered(self, order: Ints) -> RiskBound:
        """The same rule where ``order[i]`` is called i."""
        at = np.ix_(order, order)
        areas = None if self.areas is None else self.areas[:, order]
        return replace(self, together=self.together[at], near=self.near[at], masses=self.masses[order], areas=areas)


@dataclass(frozen=True, eq=False)
class Linked(Rule):
    """The rule of a ledger: whatever earlier trips have left of a class for each member hides that member still.

    Docs/theory, :ref:`Linked trips <theory-linking>`: which classes are needed, and why nobody who counts need be in
    one with members that neither's history holds.
    """

    own: KAndEll | RiskBound  #: what the privacy asks for by itself
    owners: Ints  #: whose history each line is
    left: Flags  #: per line and member whether it is still possible

    @classmethod
    def of(cls, own: KAndEll | RiskBound, owners: Ints, left: Flags) -> Linked:
        """The rule with the classes that some best partition needs."""
        after = np.ones((own.num, own.num), dtype=np.bool_)
        np.logical_and.at(after, owners, left)
        if isinstance(own, RiskBound) or not _is_nested(after):
            return cls(own.together, own.least, own.num, own, owners, left)
        largest = own.num
        if not own.is_loose:
            # A core in the smallest history, and for each wider one fewer newcomers than would be a class themselves.
            levels = max((np.unique(after.sum(axis=1)[after[:, i]]).size for i in range(own.num)), default=1) - 1
            largest = min(own.num, 2 * own.k - 1 + levels * (own.k - 1))
        return cls(own.together & (after | after.T), own.least, largest, own, owners, left)

    @property
    def worth(self) -> Floats:
        """What the privacy says."""
        return self.own.worth

    @property
    def is_alike(self) -> bool:
        """What the privacy says."""
        return self.own.is_alike

    @property
    def is_exact(self) -> bool:
        """What the privacy says."""
        return self.own.is_exact

    @cached_property
    def _lines(self) -> Ints:
        """Per member the lines of its history, with -1 behind them."""
        counts = np.bincount(self.owners, minlength=self.num)
        lines = np.full((self.num, int(counts.max(initial=0))), -1, dtype=np.int64)
        for line, owner in enumerate(self.owners.tolist()):
            counts[owner] -= 1
            lines[owner, counts[owner]] = line
        return lines

    def qualify(self, sets: Int32s) -> Flags:
        """Whether a set is a class by itself, and what is left of it for each member hides that one."""
        size = sets.shape[1]
        is_class = self.own.qualify(sets)
        is_class &= self.together[sets[:, :, None], sets[:, None, :]].sum(axis=(1, 2)) == size * (size - 1)
        for lines in (self._lines[members, which] for members in sets.T for which in range(self._lines.shape[1])):
            rows = np.flatnonzero(is_class & (lines >= 0))
            is_class[rows] = self.own.hides(sets[rows], self.left[lines[rows][:, None], sets[rows]])
        return is_class

    def renumbered(self, order: Ints) -> Linked:
        """The same rule where ``order[i]`` is called i."""
        place = np.full(self.num, -1, dtype=np.int64)
        place[order] = np.arange(order.size)
        kept = np.flatnonzero(place[self.owners] >= 0)
        together = self.together[np.ix_(order, order)]
        left = self.left[np.ix_(kept, order)]
        return replace(
            self, together=together, own=self.own.renumbered(order), owners=place[self.owners[kept]], left=left
        )


def _is_nested(after: Flags) -> bool:
    """Whether each history holds those of all in it, and any two have nobody in common or one holds the other."""
    who = after.astype(np.float32)
    if ((who @ who > 0) & ~after).any():
        return False
    histories = np.unique(who, axis=0)
    common, sizes = histories @ histories.T, histories.sum(axis=1)
    return bool(((common == 0) | (common == np.minimum(sizes[:, None], sizes))).all())


def _least_members(masses: Floats, beta: float) -> int:
    """The fewest members of a class: of a size, the best are neighbours in the order of their masses."""
    ordered = np.sort(masses)[::-1]
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    for size in range(math.ceil(1 / beta - ROUNDING), len(masses) + 1):
        if (ordered[: len(masses) - size + 1] <= beta * (sums[size:] - sums[:-size]) * (1 + ROUNDING)).any():
            return size
    return max(2, len(masses) + 1)


def hideable(masses: Floats, beta: float) -> Flags:
    """Who can be hidden at all: posteriors average to priors, so nobody above beta of all that can be hidden.

    Whoever is left out makes the rest weigh more: looked at again until nobody else has to go.
    """
    can = masses > 0
    while (is_heavy := can & (masses > beta * math.fsum(masses[can].tolist()) * (1 + ROUNDING))).any():
        can &= ~is_heavy
    return can


def least_risk(masses: Floats) -> float | None:
    """The least beta at which somebody can be hidden, as far as probabilities are concerned; ``None`` without any."""
    ordered = np.sort(masses[masses > 0])
    return float((ordered / np.cumsum(ordered)).min()) if ordered.size > 1 else None
