"""Drones and guards: from an area or a floor plan to routes that a device can follow."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import veilroute as vr
from commands import Command, assert_refused
from gpx_schema import track_points
from plain_flight import MM_PER_DEGREE, is_in, meeting
from veilroute.domain import great_circle_m

FLOOR = """type octile
height 8
width 12
map
............
.@@@.@@@@@..
............
.@.@@.@@.@@.
.@.@@.@@.@@.
............
.@@@@@.@@@@.
............
"""
GUARD = ("--origin", "60.17,24.94", "--cell", "10", "--start", "0,0", "--goal", "0,0", "-k", "2")
ZONE = [[24.945, 60.164], [24.951, 60.163], [24.952, 60.169], [24.944, 60.168], [24.945, 60.164]]
HARBOUR = [[24.93, 60.16], [24.965, 60.158], [24.97, 60.172], [24.93, 60.174], [24.93, 60.16]]
SKY = {
    "type": "FeatureCollection",
    "features": [
        {"type": "Feature", "properties": properties, "geometry": {"type": "Polygon", "coordinates": [ring]}}
        for properties, ring in (({"name": "Harbour"}, HARBOUR), ({"name": "Hospital", "no_fly": True}, ZONE))
    ],
}


def tracks_of(path: str) -> list[np.ndarray]:
    return [np.array(track) for track in track_points(Path(path).read_text(encoding="utf-8"))]


@pytest.fixture
def guarded(command: Command) -> vr.Playbook:
    """A guard's round on a floor with an origin, also written as book.json."""
    Path("floor.map").write_text(FLOOR, encoding="ascii")
    done = command("plan", "floor.map", *GUARD, "--candidates", "2,3 60.16965,24.94152 5,8 7,2", "-o", "book.json")
    assert done.code == 0, done.err
    return vr.read_playbook("book.json")


def test_a_guards_round_lands_where_the_floor_is(command: Command, guarded: vr.Playbook) -> None:
    """Cell (r, c) is 10 r + 5 m south and 10 c + 5 m east of the corner, to the metre."""
    assert guarded.candidates == ((2, 3), (3, 8), (5, 8), (7, 2))
    assert command("export", "book.json", "-o", "routes.gpx").code == 0
    tracks = tracks_of("routes.gpx")
    assert len(tracks) == len(guarded.classes)
    for track, group in zip(tracks, guarded.classes, strict=True):
        for (row, col), (lon, lat) in zip(np.array(group.routes[0].nodes).tolist(), track.tolist(), strict=True):
            assert (60.17 - lat) * 111_195 == pytest.approx(10 * row + 5, abs=0.1)
            assert (lon - 24.94) * 111_195 * np.cos(np.radians(60.17)) == pytest.approx(10 * col + 5, abs=0.1)
    typed = command("route", "book.json", "--transit", "5,8", "--format", "gpx")
    found = command("route", "book.json", "--transit", "60.1695054,24.9415365", "--format", "gpx")
    assert typed.code == found.code == 0
    assert typed.out == found.out
    assert_refused(command("route", "book.json", "--transit", "60.2,24.9", "--format", "gpx"))


def test_where_a_floor_lies_is_kept_in_instances(command: Command, guarded: vr.Playbook) -> None:
    Path("floor.map").write_text(FLOOR, encoding="ascii")
    assert command("convert", "floor.map", "floor.json", *GUARD, "--candidates", "2,3 5,8").code == 0
    grid = json.loads(Path("floor.json").read_bytes())["domain"]["grid"]
    assert (grid["origin"], grid["cell"]) == ([60.17, 24.94], 10)
    done = command("convert", "floor.json", "again.map")
    assert "origin" in done.err
    assert command("plan", "floor.json", "-o", "again.json").code == 0
    beside = {"map": "floor.map", "origin": [60.17, 24.94], "cell": 10}
    named = json.loads(Path("floor.json").read_bytes()) | {"domain": {"grid": beside}}
    Path("named.json").write_text(json.dumps(named), encoding="utf-8")
    assert command("plan", "named.json", "-o", "named-book.json").code == 0
    assert vr.read_playbook("named-book.json").drawing_sha256 == vr.read_playbook("again.json").drawing_sha256
    data = json.loads(Path("book.json").read_bytes())
    data["domain"]["grid"]["origin"][1] = 24.95
    Path("moved.json").write_text(json.dumps(data), encoding="utf-8")
    done = command("audit", "moved.json")
    assert done.code == 1
    assert "drawing: hashed as" in done.out


def test_floors_and_places_that_do_not_fit_are_one_line(command: Command) -> None:
    Path("floor.map").write_text(FLOOR, encoding="ascii")
    plan = ("plan", "floor.map", "--random-candidates", "3")
    ends = ("--start", "0,0", "--goal", "7,11")
    assert_refused(command(*plan, *ends, "--origin", "60.17,24.94"), "--origin: expected --cell, in metres, as well")
    assert_refused(command(*plan, *ends, "--origin", "95.0,24.94", "--cell", "10"), "--origin: expected LAT,LON")
    assert_refused(command(*plan, *GUARD, "--goal", "60.16987,24.94025"), "--goal", "1,1 is inside a wall")
    assert_refused(command(*plan, *GUARD, "--goal", "60.1,24.9"), "60.1,24.9 is outside the map (latitude 60.16")


def test_a_drone_flies_round_the_hospital(command: Command) -> None:
    Path("sky.geojson").write_text(json.dumps(SKY), encoding="utf-8")
    done = command("area", "sky.geojson", "-o", "sky.json", "--cell", "60")
    assert done.code == 0, done.err
    places = "60.165,24.96 60.17,24.962 60.171,24.94 60.162,24.95 60.168,24.935 60.1625,24.94"
    home = ("--start", "60.165,24.94", "--goal", "60.165,24.94", "--candidates", places)
    done = command("plan", "sky.json", *home, "-k", "3", "--ell", "300", "--ell-measure", "straight", "-o", "book.json")
    assert done.code == 0, done.err
    assert command("audit", "book.json").code == 0
    assert command("export", "book.json", "-o", "fly.gpx").code == 0
    zone = [(round(lon * MM_PER_DEGREE), round(lat * MM_PER_DEGREE)) for lon, lat in ZONE[:-1]]
    for track in tracks_of("fly.gpx"):
        flat = [(round(lon * MM_PER_DEGREE), round(lat * MM_PER_DEGREE)) for lon, lat in track.tolist()]
        assert not any(is_in([zone], point) for point in flat)
        borders = list(zip(zone, [*zone[1:], zone[0]], strict=True))
        assert not any(meeting(leg, border) for leg in pairwise(flat) for border in borders)
        assert great_circle_m(track[0], track[-1]) < 1


def test_areas_that_do_not_work_are_one_line(command: Command) -> None:
    Path("sky.geojson").write_text(json.dumps(SKY), encoding="utf-8")
    assert_refused(command("plan", "sky.geojson", "--random-candidates", "3"), "`veilroute map make`")
    assert_refused(command("area", "sky.geojson", "-o", "x.json", "--cell", "0.1"), "cell: expected at least")
    assert_refused(command("area", "sky.geojson", "-o", "x.gpx", "--cell", "60"), "--out", "*.json, *.npz")
    assert_refused(command("area", "sky.csv", "-o", "x.json", "--cell", "60"), "AREA", "*.geojson")
    assert not Path("x.json").exists()
