"""Classes under a prior: the search for them and its bounds against lists of all there are; tables against columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from random import Random

import numpy as np
import pytest

import veilroute as vr
from veilroute import Rule, Watch
from veilroute.covering import CoveringTask, RiskBound, as_members, prepare_task, who_can_hide
from veilroute.kernels import mark_splitting
from veilroute.partition import (
    Partition,
    Prices,
    WeighedSpace,
    other_limits,
    partition_by_bitmask,
    partition_by_columns,
)

BETAS = (0.5, 0.4, 0.35, 0.6, 0.75)
ONE_WAY = 100  # from this seed on ways back are longer, and from the next hundred on members are seen from afar


def one_way_streets(seed: int) -> vr.Domain:
    """A ring of places, and some shortcuts in one direction."""
    rng = Random(seed)
    ends = [(node, (node + 1) % 40) for node in range(40)] + [(rng.randrange(40), rng.randrange(40)) for _ in range(50)]
    ends = [(a, b) for a, b in ends if a != b]
    tails, heads = zip(*ends, strict=True)
    return vr.Domain.from_edges(40, tails, heads, [1 + 4 * rng.random() for _ in ends])


def make(seed: int, num: int) -> tuple[vr.Problem, CoveringTask, Rule]:
    """A building with one trip or two, a prior and a risk; near members in every second one."""
    rng = Random(seed)
    domain = vr.generate_rooms(16, 16, seed=seed % 5) if seed < ONE_WAY else one_way_streets(seed)
    labels = rng.sample([domain.label(node) for node in range(domain.num_nodes)], num + 4)
    trips = [vr.Trip(labels[0], labels[1]), vr.Trip(labels[2], labels[3], 2.0)][: 1 + (seed % 3 == 0)]
    prior = [rng.random() ** 3 + 0.01 for _ in range(num)]
    seen = vr.WithinDistance(3.0) if seed >= 2 * ONE_WAY else vr.AtNode()
    problem = vr.Problem(domain, trips, labels[4:], seen, prior=prior)
    spread = rng.choice(["witness", "all-pairs"])
    return problem, *who_can_hide(
        problem, prepare_task(problem), vr.Privacy(risk=BETAS[seed % 5], ell=1 if seed % 2 else 5, spread=spread)
    )


@dataclass(frozen=True)
class Listed:
    """A space, prices with and without cuts, and all classes that are needed, with their reduced costs."""

    space: WeighedSpace
    prices: Prices

    @classmethod
    def of(cls, seed: int) -> Listed:
        _, task, rule = make(seed, 9)
        assert isinstance(rule, RiskBound)
        space = WeighedSpace(task, rule)
        space.prepare(Watch())
        rng = np.random.default_rng(seed)
        duals = rng.random(space.num) * rng.choice([0.02, 0.1, 0.4]) - 0.005
        cuts = [as_members(cut) for cut in ((0, 1, 2), (1, 3, 4, 5, 6)) if seed % 2 and max(cut) < space.num]
        return cls(space, Prices(duals, tuple(cuts), rng.random(len(cuts)) * 0.05))

    @cached_property
    def shares(self) -> dict[tuple[int, ...], float]:
        """What all classes add; impossible ones are left out."""
        found: dict[tuple[int, ...], float] = {}
        for size in range(1, self.space.num + 1):
            sets = np.array(list(combinations(range(self.space.num), size)), dtype=np.int32)
            sets = sets[self.space.rule.qualify(sets)]
            if len(sets):
                added = self.space.measure(sets, Watch())[1]
                found |= {
                    tuple(row): share for row, share in zip(sets.tolist(), added, strict=True) if share < math.inf
                }
        return found

    def reduced(self, group: tuple[int, ...]) -> float:
        one = np.array([group], dtype=np.int32)
        return float(self.prices.reduce(one, np.array([self.shares[group]]))[0])

    @cached_property
    def needed(self) -> dict[tuple[int, ...], float]:
        """The classes that do not split in two, with their reduced costs."""
        halves = {
            group: [half for size in range(1, len(group)) for half in combinations(group, size)]
            for group in self.shares
        }
        splits = {
            group
            for group, parts in halves.items()
            if any(half in self.shares and tuple(sorted({*group} - {*half})) in self.shares for half in parts)
        }
        return {group: self.reduced(group) for group in self.shares if group not in splits}

    def heaviest(self, group: tuple[int, ...]) -> int:
        return max(group, key=lambda i: (self.space.worth[i], -i))

    def least(self, heaviest: int) -> float:
        """The least reduced cost of the classes with this heaviest member, or 0."""
        return min([0.0, *(cost for group, cost in self.needed.items() if self.heaviest(group) == heaviest)])


@pytest.mark.parametrize("seed", range(30))
def test_no_class_that_is_needed_is_missed(seed: int) -> None:
    listed = Listed.of(seed)
    for threshold in (-0.02, 0.0, 0.05, 1e9):
        found = listed.space.search(listed.prices, threshold, Watch())
        assert found.is_complete
        sets = [tuple(row[row >= 0].tolist()) for row in found.columns.sets]
        assert len(set(sets)) == len(sets)
        for group, share, reduced in zip(sets, found.columns.shares, found.columns.reduced, strict=True):
            assert share == pytest.approx(listed.shares[group], abs=1e-9)
            assert reduced == pytest.approx(listed.reduced(group), abs=1e-9)
        assert {group for group, cost in listed.needed.items() if cost <= threshold - 1e-12} <= set(sets)


def test_classes_that_qualify_by_rounding_are_found() -> None:
    """Of two members with a half each one may weigh more by twice the rounding of the rule."""
    problem = make(1, 6)[0]
    problem = replace(problem, prior=[1.0, 1 + 1.6e-9] * 3)
    task, rule = who_can_hide(problem, prepare_task(problem), vr.Privacy(risk=0.5))
    assert isinstance(rule, RiskBound)
    space = WeighedSpace(task, rule)
    space.prepare(Watch())
    found = space.search(Prices(np.zeros(6)), 1e9, Watch()).columns.sets
    assert {tuple(row[:2].tolist()) for row in found if row[2] < 0} == set(combinations(range(6), 2))


@pytest.mark.parametrize("seed", range(40))
def test_bounds_of_a_search_that_ends_early_hold(seed: int) -> None:
    """However little work is done, and however small the sets are that can be priced."""
    listed = Listed.of(seed)
    space, largest = listed.space, listed.space.max_size
    for quota in (0.0, 20.0, 300.0, 3_000.0, math.inf):
        for most in (2, 3, largest):
            space.max_size = most
            found = space.search(listed.prices, -1e-12, Watch(), quota=quota)
            space.max_size = largest
            assert found.shortfalls is not None
            for member in range(space.num):
                assert found.shortfalls[member] <= listed.least(member) + 1e-9
            # So no class is too cheap at the lowered prices, and they are a bound.
            lowered = Prices(listed.prices.duals + found.shortfalls, listed.prices.cuts, listed.prices.cut_duals)
            for group in listed.needed:
                one = np.array([group], dtype=np.int32)
                assert lowered.reduce(one, np.array([listed.shares[group]]))[0] >= -1e-9
            if quota == math.inf:
                beyond = [cost for group, cost in listed.needed.items() if len(group) > most]
                assert found.least_beyond <= min(beyond, default=math.inf) + 1e-9 or min(beyond) > -1e-12


@pytest.mark.parametrize("seed", [seed for seed in (*range(24), *range(100, 109), *range(200, 209)) if seed % 3])
def test_bounds_on_classes_that_no_search_gets_to_hold(seed: int) -> None:
    """However little is looked at; and what is found on the way are classes at their reduced costs."""
    listed = Listed.of(seed)
    space = listed.space
    searched = space.search(listed.prices, -1e-12, Watch(), quota=0.0)
    for max_parts, slack in ((0, 0.0), (1, 0.0), (4, 0.0), (20, 0.01), (500, 0.0)):
        found = space.look_further(listed.prices, searched, -1e-12, slack, max_parts, Watch())
        assert found.shortfalls is not None and searched.shortfalls is not None
        for member in range(space.num):
            assert searched.shortfalls[member] <= found.shortfalls[member] <= listed.least(member) + 1e-9
        for row, share, reduced in zip(found.columns.sets, found.columns.shares, found.columns.reduced, strict=True):
            group = tuple(row[row >= 0].tolist())
            assert share == pytest.approx(listed.shares[group], abs=1e-9)
            assert reduced == pytest.approx(listed.reduced(group), abs=1e-9)


def test_bounds_on_classes_that_no_search_gets_to_are_close() -> None:
    """Where nobody is near anybody and there are no cuts, the bound is just below the best class."""
    num_short = 0
    for seed in (7, 11, 13, 17, 19, 23, 25, 29, 31, 37):
        listed = Listed.of(seed)
        listed = Listed(listed.space, Prices(listed.prices.duals))
        searched = listed.space.search(listed.prices, -1e-12, Watch(), quota=0.0)
        found = listed.space.look_further(listed.prices, searched, -1e-12, 0.0, 500, Watch())
        assert found.shortfalls is not None and searched.shortfalls is not None
        for member in np.flatnonzero(searched.shortfalls < -1e-6).tolist():
            mine = [listed.reduced(group) for group in listed.shares if listed.heaviest(group) == member]
            assert found.shortfalls[member] == pytest.approx(min(0.0, *mine), abs=0.01)
            num_short += 1
    assert num_short > 10


@pytest.mark.parametrize("beta", BETAS)
def test_sets_that_split_whatever_lighter_ones_come(beta: float) -> None:
    rng = np.random.default_rng(round(100 * beta))

    def is_class(masses: list[float]) -> bool:
        return len(masses) > 0 and max(masses) <= beta * sum(masses)

    def splits(masses: list[float]) -> bool:
        at = range(len(masses))
        ways = (set(some) for size in range(1, len(masses)) for some in combinations(at, size))
        return any(is_class([masses[i] for i in w]) and is_class([masses[i] for i in at if i not in w]) for w in ways)

    num_split = 0
    masses = np.sort(rng.random(40) + 0.1)[::-1].copy()
    for size in range(3, 11):
        rows = np.array([sorted(rng.choice(40, size, replace=False)) for _ in range(30)], dtype=np.int32)
        out = np.zeros(len(rows), dtype=np.bool_)
        mark_splitting(rows, masses, beta, out)
        num_split += int(out.sum())
        for row, is_split in zip(rows, out, strict=True):
            mine = masses[row].tolist()
            assert is_split == splits(mine)
            if is_split and size < 9:
                assert splits([*mine, mine[-1] * float(rng.random())]) and splits(
                    [*mine, mine[0] * float(rng.random())]
                )
    assert 20 < num_split < 8 * 30 - 20


def total_of(found: Partition, task: CoveringTask, rule: Rule) -> tuple[float, float]:
    """How much a partition hides, and what it adds."""
    assert isinstance(rule, RiskBound)
    space = WeighedSpace(task, rule)
    rank = np.argsort(space.order)
    priced = space.price(as_members(rank[list(members)].tolist()) for members in found.classes)
    return priced.hidden, priced.total


def check_each_other(by_table: Partition, by_columns: Partition, task: CoveringTask, rule: Rule) -> None:
    best, found = total_of(by_table, task, rule), total_of(by_columns, task, rule)
    assert by_table.is_optimal
    assert found[0] <= best[0] * (1 + 1e-9)
    if by_columns.least_mean is not None:
        assert found[0] == pytest.approx(best[0])
        assert by_columns.least_mean <= best[1] / best[0] * (1 + 1e-9)
    if by_columns.is_optimal:
        assert found == pytest.approx(best, rel=1e-9)
        assert by_columns.least_mean == pytest.approx(best[1] / best[0], rel=1e-6)


@pytest.mark.parametrize("limits", [{}, {"few": 8, "large_k": 2}], ids=["usual", "strolls"])
@pytest.mark.parametrize(
    "seed",
    [0, 1, 3, 4, 5, 6, 7, 11, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 8, 9, *range(12, 30)))],
)
def test_tables_and_columns_agree_under_a_prior(seed: int, limits: dict[str, int]) -> None:
    """What columns prove is so; where they prove nothing, they hide no more, and their bound is none too high.

    Strolls come in where classes have five members or more; large classes and others are in one programme then.
    """
    problem, task, rule = make(seed, 13 + seed % 4)
    by_table = partition_by_bitmask(problem, task, rule, watch=Watch())
    with other_limits(**limits):
        by_columns = partition_by_columns(problem, task, rule, watch=Watch())
    assert all(rule.qualify(np.array([members], dtype=np.int32)).all() for members in by_columns.classes)
    assert not by_columns.left_out or seed not in (0, 4, 6, 11)
    check_each_other(by_table, by_columns, task, rule)


def test_walks_may_cost_nothing() -> None:
    """Also past several members: the search ends, and extends such sets like others."""
    edges = [(a, a + 1, 0.0 if a < 8 else 1.0) for a in range(19)]
    tails, heads, costs = zip(*edges, *((b, a, cost) for a, b, cost in edges), strict=True)
    places = [1, 2, 3, 4, 5, 6, 10, 12, 14, 16, 18, 19, 9]
    prior = [1 / (i + 4) for i in range(13)]
    problem = vr.Problem(vr.Domain.from_edges(20, tails, heads, costs), [vr.Trip(0, 8)], places, prior=prior)
    for beta in (0.5, 0.6):
        task, rule = who_can_hide(problem, prepare_task(problem), vr.Privacy(risk=beta))
        by_table = partition_by_bitmask(problem, task, rule, watch=Watch())
        by_columns = partition_by_columns(problem, task, rule, watch=Watch())
        check_each_other(by_table, by_columns, task, rule)
