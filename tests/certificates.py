"""Every class of a problem, listed straight from the definition, and what certificates make of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

import veilroute as vr
from veilroute.covering import CoveringTask, FieldsEngine, far_matrix, prepare_task

Floats = npt.NDArray[np.float64]
Group = tuple[int, ...]


@dataclass
class World:
    """All classes that are needed, with what they add to the MAC sum."""

    problem: vr.Problem
    privacy: vr.Privacy
    task: CoveringTask
    classes: list[Group]
    shares: Floats

    @property
    def num(self) -> int:
        return len(self.task.members)

    @property
    def sizes(self) -> Floats:
        return np.array([len(group) for group in self.classes], dtype=float)

    def label(self, member: int) -> Any:
        return self.problem.candidates[self.task.members[member]]

    def reduced(self, prices: vr.DualPrices) -> Floats:
        return self.shares - self.paid(prices.duals) + self.cut_terms(prices)

    def paid(self, duals: tuple[float, ...]) -> Floats:
        return np.array([sum(duals[i] for i in group) for group in self.classes])

    def cut_terms(self, prices: vr.DualPrices) -> Floats:
        total = np.zeros(len(self.classes))
        for cut in prices.cuts:
            total += cut.dual * self.halves({i for i in range(self.num) if self.label(i) in cut.members})
        return total

    def halves(self, inside: set[int]) -> Floats:
        return np.array([len(inside.intersection(group)) // 2 for group in self.classes], dtype=float)


def list_classes(problem: vr.Problem, privacy: vr.Privacy) -> World:
    """Every class that qualifies and cannot be split, straight from the definition."""
    task = prepare_task(problem)
    num = len(task.members)
    far = far_matrix(problem.domain, [problem.candidate_nodes[i] for i in task.members], privacy)

    def stands_apart(group: Group) -> bool:
        return all(far[a, b] for a, b in combinations(group, 2))

    def qualifies(group: Group) -> bool:
        if privacy.spread == "all-pairs":
            return len(group) >= privacy.k and stands_apart(group)
        return any(stands_apart(some) for some in combinations(group, privacy.k))

    def splits(group: Group) -> bool:
        # If it splits at all, then also with k members who stand apart on one side.
        if len(group) < 2 * privacy.k:
            return False
        parts = (some for some in combinations(group, privacy.k) if stands_apart(some))
        return any(qualifies(tuple(i for i in group if i not in some)) for some in parts)

    is_everybody_far = stands_apart(tuple(range(num)))
    is_tight = is_everybody_far or privacy.spread == "all-pairs"
    weights = np.array(task.weights)[:, None] * task.rates
    engine = FieldsEngine(task)
    joined = np.ones((num, num), dtype=bool)
    for pair in combinations(range(num), 2):
        joined[pair] = all(np.isfinite(engine.costs([pair], trip)[0]) for trip in range(task.num_trips))
    classes: list[Group] = []
    shares: list[Floats] = []
    for size in range(privacy.k, min(num, 2 * privacy.k - 1 if is_tight else num) + 1):
        some = np.array(list(combinations(range(num), size)))
        for a, b in combinations(range(size), 2):
            some = some[joined[some[:, a], some[:, b]]]
        sets: list[Group] = [tuple(group) for group in some.tolist()]
        if not is_everybody_far:
            sets = [group for group in sets if qualifies(group) and not splits(group)]
        if not sets:
            continue
        costs = np.array([engine.costs(sets, trip) for trip in range(task.num_trips)])
        extra = costs[:, :, None] - task.base_costs[:, np.array(sets)]
        share = (weights[:, np.array(sets)] * extra).sum(axis=(0, 2))
        classes += [group for group, value in zip(sets, share, strict=True) if np.isfinite(value)]
        shares.append(share[np.isfinite(share)])
    return World(problem, privacy, task, classes, np.concatenate([np.empty(0), *shares]))


def rooms(
    num: int, seed: int, size: tuple[int, int] = (30, 44), *, num_trips: int = 1, radius: float = 0
) -> vr.Problem:
    """A building with so many candidates; the trips lead between its first, its last and its middle cell."""
    domain = vr.generate_rooms(*size, seed=seed)
    ends = [domain.label(node) for node in (0, domain.num_nodes - 1, domain.num_nodes // 2)]
    trips = [vr.Trip(ends[i], ends[(i + 1) % 3], 1.0 + i) for i in range(num_trips)]
    candidates = [c for c in vr.draw_candidates(domain, ends[0], ends[1], num + 2, seed=seed) if c not in ends][:num]
    return vr.Problem(domain, trips, candidates, vr.WithinDistance(radius) if radius else vr.AtNode())
