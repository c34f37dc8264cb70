"""Who is who on changed maps, and what linked trips leave of everybody."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import veilroute as vr
from ledger_weeks import canonical
from linked_entries import Entry, Identity, Linking, Place, Roster, entry, entry_from_dict, left_of

EARTH = ("earth", 24.94, 60.17)
METRE = 1 / 111_195  #: in degrees of latitude


def enter(roster: Roster, domain: str, places: list[Place], privacy: vr.Privacy | None = None) -> tuple[int, ...]:
    return roster.enter(domain, places, privacy or vr.Privacy(k=2))


def earth(metres: float) -> tuple[str, float, float]:
    """So far north of the place above."""
    return ("earth", 24.94, 60.17 + metres * METRE)


def cell(row: int, col: int, height: int = 5) -> tuple[str | float, ...]:
    return ("cell", height, 5, row, col)


SEVEN, NAMED, THERE, BOTH, TEXT, CELL = (
    Place(7),
    Place(7, "Shop"),
    Place(7, None, EARTH),
    Place(7, "Shop", EARTH),
    Place("Shop"),
    Place((1, 2), None, cell(1, 2)),
)


@pytest.mark.parametrize(
    "known, again, is_same",
    [
        (NAMED, Place(8, "Shop"), True),
        (TEXT, Place(3, "Shop", EARTH), True),
        (THERE, Place(9, None, EARTH), True),
        (THERE, Place(9, None, earth(49)), True),
        (THERE, Place(7, None, earth(51)), False),
        (BOTH, Place(9, "Shop", earth(200)), True),
        (BOTH, Place(9, "Renamed", earth(49)), True),
        (BOTH, Place(7, "Office", earth(51)), False),
        (CELL, CELL, True),
        (CELL, Place((1, 2), None, cell(1, 3)), False),
        (NAMED, Place(7, "Office"), False),
    ],
)
def test_a_place_is_known_again_on_another_map_or_is_somebody_else(known: Place, again: Place, is_same: bool) -> None:
    roster = Roster()
    assert enter(roster, "one map", [Place(1, "Else", cell(4, 4) if known is CELL else earth(9999)), known]) == (0, 1)
    assert enter(roster, "other map", [again]) == (1 if is_same else 2,)
    assert roster.places[-1] == again


@pytest.mark.parametrize(
    "known, unclear",
    [
        ([SEVEN], [SEVEN]),  # numbers alone
        ([SEVEN], [Place(8, "Shop", EARTH)]),  # may be 7, of whom nothing else is known
        ([NAMED], [THERE]),  # a name here, a place there
        ([CELL], [Place((1, 2), None, cell(1, 2, height=6))]),  # a row was added somewhere
        ([BOTH], [Place(7, "Shop", earth(300))]),  # moved, or another of that name
        ([Place((1, 2), "Shop", cell(1, 2))], [Place((1, 3), "Shop", cell(1, 3))]),
        ([NAMED, Place(8, "Shop")], [Place(9, "Shop")]),  # two of one name
        ([BOTH, Place(8, None, earth(50))], [Place(9, "Shop", earth(50))]),  # whose?
        ([BOTH], [Place(8, "Shop"), Place(9, None, EARTH)]),  # two that are one
        ([TEXT, NAMED], [TEXT]),
    ],
)  # fmt: skip
def test_who_cannot_be_told_is_refused(known: list[Place], unclear: list[Place]) -> None:
    roster = Roster()
    enter(roster, "one map", known)
    with pytest.raises(vr.InvalidInputError, match="places that can be told from each other"):
        enter(roster, "other map", unclear)


def test_several_at_one_spot_are_told_by_their_names() -> None:
    """Who is new at the spot of somebody who is listed as well is new."""
    days = [
        [Place("Shop", None, EARTH)],
        [Place("Office", None, EARTH), Place("Shop", None, EARTH)],
        [Place("Shop", None, EARTH), Place("Office", None, EARTH)],
        [Place("Bakery", None, EARTH), Place("Shop", None, EARTH)],  # the office's new name, as far as anybody can tell
    ]
    roster = Roster()
    for day, (places, numbers) in enumerate(zip(days, [(0,), (1, 0), (0, 1), (1, 0)], strict=True)):
        assert enter(roster, f"map {day}", places) == numbers
    with pytest.raises(vr.InvalidInputError, match="places that can be told from each other"):
        enter(roster, "last map", [Place("Bakery", None, EARTH), Place("Office", None, EARTH)])


def test_a_refused_entry_leaves_the_roster_as_it_was() -> None:
    roster = Roster()
    enter(roster, "one map", [Place(7, "Shop")])
    with pytest.raises(vr.InvalidInputError):
        enter(roster, "other map", [Place(8, "New"), Place(7)])
    assert len(roster.places) == 1


def test_members_who_stood_near_do_not_count_twice() -> None:
    """Of a and b, who were too close, only one counts for k."""
    books = [entry("abcd", near=((0, 1),)), entry("ab cd", day=2)]
    linking = Linking(books)
    assert [linking.broken(number) for number in range(4)] == [0, 0, None, None]
    # Under all-pairs those who are left have to stand apart, all of them: one pair is too much.
    for near, broken in ((((0, 1),), [0, 0, None, None]), (((0, 1), (2, 3)), [0] * 4), (((0, 2),), [None] * 4)):
        strict = [replace(book, privacy=vr.Privacy(k=2, spread="all-pairs")) for book in books]
        linking = Linking([replace(strict[0], near=near), strict[1]])
        # Before the second day 0 and 2 are left together, and too close.
        assert [linking.broken(number) for number in range(4)] == broken
        assert linking.broken(0, until=0) == 0


def test_a_route_that_may_part_shows_more_than_a_promise_about_all_of_it_allows() -> None:
    """After three nodes the first playbook promises nothing any more, and the second one does; in any order."""
    short, whole = entry("ab c", privacy=vr.Privacy(k=2, m=3)), entry("ab", day=2)
    for days, first in (([short, whole], 1), ([replace(whole, date="2026-11-01"), replace(short, date=whole.date)], 0)):
        linking = Linking(days)
        assert [linking.broken(number) for number in range(2)] == [first] * 2
        assert linking.broken(0, since="2026-11-02") is None
    # No trip has no route that could part.
    away = Linking([entry("ab cd"), entry("ab", day=2, privacy=vr.Privacy(k=2, m=3))], "expected")
    assert [away.broken(number) for number in range(4)] == [0, 0, None, None]


def test_of_several_promises_that_are_broken_the_first_is_told() -> None:
    linking = Linking([entry("abc"), entry("abc", day=2, since="2026-11-02"), entry("ab c", day=3)])
    assert [linking.fell_short(number) for number in range(3)] == [None, None, (0, 2)]
    assert [linking.broken(2, since) for since in (None, "2026-11-02", "2026-11-03")] == [0, 1, 2]


CLOSE, FAR = vr.Privacy(k=2), vr.Privacy(k=2, ell=2)


@pytest.mark.parametrize(
    "known, again, domain, privacies, close, what",
    [
        (SEVEN, Place(8), "one map", (FAR, FAR), (), ()),  # it was measured there, and none was near
        (SEVEN, Place(8), "one map", (FAR, FAR), None, ("names",)),
        (SEVEN, Place(8), "one map", (CLOSE, FAR), None, ("names",)),
        (SEVEN, Place(8), "one map", (FAR, CLOSE), None, ("names",)),
        (SEVEN, Place(8), "one map", (CLOSE, CLOSE), None, ()),  # at ell 0 only those at one node are near
        (THERE, Place(8, None, earth(99)), "one map", (FAR, FAR), None, ("cost",)),
        (THERE, Place(8, None, earth(99)), "other map", (FAR, CLOSE), (), ("cost",)),
        (THERE, Place(8, None, earth(99)), "other map", (CLOSE, CLOSE), (), ()),
        (BOTH, Place(8, "Bar", earth(99)), "other map", (replace(FAR, measure="straight"),) * 2, (), ()),
        (CELL, Place((3, 4), None, cell(3, 4)), "other map", (FAR, FAR), (), ()),
        (NAMED, Place(8, "Bar"), "other map", (CLOSE, CLOSE), (), ("names",)),
        (NAMED, Place(8, "Kiosk"), "other map", (CLOSE, CLOSE), (), ()),  # the user said that it is another one
    ],
)
def test_of_whom_nothing_says_whether_they_are_the_same(
    known: Place, again: Place, domain: str, privacies: tuple[Any, Any], close: Any, what: tuple[str, ...]
) -> None:
    roster = Roster([Identity("different", ("Kiosk", "Shop"), "2026-11-01")])
    roster.enter("one map", [known], privacies[0], close)
    roster.enter(domain, [again], privacies[1], close)
    assert roster.turnovers[-1].not_judged == what


def test_who_joins_later_is_known_to_all_that_was_asked_before() -> None:
    days = [entry("abc de"), entry("abc de", "f", day=2, near=((0, 1),))]
    for trips in ("expected", "listed"):
        used, fresh = Linking(days, trips), Linking(days, trips)
        people = range(len(used.roster.places))
        for number in people:
            used.left(number), used.lines(number, is_weighed=True), used.num_doors([number])
        places = (Place("a", None, EARTH), Place("x", None, EARTH), Place("y"))
        assert used.join("a map", places, vr.Privacy(k=2)) == fresh.join("a map", places, vr.Privacy(k=2)) == (0, 6, 7)
        for number in (*people, 6, 7):
            assert used.left(number) == fresh.left(number)
            assert used.lines(number, is_weighed=True) == fresh.lines(number, is_weighed=True)
        assert used.num_doors([0, 6, 7]) == fresh.num_doors([0, 6, 7]) == 2
        assert (6 in used.left(5)) == (trips == "expected")


def drawn(day: int, occasion: str | None) -> Entry:
    """The triangle: three classes of two, each of which each of three places is in two of."""
    shares = ((1 / 6, 1 / 6),) * 3
    privacy = vr.Privacy(k=2, mechanism="randomised")
    return entry("ab ac bc", day=day, playbook="triangle", privacy=privacy, shares=shares, occasion=occasion)


def test_repeated_draws_are_looked_at_without_their_order() -> None:
    linking = Linking([drawn(1, None), entry("abc", day=2), drawn(3, None), drawn(4, None)])
    seen = list(linking.combinations(0))
    assert [[sighting.group for sighting in each] for each in seen] == [
        [0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0],
    ]  # fmt: skip
    many = Linking([drawn(1, None)] * 2000)
    assert sum(1 for _ in many.combinations(0)) == 2001
    assert linking.chance(seen[0][0], 0) == linking.chance(seen[0][0], 1) == 0.5
    assert linking.chance(seen[0][0], 2) == 0
    assert linking.weight(0, 0, seen[0]) == pytest.approx(1 / 8)


def test_a_risk_is_held_against_what_some_of_the_trips_leave() -> None:
    """Of u and w, who are close, each history has half; of what the last two days leave they are two thirds."""
    weight = {"t": 0.5, "u": 1.0, "v": 0.5, "w": 1.0, "x": 1.0, "y": 1.0}
    days = []
    for day, (group, near) in enumerate([("tuv", ()), ("tvw", ()), ("tuvwx", ((1, 3),)), ("tuvwy", ((1, 3),))], 1):
        prior = tuple(weight[each] for each in group)
        days.append(entry(group, day=day, privacy=vr.Privacy(risk=0.5), prior=prior, near=near))
    linking = Linking(days)
    texts = [place.text for place in linking.roster.places]
    for text, left in {"t": "tv", "u": "tuv", "v": "tv", "w": "tvw", "x": "tuvwx", "y": "tuvwy"}.items():
        assert left_of(linking, text) == left
        is_away = text in "xy"  # they had no trip on one of the last two days
        assert linking.broken(texts.index(text)) == (None if is_away else 2)
    assert all(linking.broken(number, until=2) is None for number in range(5))


@pytest.mark.parametrize(
    "given",
    [
        drawn(1, "monday"),
        entry("abc", "de", parent="0" * 64, since="2026-10-01", near=((0, 1),), prior=(1.0, 2.0, 3.0, 4.0, 5.0)),
        entry("ab", places=(Place((1, 2), "Shop", cell(1, 2)), Place(7, None, EARTH)), kind="replan"),
        entry("ab", privacy=vr.Privacy(risk=0.4, ell=300, measure="driving", m=4, spread="all-pairs")),
    ],
)
def test_entries_are_read_as_they_were_written(given: Entry) -> None:
    plain = json.loads(canonical(given.to_dict()))
    assert entry_from_dict(plain) == given


def places(**first: Any) -> dict[str, Any]:
    return {"places": [{"label": "a"} | first, {"label": "b"}, {"label": "c"}]}


DAMAGED: dict[str, list[Any]] = {
    "classes": [[[0, 0]], [[0, 1], [1, 2]], [[0, 1], []], [[0, 9]], [[0, 3]], [[0, -1]], [[0, True]], "ab"],
    "refused": [[0], [1.0]],
    "near": [[[0]], [[0, 5]]],
    "prior": [[1.0], [1.0, -1.0, 1.0], [1.0, float("nan"), 1.0], [1e308, 1e308, 1.0]],  # of the last the sum is none
    # The first are those of a partition, where classes would then overlap.
    "shares": [[[0.5, 0.5]], [[0.5]], [[0.5, 0.0]], [[0.5, 2]], [[0.5, "x"]]],
    "places": [["a", "b", "c"]],
    "date": ["2026-13-01", "16.11.2026", 20261116],
    "since": ["yesterday", "2026-11-02"],
    "parent": [3],
    "occasion": [3],
    "kind": [None, "other"],
    "playbook": [None],
    "domain": [1],
    "privacy": [{"k": 0}, {"k": 2, "unknown": 1}, None],
    "trips": [[["a"]], "ab"],
    "close": [[[0, 0, 0]], [[3, 0, 0, 1.0]], [[0, -1, 0, 1.0]], [[0, 0, 0, -1.0]], "x"],
}
CHANGES: list[dict[str, Any]] = [{name: value} for name, values in DAMAGED.items() for value in values]
CHANGES += [places(label="b"), places(name=3)]
CHANGES += [places(at=at) for at in ([], [1, 2], ["earth", 24.9], ["earth", 24.9, 60.2, 3], ["moon", 24.9, 60.2])]


def test_damaged_entries_are_refused_and_what_is_at_the_edge_is_not() -> None:
    data = json.loads(canonical(entry("ab", "c").to_dict()))
    edge = {"since": "2026-11-01", "close": [[2, 0, 0, 0.0]], "near": [[0, 2]], "prior": [0.0, 1.0, 1e100]}
    for change in ({}, edge):
        assert entry_from_dict(data | change)
    for change in CHANGES:
        with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
            print(change, entry_from_dict(data | change))
    for name in ("places", "classes", "refused", "near", "date", "privacy", "trips", "domain", "kind", "parent"):
        with pytest.raises(KeyError):
            entry_from_dict({key: value for key, value in data.items() if key != name})
