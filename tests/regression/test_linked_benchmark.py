"""The benchmark of linked days: its observer is right, it notices what a ledger would not keep, and it runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

import linked
import veilroute as vr
from linked import Figures, Watcher, rows_of
from linked_entries import THERE, town

A, B, C, D = (0, 2), (0, 5), (2, 0), (2, 3)


def book_of(*classes: tuple[tuple[int, int], ...], refused: tuple[tuple[int, int], ...] = ()) -> vr.Playbook:
    places = [each for group in classes for each in group]
    book = vr.solve(vr.Problem(town(), [THERE], [*places, *refused]), vr.Privacy(k=2))
    groups = [replace(book.classes[0], members=members, anonymized=True) for members in classes]
    groups += [replace(book.classes[0], members=(each,), anonymized=False) for each in refused]
    return replace(book, classes=tuple(groups))


def test_the_observer_intersects_classes_and_days_without_a_route() -> None:
    watcher = Watcher()
    watcher.watch(book_of((A, B), (C, D)))
    assert watcher.share(2) == 0
    assert watcher.share(3) == 100
    watcher.watch(book_of((A, C), refused=(B, D)))
    assert watcher.left == {A: {A}, B: {B}, C: {C}, D: {D}}
    assert watcher.hidden == {A, C}
    assert watcher.share(2) == 100


def test_days_that_do_not_go_together_are_not_safe() -> None:
    good, bad = book_of((A, B), (C, D)), book_of((A, C), (B, D))
    for books, is_safe in (([good] * 20, True), ([good] * 10 + [bad] * 10, False)):
        figures = Figures()
        figures.add(2, ([book] for book in books), is_linked=True)
        assert figures.is_safe == is_safe
        assert figures.identified == [[0, 0, 0 if is_safe else 100]]


@pytest.mark.parametrize("k", [2, 3])
def test_it_runs(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"DAYS": (2, 3, 4), "NUM_CANDIDATES": 8, "NUM_NEWCOMERS": 4}.items():
        monkeypatch.setattr(linked, name, value)
    domain = vr.generate_rooms(16, 16, seed=k)
    found = {cells[2]: (cells, is_safe) for cells, is_safe, _ in rows_of(domain, "rooms", k, 1)}
    assert set(found) == set(linked.SCENARIOS)
    assert all(is_safe for _, is_safe in found.values())
    assert all(len(cells) == len(linked.HEADINGS) for cells, _ in found.values())
    assert found["swapped, kept"][0][9] == "100"
