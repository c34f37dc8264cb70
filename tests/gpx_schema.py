"""The GPX 1.1 schema as a checker, written out from the facts of its specification, for the elements that we write.

For every element: which elements it may hold, in this order, and which attributes it must have. Everything is in the
namespace of GPX; attributes are in none.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

NAMESPACE = "{http://www.topografix.com/GPX/1/1}"
_POINT = "ele time name cmt desc src link sym type"
_ABOUT = "name cmt desc src link number type"
_INSIDE = {
    "gpx": "metadata wpt rte trk", "metadata": "name desc author copyright link time keywords bounds",
    "wpt": _POINT, "rtept": _POINT, "trkpt": _POINT, "trkseg": "trkpt", "copyright": "year license",
    "link": "text type", "rte": f"{_ABOUT} rtept", "trk": f"{_ABOUT} trkseg",
}  # fmt: skip
_MANY = {"wpt", "rte", "trk", "rtept", "trkseg", "trkpt", "link"}
_DECIMAL = r"[-+]?(\d+(\.\d*)?|\.\d+)"
_ATTRIBUTES = {
    "gpx": {"version": r"1\.1", "creator": ".*"}, "copyright": {"author": ".*"}, "link": {"href": ".*"},
    **{name: {"lat": _DECIMAL, "lon": _DECIMAL} for name in ("wpt", "rtept", "trkpt")},
}  # fmt: skip
_TEXTS = {"number": r"\d+", "ele": _DECIMAL, "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}


def check_gpx(text: str) -> ET.Element:
    """The root of a document that is valid; fails with the element that is not."""
    root = ET.fromstring(text.encode())
    _check(root, "gpx")
    return root


def track_points(text: str) -> list[list[tuple[float, float]]]:
    """Longitude and latitude along each track of a document that is valid."""
    tracks = check_gpx(text).iter(f"{NAMESPACE}trk")
    return [[place_of(point) for point in track.iter(f"{NAMESPACE}trkpt")] for track in tracks]


def place_of(point: ET.Element) -> tuple[float, float]:
    """Longitude and latitude of a point; the schema has 180 excluded."""
    lon, lat = float(point.attrib["lon"]), float(point.attrib["lat"])
    assert -180 <= lon < 180 and -90 <= lat <= 90
    return lon, lat


def _check(element: ET.Element, name: str) -> None:
    assert element.tag == f"{NAMESPACE}{name}"
    needed = _ATTRIBUTES.get(name, {})
    assert {key for key in element.attrib if not key.startswith("{")} == set(needed), f"{name}: {element.attrib}"
    assert all(re.fullmatch(form, element.attrib[key], re.ASCII) for key, form in needed.items()), element.attrib
    if "lat" in needed:
        place_of(element)
    order = _INSIDE.get(name, "").split()
    tags = [child.tag.removeprefix(NAMESPACE) for child in element]
    assert set(tags) <= set(order), f"{name}: {set(tags) - set(order)} not allowed"
    assert tags == sorted(tags, key=order.index), f"{name}: {tags} out of order"
    assert all(tags.count(tag) == 1 or tag in _MANY for tag in tags), f"{name}: {tags}"
    texts = "".join([element.text or "", *(child.tail or "" for child in element)])
    assert re.fullmatch(r"\s*" if order else _TEXTS.get(name, "(?s:.*)"), texts), f"{name}: {texts!r}"
    for child, tag in zip(element, tags, strict=True):
        _check(child, tag)
