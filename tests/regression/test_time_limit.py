"""Work that is left when the time is over: writing down the walks must not take a sweep of the graph for each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

import veilroute as vr
from veilroute.covering import Sweeper

NUM = 120
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]


class Sweeps:
    """Counts the sweeps of the whole graph."""

    def __init__(self) -> None:
        self.num = 0


@pytest.fixture
def whole_sweeps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sweeps]:
    count = Sweeps()
    run, fill = Sweeper.run_from, Sweeper.fill_rows

    def counted(self: Sweeper, nodes: Indices, values: Floats, limit: float = math.inf) -> Floats:
        count.num += limit == math.inf  # who sees whom takes sweeps as far as one sees
        return run(self, nodes, values, limit)

    def filled(self: Sweeper, nodes: Indices, asked: Indices, out: Floats, limit: float = math.inf) -> None:
        count.num += len(out)
        fill(self, nodes, asked, out, limit)

    monkeypatch.setattr(Sweeper, "run_from", counted)
    monkeypatch.setattr(Sweeper, "fill_rows", filled)
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


@pytest.mark.parametrize("problem", [building_problem(), building_problem(8, 2), street_problem()])
def test_a_limit_that_is_not_reached_and_the_number_of_cores_change_nothing(problem: vr.Problem) -> None:
    free = vr.solve(problem, vr.Privacy(k=2), workers=1).to_json()
    assert vr.solve(problem, vr.Privacy(k=2), time_limit_s=10_000).to_json() == free
    assert vr.solve(problem, vr.Privacy(k=2), workers=3).to_json() == free


def test_of_a_large_map_several_cores_sweep_parts() -> None:
    town = vr.generate_streets(60, 60, seed=5)
    labels = [town.label(node) for node in Random(1).sample(range(town.num_nodes), NUM + 2)]
    problem = vr.Problem(town, [vr.Trip(labels[0], labels[1])], labels[2:])
    books = {
        vr.solve(problem, vr.Privacy(k=3), planner="pbp", partitioner="local-search", workers=n).to_json()
        for n in (1, 3)
    }
    assert len(books) == 1
