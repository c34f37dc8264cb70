"""Optimal playbooks against brute force over all set partitions."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import veilroute as vr
from reference import best_partition
from strategies import privacies, problems


def check_against_brute_force(problem: vr.Problem, privacy: vr.Privacy) -> None:
    playbook = vr.solve(problem, privacy)
    coverable, anonymized, mac = best_partition(problem, privacy)
    assert playbook.claims.num_coverable == coverable
    assert playbook.claims.num_anonymized == anonymized
    assert playbook.status == ("optimal" if anonymized else "infeasible")
    if mac is None:
        assert playbook.mac is None
    else:
        assert playbook.mac == pytest.approx(mac, abs=1e-9)
    report = vr.audit(playbook)
    assert report.holds, report.to_text()


@given(problems(max_nodes=7, max_candidates=4), privacies(), st.integers(1, 9))
def test_optimal_equals_brute_force_at_a_finite_m(problem: vr.Problem, privacy: vr.Privacy, m: int) -> None:
    assume(privacy.k <= len(problem.counted))
    check_against_brute_force(problem, vr.Privacy(privacy.k, privacy.ell, m, privacy.spread))


@given(problems(), privacies())
def test_optimal_equals_brute_force(problem: vr.Problem, privacy: vr.Privacy) -> None:
    assume(privacy.k <= len(problem.counted))
    check_against_brute_force(problem, privacy)


@pytest.mark.slow
@settings(max_examples=400)
@given(problems(max_nodes=10, max_candidates=7), privacies())
def test_optimal_equals_brute_force_on_larger_problems(problem: vr.Problem, privacy: vr.Privacy) -> None:
    assume(privacy.k <= len(problem.counted))
    check_against_brute_force(problem, privacy)
