"""Who is who on changed maps, and what linked trips leave of everybody."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations
from random import Random
from typing import Any

import pytest

import veilroute as vr
from linked_entries import entry, left_of
from veilroute.auditing.sightings import People
from veilroute.entries import Entry, Place, entry_from_dict
from veilroute.jsontext import dump_canonical, parse_json
from veilroute.linking import Linking, Roster, Sighting

EARTH = ("earth", 24.94, 60.17)
METRE = 1 / 111_195  #: in degrees of latitude


def earth(metres: float) -> tuple[str, float, float]:
    """So far north of the place above."""
    return ("earth", 24.94, 60.17 + metres * METRE)


def cell(row: int, col: int, height: int = 5) -> tuple[str | float, ...]:
    return ("cell", height, 5, row, col)


KNOWN: dict[str, Place] = {
    "number": Place(7),
    "number with a name": Place(7, "Shop"),
    "number on earth": Place(7, None, EARTH),
    "named on earth": Place(7, "Shop", EARTH),
    "text": Place("Shop"),
    "cell": Place((1, 2), None, cell(1, 2)),
}


@pytest.mark.parametrize(
    "known, again",
    [
        ("number with a name", Place(8, "Shop")),
        ("number with a name", Place("Shop")),
        ("text", Place(3, "Shop", EARTH)),
        ("number on earth", Place(9, None, EARTH)),
        ("number on earth", Place(9, "Renamed", EARTH)),
        ("named on earth", Place(9, "Shop", earth(200))),
        ("named on earth", Place(9, "Renamed", EARTH)),
        ("cell", Place((1, 2), None, cell(1, 2))),
    ],
)
def test_a_place_is_known_again_on_another_map(known: str, again: Place) -> None:
    roster = Roster()
    assert roster.enter("one map", [Place(1, "Else", earth(9999)), KNOWN[known]]) == (0, 1)
    assert roster.enter("other map", [again]) == (1,)
    assert roster.places[1] == again


@pytest.mark.parametrize(
    "known, other",
    [
        ("number with a name", Place(7, "Office")),
        ("number on earth", Place(7, None, earth(20))),
        ("named on earth", Place(7, "Office", earth(6))),
        ("cell", Place((1, 2), None, cell(1, 3))),
        ("text", Place("Office")),
    ],
)
def test_the_same_number_on_another_map_may_be_somebody_else(known: str, other: Place) -> None:
    roster = Roster()
    assert roster.enter("one map", [KNOWN[known]]) == (0,)
    assert roster.enter("other map", [other]) == (1,)


@pytest.mark.parametrize(
    "known, unclear",
    [
        ([Place(7)], [Place(7)]),  # numbers alone
        ([Place(7)], [Place(8, "Shop", EARTH)]),  # may be 7, of whom nothing else is known
        ([Place(7, "Shop")], [Place(7, None, EARTH)]),  # a name here, a place there
        ([Place((1, 2), None, cell(1, 2))], [Place((1, 2), None, cell(1, 2, height=6))]),  # a row was added somewhere
        ([Place(7, None, EARTH)], [Place(7, None, earth(1))]),  # drawn more exactly
        ([Place(7, "Shop", EARTH)], [Place(7, "Office", earth(2))]),  # under a new name, and nearly there
        ([Place(7, "Shop", EARTH)], [Place(7, "Shop", earth(300))]),  # moved, or another of that name
        ([Place((1, 2), "Shop", cell(1, 2))], [Place((1, 3), "Shop", cell(1, 3))]),
        ([Place(7, "Shop"), Place(8, "Shop")], [Place(9, "Shop")]),  # two of one name
        ([Place(7, "Shop", EARTH), Place(8, None, earth(50))], [Place(9, "Shop", earth(50))]),  # whose?
        ([Place(7, "Shop", EARTH)], [Place(8, "Shop"), Place(9, None, EARTH)]),  # two that are one
        ([Place("Shop"), Place(7, "Shop")], [Place("Shop")]),
    ],
)  # fmt: skip
def test_who_cannot_be_told_is_refused(known: list[Place], unclear: list[Place]) -> None:
    roster = Roster()
    roster.enter("one map", known)
    with pytest.raises(vr.InvalidInputError, match="places that can be told from each other"):
        roster.enter("other map", unclear)


def test_coordinates_tell_two_of_one_name() -> None:
    roster = Roster()
    assert roster.enter("one map", [Place(7, "Shop", EARTH), Place(8, "Shop", earth(900))]) == (0, 1)
    assert roster.enter("other map", [Place(1, "Shop", earth(900)), Place(2, "Shop", EARTH)]) == (1, 0)


def test_several_at_one_spot_are_told_by_their_names() -> None:
    """Who is new at the spot of somebody who is listed as well is new; the auditor thinks so too."""
    days = [
        [Place("Shop", None, EARTH)],
        [Place("Office", None, EARTH), Place("Shop", None, EARTH)],
        [Place("Shop", None, EARTH), Place("Office", None, EARTH)],
        [Place("Bakery", None, EARTH), Place("Shop", None, EARTH)],  # the office's new name, as far as anybody can tell
    ]
    roster, people = Roster(), People()
    for day, (places, numbers) in enumerate(zip(days, [(0,), (1, 0), (0, 1), (1, 0)], strict=True)):
        assert roster.enter(f"map {day}", places) == people.enter(f"map {day}", places) == numbers
    for known in (roster, people):
        with pytest.raises(vr.InvalidInputError, match="places that can be told from each other"):
            known.enter("last map", [Place("Bakery", None, EARTH), Place("Office", None, EARTH)])


def test_on_one_map_labels_say_who_it_is() -> None:
    """Also where a name is new, or is that of another place of the map."""
    roster = Roster()
    assert roster.enter("a map", [Place(1), Place(2)]) == (0, 1)
    assert roster.enter("a map", [Place(3), Place(2, "Shop"), Place(1, "Shop")]) == (2, 1, 0)
    assert roster.enter("a map", [Place(4, "Shop")]) == (3,)


def test_a_newcomer_on_a_map_where_all_others_are_told_needs_no_name() -> None:
    roster = Roster()
    roster.enter("one map", [Place(1, "Shop")])
    assert roster.enter("other map", [Place(5, "Shop"), Place(6)]) == (0, 1)


def test_a_refused_entry_leaves_the_roster_as_it_was() -> None:
    roster = Roster()
    roster.enter("one map", [Place(7, "Shop")])
    with pytest.raises(vr.InvalidInputError):
        roster.enter("other map", [Place(8, "New"), Place(7)])
    assert len(roster.places) == 1


def test_classes_of_all_days_are_intersected() -> None:
    linking = Linking([entry("abcd ef"), entry("abce df", day=2), entry("cdg", day=3)])
    assert {letter: left_of(linking, letter) for letter in "abcdefg"} == {
        "a": "abc", "b": "abc", "c": "c", "d": "d", "e": "e", "f": "f", "g": "cdg",
    }  # fmt: skip
    assert left_of(linking, "c", since="2026-11-02") == "c"
    assert left_of(linking, "a", since="2026-11-02") == "abce"
    assert left_of(linking, "g", since="2026-11-04") == "abcdefg"


def test_no_trip_is_seen_as_well() -> None:
    linking = Linking([entry("abc def"), entry("de", "abf", day=2)])
    assert [left_of(linking, letter) for letter in "abcdef"] == ["ab", "ab", "abc", "de", "de", "f"]
    texts = [place.text for place in linking.roster.places]
    assert [letter for letter in texts if linking.is_refused(texts.index(letter))] == ["a", "b", "f"]
    broken = {letter: linking.broken(texts.index(letter)) for letter in texts}
    assert broken == {"a": None, "b": None, "c": None, "d": None, "e": None, "f": 0}


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
    strict = [replace(book, privacy=vr.Privacy(k=2, spread="all-pairs")) for book in books]
    assert [Linking(strict).broken(number) for number in range(4)] == [None] * 4


def test_a_promise_that_forgets_is_kept_from_its_day_on() -> None:
    """The third playbook assumed that nothing before the second can be linked; the first made no such assumption."""
    books = [entry("abcd"), entry("ab cd", day=2), entry("ac bd", day=3, since="2026-11-03")]
    linking = Linking(books)
    assert [linking.broken(number) for number in range(4)] == [0] * 4
    assert [linking.broken(number, "2026-11-03") for number in range(4)] == [None] * 4
    alone = Linking([replace(book, privacy=vr.Privacy(k=1)) for book in books[:2]] + books[2:])
    assert [alone.broken(number) for number in range(4)] == [None] * 4


def test_a_risk_weighs_who_is_left() -> None:
    risk = vr.Privacy(risk=0.5)
    weights = (1.0, 1.0, 4.0, 4.0)
    linking = Linking([entry("abcd", privacy=risk, prior=weights), entry("ab cd", day=2, privacy=risk, prior=weights)])
    assert [linking.broken(number) for number in range(4)] == [None] * 4
    linking = Linking(
        [entry("abcd", privacy=risk, prior=weights), entry("acd", "b", day=2, privacy=risk, prior=weights)]
    )
    assert [linking.broken(number) for number in range(4)] == [None, 0, None, None]
    lines = linking.lines(0, is_parted=True)
    assert [sorted(line) for line in lines] == [[0, 2, 3], [0, 1, 2, 3]]


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


@pytest.mark.parametrize("seed", range(30))
def test_histories_are_those_of_plain_sets(seed: int) -> None:
    rng = Random(seed)
    days = random_days(rng, "abcdefgh", rng.randint(1, 5))
    linking = Linking(days)
    for number, place in enumerate(linking.roster.places):
        seen = []
        for day in days:
            for members in (*day.classes, day.refused):
                texts = {day.places[at].text for at in members}
                seen += [texts] if place.text in texts else []
        assert left_of(linking, place.text) == "".join(sorted(set.intersection(*seen)))
        some = chain.from_iterable(combinations(seen, num) for num in range(1, len(seen) + 1))
        expected = {frozenset(set.intersection(*each)) for each in some}
        texts_of = [p.text for p in linking.roster.places]
        assert {frozenset(texts_of[n] for n in line) for line in linking.lines(number, is_parted=True)} == expected


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
    plain = parse_json(dump_canonical(given.to_dict()), "entry")
    assert entry_from_dict(plain) == given


@pytest.mark.parametrize(
    "change",
    [
        {"classes": [[0, 0]]},
        {"classes": [[0, 1], [1, 2]]},
        {"classes": [[0, 1], []]},
        {"classes": [[0, 9]]},
        {"classes": [[0, -1]]},
        {"classes": [[0, True]]},
        {"classes": "ab"},
        {"refused": [0]},
        {"refused": [1.0]},
        {"near": [[0]]},
        {"near": [[0, 5]]},
        {"prior": [1.0]},
        {"prior": [1.0, -1.0, 1.0]},
        {"prior": [1.0, float("nan"), 1.0]},
        {"prior": [1e308, 1e308, 1.0]},  # of which the sum is none
        {"shares": [[0.5, 0.5]]},  # of a partition, where classes would then overlap
        {"shares": [[0.5]]},
        {"shares": [[0.5, 0.0]]},
        {"shares": [[0.5, 2]]},
        {"shares": [[0.5, "x"]]},
        {"places": [{"label": "a"}, {"label": "a"}, {"label": "c"}]},
        {"places": [{"label": "a", "name": 3}, {"label": "b"}, {"label": "c"}]},
        {"places": [{"label": "a", "at": []}, {"label": "b"}, {"label": "c"}]},
        {"places": [{"label": "a", "at": [1, 2]}, {"label": "b"}, {"label": "c"}]},
        {"places": [{"label": "a", "at": ["earth", 24.9]}, {"label": "b"}, {"label": "c"}]},
        {"places": [{"label": "a", "at": ["earth", 24.9, 60.2, 3]}, {"label": "b"}, {"label": "c"}]},
        {"places": [{"label": "a", "at": ["moon", 24.9, 60.2]}, {"label": "b"}, {"label": "c"}]},
        {"places": ["a", "b", "c"]},
        {"date": "2026-13-01"},
        {"date": "16.11.2026"},
        {"date": 20261116},
        {"since": "yesterday"},
        {"parent": 3},
        {"occasion": 3},
        {"kind": None},
        {"kind": "other"},
        {"playbook": None},
        {"domain": 1},
        {"privacy": {"k": 0}},
        {"privacy": {"k": 2, "unknown": 1}},
        {"privacy": None},
        {"trips": [["a"]]},
        {"trips": "ab"},
    ],
    ids=str,
)  # fmt: skip
def test_damaged_entries_are_refused(change: dict[str, Any]) -> None:
    data = parse_json(dump_canonical(entry("ab", "c").to_dict()), "entry")
    assert entry_from_dict(data)
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        entry_from_dict(data | change)


@pytest.mark.parametrize(
    "name", ["places", "classes", "refused", "near", "date", "privacy", "trips", "domain", "kind", "parent"]
)
def test_entries_have_all_fields(name: str) -> None:
    data = entry("ab", "c").to_dict()
    del data[name]
    with pytest.raises(KeyError):
        entry_from_dict(data)


def test_a_sighting_is_what_it_says() -> None:
    linking = Linking([entry("ab", "c")])
    assert linking.sightings(0) == [(Sighting(0, 0, frozenset({0, 1})),)]
    assert linking.sightings(2) == [(Sighting(0, -1, frozenset({2})),)]
    assert linking.sightings(7) == []
    assert (linking.promises(0), linking.promises(2)) == ([0], [])
