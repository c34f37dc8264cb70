"""Days that go on otherwise: vehicles break down, roads close. The rest is complete, legal, and asks for no orders."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, permutations, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from closed_roads import changed_graph, draw_closure
from plain_turns import drawn_problem
from reference import distances
from veilroute.auditing import audit_underway
from veilroute.covering import walk_cost
from veilroute.domain import Turns

FAST = 120
EIGHT = 8 * 3600.0


@pytest.fixture(scope="module")
def town() -> vr.Playbook:
    domain = vr.generate_streets(12, 12, seed=4, one_way_share=0.3)
    depot, *customers = (domain.label(node) for node in Random("town").sample(range(domain.num_nodes), 25))
    return vr.solve(vr.Problem(domain, [vr.Trip(depot, depot)], customers), vr.Privacy(k=3, ell=150))


def terms_of(book: vr.Playbook, num: int = 3, **changes: Any) -> vr.Terms:
    van = vr.Van(book.trips[0].start, book.trips[0].goal)
    return vr.Terms((van,) * num, **({"capacity": 12, "seconds_per_cost": 0.2, "iterations": FAST} | changes))


@pytest.fixture(scope="module")
def day(town: vr.Playbook) -> vr.Day:
    return vr.dispatch(town, range(1, 7), terms_of(town))


def broken_claims(book: vr.Playbook, earlier: vr.Day, day: vr.Day) -> list[str]:
    return [verdict.claim for verdict in audit_underway(book, earlier, day) if not verdict.holds]


def after_of(day: vr.Day) -> vr.Underway:
    assert day.after is not None
    return day.after


def stops_of(day: vr.Day) -> list[Any]:
    return [stop for tour in day.tours for stop in tour.stops]


def test_where_nothing_happens_nothing_gets_worse(town: vr.Playbook, day: vr.Day) -> None:
    domain = town.problem.domain
    for at in (EIGHT, EIGHT + 400, EIGHT + 1200):
        rest = vr.redispatch(town, day, at=at)
        stands = after_of(rest).stands
        walked = sum(walk_cost(domain, np.array([*map(domain.node, stand.walked)])) for stand in stands)
        assert walked + rest.cost <= day.cost * (1 + 1e-9)
    over = vr.redispatch(town, day, at=EIGHT + 9000)
    assert (over.cost, stops_of(over)) == (0, [])


def test_vans_keep_their_customers_if_asked_to(town: vr.Playbook, day: vr.Day) -> None:
    rest = vr.redispatch(town, day, at=EIGHT + 300, closed=[day.tours[0].route[25:27]], keep=True)
    for before, after in zip(day.tours, rest.tours, strict=True):
        assert set(after.stops) <= set(before.stops)
    lost = vr.redispatch(town, day, at=EIGHT + 300, broken=[1], keep=True)
    assert {*lost.tours[1].stops} >= {*day.tours[1].stops} - {*after_of(lost).stands[1].done}
    assert broken_claims(town, day, rest) == broken_claims(town, day, lost) == []


def test_positions_are_told_where_there_are_no_times(town: vr.Playbook) -> None:
    day = vr.dispatch(town, [1, 2, 3, 4], terms_of(town, 2, seconds_per_cost=None, capacity=8))
    place, stop = day.tours[0].positions[1], day.tours[0].stops[1]
    there = {1: place, 2: 0}
    rest = vr.redispatch(town, day, positions=there)
    assert stop in stops_of(rest), "a stop where a vehicle stands is still to be made"
    made = vr.redispatch(town, day, positions={1: (place, 2), 2: 0})
    assert stop not in stops_of(made)
    assert broken_claims(town, day, rest) == broken_claims(town, day, made) == []
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"positions": {1: 3}}, "none for vehicle 2"),
        ({"at": EIGHT}, "the day has no times"),
        ({"positions": {1: 10_000, 2: 0}}, "expected places from 0 to"),
        ({"positions": {1: len(day.tours[0].route), 2: 0}}, "expected places from 0 to"),
        ({"positions": {1: (place, 4), 2: 0}}, "stops done by then"),
        ({"positions": there, "broken": [3]}, "vehicles from 1 to 2"),
        ({"positions": there | {3: 0}}, "vehicles from 1 to 2"),
    ]
    for given, said in wrong:
        with pytest.raises(vr.InvalidInputError, match=said):
            vr.redispatch(town, day, **given)


def test_classes_that_fall_short_are_named_and_nothing_is_chosen(town: vr.Playbook, day: vr.Day) -> None:
    last = day.tours[0].stops[-1]
    number, group = next((i, g) for i, g in enumerate(town.hidden_classes, start=1) if last in g.members)
    with pytest.raises(vr.FallsShortError, match=f"class {number} keeps its promise no more") as caught:
        vr.redispatch(town, day, at=EIGHT, closed_nodes=[last])
    (short,) = caught.value.shortages
    assert isinstance(short, vr.Shortage)
    assert (short.going_on, short.giving_up) == (tuple(m for m in group.members if m != last), ())
    on = vr.redispatch(town, day, at=EIGHT, closed_nodes=[last], choice="go-on")
    up = vr.redispatch(town, day, at=EIGHT, closed_nodes=[last], choice="give-up")
    assert after_of(on).dropped == (last,) and set(stops_of(on)) == set(stops_of(day)) - {last}
    assert set(after_of(up).dropped) == set(group.members) and set(stops_of(up)) == set(stops_of(day)) - set(
        group.members
    )
    assert broken_claims(town, day, on) == broken_claims(town, day, up) == []
    # What was chosen holds later on as well; nobody is asked again.
    for one in (on, up):
        then = vr.redispatch(town, one, at=EIGHT + 500, broken=[3])
        assert [each.choice for each in after_of(then).short] == [each.choice for each in after_of(one).short]
        assert broken_claims(town, one, then) == []
    with pytest.raises(vr.FallsShortError) as caught:
        vr.redispatch(town, day, at=EIGHT + 900, broken=[1, 2, 3])
    assert len(caught.value.shortages) > 1


def road(num: int, ends: tuple[int, int], members: list[int], ell: float = 0, cost: float = 1) -> vr.Playbook:
    """A road of so many nodes, past a few of them."""
    here, there = list(range(num - 1)), list(range(1, num))
    domain = vr.Domain.from_edges(num, here + there, there + here, [cost] * (2 * num - 2))
    return vr.solve(vr.Problem(domain, [vr.Trip(*ends)], members), vr.Privacy(k=2, ell=ell))


def test_where_vehicles_are_by_the_clock_and_by_what_is_told() -> None:
    """3 closes before long, and 5 opens late: a vehicle stops at 3 at once, and waits at 5."""
    book = road(8, (0, 7), [3, 5])
    customers: dict[Any, vr.Customer] = {3: vr.Customer(closes_s=EIGHT + 30), 5: vr.Customer(opens_s=EIGHT + 500)}
    terms = vr.Terms((vr.Van(0, 7),) * 2, seconds_per_cost=10, customers=customers, iterations=FAST)
    day = vr.dispatch(book, [1], terms)
    (van,) = (number for number, tour in enumerate(day.tours, start=1) if tour.stops)
    assert day.tours[van - 1].begins_s == (EIGHT + 30, EIGHT + 500)

    def stand(before: vr.Day = day, at: float | None = None, told: Any = None, **more: Any) -> tuple[Any, ...]:
        positions = {} if told is None else {van: told, 3 - van: 0}
        when = None if at is None else EIGHT + at
        rest = vr.redispatch(book, before, at=when, positions=positions, choice="go-on", late=True, **more)
        found = after_of(rest).stands[van - 1]
        return found.at, len(found.done), None if found.ready_s is None else found.ready_s - EIGHT

    for at, here, num_done, ready in (
        (-60, 0, 0, 0), (0, 0, 0, 0), (19, 2, 0, 20), (20, 2, 0, 20), (21, 3, 0, 30), (30, 3, 0, 30), (31, 3, 1, 90),
        (89, 3, 1, 90), (90, 4, 1, 100), (109, 5, 1, 110), (300, 5, 1, 300), (499, 5, 1, 499), (500, 5, 2, 560),
        (560, 6, 2, 570), (580, 7, 2, 580), (999, 7, 2, 999),
    ):  # fmt: skip
        assert stand(at=at) == (here, num_done, ready), at
    # One that breaks down between two nodes is at the one where it was last.
    for at, here, num_done, ready in ((20, 2, 0, 20), (21, 2, 0, 21), (31, 3, 1, 90), (95, 3, 1, 95), (109, 4, 1, 109)):
        assert stand(at=at, broken=[van]) == (here, num_done, ready), at
    for told, here, num_done, ready in ((0, 0, 0, 0), (2, 2, 0, 20), (3, 3, 0, 30), ((3, 1), 3, 1, 90), (5, 5, 1, 110)):
        assert stand(told=told) == (here, num_done, ready), told
    assert stand(at=0, told=3) == (3, 0, 0)
    with pytest.raises(vr.InvalidInputError, match="not before 08:00"):
        stand(at=-1, told=3)
    # When it left is known from the first time on; what it has taken stays taken.
    first = vr.redispatch(book, day, at=EIGHT + 31, late=True)
    second = vr.redispatch(book, first, at=EIGHT + 95, late=True)
    assert [after_of(each).stands[van - 1].departed_s for each in (first, second)] == [EIGHT, EIGHT]
    assert after_of(second).stands[van - 1].walked == (0, 1, 2, 3, 4)
    assert after_of(second).stands[2 - van].departed_s is None


def test_shifts_room_and_windows_on_a_road() -> None:
    """Seven steps of ten seconds, and a minute at each of two customers: 190 s, and 130 s for one of them alone."""
    book = road(8, (0, 7), [3, 5])

    def terms(num: int = 1, **given: Any) -> vr.Terms:
        return vr.Terms(
            (vr.Van(0, given.pop("goal", 7)),) * num, **{"seconds_per_cost": 10, "iterations": FAST} | given
        )

    with pytest.raises(vr.InvalidInputError, match="terms: "):
        vr.dispatch(book, [1], terms(shift_s=189))
    day = vr.dispatch(book, [1], terms(shift_s=190))
    assert (day.cost, day.direct_cost, day.tours[0].seconds) == (7, 7, 190)
    # A step becomes longer when it is on its way: it comes home late, or not at all; so if it has not left yet.
    places: list[dict[str, Any]] = [{"at": EIGHT + 20}, {"at": EIGHT, "positions": {1: 0}}]
    for where in places:
        for cost in (1, 5):
            what: dict[str, Any] = where | {"costs": [(6, 7, cost)]}
            if cost > 1:
                with pytest.raises(vr.InvalidInputError, match="terms: "):
                    vr.redispatch(book, day, **what)
            rest = vr.redispatch(book, day, **what, late=True)
            assert stops_of(rest) == [3, 5] and broken_claims(book, day, rest) == []
            assert rest.cost == rest.direct_cost == 6 + cost - (2 if where["at"] > EIGHT else 0)
    home = vr.redispatch(book, day, at=EIGHT + 175)
    assert home.tours[0] == vr.Tour((), (), (6, 7), 1, (), EIGHT + 180, 10)
    # From 2 it was at 1 and 0, where it turned round for 3, and nobody is left: the way home counts.
    there = road(8, (2, 7), [0, 1])
    turning = replace(there.problem, domain=replace(there.problem.domain, turns=Turns("allow", 3.0)))
    there = vr.solve(turning, there.privacy)
    back = vr.dispatch(there, [1], replace(terms(), vans=(vr.Van(2, 7),)))
    rest = vr.redispatch(there, back, at=EIGHT + 145)
    assert (rest.tours[0].route[0], rest.tours[0].departs_s, rest.cost, rest.direct_cost) == (1, EIGHT + 180, 6, 6)
    # One vehicle has been home for long when the other begins; each has room for one.
    late = {5: vr.Customer(opens_s=EIGHT + 500)}
    pair = vr.dispatch(book, [1], terms(2, capacity=1, shift_s=140, customers=late))
    rest = vr.redispatch(book, pair, at=EIGHT + 470)
    assert sorted(len(tour.stops) for tour in rest.tours) == [0, 1] and rest.cost == 7 - 2
    # Of a class that is given up those who were visited are not dropped.
    up = vr.redispatch(book, pair, at=EIGHT + 200, broken=[1, 2], choice="give-up")
    assert [each.giving_up for each in after_of(up).short] == [(3,)] and after_of(up).dropped == (5,)
    # What opens late or closes soon decides who comes first, on the way too.
    apart = {3: vr.Customer(opens_s=EIGHT + 500), 5: vr.Customer(closes_s=EIGHT + 200)}
    assert stops_of(vr.dispatch(book, [1], terms(customers=apart))) == [5, 3]
    soon = vr.dispatch(book, [1], terms(customers={5: vr.Customer(closes_s=EIGHT + 200)}))
    assert stops_of(soon) == [3, 5]
    assert stops_of(vr.redispatch(book, soon, at=EIGHT + 100, positions={1: 0})) == [5, 3]
    # A vehicle whose day ends anywhere does not come back.
    open_day = vr.dispatch(book, [1], terms(goal=None))
    open_rest = vr.redispatch(book, open_day, at=EIGHT + 20)
    assert (open_day.cost, open_rest.cost, open_rest.tours[0].route) == (5, 3, (2, 3, 4, 5))


def test_windows_that_cannot_be_met_are_told_and_missed_as_little_as_possible(town: vr.Playbook) -> None:
    stops = [m for group in town.hidden_classes[:4] for m in group.members]
    customers: dict[Any, vr.Customer] = {label: vr.Customer(closes_s=EIGHT + 1500) for label in stops}
    day = vr.dispatch(town, [1, 2, 3, 4], terms_of(town, customers=customers, shift_s=3000, iterations=400))
    with pytest.raises(vr.InvalidInputError) as caught:
        vr.redispatch(town, day, at=EIGHT + 1450, positions={1: 0, 2: 0, 3: 0})
    assert "closes at 08:25, and none can be there until" in str(caught.value)
    rest = vr.redispatch(town, day, at=EIGHT + 1450, positions={1: 0, 2: 0, 3: 0}, late=True)
    assert set(stops_of(rest)) == set(stops)
    verdicts = audit_underway(town, day, rest)
    assert all(verdict.holds for verdict in verdicts)
    assert any("late: " in verdict.evidence for verdict in verdicts)
    assert "times" in broken_claims(town, day, after_with(rest, late=False))


def test_room_is_what_was_not_taken_yet(town: vr.Playbook) -> None:
    day = vr.dispatch(town, [1, 2, 3, 4], terms_of(town, 2, capacity=7))
    with pytest.raises(vr.InvalidInputError, match="room for all who are left: "):
        vr.redispatch(town, day, at=EIGHT + 500, broken=[1])


def brute_force(book: vr.Playbook, rest: vr.Day) -> float:
    """The cheapest that the vehicles can do from where they are: everybody to somebody, in any order."""
    domain, after = book.problem.domain, after_of(rest)
    graph = changed_graph(domain, after.closure)
    people = [domain.node(label) for label in stops_of(rest)]
    fit = [i for i, stand in enumerate(after.stands) if stand.state == "fit"]
    far = {node: distances(graph, node) for node in {*people, *(domain.node(after.stands[i].at) for i in fit)}}

    def tour(van: int, nodes: tuple[int, ...]) -> float:
        stand, goal = after.stands[van], rest.terms.vans[van].goal
        if not nodes and (goal is None or len(stand.walked) == 1):
            return 0.0
        best = math.inf
        for order in permutations(nodes):
            way = [domain.node(stand.at), *order]
            home = 0.0 if goal is None else far[way[-1]][domain.node(goal)]
            best = min(best, sum(far[a][b] for a, b in pairwise(way)) + home)
        return best

    return min(
        sum(tour(van, tuple(p for p, who in zip(people, chosen, strict=True) if who == van)) for van in fit)
        for chosen in product(fit, repeat=len(people))
    )


def drawn_day(seed: int) -> tuple[Random, vr.Playbook, vr.Day] | None:
    """A day on a small map of one of three kinds: one-way streets, rooms, or any rules for turns."""
    rng = Random(seed)
    if seed % 3 == 2:
        problem = drawn_problem(seed)[0]
    else:
        domain = vr.generate_rooms(12, 12, seed=seed) if seed % 3 else vr.generate_streets(8, 8, seed=seed)
        start, goal, *candidates = (domain.label(node) for node in rng.sample(range(domain.num_nodes), 10))
        problem = vr.Problem(domain, [vr.Trip(start, rng.choice([start, goal]))], candidates)
    if len(problem.candidates) < 2:
        return None
    book = vr.solve(problem, vr.Privacy(k=min(2, len(problem.counted)), ell=rng.choice([0, 1, 2])))
    if not book.hidden_classes:
        return None
    start, goal = book.trips[0].start, book.trips[0].goal
    vans = [vr.Van(start, rng.choice([goal, goal, None])) for _ in range(rng.randint(1, 3))]
    vans[-1] = replace(vans[-1], start=rng.choice([start, book.candidates[0]]))
    timed: dict[str, Any] = {"seconds_per_cost": 30.0} if rng.random() < 0.6 else {}
    if timed and rng.random() < 0.5:
        timed["customers"] = {book.candidates[0]: vr.Customer(opens_s=EIGHT + 700, closes_s=EIGHT + 40_000)}
    touched = rng.sample(range(1, len(book.hidden_classes) + 1), rng.randint(1, len(book.hidden_classes)))
    try:
        return rng, book, vr.dispatch(book, touched, vr.Terms(tuple(vans), iterations=60, **timed))
    except vr.InvalidInputError:
        return None  # not every drawn depot has a way to everybody


def check_drawn(seed: int, tmp_path: Path) -> int:
    """Three things that happen one after the other; how many of them led to a day."""
    drawn = drawn_day(seed)
    if drawn is None:
        return 0
    rng, book, day = drawn
    for step in range(3):
        closure = draw_closure(rng, book, max((t.route for t in day.tours), key=len) or (book.trips[0].start,))
        broken = [van for van in range(1, len(day.tours) + 1) if rng.random() < 0.2]
        what = closure | {"broken": broken, "late": rng.random() < 0.3, "keep": rng.random() < 0.4}
        if day.terms.seconds_per_cost is not None and rng.random() < 0.7:
            what["at"] = EIGHT + 4000 * rng.random()
        else:
            stands = day.after.stands if day.after else [None] * len(day.tours)
            what["positions"] = {
                van: rng.randrange(max(1, len(tour.route)))
                for van, (tour, stand) in enumerate(zip(day.tours, stands, strict=True), start=1)
                if stand is None or stand.state != "broken"
            }
        try:
            try:
                rest = vr.redispatch(book, day, **what)
            except vr.FallsShortError:
                rest = vr.redispatch(book, day, **what, choice=rng.choice(["go-on", "give-up"]))
        except vr.InvalidInputError:
            return step
        assert broken_claims(book, day, rest) == []
        (tmp_path / "day.json").write_bytes(rest.to_json())
        assert vr.read_day(tmp_path / "day.json") == rest
        is_free = book.problem.domain.turns is None and not rest.terms.customers and not what["keep"]
        if is_free and len(stops_of(rest)) <= 4:
            assert rest.cost == pytest.approx(brute_force(book, rest))
        day = rest
    return 3


@pytest.mark.parametrize(
    "first", [0, pytest.param(40, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.slow)]
)
def test_drawn_days_are_sound_and_small_ones_the_cheapest(first: int, tmp_path: Path) -> None:
    num = 24 if not first else 150
    assert sum(check_drawn(seed, tmp_path) for seed in range(first, first + num)) > num


def busiest(rest: vr.Day) -> tuple[int, vr.Tour, vr.Stand]:
    """The vehicle that has most to do, its tour, and where it stands."""
    van = max(range(len(rest.tours)), key=lambda i: len(rest.tours[i].stops))
    return van, rest.tours[van], after_of(rest).stands[van]


def tour_with(rest: vr.Day, **changes: Any) -> vr.Day:
    van, tour, _ = busiest(rest)
    return replace(rest, tours=(*rest.tours[:van], replace(tour, **changes), *rest.tours[van + 1 :]))


def after_with(rest: vr.Day, **changes: Any) -> vr.Day:
    return replace(rest, after=replace(after_of(rest), **changes))


def stand_with(rest: vr.Day, **changes: Any) -> vr.Day:
    van, _, stand = busiest(rest)
    stands = after_of(rest).stands
    return after_with(rest, stands=(*stands[:van], replace(stand, **changes), *stands[van + 1 :]))


def later(tour: vr.Tour, seconds: float) -> dict[str, Any]:
    """The times of a tour, moved."""
    begins = tuple(begin + seconds for begin in tour.begins_s)
    return {"departs_s": (tour.departs_s or 0) + seconds, "begins_s": begins}


def skipped(tour: vr.Tour) -> dict[str, Any]:
    return {"stops": tour.stops[1:], "positions": tour.positions[1:], "begins_s": tour.begins_s[1:]}


Plant = Callable[[vr.Day, vr.Tour, vr.Stand], vr.Day]
FAULTS: dict[str, tuple[set[str], Plant]] = {
    "skipped": ({"complete", "times"}, lambda r, t, _: tour_with(r, **skipped(t))),
    "dropped for nothing": (
        {"dropped", "times"},
        lambda r, t, _: after_with(tour_with(r, **skipped(t)), dropped=(t.stops[0],)),
    ),
    "given up unasked": (
        {"promise", "dropped"},
        lambda r, t, _: after_with(r, short=(vr.Shortage(r.touched[0], (), (), "give-up"),)),
    ),
    "jump": (
        {"walk"},
        lambda r, t, _: tour_with(r, route=t.route[:3] + t.route[5:], positions=tuple(p - 2 for p in t.positions)),
    ),
    "cost": ({"cost"}, lambda r, t, _: tour_with(r, cost=t.cost - 1)),
    "sum": ({"cost"}, lambda r, t, _: replace(r, cost=r.cost - 1)),
    "punctual": ({"times"}, lambda r, t, _: tour_with(r, begins_s=t.begins_s[:1] + later(t, -60)["begins_s"][1:])),
    "early": ({"times"}, lambda r, t, _: tour_with(r, departs_s=(t.departs_s or 0) - 60)),
    "walked": ({"begins"}, lambda r, t, s: stand_with(r, walked=s.walked[:-2] + s.walked[-1:])),
    "done": ({"begins", "complete"}, lambda r, t, s: stand_with(r, done=(*s.done, t.stops[0]))),
    "stuck": ({"dropped", "complete"}, lambda r, t, _: stand_with(r, state="stuck")),
    "reopened": ({"binding"}, lambda r, t, _: after_with(r, closure=vr.Closure())),
    "other day": ({"binding"}, lambda r, t, _: after_with(r, earlier="0" * 64)),
    "position": ({"walk"}, lambda r, t, _: tour_with(r, positions=(t.positions[0] + 1, *t.positions[1:]))),
    "sooner": (
        {"begins"},
        lambda r, t, _: stand_with(tour_with(r, **later(t, EIGHT - (t.departs_s or 0))), ready_s=EIGHT),
    ),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_planted_faults_are_found(town: vr.Playbook, day: vr.Day, kind: str) -> None:
    first = vr.redispatch(town, day, at=EIGHT + 60, closed=[day.tours[0].route[20:22]])
    rest = vr.redispatch(town, first, at=EIGHT + 400, broken=[2])
    assert broken_claims(town, first, rest) == []
    claims, plant = FAULTS[kind]
    _, tour, stand = busiest(rest)
    assert claims & set(broken_claims(town, first, plant(rest, tour, stand)))


def test_a_claim_of_the_cheapest_is_priced(town: vr.Playbook) -> None:
    day = vr.dispatch(town, [1, 2], terms_of(town, 1))
    rest = vr.redispatch(town, day, at=EIGHT + 100)
    assert rest.status == "optimal" and broken_claims(town, day, rest) == []
    worse = replace(rest.tours[0], cost=rest.tours[0].cost + 1)
    assert "optimal" in broken_claims(town, day, replace(rest, tours=(worse,)))


def test_files_with_anything_unknown_are_refused(town: vr.Playbook, day: vr.Day, tmp_path: Path) -> None:
    rest = vr.redispatch(town, day, at=EIGHT + 900, broken=[1])
    text = rest.to_json().decode()
    for old, new in (
        ('"keep":false', '"keep":false,"order":7'),
        ('"state":"broken"', '"state":"lost"'),
        ('"state":"broken"', '"state":"broken","mark":1'),
        ('"late":false', '"late":0'),
    ):
        assert old in text
        (tmp_path / "day.json").write_text(text.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(vr.FileFormatError, match="damaged day"):
            vr.read_day(tmp_path / "day.json")


def test_a_forged_day_is_refused(town: vr.Playbook, day: vr.Day) -> None:
    stranger = town.hidden_classes[6].members[0]
    forged = replace(day.tours[0], stops=(stranger, *day.tours[0].stops[1:]))
    with pytest.raises(vr.InvalidInputError, match="stops at members of the classes that it touches"):
        vr.redispatch(town, replace(day, tours=(forged, *day.tours[1:])), at=EIGHT)
    with pytest.raises(vr.InvalidInputError, match="a day of this playbook"):
        vr.redispatch(town, replace(day, playbook="0" * 64), at=EIGHT)
    # A member that a forged day leaves out is visited all the same: it is a member of a touched class.
    cut = day.tours[0]
    short = replace(cut, stops=cut.stops[:-1], positions=cut.positions[:-1], begins_s=cut.begins_s[:-1])
    rest = vr.redispatch(town, replace(day, tours=(short, *day.tours[1:])), at=EIGHT)
    assert cut.stops[-1] in stops_of(rest)
