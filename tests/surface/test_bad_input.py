"""Bad options and places: exit code 2, one line on standard error that says what to change, no traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sound_files
import veilroute as vr
from commands import Command, assert_refused
from street_samples import ring_town

ENDS = ("--start", "1,18", "--goal", "32,60")
GOOD = (*ENDS, "--random-candidates", "6")
TOWN_ENDS = ("--start", "60.17,24.94", "--goal", "60.171,24.942")
TOWN_GOOD = (*TOWN_ENDS, "--candidates", "60.17,24.942 60.171,24.94")
SWAPPED = "The latitude comes first, then the longitude. Did you mean '60.17,24.94'?"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--start", "0,0", "--goal", "32,60", "--random-candidates", "6"), ("--start", "inside a wall")),
        ((*ENDS, "--candidates", "2,2 99,2"), ("--candidates", "on the map")),
        ((*ENDS, "--candidates", "2,2 2,2"), ("distinct",)),
        ((*ENDS,), ("--candidates",)),
        ((*GOOD, "--candidates", "2,2"), ("not both",)),
        ((*GOOD, "--radius", "2", "--sight", "2"), ("not both",)),
        ((*GOOD, "--planner", "pbp", "--partitioner", "magic"), ("partitioner", "exact")),
        ((*GOOD, "--time-limit", "soon"), ("--time-limit", "or none")),
        ((*ENDS, "--random-candidates", "30", "-k", "13"), ("-k: ", "at most 12")),
        ((*GOOD, "-o", "no/such/folder/book.json"), ("--out", "folder")),
    ],
)
def test_bad_options(command: Command, building: Path, options: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert_refused(command("plan", building, *options), *words)


def test_missing_files_and_unknown_formats(command: Command, planned: Path, tmp_path: Path) -> None:
    (tmp_path / "later.json").write_text(planned.read_text().replace("veilroute-playbook/1", "veilroute-playbook/2"))
    assert_refused(command("audit", "later.json"), "veilroute-playbook/2", "this version reads veilroute-playbook/1")
    assert_refused(command("plan", planned), "not a veilroute instance")
    assert_refused(command("plan", "nowhere.map", *GOOD), "veilroute maps get")
    assert_refused(command("plan", "nowhere.json"), "no such file")
    assert_refused(command("plan", tmp_path), "one of .toml, .in, .json, .map, .scen")
    assert_refused(command("audit", "nowhere.json"), "no such file")
    (tmp_path / "a.json").write_text(json.dumps(sound_files.GRAPH))
    assert_refused(command("convert", "a.json", "a.xml"), "one of .json, .in, .map")
    assert_refused(command("convert", "a.json", "no/such/folder/b.json"), "check the path")


@pytest.fixture
def city(tmp_path: Path) -> Path:
    """Junctions 1 to 4 are a ring, 5 can only be left, 6 and 7 are on their own."""
    vr.write_network(ring_town(), tmp_path / "city.json")
    return tmp_path / "city.json"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--start", "60;17;24;94", *TOWN_GOOD[2:]), ("--start", "LAT,LON", "a street (this map has no addresses)")),
        (("--start", "Kamppi", *TOWN_GOOD[2:]), ("--start", "the name of a place", "Kamppi")),
        (TOWN_ENDS, ("--candidates", "LAT,LON LAT,LON", "a table of --places", "--random-candidates")),
        ((*TOWN_ENDS, "--candidates", "2 60.17,24.94"), ("60.17,24.94 and 60.17,24.94 are both at junction 1",)),
        ((*TOWN_GOOD, "--side", "kerb", "--ell-measure", "walking"), ("--side", "any", "crosses the street")),
        ((*TOWN_GOOD, "--snap", "junction", "--side", "kerb"), ("--side", "a junction has no sides")),
        ((*TOWN_ENDS, "--candidates", "2 7"), ("junction 7", "not connected to 60.17,24.94", "--connected")),
        ((*TOWN_GOOD, "--snap-warning", "nan"), ("--warn-beyond",)),
        ((*TOWN_GOOD, "--radius-measure", "driving"), ("--seen-measure", "--seen-within as well")),
        ((*TOWN_GOOD, "--places", "city.json"), ("city.json", "FeatureCollection")),
    ],
)
def test_bad_places(command: Command, city: Path, options: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert_refused(command("plan", city, *options), *words)
    assert_refused(command("convert", city, "out.json", *options), *words)
    assert not Path("out.json").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,lat,lon\nA,60.17,24.942\nPier,60.17,24.946\n", ("line 3", "Pier (junction 6)", "not connected")),
        ("name,lat,lon\nA,60.17,24.942\nB,60.17,24.94\n", ("line 3", "60.17,24.94 and B are both at junction 1")),
        ("name,lat,lon,role\nA,60.17,24.942,\nB,24.94,60.17,start\n", ("line 3", "B", SWAPPED)),
    ],
)
def test_bad_tables_of_places(command: Command, city: Path, text: str, words: tuple[str, ...]) -> None:
    Path("places.csv").write_text(text)
    ends = TOWN_ENDS[2:] if "start" in text else TOWN_ENDS
    assert_refused(command("plan", city, *ends, "--places", "places.csv"), "places.csv", *words)


def test_an_instance_with_several_trips_keeps_its_ends(command: Command, tmp_path: Path) -> None:
    problem = vr.Problem(ring_town(), [vr.Trip(1, 3), vr.Trip(3, 1)], [2, 4])
    vr.write_instance(vr.Instance(problem), tmp_path / "two.json")
    Path("depot.csv").write_text("name,lat,lon,role\nDepot,60.17,24.94,start\n")
    assert command("plan", "two.json", "--candidates", "60.17,24.942 4").code == 0
    assert_refused(command("plan", "two.json", "--start", "1"), "--start", "one trip")
    assert_refused(command("plan", "two.json", "--places", "depot.csv"), "depot.csv, line 2", "one trip")
    assert_refused(command("plan", "two.json", "--random-candidates", "2"), "--random-candidates", "one trip")


@pytest.mark.parametrize("typed", ["420.17,24.94", "9" * 400 + ",24.94", "60.155,24.94", "nan,24.94", "60.17,-999"])
def test_a_secret_off_the_map_is_unknown(command: Command, city: Path, typed: str) -> None:
    assert command("plan", city, *TOWN_GOOD, "-o", "book.json").code == 0
    assert_refused(command("route", "book.json", "--transit", typed), "not among the playbook's candidates")
    assert command("route", "book.json", "--transit", "60.1701,24.9421").code == 0


def test_where_nothing_can_be_written_nothing_is_begun(command: Command, city: Path, tmp_path: Path) -> None:
    assert command("plan", city, *TOWN_GOOD, "-o", "book.json").code == 0
    (tmp_path / "a.gpx").mkdir()
    for out in ("a.gpx", "nowhere/b.gpx"):
        assert_refused(command("export", "book.json", "-o", out), "--out: expected a file in a folder that exists")
    assert_refused(command("streets", city, "-o", "nowhere/b.json"), "--out: expected a file in a folder that exists")
    assert_refused(command("plan", city, *TOWN_GOOD, "-o", tmp_path), "--out: expected a file in a folder that exists")
