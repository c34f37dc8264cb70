"""Who is who on changed maps, and what linked trips leave of everybody."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

import pytest

import veilroute as vr
from ledger_weeks import canonical
from linked_entries import entry, left_of
from veilroute.entries import Entry, Place, entry_from_dict
from veilroute.linking import Linking, Roster

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
        (NAMED, TEXT, True),
        (TEXT, Place(3, "Shop", EARTH), True),
        (THERE, Place(9, None, EARTH), True),
        (THERE, Place(9, "Renamed", EARTH), True),
        (THERE, Place(9, None, earth(49)), True),
        (THERE, Place(7, None, earth(51)), False),
        (BOTH, Place(9, "Shop", earth(200)), True),
        (BOTH, Place(9, "Renamed", EARTH), True),
        (BOTH, Place(9, "Renamed", earth(49)), True),
        (BOTH, Place(7, "Office", earth(51)), False),
        (CELL, CELL, True),
        (CELL, Place((1, 2), None, cell(1, 3)), False),
        (NAMED, Place(7, "Office"), False),
        (TEXT, Place("Office"), False),
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


def test_coordinates_tell_two_of_one_name() -> None:
    roster = Roster()
    assert enter(roster, "one map", [Place(7, "Shop", EARTH), Place(8, "Shop", earth(900))]) == (0, 1)
    assert enter(roster, "other map", [Place(1, "Shop", earth(900)), Place(2, "Shop", EARTH)]) == (1, 0)


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


def test_on_one_map_labels_say_who_it_is() -> None:
    """Also where a name is new, or is that of another place of the map."""
    roster = Roster()
    assert enter(roster, "a map", [Place(1), Place(2)]) == (0, 1)
    assert enter(roster, "a map", [Place(3), Place(2, "Shop"), Place(1, "Shop")]) == (2, 1, 0)
    assert enter(roster, "a map", [Place(4, "Shop")]) == (3,)


def test_a_newcomer_on_a_map_where_all_others_are_told_needs_no_name() -> None:
    roster = Roster()
    enter(roster, "one map", [Place(1, "Shop")])
    assert enter(roster, "other map", [Place(5, "Shop"), Place(6)]) == (0, 1)


def test_a_refused_entry_leaves_the_roster_as_it_was() -> None:
    roster = Roster()
    enter(roster, "one map", [Place(7, "Shop")])
    with pytest.raises(vr.InvalidInputError):
        enter(roster, "other map", [Place(8, "New"), Place(7)])
    assert len(roster.places) == 1


def test_classes_of_all_days_are_intersected() -> None:
    linking = Linking([entry("abcd ef"), entry("abce df", day=2), entry("cdg", day=3)])
    assert {letter: left_of(linking, letter) for letter in "abcdefg"} == {
        "a": "abc", "b": "abc", "c": "c", "d": "d", "e": "e", "f": "f", "g": "cdg",
    }  # fmt: skip
    assert left_of(linking, "c", since="2026-11-02") == "c"
    assert left_of(linking, "a", since="2026-11-02") == "abce"
    assert left_of(linking, "g", since="2026-11-04") == "abcdefg"


def test_a_missing_trip_says_what_is_assumed_of_it() -> None:
    """On the second day b, who is refused, and c, who is not listed, look the same: neither has a trip."""
    days = [entry("abc de"), entry("ade", "bf", day=2)]
    left = {trips: [left_of(Linking(days, trips), each) for each in "abcdef"] for trips in ("occasional", "expected")}
    assert left == {
        "occasional": ["a", "abc", "abc", "de", "de", "abcdef"],
        "expected": ["a", "bc", "bc", "de", "de", "f"],
    }
    assert [left_of(Linking(days, "listed"), each) for each in "bcf"] == ["b", "abc", "bf"]


def test_trips_on_the_way_say_nothing_of_others() -> None:
    days = [entry("abc def"), entry("abc", kind="replan", day=2), entry("def", kind="day", day=3)]
    for trips in ("occasional", "expected", "listed"):
        assert [left_of(Linking(days, trips), each) for each in "ad"] == ["abc", "def"]


def test_joining_is_free_and_leaving_costs() -> None:
    """Theory: {a, b, c} with k = 3, c leaves, whoever joins."""
    three = vr.Privacy(k=3)
    joined = Linking([entry("abc", privacy=three), entry("abcxyz", privacy=three, day=2)])
    assert all(joined.broken(number) is None for number in range(6))
    assert [left_of(joined, letter) for letter in "abcx"] == ["abc", "abc", "abc", "abcxyz"]
    gone = Linking([entry("abc", privacy=three), entry("abxyz", privacy=three, day=2)])
    texts = [place.text for place in gone.roster.places]
    assert {letter: gone.broken(texts.index(letter)) for letter in texts} == {
        "a": 0, "b": 0, "c": None, "x": None, "y": None, "z": None,
    }  # fmt: skip
    assert [left_of(gone, letter) for letter in "abc"] == ["ab", "ab", "abc"]


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


def test_a_promise_that_forgets_is_kept_from_its_day_on() -> None:
    """The third playbook assumed that nothing before the second can be linked; the first made no such assumption."""
    books = [entry("abcd"), entry("ab cd", day=2), entry("ac bd", day=3, since="2026-11-03")]
    linking = Linking(books)
    assert [linking.broken(number) for number in range(4)] == [0] * 4
    assert [linking.broken(number, "2026-11-03") for number in range(4)] == [None] * 4
    three = [replace(book, privacy=vr.Privacy(k=3)) for book in (books[0], replace(books[0], since="2026-11-01"))]
    for first, second in (three, three[::-1]):
        both = Linking([first, replace(second, date="2026-11-02", playbook="2"), books[1]])
        assert [both.broken(number) for number in range(4)] == [0] * 4, "the first of those that are broken"
    alone = Linking([replace(book, privacy=vr.Privacy(k=1)) for book in books[:2]] + books[2:])
    assert [alone.broken(number) for number in range(4)] == [None] * 4


def test_a_risk_weighs_who_is_left() -> None:
    risk = vr.Privacy(risk=0.5)
    weights = (1.0, 1.0, 4.0, 4.0)
    linking = Linking([entry("abcd", privacy=risk, prior=weights), entry("ab cd", day=2, privacy=risk, prior=weights)])
    assert [linking.broken(number) for number in range(4)] == [None] * 4
    linking = Linking(
        [entry("abcd", privacy=risk, prior=weights), entry("acd", "b", day=2, privacy=risk, prior=weights)], "expected"
    )
    assert [linking.broken(number) for number in range(4)] == [None, 0, None, None]
    assert linking.lines(0, is_weighed=True) == [frozenset({0, 2, 3})]
    # Who is left has to have some weight at all; and of two promises with other weights each is asked for.
    nobody = [
        entry(groups, day=day, privacy=risk, prior=(1, 1, 0, 0)) for day, groups in enumerate(("abcd", "ab cd"), 1)
    ]
    assert [Linking(nobody).broken(number) for number in range(4)] == [None, None, 0, 0]
    heavier = [
        entry("abcd", day=day, privacy=risk, prior=(first, 1.0, 1.0, 1.0)) for day, first in ((1, 1.0), (2, 4.0))
    ]
    assert [Linking(heavier).broken(number) for number in range(4)] == [1] * 4


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


def test_draws_of_one_occasion_are_one_draw() -> None:
    once = Linking([drawn(1, "monday"), drawn(2, "monday")])
    assert len(list(once.combinations(0))) == 2
    assert [len(once.left(number)) for number in range(3)] == [2, 2, 2]
    assert [once.broken(number) for number in range(3)] == [None] * 3
    for occasion in ("tuesday", None):
        twice = Linking([drawn(1, "monday"), drawn(2, occasion)])
        assert [len(twice.left(number)) for number in range(3)] == [1, 1, 1]
        assert [twice.broken(number) for number in range(3)] == [0] * 3


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


def random_days(rng: Random, letters: str, num_days: int) -> list[Entry]:
    """Days on which everybody listed is in one of some groups or has no route."""
    days = []
    for number in range(num_days):
        listed = [letter for letter in letters if rng.random() < 0.8] or [letters[0]]
        groups: dict[int, str] = {}
        for letter in listed:
            at = rng.randrange(3)
            groups[at] = groups.get(at, "") + letter
        refused = groups.pop(0, "") if rng.random() < 0.5 else ""
        days.append(entry(" ".join(groups.values()), refused, day=number + 1))
    return days


def letters(linking: Linking, people: Iterable[int]) -> str:
    return "".join(sorted(linking.roster.places[number].text for number in people))


@pytest.mark.parametrize("trips", ["occasional", "expected", "listed"])
@pytest.mark.parametrize("seed", range(40))
def test_what_some_of_the_trips_leave_falls_into_lines(seed: int, trips: str) -> None:
    """The lemma: what any of the trips leave, of any group, is made of disjoint lines of its members within it."""
    rng = Random(seed)
    linking = Linking(random_days(rng, "abcdefgh", rng.randint(1, 5)), trips)
    everybody = range(len(linking.roster.places))
    shown = [linking.sightings(person) for person in everybody]
    members = frozenset(person for person in everybody if rng.random() < 0.7 and shown[person])
    of_members = {
        line & members for each in members for line in linking.lines(each, is_weighed=True) if each in members
    }
    for person in members:
        for num in range(1, len(shown[person]) + 1):
            for some in combinations(shown[person], num):
                left = frozenset.intersection(members, *(sighting.members for (sighting,) in some))
                assert is_made_of(left, of_members), (letters(linking, left), some)
    if trips == "expected":
        assert all(len(linking.lines(person, is_weighed=True)) == 1 for person in everybody)


def is_made_of(people: frozenset[int], parts: Iterable[frozenset[int]]) -> bool:
    """Whether people fall into disjoint parts."""
    if not people:
        return True
    within = [part for part in parts if part and min(people) in part and part <= people]
    return any(is_made_of(people - part, parts) for part in within)


def test_trips_on_some_days_only_may_leave_people_of_whom_no_history_is_what_is_left() -> None:
    """Why the lemma does not make one history do: u and w were each away on a day, and v was not."""
    risk = vr.Privacy(risk=0.5)
    days = [entry("uvab", privacy=risk), entry("wvab", day=2, privacy=risk), entry("uwv ab", day=3, privacy=risk)]
    linking = Linking([*days, entry("uwv ab", day=4, privacy=risk)])
    u, v, w = (next(n for n, place in enumerate(linking.roster.places) if place.text == each) for each in "uvw")
    assert [letters(linking, line) for line in linking.lines(u, is_weighed=True)] == ["uv", "uvw"]
    assert [letters(linking, line) for line in linking.lines(w, is_weighed=True)] == ["vw", "uvw"]
    assert [letters(linking, line) for line in linking.lines(v, is_weighed=True)] == ["v", "uvw"]
    assert [letters(linking, line) for line in linking.lines(u, is_weighed=True, among={u, v})] == ["uv"]
    assert len(linking.lines(u, is_weighed=False)) == 1


def test_joining_makes_no_second_line() -> None:
    risk = vr.Privacy(risk=0.5)
    days = [entry("abcd", privacy=risk), entry("abx cdy", day=2, privacy=risk), entry("abxz cdyu", day=3, privacy=risk)]
    linking = Linking(days)
    assert all(len(linking.lines(person, is_weighed=True)) == 1 for person in range(8))


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


@pytest.mark.parametrize("trips", ["occasional", "expected", "listed"])
@pytest.mark.parametrize("seed", range(30))
def test_who_fell_short_and_by_which_day_are_those_of_plain_sets(seed: int, trips: str) -> None:
    """F15: every promise counts, whoever hides the place now."""
    rng = Random(seed)
    days = random_days(rng, "abcdefgh", rng.randint(2, 5))
    linking = Linking(days, trips)
    for person, place in enumerate(linking.roster.places):
        left, first = set("abcdefgh") & {each.text for each in linking.roster.places}, None
        found = None
        for number, day in enumerate(days):
            texts = [{day.places[at].text for at in members} for members in day.classes]
            mine = next((members for members in texts if place.text in members), None)
            if mine is not None:
                first = number if first is None else first
            elif trips == "expected":
                mine = {each.text for each in linking.roster.places}.difference(*texts)
            elif trips == "listed":
                refused = {day.places[at].text for at in day.refused}
                mine = refused if place.text in refused else None
            left &= mine if mine is not None else left
            if first is not None and len(left) < 2 and found is None:
                found = (first, number)
        assert left_of(linking, place.text) == "".join(sorted(left))
        assert linking.fell_short(person) == found
        assert (linking.broken(person) is None) == (found is None)
