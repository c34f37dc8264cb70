"""Scenes: what a page is given to draw, for every kind of map."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from street_samples import little_book, little_town, place, two_trip_book
from veilroute import Anchor, grid_domain
from veilroute.domain import with_rules
from veilroute.jsontext import dump_canonical
from veilroute.plotting import domain_scene, instance_scene, plane_of, playbook_scene

ROOM = ["....", ".@@.", "...."]


def points(differences: list[int]) -> list[list[int]]:
    summed = np.cumsum(np.array(differences, dtype=np.int64).reshape(-1, 2), axis=0)
    return [[int(x), int(y)] for x, y in summed]


def cell_point(row: int, col: int) -> list[int]:
    return [10 * col, -10 * row]


def room_book(**options: Any) -> vr.Playbook:
    domain = grid_domain(ROOM, **options)
    problem = vr.Problem(domain, [vr.Trip((0, 0), (2, 3)), vr.Trip((2, 3), (0, 0))], [(0, 2), (2, 1), (0, 3), (2, 0)])
    return vr.solve(problem, vr.Privacy(k=2))


def test_a_grid_has_its_rows_and_cells_of_ten_units() -> None:
    book = room_book()
    scene = playbook_scene(book)
    assert scene["format"] == "veilroute-scene/1"
    drawn = scene["map"]
    assert (drawn["kind"], drawn["grid"]["rows"], drawn["box"]) == ("grid", ROOM, [-5, -25, 35, 5])
    assert (drawn["scale"], drawn["earth"]) == ({"units": 10, "name": "cells"}, None)
    for number, trip in enumerate(scene["playbook"]["trips"]):
        for group, shown in zip(book.hidden_classes, trip["classes"], strict=True):
            (part,) = shown["parts"]
            route = group.routes[number].nodes
            assert points(part["points"]) == [cell_point(*label) for label in route]  # type: ignore[misc]
            assert part["nodes"] == list(range(len(route)))
            assert len(part["shifts"]) == len(route) - 1


def test_moves_on_a_grid_are_told_by_direction() -> None:
    for trip in playbook_scene(room_book())["playbook"]["trips"]:
        for group in trip["classes"]:
            ((title, steps),) = [(told["title"], told["steps"]) for told in group["directions"]]
            moves = len(group["parts"][0]["shifts"])
            assert title == f"Directions ({moves} moves)"
            assert steps[0] == f"From {trip['start']['name']}"
            assert steps[-1].endswith(f"to {trip['goal']['name']}")
            assert sum(int(step.split()[0]) for step in steps[1:]) == moves


def test_a_grid_on_earth_knows_degrees_and_metres() -> None:
    anchor = Anchor(60.17, 24.93, 20.0)
    drawn = domain_scene(grid_domain(ROOM, anchor=anchor))["map"]
    assert drawn["scale"] == {"units": 0.5, "name": "m"}
    earth = drawn["earth"]
    for row, col in ((0, 0), (2, 3)):
        x, y = cell_point(row, col)
        here = [earth["lon"] + x * earth["perX"], earth["lat"] + y * earth["perY"]]
        assert here == pytest.approx(anchor.lonlat([(row + 0.5, col + 0.5)])[0].tolist(), abs=1e-8)
    assert plane_of(room_book(anchor=anchor).problem.domain).spot_on_earth((earth["lon"], earth["lat"])) == [0, 0]


def test_degrees_of_a_street_network_are_those_of_its_junctions() -> None:
    town = little_town()
    plane, earth = plane_of(town), domain_scene(town)["map"]["earth"]
    for label in (101, 108, 112):
        x, y = plane.spot(label)
        here = [earth["lon"] + x * earth["perX"], earth["lat"] + y * earth["perY"]]
        assert here == pytest.approx(place(label), abs=2e-6)
        assert plane.spot_on_earth(place(label)) == pytest.approx([x, y], abs=1)


@pytest.mark.parametrize("has_places", [True, False])
def test_a_graph_is_laid_out_and_its_nodes_can_be_named(has_places: bool) -> None:
    edges = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 2), (3, 0), (0, 3)]
    coordinates = [(0.0, 0.0), (0.0, 0.1), (0.1, 0.1), (0.1, 0.0)] if has_places else None
    domain = vr.Domain.from_edges(
        4, [a for a, _ in edges], [b for _, b in edges], [1] * 7, labels=["a", "b", "c", "d"], coordinates=coordinates
    )
    drawn = domain_scene(domain)["map"]
    assert (drawn["kind"], drawn["scale"], drawn["earth"]) == ("graph", None, None)
    assert drawn["nodes"]["labels"] == ["a", "b", "c", "d"]
    spots = points(drawn["nodes"]["points"])
    lines = np.array(points(drawn["streets"]["points"])).reshape(-1, 2, 2).tolist()
    shown = {(spots.index(tail), spots.index(head)) for tail, head in lines}
    assert shown == {(0, 1), (1, 2), (2, 3), (0, 3)}
    assert sum(drawn["streets"]["oneWay"]) == 1
    if has_places:
        assert spots == [[0, 0], [0, 500], [500, 500], [500, 0]]


def test_all_trips_are_there_with_their_own_marks() -> None:
    book = two_trip_book()
    shown = playbook_scene(book)["playbook"]
    assert len(shown["trips"]) == len(shown["places"]) == len(book.trips) == 2
    for trip, places, ends in zip(shown["trips"], shown["places"], book.trips, strict=True):
        assert (trip["start"]["label"], trip["goal"]["label"]) == (str(ends.start), str(ends.goal))
        assert [mark["role"] for mark in places][-2:] == ["start", "goal"]
        assert [places[-2]["x"], places[-2]["y"]] == [trip["start"]["x"], trip["start"]["y"]]
    assert [candidate["label"] for candidate in shown["candidates"]] == [str(label) for label in book.candidates]
    members = [[shown["candidates"][at]["label"] for at in group["members"]] for group in shown["trips"][0]["classes"]]
    assert members == [[str(label) for label in group.members] for group in book.hidden_classes]


def test_a_place_has_its_address_and_its_door() -> None:
    lon, lat = place(102)
    book = replace(little_book(), places={102: (lon + 0.0005, lat + 0.0002)})
    scene = playbook_scene(book)["playbook"]
    (mark,) = [mark for mark in scene["places"][0] if "place" in mark]
    (candidate,) = [candidate for candidate in scene["candidates"] if "place" in candidate]
    assert mark["name"] == candidate["name"] == "Branch North"
    east, north = mark["place"][0] - mark["x"], mark["place"][1] - mark["y"]
    assert (east, north) == pytest.approx((277, 222), abs=2)  # decimetres
    assert mark["place"] == candidate["place"]


def test_places_at_one_junction_have_their_own_names_and_stand_side_by_side() -> None:
    town = with_rules(little_town(), None, also=[("shop", 1), ("school", 1)])
    names: dict[Hashable, str] = {"shop": "The shop", "school": "The school"}
    problem = vr.Problem(town, [vr.Trip(105, 108)], ["shop", "school", 104, 111], names=names)
    scene = playbook_scene(vr.solve(problem, vr.Privacy(k=2, ell=0)))["playbook"]
    here = [mark for mark in scene["places"][0] if mark["name"] in names.values()]
    assert {mark["name"] for mark in here} == set(names.values())
    assert sorted(mark["aside"] for mark in here) == [-1, 1]
    assert [here[0]["x"], here[0]["y"]] == [here[1]["x"], here[1]["y"]]


def test_turns_and_turning_round_are_marked() -> None:
    # A dead end to the north of the middle: whoever is there comes back.
    domain = vr.Domain.from_edges(4, [0, 1, 1, 2, 1, 3], [1, 0, 2, 1, 3, 1], [1] * 6)
    problem = vr.Problem(domain, [vr.Trip(0, 3)], [1, 2])
    ((group,),) = [trip["classes"] for trip in playbook_scene(vr.solve(problem, vr.Privacy(k=2)))["playbook"]["trips"]]
    assert group["parts"][0]["round"] == [2]
    town = playbook_scene(little_book())["playbook"]["trips"][0]["classes"]
    north = town[0]["parts"][0]  # around the north: right, and right again
    assert north["right"] == [1, 4]
    assert not {"left", "round"} & set(north)


def test_an_instance_says_what_the_command_line_takes() -> None:
    problem = vr.Problem(
        grid_domain(ROOM), [vr.Trip((0, 0), (2, 3))], [(0, 2), (2, 1)], vr.WithinDistance(1), names={(0, 2): "Window"}
    )
    instance = instance_scene(problem, vr.Privacy(k=2, ell=3))["instance"]
    assert (instance["start"], instance["goal"], instance["candidates"]) == ("0,0", "2,3", ["0,2", "2,1"])
    assert [(mark["role"], mark["name"]) for mark in instance["marks"]] == [
        ("candidate", "Window"), ("candidate", "2,1"), ("start", "0,0"), ("goal", "2,3"),
    ]  # fmt: skip
    assert (instance["privacy"]["k"], instance["privacy"]["ell"]) == (2, 3)
    assert instance["visibility"]["radius"] == 1


def test_scenes_are_plain_and_the_same_again() -> None:
    books: tuple[Callable[[], vr.Playbook], ...] = (lambda: little_book(m=3), room_book)
    for book in books:
        written = dump_canonical(playbook_scene(book()))
        assert written == dump_canonical(playbook_scene(book()))
        assert json.loads(written)["playbook"]["m"] in (3, None)
