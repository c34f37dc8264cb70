from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import veilroute as vr
from veilroute.auditing import SightLines

Cell = tuple[int, int]
Cells = npt.NDArray[np.bool_]


def sight(rows: list[str]) -> SightLines:
    grid = vr.grid_domain(rows).grid
    assert grid is not None
    return SightLines(grid)


def is_clear_by_squares(free: Cells, a: Cell, b: Cell) -> bool:
    """The definition to the letter: clip the line against every blocked square, then look at every corner."""
    rows = range(min(a[0], b[0]), max(a[0], b[0]) + 1)
    cols = range(min(a[1], b[1]), max(a[1], b[1]) + 1)
    if any(not free[row, col] and crosses_inside(a, b, (row, col)) for row in rows for col in cols):
        return False
    for row in rows[:-1]:
        for col in cols[:-1]:
            if passes(a, b, (Fraction(2 * row + 1, 2), Fraction(2 * col + 1, 2))):
                square = free[row : row + 2, col : col + 2]
                down_right = not square[0, 0] and not square[1, 1]
                down_left = not square[0, 1] and not square[1, 0]
                if down_right or down_left:
                    return False
    return True


def crosses_inside(a: Cell, b: Cell, cell: Cell) -> bool:
    """Whether the segment has points strictly inside the unit square around ``cell``."""
    low, high = Fraction(0), Fraction(1)
    for axis in (0, 1):
        delta = b[axis] - a[axis]
        near, far = cell[axis] - Fraction(1, 2) - a[axis], cell[axis] + Fraction(1, 2) - a[axis]
        if delta == 0:
            if not near < 0 < far:
                return False
            continue
        first, last = sorted((near / delta, far / delta))
        low, high = max(low, first), min(high, last)
    return low < high


def passes(a: Cell, b: Cell, point: tuple[Fraction, Fraction]) -> bool:
    return (b[0] - a[0]) * (point[1] - a[1]) == (b[1] - a[1]) * (point[0] - a[0])


@given(hnp.arrays(bool, st.tuples(st.integers(1, 8), st.integers(1, 8)), elements=st.sampled_from([True, True, False])))
def test_agrees_with_squares_and_corners(free: Cells) -> None:
    free[0, 0] = True
    grid = vr.grid_domain(free).grid
    assert grid is not None
    lines = SightLines(grid)
    cells = [grid.cell(node) for node in range(int(free.sum()))]
    for a in cells[:: max(1, len(cells) // 6)]:
        for b in cells:
            assert lines.is_clear(a, b) == lines.is_clear(b, a) == is_clear_by_squares(free, a, b), (a, b)


def test_brushing_one_corner_does_not_hide_but_squeezing_between_two_does() -> None:
    assert sight([".@", ".."]).is_clear((0, 0), (1, 1))
    assert not sight([".@", "@."]).is_clear((0, 0), (1, 1))
    assert not sight(["@.", ".@"]).is_clear((0, 1), (1, 0))
    assert sight(["..", ".@"]).is_clear((0, 1), (1, 0))


def test_a_wall_hides_what_is_behind_it() -> None:
    lines = sight(["..@..", "....."])
    assert not lines.is_clear((0, 0), (0, 4))
    assert lines.is_clear((1, 0), (1, 4))
    assert not lines.is_clear((0, 1), (0, 3))


@pytest.mark.parametrize(("reach", "expected"), [(0, 1), (1, 5), (1.5, 9), (2, 13)])
def test_reach_is_a_straight_line_between_centres(reach: float, expected: int) -> None:
    seen = list(sight(["......."] * 7).seen_from((3, 3), reach))
    assert len(seen) == expected
    assert (3, 3) in seen
