"""Weeks of playbooks planned under a ledger, as plain data that a forger may change and hash anew."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import orjson

import veilroute as vr
from veilroute import playbook_from_json

Data = dict[str, Any]


def canonical(data: Any) -> bytes:
    """Plain data as the files of the house have it: one line, keys in order."""
    return orjson.dumps(data, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


@dataclass
class Week:
    """Entries of a ledger and the playbooks behind them, in order."""

    entries: list[Data]
    books: list[Data]
    heads: list[str]  # the hashes that the ledger's lines had when all was true
    hashes: list[str]  # those of the playbooks
    lines: list[int]  # of each entry which line after the first it was
    first: Data  # what the first line says

    def copy(self) -> Week:
        return copy.deepcopy(self)

    def playbooks(self) -> list[vr.Playbook]:
        return [playbook_from_json(json.dumps(data).encode()) for data in self.books]


def random_days(
    rng: Random, privacy: vr.Privacy, num_candidates: int, num_days: int, *, has_prior: bool = False
) -> list[vr.Problem]:
    """Problems of some days: customers come and go, cells are closed, trips differ.

    Who joins is nobody's neighbour: somebody who appears within ell of one who left would be taken for that one.
    """
    base = vr.generate_rooms(12, 14, seed=rng.randrange(1000))
    labels: list[Any] = [base.label(node) for node in range(base.num_nodes)]
    people = rng.sample(labels, num_candidates + 6)
    ends, people = people[num_candidates + 2 :], people[:num_candidates]
    spare: list[Any] = []
    for label in rng.sample(labels, len(labels)):
        if len(spare) < 2 and label not in ends:
            far = all(math.dist(label, other) >= max(privacy.ell, 1) for other in [*people, *spare])
            spare += [label] if far else []
    listed = people
    weights = {label: rng.choice([1, 1, 2, 3]) for label in [*people, *spare]}
    days = []
    for _ in range(num_days):
        free = base.grid.free.copy()  # type: ignore[union-attr]
        for cell in rng.sample(labels, 2):
            free[base.grid.cell(base.node(cell))] = cell in (*people, *spare, *ends) or rng.random() < 0.5  # type: ignore[union-attr]
        trips = [vr.Trip(start, goal) for start, goal in (rng.sample(ends, 2) for _ in range(rng.choice([1, 1, 2])))]
        sight = vr.WithinDistance(rng.choice([0, 0, 1]))
        prior = [weights[label] for label in listed] if has_prior or privacy.risk is not None else None
        days.append(vr.Problem(vr.grid_domain(free), trips, listed, sight, prior=prior))
        if rng.random() < 0.6:
            listed = rng.sample([*people, *spare], num_candidates)
    return days


def plan_week(
    path: Path,
    days: list[vr.Problem],
    privacy: vr.Privacy,
    *,
    is_linked: bool = True,
    trips: str = "occasional",
) -> list[vr.Playbook]:
    """Plan some days, each under the ledger of those before or by itself, and enter them; a plan made twice once.

    Where trips are expected, a day that would break a promise to somebody who leaves is not used.
    """
    ledger, books = vr.new_ledger(path, trips=trips), list[vr.Playbook]()
    for number, problem in enumerate(days, 1):
        under = replace(problem, past=ledger.past(problem, privacy)) if is_linked and number > 1 else problem
        book = vr.solve(under, privacy)
        if not ledger.holds(book):
            with suppress(vr.UnsafeLedgerError):
                ledger = ledger.add(book, day=f"2026-11-{number:02}", anyway=not is_linked)
                books.append(book)
    return books


def read_week(path: Path, books: list[vr.Playbook]) -> Week:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    entries = [line["entry"] for line in lines[1:]]
    heads, hashes = [line["sha256"] for line in lines], [book.sha256 for book in books]
    written = [json.loads(book.to_json()) for book in books]
    return Week(entries, written, heads, hashes, [*range(1, len(lines))], lines[0]["entry"])


def write_chain(path: Path, entries: list[Data], first: Data) -> list[str]:
    """Write a ledger with all hashes made anew."""
    previous, lines, heads = "", [], []
    for entry in [first, *entries]:
        sha256 = hashlib.sha256(canonical({"entry": entry, "previous": previous})).hexdigest()
        lines.append(canonical({"entry": entry, "previous": previous, "sha256": sha256}))
        heads.append(sha256)
        previous = sha256
    path.write_bytes(b"".join(lines))
    return heads


def append_line(path: Path, entry: Data) -> None:
    """Add a line to a ledger, whatever it says."""
    first, *lines = (json.loads(line)["entry"] for line in path.read_bytes().splitlines())
    write_chain(path, [*lines, json.loads(canonical(entry))], first)


def forge(week: Week, path: Path) -> None:
    """Write a changed week so that nothing but what was changed is wrong: all hashes, in books and entries, are new."""
    new = write_chain(path, [], week.first)
    books = dict(zip(week.hashes, week.books, strict=True))
    hashes: dict[str, str] = {}

    def renewed(head: str | None) -> str | None:
        if head not in week.heads:
            return head
        return new[min(sum(line <= week.heads.index(head) for line in week.lines), len(new) - 1)]

    for at, entry in enumerate(week.entries):
        if "playbook" in entry:
            book = books.pop(entry["playbook"], None)
            entry["parent"] = renewed(entry["parent"])
            if book is not None:
                if "past" in book:
                    book["past"]["ledger"] = renewed(book["past"]["ledger"])
                hashes[entry["playbook"]] = playbook_from_json(json.dumps(book).encode()).sha256
            entry["playbook"] = hashes.get(entry["playbook"], entry["playbook"])
        new = write_chain(path, week.entries[: at + 1], week.first)
