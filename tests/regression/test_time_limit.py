"""Work that is left when the time is over: writing down the walks must not take a sweep of the graph for each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

import pytest

import veilroute as vr
from veilroute.arrays import Floats, Indices
from veilroute.covering import walks
from veilroute.partition import class_space

NUM = 120


class Sweeps:
    """Counts the sweeps of the whole graph."""

    def __init__(self) -> None:
        self.num = 0


@pytest.fixture
def whole_sweeps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sweeps]:
    count = Sweeps()
    run = walks.Sweeper.run_from

    def counted(self: walks.Sweeper, nodes: Indices, values: Floats, limit: float = math.inf) -> Floats:
        count.num += limit == math.inf  # who sees whom takes sweeps as far as one sees
        return run(self, nodes, values, limit)

    fill = getattr(walks.Sweeper, "fill_rows", None)

    def filled(self: walks.Sweeper, nodes: Indices, asked: Indices, out: Floats, limit: float = math.inf) -> None:
        count.num += len(out)
        assert fill is not None
        fill(self, nodes, asked, out, limit)

    monkeypatch.setattr(walks.Sweeper, "run_from", counted)
    monkeypatch.setattr(walks.Sweeper, "fill_rows", filled, raising=False)
    yield count


def building_problem(movement: int = 4, radius: float = 0.0) -> vr.Problem:
    building = vr.generate_rooms(48, 64, seed=3, movement=movement)
    start = building.label(0)
    ends = vr.draw_candidates(building, start, start, NUM + 4, seed=2)
    trips = [vr.Trip(ends[0], ends[1]), vr.Trip(ends[2], ends[3], 0.5)]
    return vr.Problem(building, trips, ends[4:], vr.WithinDistance(radius))


def street_problem() -> vr.Problem:
    town = vr.generate_streets(14, 18, seed=5)
    labels = [town.label(node) for node in Random(1).sample(range(town.num_nodes), NUM + 2)]
    return vr.Problem(town, [vr.Trip(labels[0], labels[1])], labels[2:])


@pytest.mark.parametrize("partitioner", ["exact", "local-search"])
@pytest.mark.parametrize("movement", [4, 8])
@pytest.mark.parametrize("radius", [0, 3])
def test_walks_of_a_stopped_search_take_no_sweep_each(
    whole_sweeps: Sweeps, partitioner: str, movement: int, radius: float
) -> None:
    problem = building_problem(movement, radius)
    book = vr.solve(
        problem, vr.Privacy(k=2), planner="pbp", partitioner=partitioner, time_limit_s=1e-6, should_stop=lambda: True
    )
    assert book.claims.num_anonymized == NUM
    assert whole_sweeps.num < NUM / 4
    assert vr.audit(book).holds


def test_parting_routes_of_a_stopped_search_take_no_sweep_each(whole_sweeps: Sweeps) -> None:
    book = vr.solve(building_problem(), vr.Privacy(k=2, m=9), planner="m-pbp", time_limit_s=1e-6)
    assert book.claims.num_anonymized == NUM
    assert whole_sweeps.num < NUM / 4
    assert vr.audit(book).holds


@pytest.mark.parametrize("partitioner", ["exact", "local-search"])
def test_one_way_streets_are_hidden_even_without_time(whole_sweeps: Sweeps, partitioner: str) -> None:
    book = vr.solve(street_problem(), vr.Privacy(k=3), planner="pbp", partitioner=partitioner, time_limit_s=1e-6)
    assert book.claims.num_anonymized > NUM / 2
    assert whole_sweeps.num < NUM / 4
    assert vr.audit(book).holds


@pytest.mark.parametrize("problem", [building_problem(), building_problem(8, 2), street_problem()])
def test_a_limit_that_is_not_reached_changes_nothing(problem: vr.Problem) -> None:
    free = vr.solve(problem, vr.Privacy(k=2))
    limited = vr.solve(problem, vr.Privacy(k=2), time_limit_s=10_000)
    assert limited.to_json() == free.to_json()


@pytest.mark.parametrize("problem", [building_problem(8), building_problem(4, 2), street_problem()])
def test_the_number_of_cores_changes_nothing(problem: vr.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    books = []
    for num in (1, 2, 3):
        monkeypatch.setattr(walks, "_NANOSECONDS_PER_LOOK", 1e5)
        monkeypatch.setattr(class_space, "_CELLS_PER_THREAD", 50)
        books.append(vr.solve(problem, vr.Privacy(k=2), workers=num).to_json())
    assert books[0] == books[1] == books[2]
