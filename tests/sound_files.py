"""A small sound file of each format that is read, and what reads it; the same three places in every kind of file."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import veilroute as vr
from osm_files import on_grid, write_osm
from street_samples import exposed_book, little_town
from veilroute.formats import read_customers, read_osm_addresses, read_places, read_prior

GRID = vr.grid_domain(["....", "...."])
SPOTS = ((0, 1), (0, 2), (1, 2))
VAULTS = json.dumps(
    {
        "format": "veilroute-instance/1", "domain": {"grid": {"map": ["....", "...."]}},
        "trips": [{"start": [0, 0], "goal": [1, 3]}], "candidates": SPOTS,
        "names": [[[0, 1], "Vault"], [[1, 2], "Tea room"]],
    }
)  # fmt: skip
FEATURES = '{"type": "FeatureCollection", "features": [%s]}'


def feature(kind: str, coordinates: object, /, **properties: object) -> str:
    geometry = {"type": kind, "coordinates": coordinates} if kind else None
    return json.dumps({"type": "Feature", "properties": properties, "geometry": geometry})


def collection(*features: str) -> str:
    return FEATURES % ", ".join(features)


def square(west: float, south: float, size: float = 0.01) -> list[list[float]]:
    east, north = west + size, south + size
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


# --- places

PLACES = (("Kauppa Äijä", 60.1715, 24.9404), ("Pankki", 60.1705, 24.9456), ("Satama", 60.17, 24.9412))
"""Three places beside the streets of the little town: name, latitude, longitude."""

Writer = Callable[[Path], object]


def raw(content: bytes | str) -> Writer:
    """A file with this in it; text in UTF-8."""
    return lambda path: path.write_bytes(content.encode() if isinstance(content, str) else content)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def table(
    header: str, row: str = "{name}{s}{lat}{s}{lon}", *, s: str = ",", encoding: str = "utf-8", mark: bytes = b"",
    ends: str = "\n", comma: bool = False,
) -> Writer:  # fmt: skip
    """A text file with a row for each place; ``comma`` writes decimals with one."""

    def write(path: Path) -> None:
        lines = [header]
        for name, lat, lon in PLACES:
            degrees = [f"{value:.4f}".replace(".", "," if comma else ".") for value in (lat, lon)]
            lines.append(row.format(name=name, lat=degrees[0], lon=degrees[1], s=s))
        path.write_bytes(mark + (ends.join(lines) + ends).encode(encoding))

    return write


def workbook(rows: Sequence[Sequence[object]], *, before: Sequence[Sequence[object]] | None = None) -> Writer:
    """An ``.xlsx`` with these rows, behind another sheet where one is given."""

    def write(path: Path) -> None:
        import openpyxl

        book = openpyxl.Workbook()
        sheet = book.active
        if before is not None:
            for row in before:
                sheet.append(list(row))
            sheet = book.create_sheet("Data")
        for row in rows:
            sheet.append(list(row))
        book.save(path)

    return write


def geojson(*, key: str = "name", mark: bytes = b"") -> Writer:
    """A FeatureCollection of points."""
    text = collection(*(feature("Point", [lon, lat], **{key: name, "phone": 5}) for name, lat, lon in PLACES))
    return raw(mark + text.encode())


def gpx(*, version: str = "1.1", encoding: str = "UTF-8", more: str = "") -> Writer:
    """Waypoints, and what else the file may have."""
    space = f' xmlns="http://www.topografix.com/GPX/1/{version[-1]}"' if version == "1.1" else ""
    points = "".join(f'<wpt lat="{lat}" lon="{lon}"><name>{name}</name></wpt>\n' for name, lat, lon in PLACES)
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<gpx version="{version}"{space}>\n{points}{more}</gpx>\n'
    return raw(text.encode(encoding))


def kml_text() -> str:
    """Placemarks in a folder, with data of their own."""
    data = '<ExtendedData><Data name="Role"><value>candidate</value></Data></ExtendedData>'
    marks = "".join(
        f"<Placemark><name>{name}</name>{data}<Point><coordinates>\n {lon},{lat},0 </coordinates></Point></Placemark>\n"
        for name, lat, lon in PLACES
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2"><Document>'
    return f"{head}<name>All</name><Folder><name>Shops</name>{marks}</Folder></Document></kml>\n"


def kmz(path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("doc.kml", kml_text())
    path.write_bytes(packed.getvalue())


def geopackage(
    *, is_multi: bool = False, system: tuple[str, int] = ("EPSG", 4326), tables: Sequence[str] = ("shops",),
    num_points: int = 1,
) -> Writer:  # fmt: skip
    """A GeoPackage with the tables that a reader needs, written from the facts of the standard.

    Sets of points are written with the big end first and with an envelope.
    """

    def blob(lat: float, lon: float) -> bytes:
        if not is_multi:
            return b"GP" + bytes([0, 1]) + struct.pack("<iBIdd", 4326, 1, 1, lon, lat)
        head = b"GP" + bytes([0, 2]) + struct.pack(">i4d", 4326, lon, lon, lat, lat)
        return head + struct.pack(">BII", 0, 4, num_points) + struct.pack(">BIdd", 0, 1, lon, lat) * num_points

    def write(path: Path) -> None:
        path.unlink(missing_ok=True)
        database = sqlite3.connect(path)
        database.executescript(
            "CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT, srs_id INTEGER PRIMARY KEY, organization TEXT, "
            "organization_coordsys_id INTEGER, definition TEXT);"
            "CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT, geometry_type_name TEXT, "
            "srs_id INTEGER, z INTEGER, m INTEGER);"
        )
        database.execute("INSERT INTO gpkg_spatial_ref_sys VALUES ('a system', 7, ?, ?, '')", system)
        for name in tables:
            database.execute(f'CREATE TABLE "{name}" (fid INTEGER PRIMARY KEY, geom BLOB, "Name" TEXT, note TEXT)')
            shape = "MULTIPOINT" if is_multi else "POINT"
            database.execute("INSERT INTO gpkg_geometry_columns VALUES (?, 'geom', ?, 7, 0, 0)", (name, shape))
            for label, lat, lon in PLACES:
                database.execute(f'INSERT INTO "{name}" (geom, "Name") VALUES (?, ?)', (blob(lat, lon), label))
        database.commit()
        database.close()

    return write


# --- one of each format

MAP = "type octile\nheight 3\nwidth 5\nmap\n.....\n@OTW.\n.....\n"
SCENARIO = "version 1\n3\ta.map\t4\t3\t1\t0\t2\t2\t3.5\n"
AUTHORS = "3 4\n0 1 1\n1 0 1\n1 2 2.5\n2 1 2.5\n0 2\n1\n1\n"
ARCS = "c a comment with a, p and numbers 1 2 3\np sp 3 4\nc\na 1 2 803\na 2 1 803\na 2 3 158\na 3 1 774\n"
POINTS = "c coordinates\np aux sp co 3\nv 2 -73530767 41086098\nv 1 -73530538 41085396\nv 3 -73519366 41048796\n"
EDGES = "from,to,cost,oneway\n7,3,4,no\n3,5,6,yes\n"
NODES = "id,lat,lon\n7,60.17,24.90\n3,60.17,24.91\n5,60.18,24.91\n"
PRIOR = 'place,weight\nVault,1\n"0,2",2\nTea room,1\n'
CUSTOMERS = "place,demand,service,opens,closes,rate\nBaker,1,5,08:00,17:00,0.5\n"
SHOPS = "name,lat,lon,role\nDepot,60.17,24.93,start\nKamppi,60.16,24.94,\nForum,60.18,24.95,candidate\n"
GRAPHML = """<?xml version='1.0' encoding='utf-8'?>
<graphml><key id="d9" for="edge" attr.name="travel_time"/><key id="d8" for="edge" attr.name="geometry"/>
<key id="d7" for="edge" attr.name="length"/><key id="d3" for="node" attr.name="x"/>
<key id="d2" for="node" attr.name="y"/><key id="d1" for="graph" attr.name="crs"/>
<graph edgedefault="directed">
<node id="10"><data key="d2">60.17</data><data key="d3">24.90</data></node>
<node id="20"><data key="d2">60.18</data><data key="d3">24.91</data></node>
<edge source="10" target="20"><data key="d7">700.5</data><data key="d9">50.25</data>
<data key="d8">LINESTRING (24.9 60.17, 24.905 60.18, 24.91 60.18)</data></edge>
<data key="d1">epsg:4326</data></graph></graphml>
"""
INSTANCE: dict[str, Any] = {
    "format": "veilroute-instance/1",
    "domain": {"grid": {"map": ["....", ".@@.", "...."], "movement": 4}},
    "trips": [{"start": [0, 0], "goal": [2, 3]}],
    "candidates": [[0, 2], [2, 0]],
    "visibility": {"kind": "within-distance", "radius": 1},
    "privacy": {"k": 2, "ell": 2, "m": None, "spread": "all-pairs"},
}
GRAPH: dict[str, Any] = INSTANCE | {
    "domain": {"graph": {"num_nodes": 3, "edges": [[0, 1, 1], [1, 2, 1]], "labels": ["a", "b", "c"]}},
    "trips": [{"start": "a", "goal": "b"}],
    "candidates": ["c"],
}


class Sample(NamedTuple):
    """A sound file, how it is read, and fragments of it with a number in braces that must be one."""

    name: str
    content: str | bytes | Callable[[Path], object]
    read: Callable[[Path], object]
    numbers: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    knows_its_end: bool = True
    commands: tuple[str, ...] = ()  #: in which OF is its name

    def write(self, folder: Path) -> Path:
        for name, text in self.beside:
            (folder / name).write_text(text, encoding="utf-8")
        path = folder / self.name
        path.unlink(missing_ok=True)
        if callable(self.content):
            self.content(path)
        else:
            path.write_bytes(self.content.encode() if isinstance(self.content, str) else self.content)
        return path


def prior(path: Path) -> object:
    return read_prior(path, GRID, SPOTS, {(0, 1): "Vault", (1, 2): "Tea room"})


def customers(path: Path) -> object:
    return read_customers(path, {"Baker": 2}.get, [], [2])


def area(path: Path) -> object:
    return vr.read_area(path, cell=100)


def osm(path: Path) -> None:
    road = {"highway": "residential", "name": "Öja"}
    write_osm(path, [(1, [11, 12, 13], road), (2, [13, 14], road | {"oneway": "yes"})], on_grid(11, 12, 13, 14))


def town_file(path: Path) -> None:
    vr.write_network(little_town(), path)


SHOP_POINTS = collection(
    feature("Point", [24.93, 60.17], name="Depot", role="start"), feature("Point", [24.94, 60.16], name="Kamppi")
)
STREETS = ("streets OF -o out.npz", "streets OF -o out.json --json")
GRAPHS = (*STREETS, "streets OF -o out.json --cost metres")
AT_TOWN = ("plan n.json --start 105 --goal 108 -k 1 --time-limit 5 --places OF",)
PLAN = ("plan OF --time-limit 5", "plan OF --time-limit 5 --json -o out.json", "convert OF out.in")
SAMPLES = {
    "map": Sample(
        "a.map", MAP, vr.read_movingai, ("height {3}", "width {5}"),
        commands=(
            "plan OF --start 0,0 --goal 0,3 --random-candidates 2",
            "convert OF out.json --start 0,0 --goal 2,0 --candidates 1,4",
        ),
    ),
    "scenarios": Sample(
        "a.scen", SCENARIO, vr.read_scenarios, ("{3}\ta", "3\t{1}\t0", "0\t{2}\t2"), (("a.map", MAP),),
        knows_its_end=False, commands=("plan OF --random-candidates 2 --time-limit 5",),
    ),
    "authors": Sample(
        "a.in", AUTHORS, vr.read_instance, ("{3} 4", "3 {4}", "0 1 {1}", "{1} 2 2.5", "\n0 {2}\n", "\n{1}\n1\n"),
        commands=("plan OF -k 1 --time-limit 5", "convert OF out.json"),
    ),
    "instance": Sample("a.json", json.dumps(INSTANCE), vr.read_instance, commands=PLAN),
    "graph": Sample("a.json", json.dumps(GRAPH), vr.read_instance, commands=PLAN),
    "playbook": Sample("a.json", lambda path: exposed_book().write(path), vr.read_playbook),
    "network": Sample("a.json", town_file, vr.read_network, commands=STREETS),
    "network cache": Sample("a.npz", town_file, vr.read_network, commands=STREETS),
    "arcs": Sample(
        "a.gr", ARCS, vr.read_dimacs, ("p sp {3}", "p sp 3 {4}", "a {2} 3 158", "a 2 {3} 158", "3 {158}"),
        (("a.co", POINTS),), knows_its_end=False, commands=GRAPHS,
    ),
    "packed arcs": Sample("a.gr.gz", gzip.compress(ARCS.encode(), mtime=0), vr.read_dimacs, commands=STREETS),
    "points": Sample(
        "a.co", POINTS, lambda path: vr.read_dimacs(path.with_name("a.gr"), path), ("co {3}", "v {2}"),
        (("a.gr", ARCS),), knows_its_end=False, commands=("streets a.gr -o out.json --cost metres",),
    ),
    "edges": Sample(
        "a.csv", EDGES, vr.read_edge_list, ("7,3,{4},no", "3,5,{6},yes"), knows_its_end=False,
        commands=(*STREETS, "plan OF --start 7 --goal 5 --candidates 3 -k 1"),
    ),
    "nodes": Sample(
        "a.nodes.csv", NODES, lambda path: vr.read_edge_list(path.with_name("a.csv"), path),
        ("7,{60.17},24.90", "3,60.17,{24.91}"), (("a.csv", EDGES),), knows_its_end=False,
        commands=("streets a.csv -o out.json",),
    ),
    "GraphML": Sample(
        "a.graphml", GRAPHML, vr.read_graphml, (">{60.18}<", ">{24.90}<", ">{700.5}<", ">{50.25}<"), commands=GRAPHS
    ),
    "OSM": Sample("a.osm", osm, vr.read_osm, commands=(*STREETS, "streets OF -o out.json --network walk")),
    "packed OSM": Sample("a.osm.gz", osm, vr.read_osm, commands=STREETS),
    "OSM in bz2": Sample("a.osm.bz2", osm, vr.read_osm, commands=STREETS),
    "OSM in PBF": Sample("a.osm.pbf", osm, vr.read_osm, commands=STREETS),
    "addresses of OSM": Sample("a.osm.pbf", osm, read_osm_addresses),
    "places": Sample(
        "a.csv", SHOPS, read_places, ("t,{60.17}", "t,60.17,{24.93}"), knows_its_end=False, commands=AT_TOWN
    ),
    "workbook": Sample("a.xlsx", workbook([("name", "lat", "lon"), *PLACES]), read_places, commands=AT_TOWN),
    "GeoJSON": Sample("a.geojson", SHOP_POINTS, read_places, ("[{24.93}, ", ", {60.17}]"), commands=AT_TOWN),
    "GPX": Sample("a.gpx", gpx(), read_places, ('lat="{60.1705}"', 'lon="{24.9412}"'), commands=AT_TOWN),
    "KML": Sample(
        "a.kml", raw(kml_text()), read_places, ("{24.9412},60.17,", "24.9412,{60.17},"), commands=AT_TOWN
    ),
    "KMZ": Sample("a.kmz", kmz, read_places, commands=AT_TOWN),
    "GeoPackage": Sample("a.gpkg", geopackage(), read_places, commands=AT_TOWN),
    "prior": Sample(
        "a.csv", PRIOR, prior, ("Vault,{1}", '2",{2}'), (("g.json", VAULTS),), knows_its_end=False,
        commands=("convert g.json out.json --prior OF",),
    ),
    "prior of points": Sample(
        "a.geojson", collection(*(feature("", 0, id=f"{r},{c}", weight=7) for r, c in SPOTS)), prior,
        ('"weight": {7}',), (("g.json", VAULTS),), commands=("convert g.json out.json --prior OF",),
    ),
    "customers": Sample("a.csv", CUSTOMERS, customers, ("r,{1},5", "1,{5},08", "0,{0.5}\n"), knows_its_end=False),
    "area": Sample(
        "a.geojson", collection(feature("Polygon", [square(24.5, 60.25)])), area, ("[[[{24.5}, ", ", {60.25}], "),
        commands=("area OF -o out.json --cell 100",),
    ),
}  # fmt: skip
TEXTS = {
    name for name, sample in SAMPLES.items()
    if not sample.name.endswith((".npz", ".gz", ".bz2", ".pbf", ".xlsx", ".kmz", ".gpkg"))
}  # fmt: skip
JSON = {name for name, sample in SAMPLES.items() if sample.name.endswith("json")}
