"""Sweeps against scipy's Dijkstra."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

import veilroute as vr
from strategies import domains
from veilroute.covering import Sweeper


def scipy_distances(domain: vr.Domain, node: int, *, backward: bool) -> np.ndarray:
    # scipy takes an explicit zero for "no edge", so zero costs are nudged and the result is compared with a tolerance.
    costs = np.maximum(domain.costs.astype(float), 1e-13)
    shape = (domain.num_nodes, domain.num_nodes)
    matrix = csr_matrix((costs, domain.indices.astype(np.int32), domain.indptr.astype(np.int32)), shape=shape)
    return np.asarray(dijkstra(matrix.T if backward else matrix, indices=node))


@given(domains(max_nodes=20), st.data(), st.booleans())
def test_single_source(domain: vr.Domain, data: st.DataObject, backward: bool) -> None:
    node = data.draw(st.integers(0, domain.num_nodes - 1))
    sweeper = Sweeper(domain, backward=backward, num_seeds=1)
    found = sweeper.run(node) * sweeper.unit
    assert found == pytest.approx(scipy_distances(domain, node, backward=backward), abs=1e-9)


@given(domains(max_nodes=20), st.data())
def test_limit_leaves_further_nodes_out(domain: vr.Domain, data: st.DataObject) -> None:
    node = data.draw(st.integers(0, domain.num_nodes - 1))
    limit = data.draw(st.sampled_from([0.0, 1.0, 2.5]))
    sweeper = Sweeper(domain, backward=False, num_seeds=1)
    full = sweeper.run(node).copy()
    cut = sweeper.run(node, limit)
    assert np.array_equal(cut, np.where(full <= limit, full, np.inf))


@given(domains(max_nodes=20), st.data())
def test_many_seeds(domain: vr.Domain, data: st.DataObject) -> None:
    nodes = data.draw(st.lists(st.integers(0, domain.num_nodes - 1), min_size=1, max_size=5))
    values = [float(data.draw(st.integers(0, 6))) for _ in nodes]
    sweeper = Sweeper(domain, backward=False, num_seeds=len(nodes))
    expected = np.full(domain.num_nodes, np.inf)
    for node, value in zip(nodes, values, strict=True):
        expected = np.minimum(expected, sweeper.run(node) + value)
    found = sweeper.run_from(np.array(nodes, dtype=np.uint32), np.array(values))
    assert found == pytest.approx(expected)


@given(domains(max_nodes=20), st.data())
def test_followed_paths_are_shortest(domain: vr.Domain, data: st.DataObject) -> None:
    node = st.integers(0, domain.num_nodes - 1)
    start, goal = data.draw(node), data.draw(node)
    sweeper = Sweeper(domain, backward=True, num_seeds=1)
    expected = float(sweeper.run(goal)[start]) * sweeper.unit
    if not np.isfinite(expected):
        return
    path = sweeper.follow(start).tolist()
    edges = {(a, b): c for a, b, c in zip(*(x.tolist() for x in domain.edge_arrays()), strict=True)}
    assert (path[0], path[-1]) == (start, goal)
    assert sum(edges[step] for step in itertools.pairwise(path)) == pytest.approx(expected)
