from __future__ import annotations

import inspect
import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from closed_roads import audited, change_domain, replan_from_dict
from drawn_books import PLACES, triangle_book
from ledger_weeks import canonical
from reference import adjacency
from street_samples import little_book, little_town
from veilroute import Watch
from veilroute.domain import Turns, with_rules
from veilroute.planners.replan import keeps_promise, with_contingencies


@pytest.fixture
def comb() -> vr.Playbook:
    """0 - 1 - 2 - 3 with places at the ends of the teeth 1 - 4, 2 - 5 and 3 - 6, on the way from 0 to 3; k = 2.

    The class of all three: 0 1 4 1 2 5 2 3 6 3.
    """
    pairs = [(0, 1), (1, 2), (2, 3), (1, 4), (2, 5), (3, 6)]
    tails, heads = zip(*pairs, *[(b, a) for a, b in pairs], strict=True)
    domain = vr.Domain.from_edges(7, tails, heads, [1] * 12)
    return vr.solve(vr.Problem(domain, [vr.Trip(0, 3)], [4, 5, 6]), vr.Privacy(k=2, ell=1))


def test_a_promise_is_about_the_changed_map_too(comb: vr.Playbook) -> None:
    """4 and 6 are 4 apart, and 2 apart where the roads between them cost less; two of two must be 3 apart."""
    book = replace(comb, privacy=vr.Privacy(k=2, ell=3))
    cheaper = change_domain(comb.problem.domain, vr.Closure.of(costs=[(1, 2, 0), (2, 1, 0), (2, 3, 0), (3, 2, 0)]))
    assert keeps_promise(book, 1, (4, 6))
    assert not keeps_promise(book, 1, (4, 6), cheaper)


def test_the_rest_goes_past_whom_was_not_seen_yet(comb: vr.Playbook) -> None:
    assert comb.hidden_classes[0].shared(0) == (0, 1, 4, 1, 2, 5, 2, 3, 6, 3)
    made = vr.replan(comb, 1, 1, position=3, closed=[(2, 5)])
    assert made.walked == (0, 1, 4, 1)
    assert (made.route, made.cost) == ((1, 2, 3, 6, 3), 4)
    assert (made.still_hidden, made.dropped, made.qualifies, made.choice) == ((4, 6), (5,), True, "go-on")
    assert (made.giving_up.route, made.giving_up.left, made.giving_up.qualifies) == ((1, 2, 3), (4,), False)
    assert made.walk_of(5) == made.walk_of(4) == (0, 1, 4, 1, 2, 3, 6, 3)
    assert not {"secret", "member", "transit", "label"} & set(inspect.signature(vr.replan).parameters)
    assert isinstance(vr.replan(comb, 1, 0, costs=[(0, 1, 5)]).cost, int), "whole numbers stay whole"
    far = vr.replan(comb, 1, 0, costs=[(0, 1, 10**30)])
    assert far.cost == pytest.approx(10**30) and all(claim.holds for claim in audited(comb, far))


def test_nothing_is_chosen_where_too_few_stay(comb: vr.Playbook) -> None:
    closed = [(2, 5), (3, 6)]
    made = vr.replan(comb, 1, 4, closed=closed)
    assert (made.choice, made.route, made.cost, made.qualifies) == (None, (), None, False)
    assert made.going_on.left == made.giving_up.left == (4,)
    assert made.to_dict()["route"] is None
    assert vr.replan(comb, 1, 4, closed=closed, choice="go-on").route == (4, 1, 2, 3)
    for choice in (None, "go-on", "give-up"):
        made = vr.replan(comb, 1, 4, closed=[(1, 2)], choice=choice)
        assert (made.choice, made.going_on.route, made.giving_up.cost, made.still_hidden) == (None, (), None, (4,))
    given_up = vr.replan(comb, 1, 0, closed=[(2, 5)], choice="give-up")
    assert (given_up.route, given_up.still_hidden, given_up.dropped) == ((0, 1, 2, 3), (), (4, 5, 6))


def fork(cost_of_4: float, num_more: int = 0, ell: float = 0) -> vr.Playbook:
    """0 to 3 past some places, and past 4 and 5: only past one of them if the road from 4 to 5 is closed."""
    lane = [0, *range(6, 6 + num_more), 1]
    roads = [(1, 4, cost_of_4), (4, 3, 2), (1, 5, 2), (5, 3, 2), (4, 5, 1), (1, 2, 1), (2, 3, 1)]
    tails, heads, costs = zip(*roads, *((a, b, 1) for a, b in pairwise(lane)), strict=True)
    domain = vr.Domain.from_edges(6 + num_more, tails, heads, costs)
    members = [*lane[1:-1], 4, 5]
    return vr.playbook_from_classes(
        vr.Problem(domain, [vr.Trip(0, 3)], members),
        vr.Privacy(k=2, ell=ell),
        [{"members": members, "route": [*lane, 4, 5, 3]}],
    )


def test_of_as_many_the_cheapest_are_kept_and_of_those_the_first() -> None:
    for cost_of_4, left in ((1, 4), (2, 4), (3, 5)):
        made = vr.replan(fork(cost_of_4), 1, 0, closed=[(4, 5)])
        assert (made.going_on.left, made.qualifies, made.giving_up.route) == ((left,), False, (0, 1, 2, 3))
    # Before all that those who keep the promise: 6 and 4 are too close to each other, 6 and 5 are not.
    for ell, left in ((0, 4), (3, 5)):
        made = vr.replan(fork(1, 1, ell), 1, 0, closed=[(4, 5)])
        assert (made.going_on.left, made.qualifies) == ((6, left), True)


def test_out_of_how_many_those_are_chosen_who_can_be_kept() -> None:
    """Where nobody has to drop out there may be more."""
    book = fork(3, 11)
    assert vr.replan(fork(3, 10), 1, 0, closed=[(4, 5)]).dropped == (4,)
    with pytest.raises(vr.TooLargeError, match="at most 12 members"):
        vr.replan(book, 1, 0, closed=[(4, 5)])
    made = vr.replan(book, 1, 0, closed=[(1, 2)])
    assert (len(made.still_hidden), made.qualifies) == (13, True)
    assert all(claim.holds for claim in audited(book, made))
    assert vr.replan(book, 1, 0, closed=[(0, 6)]).route == ()


def test_no_road_at_all_where_there_are_rules_for_turns() -> None:
    domain = vr.Domain.from_edges(4, [0, 1, 2], [1, 2, 3], [1, 1, 1], labels=["a", "b", "d", "c"])
    domain = with_rules(domain, Turns(), [])
    book = vr.solve(vr.Problem(domain, [vr.Trip("a", "c")], ["b", "d"]), vr.Privacy(k=2, ell=0))
    for at, left in (("a", ()), ("b", ("b",)), ("d", ("b", "d"))):
        made = vr.replan(book, 1, at, closed=[("a", "b"), ("b", "d"), ("d", "c")])
        assert (made.choice, made.giving_up.route, made.still_hidden) == (None, (), left)
        assert all(each.holds for each in audited(book, made))


def test_a_closed_road_may_be_named_by_any_label_of_its_ends() -> None:
    pairs = [(0, 1), (1, 2), (0, 2), (2, 3)]
    tails, heads = zip(*pairs, *[(b, a) for a, b in pairs], strict=True)
    domain = vr.Domain.from_edges(4, tails, heads, [1] * 8, labels=["a", "b", "c", "d"])
    domain = with_rules(domain, None, [("b too", 1)])
    book = vr.solve(vr.Problem(domain, [vr.Trip("a", "d")], ["b", "c"]), vr.Privacy(k=2, ell=0))
    one, other = (vr.with_contingencies(book, closed=[("a", name)]) for name in ("b", "b too"))
    assert len(other.contingencies) == 1
    assert other.to_json() == one.to_json()
    assert vr.replan(book, 1, "b too", closed=[("b too", "c")]) == vr.replan(book, 1, "b", closed=[("b", "c")])
    with pytest.raises(vr.InvalidInputError, match="where the vehicle stands"):
        vr.replan(book, 1, "b", closed_nodes=["b too"])
    with pytest.raises(vr.InvalidInputError, match="one new cost"):
        vr.replan(book, 1, "a", costs=[("a", "b", 2), ("a", "b too", 3)])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"at": 1}, "position: expected the position as well: the route passes 1 more than once, at 1, 3"),
        ({"at": 1, "position": 2}, "position: expected where the route passes 1: 1, 3"),
        ({"at": 99}, "at: expected a node that all members of the class pass"),
        ({"number": 0}, "class: expected a class from 1 to 1"),
        ({"trip": 1}, "trip: expected a trip from 0 to 0"),
        ({"closed": [(0, 3)]}, "closed: expected roads of the map, got '0 to 3'"),
        ({"closed": [0, 1]}, "closed: expected pairs of nodes"),
        ({"closed_one_way": [(3, 0)]}, "closed_one_way: expected roads of the map"),
        ({"closed_nodes": [0]}, "closed_nodes: expected other nodes than the one where the vehicle stands"),
        ({"costs": [(0, 2, 1)]}, "costs: expected edges of the map that are open"),
        ({"costs": [(0, 1, 1)], "closed": [(1, 0)]}, "costs: expected edges of the map that are open"),
        ({"costs": [(0, 1, -1)]}, "costs: expected a finite number >= 0"),
        ({"costs": [(0, 1, 1), (0, 1, 2)]}, "costs: expected one new cost for each edge"),
        ({"choice": "stay"}, "choice: expected go-on or give-up"),
    ],
)
def test_what_cannot_be_replanned_is_named(comb: vr.Playbook, given: dict[str, object], problem: str) -> None:
    asked: dict[str, object] = {"number": 1, "at": 0} | given
    with pytest.raises(vr.InvalidInputError) as error:
        vr.replan(comb, asked.pop("number"), asked.pop("at"), **asked)  # type: ignore[arg-type]
    assert str(error.value).startswith(problem)


def test_a_detour_is_replanned_from_where_it_goes(comb: vr.Playbook) -> None:
    first = vr.replan(comb, 1, 0, closed=[(1, 4)])
    assert first.route == (0, 1, 2, 5, 2, 3, 6, 3)
    second = vr.replan(comb, 1, 5, closed=[(3, 6)], after=first)
    assert second.walked == (0, 1, 2, 5)
    assert second.closure.roads == ((1, 4), (3, 6))
    assert (second.still_hidden, second.choice) == ((5,), None)
    again = replan_from_dict(json.loads(canonical(second.to_dict())))
    assert again == second
    at_once = vr.replan(comb, 1, 0, closed=[(3, 6)], after=first)
    assert (at_once.walked, at_once.still_hidden) == ((0,), (5,))
    with pytest.raises(vr.InvalidInputError, match="an earlier replan of the same class and trip, with a route"):
        vr.replan(comb, 1, 5, closed=[(3, 6)], after=second)
    with pytest.raises(vr.InvalidInputError, match="at: expected"):
        vr.replan(comb, 1, 4, closed=[(3, 6)], after=first)


def test_a_changed_street_network_keeps_names_and_bends() -> None:
    town = little_town()
    changed = change_domain(town, vr.Closure.of([(101, 102)], costs=[(110, 111, 99.5)]))
    assert (changed.num_nodes, changed.num_edges, changed.labels) == (town.num_nodes, town.num_edges - 2, town.labels)
    assert changed.streets is not None and town.streets is not None
    tails, heads, _ = changed.edge_arrays()
    old = {pair: i for i, pair in enumerate(zip(*(part.tolist() for part in town.edge_arrays()[:2]), strict=True))}
    for edge, pair in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
        before = old[pair]
        assert changed.streets.name(edge) == town.streets.name(before)
        assert np.array_equal(changed.streets.bends(edge), town.streets.bends(before))
        assert changed.streets.lengths[edge] == town.streets.lengths[before]
        is_new = pair == (town.node(110), town.node(111))
        assert changed.costs[edge] == (99.5 if is_new else town.costs[before])


@pytest.mark.parametrize("closure", [vr.Closure.of([(101, 102)], [(106, 107)], [110]), vr.Closure()])
def test_a_changed_domain_is_the_one_that_its_edges_make(closure: vr.Closure) -> None:
    town = little_town()
    changed = change_domain(town, closure)
    tails, heads, costs = (part.tolist() for part in town.edge_arrays())
    rows = [edge for edge in zip(tails, heads, costs, strict=True) if not closure.shuts(*map(town.label, edge[:2]))]
    plain = vr.Domain.from_edges(town.num_nodes, *zip(*rows, strict=True), labels=town.labels)
    for mine, theirs in ((changed.edge_arrays(), plain.edge_arrays()), (changed.reversed_rows, plain.reversed_rows)):
        assert [part.tolist() for part in mine] == [part.tolist() for part in theirs]
        assert [part.dtype for part in mine] == [part.dtype for part in theirs]
    assert changed.indptr.dtype == plain.indptr.dtype


def test_what_earlier_trips_left_must_do_as_well(comb: vr.Playbook) -> None:
    """4 was seen with 5 alone: without 5, the third place does not help it."""
    past = vr.Past(((4, (4, 5)), (5, (4, 5))))
    linked = replace(comb, past=past)
    for book, qualifies in ((comb, True), (linked, False)):
        made = vr.replan(book, 1, 0, closed=[(2, 5)])
        assert (made.still_hidden, made.qualifies) == ((4, 6), qualifies)
        assert all(claim.holds for claim in audited(book, made))
    assert vr.replan(linked, 1, 0, closed=[(3, 6)]).qualifies
    near = replace(comb, past=vr.Past((), near=((4, 6),)))
    assert not vr.replan(near, 1, 0, closed=[(2, 5)]).qualifies, (
        "they stood near each other when they were hidden first"
    )


def test_contingencies_begin_where_the_road_is_met() -> None:
    book = vr.with_contingencies(little_book(), [(101, 102), (111, 110), (105, 106)])
    assert [(entry.number, entry.at, entry.closure.roads) for entry in book.contingencies] == [
        (1, 101, ((101, 102),)),
        (2, 110, ((111, 110),)),
    ]
    both_ends = vr.with_contingencies(little_book(), [(101, 102), (111, 110), (105, 106), (102, 101)])
    assert both_ends.contingencies == book.contingencies
    with pytest.raises(vr.InvalidInputError, match="closed: expected roads of the map, got '101 to 112'"):
        vr.with_contingencies(little_book(), [(101, 112)])


def test_the_worst_roads_are_those_that_cost_most_members_their_hiding(comb: vr.Playbook) -> None:
    """0 - 1, 1 - 2 and 2 - 3 leave no way at all; 1 - 4 and the other teeth cost one place each."""
    worst = [entry.closure.roads[0] for entry in vr.with_contingencies(comb, worst=20).contingencies]
    assert worst == [(0, 1), (1, 2), (2, 3), (1, 4), (2, 5), (3, 6)]
    assert [e.closure.roads[0] for e in vr.with_contingencies(comb, worst=2).contingencies] == worst[:2]
    town = little_book()
    graph, harm = adjacency(town.problem.domain), []
    for entry in vr.with_contingencies(town, worst=20).contingencies:
        assert vr.replan(town, entry.number, entry.at, closed=entry.closure.roads) == entry
        old = town.hidden_classes[entry.number - 1].routes[0]
        nodes = [town.problem.domain.node(label) for label in entry.walked]
        before = sum(dict(graph[tail])[head] for tail, head in pairwise(nodes))
        assert entry.going_on.cost is not None
        lost = len(entry.dropped) if entry.qualifies else len(entry.members)
        harm.append((lost, round(len(entry.members) * (before + entry.going_on.cost - old.cost), 6)))
    assert len(harm) == 10
    assert harm == sorted(harm, reverse=True)
    # What is not looked at, because going around costs less than what was found, is not among the worst.
    for book in (town, little_book(m=3)):
        whole = vr.with_contingencies(book, worst=20).contingencies
        for num in range(1, 10):
            some = vr.with_contingencies(book, worst=num).contingencies
            assert some == whole[: len(some)]


def test_a_class_that_keeps_its_promise_no_more_is_lost_whole() -> None:
    """Without 7 the two of its class are exposed; of three, of whom 4 drops out, two stay hidden."""
    roads = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (1, 4, 1), (2, 5, 1), (3, 6, 1), (1, 7, 9), (2, 8, 9)]
    tails, heads, costs = zip(*roads, *((b, a, cost) for a, b, cost in roads), strict=True)
    problem = vr.Problem(vr.Domain.from_edges(9, tails, heads, costs), [vr.Trip(0, 3)], [4, 5, 6, 7, 8])
    classes = [
        {"members": [4, 5, 6], "route": [0, 1, 4, 1, 2, 5, 2, 3, 6, 3]},
        {"members": [7, 8], "route": [0, 1, 7, 1, 2, 8, 2, 3]},
    ]
    book = vr.playbook_from_classes(problem, vr.Privacy(k=2, ell=1), classes)
    worst = [frozenset(entry.closure.roads[0]) for entry in vr.with_contingencies(book, worst=8).contingencies]
    assert {frozenset((1, 7)), frozenset((2, 8))} == set(worst[-5:-3])


def test_contingencies_change_neither_older_files_nor_draws() -> None:
    book = triangle_book(num_trips=1)
    more = vr.with_contingencies(book, [((1, 2), (1, 3))])
    assert more.contingencies
    assert book.to_json() == replace(more, contingencies=()).to_json()
    assert more.sha256 != book.sha256
    key = vr.Key(b"k" * 32)
    for occasion in map(str, range(20)):
        one, other = (each.route_for(PLACES[0], key=key, occasion=occasion) for each in (book, more))
        assert one == other
    assert vr.playbook_from_json(more.to_json()).to_json() == more.to_json()


@pytest.mark.parametrize("wanted", [{"worst": 5}, {"closed": [(101, 102), (111, 110), (105, 106)]}])
def test_contingencies_end_when_asked_to_and_those_found_are_kept(wanted: dict[str, Any]) -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 1

    some, whole = with_contingencies(little_book(), **wanted, watch=Watch(should_stop=stop)), little_book()
    assert some.contingencies and vr.audit(some).holds
    assert len(some.contingencies) < len(with_contingencies(whole, **wanted).contingencies)
