"""Strolls that count k members who stand apart: what large classes add at least where members stand near each other.

As :class:`veilroute.partition.strolls.StrollSearch`, but a stroll counts only whom it does not remember to stand near
one that it has counted, and may come by any number of others. Level by level of what a class may cost, at a rate for
the length of the way that is chosen for each (docs/theory, :ref:`Crowds <theory-crowds>`).
"""

from itertools import groupby

import numpy as np

from veilroute.base.arrays import Floats, Int32s, Ints, as_members
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.kernels.strolls import Memory, stroll_crowd
from veilroute.partition.class_space import Columns, Prices
from veilroute.partition.crowded_space import CrowdedSpace, on_all_cores
from veilroute.partition.master import Bounding
from veilroute.partition.result import Grouping
from veilroute.partition.strolls import StrollProgramme

_SHARPNESS = ((2, 1.03, 6), (4, 1.015, 10), (5, 1.0075, 16), (6, 1.004, 16))
MAX_STROLLERS = 100  #: more members would take too much memory
MOST_STOPS = 24
_TURNS = 5
_ENOUGH = 2
_LEVELS_PER_LOOK = 16
_FACTOR = 2.0
_CLOSE = 0.002
_MAX_ROUNDS = 14
_FIRST_RISE = 0.04
_LEAST_RISE = 0.01
_PULL = 0.7
_FIRST_PULL = 0.5


def raise_by_crowd_strolls(bounding: Bounding, space: CrowdedSpace, best: Grouping) -> None:
    """Offer prices that hold for all classes because they hold for all strolls, and add classes that these come by."""
    rounds = _CloserRounds(space, bounding, best)
    try:
        rounds.run()
    finally:
        bounding.add(rounds.classes())


class CrowdStrolls:
    """Looks for strolls of negative value; the space must be prepared."""

    def __init__(self, space: CrowdedSpace, watch: Watch) -> None:
        self.space = space
        from_start, to_goal, between = space.prices_of.steps(watch)
        self._distances = from_start[0], to_goal[0], np.ascontiguousarray(between)
        self._weights: Floats = np.ascontiguousarray(space.weights[0])
        self._halt: Ints = np.zeros(1, dtype=np.int64)
        self._sharpness = 0
        self._set_sharpness()

    def sharpen(self) -> bool:
        """Look more closely; whether that is possible."""
        if self._sharpness + 1 == len(_SHARPNESS):
            return False
        self._sharpness += 1
        self._set_sharpness()
        return True

    def _set_sharpness(self) -> None:
        self._num_remembered, step, self._most_more = _SHARPNESS[self._sharpness]
        self._memory = self._make_memory(self._distances[2])
        space = self.space
        first = float(space.lowest[np.isfinite(space.lowest)].min())
        last = 2 * float(space.floors[np.isfinite(space.floors)].max())
        num = int(np.log(last / first) / np.log(step)) + 2 if first > 0 else 2
        self.levels: Floats = np.append(first * step ** np.arange(num + 1), np.inf)
        self.rates: Floats = np.full(self.levels.size, np.nan)

    def _make_memory(self, between: Floats) -> Memory:
        """At each member: itself first, then those near it, by distance, then others.

        What is remembered of each, whether it was met or counted, is a digit from 0 to 2.
        """
        num, num_kept = self.space.num, min(self._num_remembered, self.space.num)
        both, is_near = between + between.T, ~self.space.far
        nearest_first = np.where(is_near, -1.0 / (1.0 + both), both)
        np.fill_diagonal(nearest_first, -np.inf)
        kept = np.argsort(nearest_first, axis=1, kind="stable")[:, :num_kept]
        places = np.full((num, num), -1, dtype=np.int64)
        np.put_along_axis(places, kept, np.arange(num_kept)[None], axis=1)
        factors = 3 ** np.arange(num_kept)
        digits = np.arange(3**num_kept)[:, None] // factors % 3
        met, counted = np.full((2, num, num, 3**num_kept), -1, dtype=np.int32)
        for a in range(num):
            for b in range(num):
                if a == b:
                    continue
                at = places[a, kept[b]]
                is_common = at > -1
                after = digits[:, at[is_common]] @ factors[is_common]
                is_open = digits[:, places[a, b]] == 0 if places[a, b] >= 0 else np.ones(len(digits), dtype=np.bool_)
                is_apart = (digits[:, is_near[b, kept[a]]] != 2).all(axis=1)
                met[a, b] = np.where(is_open, after + 1, -1)
                counted[a, b] = np.where(is_open & is_apart, after + 2, -1)
        return Memory(met, counted, np.array([1, 2]))

    def run(self, duals: Floats, threshold: float, watch: Watch, enough: float) -> tuple[float, Columns]:
        """The least value at these prices, or the threshold, and strolls below it.

        Once one is below ``enough``, some will do: then nothing is known of the others, and the least is -infinity.
        """
        least, found = threshold, [Columns(np.empty((0, MOST_STOPS), dtype=np.int32), np.empty(0), np.empty(0))]
        for begin in range(0, self.levels.size - 1, _LEVELS_PER_LOOK):
            if least < enough and sum(map(len, found)) > _ENOUGH * self.space.num:
                least = -np.inf
                break
            levels = range(begin, min(begin + _LEVELS_PER_LOOK, self.levels.size - 1))
            seen = on_all_cores(lambda level: self._look(level, duals, threshold), levels, watch, self._halt)
            if self._halt[0]:
                raise OutOfTimeError
            for lowest, columns in seen:
                least = min(least, lowest)
                found.append(columns)
        return least, Columns.join(found, MOST_STOPS)

    def _look(self, level: int, duals: Floats, threshold: float) -> tuple[float, Columns]:
        """At one level of what classes cost."""
        space, k = self.space, self.space.k
        lower, upper = self.levels[level : level + 2].tolist()
        nothing = Columns(np.empty((0, MOST_STOPS), dtype=np.int32), np.empty(0), np.empty(0))
        is_in = space.lowest < upper
        members = np.flatnonzero(is_in)
        worth = lower * self._weights - space.fixed - duals
        if self._is_hopeless(members, worth, threshold):
            return threshold, nothing
        is_open = np.ascontiguousarray(space.floors < upper) & ~np.eye(space.num, dtype=np.bool_)
        least_weight = float(np.partition(self._weights[members], k - 1)[:k].sum())
        gains = np.sort(np.minimum(0.0, worth[members]))
        most = k + min(self._most_more, int((gains < 0).sum()), MOST_STOPS - k)
        # Of a class of more members, all but the best ones are worth no more than this.
        beyond = float(gains[most - k :].sum())
        num_masks = self._memory.met.shape[2]
        rest = np.empty((most + 1, k + 1, members.size))
        values = np.empty((most + 1, k + 1, members.size, num_masks))
        before = np.zeros(values.shape, dtype=np.int32)
        sets, figures = np.empty((members.size, MOST_STOPS), dtype=np.int32), np.empty(members.size)
        rate = self.rates[level] if np.isfinite(self.rates[level]) else 2 * k * float(self._weights[members].mean())
        width = upper - lower if np.isfinite(upper) else 0.0
        best, kept = -np.inf, nothing
        sides: list[tuple[float, float] | None] = [None, None]  # what strolls are worth at no rate, and their slope
        for _ in range(_TURNS if np.isfinite(upper) else 1):
            rate = rate if np.isfinite(upper) else least_weight
            offset = -rate * lower - max(0.0, rate - least_weight) * width
            value, num = stroll_crowd(
                members, k, most, rate, offset, worth, *self._distances, is_open, self._memory, threshold - beyond,
                self._halt, rest, values, before, sets, figures,
            )  # fmt: skip
            if not num:
                self.rates[level] = rate
                return threshold, nothing
            if value + beyond > best:
                best, self.rates[level] = value + beyond, rate
                rows = np.sort(np.where(sets[:num] < 0, np.iinfo(np.int32).max, sets[:num]), axis=1)
                rows = np.where(rows == np.iinfo(np.int32).max, -1, rows).astype(np.int32)
                paid = np.append(duals, 0.0)[rows].sum(axis=1)
                # No class adds less than nothing.
                kept = Columns(rows, np.maximum(0.0, figures[:num] + paid), figures[:num].copy())
                kept = kept.take(kept.reduced < threshold)
            # The bound is concave in the rate: steeper strolls on one side, flatter ones on the other.
            slope = self._length(sets[int(figures[:num].argmin())]) - (upper if rate > least_weight else lower)
            sides[slope < 0] = value - rate * slope, slope
            if sides[0] is None or sides[1] is None:
                rate = rate * _FACTOR if slope > 0 else rate / _FACTOR
            else:
                following = (sides[1][0] - sides[0][0]) / (sides[0][1] - sides[1][1])
                if not following > 0 or abs(following - rate) < 1e-3 * rate:
                    break
                rate = following
        return best, kept

    def _length(self, stops: Int32s) -> float:
        """How long a stroll is."""
        from_start, to_goal, between = self._distances
        stops = stops[stops >= 0]
        return float(from_start[stops[0]] + between[stops[:-1], stops[1:]].sum() + to_goal[stops[-1]])

    def _is_hopeless(self, members: Ints, worth: Floats, threshold: float) -> bool:
        """Whether no class of these members is worth so much, whatever the way."""
        space = self.space
        if members.size < space.k:
            return True
        cheapest = np.full(space.num_clusters, np.inf)
        np.minimum.at(cheapest, space.clusters[members], np.maximum(0.0, worth[members]))
        needed = np.sort(cheapest)[: space.k].sum()
        return bool(np.minimum(0.0, worth[members]).sum() + needed >= threshold)


class _CloserRounds(StrollProgramme):
    """Finds good prices by strolls that are looked for more and more closely."""

    space: CrowdedSpace

    def __init__(self, space: CrowdedSpace, bounding: Bounding, best: Grouping) -> None:
        super().__init__(space, 0, np.zeros((1, space.num)), bounding, best, MOST_STOPS)
        self.search = CrowdStrolls(space, bounding.watch)

    def run(self) -> None:
        """Until prices are close to the best there are.

        Far from prices that are right strolls are very many, so prices rise step by step from the best so far.
        """
        space, bounding, watch = self.space, self.bounding, self.watch
        rise, num_rounds = _FIRST_RISE, 0
        while True:
            watch.tell("bounds for large classes", len(self.master.sets))
            center = self.duals[0].copy()
            best = bounding.value_of(Prices(center), 0.0)
            prices = self.master.solve(watch)
            room = bounding.value_of(prices, 0.0) - best
            num_rounds += 1
            if room <= _CLOSE * best or num_rounds > _MAX_ROUNDS:
                if not self.search.sharpen():
                    return
                # Of the strolls so far classes stay, at their real price.
                classes = Columns.join([self.classes()], self.width)
                self.master.forbid(np.flatnonzero(self.master.sets[:, 1] >= 0))
                self.master.add_columns(classes.sets, classes.shares)
                self.known.clear()
                num_rounds = 0
                continue
            step = min(_PULL, rise * best / room) if best > 0 else _FIRST_PULL
            tried = center + step * ((prices.duals if best > 0 else self.first) - center)
            enough = -step * room * space.k / space.num
            least, columns = self.search.run(tried, -self.tolerance, watch, enough)
            is_better = self.offer(tried, least) > best
            if not self.add(columns) and not is_better:
                num_rounds = _MAX_ROUNDS
            rise = rise * 2 if not len(columns) else max(_LEAST_RISE, rise / 2) if not is_better else rise

    def classes(self) -> Columns:
        """The classes among the sets of members that strolls in the linear programme come by."""
        space, parts = self.space, []
        met = {as_members(set(row[row >= 0].tolist())) for row in self.master.sets}
        for _, alike in groupby(sorted(met, key=lambda members: (len(members), members)), key=len):
            sets = np.array(list(alike), dtype=np.int32)
            sets = sets[space.rule.qualify(sets)] if space.k <= sets.shape[1] <= space.width else sets[:0]
            shares = space.measure(sets, self.watch)[1] if len(sets) else np.empty(0)
            parts.append(Columns(sets, shares, np.zeros(shares.size)).take(np.isfinite(shares)))
        return Columns.join([part for part in parts if len(part)], space.width)
