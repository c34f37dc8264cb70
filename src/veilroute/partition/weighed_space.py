"""The classes that partitions under a prior may need, and the search for them: each from its heaviest member.

A partition has at most one class for each heaviest member. So how far prices are too high is known for each of these by
itself, also when a search ends early: sets that were not looked at have bounds. Lowered by so much, the prices hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np

from veilroute.arrays import Flags, Floats, Int32s, Ints
from veilroute.covering.task import CoveringTask
from veilroute.kernels.weighing import extend_heaviest, mark_splitting
from veilroute.partition.class_space import ClassSpace, Columns, Prices, SearchResult, cut_arrays
from veilroute.problem import ROUNDING, RiskBound, Rule
from veilroute.progress import Watch

_SETS_PER_STEP = 64


def make_space(task: CoveringTask, rule: Rule) -> ClassSpace:
    """The space that fits a rule, for whole walks."""
    return WeighedSpace(task, rule) if isinstance(rule, RiskBound) else ClassSpace(task, rule)


class WeighedSpace(ClassSpace):
    """The classes of a risk under a prior; whole walks are shared."""

    rule: RiskBound

    def __init__(self, task: CoveringTask, rule: RiskBound) -> None:
        super().__init__(task, rule)
        self.more = (1 / rule.beta - 1) * (
            1 - ROUNDING
        )  # how much mass the heaviest member needs beside it, of its own
        self._orders, self._places = np.full((2, self.num, self.num), -1, dtype=np.int32)

    def prepare(self, watch: Watch) -> None:
        """Work the costs of all pairs out; those follow first with whom it is dearest to cover the heaviest."""
        if self.compatible.shape[0] == self.num:
            return
        super().prepare(watch)
        masses, dear = self.worth, self.pair_costs.sum(axis=0)
        for heaviest in range(self.num):
            is_lighter = masses < masses[heaviest]
            is_lighter[heaviest + 1 :] |= masses[heaviest + 1 :] == masses[heaviest]
            others = np.flatnonzero(is_lighter)
            others = others[np.argsort(-dear[heaviest, others], kind="stable")]
            self._orders[heaviest, : others.size] = others
            self._places[heaviest, others] = np.arange(others.size)

    def search(
        self, prices: Prices, threshold: float, watch: Watch, *, most: int | None = None, max_priced: int | None = None,
        is_free: bool = False, quota: float = math.inf,
    ) -> SearchResult:  # fmt: skip
        """As for all spaces. For each heaviest member no more work is done than the ``quota``, in steps of tours."""
        weights = np.zeros_like(self.weights) if is_free else self.weights
        look = _Look(
            self, weights, prices.duals + (0.0 if is_free else self.fixed), cut_arrays(self.num, prices), threshold
        )
        found: list[Columns] = []
        shortfalls = np.zeros(self.num)
        num_found = num_priced = num_parts = 0
        least_beyond, is_complete = math.inf, True
        for heaviest in np.argsort(self.worth, kind="stable").tolist():
            # What may become best comes first.
            waiting, work = [(-math.inf, 0, look.first(heaviest))], 0.0
            while waiting:
                is_enough = most is not None and num_found >= most
                if is_enough or watch.is_over() or (max_priced is not None and num_priced > max_priced):
                    columns = Columns.join(found, self.max_size)
                    return SearchResult(columns, num_priced, least_beyond)
                if work > quota:
                    shortfalls[heaviest] = min(shortfalls[heaviest], waiting[0][0])
                    is_complete = False
                    break
                _, _, now = heappop(waiting)
                columns, grown, beyond = look.extend(now, watch)
                least_beyond = min(least_beyond, beyond)
                shortfalls[heaviest] = min(shortfalls[heaviest], float(columns.reduced.min(initial=0.0)), beyond)
                if len(columns):
                    found.append(columns)
                    num_found += len(columns)
                if len(grown.sets):
                    num_priced += len(grown.sets)
                    work += len(grown.sets) * grown.sets.shape[1] ** 2 * 2.0 ** grown.sets.shape[1]
                    if grown.sets.shape[1] < self.largest:
                        grown = grown.part(np.flatnonzero(~self._splits(grown.sets)))
                        grown = grown.part(np.argsort(grown.bounds, kind="stable"))
                        for begin in range(0, len(grown.sets), _SETS_PER_STEP):
                            part = grown.part(slice(begin, begin + _SETS_PER_STEP))
                            num_parts += 1
                            heappush(waiting, (float(part.bounds[0]), num_parts, part))
        return SearchResult(Columns.join(found, self.max_size), num_priced, least_beyond, is_complete, shortfalls)

    def _splits(self, sets: Int32s) -> Flags:
        """Which sets are two classes, and so are all that come of them; none where this is not known."""
        is_split = np.zeros(len(sets), dtype=np.bool_)
        if self.rule.is_plain and sets.shape[1] >= 2 * self.k:
            mark_splitting(sets, self.worth, self.rule.beta, is_split)
        return is_split

    def extend(self, now: Grown, weights: Floats, prizes: Floats, cuts: Any, threshold: float) -> Grown:
        """The sets of one member more; their costs are still those of the sets that they came of."""
        room = len(now.sets) * self.num
        sets = np.empty((room, now.sets.shape[1] + 1), dtype=np.int32)
        offsets, bounds = np.empty((2, room))
        parents = np.empty(room, dtype=np.int64)
        num = extend_heaviest(
            now.sets, now.costs, now.offsets, weights, prizes, self.pair_costs, self.compatible, self.worth, self.more,
            self._orders, self._places, *cuts, threshold, sets, offsets, bounds, parents,
        )  # fmt: skip
        return Grown(sets[:num], now.costs[parents[:num]], offsets[:num], bounds[:num])


@dataclass(frozen=True, eq=False)
class Grown:
    """Sets of one size, the heaviest member of each first."""

    sets: Int32s
    costs: Floats
    offsets: Floats  # what the reduced cost holds beside the walks
    bounds: Floats  # what the reduced cost of all that come of each is at least

    def part(self, which: slice | Ints) -> Grown:
        """Some of them."""
        return Grown(self.sets[which], self.costs[which], self.offsets[which], self.bounds[which])


@dataclass(frozen=True, eq=False)
class _Look:
    """A search at some prices, a step at a time."""

    space: WeighedSpace
    weights: Floats
    prizes: Floats
    cuts: Any
    threshold: float

    def first(self, heaviest: int) -> Grown:
        """A member by itself."""
        sets, base = np.array([[heaviest]], dtype=np.int32), self.space.base_costs[:, [heaviest]].T
        return Grown(sets, np.ascontiguousarray(base), -self.prizes[[heaviest]], np.full(1, -math.inf))

    def extend(self, now: Grown, watch: Watch) -> tuple[Columns, Grown, float]:
        """The classes among the sets of one member more, these sets, and what those that are too large cost at least."""
        space = self.space
        grown = space.extend(now, self.weights, self.prizes, self.cuts, self.threshold)
        if grown.sets.shape[1] > space.max_size or not len(grown.sets):
            nothing = Columns(np.empty((0, 0), dtype=np.int32), np.empty(0), np.empty(0))
            return nothing, grown.part(slice(0)), float(grown.bounds.min(initial=math.inf))
        costs, shares = space.measure(grown.sets, watch)
        with np.errstate(invalid="ignore"):  # what is impossible costs infinity, at a weight of nothing
            reduced = (costs * self.weights[:, grown.sets].sum(axis=2).T).sum(axis=1) + grown.offsets
        is_there = np.isfinite(shares)
        chosen = np.flatnonzero(is_there & (reduced <= self.threshold))
        chosen = chosen[space.rule.qualify(grown.sets[chosen])]
        columns = Columns(np.sort(grown.sets[chosen], axis=1), shares[chosen], reduced[chosen])
        return columns, replace(grown, costs=costs).part(np.flatnonzero(is_there)), math.inf
