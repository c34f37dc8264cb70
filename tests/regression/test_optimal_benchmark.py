"""What ``benchmarks/optimal.py`` measures, on small sizes: proved, audited, and what the tables over all sets give."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import pytest

import optimal
import veilroute as vr
from veilroute.partition import other_limits


def some(section: optimal.Section, num: int) -> optimal.Section:
    """The same with a few of its cases; memory is that of all tests so far, and no matter."""
    cases = list(section.cases())[:num]
    return replace(section, cases=lambda: cases, max_mb=math.inf)


def drawn(num: int, privacy: vr.Privacy, *, radius: float = 0) -> Iterable[optimal.Case]:
    return optimal.draw_cases(None, ("building",), num, privacy, radius, None)


@pytest.mark.parametrize(
    ("num", "privacy", "radius"),
    [(16, vr.Privacy(2), 0), (16, vr.Privacy(2), 10), (14, vr.Privacy(3), 0), (14, vr.Privacy(2, ell=40), 0)],
)
def test_drawn_cases_are_proved_and_are_the_optimum(num: int, privacy: vr.Privacy, radius: float) -> None:
    for case in list(drawn(num, privacy, radius=radius))[:2]:
        result = optimal.solve_case(case)
        assert result.is_proved
        assert result.gap == 0
        assert result.playbook.certificate is not None
        report = vr.audit(result.playbook)
        assert report.holds, report.to_text()
        assert all(verdict.checked for verdict in report.claims), report.to_text()
        with other_limits(tried=20):
            tried = vr.solve(case.problem, case.privacy)
        assert result.playbook.apr == tried.apr
        assert result.playbook.mac == pytest.approx(tried.mac, abs=optimal.TOLERANCE)


def test_a_section_says_whether_it_keeps_to_its_limit(capsys: pytest.CaptureFixture[str]) -> None:
    section = optimal.Section("few", lambda: drawn(13, vr.Privacy(2)), "all proved", optimal.all_proved(math.inf))
    assert optimal.run_section(some(section, 2))
    assert capsys.readouterr().out.count("optimal ") == 2
    for keeps in (optimal.all_proved(0), optimal.median_proved(0), optimal.all_within(0, 0)):
        assert not optimal.run_section(some(replace(section, keeps=keeps), 1))
        assert "all proved: NOT KEPT" in capsys.readouterr().out
    assert not optimal.run_section(replace(some(section, 1), max_mb=1))
