"""What a replan says of an observer, against an observer who lists every secret and drives every class (F10)."""

from __future__ import annotations

import math
from random import Random

import pytest

import veilroute as vr
from closed_roads import audited, draw_closure
from plain_closures import Walks, agrees, drawn_book, listed, seers_of, should_keep, watch

NUM = 400


def check(book: vr.Playbook, made: vr.Replan, seers: dict[object, set[object]]) -> int:
    """How many classes look the same at most, if all is as listed."""
    most = 1
    for choice, way in (("go-on", made.going_on), ("give-up", made.giving_up)):
        if not way.route:
            assert way.seen is None and not way.qualifies
            continue
        real = watch(book, made, choice, seers)
        assert agrees(way, real)
        assert way.qualifies == should_keep(book, made, way, real)
        if way.qualifies and way.seen is not None:
            least = book.privacy.k if book.privacy.beta is None else math.ceil(1 / book.privacy.beta)
            assert way.seen.num_possible >= least
        most = max(most, len(real.looks_like) + len(real.may_look_like))
    claims = audited(book, made)
    assert [each.evidence for each in claims if not each.holds] == []
    assert all(each.checked or each.claim == "cheapest" for each in claims)
    return most


@pytest.mark.parametrize("num", [3, pytest.param(NUM, marks=pytest.mark.slow)])
def test_every_class_at_every_place_says_what_an_observer_can_find_out(num: int) -> None:
    rng, done, replans, alike, chained = Random("lookalikes"), 0, 0, 0, 0
    while done < num:
        book = drawn_book(rng)
        if book is None:
            continue
        done += 1
        seers = seers_of(book, book.candidates)
        number = rng.randint(1, len(book.hidden_classes))
        way = book.hidden_classes[number - 1].shared(0)
        first = rng.randrange(len(way))
        closure = draw_closure(rng, book, way[first:]) | {"costs": []}
        if not any(closure.values()):
            continue
        for at, group in enumerate(book.hidden_classes, start=1):
            shared = group.shared(0)
            for position, node in enumerate(shared):
                if node in closure["closed_nodes"]:
                    continue
                made = vr.replan(book, at, node, position=position, **closure)
                alike += check(book, made, seers) > 1
                replans += 1
                if made.choice is not None and rng.random() < 0.3:
                    whole = made.walked[:-1] + made.route
                    then = rng.randrange(position, len(whole))
                    again = draw_closure(rng, book, whole[then:]) | {"costs": [], "closed_nodes": []}
                    after = made if rng.random() < 0.7 else vr.replan(book,
                        at, node, position=position, choice="give-up", **closure
                    )  # fmt: skip
                    whole = after.walked[:-1] + after.route
                    if then < len(whole) and whole[then] not in closure["closed_nodes"]:
                        alike += (
                            check(book, vr.replan(book, at, whole[then], position=then, after=after, **again), seers)
                            > 1
                        )
                        chained += 1
    assert replans > 10 * num and alike > num and chained > num


def test_others_are_expected_where_the_rule_leads_them() -> None:
    """Also beside a class that was given up against the rule; and what closes behind all of them sends nobody back."""
    domain, places = vr.grid_domain([".....", ".@.@.", "....."]), [(1, 4), (2, 3), (2, 0), (1, 0), (1, 2)]
    problem = vr.Problem(domain, [vr.Trip((2, 4), (0, 0))], places)
    book = vr.solve(problem, vr.Privacy(risk=0.5, mechanism="randomised"))
    seers = seers_of(book, places)
    given_up = vr.replan(book, 1, (2, 4), position=0, closed=[((2, 4), (1, 4))], choice="give-up")
    assert check(book, vr.replan(book, 1, (0, 1), closed=[((0, 1), (0, 0))], after=given_up), seers) == 3
    assert check(book, vr.replan(book, 3, (2, 2), closed_nodes=[(2, 4)]), seers) == 1
    assert check(book, vr.replan(book, 3, (1, 2), closed=[((2, 4), (2, 3)), ((2, 2), (2, 1))]), seers) == 2


@pytest.mark.parametrize("num", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_contingencies_say_what_an_observer_can_find_out(num: int) -> None:
    """A class without a contingency keeps to its route; the others drive on until they meet the road."""
    rng, done, alike = Random("contingencies that look alike"), 0, 0
    while done < num:
        book = drawn_book(rng)
        if book is None:
            continue
        done += 1
        seers = seers_of(book, book.candidates)
        made = vr.with_contingencies(book, worst=4)
        for entry in made.contingencies:
            same_road = {each.number: each for each in made.contingencies if each.closure == entry.closure}
            for choice in ("go-on", "give-up"):
                way = entry.going_on if choice == "go-on" else entry.giving_up
                if not way.route:
                    continue
                cases: list[dict[int, Walks]] = []
                for does in (None, "go-on", "give-up"):
                    walks: dict[int, Walks] = {
                        at: {member: group.route_of(member, 0).nodes for member in group.members}
                        for at, group in enumerate(book.hidden_classes, start=1)
                        if at != entry.number
                    }
                    for at, each in same_road.items():
                        if at != entry.number:
                            told = each.going_on if does != "give-up" else each.giving_up
                            is_told = told.route and (each.choice or does)
                            walks[at] = {t: each.walked[:-1] + told.rest_of(t) for t in each.members if is_told}
                    cases.append(walks)
                mine = {t: entry.walked[:-1] + way.rest_of(t) for t in entry.members}
                real = listed(book, entry.number, mine, cases, seers)
                assert agrees(way, real)
                alike += len(real.looks_like) + len(real.may_look_like) > 1
        claims = [each for each in vr.audit(made).claims if each.claim == "contingencies"]
        assert all(each.holds and each.checked for each in claims), claims
    assert alike > num / 2
