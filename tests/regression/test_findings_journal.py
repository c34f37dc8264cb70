"""Findings of the privacy review about ledgers: F3 and F15 (missing trips), F14 (the same doors under other names), and
what F9 and F12 have to do with them."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest

import veilroute as vr
from commands import Outcome
from linked_entries import entry
from reference import adjacency, distances
from veilroute.cli.main import run
from veilroute.entries import Place
from veilroute.jsontext import dump_canonical
from veilroute.linking import Linking

PEOPLE = ["Adams", "Baker", "Clark", "Davis", "Evans", "Frank", "Green", "Hayes", "Irwin"]
THREE = vr.Privacy(k=3)


def caterer() -> tuple[vr.Domain, dict[str, Any]]:
    """The town of docs/days.rst."""
    town = vr.generate_streets(6, 8, seed=4)
    return town, dict(zip(PEOPLE, vr.draw_candidates(town, 0, 20, 9, seed=5), strict=True))


def to_do(customers: list[str]) -> vr.Problem:
    town, home = caterer()
    return vr.Problem(
        town, [vr.Trip(0, 20)], [home[each] for each in customers], names={home[each]: each for each in customers}
    )


def driven_as(book: vr.Playbook, customers: list[str], without: str = "") -> vr.Playbook:
    """The same classes and routes for another list of customers; who is listed besides gets no route."""
    _, home = caterer()
    routes = [
        {
            "members": [each for each in group.members if each != home.get(without)],
            "route": list(group.route_of(group.members[0], 0).nodes),
        }
        for group in book.hidden_classes
    ]
    return vr.playbook_from_classes(to_do(customers), THREE, routes)


def old_ledger(path: Path) -> vr.Ledger:
    """A ledger of the first format, as the reviewed version makes it."""
    entry = {"format": "veilroute-ledger/1"}
    sha256 = hashlib.sha256(dump_canonical({"entry": entry, "previous": ""})).hexdigest()
    path.write_bytes(dump_canonical({"entry": entry, "previous": "", "sha256": sha256}))
    return vr.read_ledger(path)


def test_f15_a_place_that_was_hidden_and_is_refused_later_keeps_its_promise(tmp_path: Path) -> None:
    """Clark is refused on Friday: its Monday trip is identified, by the ledger's own rule."""
    monday = vr.solve(to_do(PEOPLE[:8]), THREE)
    friday = driven_as(monday, PEOPLE[:8], without="Clark")
    ledger = old_ledger(tmp_path / "old.jsonl").add(monday, day="2026-11-16")
    with pytest.raises(vr.UnsafeLedgerError) as caught:
        ledger.add(friday, day="2026-11-20")
    assert caught.value.names == ("Clark",)
    report = ledger.add(friday, day="2026-11-20", anyway=True).check()
    assert not report.safe
    assert [(each.name, len(each.left), each.is_hidden) for each in report.short] == [("Clark", 1, False)]


def test_f15_the_command_says_so_in_each_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Safe where a missing trip says nothing, broken where it shows; and what is printed agrees with the exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def command(*arguments: str) -> Outcome:
        return Outcome(run(list(arguments)), *capsys.readouterr())

    monday = vr.solve(to_do(PEOPLE[:8]), THREE)
    monday.write("monday.json")
    driven_as(monday, PEOPLE[:8], without="Clark").write("refused.json")
    driven_as(monday, [each for each in PEOPLE[:8] if each != "Clark"], without="Clark").write("unlisted.json")
    for trips, code in (("occasional", 0), ("expected", 1)):
        for friday in ("refused", "unlisted"):
            name = f"{trips}-{friday}.jsonl"
            assert command("ledger", "new", name, "--trips", trips).code == 0
            assert command("ledger", "add", name, "monday.json", "--date", "2026-11-16").code == 0
            asked = command("ledger", "add", name, f"{friday}.json", "--date", "2026-11-20")
            assert (asked.code, "Clark" in asked.err) == (code, code == 1)
            if code:
                command("ledger", "add", name, f"{friday}.json", "--date", "2026-11-20", "--anyway")
            checked = command("ledger", "check", name)
            assert checked.code == code
            assert checked.out.startswith("NOT SAFE" if code else "Safe")
            assert f"(trips: {trips})." in checked.out
            assert ("broken on 2026-11-20" in checked.out) == bool(code)


def test_f3_a_newcomer_is_not_listed_or_is_refused_and_the_street_looks_the_same(tmp_path: Path) -> None:
    """The two Mondays differ in the list alone. Each assumption gives one verdict of both."""
    monday = vr.solve(to_do(PEOPLE[:8]), THREE)
    listed = driven_as(monday, PEOPLE)
    _, home = caterer()
    groups = [["Adams", "Evans", "Hayes", "Irwin"], ["Baker", "Clark", "Davis", "Frank", "Green"]]
    routes = []
    for group in groups:
        alone = vr.solve(to_do(group), vr.Privacy(k=len(group)))
        routes.append({"members": [home[each] for each in group], "route": list(alone.route_for(home[group[0]]).nodes)})
    tuesday = vr.playbook_from_classes(to_do(PEOPLE), THREE, routes)
    verdicts = {}
    for trips in ("occasional", "expected"):
        for number, first in enumerate((monday, listed)):
            ledger = vr.new_ledger(tmp_path / f"{trips}{number}.jsonl", trips=trips).add(first, day="2026-11-16")
            report = ledger.add(tuesday, day="2026-11-17", anyway=True).check()
            irwin = next(each for each in report.candidates if each.name == "Irwin")
            verdicts[trips, number] = (report.safe, len(irwin.left))
    assert verdicts == {
        ("occasional", 0): (True, 4), ("occasional", 1): (True, 4),
        ("expected", 0): (False, 1), ("expected", 1): (False, 1),
    }  # fmt: skip


def street(number: int, name: str, moved_m: float = 0.0) -> Place:
    """A place of a street of doors that are 400 m apart."""
    spot = ("earth", 24.94, round(60.17 + (400 * number + moved_m) / 111_194.9, 6))
    return Place(f"{name} {number}", None, spot)


@pytest.mark.parametrize("domain", ["a map", "another map"])
def test_f14_the_same_doors_under_other_names_are_the_same(tmp_path: Path, domain: str) -> None:
    """An office exports its list again, with numbers for names and another geocoder: nobody is new."""
    ledger = vr.new_ledger(tmp_path / "ledger.jsonl")
    monday = entry("ab cd", places=tuple(street(at, "Customer") for at in range(4)))
    ledger = ledger.enter(monday)
    tuesday = entry("ac bd", places=tuple(street(at, "No.", 8 + at) for at in range(4)), domain=domain, day=2)
    with pytest.raises(vr.UnsafeLedgerError) as caught:
        ledger.enter(tuesday)
    assert caught.value.names == ("No. 0", "No. 1", "No. 2", "No. 3")
    report = ledger.enter(tuesday, anyway=True).check()
    assert len(report.candidates) == 4
    assert [len(each.left) for each in report.candidates] == [1] * 4


def test_f12_deciding_who_stands_apart_has_a_bound_on_its_effort() -> None:
    """120 places in 12 clusters, 13 of which should stand apart: plain backtracking would not end."""
    places = [f"p{at:03}" for at in range(120)]
    near = tuple((a, b) for a in range(120) for b in range(a + 1, 120) if a % 12 == b % 12)
    usual = replace(entry("ab"), places=tuple(map(Place, places)), classes=(tuple(range(120)),), near=near)
    for k, is_kept in ((12, True), (13, False)):
        linking = Linking([replace(usual, privacy=vr.Privacy(k=k, ell=9))])
        assert (linking.broken(0) is None) == is_kept


@pytest.mark.parametrize("seed", range(6))
def test_f9_a_playbook_under_a_risk_can_be_extended_and_keeps_its_promise(seed: int) -> None:
    """With balls a longer beginning could raise a risk, and was refused. Areas are tried one by one here."""
    rng = Random(seed)
    domain = vr.generate_rooms(12, 14, seed=seed)
    labels = [domain.label(node) for node in range(domain.num_nodes)]
    start, goal, *places = rng.sample(labels, 10)
    prior = [rng.choice([1.0, 2.0]) for _ in places]
    problem = vr.Problem(domain, [vr.Trip(start, goal)], places, prior=prior)
    book = vr.solve(problem, vr.Privacy(risk=0.5, ell=3, m=rng.choice([2, 4])))
    before = [label for label in labels if label not in places and math.dist(label, start) == 1][:1]  # type: ignore[arg-type]
    longer = vr.extend_playbook(book, before=[*before, start])
    assert vr.audit(longer).holds

    hidden = [label for group in longer.hidden_classes for label in group.members]
    seen = {label: tuple(longer.route_for(label).nodes)[: longer.privacy.m] for label in hidden}
    weight = dict(zip(places, prior, strict=True))
    graph = adjacency(domain)
    far = {one: distances(graph, domain.node(one)) for one in hidden}
    for shown in set(seen.values()):
        group = [label for label in hidden if seen[label] == shown]
        for size in range(1, len(group) + 1):
            for area in combinations(group, size):
                if all(far[one][domain.node(other)] < 3 for one, other in combinations(area, 2)):
                    total = sum(weight[label] for label in group)
                    assert sum(weight[label] for label in area) <= 0.5 * total * (1 + 1e-9)


def test_f5_a_ledger_counts_doors_and_not_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two names at one door are left of a place: one place, in the table and in the plain data."""
    names = ["a", "b", "c", "d"]
    usual = replace(entry("abcd"), privacy=vr.Privacy(k=2), places=tuple(Place(name) for name in names))
    first = replace(usual, classes=((0, 1, 2, 3),), near=((0, 1), (2, 3)))
    second = replace(usual, date="2026-11-17", playbook="f" * 64, classes=((0, 1), (2, 3)), near=((0, 1), (2, 3)))
    path = tmp_path / "week.jsonl"
    vr.new_ledger(path).enter(first).enter(second, anyway=True)
    report = vr.read_ledger(path).check()
    assert [(len(each.left), each.num_left, each.qualifies) for each in report.candidates] == [(2, 1, False)] * 4
    assert run(["ledger", "check", str(path), "--json"]) == 1
    assert [each["num_left"] for each in json.loads(capsys.readouterr().out)["candidates"]] == [1] * 4


def test_f12_doubled_rings_are_decided() -> None:
    """Eight rings of five, each place twice: 16 can be apart and not 17; all 80 members ask the same question."""
    near = tuple(
        (10 * ring + a, 10 * ring + b)
        for ring in range(8)
        for a in range(10)
        for b in range(a + 1, 10)
        if (a // 2 - b // 2) % 5 in (0, 1, 4)
    )
    usual = replace(entry("ab"), places=tuple(Place(f"p{at:02}") for at in range(80)), near=near)
    for k, is_kept in ((16, True), (17, False)):
        linking = Linking([replace(usual, classes=(tuple(range(80)),), privacy=vr.Privacy(k=k, ell=9))])
        assert all((linking.broken(person) is None) == is_kept for person in range(80))
        assert not linking.undecided


def test_f12_entering_a_playbook_says_what_it_assumes_of_earlier_days(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trips before Friday are said not to be linked: `ledger add` says so, and who pays if they are."""
    monkeypatch.chdir(tmp_path)
    domain = vr.grid_domain(["." * 12] * 3)
    places = [(2, 1), (2, 4), (2, 7), (2, 10)]
    problem = vr.Problem(domain, [vr.Trip((0, 0), (0, 11))], places)

    def book(groups: list[list[tuple[int, int]]], problem: vr.Problem) -> vr.Playbook:
        classes = [{"members": each, "route": vr.cover(problem, each).walk} for each in groups]
        return vr.playbook_from_classes(problem, vr.Privacy(k=2), classes)

    ledger = vr.new_ledger("week.jsonl").add(book([places[:2], places[2:]], problem), day="2026-11-16")
    past = ledger.past(problem, vr.Privacy(k=2), since="2026-11-20")
    book([places[::2], places[1::2]], replace(problem, past=past)).write("friday.json")
    assert run(["ledger", "add", "week.jsonl", "friday.json", "--date", "2026-11-20"]) == 0
    told = capsys.readouterr().err
    assert "assumes that trips before 2026-11-20 cannot be linked" in told
    assert "earlier promises to 2,1 2,4 2,7 2,10 are broken" in " ".join(told.split())
