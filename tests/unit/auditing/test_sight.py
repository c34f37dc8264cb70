from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import veilroute as vr
from reference import is_in_sight
from veilroute.auditing import SightLines

Cells = npt.NDArray[np.bool_]


def sight(rows: list[str]) -> SightLines:
    grid = vr.grid_domain(rows).grid
    assert grid is not None
    return SightLines(grid)


@given(hnp.arrays(bool, st.tuples(st.integers(1, 8), st.integers(1, 8)), elements=st.sampled_from([True, True, False])))
def test_agrees_with_the_definition(free: Cells) -> None:
    free[0, 0] = True
    grid = vr.grid_domain(free).grid
    assert grid is not None
    lines = SightLines(grid)
    cells = [grid.cell(node) for node in range(int(free.sum()))]
    for a in cells[:: max(1, len(cells) // 6)]:
        for b in cells:
            assert lines.is_clear(a, b) == lines.is_clear(b, a) == is_in_sight(free.tolist(), a, b), (a, b)


def test_brushing_one_corner_does_not_hide_but_squeezing_between_two_does() -> None:
    assert sight([".@", ".."]).is_clear((0, 0), (1, 1))
    assert not sight([".@", "@."]).is_clear((0, 0), (1, 1))
    assert not sight(["@.", ".@"]).is_clear((0, 1), (1, 0))
    assert sight(["..", ".@"]).is_clear((0, 1), (1, 0))
