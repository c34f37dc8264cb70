"""Replans against Dijkstra over (node, covered) on the changed map."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

import veilroute as vr
from closed_roads import audited as audit_replan
from closed_roads import best_rest, changed_graph, check_walk, draw_closure, watchers_of
from reference import World, covering_cost
from strategies import COSTS, KINDS, build_domain, build_visibility
from street_samples import little_town

NUM = 200


def drawn_map(rng: Random, kind: str) -> tuple[vr.Domain, vr.Visibility, int]:
    """A map of some kind, from where places are seen, and how many candidates there are."""
    if kind == "grids":
        height, width = rng.randint(3, 7), rng.randint(4, 8)
        rows = ["".join("@" if rng.random() < 0.15 else "." for _ in range(width)) for _ in range(height)]
        sights: list[vr.Visibility] = [vr.AtNode(), vr.AtNode(), vr.WithinDistance(1), vr.LineOfSight(2)]
        return vr.grid_domain(["." * width, *rows]), rng.choice(sights), rng.randint(4, 7)
    if kind == "graphs":
        num = rng.randint(6, 12)
        domain = build_domain(rng, rng.choice(KINDS), rng.choice(sorted(COSTS)), num)
        return domain, build_visibility(rng, rng.choice(["at", "within", "explicit"]), num), rng.randint(3, 5)
    domain = little_town() if rng.random() < 0.5 else vr.generate_streets(5, 6, seed=rng.randrange(100))
    return domain, vr.AtNode() if rng.random() < 0.5 else vr.WithinDistance(15), rng.randint(4, 6)


def drawn_book(rng: Random, domain: vr.Domain, sight: vr.Visibility, num: int, **wanted: Any) -> vr.Playbook | None:
    """A playbook for drawn candidates and one or two trips; nothing where nobody is hidden."""
    labels = [domain.label(node) for node in range(domain.num_nodes)]
    trips = [vr.Trip(rng.choice(labels), rng.choice(labels)) for _ in range(rng.choice([1, 1, 2]))]
    ell = rng.choice([0, 1, 2]) * domain.smallest_positive_cost
    privacy: dict[str, Any] = {
        "k": rng.choice([2, 2, 3]),
        "ell": ell,
        "spread": rng.choice(["witness", "all-pairs"]),
    } | wanted
    try:
        book = vr.solve(vr.Problem(domain, trips, rng.sample(labels, num), sight), vr.Privacy(**privacy))
    except vr.InvalidInputError:  # fewer than k are neither start nor goal
        return None
    return book if book.hidden_classes else None


def drawn_replan(rng: Random, book: vr.Playbook) -> vr.Replan:
    """Somewhere on the way of some class, sometimes on a detour already."""
    number, trip = rng.randint(1, len(book.hidden_classes)), rng.randrange(len(book.trips))
    way, first, after = book.hidden_classes[number - 1].shared(trip), 0, None
    for _ in range(rng.choice([1, 1, 2])):
        position = rng.randrange(first, len(way))
        closure = draw_closure(rng, book, way[position:])
        try:
            made = vr.replan(book, number, way[position], position=position, trip=trip, after=after, **closure)
        except vr.InvalidInputError as error:
            # A cost for an edge that an earlier closure closed, or a way that comes back to the node and closes it.
            assert "open" in str(error) or "stands" in str(error), error
            continue
        if made.choice is None:
            return made
        after, way, first = made, made.walked[:-1] + made.route, made.position
    return made if after is None else after


def check(book: vr.Playbook, entry: vr.Replan) -> None:
    """Against the plain search, and by the auditor."""
    best = best_rest(book, entry)
    assert len(entry.going_on.left) == best.num
    assert entry.going_on.qualifies == best.qualifies
    if math.isinf(best.goal):
        assert not entry.going_on.route and not entry.giving_up.route and entry.choice is None
    else:
        assert entry.going_on.cost is not None and entry.giving_up.cost is not None
        assert math.isclose(entry.going_on.cost, best.cost, rel_tol=1e-9, abs_tol=1e-9)
        assert math.isclose(entry.giving_up.cost, best.goal, rel_tol=1e-9, abs_tol=1e-9)
        check_walk(book, entry, entry.going_on)
        check_walk(book, entry, entry.giving_up)
        assert entry.choice == ("go-on" if best.qualifies else None)
    assert [v.evidence for v in audit_replan(book, entry) if not v.holds] == []


@pytest.mark.parametrize("kind", ["grids", "graphs", "streets"])
@pytest.mark.parametrize("num", [15, pytest.param(NUM, marks=pytest.mark.slow)])
def test_the_rest_is_that_of_a_plain_search(kind: str, num: int) -> None:
    rng, done, dropped = Random(f"{kind} replans"), 0, 0
    while done < num:
        book = drawn_book(rng, *drawn_map(rng, kind))
        if book is not None:
            entry = drawn_replan(rng, book)
            check(book, entry)
            done, dropped = done + 1, dropped + bool(entry.dropped)
    assert dropped or num < NUM, "some closures cost somebody their hiding"


@pytest.mark.parametrize("num", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_a_shared_beginning_is_the_best_of_all(num: int) -> None:
    """For a finite m against all walks of that many nodes; who was covered only has to reach the goal."""
    rng, done = Random("replans that part"), 0
    while done < num:
        nodes = rng.randint(5, 7)
        domain = build_domain(
            rng, rng.choice(["ring", "tree", "tree"]), rng.choice(["unit", "integer", "float"]), nodes
        )
        sight = build_visibility(rng, rng.choice(["at", "explicit"]), nodes)
        book = drawn_book(rng, domain, sight, 4, m=rng.randint(2, 5), ell=0)
        if book is None:
            continue
        number, trip = rng.randint(1, len(book.hidden_classes)), rng.randrange(len(book.trips))
        way = book.hidden_classes[number - 1].shared(trip)
        position = rng.randrange(len(way))
        closure = {name: value for name, value in draw_closure(rng, book, way[position:]).items() if name != "costs"}
        entry = vr.replan(book, number, way[position], position=position, trip=trip, **closure)
        assert [v.evidence for v in audit_replan(book, entry) if not v.holds] == []
        if entry.going_on.route:
            check_walk(book, entry, entry.going_on)
            check_shared(book, entry)
            done += 1


def check_shared(book: vr.Playbook, entry: vr.Replan) -> None:
    """The price of the shared beginning, and that nobody was dropped who could be kept."""
    domain, world = book.problem.domain, World(book.problem)
    counted = [book.problem.candidates[i] for i in book.problem.counted]
    at = {label: counted.index(label) for label in entry.members}
    rates = {at[label]: 1 / world.divisors[entry.trip][at[label]] for label in entry.members}
    world.graph = changed_graph(domain, entry.closure)
    here, goal = domain.node(entry.at), domain.node(book.trips[entry.trip].goal)
    walked = {domain.node(label) for label in entry.walked}
    seen = dict(zip(entry.members, watchers_of(book, entry.members), strict=True))
    world.seen = [{here} if seen.get(label, set()) & walked else seen.get(label, set()) for label in counted]
    world.trips, m = [(here, goal)], max(1, (book.privacy.m or 1) - entry.position)

    def price(labels: tuple[object, ...]) -> float:
        group = [at[label] for label in labels]
        ways = world.bounded_costs(group, m, 0)
        return min(
            (sum(rates[i] * cost for i, cost in zip(group, costs, strict=True)) for costs in ways), default=math.inf
        )

    way = entry.going_on
    paid = sum(rates[at[t]] * (way.own[t][1] if way.own else way.cost or 0.0) for t in way.left)
    if way.left:
        assert math.isclose(paid, price(way.left), rel_tol=1e-9, abs_tol=1e-9)
    for label in entry.dropped:
        assert math.isinf(price((*way.left, label))), "could be kept as well"
    assert math.isfinite(covering_cost(world.graph, here, goal, []))
