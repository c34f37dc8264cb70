"""Column generation: optimal partitions of hundreds of members, or a proved bound (theory, section 3).

1. A local search gives the first partition.
2. The linear programme over classes is solved with the classes found so far; its prices tell which others would lower
   it (:meth:`ClassSpace.search`), until none does. Its value is then a bound.
3. Subset-row cuts raise the bound, and the search for classes takes their prices into account.
4. A partition costs at least the bound plus the reduced costs of its classes. So a class whose reduced cost exceeds
   what lies between bound and best partition is in no better one, and the few others are all found at these prices.
5. An integer programme over them settles the matter.

The bound is never taken from the solver of the linear programme: it is worked out from the prices, and less whatever
negative reduced cost the search has met.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from veilroute.kernels.extension import pick_columns
from veilroute.kernels.sweep import Floats
from veilroute.kernels.tours import Sets
from veilroute.partition.class_space import ClassSpace, Columns, Prices
from veilroute.partition.cuts import separate
from veilroute.partition.local_search import Grouping
from veilroute.partition.master import Chosen, Master, choose_classes, scale_of
from veilroute.progress import Incumbent, Watch

MAX_COLUMNS = 60_000
"""The most classes that the integer programme is given."""

CLOSED = 1e-9
"""Relative distance at which a bound counts as reached."""

_FIRST_COLUMNS = 20
_FIRST_NODES = 500
_PER_MEMBER = 3
_MOST_PER_SEARCH = 20
_MAX_ROUNDS = 60
_MAX_IDLE_ROUNDS = 4
_LEAST_GAIN = 0.002
_SLACK = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class Proof:
    """A bound on what partitions that leave so many members out cost, and what it rests on.

    Parameters
    ----------
    bound
        The MAC sum that none undercuts.
    prices
        At which no class has a negative reduced cost.
    price_bound
        What the prices alone prove.
    threshold, num_enumerated
        All classes whose reduced cost is at most the threshold were compared, and how many these are.
    num_columns
        Classes in the linear programme.
    num_nodes
        Nodes of the integer programme's search.
    """

    bound: float
    prices: Prices
    price_bound: float
    threshold: float = 0.0
    num_enumerated: int = 0
    num_columns: int = 0
    num_nodes: int = 0


@dataclass(eq=False)
class Record:
    """The best partition so far, and each that was better than all before it.

    Parameters
    ----------
    best
        The best one.
    watch
        Who is told.
    """

    best: Grouping
    watch: Watch
    improvements: list[Incumbent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tell()

    def offer(self, other: Grouping) -> bool:
        """Keep a partition that groups more members, or as many for less; whether it was kept."""
        if not other.classes or (other.num_grouped, -other.total) <= (self.best.num_grouped, -self.best.total):
            return False
        self.best = other
        self._tell()
        return True

    def _tell(self) -> None:
        if self.best.classes:
            mac = self.best.total / self.best.num_grouped
            self.improvements.append(self.watch.tell_improvement("partition", self.best.num_grouped, mac))


@dataclass(eq=False)
class Bounding:
    """Raises the bound of one question (the least cost, or the fewest left out) as far as prices can.

    Parameters
    ----------
    space
        The classes.
    num_left_out
        How many members stay out; ``None`` when their number is the question, and walks are free.
    watch
        Stop conditions and reports.
    """

    space: ClassSpace
    num_left_out: int | None
    watch: Watch
    scale: float = 1.0
    bound: float = 0.0
    prices: Prices = field(default_factory=lambda: Prices(np.empty(0)))
    is_converged: bool = False

    def __post_init__(self) -> None:
        self.master = Master(self.space.num, self.num_left_out, self.scale)
        self.prices = Prices(np.zeros(self.space.num))
        self._known: set[bytes] = set()
        self._tolerance = 1e-8 / self.scale

    @property
    def is_free(self) -> bool:
        """Whether only who can be grouped matters."""
        return self.num_left_out is None

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
        return total - prices.paid_for_cuts + num_classes * min(0.0, least_reduced)

    def offer(self, prices: Prices, least_reduced: float) -> None:
        """Keep prices whose bound is better than the best so far."""
        value = self.value_of(prices, least_reduced)
        if value > self.bound:
            self.bound, self.prices = value, prices
            num_grouped = self.space.num - (self.num_left_out or 0)
            if self.num_left_out is not None and num_grouped:
                self.watch.tell_bound("bounds", self.bound / num_grouped)

    def run(self, target: float) -> None:
        """Solve the linear programme and add cuts until that stops to help or the bound reaches ``target``."""
        idle = 0
        for _ in range(_MAX_ROUNDS):
            before = self.bound
            if not self._converge():
                return
            self.is_converged = True
            if target - self.bound <= CLOSED * abs(target):
                return
            gain = self.bound - before
            idle = idle + 1 if gain < _LEAST_GAIN * (target - self.bound) else 0
            if idle >= _MAX_IDLE_ROUNDS:
                return
            num = self.space.num
            cuts = separate(num, self.master.sets, self.master.values, self.master.cuts, max(30, num // 2))
            if not cuts:
                return
            self.master.add_cuts(cuts)

    def _converge(self) -> bool:
        """Add classes until none with a negative reduced cost is missing; false when the time is over."""
        while True:
            prices = self.master.solve(self.watch)
            if prices is None:
                return False
            self.watch.tell("bounds", len(self.master.sets))
            most = None if self.space.max_size <= 3 else _MOST_PER_SEARCH * self.space.num
            found = self.space.search(prices, -self._tolerance, self.watch, most=most, is_free=self.is_free)
            if self.watch.is_over():
                return False
            if found.is_complete:
                least = min(float(found.columns.reduced.min(initial=0.0)), found.least_beyond, 0.0)
                self.offer(prices, least - self._tolerance)
            order = np.argsort(found.columns.reduced, kind="stable")
            picked = pick_columns(order, found.columns.sets, self.space.num, _PER_MEMBER)
            # What the programme holds already has a negative reduced cost only within its tolerance.
            if not self.add(found.columns.take(picked)) and (found.is_complete or not len(found.columns)):
                return True


def simple_prices(space: ClassSpace) -> Prices:
    """Prices that need no programme: each member pays for the k - 1 partners that are cheapest for it.

    A class with t costs at least as much as t and its (k - 1)-th cheapest partner, on every trip.
    """
    if space.k == 1 or space.num < space.k:
        return Prices(np.zeros(space.num))
    if space.beginnings is not None:
        # A class of z members adds at least what its pairs do, each divided by z - 1.
        duals = np.where(space.compatible, space.pair_shares, np.inf).min(axis=1) / 2
    else:
        costs = np.where(space.compatible[None], space.pair_costs, np.inf)
        least = np.partition(costs, space.k - 2, axis=2)[:, :, space.k - 2]
        duals = (space.weights * least).sum(axis=0) - space.fixed
    is_possible = np.isfinite(duals)
    highest = float(duals[is_possible].max(initial=0.0))
    return Prices(np.where(is_possible, duals, highest))


def prove_cost(space: ClassSpace, record: Record, watch: Watch) -> Proof:
    """Look for the best partition that leaves as many members out as the best so far, and prove what can be proved."""
    num_left_out = len(record.best.left_out)
    total = record.best.total
    if total <= 0:
        return Proof(total, Prices(np.zeros(space.num)), total)
    bounding = Bounding(space, num_left_out, watch, scale_of(total, space.num - num_left_out))
    simple = simple_prices(space)
    bounding.offer(simple, 0.0)
    bounding.add(columns_of(space, record.best))
    start = space.search(Prices(1.5 * simple.duals), 0.0, watch, most=_MOST_PER_SEARCH * space.num * space.k)
    order = np.argsort(start.columns.reduced, kind="stable")
    bounding.add(start.columns.take(pick_columns(order, start.columns.sets, space.num, 3 * _PER_MEMBER)))
    bounding.run(total)
    _round(space, bounding, record)
    return _settle(space, bounding, record, watch)


def columns_of(space: ClassSpace, grouping: Grouping) -> Columns:
    """The classes of a partition."""
    sets = np.full((len(grouping.classes), space.max_size), -1, dtype=np.int32)
    for row, members in enumerate(grouping.classes):
        sets[row, : len(members)] = sorted(members)
    shares = np.array(grouping.shares)
    return Columns(sets, shares, np.zeros(len(shares)))


def _round(space: ClassSpace, bounding: Bounding, record: Record) -> None:
    """Offer the linear programme's solution where it is a partition."""
    values = bounding.master.values
    if values.size and np.abs(values - np.round(values)).max() < 1e-6:
        chosen = np.flatnonzero(values > 0.5)
        record.offer(grouping_of(space, bounding.master.sets, bounding.master.shares, chosen))


def grouping_of(space: ClassSpace, sets: Sets, shares: Floats, chosen: npt.NDArray[np.int64]) -> Grouping:
    """The partition that some of the classes make."""
    classes = [tuple(row[row >= 0].tolist()) for row in sets[chosen]]
    inside = {i for members in classes for i in members}
    left_out = tuple(i for i in range(space.num) if i not in inside)
    order = sorted(range(len(classes)), key=lambda at: classes[at])
    return Grouping(tuple(classes[at] for at in order), tuple(float(shares[chosen[at]]) for at in order), left_out)


def _settle(space: ClassSpace, bounding: Bounding, record: Record, watch: Watch) -> Proof:
    """Compare all partitions of the classes that are within reach of the bound.

    A few classes first, where there are many: a better partition leaves fewer within reach.
    """
    bound, prices = bounding.bound, bounding.prices
    proof = Proof(bound, prices, bound, num_columns=len(bounding.master.sets))
    if not bounding.is_converged or record.best.total - bound <= CLOSED * record.best.total:
        return proof
    most, num_nodes = _FIRST_COLUMNS * space.num, 0
    while True:
        gap = (record.best.total - bound) * _SLACK
        columns, reach = _within_reach(space, prices, gap, min(most, MAX_COLUMNS), watch)
        if watch.is_over():
            return proof
        is_last = reach >= gap or most >= MAX_COLUMNS
        max_nodes = None if is_last else _FIRST_NODES
        chosen = _choose(space, bounding, columns, record, watch, max_nodes=max_nodes)
        num_nodes += chosen.num_nodes
        if is_last or (chosen.is_proved and reach >= record.best.total - bound):
            break
        most *= 8
    least = record.best.total if chosen.is_proved else min(record.best.total, chosen.bound)
    return replace(
        proof,
        bound=max(bound, min(bound + reach, least)),
        threshold=reach,
        num_enumerated=len(columns) if reach > 0 else 0,
        num_nodes=num_nodes,
    )


def _within_reach(space: ClassSpace, prices: Prices, gap: float, most: int, watch: Watch) -> tuple[Columns, float]:
    """The classes whose reduced cost is at most ``gap``, or less where these are too many; and how far they go.

    When even those at no reduced cost are too many: some of them, which go nowhere.
    """
    reach = gap
    while True:
        watch.tell("classes within reach")
        found = space.search(prices, reach, watch, most=most)
        if found.is_complete or reach == 0 or watch.is_over():
            break
        reach = reach / 4 if reach > 1e-4 * gap else 0.0
    if not found.is_complete:
        return found.columns.take(np.arange(min(most, len(found.columns)))), 0.0
    # Of a class that is too large to be looked at nothing is known but this.
    return found.columns, min(reach, max(0.0, found.least_beyond))


def _choose(
    space: ClassSpace,
    bounding: Bounding,
    columns: Columns,
    record: Record,
    watch: Watch,
    *,
    max_nodes: int | None = None,
) -> Chosen:
    """The integer programme over some classes, which starts from the best partition."""
    mine = columns_of(space, record.best)
    known = {row.tobytes(): at for at, row in enumerate(columns.sets)}
    is_missing = np.array([row.tobytes() not in known for row in mine.sets], dtype=np.bool_)
    for at, row in enumerate(mine.sets[is_missing], len(columns)):
        known[row.tobytes()] = at
    columns = Columns.join((columns, mine.take(is_missing)), space.max_size)
    start = np.array([known[row.tobytes()] for row in mine.sets], dtype=np.int64)
    watch.tell(f"choice among {len(columns)} classes")
    chosen = choose_classes(
        space.num, len(record.best.left_out), columns.sets, columns.shares, bounding.master.cuts, bounding.scale, watch,
        start=start, max_nodes=max_nodes,
    )  # fmt: skip
    record.offer(grouping_of(space, columns.sets, columns.shares, chosen.columns))
    return chosen
