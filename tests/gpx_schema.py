"""The GPX 1.1 schema as a checker, written out from the facts of its specification.

For every element: which elements it may hold, in this order, how many of each, which attributes it must and may have,
and what text may stand in it. Everything is in the namespace of GPX; attributes are in none.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import NamedTuple

NAMESPACE = "{http://www.topografix.com/GPX/1/1}"
_INSTANCE = "{http://www.w3.org/2001/XMLSchema-instance}"
MANY = 10**9

Check = Callable[[str], bool]


def is_decimal(text: str) -> bool:
    """A number as xsd:decimal has it: no exponent, no infinity."""
    return re.fullmatch(r"[-+]?(\d+(\.\d*)?|\.\d+)", text.strip(), re.ASCII) is not None


def is_latitude(text: str) -> bool:
    return is_decimal(text) and -90 <= float(text) <= 90


def is_longitude(text: str) -> bool:
    """The schema has 180 excluded."""
    return is_decimal(text) and -180 <= float(text) < 180


def is_degrees(text: str) -> bool:
    return is_decimal(text) and 0 <= float(text) < 360


def is_count(text: str) -> bool:
    return re.fullmatch(r"\+?\d+", text.strip(), re.ASCII) is not None


def is_time(text: str) -> bool:
    clock = r"-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d)?"
    return re.fullmatch(clock, text.strip(), re.ASCII) is not None


def is_text(_: str) -> bool:
    return True


class Kind(NamedTuple):
    """What one kind of element may hold."""

    inside: tuple[tuple[str, str, int, int], ...] = ()  # name, kind, how often at least and at most
    needed: tuple[tuple[str, Check], ...] = ()  # attributes
    allowed: tuple[tuple[str, Check], ...] = ()
    text: Check | None = None  # None: elements only


def one(name: str, kind: str = "string") -> tuple[str, str, int, int]:
    return (name, kind, 0, 1)


def many(name: str, kind: str) -> tuple[str, str, int, int]:
    return (name, kind, 0, MANY)


_POINT = (
    one("ele", "decimal"), one("time", "time"), one("magvar", "degrees"), one("geoidheight", "decimal"), one("name"),
    one("cmt"), one("desc"), one("src"), many("link", "link"), one("sym"), one("type"), one("fix", "fix"),
    one("sat", "count"), one("hdop", "decimal"), one("vdop", "decimal"), one("pdop", "decimal"),
    one("ageofdgpsdata", "decimal"), one("dgpsid", "station"), one("extensions", "extensions"),
)  # fmt: skip
_ABOUT = (
    one("name"), one("cmt"), one("desc"), one("src"), many("link", "link"), one("number", "count"), one("type"),
    one("extensions", "extensions"),
)  # fmt: skip
_PLACE: tuple[tuple[str, Check], ...] = (("lat", is_latitude), ("lon", is_longitude))

KINDS = {
    "gpx": Kind(
        (one("metadata", "metadata"), many("wpt", "wpt"), many("rte", "rte"), many("trk", "trk"),
         one("extensions", "extensions")),
        (("version", lambda text: text == "1.1"), ("creator", is_text)),
        ((f"{_INSTANCE}schemaLocation", is_text),),
    ),
    "metadata": Kind(
        (one("name"), one("desc"), one("author", "person"), one("copyright", "copyright"), many("link", "link"),
         one("time", "time"), one("keywords"), one("bounds", "bounds"), one("extensions", "extensions"))
    ),
    "wpt": Kind(_POINT, _PLACE),
    "rte": Kind((*_ABOUT, many("rtept", "wpt"))),
    "trk": Kind((*_ABOUT, many("trkseg", "trkseg"))),
    "trkseg": Kind((many("trkpt", "wpt"), one("extensions", "extensions"))),
    "copyright": Kind((one("year"), one("license")), (("author", is_text),)),
    "link": Kind((one("text"), one("type")), (("href", is_text),)),
    "person": Kind((one("name"), one("email", "email"), one("link", "link"))),
    "email": Kind((), (("id", is_text), ("domain", is_text))),
    "bounds": Kind(
        (), (("minlat", is_latitude), ("minlon", is_longitude), ("maxlat", is_latitude), ("maxlon", is_longitude))
    ),
    "extensions": Kind(),  # we have none
    "string": Kind(text=is_text),
    "decimal": Kind(text=is_decimal),
    "degrees": Kind(text=is_degrees),
    "count": Kind(text=is_count),
    "time": Kind(text=is_time),
    "fix": Kind(text=lambda text: text in ("none", "2d", "3d", "dgps", "pps")),
    "station": Kind(text=lambda text: is_count(text) and int(text) <= 1023),
}  # fmt: skip


def check_gpx(text: str) -> ET.Element:
    """The root of a document that is valid; fails with the element that is not."""
    root = ET.fromstring(text.encode())
    assert root.tag == f"{NAMESPACE}gpx"
    _check(root, "gpx", "gpx")
    return root


def track_points(text: str) -> list[list[tuple[float, float]]]:
    """Longitude and latitude along each track of a document that is valid."""
    tracks = check_gpx(text).iter(f"{NAMESPACE}trk")
    return [[place_of(point) for point in track.iter(f"{NAMESPACE}trkpt")] for track in tracks]


def place_of(point: ET.Element) -> tuple[float, float]:
    """Longitude and latitude of a point."""
    return float(point.attrib["lon"]), float(point.attrib["lat"])


def _check(element: ET.Element, name: str, path: str) -> None:
    kind = KINDS[name]
    known = dict((*kind.needed, *kind.allowed))
    for attribute, _ in kind.needed:
        assert attribute in element.attrib, f"{path}: no {attribute}"
    for attribute, value in element.attrib.items():
        assert attribute in known, f"{path}: {attribute} is not allowed"
        assert known[attribute](value), f"{path}: {attribute}={value!r}"
    inner = element.text or ""
    if kind.text is None:
        texts = [inner, *(child.tail or "" for child in element)]
        assert not "".join(texts).strip(), f"{path}: text between elements"
    else:
        assert kind.text(inner), f"{path}: {inner!r}"
    order = [allowed for allowed, *_ in kind.inside]
    tags = [child.tag.removeprefix(NAMESPACE) for child in element]
    assert set(tags) <= set(order), f"{path}: {set(tags) - set(order)} not allowed"
    assert tags == sorted(tags, key=order.index), f"{path}: {tags} out of order"
    for allowed, inside, least, most in kind.inside:
        assert least <= tags.count(allowed) <= most, f"{path}: {tags.count(allowed)} {allowed}"
        for child in element:
            if child.tag == f"{NAMESPACE}{allowed}":
                _check(child, inside, f"{path}/{allowed}")
