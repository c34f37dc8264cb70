"""Which classes have to be looked at, and a search for those whose reduced cost is small."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from veilroute.arrays import Floats
from veilroute.auditing.apartness import members_of
from veilroute.auditing.beginnings import PrefixPrices
from veilroute.auditing.pricing import Effort, SetPrices, TooMuchError

_CLASS_STEP = 40
_MEMBER_STEP = 8
_APART_STEP = 2
_CUT_STEP = 0.25
"""What a class, holding one more member against it, asking who stands apart, and holding a group against a cut take,
measured in visits by breadth-first search."""

FEW_CUTS = 200
"""So many cuts are part of what a class takes; a file may hold a hundred thousand."""


class ClassSpace:
    """Classes that qualify and cannot be split into two that qualify: no others are needed.

    Take any partition. As long as one of its classes can be split into two disjoint classes that qualify, split it: the
    same candidates stay anonymized, and a part's walk costs no more than the walk for the whole, which covers it, so
    that every member pays at most what it paid. This ends, in classes that cannot be split. A bound on all partitions
    into such classes is therefore one on all partitions. The same holds for the number of anonymized candidates.

    A set that can be split makes all larger sets splittable, so a search that adds members one by one may stop there.
    Where all members of a class have to be far apart, or everybody is far from everybody, k to 2k - 1 members are left.

    Parameters
    ----------
    k
        How many members have to be far apart.
    far
        For each member a bit mask of those far from it.
    is_all_pairs
        Whether all members of a class have to be far apart.
    effort
        What may be spent on looking for members who stand apart; as much as it takes when left out.
    """

    def __init__(self, k: int, far: Sequence[int], *, is_all_pairs: bool, effort: Effort | None = None) -> None:
        self._effort = effort or Effort(math.inf)
        self.k = k
        self.num = len(far)
        self.far = far
        self.is_all_pairs = is_all_pairs
        self._is_all_far = all(others | 1 << i == (1 << self.num) - 1 for i, others in enumerate(far))

    @property
    def max_size(self) -> int:
        """No class has more members."""
        return min(self.num, 2 * self.k - 1) if self.is_all_pairs or self._is_all_far else self.num

    def may_join(self, group: int, member: int) -> bool:
        """Whether some class holds the group, which some class holds, and this member, as far as can be seen."""
        if self._is_all_far:
            return group.bit_count() < self.max_size
        if self.is_all_pairs:
            return group.bit_count() < self.max_size and not group & ~self.far[member]
        grown = group | 1 << member
        # The group itself cannot be split, so the new member is needed for it.
        return grown.bit_count() < 2 * self.k or not any(
            self._has_apart(grown & ~(apart | 1 << member), self.k)
            for apart in self._apart(group & self.far[member], self.k - 1)
        )

    def qualifies(self, group: int) -> bool:
        """Whether the group, which passed `may_join` member by member, has k members that are far enough apart."""
        if self._is_all_far or self.is_all_pairs:
            return group.bit_count() >= self.k
        return self._has_apart(group, self.k)

    def is_class(self, group: int) -> bool:
        """Whether any group qualifies, whatever can be split off it."""
        if self.is_all_pairs and any((group ^ 1 << i) & ~self.far[i] for i in members_of(group)):
            return False
        return self.qualifies(group)

    def _has_apart(self, pool: int, num: int) -> bool:
        return next(self._apart(pool, num), None) is not None

    def _apart(self, pool: int, num: int) -> Iterator[int]:
        """All sets of ``num`` members of the pool that are pairwise far apart."""
        if num == 0:
            yield 0
        while pool.bit_count() >= num > 0:
            self._effort.spend(_APART_STEP)
            low = pool & -pool
            pool ^= low
            for rest in self._apart(pool & self.far[low.bit_length() - 1], num - 1):
                yield low | rest


@dataclass(frozen=True)
class Tariff:
    """What decides the reduced cost of a class, apart from its walks.

    Parameters
    ----------
    weights
        By trip and member, what each unit of the walk's cost adds.
    gains
        What each member takes off.
    cuts
        Bit masks and prices: every full pair of the class's members inside the mask adds the price.
    """

    weights: Sequence[Sequence[float]]
    gains: Sequence[float]
    cuts: Sequence[tuple[int, float]]

    @property
    def effort(self) -> float:
        """What asking for the surcharge takes, where there are more than a few cuts."""
        return _CUT_STEP * max(0, len(self.cuts) - FEW_CUTS)

    def surcharge(self, group: int) -> float:
        """What the cuts add."""
        return math.fsum(price * ((group & inside).bit_count() >> 1) for inside, price in self.cuts)

    def reduced_cost(self, group: int, costs: Sequence[float]) -> float:
        """The reduced cost of a class whose walks have these costs."""
        parts = [-self.gains[i] for i in members_of(group)]
        for cost, weights in zip(costs, self.weights, strict=True):
            parts += [cost * weights[i] for i in members_of(group)]
        return math.fsum(parts) + self.surcharge(group)


class ClassSearch:
    """Lists every class of the space whose reduced cost is at most a limit.

    Depth first, adding members in the order given. A walk covering more costs no less, so for a group P and those after
    it a lower bound on what any class that extends P can reach follows from c(P) and the costs of pairs: each further
    member x adds at least ``low(x) * weight(x) - gain(x)``, where ``low(x)`` is the largest known cost of a part of
    P + x. That order is best in which the dearest members come first: c(P) is then high from the start.

    Parameters
    ----------
    space
        The classes.
    prices
        Their walks.
    tariff
        Their reduced costs.
    limit
        How much they may be.
    effort
        What may be spent.
    """

    def __init__(self, space: ClassSpace, prices: SetPrices, tariff: Tariff, limit: float, effort: Effort) -> None:
        self.found: dict[int, float] = {}
        self.num_priced = 0
        self.is_complete = False
        self._space = space
        self._prices = prices
        self._tariff = tariff
        self._limit = limit
        self._effort = effort

    def run(self) -> ClassSearch:
        """Fill ``found``, reduced costs by bit mask; ``is_complete`` says whether the effort sufficed."""
        try:
            alone = [self._prices.costs(1 << i) for i in range(self._space.num)]
            lows = [[costs[trip] for costs in alone] for trip in range(len(self._tariff.weights))]
            self._extend(0, 0, 0.0, [0.0] * len(lows), lows)
        except TooMuchError:
            return self
        self.is_complete = True
        return self

    def _extend(self, group: int, first: int, spent: float, weight: list[float], lows: list[list[float]]) -> None:
        """Add each member from ``first`` on that may lead to a class within the limit.

        ``spent`` is minus the gains of the group, ``weight`` its weight on each trip.
        """
        tariff, space = self._tariff, self._space
        size = group.bit_count()
        needed, room = space.k - size - 1, space.max_size - size - 1
        self._effort.spend(_MEMBER_STEP * (space.num - first) * len(lows))
        adding: list[float] = []  # what members after the one looked at add at least, ascending
        for x in range(space.num - 1, first - 1, -1):
            own = spent - tariff.gains[x]
            alone = -tariff.gains[x]
            for low, heavy, weights in zip(lows, weight, tariff.weights, strict=True):
                # In the prices of numbers alone a walk has no weight, yet has to be there.
                own += low[x] * (heavy + weights[x]) if low[x] < math.inf else math.inf
                alone += low[x] * weights[x] if low[x] < math.inf else math.inf
            if alone == math.inf:
                continue
            if len(adding) >= needed:
                ahead = sum(adding[: max(0, needed)])
                ahead += sum(part for part in adding[max(0, needed) : room] if part < 0)
                grown = group | 1 << x
                # What cuts add is asked last: there may be many of them.
                if own + ahead <= self._limit:
                    self._effort.spend(tariff.effort)
                    if own + ahead + tariff.surcharge(grown) <= self._limit and space.may_join(group, x):
                        self._visit(grown, x, spent - tariff.gains[x], weight, lows)
            insort(adding, alone)

    def _visit(self, group: int, newest: int, spent: float, weight: list[float], lows: list[list[float]]) -> None:
        tariff, space = self._tariff, self._space
        self._effort.spend(_CLASS_STEP + tariff.effort)
        costs = self._prices.costs(group)
        self.num_priced += 1
        if math.inf in costs:
            return
        size = group.bit_count()
        if size >= space.k and space.qualifies(group):
            reduced = tariff.reduced_cost(group, costs)
            if reduced <= self._limit:
                self.found[group] = reduced
        if size == space.max_size:
            return
        heavier = [heavy + weights[newest] for heavy, weights in zip(weight, tariff.weights, strict=True)]
        pairs = [self._prices.costs(1 << newest | 1 << x) for x in range(newest + 1, space.num)]
        skipped = [math.inf] * (newest + 1)
        raised = [
            skipped + [max(cost, old, pair[trip]) for old, pair in zip(low[newest + 1 :], pairs, strict=True)]
            for trip, (cost, low) in enumerate(zip(costs, lows, strict=True))
        ]
        self._extend(group, newest + 1, spent, heavier, raised)


class PrefixSearch:
    """The same where only the first m nodes are shared, and the walks of a class have no common cost.

    What a class adds is the sum of what its members pay for one beginning, so a part of it, which may choose a
    beginning of its own, adds no more than the same members do in the whole. So a class adds at least what a part and
    its other members add by themselves; and as each member is in ``size - 1`` pairs, at least what all pairs
    add, divided by ``size - 1``.

    Parameters
    ----------
    space
        The classes.
    prices
        What they add.
    tariff
        What each member takes off and cuts add; weights play no part.
    limit
        How much the reduced cost may be.
    effort
        What may be spent.
    is_free
        Whether only who can be grouped matters, and beginnings add nothing.
    """

    def __init__(
        self, space: ClassSpace, prices: PrefixPrices, tariff: Tariff, limit: float, effort: Effort, *, is_free: bool
    ) -> None:
        self.found: dict[int, float] = {}
        self.num_priced = 0
        self.is_complete = False
        self._space = space
        self._prices = prices
        self._tariff = tariff
        self._gains = np.array(tariff.gains, dtype=np.float64)
        self._limit = limit
        self._effort = effort
        self._is_free = is_free
        self._alone: Floats = np.zeros(space.num)
        self._pairs: Floats = np.zeros((space.num, space.num))

    def run(self) -> PrefixSearch:
        """Fill ``found``, reduced costs by bit mask; ``is_complete`` says whether the effort sufficed."""
        num = self._space.num
        try:
            for i in range(num):
                self._alone[i] = self._share(1 << i)
            for i in range(num if self._space.max_size > 1 else 0):
                for j in range(i + 1, num):
                    self._pairs[i, j] = self._pairs[j, i] = self._share(1 << i | 1 << j)
            self._extend(0, 0, 0.0, 0.0, np.zeros(num))
        except TooMuchError:
            return self
        self.is_complete = True
        return self

    def _share(self, group: int) -> float:
        self._effort.spend(1)
        share = self._prices.share(group)
        return 0.0 if self._is_free and share < math.inf else share

    def _extend(self, group: int, first: int, share: float, inner: float, joining: Floats) -> None:
        """Add each member from ``first`` on that may lead to a class within the limit.

        ``share`` is what the group adds, ``inner`` what its pairs add, ``joining`` what the pairs with each other
        member do.
        """
        space = self._space
        size = group.bit_count() + 1
        for x in range(first, space.num):
            grown, pairs = group | 1 << x, inner + joining[x]
            ahead = joining + self._pairs[x]
            floor = max(share + self._alone[x], pairs / max(1, size - 1))
            if not space.may_join(group, x) or self._least(grown, x + 1, floor, pairs, ahead) > self._limit:
                continue
            self._effort.spend(_CLASS_STEP + self._tariff.effort)
            own = self._share(grown)
            self.num_priced += 1
            if own == math.inf:
                continue
            if size >= space.k and space.qualifies(grown):
                gains = math.fsum(self._tariff.gains[i] for i in members_of(grown))
                reduced = own - gains + self._tariff.surcharge(grown)
                if reduced <= self._limit:
                    self.found[grown] = reduced
            if size < space.max_size and self._least(grown, x + 1, own, pairs, ahead) <= self._limit:
                self._extend(grown, x + 1, own, pairs, ahead)

    def _least(self, group: int, first: int, share: float, inner: float, joining: Floats) -> float:
        """A bound on the reduced cost of the group, which adds at least ``share``, and of all that extend it."""
        size, space = group.bit_count(), self._space
        sizes = range(max(size, space.k), min(space.max_size, size + space.num - first) + 1)
        self._effort.spend(len(sizes) * (_CLASS_STEP + space.num) + self._tariff.effort)
        gains = self._gains[first:]
        alone = np.sort(self._alone[first:] - gains)
        least = math.inf
        for total in sizes:
            num = total - size
            by_parts = share + float(alone[:num].sum())
            by_pairs = -math.inf
            if total > 1:
                joined = np.sort(joining[first:] / (total - 1) - gains)
                by_pairs = inner / (total - 1) + float(joined[:num].sum())
            least = min(least, max(by_parts, by_pairs))
        spent = math.fsum(self._tariff.gains[i] for i in members_of(group))
        return least - spent + self._tariff.surcharge(group)
