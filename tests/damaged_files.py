"""Damaged files: sound samples of every format that is read, ways to damage them, and a worker that feeds them in.

    python tests/damaged_files.py FIRST LAST FOLDER
    python tests/damaged_files.py large FOLDER

runs the cases FIRST to LAST - 1 through the command line, in one process, and prints a line for each that fails; or
those that are almost 10 MB. A case is its number alone: the sample, the damage and the command follow from it.
"""

from __future__ import annotations

import faulthandler
import gzip
import io
import json
import os
import random
import re
import sys
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

MAX_MEMORY_MB = 1000
PATIENCE_S = 120  # kernels may have to be compiled first
MAX_MESSAGE = 300
_FILE = re.compile(r"veilroute: ([^:,]+)[:,] ")
"""What a line about a file begins with."""

ENDINGS: Counter[int] = Counter()
"""How often each exit code came."""

Files = dict[str, bytes]
Repack = Callable[[bytes, Callable[[bytes], bytes]], bytes]
"""Applies a damage below a layer of packing, such as gzip."""


class Sample(NamedTuple):
    """Sound files, the one to damage, and the commands that read it."""

    files: Files
    target: str
    commands: list[list[str]]
    repack: Repack | None = None
    stdin: str = "3,3\n"


# --- damage


NUMBERS = (
    *(b"9" * 5000, b"-" + b"9" * 4400, b"1e999", b"-1e999", b"NaN", b"Infinity", b"-0", b"1e-320", b"0x10", b"1_0"),
    *(b"9223372036854775808", b"18446744073709551616", b"2147483647", b"4294967296", b"-1", b"0", b"1.5", b"1e308"),
)
TEXTS = (
    *("", "x" * 1_000_000, "\x00", "\x1b[31mred", "a\nb", "\u202egnp", "\ud800", "'\"<&>", "../../etc/passwd"),
    *("\u0663", "\uff71", "9" * 5000, "3,4", "nan", "true"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 1e308, 2**63, -(2**63), 2**64, 10**5000),
    *("", [], {}, [[]], {"a": []}, "0", [0, 0]),
)


def flip_bytes(raw: bytes, rng: random.Random) -> bytes:
    data = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def cut(raw: bytes, rng: random.Random) -> bytes:
    a, b = sorted(rng.randrange(len(raw) + 1) for _ in range(2))
    return rng.choice((raw[:a], raw[a:], raw[:a] + raw[b:]))


def repeat(raw: bytes, rng: random.Random) -> bytes:
    a, b = sorted(rng.randrange(len(raw) + 1) for _ in range(2))
    return raw[:b] + raw[a:b] * rng.choice((1, 2, 50)) + raw[b:]


def insert(raw: bytes, rng: random.Random) -> bytes:
    nasty = [
        b"\x00",
        b"\xff\xfe",
        b"\xc3",
        b"\xef\xbb\xbf",
        b"\x1b[2J",
        b"\xed\xa0\x80",
        b"\r",
        b"\n\n",
        b'"',
        b"\\",
        b"[",
    ]
    nasty += [b"[" * 5000, b'{"a":' * 500, b"<a>" * 500, b"," * 1000, b" " * 100_000, b"\x80" * 12, b"\xe2\x80\xae"]
    at = rng.randrange(len(raw) + 1)
    return raw[:at] + rng.choice(nasty) + raw[at:]


def blow_number(raw: bytes, rng: random.Random) -> bytes:
    spots = list(re.finditer(rb"\d+(?:\.\d+)?", raw))
    if not spots:
        return insert(raw, rng)
    spot = rng.choice(spots)
    return raw[: spot.start()] + rng.choice(NUMBERS) + raw[spot.end() :]


def change_words(raw: bytes, rng: random.Random) -> bytes:
    words = re.split(rb"(\s+|[,;\"])", raw)
    at, other = rng.randrange(len(words)), rng.randrange(len(words))
    match rng.randrange(4):
        case 0:
            words[at], words[other] = words[other], words[at]
        case 1:
            words[at] = b""
        case 2:
            words[at] = rng.choice(TEXTS).encode("utf-8", "surrogatepass")
        case _:
            words[at] = words[at] * 2
    return b"".join(words)


def change_lines(raw: bytes, rng: random.Random) -> bytes:
    lines = raw.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(3):
        case 0:
            lines[at], lines[other] = lines[other], lines[at]
        case 1:
            del lines[at]
        case _:
            lines.insert(at, lines[other])
    return b"\n".join(lines)


def change_json(raw: bytes, rng: random.Random) -> bytes:
    """Change a value, a key or the shape of sound JSON; text that is none is damaged as text."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return change_words(raw, rng)
    # A playbook whose map has changed is refused by its hash, before anything else is looked at.
    is_spared = isinstance(data, dict) and {"domain", "domain_sha256"} <= data.keys() and rng.random() < 0.8
    world = data.pop("domain") if is_spared else None
    spots = list(_spots(data))
    if not spots:
        return flip_bytes(raw, rng)
    # Near the root as often as in long lists.
    shallow = [spot for spot in spots if spot[2] <= 3]
    holder, key, _ = rng.choice(shallow if shallow and rng.random() < 0.6 else spots)
    value = holder[key]
    match rng.randrange(13):
        case 0 if holder is not data or len(data) > 1:
            del holder[key]
        case 1:
            holder[key] = rng.choice(VALUES)
        case 2:
            holder[key] = rng.choice(TEXTS)
        case 3:
            holder[key] = {"a": value} if rng.random() < 0.5 else [value, value]
        case 4 if isinstance(value, list) and value:
            holder[key] = value * rng.choice((2, 1000)) if rng.random() < 0.5 else value[: rng.randrange(len(value))]
        case 5 if isinstance(value, int | float):
            holder[key] = value * rng.choice((-1, 2, 1e6, 1e300, 0.3, 0))
        case 6 if isinstance(holder, dict):
            holder[rng.choice(TEXTS)] = holder.pop(key)
        case 7 | 8 | 9 if isinstance(value, int | float):
            holder[key] = value + rng.choice((-1, 1, 0.5))
        case 7 | 8 | 9 if isinstance(value, list) and len(value) > 1:
            rng.shuffle(value)
        case 10:
            deep: Any = value
            for _ in range(rng.choice((3, 50, 99, 300))):
                deep = [deep]
            holder[key] = deep
        case _:
            other, there, _ = rng.choice(spots)
            with suppress(KeyError, IndexError):
                holder[key], other[there] = other[there], value
    if is_spared and isinstance(data, dict):
        data["domain"] = world
    try:
        sys.set_int_max_str_digits(0)
        text = json.dumps(data).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):  # a part now holds itself
        return cut(raw, rng)
    finally:
        sys.set_int_max_str_digits(4300)
    return twin_key(text, rng) if rng.random() < 0.1 else text


def twin_key(raw: bytes, rng: random.Random) -> bytes:
    keys = list(re.finditer(rb'"\w+":', raw))
    if not keys:
        return raw
    spot = rng.choice(keys)
    return raw[: spot.start()] + spot[0] + b"1," + raw[spot.start() :]


def _spots(data: Any, depth: int = 0) -> Iterator[tuple[Any, Any, int]]:
    for key in list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield data, key, depth
        yield from _spots(data[key], depth + 1)


BYTES = (flip_bytes, cut, repeat, insert)
TEXT = (*BYTES, blow_number, blow_number, change_words, change_words, change_lines)
JSON = (*TEXT, twin_key, *[change_json] * 40)


def damage(raw: bytes, name: str, rng: random.Random) -> bytes:
    """One to three kinds of damage; none of them makes an empty file of a small one for long."""
    if name.endswith((".json", ".geojson")):
        kinds: tuple[Callable[[bytes, random.Random], bytes], ...] = JSON
    else:
        kinds = BYTES if name.endswith((".npz", ".pbf", ".zip", ".xlsx", ".kmz", ".gpkg")) else TEXT
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        raw = rng.choice(kinds)(raw or b"\n", rng)
    return raw


def _in_gzip(raw: bytes, change: Callable[[bytes], bytes]) -> bytes:
    return gzip.compress(change(gzip.decompress(raw)), mtime=0)


def _in_zip(raw: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Damages one member, under a sound checksum."""
    parts = zipfile.ZipFile(io.BytesIO(raw))
    names = parts.namelist()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", parts.infolist()[0].compress_type) as archive:
        chosen = len(raw) % len(names) if len(change(b"ab")) % 2 else random.Random(change(b"cd")).randrange(len(names))
        for number, name in enumerate(names):
            data = parts.read(name)
            archive.writestr(name, change(data) if number == chosen else data)
    return packed.getvalue()


# --- samples


def make_samples(folder: Path) -> list[Sample]:
    """Small sound files of every format; made once for each worker."""
    import networkx as nx

    import veilroute as vr
    from odd_files import PLACES, Writer, geopackage, gpx, kml_text, kmz, osm_with_addresses, table, workbook
    from odd_files import raw as odd_raw
    from osm_files import on_grid, restriction, write_osm
    from street_samples import exposed_book, little_book, little_town, two_trip_book
    from veilroute.cli import replan_file
    from veilroute.formats import read_osm_addresses, write_movingai, write_network

    house = {"addr:street": "Ratakatu", "addr:housenumber": "7"}

    def made(write: Callable[[Path], object], name: str) -> bytes:
        write(folder / name)
        return (folder / name).read_bytes()

    rooms = vr.generate_rooms(12, 16, seed=3)
    free: list[Any] = [rooms.label(node) for node in range(0, rooms.num_nodes, max(1, rooms.num_nodes // 18))]
    start, goal, stops = free[0], free[-1], free[1:8]
    problem = vr.Problem(rooms, [vr.Trip(start, goal)], stops, vr.WithinDistance(1), {stops[0]: "Bank", goal: "Mint"})
    privacy = vr.Privacy(k=2, ell=2)
    grid_book, parting = vr.solve(problem, privacy), vr.solve(problem, vr.Privacy(k=2, ell=2, m=4))
    proved = vr.solve(vr.Problem(rooms, [vr.Trip(start, goal)], free[1:15]), privacy)
    labels = ["depot", "bank", "mint", "pier", "yard"]
    ring = vr.Domain.from_edges(
        5, [0, 1, 2, 3, 4, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 5] * 2, labels=labels
    )
    seen = vr.Explicit({"bank": ["bank"], "mint": ["mint", "pier"], "pier": ["pier"], "yard": ["yard", "bank"]})
    ring_problem = vr.Problem(ring, [vr.Trip("depot", "yard")], ["bank", "mint", "pier"], seen)
    town = little_town()
    instance, graph_instance = vr.Instance(problem, privacy), vr.Instance(ring_problem, vr.Privacy(k=2, ell=1))
    typed = ",".join(map(str, start)), ",".join(map(str, goal))
    ends = ["--start", typed[0], "--goal", typed[1]]
    drawn = [*ends, "--random-candidates", "5", "--time-limit", "5"]
    by_id = ["--start", "105", "--goal", "108", "--candidates", "102 104 109 111", "--ell", "0", "--time-limit", "5"]
    the_map = made(lambda path: write_movingai(rooms, path), "a.map")
    samples = []

    def add(target: str, raw: bytes, *commands: list[str], repack: Repack | None = None, **other: bytes) -> None:
        beside = {name.replace("_", "."): data for name, data in other.items()}
        samples.append(Sample({target: raw, **beside}, target, list(commands), repack))

    plan, convert = ["plan", "--time-limit", "5"], ["convert"]
    for one, name in ((instance, "a.json"), (graph_instance, "b.json")):
        raw = made(lambda path, one=one: vr.write_instance(one, path), name)  # type: ignore[misc]
        add(name, raw, [*plan, name], [*plan, name, "--json", "-o", "out.json"], [*convert, name, "out.in"])
    data = json.loads((folder / "a.json").read_bytes())
    data["domain"]["grid"]["map"] = "a.map"
    add("c.json", json.dumps(data).encode(), [*plan, "c.json"], a_map=the_map)
    add("a.map", the_map, ["plan", "a.map", *drawn], ["convert", "a.map", "out.json", *drawn[:-2]])
    scenario = b"version 1\n0 a.map 16 12 %d %d %d %d 9.5\n" % (start[1], start[0], goal[1], goal[0])
    add("a.scen", scenario, ["plan", "a.scen", "--random-candidates", "4", "--time-limit", "5"], a_map=the_map)
    raw = made(lambda path: vr.write_instance(graph_instance, path), "a.in")
    add("a.in", raw, [*plan, "a.in", "-k", "1"], ["convert", "a.in", "out.json"])
    read = [["audit", "p.json"], ["audit", "p.json", "--json"], ["route", "p.json", "--transit", "-"]]
    read += [["plan", "a.map", "--reuse", "p.json", *ends, "--time-limit", "5"]]
    for book in (grid_book, parting, proved):
        add("p.json", book.to_json(), *read, *read, ["draw", "p.json", "-o", "out.svg"], a_map=the_map)
    add("p.json", grid_book.to_json(embed_domain=False), ["audit", "p.json", "--domain", "a.map"], a_map=the_map)
    add("a.map", the_map, ["audit", "p.json", "--domain", "a.map"], p_json=grid_book.to_json(embed_domain=False))
    on_streets = [["audit", "q.json"], ["draw", "q.json", "-o", "out.svg"]]
    on_streets += [["export", "q.json", "-o", f"out.{end}"] for end in ("gpx", "geojson", "txt", "html")]
    on_streets += [["route", "q.json", "--transit", "-", "--format", end] for end in ("gpx", "directions", "json")]
    prepared = [book.with_contingencies(worst=2) for book in (little_book(), little_book(m=3), two_trip_book())]
    on_streets += [["replan", "q.json", "--class", "1", "--at", "105", "--closed", "105,106", "-o", "out.txt"]]
    for book in (little_book(), little_book(m=3), two_trip_book(), exposed_book(), *prepared):
        add("q.json", book.to_json(), *on_streets)
    again = ["replan", "q.json", "--class", "1", "--at", "105", "--closed-nodes", "104", "--after", "r.json", "--json"]
    first = little_book().replan(1, 105, closed=[(105, 106)])
    raw = json.dumps(replan_file(little_book(), first)).encode()
    add("r.json", raw, again, q_json=little_book().to_json())
    network = made(lambda path: write_network(town, path), "n.json")
    streets = [
        ["streets", "OF", "-o", "out.npz"],
        ["streets", "OF", "-o", "out.json", "--json"],
        ["plan", "OF", *by_id],
    ]

    def of(name: str) -> list[list[str]]:
        return [[name if word == "OF" else word for word in command] for command in streets]

    add("n.json", network, *of("n.json"))
    packed = made(lambda path: write_network(town, path), "n.npz")
    add("n.npz", packed, *of("n.npz"))
    add("n.npz", packed, *of("n.npz"), repack=_in_zip)
    plain = made(lambda path: write_network(ring, path), "r.npz")
    add("r.npz", plain, ["streets", "r.npz", "-o", "out.json"], repack=_in_zip)
    arcs = b"c ring\np sp 4 4\na 1 2 3\na 2 3 3\na 3 4 2\na 4 1 7\n"
    places = (
        b"p aux sp co 4\nv 1 24940000 60170000\nv 2 24941000 60170000\nv 3 24941000 60171000\nv 4 24940000 60171000\n"
    )
    metres = [["streets", "g.gr", "-o", "out.json", "--cost", "metres"], ["streets", "g.gr", "-o", "out.npz"]]
    add("g.gr", arcs, *metres, g_co=places)
    add("g.co", places, *metres, g_gr=arcs)
    zipped = [[word.replace("g.gr", "g.gr.gz") for word in command] for command in metres]
    add("g.gr.gz", gzip.compress(arcs, mtime=0), *zipped, g_co=places)
    add("g.gr.gz", gzip.compress(arcs, mtime=0), *zipped, repack=_in_gzip, g_co=places)
    edges = (
        b"from,to,cost,oneway,length,name,highway\nA,B,3,no,100,Long Street,primary\nB,C,4.5,yes,120,,\nC,A,1,-1,7,X,\n"
    )
    nodes = b"id,lat,lon\nA,60.17,24.94\nB,60.171,24.94\nC,60.171,24.942\n"
    csv = [["streets", "e.csv", "-o", "out.json"]]
    csv += [["plan", "e.csv", "--start", "A", "--goal", "C", "--candidates", "B", "-k", "1"]]
    add("e.csv", edges, *csv)
    samples.append(Sample({"e.csv": edges, "e.nodes.csv": nodes}, "e.nodes.csv", csv))
    listed_places = (
        b"name,lat,lon,role\nDepot,60.171,24.94,start\nEnd,60.171,24.946,goal\nA,60.172,24.942,\nB,60.17,24.944,\n"
    )
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [lon, lat]},
            "properties": {"name": name, "role": role},
        }
        for name, lon, lat, role in (
            ("D", 24.94, 60.171, "start"),
            ("E", 24.946, 60.171, "goal"),
            ("A", 24.942, 60.172, ""),
        )
    ]
    collection = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    for name, raw in (("s.csv", listed_places), ("s.geojson", collection)):
        add(name, raw, ["plan", "n.json", "--places", name, "-k", "1", "--time-limit", "5"], n_json=network)
    on_net = ["--start", "105", "--goal", "108", "-k", "1", "--time-limit", "5"]
    kinds: list[tuple[str, Writer, Repack | None]] = [
        ("s.gpx", gpx(), None),
        ("s.kml", odd_raw(kml_text(extended=True)), None),
        ("s.kmz", kmz, None),
        ("s.kmz", kmz, _in_zip),
        ("s.gpkg", geopackage(), None),
        ("s.xlsx", workbook([("name", "lat", "lon", "weight"), *((*place, 1) for place in PLACES)]), None),
        ("s.xlsx", workbook([("name", "lat", "lon"), *PLACES]), _in_zip),
        ("s.csv", table("name;lat,lon", "{name};{lat},{lon}", encoding="utf-16"), None),
    ]
    for name, write, repack in kinds:
        add(name, made(write, name), ["plan", "n.json", "--places", name, *on_net], repack=repack, n_json=network)
    corner = osm_with_addresses(
        folder / "c.osm", [(60.17, 24.941, house), (60.17, 24.943, house | {"name": "Bank", "amenity": "bank"})]
    )
    add("c.osm", corner.read_bytes(), ["streets", "c.osm", "-o", "out.json"])
    addresses = read_osm_addresses(corner)
    for name in ("b.json", "b.npz"):
        raw = made(lambda path: write_network(vr.read_osm(corner), path, addresses=addresses), name)
        typed_address = ["plan", name, "--start", "Ratakatu 7", "--goal", "BANK", "--candidates", "3; 4", "-k", "1"]
        add(name, raw, typed_address, repack=_in_zip if name == "b.npz" else None)
    graph = nx.MultiDiGraph(crs="epsg:4326")
    graph.add_node(1, x=24.94, y=60.17)
    graph.add_node(2, x=24.941, y=60.17)
    line = "LINESTRING (24.94 60.17, 24.9405 60.1702, 24.941 60.17)"
    graph.add_edge(1, 2, length=60.0, travel_time=5.0, name="['A', 'B']", highway="primary", geometry=line, osmid=4)
    graph.add_edge(2, 1, length=61.0, travel_time=6.0)
    for which, name in ((graph, "o.graphml"), (nx.cycle_graph(4), "c.graphml")):
        if name == "c.graphml":
            nx.set_edge_attributes(which, 5, "weight")
        raw = made(lambda path, which=which: nx.write_graphml(which, path), name)  # type: ignore[misc]
        add(name, raw, ["streets", name, "-o", "out.json"], ["streets", name, "-o", "out.json", "--cost", "metres"])
    rows = [(1, [1, 2, 3], {"highway": "primary", "name": "A", "maxspeed": "50"}), (2, [3, 13], {"highway": "service"})]
    rows += [(3, [13, 11, 1], {"highway": "residential", "oneway": "yes"})]
    spots = on_grid(1, 2, 3, 11, 13)
    turns = [restriction("no_u_turn", 1, 3, 1), restriction("only_left_turn", 3, [1], 2)]
    for name in ("x.osm", "x.osm.gz", "x.osm.bz2", "x.osm.pbf"):
        raw = made(lambda path: write_osm(path, rows, spots, turns, {2: {"barrier": "bollard"}}), name)
        add(name, raw, ["streets", name, "-o", "out.json"], ["streets", name, "-o", "out.json", "--network", "walk"])
        if name.endswith(".gz"):
            samples.append(samples[-1]._replace(repack=_in_gzip))
    add("x.osm.pbf", _unpacked_pbf(folder / "x.osm.pbf", folder / "bare.osm.pbf"), *samples[-1].commands)
    samples.append(samples[-1])
    index = json.dumps({"a.map": str(folder / "a.map"), "den101d.map": str(folder / "a.map")}).encode()
    listed = [["maps", "list"], ["maps", "list", "--json"], ["plan", "den101d.map", *drawn]]
    samples.append(Sample({"cache/maps/added.json": index}, "cache/maps/added.json", listed))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("street/a.map", the_map)
        parts.writestr("a.map.scen", scenario)
    for repack in (None, _in_zip):
        add("maps.zip", archive.getvalue(), ["install", "maps.zip"], repack=repack)
    return samples


def _unpacked_pbf(path: Path, out: Path) -> bytes:
    """The same map without compression, so that damage reaches names and numbers."""
    import osmium

    writer = osmium.SimpleWriter(osmium.io.File(str(out), "pbf,pbf_compression=none"))
    for thing in osmium.FileProcessor(str(path)):
        writer.add(thing)
    writer.close()
    return out.read_bytes()


# --- large files


def large_files() -> Iterator[tuple[str, bytes, list[str]]]:
    """Files just below 10 MB that need as much memory or time as such a file can, and the command for each."""
    instance = b'{"format":"veilroute-instance/1","trips":[{"start":0,"goal":1}],"candidates":[1],"domain":{"graph":'
    graph = b'{"num_nodes":3,"edges":[[0,1,1],[1,2,1]]}}'
    plan, streets = ["plan", "-k", "1"], ["streets", "-o", "out.json"]
    yield "lists.json", _filled(b"[", b"[],", b"[]]"), plan
    yield "objects.json", _filled(b"[", b'{"":[]},', b"[]]"), plan
    yield "edges.json", _filled(instance + b'{"num_nodes":2,"edges":[', b"[0,1,1],", b"[1,0,1]]}}}"), plan
    yield "bad.json", _filled(instance + b'{"num_nodes":2,"edges":[', b"[0,1],", b"[1,0,1]]}}}"), plan
    yield "twice.json", _filled(instance.replace(b"[1]", b"[1,2]") + graph + b',"candidates2":[', b"1,", b"1]}"), plan
    yield (
        "candidates.json",
        _filled(instance.replace(b'"candidates":[1],', b"") + graph + b',"candidates":[', b"1,", b"1]}"),
        plan,
    )
    yield (
        "spaces.json",
        _filled(instance + graph + b',"visibility":{"kind":"explicit","sees":{"1', b" ", b'":[]}}}'),
        plan,
    )
    words = b"1650000"
    yield "words.in", _filled(b"2 " + words + b"\n", b"0 1 1\n", b""), plan
    yield "lines.scen", _filled(b"version 1\n", b"0 a 1 1 0 0 0 0 0\n", b""), plan
    rows = b"".join(b"%x,%x,1,0\n" % (i, i + 1) for i in range(580_000))
    yield "nodes.csv", b"from,to,cost,oneway\n" + rows, streets
    yield "columns.csv", _filled(b"from,to,cost", b",a", b"\n"), streets
    yield "digits.csv", b"name,lat,lon\nA," + b"9" * 120_000 + b"x,1\n", ["plan", "town.json", "--places"]
    yield "arcs.gr", b"p sp 2 1200000\n" + b"a 1 2 1\n" * 1_200_000, streets
    yield "letters.gr", _filled(b"p sp 2 5\n", b"a", b""), streets
    yield "comments.gr", _filled(b"p sp 9000000 1\na 1 2 3\n", b"c\n", b""), streets
    noise = random.Random(1).randbytes(8_500_000).replace(b"\n", b" ")
    arcs = b"p sp 2 6000000\n" + b"a 1 2 1\n" * 6_000_000
    yield "packed.gr.gz", gzip.compress(b"c " + noise + b"\n" + arcs, 1, mtime=0), streets
    begin, end = b'<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/>', b"</graph></graphml>"
    yield "elements.graphml", _filled(begin, b"<a/>", end), streets
    keys = b"".join(
        b'<key id="%d" for="edge" attr.name="n%d"><default>1</default></key>' % (i, i) for i in range(60_000)
    )
    yield "defaults.graphml", _filled(b"<graphml>" + keys + begin[9:], b'<edge source="a" target="b"/>', end), streets
    data = b"".join(b'<edge source="a" target="b"><data key="k%d">1</data></edge>' % i for i in range(130_000))
    yield "names.graphml", begin + data + end, streets
    text = b'<key id="c" for="graph" attr.name="crs"/><graph><data key="c">epsg:4326</data>'
    text += b"".join(b'<node id="%d"><data key="x">1</data><data key="y">1</data></node>' % i for i in (1, 2))
    text += b'<edge source="1" target="2"><data key="length">1</data><data key="name">['
    yield "list.graphml", _filled(b"<graphml>" + text, b"1,", b"]</data></edge></graph></graphml>"), streets
    ways = b"".join(b'<way id="%d"><nd ref="1"/><tag k="highway" v="a"/></way>' % i for i in range(2_000_000))
    yield "ways.osm.gz", gzip.compress(b'<osm version="0.6">' + ways + b"</osm>", 6, mtime=0), streets


def _filled(begin: bytes, unit: bytes, end: bytes) -> bytes:
    return begin + unit * ((9_900_000 - len(begin) - len(end)) // len(unit)) + end


def run_large(folder: Path) -> int:
    """Run the large files one after another and print those that fail."""
    from ring_town import ring_town, write_network

    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    write_network(folder / "town.json", ring_town())
    failures = 0
    for number, (name, raw, command) in enumerate(large_files()):
        assert len(raw) < 10_000_000, name
        Path("case.txt").write_text(name)
        Path(name).write_bytes(raw)
        del raw
        at = len(command) if "--places" in command else 1
        if problem := find_problem([*command[:at], name, *command[at:]], folder):
            failures += 1
            print(f"{number} {name}: {problem}", flush=True)
    print(f"{sum(ENDINGS.values())} files, {failures} failures, exit codes {dict(sorted(ENDINGS.items()))}")
    return 1 if failures else 0


# --- the worker


def prepare(samples: list[Sample], number: int) -> tuple[Sample, list[str], bytes]:
    """The sample, command and damaged file of a case."""
    rng = random.Random(f"veilroute-damage-{number}")
    sample = samples[number % len(samples)]
    raw = sample.files[sample.target]
    if sample.repack is not None and rng.random() < 0.8:
        name = "part.json" if sample.target.endswith(".npz") and rng.random() < 0.3 else sample.target + ".part"
        seed = rng.random()
        damaged = sample.repack(raw, lambda part: damage(part, name, random.Random(seed)))
    else:
        damaged = damage(raw, sample.target, rng)
    return sample, rng.choice(sample.commands), damaged


def run_case(samples: list[Sample], number: int, folder: Path) -> str:
    """What is wrong with how a case ended; empty when nothing is."""
    sample, command, damaged = prepare(samples, number)
    for name, raw in sample.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(damaged if name == sample.target else raw)
    problem = find_problem(command, folder, sample.stdin)
    for name in sample.files:
        (folder / name).unlink()
    return f"{number} {sample.target} ({len(damaged)} bytes) {' '.join(command)[:80]}: {problem}" if problem else ""


def find_problem(command: list[str], folder: Path, stdin: str = "3,3\n") -> str:
    """Run a command in a folder; what is wrong with how it ended, empty when nothing is."""
    streams = sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
    reset_peak()
    faulthandler.dump_traceback_later(PATIENCE_S, exit=True, file=streams[2])
    try:
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(stdin), out, err
        try:
            code = _install(folder / command[1]) if command[0] == "install" else _run(command)
        except BaseException:
            return "traceback: " + " | ".join(traceback.format_exc().strip().splitlines()[-5:])
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        faulthandler.cancel_dump_traceback_later()
    ENDINGS[code] += 1
    return judge(code, _text(err), peak_mb())


def judge(code: int, err: str, memory_mb: float) -> str:
    """What is wrong with an exit code, what was said, and the memory that was used."""
    lines = err.splitlines()
    if code not in (0, 1, 2, 3):
        return f"exit code {code}"
    # All problems of a file of places are told at once, and a warning may come before.
    told = [line for line in lines if not line.startswith("veilroute: WARNING: ")]
    files = {match[1] if (match := _FILE.match(line)) else "" for line in told[:20]}
    is_one = len(told) == 1 or (2 <= len(told) <= 21 and len(files) == 1 and "" not in files)
    if code == 2 and (not is_one or not err.endswith("\n")):
        return f"{len(lines)} lines: {err[:300]!r}"
    for line in lines:
        if not line.startswith("veilroute: ") or len(line) > MAX_MESSAGE or not line.isprintable():
            return f"line of {len(line)} signs: {line[:300]!r}"
        if "internal error" in line or "Traceback" in line:
            return line[:300]
    return f"{memory_mb:.0f} MB" if memory_mb > MAX_MEMORY_MB else ""


def _run(command: list[str]) -> int:
    from veilroute.cli.main import run

    return run(command)


def _install(path: Path) -> int:
    """Archives come by download; here they are there already."""
    from veilroute import VeilrouteError
    from veilroute.maps import MapStore

    try:
        MapStore().install_archive(path, "street")
    except VeilrouteError as error:
        print(f"veilroute: {error}", file=sys.stderr)
        return 2
    return 0


def _text(stream: io.TextIOWrapper) -> str:
    if stream.closed:
        return ""
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined, no-any-return]


def reset_peak() -> None:
    """Make the peak of memory begin again, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """The most memory that this process held since the last reset, or ever."""
    from veilroute.bench import peak_memory_mb

    return peak_memory_mb() or 0.0


def main(first: int, last: int, folder: Path) -> int:
    """Run the cases and print those that fail."""
    warnings.simplefilter("always")
    warnings.simplefilter("ignore", ResourceWarning)
    warnings.simplefilter("ignore", DeprecationWarning)
    os.environ["VEILROUTE_CACHE"] = str(folder / "cache")
    os.environ["COLUMNS"] = "120"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "samples").mkdir(exist_ok=True)
    samples = make_samples(folder / "samples")
    os.chdir(folder)
    failures = 0
    for number in range(first, last):
        # For whoever finds the process ended: this case ended it.
        Path("case.txt").write_text(str(number))
        if problem := run_case(samples, number, folder):
            failures += 1
            print(problem, flush=True)
    print(f"{last - first} files, {failures} failures, exit codes {dict(sorted(ENDINGS.items()))}")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1] == "large":
        PATIENCE_S = 300
        sys.exit(run_large(Path(sys.argv[2])))
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
