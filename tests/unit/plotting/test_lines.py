"""Where lines are put: lanes beside each other, and layouts of graphs without coordinates."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from veilroute.plotting import (
    assign_lanes,
    cornered_path,
    lane_sizes,
    lay_out,
    rounded_path,
    route_path,
)

Line = np.ndarray[Any, np.dtype[np.float64]]
# 3 x 4 lattice, nodes numbered row by row.
LATTICE = np.array([(float(x), float(y)) for y in range(3) for x in range(4)])


def paths(walks: list[list[list[int]]], positions: Line, gap: float) -> list[Line]:
    lanes = assign_lanes(walks, positions)
    found = []
    for i, (walk,) in enumerate(walks):
        shifts = gap * lanes.fixed_shifts(i, walk)
        found.append(np.asarray(cornered_path(positions[walk], lanes.normals(walk, positions), shifts)))
    return found


def cross(first: Line, second: Line) -> bool:
    """Whether two lines meet; touching counts."""
    for a, b in pairwise(first):
        for c, d in pairwise(second):
            m = np.column_stack([b - a, c - d])
            if abs(np.linalg.det(m)) > 1e-12:
                s, t = np.linalg.solve(m, c - a)
                if 0 <= s <= 1 and 0 <= t <= 1:
                    return True
    return False


def apart(points: Line) -> float:
    """How far the nearest two of some points are apart."""
    distances = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    return float(distances[np.triu_indices(len(points), 1)].min())


def test_classes_on_one_edge_have_their_own_lanes_and_others_use_them_again() -> None:
    lanes = assign_lanes([[[0, 1, 2]], [[2, 1]], [[2, 3]], [[8, 9]]], LATTICE)
    assert (lanes.lanes, lanes.count, lanes.most_abreast) == ((0, 1, 0, 0), 2, 2)
    assert lanes.fixed_shifts(3, [8, 9]).tolist() == [0], "who shares nothing runs in the middle"
    lanes = assign_lanes([[[0, 1, 2]], [[0, 1]], [[0, 1, 2]]], LATTICE)
    tight = [lanes.tight_shifts(i, walk).tolist() for i, walk in enumerate(([0, 1, 2], [0, 1], [2, 1, 0]))]
    assert tight == [[-1, -0.5], [0], [0.5, 1]], "lanes that nobody uses close up"


@pytest.mark.parametrize("walk", [[0, 1, 5, 6, 10, 11], [8, 9, 5, 6, 2, 3], [0, 1, 2, 6, 5, 4, 8], [3, 2, 6, 10, 9]])
def test_lanes_follow_corners_without_crossing(walk: list[int]) -> None:
    first, second = paths([[walk], [walk[::-1]]], LATTICE, 0.3)
    assert not cross(first, second)
    # Each keeps inside the cells of its nodes, and a way back is the way there.
    assert np.abs(first - LATTICE[walk]).max() <= 0.15 + 1e-9
    there, _ = paths([[walk + walk[-2::-1]], [walk[:2]]], LATTICE, 0.3)
    assert there == pytest.approx(there[::-1])


def test_edges_of_no_length_do_no_harm() -> None:
    positions = np.array([(0.0, 0.0), (0.0, 0.0), (1.0, 0.0), (1.0, 0.0)])
    walks = [[[0, 1, 2, 3]], [[3, 2, 1, 0]]]
    lanes = assign_lanes(walks, positions)
    for i, (walk,) in enumerate(walks):
        normals, shifts = lanes.normals(walk, positions), 0.1 * lanes.fixed_shifts(i, walk)
        assert np.isfinite(cornered_path(positions[walk], normals, shifts)).all()
        assert np.isfinite(rounded_path(positions[walk], normals, shifts, radius=0.2)).all()
    for step in (1.0, 100.0):
        point = assign_lanes([[[5]], [[4, 5]]], LATTICE)
        assert route_path(0, [5], LATTICE, point, lane_sizes(point, step, is_grid=True)).tolist() == [[1, 1]]


def test_graphs_are_laid_out_as_they_hang_together(line5: vr.Domain, ring6: vr.Domain) -> None:
    line, ring = lay_out(line5), lay_out(ring6)
    assert np.diff(line[:, 0]) == pytest.approx(1, abs=0.05) and np.ptp(line[:, 1]) < 0.1
    radii = np.hypot(*(ring - ring.mean(axis=0)).T)
    assert np.ptp(radii) < 0.05 * radii.mean()
    assert apart(lay_out(vr.Domain.from_edges(5, [0, 0, 0, 0], [1, 2, 3, 4], [1] * 4))) > 0.3
    domain = vr.generate_streets(6, 6, seed=2)
    assert lay_out(domain).tobytes() == lay_out(domain).tobytes()
    for num in (1, 2, 3):
        assert np.isfinite(lay_out(vr.Domain.from_edges(num, [], [], []))).all()
