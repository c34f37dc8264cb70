"""Sets of orders, and a process that runs `veilroute fleet` for several of them and says all that came of each."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import veilroute as vr
from veilroute.cli import run

PEOPLE = ("Adams", "Baker", "Clark", "Davis", "Evans", "Frank", "Green", "Hayes", "Irwin", "Jones", "Klein", "Lopez")
Job = tuple[list[str], str]  # what is typed, with FILE for the orders and DIR for the files; the orders


def town_book() -> vr.Playbook:
    """A town with a depot and twelve customers; three classes, the first of Adams, Baker and Hayes."""
    town = vr.generate_streets(9, 9, seed=4)
    homes = vr.draw_candidates(town, 0, 0, len(PEOPLE), seed=1)
    names = {0: "Depot", **dict(zip(homes, PEOPLE, strict=True))}
    return vr.solve(vr.Problem(town, [vr.Trip(0, 0)], homes, names=names), vr.Privacy(k=3, ell=200))


def draw_orders(book: vr.Playbook, touched: Sequence[int], rng: random.Random) -> list[str]:
    """Names of customers who touch just these classes, in any order."""
    found: list[str] = []
    for number in touched:
        members = book.hidden_classes[number - 1].members
        found += [book.name(member) for member in rng.sample(members, rng.randint(1, len(members)))]
    rng.shuffle(found)
    return found


def orders_text(names: Sequence[str], rng: random.Random) -> str:
    """Orders as somebody may write them: a list, or a table with quantities."""
    if rng.random() < 0.5:
        return "".join(f"{rng.choice((name, name.lower(), f'  {name} '))}\n" for name in names)
    return "Customer;Qty\n" + "".join(f"{name};{rng.choice(('', '1', '2'))}\n" for name in names)


def outcomes(jobs: Sequence[Job], hash_seed: int) -> list[dict[str, Any]]:
    """What is printed, the exit code, and the hash of every file, for each job; in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(jobs), capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "COLUMNS": "120"},
    )  # fmt: skip
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _outcome(arguments: Sequence[str], orders: str) -> dict[str, Any]:
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "orders.csv"
        file.write_text(orders, encoding="utf-8")
        sys.stdin = io.StringIO(orders)
        words = [word.replace("FILE", str(file)).replace("DIR", "day") for word in arguments]
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(words)
        file.unlink()
        files = {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(Path(folder).rglob("*"))
            if path.is_file()
        }
    lines = [line for line in err.getvalue().splitlines() if "compiling for this machine" not in line]
    return {"code": code, "out": out.getvalue(), "err": lines, "files": files}


if __name__ == "__main__":
    print(json.dumps([_outcome(*job) for job in json.load(sys.stdin)]))
