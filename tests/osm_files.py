"""Small OpenStreetMap files and ways for tests, and drawn towns with every kind of turn restriction."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from veilroute.streets import Ways, WaysCollector, rules

Row = tuple[int, list[int], Mapping[str, str]]
Places = Mapping[int, tuple[float, float]]
Relation = tuple[Mapping[str, str], Sequence[tuple[str, str, int]]]
"""Tags, and members: role, kind (``way`` or ``node``) and number."""

STEP_DEGREES = 0.001
"""A step to the north is 111.19 m; on the equator so is one to the east."""


def on_grid(*numbers: int) -> dict[int, tuple[float, float]]:
    """Nodes on the equator: number 32 is three steps to the north and two to the east."""
    return {n: (round(STEP_DEGREES * (n % 10), 6), round(STEP_DEGREES * (n // 10), 6)) for n in numbers}


def restriction(kind: str, froms: int | Sequence[int], via: int | Sequence[int], tos: int | Sequence[int]) -> Relation:
    """A turn restriction over a node, or over ways where a list is given; ``kind`` is its value, or all tags.

    Several tags are written ``restriction:hgv=no_left_turn except=psv``.
    """
    tags = dict(pair.split("=", 1) for pair in kind.split(" ")) if "=" in kind else {"restriction": kind}
    members = [("from", "way", way) for way in _many(froms)]
    members += [("via", "node", via)] if isinstance(via, int) else [("via", "way", way) for way in via]
    return {"type": "restriction"} | tags, [*members, *(("to", "way", way) for way in _many(tos))]


def _many(numbers: int | Sequence[int]) -> Sequence[int]:
    return [numbers] if isinstance(numbers, int) else numbers


def pack_ways(rows: Iterable[Row], places: Places, relations: Iterable[Relation] = ()) -> Ways:
    """Ways as a reader would pack them."""
    collector = WaysCollector(rules.KEYS)
    for number, refs, tags in rows:
        collector.num_read += 1
        collector.add_way(number, refs, tags)
    for number, (tags, members) in enumerate(relations):
        collector.add_restriction(number, tags, [(role, kind[0], member) for role, kind, member in members])
    numbers = sorted(places)
    lonlat = np.array([places[number] for number in numbers], dtype=np.float64).reshape(-1, 2)
    return replace(collector.pack(), node_ids=np.array(numbers, dtype=np.int64), lonlat=lonlat)


def osm_text(
    rows: Iterable[Row],
    places: Places,
    relations: Iterable[Relation] = (),
    node_tags: Mapping[int, Mapping[str, str]] | None = None,
) -> str:
    """An ``.osm`` file."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<osm version="0.6" generator="a test">']
    for n, (lon, lat) in places.items():
        node = f'<node id="{n}" version="1" lon="{lon}" lat="{lat}"'
        lines += [f"{node}>", *_tags(node_tags[n]), "</node>"] if node_tags and n in node_tags else [f"{node}/>"]
    for number, refs, tags in rows:
        lines += [f'<way id="{number}" version="1">', *(f'<nd ref="{ref}"/>' for ref in refs), *_tags(tags), "</way>"]
    for number, (tags, members) in enumerate(relations, start=1):
        parts = [f'<member type="{kind}" ref="{member}" role="{role}"/>' for role, kind, member in members]
        lines += [f'<relation id="{number}" version="1">', *parts, *_tags(tags), "</relation>"]
    return "\n".join([*lines, "</osm>"]) + "\n"


def write_osm(
    path: Path,
    rows: Iterable[Row],
    places: Places,
    relations: Iterable[Relation] = (),
    node_tags: Mapping[int, Mapping[str, str]] | None = None,
) -> Path:
    """Write an ``.osm`` file, or what the name asks for (``.osm.gz``, ``.osm.bz2``, ``.osm.pbf``)."""
    text = osm_text(rows, places, relations, node_tags)
    if path.suffix == ".osm":
        path.write_text(text, encoding="utf-8")
        return path
    import osmium

    plain = path.with_name("plain.osm")
    plain.write_text(text, encoding="utf-8")
    writer = osmium.SimpleWriter(str(path))
    for thing in osmium.FileProcessor(str(plain)):
        writer.add(thing)
    writer.close()
    return path


def _tags(tags: Mapping[str, str]) -> list[str]:
    return [f"<tag k={quoteattr(key)} v={quoteattr(value)}/>" for key, value in tags.items()]


# --- drawn towns

KINDS = (
    "no_left_turn", "no_right_turn", "no_straight_on", "no_u_turn", "no_entry", "no_exit", "only_left_turn",
    "only_right_turn", "only_straight_on", "only_u_turn", "no_left_turn;no_u_turn",
)  # fmt: skip
#: Others than plain kinds: most are for others than cars, or hold at times only.
TAGS = (
    "restriction=no_left_turn except=motorcar", "restriction=no_left_turn except=psv;bicycle",
    "restriction:hgv=only_straight_on", "restriction:motorcar=no_right_turn",
    "restriction:conditional=no_left_turn@(Mo-Fr)", "restriction:bicycle=no_u_turn", "restriction=give_way",
)  # fmt: skip
BARRIERS: tuple[dict[str, str], ...] = (
    {"barrier": "bollard"}, {"barrier": "gate"}, {"barrier": "gate", "access": "private"},
    {"barrier": "bollard", "motor_vehicle": "yes"}, {"barrier": "block"}, {"barrier": "lift_gate", "vehicle": "no"},
)  # fmt: skip


def draw_turn_town(path: Path, seed: int, *, side: int = 6) -> Path:
    """A lattice of streets, most of them cut at each junction, some one-way; with dead ends, doubled streets and rings.

    All streets are driven at 10 m/s.
    """
    rng = random.Random(seed)
    places: dict[int, tuple[float, float]] = {}
    rows: list[Row] = []

    def node(lon: float, lat: float) -> int:
        number = len(places) + 1
        places[number] = round(24.9 + lon, 7), round(60.1 + lat, 7)
        return number

    def street(refs: list[int], share: float = 0.35) -> None:
        rule = {"oneway": rng.choice(["yes", "-1"])} if rng.random() < share else {}
        rows.append((len(rows) + 1, refs, {"highway": "residential", "maxspeed": "36"} | rule))

    lattice = [[node(0.002 * col + 0.0003 * rng.random(), 0.001 * row) for col in range(side)] for row in range(side)]
    for line in [*lattice, *(list(column) for column in zip(*lattice, strict=True))]:
        refs = [line[0]]
        for a, b in pairwise(line):
            (x, y), (u, v) = (places[number] for number in (a, b))
            if rng.random() < 0.4:
                refs.append(node((x + u) / 2 - 24.9 + 0.0001, (y + v) / 2 - 60.1 + 0.0001))
            refs.append(b)
            if rng.random() < 0.75:
                street(refs)
                refs = [b]
        if len(refs) > 1:
            street(refs)
    for _ in range(side * 2):
        at = rng.choice(rng.choice(lattice))
        lon, lat = places[at][0] - 24.9, places[at][1] - 60.1
        bends = [node(lon + 0.0004 * rng.random(), lat + 0.0003 * rng.random()) for _ in range(3)]
        match rng.randrange(3):
            case 0:  # a dead end
                street([at, *bends[: rng.randrange(1, 4)]], 0.0)
            case 1:  # a ring
                street([at, *bends, at])
            case _:  # a second street to a neighbour
                row = next(number for number, line in enumerate(lattice) if at in line)
                beside = lattice[max(0, row - 1)][lattice[row].index(at)]
                if beside != at:
                    street([at, *bends[: rng.randrange(1, 4)], beside], 0.6)
    walls = rng.sample(sorted(places), side)
    tags = {number: BARRIERS[which % len(BARRIERS)] for which, number in enumerate(walls)}
    return write_osm(path, rows, places, _draw_restrictions(rng, rows, side), tags)


def _draw_restrictions(rng: random.Random, rows: list[Row], side: int) -> list[Relation]:
    ways_at: dict[int, list[int]] = defaultdict(list)
    for number, refs, _ in rows:
        for ref in dict.fromkeys(refs):
            ways_at[ref].append(number)
    refs_of = {number: refs for number, refs, _ in rows}
    meeting = sorted(number for number, ways in ways_at.items() if len(ways) > 1)
    found: list[Relation] = []
    for number in range(6 * side):
        via = rng.choice(meeting)
        kind = KINDS[number % len(KINDS)] if number % 4 else TAGS[number // 4 % len(TAGS)]
        came, gone = rng.choice(ways_at[via]), rng.choice(ways_at[via])
        if "u_turn" in kind and rng.random() < 0.7:
            gone = came
        froms = rng.sample(ways_at[via], 2) if kind == "no_entry" else [came]
        tos = rng.sample(ways_at[via], 2) if kind == "no_exit" else [gone]
        found.append(restriction(kind, froms, via, tos))
    for number in range(4 * side):
        # A walk from way to way, of which the ends are where one comes from and goes to.
        walk = [rng.choice(ways_at[rng.choice(meeting)])]
        while len(walk) < 3 + number % 3:
            ends = [ref for ref in refs_of[walk[-1]] if len(ways_at[ref]) > 1]
            onward = [way for ref in ends for way in ways_at[ref] if way not in walk]
            if not onward:
                break
            walk.append(rng.choice(onward))
        if len(walk) > 2:
            found.append(restriction(KINDS[number % len(KINDS)], walk[0], walk[1:-1], walk[-1]))
    # One that the border of the file has cut, one with a way that is not there, one without members.
    found += [restriction("no_left_turn", 1, 2, 9999), restriction("only_left_turn", rows[0][0], rows[0][1][-1], 9999)]
    found.append(({"type": "restriction", "restriction": "no_left_turn"}, []))
    return found
