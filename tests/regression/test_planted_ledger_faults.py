"""Ledgers and playbooks planned under them, changed by somebody who makes all hashes anew: what is false is refuted.

Each mutant is an honest week with one thing changed. Those that stay true must pass.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

import veilroute as vr
from ledger_weeks import Data, Week, forge, plan_week, random_days, read_week
from veilroute import playbook_from_json

Mutant = tuple[str, Week]

PRIVACIES = {
    "k=2": (vr.Privacy(k=2, ell=3), 9, 1),
    "k=3": (vr.Privacy(k=3), 10, 2),
    "all pairs": (vr.Privacy(k=2, ell=4, spread="all-pairs"), 8, 3),
    "first nodes": (vr.Privacy(k=2, ell=2, m=6), 8, 4),
    "risk": (vr.Privacy(risk=0.5, ell=3), 8, 5),
    "certified": (vr.Privacy(k=2, ell=3), 18, 6),
}
DRAWN = vr.Privacy(k=2, mechanism="randomised")


@cache
def honest(name: str) -> Week:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.jsonl"
        if name == "drawn":
            problem = random_days(Random(1), DRAWN, 7, 1, has_prior=True)[0]
            book = vr.solve(problem, DRAWN)
            vr.new_ledger(path).add(book, day="2026-11-01", occasion="Monday")
            return read_week(path, [book])
        privacy, num, seed = PRIVACIES[name]
        return read_week(path, plan_week(path, random_days(Random(seed), privacy, num, 4), privacy))


def verdict_of(week: Week, folder: Path) -> str:
    """What comes of a week: one that cannot be read is refuted as well."""
    path = folder / "ledger.jsonl"
    path.unlink(missing_ok=True)
    try:
        forge(week, path)
        return vr.audit_linked(week.playbooks(), ledger=path).verdict
    except vr.VeilrouteError:
        return "violated"


def changed_entry(entry: Data, rng: Random) -> Iterator[tuple[str, Callable[[Data], object]]]:
    """What may be changed in an entry, all of it false."""
    classes = entry["classes"]
    hidden = [member for members in classes for member in members]
    if len(classes) > 1:
        yield "all look the same", lambda e: e.update(classes=[hidden])
        if classes[0][0] != classes[1][0]:
            yield "two members change places", lambda e: _swap(e["classes"])
        yield "a member goes over", lambda e: e["classes"][0].append(e["classes"][1].pop())
        yield "two classes are one", lambda e: e["classes"].append(e["classes"].pop() + e["classes"].pop())
        yield "a class is missing", lambda e: e["classes"].pop()
    if classes:
        yield "a class falls apart", lambda e: e["classes"].append([e["classes"][0].pop()])
        yield "a class is refused", lambda e: e["refused"].extend(e["classes"].pop())
    if entry["refused"]:
        yield "nobody is refused", lambda e: e.update(refused=[])
        yield "a refused one is hidden", lambda e: e["classes"][0].append(e["refused"].pop())
    if entry["near"]:
        yield "a near pair is dropped", lambda e: e["near"].pop()
    pairs = {tuple(pair) for pair in entry["near"]}
    apart = [(a, b) for a in hidden for b in hidden if a < b and (a, b) not in pairs]
    yield "a near pair is made up", lambda e: e["near"].append(list(rng.choice(apart)))
    yield "other coordinates", lambda e: e["places"][0]["at"].__setitem__(-1, e["places"][0]["at"][-1] + 1)
    yield "no coordinates", lambda e: e["places"][1].pop("at")
    yield "another name", lambda e: e["places"][0].update(name="Elsewhere")
    yield "two places change labels", lambda e: _swap_labels(e["places"])
    yield "another map", lambda e: e.update(domain="0" * 64)
    yield "other trips", lambda e: e["trips"].reverse() or e["trips"][0].reverse()
    yield "less is promised", lambda e: e["privacy"].update(ell=0.5)
    yield "more is promised", lambda e: e["privacy"].update(ell=99)
    yield "another m", lambda e: e["privacy"].update(m=3 if e["privacy"]["m"] is None else None)
    yield "since is assumed", lambda e: e.update(since="2026-11-03")
    yield (
        "an occasion",
        lambda e: e.update(occasion=None if "shares" in e else "x", kind="trip" if "shares" in e else e["kind"]),
    )
    yield "no playbook", lambda e: e.update(kind="replan")
    yield "another playbook", lambda e: e.update(playbook="1" * 64)
    yield "a prior", lambda e: e.update(prior=[i + 1.0 for i in range(len(e["places"]))])
    yield "another parent", lambda e: e.update(parent="2" * 64)
    if entry["parent"] is not None:
        yield "no parent", lambda e: e.update(parent=None)
    if "risk" not in entry["privacy"]:
        yield "another k", lambda e: e["privacy"].update(k=e["privacy"]["k"] + 1)
        yield "k is 1", lambda e: e["privacy"].update(k=1)
    else:
        yield "another risk", lambda e: e["privacy"].update(risk=0.49, k=3)
    if "shares" in entry:
        yield "other shares", lambda e: e["shares"][0].__setitem__(0, e["shares"][0][0] / 2)
        yield "no shares", lambda e: e.pop("shares")


def changed_past(past: Data, book: Data, rng: Random) -> Iterator[tuple[str, Callable[[Data], object]]]:
    """What may be changed in what a playbook says of the past, all of it false."""
    ends = {str(end) for trip in book["trips"] for end in (trip["start"], trip["goal"])}
    counted = [label for label in book["candidates"] if str(label) not in ends]
    lines = past["left"]
    at = rng.randrange(len(lines))
    yield "a line is dropped", lambda p: p["left"].pop(at)
    yield "all lines are dropped", lambda p: p.update(left=[])
    shrinking = [i for i, (own, others) in enumerate(lines) if others != [own]]
    if shrinking:
        i = rng.choice(shrinking)
        yield "a line is one alone", lambda p: p["left"].__setitem__(i, [p["left"][i][0], [p["left"][i][0]]])
    growing = [i for i, (_, others) in enumerate(lines) if len(others) < len(counted)]
    if growing:
        wider = rng.choice(growing)
        yield "a line holds everybody", lambda p: p["left"].__setitem__(wider, [p["left"][wider][0], counted])
    if past.get("near"):
        yield "a near pair is dropped", lambda p: p.update(near=_without_last(p["near"]))
        yield "no near pairs", lambda p: p.pop("near")
    known = [sorted(map(str, pair)) for pair in past.get("near", [])]
    pair = next([a, b] for a in counted for b in counted if str(a) < str(b) and sorted(map(str, (a, b))) not in known)
    yield "a near pair is made up", lambda p: p.update(near=[*p.get("near", []), pair])
    yield "since is assumed", lambda p: p.update(since="2026-12-01")
    yield "no ledger", lambda p: p.update(ledger=None)
    yield "another ledger", lambda p: p.update(ledger="3" * 64)


def planted() -> Iterator[Mutant]:
    """Weeks of which none is true."""
    for name in (*PRIVACIES, "drawn"):
        rng = Random(name)
        week = honest(name)
        for day, entry in enumerate(week.entries):
            for what, change in changed_entry(entry, rng):
                mutant = week.copy()
                change(mutant.entries[day])
                yield f"{name}, entry {day}: {what}", mutant
            mutant = week.copy()
            del mutant.entries[day], mutant.lines[day]
            yield f"{name}, entry {day}: is missing", mutant
        for day, book in enumerate(week.books):
            if "past" not in book:
                continue
            for what, change in changed_past(book["past"], book, rng):
                mutant = week.copy()
                change(mutant.books[day]["past"])
                # The forger's entry says the same, as far as entries do.
                mutant.entries[day]["parent"] = mutant.books[day]["past"]["ledger"]
                if "since" in mutant.books[day]["past"]:
                    mutant.entries[day]["since"] = mutant.books[day]["past"]["since"]
                yield f"{name}, past of {day}: {what}", mutant


def harmless() -> Iterator[Mutant]:
    """Weeks that say the same in other words."""
    for name in (*PRIVACIES, "drawn"):
        yield f"{name}, as it was", honest(name).copy()
        for day in range(len(honest(name).entries)):
            mutant = honest(name).copy()
            entry, book = mutant.entries[day], mutant.books[day]
            if "shares" not in entry:
                entry["classes"] = [members[::-1] for members in entry["classes"][::-1]]
            entry["refused"].reverse()
            entry["near"] = [pair[::-1] for pair in entry["near"][::-1]]
            if "past" in book:
                book["past"]["left"] = [[own, others[::-1]] for own, others in book["past"]["left"][::-1]]
            yield f"{name}, day {day} in another order", mutant
            mutant = honest(name).copy()
            for entry in mutant.entries[day:]:
                entry["date"] = "2027" + entry["date"][4:]
            yield f"{name}, from day {day} on a year later", mutant


def _swap(classes: list[list[int]]) -> None:
    classes[0][0], classes[1][0] = classes[1][0], classes[0][0]


def _without_last(pairs: list[list[object]]) -> list[list[object]]:
    """All pairs but the last, which may be named twice."""
    last = sorted(map(str, pairs[-1]))
    return [pair for pair in pairs if sorted(map(str, pair)) != last]


def _swap_labels(places: list[Data]) -> None:
    places[0]["label"], places[1]["label"] = places[1]["label"], places[0]["label"]


def changed_claims(name: str) -> Iterator[tuple[str, Data]]:
    """Playbooks planned under a past that say something false about it, or about what is best after it."""
    rng = Random(name)
    for day, book in enumerate(honest(name).books[1:], 1):

        def mutant(what: str, book: Data = book, day: int = day) -> tuple[str, Data]:
            return f"{name}, {day}: {what}", copy.deepcopy(book)

        hidden = [group for group in book["classes"] if group["anonymized"]]
        figure = "expected_mac" if "risk" in book["privacy"] else "mac"
        for factor in (0.5, 1 - 1e-6, 1 + 1e-6, 2.0):
            if book["claims"].get(figure):
                what, data = mutant(f"{figure} and its bound times {factor}")
                data["claims"][figure] *= factor
                data["claims"][f"{figure}_lower_bound"] *= factor
                yield what, data
        for count in ("num_anonymized", "num_anonymizable", "num_coverable"):
            for change in (-1, 1):
                if book["claims"].get(count) is not None:
                    what, data = mutant(f"{count} {change:+}")
                    data["claims"][count] += change
                    yield what, data
        for group in hidden:
            what, data = mutant("nobody else is left of a member")
            own = group["members"][0]
            data["past"]["left"] = [[own, [own]], *(line for line in data["past"]["left"] if line[0] != own)]
            yield what, data
            what, data = mutant("all of a class stood near each other")
            pairs = [[a, b] for a, b in combinations(group["members"], 2)]
            data["past"]["near"] = [*data["past"].get("near", []), *pairs]
            yield what, data
        if len(hidden) > 1:
            what, data = mutant("a class is given up")
            next(group for group in data["classes"] if group["anonymized"])["anonymized"] = False
            yield what, data
            what, data = mutant("two members change places, routes stay")
            one, other = [group for group in data["classes"] if group["anonymized"]][:2]
            one["members"][0], other["members"][0] = other["members"][0], one["members"][0]
            yield what, data
        if "certificate" in book and book["certificate"] is not None:
            for at in rng.sample(range(len(book["certificate"]["members"])), 4):
                what, data = mutant(f"price {at} is higher, and so is the bound")
                data["certificate"]["cost"]["duals"][at] += 0.2
                data["certificate"]["bound"] += 0.2
                yield what, data
            what, data = mutant("no certificate")
            data["certificate"] = None
            yield what, data
            what, data = mutant("somebody is not priced")
            data["certificate"]["members"].pop()
            data["certificate"]["cost"]["duals"].pop()
            yield what, data


def audit_of(data: Data, ledger: Path) -> str:
    try:
        return vr.audit(playbook_from_json(json.dumps(data).encode()), ledger=ledger).verdict
    except vr.VeilrouteError:
        return "violated"


@pytest.mark.parametrize(
    "name",
    [
        "first nodes",
        "risk",
        pytest.param("all pairs", marks=pytest.mark.slow),
        pytest.param("k=2", marks=pytest.mark.slow),
        pytest.param("k=3", marks=pytest.mark.slow),
        pytest.param("certified", marks=pytest.mark.slow),
    ],
)
def test_false_claims_after_earlier_trips_are_refuted(name: str, tmp_path: Path) -> None:
    week, path = honest(name), tmp_path / "ledger.jsonl"
    forge(week.copy(), path)
    assert [audit_of(book, path) for book in week.books] == ["holds"] * len(week.books)
    mutants = list(changed_claims(name))
    assert len(mutants) >= 20
    assert not [what for what, data in mutants if audit_of(data, path) != "violated"]


def refute(mutants: list[Mutant], folder: Path) -> None:
    missed = [what for what, week in mutants if verdict_of(week, folder) != "violated"]
    assert not missed


def test_what_is_false_is_refuted(tmp_path: Path) -> None:
    refute(list(planted())[::30], tmp_path)


@pytest.mark.slow
def test_all_that_is_false_is_refuted(tmp_path: Path) -> None:
    mutants = list(planted())
    assert len(mutants) >= 300
    refute(mutants, tmp_path)


def test_what_is_true_passes(tmp_path: Path) -> None:
    wrong = [(what, verdict) for what, week in harmless() if (verdict := verdict_of(week, tmp_path)) != "holds"]
    assert not wrong
