"""Days of a fleet: complete, legal, punctual, and the same for all orders that touch the same classes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from random import Random
from typing import Any

import pytest

import veilroute as vr
from plain_turns import cheapest, drawn_problem, is_legal, neighbours
from veilroute.domain import Turns, with_rules
from veilroute.fleet import Ways, plan_day, route_customers
from veilroute.model.day import clock_text, seconds_of_clock

FAST = 150


@pytest.fixture(scope="module")
def town() -> vr.Playbook:
    domain = vr.generate_streets(12, 12, seed=4, one_way_share=0.3)
    rng = Random("town")
    depot, *customers = (domain.label(node) for node in rng.sample(range(domain.num_nodes), 25))
    return vr.solve(vr.Problem(domain, [vr.Trip(depot, depot)], customers), vr.Privacy(k=3, ell=150))


def depot_of(book: vr.Playbook) -> vr.Van:
    return vr.Van(book.trips[0].start, book.trips[0].goal)


def test_days_are_complete_and_keep_their_terms(town: vr.Playbook) -> None:
    van, rng = depot_of(town), Random(1)
    other = vr.Van(town.problem.domain.label(77), None)
    customers = {town.candidates[i]: vr.Customer(opens_s=9 * 3600, closes_s=9.5 * 3600) for i in range(0, 24, 5)}
    for terms in (
        vr.Terms((van,) * 3, capacity=6, iterations=FAST),
        vr.Terms((van, other, van), capacity=7, iterations=FAST),
        vr.Terms((van,) * 3, seconds_per_cost=0.2, shift_s=5000, customers=customers, iterations=FAST),
        vr.Terms((other,) * 2, seconds_per_cost=0.1, capacity=12, service_s=0, iterations=FAST),
    ):
        touched = rng.sample(range(1, len(town.hidden_classes) + 1), 4)
        audit = vr.audit_day(town, vr.dispatch(town, touched, terms))
        assert audit.holds, audit.to_text()


def test_a_day_is_a_function_of_the_set_of_touched_classes(town: vr.Playbook) -> None:
    terms = vr.Terms((depot_of(town),) * 2, capacity=10, iterations=FAST)
    day = vr.dispatch(town, [5, 1, 3], terms)
    assert 0 < day.direct_cost < day.cost
    assert vr.dispatch(town, (3, 3, 5, 1, 1), terms).to_json() == day.to_json()
    everybody = [m for group in town.hidden_classes for m in group.members]
    ways = Ways(town.problem.domain, everybody, terms.vans)
    assert plan_day(town, [1, 3, 5], terms, ways=ways).to_json() == day.to_json()


def test_one_van_and_a_few_customers_have_the_cheapest_walk_of_all(town: vr.Playbook) -> None:
    van = depot_of(town)
    for touched in itertools.islice(itertools.combinations(range(1, len(town.hidden_classes) + 1), 2), 6):
        day = vr.dispatch(town, touched, vr.Terms((van,), iterations=FAST))
        members = [m for number in touched for m in town.hidden_classes[number - 1].members]
        best = vr.cover(town.problem, members)
        assert day.status == "optimal"
        assert day.cost == pytest.approx(best.cost)
        assert vr.audit_day(town, day).holds
        # The same by PyVRP, which knows nothing of it.
        ways = Ways(town.problem.domain, members, [van])
        stays = {ways.number_of[m]: stay for m, stay in vr.Terms((van,)).stays(members).items()}
        found = route_customers(ways, list(stays), stays, vr.Terms((van,), iterations=500))
        assert ways.cost(0, found.posts[0]) == pytest.approx(best.cost, rel=0.02)


@pytest.mark.parametrize("seed", range(25))
def test_tours_are_legal_and_as_cheap_as_brute_force_where_turns_are_not_free(seed: int) -> None:
    problem, edges, turns = drawn_problem(seed)
    domain = problem.domain
    depot, *customers = Random(seed).sample(range(domain.num_nodes), 4)
    best = cheapest(edges, turns, depot, depot, customers)
    van = vr.Van(depot, depot)
    ways = Ways(domain, customers, [van])
    if math.isinf(best) or ways.unreachable:
        return
    terms = vr.Terms((van,), iterations=FAST)
    stays = {ways.number_of[m]: stay for m, stay in terms.stays(customers).items()}
    found = route_customers(ways, list(stays), stays, terms)
    leg = ways.walk(0, found.posts[0])
    order, exact = ways.optimum(0, list(stays))
    for walk in (leg, exact):
        assert is_legal(walk.nodes.tolist(), neighbours(edges), turns)
        assert walk.cost == pytest.approx(best)
    assert [exact.nodes[at] for at in exact.positions] == [customers[ways.task.members[i]] for i in order]


def test_vans_wait_at_the_depot(town: vr.Playbook) -> None:
    """A van that would have to wait for a window leaves later."""
    member = town.hidden_classes[0].members[0]
    noon = vr.Customer(opens_s=12 * 3600)
    terms = vr.Terms((depot_of(town),), seconds_per_cost=0.1, customers={member: noon}, iterations=FAST)
    (tour,) = vr.dispatch(town, [1], terms).tours
    assert tour.departs_s is not None and tour.departs_s > 11 * 3600
    assert tour.begins_s[tour.stops.index(member)] >= 12 * 3600


def test_stops_are_alike_within_a_class(town: vr.Playbook) -> None:
    """Whoever may order most says for all of its class how much is carried; windows stay each member's own."""
    members = town.hidden_classes[0].members
    large = vr.Customer(demand=7, service_s=300, closes_s=10 * 3600)
    terms = vr.Terms((depot_of(town),), seconds_per_cost=1.0, customers={members[1]: large})
    stays = terms.stays(members)
    assert {(stay.demand, stay.service_s) for stay in stays.values()} == {(7, 300)}
    assert [math.isinf(stay.closes_s) for stay in stays.values()] == [m != members[1] for m in members]


def test_terms_that_no_day_can_keep_are_told_of_at_once(town: vr.Playbook) -> None:
    van = depot_of(town)
    early = {m: vr.Customer(closes_s=8 * 3600 + 1) for m in town.hidden_classes[0].members}
    terms = vr.Terms((van,), capacity=2, demand=3, seconds_per_cost=1.0, shift_s=100, customers=early)
    with pytest.raises(vr.ManyProblemsError) as caught:
        vr.dispatch(town, [1], terms)
    fields = Counter(line.partition(":")[0] for line in str(caught.value).splitlines())
    assert fields == {"capacity": 1, "windows": len(early), "shift": len(early)}
    tight = {m: vr.Customer(closes_s=8 * 3600 + 400) for group in town.hidden_classes for m in group.members}
    num = len(early) + len(town.hidden_classes[1].members)
    wrong: list[tuple[Any, Any, str]] = [
        ([1, 2], {"capacity": num - 1}, "capacity: expected room for"),
        ([1, 2], {"capacity": 2, "demand": 3}, "capacity: expected at least 3"),
        ([99], {}, "class numbers from 1 to"),
        (
            range(1, 8),
            {"seconds_per_cost": 0.2, "customers": tight, "iterations": FAST},
            "terms: expected terms that a",
        ),
        ([1], {"vans": ()}, "at least one vehicle"),
        ([1], {"shift_s": 3600}, "costs are seconds, or a speed"),
    ]
    for touched, given, said in wrong:
        with pytest.raises(vr.InvalidInputError, match=said):
            vr.dispatch(town, touched, vr.Terms(**{"vans": (van,)} | given))
    just = vr.dispatch(town, [1, 2], vr.Terms((van,), capacity=num, iterations=FAST))
    assert len(just.tours[0].stops) == num
    # Each alone can be visited just in time: what is too late by a second is said.
    (tour,) = vr.dispatch(town, [1], vr.Terms((van,), seconds_per_cost=1.0)).tours
    ways = Ways(town.problem.domain, list(early), [van])
    numbers = {label: ways.number_of[label] for label in early}
    there = {m: float(ways.from_start(0, ways.posts_of(n).tolist()).min()) for m, n in numbers.items()}
    late = {m: vr.Customer(closes_s=8 * 3600 + seconds - 1) for m, seconds in there.items()}
    with pytest.raises(vr.VeilrouteError, match="windows: ") as told:
        vr.dispatch(town, [1], vr.Terms((van,), seconds_per_cost=1.0, customers=late))
    assert str(told.value).count("windows: ") == len(early) == len(tour.stops)


def test_clocks() -> None:
    assert [seconds_of_clock(text) for text in ("08:30", "0:00", "24:00", "24:01", "8", "25:00")] == [
        30_600, 0, 86_400, None, None, None,
    ]  # fmt: skip
    assert [clock_text(seconds) for seconds in (0, 30_659, 86_400)] == ["00:00", "08:30", "00:00 (+1 day)"]


def test_turning_round_costs_parts_of_a_unit_where_edges_cost_whole_ones() -> None:
    tails, heads = [0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]
    road = with_rules(vr.Domain.from_edges(4, tails, heads, [2] * 6), Turns.of("allow", u_turn_cost=2.5), [])
    book = vr.solve(vr.Problem(road, [vr.Trip(1, 0)], [2, 3]), vr.Privacy(k=2, ell=1))
    day = vr.dispatch(book, [1], vr.Terms((vr.Van(1, 0),), seconds_per_cost=1.0, iterations=FAST))
    assert (day.cost, day.tours[0].seconds) == (12.5, 132.5)
    # It turns at 3, where it has been for a minute until 124 s after it left.
    (stand,) = vr.redispatch(book, day, at=8 * 3600 + 127).after.stands  # type: ignore[union-attr]
    assert (stand.walked, stand.ready_s) == ((1, 2, 3, 2), 8 * 3600 + 128.5)
    assert vr.audit_day(book, day).holds


@pytest.mark.parametrize("goal", ["G", None])
def test_customers_whom_no_single_van_can_visit(goal: str | None) -> None:
    edges = ["SA", "AB", "BG", "SC", "CD", "DG"]  # two roads, and no way from one to the other
    town = vr.Domain.from_edges(
        6,
        ["SABCDG".index(each[0]) for each in edges],
        ["SABCDG".index(each[1]) for each in edges],
        [1] * 6,
        labels=list("SABCDG"),
    )
    book = vr.solve(vr.Problem(town, [vr.Trip("S", "G")], list("ABCD")), vr.Privacy(k=2, ell=1))
    with pytest.raises(vr.InvalidInputError, match="no way leads past all"):
        vr.dispatch(book, [1, 2], vr.Terms((vr.Van("S", goal),), iterations=FAST))
    day = vr.dispatch(book, [1, 2], vr.Terms((vr.Van("S", goal),) * 2, iterations=FAST))
    assert vr.audit_day(book, day).holds


@pytest.mark.parametrize("name", ["service_s", "depart_s", "seconds_per_cost"])
def test_times_are_within_a_week(name: str) -> None:
    wrong: dict[str, Any] = {name: 1e18}
    with pytest.raises(vr.InvalidInputError, match="from 0 to a week"):
        vr.Terms((vr.Van(0, 0),), **wrong)
    with pytest.raises(vr.InvalidInputError, match="from 0 to a week"):
        vr.Customer(closes_s=1e18)
