"""OpenStreetMap files read with plain code, and who may drive where: what the streets of veilroute are held against.

Shares nothing with the package but osmium, which unpacks `.osm.pbf` to `.osm`: that is read with the standard library,
and the rules of the road for cars are written down once more.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

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
    if not path.name.endswith(".pbf"):
        return _read_xml(path)
    import osmium

    with TemporaryDirectory() as folder:
        unpacked = Path(folder) / "plain.osm"
        with osmium.SimpleWriter(str(unpacked)) as writer:
            for thing in osmium.FileProcessor(str(path)):
                writer.add(thing)
        return _read_xml(unpacked)


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
        if element.tag in ("node", "way", "relation"):
            element.clear()
    return plain
