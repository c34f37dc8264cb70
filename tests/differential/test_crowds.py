"""Crowded classes against all sets there are: floors, searches by leader, strolls and whole proofs.

Whatever they leave out or bound must hold for every class, so each is held against a list of all classes of a few
members, on one-way networks where some stand near each other or at one spot, with and without rules for turns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from random import Random

import numpy as np
import pytest

import veilroute as vr
from door_towns import door_problem, winding_town
from veilroute import OutOfTimeError, Watch
from veilroute.covering import FieldsEngine, Members, as_members, k_and_ell, prepare_task
from veilroute.domain import Turns, with_rules
from veilroute.partition import (
    CrowdedSpace,
    CrowdStrolls,
    Prices,
    is_crowded,
    partition_by_columns,
)

NUM = 9


@dataclass
class Case:
    """A space of few members with all of its classes."""

    space: CrowdedSpace
    costs: dict[Members, float]  # of all classes that a walk covers
    shares: dict[Members, float]

    def is_split(self, members: Members) -> bool:
        """Whether a class is two."""
        halves = (as_members(part) for size in range(1, len(members)) for part in combinations(members, size))
        return any(part in self.costs and as_members({*members} - {*part}) in self.costs for part in halves)

    def reduced(self, prices: Prices) -> dict[Members, float]:
        """The reduced costs of all classes."""
        return {
            members: share
            - sum(prices.duals[i] for i in members)
            + sum(dual * (len({*members} & {*cut}) // 2) for cut, dual in prices.paid_cuts)
            for members, share in self.shares.items()
        }


def draw_case(seed: int, *, has_turns: bool) -> Case:
    rng, num = Random(f"crowds-{seed}"), NUM - has_turns
    side = rng.randint(5, 7)
    domain = vr.generate_streets(side, side, seed=rng.randrange(1000), one_way_share=rng.choice((0.0, 0.3)))
    if has_turns:
        domain = with_rules(domain, Turns.of("dead-ends"))
    start, goal, *places = [domain.label(node) for node in rng.sample(range(domain.num_nodes), num + 2)]
    problem = vr.Problem(domain, [vr.Trip(start, rng.choice((start, goal)))], places)
    spread = rng.choice(("witness", "witness", "witness", "all-pairs"))
    privacy = vr.Privacy(k=rng.choice((2, 3, 3, 4)), ell=rng.choice((60, 150, 250)), spread=spread)
    task = prepare_task(problem)
    if not FieldsEngine(task).will_have_table:  # with rules for turns junctions may have too many states
        return draw_case(seed + 10_000, has_turns=has_turns)
    space = CrowdedSpace(task, k_and_ell(problem, task, privacy))
    space.prepare(Watch())
    costs, shares = {}, {}
    for size in range(privacy.k, space.num + 1):
        sets = np.array(list(combinations(range(space.num), size)), dtype=np.int32)
        sets = sets[space.rule.qualify(sets)]
        if not len(sets):
            continue
        found, added = space.measure(sets, Watch())
        for row, cost, share in zip(sets.tolist(), found[:, 0].tolist(), added.tolist(), strict=True):
            if math.isfinite(cost):
                costs[as_members(row)], shares[as_members(row)] = cost, share
    return Case(space, costs, shares)


def draw_prices(case: Case, rng: Random) -> Prices:
    """Prices about as high as what members pay in some class, and a few cuts."""
    num = case.space.num
    duals = np.zeros(num)
    for i in range(num):
        paid = [share / len(members) for members, share in case.shares.items() if i in members]
        duals[i] = rng.uniform(-0.2, 1.3) * (rng.choice(paid) if paid else 0.1)
    cuts = tuple(as_members(rng.sample(range(num), rng.choice((3, 5)))) for _ in range(rng.choice((0, 0, 3))))
    return Prices(duals, cuts, np.array([rng.choice((0.0, 0.1, 0.4)) for _ in cuts]))


SEEDS = [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 250))]


@pytest.mark.parametrize("has_turns", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_hold_for_every_class(seed: int, has_turns: bool) -> None:
    case = draw_case(seed, has_turns=has_turns)
    rng, space = Random(seed), case.space
    for members, cost in case.costs.items():
        floors = space.floors[np.ix_(members, members)]
        assert floors.max() <= cost * (1 + 1e-9), members
        assert space.lowest[list(members)].max() <= cost * (1 + 1e-9)
    for _ in range(4):
        prices = draw_prices(case, rng)
        reduced = case.reduced(prices)
        least = min(reduced.values(), default=0.0)
        # All classes up to a threshold.
        threshold = rng.choice((-1e-9, 0.2, 0.8)) * max(1e-6, abs(least))
        found = space.search(prices, threshold, Watch())
        listed = {as_members(row[row >= 0].tolist()) for row in found.columns.sets}
        wanted = {members for members, value in reduced.items() if value <= threshold - 1e-9}
        assert found.is_complete
        assert {members for members in wanted if not case.is_split(members)} <= listed
        assert all(reduced[members] <= threshold + 1e-9 and not case.is_split(members) for members in listed)
        # The best ones, and how far below 0 others may lie; with little work allowed as well.
        for quota in (1e7, 400.0):
            priced = space.search(prices, -1e-9, Watch(), quota=quota)
            if priced.shortfalls is None:
                assert len(priced.columns)
                continue
            lowered = Prices(prices.duals + priced.shortfalls, prices.cuts, prices.cut_duals)
            assert min(case.reduced(lowered).values(), default=0.0) >= -1e-8
            if quota > 1e6 and least < -1e-6:
                assert priced.columns.reduced.min() <= 0.5 * least + 1e-9
        if len(case.costs):
            check_strolls(case, Prices(prices.duals), rng)


def check_strolls(case: Case, prices: Prices, rng: Random) -> None:
    """No class has a lower reduced cost than the least value of the strolls, however closely these are looked at."""
    strolls = CrowdStrolls(case.space, Watch())
    least = min(case.reduced(prices).values())
    for _ in range(rng.choice((1, 2))):
        found, columns = strolls.run(prices.duals, -1e-9, Watch(), -math.inf)
        assert found <= min(least, -1e-9) + 1e-8
        assert (columns.reduced <= -1e-9).all()
        strolls.sharpen()
    # A search that has found enough has not seen all levels.
    duals = 1.5 * np.abs(prices.duals)
    found = CrowdStrolls(case.space, Watch()).run(duals, -1e-9, Watch(), -1e-9)[0]
    assert found <= min(case.reduced(Prices(duals)).values()) + 1e-8


def test_all_stand_apart_where_all_pairs_must() -> None:
    domain = vr.generate_streets(7, 8, seed=10, one_way_share=0.5)
    start, goal, *places = [domain.label(node) for node in Random(10).sample(range(domain.num_nodes), 22)]
    problem = vr.Problem(domain, [vr.Trip(start, goal)], places)
    playbook = vr.solve(problem, vr.Privacy(k=4, ell=200, spread="all-pairs"), time_limit_s=2)
    assert playbook.claims.num_anonymized
    assert vr.audit(playbook).holds


def test_floors_of_many_members_remember_less_and_stop_in_time() -> None:
    case = draw_case(3, has_turns=False)
    rule = case.space.rule.renumbered(np.argsort(case.space.order))
    space = CrowdedSpace(case.space.task, rule, most_strolled=1.0)
    left = iter(range(5))
    with pytest.raises(OutOfTimeError):
        space.prepare(Watch(should_stop=lambda: next(left, None) is None))
    space.prepare(Watch())
    assert (space.floors <= case.space.floors).all()
    for members, cost in case.costs.items():
        assert space.floors[np.ix_(members, members)].max() <= cost * (1 + 1e-9), members


def test_a_stop_at_any_moment_leaves_a_plan_and_a_bound_that_holds() -> None:
    problem = door_problem(462, winding_town(462, side=4), num=9)
    task = prepare_task(problem)
    rule = k_and_ell(problem, task, vr.Privacy(k=2, ell=5))
    assert is_crowded(task, rule)
    best = partition_by_columns(problem, task, rule, watch=Watch())
    assert best.is_optimal
    assert best.least_mean is not None
    for num_looks in range(0, 40, 3):
        left = iter(range(num_looks))
        watch = Watch(should_stop=lambda left=left: next(left, None) is None)  # type: ignore[misc]
        found = partition_by_columns(problem, task, rule, watch=watch)
        assert found.least_mean is None or found.least_mean <= best.least_mean + 1e-9


@pytest.mark.slow
def test_the_same_bytes_for_any_number_of_threads() -> None:
    domain = vr.generate_streets(8, 8, seed=7)
    start, goal, *places = [domain.label(node) for node in Random(7).sample(range(domain.num_nodes), 26)]
    problem = vr.Problem(domain, [vr.Trip(start, goal)], places)
    alone, three = (vr.solve(problem, vr.Privacy(k=3, ell=250), workers=num).to_json() for num in (1, 3))
    assert alone == three
