"""Whether classes that are given can be combined into a partition that costs less than a given sum.

What the checks above a dozen candidates work with: the coverable candidates in a good order, and their classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from veilroute.auditing.apartness import mask_of, members_of
from veilroute.auditing.beginnings import PrefixPrices
from veilroute.auditing.class_search import FEW_CUTS, ClassSearch, ClassSpace, PrefixSearch, Tariff
from veilroute.auditing.pricing import Effort, SetPrices, TooMuchError
from veilroute.auditing.replay import Case
from veilroute.auditing.sight import Facts
from veilroute.auditing.verdicts import names

_CLASS_STEP = 4
_PAIRS_STEP = 0.25
"""What looking at a class, and at its pairs within a cut, take, measured in visits by breadth-first search."""


@dataclass(frozen=True)
class Option:
    """A class that may be part of a partition.

    Parameters
    ----------
    group
        Its members, as a bit mask.
    excess
        What it takes of the slack between the bound and the sum to stay below; at least 0 but for rounding.
    share
        What it adds to the sum.
    """

    group: int
    excess: float
    share: float


class Combiner:
    """Looks for a partition whose shares sum to less than ``target``.

    By exact cover: of the members not yet settled, the one with the fewest options left gets each of them in turn, or
    is left out while somebody still may be. A branch ends when what was taken and what the rest takes at least exceed
    the slack: each member not settled takes at least the least excess per member of its options, and a cut that can no
    longer be met with equality takes its price for each pair that is missing. Where the same members were settled at a
    lower sum before, a branch ends as well.

    Parameters
    ----------
    options
        The classes. All that a cheaper partition could consist of must be among them.
    leaving
        What leaving each member out takes of the slack.
    num_left_out
        How many are left out, exactly.
    cuts
        Bit masks and prices.
    slack
        The target less the bound.
    target
        Sum of shares to stay below.
    effort
        What may be spent.
    """

    def __init__(
        self,
        options: Sequence[Option],
        leaving: Sequence[float],
        num_left_out: int,
        cuts: Sequence[tuple[int, float]],
        slack: float,
        target: float,
        effort: Effort,
    ) -> None:
        self.num_tried = 0
        self.is_complete = False
        self.cheaper: tuple[Option, ...] = ()
        self._options = sorted(options, key=lambda option: (option.excess, option.group))
        self._leaving = leaving
        self._num_left_out = num_left_out
        self._cuts = cuts
        self._slack = slack
        self._target = target
        self._effort = effort
        self._least: dict[tuple[int, int], float] = {}

    def run(self) -> Combiner:
        """Search: ``cheaper`` has the first partition found; when there is none, ``is_complete`` says for certain."""
        everybody = (1 << len(self._leaving)) - 1
        try:
            self._settle(everybody, self._num_left_out, 0.0, 0.0, (), self._options)
        except TooMuchError:
            return self
        self.is_complete = True
        return self

    def _settle(
        self, open_: int, num_out: int, taken: float, share: float, chosen: tuple[Option, ...], options: list[Option]
    ) -> None:
        self.num_tried += 1
        if open_.bit_count() <= num_out:
            if open_.bit_count() == num_out and share < self._target:
                self.cheaper = chosen
            return
        state = (open_, num_out)
        if share >= self._least.get(state, math.inf):
            return
        self._least[state] = share
        self._effort.spend(_CLASS_STEP * (1 + len(options)) + len(self._cuts))
        self._effort.spend(_PAIRS_STEP * max(0, len(self._cuts) - FEW_CUTS) * len(chosen))
        taken_by_cuts = self._cut_excess(open_, chosen)
        fitting: dict[int, list[Option]] = {member: [] for member in members_of(open_)}
        usable = []
        for option in options:
            if not option.group & ~open_ and taken + taken_by_cuts + option.excess < self._slack:
                usable.append(option)
                for member in members_of(option.group):
                    fitting[member].append(option)
        least = taken + taken_by_cuts
        for member, own in fitting.items():
            per_member = min((option.excess / option.group.bit_count() for option in own), default=math.inf)
            least += min(per_member, self._leaving[member] if num_out else math.inf)
        if least >= self._slack:
            return
        member = min(fitting, key=lambda m: (len(fitting[m]), m))
        for option in fitting[member]:
            rest = open_ & ~option.group
            self._settle(rest, num_out, taken + option.excess, share + option.share, (*chosen, option), usable)
            if self.cheaper:
                return
        if num_out:
            self._settle(open_ ^ 1 << member, num_out - 1, taken + self._leaving[member], share, chosen, usable)

    def _cut_excess(self, open_: int, chosen: tuple[Option, ...]) -> float:
        excess = 0.0
        for inside, price in self._cuts:
            pairs = sum((option.group & inside).bit_count() >> 1 for option in chosen)
            excess += price * ((inside.bit_count() >> 1) - pairs - ((open_ & inside).bit_count() >> 1))
        return excess


MAX_MEMBERS = 200
"""More coverable candidates than this are not even tried; up to there the effort decides."""


@dataclass(frozen=True)
class Workbench:
    """Members are the coverable candidates, dearest first; sets of them are bit masks over that order.

    Parameters
    ----------
    facts
        The map and the trips.
    members
        Positions of the candidates.
    space
        The classes that matter.
    prices
        What their walks cost or, where only beginnings are shared, what they add to the MAC sum.
    effort
        What is left of the allowance.
    """

    facts: Facts
    members: tuple[int, ...]
    space: ClassSpace
    prices: SetPrices | PrefixPrices
    effort: Effort

    @cached_property
    def weights(self) -> list[list[float]]:
        """By trip and member, what a unit of the walk's cost adds to the MAC sum."""
        return _weights(self.facts, self.members)

    @cached_property
    def credits(self) -> list[float]:
        """What each member's own base costs take off the MAC sum: 1, unless a base cost is 0."""
        by_trip = list(zip(self.facts.trips, self.weights, strict=True))
        return [
            math.fsum(trip.base_costs[c] * weights[i] for trip, weights in by_trip) for i, c in enumerate(self.members)
        ]

    def find(self, label: object) -> int:
        """Where the candidate of that name stands among the members."""
        return self.members.index(self.facts.find(label))

    def search(
        self, gains: Sequence[float], cuts: Sequence[tuple[int, float]], limit: float, *, is_free: bool = False
    ) -> ClassSearch | PrefixSearch:
        """List the classes with a reduced cost of at most ``limit``, with the whole allowance.

        Parameters
        ----------
        gains
            What each member takes off.
        cuts
            Bit masks and prices: every full pair of the class's members inside the mask adds the price.
        limit
            How much the reduced cost may be.
        is_free
            Leave out what classes add to the MAC sum: only who can be grouped matters.
        """
        self.effort.renew()
        weights = [[0.0] * len(self.members)] * len(self.weights) if is_free else self.weights
        if isinstance(self.prices, PrefixPrices):
            tariff = Tariff(weights, gains, cuts)
            return PrefixSearch(self.space, self.prices, tariff, limit, self.effort, is_free=is_free).run()
        if not is_free:
            gains = [credit + gain for credit, gain in zip(self.credits, gains, strict=True)]
        return ClassSearch(self.space, self.prices, Tariff(weights, gains, cuts), limit, self.effort).run()

    def is_possible(self, group: int) -> bool:
        """Whether all members can be covered as one class."""
        if isinstance(self.prices, PrefixPrices):
            return self.prices.share(group) < math.inf
        return math.inf not in self.prices.costs(group)

    def names(self, group: int) -> str:
        """A group in words."""
        return names(self.facts.label(c) for c in sorted(self.members[i] for i in members_of(group)))

    def share(self, group: int) -> float:
        """What a class adds to the MAC sum."""
        if isinstance(self.prices, PrefixPrices):
            return self.prices.share(group)
        return math.fsum(
            share * (cost - trip.base_costs[c]) / self.facts.divisor(trip.base_costs[c])
            for trip, share, cost in zip(
                self.facts.trips, _trip_shares(self.facts), self.prices.costs(group), strict=True
            )
            for c in (self.members[i] for i in members_of(group))
        )


def open_workbench(case: Case, max_effort: float, m: int | None = None) -> Workbench:
    """Put the coverable candidates in order; raises `TooMuchError` when the map is too large.

    Classes share their first ``m`` nodes, or whole walks.
    """
    facts, standard = case.facts, case.standard
    shares = _trip_shares(facts)

    def base_cost(c: int) -> float:
        return math.fsum(share * trip.base_costs[c] for share, trip in zip(shares, facts.trips, strict=True))

    members = tuple(sorted(facts.coverable, key=lambda c: (-base_cost(c), c)))
    far = [
        mask_of(j for j, b in enumerate(members) if a != b and standard.spread.is_far(1 << a | 1 << b)) for a in members
    ]
    effort = Effort(max_effort)
    space = ClassSpace(standard.k, far, is_all_pairs=standard.is_all_pairs, effort=effort)
    prices: SetPrices | PrefixPrices
    if m is None:
        prices = SetPrices(facts, members, standard.k - 1, effort)
    else:
        prices = PrefixPrices(facts, members, m, _weights(facts, members), effort)
    return Workbench(facts, members, space, prices, effort)


def _weights(facts: Facts, members: Sequence[int]) -> list[list[float]]:
    return [
        [share / facts.divisor(trip.base_costs[c]) for c in members]
        for trip, share in zip(facts.trips, _trip_shares(facts), strict=True)
    ]


def _trip_shares(facts: Facts) -> list[float]:
    weights = [trip.weight for trip in facts.problem.trips]
    return [weight / math.fsum(weights) for weight in weights]
