from __future__ import annotations

import math

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veilroute as vr
from strategies import domains
from veilroute.auditing import WalkingMap


def reference(domain: vr.Domain, source: int, *, backwards: bool) -> list[float]:
    graph = domain.to_networkx()
    lengths = nx.single_source_dijkstra_path_length(graph.reverse() if backwards else graph, source)
    return [lengths.get(node, math.inf) for node in range(domain.num_nodes)]


SEEDS = st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, 1.0, 2.5])), max_size=4)


@given(domains(max_nodes=10), SEEDS, st.booleans())
def test_distances_agree_with_networkx(domain: vr.Domain, seeds: list[tuple[int, float]], backwards: bool) -> None:
    seeds = [(node % domain.num_nodes, first) for node, first in seeds]
    fields = [[first + d for d in reference(domain, node, backwards=backwards)] for node, first in seeds]
    nearest = [min((field[node] for field in fields), default=math.inf) for node in range(domain.num_nodes)]
    assert WalkingMap(domain).distances(seeds, backwards=backwards) == pytest.approx(nearest)


@given(domains(max_nodes=10), st.integers(0, 9), st.sampled_from([0, 0.5, 1, 2, 3.4, 50]), st.booleans())
def test_near_finds_exactly_what_is_within_the_limit(
    domain: vr.Domain, source: int, limit: float, backwards: bool
) -> None:
    source %= domain.num_nodes
    # Add the limit's rounding room: sums of floats may differ in their last bit.
    limit += 1e-9
    expected = {n: d for n, d in enumerate(reference(domain, source, backwards=backwards)) if d <= limit}
    assert WalkingMap(domain).near(source, limit, backwards=backwards) == pytest.approx(expected)


@given(domains(max_nodes=10), st.integers(0, 9), st.sets(st.integers(0, 9)), st.sampled_from([1, 2, 50]))
def test_near_may_stop_early_but_never_misses_what_is_wanted(
    domain: vr.Domain, source: int, wanted: set[int], limit: float
) -> None:
    source %= domain.num_nodes
    walking = WalkingMap(domain)
    wanted = {node % domain.num_nodes for node in wanted}
    whole = walking.near(source, limit)
    part = walking.near(source, limit, wanted=wanted)
    assert {n: part.get(n) for n in wanted} == {n: whole.get(n) for n in wanted}


def test_edges_are_one_way(ring6: vr.Domain) -> None:
    walking = WalkingMap(ring6)
    assert walking.edge_cost(2, 3) == 3
    assert walking.edge_cost(3, 2) is None
    assert walking.edge_cost(2, 4) is None
    assert list(walking.edges_from(5)) == [(0, 6)]


def test_smallest_positive_cost() -> None:
    zeros = vr.Domain.from_edges(3, [0, 1], [1, 2], [0, 0])
    mixed = vr.Domain.from_edges(3, [0, 1], [1, 2], [0, 0.25])
    assert WalkingMap(zeros).smallest_positive_cost == 1
    assert WalkingMap(mixed).smallest_positive_cost == 0.25
    assert WalkingMap(vr.Domain.from_edges(2, [], [], [])).distances([(1, 0)]) == [math.inf, 0]
