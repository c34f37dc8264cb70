"""Writes that fail: all commands that write files, on a full disk, under a limit of file size, and killed at random.

    python benchmarks/faults.py [--writes 200] [--seed 0]

Before each run the command's output holds an old file. After it, whatever went wrong, the output must be the old file
or the new one, byte for byte, and nothing else may be left, neither file nor folder.

The day of a fleet is a folder of files. After a kill, and only then, there may be files of both days, and the folder in
which the new files were made; but each old file must be there or have been replaced by the new one, and the next run
must leave the new day and nothing else. Half of these kills come exactly when a file is about to get a name or to lose
it.

The full disk is a small file system in memory where this user may mount one (root on Linux); elsewhere these runs use
the limit as well, and the script says so. A quota on a real file system could not be set up here: a limit of file size
(RLIMIT_FSIZE) fails in the same call, with another number.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import veilroute as vr
from door_towns import door_problem, winding_town

Found = dict[str, bytes | None]
OLD = b"what was there before\n"
STRAY = "vehicle-7.txt"  # of a former day with more vehicles
STAGING = re.compile(r"\.veilroute-day-[a-z0-9_]{8}(/[^/]+)?")
SUICIDE = """
import os, sys
home, left = os.path.realpath(sys.argv.pop(1)), int(sys.argv.pop(1))
def watch(event, given):
    global left
    if event in ("os.rename", "os.link", "os.remove", "os.rmdir") and home in os.path.realpath(given[0]):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
sys.addaudithook(watch)
"""
START = "import sys; sys.argv[0] = 'veilroute'; from veilroute_start import main; main()"
MAP = "type octile\nheight 5\nwidth 30\nmap\n" + ("." * 30 + "\n") * 5
FIELD = {"type": "Polygon", "coordinates": [[[24.9, 60.1], [24.92, 60.1], [24.92, 60.11], [24.9, 60.11], [24.9, 60.1]]]}
PLACES = "0,3 4,8 0,12 4,17 0,21 4,26"
PLAN = ("plan", "office.map", "--start", "2,0", "--goal", "2,29", "--candidates", PLACES, "-k", "2", "--ell", "4")


def prepare(folder: Path) -> dict[str, tuple[str, ...]]:
    """Make the inputs; returns the commands by the ending of what they write, ``{out}`` in place of its path."""
    (folder / "office.map").write_text(MAP)
    (folder / "office.json").write_text("")
    call(folder, *PLAN, "-o", "book.json")
    call(folder, "ledger", "new", "week.jsonl")
    town = vr.solve(door_problem(3, winding_town(3), num_twins=0), vr.Privacy(k=2))
    town.write(folder / "town.json")
    (folder / "field.geojson").write_text(json.dumps(FIELD))
    (folder / "orders.txt").write_text("0,3\n4,8\n")
    commands = {
        "plan.json": (*PLAN, "-o", "{out}"),
        "frontier.json": ("frontier", *PLAN[1:-4], "--k", "2,3", "-o", "{out}"),
        "frontier.png": ("frontier", *PLAN[1:-4], "--k", "2,3", "-o", "{out}"),
        "route.json": ("route", "book.json", "--transit", "0,3", "-o", "{out}"),
        "route.txt": ("route", "book.json", "--transit", "0,3", "-o", "{out}"),
        "replan.json": ("replan", "book.json", "--class", "1", "--at", "2,0", "--closed-nodes", "2,14", "-o", "{out}"),
        "draw.png": ("draw", "book.json", "-o", "{out}"),
        "draw.svg": ("draw", "book.json", "-o", "{out}"),
        "draw.html": ("draw", "book.json", "-o", "{out}"),
        "report.pdf": ("export", "book.json", "-o", "{out}"),
        "scene.json": ("scene", "book.json", "-o", "{out}"),
        "convert.json": ("convert", *PLAN[1:], "{out}"),
        "convert.in": ("convert", *PLAN[1:], "{out}"),
        "convert.map": ("convert", *PLAN[1:], "{out}"),
        "day": ("fleet", "book.json", "--orders", "orders.txt", "--vehicles", "1", "--iterations", "20", "-o", "{out}"),
        "key": ("key", "new", "{out}"),
        "ledger.jsonl": ("ledger", "new", "{out}"),
        "added.jsonl": ("ledger", "add", "{out}", "book.json", "--date", "2026-11-02"),
    }
    for ending in ("gpx", "geojson", "kml", "csv", "txt", "html", "xlsx"):
        commands[f"export.{ending}"] = ("export", "town.json", "-o", "{out}")
    place = str(town.hidden_classes[0].members[0])
    commands["route.gpx"] = ("route", "town.json", "--transit", place, "--format", "gpx", "-o", "{out}")
    commands["area.json"] = ("area", "field.geojson", "-o", "{out}", "--cell", "200")
    commands["survey.json"] = ("survey", "office.map", "--points", "3", "-o", "{out}")
    return commands


def call(folder: Path, *words: str, limit: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    command = [sys.executable, "-c", START, *words]
    return subprocess.run(command, cwd=folder, preexec_fn=limit, capture_output=True, text=True)


@contextlib.contextmanager
def disk(folder: Path, kilobytes: int) -> Iterator[bool]:
    """Within it the folder is a disk of its own with this much room, where that can be had."""
    options = ["-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    mount = shutil.which("mount")
    is_mounted = mount is not None and subprocess.run([mount, *options], capture_output=True).returncode == 0
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", str(folder)], check=True)


def read(out: Path) -> Found:
    """All files and folders of an output by name, a folder as ``None``; an output may be a folder."""
    if out.is_dir():
        paths = sorted(out.rglob("*"))
        return {path.relative_to(out).as_posix(): None if path.is_dir() else path.read_bytes() for path in paths}
    return {out.name: out.read_bytes()} if out.exists() else {}


def main() -> int:
    """Run all faults and print what became of the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    ends: Counter[tuple[str, str]] = Counter()
    bad: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = prepare(folder)
        whole: dict[str, Found] = {}
        took: dict[str, float] = {}
        for ending, words in commands.items():
            out = folder / "first" / ending
            out.parent.mkdir(exist_ok=True)
            if ending == "added.jsonl":
                shutil.copy(folder / "week.jsonl", out)
            began = time.monotonic()
            done = call(folder, *(word.format(out=out) for word in words))
            took[ending] = time.monotonic() - began
            if not read(out) or done.returncode not in (0, 1):
                print(f"{ending}: {done.stderr.strip()}")
                return 2
            whole[ending] = read(out)
        call(folder, *(word.format(out="former") for word in commands["day"]), "--seed", "7")
        for number in range(given.writes):
            ending = list(commands)[number % len(commands)]
            fault = ("full disk", "file size", "killed")[number // len(commands) % 3]
            home = folder / "faulty"
            home.mkdir()
            with disk(home, 256) if fault == "full disk" else contextlib.nullcontext(False) as is_mounted:
                end = one_write(folder, home, ending, commands[ending], whole[ending], took[ending], fault, rng,
                                is_mounted=is_mounted)  # fmt: skip
            shutil.rmtree(home)
            ends[fault, end] += 1
            if end.startswith("LOST"):
                bad.append(f"{number}: {ending}, {fault}: {end}")
    for (fault, end), count in sorted(ends.items()):
        print(f"{fault:10} {end:10} {count:4}")
    print(f"{given.writes} writes of {len(commands)} commands: {len(bad)} lost or half-written files")
    print("\n".join(bad))
    return 1 if bad else 0


def one_write(
    folder: Path, home: Path, ending: str, words: tuple[str, ...], whole: Found, seconds: float, fault: str,
    rng: random.Random, *, is_mounted: bool,
) -> str:  # fmt: skip
    """Run a command with a fault; returns whether the old file or the new one is there: ``LOST`` if neither is."""
    out = home / ending
    if ending == "added.jsonl":
        shutil.copy(folder / "week.jsonl", out)
    elif ending == "day":
        shutil.copytree(folder / "former", out)
        (out / STRAY).write_text("yesterday")
    elif ending not in ("key", "ledger.jsonl"):
        out.write_bytes(OLD)
    old = read(out)
    argv = [word.format(out=out) for word in words]
    size = max(len(raw or b"") for raw in whole.values())
    if is_mounted:
        # What is left is less than the largest file needs, to the page.
        with contextlib.suppress(OSError), (home / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(4096))
        with (home / "filler").open("r+b") as shorter:
            shorter.truncate(max(0, (home / "filler").stat().st_size - rng.randrange(0, max(size - 1, 1), 1)))
        call(folder, *argv)
        (home / "filler").unlink()
    elif fault == "killed":
        # Most of a command's time passes before it writes: half of the kills are near its end.
        is_late = rng.random() < 0.5
        is_exact = is_late and ending == "day"
        before = [SUICIDE + START, str(home), str(rng.randint(0, 16))] if is_exact else [START]
        running = subprocess.Popen(
            [sys.executable, "-c", *before, *argv], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if not is_exact:
            time.sleep(rng.uniform(0.8 if is_late else 0, 1.1) * seconds)
            running.send_signal(signal.SIGKILL)
        running.wait()
    else:
        most = rng.randrange(size)

        def limit() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        call(folder, *argv, limit=limit)
    found = read(out)
    left = {path.name for path in home.iterdir()} - {ending}
    if left:
        return f"LOST: {sorted(left)} left behind"
    if ending == "key":  # keys differ
        num_bytes = [len(each.get("key") or b"") for each in (found, whole)]
        return "none" if not found else "new" if num_bytes[0] == num_bytes[1] else "LOST: half a key"
    if ending == "added.jsonl" and found != old and found != whole:
        # A line that is not closed is passed over by readers and cut off by the next writer.
        done = call(folder, "ledger", "check", str(out))
        return "torn line" if done.returncode in (0, 1) else f"LOST: {done.stderr.strip()}"
    if ending == "day":
        return judge_day(old, found, whole, lambda: call(folder, *argv), out, is_killed=fault == "killed")
    if found == old:
        return "old" if old else "none"
    return "new" if found == whole else "LOST: neither the old file nor the new one"


def judge_day(
    old: Found, found: Found, new: Found, run_again: Callable[[], object], out: Path, *, is_killed: bool
) -> str:
    """What became of a day's folder; after a kill the command is run once more."""
    if found in (old, new):
        return "old" if found == old else "new"
    if not is_killed:
        return f"LOST: neither the old day nor the new one: {sorted(found)}"
    days = {name: raw for name, raw in found.items() if not STAGING.fullmatch(name)}
    if missing := sorted({*old} - {*days} - ({STRAY} if {**days, **new} == days else set())):
        return f"LOST: {missing} missing"
    if broken := [name for name, raw in days.items() if raw not in (old.get(name, b""), new.get(name, b""))]:
        return f"LOST: {broken} of neither day"
    run_again()
    if (after := read(out)) != new:
        return f"LOST: the next run leaves {sorted(after)}"
    return "old, tidied" if days == old else "both, mended"


if __name__ == "__main__":
    sys.exit(main())
