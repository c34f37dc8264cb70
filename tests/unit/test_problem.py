from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from veilroute.domain import visibility_from_dict
from veilroute.model.problem import names_sha256, places_sha256


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "Privacy.k: expected an integer >= 1, got 0"),
        ({"k": 2.0}, "Privacy.k"),
        ({"k": True}, "Privacy.k"),
        ({"ell": -1}, "Privacy.ell: expected a finite number >= 0, got -1"),
        ({"ell": math.nan}, "Privacy.ell"),
        ({"ell": math.inf}, "Privacy.ell"),
        ({"m": 0}, "Privacy.m"),
        ({"m": "inf"}, "Privacy.m"),
        ({"spread": "wide"}, "Privacy.spread: expected witness or all-pairs, got 'wide'"),
    ],
)
def test_privacy_names_the_bad_field(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(vr.InvalidInputError, match=message):
        vr.Privacy(**arguments)


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf, "1"])
def test_trip_weights_are_positive(weight: Any) -> None:
    with pytest.raises(vr.InvalidInputError, match="Trip.weight"):
        vr.Trip(0, 1, weight)


@pytest.mark.parametrize(
    ("trips", "candidates", "message"),
    [
        ([], [1], "Problem.trips"),
        ([(0, 4)], [1], "Problem.trips"),
        ([vr.Trip(9, 4)], [1], "trip.start: expected a node from 0 to 4, got 9"),
        ([vr.Trip(0, 4), vr.Trip(0, 9)], [1], r"trips\[1\].goal"),
        ([vr.Trip(0, 4)], [], "Problem.candidates: expected at least one candidate"),
        ([vr.Trip(0, 4)], [1, 7], r"candidates\[1\]"),
        ([vr.Trip(0, 4)], [1, 2, 1], "Problem.candidates: expected distinct candidates, got '1 twice'"),
        ([vr.Trip(0, 4)], 3, "Problem.candidates"),
    ],
)
def test_problem_names_the_bad_field(line5: vr.Domain, trips: Any, candidates: Any, message: str) -> None:
    with pytest.raises(vr.InvalidInputError, match=message):
        vr.Problem(line5, trips, candidates)


def test_domain_visibility_and_order_are_checked(line5: vr.Domain) -> None:
    """Sets have no order; and two spellings of a node would let one list stand in the file and another one count."""
    wrong: Any = "map"
    unordered: Any = {1, 2, 3}
    with pytest.raises(vr.InvalidInputError, match=r"Problem\.domain"):
        vr.Problem(wrong, [vr.Trip(0, 4)], [1])
    with pytest.raises(vr.InvalidInputError, match="visibility"):
        vr.Problem(line5, [vr.Trip(0, 4)], [1], wrong)
    with pytest.raises(vr.InvalidInputError, match=r"Problem\.candidates: expected a list"):
        vr.Problem(line5, [vr.Trip(0, 4)], unordered)
    with pytest.raises(vr.InvalidInputError, match=r"visibility\.sees: expected a list"):
        vr.Problem(line5, [vr.Trip(0, 4)], [1], vr.Explicit({0: unordered}))
    with pytest.raises(vr.InvalidInputError, match="visibility.sees: expected each node once, got '01'"):
        visibility_from_dict({"kind": "explicit", "sees": {"1": [2], "01": [3]}}, line5)


def test_candidates_at_an_end_of_any_trip_do_not_count(line5: vr.Domain) -> None:
    problem = vr.Problem(line5, [vr.Trip(0, 4), vr.Trip(2, 2)], [0, 1, 2, 3, 4])
    assert problem.counted == (1, 3)


def test_one_trip_may_be_given_alone_and_numpy_labels_become_plain(two_rooms: vr.Domain) -> None:
    trip: Any = vr.Trip(np.array([0, 0]).tolist(), (np.int64(2), np.int64(2)))
    candidates: Any = [[1, 1]]
    problem = vr.Problem(two_rooms, trip, candidates)
    assert problem.trips[0].start == (0, 0)
    assert problem.trips[0].goal == (2, 2)
    assert problem.candidates == ((1, 1),)


def test_names_are_hashed_in_any_order_and_belong_to_nodes(line5: vr.Domain) -> None:
    assert names_sha256({1: "a", 2: "b"}) == names_sha256({2: "b", 1: "a"}) != names_sha256({1: "b", 2: "a"})
    assert names_sha256({}) is None
    with pytest.raises(vr.InvalidInputError, match="names: expected a node from 0 to 4, got 9"):
        vr.Problem(line5, [vr.Trip(0, 4)], [1], names={9: "Nowhere"})


def test_places_are_checked_and_hashed() -> None:
    domain = vr.Domain.from_edges(3, [0, 1], [1, 2], [1, 1])
    problem = vr.Problem(domain, [vr.Trip(0, 2)], [1], places={1: (24.5, 60)})
    assert problem.places == {1: (24.5, 60.0)}
    assert places_sha256(problem.places) == places_sha256({1: (24.5, 60.0)}) != places_sha256({1: (24.5, 60.1)})
    assert places_sha256({}) is None
    for wrong in ({1: (200, 0)}, {1: (0, 91)}, {1: (0,)}, {1: 7}, {1: "ab"}, {9: (0, 0)}, [1], {1: (0, True)}):
        with pytest.raises(vr.InvalidInputError, match="places"):
            vr.Problem(domain, [vr.Trip(0, 2)], [1], places=wrong)  # type: ignore[arg-type]
