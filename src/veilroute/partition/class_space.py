"""The classes that an optimal partition may need, and the search for those of low reduced cost.

Which classes these are: docs/theory, :ref:`Size lemma <theory-size>`. What the search rests on: docs/theory,
:ref:`Extension bound <theory-extension>`.

Members are numbered by falling base cost. The covering cost of a set is at least the largest base cost in it, so a set
that begins with its most expensive member has nearly its full price at once, and the bound on what can still come of
it (:mod:`veilroute.kernels.extension`) cuts early.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations, count, groupby
from typing import Any

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints, Members, as_members
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.crew import num_threads
from veilroute.covering.prefixes import PrefixCosts
from veilroute.covering.set_costs import MAX_TOUR, FieldCosts, TourCosts, set_costs
from veilroute.covering.task import CoveringTask, mask_of
from veilroute.covering.walks import WalkSource
from veilroute.kernels.extension import extend_sets, pick_columns
from veilroute.model.rules import KAndEll, Rule
from veilroute.partition.result import Grouping, Partition, Record, subset_sums

_CELLS_PER_STEP = 1 << 20
_CELLS_PER_THREAD = 1 << 18
_MANY_CUTS = 200


Cuts = tuple[Ints, Ints, Floats, Ints, Ints]


@dataclass(frozen=True, eq=False)
class Prices:
    """What a linear programme pays: for each member, and to each subset-row cut."""

    duals: Floats  # per member, in the space's numbering
    cuts: tuple[Members, ...] = ()  # odd sets of members, ascending
    cut_duals: Floats = field(default_factory=lambda: np.empty(0))  # per cut, not negative

    @property
    def paid_cuts(self) -> list[tuple[Members, float]]:
        """The cuts that have a price, with it."""
        return [(cut, dual) for cut, dual in zip(self.cuts, self.cut_duals.tolist(), strict=True) if dual > 0]

    @property
    def useful_cuts(self) -> list[Members]:
        """The cuts that an integer programme is quicker with: all, or when they are many, those with a price."""
        return list(self.cuts) if len(self.cuts) <= _MANY_CUTS else [cut for cut, _ in self.paid_cuts]

    def mixed(self, earlier: Prices, part: float) -> Prices:
        """Prices between these and earlier ones, which may lack the last cuts: so much ``part`` of the earlier."""
        cut_duals = np.pad(earlier.cut_duals, (0, len(self.cuts) - len(earlier.cuts)))
        return Prices(
            (1 - part) * self.duals + part * earlier.duals, self.cuts, (1 - part) * self.cut_duals + part * cut_duals
        )

    def reduce(self, sets: Int32s, shares: Floats) -> Floats:
        """The reduced costs of classes, each with -1 behind its members."""
        reduced: Floats = shares - np.append(self.duals, 0.0)[sets].sum(axis=1)
        for cut, dual in self.paid_cuts:
            reduced += dual * (np.isin(sets, cut).sum(axis=1) // 2)
        return reduced


@dataclass(frozen=True, eq=False)
class Columns:
    """Classes with what they add to the MAC sum."""

    sets: Int32s  # a row for each, with -1 behind its members
    shares: Floats  # what each adds
    reduced: Floats  # reduced costs at the prices that they were looked for with

    def __len__(self) -> int:
        return self.shares.size

    def take(self, chosen: Ints | Flags) -> Columns:
        """Some of them."""
        return Columns(self.sets[chosen], self.shares[chosen], self.reduced[chosen])

    def best(self, num: int, per_member: int) -> Columns:
        """Those of least reduced cost, of ``num`` members, so many through each."""
        return self.take(pick_columns(np.argsort(self.reduced, kind="stable"), self.sets, num, per_member))

    @classmethod
    def join(cls, parts: Sequence[Columns], width: int) -> Columns:
        """All of several, brought to one width."""
        wide = [
            np.pad(part.sets, ((0, 0), (0, width - part.sets.shape[1])), constant_values=np.int32(-1)) for part in parts
        ]
        return cls(
            np.concatenate([np.empty((0, width), dtype=np.int32), *wide]),
            np.concatenate([np.empty(0), *(part.shares for part in parts)]),
            np.concatenate([np.empty(0), *(part.reduced for part in parts)]),
        )


class ClassSpace:
    """All classes that some optimal partition may consist of, as the rule says.

    Under k-and-ell these are the sets of k to 2k - 1 members that stand apart or, where it is loose, those that
    qualify and do not split into two that do, which may have any size: kernels know this rule themselves, any other is
    asked about each set. Sets are looked at up to ``max_size``, and whoever searches learns what may lie beyond, up to
    the ``largest``. Classes share whole walks or, on domains of two colours
    (:func:`~veilroute.covering.prefixes.has_two_colours`), their first ``m`` nodes.
    """

    def __init__(self, task: CoveringTask, rule: Rule, *, m: int | None = None) -> None:
        self.task = task
        self.k = rule.least
        mean_base = np.average(task.base_costs, axis=0, weights=task.weights)
        self.order: Ints = np.argsort(-mean_base, kind="stable")
        self.rule = rule.renumbered(self.order)
        self.worth: Floats = self.rule.worth
        self.is_known = isinstance(self.rule, KAndEll)
        self.far: Flags = self.rule.far if isinstance(self.rule, KAndEll) else self.rule.together
        self.is_loose = isinstance(self.rule, KAndEll) and self.rule.is_loose
        self.can_improve = m is None  # whether local search can price the classes: it knows whole walks only
        self.prices_of: TourCosts | FieldCosts = set_costs(task, self.order)
        self.largest = rule.largest
        self.max_size = min(self.largest, MAX_TOUR)
        self.width = self.max_size  # the most members of a class in a programme
        # In one layout for any number of trips: kernels are compiled once for each.
        ratios = np.ascontiguousarray(task.rates[:, self.order])
        self.weights: Floats = np.array(task.weights)[:, None] * ratios
        self.base_costs: Floats = task.base_costs[:, self.order]
        self.fixed: Floats = (self.weights * self.base_costs).sum(axis=0)
        self.prefixes = None if m is None else PrefixCosts(task, self.order, m, self.prices_of)
        self.pair_shares: Floats = np.empty((0, 0))
        self.groups, self.num_groups = find_groups(self.far) if self.is_loose else (np.zeros(rule.num, np.int64), 1)
        self.pair_costs: Floats = np.empty((0, 0, 0))
        self.compatible: Flags = np.empty((0, 0), dtype=np.bool_)

    @property
    def num(self) -> int:
        """How many members there are."""
        return int(self.order.size)

    def prepare(self, watch: Watch) -> None:
        """Work the costs of all pairs out."""
        if self.compatible.shape[0] == self.num:
            return
        pairs = self.prices_of.pairs(watch) if self.prefixes is None else self.prefixes.pairs(watch)
        is_there = np.isfinite(pairs)
        pairs[~is_there] = 0.0
        if self.prefixes is None:
            self.pair_costs = pairs
            is_there = np.asarray(is_there.all(axis=0))
        else:
            self.pair_shares = pairs
        self.compatible = is_there & self.rule.together

    def measure(self, sets: Int32s, watch: Watch) -> tuple[Floats, Floats]:
        """Covering costs per trip of sets of one size, and what they add to the objective.

        Where only prefixes are shared there are no such costs; they are zero or, where it is impossible, infinite.
        """
        if self.prefixes is None:
            costs = self.prices_of.costs(sets, watch)
            return costs, self.shares(sets, costs)
        shares = self.prefixes.shares(sets, watch)
        return np.where(np.isfinite(shares), 0.0, np.inf)[:, None], shares

    def shares(self, sets: Int32s, costs: Floats) -> Floats:
        """What sets of one size add to the MAC sum, given their covering costs per trip."""
        return np.asarray((costs * self.weights[:, sets].sum(axis=2).T).sum(axis=1) - self.fixed[sets].sum(axis=1))

    def _floors(self, sets: Int32s) -> Floats:
        """What sets whose members share a prefix add at least: every two of them pay for a pair, or more."""
        total = np.zeros(len(sets))
        for one, other in combinations(sets.T, 2):
            total += self.pair_shares[one, other]
        return np.asarray(total / (sets.shape[1] - 1))

    def pair_values(self) -> Floats:
        """What every two members add as a class; infinite where they cannot be one."""
        if self.prefixes is not None:
            return np.where(self.compatible, self.pair_shares, np.inf)
        values = -self.fixed[:, None] - self.fixed
        for costs, weights in zip(self.pair_costs, self.weights, strict=True):
            values = values + costs * (weights[:, None] + weights)
        return np.where(self.compatible, values, np.inf)

    def simple_prices(self) -> Prices:
        """Prices that need no programme: each member pays for its (k - 1)-th cheapest partner.

        A class with t costs at least as much as t and that partner, on every trip.
        """
        if self.k == 1 or self.num < self.k:
            return Prices(np.zeros(self.num))
        if self.prefixes is not None:
            # A class of z members adds at least what its pairs do, each divided by z - 1.
            duals = np.where(self.compatible, self.pair_shares, np.inf).min(axis=1) / 2
        else:
            least = np.empty((len(self.pair_costs), self.num))
            for i in range(self.num):  # not all at once: that would be another table of all pairs
                costs = np.where(self.compatible[i], self.pair_costs[:, i], np.inf)
                least[:, i] = np.partition(costs, self.k - 2, axis=1)[:, self.k - 2]
            duals = (self.weights * least).sum(axis=0) - self.fixed
        is_possible = np.isfinite(duals)
        highest = float(duals[is_possible].max(initial=0.0))
        return Prices(np.where(is_possible, duals, highest))

    def price(self, classes: Iterable[Members]) -> Grouping:
        """These classes at their exact shares, whatever the time; what cannot be walked or priced is dissolved."""
        shares: dict[Members, float] = {}
        by_size = sorted((members for members in classes if len(members) <= self.width), key=len)
        for _, alike in groupby(by_size, key=len):
            sets = np.array(list(alike), dtype=np.int32)
            added = self.measure(sets, Watch())[1]
            shares |= {tuple(row): share for row, share in zip(sets.tolist(), added.tolist(), strict=True)}
        return Grouping.of(self.worth, {members: share for members, share in shares.items() if math.isfinite(share)})

    def columns_of(self, grouping: Grouping) -> Columns:
        """The classes of a partition."""
        sets = np.full((len(grouping.classes), self.width), -1, dtype=np.int32)
        for row, members in enumerate(grouping.classes):
            sets[row, : len(members)] = sorted(members)
        return Columns(sets, np.array(grouping.shares), np.zeros(len(sets)))

    def grouping_of(self, sets: Int32s, shares: Floats, chosen: Ints) -> Grouping:
        """The partition that some of the classes make."""
        return Grouping.of(self.worth, {tuple(sets[at][sets[at] >= 0].tolist()): float(shares[at]) for at in chosen})

    def partition(self, record: Record, source: WalkSource, **proved: Any) -> Partition:
        """The best partition so far as positions in the task, with what is proved about it."""
        classes, left_out = self.named(record.best.classes), self.named([record.best.left_out])[0]
        improvements = tuple(record.improvements)
        return Partition(classes, left_out, improvements=improvements, source=source, **proved)

    def named(self, classes: Iterable[Members]) -> tuple[Members, ...]:
        """The classes as positions in the task, each ascending, by first member."""
        return tuple(sorted(as_members(self.order[list(members)].tolist()) for members in classes))

    def search(
        self, prices: Prices, threshold: float, watch: Watch, *, most: int | None = None, max_priced: int | None = None,
        is_free: bool = False,
    ) -> SearchResult:  # fmt: skip
        """The classes whose reduced cost is at most ``threshold``.

        The search ends as soon as ``most`` are found or more than ``max_priced`` sets were priced. Where ``is_free``,
        walks cost nothing: only who can be grouped matters.
        """
        found: list[SearchResult] = []
        num_found = num_priced = 0
        is_complete = False
        with suppress(OutOfTimeError):
            for batch in self._batches(prices, threshold, watch, is_free=is_free):
                found.append(batch)
                num_found += len(batch.columns)
                num_priced += batch.num_priced
                is_enough = most is not None and num_found >= most
                if is_enough or (max_priced is not None and num_priced > max_priced):
                    break
            else:
                is_complete = True
        columns = Columns.join([batch.columns for batch in found if len(batch.columns)], self.width)
        least_beyond = min((batch.least_beyond for batch in found), default=math.inf)
        return SearchResult(columns, num_priced, least_beyond, is_complete)

    def _batches(self, prices: Prices, threshold: float, watch: Watch, *, is_free: bool) -> Iterator[SearchResult]:
        """Depth first, many sets at a time."""
        has_costs = self.prefixes is None
        weights = np.zeros((len(self.pair_costs), self.num)) if is_free or not has_costs else self.weights
        prizes = prices.duals + self.fixed if has_costs and not is_free else prices.duals
        cuts = cut_arrays(self.num, prices)
        singles = np.arange(self.num, dtype=np.int32)[:, None]
        if self.k == 1:
            kept = np.flatnonzero(-prices.duals <= threshold)
            yield SearchResult(Columns(singles[kept], np.zeros(kept.size), -prices.duals[kept]), self.num)
            return
        base = np.ascontiguousarray(self.base_costs.T) if has_costs else np.zeros((self.num, 1))
        stack = [_Frontier(singles, base, -prizes, np.zeros(self.num))]
        per_step = max(1, _CELLS_PER_STEP // max(1, self.num))
        while stack:
            watch.check()
            now = stack.pop()
            if len(now.sets) > per_step:
                stack.append(now.part(slice(per_step, None)))
                now = now.part(slice(per_step))
            size = now.sets.shape[1] + 1
            sets, offsets, bounds, qualifies, parents = self._extend(now, weights, prizes, cuts, threshold)
            num = len(sets)
            if size > self.max_size:
                yield SearchResult(Columns.join((), 0), 0, float(bounds.min(initial=math.inf)))
                continue
            # Of prefixes, only pairs tell before they are worked out what a set will cost.
            kept = np.arange(num)
            before = now.shares[parents]
            if not has_costs and not is_free and size > 2:
                bounds += np.maximum(self._floors(sets), before) - before
                kept = np.flatnonzero(bounds <= threshold)
            if kept.size == 0:
                continue
            sets = sets[kept]
            costs, shares = self.measure(sets, watch)
            if not self.is_known:
                qualifies[kept] = self.rule.qualify(sets)
            offsets = offsets[kept] - before[kept]
            extras = np.zeros(kept.size) if has_costs or is_free else shares
            with np.errstate(invalid="ignore"):  # what is impossible costs infinity, at a weight of nothing
                reduced = (costs * weights[:, sets].sum(axis=2).T).sum(axis=1) + offsets + extras
            is_there = np.isfinite(shares)
            chosen = np.flatnonzero(qualifies[kept] & is_there & (reduced <= threshold))
            yield SearchResult(Columns(sets[chosen], shares[chosen], reduced[chosen]), kept.size)
            if size < self.largest:
                on = np.flatnonzero(is_there if self.is_known else is_there & self.rule.may_grow(sets))
                stack.append(_Frontier(sets[on], costs[on], offsets[on], extras[on]))

    def _extend(
        self, now: _Frontier, weights: Floats, prizes: Floats, cuts: Cuts, threshold: float
    ) -> tuple[Int32s, Floats, Floats, Flags, Ints]:
        """What :func:`extend_sets` writes, by all cores where that is worth it: each has some of the rows."""

        def extend(rows: slice) -> tuple[Int32s, Floats, Floats, Flags, Ints]:
            part = now.part(rows)
            room = len(part.sets) * self.num
            sets = np.empty((room, part.sets.shape[1] + 1), dtype=np.int32)
            offsets, bounds = np.empty((2, room))
            qualifies, parents = np.empty(room, dtype=np.bool_), np.empty(room, dtype=np.int64)
            num = extend_sets(
                part.sets, part.costs, part.offsets + part.shares, weights, prizes, self.pair_costs, self.compatible,
                self.far if self.is_loose else None, self.groups, self.num_groups, self.k, self.largest, *cuts,
                threshold, sets, offsets, bounds, qualifies, parents,
            )  # fmt: skip
            parents[:num] += rows.start
            return sets[:num], offsets[:num], bounds[:num], qualifies[:num], parents[:num]

        num_parts = max(1, min(num_threads(), len(now.sets), len(now.sets) * self.num // _CELLS_PER_THREAD))
        if num_parts == 1:
            return extend(slice(0, len(now.sets)))
        ends = [len(now.sets) * part // num_parts for part in range(num_parts + 1)]
        with ThreadPoolExecutor(num_parts) as pool:
            found = list(pool.map(extend, map(slice, ends, ends[1:])))
        sets, offsets, bounds, qualifies, parents = map(np.concatenate, zip(*found, strict=True))
        return sets, offsets, bounds, qualifies, parents


class ListedClasses(ClassSpace):
    """All classes of a few members, their shares known: what tables of all sets leave to be proved.

    The classes are bit masks. Whoever asks for classes of low reduced cost can do so here, too; pairs and walks are not
    to be had.
    """

    def __init__(self, worth: Floats, k: int, masks: Ints, shares: Floats) -> None:
        num, self.k, self.worth = worth.size, k, worth
        self.is_known = self.can_improve = False
        self.order = np.arange(num)
        self.largest = self.max_size = self.width = int(np.bitwise_count(masks).max(initial=0))
        self.prefixes = None
        self.pair_costs = np.zeros((1, num, num))
        self.compatible = np.zeros((num, num), dtype=np.bool_)
        self.weights = np.ones((1, num))
        self.fixed = np.zeros(num)
        self._masks = masks
        self._shares = shares

    def search(
        self, prices: Prices, threshold: float, watch: Watch, *, most: int | None = None, is_free: bool = False,
        **_: Any,
    ) -> SearchResult:  # fmt: skip
        """As for all spaces; one look at the whole list."""
        reduced = (0.0 if is_free else self._shares) - self._sums(prices.duals)
        for cut, dual in prices.paid_cuts:
            reduced += dual * (np.bitwise_count(self._masks & mask_of(cut)) // 2)
        chosen = np.flatnonzero(reduced <= threshold)
        is_complete = most is None or chosen.size < most
        if most is not None and not is_complete:
            chosen = chosen[np.argsort(reduced[chosen], kind="stable")[:most]]
        shares = np.zeros(chosen.size) if is_free else self._shares[chosen]
        columns = Columns(self._rows(self._masks[chosen]), shares, reduced[chosen])
        return SearchResult(columns, self._masks.size, is_complete=is_complete)

    def measure(self, sets: Int32s, watch: Watch) -> tuple[Floats, Floats]:
        """What sets of one size add to the MAC sum; infinite when they are no classes."""
        masks = (np.int64(1) << sets.astype(np.int64)).sum(axis=1)
        at = np.searchsorted(self._masks, masks)
        is_listed = np.append(self._masks, -1)[at] == masks
        shares = np.where(is_listed, np.append(self._shares, math.inf)[at], math.inf)
        return np.where(np.isfinite(shares), 0.0, math.inf)[:, None], shares

    def pair_values(self) -> Floats:
        """What the cheapest class with every two members adds."""
        values = np.full((self.num, self.num), np.inf)
        for one, other in combinations(range(self.num), 2):
            both = self._shares[(self._masks >> one) & (self._masks >> other) & 1 == 1]
            values[one, other] = values[other, one] = both.min(initial=np.inf)
        return values

    def _sums(self, values: Floats) -> Floats:
        """What the members of each class come to: those of the lower and the upper half, from two short tables."""
        low = min(10, self.num)
        lower, upper = subset_sums(values[:low]), subset_sums(values[low:])
        return np.asarray(lower[self._masks & ((1 << low) - 1)] + upper[self._masks >> low])

    def _rows(self, masks: Ints) -> Int32s:
        """Members ascending, -1 behind them."""
        inside = (masks[:, None] >> np.arange(self.num)) & 1 == 1
        rows = np.full((masks.size, self.max_size), -1, dtype=np.int32)
        row, member = np.nonzero(inside)
        rows[row, (np.cumsum(inside, axis=1) - 1)[row, member]] = member
        return rows


@dataclass(frozen=True, eq=False)
class _Frontier:
    """Sets of one size that are to be extended, with what is known of each."""

    sets: Int32s
    costs: Floats
    offsets: Floats  # what the reduced cost holds beside the walks
    shares: Floats  # what prefixes add, where these are priced

    def part(self, which: slice) -> _Frontier:
        return _Frontier(self.sets[which], self.costs[which], self.offsets[which], self.shares[which])


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search for classes has brought, as a whole or since it last said so."""

    columns: Columns  # the classes
    num_priced: int  # how many sets had their covering cost worked out
    # The least reduced cost that a class larger than the space's ``max_size`` might have; infinite without any.
    least_beyond: float = math.inf
    is_complete: bool = False  # whether no class within reach of the search is missing
    # Per heaviest member of a class how far the reduced costs of its classes may lie below 0; only some spaces know.
    shortfalls: Floats | None = None


def cut_arrays(num: int, prices: Prices) -> Cuts:
    """The cuts as the kernel takes them: members of each cut, duals, cuts of each member."""
    paid = prices.paid_cuts
    members = np.array([i for cut, _ in paid for i in cut], dtype=np.int64)
    owner = np.repeat(np.arange(len(paid)), [len(cut) for cut, _ in paid])
    by_member = np.argsort(members, kind="stable")
    return (
        np.concatenate(([0], np.cumsum([len(cut) for cut, _ in paid]))).astype(np.int64),
        members,
        np.array([dual for _, dual in paid], dtype=np.float64),
        np.searchsorted(members[by_member], np.arange(num + 1)).astype(np.int64),
        owner[by_member].astype(np.int64),
    )


def find_groups(are_alike: Flags) -> tuple[Ints, int]:
    """Few groups within which all are alike, and how many: each member joins the first group that it can."""
    groups = np.full(len(are_alike), -1, dtype=np.int64)
    for i in range(len(are_alike)):
        groups[i] = next(at for at in count() if are_alike[i, groups == at].all())
    return groups, max(1, int(groups.max(initial=0)) + 1)
