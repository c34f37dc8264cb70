"""Inputs as people have them: addresses, names in any capitals, numbers with commas, and places that are elsewhere."""
# ruff: noqa: E501  (tables: a line for each file)

from __future__ import annotations

from pathlib import Path

import pytest

import veilroute as vr
from commands import Command
from osm_files import Row, write_osm
from sound_files import workbook
from street_samples import little_town
from veilroute.domain import great_circle_m

THINGS = [
    (60.1701, 24.9412, {"addr:street": "Mannerheimintie", "addr:housenumber": "5", "addr:city": "Helsinki"}),
    (60.1701, 24.9465, {"addr:street": "Mannerheimintie", "addr:housenumber": "7-11", "addr:city": "Helsinki"}),
    (60.1687, 24.9441, {"name": "Café Ääni", "amenity": "cafe", "addr:street": "Ratakatu", "addr:housenumber": "2;4"}),
    (60.1702, 24.9401, {"name": "Alko", "shop": "alcohol"}),
    (60.1714, 24.9441, {"name": "Alko", "shop": "alcohol"}),
    (60.1699, 24.9431, {"name": "Kirjasto", "amenity": "library", "addr:street": "Mannerheimintie", "addr:housenumber": "6 A"}),
]  # fmt: skip
ADDRESSES = {
    "mannerheimintie 5": 0, "5 Mannerheimintie": 0, "Mannerheimintie 5, Helsinki": 0,
    "Mannerheimintie 5 B 12, 00100 Helsinki": 0, "Mannerheimintie 9": 1, "Ratakatu 4": 2, "CAFÉ ÄÄNI": 2,
    "Mannerheimintie 6a": 5, "Kirjasto": 5,
}  # fmt: skip


@pytest.fixture
def mapped(command: Command) -> str:
    """A network with addresses."""
    spots = [(60.17, 24.94), (60.17, 24.944), (60.17, 24.948), (60.168, 24.944), (60.172, 24.944)]
    places = {number: (lon, lat) for number, (lat, lon) in enumerate(spots, start=1)}
    places |= {100 + i: (lon, lat) for i, (lat, lon, _) in enumerate(THINGS[:-1])}
    lat, lon, tags = THINGS[-1]  # a building
    corners = {201: (-1, -1), 202: (1, -1), 203: (1, 1), 204: (-1, 1)}
    places |= {number: (lon + 1e-4 * dx, lat + 1e-4 * dy) for number, (dx, dy) in corners.items()}
    streets = [(1, [1, 2, 3], "Mannerheimintie"), (2, [4, 2, 5], "Ratakatu")]
    rows: list[Row] = [(n, refs, {"highway": "residential", "name": name}) for n, refs, name in streets]
    rows.append((3, [*corners, 201], tags | {"building": "yes"}))
    write_osm(Path("town.osm"), rows, places, (), {100 + i: tags for i, (*_, tags) in enumerate(THINGS[:-1])})
    done = command("streets", "town.osm", "-o", "town.json")
    assert done.code == 0 and "named places for --places and --goal: 9" in done.out, done.out + done.err
    return "town.json"


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_addresses_are_found_without_a_network(suffix: str, command: Command, mapped: str) -> None:
    net = f"net{suffix}"
    assert command("streets", mapped, "-o", net).code == 0
    assert vr.read_network(net).sha256 == vr.read_osm("town.osm").domain.sha256, "addresses are no part of it"
    for text, number in ADDRESSES.items():
        done = command("convert", net, "out.json", "--start", "1", "--goal", text, "--candidates", "3;4")
        assert done.code == 0, done.err
        assert done.err.startswith("veilroute: found on the map: ") and done.err.count("\n") == 1
        problem = vr.read_instance("out.json").problem
        assert problem.names[problem.trips[0].goal] == text
        assert problem.domain.streets is not None
        lonlat = problem.domain.streets.lonlat[problem.goal_nodes[0]]
        lat, lon, _ = THINGS[number]
        assert float(great_circle_m(lonlat, (lon, lat))) < 45, text
    done = command("convert", net, "out.json", "--start", "1", "--goal", "ratakatu", "--candidates", "3;4")
    assert done.code == 0, "a street is its middle"


def test_a_file_of_addresses(command: Command, mapped: str) -> None:
    rows = "name;address;lat;lon\nA;Mannerheimintie 5;;\nB;Café Ääni;;\nC;;60,1701;24,9465\nD;60.1714, 24.9441;;\n"
    Path("a.csv").write_bytes(rows.encode("cp1252"))
    done = command("plan", mapped, "--start", "1", "--goal", "3", "--places", "a.csv", "-o", "book.json")
    assert done.code == 0, done.err
    assert vr.read_playbook("book.json").candidates == ("A", "B", "C", "D")
    assert command("route", "book.json", "--transit", "b").code == 0, "names in any capitals"
    # The address is not in the playbook, so that looking the secret up cannot depend on anything else.
    assert command("route", "book.json", "--transit", "Café Ääni").code == 2
    workbook([("osoite",), ("Mannerheimintie 5",), ("Ratakatu 2, Helsinki",)])(Path("a.xlsx"))
    assert command("plan", mapped, "--start", "1", "--goal", "3", "--places", "a.xlsx", "-o", "book.json").code == 0
    assert vr.read_playbook("book.json").candidates == ("Mannerheimintie 5", "Ratakatu 2, Helsinki")


BAD_TEXTS = {
    "Mannerheimintie 99": "Did you mean 'Mannerheimintie 7-11', 'Mannerheimintie 6 A' or 'Mannerheimintie 5'?",
    "Manerheimintie": "Did you mean 'Mannerheimintie'?",
    "Alko": "is at 2 places on the map. Did you mean '60.17020,24.94010' or '60.17140,24.94410'?",
}


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_texts_that_mean_nothing_or_too_much(text: str, command: Command, mapped: str) -> None:
    code, out, err = command("convert", mapped, "out.json", "--start", "1", "--goal", text, "--candidates", "3;4")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"veilroute: --goal: '{text}' ") and BAD_TEXTS[text] in err, err


def test_names_in_any_capitals(command: Command) -> None:
    vr.write_network(little_town(), "town.json")
    Path("a.csv").write_text(
        "name,lat,lon,role\nDepot,60.171,24.9401,start\nKauppa,60.1715,24.9404,\nkauppa,60.1705,24.9456,\n"
        "Satama,60.17,24.9412,\n"
    )
    plan = ("plan", "town.json", "--places", "a.csv", "-o", "book.json")
    assert command(*plan, "--goal", "DEPOT").code == 0
    assert command("route", "book.json", "--transit", "SATAMA").code == 0
    assert command("route", "book.json", "--transit", "kauppa").code == 0, "as it is written goes first"
    refused = command("route", "book.json", "--transit", "KAUPPA")
    assert refused.code == 2 and "KAUPPA" not in refused.err, "either may be meant, and the secret is not said"
    code, _, err = command(*plan, "--goal", "KAUPPA")
    assert code == 2 and "--goal: 'KAUPPA' may mean Kauppa, kauppa" in err
    Path("p.csv").write_text("place;weight\nSATAMA;0,5\nKauppa;1,25\nkauppa;2\n")
    assert command(*plan, "--goal", "depot", "--prior", "p.csv").code == 0
    assert (
        command("replan", "book.json", "--class", "1", "--at", "depot", "--position", "0", "--closed", "102,103").code
        == 0
    )


def test_a_secret_by_coordinates(command: Command) -> None:
    vr.write_network(little_town(), "town.json")
    Path("a.csv").write_text("name,lat,lon\nA,60.1715,24.9404\nB,60.1705,24.9456\nC,60.17,24.9412\nD,60.17,24.9412\n")
    plan = ("plan", "town.json", "--places", "a.csv", "--start", "105", "--goal", "108", "-o", "book.json")
    assert command(*plan).code == 0
    assert command("route", "book.json", "--transit", "60°10'17.4\"N 24°56'25.44\"E") == command(
        "route", "book.json", "--transit", "a"
    )
    shared = command("route", "book.json", "--transit", "60.17,24.9412")
    assert shared.code == 2 and "60.17" not in shared.err, "two are there: their names tell them apart"
    assert "not among the playbook's candidates" not in command("route", "book.json", "--transit", "d").err
