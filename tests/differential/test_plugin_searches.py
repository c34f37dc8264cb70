"""Merge orders and heuristics that come as plug-ins run the same searches as the built-in ones with the same text."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import veilroute as vr
from strategies import privacies, problems
from veilroute import Watch
from veilroute.base.registry import Plugin
from veilroute.covering import HEURISTICS, AStarEngine, k_and_ell, prepare_task
from veilroute.partition import MERGE_ORDERS, partition_merge_bb

COST_ASC = runpy.run_path(str(Path(__file__).resolve().parents[2] / "docs" / "examples" / "cost_asc.py"))["cost_asc"]


def tunnel(estimator: Any, node: int, left: int) -> float:
    if left == 0:
        return float(estimator.to_goal[node])
    furthest, last = 0.0, np.inf
    for u in range(estimator.ends.size):
        if (left >> u) & 1:
            furthest = max(furthest, estimator.reach[estimator.reach_rows[u], node])
            last = min(last, estimator.ends[u])
    return furthest + last


@pytest.fixture(scope="module", autouse=True)
def plugins() -> Any:
    for table, function in ((MERGE_ORDERS, COST_ASC), (HEURISTICS, tunnel)):
        entry: Any = table._adapt(Plugin(table.kind, "own", "tests", function))
        table["own"] = entry
    yield
    del MERGE_ORDERS["own"], HEURISTICS["own"]


@settings(max_examples=60)
@given(problem=problems(max_nodes=10, max_candidates=7), privacy=privacies())
def test_as_plugins_they_are_the_same_searches(problem: vr.Problem, privacy: vr.Privacy) -> None:
    task = prepare_task(problem)
    rule, everyone = k_and_ell(problem, task, privacy), range(len(task.members))
    ours, theirs = (
        partition_merge_bb(problem, task, rule, seed=0, watch=Watch(), merge_order=order)
        for order in ("cost-asc", "own")
    )
    assert (ours.classes, ours.left_out, ours.is_completed) == (theirs.classes, theirs.left_out, theirs.is_completed)
    assert (ours.num_visited, ours.num_duplicates) == (theirs.num_visited, theirs.num_duplicates)
    for trip in range(task.num_trips):
        one, other = (AStarEngine(task, name).find(everyone, trip) for name in ("tunnel", "own"))
        assert (one.walk.tolist(), one.cost, one.status) == (other.walk.tolist(), other.cost, other.status)
        assert (one.counts.num_expanded, one.counts.num_generated) == (
            other.counts.num_expanded, other.counts.num_generated
        )  # fmt: skip
