from __future__ import annotations

import numpy as np
import pytest

import veilroute as vr
from veilroute.plotting import lay_out


def test_a_line_is_laid_out_straight_from_left_to_right(line5: vr.Domain) -> None:
    points = lay_out(line5)
    assert np.diff(points[:, 0]) == pytest.approx(1, abs=0.05)
    assert np.ptp(points[:, 1]) < 0.1


def test_a_ring_is_laid_out_round(ring6: vr.Domain) -> None:
    points = lay_out(ring6)
    radii = np.hypot(*(points - points.mean(axis=0)).T)
    assert np.ptp(radii) < 0.05 * radii.mean()


def test_same_graph_same_layout() -> None:
    domain = vr.generate_streets(6, 6, seed=2)
    assert lay_out(domain).tobytes() == lay_out(domain).tobytes()


def test_nodes_with_the_same_neighbours_part() -> None:
    star = vr.Domain.from_edges(5, [0, 0, 0, 0], [1, 2, 3, 4], [1] * 4)
    points = lay_out(star)
    apart = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    assert apart[np.triu_indices(5, 1)].min() > 0.3


def test_parts_that_are_not_connected_stand_apart() -> None:
    points = lay_out(vr.Domain.from_edges(4, [0, 2], [1, 3], [1, 1]))
    assert np.hypot(*(points[0] - points[2])) > np.hypot(*(points[0] - points[1]))


def test_large_graphs_are_laid_out_from_pivots() -> None:
    nodes = np.arange(449)
    points = lay_out(vr.Domain.from_edges(450, nodes, nodes + 1, np.ones(449, dtype=int)))
    assert (np.diff(points[:, 0]) > 0).all()


@pytest.mark.parametrize("num_nodes", [1, 2, 3])
def test_tiny_graphs(num_nodes: int) -> None:
    tails = list(range(num_nodes - 1))
    points = lay_out(vr.Domain.from_edges(num_nodes, tails, [t + 1 for t in tails], [1] * len(tails)))
    assert points.shape == (num_nodes, 2)
    assert np.isfinite(points).all()


def test_graph_without_edges() -> None:
    points = lay_out(vr.Domain.from_edges(3, [], [], []))
    assert np.isfinite(points).all()
