"""The best randomised playbook: classes that overlap, and how probable it is that each is drawn for each member.

With ``x[S, t]`` the probability that t is the secret and class S is drawn, no place is more probable than beta where
``x[S, t] <= beta * sum of x[S, u]`` over the members u of S. Classes of exactly ``ceil(1 / beta)`` members are enough,
``floor(1 / beta)`` of them at equal shares and, where that is not all, one more at the rest (docs/theory,
:ref:`Randomised playbooks <theory-randomised>`). So it is a linear programme over such classes, solved by the search
for classes of low reduced cost that partitions use as well. Nothing has to be whole: there is no gap to close.

A member at the rest stands for another one, its *lesser* half: *items* are the members and, behind them, these. What
a class costs is linear in how much each of its items weighs, so the search needs to know nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import highspy
import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints, Members, as_members
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.task import CoveringTask
from veilroute.domain.graph import Label
from veilroute.model.certificate import Certificate, DualPrices
from veilroute.model.problem import ROUNDING
from veilroute.model.rules import KAndEll
from veilroute.partition.class_space import ClassSpace, Columns, Prices, SearchResult
from veilroute.partition.master import Master, scale_of

_PER_MEMBER = 3
_MOST_PER_SEARCH = 20
_FEW_MEMBERS = 12
_LEAST_AMOUNT = 1e-9
_LEAST_SHARE = 1e-6
_LEAST_PENALTY = 1e-4
_MOST_PENALTY = 1e3
_DEARER = 4.0
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Items:
    """The members of a task, each as itself and, where 1 / beta is not whole, at the lesser share as well."""

    task: CoveringTask  #: of the items; the lesser ones have rates to match
    rule: KAndEll  #: sets of ``ceil(1 / beta)`` items that stand apart, at most one of them a lesser one
    num_members: int
    beta: float
    lesser: float  #: what the lesser share is of a whole one; 0 where there is none

    @classmethod
    def of(cls, task: CoveringTask, far: Flags, beta: float) -> Items:
        """The items of a task's members, and who stands far enough from whom."""
        num, whole = len(task.members), math.floor(1 / beta + ROUNDING)
        lesser = 1 / beta - whole
        if lesser <= ROUNDING:
            return cls(task, KAndEll(far, whole, whole, far, whole, False), num, beta, 0.0)
        items = task.part([*range(num), *range(num)])
        items = replace(items, rates=np.concatenate((task.rates, lesser * task.rates), axis=1))
        together = np.block([[far, far], [far, np.zeros_like(far)]])
        return cls(items, KAndEll(together, whole + 1, whole + 1, together, whole + 1, False), num, beta, lesser)

    @property
    def parts(self) -> Floats:
        """How much of a whole share each item has."""
        return np.repeat((1.0, self.lesser), self.num_members)[: len(self.task.members)]


@dataclass(frozen=True, eq=False)
class Drawing:
    """Which classes there are, and how much of each member's probability goes to each of them."""

    #: Items, and how much a whole share is; none where not all can be hidden.
    classes: tuple[tuple[Members, float], ...]
    is_optimal: bool
    #: Members who can all be hidden, with all of their probability: everybody, or whom to ask for alone.
    kept: Members
    is_stopped: bool = False
    #: What no randomised playbook for the same members undercuts; ``None`` without proof.
    least_mean: float | None = None
    certificate: Certificate | None = None


def share_out(items: Items, space: ClassSpace, amounts: Floats, labels: Sequence[Label], watch: Watch) -> Drawing:
    """The cheapest way to share members out over classes; ``amounts`` is how probable each of them is.

    Where some fit in no class, or not with all of their probability, it only says whom to keep, so that as much
    probability as possible is hidden, then at the least cost; that this is so, is known where members are few and the
    classes are all looked at. ``labels`` are what members are called in the certificate.

    Complexity: a linear programme with a row for each member and a search for classes for each of its rounds. Ties: a
    vertex, so that there are no more classes than members; which one, HiGHS decides, alike in every process.
    """
    # In units in which a member is about 1: the solver's tolerances are absolute.
    unit = math.fsum(amounts.tolist()) / amounts.size
    programme = _Programme(items, space, amounts / unit, watch)
    try:
        programme.converge()
        is_stopped = False
    except OutOfTimeError:
        programme.hurry()
        is_stopped = True
    if programme.is_short:
        kept, is_proved = ((), False) if is_stopped else programme.keep_whole()
        return Drawing((), is_proved and len(kept) < amounts.size, kept, is_stopped)
    classes = tuple((members, amount * unit) for members, amount in programme.classes())
    bound = programme.bound
    return Drawing(
        classes,
        is_optimal=not is_stopped,
        kept=as_members(range(amounts.size)),
        is_stopped=is_stopped,
        least_mean=bound / amounts.size if bound > 0 or not is_stopped else None,
        certificate=programme.certificate(labels, unit) if bound > 0 or not is_stopped else None,
    )


class _Programme:
    """The linear programme, and the search for the classes that it lacks."""

    def __init__(self, items: Items, space: ClassSpace, amounts: Floats, watch: Watch) -> None:
        self.items, self.space, self.amounts, self.watch = items, space, amounts, watch
        # The programme has members, the space has items in an order of its own.
        self.row_of: Ints = space.order % items.num_members
        self.parts: Floats = items.parts[space.order]
        self.bound, self.duals = 0.0, np.zeros(amounts.size)
        self._known: set[bytes] = set()
        pairs = space.pair_values()
        # What is next to nothing is rounding.
        largest = max(_LEAST_SHARE, float(pairs.max(initial=0.0, where=np.isfinite(pairs))))
        likely = float(np.mean(np.minimum(pairs.min(axis=1), largest)))
        scale = scale_of(likely if likely > _LEAST_PENALTY * largest else largest, 1)
        self.master = _ShareMaster(amounts, self.row_of, self.parts, scale)
        self._most = np.full(amounts.size, _MOST_PENALTY * largest)
        self.master.soften(np.full(amounts.size, max(likely, _LEAST_PENALTY * largest)), self._most, amounts)
        self._tolerance = 1e-9 / scale
        self._add(self._systematic())

    def converge(self) -> None:
        """Add classes until none with a negative reduced cost is missing."""
        while True:
            prices = self.master.solve(self.watch)
            self.watch.tell("shares", len(self.master.sets))
            found = self._search(prices, 0.0)
            if not found.is_complete:  # it may have met nothing but classes that cost as much as their prices
                found = self._search(prices, -self._tolerance)
            self.watch.check()
            if found.is_complete:
                self._offer(float(found.columns.reduced.min(initial=0.0)))
            is_done = found.is_complete or not len(found.columns)
            better = found.columns.take(found.columns.reduced < -self._tolerance)
            if self._add(better.best(self.space.num, _PER_MEMBER)) or not is_done:
                continue
            if not self.master.harden(_DEARER):
                return

    def hurry(self) -> None:
        """Solve it once more with the classes that are there, and everybody to be hidden."""
        self.master.charge(self._most)
        with suppress(OutOfTimeError):
            self.master.solve(Watch())

    @property
    def is_short(self) -> bool:
        """Whether some probability found no class."""
        return not self.master.values.size or float(self.master.dropped.max(initial=0.0)) > _LEAST_AMOUNT

    def keep_whole(self) -> tuple[Members, bool]:
        """Whom to hide where not everybody can be, and whether it is known that this is the best choice."""
        is_few = self.amounts.size <= _FEW_MEMBERS
        if is_few:
            self._add(self.space.search(Prices(np.zeros(self.space.num)), math.inf, self.watch).columns)
        is_kept, is_proved = self.master.keep_whole(self.watch)
        return as_members(np.flatnonzero(is_kept).tolist()), is_proved and is_few

    def classes(self) -> list[tuple[Members, float]]:
        """The classes that are drawn, as items of the task, and what a whole share of each is."""
        least = self.amounts[self.row_of[self.master.sets]].min(axis=1, initial=math.inf)
        chosen = np.flatnonzero(self.master.values > _LEAST_AMOUNT * least)
        sets = self.master.sets[chosen]
        values = self._polish(sets, self.master.values[chosen])
        drawn = [(as_members(self.space.order[row].tolist()), value) for row, value in zip(sets, values, strict=True)]
        return sorted((members, float(value)) for members, value in drawn if value > 0)

    def certificate(self, labels: Sequence[Label], unit: float) -> Certificate:
        """The prices behind the bound; ``unit`` is how probable a member is where the programme says 1."""
        duals = DualPrices(tuple(self.duals.tolist()))
        return Certificate(tuple(labels), duals, None, self.bound * unit, 0.0, 0, len(self.master.sets))

    def _polish(self, sets: Int32s, values: Floats) -> Floats:
        """The same solution with its sums as exact as can be: the classes of a vertex have only one."""
        table = np.zeros((self.amounts.size, len(sets)))
        for column in range(sets.shape[1]):
            np.add.at(table, (self.row_of[sets[:, column]], np.arange(len(sets))), self.parts[sets[:, column]])
        table /= self.amounts[:, None]
        missing = 1 - table @ values
        if np.abs(missing).max(initial=0.0) > _ROUNDING:
            better = values + np.linalg.lstsq(table, missing, rcond=None)[0]
            if (better >= 0).all() and np.abs(1 - table @ better).max() < np.abs(missing).max():
                return better
        return values

    def _search(self, prices: Prices, threshold: float) -> SearchResult:
        most = None if self.space.max_size <= 3 else _MOST_PER_SEARCH * self.space.num
        return self.space.search(prices, threshold, self.watch, most=most)

    def _offer(self, least_reduced: float) -> None:
        """Keep prices whose bound is better, lowered so far that no class has a negative reduced cost."""
        duals = self.master.duals + min(0.0, least_reduced) * self.items.beta
        value = float(self.amounts @ duals)
        if value > self.bound:
            self.bound, self.duals = value, duals
            self.watch.tell_bound("shares", value / float(self.amounts.sum()))

    def _add(self, columns: Columns) -> int:
        is_new = np.array([row.tobytes() not in self._known for row in columns.sets], dtype=np.bool_)
        new = columns.take(is_new)
        if len(new):
            self._known.update(row.tobytes() for row in new.sets)
            self.master.add_columns(new.sets, new.shares)
        return len(new)

    def _systematic(self) -> Columns:
        """Classes by which everybody can be hidden, where all may be together: a way to begin.

        All probabilities are laid end to end, the largest first, and the line is cut in pieces of equal length, one for
        each share of a class, and a shorter one for the lesser share. Stretched to one length and put on top of each
        other, they show a class at every place. Only whoever lies across the last cut may meet itself there.
        """
        num, size = self.items.num_members, self.space.k
        item_at = np.argsort(self.space.order)  # where the space has each item
        order = np.argsort(-self.amounts, kind="stable")
        ends = np.cumsum(self.amounts[order])
        steps = np.ones(size)
        steps[-1] = self.items.lesser or 1.0
        length = ends[-1] / steps.sum()
        starts = length * np.arange(size)
        cuts = np.concatenate([[0.0], *((ends - start) / step for start, step in zip(starts, steps, strict=True))])
        cuts = np.unique(cuts[(cuts >= 0) & (cuts < length * (1 - 1e-12))])
        rows = []
        for low, high in zip(cuts, [*cuts[1:], length], strict=True):
            places = starts + steps * (low + high) / 2
            at = order[np.minimum(np.searchsorted(ends, places), num - 1)]
            chosen = [*at[:-1].tolist(), int(at[-1]) + (num if self.items.lesser else 0)]
            if len({i % num for i in chosen}) == size:
                rows.append(sorted(item_at[chosen].tolist()))
        sets = np.unique(np.array(rows, dtype=np.int32).reshape(len(rows), size), axis=0)
        sets = sets[self.items.rule.qualify(self.space.order[sets].astype(np.int32))]
        shares = self.space.measure(sets, Watch())[1] if len(sets) else np.empty(0)
        return Columns(sets, shares, np.zeros(len(sets))).take(np.isfinite(shares))


class _ShareMaster(Master):
    """The programme over classes of items: each member's probability goes to its classes, or is dropped."""

    def __init__(self, amounts: Floats, row_of: Ints, parts: Floats, scale: float) -> None:
        super().__init__(amounts.size, 0, scale)
        # Each row is in parts of the member's own amount: the solver's tolerances are absolute.
        self._row_of, self._parts, self._own = row_of, parts, amounts
        self.duals: Floats = np.zeros(self.num)

    def add_columns(self, sets: Int32s, shares: Floats) -> None:
        """Add classes; all have one size."""
        num, size = sets.shape
        starts = np.arange(num, dtype=np.int32) * size
        rows = self._row_of[sets].astype(np.int32).ravel()
        self._solver.addCols(
            num, shares * self.scale, np.zeros(num), np.full(num, math.inf), num * size, starts, rows,
            (self._parts[sets] / self._own[self._row_of[sets]]).ravel(),
        )  # fmt: skip
        self.sets = np.concatenate((self.sets.reshape(-1, size), sets))
        self.shares = np.concatenate((self.shares, shares))

    def solve(self, watch: Watch) -> Prices:
        """The prices of an optimal solution, for each item; those of the members are then in ``duals``."""
        found = super().solve(watch)
        self.duals = found.duals / self._own
        return Prices(self.duals[self._row_of] * self._parts)

    def keep_whole(self, watch: Watch) -> tuple[Flags, bool]:
        """Whom to hide so that all of their probability is, and whether no choice over these classes is better.

        The most probability first, then the least cost.
        """
        solver, num = self._solver, self._num_slack
        columns = np.arange(num, dtype=np.int32)
        total = num + len(self.sets)
        solver.changeColsIntegrality(num, columns, np.full(num, int(highspy.HighsVarType.kInteger), dtype=np.uint8))
        self._set("mip_rel_gap", 0.0)
        everything = np.arange(total, dtype=np.int32)
        weights = self._amounts
        solver.changeColsCost(total, everything, np.concatenate((weights, np.zeros(len(self.sets)))))
        is_proved = self._run(watch) == highspy.HighsModelStatus.kOptimal
        least = float(solver.getInfo().objective_function_value)
        if not math.isfinite(least):
            return np.zeros(num, dtype=np.bool_), False
        solver.addRow(-math.inf, least + 1e-7, num, columns, weights)
        solver.changeColsCost(total, everything, np.concatenate((np.zeros(num), self.shares * self.scale)))
        is_proved &= self._run(watch) == highspy.HighsModelStatus.kOptimal
        return np.array(solver.getSolution().col_value)[:num] < 0.5, is_proved
