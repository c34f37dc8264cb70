"""Damaged, endless and hostile files of every format: a short line and exit code 2, no traceback, little memory."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from damaged_files import MAX_MESSAGE, judge
from veilroute.cli.main import run
from veilroute.formats import write_network

NUM_QUICK, NUM_ALL, NUM_SHARDS = 312, 20_000, 10
DIGITS = "9" * 5000
LONG = "x" * 10**6
INSTANCE = {
    "format": "veilroute-instance/1",
    "domain": {"graph": {"num_nodes": 3, "edges": [[0, 1, 1], [1, 2, 1]], "labels": ["a", "b", LONG]}},
    "trips": [{"start": "a", "goal": "b"}],
    "candidates": [LONG],
}
MAP = "type octile\nheight {}\nwidth 2\nmap\n..\n"
ENTITIES = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>'
GRAPHML = '<graphml><graph><node id="{0}"/><edge source="{0}" target="{1}"/></graph></graphml>'
TABLE = "from,to,cost\n{},b,{}\n"

HOSTILE: dict[str, tuple[str | bytes, list[str]]] = {
    # integers of more than 4,300 digits, which Python refuses to read
    "height.map": (MAP.format(DIGITS), ["plan", "--start", "0,0", "--goal", "0,1", "--candidates", "0,0"]),
    "nodes.gr": (f"p sp {DIGITS} 1\na 1 2 3\n", ["streets", "-o", "out.json"]),
    "arcs.gr": (f"p sp 2 {DIGITS}\na 1 2 3\n", ["streets", "-o", "out.json"]),
    "ends.gr": (f"p sp 2 1\na 1 {DIGITS} 3\n", ["streets", "-o", "out.json"]),
    "digits.in": (f"2 1\n0 1 {DIGITS}\n0 1\n1\n1\n", ["plan"]),
    "digits.csv": (TABLE.format("a", DIGITS), ["streets", "-o", "out.json"]),
    "digits.graphml": (GRAPHML.format("a", DIGITS), ["streets", "-o", "out.json"]),
    "digits.scen": (f"version 1\n0 a.map 2 1 {DIGITS} 0 0 0 1\n", ["plan"]),
    "digits.json": (json.dumps(INSTANCE).replace("[0, 1, 1]", f"[0, 1, {DIGITS}]"), ["plan"]),
    # messages that repeat what is in the file
    "label.json": (json.dumps(INSTANCE | {"candidates": [LONG + "y"]}), ["plan", "-k", "1"]),
    "label.csv": (TABLE.format(LONG[: 10**5], "none"), ["streets", "-o", "out.json"]),
    "label.graphml": (GRAPHML.format(LONG, LONG + "y"), ["streets", "-o", "out.json"]),
    "column.csv": (f"from,to,{LONG},{LONG}\n1,2,3,4\n", ["streets", "-o", "out.json"]),
    "escape.graphml": (GRAPHML.format("\u202e\ufeff", "b\u2028"), ["streets", "-o", "out.json"]),
    "map.json": (json.dumps(INSTANCE | {"domain": {"grid": {"map": "a\0b"}}}), ["plan"]),
    "long.json": (json.dumps(INSTANCE | {"domain": {"grid": {"map": LONG}}}), ["plan"]),
    # a few bytes that ask for gigabytes
    "alone.json": (
        json.dumps(INSTANCE | {"domain": {"graph": {"num_nodes": 2**31 - 1, "edges": [[0, 1, 1]]}}}),
        ["plan"],
    ),
    "alone.in": (f"{2**31 - 1} 1\n0 1 1\n0 1\n1\n1\n", ["plan"]),
    "wide.map": ("type octile\nheight 5\nwidth 999999\nmap\n" + 5 * ("." * 999_999 + "\n"), ["plan"]),
    "deep.json": ("[" * 10**6, ["plan"]),
    "deep.graphml": ("<a>" * 10**6, ["streets", "-o", "out.json"]),
    "entities.graphml": (ENTITIES + "<graphml>&b;</graphml>", ["streets", "-o", "out.json"]),
    "entities16.graphml": ((ENTITIES + "<graphml/>").encode("utf-16"), ["streets", "-o", "out.json"]),
    "file.graphml": (
        '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///dev/zero">]><graphml>&a;</graphml>',
        ["streets", "-o", "out.json"],
    ),
    "entities.osm": (ENTITIES + '<osm version="0.6">&b;</osm>', ["streets", "-o", "out.json"]),
    "zeros.gr.gz": (gzip.compress(bytes(2**25)), ["streets", "-o", "out.json"]),
    "spaces.osm.gz": (gzip.compress(b'<osm version="0.6">' + b" " * 2**27), ["streets", "-o", "out.json"]),
    "twin.json": (json.dumps(INSTANCE)[:-1] + ', "privacy": {"k": 9, "k": 1}}', ["plan"]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(command: Command, name: str) -> None:
    text, (verb, *options) = HOSTILE[name]
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    outcome = command(verb, name, *options)
    assert_refused(outcome)
    assert not judge(outcome.code, outcome.err, 0)


def test_a_header_that_ends_early(command: Command) -> None:
    """numpy takes the header of an array for Python code, and asks its tokenizer."""
    write_network(vr.generate_streets(5, 5, seed=1), "good.npz")
    for old, new in ((b"'shape': (", b"'shape': ("), (b"'descr'", b"{{'des'")):
        packed = io.BytesIO()
        with zipfile.ZipFile("good.npz") as good, zipfile.ZipFile(packed, "w") as archive:
            for part in good.namelist():
                data = good.read(part)
                if part == "indptr.npy":
                    data = data.replace(old, new)
                    end = data.index(new) + len(new)
                    data = data[:8] + (end - 10).to_bytes(2, "little") + data[10:end]
                archive.writestr(part, data)
        Path("bad.npz").write_bytes(packed.getvalue())
        assert_refused(command("streets", "bad.npz", "-o", "out.json"), "indptr.npy", "make it again")


def test_arrays_that_are_listed_again_and_again(command: Command) -> None:
    write_network(vr.generate_streets(5, 5, seed=1), "good.npz")
    with zipfile.ZipFile("good.npz") as good, zipfile.ZipFile("bad.npz", "w") as archive:
        for part in good.namelist():
            data = good.read(part)
            if part == "about.json":
                data = data.replace(b'"arrays":[', b'"arrays":[' + b'"indptr",' * 100)
            archive.writestr(part, data)
    assert_refused(command("streets", "bad.npz", "-o", "out.json"), "arrays")


def pbf_block(kind: bytes, content: bytes, claim: int | None = None) -> bytes:
    """A block of a PBF file by hand: lengths, then the content, compressed."""
    packed = zlib.compress(content)
    body = b"\x10" + _varint(len(content) if claim is None else claim) + b"\x1a" + _varint(len(packed)) + packed
    header = b"\x0a" + _varint(len(kind)) + kind + b"\x18" + _varint(len(body))
    return len(header).to_bytes(4, "big") + header + body


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _varint(value >> 7)


def _part(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def test_broken_text_within_a_block(command: Command) -> None:
    pytest.importorskip("osmium")
    header = pbf_block(b"OSMHeader", _part(4, b"OsmSchema-V0.6"))
    strings = b"".join(_part(1, text) for text in (b"", b"highway", b"prim\xff\xc3ary"))
    way = b"\x08\x01" + _part(2, b"\x01") + _part(3, b"\x02") + _part(8, b"\x02\x02")
    Path("bad.osm.pbf").write_bytes(header + pbf_block(b"OSMData", _part(1, strings) + _part(2, _part(3, way))))
    assert_refused(command("streets", "bad.osm.pbf", "-o", "out.json"), "bad.osm.pbf", "download it again")


def test_blocks_that_unpack_to_gigabytes(command: Command) -> None:
    pytest.importorskip("osmium")
    header = pbf_block(b"OSMHeader", _part(4, b"OsmSchema-V0.6"))
    Path("bomb.osm.pbf").write_bytes(header + 300 * pbf_block(b"OSMData", b"", claim=2**25))
    assert_refused(command("streets", "bomb.osm.pbf", "-o", "out.json"), "unpacks to more than 50 times its size")
    # The size hides behind fields that no block has.
    odd = pbf_block(b"OSMData", b"", claim=2**25)
    odd = odd.replace(b"\x10" + _varint(2**25), b"\x28\x01" * 9 + b"\x10" + _varint(2**25))
    length = len(odd) - 4 - odd[3]
    odd = odd[: 4 + odd[3] - 1] + bytes([length]) + odd[4 + odd[3] :]
    Path("bomb.osm.pbf").write_bytes(header + odd)
    assert_refused(command("streets", "bomb.osm.pbf", "-o", "out.json"), "block 2 is none of OpenStreetMap's")


@pytest.mark.parametrize("key", ["a\u0000b.map", "den101d.map", "a\n\u001b[31m.map"])
def test_an_index_of_maps_with_a_null_byte(command: Command, key: str) -> None:
    cache = Path("cache/maps")
    cache.mkdir(parents=True)
    (cache / "added.json").write_text(json.dumps({key: "a\0b"}))
    outcome = command("plan", "den101d.map", "--start", "0,0", "--goal", "1,1", "--random-candidates", 3)
    assert_refused(outcome)
    listed = command("maps", "list", "--json")
    if key.isprintable():
        assert listed.code == 0
    else:
        assert_refused(listed, "added.json", "delete it")


def test_pipes_devices_and_sparse_files(command: Command) -> None:
    """None of them is opened, or read, or waited for."""
    os.mkfifo("pipe")
    with Path("sparse").open("wb") as file:
        file.truncate(2**42)
    for kind in ("pipe", "sparse", "zero"):
        target = Path("/dev/zero") if kind == "zero" else Path(kind).absolute()
        for name in ("a.json", "a.in", "a.map", "a.scen", "a.npz", "a.gr", "a.csv", "a.graphml"):
            Path(name).symlink_to(target)
            assert_refused(command("plan", name), name, "bytes" if kind == "sparse" else "a pipe or a device")
            Path(name).unlink()
        for name in ("a.osm", "a.osm.pbf", "a.osm.gz", "a.osm.bz2"):
            Path(name).symlink_to(target)
            assert_refused(command("streets", name, "-o", "out.json"), name)
            Path(name).unlink()
        Path("book.json").symlink_to(target)
        for verb, *more in (["audit"], ["draw", "-o", "out.png"], ["route", "--transit", "1"]):
            assert_refused(command(verb, "book.json", *more))
        Path("book.json").unlink()


def test_a_report_shows_no_label_whole(command: Command, building: Path) -> None:
    planned = building.with_name("book.json")
    few = ("--start", "1,18", "--goal", "2,20", "--random-candidates", 4, "-o", planned)
    assert command("plan", building, *few).code == 0
    data = json.loads(planned.read_bytes())
    data["classes"][0]["members"].append(LONG)
    data["classes"][0]["routes"][0]["route"][1] = LONG
    planned.write_text(json.dumps(data))
    for options in ((), ("--json",)):
        outcome = command("audit", planned, *options)
        assert outcome.code == 1 and outcome.err == ""
        assert LONG[:1000] not in outcome.out
    assert "xxx ... xxx" in outcome.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", LONG[: 10**5], "-k", "1"),
        ("plan", "a.map", "-k", LONG[: 10**5]),
        ("plan", "a.map", f"--{LONG[: 10**5]}"),
        ("plan", "a.map", "-k", "\x1b[31m\n\u202e"),
        ("audit", "nothing\n\x1b[31m.json"),
        ("maps", LONG[: 10**5]),
        ("draw", LONG[: 10**5], "-o", "a.png"),
        (LONG[: 10**5],),
        ("plan", "a.map", "--seed", DIGITS, "--start", "0,0", "--goal", "0,1", "--random-candidates", DIGITS),
    ],
)
def test_arguments_that_are_repeated(command: Command, arguments: tuple[str, ...]) -> None:
    Path("a.map").write_text(MAP.format(1))
    outcome = command(*arguments)
    assert_refused(outcome)
    assert not judge(outcome.code, outcome.err, 0)


def test_an_endless_line_of_standard_input(planned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        def readline(self, size: int = -1) -> str:
            assert 0 < size <= 2**20
            return "9" * size

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Endless())
    assert run(["route", str(planned), "--transit", "-"]) == 2


def run_worker(folder: Path, *arguments: object) -> None:
    """Run the worker and fail with what it printed, or with where it was when it hung."""
    tests = Path(__file__).resolve().parents[1]
    paths = os.pathsep.join([str(Path(vr.__file__).resolve().parents[1]), str(tests)])
    ended = subprocess.run(
        [sys.executable, str(tests / "damaged_files.py"), *map(str, arguments), str(folder)],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    case = folder / "case.txt"
    last = f"in case {case.read_text()}" if case.exists() else "before the first case"
    assert ended.returncode == 0, f"{ended.stdout}{last}: {ended.stderr[-3000:]}"
    assert " 0 failures" in ended.stdout


def test_some_damaged_files(tmp_path: Path) -> None:
    run_worker(tmp_path / "work", 0, NUM_QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(NUM_SHARDS))
def test_twenty_thousand_damaged_files(tmp_path: Path, shard: int) -> None:
    share = NUM_ALL // NUM_SHARDS
    run_worker(tmp_path / "work", shard * share, (shard + 1) * share)


@pytest.mark.slow
def test_large_files_in_little_memory(tmp_path: Path) -> None:
    """Files just below 10 MB, each made to need as much memory as it can."""
    run_worker(tmp_path / "work", "large")


@pytest.mark.slow
def test_half_a_gigabyte_of_brackets(tmp_path: Path) -> None:
    """It would take 16 GB; refused, it takes what the file itself has."""
    book = tmp_path / "book.json"
    with book.open("wb") as file:
        file.write(b"[")
        for _ in range(515):
            file.write(b"[]," * 333_334)
    code = (
        "import sys; from veilroute.cli.main import run\nfrom veilroute.bench.executors import peak_memory_mb as peak\n"
    )
    code += "ended = run(['audit', sys.argv[1]]); sys.exit(0 if ended == 2 and (peak() or 0) < 900 else f'{peak()} MB')"
    paths = {"PYTHONPATH": str(Path(vr.__file__).resolve().parents[1])}
    ended = subprocess.run(
        [sys.executable, "-c", code, str(book)], env=os.environ | paths, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert "values, and at most 100,000,000 are read" in ended.stderr
    assert len(ended.stderr.rstrip("\n")) <= MAX_MESSAGE


def test_the_judge_judges() -> None:
    """A check that cannot fail would let everything pass."""
    assert not judge(2, "veilroute: no\n", 10) and not judge(0, "", 10) and not judge(1, "", 10)
    for code, err, memory in (
        (2, "", 10.0),
        (2, "veilroute: one\nveilroute: two\n", 10.0),
        (2, "veilroute: " + "x" * 300 + "\n", 10.0),
        (2, "Traceback\n", 10.0),
        (2, "veilroute: \x1b[31m\n", 10.0),
        (0, "RuntimeWarning: overflow\n", 10.0),
        (70, "", 10.0),
        (0, "", 1001.0),
    ):
        assert judge(code, err, memory), (code, err)
