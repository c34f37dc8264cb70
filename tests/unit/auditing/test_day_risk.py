"""What the auditor works out of a day's orders, beside the fleet's own figures and by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import veilroute as vr
from veilroute import Underway
from veilroute.auditing import observe_day
from veilroute.fleet import expose

START = (0, 0)


def book_of(sizes: list[int], ell: float = 0) -> vr.Playbook:
    """A playbook with classes of these sizes, along two streets; routes do not matter here."""
    num = sum(sizes)
    domain = vr.grid_domain(["." * (num + 1), "." * (num + 1)])
    places = [(1, col) for col in range(1, num + 1)]
    book = vr.solve(vr.Problem(domain, [vr.Trip(START, START)], places[:2]), vr.Privacy(k=2))
    ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
    groups = [places[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    classes = [replace(book.classes[0], members=tuple(group), anonymized=True) for group in groups]
    privacy = replace(book.privacy, ell=ell)
    return replace(book, candidates=tuple(places), classes=tuple(classes), certificate=None, privacy=privacy)


def day_of(book: vr.Playbook, touched: list[int], **given: Any) -> vr.Day:
    terms = vr.Terms((vr.Van(START, START),), **given)
    return vr.Day(book.sha256, terms, tuple(touched), (vr.Tour((), (), (), 0),), 0, 0)


@pytest.mark.parametrize("pad_to", [None, 3])
def test_an_area_over_two_classes(pad_to: int | None) -> None:
    """Neighbours of two classes that are both driven: that neither has ordered is less probable than for each."""
    book = book_of([2, 2, 2], ell=2)
    day = day_of(book, [1, 2, 3], rate=0.3, pad_to=pad_to)
    found, one = observe_day(book, day), 0.3 / (1 - 0.7**2)
    if pad_to is None:
        assert found.worst_place == pytest.approx(one)
        assert found.worst_area == pytest.approx(1.0)  # both members of one class
        found = observe_day(book_of([2, 2, 2]), day_of(book_of([2, 2, 2]), [1, 2, 3], rate=0.3))
        assert found.worst_area == found.worst_place
    else:  # all are driven on every day, so nothing is learnt
        assert found.worst_place == pytest.approx(0.3)
        assert found.worst_area == pytest.approx(1 - 0.7**2)
    assert found.num_possible == 2


def test_it_agrees_with_the_fleet_where_no_rate_is_said() -> None:
    book = book_of([3, 2, 4, 2], ell=3)
    for given in ({}, {"pad_to": 3}, {"always": (2,)}, {"rate": 0.0}, {"rate": 1e-30, "pad_to": 3}):
        day = day_of(book, [1, 2, 4], **given)
        found, shown = observe_day(book, day), vr.exposure(book, day)
        assert found.num_possible == shown.smallest_left
        assert found.worst_place == pytest.approx(shown.worst, abs=1e-12)
        assert found.worst_area == pytest.approx(shown.worst_area, abs=1e-12)


@pytest.mark.slow
def test_numbers_of_dummies_beyond_floats() -> None:
    book = book_of([2] * 1100)
    day = day_of(book, list(range(1, 551)), rate=0.01, pad_to=550)
    assert observe_day(book, day).worst_place == pytest.approx(vr.exposure(book, day).worst, rel=1e-6)


def test_what_is_not_worked_out_of_the_rest_of_a_day_is_said() -> None:
    book = book_of([3, 2])
    whole = day_of(book, [1, 2], rate=0.1)
    after = Underway("0" * 64, vr.Closure(), (), dropped=((1, 1),))
    found = observe_day(book, replace(whole, after=after))
    assert found[:3] == (2, None, None)
    assert [value for _, value in found.rows()] == ["at least 2", "not worked out", "not worked out"]


def test_areas_of_many_places_are_found_and_not_bounded() -> None:
    """Eighty places on a free square: the auditor looks at all areas, as the fleet's own figures do."""
    domain = vr.grid_domain(["." * 9] * 9)
    places = [(row, col) for row in range(9) for col in range(9) if (row, col) != START]
    problem = vr.Problem(domain, [vr.Trip(START, START)], places)
    book = vr.solve(problem, vr.Privacy(k=2, ell=4), planner="constructive")
    day = day_of(book, list(range(1, len(book.hidden_classes) + 1)), rate=0.02)
    assert observe_day(book, day).worst_area == pytest.approx(expose(book, day.touched, day.terms).worst_area)
