"""Covering walks on the paper's maps, when the shared material is there."""

from __future__ import annotations

from itertools import combinations, islice
from pathlib import Path

import pytest

import veilroute as vr
from paper_instances import build_problem, read_map, read_rows
from veilroute.covering import AStarEngine, FieldsEngine, prepare_task


@pytest.mark.parametrize("radius", [0, 2, 10])
def test_engines_agree_on_the_papers_instances(shared: Path, radius: int) -> None:
    for row in islice((row for row in read_rows(shared) if row["num_candidates"] == 8), 0, None, 5):
        task = prepare_task(build_problem(shared, row, radius))
        fields = FieldsEngine(task)
        searches = [AStarEngine(task, heuristic) for heuristic in ("tunnel", "tour")]
        for group in ((0, 1), (0, 2, 4), (1, 3, 5, 6), (0, 1, 2, 3, 4, 5)):
            costs = {fields.find(group).cost, *(search.find(group).cost for search in searches)}
            assert len(costs) == 1, (row["map"], row["seed"], group)


def test_nine_targets_on_lak510d(shared: Path) -> None:
    domain = read_map(shared / "maps" / "dao" / "lak510d.map")
    ends = domain.label(0), domain.label(domain.num_nodes - 1)
    targets = vr.draw_candidates(domain, *ends, 9, seed=0)
    problem = vr.Problem(domain, [vr.Trip(*ends)], targets, vr.WithinDistance(10))
    by_fields, by_search = (vr.cover(problem, targets, engine=engine) for engine in ("fields", "astar"))
    assert by_fields.status == by_search.status == "optimal"
    assert by_fields.cost == by_search.cost


def test_pairs_and_triples_on_berlin(shared: Path) -> None:
    """Costs that come without a sweep per pair against searches, on a sample."""
    domain = read_map(shared / "maps" / "street" / "Berlin_0_256.map")
    ends = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, *ends, 30, seed=0)
    task = prepare_task(vr.Problem(domain, [vr.Trip(*ends)], candidates, vr.WithinDistance(10)))
    engine, search = FieldsEngine(task), AStarEngine(task, "tour")
    for size in (2, 3):
        sets = list(combinations(range(30), size))
        costs = engine.costs(sets)
        for at in range(0, len(sets), len(sets) // 20):
            assert costs[at] == search.find(sets[at]).cost, sets[at]
