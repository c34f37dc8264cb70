"""Merge-BB and DF-BB in kernels against the paper's pseudo-code over tuples and recursion."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import pytest

import veilroute as vr
from reference import World
from strategies import build_domain
from veilroute import Watch
from veilroute.covering import k_and_ell, prepare_task
from veilroute.partition import Partition, partition_df_bb, partition_merge_bb

Group = tuple[int, ...]
Groups = tuple[Group, ...]


@dataclass
class Best:
    """The best partition so far, and how often there was a better one."""

    ap: int = 0
    cost: float = math.inf
    partition: Groups = ()
    num_improvements: int = 0
    num_visited: int = 0
    num_duplicates: int = 0
    visited: set[Groups] = field(default_factory=set)


@dataclass
class PlainSearch:
    """Merge-BB (Algorithms 2 and 3) and DF-BB (supplement)."""

    world: World
    k: int
    ell: float
    best: Best = field(default_factory=Best)

    @property
    def everybody(self) -> int:
        return len(self.world.coverable)

    @property
    def rounding(self) -> float:
        return 1e-12 * self.everybody

    def measure(self, partition: Groups) -> tuple[int, float]:
        good = [group for group in partition if len(group) >= self.k]
        return sum(map(len, good)), sum(self.world.ac[group] for group in good)

    def keep(self, partition: Groups) -> None:
        ap, cost = self.measure(partition)
        self.best.num_visited += 1
        if ap > self.best.ap or (ap and ap == self.best.ap and cost < self.best.cost - self.rounding):
            self.best.ap, self.best.cost, self.best.partition = ap, cost, partition
            self.best.num_improvements += 1

    def is_prunable(self, one: Group, other: Group, cost: float) -> bool:
        if len(one) >= self.k and len(other) >= self.k:
            return True
        apart = self.world.apart
        if any(min(apart[x][y], apart[y][x]) < self.ell * (1 - 1e-9) for x, y in product(one, other)):
            return True
        if self.best.ap == self.everybody:
            allowed = self.best.cost - cost + self.world.ac[one] + self.world.ac[other]
            higher = [max(pair) for pair in zip(self.world.costs[one], self.world.costs[other], strict=True)]
            return self.world.price((*one, *other), higher) >= allowed - self.rounding
        return False

    def merge_key(self, one: Group, other: Group) -> float:
        higher = (max(pair) for pair in zip(self.world.costs[one], self.world.costs[other], strict=True))
        mean = sum(w * cost for w, cost in zip(self.world.weights, higher, strict=True))
        return mean * (len(one) + len(other))

    def merge_bb(self, partition: Groups) -> None:
        self.keep(partition)
        ap, cost = self.measure(partition)
        if len(partition) == 1 or ap == self.everybody:
            return
        if self.best.ap == self.everybody and ap and cost / ap >= (self.best.cost - self.rounding) / self.best.ap:
            return
        pairs = [pair for pair in combinations(partition, 2) if not self.is_prunable(*pair, cost)]
        for one, other in sorted(pairs, key=lambda pair: self.merge_key(*pair)):
            union = tuple(sorted((*one, *other)))
            if self.is_prunable(one, other, cost) or math.isinf(self.world.ac[union]):
                continue
            child = tuple(sorted({*partition, union} - {one, other}))
            if child in self.best.visited:
                self.best.num_duplicates += 1
            else:
                self.best.visited.add(child)
                self.merge_bb(child)

    def df_bb(self, partition: Groups, unassigned: Group, *, new_first: bool) -> None:
        if not unassigned:
            self.keep(partition)
            return
        alone, rest = unassigned[:1], unassigned[1:]
        _, cost = self.measure(partition)
        if new_first:
            self.df_bb((*partition, alone), rest, new_first=True)
        for at, group in enumerate(partition):
            if not self.is_prunable(group, alone, cost) and math.isfinite(self.world.ac[group + alone]):
                self.df_bb((*partition[:at], group + alone, *partition[at + 1 :]), rest, new_first=new_first)
        if not new_first:
            self.df_bb((*partition, alone), rest, new_first=False)

    def run_merge_bb(self) -> Best:
        if self.everybody:
            self.merge_bb(tuple((i,) for i in self.world.coverable))
        return self.best

    def run_df_bb(self, *, new_first: bool) -> Best:
        self.df_bb((), tuple(self.world.coverable), new_first=new_first)
        return self.best


def run(problem: vr.Problem, privacy: vr.Privacy, method: str, **options: Any) -> tuple[Partition, Best]:
    search, task = PlainSearch(World(problem), privacy.k, privacy.ell), prepare_task(problem)
    rule = k_and_ell(problem, task, privacy)
    if method == "merge-bb":
        return partition_merge_bb(problem, task, rule, seed=0, watch=Watch(), **options), search.run_merge_bb()
    found = partition_df_bb(problem, task, rule, seed=0, watch=Watch(), **options)
    return found, search.run_df_bb(new_first=options.get("branch_order") != "join-first")


SEARCHES = [("merge-bb", {}), ("df-bb", {}), ("df-bb", {"branch_order": "join-first"})]


@pytest.mark.parametrize(("method", "options"), SEARCHES)
def test_kernels_go_the_same_way_as_the_pseudo_code(method: str, options: dict[str, str]) -> None:
    """With whole numbers there is no rounding, so every improvement comes in the same order."""
    num_improved = 0
    for number in range(60):
        rng = random.Random(f"way-{number}")
        domain = build_domain(rng, rng.choice(["tree", "ring"]), rng.choice(["unit", "integer"]), 10)
        problem = vr.Problem(domain, [vr.Trip(0, 9)], rng.sample(range(1, 9), 7))
        privacy = vr.Privacy(rng.choice([2, 3]), rng.choice([1, 2]), spread="all-pairs")
        found, plain = run(problem, privacy, method, **options)
        names = [tuple(sorted(group)) for group in plain.partition if len(group) >= privacy.k]
        # Positions among the coverable ones: here everybody is coverable.
        assert sorted(names) == list(found.classes), number
        assert len(found.improvements) == plain.num_improvements, number
        if method == "merge-bb":
            assert (found.num_visited, found.num_duplicates) == (plain.num_visited, plain.num_duplicates), number
        num_improved += plain.num_improvements > 3
    assert num_improved > 20


def rooted(seed: int, num: int) -> vr.Problem:
    rng = random.Random(seed)
    domain = build_domain(rng, "tree", "integer", 14)
    return vr.Problem(domain, [vr.Trip(0, 13)], rng.sample(range(1, 13), num))


def test_random_orders_depend_on_the_seed() -> None:
    problem = rooted(11, 8)
    task = prepare_task(problem)
    rule = k_and_ell(problem, task, vr.Privacy(2, 1, spread="all-pairs"))
    ways = [
        partition_merge_bb(problem, task, rule, seed=seed, watch=Watch(), merge_order="random") for seed in range(5)
    ]
    assert len({tuple(i.mac for i in way.improvements) for way in ways}) > 2


def test_full_memory_of_partitions_changes_nothing() -> None:
    """Memory grows; when no more partitions can be remembered some are met twice, and the optimum stays."""
    problem = rooted(4, 9)
    task = prepare_task(problem)
    rule = k_and_ell(problem, task, vr.Privacy(3, 1, spread="all-pairs"))
    whole = partition_merge_bb(problem, task, rule, seed=0, watch=Watch())
    forgetful = partition_merge_bb(problem, task, rule, seed=0, watch=Watch(), closed_bytes=0)
    assert whole.classes == forgetful.classes
    assert whole.is_completed and forgetful.is_completed
    assert forgetful.num_visited > whole.num_visited > 1 << 12
