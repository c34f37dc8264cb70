from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import veilroute as vr
from street_samples import ATTRIBUTION, as_written_before, little_book, little_problem, little_town, place
from veilroute.formats.gpx import Track, gpx_text, playbook_gpx, route_gpx, write_gpx
from veilroute.streets.directions import directions, lay_route

NAMESPACE = "{http://www.topografix.com/GPX/1/1}"

# What the GPX 1.1 schema allows inside each element, in this order; (attributes that must be there).
POINT = ["ele", "time", "magvar", "geoidheight", "name", "cmt", "desc", "src", "link", "sym", "type"]
ABOUT = ["name", "cmt", "desc", "src", "link", "number", "type", "extensions"]
SCHEMA: dict[str, tuple[list[str], set[str]]] = {
    "gpx": (["metadata", "wpt", "rte", "trk", "extensions"], {"version", "creator"}),
    "metadata": (["name", "desc", "author", "copyright", "link", "time", "keywords", "bounds", "extensions"], set()),
    "copyright": (["year", "license"], {"author"}),
    "rte": ([*ABOUT, "rtept"], set()),
    "trk": ([*ABOUT, "trkseg"], set()),
    "trkseg": (["trkpt", "extensions"], set()),
    "rtept": (POINT, {"lat", "lon"}),
    "trkpt": (POINT, {"lat", "lon"}),
    "name": ([], set()),
    "desc": ([], set()),
    "number": ([], set()),
}
MANY = {"rte", "trk", "rtept", "trkseg", "trkpt"}


def check(element: ET.Element) -> None:
    """Hold an element and all below it against the schema."""
    allowed, needed = SCHEMA[element.tag.removeprefix(NAMESPACE)]
    assert needed <= set(element.attrib)
    inside = [child.tag.removeprefix(NAMESPACE) for child in element]
    assert [name for name in allowed if name in inside] == list(dict.fromkeys(inside))
    assert all(inside.count(name) == 1 or name in MANY for name in inside)
    assert inside == sorted(inside, key=allowed.index)
    if "lat" in needed:
        assert abs(float(element.attrib["lat"])) <= 90
        assert abs(float(element.attrib["lon"])) <= 180
    for child in element:
        check(child)


def parsed(text: str) -> ET.Element:
    root = ET.fromstring(text.encode())
    assert root.tag == f"{NAMESPACE}gpx"
    check(root)
    return root


def points(element: ET.Element) -> list[tuple[float, float]]:
    return [(float(point.attrib["lon"]), float(point.attrib["lat"])) for point in element.iter(f"{NAMESPACE}trkpt")]


def test_a_route_follows_every_bend() -> None:
    root = parsed(route_gpx(lay_route(little_town(), (110, 111, 112))))
    assert points(root) == [
        place(110),
        (24.9425, 60.1699),
        (24.943, 60.1698),
        (24.9435, 60.1699),
        place(111),
        place(112),
    ]
    assert root.find(f"{NAMESPACE}rte") is None


def test_seven_decimals_and_no_time() -> None:
    text = route_gpx(lay_route(little_town(), (105, 106)))
    assert 'lat="60.1710000" lon="24.9400000"' in text
    assert "<time>" not in text
    assert 'creator="veilroute"' in text


def test_a_single_route_names_the_map() -> None:
    assert f'<copyright author="{ATTRIBUTION}"/>' in route_gpx(lay_route(little_town(), (105, 106)))


def test_turns_are_a_route_of_their_own() -> None:
    itinerary = lay_route(little_town(), (105, 109, 110, 111))
    root = parsed(route_gpx(itinerary, steps=directions(itinerary)))
    turns = root.findall(f"{NAMESPACE}rte/{NAMESPACE}rtept")
    assert [turn.findtext(f"{NAMESPACE}name") for turn in turns] == [
        "Head south on Länsitie",
        "Turn left onto Rantatie",
        "Arrive",
    ]
    assert turns[1].findtext(f"{NAMESPACE}desc") == "Turn left onto Rantatie (230 m, 20 s)"
    assert (float(turns[1].attrib["lon"]), float(turns[1].attrib["lat"])) == place(109)


def test_a_playbook_has_a_track_for_each_class() -> None:
    book = little_book()
    root = parsed(playbook_gpx(book))
    tracks = root.findall(f"{NAMESPACE}trk")
    assert len(tracks) == len(book.classes) == 2
    for number, (track, group) in enumerate(zip(tracks, book.classes, strict=True), start=1):
        assert track.findtext(f"{NAMESPACE}name") == f"Class {number}"
        assert track.findtext(f"{NAMESPACE}number") == str(number)
        assert points(track)[0] == place(105)
        assert points(track)[-1] == place(108)
        description = track.findtext(f"{NAMESPACE}desc")
        assert description is not None
        assert all(book.name(member) in description for member in group.members)
    credit = root.find(f"{NAMESPACE}metadata/{NAMESPACE}copyright")
    assert credit is not None
    assert credit.attrib["author"] == ATTRIBUTION


def test_one_track_for_each_class_and_trip(tmp_path: Path) -> None:
    town = little_town()
    both = vr.Problem(town, [vr.Trip(105, 108), vr.Trip(108, 105)], little_problem(town).candidates)
    book = vr.solve(both, vr.Privacy(k=2, ell=100, measure="straight"))
    names = [track.findtext(f"{NAMESPACE}name") for track in parsed(playbook_gpx(book)).iter(f"{NAMESPACE}trk")]
    num = len(book.classes)
    assert names == [f"Class {i + 1}" for i in range(num)] + [f"Class {i + 1}, trip 1" for i in range(num)]
    write_gpx(book, tmp_path / "back.gpx", trip=1)
    only = parsed((tmp_path / "back.gpx").read_text(encoding="utf-8"))
    assert [points(track)[0] for track in only.iter(f"{NAMESPACE}trk")] == [place(108)] * num


@pytest.mark.parametrize("written", [lambda book: book, as_written_before])
def test_where_members_part_each_has_a_track_of_its_own(written: Callable[[vr.Playbook], vr.Playbook]) -> None:
    book = written(little_book(m=3))
    tracks = {track.findtext(f"{NAMESPACE}name"): track for track in parsed(playbook_gpx(book)).iter(f"{NAMESPACE}trk")}
    assert tracks.pop("Class 3") is not None  # the last class never parts
    for number, group in enumerate(book.classes[:2], start=1):
        begun = points(tracks.pop(f"Class {number}, shared beginning"))
        for member in group.members:
            rest = tracks.pop(f"Class {number}, rest for {book.name(member)}")
            description = rest.findtext(f"{NAMESPACE}desc")
            assert description is not None
            assert description.startswith(f"{book.name(member)}: ")
            whole = points(parsed(route_gpx(lay_route(little_town(), book.route_for(member)))))
            assert begun + points(rest)[1:] == whole != begun
    assert not tracks


def test_text_that_is_markup_stays_text() -> None:
    evil = 'A & B <trk> "q"'
    root = parsed(gpx_text([Track(evil, evil, np.array([[0.0, 0.0]]))], name=evil, attribution=evil))
    assert root.findtext(f"{NAMESPACE}trk/{NAMESPACE}name") == evil
    credit = root.find(f"{NAMESPACE}metadata/{NAMESPACE}copyright")
    assert credit is not None
    assert credit.attrib["author"] == evil


def test_only_street_networks(line5: vr.Domain) -> None:
    book = vr.solve(vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3]), vr.Privacy(k=2))
    with pytest.raises(vr.InvalidInputError, match="only street networks"):
        playbook_gpx(book)
