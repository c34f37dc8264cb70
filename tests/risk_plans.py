"""The best plans under a bound on the risk, found the plain way: all classes listed, then scipy's programmes.

Costs are the auditor's, which planning does not share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from random import Random

import numpy as np
from scipy.optimize import linprog

import veilroute as vr
from plain_cliques import heaviest_area
from veilroute.auditing import Spread, Survey, price_walks, survey_problem

Group = tuple[int, ...]


@dataclass(frozen=True)
class Best:
    """What the best plan hides, and its sum of the expected extra cost; the expected MAC is one over the other."""

    hidden_mass: float
    total: float

    @property
    def expected_mac(self) -> float:
        return self.total / self.hidden_mass if self.hidden_mass else 0.0


class Listed:
    """The coverable candidates, who is close to whom, and what every set of them would pay for sharing a route."""

    def __init__(self, problem: vr.Problem, privacy: vr.Privacy) -> None:
        assert privacy.beta is not None
        self.beta, self.is_all_pairs, self.m = privacy.beta, privacy.spread == "all-pairs", privacy.m
        self.survey: Survey = survey_problem(problem)
        self.members = self.survey.coverable
        self.num = len(self.members)
        weights = [1.0 if problem.prior is None else problem.prior[c] for c in self.members]
        self.prior = [weight / math.fsum(weights) for weight in weights]
        rule = Spread(self.survey, privacy)
        self.close = [[bool(rule.close[a] >> b & 1) for b in self.members] for a in self.members]
        self.walks = [price_walks(self.survey, trip, self.members) for trip in self.survey.trips]

    def extras(self, group: Group) -> list[float]:
        """What each member pays more, relative to its base cost, where whole routes are shared."""
        mask = sum(1 << i for i in group)
        return [
            math.fsum(
                share * (walks[mask] - trip.base_costs[self.members[i]]) * self.survey.weight(trip, self.members[i])
                for share, trip, walks in zip(self.survey.trip_shares, self.survey.trips, self.walks, strict=True)
            )
            for i in group
        ]

    def is_apart(self, group: Group) -> bool:
        return not any(self.close[a][b] for a, b in combinations(group, 2))

    def qualifies(self, group: Group) -> bool:
        if self.is_all_pairs and not self.is_apart(group):
            return False
        total = math.fsum(self.prior[i] for i in group)
        heaviest = heaviest_area(group, lambda one, other: self.close[one][other], self.prior.__getitem__)
        return total > 0 and heaviest <= self.beta * total * (1 + 1e-9)


def best_randomised(problem: vr.Problem, privacy: vr.Privacy) -> Best:
    """Shares of every class with members who stand apart, as many as it takes; of all sets to hide, the best one."""
    listed = Listed(problem, privacy)
    assert privacy.m is None
    candidates = [i for i in range(listed.num) if listed.prior[i] > 0]
    hidden = [group for size in range(len(candidates) + 1) for group in combinations(candidates, size)]
    hidden.sort(key=lambda group: -math.fsum(listed.prior[i] for i in group))
    found: list[Best] = []
    for group in hidden:
        mass = math.fsum(listed.prior[i] for i in group)
        if found and mass < found[0].hidden_mass - 1e-9:
            break
        total = share_out(listed, group)
        if total is not None:
            found.append(Best(mass, total))
    return min(found, key=lambda best: best.total)


def share_out(listed: Listed, hidden: Group) -> float | None:
    """The least sum at which all of these are hidden; the shares of a class are one variable for each member."""
    if not hidden:
        return 0.0
    if max(listed.prior[i] for i in hidden) > listed.beta * math.fsum(listed.prior[i] for i in hidden) * (1 + 1e-9):
        return None
    least = math.ceil(1 / listed.beta - 1e-9)
    # One size more than is needed, so that its being enough is checked as well.
    sets = [g for size in (least, least + 1) for g in combinations(hidden, size) if listed.is_apart(g)]
    sets = [group for group in sets if math.isfinite(sum(listed.extras(group)))]
    places = [(at, i) for at, group in enumerate(sets) for i in group]
    if not places:
        return None
    costs = [extra for group in sets for extra in listed.extras(group)]
    sums = np.zeros((len(hidden), len(places)))
    limits = np.zeros((len(places), len(places)))
    for column, (_, i) in enumerate(places):
        sums[hidden.index(i), column] = 1
        limits[column, column] += 1
    for row, (at, _) in enumerate(places):
        limits[row, [column for column, (other, _) in enumerate(places) if other == at]] -= listed.beta
    solved = linprog(
        costs, A_ub=limits, b_ub=np.zeros(len(places)), A_eq=sums, b_eq=[listed.prior[i] for i in hidden],
        method="highs",
    )  # fmt: skip
    return float(solved.fun) if solved.status == 0 else None


def small_problem(rng: Random, num: int) -> vr.Problem:
    """Rooms of some dozen cells with some candidates and a prior of some shape, or none."""
    domain = vr.generate_rooms(12, 14, seed=rng.randrange(20))
    labels = [domain.label(node) for node in rng.sample(range(domain.num_nodes), num + 4)]
    trips = [vr.Trip(labels[-1], labels[-2])]
    if rng.random() < 0.3:
        trips.append(vr.Trip(labels[-3], labels[-4], 2.0))
    priors: list[list[float] | None] = [
        None,
        [1 / (i + 1) for i in range(num)],
        [rng.random() ** 2 for _ in range(num)],
    ]
    priors += [[rng.choice([0.0, 1.0, 1.0, 2.0]) for _ in range(num - 2)] + [1.0, 1.0]]
    visibility: vr.Visibility = vr.WithinDistance(2) if rng.random() < 0.3 else vr.AtNode()
    return vr.Problem(domain, trips, labels[:num], visibility, prior=rng.choice(priors))
