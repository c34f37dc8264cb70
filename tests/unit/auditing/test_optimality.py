from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import veilroute as vr
from veilroute.auditing import (
    TABLE_STEP,
    Optimum,
    Spread,
    Survey,
    TooMuchError,
    TripDistances,
    find_optimum,
    price_prefixes,
    price_walks,
    survey_problem,
)


def random_problem(seed: int, *, num_nodes: int = 8, num_candidates: int = 5, num_trips: int = 2) -> vr.Problem:
    """A problem in which most candidates can be covered: a directed graph that is dense enough or flows one way."""
    rng = random.Random(seed)
    one_way = rng.random() < 0.5
    kinds: list[list[float]] = [[1], [1, 2, 3], [0, 1, 2], [0.1, 0.5, 1.7]]
    costs = rng.choice(kinds)
    pairs = [(a, b) for a in range(num_nodes) for b in range(num_nodes) if a < b or (a > b and not one_way)]
    edges = [pair for pair in pairs if rng.random() < (0.65 if one_way else 0.4)]
    domain = vr.Domain.from_edges(
        num_nodes, [a for a, _ in edges], [b for _, b in edges], [rng.choice(costs) for _ in edges]
    )
    trips = [vr.Trip(0, num_nodes - 1 - 2 * i, rng.choice([1.0, 2.5])) for i in range(num_trips)]
    sees = {node: rng.sample(range(num_nodes), 2) for node in range(num_nodes)}
    views: list[vr.Visibility] = [vr.AtNode(), vr.AtNode(), vr.WithinDistance(1), vr.Explicit(sees)]
    return vr.Problem(domain, trips, rng.sample(range(num_nodes), num_candidates), rng.choice(views))


def random_privacy(seed: int) -> vr.Privacy:
    rng = random.Random(f"privacy-{seed}")
    return vr.Privacy(
        k=rng.choice([1, 2, 2, 3]), ell=rng.choice([0, 1, 1.5, 2]), spread=rng.choice(["witness", "all-pairs"])
    )


def walks(survey: Survey, trip: TripDistances, max_nodes: int) -> Iterator[tuple[list[int], float]]:
    """Every walk from the start of at most so many nodes, with its cost."""
    pending: list[tuple[list[int], float]] = [([trip.start], 0.0)]
    while pending:
        nodes, cost = pending.pop()
        yield nodes, cost
        if len(nodes) < max_nodes:
            pending += [([*nodes, head], cost + step) for head, step in survey.walking.edges_from(nodes[-1])]


def covered(survey: Survey, nodes: list[int]) -> int:
    return sum(1 << i for i, c in enumerate(survey.coverable) if not survey.watchers[c].isdisjoint(nodes))


def optimum_of(survey: Survey, privacy: vr.Privacy) -> Optimum | None:
    return find_optimum(survey, Spread(survey, privacy), privacy.m)


def mac_of(optimum: Optimum) -> float | None:
    num = optimum.num_anonymized
    return optimum.least[num] / num if num else None


def state_costs(survey: Survey, trip: TripDistances) -> list[float]:
    """Cheapest covering walk per subset, by Bellman-Ford over (node, covered set)."""
    num = len(survey.coverable)
    best = {(trip.start, covered(survey, [trip.start])): 0.0}
    changed = True
    while changed:
        changed = False
        for (node, seen), cost in list(best.items()):
            for head, step in survey.walking.edges_from(node):
                state = (head, seen | covered(survey, [head]))
                if cost + step < best.get(state, math.inf) - 1e-12:
                    best[state] = cost + step
                    changed = True
    at_goal = [(seen, cost) for (node, seen), cost in best.items() if node == trip.goal]
    return [min((c for seen, c in at_goal if seen & chosen == chosen), default=math.inf) for chosen in range(1 << num)]


@pytest.mark.parametrize("seed", range(40))
def test_prices_of_walks(seed: int) -> None:
    """However they are worked out: by what seems less work, with a table of distances, or with sweeps of the map."""
    survey = survey_problem(random_problem(seed))
    for trip in survey.trips:
        expected = state_costs(survey, trip)
        for table_step in (TABLE_STEP, -math.inf, math.inf):
            assert price_walks(survey, trip, survey.coverable, table_step=table_step) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("m", [1, 2, 4])
def test_prices_of_prefixes(seed: int, m: int) -> None:
    survey = survey_problem(random_problem(seed, num_nodes=6, num_candidates=4, num_trips=1))
    trip = survey.trips[0]
    ways: list[list[float]] = []
    for nodes, cost in walks(survey, trip, m):
        seen = covered(survey, nodes)
        parts = []
        for i, c in enumerate(survey.coverable):
            base = trip.base_costs[c]
            onwards = trip.to_goal[nodes[-1]]
            if not seen >> i & 1:
                # The cheapest way on that still passes a watcher.
                ahead = survey.walking.distances([(nodes[-1], 0)])
                onwards = min(ahead[q] + trip.to_goal[q] for q in survey.watchers[c])
            is_complete = nodes[-1] == trip.goal and seen >> i & 1
            usable = len(nodes) == m or is_complete
            extra = cost + (onwards if len(nodes) == m else 0) - base
            parts.append(extra * survey.weight(trip, c) if usable else math.inf)
        ways.append(parts)
    subsets = range(1, 1 << len(survey.coverable))
    expected = [min(sum(p for i, p in enumerate(parts) if chosen >> i & 1) for parts in ways) for chosen in subsets]
    assert price_prefixes(survey, trip, survey.coverable, m)[1:] == pytest.approx(expected)


@pytest.mark.parametrize("objective", ["mac", "total"])
@pytest.mark.parametrize("seed", range(50))
def test_planner_and_auditor_agree_on_the_optimum(seed: int, objective: str) -> None:
    problem, privacy = random_problem(seed, num_candidates=6), random_privacy(seed)
    problem = replace(problem, objective=objective)
    if len(problem.counted) < privacy.k:
        privacy = replace(privacy, k=1)
    playbook = vr.solve(problem, privacy)
    optimum = optimum_of(survey_problem(problem), privacy)
    assert optimum is not None
    num = playbook.claims.num_anonymized
    assert optimum.num_anonymized == num
    stated = playbook.claims.total_extra if objective == "total" else playbook.mac and playbook.mac * num
    assert optimum.least.get(num) == (pytest.approx(stated, rel=1e-9, abs=1e-12) if num else None)


def test_sharing_only_a_prefix_makes_more_possible() -> None:
    # 0 -> 1 -> 3 and 0 -> 2 -> 3: no walk covers both 1 and 2, but both begin at 0.
    fork = vr.Domain.from_edges(4, [0, 0, 1, 2], [1, 2, 3, 3], [1] * 4)
    survey = survey_problem(vr.Problem(fork, [vr.Trip(0, 3)], [1, 2]))
    found = {}
    for m in (1, 2, None):
        optimum = optimum_of(survey, vr.Privacy(k=2, ell=0, m=m))
        assert optimum is not None
        found[m] = (optimum.num_anonymized, mac_of(optimum), optimum.num_anonymizable)
    assert found == {1: (2, 0.0, 2), 2: (0, None, 0), None: (0, None, 0)}


def test_least_mac_for_every_number_of_anonymized(line5: vr.Domain) -> None:
    # From 0 to 0: base costs 2, 4, 6 and 8 for the candidates 1 to 4.
    survey = survey_problem(vr.Problem(line5, [vr.Trip(0, 0)], [1, 2, 3, 4]))
    optimum = optimum_of(survey, vr.Privacy(k=2, ell=1))
    assert optimum is not None
    # {3, 4} makes 3 a third dearer, {2, 3, 4} makes 2 twice as dear as well, {1, 2} makes 1 twice as dear.
    assert optimum.least == pytest.approx({2: 1 / 3, 3: 1 / 3 + 1, 4: 1 / 3 + 1})
    assert optimum.num_anonymizable == 4


def test_too_large_is_not_tried(line5: vr.Domain) -> None:
    many = vr.grid_domain(["." * 20])
    survey = survey_problem(vr.Problem(many, [vr.Trip((0, 0), (0, 0))], [(0, i) for i in range(1, 20)]))
    assert optimum_of(survey, vr.Privacy()) is None
    survey = survey_problem(vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3]))
    for m in (None, 3):
        assert find_optimum(survey, Spread(survey, vr.Privacy(m=m)), m, effort=1_000) is not None
        assert find_optimum(survey, Spread(survey, vr.Privacy(m=m)), m, effort=5) is None
    with pytest.raises(TooMuchError):
        price_prefixes(survey, survey.trips[0], survey.coverable, 50, effort=20)


def test_known_optima_of_the_paper(shared: Path) -> None:
    num_compared = 0
    for line in (shared / "instances" / "paper.jsonl").read_text().splitlines():
        case = json.loads(line)
        if case["num_candidates"] > 8 or case["map"] not in ("dao/den101d.map", "dao/lak102d.map"):
            continue
        domain = vr.read_movingai(shared / "maps" / case["map"])
        trip = vr.Trip(tuple(case["start"]), tuple(case["goal"]))
        for known in case["optimum"]:
            view = vr.WithinDistance(known["radius"])
            survey = survey_problem(vr.Problem(domain, [trip], [tuple(cell) for cell in case["candidates"]], view))
            privacy = vr.Privacy(k=known["k"], ell=known["ell"], m=known["m"], spread=known["spread"])
            optimum = optimum_of(survey, privacy)
            if optimum is not None:
                num_compared += 1
                assert optimum.num_anonymized == known["anonymized"]
                assert mac_of(optimum) == pytest.approx(known["mac"], abs=2e-9)
    assert num_compared > 20
