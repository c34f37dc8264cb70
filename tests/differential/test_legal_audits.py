"""Legal walks: what the auditor searches against histories remembered whole, and replans against it."""

from __future__ import annotations

import math
import random

import pytest

import veilroute as vr
from turn_graphs import draw_world
from veilroute.auditing import TABLE_STEP, audit_replan, legal_map, price_prefixes, price_walks, survey_problem

FEW, MANY = range(8), range(8, 200)


def seeds() -> list[object]:
    return [*FEW, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MANY)]


@pytest.mark.parametrize("seed", seeds())
def test_walks_are_priced_as_by_remembering_all(seed: int) -> None:
    world = draw_world(seed)
    survey = survey_problem(world.problem)
    some = survey.counted[:4]
    for trip in survey.trips:
        expected = []
        for chosen in range(1 << len(some)):
            wanted = [survey.watchers[c] for i, c in enumerate(some) if chosen >> i & 1]
            expected.append(world.cheapest((trip.start,), trip.goal, wanted))
        # By what seems less work, with a table of distances, or with sweeps of the map.
        for table_step in (TABLE_STEP, -math.inf, math.inf):
            assert price_walks(survey, trip, some, table_step=table_step) == pytest.approx(expected), world.turns


@pytest.mark.parametrize("seed", seeds())
def test_prefixes_are_priced_as_by_trying_all(seed: int) -> None:
    world = draw_world(seed, num_nodes=6)
    survey = survey_problem(world.problem)
    some, m = survey.coverable[:3], 1 + seed % 4
    for trip in survey.trips:
        walks: list[tuple[int, ...]] = [(trip.start,)]
        best = [0.0] + [float("inf")] * ((1 << len(some)) - 1)
        for length in range(1, m + 1):
            for walk in walks:
                if length < m and walk[-1] != trip.goal:
                    continue
                done = [not survey.watchers[c].isdisjoint(walk) for c in some]
                rests = [
                    world.cheapest(walk, trip.goal, [survey.watchers[c]]) if length == m else 0.0 if is_done else None
                    for c, is_done in zip(some, done, strict=True)
                ]
                for chosen in range(1, len(best)):
                    parts = [(i, rests[i]) for i in range(len(some)) if chosen >> i & 1]
                    paid = [
                        (world.cost(walk) + rest - trip.base_costs[some[i]]) * survey.weight(trip, some[i])
                        for i, rest in parts
                        if rest is not None
                    ]
                    if len(paid) == len(parts):
                        best[chosen] = min(best[chosen], sum(paid))
            walks = [longer for walk in walks for longer in world.steps(walk)]
        assert price_prefixes(survey, trip, some, m) == pytest.approx(best), world.turns


@pytest.mark.parametrize("seed", seeds())
def test_a_state_knows_all_that_matters_of_what_was_walked(seed: int) -> None:
    world, rng = draw_world(seed), random.Random(seed)
    survey = survey_problem(world.problem)
    if survey.rules is None:
        return
    for _ in range(20):
        walk: tuple[int, ...] = (rng.randrange(world.problem.domain.num_nodes),)
        for _ in range(rng.randint(0, 8)):
            walk = (*walk, *rng.sample(list(world.out[walk[-1]]), k=min(1, len(world.out[walk[-1]]))))
        assert (survey.rules.describe(walk) == "") == world.is_legal(walk)
        while not world.is_legal(walk):
            walk = walk[:-1]
        legal = legal_map(survey.rules, [walk])
        there = legal.walking.distances([(legal.begins[0], 0)])
        for goal in range(world.problem.domain.num_nodes):
            reached = min((there[state] for state in legal.states_at([goal])), default=float("inf"))
            assert reached == pytest.approx(world.cheapest(walk, goal, []))


@pytest.mark.parametrize("seed", seeds())
def test_replans_hold(seed: int) -> None:
    problem, rng = draw_world(seed).problem, random.Random(seed)
    if len(problem.counted) < 2:
        return
    book = vr.solve(problem, vr.Privacy(k=2, ell=1, m=rng.choice([None, 4])))
    book = vr.with_contingencies(book, worst=2)
    assert [each.evidence for each in vr.audit(book).claims if not each.holds] == []
    for number, group in enumerate(book.hidden_classes, start=1):
        for trip in range(len(problem.trips)):
            shared = group.shared(trip)
            if len(shared) < 2:
                continue
            at = rng.randrange(len(shared) - 1)
            # Ahead only, and with the road behind: what began there is still banned.
            for closed in ([shared[at : at + 2]], [shared[at : at + 2], shared[max(0, at - 1) : max(0, at - 1) + 2]]):
                made = vr.replan(book, number, shared[at], position=at, trip=trip, closed=closed)
                assert [each.evidence for each in audit_replan(book, made) if not each.holds] == []
