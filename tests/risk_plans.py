"""What a bound on the risk asks of classes, the plain way, and small problems with a prior."""

from __future__ import annotations

import math
from itertools import combinations
from random import Random

import veilroute as vr
from plain_cliques import heaviest_area
from veilroute.auditing import Spread, Survey, survey_problem

Group = tuple[int, ...]


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

    def is_apart(self, group: Group) -> bool:
        return not any(self.close[a][b] for a, b in combinations(group, 2))

    def qualifies(self, group: Group) -> bool:
        if self.is_all_pairs and not self.is_apart(group):
            return False
        total = math.fsum(self.prior[i] for i in group)
        heaviest = heaviest_area(group, lambda one, other: self.close[one][other], self.prior.__getitem__)
        return total > 0 and heaviest <= self.beta * total * (1 + 1e-9)


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
