"""Small OpenStreetMap files and ways for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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
