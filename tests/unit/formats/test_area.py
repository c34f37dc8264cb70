"""Areas and no-fly zones from GeoJSON: what counts as which, and one line for what cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sound_files import collection, feature, square
from veilroute import read_area
from veilroute.formats import read_zones


def written(data: str | dict[str, Any], path: Path) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("properties", "is_no_fly"),
    [
        ({}, False),
        ({"no_fly": True}, True),
        ({"No-Fly": "yes"}, True),
        ({"restricted": "no"}, False),
        ({"kind": "No fly zone"}, True),
        ({"name": "no-fly"}, True),
        ({"name": "Field"}, False),
    ],
)
def test_what_is_a_no_fly_zone(tmp_path: Path, properties: dict[str, Any], is_no_fly: bool) -> None:
    areas, no_fly = read_zones(
        written(collection(feature("Polygon", [square(24, 60)], **properties)), tmp_path / "a.geojson")
    )
    assert (len(areas), len(no_fly)) == ((0, 1) if is_no_fly else (1, 0))


def test_geometries_of_every_kind(tmp_path: Path) -> None:
    polygon = {"type": "Polygon", "coordinates": [square(24, 60), square(24.004, 60.004, 0.002)]}
    several = {"type": "MultiPolygon", "coordinates": [[square(24, 60)], [square(24.02, 60)]]}
    mixed = {"type": "GeometryCollection", "geometries": [several, {"type": "Point", "coordinates": [24, 60]}]}
    whole = {"type": "Feature", "properties": {}, "geometry": polygon}
    for data, number in ((polygon, 1), (several, 2), (mixed, 2), (whole, 1)):
        assert len(read_zones(written(data, tmp_path / "a.geojson"))[0]) == number
    triangle = {"type": "Polygon", "coordinates": [square(24, 60)[:3]]}
    assert len(read_zones(written(triangle, tmp_path / "a.geojson"))[0]) == 1, "not closed, as many write it"


def test_zones_out_of_reach_are_left_out(tmp_path: Path) -> None:
    field, far, near = (square(24, 60), square(-70, -30, 5), square(24.005, 60.005, 0.02))
    zones = [feature("Polygon", [ring], no_fly=True) for ring in (far, near)]
    both = collection(feature("Polygon", [field]), feature("Point", [24, 60]), *zones)
    assert read_area(written(both, tmp_path / "a.geojson"), cell=50).num_no_fly == 1
