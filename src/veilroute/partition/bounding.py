"""Bounds from prices: the linear programme over classes, solved by finding the classes and cuts that it lacks.

The bound is never taken from the solver of the linear programme: it is worked out from the prices, and less whatever
negative reduced cost the search has met.
"""

from __future__ import annotations

import math

import numpy as np

from veilroute.partition.class_space import ClassSpace, Columns, Prices
from veilroute.partition.master import MAX_COMBINED, Master, separate
from veilroute.progress import OutOfTimeError, Watch

CLOSED = 1e-9  #: relative distance at which a bound counts as reached
PER_MEMBER = 3  #: how many new classes through a member the linear programme gets at a time
MOST_PER_SEARCH = 20  #: searches among large classes end when so many per member are found
_MAX_ROUNDS = 60
_FEW_ROUNDS = 6
_MAX_IDLE_ROUNDS = 4
_LEAST_GAIN = 0.002


class Bounding:
    """Raises the bound of one question (the least cost, or the fewest left out) as far as prices can.

    ``num_left_out`` members stay out; ``None`` when their number is the question, and walks are free.
    """

    def __init__(self, space: ClassSpace, num_left_out: int | None, watch: Watch, scale: float = 1.0) -> None:
        self.space, self.num_left_out, self.watch, self.scale = space, num_left_out, watch, scale
        self.is_free = num_left_out is None
        self.bound, self.prices = 0.0, Prices(np.zeros(space.num))
        self.is_converged = False
        self.master = Master(space.num, num_left_out, scale)
        self._known: set[bytes] = set()
        self._tolerance = 1e-8 / scale

    def columns_within(self, reach: float) -> Columns:
        """The classes of the linear programme whose reduced cost is at most ``reach``: a good choice of all there are.

        For whole numbers, those beyond what lies between the bound and the best partition are of no use.
        """
        sets, shares = self.master.sets, self.master.shares
        if reach == math.inf:
            return Columns(sets, shares, np.zeros(len(sets)))
        reduced = self.prices.reduce(sets, shares)
        return Columns(sets, shares, reduced).take(reduced <= reach)

    def add(self, columns: Columns) -> int:
        """Add the classes that are new; returns how many."""
        is_new = np.array([row.tobytes() not in self._known for row in columns.sets], dtype=np.bool_)
        new = columns.take(is_new)
        if len(new):
            self._known.update(row.tobytes() for row in new.sets)
            self.master.add_columns(new.sets, np.zeros(len(new)) if self.is_free else new.shares)
        return len(new)

    def value_of(self, prices: Prices, least_reduced: float) -> float:
        """The bound that prices prove when no class has a lower reduced cost than the one given."""
        duals = prices.duals
        if self.num_left_out is None:
            num_grouped, total = self.space.num, float(np.minimum(duals, 1.0).sum())
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
        for _ in range(_MAX_ROUNDS if self.space.num > MAX_COMBINED else _FEW_ROUNDS):
            before = self.bound
            try:
                self._converge()
            except OutOfTimeError:
                return
            self.is_converged = True
            if target - self.bound <= CLOSED * abs(target):
                return
            gain = self.bound - before
            idle = idle + 1 if gain < _LEAST_GAIN * (target - self.bound) else 0
            if idle >= _MAX_IDLE_ROUNDS:
                return
            num = self.space.num
            # Larger cuts once those of three members bring little.
            cuts = separate(
                num, self.master.sets, self.master.values, self.master.cuts, max(30, num // 2), is_wide=idle > 0
            )
            if not cuts:
                return
            self.master.add_cuts(cuts)

    def _converge(self) -> None:
        """Add classes until none with a negative reduced cost is missing."""
        while True:
            prices = self.master.solve(self.watch)
            self.watch.tell("bounds", len(self.master.sets))
            most = None if self.space.max_size <= 3 else MOST_PER_SEARCH * self.space.num
            found = self.space.search(prices, -self._tolerance, self.watch, most=most, is_free=self.is_free)
            self.watch.check()
            if found.is_complete:
                least = min(float(found.columns.reduced.min(initial=0.0)), found.least_beyond, 0.0)
                self.offer(prices, least - self._tolerance)
            # What the programme holds already has a negative reduced cost only within its tolerance.
            if not self.add(found.columns.best(self.space.num, PER_MEMBER)) and (
                found.is_complete or not len(found.columns)
            ):
                return


def simple_prices(space: ClassSpace) -> Prices:
    """Prices that need no programme: each member pays for its (k - 1)-th cheapest partner.

    A class with t costs at least as much as t and that partner, on every trip.
    """
    if space.k == 1 or space.num < space.k:
        return Prices(np.zeros(space.num))
    if space.prefixes is not None:
        # A class of z members adds at least what its pairs do, each divided by z - 1.
        duals = np.where(space.compatible, space.pair_shares, np.inf).min(axis=1) / 2
    else:
        least = np.empty((len(space.pair_costs), space.num))
        for i in range(space.num):  # not all at once: that would be another table of all pairs
            costs = np.where(space.compatible[i], space.pair_costs[:, i], np.inf)
            least[:, i] = np.partition(costs, space.k - 2, axis=1)[:, space.k - 2]
        duals = (space.weights * least).sum(axis=0) - space.fixed
    is_possible = np.isfinite(duals)
    highest = float(duals[is_possible].max(initial=0.0))
    return Prices(np.where(is_possible, duals, highest))
