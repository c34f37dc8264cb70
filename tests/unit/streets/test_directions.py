from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace

import numpy as np
import pytest

import veilroute as vr
from street_samples import ATTRIBUTION, NAMES, as_written_before, exposed_book, little_book, little_town, two_trip_book
from veilroute.domain import distance_text, duration_text, street_domain
from veilroute.streets import (
    bearing,
    class_routes,
    directions_text,
    lay_route,
    playbook_directions,
    street_called,
    turn_angle,
)
from veilroute.streets.directions import directions


def texts(*route: int, domain: vr.Domain | None = None, names: dict[Hashable, str] | None = None) -> list[str]:
    itinerary = lay_route(domain or little_town(), route)
    return [step.text for step in directions(itinerary, names=names)]


def star(degrees: float, *, lead_m: float = 0.0, name: str = "Out", is_junction: bool = True) -> vr.Domain:
    """North along In to a junction, then away at an angle; ``lead_m`` metres straight on come before the turn.

    Without a junction nothing else leads there.
    """
    metre = math.degrees(1 / 6_371_008.8)
    reach = (math.sin(math.radians(degrees)) * 100 * metre, math.cos(math.radians(degrees)) * 100 * metre)
    lonlat = [(0.0, -100 * metre), (0.0, 0.0), (reach[0], reach[1] + lead_m * metre), (100 * metre, 50 * metre)]
    side = int(is_junction)
    bends = [(0.0, lead_m * metre)] if lead_m else []
    return street_domain(
        lonlat=lonlat,
        tails=[0, 1] + [3] * side,
        heads=[1, 2] + [1] * side,
        costs=[1, 1] + [1] * side,
        lengths=[100.0, 100.0 + lead_m] + [100.0] * side,
        unit="metres",
        names=["In", name],
        name_ids=[0, 0 if name == "In" else 1] + [0] * side,
        shape_ptr=[0, 0, len(bends)] + [len(bends)] * side,
        shape=np.array(bends).reshape(-1, 2),
    )


@pytest.mark.parametrize(
    ("degrees", "text"),
    [
        (0, "Continue onto Out"),
        (20, "Continue onto Out"),
        (-40, "Turn slightly left onto Out"),
        (90, "Turn right onto Out"),
        (-90, "Turn left onto Out"),
        (140, "Turn sharp right onto Out"),
        (-150, "Turn sharp left onto Out"),
        (176, "Make a U-turn onto Out"),
    ],
)
def test_turns_by_their_angle(degrees: float, text: str) -> None:
    assert texts(0, 1, 2, domain=star(degrees)) == ["Head north on In", text, "Arrive"]


def test_a_street_is_one_step_until_it_turns() -> None:
    assert texts(0, 1, 2, domain=star(40, name="In")) == ["Head north on In", "Arrive"]
    assert texts(0, 1, 2, domain=star(80, name="In"))[1] == "Turn right to stay on In"
    # A bend where nothing else leads, as at a door that splits a street, is no turn.
    assert texts(0, 1, 2, domain=star(80, name="In", is_junction=False)) == ["Head north on In", "Arrive"]


def test_the_first_15_metres_tell_the_direction_not_the_first_segment() -> None:
    # Two metres ahead, then right: nobody goes straight on here.
    assert texts(0, 1, 2, domain=star(90, lead_m=2))[1] == "Turn right onto Out"
    # After 30 m it is a bend of the street and no turn at the junction.
    assert texts(0, 1, 2, domain=star(90, lead_m=30))[1] == "Continue onto Out"


def test_a_way_through_the_little_town() -> None:
    assert texts(105, 106, 105, 101, 102, 106, 110, 111, 107) == [
        "Head east on Keskuskatu",
        "Make a U-turn on Keskuskatu",
        "Turn right onto Länsitie",
        "Turn right onto Pohjoiskatu",
        "Turn right onto Koulukuja",
        "Turn left onto Rantatie",
        "Turn left onto a service road",
        "Arrive",
    ]


def test_streets_without_a_name_are_called_by_their_kind() -> None:
    leg = lay_route(little_town(), (103, 107)).legs[0]
    assert street_called(leg) == "a service road"
    assert street_called(replace(leg, kind="primary_link")) == "a slip road"
    assert street_called(replace(leg, kind="raceway")) == "an unnamed road"


def test_steps_add_up_and_stand_where_they_are_done() -> None:
    itinerary = lay_route(little_town(), (105, 109, 110, 111, 112, 108))
    steps = directions(itinerary)
    assert math.fsum(step.metres for step in steps) == pytest.approx(itinerary.metres)
    assert math.fsum(step.seconds or 0 for step in steps) == pytest.approx(itinerary.cost)
    assert [step.place for step in steps[:-1]] == [tuple(itinerary.legs[i].line[0].tolist()) for i in (0, 1, 4)]
    assert steps[-1].place == tuple(itinerary.legs[-1].line[-1].tolist())


def test_text_has_distances_times_total_and_credits() -> None:
    itinerary = lay_route(little_town(), (105, 109, 110))
    assert directions_text(itinerary, directions(itinerary)).splitlines() == [
        "1. Head south on Länsitie (110 m, 15 s)",
        "2. Turn left onto Rantatie (110 m, 10 s)",
        "3. Arrive",
        "Total: 220 m, 25 s",
        f"Map: {ATTRIBUTION}",
    ]
    in_metres = lay_route(little_town(unit="metres"), (105, 109))
    assert directions_text(in_metres, directions(in_metres)).splitlines()[0] == "1. Head south on Länsitie (110 m)"


def test_a_route_that_stays_where_it_is_only_arrives() -> None:
    assert texts(105) == ["Arrive"]


def test_only_the_ends_are_named() -> None:
    around = texts(105, 101, 102, 103, 104, 108, names={**NAMES, 108: "Bank"})
    assert around[0] == "From Depot, head north on Länsitie"
    assert around[-1] == "Arrive at Bank"
    assert "Branch" not in " ".join(around)


def test_directions_of_a_playbook_are_headed_by_class() -> None:
    book = little_book()
    text = playbook_directions(book)
    for number, group in enumerate(book.classes, start=1):
        members = ", ".join(book.name(member) for member in group.members)
        assert f"Class {number}: {members}\n\nStay 60 s at all 3 stops, and behave the same at each" in text
        assert all(f" of 3: {book.name(member)} (after " in text for member in group.members)


def test_where_all_members_part_nobody_arrives() -> None:
    town = little_town()
    shared = vr.Route((105, 106, 107, 108), 30.0)
    own: dict[tuple[int, Hashable], vr.Route] = {
        (0, 104): vr.Route((105, 106, 107, 108, 104, 108), 50.6),
        (0, 112): vr.Route((105, 106, 107, 108, 112, 108), 51.8),
    }
    group = vr.PlaybookClass((104, 112), True, (shared,), own)
    solved = little_book(town, m=3)
    book = vr.Playbook(**{**vars(solved), "classes": (group,)})
    (route,) = class_routes(book)
    # They share one node more than m asks for, and the route shown for them is no longer than that.
    assert route.parts[0].itinerary.nodes == (105, 106, 107, 108)
    assert [part.itinerary.nodes for part in route.parts[1:]] == [(108, 104, 108), (108, 112, 108)]
    assert route.parts[0].title == "Class 1, shared beginning"
    beginning, *rests = playbook_directions(book).split("\nClass 1, rest for ")
    assert beginning.startswith("Class 1, shared beginning: Branch East, Branch Point\n\n1. From Depot, head")
    assert "From here on the routes of the members differ" in beginning
    assert "Arrive" not in beginning
    assert [rest.splitlines()[0] for rest in rests] == ["Branch East", "Branch Point"]
    assert all("Arrive" in rest for rest in rests)


@pytest.mark.parametrize("written", [lambda book: book, as_written_before])
def test_directions_of_a_finite_m_show_no_member_as_the_class(written: Callable[[vr.Playbook], vr.Playbook]) -> None:
    book = written(little_book(m=3))
    text = playbook_directions(book)
    assert [len(route.parts[1:]) for route in class_routes(book)] == [2, 2, 0]  # the last class never parts
    for route in class_routes(book)[:2]:
        whole = {book.route_for(member).nodes for member in route.group.members}
        assert route.parts[0].itinerary.nodes not in whole
        assert {route.parts[0].itinerary.nodes + part.itinerary.nodes[1:] for part in route.parts[1:]} == whole
        for part in route.parts[1:]:
            rest = text.partition(f"{part.title}\n\n")[2].partition("\nClass")[0]
            assert part.title == f"Class {route.number}, rest for " + ", ".join(map(book.name, part.members))
            assert "Total: " in rest
    assert text == playbook_directions(little_book(m=3))


def test_titles_name_the_trip() -> None:
    book = two_trip_book()
    titles = [f"Class {number}" for number in range(1, len(book.classes) + 1)]
    assert [route.parts[0].title for route in class_routes(book, trip=0)] == titles
    assert [route.parts[0].title for route in class_routes(book, trip=1)] == [f"{title}, trip 1" for title in titles]


def test_classes_that_hide_nobody_have_no_route() -> None:
    book = exposed_book()
    assert [(group.members, group.anonymized) for group in book.classes] == [((102, 112), True), ((103,), False)]
    assert [(route.parts[0].title, route.group.members) for route in class_routes(book)] == [("Class 1", (102, 112))]


def test_a_trip_that_is_not_there_is_refused() -> None:
    with pytest.raises(vr.InvalidInputError, match="a trip from 0 to 0"):
        class_routes(little_book(), trip=1)


def test_numbers_as_people_say_them() -> None:
    assert [distance_text(metres) for metres in (0, 1, 12, 47, 48, 254, 994, 996, 12_340)] == [
        "0 m",
        "5 m",
        "10 m",
        "45 m",
        "50 m",
        "250 m",
        "990 m",
        "1.0 km",
        "12.3 km",
    ]
    assert [duration_text(seconds) for seconds in (0, 1, 62, 89, 150, 3540, 3900)] == [
        "0 s",
        "5 s",
        "60 s",
        "1 min",
        "2 min",
        "59 min",
        "1 h 05 min",
    ]


def test_bearings_and_turns() -> None:
    east = np.array([(24.94, 60.17), (24.942, 60.17)])
    assert bearing(east) == pytest.approx(90.0, abs=0.01)
    assert bearing(east, at_end=True) == pytest.approx(90.0, abs=0.01)
    assert bearing(east[::-1]) == pytest.approx(270.0, abs=0.01)
    assert turn_angle(350, 10) == 20
    assert turn_angle(10, 350) == -20
    assert turn_angle(0, 180) == 180
