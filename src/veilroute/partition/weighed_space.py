"""The classes that partitions under a prior may need, and the search for them: each from its heaviest member.

A partition has at most one class for each heaviest member. So how far prices are too high is known for each of these by
itself, also when a search ends early: sets that were not looked at have bounds. Lowered by so much, the prices hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import groupby

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints, Members, as_members
from veilroute.base.run import Watch
from veilroute.covering.set_costs import TourCosts
from veilroute.covering.task import CoveringTask
from veilroute.kernels.touring import gather_class
from veilroute.kernels.weighing import extend_heaviest, mark_splitting
from veilroute.model.problem import ROUNDING
from veilroute.model.rules import KAndEll, RiskBound, Rule
from veilroute.partition.class_space import ClassSpace, Columns, Cuts, Prices, SearchResult, cut_arrays
from veilroute.partition.crowded_space import CrowdedSpace, is_crowded
from veilroute.partition.outings import Network, Outings

_SETS_PER_STEP = 64
_MAX_GATHERED = 64
_MOST_GATHERED = 20
_MAX_SEEDS = 64
_LEVEL_STEP = 1.1
_NUM_LEVELS = 10
_RATES = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])


def make_space(task: CoveringTask, rule: Rule) -> ClassSpace:
    """The space that fits a rule, for whole walks."""
    if isinstance(rule, KAndEll) and is_crowded(task, rule):
        return CrowdedSpace(task, rule)
    return WeighedSpace(task, rule) if isinstance(rule, RiskBound) else ClassSpace(task, rule)


class WeighedSpace(ClassSpace):
    """The classes of a risk under a prior; whole walks are shared."""

    rule: RiskBound

    def __init__(self, task: CoveringTask, rule: RiskBound) -> None:
        super().__init__(task, rule)
        # How much mass the heaviest member needs beside it, of its own: no more than the rule's rounding asks for.
        self.more = max(0.0, 1 / (rule.beta * (1 + 1.001 * ROUNDING)) - 1)
        if isinstance(self.prices_of, TourCosts) and task.num_trips == 1:
            self.width = min(self.largest, _MAX_GATHERED)
        self._network: Network | None = None
        self._outings: dict[int, Outings] = {}
        self._seeds: dict[int, list[Members]] = {}  # large classes, to begin with the next time
        self.orders, self.places = np.full((2, self.num, self.num), -1, dtype=np.int32)

    @property
    def can_look_further(self) -> bool:
        """Whether there are bounds on classes that no search gets to."""
        return len(self.weights) == 1

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
            self.orders[heaviest, : others.size] = others
            self.places[heaviest, others] = np.arange(others.size)

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
                    columns = Columns.join(found, self.width)
                    return SearchResult(columns, num_priced, least_beyond)
                if work > quota:
                    shortfalls[heaviest] = min(shortfalls[heaviest], waiting[0][0])
                    is_complete = False
                    break
                _, _, now = heappop(waiting)
                columns, grown = look.extend(now, watch)
                if grown.sets.shape[1] > self.max_size:
                    beyond = float(grown.bounds.min(initial=math.inf))
                    least_beyond = min(least_beyond, beyond)
                    shortfalls[heaviest] = min(shortfalls[heaviest], beyond)
                    continue
                shortfalls[heaviest] = min(shortfalls[heaviest], float(columns.reduced.min(initial=0.0)))
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
        if not is_free and self.can_look_further and quota < math.inf:
            short = np.flatnonzero(shortfalls < threshold)
            found += [self._gather(heaviest, prices, look, watch) for heaviest in short.tolist()]
        columns = Columns.join(found, self.width)
        return SearchResult(columns, num_priced, least_beyond, is_complete, shortfalls)

    def _gather(self, heaviest: int, prices: Prices, look: _Look, watch: Watch) -> Columns:
        """Good classes of a heaviest member who has so many that they are not all looked at."""
        from_start, to_goal, between = self.prices_of.steps(watch)
        between = np.ascontiguousarray(between)
        others = self.orders[heaviest]
        others = others[(others >= 0) & self.compatible[heaviest, others]].astype(np.int64)
        missing = self.more * self.worth[heaviest]
        least = float(self.pair_costs[0, heaviest, others].min())
        order = np.empty(self.width, dtype=np.int64)
        gathered: dict[Members, float] = {}
        rates = self.weights[0, heaviest] * _RATES
        levels = least * _LEVEL_STEP ** np.arange(_NUM_LEVELS)
        starts = [(as_members([heaviest]), level, rate) for level in levels for rate in rates]
        starts += [(seed, least, rates[0]) for seed in self._seeds.get(heaviest, [])]
        for seed, level, rate in starts:
            order[: len(seed)] = seed
            size, reduced = gather_class(
                heaviest, others, missing, level, rate, self.weights[0], look.prizes, self.worth, self.compatible,
                from_start[0], to_goal[0], between, order, len(seed),
            )  # fmt: skip
            if size and reduced < look.threshold:
                gathered[as_members(order[:size].tolist())] = reduced
        if heaviest in self._seeds:
            self._remember(heaviest, gathered)
        return self._best_of(gathered, prices, look.threshold, watch)

    def look_further(
        self, prices: Prices, found: SearchResult, threshold: float, slack: float, max_parts: int, watch: Watch
    ) -> SearchResult:
        """After a search: more classes, and better bounds, for the heaviest members of whom it has not looked at all.

        ``slack`` and ``max_parts`` are those of :meth:`Outings.look`.
        """
        assert found.shortfalls is not None
        shortfalls, parts = found.shortfalls.copy(), []
        for heaviest in np.flatnonzero(shortfalls < threshold).tolist():
            least, gathered = self._outings_of(heaviest, watch).look(prices, threshold, slack, max_parts, watch)
            shortfalls[heaviest] = max(shortfalls[heaviest], least)
            self._remember(heaviest, gathered)
            parts.append(self._best_of(gathered, prices, threshold, watch))
        return replace(found, columns=Columns.join(parts, self.width), shortfalls=shortfalls)

    def _remember(self, heaviest: int, gathered: dict[Members, float]) -> None:
        """Begin with these classes the next time, the best of the last ones first."""
        best = sorted(gathered, key=lambda members: (gathered[members], members))
        self._seeds[heaviest] = list(dict.fromkeys([*best, *self._seeds.get(heaviest, [])]))[:_MAX_SEEDS]

    def _outings_of(self, heaviest: int, watch: Watch) -> Outings:
        if self._network is None:
            from_start, to_goal, between = self.prices_of.steps(watch)
            is_exact = isinstance(self.prices_of, TourCosts)
            self._network = Network(from_start[0], to_goal[0], np.ascontiguousarray(between), is_exact=is_exact)
        if heaviest not in self._outings:
            others = self.orders[heaviest]
            may_join = np.zeros(self.num, dtype=np.bool_)
            may_join[others[others >= 0]] = True
            may_join &= self.compatible[heaviest]
            self._outings[heaviest] = Outings(
                self._network, heaviest, may_join, self.more * self.worth[heaviest], self.worth, self.weights[0],
                self.fixed, self.pair_costs[0, heaviest], self.compatible, self.width,
            )  # fmt: skip
        return self._outings[heaviest]

    def _best_of(self, gathered: dict[Members, float], prices: Prices, threshold: float, watch: Watch) -> Columns:
        """The best of some classes, whose reduced costs are known but for the cuts."""
        best = sorted(gathered, key=lambda members: (gathered[members], members))[:_MOST_GATHERED]
        parts = []
        for _, alike in groupby(sorted(best, key=len), key=len):
            sets = np.array(list(alike), dtype=np.int32)
            sets = sets[self.rule.qualify(sets)]
            shares = self.measure(sets, watch)[1]
            parts.append(Columns(sets, shares, prices.reduce(sets, shares)))
        columns = Columns.join(parts, self.width)
        return columns.take(columns.reduced <= threshold)

    def _splits(self, sets: Int32s) -> Flags:
        """Which sets are two classes, and so are all that come of them; none where this is not known."""
        is_split = np.zeros(len(sets), dtype=np.bool_)
        if self.rule.is_plain and sets.shape[1] >= 2 * self.k:
            mark_splitting(sets, self.worth, self.rule.beta, is_split)
        return is_split

    def extend(
        self, now: Grown, weights: Floats, prizes: Floats, cuts: Cuts, threshold: float, known: Floats | None = None
    ) -> tuple[Grown, Ints]:
        """The sets of one member more, at the costs of those that they came of, and which these are.

        ``known`` may have per set and member what the set with this member costs on the only trip; -1 where not asked.
        """
        room = len(now.sets) * self.num
        sets = np.empty((room, now.sets.shape[1] + 1), dtype=np.int32)
        offsets, bounds = np.empty((2, room))
        parents = np.empty(room, dtype=np.int64)
        num = extend_heaviest(
            now.sets, now.costs, now.offsets, weights, prizes, self.pair_costs, self.compatible, self.worth, self.more,
            self.orders, self.places, *cuts, threshold, np.empty((0, 0)) if known is None else known, sets, offsets,
            bounds, parents,
        )  # fmt: skip
        return Grown(sets[:num], now.costs[parents[:num]], offsets[:num], bounds[:num]), parents[:num]


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
    cuts: Cuts
    threshold: float

    def first(self, heaviest: int) -> Grown:
        """A member by itself."""
        sets, base = np.array([[heaviest]], dtype=np.int32), self.space.base_costs[:, [heaviest]].T
        return Grown(sets, np.ascontiguousarray(base), -self.prizes[[heaviest]], np.full(1, -math.inf))

    def extend(self, now: Grown, watch: Watch) -> tuple[Columns, Grown]:
        """The classes among the sets of one member more, and these sets; those that are too large are not priced."""
        space = self.space
        grown, parents = space.extend(now, self.weights, self.prizes, self.cuts, self.threshold)
        if grown.sets.shape[1] > space.max_size or not len(grown.sets):
            return Columns.join((), 0), grown
        costs, shares = space.measure(grown.sets, watch)
        with np.errstate(invalid="ignore"):  # what is impossible costs infinity, at a weight of nothing
            reduced = (costs * self.weights[:, grown.sets].sum(axis=2).T).sum(axis=1) + grown.offsets
        is_there = np.isfinite(shares)
        chosen = np.flatnonzero(is_there & (reduced <= self.threshold))
        chosen = chosen[space.rule.qualify(grown.sets[chosen])]
        columns = Columns(np.sort(grown.sets[chosen], axis=1), shares[chosen], reduced[chosen])
        if costs.shape[1] > 1:
            return columns, replace(grown, costs=costs).part(np.flatnonzero(is_there))
        # What each member really costs says more about the others that may follow.
        known = np.full((len(now.sets), space.num), -1.0)
        known[parents, grown.sets[:, -1]] = np.where(is_there, costs[:, 0], -1.0)
        again, parents = space.extend(now, self.weights, self.prizes, self.cuts, self.threshold, known)
        return columns, replace(again, costs=known[parents, again.sets[:, -1]][:, None])
