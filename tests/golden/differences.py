"""Shows what has changed in the golden bytes, in readable form: `make golden`, or `make golden COMMANDS="optimal day"`.

The commands are run by these sources and by those of the last commit that changed `digests.txt`, whose digests were
true then. `--update` holds what these sources write from now on; `--everywhere` runs the commands in processes with
other hash seeds, locales and numbers of workers, and in another order.
"""

from __future__ import annotations

import argparse
import difflib
import io
import json
import locale
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from golden.runs import (
    INPUTS,
    Digests,
    digest_all,
    digest_pages,
    files_of,
    held,
    read_commands,
    read_digests,
    write_digests,
)

ROOT = Path(__file__).parents[2]
_NOTHING = object()
_LONGEST = 150


class Setting(NamedTuple):
    """How a process differs from the usual one."""

    title: str
    environment: dict[str, str]
    options: tuple[str, ...] = ()


def settings() -> list[Setting]:
    """Where the same bytes are expected; only locales that are installed."""
    usual = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    return [
        Setting("hash seed 0, C.UTF-8, 1 worker", usual),
        Setting("hash seed 1", usual | {"PYTHONHASHSEED": "1"}),
        Setting("hash seed random", usual | {"PYTHONHASHSEED": "random"}),
        Setting("locale C, as ASCII", usual | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        *(Setting(f"locale {name}", usual | {"LC_ALL": name}) for name in _other_locales()),
        Setting("time zone Asia/Tokyo", usual | {"TZ": "Asia/Tokyo"}),
        *(Setting(f"{num} workers", usual, ("--workers", str(num))) for num in (2, 3)),
        Setting("from the last command to the first", usual, ("--backwards",)),
    ]


def _other_locales() -> list[str]:
    """One that writes numbers with a comma, and one more, if there are any."""
    found = []
    for name in ("de_DE.UTF-8", "fi_FI.UTF-8", "tr_TR.UTF-8"):
        before = locale.setlocale(locale.LC_ALL)
        try:
            locale.setlocale(locale.LC_ALL, name)
            found.append(name)
        except locale.Error:
            pass
        finally:
            locale.setlocale(locale.LC_ALL, before)
    return found[:2]


def run_apart(
    folder: Path, names: list[str], *options: str, home: Path = ROOT, environment: dict[str, str] | None = None
) -> None:
    """Run commands in a process of its own, by the sources in a folder."""
    paths = os.pathsep.join(str(home / part) for part in ("src", "tests"))
    subprocess.run(
        [sys.executable, "-m", "golden.runs", str(folder), *names, *options],
        check=True, env=os.environ | {"PYTHONPATH": paths} | (environment or {}), stdout=subprocess.DEVNULL,
    )  # fmt: skip


def differing(held_before: Digests, found: Digests) -> dict[str, list[str]]:
    """The files of each command that are not what they were, or are there only now or only then."""
    answer = {}
    for name in sorted({*held_before, *found}):
        old, new = held_before.get(name, {}), found.get(name, {})
        if files := sorted(file for file in {*old, *new} if old.get(file) != new.get(file)):
            answer[name] = files
    return answer


def everywhere(names: list[str], folder: Path) -> list[tuple[str, int, dict[str, list[str]]]]:
    """Of each setting its title, how many files were compared, and those that differ.

    What programs read in the first setting is compared with what is held; all else, also what is for people, with what
    the first setting gives.
    """
    rows = []
    expected = {name: files for name, files in read_digests().items() if name in names}
    for number, setting in enumerate(settings()):
        there = folder / str(number)
        there.mkdir(parents=True)
        run_apart(there, [*names, *read_commands("pages")], *setting.options, environment=setting.environment)
        found, pages = digest_all(there, names), digest_pages(there)
        both = {name: found.get(name, {}) | pages.get(name, {}) for name in {*found, *pages}}
        rows.append((setting.title, sum(map(len, both.values())), differing(expected, both if number else found)))
        expected = expected if number else both
        shutil.rmtree(there)
    return rows


def unpack(revision: str, folder: Path) -> None:
    """The sources and golden commands of a commit; these commands where it has none."""
    packed = subprocess.run(["git", "archive", revision, "src", "tests"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    if not (folder / "tests/golden").is_dir():
        shutil.copytree(ROOT / "tests/golden", folder / "tests/golden")


def last_true() -> str:
    """The last commit that changed the digests."""
    log = ["git", "log", "-1", "--format=%H", "--", "tests/golden/digests.txt"]
    return subprocess.run(log, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip() or "HEAD"


def compare_json(old: Any, new: Any, path: str = "$") -> Iterator[str]:
    """A line for each value that differs: where it is, what it was, what it is."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from compare_json(old.get(key, _NOTHING), new.get(key, _NOTHING), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        for at, (one, other) in enumerate(zip_longest(old, new, fillvalue=_NOTHING)):
            yield from compare_json(one, other, f"{path}[{at}]")
    elif type(old) is not type(new) or old != new:
        yield f"{path}: {_shown(old)} -> {_shown(new)}"


def _shown(value: object) -> str:
    text = "nothing" if value is _NOTHING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def compare(old: bytes, new: bytes, kind: str) -> list[str]:
    """How a file differs, in lines."""
    if kind in (".json", ".geojson", ".jsonl"):
        before, after = ([json.loads(line) for line in raw.splitlines()] if kind == ".jsonl" else json.loads(raw)
                         for raw in (old, new))  # fmt: skip
        return list(compare_json(before, after)) or ["the same values, written otherwise"]
    before, after = (raw.decode(errors="backslashreplace").splitlines() for raw in (old, new))
    return list(difflib.unified_diff(before, after, "before", "now", lineterm="", n=1))


def show(before: Path, now: Path, name: str, most: int) -> None:
    """Print how the files of a command differ."""
    old_files, new_files = ((files_of(at, name) if (at / name).is_dir() else []) for at in (before, now))
    for file in sorted({*old_files, *new_files}):
        if file not in old_files or file not in new_files:
            print(f"\n{name}/{file}: {'only now' if file in new_files else 'only before'}")
            continue
        old, new = held(before, name, file), held(now, name, file)
        if old != new:
            lines = compare(old, new, Path(file).suffix)
            print(f"\n{name}/{file}: {len(lines)} line{'s' * (len(lines) != 1)}")
            for line in lines[:most]:
                print(f"  {line}")
            if len(lines) > most:
                print(f"  ... and {len(lines) - most} more (--most N)")


def main() -> int:
    """Run the command line; 1 when something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of commands; all that differ when left out")
    parser.add_argument("--against", metavar="COMMIT", help="the last that changed the digests when left out")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="lines for each file (20)")
    parser.add_argument("--update", action="store_true", help="hold what these sources write from now on")
    parser.add_argument("--everywhere", action="store_true", help="run in processes with other settings")
    asked = parser.parse_args()
    known = [INPUTS, *read_commands()]
    if unknown := set(asked.names) - set(known):
        parser.error(f"no such command: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        if asked.everywhere:
            return _print_everywhere(asked.names or known, Path(folder))
        before, now = Path(folder, "before"), Path(folder, "now")
        now.mkdir()
        run_apart(now, asked.names)
        found, expected = digest_all(now, asked.names or known), read_digests()
        others = {name: files for name, files in expected.items() if asked.names and name not in found}
        changed = differing(expected, others | found)
        num_files, num_changed = (sum(map(len, files.values())) for files in (found, changed))
        print(f"{len(found)} commands, {num_files} files; {num_changed} files of {len(changed)} commands differ.")
        if asked.update:
            write_digests(others | found)
            return 0
        if names := [name for name in found if name in changed or asked.against]:
            revision = asked.against or last_true()
            print(f"Against {revision}:")
            unpack(revision, Path(folder, "sources"))
            before.mkdir()
            run_apart(before, names, home=Path(folder, "sources"))
            for name in names:
                show(before, now, name, asked.most)
        return int(bool(changed))


def _print_everywhere(names: list[str], folder: Path) -> int:
    rows = everywhere(names, folder)
    print(f"{'setting':36} {'commands':>8} {'files':>6} {'differing':>9}")
    for title, num_files, differ in rows:
        print(f"{title:36} {len(names):8} {num_files:6} {sum(map(len, differ.values())):9}")
        for name, files in differ.items():
            print(f"    {name}: {' '.join(files)}")
    return int(any(differ for _, _, differ in rows))


if __name__ == "__main__":
    sys.exit(main())
