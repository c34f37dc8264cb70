from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

import veilroute as vr
from street_samples import ATTRIBUTION, NAMES, exposed_book, little_book, little_town, place, two_trip_book
from veilroute.formats import class_colour, playbook_kml, route_kml
from veilroute.streets import Schedule, route_itinerary

K = "{http://www.opengis.net/kml/2.2}"
# What KML 2.2 has in a feature, in this order, as far as we use it.
ORDER = ["name", "description", "styleUrl", "Style", "Folder", "Placemark", "LineString", "Point"]


def parsed(text: str) -> ET.Element:
    root = ET.fromstring(text.encode())
    assert root.tag == f"{K}kml"
    assert "http" not in text.replace('xmlns="http://www.opengis.net/kml/2.2"', ""), "it loads nothing"
    styles = {style.attrib["id"] for style in root.iter(f"{K}Style")}
    for feature in (*root.iter(f"{K}Document"), *root.iter(f"{K}Folder"), *root.iter(f"{K}Placemark")):
        tags = [child.tag.removeprefix(K) for child in feature]
        assert tags == sorted(tags, key=ORDER.index)
    for used in root.iter(f"{K}styleUrl"):
        assert (used.text or "").removeprefix("#") in styles
    for where in root.iter(f"{K}coordinates"):
        for position in (where.text or "").split():
            lon, lat = map(float, position.split(","))
            assert abs(lon) <= 180
            assert abs(lat) <= 90
    return root


def names(root: ET.Element) -> list[str]:
    return [mark.findtext(f"{K}name") or "" for mark in root.iter(f"{K}Placemark")]


def test_a_playbook_has_a_folder_for_each_class_and_one_for_places() -> None:
    book = little_book()
    root = parsed(playbook_kml(book))
    folders = root.findall(f"{K}Document/{K}Folder")
    assert [folder.findtext(f"{K}name") for folder in folders] == ["Class 1", "Class 2", "Places"]
    for folder, group in zip(folders, book.classes, strict=False):
        line, *stops = names(folder)
        assert line == folder.findtext(f"{K}name")
        assert sorted(stop.partition(": ")[2] for stop in stops) == sorted(book.name(each) for each in group.members)
    assert names(folders[-1]) == ["Depot", "108", *(book.name(label) for label in book.candidates)]
    about = root.findtext(f"{K}Document/{K}description")
    assert about is not None
    assert ATTRIBUTION in about
    assert "behave the same at each" in about


def test_colours_are_those_of_the_pictures() -> None:
    root = parsed(playbook_kml(little_book()))
    colours = {style.attrib["id"]: style.findtext(f"{K}LineStyle/{K}color") for style in root.iter(f"{K}Style")}
    for number in (1, 2):
        red, green, blue = (class_colour(number - 1)[i : i + 2].lower() for i in (1, 3, 5))
        assert colours[f"class-{number}"] == f"cc{blue}{green}{red}"


def test_a_single_route_is_the_same_for_all_of_its_class() -> None:
    book = little_book()
    for group in book.classes:
        texts = {route_kml(route_itinerary(book, book.route_for(member))) for member in group.members}
        assert len(texts) == 1
        assert len(names(parsed(texts.pop()))) == 1 + len(group.members)


def test_stops_stand_at_their_places_with_times() -> None:
    book = little_book()
    itinerary = route_itinerary(book, book.route_for(109))
    marks = list(parsed(route_kml(itinerary, schedule=Schedule(60, "12:00"))).iter(f"{K}Placemark"))
    stops = {mark.findtext(f"{K}name"): mark for mark in marks[1:]}
    harbour = stops["Stop 2 of 3: Branch Harbour"]
    assert harbour.findtext(f"{K}description") == "at 12:02, stay 60 s"
    lon, lat = (harbour.findtext(f"{K}Point/{K}coordinates") or "").split(",")
    assert (float(lon), float(lat)) == place(111)


@pytest.mark.parametrize("odd", ['A & B <b> "q"', "<script>alert(1)</script>", "]]>", "👍", "$x$"])
def test_markup_in_names_stays_text_also_where_programs_show_html(odd: str) -> None:
    book = little_book(names={**NAMES, 102: odd})
    root = parsed(playbook_kml(book))
    assert odd in names(root)
    line = next(mark for mark in root.iter(f"{K}Placemark") if mark.findtext(f"{K}name") == "Class 1")
    described = line.findtext(f"{K}description") or ""
    assert "<" not in described, "escaped once more: it is shown as HTML"


def test_rests_trips_and_who_is_not_hidden() -> None:
    parted = parsed(playbook_kml(little_book(m=3)))
    assert "Class 1, shared beginning" in names(parted)
    assert any(name.startswith("Class 1, rest for ") for name in names(parted))
    assert {"Class 1", "Class 1, trip 1"} <= set(names(parsed(playbook_kml(two_trip_book()))))
    told = {mark.findtext(f"{K}description") for mark in parsed(playbook_kml(exposed_book())).iter(f"{K}Placemark")}
    assert {"Start", "Goal", "Class 1", "Not protected"} <= told


def test_only_street_networks(line5: vr.Domain) -> None:
    book = vr.solve(vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3]), vr.Privacy(k=2))
    with pytest.raises(vr.InvalidInputError, match="only street networks"):
        playbook_kml(book)
    assert little_town().streets is not None
