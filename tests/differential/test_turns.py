"""Legal walks against brute force over histories of nodes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import veilroute as vr
from plain_turns import cheapest, drawn_problem, is_legal, neighbours
from veilroute.covering import StateGraph, Sweeper, search_graph

SEEDS = [*range(60), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(60, 1000))]


@pytest.mark.parametrize("num_closed", [0, 5])
@pytest.mark.parametrize("seed", SEEDS)
def test_covering_walks_are_the_cheapest_legal_ones(seed: int, num_closed: int) -> None:
    problem, edges, turns = drawn_problem(seed, num_closed)
    trip = problem.trips[0]
    assert isinstance(trip.start, int)
    assert isinstance(trip.goal, int)
    targets = problem.candidate_nodes
    least = cheapest(edges, turns, trip.start, trip.goal, targets)
    for engine in ("astar", "fields"):
        found = vr.cover(problem, problem.candidates, engine=engine)
        assert found.cost == pytest.approx(least)
        if math.isinf(least):
            assert not found.walk
            continue
        assert found.walk[0] == trip.start
        assert found.walk[-1] == trip.goal
        assert set(targets) <= set(found.walk)
        assert is_legal(found.walk, neighbours(edges), turns)


@pytest.mark.parametrize("seed", SEEDS)
def test_shortcuts_find_the_same_distances(seed: int) -> None:
    problem, _, _ = drawn_problem(2 * seed)
    search = search_graph(problem.domain, [(problem.start_nodes[0],)], problem.goal_nodes)
    if not isinstance(search.graph, StateGraph) or search.graph.shortcuts is None:
        return
    everything = np.arange(search.graph.num_nodes, dtype=np.uint32)
    inside = everything[~np.isin(everything, list(search.graph.ends))]
    for posts in (inside, np.concatenate([inside, inside[::2]]), everything):  # several candidates may be at one spot
        quick, plain = np.empty((2, posts.size, posts.size))
        sweeper = Sweeper(search.graph, backward=False, num_seeds=1)
        sweeper.fill_rows(posts, posts, quick)
        for row, post in zip(plain, posts.tolist(), strict=True):
            row[:] = sweeper.run(post)[posts]
        assert np.array_equal(quick, plain)


@pytest.mark.parametrize("seed", SEEDS)
def test_states_turned_round(seed: int) -> None:
    problem, _, _ = drawn_problem(seed)
    graph = search_graph(problem.domain, [(problem.start_nodes[0],)], problem.goal_nodes).graph
    plain = vr.Domain.from_edges(graph.num_nodes, *graph.edge_arrays())
    for one, other in zip(graph.reversed_rows, plain.reversed_rows, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("seed", SEEDS)
def test_plans_of_every_engine_agree_where_candidates_are_seen_from_afar(seed: int) -> None:
    """The goal may see candidates: a trip that ends there covers them."""
    problem, edges, turns = drawn_problem(seed)
    seen = vr.Problem(problem.domain, problem.trips, problem.candidates, vr.WithinDistance(4))
    found = [vr.cover(seen, seen.candidates, engine=engine) for engine in ("astar", "fields")]
    assert found[0].cost == pytest.approx(found[1].cost)
    out = neighbours(edges)
    assert all(is_legal(one.walk, out, turns) for one in found)
    if len(seen.candidates) > 1 and math.isfinite(found[0].cost):
        book = vr.solve(seen, vr.Privacy(k=len(seen.candidates), ell=0))
        if book.hidden_classes:
            assert book.hidden_classes[0].routes[0].cost == pytest.approx(found[0].cost)
