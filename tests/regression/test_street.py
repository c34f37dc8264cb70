"""The street is the judge: what a simulated observer achieves never exceeds what is printed."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest

import veilroute as vr
from drawn_books import triangle_book
from plain_cliques import heaviest_area
from street_observer import FEATURES, run_scenario
from veilroute.auditing import day_risk, street
from veilroute.cli import simulate, simulate_day
from veilroute.domain import with_rules
from veilroute.keys import draw

FEW, MANY = 3, 40
fleet_exposure = import_module("veilroute.fleet.exposure")  # the function of that name hides the module


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


def twins_day() -> tuple[vr.Playbook, vr.Day]:
    """Three names at two doors are one class, and it is driven."""
    domain = vr.Domain.from_edges(3, [0, 1, 0, 2], [1, 0, 2, 0], [1.0] * 4, labels=["depot", "mill", "harbour"])
    domain = with_rules(domain, None, [("mill too", domain.node("mill"))])
    problem = vr.Problem(domain, [vr.Trip("depot", "depot")], ["mill", "harbour", "mill too"])
    book = vr.solve(problem, vr.Privacy(k=2))
    assert [len(group.members) for group in book.hidden_classes] == [3]
    return book, vr.dispatch(book, [1], vr.Terms((vr.Van("depot", None),), rate=0.2, iterations=5))


def test_a_day_of_names_instead_of_doors_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The definition before finding F5, planted again: customers are counted by name, and their doors are not."""
    book, day = twins_day()
    assert simulate_day(book, day).exceeded == ()
    monkeypatch.setattr(fleet_exposure, "_doors", lambda _, customers: [(label,) for label in customers])
    found = {row.figure: row for row in simulate_day(book, day).exceeded}
    assert {"num_behind", "worst_order", "worst_order_ever", "best_orders"} <= found.keys()
    one = 1 - 0.8**2
    assert found["worst_order"].achieved == pytest.approx(one / (1 - 0.8**3))
    assert found["worst_order"].printed == pytest.approx(0.2 / (1 - 0.8**3))
    assert (found["num_behind"].printed, found["num_behind"].achieved) == (3, 2)


def test_the_scenarios_of_fleets_find_names_instead_of_doors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_exposure, "_doors", lambda _, customers: [(label,) for label in customers])
    rows = [row for seed in range(20) for row in run_scenario("fleets", seed) if row.is_exceeded]
    assert {row.about for row in rows} == {"fleet, one day", "fleet, standing order"}
    assert {"num_behind", "worst_order"} <= {row.figure for row in rows}


def test_an_audit_that_counts_names_instead_of_doors_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    book, day = twins_day()
    monkeypatch.setattr(day_risk, "_at_nodes", lambda _, members: [[member] for member in members])
    monkeypatch.setattr(day_risk, "_areas", lambda _, members: [[member] for member in members])
    exceeded = simulate_day(book, day).exceeded
    assert {(row.about, row.figure) for row in exceeded} == {
        ("The day, as `veilroute audit --day` has it", figure) for figure in ("worst_order", "worst_order_area")
    }


@pytest.mark.parametrize("figure", ["bound", "bound_area", "worst_area"])
def test_every_figure_of_a_day_is_compared(figure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    book, day = twins_day()
    shown = vr.exposure(book, day)
    monkeypatch.setattr(simulate, "exposure", lambda *_: replace(shown, **{figure: getattr(shown, figure) - 0.01}))
    names = {"bound": "worst_order_ever", "bound_area": "worst_order_area_ever", "worst_area": "worst_order_area"}
    assert [row.figure for row in simulate_day(book, day).exceeded] == [names[figure]]


def test_both_figures_of_an_area_are_what_is_achieved() -> None:
    """Fleet and auditor have their own code for areas over several classes; neither prints more than there is."""
    num = 0
    for seed in range(30):
        rows = [row for row in run_scenario("fleets", seed) if row.figure in ("worst_order_area", "worst_order")]
        assert all(math.isclose(row.printed, row.achieved, abs_tol=1e-9) for row in rows)
        num += len(rows)
    assert num > 100


def test_linked_trips_under_a_risk_are_linked_in_part_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    town = vr.grid_domain(["." * 8, "." * 8])
    problem = vr.Problem(town, [vr.Trip((0, 0), (0, 7))], [(1, col) for col in range(1, 7)])
    asked = []
    whole = street.compare_days

    def compare_days(*given: Any, subsets: bool = False, **how: Any) -> Any:
        asked.append(subsets)
        return whole(*given, subsets=subsets, **how)

    monkeypatch.setattr(street, "compare_days", compare_days)
    for privacy in (vr.Privacy(risk=0.5), vr.Privacy(k=2)):
        book = vr.solve(problem, privacy)
        found = simulate.simulate_linked([book, book], None, None)
        assert found.exceeded == ()
        assert {"num_possible", "worst_place", "worst_area"} <= {row.figure for row in found.rows}
    assert asked == [True, False]


def test_a_linked_figure_that_is_too_good_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    book = triangle_book()
    report = vr.audit_linked([book, book])
    (figures,) = report.observers
    assert figures.num_possible == 1
    assert figures.worst_place == pytest.approx(1)
    better = replace(report, observers=(figures._replace(num_possible=2, worst_place=0.6, worst_area=0.6),))
    monkeypatch.setattr(simulate, "audit_linked", lambda *_, **__: better)
    exceeded = {row.figure for row in simulate.simulate_linked([book, book], None, None).exceeded}
    assert exceeded == {"num_possible", "worst_place", "worst_area"}


def test_where_vans_stop_is_seen_on_streets() -> None:
    rows = [row for seed in range(6) for row in run_scenario("streets and doors", seed)]
    assert not [row for row in rows if row.is_exceeded]
    compared = {row.about for row in rows}
    assert {"promise, with stops", "plan, with stops"} <= compared
