"""What the checks above a dozen candidates work with: the coverable candidates in a good order, and their classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from veilroute.audit.case import Case
from veilroute.audit.class_space import ClassSearch, ClassSpace, Tariff
from veilroute.audit.facts import Facts
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
        What their walks cost.
    effort
        What is left of the allowance.
    """

    facts: Facts
    members: tuple[int, ...]
    space: ClassSpace
    prices: SetPrices
    effort: Effort

    @cached_property
    def weights(self) -> list[list[float]]:
        """By trip and member, what a unit of the walk's cost adds to the MAC sum."""
        return [
            [share / self.facts.divisor(trip.base_costs[c]) for c in self.members]
            for trip, share in zip(self.facts.trips, _trip_shares(self.facts), strict=True)
        ]

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

    def search(self, tariff: Tariff, limit: float) -> ClassSearch:
        """List the classes with a reduced cost of at most ``limit``, with the whole allowance."""
        self.effort.renew()
        return ClassSearch(self.space, self.prices, tariff, limit, self.effort).run()

    def names(self, group: int) -> str:
        """A group in words."""
        return names(self.facts.label(c) for c in sorted(self.members[i] for i in members_of(group)))

    def share(self, group: int) -> float:
        """What a class adds to the MAC sum."""
        return math.fsum(
            share * (cost - trip.base_costs[c]) / self.facts.divisor(trip.base_costs[c])
            for trip, share, cost in zip(
                self.facts.trips, _trip_shares(self.facts), self.prices.costs(group), strict=True
            )
            for c in (self.members[i] for i in members_of(group))
        )


def open_workbench(case: Case, max_effort: float) -> Workbench:
    """Put the coverable candidates in order; raises `TooMuchError` when the map is too large."""
    facts, standard = case.facts, case.standard
    shares = _trip_shares(facts)

    def base_cost(c: int) -> float:
        return math.fsum(share * trip.base_costs[c] for share, trip in zip(shares, facts.trips, strict=True))

    members = tuple(sorted(facts.coverable, key=lambda c: (-base_cost(c), c)))
    far = [
        mask_of(j for j, b in enumerate(members) if a != b and standard.spread.is_far(1 << a | 1 << b)) for a in members
    ]
    space = ClassSpace(standard.k, far, is_all_pairs=standard.is_all_pairs)
    effort = Effort(max_effort)
    return Workbench(facts, members, space, SetPrices(facts, members, standard.k - 1, effort), effort)


def _trip_shares(facts: Facts) -> list[float]:
    weights = [trip.weight for trip in facts.problem.trips]
    return [weight / math.fsum(weights) for weight in weights]
