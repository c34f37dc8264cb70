"""Legal walks against brute force over histories of nodes."""

from __future__ import annotations

import numpy as np
import pytest

import veilroute as vr
from plain_turns import drawn_problem
from veilroute.covering import StateGraph, Sweeper, search_graph

SEEDS = [*range(60), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(60, 1000))]


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
