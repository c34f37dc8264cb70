"""An observer who closes roads on purpose, after watching: every strategy, on small maps (docs/theory, Closed roads).

The observer closes up to two roads, each at any step, knowing all that was seen. Against a given secret, a strategy is
what it comes to: which road is closed at which step. So all of these are tried, for every secret. A vehicle goes on as
it was told as long as the road ahead of it is open, and is replanned when a road of its way is closed. Roads that are
closed beside its way count when it is replanned.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest

import veilroute as vr
from closed_roads import best_rest, check_walk
from reference import adjacency, distances
from reference import qualifies as keeps
from strategies import build_domain

BUDGET = 2

Road = tuple[object, object]


class Round(NamedTuple):
    """How a class stands: its last replan, if there was one, how it goes, how far it has come, and what is closed."""

    made: vr.Replan | None
    way: tuple[object, ...]
    position: int
    closed: tuple[Road, ...]


def small_book(rng: Random) -> vr.Playbook | None:
    """A grid of a dozen cells, or a graph of as many nodes with one-way roads and all kinds of costs."""
    domain = build_domain(rng, rng.choice(["ring", "tree"]), rng.choice(["unit", "float"]), rng.randint(6, 9))
    if rng.random() < 0.6:
        height, width = rng.choice([(2, 5), (3, 3), (3, 4)])
        rows = ["".join("@" if rng.random() < 0.1 else "." for _ in range(width)) for _ in range(height)]
        domain = vr.grid_domain([*rows[:-1], "." * width])
    labels = [domain.label(node) for node in range(domain.num_nodes)]
    start, goal, *candidates = rng.sample(labels, min(len(labels), rng.randint(6, 7)))
    privacy = vr.Privacy(k=rng.choice([2, 2, 3]), ell=rng.choice([0, 1]), m=rng.choice([None, None, None, 4]))
    book = vr.solve(vr.Problem(domain, [vr.Trip(start, goal)], candidates), privacy)
    return book if book.hidden_classes else None


def strategies(book: vr.Playbook, number: int) -> Iterator[Round]:
    """All ends of the game against one class: each with the last replan that the closures led to."""
    label, edges = book.problem.domain.label, book.problem.domain.edge_arrays()[:2]
    pairs = {(min(pair), max(pair)) for pair in zip(*(ends.tolist() for ends in edges), strict=True)}
    roads = [(label(a), label(b)) for a, b in sorted(pairs)]
    stack = [Round(None, book.hidden_classes[number - 1].shared(0), 0, ())]
    while stack:
        state = stack.pop()
        yield state
        if len(state.closed) == BUDGET or (state.made is not None and state.made.choice is None):
            continue
        taken = {frozenset(road) for road in state.closed}
        for position in range(state.position, len(state.way)):
            ahead = [frozenset(pair) for pair in pairwise(state.way[position:])]
            for road in roads:
                if frozenset(road) in taken:
                    continue
                closed = (*state.closed, road)
                if frozenset(road) not in ahead:
                    # Beside the way it makes no difference when it is closed: once is enough.
                    if position == state.position:
                        stack.append(state._replace(closed=closed))
                    continue
                made = vr.replan(book, number, state.way[position], position=position, closed=closed, after=state.made)
                stack.append(Round(made, made.walked[:-1] + made.route, position, closed))


def play(book: vr.Playbook, number: int) -> int:
    """Check that no strategy leaves an observer with too little; how many there were."""
    domain, group = book.problem.domain, book.hidden_classes[number - 1]
    graph, nodes = adjacency(domain), [domain.node(member) for member in group.members]
    apart = [[distances(graph, a)[b] for b in nodes] for a in nodes]
    ends = 0
    for state in strategies(book, number):
        ends += 1
        made = state.made
        if made is None:
            continue
        if made.choice is None:
            # The vehicle stands, whoever is the secret; and nobody could have kept the promise.
            assert book.privacy.m is not None or not best_rest(book, made).qualifies
            continue
        # What each member of the class is seen to do, and who is served by it: those stay possible.
        walks = {member: made.walk_of(member) for member in group.members}
        assert len({walk[: book.privacy.m] for walk in walks.values()}) == 1
        left = [member for member in group.members if set(walks[member]) & {member}]
        assert tuple(left) == made.still_hidden
        assert keeps([group.members.index(member) for member in left], book.privacy, apart)
        assert len(left) >= book.privacy.k
        used = {frozenset(pair) for pair in pairwise(made.route)}
        assert not used & {frozenset(road) for road in state.closed}
        if ends % 50 == 0:
            check_walk(book, made, made.way)
    return ends


@pytest.mark.parametrize("num", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_no_strategy_of_closing_roads_leaves_too_few(num: int) -> None:
    rng, done, ends, classes = Random("closures"), 0, 0, 0
    while done < num:
        book = small_book(rng)
        if book is not None:
            for number in range(1, len(book.hidden_classes) + 1):
                ends += play(book, number)
                classes += 1
            done += 1
    assert ends > 100 * classes, "every step and every road"
