"""Every way to a covering walk against every other: A* with each heuristic, fields, and a plain search."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given

import veilroute as vr
from reference import adjacency, covering_cost, watchers
from strategies import problems
from veilroute import Watch
from veilroute.covering import (
    AStarEngine,
    CoveringTask,
    FieldsEngine,
    Method,
    Node,
    PostTable,
    compute_class_costs,
    prepare_task,
    walk_cost,
)
from veilroute.kernels import Estimator, estimate_state

METHODS = [Method(by_table, back_size) for by_table in (True, False) for back_size in (0, 1, 2)]


@given(problems())
def test_the_walk_does_not_depend_on_how_fields_are_made_and_kept(problem: vr.Problem) -> None:
    task = prepare_task(problem)
    table = PostTable(task.domain, task.posts)
    engines = FieldsEngine(task), FieldsEngine(task, table=table), FieldsEngine(task, field_bytes=0)
    for trip, size in itertools.product(range(task.num_trips), range(len(task.members) + 1)):
        group = range(size)
        assert len({engine.find(group, trip).walk.tobytes() for engine in engines}) == 1
        assert math.isclose(
            AStarEngine(task, "tour", field_bytes=0).find(group, trip).cost, engines[0].find(group, trip).cost
        )


@given(problems())
def test_every_method_gives_every_subset_its_covering_cost(problem: vr.Problem) -> None:
    task = prepare_task(problem)
    assume(task.members)
    num, graph, engine = len(task.members), adjacency(problem.domain), FieldsEngine(task)
    seen = [watchers(problem, problem.candidate_nodes[i]) for i in task.members]
    needed = np.arange(1 << num) > 0
    results = [compute_class_costs(task, needed, Watch(), method).costs for method in (*METHODS, None)]
    for trip, size in itertools.product(range(task.num_trips), range(num + 1)):
        sets = list(itertools.combinations(range(num), size))
        expected = [covering_cost(graph, task.starts[trip], task.goals[trip], [seen[i] for i in s]) for s in sets]
        assert engine.costs(sets, trip) == pytest.approx(np.array(expected), rel=1e-12)
        for result in results if size else ():
            assert result[trip, [sum(1 << i for i in s) for s in sets]] == pytest.approx(np.array(expected), rel=1e-12)


def plain_astar(
    task: CoveringTask, estimator: Estimator, num: int, trip: int, seen: list[int], *, last_made: bool, leaving: bool
) -> list[int]:
    """A* with the ties that the options name, on a list that is looked through; a step costs what its edge costs."""
    domain, goal = task.domain, task.goals[trip]
    tails, heads, costs = domain.edge_arrays()
    steps: dict[int, list[tuple[int, float]]] = {node: [] for node in range(domain.num_nodes)}
    for a, b, cost in zip(tails.tolist(), heads.tolist(), costs.tolist(), strict=True):
        steps[a].append((b, cost))
    for a, own in steps.items():
        # Up, left, down, right on a grid: lower numbers ascending, then higher ones descending; or all ascending.
        own.sort(
            key=lambda step: (step[0] > a, -step[0] if step[0] > a else step[0]) if last_made else (False, step[0])
        )
    start = task.starts[trip]
    first = (start, ((1 << num) - 1) & ~seen[start])
    paid: dict[tuple[int, int], float] = {first: 0.0}
    before: dict[tuple[int, int], tuple[int, int] | None] = {first: None}
    made: dict[tuple[int, int], int] = {first: 0}
    due, num_made = {first}, 1

    def turn(state: tuple[int, int]) -> tuple[float, float, int]:
        ahead = estimate_state(estimator, state[0], state[1])
        return (paid[state] + ahead, ahead, -made[state] if last_made else made[state])

    while due:
        here = min(due, key=turn)
        due.remove(here)
        node, left = here
        left = left & ~seen[node] if leaving else left
        if node == goal and left == 0:
            walk: list[int] = []
            state: tuple[int, int] | None = here
            while state is not None:
                walk.append(state[0])
                state = before[state]
            return walk[::-1]
        for other, cost in steps[node]:
            there = (Node(other), left if leaving else left & ~seen[other])
            if paid[here] + cost < paid.get(there, math.inf):
                if there not in made or last_made:
                    made[there] = num_made
                    num_made += 1
                paid[there], before[there] = paid[here] + cost, here
                due.add(there)
    return []


@pytest.mark.parametrize("sighting", ["arriving", "leaving"])
@pytest.mark.parametrize("tie_break", ["first-made", "last-made"])
@pytest.mark.parametrize("heuristic", ["blind", "tunnel"])
def test_of_walks_of_equal_cost_the_tie_break_decides(heuristic: str, tie_break: str, sighting: str) -> None:
    """Node by node the walk of a plain search, on buildings whose many shortest walks leave it all to the ties."""
    walks = set()
    for seed in range(8):
        building = vr.generate_rooms(12, 13, seed=seed)
        start, goal = building.label(0), building.label(building.num_nodes - 1)
        places = vr.draw_candidates(building, start, goal, 4, seed=seed)
        problem = vr.Problem(building, [vr.Trip(start, goal)], places, vr.WithinDistance(seed % 3))
        task = prepare_task(problem)
        engine = AStarEngine(task, heuristic, tie_break=tie_break, sighting=sighting)
        for members in ((0,), (0, 1), (1, 2, 3)):
            seen = [
                sum(1 << bit for bit, i in enumerate(members) if node in task.posts.nodes_of(i))
                for node in range(building.num_nodes)
            ]
            found = engine.find(members)
            expected = plain_astar(
                task, engine.prepare(members), len(members), 0, seen,
                last_made=tie_break == "last-made", leaving=sighting == "leaving",
            )  # fmt: skip
            assert found.walk.tolist() == expected
            usual = AStarEngine(task, heuristic).find(members)
            assert found.cost == usual.cost
            walks.add(found.walk.tolist() == usual.walk.tolist())
    if tie_break == "last-made":
        assert False in walks, "the ties decide something"


def test_a_way_to_any_node_is_a_shortest_one() -> None:
    building = vr.generate_rooms(12, 13, seed=3)
    start, goal = building.label(0), building.label(building.num_nodes - 1)
    task = prepare_task(vr.Problem(building, [vr.Trip(start, goal)], [building.label(5)]))
    engine = AStarEngine(task, "tunnel", tie_break="last-made")
    for node in range(building.num_nodes):
        walk = engine.way_to(Node(node), 0, Watch())
        there = vr.Problem(building, [vr.Trip(start, building.label(node))], [building.label(5)])
        assert (walk[0], walk[-1], walk_cost(building, walk)) == (0, node, vr.cover(there, []).cost)
