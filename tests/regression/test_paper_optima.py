"""The paper's instances against the oracle's optima, when the shared material is there."""

from __future__ import annotations

from pathlib import Path

import pytest

import veilroute as vr
from paper_instances import optimum_cases


def check(shared: Path, *, every: int, audited: bool) -> None:
    compared = 0
    for number, (row, entry, problem, privacy) in enumerate(optimum_cases(shared)):
        if number % every:
            continue
        playbook = vr.solve(problem, privacy)
        where = (row["map"], row["seed"], entry)
        assert playbook.claims.num_coverable == entry["coverable"], where
        assert playbook.claims.num_anonymized == entry["anonymized"], where
        assert playbook.mac == pytest.approx(entry["mac"], abs=1e-6), where
        assert playbook.status == "optimal"
        compared += 1
        if audited:
            report = vr.audit(playbook)
            assert report.holds, report.to_text()
    assert compared >= 306 // every


def test_every_optimum(shared: Path) -> None:
    check(shared, every=1, audited=False)


def test_the_auditor_agrees_on_a_sample(shared: Path) -> None:
    check(shared, every=23, audited=True)


@pytest.mark.slow
def test_the_auditor_agrees_everywhere(shared: Path) -> None:
    check(shared, every=1, audited=True)
