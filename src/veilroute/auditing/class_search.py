"""Above a dozen candidates: searches for classes whose reduced cost is small, and who could be anonymized at all."""

import math
import operator
from bisect import insort
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from typing import Self

import numpy as np

from veilroute.auditing.apartness import ClassRule, mask_of, members_of
from veilroute.auditing.pricing import PrefixPrices, SetPrices
from veilroute.auditing.replay import ReplayedPlaybook
from veilroute.auditing.walking import Effort, TooMuchError
from veilroute.base.arrays import Floats
from veilroute.model.problem import ROUNDING

_CLASS_STEP = 40
_MEMBER_STEP = 8
_CUT_STEP = 0.25
_MASS_STEP = 0.5
"""What a class, holding one more member against it, holding a group against a cut, and adding a mass take, measured in
visits by breadth-first search."""

FEW_CUTS = 200  #: so many cuts are part of what a class takes; a file may hold a hundred thousand
MAX_MEMBERS = 200  #: more coverable candidates than this are not even tried; up to there the effort decides
_COUNT_EFFORT = 8_000_000  #: what may be spent on counting who could be anonymized

Cuts = Sequence[tuple[int, float]]
"""Bit masks with prices: every full pair of a class's members inside the mask adds the price to its reduced cost."""


@dataclass(eq=False)
class Search:
    """Lists every class that cannot be split whose reduced cost is at most a limit, depth first."""

    rule: ClassRule
    prices: SetPrices | PrefixPrices
    gains: Sequence[float]  # what each member takes off the reduced cost
    cuts: Cuts
    limit: float
    effort: Effort
    is_free: bool  # only who can be grouped matters, and sharing adds nothing
    rest: float  # how much the member counts that adds most, where all others count once: in mixtures only
    found: dict[int, float] = field(default_factory=dict)  # the reduced costs by bit mask
    num_priced: int = 0
    is_complete: bool = False  # whether the effort sufficed

    def run(self) -> Self:
        """Search, until the effort is used up."""
        # What asking for the surcharge takes, where there are more than a few cuts.
        self._cut_effort = _CUT_STEP * max(0, len(self.cuts) - FEW_CUTS)
        with suppress(TooMuchError):
            self._begin()
            self.is_complete = True
        return self

    def surcharge(self, group: int) -> float:
        """What the cuts add."""
        return math.fsum(price * ((group & inside).bit_count() >> 1) for inside, price in self.cuts)

    def _begin(self) -> None:
        raise NotImplementedError

    def _gains_of(self, group: int) -> float:
        return math.fsum(self.gains[i] for i in members_of(group))

    def _note(self, group: int, share: float) -> None:
        """Keep a group that adds ``share`` if it is a class within the limit."""
        if self.rule.qualifies(group):
            reduced = share - self._gains_of(group) + self.surcharge(group) - self._discount(group)
            if reduced <= self.limit:
                self.found[group] = reduced

    def _discount(self, group: int) -> float:
        """What is taken off because one member, whichever makes that the most, counts only for ``rest``."""
        raise NotImplementedError


class ClassSearch(Search):
    """The search where whole walks are shared; members are added in the order given.

    A walk covering more costs no less, so for a group P and those after it a lower bound on what any class that extends
    P can reach follows from c(P) and the costs of pairs: each further member x adds at least ``low(x) * weight(x) -
    gain(x)``, where ``low(x)`` is the largest known cost of a part of P + x, and the gain includes what the member's
    own base costs take off. That order is best in which the dearest members come first: c(P) is then high from the
    start.

    Where a risk is bounded, P needs others as well to be heavy enough for its heaviest area (`ClassRule`).
    """

    prices: SetPrices

    def _begin(self) -> None:
        num, weights = len(self.gains), self.prices.weights
        # In the prices of numbers alone a walk has no weight, yet has to be there.
        self._weights = [[0.0] * num] * len(weights) if self.is_free else weights
        credits_ = [0.0] * num if self.is_free else self.prices.credits
        self._taken_off = [credit + gain for credit, gain in zip(credits_, self.gains, strict=True)]
        alone = [self.prices.costs(1 << i) for i in range(num)]
        lows = [[costs[trip] for costs in alone] for trip in range(len(weights))]
        self._extend(0, 0, 0.0, [0.0] * len(lows), lows, 0.0)

    def _extend(
        self, group: int, first: int, spent: float, weight: list[float], lows: list[list[float]], area: float
    ) -> None:
        """Add each member from ``first`` on that may lead to a class within the limit.

        ``spent`` is minus the gains of the group, ``weight`` its weight on each trip, ``area`` what its heaviest area
        weighs.
        """
        num, size = len(self.gains), group.bit_count()
        needed, room = self.rule.k - size - 1, self.rule.max_size - size - 1
        self.effort.spend(_MEMBER_STEP * (num - first) * len(lows))
        adding: list[float] = []  # what members after the one looked at add at least, ascending
        weighing: list[tuple[float, float]] = []  # the same for a unit of mass, and how many units they have
        grown_area = 0.0
        for x in range(num - 1, first - 1, -1):
            own = spent - self._taken_off[x]
            alone = -self._taken_off[x]
            for low, heavy, weights in zip(lows, weight, self._weights, strict=True):
                own += low[x] * (heavy + weights[x]) if low[x] < math.inf else math.inf
                alone += low[x] * weights[x] if low[x] < math.inf else math.inf
            if alone == math.inf:
                continue
            if len(adding) >= needed:
                ahead = sum(adding[: max(0, needed)])
                ahead += sum(part for part in adding[max(0, needed) : room] if part < 0)
                grown = group | 1 << x
                if self.rest < 1:
                    most = max(self._terms(grown, [low[x] for low in lows]))
                    ahead -= (1 - self.rest) * max(0.0, most, adding[needed - 1] if needed > 0 else 0.0)
                if self.rule.beta is not None and own + ahead <= self.limit:
                    grown_area = self.rule.grown_area(group, x, area)
                    ahead = max(ahead, self._weigh(grown, grown_area, weighing))
                # What cuts add is asked last: there may be many of them.
                if own + ahead <= self.limit:
                    self.effort.spend(self._cut_effort)
                    if own + ahead + self.surcharge(grown) <= self.limit and self.rule.may_join(group, x):
                        self._visit(grown, x, spent - self._taken_off[x], weight, lows, grown_area)
            insort(adding, alone)
            if self.rule.beta is not None:
                insort(weighing, (alone / self.rule.masses[x], self.rule.masses[x]))

    def _weigh(self, group: int, area: float, weighing: list[tuple[float, float]]) -> float:
        """What members still to come add at least, so that the group is heavy enough for its heaviest area.

        If parts of members would do: all that add less than nothing, then those that add least for their mass.
        """
        self.effort.spend(_MASS_STEP * len(weighing))
        least = area / (self.rule.beta or 1.0) * (1 - ROUNDING)
        lacking = least - sum(self.rule.masses[i] for i in members_of(group))
        added = 0.0
        for each, mass in weighing:
            if each >= 0 and lacking <= 0:
                break
            taken = mass if each < 0 else min(mass, lacking)
            added += each * taken
            lacking -= taken
        return added if lacking <= 1e-12 else math.inf

    def _terms(self, group: int, costs: Sequence[float]) -> list[float]:
        """What each member of the group adds when the walk costs so much on each trip, less its gain."""
        return [
            sum(cost * own[i] for cost, own in zip(costs, self._weights, strict=True)) - self._taken_off[i]
            for i in members_of(group)
        ]

    def _discount(self, group: int) -> float:
        if self.rest == 1:
            return 0.0
        return (1 - self.rest) * max(self._terms(group, self.prices.costs(group)))

    def _visit(
        self, group: int, newest: int, spent: float, weight: list[float], lows: list[list[float]], area: float
    ) -> None:
        self.effort.spend(_CLASS_STEP + self._cut_effort)
        costs = self.prices.costs(group)
        self.num_priced += 1
        if math.inf in costs:
            return
        self._note(group, 0.0 if self.is_free else self.prices.share(group))
        if group.bit_count() == self.rule.max_size:
            return
        heavier = [heavy + weights[newest] for heavy, weights in zip(weight, self._weights, strict=True)]
        partners, nothing = self.rule.partners[newest], (math.inf,) * len(lows)
        pairs = [
            self.prices.costs(1 << newest | 1 << x) if partners >> x & 1 else nothing
            for x in range(newest + 1, len(self.gains))
        ]
        skipped = [math.inf] * (newest + 1)
        raised = [
            skipped + [max(cost, old, pair[trip]) for old, pair in zip(low[newest + 1 :], pairs, strict=True)]
            for trip, (cost, low) in enumerate(zip(costs, lows, strict=True))
        ]
        self._extend(group, newest + 1, spent, heavier, raised, area)


class PrefixSearch(Search):
    """The same where only the first m nodes are shared, and the walks of a class have no common cost.

    What a class adds is the sum of what its members pay for one prefix, so a part of it, which may choose a
    prefix of its own, adds no more than the same members do in the whole. So a class adds at least what a part and
    its other members add by themselves; and as each member is in ``size - 1`` pairs, at least what all pairs
    add, divided by ``size - 1``.
    """

    prices: PrefixPrices

    def _discount(self, group: int) -> float:
        if self.rest == 1:
            return 0.0
        # Where somebody counts for less, another prefix may be the best.
        reduced = [self.prices.share(group, i, self.rest) + (1 - self.rest) * self.gains[i] for i in members_of(group)]
        return self.prices.share(group) - min(reduced)

    def _begin(self) -> None:
        num = len(self.gains)
        self._gain_row: Floats = np.array(self.gains, dtype=np.float64)
        self._alone: Floats = np.array([self._share(1 << i) for i in range(num)])
        self._pairs: Floats = np.zeros((num, num))
        for i, j in combinations(range(num if self.rule.max_size > 1 else 0), 2):
            self._pairs[i, j] = self._pairs[j, i] = self._share(1 << i | 1 << j)
        self._extend(0, 0, 0.0, 0.0, np.zeros(num))

    def _share(self, group: int) -> float:
        self.effort.spend(1)
        share = self.prices.share(group)
        return 0.0 if self.is_free and share < math.inf else share

    def _extend(self, group: int, first: int, share: float, inner: float, joining: Floats) -> None:
        """Add each member from ``first`` on that may lead to a class within the limit.

        ``share`` is what the group adds, ``inner`` what its pairs add, ``joining`` what the pairs with each other
        member do.
        """
        size = group.bit_count() + 1
        for x in range(first, len(self.gains)):
            grown, pairs = group | 1 << x, inner + joining[x]
            ahead = joining + self._pairs[x]
            floor = max(share + self._alone[x], pairs / max(1, size - 1))
            if not self.rule.may_join(group, x) or self._least(grown, x + 1, floor, pairs, ahead) > self.limit:
                continue
            self.effort.spend(_CLASS_STEP + self._cut_effort)
            own = self._share(grown)
            self.num_priced += 1
            if own == math.inf:
                continue
            self._note(grown, own)
            if size < self.rule.max_size and self._least(grown, x + 1, own, pairs, ahead) <= self.limit:
                self._extend(grown, x + 1, own, pairs, ahead)

    def _least(self, group: int, first: int, share: float, inner: float, joining: Floats) -> float:
        """A bound on the reduced cost of the group, which adds at least ``share``, and of all that extend it."""
        size, num_members = group.bit_count(), len(self.gains)
        if self.rest < 1:
            return -math.inf  # there is no telling how much the one pays who counts for less
        sizes = range(max(size, self.rule.k), min(self.rule.max_size, size + num_members - first) + 1)
        self.effort.spend(len(sizes) * (_CLASS_STEP + num_members) + self._cut_effort)
        gains = self._gain_row[first:]
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
        return least - self._gains_of(group) + self.surcharge(group)


class Workbench:
    """The coverable candidates as members, dearest first; sets of them are bit masks over that order.

    Where a risk is bounded: those of them who can be hidden, the heaviest first. Or the ``members`` given.

    ``prices`` say what classes add to the objective's sum, whose members share their first ``m`` nodes or whole walks;
    ``effort`` is what is left of the allowance. Opening it raises `TooMuchError` when the map is too large.
    """

    def __init__(
        self,
        replayed: ReplayedPlaybook,
        max_effort: float,
        m: int | None = None,
        members: Sequence[int] | None = None,
        rule: ClassRule | None = None,
    ) -> None:
        self.survey = survey = replayed.survey

        def base_cost(c: int) -> float:
            return math.fsum(map(operator.mul, survey.trip_shares, (trip.base_costs[c] for trip in survey.trips)))

        rule = rule or replayed.rule
        chosen = replayed.hideable if members is None else members
        self.members = tuple(sorted(chosen, key=lambda c: (-rule.masses.get(c, 0.0), -base_cost(c), c)))
        self.effort = Effort(max_effort)
        self.rule = rule.renumbered(self.members, self.effort)
        self.prices: SetPrices | PrefixPrices
        if m is None:
            self.prices = SetPrices(survey, self.members, self.rule.k - 1, self.effort)
        else:
            self.prices = PrefixPrices(survey, self.members, m, self.effort)

    def find(self, label: object) -> int:
        """Where the candidate of that name stands among the members."""
        return self.members.index(self.survey.find(label))

    def names(self, group: int) -> str:
        """A group in words."""
        return self.survey.names(sorted(self.members[i] for i in members_of(group)))

    def search(
        self, gains: Sequence[float], cuts: Cuts, limit: float, *, is_free: bool = False, rest: float = 1.0
    ) -> Search:
        """List the classes with a reduced cost of at most ``limit``, with the whole allowance."""
        self.effort.renew()
        kind = PrefixSearch if isinstance(self.prices, PrefixPrices) else ClassSearch
        return kind(self.rule, self.prices, gains, cuts, limit, self.effort, is_free, rest).run()


def count_anonymizable(replayed: ReplayedPlaybook, m: int | None, *, effort: float = _COUNT_EFFORT) -> int | None:
    """How many candidates belong to some class that could be anonymized; ``None`` when that is too much work.

    Who is anonymized by the playbook, could be. For everybody else k candidates are looked for who are far enough apart
    and whom a walk can cover together with this one. After earlier trips these must be a core (`ClassRule`). Under a
    bound on the risk that is not enough, and nobody is looked for; nor where histories are not those of a ledger.
    """
    if replayed.rule.beta is None and replayed.num_places(mask_of(replayed.hideable)) < replayed.rule.k:
        return 0
    if replayed.rule.beta is not None or (replayed.rule.lines and replayed.rule.stories is None):
        return len(replayed.protected) if replayed.within_reach <= set(replayed.protected) else None
    coverable = replayed.hideable
    protected = set(replayed.protected)
    unclear = [c for c in coverable if c not in protected]
    if not unclear:
        return len(coverable)
    if len(coverable) > MAX_MEMBERS:
        return None
    try:
        bench = Workbench(replayed, effort, m)
        return len(coverable) - sum(not _could_be(bench, bench.members.index(c)) for c in unclear)
    except TooMuchError:
        return None


def _could_be(bench: Workbench, member: int) -> bool:
    rule, stories = bench.rule, bench.rule.stories or {}
    for story in dict.fromkeys(stories.values()):
        if story & ~stories[member]:
            continue
        core = mask_of(c for c, own in stories.items() if own == story and c != member)
        apart = core & ~rule.close[member]
        # Somebody with a wider history may join a core, from which it needs to stand apart under `all-pairs` alone.
        if story == stories[member] and _is_reached(bench, member, 1 << member, apart):
            return True
        if not rule.is_all_pairs and _is_reached(bench, member, 0, core):
            return True
        if rule.is_all_pairs and story != stories[member] and _is_reached(bench, member, 0, apart):
            return True
    return False


def _is_reached(bench: Workbench, member: int, apart: int, pool: int) -> bool:
    """Whether ``apart`` can be made k members from the pool, all far from it, that a walk covers with ``member``."""
    bench.effort.spend(1)
    if bench.prices.share(apart | 1 << member) == math.inf:
        return False
    if apart.bit_count() >= bench.rule.k:
        return True
    while pool:
        low = pool & -pool
        pool ^= low
        if _is_reached(bench, member, apart | low, pool & ~bench.rule.close[low.bit_length() - 1]):
            return True
    return False
