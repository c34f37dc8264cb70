from __future__ import annotations

import pytest

import veilroute as vr


def solve(num: int, k: int, seed: int = 0, **privacy: object) -> vr.Playbook:
    domain = vr.grid_domain(["." * (num + 2)])
    cells = [(0, i + 1) for i in range(num)]
    problem = vr.Problem(domain, [vr.Trip((0, 0), (0, num + 1))], cells)
    return vr.solve(problem, vr.Privacy(k=k, **privacy), planner="pbp", partitioner="naive", seed=seed)  # type: ignore[arg-type]


@pytest.mark.parametrize(("num", "k", "sizes"), [(8, 2, [2, 2, 2, 2]), (9, 2, [2, 2, 2, 3]), (11, 3, [3, 3, 5])])
def test_groups_have_k_members_and_the_rest_joins_the_last(num: int, k: int, sizes: list[int]) -> None:
    playbook = solve(num, k)
    assert sorted(len(group.members) for group in playbook.classes) == sizes
    assert playbook.apr == 1
    assert playbook.status == "feasible"


def test_groups_are_drawn_not_cut_from_the_list() -> None:
    groups = {tuple(group.members for group in solve(8, 2, seed).classes) for seed in range(10)}
    assert len(groups) > 5


def test_a_group_that_stands_too_close_is_left_out() -> None:
    playbook = solve(6, 2, ell=3)
    for group in playbook.classes:
        (first, last) = group.members if len(group.members) == 2 else (group.members[0],) * 2
        assert group.anonymized == (abs(first[1] - last[1]) >= 3)  # type: ignore[index]
    assert 0 < playbook.apr < 1


def test_a_group_too_large_for_its_heuristic_is_refused() -> None:
    with pytest.raises(vr.VeilrouteError, match="at most 31 for this heuristic"):
        solve(40, 33)


def test_more_candidates_than_bits_in_an_integer() -> None:
    playbook = solve(150, 2)
    assert playbook.apr == 1
    assert len(playbook.classes) == 75
