"""Areas and no-fly zones from GeoJSON: what counts as which, and one line for what cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from veilroute import read_area
from veilroute.formats import read_zones


def ring(west: float, south: float, size: float = 0.01) -> list[list[float]]:
    east, north = west + size, south + size
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def feature(*rings: Any, **properties: Any) -> dict[str, Any]:
    geometry = {"type": "Polygon", "coordinates": list(rings)}
    return {"type": "Feature", "geometry": geometry, "properties": properties or None}


def written(data: Any, path: Path) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def collection(*features: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features)}


@pytest.mark.parametrize(
    ("properties", "is_no_fly"),
    [
        ({}, False),
        ({"no_fly": True}, True),
        ({"no_fly": False}, False),
        ({"No-Fly": "yes"}, True),
        ({"NOFLY": 1}, True),
        ({"restricted": "no"}, False),
        ({"no_fly": None}, False),
        ({"kind": "No fly zone"}, True),
        ({"type": "NFZ"}, True),
        ({"class": "PROHIBITED"}, True),
        ({"name": "no-fly"}, True),
        ({"name": "Field"}, False),
    ],
)
def test_what_is_a_no_fly_zone(tmp_path: Path, properties: dict[str, Any], is_no_fly: bool) -> None:
    areas, no_fly = read_zones(written(collection(feature(ring(24, 60), **properties)), tmp_path / "a.geojson"))
    assert (len(areas), len(no_fly)) == ((0, 1) if is_no_fly else (1, 0))


def test_geometries_of_every_kind(tmp_path: Path) -> None:
    polygon = {"type": "Polygon", "coordinates": [ring(24, 60), ring(24.004, 60.004, 0.002)]}
    several = {"type": "MultiPolygon", "coordinates": [[ring(24, 60)], [ring(24.02, 60)]]}
    mixed = {"type": "GeometryCollection", "geometries": [several, {"type": "Point", "coordinates": [24, 60]}]}
    whole = {"type": "Feature", "properties": {}, "geometry": polygon}
    for data, number in ((polygon, 1), (several, 2), (mixed, 2), (whole, 1)):
        assert len(read_zones(written(data, tmp_path / "a.geojson"))[0]) == number
    triangle = {"type": "Polygon", "coordinates": [ring(24, 60)[:3]]}
    assert len(read_zones(written(triangle, tmp_path / "a.geojson"))[0]) == 1, "not closed, as many write it"
    points = {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [24, 60]}}
    flight = read_area(written(collection(feature(ring(24, 60)), points), tmp_path / "a.geojson"), cell=100)
    assert flight.domain.num_nodes == 6 * 11


def test_zones_out_of_reach_are_left_out(tmp_path: Path) -> None:
    far = feature(ring(-70, -30, 5), no_fly=True)
    near = feature(ring(24.005, 60.005, 0.02), no_fly=True)
    flight = read_area(written(collection(feature(ring(24, 60)), far, near), tmp_path / "a.geojson"), cell=50)
    assert flight.num_no_fly == 1


def test_what_was_typed_is_not_the_fault_of_the_file(tmp_path: Path) -> None:
    path = written(collection(feature(ring(24, 60))), tmp_path / "a.geojson")
    with pytest.raises(vr.InvalidInputError, match="^cell: expected at least 0.77 metres: 0.2 makes about"):
        read_area(path, cell=0.2)
