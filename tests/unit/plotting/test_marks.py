from __future__ import annotations

import numpy as np
import pytest

from veilroute.plotting import arrow_heads, arrows_along, spread_marks


def test_marks_with_room_stay_where_they_belong() -> None:
    places = np.array([(0.0, 0.0), (30.0, 0.0), (0.0, 30.0)])
    assert spread_marks(places, np.full(3, 6.0)).tolist() == places.tolist()


def test_marks_that_overlap_part() -> None:
    places = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0), (50.0, 0.0)])
    placed = spread_marks(places, np.full(5, 6.0))
    apart = np.hypot(*(placed[:, None] - placed[None]).transpose(2, 0, 1))
    assert apart[np.triu_indices(5, 1)].min() > 12
    assert placed[4].tolist() == [50, 0]


def test_marks_on_one_spot_part_sideways_the_earlier_to_the_left() -> None:
    placed = spread_marks(np.zeros((2, 2)), np.full(2, 6.0))
    assert placed[0, 0] < 0 < placed[1, 0]
    assert placed[:, 1].tolist() == [0, 0]


def test_arrows_point_along_the_line_and_keep_clear() -> None:
    line = np.array([(0.0, 0.0), (200.0, 0.0), (200.0, 200.0)])
    marks = np.array([(100.0, 0.0), (0.0, 0.0)])
    centres, directions = arrows_along(line, marks, clearance=10, phase=0.5)
    assert len(centres) >= 4
    for centre, (dx, dy) in zip(centres, directions, strict=True):
        assert np.hypot(*(marks - centre).T).min() >= 10
        if centre[1] < 1 and centre[0] < 190:
            assert (dx > 0, dy) == (True, 0)


def test_a_way_there_and_back_has_arrows_both_ways() -> None:
    line = np.array([(0.0, 0.0), (300.0, 0.0), (0.0, 0.0)])
    _, directions = arrows_along(line, np.zeros((0, 2)), clearance=10, phase=0.0)
    assert (directions[:, 0] > 0).any()
    assert (directions[:, 0] < 0).any()


def test_short_lines_have_no_arrows() -> None:
    centres, directions = arrows_along(np.array([(0.0, 0.0), (1.0, 0.0)]), np.zeros((0, 2)), clearance=10, phase=0)
    assert centres.shape == directions.shape == (0, 2)


def test_arrow_heads_are_where_and_as_wide_as_asked() -> None:
    (head,) = arrow_heads(np.array([(5.0, 5.0)]), np.array([(0.0, 3.0)]), 10, 4)
    assert head[0] == pytest.approx([5, 10.5])
    assert np.ptp(head[:, 0]) == pytest.approx(4)
