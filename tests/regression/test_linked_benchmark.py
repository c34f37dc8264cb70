"""The benchmarks of linked days: their observers are right, notice what a ledger would not keep, and they run."""

from __future__ import annotations

from pathlib import Path

import pytest

import linked_weeks
from risk import linked_tables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "risk.rst"


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
