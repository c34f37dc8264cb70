"""GPX, KML and GeoJSON: the same routes, stops and names in each, and files that others can read."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

import veilroute as vr
from gpx_schema import NAMESPACE as G
from gpx_schema import check_gpx, place_of, track_points
from street_samples import ATTRIBUTION, NAMES, as_written_before, little_book, little_town, place
from street_samples import two_trip_book as two_trips
from veilroute import formats
from veilroute.streets import Itinerary, lay_route

K = "{http://www.opengis.net/kml/2.2}"
# What KML 2.2 has in a feature, in this order, as far as we use it.
ORDER = ["name", "description", "styleUrl", "Style", "Folder", "Placemark", "LineString", "Point"]
Points = list[tuple[float, float]]


class Found(NamedTuple):
    """What a file holds: lines and points by name, and all of its text."""

    lines: dict[str, Points]
    points: dict[str, tuple[float, float]]
    text: str


def read_gpx(text: str) -> Found:
    root = check_gpx(text)
    names = [track.findtext(f"{G}name") or "" for track in root.iter(f"{G}trk")]
    lines = dict(zip(names, track_points(text), strict=True))
    points = {point.findtext(f"{G}desc") or "": place_of(point) for point in root.iter(f"{G}wpt")}
    authors = [credit.attrib["author"] for credit in root.iter(f"{G}copyright")]
    return Found(lines, points, "\n".join([*root.itertext(), *authors]))


def read_kml(text: str) -> Found:
    root = ET.fromstring(text.encode())
    assert root.tag == f"{K}kml"
    assert "http" not in text.replace('xmlns="http://www.opengis.net/kml/2.2"', ""), "it loads nothing"
    styles = {style.attrib["id"] for style in root.iter(f"{K}Style")}
    assert {(used.text or "").removeprefix("#") for used in root.iter(f"{K}styleUrl")} <= styles
    found = Found({}, {}, "\n".join(root.itertext()))
    for element in (*root.iter(f"{K}Document"), *root.iter(f"{K}Folder"), *root.iter(f"{K}Placemark")):
        tags = [child.tag.removeprefix(K) for child in element]
        assert tags == sorted(tags, key=ORDER.index)
    for mark in root.iter(f"{K}Placemark"):
        name, described = mark.findtext(f"{K}name") or "", mark.findtext(f"{K}description") or ""
        assert "<" not in described, "escaped once more: programs show it as HTML"
        spots = [tuple(map(float, spot.split(","))) for spot in next(mark.iter(f"{K}coordinates")).text.split()]  # type: ignore[union-attr]
        if mark.find(f"{K}Point") is None:
            found.lines[name] = spots  # type: ignore[assignment]
        else:
            found.points[name] = spots[0]  # type: ignore[assignment]
    return found


def read_geojson(raw: bytes) -> Found:
    data = json.loads(raw)
    assert data["type"] == "FeatureCollection" and "crs" not in data
    found = Found({}, {}, json.dumps(data, ensure_ascii=False))
    for feature in data["features"]:
        assert set(feature) == {"type", "geometry", "properties"} and feature["type"] == "Feature"
        kind, where = feature["geometry"]["type"], feature["geometry"]["coordinates"]
        name = feature["properties"].get("name", "")
        if kind == "Point":
            found.points[name] = tuple(where)
        else:
            assert kind == "LineString" and len(where) >= 2
            found.lines[name] = [tuple(spot) for spot in where]
    return found


FORMATS: dict[str, tuple[Callable[..., Found], Callable[[Itinerary], Found]]] = {
    "GPX": (lambda *a, **b: read_gpx(formats.playbook_gpx(*a, **b)), lambda route: read_gpx(formats.route_gpx(route))),
    "KML": (lambda *a, **b: read_kml(formats.playbook_kml(*a, **b)), lambda route: read_kml(formats.route_kml(route))),
    "GeoJSON": (
        lambda *a, **b: read_geojson(formats.playbook_geojson(*a, **b)),
        lambda route: read_geojson(formats.route_geojson(route, cost=1)),
    ),
}
"""How a playbook and a route are written and read again."""
every = pytest.mark.parametrize("kind", FORMATS)


def line_of(book: vr.Playbook, member: object) -> Points:
    return [(lon, lat) for lon, lat in lay_route(little_town(), book.route_for(member)).polyline().round(7).tolist()]


@every
def test_a_route_follows_every_bend(kind: str) -> None:
    (line,) = FORMATS[kind][1](lay_route(little_town(), (110, 111, 112))).lines.values()
    beach = [(24.9425, 60.1699), (24.943, 60.1698), (24.9435, 60.1699)]
    assert line == [place(110), *beach, place(111), place(112)]
    (stay,) = FORMATS[kind][1](lay_route(little_town(), (105,))).lines.values()
    assert stay == [place(105)] * (1 if kind == "GPX" else 2), "a line has two ends"


@every
def test_a_playbook_has_a_line_for_each_class_and_says_whose_map_it_is(kind: str) -> None:
    book = little_book()
    found = FORMATS[kind][0](book)
    assert list(found.lines) == ["Class 1", "Class 2"]
    for line, group in zip(found.lines.values(), book.classes, strict=True):
        assert line == line_of(book, group.members[0])
    assert ATTRIBUTION in found.text
    for label in book.candidates:
        assert place(label) in found.points.values() and book.name(label) in found.text


@every
@pytest.mark.parametrize("written", [lambda book: book, as_written_before])
def test_where_members_part_each_has_a_line_of_its_own(
    kind: str, written: Callable[[vr.Playbook], vr.Playbook]
) -> None:
    book = written(little_book(m=3))
    lines = FORMATS[kind][0](book).lines
    assert lines.pop("Class 3")  # the last class never parts
    for number, group in enumerate(book.classes[:2], start=1):
        begun = lines.pop(f"Class {number}, shared beginning")
        for member in group.members:
            rest = lines.pop(f"Class {number}, rest for {book.name(member)}")
            assert begun + rest[1:] == line_of(book, member) != begun
    assert not lines


@every
def test_one_line_for_each_class_and_trip(kind: str) -> None:
    book = two_trips()
    titles = [f"Class {number}" for number in range(1, len(book.classes) + 1)]
    lines = FORMATS[kind][0](book).lines
    assert sorted(lines) == sorted([*titles, *(f"{title}, trip 1" for title in titles)])
    only = FORMATS[kind][0](book, trip=1).lines
    assert only == {name: line for name, line in lines.items() if name.endswith("trip 1")}
    assert {(line[0], line[-1]) for line in only.values()} == {(place(101), place(112))}


ODD = ('A & B <trk> "q"', "Café 👍🏽 Ünï", "]]>", "&amp;", "<script>alert(1)</script>")


@every
@pytest.mark.parametrize("odd", ODD)
def test_markup_in_names_stays_text(kind: str, odd: str) -> None:
    book = little_book(names={**NAMES, 102: odd})
    assert (json.dumps(odd, ensure_ascii=False)[1:-1] if kind == "GeoJSON" else odd) in FORMATS[kind][0](book).text


def test_the_schema_of_gpx_has_no_longitude_of_180() -> None:
    ends = np.array([[180.0, -90.0], [179.99999999, 90.0], [-180.0, 0.0]])
    (line,) = track_points(formats.gpx_text([formats.Track("t", "d", ends)], name="n"))
    assert [lon for lon, _ in line] == [-180.0, -180.0, -180.0]
