from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest

import veilroute as vr
from osm_files import Relation, Row, on_grid, osm_text, restriction, write_osm
from veilroute.domain import Turns

ROAD = {"highway": "residential", "maxspeed": "36", "name": "Öja & Söner <gata>"}
TOWN: list[Row] = [
    (1, [11, 12, 13], ROAD),
    (2, [13, 14], ROAD | {"oneway": "yes"}),
    (3, [12, 22], {"highway": "footway"}),
    (4, [11, 22, 11], {"building": "yes"}),
]
PLACES = on_grid(11, 12, 13, 14, 22)
TURNS: list[Relation] = [restriction("no_left_turn", 1, 13, 2), ({"type": "route"}, [("", "way", 1)])]


@pytest.mark.parametrize("name", ["a.osm", "a.osm.gz", "a.osm.bz2", "a.pbf", "A.OSM.PBF"])
def test_every_kind_of_file(tmp_path: Path, name: str) -> None:
    lower = write_osm(tmp_path / name.lower(), TOWN, PLACES, TURNS)
    network = vr.read_osm(lower.rename(tmp_path / name))
    assert network.domain.labels == (11, 13, 14)
    assert network.domain.num_edges == 3
    streets = network.domain.streets
    assert streets is not None
    assert streets.names == ("Öja & Söner <gata>",)
    assert streets.lonlat.tolist() == [list(PLACES[n]) for n in (11, 13, 14)]
    report = network.report
    assert network.domain.turns == Turns("dead-ends", banned=((0, 1, 2),))
    assert (report.num_ways_read, report.num_highways, report.num_turn_restrictions) == (4, 3, 1)


def test_ways_before_nodes_and_numbers_below_zero(tmp_path: Path) -> None:
    """As editors write files that were not uploaded yet."""
    places = {-number: place for number, place in PLACES.items()}
    rows: list[Row] = [(-number, [-ref for ref in refs], tags) for number, refs, tags in TOWN]
    lines = osm_text(rows, places).splitlines()
    nodes = [line for line in lines if line.startswith("<node")]
    others = [line for line in lines if not line.startswith("<node")]
    path = tmp_path / "a.osm"
    path.write_text("\n".join([*others[:-1], *nodes, others[-1]]), encoding="utf-8")
    assert vr.read_osm(path).domain.labels == (-14, -13, -11)


def pbf_block(kind: bytes, content: bytes, claim: int | None = None, odd: bytes = b"") -> bytes:
    """A block of a PBF file by hand: lengths, then the content, compressed; ``odd`` are fields that no block has."""
    packed = zlib.compress(content)
    body = odd + b"\x10" + _varint(len(content) if claim is None else claim) + _part(3, packed)
    header = _part(1, kind) + b"\x18" + _varint(len(body))
    return len(header).to_bytes(4, "big") + header + body


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _varint(value >> 7)


def _part(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


STRINGS = b"".join(_part(1, text) for text in (b"", b"highway", b"prim\xff\xc3ary"))
WAY = b"\x08\x01" + _part(2, b"\x01") + _part(3, b"\x02") + _part(8, b"\x02\x02")


@pytest.mark.parametrize(
    ("blocks", "word"),
    [
        (pbf_block(b"OSMData", _part(1, STRINGS) + _part(2, _part(3, WAY))), "damaged"),
        (300 * pbf_block(b"OSMData", b"", claim=2**25), "50 times its size"),
        (pbf_block(b"OSMData", b"", claim=2**25, odd=b"\x28\x01" * 9), "block 2"),
        # osmium cuts tags to 32 bits: with a bit above these it alone would see how large the block becomes.
        (pbf_block(b"OSMData", b"", odd=bytes([2 << 3 | 128, 128, 128, 128, 16, 1])), "block 2"),
    ],
)
def test_blocks_that_could_mislead(tmp_path: Path, blocks: bytes, word: str) -> None:
    """Broken text, and sizes: one that is too large, and two that are hidden from who looks for it."""
    path = tmp_path / "a.osm.pbf"
    path.write_bytes(pbf_block(b"OSMHeader", _part(4, b"OsmSchema-V0.6")) + blocks)
    with pytest.raises(vr.FileFormatError, match=word):
        vr.read_osm(path)


def test_text_that_unpacks_to_gigabytes(tmp_path: Path) -> None:
    (tmp_path / "a.osm.gz").write_bytes(gzip.compress(b'<osm version="0.6">' + b" " * 2**27, 1))
    with pytest.raises(vr.FileFormatError, match=r"a\.osm\.gz"):
        vr.read_osm(tmp_path / "a.osm.gz")
