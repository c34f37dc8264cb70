"""The street is the judge: what a simulated observer achieves never exceeds what is printed."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

import veilroute as vr
from drawn_books import triangle_book
from plain_cliques import heaviest_area
from street_observer import FEATURES, run_scenario
from veilroute.auditing import street
from veilroute.keys import draw

FEW, MANY = 3, 40


@pytest.mark.parametrize("feature", FEATURES)
def test_no_printed_figure_is_exceeded(feature: str) -> None:
    rows = [row for seed in range(FEW) for row in run_scenario(feature, seed)]
    assert rows
    assert [row for row in rows if row.is_exceeded] == []


@pytest.mark.slow
@pytest.mark.parametrize("feature", FEATURES)
def test_no_printed_figure_is_exceeded_in_many_scenarios(feature: str) -> None:
    scenarios = [run_scenario(feature, seed) for seed in range(FEW, FEW + MANY)]
    assert sum(map(bool, scenarios)) > MANY / 4
    assert [row for rows in scenarios for row in rows if row.is_exceeded] == []


def test_the_observer_shares_no_definition() -> None:
    source = Path(street.__file__).read_text()
    imports = [line for line in source.splitlines() if line.startswith(("import veilroute", "from veilroute"))]
    assert sorted(imports) == [
        "from veilroute.errors import BrokenPromiseError, NotAnonymizedError",
        "from veilroute.keys import Key",
    ]


def draw_map(rng: Random) -> tuple[street.StreetMap, dict[int, float]]:
    num = rng.randint(3, 9)
    edges = [(a, b, rng.choice([0, 1, 2, 3.5])) for a in range(num) for b in range(num) if rng.random() < 0.4]
    domain = vr.Domain.from_edges(num, [e[0] for e in edges], [e[1] for e in edges], [e[2] for e in edges])
    return street.StreetMap(domain, range(num), rng.choice([0, 1, 2, 4])), {n: rng.random() for n in range(num)}


def test_its_areas_and_spread_are_those_of_plain_search() -> None:
    rng = Random(1)
    for _ in range(200):
        streets, masses = draw_map(rng)
        nodes = list(masses)

        def is_close(one: int, other: int, streets: street.StreetMap = streets) -> bool:
            return other in streets.close[one]

        expected = heaviest_area(nodes, is_close, masses.__getitem__)
        assert math.isclose(streets.heaviest_area(masses), expected)
        apart = max(
            size
            for size in range(1, len(nodes) + 1)
            for some in combinations(nodes, size)
            if not any(is_close(a, b) for a, b in combinations(some, 2))
        )
        assert streets.num_apart(nodes) == apart


def test_it_finds_every_draw_and_its_chance() -> None:
    book = triangle_book((0.4, 0.35, 0.25))
    for place in book.candidates:
        found = street.try_draws(partial(street.drive, book, place))
        assert not found.is_sampled
        for group in book.classes_of(place):
            total = sum(other.share_of(place) for other in book.classes_of(place))
            routes = tuple(route.nodes for route in group.routes)
            assert math.isclose(found.chances[routes], group.share_of(place) / total, rel_tol=1e-9)


def test_it_finds_a_draw_that_hardly_ever_comes_between_two_that_look_the_same() -> None:
    book = triangle_book(num_trips=1)
    place, (first, rare, _) = book.candidates[0], book.classes
    again = replace(first, routes=(replace(first.routes[0]),))  # another class that goes the same way
    classes = (first, replace(rare, shares=(1e-9, 1e-9)), again)

    def run(key: vr.Key) -> street.Seen:
        group = classes[draw([each.share_of(place) for each in classes], key.numbers(b"draw"))]
        assert isinstance(key, street._Dice)
        key.marks.append(id(group.routes[0]))
        return group.routes[0].nodes

    chances = street.try_draws(run).chances
    assert chances.keys() == {first.routes[0].nodes, rare.routes[0].nodes}
    assert math.isclose(chances[rare.routes[0].nodes], 1e-9 / (2 * first.share_of(place) + 1e-9), rel_tol=1e-6)


def test_numbers_that_a_key_gives_twice_are_the_same() -> None:
    same = street.try_draws(lambda key: (key.numbers(b"a")(3), key.numbers(b"a")(3)))
    assert dict(same.chances) == pytest.approx({(value, value): 1 / 3 for value in range(3)})
    other = street.try_draws(lambda key: (key.numbers(b"a")(3), key.numbers(b"b")(3)))
    assert len(other.chances) == 9


def test_too_many_draws_are_sampled_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(street, "MAX_RUNS", 500)
    found = street.try_draws(lambda key: sum(key.numbers(b"%d" % at)(60) for at in range(9)))
    assert found.is_sampled
    assert sum(found.chances.values()) == pytest.approx(1)


def test_a_figure_that_is_too_good_is_exceeded() -> None:
    book = triangle_book()
    shown = [
        street.Shown("figures", {"num_possible": 2, "worst_place": 0.5}, None),
        street.Shown("figures", {"num_possible": 3, "worst_place": 0.49}, None),
    ]
    found = street.compare_playbook(book, shown)
    assert [(row.figure, row.printed) for row in found.exceeded] == [("num_possible", 3), ("worst_place", 0.49)]
    assert "EXCEEDED" in found.to_text()
