"""The walks of classes against those of the fields engine, from whatever a partitioner has left behind."""

from __future__ import annotations

import itertools
from contextlib import suppress
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import veilroute as vr
from veilroute import OutOfTimeError, Watch
from veilroute.covering import ClassWalks, CoveringTask, FieldCosts, FieldsEngine, prepare_task
from veilroute.covering.set_costs import set_costs


def all_sources(task: CoveringTask) -> dict[str, ClassWalks]:
    """What a partitioner may hand on: nothing, what it was stopped before it had, and all that it worked out."""
    order = np.arange(len(task.members))[::-1].copy()
    begun, ready, fields = set_costs(task, order), set_costs(task, order), FieldCosts(task, order)
    calls = itertools.count()
    with suppress(OutOfTimeError):
        begun.pairs(Watch(should_stop=lambda: next(calls) > 1))
    ready.pairs(Watch())
    fields.pairs(Watch())
    return {
        "alone": ClassWalks(task),
        "stopped": ClassWalks(task, begun),
        "ready": ClassWalks(task, ready),
        "fields": ClassWalks(task, fields),
    }


def city(seed: int, costs: str) -> vr.Domain:
    """Many equally cheap ways: a building on a grid, or one-way streets whose costs are hardly ever summed exactly."""
    if costs in ("4-way", "8-way"):
        return vr.generate_rooms(20, 30, seed=seed, movement=int(costs[0]))
    rng = Random(seed)
    side = 16
    pairs = [(i, j) for i in range(side * side) for j in (i + 1, i + side) if j < side * side]
    pairs += [(j, i) for i, j in pairs if rng.random() < 0.8]
    choice = (0, 0, 1, 2) if costs == "zeros" else (0.1, 0.2, 0.3, 0.7, 1e-9)
    return vr.Domain.from_edges(
        side * side, [a for a, _ in pairs], [b for _, b in pairs], [rng.choice(choice) for _ in pairs]
    )


@pytest.mark.parametrize("costs", ["4-way", "8-way", "zeros", "float"])
@pytest.mark.parametrize("radius", [0, 1.5])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=8)
def test_walks_across_a_city(costs: str, radius: float, seed: int) -> None:
    domain = city(seed, costs)
    rng = Random(seed)
    labels = [domain.label(node) for node in rng.sample(range(domain.num_nodes), 16)]
    trips = [vr.Trip(labels[0], labels[1]), vr.Trip(labels[2], labels[3], 0.5)]
    problem = vr.Problem(domain, trips, labels[4:], vr.WithinDistance(radius))
    task = prepare_task(problem)
    assume(len(task.members) >= 4)
    engine, sources = FieldsEngine(task), all_sources(task)
    for trip in range(task.num_trips):
        for size in (1, 2, 2, 3, 3, 4):
            group = rng.sample(range(len(task.members)), size)
            expected = engine.find(group, trip)
            for name, source in sources.items():
                found = source.find(group, trip)
                assert found.walk.tolist() == expected.walk.tolist(), name
                assert (found.cost, found.status) == (expected.cost, expected.status)
