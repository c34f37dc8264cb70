"""Merge-BB and DF-BB in kernels against the paper's pseudo-code."""

from __future__ import annotations

import random
from typing import Any

import pytest

import veilroute as vr
from paper_searches import Best, PlainSearch
from reference import World
from strategies import build_domain
from veilroute import Watch
from veilroute.covering import k_and_ell, prepare_task
from veilroute.partition import Partition, partition_df_bb, partition_merge_bb


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
