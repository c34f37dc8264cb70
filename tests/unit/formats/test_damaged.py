"""Every reader refuses every damaged file with one line, or with one for each problem of a table of places.

A small sound file of each format is damaged in the ways that any file can be, its numbers and, if it is JSON, each of
its values in turn; the damages special to a format are in a table. The lines are for people and may be written anew:
held is that they are short and printable, begin with the file, and name the line or the part.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from sound_files import EDGES, JSON, PRIOR, SAMPLES, SCENARIO, SHOPS, TEXTS, Sample, square


def refusal(sample: Sample, path: Path) -> str:
    """What a reader says of a file that it refuses; fails if it reads it, or says it as no reader should."""
    with pytest.raises(vr.InvalidInputError) as caught:
        sample.read(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == 1 or isinstance(caught.value, vr.ManyProblemsError)
    for line in lines:
        assert len(line) <= 280 and line.isprintable()
        assert line.startswith(("and ", "file name: ")) or path.name in line or len(path.name) > 50
    return lines[0]


def is_refused(sample: Sample, path: Path) -> bool:
    """Whether a reader refuses a file, as it should, or reads it."""
    try:
        sample.read(path)
    except vr.InvalidInputError:
        refusal(sample, path)
        return True
    return False


@pytest.mark.parametrize("name", SAMPLES)
def test_the_sound_files_are_sound(tmp_path: Path, name: str) -> None:
    """The control of all tests below."""
    sample = SAMPLES[name]
    sample.read(sample.write(tmp_path))


SOMETHING_ELSE: dict[str, bytes | str] = {
    "empty": b"",
    "spaces": b" \n\n",
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4,
    "page": b"<html></html>",
    "word": b"hello",
    "random": np.random.default_rng(0).bytes(5000),
    "brackets": b"[" * 10**5,
    "nested": b"<a>" * 10**5,
    "entities": '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><a>&b;</a>',
    "outside": '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///dev/zero">]><graphml>&a;</graphml>',
    "zeros": gzip.compress(bytes(2**25)),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_other_things_are_refused(tmp_path: Path, name: str) -> None:
    """Files of other kinds, and what is no file: none of them is opened, read to the end, or waited for."""
    sample = SAMPLES[name]
    path = sample.write(tmp_path)
    sound = path.read_bytes()
    for content in SOMETHING_ELSE.values():
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        refusal(sample, path)
    if name in TEXTS:
        path.write_bytes(b"\xff\xfe\xfd" + sound)
        refusal(sample, path)
    path.unlink()
    refusal(sample, path)
    with path.open("wb") as file:
        file.truncate(2**42)
    refusal(sample, path)
    path.unlink()
    os.mkfifo(path)
    refusal(sample, path)
    path.unlink()
    path.symlink_to("/dev/zero")
    refusal(sample, path)
    path.unlink()
    path.mkdir()
    refusal(sample, path)
    for odd in ("a\0b", "x" * 5000):
        refusal(sample, tmp_path / f"{odd}{sample.name[1:]}")


@pytest.mark.parametrize("name", SAMPLES)
def test_files_cut_anywhere_are_refused(tmp_path: Path, name: str) -> None:
    """A table does not know its end: a part of one may be sound, but the reader says all else in one line as well."""
    sample = SAMPLES[name]
    path = sample.write(tmp_path)
    whole = path.read_bytes().rstrip(b"\n") if name in TEXTS else path.read_bytes()
    step = max(1, len(whole) // 40)
    refused = []
    for size in sorted({*range(0, len(whole), step), *range(1, 6), len(whole) - 5, len(whole) - 1}):
        path.write_bytes(whole[:size])
        refused.append(is_refused(sample, path))
    # What has no trailer ends where its last member ends: a cut of less than a step may lose nothing.
    assert all(refused) if sample.knows_its_end else refused.count(True) >= 5


BAD_NUMBERS = ("nan", "inf", "-Infinity", "1e999", "far", "4x", "9" * 5000, "0x10")


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.numbers])
def test_numbers_that_are_none_are_refused(tmp_path: Path, name: str) -> None:
    sample = SAMPLES[name]
    path = sample.write(tmp_path)
    sound = path.read_text(encoding="utf-8")
    for fragment in sample.numbers:
        begin, number, end = fragment.replace("{", "}").split("}")
        assert begin + number + end in sound
        for bad in BAD_NUMBERS:
            path.write_text(sound.replace(begin + number + end, begin + bad + end, 1), encoding="utf-8")
            refusal(sample, path)


OPTIONAL = {
    "instance": {"movement", "visibility", "privacy", "k", "ell", "m", "spread"},
    "graph": {"visibility", "privacy", "k", "ell", "m", "spread"},
    "network": {"labels", "streets", "attribution", "bends", "kind_ids", "name_ids"},
    "playbook": {
        "bayes_success", "expected_mac", "hidden_mass", "total_extra", "worst_extra", "worst_posterior", "domain",
        "attribution", "bends", "kind_ids", "name_ids", "drawing_sha256", "partitioner", "seed", "stopped_early",
        "measure",
    },
}  # fmt: skip
"""What a file may leave out."""
JUST_TOLD = {"options", "partitioner", "planner", "seed", "status", "stopped_early"}
"""What a playbook says of how it was made: its reader takes anything, and the audit looks at it."""


def parts_of(data: Any) -> Iterator[tuple[Any, Any]]:
    """Each place in plain data: the list or object, and the index or key; of long lists the first and the last."""
    keys = (
        list(data) if isinstance(data, dict) else sorted({0, len(data) - 1}) if isinstance(data, list) and data else []
    )
    for key in keys:
        yield data, key
        yield from parts_of(data[key])


OTHER_VALUES: tuple[Any, ...] = ("lose", {"a": [None]}, [[{}]], 1.5e308, -7.5, "\x00", 2**70)


@pytest.mark.parametrize("name", sorted(JSON))
def test_damaged_json_is_refused(tmp_path: Path, name: str) -> None:
    """Another format, a key twice, one that is lost, and values of other kinds."""
    sample = SAMPLES[name]
    path = sample.write(tmp_path)
    text = path.read_text(encoding="utf-8").strip()
    sound = json.loads(text)
    for key in sound:
        path.write_text(f'{text[:-1]}, "{key}": {json.dumps(sound[key])}}}', encoding="utf-8")
        assert repr(key) in refusal(sample, path)
    for odd in ("veilroute-instance/9", "veilroute-network/2\n\x1b[31m", None, 1):
        path.write_text(json.dumps(sound | {"format" if "format" in sound else "type": odd}), encoding="utf-8")
        refusal(sample, path)
    is_held = name in OPTIONAL
    may_be_lost, may_be_anything = set(), set()
    for holder, key in list(parts_of(sound)):
        kept = holder[key]
        for bad in OTHER_VALUES:
            holder[key] = bad
            if bad == "lose":
                del holder[key]
            path.write_text(json.dumps(sound), encoding="utf-8")
            if bad == "lose" and isinstance(holder, list):
                holder.insert(key, kept)
            if not is_refused(sample, path) and isinstance(holder, dict):
                may_be_lost |= {key} if bad == "lose" else set()
                may_be_anything |= {key} if isinstance(bad, dict) else set()
        holder[key] = kept
    if is_held:
        assert may_be_lost == OPTIONAL[name]
        assert may_be_anything == (JUST_TOLD if name == "playbook" else set())


LONG = "x" * 10**6
FIELD = json.dumps([square(24.5, 60.25)])
SPECIAL: dict[str, list[tuple[str | None, str, str]]] = {
    "map": [
        ("height 3", "height 9999999", "height"), ("@OTW", "@OT?", "line 6"),
        (".....\n@OTW.\n.....", "@@@@@\n@@@@@\n@@@@@", "free cell"), ("map\n", "", "Moving AI"),
        (None, "type octile\nheight 5\nwidth 999999\nmap\n" + 5 * ("." * 999_999 + "\n"), "grid"),
    ],
    "scenarios": [("3\ta.map", "a.map", "line 2"), ("version 1\n3\t", "some\n3\t", "line 1"), (SCENARIO[10:], "", "")],
    "authors": [
        ("3 4\n", "3 400\n", "400 edges"), ("1 2 2.5", "1 2 -1", "line 4"), ("1 2 2.5", "1 9 2.5", "edges[2].head"),
        ("0 2\n1\n1\n", "0 2\n2\n1\n", "a candidate"), ("0 2\n1\n1\n", "0 2\n5\n", "a candidate"),
    ],
    "instance": [
        ('"...."]', '"..."]', "grid.map[2]"), ('["....", ".@@.", "...."]', "[1, 2]", "grid.map"),
        ('"movement": 4', '"movement": 5', "grid.movement"), ('["....", ".@@.", "...."]', '"\\u0000"', "null byte"),
        ('"start": [0, 0]', '"start": [1, 1]', "inside a wall"), ("[0, 2]", "[9, 9]", "candidates[0]"),
        ('"k": 2', '"color": 1', "privacy"), ('"ell": 2', '"ell": -2', "Privacy.ell"),
        ('"goal": [2, 3]', '"goal": [2, 3], "weight": 1e308', "Trip.weight"),
        ('"radius": 1', '"radius": -1', "visibility"), ('"within-distance"', '"x-ray"', "visibility.kind"),
        ('"within-distance", "radius": 1', '"explicit", "sees": {"0,0": 3}', "visibility.sees"),
        ('"k": 2', '"k": 2, "k": 2', "'k'"), ('"k": 2', '"k": 2, "\\u006b": 1', "'k'"),
    ],
    "network": [('"num_nodes":12', '"num_nodes":13', "streets.lonlat")],
    "graph": [
        ("[0, 1, 1]", "[0, 1]", "edges[0]"), ("[1, 2, 1]", "[1, 3, 1]", "edges"), ("[0, 1, 1]", "[0, 1, NaN]", ""),
        ("[0, 1, 1]", f"[0, 1, {'9' * 5000}]", ""), ("[0, 1, 1]", "[0, 1, 1e300]", "edges[0].cost"),
        ('"b", "c"]', '"b", "b"]', "labels"), ('"b", "c"]', '"b", "c\\n"]', "labels"),
        ('"num_nodes": 3', '"num_nodes": 2', ""), ('"num_nodes": 3', f'"num_nodes": {10**18}', "num_nodes"),
        ('["c"]', f'["{LONG}"]', "candidates[0]"), ('["c"]', "[[[[[[1]]]]]]", "candidates"),
        ('["c"]', "[1180591620717411303424]", ""),
    ],
    "arcs": [
        ("p sp 3 4", "p sp 3 5", "5 arcs"), ("p sp 3 4", "p sp 3 3", "3 arcs"), ("p sp 3 4\n", "", "p sp"),
        ("p sp 3 4", "p max 3 4", "p sp"), ("p sp 3 4", "p sp 0 0", "0 arcs"),
        ("p sp 3 4", "p sp 3 4\np sp 3 4", "p sp"), ("a 2 3 158", "a 2 3", "line 6"),
        ("a 2 3 158", "e 2 3 158", "line 6"), ("a 2 3 158", "a 0 3 158", "got 0"),
        ("a 2 3 158", "a 2.5 3 158", "got 2.5"), ("a 2 3 158", "a 2 3 99999999999999999999", ""),
    ],
    "points": [
        ("v 3 -73519366 41048796\n", "", "got 2"), ("v 3 ", "v 2 ", "twice"), ("v 3 ", "v 4 ", "got 4"),
        ("co 3", "co 2", "3"), ("p aux sp co 3", "p sp 3 4", "p aux sp co"),
        ("v 3 -73519366 41048796", "v 3 -73519366", "line 5"),
    ],
    "edges": [
        (EDGES.partition("\n")[2], "", "no edges"), ("from,to,cost,oneway", "from,cost,oneway,x", "line 1"),
        (",cost", ",toll", "line 1"), ("cost,oneway", "cost,seconds", "line 1"), ("3,5,6,yes", "3,5", "line 3"),
        ("7,3,4", "7,3,-1", "line 2"), ("7,3,4", '7,3,"1,500"', "line 2"), ("4,no", "4,maybe", "line 2"),
        ("7,3,4", "7,,4", "line 2"), ('7,3,4,no\n', '7,"3,4,no\n', "line"), ("from,to", '"from,to', "line 3"),
        ("cost", f"{LONG},{LONG}", "line 1"), ("from,to,cost", "from,to,cost" + ",a" * 10_000, "10,00"),
    ],
    "nodes": [
        ("id,", "name,", "line 1"), ("3,60.17,24.91", "3,124.91,60.17", "line 3"), ("24.90", "-180.5", "line 2"),
        ("3,60.17,24.91\n", "", "a.csv, line 2"), ("5,60", ",60", "line 4"),
    ],
    "GraphML": [
        ("epsg:4326", "EPSG:32635", "crs"), ('<data key="d7">700.5</data>', "", "10 -> 20"),
        ("(24.9 60.17,", "(24.9,", "10 -> 20"), ('target="20"', 'target="21"', "10 -> 21"),
        ('<node id="10">', "<node>", "node 10"), ('<node id="10">', '<node id="20">', "20"),
        ('"directed">', '"directed"><hyperedge/>', "hyperedges"),
        ('"directed">', '"directed"><node id="5"><graph/></node>', "graphs"),
        ('target="20"', 'target="\u202e\ufeff\u2028"', ""), ("24.91<", "424.91<", "node 20"),
    ],
    "places": [
        (SHOPS[18:], "", "no places"), ("name,lat,lon,role\n", "", "line 1"),
        ("name,lat,lon", "name,lat,width", "line 1"), ("t,60.17,24.93,start", "t,60,17,24,93,", "line 2"),
        ("60.17,", "91°61'N,", "line 2, Depot: lat"), ("t,60.17,24.93", "t,24.93 E,60.17 N", "line 2, Depot: lat"),
        ("24.93", "", "line 2"), ("Forum", "", "line 4"), ("Forum", "Depot", "line 4"),
        ("candidate", "start", "line 4"), ("Forum", '"Forum', "line"), ("Forum", "F\x1b[31m", "line 4"),
        ("name,", "name;;", "line 1"),
    ],
    "GeoJSON": [
        ('"features": [', '"features": [3, ', "features[0]"),
        ('{"name": "Depot"', '[1], "x": {"name": "Depot"', "features[0]"),
        ("[24.94, 60.16]", '["24.94", "60.16"]', "features[1]"), ('"Point"', '"LineString"', "features[0]"),
        ('"Kamppi"', "{}", "features[1]"), ('"Kamppi"', '"Depot"', "features[1]"),
        ('"name": "Kamppi"', '"x": 1', "features[1]"), ('"start"', '"end"', "features[0]"),
        ('{"type": "Feature", ', "{", "features[0]"),
    ],
    "GPX": [("<wpt", "<trk", ""), ("<gpx", "<kml", ""), (' lon="24.9404"', "", "line 3")],
    "KML": [
        ("<Point>", "<LineString>", ""), ("<Document>", '<!DOCTYPE kml [<!ENTITY a "aaaa">]><Document>', ""),
        ("<Point><coord", "<Point/><Point><coord", "line 2"), ("<Placemark>", "<a>" * 300 + "<Placemark>", ""),
    ],
    "prior": [
        (",2\n", ",-2\n", "line 3"), (",2\n", "\n", "line 3"), (",2\n", ',"1,500"\n', "line 3"),
        ('"0,2"', "0,2", "line 3"), ("Vault", "Cellar", "line 2"), ("Vault", '"1,3"', "line 2"),
        ("Vault", "Tea room", "line 4"), ("Vault,1\n", "", "Vault"), ("weight", "share", "weight"),
        (PRIOR[13:], "", "Vault"), (PRIOR[13:], re.sub(",[12]\n", ",0\n", PRIOR[13:]), "0"),
        (PRIOR[13:], PRIOR[13:].replace(",1", ",0"), "two"),
    ],
    "prior of points": [
        ("7}", f"{bad}}}", "features[0]") for bad in ("null", '"x"', "true", "-1", "[1]", '"nan"')
    ],
    "customers": [
        ("Baker,1,", "Baker,1.5,", "line 2: demand"), (",5,", ",soon,", "line 2"), (",5,", ",-5,", "line 2"),
        ("08:00", "8h", "line 2"), (",0.5", ",1.5", "line 2: rate"), ("Baker", "Nobody", "line 2"),
        ("17:00", "07:00", ""),
    ],
    "area": [
        ("FeatureCollection", "Topology", ""), (None, "[]", ""), ('"features": [', '"features": [3, ', "features[0]"),
        ('"properties": {}', '"properties": {"no_fly": true}', ""),
        ('"properties": {}', '"properties": {"no_fly": "maybe"}', "features[0].no_fly"),
        ("[24.5, 60.25]", "[240.5, 60.25]", "features[0]"), (FIELD, "[[[24, 60], [25, 61]]]", "features[0]"),
        (FIELD, "[]", "features[0]"), (FIELD, "[[[24, 60], [24.01, 60.01], [24.01, 60], [24, 60.01]]]", "60.00"),
        ("[24.5, 60.25]", '[24.5, "60.25"]', "features[0]"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_damages_that_only_one_format_can_have(tmp_path: Path, name: str) -> None:
    sample = SAMPLES[name]
    path = sample.write(tmp_path)
    sound = path.read_text(encoding="utf-8")
    for old, new, word in SPECIAL[name]:
        assert old is None or old in sound
        path.write_text(new if old is None else sound.replace(old, new, 1), encoding="utf-8")
        assert word in refusal(sample, path), (old, new)
