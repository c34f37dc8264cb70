"""Local search: feasible, deterministic, never better than the optimum, and hardly worse on what can be checked."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

import veilroute as vr
from reference import is_spread
from veilroute import Watch
from veilroute.covering import as_members, k_and_ell, prepare_task
from veilroute.partition import (
    ClassSpace,
    Grouping,
    LocalSearch,
    Partition,
    anneal_classes,
    first_partition,
    greedy_partition,
    improve,
    other_limits,
    partition_local_search,
)


def make_space(problem: vr.Problem, privacy: vr.Privacy) -> ClassSpace:
    space = ClassSpace(task := prepare_task(problem), k_and_ell(problem, task, privacy))
    space.prepare(Watch())
    return space


def make_grouping(space: ClassSpace, classes: list[tuple[int, ...]]) -> Grouping:
    """Classes given as positions in the task."""
    number_of = {position: number for number, position in enumerate(space.order.tolist())}
    groups = sorted(as_members(number_of[i] for i in members) for members in classes)
    shares = []
    for members in groups:
        sets = np.array([members], dtype=np.int32)
        costs = space.prices_of.costs(sets, Watch())
        assert costs is not None
        shares.append(float(space.shares(sets, costs)[0]))
    return Grouping.of(space.worth, dict(zip(groups, shares, strict=True)))


def named(space: ClassSpace, grouping: Grouping) -> list[tuple[int, ...]]:
    return sorted(tuple(sorted(space.order[list(members)].tolist())) for members in grouping.classes)


def check(space: ClassSpace, grouping: Grouping, privacy: vr.Privacy) -> None:
    """Everybody is somewhere once, classes qualify, and shares are exact."""
    members = [*itertools.chain.from_iterable(grouping.classes), *grouping.left_out]
    assert sorted(members) == list(range(space.num))
    assert list(grouping.classes) == sorted(grouping.classes)
    for group in grouping.classes:
        assert list(group) == sorted(group)
        assert is_spread(group, space.far, privacy)
    again = make_grouping(space, [tuple(space.order[list(group)].tolist()) for group in grouping.classes])
    assert grouping.shares == pytest.approx(again.shares, abs=1e-9)
    assert grouping.total == pytest.approx(again.total)
    assert grouping.num_grouped == space.num - len(grouping.left_out)


def make_star(num_arms: int, length: int, candidates: list[tuple[int, int]]) -> vr.Problem:
    """Arms of unit edges around node 0, where the trip begins and ends; candidates as (arm, distance from there)."""
    tails, heads = [], []
    for arm in range(num_arms):
        for step in range(length):
            node = 1 + arm * length + step
            inner = node - 1 if step else 0
            tails += [inner, node]
            heads += [node, inner]
    domain = vr.Domain.from_edges(1 + num_arms * length, tails, heads, [1] * len(tails))
    return vr.Problem(domain, [vr.Trip(0, 0)], [arm * length + distance for arm, distance in candidates])


def make_building(num: int, visibility: vr.Visibility | None = None, num_trips: int = 1) -> vr.Problem:
    domain = vr.generate_rooms(48, 64, seed=4)
    corner = domain.label(0)
    labels = vr.draw_candidates(domain, corner, corner, num + 2 * num_trips, seed=num)
    trips = [vr.Trip(labels[2 * i], labels[2 * i + 1], 1.0 + i) for i in range(num_trips)]
    return vr.Problem(domain, trips, labels[2 * num_trips :], visibility or vr.AtNode())


A1, A2, A3, B1, B2, B3 = range(6)


def on_arms(*members: int) -> list[tuple[int, int]]:
    return [(i // 3, 4 + i % 3) for i in members]


APART = vr.Privacy(2, 3)
MOVES: dict[str, tuple[vr.Privacy, list[tuple[int, int]], list[tuple[int, ...]], list[tuple[int, ...]]]] = {
    "swap": (vr.Privacy(2), on_arms(A1, A2, B1, B2), [(0, 2), (1, 3)], [(0, 1), (2, 3)]),
    "relocate": (vr.Privacy(2), on_arms(A1, A2, B1, B2, B3), [(0, 1, 2), (3, 4)], [(0, 1), (2, 3, 4)]),
    # Members of the three classes, one of which is dissolved: no two of them can be grouped better.
    "ejection": (
        vr.Privacy(2), on_arms(A1, A2, A3, B1, B2, B3), [(0, 1), (3, 4), (2, 5)], [(0, 1, 2), (3, 4, 5)]
    ),
    "insert": (vr.Privacy(2), on_arms(A1, A2, B1, B2, B3), [(0, 1), (2, 3)], [(0, 1), (2, 3, 4)]),
    "form": (vr.Privacy(2), on_arms(A1, A2, B1, B2), [(0, 1)], [(0, 1), (2, 3)]),
    # Two near each other on either arm: one class of all is two; three near a fourth stay one with those far away.
    "split": (APART, [(0, 2), (0, 4), (1, 2), (1, 4)], [(0, 1, 2, 3)], [(0, 2), (1, 3)]),
    "merge": (APART, on_arms(A1, A2, A3, B1, B2), [(0, 3)], [(0, 4), (1, 2, 3)]),
}  # fmt: skip


@pytest.mark.parametrize(("privacy", "places", "before", "after"), MOVES.values(), ids=list(MOVES))
def test_moves(
    privacy: vr.Privacy, places: list[tuple[int, int]], before: list[tuple[int, ...]], after: list[tuple[int, ...]]
) -> None:
    space = make_space(make_star(2, 6, places), privacy)
    assert space.is_loose == (privacy == APART)
    found = improve(space, make_grouping(space, before), seed=0, effort=0, watch=Watch())
    check(space, found, privacy)
    assert named(space, found) == after


@pytest.mark.parametrize(("num", "k", "effort", "part"), [(300, 2, 100_000, 0.85), (28, 9, 0, 0.98)])
def test_many_members_and_large_classes(num: int, k: int, effort: int, part: float) -> None:
    """Two classes of nine are too many to be grouped again: they exchange members."""
    space = make_space(make_building(num), vr.Privacy(k))
    first = greedy_partition(space, Watch())
    check(space, first, vr.Privacy(k))
    found = improve(space, first, seed=0, effort=effort, watch=Watch())
    check(space, found, vr.Privacy(k))
    assert found.num_grouped == first.num_grouped == num
    assert found.total < part * first.total
    if k == 2:
        assert max(map(len, found.classes)) <= 3
        return
    with other_limits(annealed=2_000):
        annealed = anneal_classes(space, first, Watch())
    check(space, annealed, vr.Privacy(k))
    assert annealed.total < 0.82 * first.total


def partition(problem: vr.Problem, privacy: vr.Privacy, seed: int = 0, watch: Watch | None = None) -> Partition:
    return partition_local_search(
        problem, task := prepare_task(problem), k_and_ell(problem, task, privacy), seed=seed, watch=watch or Watch()
    )


def run_search(space: ClassSpace, first: Grouping, seed: int, work_per_look: int, watch: Watch) -> Grouping:
    running = LocalSearch(space, first, seed=seed, watch=watch, work_per_look=work_per_look)
    running.descend(watch)
    running.go_on(60_000, watch)
    return running.grouping()


def test_as_many_join_the_first_classes_as_have_room() -> None:
    first = greedy_partition(make_space(make_building(13), vr.Privacy(7)), Watch())
    assert [len(members) for members in first.classes] == [12]


def test_equal_seeds_give_equal_partitions_however_often_it_pauses() -> None:
    space = make_space(make_building(60), vr.Privacy(3))
    first = greedy_partition(space, Watch())
    seeds = (-5, 0, 0, 2**40)
    in_one_go = [improve(space, first, seed=seed, effort=60_000, watch=Watch()) for seed in seeds]
    assert in_one_go[1] == in_one_go[2]
    assert [run_search(space, first, seed, 700, Watch()) for seed in seeds] == in_one_go


def test_no_time_at_all_is_a_partition_of_neighbours() -> None:
    problem, privacy = make_building(30), vr.Privacy(2)
    found = partition(problem, privacy, watch=Watch(should_stop=lambda: True))
    space = make_space(problem, privacy)
    assert found.classes == first_partition(space.task, k_and_ell(problem, space.task, privacy)).classes
    assert found.is_stopped
    assert not found.left_out
    seen = make_building(30, vr.WithinDistance(2))
    found = partition(seen, privacy, watch=Watch(should_stop=lambda: True))
    assert found.is_stopped
    assert not found.left_out
    playbook = vr.solve(problem, privacy, planner="pbp", partitioner="local-search", should_stop=lambda: True)
    assert playbook.options["stopped_early"]
    assert vr.audit(playbook).holds


def test_a_search_that_is_stopped_gives_the_best_so_far() -> None:
    space = make_space(make_building(60), vr.Privacy(3))
    first = greedy_partition(space, Watch())
    totals = []
    for num_looks in (0, 3, 30, 300, 3000):
        looks = iter(range(num_looks))
        found = run_search(space, first, 0, 100, Watch(should_stop=partial(is_empty, looks)))
        check(space, found, vr.Privacy(3))
        totals.append(found.total)
    assert totals[0] == first.total
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] < totals[0]


def is_empty(left: Iterator[int]) -> bool:
    return next(left, None) is None


def test_few_members_and_large_k() -> None:
    problem = make_building(30)
    assert partition(problem, vr.Privacy(1)).classes == tuple((i,) for i in range(30))
    assert partition(make_building(3), vr.Privacy(4)).left_out == (0, 1, 2)
    with pytest.raises(vr.VeilrouteError, match="k: expected at most 12 for the partitioner local-search, got 13"):
        partition(problem, vr.Privacy(13))
