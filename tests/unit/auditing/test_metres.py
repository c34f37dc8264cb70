from __future__ import annotations

import veilroute as vr
from veilroute.auditing import Spread, WalkingMap, measured_map, survey_problem
from veilroute.domain import street_domain


def test_tables_of_other_nodes_are_other_tables() -> None:
    """A one-way triangle with sides of 1, 2 and 4 m."""
    town = street_domain(
        lonlat=[(0, 0), (0.1, 0), (0.2, 0)],
        tails=[0, 1, 2],
        heads=[1, 2, 0],
        costs=[1, 1, 1],
        lengths=[1, 2, 4],
        unit="metres",
    )
    driving, walking = (measured_map(town, measure) for measure in ("driving", "walking"))
    assert isinstance(driving, WalkingMap)
    assert isinstance(walking, WalkingMap)
    for _ in range(2):
        assert driving.table([0, 1]) == [[0, 1], [6, 0]]
        assert driving.table([1, 2]) == [[0, 2], [5, 0]]
    assert walking.table([0, 1]) == [[0, 1], [1, 0]]


def test_metres_are_measured_with_tolerance_though_costs_are_whole() -> None:
    """0.7 + 0.1 < 0.8 in floating point, and yet 0.8 m are 0.8 m."""
    town = street_domain(
        lonlat=[(0, 0), (0.1, 0), (0.2, 0)],
        tails=[0, 1, 2, 1],
        heads=[1, 2, 1, 0],
        costs=[1, 1, 1, 1],
        lengths=[0.7, 0.1, 0.1, 0.7],
        unit="metres",
    )
    problem = vr.Problem(town, [vr.Trip(1, 1)], [0, 2])
    assert Spread(survey_problem(problem), vr.Privacy(ell=0.8, measure="driving")).is_far(0b11)
    assert not Spread(survey_problem(problem), vr.Privacy(ell=0.81, measure="driving")).is_far(0b11)
