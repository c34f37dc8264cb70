"""The best playbooks of small problems by scipy: the definitions of docs/theory.rst written out literally.

Partitions: all of them, by tests/reference.py, which also works out what sets cost. Randomised playbooks: a variable
for each set of members that stand apart, of whatever size, and each of its members; so it is tested as well that
classes of ceil(1 / beta) members are enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from random import Random
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

import veilroute as vr
from plain_cliques import heaviest_area
from reference import SLACK, World, best_of
from strategies import build_domain

BETAS = (0.5, 0.5, 0.4, 1 / 3, 0.35, 0.6, 0.25, 0.9, 0.7, 0.3)
_FINE = 1e5  #: what objectives are multiplied by, as the solver's tolerances are absolute

Numbers = np.ndarray[Any, np.dtype[np.float64]]


def draw_map(rng: Random) -> tuple[vr.Domain, list[Any]]:
    """A small building, a grid with walls or a directed graph, and its nodes."""
    match rng.choice(["rooms", "grid", "directed"]):
        case "rooms":
            domain = vr.generate_rooms(12, 12, seed=rng.randrange(1000))
        case "grid":
            rows = ["".join(rng.choice("....@") for _ in range(5)) for _ in range(4)]
            domain = vr.grid_domain([".....", *rows])
        case _:
            costs = rng.choice(["unit", "integer", "float", "zeros"])
            domain = build_domain(rng, rng.choice(["ring", "ring", "tree", "path"]), costs, rng.randint(10, 14))
    return domain, [domain.label(node) for node in range(domain.num_nodes)]


def draw_prior(rng: Random, num: int) -> list[float] | None:
    """Weights of the usual shapes and of awkward ones."""
    ranks = rng.sample(range(1, num + 1), num)
    shapes: tuple[list[float] | None, ...] = (
        None,
        [1 / rank for rank in ranks],
        [rng.random() ** 4 + 1e-4 for _ in ranks],
        [0 if rank % 3 == 0 else 1 / rank for rank in ranks],
        [3 * num if rank == 1 else 1 + rank % 2 for rank in ranks],
    )
    return rng.choice(shapes)


def draw_case(seed: int) -> tuple[World, vr.Privacy]:
    """A problem of four to eight candidates, what its sets cost, and a risk."""
    rng = Random(seed)
    while True:
        domain, nodes = draw_map(rng)
        m = rng.choice([None, None, None, 1, 2, 3, 4, 5, 6])
        num = rng.randint(4, 8 if m is None and len(nodes) < 30 else 6)
        trips = [
            vr.Trip(rng.choice(nodes), rng.choice(nodes), rng.choice([1.0, 0.5, 3.0]))
            for _ in range(rng.choice([1, 1, 2]))
        ]
        chosen = rng.sample(nodes, min(num, len(nodes)))
        sight = vr.WithinDistance(rng.choice([0, 0, 1, 2, 3]))
        problem = vr.Problem(domain, trips, chosen, sight)
        if len(problem.counted) < 3:
            continue
        world = World(problem)
        prior = draw_prior(rng, len(chosen))
        counted = [problem.counted[i] for i in world.coverable]
        if len(counted) < 3 or (prior is not None and sum(prior[i] > 0 for i in counted) < 2):
            continue
        world.problem = replace(problem, prior=prior)
        ell = rng.choice([0, 1, 1, 2, 3])
        return world, vr.Privacy(risk=rng.choice(BETAS), ell=ell, m=m, spread=rng.choice(["witness", "all-pairs"]))


@dataclass(frozen=True)
class Best:
    """What the best playbook hides, and its expected MAC; ``None`` where nobody can be hidden."""

    hidden: float
    expected: float | None


@dataclass(frozen=True)
class Oracle:
    """The best playbooks of a problem by scipy. Candidates are called by their positions among the coverable ones."""

    world: World
    privacy: vr.Privacy

    @cached_property
    def prior(self) -> Numbers:
        """How probable the coverable candidates are among themselves."""
        problem, coverable = self.world.problem, self.world.coverable
        weights = problem.prior or [1.0] * len(problem.candidates)
        mine = np.array([weights[problem.counted[i]] for i in coverable])
        return np.asarray(mine / mine.sum())

    @cached_property
    def beta(self) -> float:
        assert self.privacy.beta is not None
        return self.privacy.beta

    @cached_property
    def groups(self) -> list[tuple[int, ...]]:
        """All sets of coverable candidates."""
        num = len(self.world.coverable)
        return [group for size in range(1, num + 1) for group in combinations(range(num), size)]

    def is_near(self, one: int, other: int) -> bool:
        """Whether two candidates stand at one node or closer than ell, in one direction or the other."""
        (a, b), nodes, apart = (self.world.coverable[i] for i in (one, other)), self.world.nodes, self.world.apart
        return nodes[a] == nodes[b] or min(apart[a][b], apart[b][a]) < self.privacy.ell * (1 - 1e-9)

    def is_apart(self, group: Sequence[int]) -> bool:
        return not any(self.is_near(one, other) for one, other in combinations(group, 2))

    def is_class(self, group: Sequence[int]) -> bool:
        """Whether no area holds more than beta of the group."""
        if self.privacy.spread == "all-pairs" and not self.is_apart(group):
            return False
        total = sum(self.prior[i] for i in group)
        heaviest = heaviest_area(group, self.is_near, self.prior.__getitem__)
        return bool(total > 0 and heaviest <= self.beta * total * (1 + 1e-9))

    def ways(self, group: Sequence[int]) -> Numbers:
        """What each member pays beyond its base cost, of which, on average over the trips: a row for each way to go."""
        world, m = self.world, self.privacy.m
        named = tuple(world.coverable[i] for i in group)
        rows: list[list[list[float]]] = []
        for trip, weight in enumerate(world.weights):
            costs = [[world.costs[named][trip]] * len(named)] if m is None else world.bounded_costs(named, m, trip)
            base, divisors = world.base[trip], world.divisors[trip]
            shares = [[weight * (c - base[i]) / divisors[i] for c, i in zip(row, named, strict=True)] for row in costs]
            rows.append(_not_worse([row for row in shares if all(map(math.isfinite, row))]))
        return np.array([np.sum(chosen, axis=0) for chosen in product(*rows)]).reshape(-1, len(group))

    def partition(self) -> Best:
        """Over all sets that qualify: the most hidden probability, then the least that it costs."""
        priced = [(group, self.ways(group)) for group in self.groups if self.is_class(group)]
        masses = {group: float(self.prior[list(group)].sum()) for group, _ in priced}
        classes = [(g, masses[g], float((ways @ self.prior[list(g)]).min())) for g, ways in priced if len(ways)]
        found = best_of(classes, range(self.prior.size))
        return Best(found.worth, found.mean)

    def randomised(self) -> Best:
        """Over all ways to share probabilities out; who is hidden is hidden with all of it."""
        costs: list[float] = []
        owners: list[int] = []
        bounds: list[tuple[int, int, float]] = []
        num_rows = 0
        for group in filter(self.is_apart, self.groups):
            for way in self.ways(group):
                first = len(costs)
                # x[S, t] - beta * sum of x[S, u] <= 0
                for at, other in product(range(len(group)), repeat=2):
                    bounds.append((num_rows + at, first + other, float(at == other) - self.beta))
                num_rows += len(group)
                costs += way.tolist()
                owners += group
        num, num_shares = self.prior.size, len(costs)
        rows, columns, values = zip(*bounds, strict=True)
        posteriors = coo_array((values, (rows, columns)), shape=(num_rows, num_shares)).tocsr()
        sums = coo_array((np.ones(num_shares), (owners, range(num_shares))), shape=(num, num_shares)).tocsr()
        # In units in which a candidate is about 1.
        amounts = self.prior * num

        def cheapest(is_hidden: Numbers) -> Any:
            return linprog(
                np.array(costs), posteriors, np.zeros(num_rows), sums, amounts * is_hidden, method="highs-ds",
                options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
            )  # fmt: skip

        is_hidden = np.ones(num)
        found = cheapest(is_hidden)
        if not found.success:
            is_hidden = self._whom_to_hide(np.array(costs), posteriors, sums, amounts)
            found = cheapest(is_hidden)
        assert found.success, found.message
        hidden = float(self.prior @ is_hidden)
        return Best(hidden, float(found.fun) / num / hidden if hidden else None)

    @staticmethod
    def _whom_to_hide(costs: Numbers, posteriors: Any, sums: Any, amounts: Numbers) -> Numbers:
        """Every choice is tried, the most probability first; of those that hide the most, the cheapest is taken."""
        found: list[tuple[float, list[float]]] = []
        choices = [np.array(chosen) for chosen in product((0.0, 1.0), repeat=amounts.size)]
        most = 0.0
        for chosen in sorted(choices, key=lambda chosen: -float(amounts @ chosen)):
            if found and float(amounts @ chosen) < most - SLACK:
                break
            limits = np.zeros(posteriors.shape[0])
            solved = linprog(costs, posteriors, limits, sums, amounts * chosen, method="highs-ds")
            if solved.success:
                found.append((float(solved.fun), chosen.tolist()))
                most = float(amounts @ chosen)
        return np.array(min(found)[1])


def _not_worse(rows: list[list[float]]) -> list[list[float]]:
    """Those ways to go of which no other is as good for everybody."""
    kept: list[list[float]] = []
    for row in sorted(rows):
        if not any(all(a <= b for a, b in zip(other, row, strict=True)) for other in kept):
            kept.append(row)
    return kept
