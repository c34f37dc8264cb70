"""The audit of replans: a fault planted in any field of a contingency is refuted, or the file is not read at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

import veilroute as vr
from closed_roads import audited as audit_replan
from drawn_books import triangle_book
from street_samples import little_book, little_town, two_trip_book
from veilroute.planners.replan import _Replanner

ROADS = [(101, 102), (110, 111)]


def dead_end_book() -> vr.Playbook:
    """A street with a dead end where one of two places is: without its road the promise cannot be kept."""
    tails, heads = [0, 1, 1, 2, 0, 3, 3, 2], [1, 0, 2, 1, 3, 0, 2, 3]
    domain = vr.Domain.from_edges(6, [*tails, 1, 4, 2, 5], [*heads, 4, 1, 5, 2], [1] * 12)
    return vr.solve(vr.Problem(domain, [vr.Trip(0, 5)], [4, 3]), vr.Privacy(k=2, ell=1))


BOOKS = {
    "whole": lambda: vr.with_contingencies(little_book(), ROADS),
    "parting": lambda: vr.with_contingencies(little_book(m=3), [(105, 101), (105, 109), (101, 102)]),
    "trips": lambda: vr.with_contingencies(two_trip_book(), worst=3),
    "undecided": lambda: vr.with_contingencies(dead_end_book(), [(1, 4)]),
    "drawn": lambda: vr.with_contingencies(triangle_book(), [((1, 2), (1, 3))]),
}


def verdict(book: vr.Playbook) -> vr.auditing.ClaimVerdict:
    (found,) = [claim for claim in vr.audit(book).claims if claim.claim == "contingencies"]
    return found


@pytest.mark.parametrize("kind", BOOKS)
def test_honest_contingencies_pass(kind: str) -> None:
    book = BOOKS[kind]()
    assert book.contingencies
    assert verdict(book).holds, verdict(book).evidence
    assert vr.audit(vr.playbook_from_json(book.to_json())).holds == vr.audit(replace(book, contingencies=())).holds
    for entry in book.contingencies:
        assert all(claim.holds for claim in audit_replan(book, entry))


def test_playbooks_without_contingencies_have_no_such_claim() -> None:
    assert "contingencies" not in {claim.claim for claim in vr.audit(little_book()).claims}
    assert "contingencies" not in little_book().to_dict()


def faulty_values(value: Any) -> Iterator[Any]:
    """Other values in place of one: a little off, or missing."""
    match value:
        case bool():
            yield not value
        case int() | float():
            yield value + 1
            yield value - 1
        case None:
            yield 1
        case str():
            yield value + "?"
        case list():
            yield value[:-1] if value else [1]
            yield [*value, *value[-1:]]
            yield value[::-1]
            for i, part in enumerate(value):
                yield from ([*value[:i], other, *value[i + 1 :]] for other in faulty_values(part))
        case dict():
            for name in value:
                yield {key: part for key, part in value.items() if key != name}
                yield from (value | {name: other} for other in faulty_values(value[name]))


@pytest.mark.parametrize("kind", BOOKS)
def test_a_fault_in_any_field_of_the_file_is_found(kind: str) -> None:
    """Where a key and what it says again elsewhere disagree, the file is refused."""
    book = BOOKS[kind]()
    data, entry = json.loads(book.to_json()), json.loads(orjson.dumps(book.contingencies[0].to_dict()))
    for fault in faulty_values(entry):
        if json.dumps(fault, sort_keys=True) == json.dumps(entry, sort_keys=True):
            continue
        changed = data | {"contingencies": [fault, *data["contingencies"][1:]]}
        try:
            read = vr.playbook_from_json(orjson.dumps(changed))
        except vr.FileFormatError:
            continue
        # Without what an observer sees it is unproved. A road named from its other end is the same road.
        found = verdict(read)
        assert not found.holds or not found.checked or fault | {"closed": [entry["closed"][0][::-1]]} == fault, fault
        assert ("plan them again" in found.evidence) == (found.verdict == "unproved")


def faulty_ways(way: vr.Way, members: tuple[Any, ...]) -> Iterator[vr.Way]:
    yield replace(way, qualifies=not way.qualifies)
    yield replace(way, left=way.left[:-1] if way.left else members)
    yield replace(way, left=members if way.left != members else members[:1])
    yield replace(way, cost=None if way.cost is not None else 1.0)
    if not way.route:
        yield replace(way, route=members)
        return
    yield replace(way, cost=(way.cost or 0.0) * (1 + 1e-6) + 1e-6)
    yield replace(way, route=())
    yield replace(way, route=(*way.route, way.route[-2], way.route[-1]) if len(way.route) > 1 else way.route * 2)
    yield replace(way, route=way.route[1:])
    yield replace(way, own=dict.fromkeys(members, (way.route[:1], 0.0)))
    for member, (nodes, cost) in way.own.items():
        yield replace(way, own={**way.own, member: (nodes, cost + 1)})
        yield replace(way, own={**way.own, member: (nodes[:-1], cost)})
        yield replace(way, own={**way.own, member: ((), 0.0)})
        yield replace(way, own={name: part for name, part in way.own.items() if name != member})


@pytest.mark.parametrize("kind", BOOKS)
def test_a_fault_that_agrees_with_itself_is_found(kind: str) -> None:
    """Whoever forges a file makes all of its keys agree."""
    book = BOOKS[kind]()
    for at, entry in enumerate(book.contingencies):
        others = [label for label in map(book.problem.domain.label, range(6)) if label not in entry.members]
        walked = entry.walked
        forged = [replace(entry, going_on=way) for way in faulty_ways(entry.going_on, entry.members)]
        forged += [replace(entry, giving_up=way) for way in faulty_ways(entry.giving_up, entry.members)]
        forged += [
            replace(entry, number=entry.number + 1),
            replace(entry, number=0),
            replace(entry, trip=entry.trip + 1),
            replace(entry, members=entry.members[::-1]),
            replace(entry, members=(*entry.members, others[0])),
            replace(entry, walked=(*walked, walked[0])),
            replace(entry, walked=(*walked[:-1], others[-1])),
            replace(entry, choice="give-up"),
            replace(entry, choice=None if entry.choice else "go-on"),
            replace(entry, closure=vr.Closure()),
            replace(entry, closure=vr.Closure(entry.closure.roads * 2)),
            replace(entry, closure=replace(entry.closure, nodes=(others[0],))),
            replace(entry, closure=vr.Closure(((others[0], others[0]),))),
            replace(entry, closure=replace(entry.closure, one_way=entry.closure.roads)),
            replace(entry, after=entry),
        ]
        for fault in forged:
            changed = (*book.contingencies[:at], fault, *book.contingencies[at + 1 :])
            assert not verdict(replace(book, contingencies=changed)).holds, fault


@pytest.mark.parametrize("kind", ["whole", "trips"])
def test_a_longer_way_and_a_missing_or_doubled_one_are_found(kind: str) -> None:
    book = BOOKS[kind]()
    first, *rest = book.contingencies
    assert not verdict(replace(book, contingencies=(first, first, *rest))).holds
    here, there = first.route[0], first.route[1]
    domain, step = book.problem.domain, 0.0
    for a, b in ((here, there), (there, here)):
        at = domain.indices[domain.indptr[domain.node(a)] : domain.indptr[domain.node(a) + 1]].tolist()
        step += float(domain.costs[domain.indptr[domain.node(a)] + at.index(domain.node(b))])
    back = replace(first.going_on, route=(here, there, *first.route), cost=(first.cost or 0.0) + step)
    evidence = verdict(replace(book, contingencies=(replace(first, going_on=back), *rest))).evidence
    assert "the cheapest" in evidence
    shared = {entry.closure.roads for entry in book.contingencies}
    doubled = next((road for road in shared if sum(e.closure.roads == road for e in book.contingencies) > 1), None)
    if doubled is not None:
        one = next(entry for entry in book.contingencies if entry.closure.roads == doubled)
        left = tuple(entry for entry in book.contingencies if entry is not one)
        assert "has none" in verdict(replace(book, contingencies=left)).evidence


def test_a_replan_after_a_forged_one_is_found() -> None:
    book = little_book(little_town())
    first = vr.replan(book, 1, 105, closed=[(101, 102)])
    second = vr.replan(book, 1, first.route[1], position=1, closed=[(first.route[1], first.route[2])], after=first)
    assert all(claim.holds for claim in audit_replan(book, second))
    assert second.closure.roads == (*first.closure.roads, (first.route[1], first.route[2]))
    forged = replace(first, going_on=replace(first.going_on, cost=1.0))
    (begins, *_) = audit_replan(book, replace(second, after=forged))
    assert not begins.holds
    assert not all(claim.holds for claim in audit_replan(book, replace(second, after=None)))


def test_histories_that_do_not_hold_one_another_are_asked_once() -> None:
    """Each leaves two of three; what two of them leave together is one, and no trip ever showed that."""
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 4)]
    tails, heads = zip(*pairs, *[(b, a) for a, b in pairs], strict=True)
    domain, past = vr.Domain.from_edges(6, tails, heads, [1] * 12), vr.Past(((1, (1, 2)), (2, (2, 3)), (3, (3, 1))))
    book = vr.solve(vr.Problem(domain, [vr.Trip(0, 4)], [1, 2, 3], past=past), vr.Privacy(k=2, ell=1))
    made = vr.replan(book, 1, 0, closed=[(0, 5)])
    assert [claim.evidence for claim in audit_replan(book, made) if not claim.holds] == []
    assert made.still_hidden == (1, 2, 3) and made.qualifies


def test_a_second_replan_opens_no_road_and_does_not_go_back() -> None:
    book = little_book(little_town())
    replanner = _Replanner(book, 1, 0)
    way = replanner.shared
    first = vr.replan(book, 1, way[2], closed=[way[2:4]], costs=[(*way[:2], 99)])
    here, there = first.route[1:3]
    for closure in (
        vr.Closure(((here, there),), costs=first.closure.costs),
        vr.Closure((*first.closure.roads, (here, there))),
    ):
        opened = replanner.replan((*first.walked, here), closure, after=first)
        assert [claim.claim for claim in audit_replan(book, opened) if not claim.holds] == ["walk"]
    honest = replanner.replan((*first.walked, here), first.closure, after=first)
    assert all(claim.holds for claim in audit_replan(book, honest))
    back = replanner.replan(way[:1], first.closure, after=first)
    assert [claim.claim for claim in audit_replan(book, back) if not claim.holds] == ["begins"]


def test_new_costs_that_add_up_to_ell_but_for_rounding_do() -> None:
    """0.3 + 0.3 + 2.4 is 2.9999999999999996 from one side: no closer than 3, also on a map of integers."""
    tails = [0, 1, 2, 3, 4, 1, 2, 3, 4, 5]
    heads = [1, 2, 3, 4, 5, 0, 1, 2, 3, 4]
    domain = vr.Domain.from_edges(6, tails, heads, [1] * 10)
    book = vr.solve(vr.Problem(domain, [vr.Trip(0, 5)], [1, 4]), vr.Privacy(k=2, ell=3))
    costs = {(1, 2): 0.3, (2, 3): 0.3, (3, 4): 2.4}
    changes = [edge for (a, b), cost in costs.items() for edge in ((a, b, cost), (b, a, cost))]
    made = vr.replan(book, 1, 0, costs=changes)
    assert made.qualifies
    assert [claim.evidence for claim in audit_replan(book, made) if not claim.holds] == []


def test_who_is_dropped_is_not_for_the_forger_to_choose() -> None:
    """From 0 a vehicle gets to 1 or, for more, to 2, and not back; 2 is left out, whoever would rather leave out 1."""
    tails, heads = [0, 1, 0, 2, 3, 4, 3], [1, 3, 2, 3, 4, 5, 0]
    domain = vr.Domain.from_edges(6, tails, heads, [1, 1, 2, 1, 1, 1, 1])
    book = vr.solve(vr.Problem(domain, [vr.Trip(0, 5)], [1, 2, 4]), vr.Privacy(k=2))
    assert book.hidden_classes[0].members == (1, 2, 4)
    made = vr.replan(book, 1, 0, position=0, closed=[(3, 0)])
    assert (made.still_hidden, made.route) == ((1, 4), (0, 1, 3, 4, 5))
    assert all(claim.holds and claim.checked for claim in audit_replan(book, made))
    forged = replace(made, going_on=replace(made.going_on, route=(0, 2, 3, 4, 5), cost=5, left=(2, 4)))
    assert [claim.claim for claim in audit_replan(book, forged) if not claim.holds] == ["cheapest", "observer"]


def test_a_walk_that_breaks_the_promise_or_covers_fewer_is_not_for_the_forger_to_choose() -> None:
    """4 was passed before the road was closed; 2 is farther than 1, and ell from 4. No replan goes straight on to 5."""
    tails, heads = [6, 4, 0, 1, 0, 2, 3, 3, 0], [4, 0, 1, 3, 2, 3, 5, 0, 5]
    domain = vr.Domain.from_edges(7, tails, heads, [1, 1, 1, 1, 2, 1, 1, 1, 1])
    book = vr.solve(vr.Problem(domain, [vr.Trip(6, 5)], [1, 2, 4]), vr.Privacy(k=2, ell=3))
    made = vr.replan(book, 1, 0, position=2, closed=[(3, 0)])
    assert (made.still_hidden, made.route, made.giving_up.route) == ((2, 4), (0, 2, 3, 5), (0, 5))
    assert all(claim.holds and claim.checked for claim in audit_replan(book, made))
    near = replace(made.going_on, route=(0, 1, 3, 5), cost=3, left=(1, 4), qualifies=False)
    for way, words in ((near, "as many others are left by the rule"), (made.giving_up, "another walk covers more")):
        found = {claim.claim: claim for claim in audit_replan(book, replace(made, going_on=way, choice=None))}
        assert words in found["cheapest"].evidence and not found["cheapest"].holds
    # Where no road leads to 2 either, nothing better can be done.
    cut = vr.replan(book, 1, 0, position=2, closed=[(3, 0), (0, 2)])
    assert (cut.still_hidden, cut.qualifies) == ((1, 4), False)
    assert all(claim.holds and claim.checked for claim in audit_replan(book, cut))
    *_, qualifies, _, alone = vr.auditing.audit_replan(book, made)
    assert (alone.verdict, alone.evidence) == ("unproved", "which other classes look the same was not asked")
    assert ["by itself" in each.evidence for each in (qualifies, audit_replan(book, made)[-3])] == [True, False]
