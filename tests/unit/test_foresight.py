"""What a change would do to a ledger, and why somebody is not hidden under it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

import veilroute as vr
from drawn_books import triangle_book
from veilroute.domain import Label

TOWN = vr.grid_domain(["......."] * 5)
PLACES: list[Label] = [(0, 2), (0, 5), (2, 0), (2, 3), (4, 2), (4, 5), (3, 6), (1, 1)]
TRIPS = [vr.Trip((0, 0), (4, 6)), vr.Trip((4, 0), (0, 6)), vr.Trip((2, 2), (2, 6))]


def days(path: Path, rng: random.Random, k: int) -> tuple[vr.Ledger, vr.Playbook]:
    """A ledger after some days, each planned under it for some of the places, and the last playbook."""
    ledger = vr.new_ledger(path)
    for day in range(1, rng.randint(2, 4)):
        problem = vr.Problem(TOWN, [rng.choice(TRIPS)], rng.sample(PLACES, rng.randint(5, 7)))
        privacy = vr.Privacy(k=k)
        book = vr.solve(replace(problem, past=ledger.past(problem, privacy)), privacy)
        ledger = ledger.add(book, day=f"2026-11-{day:02}")
    return ledger, book


def hideable(past: vr.Past, candidates: list[Label], k: int) -> set[Label]:
    """Those who may be in some class, by going on leaving out who has fewer than k left; all can share a walk here."""
    alive = set(candidates)
    lines = dict.fromkeys(candidates, tuple(candidates)) | dict(past.left)
    while out := {t for t in alive if len(alive.intersection(lines[t])) < k}:
        alive -= out
    return alive


@pytest.mark.parametrize("seed", range(12))
def test_answers_are_plans_under_the_ledger_and_explain_all_who_cannot_be_hidden(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    k = rng.choice([2, 2, 3])
    ledger, book = days(tmp_path / "ledger.jsonl", rng, k)
    before = ledger.journal.path.read_bytes()
    leaving = rng.sample(book.candidates, rng.randint(0, 2))
    joining = rng.sample([place for place in PLACES if place not in book.candidates], 1)
    privacy = vr.Privacy(k=k + rng.choice([0, 0, 1]))
    answer = vr.what_if(ledger, book, remove=leaving, add=joining, privacy=privacy)
    assert ledger.journal.path.read_bytes() == before

    kept = [label for label in book.candidates if label not in leaving]
    problem = vr.Problem(TOWN, book.trips, [*kept, *joining])
    past = ledger.past(problem, privacy)
    plain = vr.solve(replace(problem, past=past), privacy)
    assert answer.plan.to_json() == plain.to_json()
    hidden = {member for group in plain.hidden_classes for member in group.members}
    was_hidden = {member for group in book.hidden_classes for member in group.members}
    assert set(answer.lost) == was_hidden.intersection(kept) - hidden
    assert answer.to_dict()["keeps_all"] == (not answer.lost)

    ends = {end for trip in book.trips for end in (trip.start, trip.goal)}
    counted = [label for label in problem.candidates if label not in ends]
    impossible = set(counted) - hideable(past, counted, privacy.k)
    assert {each.candidate for each in answer.shortfalls} == impossible
    assert impossible.isdisjoint(hidden)
    for each in answer.shortfalls:
        assert len(each.left) < privacy.k and each.reason and each.advice
        assert each.since <= ledger.entries[-1].date
    if hidden:
        assert ledger.add(answer.plan, day="2026-11-20").check().safe


def test_a_closed_road_makes_a_plan_for_the_changed_map(tmp_path: Path) -> None:
    ledger, book = days(tmp_path / "ledger.jsonl", random.Random(1), 2)
    answer = vr.what_if(ledger, book, closure=vr.Closure.of([((0, 2), (1, 2)), ((0, 2), (0, 1))]))
    changed = answer.plan.domain
    assert changed is not None
    assert changed.num_edges == TOWN.num_edges - 4
    used = {step for g in answer.plan.classes for r in g.routes for step in zip(r.nodes, r.nodes[1:], strict=False)}
    assert not used & {((0, 2), (1, 2)), ((1, 2), (0, 2)), ((0, 2), (0, 1)), ((0, 1), (0, 2))}
    assert ledger.add(answer.plan, day="2026-11-20").check().safe


def test_what_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    ledger, book = days(tmp_path / "ledger.jsonl", random.Random(1), 2)
    absent = next(place for place in PLACES if place not in book.candidates)
    for change, words in (
        ({"remove": [absent]}, "remove: expected a candidate of the playbook"),
        ({"add": [book.candidates[0]]}, "add: expected a place that is no candidate yet"),
        ({"add": [(9, 9)]}, "add: expected"),
        ({"remove": book.candidates}, "remove: expected somebody who stays"),
        ({"privacy": vr.Privacy(k=1)}, "Privacy.k: expected at least 2"),
    ):
        with pytest.raises(vr.InvalidInputError, match=words):
            vr.what_if(ledger, book, **change)
    risky = vr.solve(vr.Problem(TOWN, [TRIPS[0]], PLACES[:6], prior=[3, 2, 2, 1, 1, 1]), vr.Privacy(risk=0.5))
    theirs = vr.new_ledger(tmp_path / "risk.jsonl").add(risky, day="2026-11-16")
    with pytest.raises(vr.InvalidInputError, match="a playbook without a prior"):
        vr.what_if(theirs, risky, add=[PLACES[7]])
    less = vr.what_if(theirs, risky, remove=[PLACES[5]]).plan
    assert less.prior == pytest.approx((3 / 9, 2 / 9, 2 / 9, 1 / 9, 1 / 9))
    other = vr.solve(vr.Problem(TOWN, [TRIPS[0]], PLACES[:4]), vr.Privacy(k=2))
    with pytest.raises(vr.UnsafeLedgerError, match="not in the ledger"):
        vr.what_if(ledger, other, remove=PLACES[:1])


def test_who_drops_out_on_the_way_is_gone_for_the_others(tmp_path: Path) -> None:
    """A trip that was planned again is entered beside its playbook."""
    book = vr.solve(vr.Problem(TOWN, [TRIPS[0]], PLACES[:6]), vr.Privacy(k=3))
    ledger = vr.new_ledger(tmp_path / "ledger.jsonl").add(book, day="2026-11-16")
    group = book.hidden_classes[0]
    *kept, lost = group.members
    found = vr.replan(book, 1, at=group.shared(0)[0], position=0, closed_nodes=[lost], choice="go-on")
    assert found.dropped == (lost,)
    after = ledger.add_replan(book, found, day="2026-11-17", anyway=True)
    entry = after.entries[-1]
    assert (entry.kind, entry.parent, entry.domain) == ("replan", None, book.domain_sha256)
    standing = {each.candidate: each for each in after.check().candidates}
    assert all(set(standing[member].left) == set(kept) for member in kept)
    assert len(kept) < 3
    with pytest.raises(vr.UnsafeLedgerError, match="too few"):
        ledger.add_replan(book, found, day="2026-11-17")


def test_what_is_not_entered(tmp_path: Path) -> None:
    book = vr.solve(vr.Problem(TOWN, [TRIPS[0]], PLACES[:4]), vr.Privacy(k=2))
    ledger = vr.new_ledger(tmp_path / "ledger.jsonl")
    found = vr.replan(book, 1, at=book.trips[0].start, position=0, closed=[((0, 0), (0, 1))])
    with pytest.raises(vr.UnsafeLedgerError, match="not in the ledger"):
        ledger.add_replan(book, found)
    ledger, drawn = ledger.add(book, day="2026-11-16"), triangle_book()
    other = vr.new_ledger(tmp_path / "drawn.jsonl").add(drawn, day="2026-11-16")
    for where, what, made, day, said in (
        (ledger, book, replace(found, choice=None), None, "it was chosen how to go on"),
        (ledger, book, found, "2026-11-15", "date"),
        (other, drawn, found, None, "a partition"),
    ):
        with pytest.raises(vr.InvalidInputError, match=said):
            where.add_replan(what, made, day=day)
