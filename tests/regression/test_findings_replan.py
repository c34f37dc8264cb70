"""Findings of the privacy review about replans (F10). F12, files that nobody else could audit, is in tests/surface."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

import veilroute as vr

MAP = [
    "@" * 30,
    "@" * 12 + "." * 17 + "@",
    "@" * 12 + "." + "@" * 15 + "." + "@",
    "." * 30,
    "@" * 12 + "." + "@" * 15 + "." + "@",
    "@" * 12 + "." * 17 + "@",
    "@" * 30,
]
SHUT = [(1, 19), (1, 21), (5, 19), (5, 21)]


def straight(*corners: tuple[int, int]) -> list[tuple[int, int]]:
    """The cells from corner to corner."""
    cells = [corners[0]]
    for row, col in corners[1:]:
        while cells[-1] != (row, col):
            a, b = cells[-1]
            cells.append((a + (row > a) - (row < a), b + (col > b) - (col < b)))
    return cells


def collide() -> vr.Playbook:
    """Two classes by an upper and a lower corridor; with both closed they go the same way, past two members each."""
    upper = straight((3, 0), (3, 12), (1, 12), (1, 28), (3, 28), (3, 29))
    lower = straight((3, 0), (3, 12), (5, 12), (5, 28), (3, 28), (3, 29))
    classes = [
        {"members": [(3, 5), (3, 9), (1, 20)], "route": upper},
        {"members": [(3, 7), (3, 1), (5, 20)], "route": lower},
    ]
    candidates = [member for group in classes for member in group["members"]]
    problem = vr.Problem(vr.grid_domain(MAP), [vr.Trip((3, 0), (3, 29))], candidates)
    return vr.playbook_from_classes(problem, vr.Privacy(risk=0.5, ell=3), classes)


def named(roads: Sequence[tuple[str, str]]) -> vr.Domain:
    """A map of one-way roads between named places."""
    names = list(dict.fromkeys(name for road in roads for name in road))
    tails, heads = zip(*((names.index(a), names.index(b)) for a, b in roads), strict=True)
    return vr.Domain.from_edges(len(names), tails, heads, [1] * len(tails), labels=names)


def contcol() -> vr.Playbook:
    """A lane past four members to L12; a single road, L12 to K, leads to the far members of both classes."""
    lane = [f"L{at}" for at in range(13)]
    roads = [*pairwise(lane), ("L12", "K"), ("K", "P"), ("K", "Q"), ("L12", "M"), ("M", "G")]
    domain = named([*roads, *((b, a) for a, b in roads)])
    classes = [
        {"members": ["L5", "L9", "P"], "route": [*lane, "K", "P", "K", "L12", "M", "G"]},
        {"members": ["L7", "L1", "Q"], "route": [*lane, "K", "Q", "K", "L12", "M", "G"]},
    ]
    candidates = [member for group in classes for member in group["members"]]
    problem = vr.Problem(domain, [vr.Trip("L0", "G")], candidates)
    return vr.playbook_from_classes(problem, vr.Privacy(risk=0.5, ell=3), classes)


def possible(walks: dict[object, tuple[object, ...]], seen: tuple[object, ...]) -> set[object]:
    """Every secret for which that is walked and which that walk passes."""
    return {secret for secret, walk in walks.items() if walk == seen and secret in walk}


@pytest.mark.parametrize("choice", [None, "give-up"])
def test_f10_a_replan_says_that_another_class_looks_the_same(choice: str | None) -> None:
    book = collide()
    assert vr.audit(book).holds
    made = [vr.replan(book, number, (3, 12), closed_nodes=SHUT, choice=choice) for number in (1, 2)]
    walks = {member: each.walk_of(member) for each in made for member in each.members}
    for each in made:
        assert possible(walks, walks[each.members[0]]) == {(3, 5), (3, 9), (3, 7), (3, 1)}
        # One of four; of two, if the other driver has not heard of it. 3,5 and 3,7 are one area: two of four.
        seen = each.way.seen
        assert seen is not None and seen.looks_like == (1, 2)
        assert (seen.num_together, seen.num_possible, seen.worst_place, seen.worst_area) == (4, 2, 0.5, 0.5)


def test_f10_contingencies_for_one_road_know_one_another() -> None:
    book = vr.with_contingencies(contcol(), [("L12", "K")])
    one, other = book.contingencies
    walks = {member: entry.walk_of(member) for entry in book.contingencies for member in entry.members}
    assert len(set(walks.values())) == 1
    for entry in (one, other):
        assert entry.choice == "go-on" and entry.way.seen is not None
        assert len(possible(walks, walks[entry.members[0]])) == entry.way.seen.num_together == 4
        assert (entry.way.seen.looks_like, entry.way.seen.worst_area) == ((1, 2), 0.5)
    (claim,) = [claim for claim in vr.audit(book).claims if claim.claim == "contingencies"]
    assert claim.holds and claim.checked


def test_f10_a_class_that_falls_short_takes_another_with_it() -> None:
    """Class 1 is left with two by itself, class 2 with one heavy place that is close to one of these."""
    base = collide()
    classes = [{"members": list(group.members), "route": list(group.shared(0))} for group in base.hidden_classes]
    classes[1]["members"] = [(3, 7), (5, 16), (5, 20)]
    candidates = [member for group in classes for member in group["members"]]
    prior = [2.0 if label in classes[1]["members"] else 1.0 for label in candidates]
    problem = vr.Problem(base.problem.domain, base.trips, candidates, prior=prior)
    book = vr.playbook_from_classes(problem, vr.Privacy(risk=0.5, ell=3), classes)
    assert vr.audit(book).holds
    made = {number: vr.replan(book, number, (3, 12), closed_nodes=[*SHUT, (5, 15), (5, 17)]) for number in (1, 2)}
    # If both go on, 3,7 has half of what is seen, and with 3,5 or 3,9, which are in one area with it, three quarters.
    assert [entry.going_on.left for entry in made.values()] == [((3, 5), (3, 9)), ((3, 7),)]
    assert [(entry.qualifies, entry.choice) for entry in made.values()] == [(False, None), (False, None)]
    seen = made[1].going_on.seen
    assert seen is not None and (seen.looks_like, seen.may_look_like) == ((1,), (2,))
    assert (seen.num_together, seen.num_possible, seen.worst_place, seen.worst_area) == (2, 2, 0.5, 0.75)


def test_f10_other_classes_do_not_rescue_one_that_falls_short() -> None:
    """Three look the same on this trip; on another one the observer saw the class, and one of these is left."""
    roads = [("S", "A"), ("A", "B"), ("B", "C"), ("C", "D"), ("D", "G"), ("C", "X"), ("X", "D"), ("C", "Y"), ("Y", "D")]
    domain = named(roads)
    classes = [
        {"members": ["A", "X"], "route": ["S", "A", "B", "C", "X", "D", "G"]},
        {"members": ["B", "C"], "route": ["S", "A", "B", "C", "D", "G"]},
    ]
    problem = vr.Problem(domain, [vr.Trip("S", "G")], ["A", "X", "B", "C"])
    book = vr.playbook_from_classes(problem, vr.Privacy(k=2, ell=0), classes)
    made = vr.replan(book, 1, "C", closed=[("C", "X")])
    assert made.walked[:-1] + made.going_on.route == book.hidden_classes[1].shared(0)
    assert made.going_on.seen is not None and made.going_on.seen.looks_like == (1, 2)
    assert (made.going_on.seen.num_together, made.going_on.seen.num_possible) == (3, 1)
    assert (made.qualifies, made.choice) == (False, None)
