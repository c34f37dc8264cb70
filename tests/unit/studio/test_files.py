"""Files that come in: their names and kinds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from veilroute import InvalidInputError
from veilroute.studio import MOST_NAME, classify, clean_name


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("town.osm.pbf", "town.osm.pbf"),
        ("C:\\Users\\a\\town.map", "town.map"),
        ("../../etc/passwd", "passwd"),
        ("a\u202egnp.map", "agnp.map"),
        ("a\r\nb\u2028c\x00.map", "a b c .map"),
        ("<script>.map", "<script>.map"),
        ("..", "file"),
    ],
)
def test_names_are_shown_in_one_line_without_tricks(given: str, shown: str) -> None:
    assert clean_name(given) == shown


def test_a_long_name_is_cut() -> None:
    assert len(clean_name("a" * 1000 + ".map")) <= MOST_NAME


KINDS = [
    ("a.map", b"type octile", "map", ".map"),
    ("a.SCEN", b"version 1", "scenario", ".scen"),
    ("a.map", b"height 2\r\nwidth 3\r\nmap\r\n", "map", ".map"),
    ("a.scen", b"0 a.map 3 3 0 0 2 2 4\n", "scenario", ".scen"),
    ("a.in", b"2 1\n0 1 1", "instance", ".in"),
    ("a.osm.pbf", b"\0\0\0\x0d\n\tOSMHeader", "osm", ".osm.pbf"),
    ("a.pbf", b"\0\0\0\x0d\n\tOSMHeader", "osm", ".osm.pbf"),
    ("a.osm", b"<?xml version='1.0'?>\n<osm version='0.6'>", "osm", ".osm"),
    ("a.osm.gz", b"\x1f\x8b\x08", "osm", ".osm.gz"),
    ("a.osm.bz2", b"BZh91AY", "osm", ".osm.bz2"),
    ("a.npz", b"PK\x03\x04", "network", ".npz"),
    ("a.graphml", b'<graphml xmlns="x">', "network", ".graphml"),
    ("a.gr", b"c Rome\np sp 2 1\n", "network", ".gr"),
    ("a.gr.gz", b"\x1f\x8b\x08", "network", ".gr.gz"),
    ("a.xlsx", b"PK\x03\x04", "table", ".xlsx"),
    ("a.kmz", b"PK\x03\x04", "table", ".kmz"),
    ("a.gpkg", b"SQLite format 3\0", "table", ".gpkg"),
    ("a.kml", b'\xef\xbb\xbf<?xml version="1.0"?><kml>', "table", ".kml"),
    ("a.gpx", '<?xml version="1.0" encoding="UTF-16"?><gpx>'.encode("utf-16"), "table", ".gpx"),
    ("a.geojson", b' {"type":"Feature"}', "table", ".geojson"),
    ("a.csv", "name;straße\n".encode("cp1252"), "table", ".csv"),
    ("a.tsv", "name\tö\n".encode("utf-16-le"), "table", ".tsv"),
    ("a.txt", "name,ö\n".encode() * 2**14, "table", ".txt"),
    ("a.csv", b"name,lat,lon\n", "table", ".csv"),
    ("a.csv", b"from,to,cost\n1,2,3\n", "network", ".csv"),
    ("a.json", b'{"candidates":[],"format":"veilroute-instance/1"}', "instance", ".json"),
    ("a.json", b'{"format":"veilroute-playbook/1"}', "playbook", ".json"),
    ("a.json", b'{"edges":"' + b"x" * 2**17 + b'","format":"veilroute-network/1"}', "network", ".json"),
    ("a.json", b'{"type":"FeatureCollection","features":[]}', "table", ".geojson"),
    ("a.jsonl", b'{"entry":{"format":"veilroute-ledger/1"}}', "ledger", ".jsonl"),
]


@pytest.mark.parametrize(("name", "content", "kind", "suffix"), KINDS)
def test_kinds(tmp_path: Path, name: str, content: bytes, kind: str, suffix: str) -> None:
    path = tmp_path / "incoming"
    path.write_bytes(content)
    assert classify(path, name) == (kind, suffix)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.key", b"veilroute-key/1\n00", "private key"),
        ("a.map", b"veilroute-key/1\n00", "private key"),
        ("a.json", b'{"x": "veilroute-key/1"}', "private key"),
        ("a.exe", b"MZ", "endings"),
        ("a.map", b" \n", "empty"),
        ("a.json", b'{"format": "other/1"}', "made by veilroute"),
    ],
)
def test_what_is_not_taken(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / "incoming"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=words):
        classify(path, name)


@pytest.mark.parametrize("suffix", sorted({suffix for *_, suffix in KINDS}))
def test_random_bytes_and_letters_are_refused_under_every_ending(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "incoming"
    letter = b"Dear all,\nplease find the map attached.\n"
    is_text = suffix in (".csv", ".tsv", ".txt")  # which may hold anything
    for content in [
        *(random.Random(seed).randbytes(100 * (seed + 1)) for seed in range(20)),
        *[letter] * (not is_text),
    ]:
        path.write_bytes(content)
        with pytest.raises(InvalidInputError, match=r"^[^\n]*$"):
            classify(path, f"a{suffix}")
