"""Strolls: prices that hold for every class, however large, and a bound where classes cannot be priced one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import veilroute as vr
from strategies import rooms
from veilroute import Watch
from veilroute.covering import k_and_ell, prepare_task
from veilroute.partition import Bounding, ClassSpace, Record, StrollSearch, greedy_partition, raise_by_strolls


def space_of(problem: vr.Problem, privacy: vr.Privacy) -> ClassSpace:
    space = ClassSpace(task := prepare_task(problem), k_and_ell(problem, task, privacy))
    space.prepare(Watch())
    return space


def searches(space: ClassSpace) -> list[StrollSearch]:
    steps = space.prices_of.steps(Watch())
    assert steps is not None
    first, last, between = steps
    return [StrollSearch(space, trip, first[trip], last[trip], between) for trip in range(space.task.num_trips)]


def shares(space: ClassSpace, members: tuple[int, ...]) -> np.ndarray:
    """What a class adds on each trip."""
    costs = space.prices_of.costs(np.array([members], dtype=np.int32), Watch())
    assert costs is not None
    mine = list(members)
    alone = (space.weights * space.base_costs)[:, mine].sum(axis=1)
    return np.asarray(costs[0] * space.weights[:, mine].sum(axis=1) - alone)


@pytest.mark.parametrize(
    ("k", "ell", "spread", "radius", "num_trips"),
    [(3, 1, "witness", 0, 1), (4, 1, "witness", 0, 2), (3, 5, "all-pairs", 0, 1), (3, 5, "witness", 3, 2)],
)
def test_lowered_prices_hold_for_classes_of_any_size(
    k: int, ell: float, spread: str, radius: float, num_trips: int
) -> None:
    space = space_of(rooms(10, 3, radius=radius, num_trips=num_trips), vr.Privacy(k=k, ell=ell, spread=spread))
    rng = np.random.default_rng(1)
    num_tight = 0
    for trip, search in enumerate(searches(space)):
        for _ in range(4):
            duals = rng.uniform(0, 0.6, space.num)
            result = search.run(duals, 0.0, Watch())
            assert result is not None
            least, columns = result
            assert least == min(0.0, float(columns.reduced.min(initial=0.0)))
            lowered = duals + least / k
            for size in range(k, space.num + 1):
                for members in combinations(range(space.num), size):
                    if space.compatible[np.ix_(members, members)].sum() != size * (size - 1):
                        continue
                    reduced = shares(space, members)[trip] - lowered[list(members)].sum()
                    assert reduced >= -1e-9
                    num_tight += reduced < 0.3
    assert num_tight > 0


@pytest.mark.parametrize(("seed", "k", "num_trips", "part"), [(3, 5, 1, 0.61), (3, 4, 2, 0.63), (1, 3, 1, 0.73)])
def test_the_bound_of_strolls_is_not_far_below_the_optimum(seed: int, k: int, num_trips: int, part: float) -> None:
    problem, privacy = rooms(14, seed, num_trips=num_trips), vr.Privacy(k=k)
    space = space_of(problem, privacy)
    bounding = Bounding(space, 0, Watch())
    raise_by_strolls(bounding, Record(greedy_partition(space, Watch()), Watch()))
    optimum = (vr.solve(problem, privacy).mac or 0.0) * 14
    assert part * optimum <= bounding.bound <= optimum
