"""Where vehicles stop: at everybody who could be meant, and in the same way whoever is."""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import replace

import pytest

import veilroute as vr
from drawn_books import triangle_book
from street_samples import NAMES, little_book, little_town
from veilroute.streets import Schedule, Stops, class_routes, route_itinerary


def stops_of(book: vr.Playbook, member: Hashable, trip: int = 0) -> list[tuple[int, tuple[Hashable, ...]]]:
    route = book.route_for(member, trip, expose=True)
    return [(stop.position, stop.members) for stop in Stops(book).on_route(route.nodes, trip)]


def test_members_at_one_spot_are_one_stop_with_all_names() -> None:
    town = little_town()
    town = replace(town, also=(("Bakery", town.node(102)), ("Mill", town.node(111))))
    problem = vr.Problem(town, [vr.Trip(105, 108)], [102, "Bakery", 111, "Mill"], names=NAMES)
    book = vr.solve(problem, vr.Privacy(k=2, ell=0))
    for group in book.classes:
        made = Stops(book).on_route(book.route_for(group.members[0]).nodes, 0)
        assert {member for stop in made for member in stop.members} >= set(group.members)
        assert len(made) == len({town.node(member) for stop in made for member in stop.members})
        assert made[-1].total == len(made)


def test_who_is_only_seen_has_a_stop_in_sight() -> None:
    town = little_town()
    problem = vr.Problem(town, [vr.Trip(105, 108)], [102, 103], vr.WithinDistance(130, "walking"), names=NAMES)
    book = vr.solve(problem, vr.Privacy(k=2, ell=0))
    nodes = book.route_for(102).nodes
    assert 102 not in nodes
    first, second = Stops(book).on_route(nodes, 0)
    assert [(stop.members, stop.is_afar) for stop in (first, second)] == [((102,), True), ((103,), True)]
    assert (nodes[first.position], nodes[second.position]) == (106, 107)
    # At a place that is passed one stops, also if another is seen from there.
    both = replace(problem, candidates=[102, 106])
    (stop,) = Stops(vr.solve(both, vr.Privacy(k=2, ell=0))).on_route((105, 106, 107, 108), 0)
    assert (set(stop.members), stop.is_afar) == ({102, 106}, False)


def test_classes_that_look_the_same_stop_at_the_same_places() -> None:
    """What a vehicle does must not tell more than its route, by which the risk is measured."""
    book = little_book()
    (first, second), nodes = book.classes, (105, 101, 102, 103, 104, 108, 112, 111, 110, 109, 105, 106, 107, 108)
    stops = Stops(replace(book, classes=tuple(replace(g, routes=(vr.Route(nodes, 1.0),)) for g in (first, second))))
    assert {stop.members[0] for stop in stops.on_route(nodes, 0)} == {*first.members, *second.members}


@pytest.mark.parametrize("case", [*range(12), *(pytest.param(i, marks=pytest.mark.slow) for i in range(12, 120))])
def test_within_the_promise_all_who_look_alike_stop_alike(case: int) -> None:
    draw = random.Random(case)
    town = little_town()
    places: list[Hashable] = list(draw.sample([101, 102, 103, 104, 106, 107, 109, 110, 111, 112], draw.randint(4, 7)))
    sight: vr.Visibility = vr.AtNode() if draw.random() < 0.5 else vr.WithinDistance(draw.choice([120, 240]), "walking")
    m = draw.choice([None, 2, 3, 4, 5, 6])
    privacy = vr.Privacy(k=2, ell=0, m=m)
    book = vr.solve(vr.Problem(town, [vr.Trip(105, 108)], places, sight), privacy)
    stops = Stops(book)
    seen: dict[tuple[Hashable, ...], list[tuple[int, tuple[Hashable, ...]]]] = {}
    for group in book.hidden_classes:
        for member in group.members:
            nodes = book.route_for(member).nodes
            made = stops.on_route(nodes, 0)
            early = [(stop.position, stop.members) for stop in made if m is None or stop.position < m]
            assert seen.setdefault(nodes[:m], early) == early
            assert any(member in stop.members for stop in made), "the secret is reached"
            for stop in made:
                if m is not None and stop.position >= m:
                    whose = {book.route_for(each).nodes[: stop.position + 1] for each in stop.members}
                    assert whose == {nodes[: stop.position + 1]}, "after the promise each stops for its own"
            assert [stop.number for stop in made] == list(range(1, len(made) + 1))
    for route in class_routes(book):
        # What is written by part is what each member is given.
        shared, *rests = route.parts
        for rest in rests:
            whole = route_itinerary(book, book.route_for(rest.members[0])).stops
            last = len(shared.itinerary.nodes) - 1
            own = [(stop.position + last, stop.members) for stop in rest.itinerary.stops]
            assert own == [(stop.position, stop.members) for stop in whole if stop.position > last]


def test_stops_of_a_randomised_playbook_are_those_of_the_class_drawn() -> None:
    book = triangle_book()
    stops = Stops(book)
    for group in book.hidden_classes:
        reached = {member for stop in stops.on_route(group.routes[0].nodes, 0) for member in stop.members}
        assert reached >= set(group.members)


@pytest.mark.parametrize("given", ["24:00", "7.05", "", "٣:٠٠", "7:5"])
def test_what_is_no_clock(given: str) -> None:
    assert Schedule(depart="7:05").clock(90) == "07:07" and Schedule().clock(90) is None
    with pytest.raises(vr.InvalidInputError, match="HH:MM"):
        Schedule(depart=given)
