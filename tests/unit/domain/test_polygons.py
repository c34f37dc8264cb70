"""Exact geometry against plain Python: winding numbers and fractions."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from plain_flight import is_in, is_on, is_simple, meeting, random_ring, winding_number
from veilroute.domain import MOST, Shape, crossing_of, touches, without_repeats

CASES = [pytest.param(40), pytest.param(2000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("num_cases", CASES)
def test_points_are_inside_by_their_winding_number(num_cases: int) -> None:
    rng = Random(1)
    for _ in range(num_cases):
        ring = random_ring(rng, (0, 0), 10_000, rng.choice([1, 1000]))
        points = [(rng.randrange(-10, 11) * 1000, rng.randrange(-10, 11) * 1000) for _ in range(50)]
        inside = Shape((np.array(ring),)).holds(np.array(points)).tolist()
        assert inside == [is_in([ring], point) for point in points]
        free = [i for i, point in enumerate(points) if not is_on(ring, point)]
        assert [inside[i] for i in free] == [winding_number(ring, points[i]) != 0 for i in free]


@pytest.mark.parametrize("num_cases", CASES)
def test_segments_touch_as_fractions_say(num_cases: int) -> None:
    rng = Random(2)
    span = 3  # few coordinates, so that ends meet, lines run together and points lie on lines
    rows: list[list[int]] = []
    while len(rows) < 50 * num_cases:
        row = [rng.randint(0, span) for _ in range(8)]
        if row[:2] != row[2:4] and row[4:6] != row[6:]:
            rows.append(row)
    found = touches(np.array(rows)[:, :4], np.array(rows)[:, 4:]).tolist()
    for (px, py, qx, qy, ax, ay, bx, by), touching in zip(rows, found, strict=True):
        assert touching == bool(meeting(((px, py), (qx, qy)), ((ax, ay), (bx, by))))


def test_the_last_millimetre_decides_at_the_largest_coordinates() -> None:
    far = MOST - 1
    line = [-far, -far, far, far - 1]
    for y, expected in ((far - 1, True), (far, False)):
        other = [[far, y, far, far]]
        assert touches(np.array([line]), np.array(other)).tolist() == [expected]
        assert bool(meeting(((-far, -far), (far, far - 1)), ((far, y), (far, far + (y == far))))) == expected


@pytest.mark.parametrize("num_cases", CASES)
def test_rings_that_cross_themselves_are_found(num_cases: int) -> None:
    rng = Random(3)
    num_simple = 0
    for _ in range(10 * num_cases):
        corners = np.array([(rng.randint(0, 5), rng.randint(0, 5)) for _ in range(rng.randint(3, 7))])
        ring = without_repeats(corners)
        if len(ring) >= 3:
            plain = [(int(x), int(y)) for x, y in ring.tolist()]
            assert (crossing_of(ring) is None) == is_simple(plain), plain
            num_simple += is_simple(plain)
    assert num_simple > num_cases


def test_of_neighbours_exactly_one_holds_their_border() -> None:
    left, right = ([(0, 0), (5, 1), (3, 9), (0, 9)], [(5, 1), (9, 0), (9, 9), (3, 9)])
    points = np.array([(x, y) for x in range(1, 9) for y in range(2, 9)])
    held = [Shape((np.array(ring),)).holds(points) for ring in (left, right)]
    assert (held[0] ^ held[1]).all()
    assert (np.array([4, 5]) == points).all(axis=1).any()


def test_a_hole_is_outside_and_takes_its_area_away() -> None:
    square = np.array([(0, 0), (10, 0), (10, 10), (0, 10)])
    shape = Shape((square, square // 5 + 4))
    assert shape.area_mm2 == 96
    assert shape.holds(np.array([[5, 5], [2, 2], [12, 5]])).tolist() == [False, True, False]
