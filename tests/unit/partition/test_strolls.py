"""Strolls: prices that hold for every class, however large, and a bound where classes cannot be priced one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import veilroute as vr
from strategies import rooms
from veilroute import Progress, Watch
from veilroute.covering import k_and_ell, prepare_task
from veilroute.partition import (
    Bounding,
    ClassSpace,
    CrowdedSpace,
    Record,
    StrollSearch,
    greedy_partition,
    other_limits,
    raise_by_crowd_strolls,
    raise_by_strolls,
)


def space_of(problem: vr.Problem, privacy: vr.Privacy, kind: type[ClassSpace] = ClassSpace) -> ClassSpace:
    space = kind(task := prepare_task(problem), k_and_ell(problem, task, privacy))
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


@pytest.mark.parametrize(
    ("seed", "k", "num_trips", "ell", "part"),
    [
        (3, 5, 1, 1, 0.61),
        (3, 4, 2, 1, 0.63),
        (1, 3, 1, 1, 0.73),
        (2, 3, 1, 6, 0.85),
        (3, 3, 1, 6, 0.97),
        (5, 4, 1, 6, 0.96),
    ],
)
def test_the_bound_of_strolls_is_not_far_below_the_optimum(
    seed: int, k: int, num_trips: int, ell: float, part: float
) -> None:
    """Where all stand apart, and where some stand near each other; with the right limits every plan begins with it."""
    problem, privacy = rooms(14, seed, num_trips=num_trips), vr.Privacy(k=k, ell=ell)
    space = space_of(problem, privacy, CrowdedSpace if ell > 1 else ClassSpace)
    bounding, first = Bounding(space, 0, Watch()), greedy_partition(space, Watch())
    if isinstance(space, CrowdedSpace):
        raise_by_crowd_strolls(bounding, space, first)
    else:
        raise_by_strolls(bounding, Record(first, Watch()))
    told: list[Progress] = []
    with other_limits(tried=0, tables=0, few=0, large_k=2, large_gap=-1):
        best = vr.solve(problem, privacy, progress=told.append)
    assert best.status == "optimal" and best.mac is not None
    assert part * 14 * best.mac <= bounding.bound <= 14 * best.mac
    assert "bounds for large classes" in {each.stage for each in told}


@pytest.mark.parametrize(
    ("seed", "num", "k", "num_out", "part"), [(4, 40, 5, 0, 0.82), (5, 36, 3, 0, 0.78), (3, 30, 5, 1, 0.52)]
)
def test_strolls_lead_to_a_good_partition(seed: int, num: int, k: int, num_out: int, part: float) -> None:
    """Also where the programme may leave somebody out."""
    space = space_of(rooms(num, seed), vr.Privacy(k=k))
    first, watch = greedy_partition(space, Watch()), Watch()
    record = Record(first, watch)
    with other_limits(effort=0):
        raise_by_strolls(Bounding(space, num_out, watch), record)
    assert not record.best.left_out and record.best.total < part * first.total
