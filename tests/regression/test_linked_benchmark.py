"""The benchmarks of linked days: their observers are right, notice what a ledger would not keep, and they run."""

from __future__ import annotations

from pathlib import Path

import pytest

import linked
import linked_weeks
import veilroute as vr
from linked import Figures, rows_of
from linked_entries import book_of
from risk import linked_tables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "risk.rst"
A, B, C, D = (0, 2), (0, 5), (2, 0), (2, 3)


def test_days_that_do_not_go_together_are_not_safe() -> None:
    good, bad = book_of([A, B], [C, D]), book_of([A, C], [B, D])
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


@pytest.mark.parametrize("promise", linked_weeks.PROMISES)
def test_linked_weeks_keep_what_was_promised_under_their_own_assumption(
    promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Newcomers and leavers each week; the observer compares routes and nothing else."""
    privacy, *_ = linked_weeks.PROMISES[promise]
    monkeypatch.setattr(linked_weeks, "PROMISES", {promise: (privacy, 8, 10)})
    rows = list(linked_weeks.rows_of(5, 2))
    assert all(is_kept for _, is_kept in rows)
    assert [cells[0] for cells, _ in rows] == ["occasional", "occasional", "expected", "expected"]
    assert [cells[7] for cells, _ in rows] == ["occasional", "(expected)", "expected", "(occasional)"]
    if privacy.risk is None:
        assert int(rows[1][0][8]) > 0, "newcomers that were planned as if nobody expected their trips"


def test_the_page_about_risk_shows_what_the_command_prints() -> None:
    """That holds its observer of linked days, too. Out of date? `python benchmarks/risk.py --linked` prints tables."""
    text = PAGE.read_text(encoding="utf-8")
    for lines in linked_tables():
        assert "\n".join(lines) in text
