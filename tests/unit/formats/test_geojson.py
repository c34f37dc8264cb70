from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from street_samples import (
    ATTRIBUTION,
    NAMES,
    as_written_before,
    exposed_book,
    little_book,
    little_town,
    place,
    two_trip_book,
)
from veilroute.formats import OKABE_ITO, class_colour, playbook_geojson, route_geojson, write_geojson
from veilroute.streets import lay_route


def features(raw: bytes) -> list[dict[str, Any]]:
    """The features of a collection that RFC 7946 allows."""
    data = json.loads(raw)
    assert data["type"] == "FeatureCollection"
    assert data["attribution"] == ATTRIBUTION
    assert "crs" not in data
    for feature in data["features"]:
        assert set(feature) == {"type", "geometry", "properties"}
        assert feature["type"] == "Feature"
        kind, coordinates = feature["geometry"]["type"], feature["geometry"]["coordinates"]
        positions = [coordinates] if kind == "Point" else coordinates
        assert kind in ("Point", "LineString")
        assert kind == "Point" or len(positions) >= 2
        assert all(len(position) == 2 and 24 < position[0] < 25 and 60 < position[1] < 61 for position in positions)
    found: list[dict[str, Any]] = data["features"]
    return found


def test_a_route_is_one_line_with_its_streets() -> None:
    (line,) = features(route_geojson(lay_route(little_town(), (110, 111, 107, 106)), cost=43.5, trip=2))
    assert line["geometry"]["coordinates"][:3] == [list(place(110)), [24.9425, 60.1699], [24.943, 60.1698]]
    assert line["properties"] == {
        "cost": 43.5,
        "metres": pytest.approx(2 * (29.8 + 29.8) + 111.2 + 110.6, abs=0.3),
        "role": "route",
        "streets": ["Rantatie", "Keskuskatu"],
        "trip": 2,
        "unit": "seconds",
    }


def test_a_route_that_stays_is_still_a_line() -> None:
    (line,) = features(route_geojson(lay_route(little_town(), (105,)), cost=0))
    assert line["geometry"]["coordinates"] == [list(place(105))] * 2


def test_a_playbook_has_lines_and_places(tmp_path: Path) -> None:
    book = little_book()
    write_geojson(book, tmp_path / "town.geojson")
    found = features((tmp_path / "town.geojson").read_bytes())
    lines = [f["properties"] for f in found if f["geometry"]["type"] == "LineString"]
    assert [(line["class"], line["stroke"], line["cost"]) for line in lines] == [
        (i + 1, OKABE_ITO[i], group.routes[0].cost) for i, group in enumerate(book.classes)
    ]
    ends = {f["properties"]["role"]: f for f in found if f["properties"]["role"] in ("start", "goal")}
    assert ends["start"]["geometry"]["coordinates"] == list(place(105))
    assert ends["start"]["properties"]["name"] == "Depot"
    assert ends["goal"]["properties"]["node"] == 108
    candidates = {f["properties"]["node"]: f for f in found if f["properties"]["role"] == "candidate"}
    assert list(candidates) == list(book.candidates)
    for number, group in enumerate(book.classes, start=1):
        for member in group.members:
            assert isinstance(member, int)
            properties = candidates[member]["properties"]
            assert (properties["class"], properties["anonymized"]) == (number, True)
            assert properties["name"] == NAMES[member]
            assert properties["marker-color"] == class_colour(number - 1)


def test_candidates_that_are_not_hidden_have_no_class() -> None:
    found = features(playbook_geojson(exposed_book()))
    (alone,) = [f["properties"] for f in found if f["properties"].get("anonymized") is False]
    assert (alone["node"], alone["class"], alone["marker-color"]) == (103, None, "#7A7A7A")
    assert sum(f["geometry"]["type"] == "LineString" for f in found) == 1


@pytest.mark.parametrize("written", [lambda book: book, as_written_before])
def test_where_members_part_each_has_a_line_of_its_own(written: Callable[[vr.Playbook], vr.Playbook]) -> None:
    book = written(little_book(m=3))
    lines = [f for f in features(playbook_geojson(book)) if f["geometry"]["type"] == "LineString"]
    assert [f["properties"]["role"] for f in lines] == 2 * ["shared", "parting", "parting"] + ["route"]
    for number, group in enumerate(book.classes[:2], start=1):
        shared, *rests = [f for f in lines if f["properties"]["class"] == number]
        assert shared["properties"]["name"] == f"Class {number}, shared beginning"
        assert shared["properties"]["members"] == [book.name(member) for member in group.members]
        begun = shared["geometry"]["coordinates"]
        assert [f["properties"]["members"] for f in rests] == [[book.name(member)] for member in group.members]
        for member, rest in zip(group.members, rests, strict=True):
            route = book.route_for(member)
            assert rest["properties"]["name"] == f"Class {number}, rest for {book.name(member)}"
            line = lay_route(little_town(), route).polyline().round(7).tolist()
            assert begun + rest["geometry"]["coordinates"][1:] == line
            assert begun != line
            # Both costs are of what is driven on the line, and make up that of the member's route.
            assert shared["properties"]["cost"] + rest["properties"]["cost"] == pytest.approx(route.cost)


@pytest.mark.parametrize(("trip", "ends"), [(1, [101, 112]), (None, [105, 108, 101, 112])])
def test_one_trip_has_its_own_ends_and_all_have_all(trip: int | None, ends: list[int]) -> None:
    found = [feature["properties"] for feature in features(playbook_geojson(two_trip_book(), trip=trip))]
    shown = [(part["role"], part["node"]) for part in found if part["role"] in ("start", "goal")]
    assert shown == list(zip(["start", "goal"] * (len(ends) // 2), ends, strict=True))


def test_places_are_as_fine_as_the_map() -> None:
    town = little_town()
    assert town.streets is not None
    moved = replace(town, streets=replace(town.streets, lonlat=town.streets.lonlat + 1.234e-5))
    line, *_ = features(playbook_geojson(little_book(moved)))
    west, north = place(105)
    assert line["geometry"]["coordinates"][0] == pytest.approx([west + 1.234e-5, north + 1.234e-5], abs=6e-8)


def test_equal_playbooks_give_equal_bytes() -> None:
    assert playbook_geojson(little_book()) == playbook_geojson(little_book())


def test_only_street_networks(line5: vr.Domain) -> None:
    book = vr.solve(vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3]), vr.Privacy(k=2))
    with pytest.raises(vr.InvalidInputError, match="only street networks"):
        playbook_geojson(book)
