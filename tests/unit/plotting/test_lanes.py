from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from veilroute.arrays import Points
from veilroute.plotting import Lanes, Walk, assign_lanes, cornered_path, lane_sizes, rounded_path, route_path

# 3 x 4 lattice, nodes numbered row by row.
LATTICE = np.array([(float(x), float(y)) for y in range(3) for x in range(4)])


def paths(walks: list[list[Walk]], positions: Points, gap: float) -> list[Points]:
    lanes = assign_lanes(walks, positions)
    found = []
    for i, group in enumerate(walks):
        walk = group[0]
        shifts = gap * lanes.fixed_shifts(i, walk)
        found.append(cornered_path(positions[list(walk)], lanes.normals(walk, positions), shifts))
    return found


def cross(first: Points, second: Points) -> bool:
    """Whether two lines meet; touching counts."""
    for a, b in pairwise(first):
        for c, d in pairwise(second):
            m = np.column_stack([b - a, c - d])
            if abs(np.linalg.det(m)) > 1e-12:
                s, t = np.linalg.solve(m, c - a)
                if 0 <= s <= 1 and 0 <= t <= 1:
                    return True
    return False


def test_classes_on_one_edge_get_different_lanes_and_others_reuse_them() -> None:
    lanes = assign_lanes([[[0, 1, 2]], [[2, 1]], [[2, 3]], [[8, 9]]], LATTICE)
    assert lanes.lanes == (0, 1, 0, 0)
    assert lanes.count == 2
    assert lanes.most_abreast == 2
    assert lanes.users[1, 2] == (0, 1)


def test_a_class_that_shares_nothing_runs_in_the_middle() -> None:
    lanes = assign_lanes([[[0, 1]], [[0, 1]], [[8, 9]]], LATTICE)
    assert lanes.fixed_shifts(2, [8, 9]).tolist() == [0]
    assert sorted([*lanes.fixed_shifts(0, [0, 1]), *lanes.fixed_shifts(1, [0, 1])]) == [-0.5, 0.5]


def test_unused_lanes_close_up() -> None:
    lanes = assign_lanes([[[0, 1, 2]], [[0, 1]], [[0, 1, 2]]], LATTICE)
    assert lanes.tight_shifts(0, [0, 1, 2]).tolist() == [-1, -0.5]
    assert lanes.tight_shifts(1, [0, 1]).tolist() == [0]
    assert lanes.tight_shifts(2, [2, 1, 0]).tolist() == [0.5, 1]


@pytest.mark.parametrize(
    "walk",
    [[0, 1, 5, 6, 10, 11], [8, 9, 5, 6, 2, 3], [0, 1, 2, 6, 5, 4, 8], [3, 2, 6, 10, 9]],
    ids=["stairs-down", "stairs-up", "hairpin", "mixed"],
)
def test_lanes_follow_corners_without_crossing(walk: list[int]) -> None:
    first, second = paths([[walk], [walk[::-1]]], LATTICE, 0.3)
    assert not cross(first, second)
    # Each keeps inside the cells of its nodes.
    assert np.abs(first - LATTICE[walk]).max() <= 0.15 + 1e-9


def test_a_walk_and_its_way_back_coincide() -> None:
    walk = [0, 1, 5, 1, 0]
    first, _ = paths([[walk], [[0, 1]]], LATTICE, 0.3)
    assert first == pytest.approx(first[::-1])


def test_lanes_that_must_cross_do_so_at_a_corner() -> None:
    # Out along the row, round the block and back onto it: the lane cannot keep its hand.
    around = [0, 1, 2, 6, 5, 1, 0]
    line, other = paths([[around], [[0, 1, 2, 3]]], LATTICE, 0.2)
    # The straight stays straight for both.
    assert np.ptp(other[:, 1]) == pytest.approx(0)
    assert line[0] == pytest.approx(line[-1])


def test_corner_is_where_the_shifted_lines_meet() -> None:
    points = np.array([(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)])
    normals = np.array([(0.0, 1.0), (-1.0, 0.0)])
    line = cornered_path(points, normals, np.array([1.0, 2.0]))
    assert line.tolist() == [[0, 1], [8, 1], [8, 10]]


def test_change_of_lane_on_a_straight_is_a_ramp() -> None:
    points = np.array([(0.0, 0.0), (10.0, 0.0), (20.0, 0.0)])
    normals = np.array([(0.0, 1.0), (0.0, 1.0)])
    line = cornered_path(points, normals, np.array([0.0, 2.0]))
    assert line[0].tolist() == [0, 0]
    assert line[-1].tolist() == [20, 2]
    assert line[1].tolist() == [8.5, 0]
    assert line[2].tolist() == [11.5, 2]


def test_edges_of_no_length_do_no_harm() -> None:
    positions = np.array([(0.0, 0.0), (0.0, 0.0), (1.0, 0.0), (1.0, 0.0)])
    walks: list[list[Walk]] = [[[0, 1, 2, 3]], [[3, 2, 1, 0]]]
    lanes = assign_lanes(walks, positions)
    for i, (walk,) in enumerate(walks):
        normals = lanes.normals(walk, positions)
        shifts = 0.1 * lanes.fixed_shifts(i, walk)
        assert np.isfinite(cornered_path(positions[list(walk)], normals, shifts)).all()
        assert np.isfinite(rounded_path(positions[list(walk)], normals, shifts, radius=0.2)).all()
    nowhere = positions[[0, 1]]
    assert rounded_path(nowhere, np.zeros((1, 2)), np.zeros(1), radius=1.0).tolist() == nowhere.tolist()


def test_rounded_path_keeps_its_ends_and_its_distance() -> None:
    stairs = np.array([(float((i + 1) // 2), float(i // 2)) for i in range(41)])
    walk = list(range(41))
    lanes = assign_lanes([[walk], [walk]], stairs)
    lines = [
        rounded_path(stairs, lanes.normals(walk, stairs), 4 * lanes.fixed_shifts(i, walk), radius=4.0) for i in (0, 1)
    ]
    apart = np.hypot(*(lines[0] - lines[1]).T)
    assert not cross(*lines)
    assert apart[10:-10].min() > 3.5
    assert np.hypot(*(lines[0][0] - stairs[0])) == pytest.approx(2, abs=0.1)


def test_a_walk_of_one_node_is_a_point() -> None:
    lanes = assign_lanes([[[5]], [[4, 5]]], LATTICE)
    for step in (1.0, 100.0):
        sizes = lane_sizes(lanes, step, is_grid=True)
        assert route_path(0, [5], LATTICE, lanes, sizes).tolist() == [[1, 1]]


def lanes_abreast(count: int) -> Lanes:
    return assign_lanes([[[0, 1]] for _ in range(count)], LATTICE)


def test_lanes_stay_inside_large_cells() -> None:
    sizes = lane_sizes(lanes_abreast(5), 30.0, is_grid=True)
    assert sizes.is_fixed
    assert sizes.radius == 0
    assert 5 * sizes.gap <= 30
    assert sizes.width < sizes.gap


def test_lanes_leave_cells_too_small_to_tell_them_apart() -> None:
    sizes = lane_sizes(lanes_abreast(5), 3.0, is_grid=True)
    assert not sizes.is_fixed
    assert sizes.gap > 2
    assert sizes.radius > 0


def test_many_lanes_keep_to_a_narrow_bundle() -> None:
    sizes = lane_sizes(lanes_abreast(40), 3.0, is_grid=True)
    assert 40 * sizes.gap < 30
    assert sizes.width > 0
