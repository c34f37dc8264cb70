"""OpenStreetMap files read with plain code, and who may drive where: what the streets of veilroute are held against.

Shares nothing with the package: `.osm.pbf` by hand from the published format (protocol buffers and zlib), `.osm` with
the standard library, and the rules of the road for cars written down once more.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROADS = {
    f"{kind}{link}"
    for kind in ("motorway", "trunk", "primary", "secondary", "tertiary")
    for link in ("", "_link")
} | {"unclassified", "residential", "living_street", "road"}  # fmt: skip


@dataclass(frozen=True)
class PlainWay:
    """A way as it stands in the file."""

    id: int
    refs: tuple[int, ...]
    tags: dict[str, str]


@dataclass(frozen=True)
class PlainRelation:
    """A relation as it stands in the file; members are role, kind (node, way or relation) and number."""

    tags: dict[str, str]
    members: list[tuple[str, str, int]]


@dataclass(frozen=True)
class PlainMap:
    """Latitude and longitude of all nodes in ten-millionths of a degree, and all ways; tags of nodes, and relations."""

    nodes: dict[int, tuple[int, int]]
    ways: list[PlainWay]
    node_tags: dict[int, dict[str, str]]
    relations: list[PlainRelation]


def read_plain(path: Path) -> PlainMap:
    """Read an `.osm.pbf` or `.osm` file."""
    return _read_pbf(path.read_bytes()) if path.name.endswith(".pbf") else _read_xml(path)


def is_road(tags: dict[str, str]) -> bool:
    """Whether the public may drive a car along a way; service roads are no part of the network that is compared."""
    if tags.get("highway") not in ROADS or tags.get("area") == "yes":
        return False
    # The most special key that is given decides.
    for key in ("motorcar", "motor_vehicle", "vehicle", "access"):
        if key in tags:
            return tags[key] not in ("no", "private", "agricultural", "forestry", "emergency", "psv", "bus")
    return True


def directions(tags: dict[str, str]) -> tuple[bool, bool]:
    """Whether a car may drive along a way, and against it."""
    oneway = tags.get("oneway", "")
    if oneway in ("-1", "reverse"):
        return False, True
    if oneway in ("yes", "true", "1"):
        return True, False
    if oneway in ("no", "false", "0"):
        return True, True
    if oneway:  # reversible, alternating: not to be relied on
        return False, False
    implied = tags.get("junction") in ("roundabout", "circular") or tags.get("highway") in ("motorway", "motorway_link")
    return True, not implied


def permitted_steps(plain: PlainMap) -> set[tuple[int, int]]:
    """The pairs of neighbouring nodes that a car may drive from the first to the second."""
    steps: set[tuple[int, int]] = set()
    for way in plain.ways:
        if is_road(way.tags):
            along, against = directions(way.tags)
            pairs = list(pairwise(way.refs))
            steps.update(pairs if along else [])
            steps.update([(b, a) for a, b in pairs] if against else [])
    return steps


def one_way_steps(plain: PlainMap) -> list[tuple[int, int]]:
    """The steps of one-way streets, in the order of the file."""
    found = []
    for way in plain.ways:
        if is_road(way.tags) and directions(way.tags) in ((True, False), (False, True)):
            pairs = list(pairwise(way.refs))
            found += pairs if directions(way.tags)[0] else [(b, a) for a, b in pairs]
    return [(a, b) for a, b in found if a != b and a in plain.nodes and b in plain.nodes]


def _read_xml(path: Path) -> PlainMap:
    plain = PlainMap({}, [], {}, [])
    for _, element in ET.iterparse(path):
        tags = {part.attrib["k"]: part.attrib["v"] for part in element.iter("tag")}
        if element.tag == "node":
            lat, lon = (round(float(element.attrib[name]) * 1e7) for name in ("lat", "lon"))
            plain.nodes[int(element.attrib["id"])] = lat, lon
            if tags:
                plain.node_tags[int(element.attrib["id"])] = tags
        elif element.tag == "way":
            refs = tuple(int(part.attrib["ref"]) for part in element.iter("nd"))
            plain.ways.append(PlainWay(int(element.attrib["id"]), refs, tags))
        elif element.tag == "relation":
            found = [part.attrib for part in element.iter("member")]
            members = [(part["role"], part["type"], int(part["ref"])) for part in found]
            plain.relations.append(PlainRelation(tags, members))
    return plain


def _read_pbf(raw: bytes) -> PlainMap:
    """Blobs one after another: four bytes for the header's length, the header, the blob."""
    plain = PlainMap({}, [], {}, [])
    at = 0
    while at < len(raw):
        size = int.from_bytes(raw[at : at + 4], "big")
        header = dict(_fields(raw[at + 4 : at + 4 + size]))
        at += 4 + size
        blob = dict(_fields(raw[at : at + _whole(header[3])]))
        at += _whole(header[3])
        if header[1] == b"OSMData":
            data = _bytes(blob[1]) if 1 in blob else zlib.decompress(_bytes(blob[3]))
            _read_block(data, plain)
    return plain


def _read_block(data: bytes, plain: PlainMap) -> None:
    nodes = plain.nodes
    words: list[str] = []
    groups = []
    granularity, lat_offset, lon_offset = 100, 0, 0
    for field, value in _fields(data):
        match field:
            case 1:
                words = [_bytes(word).decode() for _, word in _fields(_bytes(value))]
            case 2:
                groups.append(_bytes(value))
            case 17:
                granularity = _whole(value)
            case 19:
                lat_offset = _whole(value)
            case 20:
                lon_offset = _whole(value)

    def degrees(number: int, offset: int) -> int:
        return round((offset + granularity * number) / 100)

    def tags_of(thing: dict[int, int | bytes]) -> dict[str, str]:
        keys, values = ([words[i] for i in _varints(_bytes(thing.get(key, b"")))] for key in (2, 3))
        return dict(zip(keys, values, strict=True))

    for group in groups:
        for field, value in _fields(group):
            if field == 1:
                node = dict(_fields(_bytes(value)))
                lat, lon = (_signed(_whole(node[key])) for key in (8, 9))
                nodes[_signed(_whole(node[1]))] = degrees(lat, lat_offset), degrees(lon, lon_offset)
                plain.node_tags[_signed(_whole(node[1]))] = tags_of(node)
            elif field == 2:
                dense = dict(_fields(_bytes(value)))
                ids, lats, lons = (list(_running(_bytes(dense[key]))) for key in (1, 8, 9))
                for number, lat, lon in zip(ids, lats, lons, strict=True):
                    nodes[number] = degrees(lat, lat_offset), degrees(lon, lon_offset)
                # Keys and values of one node after another, with a zero after each node.
                at, pairs = 0, list(_varints(_bytes(dense.get(10, b""))))
                for number in ids if pairs else ():
                    while pairs[at]:
                        plain.node_tags.setdefault(number, {})[words[pairs[at]]] = words[pairs[at + 1]]
                        at += 2
                    at += 1
            elif field == 3:
                way = dict(_fields(_bytes(value)))
                refs = tuple(_running(_bytes(way.get(8, b""))))
                plain.ways.append(PlainWay(_whole(way[1]), refs, tags_of(way)))
            elif field == 4:
                relation = dict(_fields(_bytes(value)))
                roles = [words[i] for i in _varints(_bytes(relation.get(8, b"")))]
                kinds = [("node", "way", "relation")[kind] for kind in _varints(_bytes(relation.get(10, b"")))]
                members = zip(roles, kinds, _running(_bytes(relation.get(9, b""))), strict=True)
                plain.relations.append(PlainRelation(tags_of(relation), list(members)))


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protocol buffer message: number and value, which is a whole number or bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        else:
            size, at = _varint(data, at) if kind == 2 else ((8, at) if kind == 1 else (4, at))
            yield key >> 3, data[at : at + size]
            at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _varints(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value


def _running(data: bytes) -> Iterator[int]:
    """Signed differences, summed up."""
    total = 0
    for value in _varints(data):
        total += _signed(value)
        yield total


def _signed(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def _whole(value: int | bytes) -> int:
    assert isinstance(value, int)
    return value


def _bytes(value: int | bytes) -> bytes:
    assert isinstance(value, bytes)
    return value
