"""Damaged files through the command line: sound samples, ways to damage them, and a worker that feeds them in.

    python tests/damaged_files.py FIRST LAST FOLDER
    python tests/damaged_files.py large FOLDER

runs the cases FIRST to LAST - 1, or those that are almost 10 MB, in one process, and prints a line for each that
fails. A case is its number alone: the sample, the damage and the command follow from it.
"""

from __future__ import annotations

import faulthandler
import gzip
import io
import json
import os
import random
import re
import sys
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

MAX_MEMORY_MB = 1000
PATIENCE_S = 300  # kernels may have to be compiled first
MAX_MESSAGE = 300
_FILE = re.compile(r"veilroute: ([^:,]+)[:,] ")
"""What a line about a file begins with."""
_ASIDE = re.compile(r"veilroute: (WARNING: |\d+ s: )")
"""What is no line about a problem: a warning, and how far a command is that takes more than ten seconds."""

Change = Callable[[bytes], bytes]


class Sample(NamedTuple):
    """Sound files, of which the first is damaged, and the commands that read it."""

    files: dict[str, bytes]
    commands: list[list[str]]
    repack: Callable[[bytes, Change], bytes] | None = None
    """Applies a damage below a layer of packing."""
    stdin: str = ""

    @property
    def target(self) -> str:
        return next(iter(self.files))


NUMBERS = (
    *(b"9" * 5000, b"1e999", b"-1e999", b"NaN", b"Infinity", b"-0", b"0x10", b"1_0", b"-1", b"0", b"1.5", b"1e308"),
    *(b"9223372036854775808", b"18446744073709551616", b"2147483647"),
)
NASTY = (
    *(b"\x00", b"\xff\xfe", b"\xc3", b"\xef\xbb\xbf", b"\x1b[2J", b"\xed\xa0\x80", b"\n\n", b'"', b"\\", b"["),
    *(b"[" * 5000, b'{"a":' * 500, b"<a>" * 500, b"," * 1000, b" " * 100_000, b"\xe2\x80\xae"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 1e308, 2**63, -(2**63), 2**64, "", [], {}, [[]], {"a": []}, [0, 0]),
    *("x" * 1_000_000, "\x00", "\x1b[31mred", "a\nb", "\u202egnp", "\ud800", "'\"<&>", "../../etc/passwd", "9" * 5000),
)


def flip_bytes(raw: bytes, rng: random.Random) -> bytes:
    data = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 20))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def cut(raw: bytes, rng: random.Random) -> bytes:
    """What is left has a beginning, an end, a gap, or a part twice."""
    a, b = sorted(rng.randrange(len(raw) + 1) for _ in range(2))
    return rng.choice((raw[:a], raw[a:], raw[:a] + raw[b:], raw[:b] + raw[a:]))


def insert(raw: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(raw) + 1)
    return raw[:at] + rng.choice(NASTY) + raw[at:]


def change_number(raw: bytes, rng: random.Random) -> bytes:
    spots = list(re.finditer(rb"\d+(?:\.\d+)?", raw))
    if not spots:
        return insert(raw, rng)
    spot = rng.choice(spots)
    return raw[: spot.start()] + rng.choice(NUMBERS) + raw[spot.end() :]


def change_json(raw: bytes, rng: random.Random) -> bytes:
    """Change one value, or lose it; text that is no JSON is damaged as text."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return rng.choice((insert, cut, change_number))(raw, rng)
    # A playbook whose map has changed is refused by its hash, before anything else is looked at.
    is_spared = isinstance(data, dict) and {"domain", "domain_sha256"} <= data.keys() and rng.random() < 0.8
    world = {"domain": data.pop("domain")} if is_spared else {}
    # Near the root as often as in long lists.
    spots = list(_spots(data))
    spots = [spot for spot in spots if spot[2] <= 3 or rng.random() < 0.1]
    if not spots:
        return flip_bytes(raw, rng)
    holder, key, _ = rng.choice(spots)
    value = holder[key]
    changes = [*rng.sample(VALUES, 2), {"a": value}, [value, value]]
    if isinstance(value, list):
        changes += [value * 2, value[::-1], value[1:], value[:-1]]
    if isinstance(value, int | float):
        changes += [value + rng.choice((-1, 1, 0.5)) for _ in range(4)] + [value * rng.choice((-1, 2, 1e300, 0.3))]
    holder[key] = rng.choice(changes)
    if rng.random() < 0.15:
        del holder[key]
    return json.dumps(data | world if is_spared else data).encode()


def _spots(data: Any, depth: int = 0) -> Iterator[tuple[Any, Any, int]]:
    for key in list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield data, key, depth
        yield from _spots(data[key], depth + 1)


def damage(raw: bytes, name: str, rng: random.Random) -> bytes:
    """One or two kinds of damage."""
    kinds = [flip_bytes, cut, insert, change_number, change_number]
    if name.endswith(("json", "part")):
        kinds += [change_json] * 20
    for _ in range(rng.choice((1, 1, 2))):
        raw = rng.choice(kinds)(raw or b"\n", rng)
    return raw


def _in_gzip(raw: bytes, change: Change) -> bytes:
    return gzip.compress(change(gzip.decompress(raw)), mtime=0)


def _in_zip(raw: bytes, change: Change) -> bytes:
    """Damages one member, under a sound checksum."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as parts, zipfile.ZipFile(packed, "w") as archive:
        names = parts.namelist()
        chosen = names[sum(change(b"which member")) % len(names)]
        for name in names:
            data = parts.read(name)
            archive.writestr(name, change(data) if name == chosen else data)
    return packed.getvalue()


PACKED = {"gz": _in_gzip, "npz": _in_zip, "xlsx": _in_zip, "kmz": _in_zip}
"""The layers of packing below which files are damaged as well, by the end of their names."""


def make_samples(folder: Path) -> list[Sample]:
    """The sound files of every format, and playbooks of every kind; made once for each worker."""
    import veilroute as vr
    from sound_files import SAMPLES, town_file
    from street_samples import exposed_book, little_book, two_trip_book
    from veilroute.app import replan_file
    from veilroute.formats import write_movingai

    town_file(folder / "n.json")
    found: list[Sample] = []

    def add(target: str, data: bytes | str, *commands: str, **more: Any) -> None:
        beside = {name: text.encode() for name, text in more.pop("beside", ())}
        files = {target: data.encode() if isinstance(data, str) else data} | beside
        found.append(Sample(files, [[target if w == "OF" else w for w in c.split()] for c in commands], **more))

    town = ("n.json", (folder / "n.json").read_text(encoding="utf-8"))
    for sound in SAMPLES.values():
        for repack in dict.fromkeys((None, PACKED.get(sound.name.rpartition(".")[2]))) if sound.commands else ():
            raw = sound.write(folder).read_bytes()
            add(sound.name, raw, *sound.commands, repack=repack, beside=(town, *sound.beside))
    grid = vr.grid_domain(["....", ".@@.", "....", ".@@.", "...."])
    problem = vr.Problem(grid, [vr.Trip((0, 0), (3, 3))], [(0, 2), (2, 1), (4, 2)], names={(0, 2): "Bank"})
    write_movingai(grid, folder / "a.map")
    the_map = [("a.map", (folder / "a.map").read_text())]
    read = ("audit OF", "audit OF --json", "draw OF -o out.svg", "export OF -o out.csv", "export OF -o out.html")
    tell = [f"route OF --transit - --format {end}" for end in ("gpx", "directions", "json")]
    carry = [f"export OF -o out.{end}" for end in ("gpx", "geojson", "txt", "kml", "xlsx")]
    reuse = "plan a.map --reuse OF --start 0,0 --goal 3,3 --time-limit 5"
    for m in (None, 3):
        book = vr.solve(problem, vr.Privacy(k=2, ell=1, m=m))
        add("p.json", book.to_json(), *read, tell[-1], reuse, stdin="0,2\n", beside=the_map)
        add("p.json", book.to_json(embed_domain=False), "audit OF --domain a.map", beside=the_map)
    books = [little_book(), little_book(m=3), two_trip_book()]
    moved = "replan OF --class 1 --at 105 --closed 105,106 -o out.txt"
    for book in (*books, exposed_book(), *(vr.with_contingencies(book, worst=2) for book in books)):
        more = [] if len(book.trips) > 1 or len(book.candidates) == 3 else [moved]
        add("q.json", book.to_json(), *read, *tell, *carry, *more, stdin="102\n")
    rest = json.dumps(replan_file(books[0], vr.replan(books[0], 1, 105, closed=[(105, 106)])))
    again = "replan q.json --class 1 --at 105 --closed-nodes 104 --after OF --json"
    add("r.json", rest, again, beside=[("q.json", books[0].to_json().decode())])
    index = json.dumps({"a.map": str(folder / "a.map"), "den101d.map": str(folder / "a.map")})
    add("cache/maps/added.json", index, "maps list", "maps list --json")
    return found


def large_files() -> Iterator[tuple[str, bytes, str]]:
    """Files just below 10 MB that need as much memory or time as such a file can, and the command for each."""
    instance = b'{"format":"veilroute-instance/1","trips":[{"start":0,"goal":1}],"candidates":[1],"domain":{"graph":'
    plan, streets = "plan OF -k 1", "streets OF -o out.json"
    yield "objects.json", _filled(b"[", b'{"":[]},', b"[]]"), plan
    yield "edges.json", _filled(instance + b'{"num_nodes":2,"edges":[', b"[0,1,1],", b"[1,0,1]]}}}"), plan
    rows = b"".join(b"%x,%x,1,0\n" % (i, i + 1) for i in range(580_000))
    yield "nodes.csv", b"from,to,cost,oneway\n" + rows, streets
    noise = random.Random(1).randbytes(8_500_000).replace(b"\n", b" ")
    arcs = b"p sp 2 6000000\n" + b"a 1 2 1\n" * 6_000_000
    yield "packed.gr.gz", gzip.compress(b"c " + noise + b"\n" + arcs, 1, mtime=0), streets
    begin, end = b'<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/>', b"</graph></graphml>"
    yield "elements.graphml", _filled(begin, b"<a/>", end), streets
    ways = b"".join(b'<way id="%d"><nd ref="1"/><tag k="highway" v="a"/></way>' % i for i in range(2_000_000))
    yield "ways.osm.gz", gzip.compress(b'<osm version="0.6">' + ways + b"</osm>", 6, mtime=0), streets


def _filled(begin: bytes, unit: bytes, end: bytes) -> bytes:
    return begin + unit * ((9_900_000 - len(begin) - len(end)) // len(unit)) + end


def run_case(sample: Sample, number: int) -> str:
    """What is wrong with how a case ended; empty when nothing is."""
    rng = random.Random(f"veilroute-damage-{number}")
    raw, seed = sample.files[sample.target], rng.random()
    if sample.repack is not None:
        damaged = sample.repack(raw, lambda part: damage(part, "a.part", random.Random(seed)))
    else:
        damaged = damage(raw, sample.target, rng)
    command = rng.choice(sample.commands)
    _, problem = run_with(sample.files | {sample.target: damaged}, command, sample.stdin)
    return f"{number} {sample.target} ({len(damaged)} bytes) {' '.join(command)[:80]}: {problem}" if problem else ""


def run_with(files: dict[str, bytes], command: list[str], stdin: str = "") -> tuple[int, str]:
    """Run a command beside some files: its exit code, and what is wrong with how it ended."""
    from veilroute.base.run import peak_memory_mb
    from veilroute.cli import run

    for name, raw in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(raw)
    streams = sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True) for _ in range(2))
    said = err.buffer
    with suppress(OSError):  # the peak of memory begins again, if the system can
        Path("/proc/self/clear_refs").write_text("5")
    faulthandler.dump_traceback_later(PATIENCE_S, exit=True, file=streams[2])
    try:
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(stdin), out, err
        code = run(command)
    except BaseException:
        return 70, "traceback: " + " | ".join(traceback.format_exc().strip().splitlines()[-5:])
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        faulthandler.cancel_dump_traceback_later()
        for name in files:
            Path(name).unlink()
    text = "" if said.closed else said.getvalue().decode("utf-8", "replace")
    return code, judge(code, text, peak_memory_mb() or 0.0)


def judge(code: int, err: str, memory_mb: float) -> str:
    """What is wrong with an exit code, what was said, and the memory that was used."""
    lines = err.splitlines()
    if code not in (0, 1, 2, 3):
        return f"exit code {code}"
    # All problems of a file of places are told at once.
    told = [line for line in lines if not _ASIDE.match(line)]
    files = {match[1] if (match := _FILE.match(line)) else "" for line in told[:20]}
    is_one = len(told) == 1 or (2 <= len(told) <= 21 and len(files) == 1 and "" not in files)
    if code == 2 and (not is_one or not err.endswith("\n")):
        return f"{len(lines)} lines: {err[:300]!r}"
    for line in lines:
        if not line.startswith("veilroute: ") or len(line) > MAX_MESSAGE or not line.isprintable():
            return f"line of {len(line)} signs: {line[:300]!r}"
        if "internal error" in line or "Traceback" in line:
            return line[:300]
    return f"{memory_mb:.0f} MB" if memory_mb > MAX_MEMORY_MB else ""


def problems(arguments: list[str], folder: Path) -> Iterator[str]:
    """What is wrong with each case; if the process ends, the case that ended it is in ``case.txt``."""
    if arguments[0] == "large":
        for name, raw, words in large_files():
            Path("case.txt").write_text(name)
            _, problem = run_with({name: raw}, words.replace("OF", name).split())
            yield f"{name}: {problem}" if problem else ""
        return
    first, last = map(int, arguments)
    samples = make_samples(folder / "samples")
    for sample in samples if first == 0 else ():
        # Of a file that is refused when it is sound, damaged ones would show nothing.
        for command in sample.commands:
            code, problem = run_with(sample.files, command, sample.stdin)
            yield f"{sample.target}: {' '.join(command)} {problem}" if problem or code == 2 else ""
    for number in range(first, last):
        Path("case.txt").write_text(str(number))
        yield run_case(samples[number % len(samples)], number)


def main(arguments: list[str], folder: Path) -> int:
    """Run the cases and print those that fail."""
    warnings.simplefilter("always")
    warnings.simplefilter("ignore", ResourceWarning)
    warnings.simplefilter("ignore", DeprecationWarning)
    os.environ |= {"VEILROUTE_CACHE": str(folder / "cache"), "COLUMNS": "120"}
    (folder / "samples").mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    failures = 0
    for problem in problems(arguments, folder):
        failures += bool(problem)
        print(problem, end="\n" if problem else "", flush=True)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:-1], Path(sys.argv[-1])))
