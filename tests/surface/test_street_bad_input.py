"""Bad places on street networks: exit code 2, one line on standard error that says what to change, no traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from ring_town import ring_town, write_network

ENDS = ("--start", "60.17,24.94", "--goal", "60.171,24.942")
GOOD = (*ENDS, "--candidates", "60.17,24.942 60.171,24.94")
SPAN = "latitude 60.170 to 60.171, longitude 24.938 to 24.946"
SWAPPED = "this looks like longitude,latitude, so write 60.17,24.94"


@pytest.fixture
def city(tmp_path: Path) -> Path:
    """Junctions 1 to 4 are a ring, 5 can only be left, 6 and 7 are on their own."""
    return write_network(tmp_path / "city.json", ring_town())


def test_the_good_options_are_good(command: Command, city: Path) -> None:
    assert command("plan", city, *GOOD).code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--start", "61.5,23.8", *GOOD[2:]), ("--start", "a point on the map", SPAN, "61.5,23.8")),
        ((*ENDS, "--candidates", "60.17,24.942 60.2,24.9"), ("--candidates", "a point on the map", SPAN)),
        (("--start", "24.94,60.17", *GOOD[2:]), ("--start", SWAPPED)),
        ((*ENDS, "--candidates", "60.17,24.942 24.94,60.17"), ("--candidates", SWAPPED)),
        (("--start", "60.17,249.4", *GOOD[2:]), ("--start", "a latitude from -90 to 90")),
        (("--start", "60;17;24;94", *GOOD[2:]), ("--start", "LAT,LON", "a street (the network has no addresses)")),
        (("--start", "Kamppi", *GOOD[2:]), ("--start", "a name in --places", "Kamppi")),
        (("--start", "99", *GOOD[2:]), ("--start", "the id of a junction")),
        ((*ENDS, "--candidates", "Central Station"), ("--candidates", "'Central'")),
        (("--random-candidates", "2"), ("--start", "--start 60.1700,24.9400")),
        (ENDS, ("--candidates", "LAT,LON LAT,LON", "--places FILE", "--random-candidates N")),
        ((*ENDS, "--candidates", "2 60.17,24.94"), ("60.17,24.94 and 60.17,24.94 are both at junction 1",)),
        (
            (*ENDS, "--snap", "junction", "--candidates", "2 60.1701,24.9401"),
            ("60.1701,24.9401 are both at junction 1",),
        ),
        ((*GOOD, "--side", "kerb", "--ell-measure", "walking"), ("--side", "any", "crosses the street")),
        ((*GOOD, "--snap", "roof"), ("--snap", "door", "junction")),
        ((*GOOD, "--side", "left"), ("--side", "any", "kerb")),
        ((*GOOD, "--traffic", "both"), ("--traffic", "right", "left")),
        ((*GOOD, "--snap", "junction", "--side", "kerb"), ("--side", "--snap door")),
        ((*ENDS, "--candidates", "2 2"), ("both at junction 2",)),
        ((*ENDS, "--candidates", "2 60.17,24.946"), ("--candidates", "60.17,24.946 (junction 6)", "not connected")),
        ((*ENDS, "--candidates", "2 7"), ("junction 7", "not connected to 60.17,24.94", "--connected")),
        ((*ENDS[:3], "7", *GOOD[4:]), ("--goal", "junction 7", "not connected", "choose another place")),
        (("--start", "60.171,24.946", *GOOD[2:]), ("--start", "junction 7", "not connected to 60.171,24.942")),
        (("--start", "3", "--goal", "5", *GOOD[4:]), ("--goal", "one-way streets leave no way from 3 to 5")),
        (("--start", "3", "--goal", "5", "--random-candidates", "2"), ("--goal", "one-way streets")),
        ((*ENDS, "--random-candidates", "99"), ("random candidates",)),
        ((*GOOD, "--snap-warning", "-1"), ("--snap-warning",)),
        ((*GOOD, "--snap-warning", "nan"), ("--snap-warning",)),
        ((*GOOD, "--radius", "9", "--radius-measure", "flying"), ("--radius-measure", "driving", "'flying'")),
        ((*GOOD, "--radius-measure", "driving"), ("--radius-measure", "--radius as well")),
        ((*GOOD, "--ell-measure", "miles"), ("--ell-measure", "straight")),
        ((*GOOD, "--sight", "9"), ("visibility", "grid")),
        ((*GOOD, "--sight", "9", "--radius-measure", "driving"), ("--radius-measure",)),
        ((*GOOD, "--movement", "8"), ("--movement",)),
        ((*GOOD, "--places", "nowhere.csv"), ("nowhere.csv", "no such file")),
        ((*GOOD, "--places", "city.json"), ("city.json", "FeatureCollection")),
        ((*GOOD, "--places", "places.ods"), ("places format", ".csv")),
    ],
)
def test_bad_places(command: Command, city: Path, options: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert_refused(command("plan", city, *options), *words)
    assert_refused(command("convert", city, "out.json", *options), *words)
    assert not Path("out.json").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("shop,where\nA,B\n", ("line 1", "the columns name, lat, lon", "'shop'")),
        ("name;lat;lon\nA;60,17;24.9.4\n", ("line 2", "lon: expected degrees such as 60.17")),
        ("name,lat,lon\nA,60.17,24.942\nA,60.171,24.94\n", ("line 3", "'A' is there twice")),
        ("name,lat,lon\nA,60.17,24.942\nB,24.94,60.17\n", ("line 3", "B", SWAPPED)),
        ("name,lat,lon\nA,60.17,24.942\nB,6.017,24.94\n", ("line 3", "B", SPAN)),
        ("name,lat,lon\nA,60.17,24.942\nPier,60.17,24.946\n", ("line 3", "Pier (junction 6)", "not connected")),
        ("name,id\nA,2\nB,99\n", ("line 3", "'99'")),
        ("name,lat,lon\nA,60.17,24.942\nB,60.17,24.94\n", ("line 3", "60.17,24.94 and B are both at junction 1")),
        ("name,lat,lon,role\nA,60.17,24.942,\nB,24.94,60.17,start\n", ("line 3", "B", SWAPPED)),
    ],
)
def test_bad_tables_of_places(command: Command, city: Path, text: str, words: tuple[str, ...]) -> None:
    Path("places.csv").write_text(text)
    ends = ENDS[2:] if "start" in text else ENDS
    assert_refused(command("plan", city, *ends, "--places", "places.csv"), "places.csv", *words)


def test_a_warning_does_not_stand_beside_an_error(command: Command, city: Path) -> None:
    """One line, also when a place before the bad one is far from its junction."""
    assert_refused(command("plan", city, "--start", "60.172,24.94", *GOOD[2:], "-k", "0"), "Privacy.k")
    assert_refused(command("plan", city, "--start", "60.172,24.94", "--goal", "99", *GOOD[4:]), "--goal")


def test_an_instance_with_several_trips_keeps_its_ends(command: Command, tmp_path: Path) -> None:
    problem = vr.Problem(ring_town(), [vr.Trip(1, 3), vr.Trip(3, 1)], [2, 4])
    vr.write_instance(vr.Instance(problem), tmp_path / "two.json")
    Path("depot.csv").write_text("name,lat,lon,role\nDepot,60.17,24.94,start\n")
    assert command("plan", "two.json", "--candidates", "60.17,24.942 4").code == 0
    assert_refused(command("plan", "two.json", "--start", "1"), "--start", "one trip")
    assert_refused(command("plan", "two.json", "--places", "depot.csv"), "depot.csv, line 2", "one trip")
    assert_refused(command("plan", "two.json", "--random-candidates", "2"), "--random-candidates", "one trip")


def test_measures_need_streets(command: Command, building: Path) -> None:
    good = ("--start", "1,18", "--goal", "32,60", "--random-candidates", "6")
    assert_refused(command("plan", building, *good, "--ell-measure", "driving"), "--ell-measure", "street networks")
    options = ("--radius", "3", "--radius-measure", "walking")
    assert_refused(command("plan", building, *good, *options), "measure", "street networks")


@pytest.mark.parametrize("typed", ["420.17,24.94", "9" * 400 + ",24.94", "60.155,24.94", "nan,24.94", "60.17,-999"])
def test_a_secret_off_the_map_is_unknown(command: Command, city: Path, typed: str) -> None:
    assert command("plan", city, *GOOD, "-o", "book.json").code == 0
    assert_refused(command("route", "book.json", "--transit", typed), "not among the playbook's candidates")
    assert command("route", "book.json", "--transit", "60.1701,24.9421").code == 0


def test_a_place_in_another_encoding(command: Command, city: Path, tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_bytes("name,lat,lon\nTöölö,60.17,24.942\n".encode("cp1252"))
    assert command("plan", city, *ENDS, "--places", "places.csv", "-k", "1", "-o", "book.json").code == 0
    assert "Töölö" in vr.read_playbook("book.json").names.values()
    spaced = "name,lat,lon\nMain\u00a0Branch,60.17,24.942\nOther,60.171,24.94\n"
    (tmp_path / "places.csv").write_text(spaced, encoding="utf-8")
    assert command("plan", city, *ENDS, "--places", "places.csv", "-o", "book.json").code == 0
    assert "Main Branch" in vr.read_playbook("book.json").names.values()


def test_a_bend_at_the_other_end_of_the_world(command: Command, city: Path) -> None:
    data = json.loads(city.read_bytes())
    for bend in ([0.0, 0.0], [False, 0.0]):
        data["domain"]["graph"]["streets"]["bends"][0] = bend
        city.write_text(json.dumps(data), encoding="utf-8")
        assert_refused(command("plan", city, *GOOD), "streets.bends: expected")


def test_where_nothing_can_be_written_nothing_is_begun(command: Command, city: Path, tmp_path: Path) -> None:
    assert command("plan", city, *GOOD, "-o", "book.json").code == 0
    (tmp_path / "a.gpx").mkdir()
    for out in ("a.gpx", "nowhere/b.gpx"):
        assert_refused(command("export", "book.json", "-o", out), "--out: expected a file in a folder that exists")
    assert_refused(command("streets", city, "-o", "nowhere/b.json"), "--out: expected a file in a folder that exists")
    assert_refused(command("plan", city, *GOOD, "-o", tmp_path), "--out: expected a file in a folder that exists")


def test_ctrl_c_says_so(command: Command, city: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*given: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("veilroute.cli.streets.read_network", stop)
    assert command("streets", city, "-o", "b.json") == (130, "", "veilroute: interrupted\n")
