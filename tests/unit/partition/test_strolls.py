"""Strolls: prices that hold for every class, however large, and a bound where classes cannot be priced one by one."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest

import veilroute as vr
from strategies import rooms
from veilroute import Watch
from veilroute.covering import k_and_ell, prepare_task
from veilroute.kernels import find_strolls
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


def test_strolls_that_remember_everybody_are_the_orders_of_sets() -> None:
    rng = np.random.default_rng(4)
    num, k = 6, 4
    for _ in range(20):
        first, last, worth = rng.uniform(0, 3, num), rng.uniform(0, 3, num), rng.uniform(-4, 1, num)
        between = rng.uniform(0, 3, (num, num))
        is_open = (rng.random((num, num)) < 0.9) & ~np.eye(num, dtype=bool)
        near = np.array([[j for j in range(num) if j != i] for i in range(num)])
        places = np.full((num, num), -1, dtype=np.int8)
        np.put_along_axis(places, near, np.arange(num - 1, dtype=np.int8)[None], axis=1)
        expected = min(
            0.5 + 0.7 * (first[p[0]] + last[p[-1]] + sum(between[a, b] for a, b in pairwise(p)))
            + worth[list(p)].sum()
            for p in permutations(range(num), k)
            if all(is_open[a, b] for a, b in pairwise(p))
        )  # fmt: skip
        sets, values = np.empty((num, k), dtype=np.int32), np.empty(num)
        least, found = find_strolls(
            np.arange(num), k, 0.7, 0.5, worth, first, last, between, is_open, near, places, 100.0, sets, values
        )
        assert least == pytest.approx(expected, abs=1e-9)
        assert found > 0
        assert values[:found].min() == least
        assert all(len(set(row)) == k for row in sets[:found].tolist())


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
