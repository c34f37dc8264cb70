"""Areas of free flight: polygons of a GeoJSON file (RFC 7946), those to fly in and those to keep out of.

A polygon is a no-fly zone when the properties of its feature say so: ``no_fly: true``, or a ``kind`` such as
``"no-fly zone"`` or ``"restricted"``. Every other polygon is part of the area. Points and lines are left out.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from veilroute.base.arrays import Floats
from veilroute.base.checks import is_number
from veilroute.base.errors import FileFormatError, InvalidInputError, blame_file
from veilroute.base.io import parse_json, read_bytes
from veilroute.domain.free_flight import FreeFlight, Zone, free_flight

# Compared in small letters, without spaces and signs between words.
_FLAGS = frozenset({"nofly", "noflyzone", "forbidden", "prohibited", "restricted"})
_KINDS = frozenset({"kind", "type", "class", "category", "zone", "role", "name"})
_SAYS_NO = frozenset(
    {"nofly", "noflyzone", "noflyarea", "nfz", "forbidden", "prohibited", "restricted", "exclusion", "obstacle"}
)
_YES, _NO = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0", "none", ""})
_DEEPEST = 8


def read_area(path: str | Path, *, cell: float, ways: int = 16) -> FreeFlight:
    """Read an area and its no-fly zones from GeoJSON, and make the network of free flight over it.

    Parameters
    ----------
    path
        A ``.geojson`` or ``.json`` file with Polygons and MultiPolygons.
    cell, ways
        As in :func:`~veilroute.domain.free_flight.free_flight`.
    """
    areas, no_fly = read_zones(path)
    try:
        return free_flight(areas, no_fly, cell=cell, ways=ways)
    except InvalidInputError as error:
        # What was typed is to blame for these, the file for the rest.
        if error.field in ("cell", "ways"):
            raise
        raise FileFormatError(path, str(error)) from None


def read_zones(path: str | Path) -> tuple[list[Zone], list[Zone]]:
    """The polygons of a GeoJSON file: those of the area, then those of no-fly zones."""
    data = parse_json(read_bytes(path), path)
    zones: tuple[list[Zone], list[Zone]] = ([], [])
    with blame_file(path):
        for name, geometry, is_no_fly in _features(data):
            zones[is_no_fly].extend(_polygons(geometry, name, 0))
    return zones


def _features(data: Any) -> Iterator[tuple[str, Any, bool]]:
    """Each feature's name, geometry, and whether it is a no-fly zone."""
    match data:
        case {"type": "FeatureCollection", "features": list(features)}:
            for number, feature in enumerate(features):
                if not isinstance(feature, dict):
                    raise InvalidInputError(f"features[{number}]", "a GeoJSON Feature", feature)
                properties = feature.get("properties")
                known = properties if isinstance(properties, dict) else {}
                called = known.get("name")
                name = f"features[{number}]" + (f" ({called})" if isinstance(called, str) and called else "")
                yield name, feature.get("geometry"), _is_no_fly(name, known)
        case {"type": "Feature"}:
            yield from _features({"type": "FeatureCollection", "features": [data]})
        case {"type": str()}:
            yield "area", data, False
        case _:
            raise InvalidInputError("area", "GeoJSON: a FeatureCollection, a Feature or a Polygon")


def _is_no_fly(name: str, properties: dict[str, Any]) -> bool:
    """What the properties say. A flag that says neither yes nor no is an error: too much hangs on it."""
    for key, value in properties.items():
        word = _word(key)
        if word in _FLAGS and value is not None:
            said = str(value).strip().casefold()
            if said not in _YES | _NO:
                raise InvalidInputError(f"{name}.{key}", "true or false", value)
            if said in _YES:
                return True
        elif word in _KINDS and isinstance(value, str) and _word(value) in _SAYS_NO:
            return True
    return False


def _word(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _polygons(geometry: Any, name: str, depth: int) -> Iterator[Zone]:
    match geometry:
        case {"type": "Polygon", "coordinates": list(rings)}:
            yield _zone(rings, name)
        case {"type": "MultiPolygon", "coordinates": list(polygons)}:
            for number, rings in enumerate(polygons, start=1):
                yield _zone(rings, f"{name}, polygon {number}" if len(polygons) > 1 else name)
        case {"type": "GeometryCollection", "geometries": list(parts)} if depth < _DEEPEST:
            for part in parts:
                yield from _polygons(part, name, depth + 1)
        case None | {"type": "Point" | "MultiPoint" | "LineString" | "MultiLineString"}:
            pass
        case _:
            raise InvalidInputError(name, "a Polygon or MultiPolygon with coordinates", geometry)


def _zone(rings: Any, name: str) -> Zone:
    if not isinstance(rings, list) or not rings:
        raise InvalidInputError(name, "a list of rings, the outer one first")
    return Zone(name, tuple(_ring(ring, name) for ring in rings))


def _ring(ring: Any, name: str) -> Floats:
    is_ring = isinstance(ring, list) and len(ring) >= 3
    if not is_ring or not all(isinstance(at, list) and len(at) >= 2 and all(map(is_number, at[:2])) for at in ring):
        raise InvalidInputError(name, "rings of at least three [longitude, latitude] pairs")
    points = np.array([at[:2] for at in ring], dtype=np.float64)
    if not bool((np.abs(points) <= (180.0, 90.0)).all()):
        expected = "longitudes from -180 to 180 and latitudes from -90 to 90, in this order; are these metres?"
        raise InvalidInputError(name, expected, ring[int(np.argmax((np.abs(points) > (180.0, 90.0)).any(axis=1)))][:2])
    return points
