"""Small OpenStreetMap files and ways for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from veilroute.streets import rules
from veilroute.streets.ways import Ways, WaysCollector

Row = tuple[int, list[int], Mapping[str, str]]
Places = Mapping[int, tuple[float, float]]

STEP_DEGREES = 0.001
"""A step to the north is 111.19 m; on the equator so is one to the east."""


def on_grid(*numbers: int) -> dict[int, tuple[float, float]]:
    """Nodes on the equator: number 32 is three steps to the north and two to the east."""
    return {n: (round(STEP_DEGREES * (n % 10), 6), round(STEP_DEGREES * (n // 10), 6)) for n in numbers}


def pack_ways(rows: Iterable[Row], places: Places) -> Ways:
    """Ways as a reader would pack them."""
    collector = WaysCollector(rules.KEYS)
    for number, refs, tags in rows:
        collector.num_read += 1
        collector.add_way(number, refs, tags)
    numbers = sorted(places)
    lonlat = np.array([places[number] for number in numbers], dtype=np.float64).reshape(-1, 2)
    return replace(collector.pack(), node_ids=np.array(numbers, dtype=np.int64), lonlat=lonlat)


def osm_text(rows: Iterable[Row], places: Places, relations: Iterable[Mapping[str, str]] = ()) -> str:
    """An ``.osm`` file."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<osm version="0.6" generator="a test">']
    lines += [f'<node id="{n}" version="1" lon="{lon}" lat="{lat}"/>' for n, (lon, lat) in places.items()]
    for number, refs, tags in rows:
        lines += [f'<way id="{number}" version="1">', *(f'<nd ref="{ref}"/>' for ref in refs), *_tags(tags), "</way>"]
    for number, tags in enumerate(relations, start=1):
        lines += [f'<relation id="{number}" version="1">', *_tags(tags), "</relation>"]
    return "\n".join([*lines, "</osm>"]) + "\n"


def write_osm(path: Path, rows: Iterable[Row], places: Places, relations: Iterable[Mapping[str, str]] = ()) -> Path:
    """Write an ``.osm`` file, or what the name asks for (``.osm.gz``, ``.osm.bz2``, ``.osm.pbf``)."""
    text = osm_text(rows, places, relations)
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
