"""A rule of one's own, in one file: every method that takes a rule obeys it."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

import veilroute as vr
from reference import set_partitions
from veilroute import InvalidInputError, Rule, Watch
from veilroute.covering import CoveringTask, FieldsEngine, Members, as_members, prepare_task
from veilroute.partition import (
    Partition,
    partition_by_columns,
    partition_exact,
    partition_local_search,
    partition_merge_bb,
)

Flags = npt.NDArray[np.bool_]
Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Odd(Rule):
    """Classes hold an odd number of members, three or more, and nobody together with a rival."""

    def qualify(self, sets: Int32s) -> Flags:
        num_together = self.together[sets[:, :, None], sets[:, None, :]].sum(axis=(1, 2))
        size = sets.shape[1]
        return np.asarray((size % 2 == 1) & (size >= 3) & (num_together == size * (size - 1)))


def odd(together: Flags) -> Odd:
    # A class of nine is three classes of three.
    return Odd(together, least=3, largest=min(7, len(together)))


def make(seed: int, num: int, *, num_trips: int = 1, rivals: int = 0) -> tuple[vr.Problem, CoveringTask, Odd]:
    """A building, weights for its candidates, and the rule."""
    domain = vr.generate_rooms(seed=seed)
    rng = random.Random(seed)
    labels = rng.sample(list(domain.labels_of(np.arange(domain.num_nodes))), num + 2 * num_trips)
    trips = [vr.Trip(labels[2 * i], labels[2 * i + 1], weight=i + 1) for i in range(num_trips)]
    problem = vr.Problem(domain, trips, labels[2 * num_trips :])
    task = prepare_task(problem)
    weights = np.array([rng.choice([0.25, 1.0, 3.0]) for _ in task.members])
    together = ~np.eye(num, dtype=np.bool_)
    for one, other in rng.sample(list(combinations(range(num), 2)), rivals):
        together[one, other] = together[other, one] = False
    return problem, replace(task, rates=task.rates * weights), odd(together)


class Prices:
    """What classes add to the objective, one walk at a time."""

    def __init__(self, task: CoveringTask) -> None:
        self.task, self.engine = task, FieldsEngine(task)
        self.known: dict[Members, float] = {}

    def __call__(self, members: Members) -> float:
        if members not in self.known:
            total = 0.0
            for trip, weight in enumerate(self.task.weights):
                cost = self.engine.find(members, trip).cost
                extra = cost - self.task.base_costs[trip][list(members)]
                total += weight * float((self.task.rates[trip][list(members)] * extra).sum())
            self.known[members] = total
        return self.known[members]


def brute_force(rule: Odd, price: Prices) -> tuple[int, float]:
    """How many members can be in classes, and the least that this costs."""
    best = (0, 0.0)
    for groups in set_partitions(list(range(rule.num))):
        classes = [as_members(group) for group in groups if len(group) > 1]
        if all(len(c) % 2 and all(rule.together[a, b] for a, b in combinations(c, 2)) for c in classes):
            best = min(best, (-sum(map(len, classes)), sum(map(price, classes))))
    return -best[0], best[1]


def check(found: Partition, rule: Odd, price: Prices) -> list[float]:
    """Whether a partition keeps to the rule; how many members it groups, and at what cost."""
    assert all(len(members) in (3, 5, 7) and rule.qualifies(members) for members in found.classes)
    inside = [i for members in found.classes for i in members]
    assert sorted([*inside, *found.left_out]) == list(range(rule.num))
    return [len(inside), sum(map(price, found.classes))]


@pytest.mark.parametrize(("seed", "num_trips", "rivals"), [(1, 1, 0), (2, 2, 0), (3, 1, 6), (4, 1, 12), (5, 2, 20)])
def test_an_own_rule_is_obeyed_and_its_optimum_found(seed: int, num_trips: int, rivals: int) -> None:
    problem, task, rule = make(seed, 8 + seed % 3, num_trips=num_trips, rivals=rivals)
    price = Prices(task)
    grouped, cost = brute_force(rule, price)
    by_table = partition_exact(problem, task, rule, seed=0, watch=Watch())
    by_columns = partition_by_columns(problem, task, rule, watch=Watch())
    for found in (by_table, by_columns):
        assert check(found, rule, price) == pytest.approx([grouped, cost], abs=1e-9)
        assert found.is_optimal
        assert (found.least_mean or 0) * grouped == pytest.approx(cost, abs=1e-9)
    searched = partition_local_search(problem, task, rule, seed=0, watch=Watch())
    assert check(searched, rule, price) == pytest.approx([grouped, cost], abs=1e-9)


def test_the_papers_searches_say_that_they_know_one_rule_only() -> None:
    problem, task, rule = make(1, 6)
    with pytest.raises(InvalidInputError, match="k and ell"):
        partition_merge_bb(problem, task, rule, seed=0, watch=Watch())
