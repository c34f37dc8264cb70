"""Somebody changes a ledger, and the playbooks with it, and makes all hashes anew: what is accepted must be true.

Each forgery is an honest week with one to three things changed, at random. What `veilroute audit --ledger --strict` and
`veilroute ledger check` say is held against the plain observer of tests/plain_links.py. Many more forgeries are
tried by `make test-all`, or as many as VEILROUTE_FORGED says.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import chain, combinations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import veilroute as vr
from ledger_weeks import Data, Week, forge, plan_week, random_days, read_week
from linked_entries import Entry, Identity, entry_from_dict
from plain_links import Links, UnclearError, line_of, seen_of

NUM_QUICK, NUM_FORGED = 60, int(os.environ.get("VEILROUTE_FORGED", "1500"))
WEEKS: dict[str, tuple[vr.Privacy, int, int, str, bool]] = {
    "k=2, occasional": (vr.Privacy(k=2, ell=3), 7, 1, "occasional", True),
    "k=2, expected": (vr.Privacy(k=2, ell=3), 7, 2, "expected", True),
    "all pairs": (vr.Privacy(k=2, ell=4, spread="all-pairs"), 6, 3, "occasional", True),
    "first nodes": (vr.Privacy(k=2, ell=2, m=6), 6, 4, "expected", True),
    "risk, occasional": (vr.Privacy(risk=0.5, ell=3), 7, 5, "occasional", True),
    "risk, expected": (vr.Privacy(risk=0.6, ell=3), 6, 6, "expected", True),
    "each day by itself": (vr.Privacy(k=2, ell=3), 7, 7, "occasional", False),
}


@cache
def honest(name: str) -> Week:
    privacy, num, seed, trips, is_linked = WEEKS[name]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.jsonl"
        days = random_days(Random(seed), privacy, num, 3)
        labels = dict.fromkeys(chain.from_iterable(day.candidates for day in days))
        names = {label: f"Place {at}" for at, label in enumerate(labels)}
        if seed % 2:
            days = [replace(day, names={label: names[label] for label in day.candidates}) for day in days]
        return read_week(path, plan_week(path, days, privacy, is_linked=is_linked, trips=trips))


# What a forger may do.


def lines_of(week: Week) -> list[int]:
    return [at for at, entry in enumerate(week.entries) if "playbook" in entry]


def both_of(week: Week, rng: Random) -> tuple[Data, Data | None]:
    """A line and its playbook."""
    entry = week.entries[rng.choice(lines_of(week))]
    book = dict(zip(week.hashes, week.books, strict=True)).get(entry["playbook"])
    return entry, book


def drop(week: Week, rng: Random) -> None:
    at = rng.choice(lines_of(week))
    if rng.random() < 0.5 and week.entries[at]["playbook"] in week.hashes:
        book = week.hashes.index(week.entries[at]["playbook"])
        del week.books[book], week.hashes[book]
    del week.entries[at], week.lines[at]


def reorder(week: Week, rng: Random) -> None:
    one, other = rng.choice(lines_of(week)), rng.choice(lines_of(week))
    entries = week.entries
    dates = entries[one]["date"], entries[other]["date"]
    entries[one], entries[other] = entries[other], entries[one]
    if rng.random() < 0.8:
        entries[one]["date"], entries[other]["date"] = dates


def repeat(week: Week, rng: Random) -> None:
    """A line once more, or as a day on which some of its classes were driven."""
    at = rng.choice(lines_of(week))
    entry = json.loads(json.dumps(week.entries[at]))
    if rng.random() < 0.7 and entry["classes"]:
        entry.update(kind=rng.choice(["day", "replan"]), parent=None, refused=[])
        kept = rng.sample(entry["classes"], rng.randint(1, len(entry["classes"])))
        if rng.random() < 0.3 and len(kept[0]) > 1:
            kept[0] = kept[0][1:]
        seen = sorted(chain.from_iterable(kept))
        new = {old: number for number, old in enumerate(seen)}
        entry.update(
            places=[entry["places"][i] for i in seen],
            classes=[[new[i] for i in members] for members in kept],
            near=[[new[a], new[b]] for a, b in entry["near"] if a in new and b in new],
        )
        if "prior" in entry:
            entry["prior"] = [entry["prior"][i] for i in seen]
    where = rng.randint(at + 1, len(week.entries)) if rng.random() < 0.9 else at
    entry["date"] = week.entries[where - 1]["date"] if where else entry["date"]
    week.entries.insert(where, entry)
    week.lines.insert(where, week.lines[where - 1] if where else 0)


def other_trips(week: Week, rng: Random) -> None:
    """Another assumption, with or without what the playbooks say of it."""
    trips = rng.choice(["occasional", "expected", "listed"])
    week.first = {"format": "veilroute-ledger/1"} if trips == "listed" else week.first | {"trips": trips}
    if trips != "listed":
        week.first["format"] = "veilroute-ledger/2"
    if rng.random() < 0.8:
        for book in week.books:
            if "past" in book:
                book["past"]["trips"] = trips


def say(week: Week, rng: Random) -> None:
    """A word about two places, of this ledger or not."""
    places = [place for entry in week.entries if "playbook" in entry for place in entry["places"]]
    texts = sorted({place.get("name") or ",".join(map(str, place["label"])) for place in places} | {"Nobody"})
    where = rng.randint(0, len(week.entries))
    said = {"kind": rng.choice(["same", "different"]), "places": rng.sample(texts, 2), "date": "2026-11-01"}
    week.entries.insert(where, said)
    week.lines.insert(where, week.lines[where - 1] if where else 0)


def rename(week: Week, rng: Random) -> None:
    """Another name for a place, or that of another one, in a line and mostly in the playbook too."""
    entry, book = both_of(week, rng)
    place = rng.choice(entry["places"])
    name = rng.choice(["Elsewhere", "Place 0", "Place 1", "Place 2"])
    place["name"] = name
    if book is not None and rng.random() < 0.8:
        names = [[label, text] for label, text in book.get("names", []) if label != place["label"]]
        book["names"] = [*names, [place["label"], name]]


def regroup(week: Week, rng: Random) -> None:
    """Other classes, in a line and perhaps in the playbook, whose routes stay."""
    entry, book = both_of(week, rng)
    classes = entry["classes"]
    if len(classes) < 2:
        return
    one, other = rng.sample(range(len(classes)), 2)
    how = rng.choice(["swap", "over", "merge", "refuse"])
    hidden = [] if book is None else [group for group in book["classes"] if group["anonymized"]]
    in_book = book is not None and rng.random() < 0.7 and len(hidden) == len(classes)
    for groups in [classes, *([[group["members"] for group in hidden]] if in_book else [])]:
        if how == "swap":
            groups[one][0], groups[other][0] = groups[other][0], groups[one][0]
        elif how == "over" and len(groups[other]) > 1:
            groups[one].append(groups[other].pop())
        elif how == "merge" and groups is classes:
            groups[one] = groups[one] + groups[other]
            del groups[other]
            break
        elif how == "refuse" and groups is classes:
            entry["refused"] = sorted([*entry["refused"], *groups.pop(other)])
            if in_book:
                hidden[other]["anonymized"] = False
            break


def misstate(week: Week, rng: Random) -> None:
    """Something else of a line; another promise or assumption mostly in its playbook too."""
    entry, book = both_of(week, rng)
    num, places = len(entry["places"]), json.loads(json.dumps(entry["places"]))
    place = rng.choice(places)
    if rng.random() < 0.5 and "at" in place:
        place["at"][-1] += rng.choice([-1, 1])
    else:
        place.pop("at", None)
    promises = [{"ell": rng.choice([0, 1, 2, 5])}, {"m": rng.choice([None, 3, 8])}, {"spread": "all-pairs"}]
    promises += [{"risk": rng.choice([0.3, 0.55, 0.9])}] if "risk" in entry["privacy"] else [{"k": rng.choice([1, 3])}]
    other: dict[str, list[Any]] = {
        "near": [[*entry["near"], sorted(rng.choices(range(num), k=2))], entry["near"][:-1]],
        "prior": [[rng.choice([1.0, 2.0]) for _ in range(num)]],
        "kind": ["day", "replan"],
        "domain": ["0" * 64],
        "occasion": ["Monday"],
        "date": ["2026-10-31", "2026-11-02", "2027-01-01"],
        "refused": [[]],
        "parent": [None],
        "places": [places],
        "privacy": [entry["privacy"] | change for change in promises],
        "since": ["2026-11-01", "2026-11-02", entry["date"]],
    }
    name = rng.choice(["near", "places", *["privacy", "since"] * 3, *other])
    entry[name] = rng.choice(other[name])
    if book is not None and rng.random() < 0.8:
        if name == "privacy":
            book["privacy"].update(entry["privacy"])
        elif name == "since" and "past" in book:
            book["past"]["since"] = entry["since"]


def misremember(week: Week, rng: Random) -> None:
    """Something else of the past, in a playbook."""
    books = [book for book in week.books if "past" in book and book["past"]["left"]]
    if not books:
        return
    past = rng.choice(books)["past"]
    at = rng.randrange(len(past["left"]))
    own, others = past["left"][at]
    what = rng.choice(["drop", "alone", "fewer", "near", "trips", "none"])
    if what == "drop":
        del past["left"][at]
    elif what == "alone":
        past["left"][at] = [own, [own]]
    elif what == "fewer":
        past["left"].append([own, [own, *(each for each in others if each != own)][:-1] or [own]])
    elif what == "near":
        past["near"] = []
    elif what == "trips":
        past.pop("trips", None)
    else:
        past["ledger"] = None


TRICKS: list[Callable[[Week, Random], None]] = [
    *(drop, reorder, repeat, other_trips, say, rename, regroup),
    *([misstate] * 4),
    misremember,
]


# What is true.


def is_known(line: Data) -> bool:
    return line.get("kind") in ("same", "different")


def keeps_all(lines: list[Entry], trips: str, said: list[Identity], m: object = ...) -> bool:
    """Whether after each of some lines every promise (about m nodes) holds."""
    for num in range(1, len(lines) + 1):
        links = Links(lines[:num], trips, said)
        if any(links.is_broken(person, m) for person in range(len(links.people))):
            return False
    return True


def by_word(path: Path) -> bool:
    """Whether the promises of a ledger are kept, if all its lines are true."""
    first, *lines = (json.loads(line)["entry"] for line in path.read_text().splitlines())
    entries = [entry_from_dict(line) for line in lines if not is_known(line)]
    said = [Identity(line["kind"], tuple(line["places"]), line["date"]) for line in lines if is_known(line)]
    return keeps_all(entries, first.get("trips", "listed"), said)


def plain(entry: Entry) -> list[Any]:
    """What a line says, in an order of its own."""
    near = set(map(frozenset, entry.near))
    prior = None if entry.prior is None else [round(weight, 12) for weight in entry.prior]
    shown = [sorted(map(sorted, entry.classes)), sorted(entry.refused), near, prior, entry.shares, entry.parent]
    return [entry.domain, entry.trips, entry.privacy, entry.places, entry.since, *shown]


def by_routes(path: Path, books: list[vr.Playbook]) -> bool:
    """Whether all that a ledger and its playbooks say of each other is true, and every promise is kept."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    first, *lines = (row["entry"] for row in rows)
    trips = first.get("trips", "listed")
    book_of = {book.sha256: book for book in books}
    said = [Identity(line["kind"], tuple(line["places"]), line["date"]) for line in lines if is_known(line)]
    entries: list[Entry] = []
    for line in lines:
        if is_known(line):
            continue
        entry = entry_from_dict(line)
        book = book_of[entry.playbook]
        whole = line_of(book, entry)
        if entry.kind == "playbook":
            together = {pair for members in whole.classes for pair in combinations(sorted(members), 2)}
            told = replace(whole, near=tuple(pair for pair in whole.near if pair in together))
            if plain(entry) != plain(told) or (entry.occasion is not None and not entry.shares):
                return False
            entries.append(whole)
        else:
            place = {each: at for at, each in enumerate(whole.places)}
            groups = [{place[entry.places[i]] for i in members} for members in entry.classes]
            if not all(any(group <= set(members) for members in whole.classes) for group in groups):
                return False
            entries.append(entry)
    if not book_of.keys() <= {entry.playbook for entry in entries if entry.kind == "playbook"}:
        return False
    if any(not is_true_past(book, rows, trips) for book in books if book.past is not None):
        return False
    for m in {entry.privacy.m for entry in entries}:
        seen = [seen_of(book_of[each.playbook], each, m) if each.kind == "playbook" else each for each in entries]
        if not keeps_all(seen, trips, said, m):
            return False
    return True


def is_true_past(book: vr.Playbook, rows: list[Data], trips: str) -> bool:
    """Whether what a playbook says of the lines before it is what these leave."""
    past = book.past
    assert past is not None
    hashes = [row["sha256"] for row in rows]
    if past.ledger not in hashes or (past.trips or "listed") != trips:
        return False
    lines = [row["entry"] for row in rows[1 : hashes.index(past.ledger) + 1]]
    entries = [entry_from_dict(line) for line in lines if not is_known(line)]
    said = [Identity(line["kind"], tuple(line["places"]), line["date"]) for line in lines if is_known(line)]
    if any(entry.playbook == book.sha256 for entry in entries):
        return False
    today = line_of(book, replace(entry_from_dict(next(r["entry"] for r in rows[1:] if not is_known(r["entry"])))))
    links = Links([*entries, replace(today, classes=(), refused=(), shares=(), kind="day")], trips, said)
    label = {n: place.label for n, place in zip(links.numbers[-1], today.places, strict=True)}
    for own in label:
        linked = links.linked(own, past.since)

        def leave(some: tuple[int, ...], own: int = own) -> set[frozenset[Any]]:
            return {frozenset(label[other] for other in story if other in label) for story in links.stories(own, some)}

        whole = leave(tuple(linked)) if linked else set()
        subsets = chain.from_iterable(combinations(linked, num) for num in range(1, len(linked) + 1))
        possible = whole.union(*map(leave, subsets)) if book.privacy.risk is not None else whole
        stated = {frozenset(others) for owner, others in past.left if owner == label[own]}
        if not whole <= stated <= possible:
            return False
    near = {
        frozenset((label[numbers[a]], label[numbers[b]]))
        for entry, numbers in zip(entries, links.numbers, strict=False)
        for a, b in entry.near
        if past.since is None or entry.date >= past.since
        if {numbers[a], numbers[b]} <= label.keys()
    }
    return near == set(map(frozenset, past.near))


def is_true(judge: Callable[[], bool]) -> bool:
    """What the plain observer says; who cannot be told from others, or is not at hand, is not known to be safe."""
    try:
        return judge()
    except (UnclearError, KeyError, vr.VeilrouteError):
        return False


def try_forgery(name: str, seed: int, folder: Path) -> tuple[str, str]:
    """What the audit and the ledger's own check say of a forgery, after it was held against the plain observer."""
    rng = Random(f"{name} {seed}")
    week = honest(name).copy()
    for _ in range(rng.choice([1, 1, 2, 3])):
        if lines_of(week):
            rng.choice(TRICKS)(week, rng)
    path = folder / f"{seed}.jsonl"
    try:
        forge(week, path)
        books = week.playbooks()
    except vr.VeilrouteError:
        return "refused", "refused"
    report = None
    try:
        report = vr.audit_linked(books, ledger=path)
        verdict = report.verdict
    except vr.VeilrouteError:
        verdict = "refused"
    try:
        checked = "safe" if vr.read_ledger(path).check().safe else "not safe"
    except vr.VeilrouteError:
        checked = "refused"
    truth, by_itself = is_true(lambda: by_routes(path, books)), is_true(lambda: by_word(path))
    # The audit also asks of days in which order they come, and what else they say.
    is_refusal = verdict in ("unproved", "refused") or any(entry["kind"] in ("day", "replan") for entry in week.entries)
    assert truth if verdict == "holds" else is_refusal or not truth, f"{name}, {seed}: {verdict}"
    assert (checked == "safe") == by_itself or checked == "refused", f"{name}, {seed}: {checked}"
    is_short = report is not None and any(s and s.is_short for each in report.candidates for s in each.over_time)
    assert not is_short or verdict == "violated", f"{name}, {seed}: a ! in the table"
    return verdict, checked


def test_what_was_not_changed_is_accepted(tmp_path: Path) -> None:
    for name, (*_, is_linked) in WEEKS.items():
        week, path = honest(name).copy(), tmp_path / f"{name}.jsonl"
        forge(week, path)
        assert (vr.audit_linked(week.playbooks(), ledger=path).verdict == "holds") == is_linked
        assert by_routes(path, week.playbooks()) == by_word(path) == is_linked == vr.read_ledger(path).check().safe


def forgeries(seeds: range, folder: Path) -> None:
    found = Counter(try_forgery(list(WEEKS)[seed % len(WEEKS)], seed, folder) for seed in seeds)
    print(f"what audit and ledger say of {len(seeds)} forgeries: {dict(found)}")
    assert sum(num for (verdict, _), num in found.items() if verdict == "holds") > len(seeds) // 50
    assert sum(num for (verdict, _), num in found.items() if verdict == "violated") > len(seeds) // 5
    assert sum(num for (_, checked), num in found.items() if checked == "safe") > len(seeds) // 20
    assert sum(num for (_, checked), num in found.items() if checked == "not safe") > len(seeds) // 50


def test_what_is_accepted_of_forged_ledgers_is_true(tmp_path: Path) -> None:
    forgeries(range(NUM_QUICK), tmp_path)


@pytest.mark.slow
def test_what_is_accepted_of_many_forged_ledgers_is_true(tmp_path: Path) -> None:
    forgeries(range(NUM_QUICK, NUM_QUICK + NUM_FORGED), tmp_path)
