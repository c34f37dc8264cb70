"""What the checks above a dozen candidates work with: the coverable candidates in a good order, and their classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from veilroute.audit.case import Case
from veilroute.audit.class_space import ClassSearch, ClassSpace, PrefixSearch, Tariff
from veilroute.audit.facts import Facts
from veilroute.audit.prefixes import PrefixPrices
from veilroute.audit.report import names
from veilroute.audit.set_prices import Effort, SetPrices
from veilroute.audit.spread import mask_of, members_of

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
