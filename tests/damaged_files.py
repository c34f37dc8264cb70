"""Damaged files: sound samples of every format that is read, ways to damage them, and a worker that feeds them in.

    python tests/damaged_files.py FIRST LAST FOLDER
    python tests/damaged_files.py large FOLDER

runs the cases FIRST to LAST - 1 through the command line, in one process, and prints a line for each that fails; or
those that are almost 10 MB. A case is its number alone: the sample, the damage and the command follow from it.
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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

MAX_MEMORY_MB = 1000
PATIENCE_S = 120  # kernels may have to be compiled first
MAX_MESSAGE = 300
_FILE = re.compile(r"veilroute: ([^:,]+)[:,] ")
"""What a line about a file begins with."""
_ASIDE = re.compile(r"veilroute: (WARNING: |\d+ s: )")
"""What is no line about a problem: a warning, and how far a command is that takes more than ten seconds."""

ENDINGS: Counter[int] = Counter()
"""How often each exit code came."""

Files = dict[str, bytes]
Repack = Callable[[bytes, Callable[[bytes], bytes]], bytes]
"""Applies a damage below a layer of packing, such as gzip."""


class Sample(NamedTuple):
    """Sound files, the one to damage, and the commands that read it."""

    files: Files
    target: str
    commands: list[list[str]]
    repack: Repack | None = None
    stdin: str = ""


# --- damage


NUMBERS = (
    *(b"9" * 5000, b"-" + b"9" * 4400, b"1e999", b"-1e999", b"NaN", b"Infinity", b"-0", b"1e-320", b"0x10", b"1_0"),
    *(b"9223372036854775808", b"18446744073709551616", b"2147483647", b"4294967296", b"-1", b"0", b"1.5", b"1e308"),
)
TEXTS = (
    *("", "x" * 1_000_000, "\x00", "\x1b[31mred", "a\nb", "\u202egnp", "\ud800", "'\"<&>", "../../etc/passwd"),
    *("\u0663", "\uff71", "9" * 5000, "3,4", "nan", "true"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 1e308, 2**63, -(2**63), 2**64, 10**5000),
    *("", [], {}, [[]], {"a": []}, "0", [0, 0]),
)


def flip_bytes(raw: bytes, rng: random.Random) -> bytes:
    data = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def cut(raw: bytes, rng: random.Random) -> bytes:
    a, b = sorted(rng.randrange(len(raw) + 1) for _ in range(2))
    return rng.choice((raw[:a], raw[a:], raw[:a] + raw[b:]))


def repeat(raw: bytes, rng: random.Random) -> bytes:
    a, b = sorted(rng.randrange(len(raw) + 1) for _ in range(2))
    return raw[:b] + raw[a:b] * rng.choice((1, 2, 50)) + raw[b:]


NASTY = (
    *(b"\x00", b"\xff\xfe", b"\xc3", b"\xef\xbb\xbf", b"\x1b[2J", b"\xed\xa0\x80", b"\r", b"\n\n", b'"', b"\\", b"["),
    *(b"[" * 5000, b'{"a":' * 500, b"<a>" * 500, b"," * 1000, b" " * 100_000, b"\x80" * 12, b"\xe2\x80\xae"),
)


def insert(raw: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(raw) + 1)
    return raw[:at] + rng.choice(NASTY) + raw[at:]


def blow_number(raw: bytes, rng: random.Random) -> bytes:
    spots = list(re.finditer(rb"\d+(?:\.\d+)?", raw))
    if not spots:
        return insert(raw, rng)
    spot = rng.choice(spots)
    return raw[: spot.start()] + rng.choice(NUMBERS) + raw[spot.end() :]


def change_words(raw: bytes, rng: random.Random) -> bytes:
    """Of words, or of lines, one is lost, doubled, exchanged with another or replaced."""
    mark = rng.choice((rb"(\s+|[,;\"])", rb"(\n)"))
    words = re.split(mark, raw)
    at, other = rng.randrange(len(words)), rng.randrange(len(words))
    match rng.randrange(4):
        case 0:
            words[at], words[other] = words[other], words[at]
        case 1:
            words[at] = b""
        case 2:
            words[at] = rng.choice(TEXTS).encode("utf-8", "surrogatepass")
        case _:
            words[at] = words[at] * 2
    return b"".join(words)


def change_json(raw: bytes, rng: random.Random) -> bytes:
    """Change a value, a key or the shape of sound JSON; text that is none is damaged as text."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return change_words(raw, rng)
    # A playbook whose map has changed is refused by its hash, before anything else is looked at.
    is_spared = isinstance(data, dict) and {"domain", "domain_sha256"} <= data.keys() and rng.random() < 0.8
    world = data.pop("domain") if is_spared else None
    spots = list(_spots(data))
    if not spots:
        return flip_bytes(raw, rng)
    # Near the root as often as in long lists.
    shallow = [spot for spot in spots if spot[2] <= 3]
    holder, key, _ = rng.choice(shallow if shallow and rng.random() < 0.6 else spots)
    value = holder[key]
    match rng.randrange(10):
        case 0 if holder is not data or len(data) > 1:
            del holder[key]
        case 1:
            holder[key] = rng.choice((*VALUES, *TEXTS))
        case 2:
            holder[key] = rng.choice(({"a": value}, [value, value], deep(value, rng.choice((3, 50, 99, 300)))))
        case 3 if isinstance(value, list) and value:
            holder[key] = value * rng.choice((2, 1000)) if rng.random() < 0.5 else value[: rng.randrange(len(value))]
        case 4 if isinstance(value, int | float):
            holder[key] = value * rng.choice((-1, 2, 1e6, 1e300, 0.3, 0))
        case 5 if isinstance(holder, dict):
            holder[rng.choice(TEXTS)] = holder.pop(key)
        case 6 | 7 | 8 if isinstance(value, int | float):
            holder[key] = value + rng.choice((-1, 1, 0.5))
        case 6 | 7 | 8 if isinstance(value, list) and len(value) > 1:
            rng.shuffle(value)
        case _:
            other, there, _ = rng.choice(spots)
            with suppress(KeyError, IndexError):
                holder[key], other[there] = other[there], value
    if is_spared and isinstance(data, dict):
        data["domain"] = world
    try:
        sys.set_int_max_str_digits(0)
        text = json.dumps(data).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):  # a part now holds itself
        return cut(raw, rng)
    finally:
        sys.set_int_max_str_digits(4300)
    return twin_key(text, rng) if rng.random() < 0.1 else text


def deep(value: Any, depth: int) -> Any:
    """A value within so many lists."""
    for _ in range(depth):
        value = [value]
    return value


def twin_key(raw: bytes, rng: random.Random) -> bytes:
    keys = list(re.finditer(rb'"\w+":', raw))
    if not keys:
        return raw
    spot = rng.choice(keys)
    return raw[: spot.start()] + spot[0] + b"1," + raw[spot.start() :]


def _spots(data: Any, depth: int = 0) -> Iterator[tuple[Any, Any, int]]:
    for key in list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield data, key, depth
        yield from _spots(data[key], depth + 1)


BYTES = (flip_bytes, cut, repeat, insert)
TEXT = (*BYTES, blow_number, blow_number, change_words, change_words, change_words)
JSON = (*TEXT, twin_key, *[change_json] * 40)


def damage(raw: bytes, name: str, rng: random.Random) -> bytes:
    """One to three kinds of damage; none of them makes an empty file of a small one for long."""
    if name.endswith((".json", ".geojson")):
        kinds: tuple[Callable[[bytes, random.Random], bytes], ...] = JSON
    else:
        kinds = BYTES if name.endswith((".npz", ".pbf", ".zip", ".xlsx", ".kmz", ".gpkg")) else TEXT
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        raw = rng.choice(kinds)(raw or b"\n", rng)
    return raw


def _in_gzip(raw: bytes, change: Callable[[bytes], bytes]) -> bytes:
    return gzip.compress(change(gzip.decompress(raw)), mtime=0)


def _in_zip(raw: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Damages one member, under a sound checksum."""
    parts = zipfile.ZipFile(io.BytesIO(raw))
    names = parts.namelist()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", parts.infolist()[0].compress_type) as archive:
        chosen = len(raw) % len(names) if len(change(b"ab")) % 2 else random.Random(change(b"cd")).randrange(len(names))
        for number, name in enumerate(names):
            data = parts.read(name)
            archive.writestr(name, change(data) if number == chosen else data)
    return packed.getvalue()


# --- samples


def make_samples(folder: Path) -> list[Sample]:
    """The sound files of every format, and playbooks of every kind; made once for each worker."""
    import veilroute as vr
    from sound_files import MAP, SAMPLES, SCENARIO, town_file
    from street_samples import exposed_book, little_book, two_trip_book
    from veilroute.cli import replan_file
    from veilroute.formats import write_movingai

    town_file(folder / "n.json")
    town = (folder / "n.json").read_bytes()
    samples: list[Sample] = []

    def add(
        target: str,
        data: bytes,
        commands: Iterable[str],
        repack: Repack | None = None,
        *,
        stdin: str = "",
        **other: bytes,
    ) -> None:
        beside = {name.replace("_", "."): content for name, content in other.items()}
        words = [[target if word == "OF" else word for word in command.split()] for command in commands]
        samples.append(Sample({target: data, **beside}, target, words, repack, stdin))

    for sound in SAMPLES.values():
        if sound.commands:
            data = sound.write(folder).read_bytes()
            beside: dict[str, Any] = {name: text.encode() for name, text in sound.beside} | {"n.json": town}
            for repack in dict.fromkeys((None, PACKED.get(sound.name.rpartition(".")[2]))):
                add(sound.name, data, sound.commands, repack, **beside)
    grid = vr.grid_domain(["....", ".@@.", "....", ".@@.", "...."])
    problem = vr.Problem(
        grid, [vr.Trip((0, 0), (3, 3))], [(0, 2), (2, 1), (4, 2)], vr.WithinDistance(1), {(0, 2): "Bank"}
    )
    write_movingai(grid, folder / "a.map")
    the_map = (folder / "a.map").read_bytes()
    read = ["audit OF", "audit OF --json", "draw OF -o out.svg", "export OF -o out.csv", "export OF -o out.html"]
    tell = [f"route OF --transit - --format {end}" for end in ("gpx", "directions", "json")]
    carry = [f"export OF -o out.{end}" for end in ("gpx", "geojson", "txt", "kml", "xlsx")]
    moved = ["replan OF --class 1 --at 105 --closed 105,106 -o out.txt"]
    reuse = ["plan a.map --reuse OF --start 0,0 --goal 3,3 --time-limit 5", tell[-1]]
    for m in (None, 3):
        book = vr.solve(problem, vr.Privacy(k=2, ell=1, m=m))
        add("p.json", book.to_json(), [*read, *reuse], stdin="0,2\n", a_map=the_map)
        add("p.json", book.to_json(embed_domain=False), ["audit OF --domain a.map"], a_map=the_map)
    town_books = [little_book(), little_book(m=3), two_trip_book()]
    prepared = [book.with_contingencies(worst=2) for book in town_books]
    for book in (*town_books, exposed_book(), *prepared):
        more = [] if len(book.trips) > 1 or len(book.candidates) == 3 else moved
        add("q.json", book.to_json(), [*read, *tell, *carry, *more], stdin="102\n")
    first = little_book().replan(1, 105, closed=[(105, 106)])
    again = ("replan q.json --class 1 --at 105 --closed-nodes 104 --after r.json --json",)
    add("r.json", json.dumps(replan_file(little_book(), first)).encode(), again, q_json=little_book().to_json())
    index = json.dumps({"a.map": str(folder / "a.map"), "den101d.map": str(folder / "a.map")}).encode()
    add("cache/maps/added.json", index, ("maps list", "maps list --json"))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("street/a.map", MAP)
        parts.writestr("a.map.scen", SCENARIO)
    for repack in (None, _in_zip):
        add("maps.zip", archive.getvalue(), ["install OF"], repack)
    return samples


PACKED: dict[str, Repack] = {"gz": _in_gzip, "npz": _in_zip, "xlsx": _in_zip, "kmz": _in_zip}
"""The layers of packing below which files are damaged as well, by the end of their names."""


# --- large files


def large_files() -> Iterator[tuple[str, bytes, list[str]]]:
    """Files just below 10 MB that need as much memory or time as such a file can, and the command for each."""
    instance = b'{"format":"veilroute-instance/1","trips":[{"start":0,"goal":1}],"candidates":[1],"domain":{"graph":'
    graph = b'{"num_nodes":3,"edges":[[0,1,1],[1,2,1]]}}'
    plan, streets = ["plan", "-k", "1"], ["streets", "-o", "out.json"]
    yield "lists.json", _filled(b"[", b"[],", b"[]]"), plan
    yield "objects.json", _filled(b"[", b'{"":[]},', b"[]]"), plan
    yield "edges.json", _filled(instance + b'{"num_nodes":2,"edges":[', b"[0,1,1],", b"[1,0,1]]}}}"), plan
    yield (
        "spaces.json",
        _filled(instance + graph + b',"visibility":{"kind":"explicit","sees":{"1', b" ", b'":[]}}}'),
        plan,
    )
    words = b"1650000"
    yield "words.in", _filled(b"2 " + words + b"\n", b"0 1 1\n", b""), plan
    rows = b"".join(b"%x,%x,1,0\n" % (i, i + 1) for i in range(580_000))
    yield "nodes.csv", b"from,to,cost,oneway\n" + rows, streets
    yield "columns.csv", _filled(b"from,to,cost", b",a", b"\n"), streets
    yield "arcs.gr", b"p sp 2 1200000\n" + b"a 1 2 1\n" * 1_200_000, streets
    noise = random.Random(1).randbytes(8_500_000).replace(b"\n", b" ")
    arcs = b"p sp 2 6000000\n" + b"a 1 2 1\n" * 6_000_000
    yield "packed.gr.gz", gzip.compress(b"c " + noise + b"\n" + arcs, 1, mtime=0), streets
    begin, end = b'<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/>', b"</graph></graphml>"
    yield "elements.graphml", _filled(begin, b"<a/>", end), streets
    keys = b"".join(
        b'<key id="%d" for="edge" attr.name="n%d"><default>1</default></key>' % (i, i) for i in range(60_000)
    )
    yield "defaults.graphml", _filled(b"<graphml>" + keys + begin[9:], b'<edge source="a" target="b"/>', end), streets
    ways = b"".join(b'<way id="%d"><nd ref="1"/><tag k="highway" v="a"/></way>' % i for i in range(2_000_000))
    yield "ways.osm.gz", gzip.compress(b'<osm version="0.6">' + ways + b"</osm>", 6, mtime=0), streets


def _filled(begin: bytes, unit: bytes, end: bytes) -> bytes:
    return begin + unit * ((9_900_000 - len(begin) - len(end)) // len(unit)) + end


def run_large(folder: Path) -> int:
    """Run the large files one after another and print those that fail."""
    from ring_town import ring_town, write_network

    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    write_network(folder / "town.json", ring_town())
    failures = 0
    for number, (name, raw, command) in enumerate(large_files()):
        assert len(raw) < 10_000_000, name
        Path("case.txt").write_text(name)
        Path(name).write_bytes(raw)
        del raw
        at = len(command) if "--places" in command else 1
        if problem := find_problem([*command[:at], name, *command[at:]], folder):
            failures += 1
            print(f"{number} {name}: {problem}", flush=True)
    print(f"{sum(ENDINGS.values())} files, {failures} failures, exit codes {dict(sorted(ENDINGS.items()))}")
    return 1 if failures else 0


# --- the worker


def prepare(samples: list[Sample], number: int) -> tuple[Sample, list[str], bytes]:
    """The sample, command and damaged file of a case."""
    rng = random.Random(f"veilroute-damage-{number}")
    sample = samples[number % len(samples)]
    raw = sample.files[sample.target]
    if sample.repack is not None and rng.random() < 0.8:
        name = "part.json" if sample.target.endswith(".npz") and rng.random() < 0.3 else sample.target + ".part"
        seed = rng.random()
        damaged = sample.repack(raw, lambda part: damage(part, name, random.Random(seed)))
    else:
        damaged = damage(raw, sample.target, rng)
    return sample, rng.choice(sample.commands), damaged


def run_case(samples: list[Sample], number: int, folder: Path) -> str:
    """What is wrong with how a case ended; empty when nothing is."""
    sample, command, damaged = prepare(samples, number)
    write_files(sample, folder)
    (folder / sample.target).write_bytes(damaged)
    problem = find_problem(command, folder, sample.stdin)
    for name in sample.files:
        (folder / name).unlink()
    return f"{number} {sample.target} ({len(damaged)} bytes) {' '.join(command)[:80]}: {problem}" if problem else ""


def run_sound(samples: list[Sample], folder: Path) -> list[str]:
    """The commands that refuse a sound file: of damaged ones they would show nothing."""
    refused = []
    for sample in samples:
        write_files(sample, folder)
        for command in sample.commands:
            before = ENDINGS[2]
            problem = find_problem(command, folder, sample.stdin)
            if problem or ENDINGS[2] > before:
                refused.append(f"{sample.target}: {' '.join(command)} {problem}")
    return refused


def write_files(sample: Sample, folder: Path) -> None:
    for name, raw in sample.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)


def find_problem(command: list[str], folder: Path, stdin: str = "") -> str:
    """Run a command in a folder; what is wrong with how it ended, empty when nothing is."""
    streams = sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
    reset_peak()
    faulthandler.dump_traceback_later(PATIENCE_S, exit=True, file=streams[2])
    try:
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(stdin), out, err
        try:
            code = _install(folder / command[1]) if command[0] == "install" else _run(command)
        except BaseException:
            return "traceback: " + " | ".join(traceback.format_exc().strip().splitlines()[-5:])
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        faulthandler.cancel_dump_traceback_later()
    ENDINGS[code] += 1
    return judge(code, _text(err), peak_mb())


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


def _run(command: list[str]) -> int:
    from veilroute.cli import run

    return run(command)


def _install(path: Path) -> int:
    """Archives come by download; here they are there already."""
    from veilroute import VeilrouteError
    from veilroute.maps import MapStore

    try:
        MapStore().install_archive(path, "street")
    except VeilrouteError as error:
        print(f"veilroute: {error}", file=sys.stderr)
        return 2
    return 0


def _text(stream: io.TextIOWrapper) -> str:
    if stream.closed:
        return ""
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined, no-any-return]


def reset_peak() -> None:
    """Make the peak of memory begin again, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """The most memory that this process held since the last reset, or ever."""
    from veilroute.bench import peak_memory_mb

    return peak_memory_mb() or 0.0


def main(first: int, last: int, folder: Path) -> int:
    """Run the cases and print those that fail."""
    warnings.simplefilter("always")
    warnings.simplefilter("ignore", ResourceWarning)
    warnings.simplefilter("ignore", DeprecationWarning)
    os.environ["VEILROUTE_CACHE"] = str(folder / "cache")
    os.environ["COLUMNS"] = "120"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "samples").mkdir(exist_ok=True)
    samples = make_samples(folder / "samples")
    os.chdir(folder)
    refused = run_sound(samples, folder) if first == 0 else []
    failures = len(refused)
    print("\n".join(refused))
    for number in range(first, last):
        # If the process has ended, this case ended it.
        Path("case.txt").write_text(str(number))
        if problem := run_case(samples, number, folder):
            failures += 1
            print(problem, flush=True)
    print(f"{last - first} files, {failures} failures, exit codes {dict(sorted(ENDINGS.items()))}")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1] == "large":
        PATIENCE_S = 300
        sys.exit(run_large(Path(sys.argv[2])))
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
