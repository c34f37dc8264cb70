"""Inputs as people have them: a table of odd files and what each gives, and one of bad files with the lines of each."""
# ruff: noqa: E501  (tables: a line for each file)

from __future__ import annotations

import codecs
import gzip
import json
import sys
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from odd_files import (
    PLACES,
    Writer,
    geojson,
    geopackage,
    gpx,
    graphml,
    kml_text,
    kmz,
    lines_of,
    minutes,
    osm_with_addresses,
    raw,
    table,
    workbook,
)
from street_samples import little_town
from veilroute import ManyProblemsError
from veilroute.domain import great_circle_m
from veilroute.formats import read_places

DMS = minutes("", second_form="{d}°{m}'{s}\"")
DMS_PRINTED = minutes("", second_form="{d}° {m}′ {s}″")
DM = minutes("{d} {m}")

PLACE_FILES: dict[str, tuple[str, Writer]] = {
    "comma-separated": ("a.csv", table("name,lat,lon")),
    "UTF-8 with a mark": ("a.csv", table("name,lat,lon", mark=codecs.BOM_UTF8)),
    "Latin-1": ("a.csv", table("name,lat,lon", encoding="latin-1")),
    "Windows (cp1252)": ("a.csv", table("name,lat,lon,note", "{name},{lat},{lon},“5 €”", encoding="cp1252")),
    "UTF-16 of Excel": ("a.txt", table("name\tlat\tlon", s="\t", encoding="utf-16-le", mark=codecs.BOM_UTF16_LE)),
    "UTF-16, big end first": ("a.csv", table("name,lat,lon", encoding="utf-16-be", mark=codecs.BOM_UTF16_BE)),
    "UTF-16 without a mark": ("a.csv", table("name,lat,lon", encoding="utf-16-le")),
    "UTF-32": ("a.csv", table("name,lat,lon", encoding="utf-32-le", mark=codecs.BOM_UTF32_LE)),
    "semicolons, decimal commas": ("a.csv", table("name;lat;lon", s=";", comma=True)),
    "tabs, decimal commas": ("a.tsv", table("name\tlat\tlon", s="\t", comma=True)),
    "quoted decimal commas": ("a.csv", table("name,lat,lon", '{name},"{lat}","{lon}"', comma=True)),
    "semicolons, UTF-16, decimal commas": ("a.csv", table("name;lat;lon", s=";", comma=True, encoding="utf-16")),
    "bars": ("a.txt", table("name|lat|lon", s="|")),
    "line ends of Windows": ("a.csv", table("name,lat,lon", ends="\r\n")),
    "line ends of old Macs": ("a.csv", table("name,lat,lon", ends="\r")),
    "empty lines": ("a.csv", table("\n\nname,lat,lon\n,,\n", ends="\n\n")),
    "capitals and units": ("a.csv", table("NAME,Latitude (deg),LONGITUDE [°]")),
    "y and x": ("a.csv", table("name,Y,X")),
    "Finnish headers": ("a.csv", table("Nimi;Leveysaste;Pituusaste", s=";", comma=True)),
    "spaces round everything": ("a.csv", table(" name , lat , long ", " {name} , {lat} ,  {lon} ")),
    "other columns, quotes": ("a.csv", table("no,name,phone,lat,lng", '1,"{name}","09, 12",{lat},{lon}')),
    "degree signs": ("a.csv", table("name,lat,lon", "{name},{lat}°,{lon}°")),
    "degrees with letters": ("a.csv", table("name,lat,lon", "{name},{lat} N,E {lon}")),
    "both in one column": ("a.csv", table("name,coordinates", '{name},"{lat},{lon}"')),
    "a column called lat,lon": ("a.csv", table("name;lat,lon", "{name};{lat},{lon}")),
    "both in one, decimal commas": ("a.csv", table("name\tLat / Lon", "{name}\t{lat} {lon}", comma=True)),
    "both in one, four commas": ("a.csv", table("name;gps", "{name};{lat},{lon}", comma=True)),
    "both in one, in brackets": ("a.csv", table("name;position", "{name};({lat}, {lon})")),
    "both in one, longitude first with letters": ("a.csv", table("name;gps", "{name};{lon} E {lat} N")),
    "well-known text": ("a.csv", table("name;WKT", "{name};POINT ({lon} {lat})")),
    "degrees, minutes, seconds": (
        "a.csv", lines_of("name;lat;lon", lambda name, lat, lon: f"{name};{DMS(lat)}N;{DMS(lon)}E"),
    ),
    "the same with printers' marks": (
        "a.csv", lines_of("name;lat;lon", lambda name, lat, lon: f"{name};{DMS_PRINTED(lat)} N;{DMS_PRINTED(lon)} E"),
    ),
    "the same in one column": (
        "a.csv", lines_of("name\tcoordinates", lambda name, lat, lon: f"{name}\t{DMS_PRINTED(lat)}N {DMS_PRINTED(lon)}E"),
    ),
    "decimal minutes": ("a.csv", lines_of("name;lat;lon", lambda name, lat, lon: f"{name};N {DM(lat)};E {DM(lon)}")),
    "workbook": ("a.xlsx", workbook([("Name", "Lat", "Lon"), *PLACES])),
    "workbook, numbers as text": (
        "a.xlsx", workbook([("name", "lat", "lon"), *((n, f"{a}".replace(".", ","), f"{b}") for n, a, b in PLACES)]),
    ),
    "workbook, second sheet": (
        "a.xlsx", workbook([("name", "lat", "lon"), *PLACES], before=[("Sales 2026",), ("Turku", 5)]),
    ),
    "workbook, rows left out": (
        "a.xlsx", workbook([(), ("note", "name", "lat", "lon"), (), *((None, *place) for place in PLACES), ()]),
    ),
    "GeoJSON": ("a.geojson", geojson()),
    "GeoJSON, capitals and a mark": ("a.json", geojson(key="NAME", mark=codecs.BOM_UTF8)),
    "GPX 1.1": ("a.gpx", gpx()),
    "GPX 1.0 in Latin-1, with a track": (
        "a.GPX", gpx(version="1.0", encoding="ISO-8859-1", more='<trk><trkseg><trkpt lat="1" lon="2"/></trkseg></trk>'),
    ),
    "KML": ("a.kml", raw(kml_text())),
    "KML with folders and data": ("a.kml", raw(kml_text(extended=True))),
    "KMZ": ("a.kmz", kmz),
    "GeoPackage": ("a.gpkg", geopackage()),
    "GeoPackage, sets of one point": ("a.gpkg", geopackage(is_multi=True, order=">", envelope=True)),
    "GeoPackage, ETRS89": ("a.gpkg", geopackage(system=("epsg", 4258))),
}  # fmt: skip


@pytest.mark.parametrize("kind", PLACE_FILES)
def test_the_same_places_in_every_kind_of_file(kind: str, command: Command) -> None:
    name, write = PLACE_FILES[kind]
    write(Path(name))
    found = read_places(name)
    assert [place.name for place in found] == [place[0] for place in PLACES]
    for place, (_, lat, lon) in zip(found, PLACES, strict=True):
        assert place.lat is not None and place.lon is not None
        assert float(great_circle_m((place.lon, place.lat), (lon, lat))) < 0.2
    vr.write_network(little_town(), "town.json")
    done = command("convert", "town.json", "out.json", "--places", name, "--start", "105", "--goal", "108")
    assert done.code == 0, done.err
    assert vr.read_instance("out.json").problem.candidates == tuple(place[0] for place in PLACES)


THINGS = [
    (60.1701, 24.9412, {"addr:street": "Mannerheimintie", "addr:housenumber": "5", "addr:city": "Helsinki"}),
    (60.1701, 24.9465, {"addr:street": "Mannerheimintie", "addr:housenumber": "7-11", "addr:city": "Helsinki"}),
    (60.1687, 24.9441, {"name": "Café Ääni", "amenity": "cafe", "addr:street": "Ratakatu", "addr:housenumber": "2;4"}),
    (60.1702, 24.9401, {"name": "Alko", "shop": "alcohol"}),
    (60.1714, 24.9441, {"name": "Alko", "shop": "alcohol"}),
    (60.1699, 24.9431, {"name": "Kirjasto", "amenity": "library", "addr:street": "Mannerheimintie", "addr:housenumber": "6 A"}),
]  # fmt: skip
ADDRESSES = {
    "Mannerheimintie 5": 0,
    "mannerheimintie 5": 0,
    "5 Mannerheimintie": 0,
    "Mannerheimintie 5, Helsinki": 0,
    "Mannerheimintie 5 B 12, 00100 Helsinki": 0,
    "Mannerheimintie 9": 1,
    "Ratakatu 4": 2,
    "CAFÉ ÄÄNI": 2,
    "Mannerheimintie 6a": 5,
    "Kirjasto": 5,
}


@pytest.fixture
def mapped(command: Command) -> str:
    """A network with addresses."""
    osm_with_addresses(Path("town.osm"), THINGS)
    done = command("streets", "town.osm", "-o", "town.json")
    assert done.code == 0 and "named places for --places and --goal: 9" in done.out, done.out + done.err
    return "town.json"


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_addresses_are_found_without_a_network(suffix: str, command: Command, mapped: str) -> None:
    net = f"net{suffix}"
    assert command("streets", mapped, "-o", net).code == 0
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


def test_addresses_do_not_change_what_a_network_is(command: Command, mapped: str) -> None:
    data = json.loads(Path(mapped).read_bytes())
    assert len(data.pop("addresses")["rows"]) == 9
    Path("bare.json").write_text(json.dumps(data), encoding="utf-8")
    assert vr.read_network("bare.json").sha256 == vr.read_network(mapped).sha256
    assert command("streets", mapped, "-o", "a.npz").code == command("streets", mapped, "-o", "b.npz").code == 0
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes()


EDGE_FILES: dict[str, tuple[str, Writer, tuple[str, ...], int, int, str]] = {
    "from_, to_, distance": ("e.csv", raw("from_,to_,distance,oneway\n1,2,5,no\n2,3,6,yes\n"), (), 3, 3, ""),
    "source, target, weight": ("e.csv", raw("Source,Target,Weight,One way\n1,2,5,no\n2,3,6,-1\n"), (), 3, 3, ""),
    "start node, end node, time": ("e.csv", raw("Start node;End node;Time (s);oneway\n1;2;5;no\n2;3;6;no\n"), (), 3, 4, ""),
    "u, v, length": ("e.csv", raw("u,v,length,oneway\n1,2,5,False\n2,3,6,True\n"), (), 3, 3, ""),
    "decimal commas": ("e.csv", raw("from;to;cost;oneway\n1;2;5,25;no\n2;3;1.234,5;no\n"), (), 3, 4, ""),
    "points between thousands": ("e.csv", raw("from;to;cost;oneway\n1;2;5,25;no\n2;3;1.234;no\n"), (), 3, 4, ""),
    "thousands with commas": ("e.csv", raw('from,to,cost,oneway\n1,2,"1,234",no\n2,3,"1,234.5",no\n'), (), 3, 4, ""),
    "UTF-16": ("e.csv", raw("from\tto\tcost\toneway\nä\tb\t5\tno\n".encode("utf-16")), (), 2, 2, ""),
    "workbook": ("e.xlsx", workbook([("from", "to", "cost", "oneway"), (1, 2, 5.5, False), (2, 3, 6, True)]), (), 3, 3, ""),
    "no column oneway": ("e.csv", raw("from,to,cost\n1,2,5\n2,3,6\n"), (), 3, 4, "all are taken as two-way"),
    "rows for both directions": (
        "e.csv", raw("from,to,cost\n1,2,5\n2,1,5\n2,3,6\n"), (), 3, 3,
        "all are taken as one-way in the direction of their row, as 2 of 3 are there in both",
    ),
    "--oneway yes": ("e.csv", raw("from,to,cost\n1,2,5\n2,3,6\n"), ("--oneway", "yes"), 3, 2, ""),
    "--oneway no": ("e.csv", raw("from,to,cost\n1,2,5\n2,1,5\n2,3,6\n"), ("--oneway", "no"), 3, 4, ""),
    "a table, --connected": ("e.csv", raw("from,to,cost,oneway\n1,2,5,no\n2,3,6,yes\n"), ("--connected",), 2, 2, ""),
    "GraphML, --connected": ("e.graphml", raw(graphml([("a", "b", 1), ("b", "a", 1), ("b", "c", 2)])), ("--connected",), 2, 2, ""),
    "DIMACS, --connected": ("e.gr.gz", raw(gzip.compress(b"p sp 3 3\na 1 2 5\na 2 1 5\na 2 3 5\n")), ("--connected",), 2, 2, ""),
}  # fmt: skip


@pytest.mark.parametrize("kind", EDGE_FILES)
def test_edges_in_every_kind_of_file(kind: str, command: Command) -> None:
    name, write, options, num_nodes, num_edges, said = EDGE_FILES[kind]
    write(Path(name))
    code, _, err = command("streets", name, "-o", "net.json", *options)
    assert code == 0, err
    domain = vr.read_network("net.json")
    assert (domain.num_nodes, domain.num_edges) == (num_nodes, num_edges)
    assert (said in err and "WARNING" in err and err.count("\n") == 1) if said else err == ""
    if said:
        ends = ("--start", "1", "--goal", "3", "--candidates", "2")
        assert said in command("convert", name, "out.json", *ends).err, "and so where it is read directly"


def test_commas_and_points_by_the_other_numbers_of_the_column(command: Command) -> None:
    for kind, costs in (("points between thousands", [5.25, 1234]), ("thousands with commas", [1234, 1234.5])):
        name, write = EDGE_FILES[kind][:2]
        write(Path(name))
        assert sorted(set(vr.read_edge_list(name).costs.tolist())) == costs


def test_names_of_files_in_any_capitals(command: Command) -> None:
    vr.write_network(little_town(), "TOWN.JSON")
    trip = ("--start", "105", "--goal", "108", "--candidates", "102 104 109 111")
    for out in ("A.NPZ", "A.Json"):
        assert command("streets", "TOWN.JSON", "-o", out).code == 0
        assert command("plan", out, *trip).code == 0
    assert command("convert", "A.Json", *trip, "I.JSON").code == 0
    assert command("plan", "I.JSON", "-o", "book.json", "--no-embed").code == 0
    assert command("audit", "book.json", "--domain", "I.JSON").code == 0
    assert command("convert", "A.Json", *trip, "I.IN").code == 0
    assert command("plan", "I.IN").code == 0
    Path("G.MAP").write_text("type octile\nheight 2\nwidth 4\nmap\n....\n....\n")
    assert command("plan", "G.MAP", "--start", "0,0", "--goal", "0,3", "--candidates", "1,1 1,2").code == 0
    Path("D.GR").write_text("p sp 2 2\na 1 2 5\na 2 1 5\n")
    Path("D.CO").write_text("p aux sp co 2\nv 1 24940000 60170000\nv 2 24941000 60170000\n")
    assert vr.read_network("D.GR", cost="metres").streets is not None


def test_weights_by_the_other_numbers_of_the_column(command: Command) -> None:
    vr.write_network(little_town(), "town.json")
    convert = ("convert", "town.json", "--start", "105", "--goal", "108", "--candidates", "102 104 109", "o.json")
    for weights in (["12,5", "1.000", "237,5"], ["12.5", "1,000", "237.5"], ["12,5", "1 000", "237,500"]):
        Path("p.csv").write_text(
            "place;weight\n" + "".join(f"{at};{text}\n" for at, text in zip((102, 104, 109), weights, strict=True))
        )
        assert command(*convert, "--prior", "p.csv").code == 0
        assert json.loads(Path("o.json").read_text())["prior"] == [0.01, 0.8, 0.19], weights
    Path("p.csv").write_text("place;weight\n102;1,234\n104;2,345\n109;3\n")
    assert "decimal comma or one between thousands" in command(*convert, "--prior", "p.csv").err


def test_the_connected_part_keeps_what_streets_have(command: Command, tmp_path: Path) -> None:
    town = little_town()
    vr.write_network(town, "town.npz")
    Path("e.csv").write_text("from,to,seconds,length,name,highway,oneway\nä,b,5,50,Quay,primary,no\nb,c,5,50,,,yes\n")
    Path("e.nodes.csv").write_text(
        "id;lat;lon\nä;60,17;24,94\nb;60°10'12\"N;24,941\nc;60,17;24,942\n", encoding="latin-1"
    )
    assert_refused(command("streets", "e.csv", "-o", "net.npz", "--connected"), "connected", "back by legal turns")
    done = command("streets", "e.csv", "-o", "net.npz", "--connected", "--u-turns", "allow", "--json")
    assert json.loads(done.out)["num_nodes_apart"] == 1
    part = vr.read_network("net.npz")
    assert part.labels == ("b", "ä") or part.labels == ("ä", "b")
    assert part.streets is not None and part.streets.name(0) == "Quay" and part.streets.kind(1) == "primary"
    assert command("streets", "town.npz", "-o", "same.npz", "--connected").code == 0
    assert vr.read_network("same.npz").sha256 == town.sha256


def rows(*lines: str, header: str = "name,lat,lon") -> Writer:
    return raw("\n".join([header, *lines]) + "\n")


GOOD_ROW = "A,60.1715,24.9404"
SPAN = "latitude 60.170 to 60.172, longitude 24.940 to 24.946"
BAD_FILES: dict[str, tuple[str, Writer, str | list[str]]] = {
    "no such file": ("a.csv", lambda path: None, "a.csv: no such file; check the path"),
    "empty": ("a.csv", raw(b""), "a.csv: the file is empty"),
    "only spaces": ("a.csv", raw(b" \n\n"), "a.csv: the file is empty"),
    "only a header": ("a.csv", rows(), "a.csv: no places in the file"),
    "a picture": ("a.csv", raw(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4), "a.csv: not text; check that it is the right file"),
    "half UTF-8": (
        "a.csv", raw("name,lat,lon\nÄä,60,24\nÖö,60,24\n".encode() + b"\xe4,60,24\n"),
        "a.csv, line 4: UTF-8 except for a few letters; save it as UTF-8",
    ),
    "no columns for coordinates": (
        "a.csv", rows("A,B", header="shop,where"),
        "a.csv, line 1: expected a header with the columns name, lat, lon (or name, coordinates; name, address; name, id); got 'shop', 'where'",
    ),
    "unquoted decimal commas": (
        "a.csv", rows("A,60,1715,24,9404"),
        "a.csv, line 2: 5 values for 3 columns; write decimals with a point, and quotes round text that holds a separator",
    ),
    "an open quote": ("a.csv", rows('"A,60.1,24.9'), "a.csv, line 2: not a table (unexpected end of data); check quotes and separators"),
    "words for degrees": ("a.csv", rows("A,north,24.9"), "a.csv, line 2: lat: expected degrees such as 60.17 or 60°10'12\"N, got 'north'"),
    "61 minutes": ("a.csv", rows("A,60°61'N,24.9"), "a.csv, line 2: lat: expected minutes below 60, got 61, got \"60°61'N\""),
    "exchanged letters": (
        "a.csv", rows("A,24.9 E,60.1 N"),
        "a.csv, line 2: lat: expected a latitude, and this is a longitude; have the two changed places?, got '24.9 E'",
    ),
    "half a pair": ("a.csv", rows("A;60.1715", header="name;gps"), "a.csv, line 2: expected latitude and longitude such as 60.17,24.93, got '60.1715'"),
    "an unknown role": ("a.csv", rows("A,60.17,24.94,depot", header="name,lat,lon,role"), "a.csv, line 2: expected a role of start, goal or candidate, got 'depot'"),
    "off the map": (
        "a.csv", rows(GOOD_ROW, "B,61.5,23.8"),
        f"a.csv, line 3: B: expected a point on the map, at most 2 km from a street ({SPAN}), got '61.5,23.8'",
    ),
    "the wrong way round": (
        "a.csv", rows("B,24.9404,60.1715"),
        "a.csv, line 2: B: expected latitude first; this looks like longitude,latitude, so write 60.1715,24.9404, got '24.9404,60.1715'",
    ),
    "an address without a book": (
        "a.csv", rows("A,Itäkatu 5", header="name,address"),
        "a.csv, line 2: expected LAT,LON, the id of a junction, a name in --places, or a street (the network has no addresses); the nearest are Itätie, got 'Itäkatu 5'",
    ),
    "many problems": (
        "a.csv", rows(GOOD_ROW, "B,x,24.9", "C,60.1705,", "D,61.5,23.8", GOOD_ROW, "E,60,1,2,3"),
        [
            "a.csv, line 3: lat: expected degrees such as 60.17 or 60°10'12\"N, got 'x'",
            "a.csv, line 4: expected both lat and lon, or an address, or the id of a junction",
            "a.csv, line 6: the name 'A' is there twice, first in line 2; change one",
            "a.csv, line 7: 5 values for 3 columns; write decimals with a point, and quotes round text that holds a separator",
        ],
    ),
    "many off the map": (
        "a.csv", rows(GOOD_ROW, "B,61.5,23.8", "C,24.9404,60.1715", header="name,lat,lon"),
        [
            f"a.csv, line 3: B: expected a point on the map, at most 2 km from a street ({SPAN}), got '61.5,23.8'",
            "a.csv, line 4: C: expected latitude first; this looks like longitude,latitude, so write 60.1715,24.9404, got '24.9404,60.1715'",
        ],
    ),
    "too many problems to list": (
        "a.csv", rows(*(f"P{i},x,24.9" for i in range(27))),
        [*(f"a.csv, line {i + 2}: lat: expected degrees such as 60.17 or 60°10'12\"N, got 'x'" for i in range(20)), "and 7 more"],
    ),
    "no workbook": ("a.xlsx", raw(b"name,lat,lon\n"), "a.xlsx: damaged, protected by a password, or no workbook; save it again as .xlsx or .csv"),
    "an empty workbook": ("a.xlsx", workbook([]), "a.xlsx: the file is empty"),
    "a workbook with a bad cell": (
        "a.xlsx", workbook([("name", "lat", "lon"), ("A", "x", 24.9)]),
        "a.xlsx, line 2: lat: expected degrees such as 60.17 or 60°10'12\"N, got 'x'",
    ),
    "an older spreadsheet": (
        "a.xls", raw(b"x"),
        "places format: expected one of .csv, .tsv, .txt, .xlsx, .geojson, .json, .gpx, .kml, .kmz, .gpkg, got '.xls'",
    ),
    "GPX with tracks only": ("a.gpx", raw(b"<gpx><trk/></gpx>"), "a.gpx: no places in the file; expected waypoints (wpt)"),
    "GPX cut off": ("a.gpx", raw(b"<gpx>\n<wpt lat='1'"), "a.gpx, line 2: not valid XML; check that it is complete"),
    "GPX that is KML": ("a.gpx", raw(kml_text()), "a.gpx: expected a GPX file, got one of 'kml'"),
    "a waypoint without a place": ("a.gpx", raw(b"<gpx>\n<wpt lat='60.1'/></gpx>"), "a.gpx, line 2: expected both lat and lon, or an address, or the id of a junction"),
    "XML with entities": (
        "a.kml", raw(b'<!DOCTYPE kml [<!ENTITY a "aaaa">]><kml>&a;</kml>'),
        "a.kml: declares entities, which are not read; save it again without",
    ),
    "KML with lines": (
        "a.kml", raw(b"<kml>\n<Placemark><LineString><coordinates>1,2 3,4</coordinates></LineString></Placemark></kml>"),
        "a.kml, line 2: expected a Point, got 'LineString'",
    ),
    "KML with two points for a place": (
        "a.kml", raw(b"<kml>\n<Placemark><MultiGeometry>" + 2 * b"<Point><coordinates>24.94,60.17</coordinates></Point>" + b"</MultiGeometry></Placemark></kml>"),
        "a.kml, line 2: expected one Point, got 2",
    ),
    "no KMZ": ("a.kmz", raw(b"PK"), "a.kmz: damaged, or no .kmz file with a .kml in it; save it again as .kml"),
    "no GeoPackage": ("a.gpkg", raw(b"SQLite format 3\0" + b"x" * 200), "a.gpkg: damaged, or no GeoPackage; save it again"),
    "a projected GeoPackage": ("a.gpkg", geopackage(system=("EPSG", 3067)), "a.gpkg: in EPSG:3067; save it in EPSG:4326, longitude and latitude"),
    "a GeoPackage of lines": ("a.gpkg", geopackage(places=PLACES[:1], kind=2), "a.gpkg: row 1 of shops: expected one Point"),
    "a GeoPackage of two tables": (
        "a.gpkg", geopackage(tables=("a", "b")),
        "a.gpkg: expected one table of points, and there are several (a, b); keep one",
    ),
    "GeoJSON of lines": (
        "a.geojson", raw(b'{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": {"type": "LineString"}}]}'),
        "a.geojson: features[0]: expected a Point, got 'LineString'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_files_and_the_lines_that_they_give(kind: str, command: Command) -> None:
    name, write, said = BAD_FILES[kind]
    write(Path(name))
    vr.write_network(little_town(), "town.json")
    code, out, err = command("convert", "town.json", "out.json", "--places", name, "--start", "105", "--goal", "108")
    assert (code, out) == (2, "")
    lines = [said] if isinstance(said, str) else said
    assert err == "".join(f"veilroute: {line}\n" for line in lines)


BAD_TEXTS = {
    "Mannerheimintie 99": "Mannerheimintie 7-11 (Helsinki), Mannerheimintie 6 A, Mannerheimintie 5 (Helsinki)",
    "Mannerheimintie 8": "Mannerheimintie 7-11 (Helsinki), Mannerheimintie 6 A, Mannerheimintie 5 (Helsinki)",
    "Manerheimintie": "the nearest are Mannerheimintie",
    "Mannerheimintie 5, Turku": "Mannerheimintie 5 (Helsinki)",
    "Alko": "one place, and there are Alko (alcohol) 60.1702,24.9401; Alko (alcohol) 60.1714,24.9441: write LAT,LON",
    "Nowhere": "an address or name on this map, got 'Nowhere'",
}


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_texts_that_mean_nothing_or_too_much(text: str, command: Command, mapped: str) -> None:
    code, out, err = command("convert", mapped, "out.json", "--start", "1", "--goal", text, "--candidates", "3;4")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("veilroute: --goal: expected ") and BAD_TEXTS[text] in err, err


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
    assert code == 2 and "--goal: expected one of Kauppa, kauppa, as it is written there, got 'KAUPPA'" in err
    Path("p.csv").write_text("place;weight\nSATAMA;0,5\nKauppa;1,25\nkauppa;2\n")
    assert command(*plan, "--goal", "depot", "--prior", "p.csv").code == 0
    assert (
        command("replan", "book.json", "--class", "1", "--at", "depot", "--position", "0", "--closed", "102,103").code
        == 0
    )
    graph = vr.Domain.from_edges(3, [0, 1, 2, 1], [1, 2, 0, 0], [1, 1, 1, 1], labels=["Depot", "Bank", "Mint"])
    vr.write_network(graph, "graph.json")
    done = command("plan", "graph.json", "--start", "depot", "--goal", "DEPOT", "--candidates", "bank mint")
    assert done.code == 0, done.err


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


def test_many_problems_are_one_error() -> None:
    problems = [vr.FileFormatError("a.csv", f"bad {i}", i) for i in range(25)]
    error = ManyProblemsError(problems)
    assert isinstance(error, vr.FileFormatError) and len(error.problems) == 25
    assert str(error).split("\n")[-2:] == ["a.csv, line 19: bad 19", "and 5 more"]


def test_a_workbook_needs_its_library(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    workbook([("name", "lat", "lon"), *PLACES])(Path("a.xlsx"))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    vr.write_network(little_town(), "town.json")
    code, _, err = command("convert", "town.json", "out.json", "--places", "a.xlsx", "--start", "105", "--goal", "108")
    assert (code, err) == (2, "veilroute: openpyxl is not installed; run: pip install 'veilroute[streets]'\n")
