"""Distances in metres for ell and for sight, planned in seconds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import veilroute as vr
from veilroute.auditing import survey_problem
from veilroute.covering import far_matrix, find_watchers
from veilroute.domain import measured_domain, street_domain


@pytest.fixture
def detour() -> vr.Domain:
    """0 -> 1 -> 2 -> 0 one-way, 100 m each, and 2 - 3 both ways, 50 m; by air 0 to 2 are about 56 m apart."""
    return street_domain(
        lonlat=[(24.900, 60.100), (24.9005, 60.1008), (24.901, 60.100), (24.902, 60.100)],
        tails=[0, 1, 2, 2, 3],
        heads=[1, 2, 0, 3, 2],
        costs=[1.0, 1.0, 9.0, 1.0, 1.0],
        lengths=[100.0, 100.0, 100.0, 50.0, 50.0],
        unit="seconds",
    )


@pytest.mark.parametrize(
    ("measure", "radius", "seers"),
    [
        ("cost", 1, [1, 2, 3]),
        ("driving", 100, [1, 2, 3]),
        ("driving", 49, [2]),
        ("walking", 100, [0, 1, 2, 3]),
        ("walking", 99, [2, 3]),
        ("straight", 60, [0, 2, 3]),
    ],
)
def test_who_sees_the_third_junction(detour: vr.Domain, measure: str, radius: float, seers: list[int]) -> None:
    visibility = vr.WithinDistance(radius, measure)
    assert find_watchers(detour, visibility, [2])[0].tolist() == seers
    assert sorted(survey_problem(vr.Problem(detour, [vr.Trip(0, 3)], [2], visibility)).watchers[0]) == seers


@pytest.mark.parametrize(
    ("measure", "ell", "is_far"),
    [
        ("cost", 3, False),
        ("cost", 2, True),
        ("driving", 100, True),
        ("driving", 101, False),
        ("straight", 50, True),
        ("straight", 60, False),
    ],
)
def test_how_far_the_first_is_from_the_third(detour: vr.Domain, measure: str, ell: float, is_far: bool) -> None:
    far = far_matrix(detour, [0, 2], vr.Privacy(ell=ell, measure=measure))
    assert far.tolist() == [[False, is_far], [is_far, False]]


def test_measures_need_lengths_or_places(line5: vr.Domain) -> None:
    problem = vr.Problem(line5, [vr.Trip(0, 4)], [1, 2])
    for measure in ("driving", "walking", "straight"):
        with pytest.raises(vr.InvalidInputError, match="Privacy.measure: expected cost: only street networks"):
            vr.solve(problem, vr.Privacy(measure=measure))
        with pytest.raises(vr.InvalidInputError, match="visibility.measure: expected cost: only street networks"):
            vr.Problem(line5, [vr.Trip(0, 4)], [1], vr.WithinDistance(1, measure))
    for make in (lambda: vr.Privacy(measure="flying"), lambda: vr.WithinDistance(1, "flying")):
        with pytest.raises(vr.InvalidInputError, match="measure: expected cost, driving, walking or straight"):
            make()


def test_a_slow_street_counts_where_a_fast_one_is_kept() -> None:
    """Of two streets from 0 to 1 the faster is 500 m long and is the one to drive; the slower is 115 m."""
    town = street_domain(
        lonlat=[(24.940, 60.170), (24.942, 60.170), (24.944, 60.170)],
        tails=[0, 0, 1, 1, 1, 2], heads=[1, 1, 0, 0, 2, 1],
        costs=[20.0, 40.0, 20.0, 40.0, 9.0, 9.0], lengths=[500.0, 115.0, 500.0, 115.0, 111.0, 111.0], unit="seconds",
    )  # fmt: skip
    assert town.streets is not None
    assert town.streets.lengths.tolist() == [500.0, 500.0, 111.0, 111.0]
    assert town.streets.shortest.tolist() == [115.0, 115.0, 111.0, 111.0]
    problem = vr.Problem(town, [vr.Trip(2, 2)], [0, 1])
    for measure in ("driving", "walking"):
        privacy = vr.Privacy(k=2, ell=300, measure=measure)
        assert vr.solve(problem, privacy).status == "infeasible"
        near = vr.solve(problem, vr.Privacy(k=2, ell=100, measure=measure))
        claims = {verdict.claim for verdict in vr.audit(replace(near, privacy=privacy)).claims if not verdict.holds}
        assert "spread" in claims


@pytest.mark.parametrize("names", [{1: ""}, {1: 3}, {1: "a\nb"}, [(1, "a")]])
def test_bad_names_are_refused(line5: vr.Domain, names: object) -> None:
    with pytest.raises(vr.InvalidInputError, match="names: expected"):
        vr.Problem(line5, [vr.Trip(0, 4)], [1], names=names)  # type: ignore[arg-type]


def test_walking_distances_are_the_same_in_both_directions(detour: vr.Domain) -> None:
    walking = measured_domain(detour, "walking")
    tails, heads, costs = walking.edge_arrays()
    there = dict(zip(zip(tails.tolist(), heads.tolist(), strict=True), costs.tolist(), strict=True))
    assert all(there[b, a] == metres for (a, b), metres in there.items())
    assert np.isclose(walking.costs.sum(), 2 * 350)
