"""Plans on street networks: places by latitude and longitude, by id and by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command
from ring_town import ring_town, write_network
from street_samples import NAMES, little_town, place

ENDS = ("--start", "60.1710,24.9400", "--goal", "60.17105,24.94605")
BRANCHES = [label for label in NAMES if label != 105]


def latlon(label: object) -> str:
    lon, lat = place(label)
    return f"{lat:.5f},{lon:.5f}"


@pytest.fixture
def town(tmp_path: Path) -> Path:
    """The little town as a network file; 105 is the depot, ENDS are junctions 105 and 108."""
    return write_network(tmp_path / "town.json", little_town())


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


def test_coordinates_and_ids(command: Command, town: Path) -> None:
    candidates = f"{latlon(102)} 104 {latlon(109)} 111"
    book = planned(command, town, *ENDS, "--candidates", candidates)
    assert book.candidates == (102, 104, 109, 111)
    assert book.names == {}
    assert book.domain is not None
    assert book.domain.streets is not None


@pytest.mark.parametrize("separator", [" ", "  ", ";", " ; "])
@pytest.mark.parametrize("comma", [",", ", "])
def test_what_separates_candidates(command: Command, town: Path, separator: str, comma: str) -> None:
    typed = separator.join(latlon(label).replace(",", comma) for label in BRANCHES)
    assert planned(command, town, *ENDS, "--candidates", typed).candidates == tuple(BRANCHES)


def test_places_of_a_table(command: Command, town: Path, branches: Path) -> None:
    book = planned(command, town, "--places", branches, "--goal", "108")
    assert book.trips == (vr.Trip(105, 108),)
    assert book.candidates == tuple(BRANCHES)
    assert book.names == NAMES


def test_places_of_geojson_plan_the_same(command: Command, town: Path, branches: Path, tmp_path: Path) -> None:
    features = [
        {
            "type": "Feature",
            "properties": {"name": name, "role": "start" if label == 105 else "candidate"},
            "geometry": {"type": "Point", "coordinates": list(place(label))},
        }
        for label, name in NAMES.items()
    ]
    text = json.dumps({"type": "FeatureCollection", "features": features})
    (tmp_path / "branches.geojson").write_text(text, encoding="utf-8")
    planned(command, town, "--places", branches, "--goal", "108")
    first = Path("book.json").read_bytes()
    planned(command, town, "--places", "branches.geojson", "--goal", "108")
    assert Path("book.json").read_bytes() == first


def test_a_place_that_is_start_or_goal_is_no_candidate(command: Command, town: Path, branches: Path) -> None:
    book = planned(command, town, "--places", branches, "--start", "Branch West", "--goal", "Branch East")
    assert book.trips == (vr.Trip(109, 104),)
    assert set(book.candidates) == set(BRANCHES) - {104, 109}
    assert book.names == {label: name for label, name in NAMES.items() if label != 105}


def test_names_among_the_candidates(command: Command, town: Path, branches: Path) -> None:
    book = planned(
        command, town, "--places", branches, "--goal", "108", "--candidates", "Branch North; Branch East;60.17,24.94"
    )
    assert book.candidates == (102, 104, 109)
    assert book.names == {105: "Depot", 102: "Branch North", 104: "Branch East"}


def test_a_warning_when_the_junction_is_far(command: Command, town: Path) -> None:
    arguments = ("plan", town, "--start", "60.1730,24.94", "--goal", "108", "--random-candidates", 4)
    done = command(*arguments)
    assert done.code == 0
    assert "60.173,24.94" in done.err and "111 m" in done.err and done.err.count("\n") == 1
    assert command(*arguments, "--snap-warning", 112).err == ""
    twice = command("plan", town, "--start", "60.1730,24.94", "--goal", "60.1730,24.94", "--random-candidates", 4)
    assert twice.err.count("nearest street") == 1
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


def test_measures_change_who_is_seen_and_who_is_far(command: Command, town: Path) -> None:
    """From 106 one drives to 102 round the block, and walks 111 m against the one-way street."""
    seen = ("plan", town, "--start", "106", "--goal", "107", "--candidates", "102 103", "--json", "--radius", 115)
    costs = {}
    for measure in ("driving", "walking", "straight"):
        (group,) = json.loads(command(*seen, "--radius-measure", measure).out)["classes"]
        costs[measure] = group["cost"]
    assert costs["walking"] == costs["straight"] < costs["driving"]
    far = ("plan", town, "--start", "105", "--goal", "108", "--candidates", "102 106", "--ell", 112, "--json")
    assert command(*far, "--ell-measure", "straight").code == 3
    assert command(*far, "--ell-measure", "driving").code == 3, "the smaller of both directions counts"
    assert command(*far[:7], "101 103", *far[8:], "--ell-measure", "driving").code == 0


def test_a_candidate_behind_a_one_way_street_is_reported_and_one_across_the_water_seen(
    command: Command, tmp_path: Path
) -> None:
    network = write_network(tmp_path / "ring.json", ring_town())
    book = planned(command, network, "--start", "1", "--goal", "3", "--candidates", "2 4 60.17,24.938")
    assert book.uncoverable == (5,)
    options = ("--start", "1", "--goal", "3", "--candidates", "4 6", "--radius", 230, "--radius-measure", "straight")
    assert planned(command, network, *options).uncoverable == ()
    south = write_network(tmp_path / "south.json", ring_town(west=-71.0, south=-33.0))
    book = planned(command, south, "--start", "-33,-71", "--goal", "-32.999,-70.998", "--candidates", "2 -32.999,-71")
    assert (book.trips, book.candidates) == ((vr.Trip(1, 3),), (2, 4))


def test_many_reasons_are_cut_short(command: Command) -> None:
    """0 -> 1 -> 2, and from 1 an edge to each of twenty traps."""
    traps = range(3, 23)
    streets = vr.Domain.from_edges(23, [0, 1, *[1] * 20], [1, 2, *traps], [1] * 22)
    problem = vr.Problem(streets, [vr.Trip(0, 2)], [1, *traps])
    vr.write_instance(vr.Instance(problem, vr.Privacy(k=1, ell=0)), "many.json")
    out = command("plan", "many.json").out
    assert out.count("no way leads from it to the goal") == 12
    assert "  More reasons: --json\n" in out


def test_ids_in_a_table_work_on_a_grid(command: Command, building: Path, tmp_path: Path) -> None:
    grid = vr.read_movingai(building)
    cells = vr.draw_candidates(grid, (1, 18), (32, 60), 4, seed=1)
    assert all(isinstance(cell, tuple) for cell in cells)
    lines = [f"room {i};{cell[0]},{cell[1]}" for i, cell in enumerate(cells) if isinstance(cell, tuple)]
    (tmp_path / "rooms.csv").write_text("name;id\n" + "\n".join(lines) + "\n")
    book = planned(command, building, "--start", "1,18", "--goal", "32,60", "--places", "rooms.csv")
    assert list(book.candidates) == cells
    assert book.names == {cell: f"room {i}" for i, cell in enumerate(cells)}
