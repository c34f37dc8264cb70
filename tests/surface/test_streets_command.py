"""`veilroute streets` from outside: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from osm_files import Row, on_grid, write_osm
from veilroute.domain import Turns

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
    assert done.code == 0 and "2 junctions, 2 directed edges" in done.out
    data = json.loads(command("streets", "a.json", "-o", "a.npz", "--json").out)
    apart = {"num_nodes_apart": 0, "num_edges_apart": 0}
    assert data == {"num_nodes": 2, "num_edges": 2, "unit": None, "u_turns": "allow", "num_addresses": 0} | apart
    for option in (("--network", "drive"), ("--service",), ("--cost", "metres")):
        assert_refused(command("streets", "a.csv", "-o", "b.json", *option), option[0], ".csv")
    assert_refused(command("streets", "a.csv", "-o", "b.json", "--oneway", "maybe"), "--oneway", "yes or no")
    assert_refused(command("streets", "a.json", "-o", "b.json", "--oneway", "no"), "--oneway", ".json")
    assert not Path("b.json").exists()


def test_where_one_may_turn_round(command: Command, city: Path) -> None:
    asked: list[tuple[str, tuple[object, ...], Turns | None]] = [
        ("a.json", (), Turns("dead-ends")),
        ("b.json", ("--u-turns", "allow"), None),
        ("c.npz", ("--u-turns", "allow", "--u-turn-cost", 30), Turns("allow", 30.0)),
    ]
    for name, options, expected in asked:
        done = command("streets", city, "-o", name, *options)
        assert vr.read_network(name).turns == expected
        assert ("turning round" in done.out) == (expected is not None)
    # A file of our own keeps the rule that it has, unless another is given.
    for name, cost, expected in (("a.json", (), Turns("dead-ends")), ("c.npz", (10,), Turns("allow", 10.0))):
        assert command("streets", name, "-o", "d.npz", *(("--u-turn-cost", *cost) if cost else ())).code == 0
        assert vr.read_network("d.npz").turns == expected


def test_the_connected_part_of_graphs_from_elsewhere(command: Command) -> None:
    Path("e.csv").write_text("from,to,cost,oneway\n1,2,5,no\n2,3,6,yes\n", encoding="utf-8")
    assert command("streets", "e.csv", "-o", "net.json", "--connected").code == 0
    assert (vr.read_network("net.json").num_nodes, vr.read_network("net.json").num_edges) == (2, 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-o", "a.graphml"), ("--out", "*.json", "*.npz", "a.graphml")),
        (("-o", "a.json", "--network", "walk", "--service"), ("--service", "--network drive")),
        (("-o", "a.json", "--u-turn-cost", "9", "--cost", "metres"), ("u_turn_cost", "seconds")),
        (("-o", "a.json", "--network", "truck", "--height", "380"), ("height", "metres", "380")),
        ((), ("-o",)),
        (("-o", "missing/a.json"), ("missing/a.json",)),
    ],
)
def test_bad_options(command: Command, city: Path, options: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert_refused(command("streets", city, *options), *words)


def test_files_without_a_network(command: Command) -> None:
    assert_refused(command("streets", "no.txt", "-o", "a.json"), "network format")
    for name, rows, word in (("shore.osm", [], "no ways"), ("paths.osm", TOWN[4:5], "footway 1")):
        write_osm(Path(name), rows, on_grid(11, 12, 22))
        assert_refused(command("streets", name, "-o", "a.json"), name, word)
    assert not Path("a.json").exists()
