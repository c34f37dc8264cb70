"""Points with names: CSV tables and GeoJSON.

CSV has a header with the columns ``name``, ``lat``, ``lon`` and, where wanted, ``role`` and ``id``; other columns are
ignored. GeoJSON is a FeatureCollection of Points (RFC 7946) with these as properties. Each point has coordinates, or
where these are left out the id of a node. Either all points have a name or none has.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from veilroute.errors import FileFormatError, InvalidInputError, UnknownMethodError
from veilroute.jsontext import parse_json, read_bytes, read_text
from veilroute.streets.places import ROLES, Place

SUFFIXES = (".csv", ".tsv", ".txt", ".geojson", ".json")

_ALIASES = {
    "name": ("name",),
    "lat": ("lat", "latitude", "y"),
    "lon": ("lon", "lng", "long", "longitude", "x"),
    "node": ("node", "osmid", "id"),
    "role": ("role",),
}
_DELIMITERS = ",;\t"
_DEGREES = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)


def read_places(path: str | Path) -> list[Place]:
    """Read the points of a table (``.csv``, ``.tsv``, ``.txt``) or of a ``.geojson`` or ``.json`` file, in order."""
    match Path(path).suffix.lower():
        case ".csv" | ".tsv" | ".txt":
            places = list(_read_table(path))
        case ".geojson" | ".json":
            places = list(_read_geojson(path))
        case suffix:
            raise UnknownMethodError("places format", suffix or str(path), SUFFIXES)
    if not places:
        raise FileFormatError(path, "no places in the file")
    _check_together(path, places)
    return places


def _read_table(path: str | Path) -> Iterator[Place]:
    text = read_text(path).removeprefix("\ufeff")
    # The delimiter that the header has most of; of equally many the first.
    header = next((line for line in text.split("\n") if line.strip()), "")
    delimiter = max(_DELIMITERS, key=header.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    columns: dict[str, int] = {}
    width = 0
    try:
        for row in rows:
            spot = _Spot(path, rows.line_num)
            if not any(cell.strip() for cell in row):
                continue
            if not columns:
                columns, width = _columns(row, spot), len(row)
                continue
            if any(cell.strip() for cell in row[width:]):
                raise spot.error(
                    f"{len(row)} values for {width} columns; write decimals with a point, and quotes round "
                    "text that holds a separator"
                )
            cells = {what: row[i].strip() for what, i in columns.items() if i < len(row)}
            lat, lon = (_degrees(cells.get(what, ""), what, spot) for what in ("lat", "lon"))
            yield _place(cells, lat, lon, spot)
    except csv.Error as error:
        raise FileFormatError(path, f"not a table ({error}); check quotes and separators", rows.line_num) from None


class _Spot:
    """Where in a file something is: a line of a table or a feature of a collection."""

    def __init__(self, path: str | Path, line: int | None = None, feature: int | None = None) -> None:
        self.path, self.line = path, line
        self.text = f"line {line}" if feature is None else f"features[{feature}]"

    def error(self, problem: str) -> FileFormatError:
        return FileFormatError(self.path, problem if self.line else f"{self.text}: {problem}", self.line)


def _columns(header: list[str], spot: _Spot) -> dict[str, int]:
    """Which column holds what; of several that could, the one whose alias is listed first."""
    names = [cell.strip().lower() for cell in header]
    found = {
        what: names.index(next(alias for alias in aliases if alias in names))
        for what, aliases in _ALIASES.items()
        if set(aliases) & set(names)
    }
    if not {"lat", "lon"} <= set(found) and "node" not in found:
        shown = ", ".join(repr(name[:20]) for name in names[:6])
        raise spot.error(f"expected a header with the columns name, lat, lon (or name, id); got {shown}")
    return found


def _read_geojson(path: str | Path) -> Iterator[Place]:
    match parse_json(read_bytes(path).removeprefix(b"\xef\xbb\xbf"), path):
        case {"type": "FeatureCollection", "features": list(features)}:
            pass
        case _:
            raise FileFormatError(path, "expected a GeoJSON FeatureCollection of Points")
    for number, feature in enumerate(features):
        spot = _Spot(path, feature=number)
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            raise spot.error("expected a Feature")
        properties = feature.get("properties") or {}
        if not isinstance(properties, dict):
            raise spot.error("expected an object as properties")
        ids = [*(properties.get(alias) for alias in _ALIASES["node"]), feature.get("id")]
        given = {"name": properties.get("name"), "role": properties.get("role")}
        given["node"] = next((one for one in ids if one is not None), None)
        lat, lon = _point(feature.get("geometry"), spot)
        yield _place({what: _text(value, what, spot) for what, value in given.items()}, lat, lon, spot)


def _point(geometry: Any, spot: _Spot) -> tuple[float | None, float | None]:
    """Latitude and longitude of a Point; neither where there is no geometry."""
    match geometry:
        case None:
            return None, None
        case {"type": "Point", "coordinates": [lon, lat, *_]} if _is_number(lon) and _is_number(lat):
            return float(lat), float(lon)
        case {"type": str(kind)} if kind != "Point":
            raise spot.error(f"expected a Point, got {kind[:20]!r}")
    raise spot.error("expected a Point with coordinates [longitude, latitude]")


def _place(cells: dict[str, str], lat: float | None, lon: float | None, spot: _Spot) -> Place:
    """A place from its parts; what is empty or missing was not given. Coordinates go before the id."""
    # A no-break space is a space to whoever types the name.
    name = cells.get("name", "").replace("\u00a0", " ").replace("\u202f", " ")
    role = cells.get("role", "").lower() or "candidate"
    if not name.isprintable():
        raise spot.error("expected a printable name")
    if role not in ROLES:
        raise spot.error(f"expected a role of start, goal or candidate, got {role[:20]!r}")
    node = cells.get("node") or None
    if (lat is None) != (lon is None) or (lat is None and node is None):
        raise spot.error("expected both lat and lon, or the id of a junction")
    try:
        origin = f"{spot.path}, {spot.text}"
        return Place(name or None, lat, lon, None if lat is not None else node, role, origin)
    except InvalidInputError:
        raise spot.error("expected finite degrees") from None


def _degrees(text: str, what: str, spot: _Spot) -> float | None:
    if not text:
        return None
    if _DECIMAL_COMMA.fullmatch(text):
        raise spot.error(f"{what}: write decimals with a point: {text.replace(',', '.')[:20]}, not {text[:20]}")
    if not _DEGREES.fullmatch(text):
        raise spot.error(f"{what}: expected decimal degrees such as 60.17, got {text[:20]!r}")
    return float(text)


def _check_together(path: str | Path, places: list[Place]) -> None:
    """Names for all or for none, no name twice, at most one start and one goal."""
    seen: dict[tuple[str, str], str] = {}
    is_named = any(place.name is not None for place in places)
    for place in places:
        where = place.origin.removeprefix(f"{path}, ")
        if is_named and place.name is None:
            raise FileFormatError(path, f"{where}: this place has no name and others have one; name all or none")
        marks = [] if place.name is None else [("name", place.name)]
        marks += [] if place.role in (None, "candidate") else [("role", str(place.role))]
        for mark in marks:
            if mark in seen:
                problem = f"{where}: the {mark[0]} {mark[1]!r} is there twice, first in {seen[mark]}; change one"
                raise FileFormatError(path, problem)
            seen[mark] = where


def _text(value: object, what: str, spot: _Spot) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise spot.error(f"{what}: expected text")
    return str(value).strip()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
