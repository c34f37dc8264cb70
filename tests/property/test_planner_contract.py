"""What every registered planner and partitioner must keep; that its plans are right is in test_engine.py."""

from __future__ import annotations

from typing import Any

import pytest

import harness
import veilroute as vr
from veilroute.partition import OPTIONS, PARTITIONERS
from veilroute.planners import PLANNERS

BOUNDED_ONLY = ("cbp", "rbp")


def test_every_planner_and_partitioner_is_in_the_harness() -> None:
    methods = [method for seed in range(20) for method in harness.methods(harness.draw_case(seed))]
    assert {method.planner for method in methods} == set(PLANNERS)
    assert {method.options.get("partitioner", "exact") for method in methods} == set(PARTITIONERS)
    own = {"partitioner", "centre", "cluster_order", "centre_heuristic", "partition", "orders_per_day"}
    assert {option for method in methods for option in method.options} == {*own, *OPTIONS}


@pytest.mark.parametrize("planner", BOUNDED_ONLY)
def test_planners_that_draw_their_beginning_need_a_finite_m(planner: str, line5: vr.Domain) -> None:
    problem = vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3])
    with pytest.raises(vr.InvalidInputError, match="Privacy.m: expected a whole number"):
        vr.solve(problem, vr.Privacy(k=2), planner=planner)


def test_options_of_another_method_are_refused(line5: vr.Domain) -> None:
    problem = vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3])
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("pbp", {"partitioner": "exact", "heuristic": "tunnel"}, "exact takes no options"),
        ("pbp", {"partitioner": "df-bb", "merge_order": "random"}, "df-bb takes branch_order"),
        ("pbp", {"partitioner": "merge-bb", "merge_order": "upwards"}, "merge order: expected one of"),
        ("pbp", {"partitioner": "df-bb", "branch_order": "last"}, "branch_order: expected one of"),
        ("pbp", {"partitioner": "naive", "engine": "fields", "heuristic": "blind"}, "none but with the engine astar"),
        ("pbp", {"partitioner": "naive", "engine": "auto"}, "engine: expected one of astar, fields, got 'auto'"),
        ("pbp", {"partitioner": "best"}, "partitioner: expected one of"),
        ("cbp", {"centre": "mean"}, "centre: expected one of furthest, sum, got 'mean'"),
        ("rbp", {"partitioner": "exact"}, "rbp takes no options"),
    ]
    for planner, options, message in refused:
        with pytest.raises(vr.InvalidInputError, match=message):
            vr.solve(problem, vr.Privacy(k=2, m=3 if planner in BOUNDED_ONLY else None), planner=planner, **options)
