from __future__ import annotations

import numpy as np
import pytest

import veilroute as vr
from street_samples import ATTRIBUTION, little_town, place
from veilroute.domain import street_domain, streets_of
from veilroute.streets import edge_number, lay_route

BEACH = [(24.9425, 60.1699), (24.943, 60.1698), (24.9435, 60.1699)]


def test_legs_tell_street_length_cost_and_line() -> None:
    town = little_town()
    itinerary = lay_route(town, (109, 110, 111, 107))
    assert [(leg.name, leg.kind) for leg in itinerary.legs] == [
        ("Rantatie", "secondary"),
        ("Rantatie", "secondary"),
        ("", "service"),
    ]
    assert itinerary.legs[1].line.tolist() == [list(place(110)), *map(list, BEACH), list(place(111))]
    assert itinerary.legs[2].metres == pytest.approx(111.2, abs=0.1)
    # A service road at 15 km/h, rounded to tenths of a second.
    assert itinerary.legs[2].cost == pytest.approx(111.2 / 15 * 3.6, abs=0.06)
    assert itinerary.nodes == (109, 110, 111, 107)
    assert itinerary.attribution == ATTRIBUTION


def test_totals_are_sums() -> None:
    town = little_town()
    itinerary = lay_route(town, (105, 106, 107))
    assert itinerary.metres == pytest.approx(sum(leg.metres for leg in itinerary.legs))
    assert itinerary.cost == itinerary.seconds == pytest.approx(sum(leg.cost for leg in itinerary.legs))
    in_metres = lay_route(little_town(unit="metres"), (105, 106, 107))
    assert in_metres.seconds is None
    assert isinstance(in_metres.cost, int)


def test_edge_numbers_are_those_of_edge_arrays() -> None:
    town = little_town()
    tails, heads, costs = town.edge_arrays()
    for edge, (tail, head) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
        assert edge_number(town, tail, head) == edge
        leg = lay_route(town, (town.label(tail), town.label(head))).legs[0]
        assert leg.cost == costs[edge]
        assert [tuple(point) for point in leg.line[[0, -1]].tolist()] == [
            place(town.label(end)) for end in (tail, head)
        ]
    against_one_way = edge_number(town, town.node(106), town.node(102))
    assert against_one_way == -1


def test_the_polyline_has_every_bend_and_no_point_twice() -> None:
    itinerary = lay_route(little_town(), (110, 111, 110))
    points = [tuple(point) for point in itinerary.polyline().tolist()]
    assert points == [place(110), *BEACH, place(111), *BEACH[::-1], place(110)]
    assert lay_route(little_town(), (105,)).polyline().tolist() == [list(place(105))]


def test_two_junctions_at_one_place_are_one_point_of_the_polyline() -> None:
    town = street_domain(
        lonlat=[(0, 0), (0, 0), (0.001, 0)], tails=[0, 1], heads=[1, 2], costs=[0, 1], lengths=[0, 111], unit="metres"
    )
    assert lay_route(town, (0, 1, 2)).polyline().tolist() == [[0, 0], [0.001, 0]]


def test_both_directions_of_a_street_are_one_line() -> None:
    there, back = (lay_route(little_town(), pair).polyline() for pair in ((108, 112), (112, 108)))
    assert np.array_equal(there, back[::-1])


def test_streets_in_order_without_names_that_are_empty_or_repeated() -> None:
    itinerary = lay_route(little_town(), (105, 106, 107, 103, 102, 106, 105))
    assert itinerary.street_names == ["Keskuskatu", "Pohjoiskatu", "Koulukuja", "Keskuskatu"]


def test_only_street_networks_have_itineraries(line5: vr.Domain) -> None:
    with pytest.raises(vr.InvalidInputError, match="only street networks"):
        lay_route(line5, (0, 1))
    with pytest.raises(vr.InvalidInputError, match="only street networks"):
        streets_of(line5)


def test_a_route_must_follow_the_streets() -> None:
    with pytest.raises(vr.InvalidInputError, match="in this direction") as wrong_way:
        lay_route(little_town(), (105, 106, 102))
    assert "102" not in str(wrong_way.value)
    with pytest.raises(vr.InvalidInputError, match="nodes of this domain") as unknown:
        lay_route(little_town(), (105, 4711))
    assert "4711" not in str(unknown.value)
    with pytest.raises(vr.InvalidInputError, match="at least one node"):
        lay_route(little_town(), ())
