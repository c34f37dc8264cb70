from __future__ import annotations

import pytest

import veilroute as vr
from veilroute.partition import shuffle_as_gnu


def solve(num: int, k: int, seed: int = 0, **privacy: object) -> vr.Playbook:
    domain = vr.grid_domain(["." * (num + 2)])
    cells = [(0, i + 1) for i in range(num)]
    problem = vr.Problem(domain, [vr.Trip((0, 0), (0, num + 1))], cells)
    return vr.solve(problem, vr.Privacy(k=k, **privacy), planner="pbp", partitioner="naive", seed=seed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("num", "k", "sizes"), [(8, 2, [2] * 4), (9, 2, [2, 2, 2, 3]), (11, 3, [3, 3, 5]), (150, 2, [2] * 75)]
)
def test_groups_have_k_members_and_the_rest_joins_the_last(num: int, k: int, sizes: list[int]) -> None:
    """Also of more candidates than an integer has bits; they are drawn and not cut from the list."""
    playbook = solve(num, k)
    assert sorted(len(group.members) for group in playbook.classes) == sizes
    assert (playbook.apr, playbook.status) == (1, "feasible")
    assert len({tuple(group.members for group in solve(min(num, 11), k, seed).classes) for seed in range(10)}) > 5


def test_a_group_too_large_for_its_heuristic_is_refused() -> None:
    with pytest.raises(vr.VeilrouteError, match="at most 31 for this heuristic"):
        solve(40, 33)


SHUFFLED = {
    1: [0],
    2: [1, 0],
    3: [2, 0, 1],
    7: [4, 0, 6, 1, 5, 2, 3],
    8: [1, 6, 3, 4, 5, 0, 7, 2],
    16: [1, 11, 10, 9, 5, 0, 7, 14, 4, 13, 15, 6, 12, 8, 2, 3],
    17: [8, 0, 11, 16, 12, 2, 3, 6, 15, 14, 4, 7, 5, 13, 1, 10, 9],
}
"""What std::shuffle of libstdc++ (GCC 12) makes of 0, 1, 2, ... with std::default_random_engine(42)."""


@pytest.mark.parametrize("num", SHUFFLED)
def test_the_shuffle_is_that_of_gnus_library(num: int) -> None:
    items = list(range(num))
    shuffle_as_gnu(items, 42)
    assert items == SHUFFLED[num]


@pytest.mark.parametrize(("seed", "expected"), [(42, 381323535), (0, 362213829), (7, 76065867)])
def test_a_long_shuffle_is_that_of_gnus_library(seed: int, expected: int) -> None:
    """A thousand items, and with seed 0 the generator begins with 1; compared by a hash of the order."""
    items = list(range(1000))
    shuffle_as_gnu(items, seed)
    found = 0
    for item in items:
        found = (31 * found + item) % 1_000_000_007
    assert found == expected


def test_groups_follow_the_shuffle_that_is_asked_for() -> None:
    domain = vr.grid_domain(["." * 10])
    problem = vr.Problem(domain, [vr.Trip((0, 0), (0, 9))], [(0, i + 1) for i in range(8)])
    options = {"planner": "pbp", "partitioner": "naive", "seed": 42}
    drawn = vr.solve(problem, vr.Privacy(k=2), shuffle="libstdc++", **options)  # type: ignore[arg-type]
    order = SHUFFLED[8]
    pairs = sorted(tuple((0, i + 1) for i in sorted(order[at : at + 2])) for at in (0, 2, 4, 6))
    assert sorted(group.members for group in drawn.classes) == pairs
    with pytest.raises(vr.VeilrouteError, match="shuffle: expected one of python, libstdc"):
        vr.solve(problem, vr.Privacy(k=2), shuffle="cards", **options)  # type: ignore[arg-type]
