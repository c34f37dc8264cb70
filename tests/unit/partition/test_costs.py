"""What a partitioner plug-in works with, against plain searches; and the metaheuristics that show how."""

from __future__ import annotations

import math
import random
import runpy
import tomllib
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
import strategies
import veilroute as vr
from plugin_packages import install
from veilroute import InvalidInputError, OutOfTimeError, Watch
from veilroute.bench import Choice, Job, RecordStore, build_cells, map_text, read_study, run_cell
from veilroute.covering import CoveringTask, k_and_ell, prepare_task
from veilroute.partition import PARTITIONERS, BestPartition, Costs

PACKAGE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "metaheuristics"
METAHEURISTICS = ("annealing", "memetic", "vns")


def make(num: int, *, seed: int = 1, num_trips: int = 1, radius: float = 0) -> tuple[vr.Problem, CoveringTask]:
    domain = vr.generate_rooms(20, 24, seed=seed)
    labels = random.Random(seed).sample(list(domain.labels_of(np.arange(domain.num_nodes))), num + 2 * num_trips)
    trips = [vr.Trip(labels[2 * i], labels[2 * i + 1], weight=i + 1) for i in range(num_trips)]
    problem = vr.Problem(domain, trips, labels[2 * num_trips :], vr.WithinDistance(radius))
    return problem, prepare_task(problem)


def plain_cost(problem: vr.Problem, task: CoveringTask, group: list[int]) -> float:
    """By searches over (node, what is covered), trip by trip."""
    graph = reference.adjacency(problem.domain)
    seen = [reference.watchers(problem, problem.candidate_nodes[task.members[i]]) for i in group]
    costs = [
        reference.covering_cost(graph, start, goal, seen)
        for start, goal in zip(problem.start_nodes, problem.goal_nodes, strict=True)
    ]
    return sum(weight * cost for weight, cost in zip(task.weights, costs, strict=True))


@given(strategies.problems(), st.randoms(use_true_random=True))
def test_cost_and_distance_are_what_plain_searches_find(problem: vr.Problem, rng: random.Random) -> None:
    task = prepare_task(problem)
    costs, num = Costs(problem, task, Watch()), len(task.members)
    nodes = [problem.candidate_nodes[i] for i in task.members]
    graph = reference.adjacency(problem.domain)
    for size in range(min(4, num) + 1):
        group = rng.sample(range(num), size)
        wanted = plain_cost(problem, task, group)
        for asked in (group, set(group), tuple(reversed(group)), iter(group), np.array(group, dtype=np.int64)):
            assert costs.cost(asked) == pytest.approx(wanted)
    for a, b in combinations(range(num), 2):
        there, back = reference.distances(graph, nodes[a])[nodes[b]], reference.distances(graph, nodes[b])[nodes[a]]
        assert costs.distance(a, b) == costs.distance(b, a)
        assert costs.distance(a, b) == pytest.approx(math.inf if nodes[a] == nodes[b] else min(there, back))
        last = reference.watchers(problem, nodes[b])
        ways = [
            reference.distances(graph, post)[other] for post in reference.watchers(problem, nodes[a]) for other in last
        ]
        assert costs.walking_cost(a, b) == pytest.approx(min(ways))
    for a in range(num):
        assert costs.distance(a, a) == math.inf


@pytest.mark.parametrize(("num_trips", "radius"), [(1, 0), (2, 0), (1, 2)])
def test_mac_shares_of_the_classes_add_up_to_the_mac(num_trips: int, radius: float) -> None:
    problem, task = make(8, num_trips=num_trips, radius=radius)
    costs = Costs(problem, task, Watch())
    book = vr.solve(problem, vr.Privacy(k=2, ell=0))
    place = {problem.candidates[member]: at for at, member in enumerate(task.members)}
    shares = [costs.mac_share(place[label] for label in each.members) for each in book.hidden_classes]
    assert book.mac is not None
    assert sum(shares) / len(task.members) == pytest.approx(book.mac)
    for a, b in combinations(range(8), 2):
        assert costs.pair_shares[a, b] == pytest.approx(costs.mac_share([a, b]))
    assert np.isinf(np.diag(costs.pair_shares)).all()


def test_positions_that_are_none_are_refused() -> None:
    problem, task = make(4)
    costs = Costs(problem, task, Watch())
    for group in ([0, 4], [-1, 2]):
        with pytest.raises(InvalidInputError, match="positions from 0 to 3 in task.members"):
            costs.cost(group)
        with pytest.raises(InvalidInputError, match="positions from 0 to 3"):
            costs.distance(*group)


def test_costs_end_when_the_time_is_over() -> None:
    problem, task = make(6)
    is_over = False
    costs = Costs(problem, task, Watch(should_stop=lambda: is_over))
    assert costs.cost([0, 1]) > 0
    is_over = True
    with pytest.raises(OutOfTimeError):
        for _ in range(1000):  # also for what is known already
            costs.cost([0, 1])
    with pytest.raises(OutOfTimeError):
        Costs(problem, task, Watch(should_stop=lambda: True)).cost([0, 1])


def test_the_best_partition_is_kept_and_others_are_not() -> None:
    problem, task = make(6)
    watch = Watch()
    rule, costs = k_and_ell(problem, task, vr.Privacy(k=2, ell=0)), Costs(problem, task, watch)
    best = BestPartition(rule, costs)
    assert best.offer([[1, 0], [2]])  # one alone is no class
    assert best.partition().left_out == (2, 3, 4, 5)
    assert not best.offer([[0], [1]])
    pairs = [[[5, 0], [1, 2], [3, 4]], [[0, 1], [2, 3], [4, 5]], [[0, 3], [1, 4], [2, 5]]]
    pairs.sort(key=lambda groups: -sum(map(costs.mac_share, groups)))
    for groups in pairs:
        assert best.offer(groups)
    assert not best.offer(pairs[0])
    made = best.partition()
    assert made.classes == tuple(sorted(tuple(sorted(group)) for group in pairs[-1]))
    assert not made.left_out and not made.is_optimal and not made.is_stopped
    assert [each.num_anonymized for each in made.improvements] == [2, 6, 6, 6]
    macs = [each.mac for each in made.improvements[1:]]
    assert macs == sorted(macs, reverse=True)
    assert macs[-1] == pytest.approx(sum(map(costs.mac_share, pairs[-1])) / 6)
    assert watch.incumbent == made.improvements[-1]


@pytest.fixture
def solve_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., vr.Playbook]:
    """Plan with a partitioner of the example package, as if it were installed."""
    stated = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install(tmp_path, "metaheuristics", "", stated["entry-points"])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(PACKAGE)
    monkeypatch.setattr(PARTITIONERS, "_loaded", {})
    return partial(vr.solve, planner="pbp")


@pytest.mark.parametrize("name", METAHEURISTICS)
@pytest.mark.parametrize(("k", "radius", "ell"), [(2, 0, 0), (3, 0, 1), (2, 2, 4)])
def test_metaheuristics_find_the_optimum_of_a_dozen(
    solve_with: Callable[..., vr.Playbook], name: str, k: int, radius: float, ell: float
) -> None:
    problem, _ = make(12, seed=3, radius=radius)
    privacy = vr.Privacy(k=k, ell=ell)
    best = vr.solve(problem, privacy)
    found = [solve_with(problem, privacy, partitioner=name, seed=5, budget=3000) for _ in range(2)]
    assert best.status == "optimal"
    assert found[0].mac == pytest.approx(best.mac)
    assert found[0].status == "feasible" and vr.audit(found[0]).holds
    assert found[0].to_json() == found[1].to_json()


@pytest.mark.parametrize("name", ["greedy", *METAHEURISTICS])
def test_metaheuristics_keep_to_a_risk_and_to_the_time(solve_with: Callable[..., vr.Playbook], name: str) -> None:
    problem, _ = make(14, num_trips=2)
    weighed = vr.Problem(problem.domain, problem.trips, problem.candidates, prior=[1 / (i + 1) for i in range(14)])
    book = solve_with(weighed, vr.Privacy(risk=0.5), partitioner=name, **({} if name == "greedy" else {"budget": 200}))
    assert vr.audit(book).holds and book.claims.num_anonymized > 10
    stopped = solve_with(problem, vr.Privacy(k=2, ell=0), partitioner=name, should_stop=lambda: True)
    assert stopped.options["stopped_early"] and stopped.claims.num_anonymized == 14


@pytest.mark.slow
def test_the_study_of_the_package_gives_gaps_to_the_optimum(
    solve_with: Callable[..., vr.Playbook], tmp_path: Path
) -> None:
    study = read_study(PACKAGE / "study.toml")
    _, amount = study.preset("quick")
    terrain = study.find_terrain(amount, map_names=("rooms-2",))
    cells = build_cells(study.within(amount), terrain, Choice(amount.time_limit_s))
    assert {cell.num_candidates for cell in cells} == {16, 50}
    text = map_text(terrain.domains["rooms-2"])
    wanted = [cell for cell in cells if (cell.num_candidates, cell.k) == (16, 2)]
    with RecordStore(tmp_path) as store:
        for cell in wanted:
            store.append(run_cell(Job(cell, text, "here")))
    gaps = runpy.run_path(str(PACKAGE / "gaps.py"))
    found = gaps["read_gaps"](tmp_path)
    assert [name for _, _, name in found] == ["optimal", "local-search", "memetic", "vns", "annealing", "greedy"]
    shown = {name: gaps["show_gap"](found[2, 16, name]) for _, _, name in found}
    assert shown["optimal"] == shown["vns"] == "0.00 (1)"
    assert shown["greedy"].endswith(" (0)")
    ((gap, is_proved, cpu_s),) = found[2, 16, "memetic"]
    assert (gap, is_proved) == (pytest.approx(0), True) and 0 < cpu_s < 2
