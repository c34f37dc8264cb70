"""Column generation against brute force over all set partitions, and against the tables over all sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import veilroute as vr
from reference import best_partition
from strategies import privacies, problems


@contextmanager
def columns_only() -> Iterator[None]:
    """Nothing is so small that all sets are tried."""
    with patch("veilroute.partition.exact.MAX_TRIED", 0):
        yield


def check_against_brute_force(problem: vr.Problem, privacy: vr.Privacy) -> None:
    with columns_only():
        playbook = vr.solve(problem, privacy)
    coverable, anonymized, mac = best_partition(problem, privacy)
    assert playbook.claims.num_coverable == coverable
    assert playbook.claims.num_anonymized == anonymized
    assert playbook.status == ("optimal" if anonymized else "infeasible")
    assert playbook.mac == (None if mac is None else pytest.approx(mac, abs=1e-9))
    report = vr.audit(playbook)
    assert report.holds, report.to_text()


@st.composite
def grid_problems(draw: st.DrawFn, max_candidates: int = 5) -> vr.Problem:
    """Small grids with walls, where walks can be padded."""
    rng = Random(draw(st.integers(0, 2**32)))
    height, width = rng.randint(2, 4), rng.randint(2, 4)
    rows = ["".join(rng.choice("....@") for _ in range(width)) for _ in range(height)]
    rows[0] = "." * width
    domain = vr.grid_domain(rows)
    cells = [domain.label(node) for node in range(domain.num_nodes)]
    trips = [vr.Trip(rng.choice(cells), rng.choice(cells), rng.choice([1.0, 2.0])) for _ in range(rng.randint(1, 2))]
    candidates = rng.sample(cells, min(len(cells), rng.randint(2, max_candidates)))
    return vr.Problem(domain, trips, candidates, vr.WithinDistance(rng.choice([0, 0, 1])))


@given(problems(max_nodes=9, max_candidates=6), privacies())
def test_columns_equal_brute_force(problem: vr.Problem, privacy: vr.Privacy) -> None:
    assume(privacy.k <= len(problem.counted))
    check_against_brute_force(problem, privacy)


@given(grid_problems(), privacies(), st.integers(1, 9))
def test_columns_equal_brute_force_at_a_finite_m(problem: vr.Problem, privacy: vr.Privacy, m: int) -> None:
    assume(privacy.k <= len(problem.counted))
    check_against_brute_force(problem, vr.Privacy(privacy.k, privacy.ell, m, privacy.spread))


@pytest.mark.slow
@settings(max_examples=1000)
@given(problems(max_nodes=11, max_candidates=7, max_trips=3), privacies())
def test_columns_equal_brute_force_on_larger_problems(problem: vr.Problem, privacy: vr.Privacy) -> None:
    assume(privacy.k <= len(problem.counted))
    check_against_brute_force(problem, privacy)


@pytest.mark.slow
@settings(max_examples=300)
@given(grid_problems(max_candidates=7), privacies(), st.integers(1, 16))
def test_columns_equal_brute_force_at_a_finite_m_on_larger_problems(
    problem: vr.Problem, privacy: vr.Privacy, m: int
) -> None:
    assume(privacy.k <= len(problem.counted))
    check_against_brute_force(problem, vr.Privacy(privacy.k, privacy.ell, m, privacy.spread))
