"""Days of a fleet in a ledger: they stay safe while classes stay, and the linked audit reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from ledger_weeks import append_line
from linked_entries import THERE, town
from veilroute import Closure, Underway

PLACES = [(0, 2), (0, 5), (2, 0), (2, 3), (4, 2), (4, 5)]


@pytest.fixture(scope="module")
def book() -> vr.Playbook:
    found = vr.solve(vr.Problem(town(), [THERE], PLACES), vr.Privacy(k=2))
    assert len(found.hidden_classes) == 3
    return found


@pytest.fixture
def ledger(tmp_path: Path, book: vr.Playbook) -> vr.Ledger:
    return vr.new_ledger(tmp_path / "days.jsonl").add(book, day="2026-11-16")


def day_of(book: vr.Playbook, *touched: int) -> vr.Day:
    """A day of the record; tours do not matter to a ledger."""
    return vr.Day(book.sha256, vr.Terms((vr.Van((0, 0), (0, 0)),)), touched, (vr.Tour((), (), (), 0),), 0, 0)


def test_days_of_one_playbook_leave_the_class(ledger: vr.Ledger, book: vr.Playbook) -> None:
    for number, touched in enumerate([(1, 2), (1,), (1, 3), (), (1, 2, 3), (1,)]):
        ledger = ledger.add_day(book, day_of(book, *touched), day=f"2026-11-{17 + number}")
    report = ledger.check()
    assert (report.safe, report.playbooks, report.days) == (True, 1, 6)
    left = {each.candidate: set(each.left) for each in report.candidates}
    assert left == {label: set(group.members) for group in book.hidden_classes for label in group.members}
    entry = ledger.entries[1]
    driven = [set(group.members) for group in book.hidden_classes[:2]]
    assert (entry.kind, entry.refused) == ("day", ())
    assert [{entry.places[i].label for i in members} for members in entry.classes] == driven
    assert {place.label for place in entry.places} == set.union(*driven)
    assert entry.close is None, "it lists nobody who was not listed before"
    assert ledger.check(since="2026-11-18").days == 5
    ledger.check_use(book)
    linked = vr.audit_linked([book], ledger=ledger.journal.path)
    assert linked.verdict == "holds"
    assert "6 days" in next(claim.evidence for claim in linked.claims if claim.claim == "recorded")


def test_a_day_says_who_of_those_driven_are_near(tmp_path: Path) -> None:
    near = [(0, 2), (0, 3), (4, 5)]
    book = vr.solve(vr.Problem(town(), [THERE], [(2, 0), *near, (4, 2)]), vr.Privacy(k=2, ell=2))
    whole = replace(book.classes[0], members=tuple(near), anonymized=True)
    book = replace(book, classes=(replace(whole, members=((2, 0), (4, 2))), whole))
    ledger = vr.new_ledger(tmp_path / "near.jsonl").add(book, day="2026-11-16")
    line, part = (
        ledger.add_day(book, day_of(book, 2), dropped=gone, day="2026-11-17", anyway=True).entries[-1]
        for gone in ((), [(0, 2)])
    )
    assert [line.places[i].label for i in line.near[0]] == near[:2] and len(line.near) == 1
    assert part.near == () and [place.label for place in part.places] == near[1:]


def test_a_day_under_another_partition_is_judged_as_a_playbook_is(ledger: vr.Ledger, book: vr.Playbook) -> None:
    other = vr.solve(vr.Problem(town(), [THERE], [group.members[0] for group in book.hidden_classes]), vr.Privacy(k=2))
    with pytest.raises(vr.UnsafeLedgerError, match="not in the ledger"):
        ledger.add_day(other, day_of(other, 1), day="2026-11-17")
    with pytest.raises(vr.UnsafeLedgerError):
        ledger.add(other, day="2026-11-17")
    ledger = ledger.add(other, day="2026-11-17", anyway=True)
    with pytest.raises(vr.UnsafeLedgerError):
        ledger.add_day(other, day_of(other, 1), day="2026-11-18")


def test_who_was_dropped_has_left_the_class(ledger: vr.Ledger, book: vr.Playbook) -> None:
    """Also if it is the day itself, planned again, that says so."""
    gone, day = book.hidden_classes[1].members[0], day_of(book, 1, 2)
    rest = replace(day, after=Underway("", Closure(), (), dropped=(gone,)))
    for one, dropped in ((day, [gone]), (rest, [])):
        with pytest.raises(vr.UnsafeLedgerError):
            ledger.add_day(book, one, dropped=dropped, day="2026-11-17")
    ledger = ledger.add_day(book, rest, day="2026-11-17", anyway=True)
    assert {each.candidate for each in ledger.check().short} == set(book.hidden_classes[1].members[1:])
    with pytest.raises(vr.InvalidInputError, match="nobody dropped out"):
        vr.exposure(book, rest)
    with pytest.raises(vr.InvalidInputError, match="one of this playbook"):
        ledger.add_day(book, replace(day, playbook="0" * 64), day="2026-11-17")


FAULTS: list[tuple[str, Callable[[Any], object]]] = [
    ("not entered before", lambda e: e.update(playbook="1" * 64)),
    ("classes that are not of the playbook", lambda e: e.update(classes=[[*chain.from_iterable(e["classes"])]])),
    (
        "classes that are not of the playbook",
        lambda e: e.update(classes=[[i] for group in e["classes"] for i in group]),
    ),
    ("does not visit", lambda e: e["classes"].pop()),
    ("does not visit", lambda e: e.update(classes=e["classes"][:1], refused=e["classes"][1])),
    ("near pairs", lambda e: e.update(near=[e["classes"][0][:2]])),
    ("map, trips and privacy", lambda e: e["privacy"].update(k=1)),
    ("map, trips and privacy", lambda e: e["trips"][0].reverse()),
    ("prior", lambda e: e.update(prior=[1.0] * len(e["places"]))),
    ("planned by itself", lambda e: e.update(occasion="x")),
    ("another day on", lambda e: e.update(since="2026-11-17")),
    ("not of the playbook", lambda e: e["places"][0].update(name="Elsewhere")),
]


@pytest.mark.parametrize(("said", "fault"), FAULTS, ids=range(len(FAULTS)))
def test_a_line_that_says_more_than_its_playbook_is_found(
    ledger: vr.Ledger, book: vr.Playbook, said: str, fault: Callable[[Any], object]
) -> None:
    """Whoever may write lines could say that a day hid people in larger classes than it did."""
    true = ledger.add_day(book, day_of(book, 1, 3), day="2026-11-17").entries[-1].to_dict()
    data = json.loads(json.dumps(true)) | {"date": "2026-11-18"}
    fault(data)
    append_line(ledger.journal.path, data)
    report = vr.audit_linked([book], ledger=ledger.journal.path)
    (claim,) = (claim for claim in report.claims if claim.claim == "recorded")
    assert not claim.holds
    assert said in claim.evidence
