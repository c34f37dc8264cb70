"""What a page needs for the seats of the observer and of the driver: as the command and a plain observer have it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

import veilroute as vr
from drawn_books import triangle_book
from street_samples import NAMES, exposed_book, little_book, little_problem, two_trip_book
from studio_books import ways_of
from veilroute import Playbook, VeilrouteError
from veilroute.auditing import is_hidden
from veilroute.base.keys import draw as drawn
from veilroute.domain import folded, label_text
from veilroute.formats import route_texts
from veilroute.plotting import SENTENCES, drive_data, unpack_gpx, watch_data

ROWS = ["........", ".@@..@..", "........", "..@@.@..", "........"]
SPOTS = [(0, 3), (2, 0), (2, 4), (4, 1), (4, 5), (2, 7)]


def grid_book(**privacy: Any) -> vr.Playbook:
    trips = [vr.Trip((0, 0), (4, 7)), vr.Trip((4, 0), (0, 7), 2.0)]
    prior = None if "k" in privacy else [3, 1, 2, 1, 2, 1]
    problem = vr.Problem(vr.grid_domain(ROWS), trips, SPOTS, prior=prior)
    return vr.solve(problem, vr.Privacy(**privacy))


def clash_book() -> vr.Playbook:
    """One candidate is called what another's node is, and two have names that differ in capitals only."""
    names = {**NAMES, 102: "104", 104: "Branch X", 103: "branch x", 112: "Straße"}
    return vr.solve(little_problem(names=names), little_book().privacy)


def broken_book() -> vr.Playbook:
    """Its first class says that it hides a single place."""
    book = little_book()
    first, *others = book.classes
    return replace(book, classes=(replace(first, members=first.members[:1]), *others))


def far_book() -> vr.Playbook:
    """It promises a distance that its classes do not have: only the map tells."""
    book = little_book()
    return replace(book, privacy=replace(book.privacy, ell=100_000.0))


BOOKS: dict[str, Callable[[], Playbook]] = {
    "partition": lambda: grid_book(k=2, ell=2),
    "randomised": lambda: grid_book(risk=0.4, ell=1, mechanism="randomised"),
    "weighted": lambda: grid_book(risk=0.6, ell=1),
    "finite m": lambda: grid_book(k=2, ell=1, m=4),
    "triangle": triangle_book,
    "streets": little_book,
    "two trips": two_trip_book,
    "exposed": exposed_book,
    "clash": clash_book,
    "broken": broken_book,
    "far": far_book,
}


@pytest.fixture(scope="module", params=BOOKS)
def book(request: pytest.FixtureRequest) -> Playbook:
    return BOOKS[request.param]()


def formats_of(book: Playbook) -> list[str]:
    assert book.domain is not None
    return ["text", "json", *(["directions", "gpx"] if book.domain.on_earth else [])]


def texts(drive: dict[str, Any], number: int) -> dict[str, str]:
    """A route's texts as the page makes them."""
    route = drive["routes"][number]
    labels = [[entry, entry] if isinstance(entry, str) else entry for entry in drive["labels"]]
    head, tail = route["json"]
    made = {
        "text": "".join(f"{labels[at][0]}\n" for at in route["nodes"]),
        "json": head + ",".join(labels[at][1] for at in route["nodes"]) + tail,
    }
    return made | {name: unpack_gpx(route[name]) for name in ("directions", "gpx") if name in route}


def test_everybody_is_given_what_the_command_gives(book: Playbook) -> None:
    drive = drive_data(book)
    assert json.loads(json.dumps(drive)) == drive
    assert len(drive["places"]) == len(book.candidates)
    assert drive["formats"] == formats_of(book)
    for label, place in zip(book.candidates, drive["places"], strict=True):
        assert place["text"] == label_text(label)
        assert json.loads(place["drawLabel"]) == json.loads(json.dumps(book.draw_label(label)))
        assert place["drawSha256"] == (book.draw_sha256(label) if book.is_randomised and place["draws"] else None)
        groups = book.draw_order(label)
        try:
            book.route_for(label)
            if not is_hidden(book, book.hidden_classes if book.is_randomised else groups[:1]):
                raise vr.BrokenPromiseError
        except VeilrouteError as error:
            assert SENTENCES[place["refusal"]] == str(error)
            assert not place["draws"]
            continue
        assert place["refusal"] is None
        assert [draw["class"] for draw in place["draws"]] == [book.hidden_classes.index(each) + 1 for each in groups]
        shares = [group.share_of(label) if book.is_randomised else None for group in groups]
        assert [draw["share"] for draw in place["draws"]] == shares
        for draw, group in zip(place["draws"], groups, strict=True):
            for trip, number in enumerate(draw["routes"]):
                route = group.route_of(label, trip)
                assert texts(drive, number) == route_texts(book, route, formats_of(book))


def test_members_of_a_class_are_told_apart_by_nothing_that_is_shown() -> None:
    drive = drive_data(grid_book(k=2, ell=2))
    given: dict[int, list[Any]] = {}
    for place in drive["places"]:
        for draw in place["draws"]:
            given.setdefault(draw["class"], []).append(draw)
    assert any(len(draws) > 1 for draws in given.values())
    for draws in given.values():
        assert all(draw == draws[0] for draw in draws)


def test_the_page_goes_through_the_classes_in_the_order_of_the_command() -> None:
    book = grid_book(risk=0.4, ell=1, mechanism="randomised")
    turned = replace(book, classes=tuple(book.classes[::-1]))
    one, other = drive_data(book), drive_data(turned)
    assert any(len(place["draws"]) > 1 for place in one["places"])

    def told(drive: dict[str, Any]) -> list[Any]:
        return [
            (place["drawSha256"], draw["share"], [texts(drive, number) for number in draw["routes"]])
            for place in drive["places"]
            for draw in place["draws"]
        ]

    assert told(one) == told(other)


def test_folding_by_the_table_is_pythons() -> None:
    """Of all letters, in the names of the playbook and in what may be typed instead of them."""
    rng, letters = random.Random(3), [chr(code) for code in range(0x20, 0x3000) if chr(code).isprintable()]
    names = ["Straße", "ΣΊΣΥΦΟΣ", "İstanbul", "ǰ", "Ꭰ ᏸ", "plain", "日本"]
    book = grid_book(k=2, ell=2)
    problem = replace(book.problem, names=dict(zip(SPOTS, names, strict=False)))
    drive = drive_data(vr.solve(problem, book.privacy))
    table, wanted = drive["fold"], [folded(name) for name in names[: len(SPOTS)]]
    tried = [*names, *map(str.upper, names), *map(str.lower, names)]
    tried += ["".join(rng.choices(letters, k=4)) for _ in range(3000)] + letters
    for text in tried:
        made = " ".join("".join(table.get(letter, letter) for letter in normalize("NFKC", text)).split())
        assert [made == each for each in wanted] == [folded(text) == each for each in wanted]


def plain_sights(book: Playbook) -> dict[tuple[int, int], float]:
    """How probable it is that a candidate is the secret and this class is drawn for it, by candidate and class."""
    prior = book.prior or [1.0] * len(book.candidates)
    found = {}
    for at, label in enumerate(book.candidates):
        groups = [(i, group) for i, group in enumerate(book.hidden_classes, 1) if label in group.members]
        shares = [group.share_of(label) if book.is_randomised else 1.0 for _, group in groups]
        for (number, _), share in zip(groups, shares, strict=True):
            found[at, number] = prior[at] * share / sum(shares)
    total = sum(found.values())
    return {place: joint / total for place, joint in found.items()}


def test_what_can_be_seen_is_what_the_routes_and_the_prior_say(book: Playbook) -> None:
    watch = watch_data(book)
    assert json.loads(json.dumps(watch)) == watch
    sights = [watch["sights"][name] for name in ("candidates", "classes", "joint")]
    found = {(at, number): joint for at, number, joint in zip(*sights, strict=True)}
    assert found == pytest.approx(plain_sights(book))
    # Two ways begin alike for m nodes of a trip exactly if the routes do.
    ways = ways_of(book, watch)
    assert len(set(ways)) == len(ways) == len(watch["ways"])
    for seen, way in zip(ways, watch["ways"], strict=True):
        assert [len(watch["walks"][at]) for at in way["walks"]] == list(map(len, seen))
    for trip in range(len(book.trips)):
        for m in (1, 2, 3, 5, 100):
            walks = [tuple(watch["walks"][way["walks"][trip]][:m]) for way in watch["ways"]]
            routes = [way[trip][:m] for way in ways]
            assert [[a == b for b in walks] for a in walks] == [[a == b for b in routes] for a in routes]
    risk = vr.risk(book)
    promised = {"worst": risk.worst, "place": risk.worst_place, "bayes": risk.bayes_success, "left": risk.num_possible}
    assert watch["promised"] == promised
    assert (watch["m"], watch["bound"]) == (book.privacy.m, book.privacy.beta)
    assert watch["hiddenMass"] == risk.hidden_mass


def at_step(figures: dict[str, Any], m: int) -> tuple[float, ...]:
    at = max(i for i, first in enumerate(figures["at"]) if first <= m)
    return tuple(figures[name][at] for name in ("worst", "place", "bayes", "left"))


@pytest.mark.parametrize("make", [little_book, exposed_book, clash_book])
def test_figures_of_a_trip_alone_are_those_of_the_risk(make: Callable[[], Playbook]) -> None:
    book = make()
    (trip,), risk = watch_data(book)["trips"], vr.risk(book)
    assert trip["length"] == len(risk.over_time)
    for step in risk.over_time:
        assert at_step(trip, step.m) == step.figures


@pytest.mark.parametrize("name", ["partition", "randomised", "finite m", "triangle"])
def test_earlier_trips_count_as_seen_whole(name: str) -> None:
    book = BOOKS[name]()
    watch = watch_data(book)
    ways, joint = ways_of(book, watch), plain_sights(book)
    sights = list(zip(*(watch["sights"][name] for name in ("candidates", "classes", "ways")), strict=True))
    for trip, figures in enumerate(watch["trips"]):
        for m in range(1, figures["length"] + 1):
            groups: dict[Any, dict[int, float]] = {}
            for candidate, number, way in sights:
                group = groups.setdefault((ways[way][:trip], ways[way][trip][:m]), {})
                group[candidate] = group.get(candidate, 0.0) + joint[candidate, number]
            place = max(max(group.values()) / sum(group.values()) for group in groups.values())
            bayes, left = sum(max(group.values()) for group in groups.values()), min(map(len, groups.values()))
            assert at_step(figures, m)[1:] == pytest.approx((place, bayes, left))


def test_a_playbook_that_contradicts_itself_is_refused() -> None:
    book = little_book()
    doubled = replace(book, classes=(book.classes[0], book.classes[0], *book.classes[1:]))
    assert set(watch_data(doubled)) == {"refused"}


def test_keys_draw_what_the_browsers_tests_expect() -> None:
    """The page is held against the same file, in tests/browser/unit/draw.test.js."""
    path = Path(__file__).parents[2] / "browser" / "unit" / "keyed_draws.json"
    vectors = json.loads(path.read_text(encoding="utf-8"))
    assert len(vectors["draws"]) == 24
    for case in vectors["draws"]:
        occasion = normalize("NFC", case["occasion"]).encode()
        below = vr.Key(bytes.fromhex(case["key"])).numbers(b"\x01\x02", b"[0,2]\n", occasion)
        assert drawn(case["weights"], below) == case["drawn"]
    for case in vectors["numbers"]:
        below = vr.Key(bytes.fromhex(case["key"])).numbers(b"a", b"")
        assert [str(below(int(case["total"]))) for _ in case["numbers"]] == case["numbers"]
