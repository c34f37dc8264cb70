"""The linear and the integer programme over classes, by HiGHS, and the subset-row cuts that both take.

Rows: each member is in one class, or left out. ``num_left_out`` members are, exactly. Then the cuts. Columns: the
classes that were found so far, never all there are.

Of an odd set S of members, a partition has at most ``|S| // 2`` classes that hold two of them, a class with four
counted twice: the rounded half of the rows of S (docs/theory, :ref:`Subset-row cuts <theory-cuts>`). Cuts of three
members come first; larger ones are grown from these by two members at a time.

A :class:`Bounding` solves the linear programme by finding the classes and cuts that it lacks. Its bound is never taken
from the solver: it is worked out from the prices, and less whatever negative reduced cost the search has met.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import highspy
import numpy as np

from veilroute.base.arrays import Floats, Int32s, Ints, Members, as_members
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.kernels.extension import grow_cuts
from veilroute.kernels.set_partition import combine_classes
from veilroute.partition.class_space import ClassSpace, Columns, Prices, SearchResult
from veilroute.partition.crowded_space import CrowdedSpace
from veilroute.partition.limits import limits
from veilroute.partition.result import Grouping
from veilroute.partition.weighed_space import WeighedSpace

_MEAN_SCALED_SHARE = 100.0  #: shares are scaled so that a member's is about this: HiGHS works with absolute tolerances
_LEAST_DROPPED = 1e-9
_SIGNALS = highspy.cb.HighsCallbackType


def scale_of(total: float, num: int) -> float:
    """By what to multiply shares that add up to about ``total``."""
    return _MEAN_SCALED_SHARE * max(1, num) / total if total > 0 else 1.0


class Master:
    """The programme: solved again and again as a linear one with more columns and cuts, or once in whole numbers.

    ``num_left_out`` members must stay out; ``None`` leaves out as few as possible, at a cost of 1 each or of what they
    are ``worth``. Shares are multiplied by ``scale``. Where it ``is_covering``, members may be in several classes, so
    that no price is negative: that takes far fewer rounds.
    """

    def __init__(
        self, num: int, num_left_out: int | None, scale: float, *, worth: Floats | None = None,
        is_covering: bool = False, is_whole: bool = False,
    ) -> None:  # fmt: skip
        self.num = num
        self.scale = scale
        self.cuts: list[Members] = []
        self.sets: Int32s = np.empty((0, 0), dtype=np.int32)
        self.shares: Floats = np.empty(0)
        self.values: Floats = np.empty(0)
        self.dropped: Floats = np.empty(0)  # how much of each member is left out
        self._penalties = self._most_penalties = self._amounts = np.empty(0)
        self._num_slack = 0 if num_left_out == 0 else num
        self._first_cut_row = num + (1 if num_left_out else 0)
        self._most = 1.0 if is_whole else math.inf
        self._is_asking = False
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        self._set("output_flag", False)
        self._set("threads", 1)  # and so the same result every time
        self._set("random_seed", 0)
        # It would drop the basis; and with it the same whole programmes take many times as long, or overrun their time.
        self._set("presolve", "off")
        if not is_whole:
            self._set("dual_feasibility_tolerance", 1e-9)
        # One row per member and, where members may stay out, a column for each and a row that counts them.
        for _ in range(num):
            self._solver.addRow(1.0, math.inf if is_covering else 1.0, 0, np.empty(0, dtype=np.int32), np.empty(0))
        if num_left_out != 0:
            cost = np.full(num, 1.0 if num_left_out is None else 0.0) if worth is None else worth
            rows = np.arange(num, dtype=np.int32)
            self._solver.addCols(num, cost, np.zeros(num), np.ones(num), num, rows, rows, np.ones(num))
            if num_left_out is not None:
                self._solver.addRow(float(num_left_out), float(num_left_out), num, rows, np.ones(num))

    def _set(self, option: str, value: object) -> None:
        self._solver.setOptionValue(option, value)

    def soften(self, penalties: Floats, most: Floats, amounts: Floats | None = None) -> None:
        """Let members be dropped at a penalty, for each unit of their ``amounts``, before any class is added.

        Prices then stay near those that are right in the end, and few classes are worth adding. It gets dearer, up to
        the ``most``, for as long as somebody is dropped (:meth:`harden`).
        """
        self._amounts = np.ones(self.num) if amounts is None else amounts
        self._penalties, self._most_penalties = penalties, most
        self._num_slack = num = self.num
        rows, ones = np.arange(num, dtype=np.int32), np.ones(num)
        self._solver.addCols(num, np.zeros(num), np.zeros(num), ones, num, rows, rows, ones)
        self.charge(penalties)

    def harden(self, dearer: float) -> bool:
        """Make dropping so many times dearer for those who are dropped; whether there was anybody."""
        is_cheap = (self.dropped > _LEAST_DROPPED) & (self._penalties < self._most_penalties)
        self._penalties = np.where(is_cheap, self._penalties * dearer, self._penalties)
        self.charge(self._penalties)
        return bool(is_cheap.any())

    def charge(self, penalties: Floats) -> None:
        """What it costs to drop each member."""
        columns = np.arange(self.num, dtype=np.int32)
        self._solver.changeColsCost(self.num, columns, penalties * self._amounts * self.scale)

    def add_columns(self, sets: Int32s, shares: Floats) -> None:
        """Add classes, or strolls that may hold a member more than once: ascending, with -1 behind their members."""
        columns, places = np.nonzero(sets >= 0)
        rows = sets[columns, places].astype(np.int64)
        # A stroll may hold a member more than once.
        is_next = np.ones(rows.size, dtype=np.bool_)
        is_next[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
        times = np.diff(np.concatenate((np.flatnonzero(is_next), [rows.size])))
        counts = _cut_counts(sets, self.cuts, self.num)
        cut_at, cut_columns = np.nonzero(counts)
        columns = np.concatenate((columns[is_next], cut_columns))
        rows = np.concatenate((rows[is_next], cut_at + self._first_cut_row))
        values = np.concatenate((times, counts[cut_at, cut_columns])).astype(np.float64)
        by_column = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[by_column], np.arange(len(sets))).astype(np.int32)
        self._solver.addCols(
            len(sets), shares * self.scale, np.zeros(len(sets)), np.full(len(sets), self._most),
            len(rows), starts, rows[by_column].astype(np.int32), values[by_column],
        )  # fmt: skip
        if self.sets.shape[1] < sets.shape[1]:
            self.sets = np.full((0, sets.shape[1]), -1, dtype=np.int32)
        self.sets = np.concatenate((self.sets, sets))
        self.shares = np.concatenate((self.shares, shares))

    def forbid(self, chosen: Ints) -> None:
        """Take none of some columns from now on."""
        columns = (chosen + self._num_slack).astype(np.int32)
        self._solver.changeColsBounds(columns.size, columns, np.zeros(columns.size), np.zeros(columns.size))

    def add_cuts(self, cuts: Sequence[Members]) -> None:
        """Add subset-row cuts."""
        for cut in cuts:
            counts = _cut_counts(self.sets, (cut,), self.num)[0]
            inside = np.flatnonzero(counts)
            columns = (inside + self._num_slack).astype(np.int32)
            most = float(len(cut) // 2)
            self._solver.addRow(-math.inf, most, inside.size, columns, counts[inside].astype(np.float64))
            self.cuts.append(cut)

    def solve(self, watch: Watch) -> Prices:
        """The prices of an optimal solution, whose values are then in ``values``."""
        if self._run(watch) != highspy.HighsModelStatus.kOptimal:
            watch.check()
            # Never seen; without a basis to build on, from scratch.
            self._solver.clearSolver()
            if self._run(watch) != highspy.HighsModelStatus.kOptimal:
                raise OutOfTimeError
        solution = self._solver.getSolution()
        values = np.array(solution.col_value)
        self.dropped, self.values = values[: self._num_slack], values[self._num_slack :]
        duals = np.array(solution.row_dual) / self.scale
        return Prices(duals[: self.num], tuple(self.cuts), np.maximum(0.0, -duals[self._first_cut_row :]))

    def choose(self, watch: Watch, start: Ints | None, max_nodes: int | None) -> Chosen:
        """The best solution in whole numbers, see :func:`choose_classes`."""
        # HiGHS ignores what is better by less than its tolerance of 1e-6, in scaled units; no other gap is left open.
        self._set("mip_rel_gap", 0.0)
        self._set("mip_abs_gap", 1e-6)
        if max_nodes is not None:
            self._set("mip_max_nodes", max_nodes)
        total = self._num_slack + len(self.sets)
        columns = np.arange(total, dtype=np.int32)
        is_whole = np.full(total, int(highspy.HighsVarType.kInteger), dtype=np.uint8)
        self._solver.changeColsIntegrality(total, columns, is_whole)
        if start is not None:
            values = np.zeros(total)
            values[: self._num_slack] = 1.0
            values[self._num_slack + start] = 1.0
            if self._num_slack:
                values[self.sets[start][self.sets[start] >= 0]] = 0.0
            self._solver.setSolution(total, columns, values)
        status = self._run(watch)
        info = self._solver.getInfo()
        num_nodes = max(0, int(info.mip_node_count))  # -1 where there was nothing to search
        chosen = np.empty(0, dtype=np.int64)
        if info.primal_solution_status == 2 and math.isfinite(info.objective_function_value):
            chosen = np.flatnonzero(np.array(self._solver.getSolution().col_value)[self._num_slack :] > 0.5)
        elif status == highspy.HighsModelStatus.kInfeasible:
            return Chosen(chosen, True, math.inf, num_nodes)
        bound = float(info.mip_dual_bound) / self.scale
        is_proved = status == highspy.HighsModelStatus.kOptimal
        return Chosen(chosen, is_proved, bound if math.isfinite(bound) else -math.inf, num_nodes)

    def _run(self, watch: Watch) -> Any:
        """Run the solver, at most until the watch is over; returns its status."""
        # Another watch may have been there before, with a limit that is over.
        is_limited, should_stop = watch.time_limit_s is not None, watch.should_stop
        self._set("time_limit", self._solver.getRunTime() + max(0.0, watch.left_s()) if is_limited else math.inf)
        if should_stop is not None or self._is_asking:
            self._is_asking = True

            def ask(_kind: int, _message: str, _out: Any, reply: Any, _mine: Any) -> None:
                reply.user_interrupt = should_stop is not None and should_stop()

            self._solver.setCallback(ask, None)
            self._solver.startCallback(_SIGNALS.kCallbackMipInterrupt)
            self._solver.startCallback(_SIGNALS.kCallbackSimplexInterrupt)
        self._solver.run()
        return self._solver.getModelStatus()


@dataclass(frozen=True, eq=False)
class Chosen:
    """What the integer programme found."""

    columns: Ints  # positions of the classes of the best partition, empty when there is none
    is_proved: bool  # whether no partition of the given classes is better, or whether there is none
    bound: float  # what any partition of the given classes costs at least; infinite when there is none
    num_nodes: int  # how many nodes its search had


def choose_classes(
    num: int, num_left_out: int | None, sets: Int32s, shares: Floats, cuts: Sequence[Members], scale: float,
    watch: Watch, *, start: Ints | None = None, max_nodes: int | None = None, worth: Floats | None = None,
) -> Chosen:  # fmt: skip
    """The cheapest partition that consists of given classes and leaves ``num_left_out`` members out.

    ``start`` are positions of classes that make a partition, to begin with. After ``max_nodes`` it gives up, where the
    time is not what limits.
    """
    whole = Master(num, num_left_out, scale, worth=worth, is_whole=True)
    whole.add_columns(sets, shares)
    whole.add_cuts(cuts)
    return whole.choose(watch, start, max_nodes)


def combine_few(num: int, num_left_out: int, sets: Int32s, shares: Floats) -> Chosen:
    """The same for few members, by solving every set of them that comes up."""
    masks = np.where(sets >= 0, np.int64(1) << np.maximum(sets, 0).astype(np.int64), 0).sum(axis=1)
    lowest = sets.min(axis=1, where=sets >= 0, initial=num)
    order = np.argsort(lowest, kind="stable")
    first_of = np.searchsorted(lowest[order], np.arange(num + 1)).astype(np.int64)
    choice = combine_classes(num, masks[order], shares[order], first_of, num_left_out > 0)
    at = {int(mask): number for number, mask in enumerate(masks.tolist())}
    chosen, left, num_out = [], (1 << num) - 1, 0
    while left:
        best = int(choice[left])
        if best < 0:
            return Chosen(np.empty(0, dtype=np.int64), True, math.inf, 0)
        if best:
            chosen.append(at[best])
            left ^= best
        else:
            left &= left - 1
            num_out += 1
    columns = np.array(chosen, dtype=np.int64)
    return Chosen(columns, True, float(shares[columns].sum()) if num_out == num_left_out else math.inf, 0)


def _cut_counts(sets: Int32s, cuts: Sequence[Members], num: int) -> Ints:
    """Per cut and class how often the class has two members of the cut."""
    counts = np.zeros((len(cuts), len(sets)), dtype=np.int64)
    is_inside = np.zeros(num + 1, dtype=np.int64)  # the last one stands for -1
    for row, cut in enumerate(cuts):
        is_inside[list(cut)] = 1
        counts[row] = is_inside[sets].sum(axis=1) // 2
        is_inside[list(cut)] = 0
    return counts


MAX_CUT = 9  #: the most members of a cut
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
            found[as_members(out[row][out[row] >= 0].tolist())] = float(surplus[row])
        if found:
            break
    counts: Counter[int] = Counter()
    chosen: list[Members] = []
    for cut in sorted(found.keys() - set(known), key=lambda cut: (-round(found[cut], 9), cut)):
        if len(chosen) < most and all(counts[i] < _CUTS_PER_MEMBER for i in cut):
            chosen.append(cut)
            counts.update(cut)
    return chosen


def _seeds(num: int, used: Int32s, amounts: Floats) -> Int32s:
    """Triples of members that are often together: each two of two partners of a member, with the member."""
    together = np.zeros((num, num))
    for one, other in permutations(used.T, 2):
        both = (one >= 0) & (other >= 0)
        np.add.at(together, (one[both], other[both]), amounts[both])
    found: dict[tuple[int, ...], float] = {}
    for j in np.flatnonzero(together.any(axis=1)).tolist():
        mine = np.flatnonzero(together[j])
        sums = together[j, mine][:, None] + together[j, mine][None, :] + together[np.ix_(mine, mine)]
        for a, b in zip(*np.nonzero(np.triu(sums > _LEAST_SEED, 1)), strict=True):
            found[as_members((j, int(mine[a]), int(mine[b])))] = float(sums[a, b])
    best = sorted(found, key=lambda seed: (-round(found[seed], 9), seed))[:_MAX_SEEDS]
    return np.array(best, dtype=np.int32).reshape(len(best), 3)


CLOSED = 1e-9  #: relative distance at which a bound counts as reached
_PER_MEMBER = 3  #: how many new classes through a member the linear programme gets at a time
_MOST_PER_SEARCH = 20  #: searches among large classes end when so many per member are found
_MAX_ROUNDS = 60
_FEW_ROUNDS = 6
_MAX_IDLE_ROUNDS = 4
_LEAST_GAIN = 0.002
_WORTHWHILE_GAIN = 0.01
_LEAST_PAID = 0.01
_DEARER = 1.5
_MOST_QUOTA = 1e8
_LARGER = 4.0
_LITTLE = 1e-4
_MAX_PARTS = 200
_MOST_PARTS = 1000
_PULL = 0.5
_LEAST_PULL = 0.05
_LEAST_RAISED = 0.5
_SLACK = 2e-3
_LEAST_SLACK = 1e-5


class Bounding:
    """Raises the bound of one question (the least cost, or the fewest left out) as far as prices can.

    ``num_left_out`` members stay out; ``None`` when their number is the question, and walks are free.
    """

    def __init__(self, space: ClassSpace, num_left_out: int | None, watch: Watch, scale: float = 1.0) -> None:
        self.space, self.num_left_out, self.watch, self.scale = space, num_left_out, watch, scale
        self.is_free = num_left_out is None
        self.bound, self.prices = 0.0, Prices(np.zeros(space.num))
        self.is_converged = False
        self.worth: Floats = space.worth / space.worth.mean()
        self.master = Master(space.num, num_left_out, scale, worth=self.worth if self.is_free else None)
        self._known: set[bytes] = set()
        self._is_hasty = False
        self._tolerance = 1e-8 / scale
        self._is_soft, self._is_short, self._quota, self._slack = (
            False,
            False,
            limits().quota,
            _SLACK if space.num > limits().few else 0.0,
        )

    def soften(self, grouping: Grouping) -> None:
        """Let the prices begin near what members pay in a partition that hides everybody."""
        paid = np.zeros(self.space.num)
        sets = self.space.columns_of(grouping).sets
        for members in (row[row >= 0] for row in sets):
            costs = self.space.measure(members[None], Watch())[0][0]
            paid[members] = costs @ self.space.weights[:, members] - self.space.fixed[members]
        self._is_soft = True
        self.master.soften(np.maximum(paid, _LEAST_PAID * paid.mean()), np.full(self.space.num, math.inf))

    def columns_within(self, reach: float) -> Columns:
        """The classes of the linear programme whose reduced cost is at most ``reach``: a good choice of all there are.

        For whole numbers, those beyond what lies between the bound and the best partition are of no use.
        """
        is_class = (self.master.sets >= 0).any(axis=1)
        sets, shares = self.master.sets[is_class], self.master.shares[is_class]
        if reach == math.inf:
            return Columns(sets, shares, np.zeros(len(sets)))
        reduced = self.prices.reduce(sets, shares)
        return Columns(sets, shares, reduced).take(reduced <= reach)

    def add(self, columns: Columns) -> int:
        """Add the classes that are new; returns how many."""
        first = {row.tobytes(): at for at, row in reversed(list(enumerate(columns.sets)))}
        new = columns.take(np.array(sorted(at for key, at in first.items() if key not in self._known), dtype=np.int64))
        if len(new):
            self._known.update(first)
            self.master.add_columns(new.sets, np.zeros(len(new)) if self.is_free else new.shares)
        return len(new)

    def add_first(self, prices: Prices) -> None:
        """Add good classes at prices that are too high to be those of the programme."""
        limits: dict[str, Any] = {"quota": self._quota} if isinstance(self.space, CrowdedSpace) else {}
        most = _MOST_PER_SEARCH * self.space.num * self.space.k
        found = self.space.search(prices, 0.0, self.watch, most=most, **limits)
        self.add(found.columns.best(self.space.num, 3 * _PER_MEMBER))

    def value_of(self, prices: Prices, least_reduced: float) -> float:
        """The bound that prices prove when no class has a lower reduced cost than the one given."""
        duals = prices.duals
        if self.num_left_out is None:
            num_grouped, total = self.space.num, float(np.minimum(duals, self.worth).sum())
        else:
            num_grouped = self.space.num - self.num_left_out
            total = float(np.sort(duals)[:num_grouped].sum())
        num_classes = num_grouped // self.space.k
        paid_for_cuts = sum(dual * (len(cut) // 2) for cut, dual in prices.paid_cuts)
        return total - paid_for_cuts + num_classes * min(0.0, least_reduced)

    def offer(self, prices: Prices, least_reduced: float) -> None:
        """Keep prices whose bound is better than the best so far."""
        value = self.value_of(prices, least_reduced)
        if value > self.bound:
            self.bound, self.prices = value, prices
            if self.num_left_out is not None and self.num_left_out < self.space.num:
                self.watch.tell_bound("bounds", self.bound / (self.space.num - self.num_left_out))

    def run(self, target: float) -> None:
        """Solve the linear programme and add cuts until that stops to help or the bound reaches ``target``."""
        idle = 0
        for _ in range(_MAX_ROUNDS if self.space.num > limits().combined else _FEW_ROUNDS):
            before = self.bound
            try:
                self._converge()
            except OutOfTimeError:
                return
            self.is_converged = True
            if target - self.bound <= CLOSED * abs(target):
                return
            gain = self.bound - before
            least_gain = _LEAST_GAIN if not isinstance(self.space, CrowdedSpace) else _WORTHWHILE_GAIN
            idle = idle + 1 if gain < least_gain * (target - self.bound) else 0
            num = self.space.num
            # Larger cuts once those of three members bring little.
            cuts = separate(
                num, self.master.sets, self.master.values, self.master.cuts, max(30, num // 2), is_wide=idle > 0
            )
            if idle >= _MAX_IDLE_ROUNDS or not cuts:
                if not self._is_short or not self._slack:
                    return
                idle, self._slack = 0, self._slack / _LARGER if self._slack > _LEAST_SLACK else 0.0
            self.master.add_cuts(cuts)

    def find_classes(self, max_parts: int = 0, *, is_hasty: bool = False) -> None:
        """Add classes until no search finds another, whatever the bound.

        ``max_parts``: how far to look at classes that it does not get to (:meth:`WeighedSpace.look_further`). In haste,
        where classes are crowded: only those that are found at once, and then what one whole search finds.
        """
        with suppress(OutOfTimeError):
            if is_hasty:
                self._is_hasty = True
                self._search()
                self._is_hasty = False
                prices = self.master.solve(self.watch)
                self._learn(prices, self._search_at(prices))
                return
            prices, found = self._search()
            if max_parts and self._can_look_further and self._look_further(prices, found, max_parts):
                self._search()

    @property
    def _can_look_further(self) -> bool:
        """Whether there are bounds on what a search does not get to; where members are few, it first tries hard."""
        is_hard = self.space.num > limits().few or self._quota > _MOST_QUOTA
        return is_hard and isinstance(self.space, WeighedSpace) and self.space.can_look_further and not self.is_free

    def _converge(self) -> None:
        """Add classes until none with a negative reduced cost is missing, or none that matters much."""
        pull = _PULL if self._slack else 0.0
        while True:
            prices, found = self._search()
            self._is_short = found.shortfalls is not None and -float(found.shortfalls.sum()) > _LITTLE * self.bound
            if not self._is_short:
                return
            if self._can_look_further:
                # Prices of the programme may be odd ones. Near those of the best bound so far there is less to look at.
                before, most = self.bound, self.value_of(prices, 0.0)
                mixed = prices.mixed(self.prices, pull)
                max_parts = _MAX_PARTS if self._slack else _MOST_PARTS
                is_new = self._look_further(mixed, self._search_at(mixed), max_parts)
                if most - self.bound <= 2 * self._slack * most:
                    return
                if not is_new and self.bound - before <= _LEAST_RAISED * pull * (most - before):
                    if not pull:
                        return
                    pull = pull / _LARGER if pull > _LEAST_PULL else 0.0
            elif self._quota > _MOST_QUOTA:
                return
            else:
                self._quota *= _LARGER

    def _search(self) -> tuple[Prices, SearchResult]:
        """Add classes until a search finds no other; returns the last prices, and what it found there."""
        is_weighed = isinstance(self.space, WeighedSpace)
        while True:
            prices = self.master.solve(self.watch)
            self.watch.tell("bounds", len(self.master.sets))
            found = self._search_at(prices)
            if self._learn(prices, found):
                continue
            if not found.is_complete and len(found.columns) and found.shortfalls is None and not is_weighed:
                continue
            # At prices that are too high there is no end to looking: first they have to be right.
            if not (self._is_soft and self.master.harden(_DEARER)):
                return prices, found

    def _learn(self, prices: Prices, found: SearchResult) -> int:
        """Keep what a search tells about the bound, and add the classes that it found; returns how many are new."""
        if found.shortfalls is not None:
            # Of the classes with one heaviest member, or one leader, a partition has one.
            least = 0.0
            if isinstance(self.space, CrowdedSpace):
                # And it has only so many classes: those with the leaders of the largest shortfalls.
                num_classes = (self.space.num - (self.num_left_out or 0)) // self.space.k
                least = float(np.sort(found.shortfalls)[num_classes - 1])
            lowered = prices.duals + np.minimum(0.0, found.shortfalls - least)
            self.offer(replace(prices, duals=lowered), least - self._tolerance)
        elif found.is_complete:
            least = min(float(found.columns.reduced.min(initial=0.0)), found.least_beyond, 0.0)
            self.offer(prices, least - self._tolerance)
        self.watch.check()
        # What the programme holds already has a negative reduced cost only within its tolerance.
        return self.add(found.columns.best(self.space.num, _PER_MEMBER))

    def _search_at(self, prices: Prices) -> SearchResult:
        is_weighed = isinstance(self.space, WeighedSpace)
        most = None if self.space.max_size <= 3 or is_weighed else _MOST_PER_SEARCH * self.space.num
        has_quota = isinstance(self.space, WeighedSpace | CrowdedSpace)
        limits: dict[str, Any] = {"quota": self._quota} if has_quota else {}
        if isinstance(self.space, CrowdedSpace):
            # As long as somebody is dropped, prices are not right yet.
            is_early = self._is_soft and bool((self.master.dropped > _LEAST_DROPPED).any())
            limits["is_hasty"] = self._is_hasty or is_early
        return self.space.search(prices, -self._tolerance, self.watch, most=most, is_free=self.is_free, **limits)

    def _look_further(self, prices: Prices, searched: SearchResult, max_parts: int) -> bool:
        """Look at the classes that a search has not got to; whether there are new ones."""
        assert isinstance(self.space, WeighedSpace)
        self.watch.check()
        slack = self._slack * self.value_of(prices, 0.0)
        found = self.space.look_further(prices, searched, -self._tolerance, slack, max_parts, self.watch)
        assert found.shortfalls is not None
        self.offer(replace(prices, duals=prices.duals + found.shortfalls), -self._tolerance)
        self.watch.check()
        num = self.add(searched.columns.best(self.space.num, _PER_MEMBER))
        return num + self.add(found.columns) > 0
