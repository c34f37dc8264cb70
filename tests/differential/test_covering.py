"""Covering costs and walks against a search over (node, what is covered)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given

import veilroute as vr
from reference import Adjacency, adjacency, covering_cost, watchers
from strategies import problems
from veilroute import Watch
from veilroute.covering import CoveringTask, FieldsEngine, Method, PostTable, compute_class_costs, prepare_task

METHODS = [Method(by_table, back_size) for by_table in (True, False) for back_size in (0, 1, 2)]


def members_of(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def open_problem(problem: vr.Problem) -> tuple[CoveringTask, Adjacency, list[set[int]]]:
    """The task, the graph as plain lists, and the watchers of each member; skips problems with nothing to cover."""
    task = prepare_task(problem)
    assume(task.members)
    return task, adjacency(problem.domain), [watchers(problem, problem.candidate_nodes[i]) for i in task.members]


@given(problems())
def test_every_method_gives_every_subset_its_covering_cost(problem: vr.Problem) -> None:
    task, graph, seen = open_problem(problem)
    num = len(seen)
    needed = np.ones(1 << num, dtype=bool)
    needed[0] = False
    results = [compute_class_costs(task, needed, Watch(), method).costs for method in (*METHODS, None)]
    for trip in range(task.num_trips):
        for mask in range(1, 1 << num):
            group = [seen[i] for i in members_of(mask)]
            expected = covering_cost(graph, task.starts[trip], task.goals[trip], group)
            for result in results:
                assert result[trip, mask] == pytest.approx(expected, rel=1e-12)


@given(problems())
def test_walks_cover_their_class_at_its_cost(problem: vr.Problem) -> None:
    task, graph, seen = open_problem(problem)
    num = len(seen)
    finders = [FieldsEngine(task), FieldsEngine(task, table=PostTable(problem.domain, task.posts))]
    for trip in range(task.num_trips):
        for mask in range(1, 1 << num):
            group = members_of(mask)
            expected = covering_cost(graph, task.starts[trip], task.goals[trip], [seen[i] for i in group])
            if not np.isfinite(expected):
                continue
            found = [finder.find(group, trip) for finder in finders]
            for each in found:
                nodes, cost = each.walk.tolist(), each.cost
                assert (each.status, each.lower_bound) == ("optimal", cost)
                assert nodes[0] == task.starts[trip]
                assert nodes[-1] == task.goals[trip]
                total = sum(dict(graph[a])[b] for a, b in itertools.pairwise(nodes))
                assert cost == pytest.approx(total)
                assert cost == pytest.approx(expected)
                assert all(seen[i] & set(nodes) for i in group)
            assert found[0].walk.tolist() == found[1].walk.tolist(), "the walk must not depend on the method"


@given(problems())
def test_base_costs_and_coverability(problem: vr.Problem) -> None:
    task = prepare_task(problem)
    graph = adjacency(problem.domain)
    for position in problem.counted:
        seen = watchers(problem, problem.candidate_nodes[position])
        trips = zip(problem.start_nodes, problem.goal_nodes, strict=True)
        costs = [covering_cost(graph, s, g, [seen]) for s, g in trips]
        if all(np.isfinite(costs)):
            assert task.base_costs[:, task.members.index(position)] == pytest.approx(costs)
        else:
            assert position in task.uncoverable
