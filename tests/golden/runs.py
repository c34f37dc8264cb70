"""Runs the commands of `commands.toml`, and takes digests of what programs read of what they write.

`python -m golden.runs FOLDER [NAME...]` runs them (all, or those that are named) and leaves their files in FOLDER.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import veilroute as vr
from veilroute.cli.main import run

HERE = Path(__file__).parent
DIGESTS = HERE / "digests.txt"
INPUTS = "inputs"
"""The folder of the inputs, and the name under which those that are generated have their digests."""

HELD = (".json", ".jsonl", ".geojson", ".gpx", ".kml", ".csv", ".xlsx", ".npz", ".in", ".map")
"""What programs read. Pages, reports, pictures and directions (.html, .pdf, .md, .png, .svg, .txt) are for people."""

NOT_HELD = tuple(f"*/out/tables/*{kind}.csv" for kind in ("-time", "-times", "-means", "-by-map"))
"""Tables with times in them; `records.jsonl` has all their other figures."""

Digests = dict[str, dict[str, str]]
"""Of each command, by the name of the file."""


class Dropped(NamedTuple):
    """A field that is left out of the digest."""

    files: str  #: as COMMAND/FILE
    field: str
    reason: str
    is_text: bool = False  #: left out only if there is nothing but text in it: no number, nothing that is true or false


DROPPED = (
    Dropped("*", "runtime_s", "by the clock"),
    Dropped("*", "cpu_s", "by the clock of the processor"),
    Dropped("*", "peak_memory_mb", "what the process took before is in it"),
    Dropped("*/records.jsonl", "memory_mb", "what the process took before is in it"),
    Dropped("*/records.jsonl", "improvements", "by the clock: when each was found"),
    Dropped("*/records.jsonl", "provenance", "versions, machine, process and date"),
    Dropped("data-set/set/dataset.json", "veilroute", "the version of the program"),
    Dropped("data-set/stdout-*.json", "sha256", "of a folder or an archive with pages for people in it"),
    Dropped("data-set/stdout-*.json", "archive", "the whole path, so where this runs"),
    Dropped("data-set/*.json", "notes", "what was exported, in words", is_text=True),
    Dropped("data-set/*/.zenodo.json", "title", "for the page of the data set", is_text=True),
    Dropped("data-set/*/.zenodo.json", "description", "for the page of the data set", is_text=True),
    Dropped("*/stdout-*.json", "evidence", "the verdict of a claim, in words", is_text=True),
    Dropped("*/stdout-*.json", "reason", "`kind`, or `left` and `since`, in words", is_text=True),
    Dropped("ledger/stdout-*.json", "advice", "what to do, in words", is_text=True),
    Dropped("frontier/stdout-*.json", "answer", "`best`, in words", is_text=True),
    Dropped("audit*/stdout-*.json", "seats", "the summary of a report, figures and all in words", is_text=True),
    Dropped("audit*/stdout-*.json", "warnings", "what to heed, in words", is_text=True),
    Dropped("audit*/stdout-*.json", "notes", "how it was worked out, in words", is_text=True),
    Dropped("audit*/stdout-*.json", "across", "how wide an area is, in words", is_text=True),
    Dropped("audit-simulated/stdout-*.json", "about", "the heading of a figure", is_text=True),
    Dropped("audit-simulated/stdout-*.json", "where", "where on the way, in words", is_text=True),
)
"""All that is left out of JSON. A file with none of these is held as it is, byte by byte."""

_ADVICE = {
    ".gpx": re.compile(r"(?<=<desc>)Stay [^<]*(?=</desc>\s*(?:<copyright[^>]*/>)?\s*</metadata>)"),
    ".kml": re.compile(r"(?<=<description>)Stay [^<]*?(?=(?: Map: [^<]*)?</description>\s*<Style)"),
}
"""Advice to drivers, in sentences, at the head of a file. All else of these files is held."""


def read_commands(kind: str = "commands", num_workers: int = 1) -> dict[str, list[str]]:
    """What is typed, by the name of the command; of the kind ``pages`` what writes for people only."""
    table = tomllib.loads((HERE / "commands.toml").read_text(encoding="utf-8"))
    words = table["words"] | {"workers": f"--workers {num_workers}"}

    def fill(step: str) -> str:
        while (filled := re.sub(r"\{(\w+)\}", lambda found: str(words[found[1]]), step)) != step:
            step = filled
        return step

    return {name: [fill(step) for step in steps] for name, steps in table[kind].items()}


class Runs:
    """The commands in a folder, each run when it is wanted, after those whose files it reads."""

    def __init__(self, root: Path, num_workers: int = 1) -> None:
        self.root = root
        self.commands = {**read_commands(num_workers=num_workers), **read_commands("pages", num_workers)}
        self._done: set[str] = set()

    def run(self, name: str) -> Path:
        """The folder of what a command has written."""
        folder = self.root / name
        if name == INPUTS:
            return self._inputs
        if name not in self._done:
            for step in self.commands[name]:
                for other in re.findall(r"\.\./([^/ ]+)/", step):
                    self.run(other)
            folder.mkdir()
            for number, step in enumerate(self.commands[name], 1):
                _run_step(folder, number, step)
            self._done.add(name)
        return folder

    def run_all(self) -> Path:
        """The folder of all folders."""
        for name in read_commands():
            self.run(name)
        return self.root

    @cached_property
    def _inputs(self) -> Path:
        folder = self.root / INPUTS
        shutil.copytree(HERE / INPUTS, folder)
        # Git knows no file that only its owner may read.
        (folder / "draw.key").write_text("veilroute-key/1\n" + "0123456789abcdef" * 4 + "\n", encoding="ascii")
        (folder / "draw.key").chmod(0o600)
        vr.write_movingai(vr.generate_rooms(24, 40, seed=11), folder / "rooms.map")
        vr.write_network(vr.generate_streets(9, 9, seed=4), folder / "streets.json")
        vr.write_network(vr.generate_streets(50, 50, seed=8), folder / "large.npz")
        return folder


def _run_step(folder: Path, number: int, step: str) -> None:
    expected = 0
    if found := re.match(r"exit (\d+): ", step):
        expected, step = int(found[1]), step[found.end() :]
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
        patch.dict(os.environ, VEILROUTE_CACHE=str(folder.parent / "no-maps")),
    ):  # fmt: skip
        code = run(shlex.split(step))
    assert code == expected, f"veilroute {step}\nended with {code}, not {expected}: {err.getvalue()}{out.getvalue()}"
    if re.search(r"--json|--format json", step):
        (folder / f"stdout-{number}.json").write_text(out.getvalue(), encoding="utf-8")


def digest_all(root: Path, names: Iterable[str]) -> Digests:
    """The digests of all that is held of some commands in a folder where they were run."""
    return {name: {file: hashlib.sha256(held(root, name, file)).hexdigest() for file in files_of(root, name)}
            for name in names}  # fmt: skip


def files_of(root: Path, name: str) -> list[str]:
    """The files of a command that are held; of the inputs those that are generated."""
    folder = root / name
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix in HELD)
    if name == INPUTS:
        return [file for file in files if not (HERE / INPUTS / file).exists()]
    return [file for file in files if not any(fnmatch(f"{name}/{file}", pattern) for pattern in NOT_HELD)]


def digest_pages(root: Path) -> Digests:
    """The digests of what is for people, but for reports of experiments, in which there are times."""
    found: Digests = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name, *parts = path.relative_to(root).parts
        if name not in (INPUTS, "study", "suite") and (path.suffix not in HELD or name in read_commands("pages")):
            found.setdefault(name, {})["/".join(parts)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def held(root: Path, name: str, file: str) -> bytes:
    """What is held of a file: itself, but for what :data:`DROPPED` lists."""
    path = root / name / file
    raw, kind = path.read_bytes(), path.suffix
    if kind in _ADVICE:
        return _ADVICE[kind].sub("", raw.decode()).encode()
    if kind in (".xlsx", ".npz"):
        # What is packed, as the packed bytes depend on the library that packs; of a workbook the cells.
        with zipfile.ZipFile(path) as archive:
            parts = [part for part in archive.namelist() if kind == ".npz" or part.startswith("xl/worksheets/")]
            return b"".join(b"%s\n%s\n" % (part.encode(), archive.read(part)) for part in parts)
    if kind not in (".json", ".jsonl"):
        return raw
    rules = [rule for rule in DROPPED if fnmatch(f"{name}/{file}", rule.files)]
    lines = raw.splitlines(keepends=True) if kind == ".jsonl" else [raw]
    if file.endswith("records.jsonl"):
        # In the order in which cells ended, which several processes do not share.
        lines = sorted(lines, key=lambda line: str(json.loads(line)["key"]))
    return b"".join(_without(line, rules) for line in lines)


def _without(line: bytes, rules: list[Dropped]) -> bytes:
    data = json.loads(line)
    if not sum(_drop(data, rule) for rule in rules):
        return line
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _drop(data: Any, rule: Dropped) -> int:
    """Take a field out, however deep, and say how often it was there."""
    if isinstance(data, list):
        return sum(_drop(item, rule) for item in data)
    if not isinstance(data, dict):
        return 0
    num = 0
    if rule.field in data and (not rule.is_text or _is_text(data[rule.field])):
        del data[rule.field]
        num = 1
    return num + sum(_drop(item, rule) for item in data.values())


def _is_text(data: Any) -> bool:
    parts = data.values() if isinstance(data, dict) else data
    return isinstance(data, str) or (isinstance(data, dict | list) and all(map(_is_text, parts)))


def unused_rules(root: Path, names: Iterable[str]) -> set[Dropped]:
    """Those of :data:`DROPPED` that leave nothing out of any file."""
    unused = set(DROPPED)
    for name in names:
        for file in files_of(root, name):
            if Path(file).suffix in (".json", ".jsonl"):
                lines = (root / name / file).read_bytes().splitlines()
                for rule in [rule for rule in unused if fnmatch(f"{name}/{file}", rule.files)]:
                    if any(_drop(json.loads(line), rule) for line in lines):
                        unused.discard(rule)
    return unused


def read_digests() -> Digests:
    """What is held."""
    found: Digests = {}
    for line in DIGESTS.read_text(encoding="ascii").splitlines():
        name, file, digest = line.split()
        found.setdefault(name, {})[file] = digest
    return found


def write_digests(digests: Digests) -> None:
    """Hold these from now on."""
    lines = sorted(f"{name} {file} {digest}\n" for name, files in digests.items() for file, digest in files.items())
    DIGESTS.write_text("".join(lines), encoding="ascii")


def playbooks(root: Path) -> Iterator[Path]:
    """All playbooks below a folder where commands were run, in order; `map-left-out/book.json` is without its map."""
    for path in sorted(root.rglob("*.json")):
        if path.read_bytes().find(b'"format":"veilroute-playbook/') >= 0 and path.name[:7] != "stdout-":
            yield path


def main() -> None:
    """Run commands in a process of their own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--backwards", action="store_true", help="begin with the last command")
    asked = parser.parse_args()
    runs = Runs(asked.folder, asked.workers)
    names = [name for name in (INPUTS, *runs.commands) if name in (asked.names or (INPUTS, *read_commands()))]
    for name in reversed(names) if asked.backwards else names:
        runs.run(name)


if __name__ == "__main__":
    main()
