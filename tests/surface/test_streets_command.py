"""`veilroute streets` from outside: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from osm_files import Row, on_grid, write_osm
from veilroute.domain import Turns
from veilroute.formats import write_network

ROAD = {"highway": "residential", "maxspeed": "36"}
TOWN: list[Row] = [
    (1, [11, 12, 13], ROAD | {"name": "First Street"}),
    (2, [13, 14], ROAD | {"name": "Second Street", "oneway": "yes"}),
    (3, [14, 24, 23, 13], ROAD | {"name": "Third Street", "oneway": "yes"}),
    (4, [12, 22], {"highway": "service"}),
    (5, [11, 22], {"highway": "footway"}),
    (6, [31, 32], ROAD),
    (7, [24, 25], ROAD),
]


@pytest.fixture
def city(tmp_path: Path) -> Path:
    return write_osm(tmp_path / "city.osm.pbf", TOWN, on_grid(11, 12, 13, 14, 22, 23, 24, 25, 31, 32))


def test_a_map_becomes_a_network(command: Command, city: Path) -> None:
    done = command("streets", city, "-o", "city.json", "--network", "drive", "--cost", "seconds")
    assert done.code == 0, done.err
    assert done.out.startswith("Drive network: 7 junctions, 9 directed edges, costs in seconds.\n")
    assert "(--service keeps service roads)" in done.out
    assert done.out.endswith("Written: city.json\n")
    assert done.err == ""
    assert vr.read_network("city.json").labels == (11, 13, 23, 24, 25, 31, 32)


def test_options_change_the_network(command: Command, city: Path) -> None:
    assert command("streets", city, "-o", "a.npz", "--connected", "--cost", "metres").code == 0
    part = vr.read_network("a.npz")
    assert part.labels == (11, 13, 23, 24, 25)
    assert part.streets is not None
    assert part.streets.unit == "metres"
    assert command("streets", city, "-o", "b.npz", "--service").code == 0
    assert 22 in (vr.read_network("b.npz").labels or ())
    assert command("streets", city, "-o", "c.npz", "--network", "walk").code == 0
    walking = vr.read_network("c.npz")
    assert (walking.labels, walking.num_edges) == ((11, 12, 13, 22, 23, 24, 25, 31, 32), 18)


def test_json_is_one_object(command: Command, city: Path) -> None:
    done = command("streets", city, "-o", "city.json", "--json")
    assert done.code == 0
    data = json.loads(done.out)
    assert data == vr.read_osm(city).report.to_dict() | {"num_addresses": 0}
    assert data["dropped"] == [["highway=footway", 1], ["highway=service", 1]]


def test_a_network_plans_and_audits(command: Command, city: Path) -> None:
    assert command("streets", city, "-o", "city.json").code == 0
    planned = command("plan", "city.json", "--start", 11, "--goal", 13, "--candidates", 24, "-k", 1, "-o", "book.json")
    assert planned.code == 0, planned.err
    assert command("audit", "book.json").code == 0


def test_audit_takes_the_network_as_domain(command: Command, city: Path) -> None:
    assert command("streets", city, "-o", "city.json").code == 0
    assert command("streets", "city.json", "-o", "city.npz").code == 0
    domain = vr.read_network("city.json")
    book = vr.solve(vr.Problem(domain, [vr.Trip(11, 13)], [24]), vr.Privacy(k=1))
    book.write("book.json", embed_domain=False)
    assert_refused(command("audit", "book.json"), "--domain")
    for name in ("city.json", "city.npz"):
        done = command("audit", "book.json", "--domain", name)
        assert done.code == 0, done.err


def test_graphs_from_elsewhere(command: Command) -> None:
    Path("a.csv").write_text("from,to,cost\n1,2,3\n2,1,4\n", encoding="utf-8")
    done = command("streets", "a.csv", "-o", "a.json")
    assert (done.code, done.out) == (0, "Graph: 2 junctions, 2 directed edges.\nWritten: a.json\n")
    data = json.loads(command("streets", "a.json", "-o", "a.npz", "--json").out)
    apart = {"num_nodes_apart": 0, "num_edges_apart": 0}
    assert data == {"num_nodes": 2, "num_edges": 2, "unit": None, "u_turns": "allow", "num_addresses": 0} | apart
    for option in (("--network", "drive"), ("--service",), ("--cost", "metres")):
        assert_refused(command("streets", "a.csv", "-o", "b.json", *option), option[0], ".csv")
    assert_refused(command("streets", "a.csv", "-o", "b.json", "--oneway", "maybe"), "--oneway", "yes or no")
    assert_refused(command("streets", "a.json", "-o", "b.json", "--oneway", "no"), "--oneway", ".json")
    assert not Path("b.json").exists()


def test_where_one_may_turn_round(command: Command, city: Path) -> None:
    assert "turning round: at dead ends only\n" in command("streets", city, "-o", "a.json").out
    assert vr.read_network("a.json").turns == Turns("dead-ends")
    assert "turning round" not in command("streets", city, "-o", "b.json", "--u-turns", "allow").out
    assert vr.read_network("b.json").turns is None
    priced = command("streets", city, "-o", "c.npz", "--u-turns", "allow", "--u-turn-cost", 30).out
    assert "turning round: anywhere, 30 s each\n" in priced
    # A file of our own keeps the rule that it has, unless another is given.
    for name, options, expected in (("a", (), "dead-ends"), ("b", (), None), ("b", ("--u-turns", "never"), "never")):
        assert command("streets", f"{name}.json", "-o", "d.npz", *options).code == 0
        turns = vr.read_network("d.npz").turns
        assert (None if turns is None else turns.u_turns) == expected
    assert command("streets", "c.npz", "-o", "d.json", "--u-turn-cost", 10).code == 0
    assert vr.read_network("d.json").turns == Turns("allow", 10.0)


def test_streets_from_elsewhere_have_a_rule_as_well(command: Command) -> None:
    Path("a.nodes.csv").write_text("id,lat,lon\n1,60.17,24.94\n2,60.17,24.941\n", encoding="utf-8")
    Path("a.csv").write_text("from,to,metres,oneway\n1,2,60,no\n", encoding="utf-8")
    assert json.loads(command("streets", "a.csv", "-o", "a.json", "--json").out)["u_turns"] == "dead-ends"
    assert "turning round: at dead ends only (--u-turns)\n" in command("streets", "a.csv", "-o", "a.json").out
    assert "turning round" not in command("streets", "a.csv", "-o", "b.json", "--u-turns", "allow").out
    graph = vr.generate_streets(4, 5, seed=1)
    write_network(graph, "b.json")
    assert "turning round" not in command("streets", "b.json", "-o", "c.json").out


def test_trucks(command: Command, tmp_path: Path) -> None:
    rows: list[Row] = [(1, [11, 12], ROAD), (2, [12, 13], ROAD | {"maxheight": "3.5 m"}), (3, [12, 22], ROAD)]
    path = write_osm(tmp_path / "low.osm", rows, on_grid(11, 12, 13, 22))
    done = command("streets", path, "-o", "a.json", "--network", "truck", "--height", 3.8, "--weight", 12)
    assert done.code == 0, done.err
    assert "closed or unfit: maxheight=3.5 m 1\n" in done.out
    assert "vehicle: 3.8 m high, 12 t\n" in done.out
    assert vr.read_network("a.json").labels == (11, 22)
    assert command("streets", path, "-o", "b.json", "--network", "truck", "--length", 9).code == 0
    assert vr.read_network("b.json").labels == (11, 12, 13, 22)


def test_equal_files_give_equal_bytes(command: Command, city: Path) -> None:
    for name in ("a.json", "b.json", "a.npz", "b.npz"):
        assert command("streets", city, "-o", name).code == 0
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-o", "a.graphml"), ("--out", "*.json", "*.npz", "a.graphml")),
        (("-o", "a.json", "--network", "fly"), ("network", "drive, truck, cycle, walk", "fly")),
        (("-o", "a.json", "--cost", "hours"), ("cost", "seconds, metres", "hours")),
        (("-o", "a.json", "--network", "walk", "--service"), ("--service", "--network drive")),
        (("-o", "a.json", "--u-turns", "often"), ("u_turns", "never, dead-ends or allow", "often")),
        (("-o", "a.json", "--u-turn-cost", "-1"), ("u_turn_cost", ">= 0")),
        (("-o", "a.json", "--u-turn-cost", "9", "--cost", "metres"), ("u_turn_cost", "seconds")),
        (("-o", "a.json", "--height", "4"), ("height, weight, length", "truck")),
        (("-o", "a.json", "--network", "truck", "--height", "380"), ("height", "metres", "380")),
        ((), ("-o",)),
        (("-o", "missing/a.json"), ("missing/a.json",)),
    ],
)
def test_bad_options(command: Command, city: Path, options: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert_refused(command("streets", city, *options), *words)


def test_bad_files(command: Command, city: Path) -> None:
    whole = city.read_bytes()
    for size in (0, 3, 20, len(whole) // 2, len(whole) - 1):
        city.write_bytes(whole[:size])
        assert_refused(command("streets", city, "-o", "a.json"), "city.osm.pbf", "truncated" if size else "empty")
    assert_refused(command("streets", "no.osm.pbf", "-o", "a.json"), "no such file")
    assert_refused(command("streets", "no.txt", "-o", "a.json"), "network format")
    write_osm(Path("shore.osm"), [], on_grid(11, 12))
    assert_refused(command("streets", "shore.osm", "-o", "a.json"), "shore.osm", "no ways")
    write_osm(Path("paths.osm"), TOWN[4:5], on_grid(11, 22))
    assert_refused(command("streets", "paths.osm", "-o", "a.json"), "drive", "footway 1")
    assert not Path("a.json").exists()
