"""Plans on street networks: places by latitude and longitude, by id and by name."""

from __future__ import annotations

from pathlib import Path

import pytest

import veilroute as vr
from commands import Command
from street_samples import NAMES, little_town, place, ring_town

ENDS = ("--start", "60.1710,24.9400", "--goal", "60.17105,24.94605")
BRANCHES = [label for label in NAMES if label != 105]


def latlon(label: object) -> str:
    lon, lat = place(label)
    return f"{lat:.5f},{lon:.5f}"


@pytest.fixture
def town(tmp_path: Path) -> Path:
    """The little town as a network file; 105 is the depot, ENDS are junctions 105 and 108."""
    vr.write_network(little_town(), tmp_path / "town.json")
    return tmp_path / "town.json"


@pytest.fixture
def branches(tmp_path: Path) -> Path:
    """The depot and its six branches, as points with names."""
    lines = [f"{NAMES[label]},{latlon(label)},{'start' if label == 105 else ''}" for label in NAMES]
    path = tmp_path / "branches.csv"
    path.write_text("name,lat,lon,role\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def planned(command: Command, *arguments: object) -> vr.Playbook:
    Path("book.json").unlink(missing_ok=True)  # beside an earlier one, a plan is warned of
    done = command("plan", *arguments, "-o", "book.json")
    assert done.code == 0, done.err
    assert done.err == ""
    book = vr.read_playbook("book.json")
    assert vr.audit(book).holds
    return book


def test_a_warning_when_the_junction_is_far(command: Command, town: Path) -> None:
    arguments = ("plan", town, "--start", "60.1730,24.94", "--goal", "108", "--random-candidates", 4)
    done = command(*arguments)
    assert done.code == 0
    assert "60.173,24.94" in done.err and "111 m" in done.err and done.err.count("\n") == 1
    assert command(*arguments, "--snap-warning", 112).err == ""
    assert command("convert", *arguments[1:], "problem.json").err == done.err


MEASURED = ("--radius", 120, "--radius-measure", "straight", "--ell", 200, "--ell-measure", "walking")


def test_an_instance_file_holds_everything(command: Command, town: Path, branches: Path) -> None:
    options = ("--places", branches, "--goal", "108", "-k", 3, *MEASURED)
    book = planned(command, town, *options)
    assert book.visibility == vr.WithinDistance(120, "straight")
    assert book.privacy == vr.Privacy(k=3, ell=200, measure="walking")
    direct = Path("book.json").read_bytes()
    assert command("convert", town, "problem.json", *options).code == 0
    planned(command, "problem.json")
    assert Path("book.json").read_bytes() == direct


def test_options_override_an_instance_on_streets(command: Command, town: Path, branches: Path) -> None:
    assert command("convert", town, "problem.json", "--places", branches, "--goal", "108", *MEASURED).code == 0
    book = planned(command, "problem.json", "--start", latlon(101), "--goal", "Depot", "--radius", 60, "--ell", 50)
    assert book.trips == (vr.Trip(101, 105),)
    assert book.candidates == tuple(BRANCHES)
    assert book.names == NAMES
    assert book.visibility == vr.WithinDistance(60, "straight")
    assert book.privacy == vr.Privacy(ell=50, measure="walking")
    book = planned(command, "problem.json", "--radius-measure", "driving", "--ell-measure", "cost", "--ell", 9)
    assert book.visibility == vr.WithinDistance(120, "driving")
    assert book.privacy == vr.Privacy(ell=9)
    book = planned(command, "problem.json", "--candidates", "Branch North;Branch West;106", "--radius", 0)
    assert book.candidates == (102, 109, 106)
    assert book.visibility == vr.AtNode()


def test_a_candidate_behind_a_one_way_street_is_reported_and_one_across_the_water_seen(
    command: Command,
) -> None:
    vr.write_network(ring_town(), "ring.json")
    book = planned(command, "ring.json", "--start", "1", "--goal", "3", "--candidates", "2 4 60.17,24.938")
    assert book.uncoverable == (5,)
    options = ("--start", "1", "--goal", "3", "--candidates", "4 6", "--radius", 230, "--radius-measure", "straight")
    assert planned(command, "ring.json", *options).uncoverable == ()
    vr.write_network(ring_town(west=-71.0, south=-33.0), "south.json")
    book = planned(
        command, "south.json", "--start", "-33,-71", "--goal", "-32.999,-70.998", "--candidates", "2 -32.999,-71"
    )
    assert (book.trips, book.candidates) == ((vr.Trip(1, 3),), (2, 4))
