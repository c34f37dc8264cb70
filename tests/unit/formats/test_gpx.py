from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import veilroute as vr
from gpx_schema import NAMESPACE, check_gpx
from street_samples import ATTRIBUTION, as_written_before, little_book, little_problem, little_town, place
from veilroute.formats import Track, Waypoint, gpx_text, playbook_gpx, route_gpx, write_gpx
from veilroute.streets import Schedule, lay_route, route_itinerary
from veilroute.streets.directions import directions

ODD = ('A & B <trk> "q"', "it's > that", "Café 👍🏽 Ünï", "]]>", "&amp;", "東京", "a\u200db", "$x^2$")


def points(element: ET.Element) -> list[tuple[float, float]]:
    return [(float(point.attrib["lon"]), float(point.attrib["lat"])) for point in element.iter(f"{NAMESPACE}trkpt")]


def test_a_route_follows_every_bend() -> None:
    root = check_gpx(route_gpx(lay_route(little_town(), (110, 111, 112))))
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
    root = check_gpx(route_gpx(itinerary, steps=directions(itinerary)))
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
    root = check_gpx(playbook_gpx(book))
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
    names = [track.findtext(f"{NAMESPACE}name") for track in check_gpx(playbook_gpx(book)).iter(f"{NAMESPACE}trk")]
    num = len(book.classes)
    assert names == [f"Class {i + 1}" for i in range(num)] + [f"Class {i + 1}, trip 1" for i in range(num)]
    write_gpx(book, tmp_path / "back.gpx", trip=1)
    only = check_gpx((tmp_path / "back.gpx").read_text(encoding="utf-8"))
    assert [points(track)[0] for track in only.iter(f"{NAMESPACE}trk")] == [place(108)] * num


@pytest.mark.parametrize("written", [lambda book: book, as_written_before])
def test_where_members_part_each_has_a_track_of_its_own(written: Callable[[vr.Playbook], vr.Playbook]) -> None:
    book = written(little_book(m=3))
    tracks = {
        track.findtext(f"{NAMESPACE}name"): track for track in check_gpx(playbook_gpx(book)).iter(f"{NAMESPACE}trk")
    }
    assert tracks.pop("Class 3") is not None  # the last class never parts
    for number, group in enumerate(book.classes[:2], start=1):
        begun = points(tracks.pop(f"Class {number}, shared beginning"))
        for member in group.members:
            rest = tracks.pop(f"Class {number}, rest for {book.name(member)}")
            description = rest.findtext(f"{NAMESPACE}desc")
            assert description is not None
            assert description.startswith(f"{book.name(member)}: ")
            whole = points(check_gpx(route_gpx(lay_route(little_town(), book.route_for(member)))))
            assert begun + points(rest)[1:] == whole != begun
    assert not tracks


@pytest.mark.parametrize("odd", ODD)
def test_text_that_is_markup_stays_text(odd: str) -> None:
    track = Track(
        odd,
        odd,
        np.array([[0.0, 0.0]]),
        directions(lay_route(little_town(evil_name=odd[:3].replace("\u200d", "")), (102, 106))),
    )
    stops = [Waypoint(odd, odd, (24.9, 60.1))]
    root = check_gpx(gpx_text([track], name=odd, attribution=odd, stops=stops, note=odd))
    shown = odd.replace("\u200d", "")  # what is not printable is left out
    for path in ("trk/name", "wpt/name", "wpt/desc", "metadata/name", "metadata/desc", "rte/name"):
        assert root.findtext("/".join(f"{NAMESPACE}{tag}" for tag in path.split("/"))) == shown, path
    credit = root.find(f"{NAMESPACE}metadata/{NAMESPACE}copyright")
    assert credit is not None
    assert credit.attrib["author"] == shown


@pytest.mark.parametrize("odd", ODD)
def test_stops_are_waypoints_and_odd_names_stay_names(odd: str) -> None:
    kept = odd.replace("\u200d", "")
    book = little_book(names={105: "Depot", 102: kept, 103: kept + "2"})
    root = check_gpx(playbook_gpx(book))
    told = [point.findtext(f"{NAMESPACE}desc") or "" for point in root.iter(f"{NAMESPACE}wpt")]
    assert any(text.startswith(f"{kept}; after ") for text in told)
    for member in book.candidates:
        route = book.route_for(member)
        itinerary = route_itinerary(book, route)
        steps = directions(itinerary, names=book.names)
        stops = list(check_gpx(route_gpx(itinerary, steps=steps)).iter(f"{NAMESPACE}wpt"))
        group = book.class_of(member)
        assert group is not None
        assert [stop.findtext(f"{NAMESPACE}name") for stop in stops] == [
            f"Stop {i} of {len(group.members)}" for i in range(1, len(group.members) + 1)
        ]
        places = [(float(stop.attrib["lon"]), float(stop.attrib["lat"])) for stop in stops]
        assert sorted(places) == sorted(place(label) for label in group.members)


def test_stops_have_arrival_times_and_the_same_stay() -> None:
    book = little_book()
    itinerary = route_itinerary(book, book.route_for(109))
    root = check_gpx(route_gpx(itinerary, schedule=Schedule(120, "8:00")))
    told = [point.findtext(f"{NAMESPACE}desc") for point in root.iter(f"{NAMESPACE}wpt")]
    assert told == [
        "Branch West; at 08:00, stay 2 min",
        "Branch Harbour; at 08:03, stay 2 min",
        "Branch Point; at 08:05, stay 2 min",
    ]
    note = root.findtext(f"{NAMESPACE}metadata/{NAMESPACE}desc")
    assert note is not None
    assert note.startswith("Stay 2 min at all 3 stops, and behave the same at each")


def test_the_last_meridian_is_written_as_the_schema_has_it() -> None:
    ends = np.array([[180.0, -90.0], [179.99999999, 90.0], [-180.0, 0.0]])
    root = check_gpx(gpx_text([Track("t", "d", ends)], name="n"))
    assert [lon for lon, _ in points(root)] == [-180.0, -180.0, -180.0]


def test_the_checker_refuses_what_the_schema_does() -> None:
    good = route_gpx(route_itinerary(little_book(), little_book().route_for(102)))
    check_gpx(good)
    for old, new in (
        ('version="1.1"', 'version="1.0"'),
        (' creator="veilroute"', ""),
        ('lat="60.', 'lat="160.'),
        ('lon="24.', 'lon="6e1" x="24.'),
        ("<type>stop</type></wpt>", "<type>stop</type><name>late</name></wpt>"),
        (" <metadata>", " stray <metadata>"),
        ("<number>1</number>", "<number>one</number>"),
        ("</metadata>", "</metadata><trk/>"),
        ("http://www.topografix.com/GPX/1/1", "http://www.topografix.com/GPX/1/0"),
    ):
        assert old in good, old
        with pytest.raises(AssertionError):
            check_gpx(good.replace(old, new, 1))


def test_only_street_networks(line5: vr.Domain) -> None:
    book = vr.solve(vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3]), vr.Privacy(k=2))
    with pytest.raises(vr.InvalidInputError, match="only street networks"):
        playbook_gpx(book)
