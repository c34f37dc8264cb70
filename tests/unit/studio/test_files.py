"""Files that come in: their names and kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from veilroute.errors import InvalidInputError
from veilroute.studio.files import MOST_NAME, classify, clean_name


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("town.osm.pbf", "town.osm.pbf"),
        ("C:\\Users\\a\\town.map", "town.map"),
        ("../../etc/passwd", "passwd"),
        ("a\u202egnp.map", "agnp.map"),
        ("a\r\nb\u2028c\x00.map", "a b c .map"),
        ("<script>.map", "<script>.map"),
        ("", "file"),
        ("..", "file"),
        ("Büro.map", "Büro.map"),
    ],
)
def test_names_are_shown_in_one_line_without_tricks(given: str, shown: str) -> None:
    assert clean_name(given) == shown


def test_a_long_name_keeps_its_ending() -> None:
    name = clean_name("a" * 1000 + ".map")
    assert len(clean_name("a" * 300 + ".map")) <= MOST_NAME
    assert len(name) <= MOST_NAME


@pytest.mark.parametrize(
    ("name", "content", "kind", "suffix"),
    [
        ("a.map", b"type octile", "map", ".map"),
        ("a.SCEN", b"version 1", "scenario", ".scen"),
        ("a.in", b"2 1", "instance", ".in"),
        ("a.osm.pbf", b"\x00\x00", "osm", ".osm.pbf"),
        ("a.pbf", b"\x00\x00", "osm", ".osm.pbf"),
        ("a.npz", b"PK", "network", ".npz"),
        ("a.csv", b"name,lat,lon\n", "table", ".csv"),
        ("a.csv", b"from,to,cost\n1,2,3\n", "network", ".csv"),
        ("a.json", b'{"candidates":[],"format":"veilroute-instance/1"}', "instance", ".json"),
        ("a.json", b'{"format":"veilroute-playbook/1"}', "playbook", ".json"),
        ("a.json", b'{"edges":"' + b"x" * 2**17 + b'","format":"veilroute-network/1"}', "network", ".json"),
        ("a.json", b'{"type":"FeatureCollection","features":[]}', "table", ".geojson"),
        ("a.jsonl", b'{"entry":{"format":"veilroute-ledger/1"}}', "ledger", ".jsonl"),
    ],
)
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
        ("a", b"x", "endings"),
        ("a.map", b" \n", "empty"),
        ("a.json", b'{"format": "other/1"}', "made by veilroute"),
    ],
)
def test_what_is_not_taken(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / "incoming"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=words):
        classify(path, name)
