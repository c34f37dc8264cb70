"""The best of all partitions, as the auditor finds it by itself; random ones are in tests/harness.py."""

from __future__ import annotations

import pytest

import veilroute as vr
from veilroute.auditing import (
    Optimum,
    Spread,
    Survey,
    TooMuchError,
    find_optimum,
    price_prefixes,
    survey_problem,
)


def optimum_of(survey: Survey, privacy: vr.Privacy) -> Optimum | None:
    return find_optimum(survey, Spread(survey, privacy), privacy.m)


def mac_of(optimum: Optimum) -> float | None:
    num = optimum.num_anonymized
    return optimum.least[num] / num if num else None


def test_sharing_only_a_prefix_makes_more_possible() -> None:
    # 0 -> 1 -> 3 and 0 -> 2 -> 3: no walk covers both 1 and 2, but both begin at 0.
    fork = vr.Domain.from_edges(4, [0, 0, 1, 2], [1, 2, 3, 3], [1] * 4)
    survey = survey_problem(vr.Problem(fork, [vr.Trip(0, 3)], [1, 2]))
    found = {}
    for m in (1, 2, None):
        optimum = optimum_of(survey, vr.Privacy(k=2, ell=0, m=m))
        assert optimum is not None
        found[m] = (optimum.num_anonymized, mac_of(optimum), optimum.num_anonymizable)
    assert found == {1: (2, 0.0, 2), 2: (0, None, 0), None: (0, None, 0)}


def test_least_mac_for_every_number_of_anonymized(line5: vr.Domain) -> None:
    # From 0 to 0: base costs 2, 4, 6 and 8 for the candidates 1 to 4.
    survey = survey_problem(vr.Problem(line5, [vr.Trip(0, 0)], [1, 2, 3, 4]))
    optimum = optimum_of(survey, vr.Privacy(k=2, ell=1))
    assert optimum is not None
    # {3, 4} makes 3 a third dearer, {2, 3, 4} makes 2 twice as dear as well, {1, 2} makes 1 twice as dear.
    assert optimum.least == pytest.approx({2: 1 / 3, 3: 1 / 3 + 1, 4: 1 / 3 + 1})
    assert optimum.num_anonymizable == 4


def test_too_large_is_not_tried(line5: vr.Domain) -> None:
    many = vr.grid_domain(["." * 20])
    survey = survey_problem(vr.Problem(many, [vr.Trip((0, 0), (0, 0))], [(0, i) for i in range(1, 20)]))
    assert optimum_of(survey, vr.Privacy()) is None
    survey = survey_problem(vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3]))
    for m in (None, 3):
        assert find_optimum(survey, Spread(survey, vr.Privacy(m=m)), m, effort=1_000) is not None
        assert find_optimum(survey, Spread(survey, vr.Privacy(m=m)), m, effort=5) is None
    with pytest.raises(TooMuchError):
        price_prefixes(survey, survey.trips[0], survey.coverable, 50, effort=20)
