from __future__ import annotations

import heapq
from collections import defaultdict
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from veilroute.domain import largest_component, strong_components
from veilroute.streets import join_segments


@st.composite
def street_plans(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, int]]]:
    """Walks over few nodes, each in one direction or both, so that chains, rings and parallel stretches occur."""
    num_nodes = draw(st.integers(2, 12))
    node = st.integers(0, num_nodes - 1)
    segments = []
    for nodes in draw(st.lists(st.lists(node, min_size=2, max_size=7), min_size=1, max_size=5)):
        is_two_way = draw(st.booleans())
        for tail, head in pairwise(nodes):
            if tail != head:
                length = draw(st.integers(1, 9))
                segments.append((tail, head, length))
                if is_two_way:
                    segments.append((head, tail, length))
    return num_nodes, segments


def distances(edges: list[tuple[int, int, int]], start: int) -> dict[int, int]:
    """Plain Dijkstra."""
    after = defaultdict(list)
    for tail, head, length in edges:
        after[tail].append((head, length))
    found: dict[int, int] = {}
    heap = [(0, start)]
    while heap:
        far, node = heapq.heappop(heap)
        if node not in found:
            found[node] = far
            for head, length in after[node]:
                heapq.heappush(heap, (far + length, head))
    return found


@settings(max_examples=150, deadline=None)
@given(street_plans())
def test_joining_keeps_lengths_and_all_distances_between_junctions(
    plan: tuple[int, list[tuple[int, int, int]]],
) -> None:
    num_nodes, segments = plan
    tails, heads, lengths = np.array(segments, dtype=np.int64).reshape(-1, 3).T
    chains = join_segments(num_nodes, tails, heads)
    assert sorted(chains.segments.tolist()) == list(range(len(segments))), "each segment is in one edge"
    edges = []
    for first, last in zip(chains.ptr[:-1], chains.ptr[1:], strict=True):
        parts = chains.segments[first:last]
        assert (heads[parts[:-1]] == tails[parts[1:]]).all()
        assert not chains.is_junction[heads[parts[:-1]]].any()
        edges.append((int(tails[parts[0]]), int(heads[parts[-1]]), int(lengths[parts].sum())))
    for start in np.flatnonzero(chains.is_junction).tolist():
        plain = distances(segments, start)
        assert distances(edges, start) == {n: far for n, far in plain.items() if chains.is_junction[n]}


@settings(max_examples=100, deadline=None)
@given(street_plans())
def test_components_are_those_of_mutual_reach(plan: tuple[int, list[tuple[int, int, int]]]) -> None:
    num_nodes, segments = plan
    tails, heads, _ = np.array(segments, dtype=np.int64).reshape(-1, 3).T
    reach = [set(distances(segments, node)) for node in range(num_nodes)]
    groups = [[n for n in range(num_nodes) if n in reach[node] and node in reach[n]] for node in range(num_nodes)]
    component = strong_components(num_nodes, tails, heads)
    assert [np.flatnonzero(component == each).tolist() for each in component] == groups
    assert np.flatnonzero(largest_component(num_nodes, tails, heads)).tolist() == max(groups, key=len)
