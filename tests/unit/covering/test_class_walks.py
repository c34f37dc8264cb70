"""How much time the walks of classes are given, and walks that are not as long as was said."""

from __future__ import annotations

import math

import pytest

import veilroute as vr
from veilroute import Watch
from veilroute.covering import ClassWalks, CoveringTask, Sweeper, as_members, prepare_task


@pytest.fixture
def task() -> CoveringTask:
    building = vr.generate_rooms(30, 40, seed=3)
    start = building.label(0)
    goal, *places = vr.draw_candidates(building, start, start, 41, seed=2)
    return prepare_task(vr.Problem(building, [vr.Trip(start, goal)], places))


class Clock:
    """Time that passes when somebody works, and may pass faster than that."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, slowdown: float) -> None:
        self.worked = 0.0
        for name, pace in (("monotonic", slowdown), ("process_time", 1.0), ("thread_time", 1.0)):
            monkeypatch.setattr(f"time.{name}", lambda pace=pace: pace * self.worked)


@pytest.mark.parametrize("slowdown", [1.0, 3.0])
def test_the_time_kept_is_for_all_classes_and_all_their_walks(
    task: CoveringTask, monkeypatch: pytest.MonkeyPatch, slowdown: float
) -> None:
    clock = Clock(monkeypatch, slowdown)

    def write_down(_: object) -> None:
        clock.worked += 0.01

    free = Watch()
    ClassWalks(task).keep_time([as_members((0, 1))] * 500, free, write_down)
    assert free.reserve_s == clock.worked == 0
    watch = Watch(time_limit_s=100.0, started_s=0.0, started_cpu_s=0.0)
    watch.walks_per_class = 4
    ClassWalks(task).keep_time([as_members((0, 1))] * 500, watch, write_down)
    assert watch.reserve_s == pytest.approx(1.5 * slowdown * 4 * 500 * 0.01)
    clock.worked = (100.0 - watch.reserve_s - 0.001) / slowdown
    assert not watch.is_over()
    clock.worked += 0.002
    assert watch.is_over()


def test_a_class_that_no_walk_covers() -> None:
    path = vr.Domain.from_edges(5, [0, 0, 1, 2, 3], [1, 2, 3, 3, 4], [1, 1, 1, 1, 1])
    task = prepare_task(vr.Problem(path, [vr.Trip(0, 4)], [1, 2, 3]))
    walks = ClassWalks(task)
    assert walks.has_walks((0, 2))
    assert not walks.has_walks((0, 1))
    assert walks.find((2, 0)).walk.tolist() == [0, 1, 3, 4] and walks.find((0, 2)) is walks.find((2, 0)), "it is kept"


@pytest.mark.parametrize("movement", [4, 8])
def test_a_path_that_is_longer_than_was_said(movement: int) -> None:
    building = vr.generate_rooms(20, 30, seed=3, movement=movement)
    here, stop = 3, building.num_nodes - 2
    whole = Sweeper(building, backward=True, num_seeds=1)
    length = float(whole.run(stop)[here])
    expected = whole.follow(here).tolist()
    to_goal = whole.run(stop).copy()
    from_start = Sweeper(building, backward=False, num_seeds=1).run(here)
    local = Sweeper(building, backward=True, num_seeds=1)
    for said in (length, length * 0.9, 0.0, length * 2, math.inf):
        assert local.path(here, stop, said, from_start, to_goal).tolist() == expected
