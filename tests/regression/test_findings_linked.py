"""Findings of the privacy reviews about linked trips: each was accepted, by the ledger or the auditor, or took hours.

F2 (draws named twice), F3 and F15 (missing trips), F5 (doors and names), F9 (areas), F12 (effort, and what is assumed),
F14 (the same doors under other names).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

import veilroute as vr
from closed_roads import change_domain
from commands import Command, Outcome
from drawn_books import triangle_book
from ledger_weeks import append_line, write_chain
from linked_entries import Entry, Linking, Place, entry, plan, town
from plain_links import Links, UnclearError, gap
from street_samples import little_town
from veilroute.auditing import Observer, see_entry
from veilroute.cli import run

TOWN = vr.generate_streets(6, 8, seed=4)
PEOPLE = ["Adams", "Baker", "Clark", "Davis", "Evans", "Frank", "Green", "Hayes", "Irwin"]
HOME = dict(zip(PEOPLE, vr.draw_candidates(TOWN, 0, 20, 9, seed=5), strict=True))
SIXTY = vr.Privacy(k=2, ell=60)
MONDAY = ["Adams Evans Hayes", "Baker Clark Davis Frank Green"]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        return Outcome(run(list(map(str, arguments))), *capsys.readouterr())

    return call


def book_of(problem: vr.Problem, privacy: vr.Privacy, groups: Sequence[Sequence[object]]) -> vr.Playbook:
    """A playbook with these classes, each with its cheapest route."""
    classes = []
    for members in groups:
        alone = vr.solve(replace(problem, candidates=members), vr.Privacy(k=len(members)))
        classes.append({"members": members, "route": list(alone.classes[0].shared(0))})
    return vr.playbook_from_classes(problem, privacy, classes)


def caterer(people: Sequence[str], classes: Sequence[str], k: int = 3) -> vr.Playbook:
    """A day of the caterer of docs/days.rst; customers in none of the classes are listed and get no route."""
    names = {HOME[each]: each for each in people}
    problem = vr.Problem(TOWN, [vr.Trip(0, 20)], [HOME[each] for each in people], names=names)
    groups = [[HOME[each] for each in members.split()] for members in classes]
    return book_of(problem, vr.Privacy(k=k), groups)


def routes(book: vr.Playbook) -> list[tuple[object, ...]]:
    """What is seen of a playbook on the street."""
    return sorted(tuple(group.shared(0)) for group in book.hidden_classes)


WITHOUT_CLARK = ["Adams Evans Hayes", "Baker Davis Frank Green"]
TUESDAY = ["Adams Evans Hayes Irwin", "Baker Clark Davis Frank Green"]


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize("trips", ["occasional", "expected", "listed"])
def test_f15_a_place_that_was_hidden_and_has_no_route_later_keeps_its_promise(
    command: Command, trips: str, is_listed: bool
) -> None:
    """Clark has no route on Friday: its Monday trip is identified, where a missing trip shows.

    A ledger of the first format takes it for shown if Clark is listed. The ledger, its check and the auditor agree; no
    broken promise stands below "all claims hold".
    """
    monday = caterer(PEOPLE[:8], MONDAY)
    friday = caterer([each for each in PEOPLE[:8] if is_listed or each != "Clark"], WITHOUT_CLARK)
    first = {"format": "veilroute-ledger/1"} if trips == "listed" else {"format": "veilroute-ledger/2", "trips": trips}
    write_chain(Path("ledger.jsonl"), [], first)
    is_broken = trips == "expected" or (trips == "listed" and is_listed)
    ledger = vr.read_ledger("ledger.jsonl").add(monday, day="2026-11-16")
    for name, book in (("monday.json", monday), ("friday.json", friday)):
        book.write(name)
    asked = command("ledger", "add", "ledger.jsonl", "friday.json", "--date", "2026-11-20")
    assert (asked.code, "Clark" in asked.err) == (is_broken, is_broken)
    if is_broken:
        with pytest.raises(vr.UnsafeLedgerError) as caught:
            ledger.add(friday, day="2026-11-20")
        assert caught.value.names == ("Clark",)
        ledger.add(friday, day="2026-11-20", anyway=True)
    report = vr.read_ledger("ledger.jsonl").check()
    short = [(each.name, len(each.left), each.is_hidden, each.since) for each in report.short]
    # Where the last list does not have Clark, the last that does hides it.
    assert short == ([("Clark", 1, not is_listed, "2026-11-20")] if is_broken else [])
    assert command("ledger", "check", "ledger.jsonl").code == is_broken
    audited = command("audit", "monday.json", "friday.json", "--ledger", "ledger.jsonl", "--strict")
    assert audited.code == is_broken
    if trips != "listed":
        alone = vr.audit_linked([monday, friday], trips=trips)
        assert (alone.verdict, alone.to_dict()["trips"]) == ("violated" if is_broken else "holds", trips)
        clark = next(each for each in alone.candidates if each.name == "Clark")
        assert [step and step.num_left for step in clark.over_time] == [5, 1 if is_broken else 5]


def test_f2_a_randomised_playbook_that_is_named_twice_is_drawn_twice(tmp_path: Path, command: Command) -> None:
    """One draw leaves two places, two draws leave one; the second was dropped."""
    book = triangle_book()
    once, twice = vr.audit_linked([book]), vr.audit_linked([book, book])
    assert (once.verdict, len(once.playbooks)) == ("holds", 1)
    assert (twice.verdict, len(twice.playbooks)) == ("violated", 2)
    assert twice.playbooks[-1].num_identified == 3
    book.write(tmp_path / "r.json")
    assert command("audit", tmp_path / "r.json", tmp_path / "r.json", "--strict").code == 1
    vr.new_ledger(tmp_path / "ledger.jsonl").add(book, day="2026-11-16", occasion="week 47")
    assert vr.audit_linked([book, book], ledger=tmp_path / "ledger.jsonl").verdict == "holds"
    sure = vr.audit_linked([caterer(PEOPLE[:8], MONDAY)] * 3)
    assert (sure.verdict, [each.smallest_left for each in sure.playbooks]) == ("holds", [3, 3, 3])


def test_f3_what_looks_the_same_on_the_street_gets_the_same_verdict(tmp_path: Path) -> None:
    """Irwin joins on Tuesday. Whether Monday's list had it, without a route, is the same to who watches."""
    unlisted, refused, tuesday = caterer(PEOPLE[:8], MONDAY), caterer(PEOPLE, MONDAY), caterer(PEOPLE, TUESDAY)
    assert routes(unlisted) == routes(refused)
    for trips, verdict, left in (("occasional", "holds", 4), ("expected", "violated", 1)):
        for number, monday in enumerate((unlisted, refused)):
            assert vr.audit_linked([monday, tuesday], trips=trips).verdict == verdict
            ledger = vr.new_ledger(tmp_path / f"{trips}{number}.jsonl", trips=trips).add(monday, day="2026-11-16")
            report = ledger.add(tuesday, day="2026-11-17", anyway=True).check()
            irwin = next(each for each in report.candidates if each.name == "Irwin")
            assert (report.safe, len(irwin.left)) == (verdict == "holds", left)


def test_f3_newcomers_are_hidden_among_newcomers() -> None:
    monday = caterer(PEOPLE[:6], ["Adams Evans Frank", "Baker Clark Davis"])
    tuesday = caterer(PEOPLE, ["Adams Evans Frank", "Baker Clark Davis", "Green Hayes Irwin"])
    assert vr.audit_linked([monday, tuesday], trips="expected").verdict == "holds"
    mixed = caterer(PEOPLE, ["Adams Evans Frank Green", "Baker Clark Davis Hayes Irwin"])
    assert vr.audit_linked([monday, mixed], trips="expected").verdict == "violated"


def test_f3_the_assumption_is_in_the_json(command: Command) -> None:
    caterer(PEOPLE[:8], MONDAY).write("a.json")
    caterer(PEOPLE, TUESDAY).write("b.json")
    for options, trips, code in (((), "occasional", 0), (("--trips", "expected"), "expected", 1)):
        done = command("audit", "a.json", "b.json", *options, "--json")
        assert (done.code, json.loads(done.out)["trips"]) == (code, trips)
    vr.new_ledger("ledger.jsonl")
    for words in (("a.json", "b.json", "--trips", "listed"), ("--ledger", "ledger.jsonl", "--trips", "expected")):
        assert command("audit", *words).code == 2


def cells(rows: int, places: dict[str, tuple[int, int]], groups: Sequence[str], ell: float) -> vr.Playbook:
    domain = vr.grid_domain(["." * 12] * rows)
    names: dict[object, str] = {place: name for name, place in places.items()}
    problem = vr.Problem(domain, [vr.Trip((0, 0), (0, 11))], list(places.values()), names=names)
    classes = [[places[name] for name in group.split()] for group in groups]
    return book_of(problem, vr.Privacy(k=2, ell=ell), classes)


def test_f14_the_same_doors_under_other_names_and_a_little_off_keep_their_history() -> None:
    """An office exports its list again, with numbers for names and another geocoder: nobody had a history then."""
    doors = {"Adams": (2, 1), "Baker": (2, 5), "Clark": (2, 9), "Davis": (4, 3)}
    monday = cells(6, doors, ["Adams Baker", "Clark Davis"], ell=2)
    moved = {f"Customer {at}": (row, col + 1) for at, (row, col) in enumerate(doors.values())}
    closed = ["." * 12] * 5 + ["." * 11 + "@"]  # another map of the same size
    names: dict[object, str] = {place: name for name, place in moved.items()}
    problem = vr.Problem(vr.grid_domain(closed), [vr.Trip((0, 0), (0, 11))], list(moved.values()), names=names)
    first, second, third, fourth = moved.values()
    tuesday = book_of(problem, vr.Privacy(k=2, ell=2), [[first, third], [second, fourth]])
    report = vr.audit_linked([monday, tuesday])
    assert report.verdict == "violated"
    assert len(report.candidates) == 4 and report.playbooks[-1].num_identified == 4
    assert len(report.matched) == 4
    same = book_of(problem, vr.Privacy(k=2, ell=2), [[first, second], [third, fourth]])
    assert vr.audit_linked([monday, same]).verdict == "holds"


def numbered(spots_m: Sequence[float], classes: str, day: int, *, ell: float = 0.0, names: str = "Customer") -> Entry:
    """A list of doors along a street, numbered in its order; each day is another map."""
    measure = "straight" if ell else "cost"
    places = tuple(
        Place(f"{names} {at + 1}", None, ("earth", 24.94, round(60.17 + metres / 111_194.9, 6)))
        for at, metres in enumerate(spots_m)
    )
    privacy = vr.Privacy(k=2, ell=ell, measure=measure)
    return entry(classes, places=places, privacy=privacy, domain=f"map {day}", day=day)


def refusals(days: Sequence[Entry]) -> list[str]:
    """What the ledger and the auditor say of the last day, each with code of its own; the plain reference agrees."""
    observer = Observer()
    for each in days[:-1]:
        observer.link(see_entry(each))
    said = []
    for look in (lambda: Linking(days), lambda: observer.link(see_entry(days[-1]))):
        try:
            look()
        except vr.InvalidInputError as error:
            said.append(str(error))
    try:
        Links(days, "occasional")
        assert not said
    except UnclearError:
        assert len(said) == 2
    return said


@pytest.mark.parametrize("ell", [0, 60, 300])
@pytest.mark.parametrize("apart", [30, 90, 200, 240])
def test_f14_a_list_that_was_numbered_again_is_refused(apart: int, ell: float) -> None:
    """A new customer at the front: each other door has the name that its neighbour had, and is geocoded 9 m off."""
    doors = [apart * at for at in range(5)]
    monday = numbered(doors[1:], "ab cd", 1, ell=ell)
    tuesday = numbered([door + 9 for door in doors], "ab cde", 2, ell=ell)
    by_ledger, by_auditor = refusals([monday, tuesday])
    assert 'veilroute ledger different FILE "Customer' in by_ledger and "use new names" in by_ledger
    assert 'veilroute ledger different FILE "Customer' in by_auditor
    # With new names it is plain who is who: by doors two are left alone.
    renamed = numbered([door + 9 for door in doors], "ab cde", 2, ell=ell, names="Client")
    assert refusals([monday, renamed]) == []
    linking = Linking([monday, renamed])
    assert [len(linking.left(person)) for person in range(4)] == [1, 1, 2, 2]


def test_f14_a_place_that_moved_to_where_nobody_was_is_known_by_its_name() -> None:
    monday = numbered([0, 1000, 2000, 3000], "ab cd", 1)
    assert refusals([monday, numbered([0, 1100, 2000, 3040], "ab cd", 2)]) == []
    linking = Linking([monday, numbered([0, 1100, 2000, 3040], "ab cd", 2)])
    assert [each.text for each in linking.roster.turnovers[-1].moved] == ["Customer 2 (100 m)"]
    # The neighbour is still there, and nearer to its own spot: no list that was numbered again.
    assert refusals([monday, numbered([0, 1000, 2000, 2990], "ab cd", 3)]) == []
    close = numbered([0, 30, 2000, 3000], "ab cd", 1)
    assert refusals([close, numbered([2, 12, 2000, 3000], "ab cd", 2)]) == []
    # Two doors of many that have exchanged their names within 50 m are not told from a list that was geocoded again.
    assert refusals([close, numbered([40, 12, 2000, 3000], "ab cd", 2)]) == []
    # Two doors have come nearer to one between them, which is still there; one stands halfway to another.
    assert refusals([numbered([0, 30, 60], "abc", 1), numbered([20, 30, 40], "abc", 2)]) == []
    assert refusals([numbered([0, 222.3898], "ab", 1, ell=300), numbered([0, 111.1949], "ab", 2, ell=300)]) == []


def test_f14_how_near_a_place_must_come_is_as_far_as_either_promise_goes() -> None:
    """The second of two doors that are 200 m apart moves to 60 m from where the first one was."""
    doors, moved = [0.0, 200.0], [900.0, 60.0]
    exact = gap(numbered(doors, "ab", 1).places[0], numbered(moved, "ab", 2).places[1])
    wider = exact + 0.01
    for first, second, is_refused in ((0, 0, False), (exact, exact, False), (wider, 0, True), (0, wider, True)):
        monday, tuesday = numbered(doors, "ab", 1, ell=first), numbered(moved, "ab", 2, ell=second)
        tuesday = replace(tuesday, places=(replace(tuesday.places[0], label="New"), tuesday.places[1]))
        assert bool(refusals([monday, tuesday])) == is_refused, (first, second)


@pytest.mark.parametrize("seed", range(40))
def test_f14_a_list_that_was_geocoded_again_is_the_same_list(seed: int) -> None:
    """Every day each door is 5 to 15 m from where it was, and three have a neighbour 12 m away: nothing is refused."""
    rng = Random(seed)
    doors = [at * 150.0 for at in range(9)]
    doors += [door + 12 for door in doors[:3]]
    days = [
        # No two days have the same coordinates, which would tell more than a name.
        numbered([door + rng.choice([-1, 1]) * rng.randint(5, 15) + 0.3 * day for door in doors], "abcdef ghijkl", day)
        for day in range(1, 6)
    ]
    for num in range(2, 6):
        assert refusals(days[:num]) == []
    assert [len(Linking(days).left(person)) for person in range(12)] == [6] * 12


def test_f14_what_the_user_says_of_a_place_that_moved_resolves_it(tmp_path: Path, command: Command) -> None:
    """Before such a list is entered, and also if an earlier version has entered it."""
    monday, tuesday = (numbered(at, "ab cd", day) for day, at in ((1, [0, 100, 200, 300]), (2, [109, 209, 9, 309])))
    path, old = tmp_path / "ledger.jsonl", tmp_path / "old.jsonl"
    ledger = vr.new_ledger(path).enter(monday)
    vr.new_ledger(old).enter(monday)
    append_line(old, tuesday.to_dict())
    assert command("ledger", "check", old).code == 2
    for _ in range(3):
        with pytest.raises(vr.InvalidInputError, match="ledger different FILE") as caught:
            ledger.enter(tuesday)
        one, other = str(caught.value).split('"')[1::2]
        assert [command("ledger", "different", each, one, other).code for each in (path, old)] == [0, 0]
        ledger = vr.read_ledger(path)
    report = ledger.enter(tuesday).check()
    assert report.safe and [each.name for each in report.moved] == ["Customer 1", "Customer 2", "Customer 3"]
    assert [name for name, _ in vr.audit_linked([], ledger=path).moved] == ["Customer 1", "Customer 2", "Customer 3"]
    assert command("ledger", "check", old).code == 0 and vr.read_ledger(old).is_clear()


def test_f14_a_plan_is_audited_with_what_was_said_before_it(tmp_path: Path) -> None:
    """Adams has another name on another map, and another cell: the plan for it was made with the history of Adams."""
    path, ledger = tmp_path / "ledger.jsonl", vr.new_ledger(tmp_path / "ledger.jsonl")
    names = {(0, 1): "Adams", (0, 4): "Baker", (2, 2): "Clark", (4, 1): "Davis"}
    monday = plan(ledger, [*names], names=names)
    ledger = ledger.add(monday, day="2026-11-16").same("Adams", "Office")
    names = {(0, 2): "Office", (0, 4): "Baker", (2, 2): "Clark", (4, 1): "Davis"}
    tuesday = plan(ledger, [*names], names=names, domain=town((4, 3)))
    ledger.add(tuesday, day="2026-11-17")
    assert vr.audit_linked([monday, tuesday], ledger=path).verdict == "holds"
    assert tuesday.past is not None and len(tuesday.past.left) == 4


def test_f14_places_that_were_never_listed_together_may_be_one(tmp_path: Path) -> None:
    ledger = vr.new_ledger(tmp_path / "ledger.jsonl").enter(numbered([900, 3000], "ab", 1))
    ledger = ledger.enter(numbered([1000, 3300], "ab", 2, names="Client"))
    again = numbered([1001, 3000], "ab", 3)
    with pytest.raises(vr.InvalidInputError, match="if they are one place: ledger same"):
        ledger.enter(again)
    ledger = ledger.same("Client 1", "Customer 1").enter(again, anyway=True)
    assert len(ledger.check().candidates) == 3


def on_a_line(groups: Sequence[Sequence[int]], ell: float, coordinates: object = None) -> vr.Playbook:
    tails = [*range(29), *range(1, 30)]
    heads = [*range(1, 30), *range(29)]
    domain = vr.Domain.from_edges(30, tails, heads, [1.0] * 58, coordinates=coordinates)  # type: ignore[arg-type]
    problem = vr.Problem(domain, [vr.Trip(0, 29)], [each for group in groups for each in group])
    ways = ([*range(30)], [*range(30), 28, 29])
    classes = [{"members": list(group), "route": list(way)} for group, way in zip(groups, ways, strict=True)]
    return vr.playbook_from_classes(problem, vr.Privacy(k=2, ell=ell), classes)


@pytest.mark.parametrize("has_coordinates", [False, True])
def test_f14_on_one_map_distances_are_measured_there(
    tmp_path: Path, command: Command, *, has_coordinates: bool
) -> None:
    """Each door is one step further on Tuesday. No coordinates say so, or their unit is not that of ell."""
    at = [(100.0 * node, 0.0) for node in range(30)] if has_coordinates else None
    monday, tuesday = on_a_line([[4, 12], [8, 16]], 3, at), on_a_line([[5, 17], [9, 13]], 3, at)
    path = tmp_path / "ledger.jsonl"
    ledger = vr.new_ledger(path).add(monday, day="2026-11-16")
    with pytest.raises(vr.UnsafeLedgerError):
        ledger.add(tuesday, day="2026-11-17")
    problem, privacy = tuesday.problem, tuesday.privacy
    past = ledger.past(problem, privacy)
    assert {len(left) for _, left in past.left} == {2}
    report = vr.audit_linked([monday, tuesday])
    assert report.verdict == "violated" and report.playbooks[-1].num_identified == 4
    # Later the map is not there: the ledger's own line says who is who, and the auditor measures it again.
    ledger = ledger.add(tuesday, day="2026-11-17", anyway=True)
    assert not ledger.check().safe and len(ledger.check().candidates) == 4
    assert ledger.entries[-1].close == ((0, 0, 0, 1.0), (1, 0, 3, 1.0), (2, 0, 2, 1.0), (3, 0, 1, 1.0))
    found = {each.claim: each.verdict for each in vr.audit_linked([monday, tuesday], ledger=path).claims}
    assert found["recorded"] == "holds" and found["linked"] == "violated"
    assert vr.audit_linked([], ledger=path).verdict == "violated"
    # What the user says still comes first.
    for one, other in ((4, 5), (16, 17), (8, 9), (12, 13)):
        ledger = ledger.different(str(one), str(other))
    assert ledger.check().safe and len(ledger.check().candidates) == 8
    assert vr.audit_linked([monday, tuesday], ledger=path).claims[0].verdict == "holds"


def test_a_line_that_leaves_somebody_out_or_names_a_later_line_is_found(tmp_path: Path) -> None:
    whole = entry("ab cd")
    for number, (line, words) in enumerate(
        [
            (replace(whole, classes=whole.classes[:1]), "says nothing of c, d"),
            (replace(whole, parent="0" * 64), "planned under a line that does not come before it"),
            (whole, ""),
        ]
    ):
        path = vr.new_ledger(tmp_path / f"{number}.jsonl").journal.path
        append_line(path, line.to_dict())
        claim = next(claim for claim in vr.audit_linked([], ledger=path).claims if claim.claim == "recorded")
        assert claim.holds == (not words) and words in claim.evidence


def test_f14_distances_that_are_left_out_of_a_line_are_missed(tmp_path: Path) -> None:
    monday, tuesday = on_a_line([[4, 12], [8, 16]], 3), on_a_line([[5, 17], [9, 13]], 3)
    ledger = vr.new_ledger(tmp_path / "true.jsonl").add(monday, day="2026-11-16")
    line = ledger.add(tuesday, day="2026-11-17", anyway=True).entries[-1]
    for close, recorded in (((), "violated"), (line.close[:3], "violated"), (None, "violated")):  # type: ignore[index]
        path = tmp_path / f"{len(close) if close is not None else 'none'}.jsonl"
        vr.new_ledger(path).add(monday, day="2026-11-16").enter(replace(line, close=close, parent=None), anyway=True)
        found = {each.claim: each.verdict for each in vr.audit_linked([monday, tuesday], ledger=path).claims}
        assert found["recorded"] == recorded and found["linked"] == "violated"
    append_line(path, replace(line, playbook="?", close=((0, 7, 0, 1.0),)).to_dict())
    with pytest.raises(vr.FileFormatError, match="line 4"):
        vr.read_ledger(path).check()


def test_f14_planner_and_auditor_measure_the_same_distances(tmp_path: Path) -> None:
    """On graphs and streets, by every measure, on one map and on others with nodes at the same spots."""
    assert sum(num_distances(seed, tmp_path / f"{seed}.jsonl") for seed in range(30)) > 100


def num_distances(seed: int, path: Path) -> int:
    """How many distances the ledger of some days has, if the auditor finds the same."""
    rng, books, ledger = Random(seed), list[vr.Playbook](), vr.new_ledger(path)
    for day in range(1, 5):
        if is_street := seed % 2 == 1:
            domain = little_town(evil_name=rng.choice(["", "Rantakatu"]))
            ends, inner = (105, 108), [101, 102, 103, 104, 106, 107, 109, 110, 111]
        else:
            domain = vr.generate_streets(4, 5, seed=seed)
            ends, inner = (0, domain.num_nodes - 1), [*range(1, domain.num_nodes - 1)]
            tail, head = rng.choice(list(zip(*(array.tolist() for array in domain.edge_arrays()[:2]), strict=True)))
            domain = change_domain(domain, vr.Closure.of([(tail, head)])) if rng.random() < 0.3 else domain
        measure = rng.choice(["cost", "driving", "walking", "straight"]) if is_street else "cost"
        privacy = vr.Privacy(k=1, ell=rng.choice([0.0, 60.0, 150.0, 300.0]), measure=measure)
        at = rng.sample(inner, 4)
        problem = vr.Problem(domain, [vr.Trip(*ends)], at, names={at[0]: f"place {day}"})
        book = vr.solve(problem, privacy)
        with suppress(vr.InvalidInputError):  # two of the places may be one, as far as the ledger can tell
            ledger = ledger.add(book, day=f"2026-11-{day:02}", anyway=True)
            books.append(book)
    (claim,) = (each for each in vr.audit_linked(books, ledger=ledger.journal.path).claims if each.claim == "recorded")
    assert claim.verdict == "holds", claim.evidence
    return sum(len(entry.close or ()) for entry in ledger.entries)


def clusters(num: int, size: int) -> list[tuple[int, int]]:
    """Places of which those of one cluster are close to each other; one of each cluster counts."""
    return [pair for at in range(num) for pair in combinations(range(at * size, (at + 1) * size), 2)]


def doubled_rings(num: int) -> list[tuple[int, int]]:
    """Rings of five, every place doubled: two of each ring are apart, and nothing but trying shows that no more are."""
    pairs = [pair for ring in range(num) for pair in combinations(range(10 * ring, 10 * ring + 10), 2)]
    return [(a, b) for a, b in pairs if (a % 10 // 2 - b % 10 // 2) % 5 in (0, 1, 4)]


@pytest.mark.parametrize(
    ("near", "num", "most"),
    [(clusters(7, 6), 42, 7), (clusters(12, 10), 120, 12), (doubled_rings(8), 80, 16)],
    ids=["7 clusters", "12 clusters", "rings"],
)
def test_f12_who_stands_apart_is_decided_quickly(
    near: list[tuple[int, int]], num: int, most: int, tmp_path: Path
) -> None:
    """Plain backtracking would not end. What the auditor cannot decide it does not say to hold."""
    letters = "".join(chr(0x4E00 + at) for at in range(num))
    for k, is_kept in ((most, True), (most + 1, False)):
        day = replace(entry(letters), near=tuple(near), privacy=vr.Privacy(k=k, ell=9))
        days = [day, replace(day, date="2026-11-02", playbook="2")]
        linking, observer = Linking(days), Observer()
        assert all((linking.broken(person) is None) == is_kept for person in range(num))
        assert not linking.undecided
        for each in days:
            observer.link(see_entry(each))
        assert (not observer.broken and not observer.undecided) == is_kept
        assert not observer.undecided or (len(observer.undecided) == num and not observer.broken)
        path = vr.new_ledger(tmp_path / f"{k}.jsonl").journal.path
        append_line(path, day.to_dict())
        claim = vr.audit_linked([], ledger=path).claims[0]
        assert ("could not be decided" in claim.evidence) == bool(observer.undecided)
        assert claim.verdict == ("unproved" if observer.undecided else "violated" if observer.broken else "holds")


def test_f12_what_a_playbook_assumes_of_earlier_days_is_said(command: Command) -> None:
    """Trips before Tuesday are said not to be linked: `ledger add` and the audit say so, and who pays if they are."""
    monday, split = (caterer(PEOPLE[:4], groups, k=2) for groups in (["Adams Baker", "Clark Davis"], ["Adams Clark"]))
    ledger = vr.new_ledger("week.jsonl").add(monday, day="2026-11-16")
    past = ledger.past(split.problem, split.privacy, since="2026-11-17")
    tuesday = replace(split, past=past)
    tuesday.write("tuesday.json")
    done = command("ledger", "add", "week.jsonl", "tuesday.json", "--date", "2026-11-17")
    assert done.code == 0, done.err
    assert "2026-11-17" in done.err and "Adams, Clark" in " ".join(done.err.split())
    report = vr.audit_linked([monday, tuesday], ledger="week.jsonl")
    assert report.to_dict()["since"] == [{"playbook": "2026-11-17", "since": "2026-11-17"}]


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


def test_f9_areas_count_and_not_balls() -> None:
    """b is close to a and c, which are not close to each other: no area of the three, and the ball around b is none."""
    privacy = vr.Privacy(risk=0.5, ell=3)
    observer = Observer()
    observer.link(see_entry(entry("abcdef", near=((0, 1), (1, 2)), privacy=privacy)))
    observer.link(see_entry(entry("abcd ef", near=((0, 1), (1, 2)), privacy=privacy, day=2)))
    assert not observer.broken
    observer.link(see_entry(entry("abc ef", near=((0, 1), (1, 2)), privacy=privacy, day=3)))
    assert set(observer.broken) == {0, 1, 2}  # a and b are two of the three who are left


def test_fewer_trips_may_tell_more_under_a_risk_where_some_had_no_route() -> None:
    """p and q are close. All trips together leave each of them two others; the trips of M1 and M2 alone leave four."""
    beta = vr.Privacy(risk=0.5, ell=3)
    weight = {"p": 2.0, "q": 2.0, "r": 1.0, "s": 1.0}

    def day(members: str, number: int) -> None:
        made = entry(members, day=number, privacy=beta)
        at = {place.text: i for i, place in enumerate(made.places)}
        near = ((at["p"], at["q"]),) if {"p", "q"} <= at.keys() else ()
        observer.link(
            see_entry(replace(made, near=near, prior=tuple(weight.get(place.text, 2.0) for place in made.places)))
        )

    observer = Observer()
    for number, members in enumerate(["prs", "pqrsef", "qrs"], 1):
        day(members, number)
    assert not observer.broken
    day("pqrsgh", 4)
    assert observer.broken


def test_f5_a_ledger_counts_doors_and_not_names(command: Command) -> None:
    """Two names at one door are left of a place: one place, in the table and in the plain data."""
    first, second = (entry(groups, day=day, near=((0, 1), (2, 3))) for day, groups in enumerate(("abcd", "ab cd"), 1))
    report = vr.new_ledger("week.jsonl").enter(first).enter(second, anyway=True).check()
    assert [(len(each.left), each.num_left, each.qualifies) for each in report.candidates] == [(2, 1, False)] * 4
    wide = [replace(each, privacy=vr.Privacy(k=2, ell=3)) for each in (first, second)]
    apart = vr.new_ledger("wide.jsonl").enter(wide[0]).enter(wide[1], anyway=True).check()
    assert [each.num_left for each in apart.candidates] == [2] * 4, "closer than ell is not yet one door"
    done = command("ledger", "check", "week.jsonl", "--json")
    assert (done.code, [each["num_left"] for each in json.loads(done.out)["candidates"]]) == (1, [1] * 4)


def test_f14_what_cannot_be_compared_is_said(tmp_path: Path, command: Command) -> None:
    """Names alone on other maps, and an ell in seconds on other streets: neither shows that all is well."""
    named = [replace(numbered([0, 500], "ab", day, names=f"Door {day}"), privacy=vr.Privacy(k=2)) for day in (1, 2)]
    named = [replace(day, places=tuple(replace(each, at=None) for each in day.places)) for day in named]
    seconds = [
        replace(numbered([100 * day, 900 + 300 * day], "ab", day, names=f"Door {day}"), privacy=SIXTY) for day in (1, 2)
    ]
    for what, days in (("names", named), ("cost", seconds)):
        path = tmp_path / f"{what}.jsonl"
        ledger = vr.new_ledger(path)
        for day in days:
            ledger = ledger.enter(day)
        assert ledger.check().not_judged == ledger.turnover().not_judged == (what,)
        assert json.loads(command("ledger", "check", path, "--json").out)["not_judged"] == [what]
    # Numbers of nodes are no names.
    assert len(refusals([replace(day, places=(Place(3), Place(4))) for day in named])) == 2


def test_f12_more_draws_than_can_be_looked_at_are_refused() -> None:
    """One place in 142 classes of two: two draws may have gone together in 20,164 ways."""
    classes = " ".join(f"a{chr(0x4E00 + at)}" for at in range(142))
    privacy = vr.Privacy(k=2, mechanism="randomised")
    drawn = entry(classes, privacy=privacy, shares=((0.1, 0.1),) * 142)
    observer = Observer()
    for day in (drawn, replace(drawn, date="2026-11-02")):
        observer.link(see_entry(day))
    with pytest.raises(vr.TooLargeError, match="at most 20,000 ways"):
        observer.left(0)
