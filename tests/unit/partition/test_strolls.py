"""Strolls: prices that hold for every class, however large, and a bound where classes cannot be priced one by one."""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations, pairwise, permutations
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import veilroute as vr
from reference import best_partition
from strategies import privacies, problems
from veilroute.covering.task import k_and_ell, prepare_task
from veilroute.kernels.strolls import find_strolls
from veilroute.partition.class_space import ClassSpace
from veilroute.partition.limits import other_limits
from veilroute.partition.local_search import greedy_partition
from veilroute.partition.master import Bounding
from veilroute.partition.result import Record
from veilroute.partition.strolls import StrollSearch, raise_by_strolls
from veilroute.progress import OutOfTimeError, Watch


def rooms(num: int, seed: int, *, radius: float = 0, num_trips: int = 1) -> vr.Problem:
    domain = vr.generate_rooms(25, 25, seed=seed)
    rng = Random(seed)
    cells = [domain.label(node) for node in range(domain.num_nodes)]
    trips = [vr.Trip(rng.choice(cells), rng.choice(cells), weight) for weight in (1.0, 2.0)[:num_trips]]
    candidates = vr.draw_candidates(domain, trips[0].start, trips[0].goal, num, seed=seed)
    return vr.Problem(domain, trips, candidates, vr.WithinDistance(radius))


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


@given(problems(max_nodes=9, max_candidates=6), privacies())
def test_the_bound_of_strolls_is_below_the_optimum(problem: vr.Problem, privacy: vr.Privacy) -> None:
    assume(2 <= privacy.k <= len(problem.counted))
    _, anonymized, mac = best_partition(problem, privacy)
    assume(anonymized > 0)
    assert mac is not None
    task = prepare_task(problem)
    assume(len(task.members) > 1)
    space = ClassSpace(task, k_and_ell(problem, task, privacy))
    space.prepare(Watch())
    record = Record(greedy_partition(space, Watch()), Watch())
    bounding = Bounding(space, space.num - anonymized, Watch())
    with suppress(OutOfTimeError):  # nor what the solver gave up
        raise_by_strolls(bounding, record)
    assert bounding.bound <= mac * anonymized + 1e-9
    assert bounding.bound == pytest.approx(bounding.value_of(bounding.prices, 0.0))
    assert record.best.num_grouped <= anonymized
    if record.best.num_grouped == anonymized:
        assert record.best.total >= mac * anonymized - 1e-9


@given(problems(max_nodes=9, max_candidates=7), privacies(max_k=5), st.booleans())
def test_optima_are_the_same_by_way_of_strolls(problem: vr.Problem, privacy: vr.Privacy, combines: bool) -> None:
    assume(2 <= privacy.k <= len(problem.counted))
    with other_limits(tried=0, large_k=2, few=0, combined=20 if combines else 0):
        playbook = vr.solve(problem, privacy)
    _, anonymized, mac = best_partition(problem, privacy)
    assert playbook.status == ("optimal" if anonymized else "infeasible")
    assert playbook.mac == (None if mac is None else pytest.approx(mac, abs=1e-9))
    assert vr.audit(playbook).holds
