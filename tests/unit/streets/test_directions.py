"""The legs of a route, and the steps that a driver is told."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from street_samples import NAMES, as_written_before, little_book, little_town
from veilroute.domain import street_domain
from veilroute.streets import (
    class_routes,
    lay_route,
    playbook_directions,
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
    ("given", "text"),
    [
        ({"degrees": 0}, "Continue onto Out"),
        ({"degrees": -40}, "Turn slightly left onto Out"),
        ({"degrees": 90}, "Turn right onto Out"),
        ({"degrees": -150}, "Turn sharp left onto Out"),
        ({"degrees": 176}, "Make a U-turn onto Out"),
        # A street is one step until it turns; a bend where nothing else leads, as at a door, is no turn.
        ({"degrees": 40, "name": "In"}, "Arrive"),
        ({"degrees": 80, "name": "In"}, "Turn right to stay on In"),
        ({"degrees": 80, "name": "In", "is_junction": False}, "Arrive"),
        # Two metres ahead, then right: nobody goes straight on. After 30 m it is a bend and no turn at the junction.
        ({"degrees": 90, "lead_m": 2}, "Turn right onto Out"),
        ({"degrees": 90, "lead_m": 30}, "Continue onto Out"),
    ],
)
def test_turns_by_their_angle(given: dict[str, Any], text: str) -> None:
    head, step, *_ = texts(0, 1, 2, domain=star(**given))
    assert (head, step) == ("Head north on In", text)


def test_steps_add_up_and_stand_where_they_are_done() -> None:
    assert texts(105) == ["Arrive"]
    itinerary = lay_route(little_town(), (105, 109, 110, 111, 112, 108))
    steps = directions(itinerary)
    assert math.fsum(step.metres for step in steps) == pytest.approx(itinerary.metres)
    assert math.fsum(step.seconds or 0 for step in steps) == pytest.approx(itinerary.cost)
    assert [step.place for step in steps[:-1]] == [tuple(itinerary.legs[i].line[0].tolist()) for i in (0, 1, 4)]
    assert steps[-1].place == tuple(itinerary.legs[-1].line[-1].tolist())


def test_only_the_ends_are_named() -> None:
    around = texts(105, 101, 102, 103, 104, 108, names={**NAMES, 108: "Bank"})
    assert around[0] == "From Depot, head north on Länsitie"
    assert around[-1] == "Arrive at Bank"
    assert "Branch" not in " ".join(around)


def test_where_all_members_part_nobody_arrives() -> None:
    town = little_town()
    own: dict[tuple[int, Hashable], vr.Route] = {
        (0, 104): vr.Route((105, 106, 107, 108, 104, 108), 50.6),
        (0, 112): vr.Route((105, 106, 107, 108, 112, 108), 51.8),
    }
    group = vr.PlaybookClass((104, 112), True, (vr.Route((105, 106, 107, 108), 30.0),), own)
    book = vr.Playbook(**{**vars(little_book(town, m=3)), "classes": (group,)})
    (route,) = class_routes(book)
    # They share one node more than m asks for, and the route shown for them is no longer than that.
    assert [part.itinerary.nodes for part in route.parts] == [(105, 106, 107, 108), (108, 104, 108), (108, 112, 108)]
    beginning, *rests = playbook_directions(book).split("\nClass 1, rest for ")
    assert "Arrive" not in beginning
    assert [(rest.splitlines()[0], "Arrive" in rest) for rest in rests] == [
        ("Branch East", True),
        ("Branch Point", True),
    ]


@pytest.mark.parametrize("written", [lambda book: book, as_written_before])
def test_directions_of_a_finite_m_show_no_member_as_the_class(written: Callable[[vr.Playbook], vr.Playbook]) -> None:
    book = written(little_book(m=3))
    assert [len(route.parts[1:]) for route in class_routes(book)] == [2, 2, 0]  # the last class never parts
    for route in class_routes(book)[:2]:
        whole = {book.route_for(member).nodes for member in route.group.members}
        assert route.parts[0].itinerary.nodes not in whole
        assert {route.parts[0].itinerary.nodes + part.itinerary.nodes[1:] for part in route.parts[1:]} == whole
    assert playbook_directions(book) == playbook_directions(little_book(m=3))


# --- what the steps are made of: the legs of a route


def test_a_route_must_follow_the_streets() -> None:
    with pytest.raises(vr.InvalidInputError, match="in this direction") as wrong_way:
        lay_route(little_town(), (105, 106, 102))
    assert "102" not in str(wrong_way.value)
    with pytest.raises(vr.InvalidInputError, match="nodes of this domain") as unknown:
        lay_route(little_town(), (105, 4711))
    assert "4711" not in str(unknown.value)
    with pytest.raises(vr.InvalidInputError, match="at least one node"):
        lay_route(little_town(), ())
