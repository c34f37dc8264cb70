"""A bound for large classes: the linear programme over strolls (:mod:`veilroute.kernels.strolls`).

Classes of many members cannot be priced one by one. But prices need not be held against each: it is enough that they
hold for strolls past k members, which are more than the classes of k, and cheap to search. The proof, level by level of
what a class may cost: docs/theory, :ref:`Strolls <theory-strolls>`.

Strolls of negative value are added to the linear programme, which finds better prices, and so on. Prices are taken
halfway between those of the programme and the best so far: far fewer rounds than at the programme's own. With several
trips each has its own prices, and a class costs at least the sum of what it does on each.
"""

import math

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Members, as_members
from veilroute.base.run import Watch
from veilroute.kernels.strolls import find_strolls
from veilroute.partition.class_space import ClassSpace, Columns, Prices
from veilroute.partition.limits import limits
from veilroute.partition.local_search import improve
from veilroute.partition.master import Bounding, Master
from veilroute.partition.result import Grouping, Record

_NUM_NEAR = 8
_STEP = 1.04
_MOST_LEVELS = 200
_MAX_ROUNDS = 200
_CLOSE = 0.002
_PER_MEMBER = 8
_HIGHEST = 3.0
_ROUNDS_PER_CLASS = 6
_ALONE = 10.0


def raise_by_strolls(bounding: Bounding, record: Record) -> None:
    """Offer prices that hold for all classes because they hold for all strolls; for whole walks only.

    Unless the rule is loose, the linear programme gets the classes of k members that strolls pass. Where every set of k
    that stand apart is a class, and on one trip, a partition made of them is where another local search begins.
    """
    space, watch = bounding.space, bounding.watch
    steps = space.prices_of.steps(watch)
    duals = np.zeros((space.task.num_trips, space.num))
    for trip in range(space.task.num_trips):
        search = StrollSearch(space, trip, steps[0][trip], steps[1][trip], steps[2])
        rounds = _Rounds(search, duals, bounding, record.best)
        rounds.run()
        if space.is_loose:
            continue
        sets = rounds.passed()
        sets = sets[space.rule.qualify(sets)]
        shares = space.measure(sets, watch)[1]
        columns = Columns(sets, shares, np.zeros(shares.size)).take(np.isfinite(shares))
        bounding.add(Columns.join([columns], space.width))
        if space.is_known and space.task.num_trips == 1:
            effort = limits().effort * space.num
            record.offer(improve(space, space.price(rounds.dive()), seed=0, effort=effort, watch=watch))


class StrollSearch:
    """Looks for strolls of negative value on one trip, at what walks go at least; the space must be prepared."""

    def __init__(self, space: ClassSpace, trip: int, from_start: Floats, to_goal: Floats, between: Floats) -> None:
        self.space, self.trip = space, trip
        self._distances = from_start, to_goal, np.ascontiguousarray(between)
        self._weights: Floats = space.weights[trip]
        self._fixed: Floats = self._weights * space.base_costs[trip]
        self._pairs: Floats = np.where(space.compatible, space.pair_costs[trip], np.inf)
        there_and_back = np.where(space.compatible, between + between.T, np.inf)
        np.fill_diagonal(there_and_back, np.inf)
        self._near = np.argsort(there_and_back, axis=1, kind="stable")[:, : min(_NUM_NEAR, space.num - 1)]
        self._places = np.full((space.num, space.num), -1, dtype=np.int8)
        np.put_along_axis(self._places, self._near, np.arange(self._near.shape[1], dtype=np.int8)[None], axis=1)
        self.levels = self._find_levels()

    def _find_levels(self) -> Floats:
        """Costs such that every class costs one of them or lies between two; the last one is infinite."""
        least = float(np.partition(self._pairs, self.space.k - 2, axis=1)[:, self.space.k - 2].min())
        costs = self._pairs[np.isfinite(self._pairs) & (self._pairs > 0)]
        if not np.isfinite(least) or costs.size == 0:
            return np.array([0.0, np.inf])
        first = max(least, float(costs.min()))
        num = int(np.log(2 * costs.max() / first) / np.log(_STEP)) + 2
        step = max(_STEP, (2 * costs.max() / first) ** (1 / _MOST_LEVELS))
        levels = first * step ** np.arange(min(num, _MOST_LEVELS) + 1)
        return np.concatenate(([] if least == first else [least], levels, [np.inf]))

    def run(self, duals: Floats, threshold: float, watch: Watch, is_in: Flags | None = None) -> tuple[float, Columns]:
        """The least value at these prices, or the threshold, and strolls below it; of those who are in, or of all."""
        k, least = self.space.k, threshold
        found = [Columns(np.empty((0, k), dtype=np.int32), np.empty(0), np.empty(0))]
        sets, values = np.empty((self.space.num, k), dtype=np.int32), np.empty(self.space.num)
        for lower, upper in zip(self.levels[:-1].tolist(), self.levels[1:].tolist(), strict=True):
            watch.check()
            is_open = self._pairs < upper
            is_near = (self.space.base_costs[self.trip] < upper) & (is_open.sum(axis=1) >= k - 1)
            members = np.flatnonzero(is_near if is_in is None else is_near & is_in)
            worth = lower * self._weights - self._fixed - duals
            if members.size < k or np.partition(worth[members], k - 1)[:k].sum() >= threshold:
                continue
            rate = k * float(self._weights[members].min())
            value, num = find_strolls(
                members, k, rate, -rate * lower, worth, *self._distances, is_open, self._near, self._places,
                threshold, sets, values,
            )  # fmt: skip
            least = min(least, value)
            mine = np.sort(sets[:num], axis=1)
            found.append(Columns(mine, values[:num] + duals[mine].sum(axis=1), values[:num].copy()))
        return least, Columns.join(found, k)


class StrollProgramme:
    """The linear programme over strolls of one trip, whose prices stand in their row of ``duals``.

    The sum of all rows is offered whenever it is better. Strolls have at most ``width`` stops.
    """

    def __init__(
        self, space: ClassSpace, trip: int, duals: Floats, bounding: Bounding, best: Grouping, width: int
    ) -> None:
        self.space, self.trip, self.duals, self.bounding, self.watch = space, trip, duals, bounding, bounding.watch
        self.tolerance = 1e-8 / bounding.scale
        self.width = max(width, space.width)
        self.master = Master(space.num, bounding.num_left_out, bounding.scale, is_covering=True)
        self.first = np.zeros(space.num)
        shares = {members: self._share_of(members) for members in sorted(best.classes, key=len)}
        for members, share in shares.items():
            self.first[list(members)] = share / len(members)
        mine = Columns.join([space.columns_of(Grouping.of(space.worth, shares))], self.width)
        self.master.add_columns(mine.sets, mine.shares)
        # Until there are enough strolls, nobody is worth more than some of these.
        highest = _HIGHEST * max(float(self.first.max(initial=0.0)), self.tolerance)
        self.alone = np.full((space.num, self.width), -1, dtype=np.int32)
        self.alone[:, 0] = np.arange(space.num)
        self.master.add_columns(self.alone, np.full(space.num, highest))
        self.known: set[tuple[bytes, int]] = set()

    def _share_of(self, members: Members) -> float:
        """What a class adds on this trip."""
        inside, weights = list(members), self.space.weights[self.trip]
        cost = self.space.prices_of.costs(np.array([members], dtype=np.int32), Watch())[0, self.trip]
        fixed = weights[inside] * self.space.base_costs[self.trip][inside]
        return float(cost * weights[inside].sum() - fixed.sum())

    def offer(self, tried: Floats, least: float) -> float:
        """Lower prices until no stroll is worth less than nothing, and offer them; returns what they prove."""
        lowered = tried + (least - self.tolerance) / self.space.k
        value = self.bounding.value_of(Prices(lowered), 0.0)
        if value > self.bounding.value_of(Prices(self.duals[self.trip]), 0.0):
            self.duals[self.trip] = lowered
            self.bounding.offer(Prices(self.duals.sum(axis=0)), 0.0)
        return value

    def add(self, columns: Columns) -> int:
        """Add the best of the strolls that are new; returns how many."""
        is_new = np.zeros(len(columns), dtype=np.bool_)
        for at, (row, share) in enumerate(zip(columns.sets, columns.shares.tolist(), strict=True)):
            key = row.tobytes(), round(share / self.tolerance)
            is_new[at] = key not in self.known
            self.known.add(key)
        columns = columns.take(is_new).best(self.space.num, _PER_MEMBER)
        if len(columns):
            wide = Columns.join([columns], self.width)
            self.master.add_columns(wide.sets, wide.shares)
        return len(columns)


class _Rounds(StrollProgramme):
    """Finds good prices for one trip."""

    def __init__(self, search: StrollSearch, duals: Floats, bounding: Bounding, best: Grouping) -> None:
        super().__init__(search.space, search.trip, duals, bounding, best, 0)
        self.search = search

    def run(self) -> None:
        """Until prices are close to the best there are."""
        space, bounding, watch = self.search.space, self.bounding, self.watch
        center = np.zeros(space.num)
        best_value, step = 0.0, 0.5
        for number in range(_MAX_ROUNDS):
            now = self.first
            if number:
                prices = self.master.solve(watch)
                if bounding.value_of(prices, 0.0) - best_value <= _CLOSE * best_value:
                    return
                now = prices.duals
            tried = center + step * (now - center)
            watch.tell("bounds for large classes", len(self.master.sets))
            least, columns = self.search.run(tried, -self.tolerance, watch)
            value = self.offer(tried, least)
            if value > best_value:
                center, best_value = self.duals[self.search.trip].copy(), value
            is_new = self.add(columns) > 0
            if not is_new and step == 1.0:
                return
            step = 0.5 if is_new else 1.0

    def dive(self) -> list[Members]:
        """Disjoint classes: the set that the programme takes most of, then the same for the rest, and so on."""
        space = self.search.space
        # Whoever is alone pays so much that nobody stays it.
        self.master.add_columns(self.alone, np.full(space.num, _ALONE * float(self.master.shares.max())))
        self.master.forbid(np.flatnonzero(self.master.sets[: -space.num, 1] < 0))
        is_left = np.ones(space.num, dtype=np.bool_)
        classes: list[Members] = []
        while True:
            self.watch.tell("classes one after the other", len(classes), space.num // space.k)
            for _ in range(_ROUNDS_PER_CLASS):
                prices = self.master.solve(self.watch)
                if not self.add(self.search.run(prices.duals, -self.tolerance, self.watch, is_left)[1]):
                    break
            self.master.solve(self.watch)
            sets = self.master.sets[:, : space.k]
            is_set = (sets[:, 0] >= 0) & (np.diff(sets, axis=1) > 0).all(axis=1) & is_left[sets].all(axis=1)
            # One member after the other stands apart from the next; a class needs more than that.
            is_set[is_set] = space.rule.qualify(sets[is_set])
            values = np.where(is_set, self.master.values, 0.0)
            best = int(values.argmax())
            if not values[best] > 0:
                break
            classes.append(tuple(sets[best].tolist()))
            is_left[sets[best]] = False
            # Whoever is in a class is in no other, and covered for nothing.
            is_gone = np.append(~is_left, False)[self.master.sets].any(axis=1)
            self.master.forbid(np.flatnonzero(is_gone & (self.master.sets[:, 1] >= 0)))
            self.master.add_columns(self.alone[sets[best]], np.zeros(space.k))
        rest = as_members(np.flatnonzero(is_left).tolist())
        among = space.compatible[np.ix_(rest, rest)]
        if space.k <= len(rest) <= space.max_size and int(among.sum()) == len(rest) * (len(rest) - 1):
            return [*classes, rest]
        return _join_rest(space, classes, rest, self.watch)

    def passed(self) -> Int32s:
        """The sets of k members that strolls in the linear programme pass, the cheaper ones through each member."""
        space, sets = self.search.space, self.master.sets[:, : self.search.space.k]
        is_set = (sets[:, 0] >= 0) & (np.diff(sets, axis=1) > 0).all(axis=1)
        sets, shares = sets[is_set], self.master.shares[is_set]
        reduced = shares - self.duals[self.search.trip][sets].sum(axis=1)
        return Columns(sets, shares, reduced).best(space.num, _PER_MEMBER).sets


def _join_rest(space: ClassSpace, classes: list[Members], rest: Members, watch: Watch) -> list[Members]:
    """Put each of the rest into the class that it adds least to, if there is one."""

    def share(members: Members) -> float:
        return float(space.measure(np.array([members], dtype=np.int32), Watch())[1][0])

    classes = list(classes)
    for member in rest:
        if watch.is_over():
            break
        added = {
            at: share((*members, member)) - share(members)
            for at, members in enumerate(classes)
            if len(members) < space.max_size and space.compatible[member, list(members)].all()
        }
        best = min(added, key=added.__getitem__, default=-1)
        if best >= 0 and added[best] < math.inf:
            classes[best] = as_members((*classes[best], member))
    return classes
