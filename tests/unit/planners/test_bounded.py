"""Routes of the planners for finite m, by hand."""

from __future__ import annotations

import itertools

import pytest

import veilroute as vr
from veilroute import OutOfTimeError, Watch
from veilroute.covering import CoverMemo, Node, as_members, prepare_task
from veilroute.planners import Cluster, Leads


@pytest.fixture
def corridor() -> vr.Problem:
    """Eleven cells; from the middle to the middle, past one of the ends' neighbours."""
    domain = vr.grid_domain(["..........."])
    return vr.Problem(domain, [vr.Trip((0, 5), (0, 5))], [(0, 3), (0, 8)])


@pytest.mark.parametrize("m", [1, 2, 5, 6, 7, 8, 20, 51])
def test_cbp_leads_to_the_centroid_with_padding_in_front(m: int, corridor: vr.Problem) -> None:
    task = prepare_task(corridor)
    walk = Leads(task, 3, Watch()).find(Cluster(as_members((0, 1)), Node(9)), m, 0).tolist()
    assert walk[0] == 5
    assert all(abs(a - b) == 1 for a, b in itertools.pairwise(walk))
    if m <= 5:
        assert walk == list(range(5, 5 + m))
    else:  # on a line, padding changes the length by two nodes at a time
        assert walk[-1] == 9
        assert m <= len(walk) <= m + 1


@pytest.mark.parametrize("engine", ["astar", "fields"])
def test_memo_solves_no_set_twice_and_says_when_the_time_was_over(engine: str, corridor: vr.Problem) -> None:
    memo, watch = CoverMemo(prepare_task(corridor), engine=engine), Watch()
    with pytest.raises(OutOfTimeError):
        memo.costs(as_members((0, 1)), Watch(should_stop=lambda: True))
    for _ in range(3):
        assert memo.costs([1, 0], watch) == pytest.approx([10])
        assert memo.costs([0], watch) == pytest.approx([4])
    assert watch.counts["searches"] == 2
    assert memo.find((1, 0)).cost == 10


@pytest.mark.parametrize("planner", ["rbp", "cbp"])
def test_planners_that_draw_heed_the_clock_and_have_a_limit(planner: str, corridor: vr.Problem) -> None:
    playbook = vr.solve(corridor, vr.Privacy(k=2, m=10**6), planner=planner, should_stop=lambda: True)
    assert playbook.claims.num_anonymized == 0
    assert playbook.options["stopped_early"]
    assert playbook.status == "feasible"
    assert not vr.solve(corridor, vr.Privacy(k=2, m=10), planner=planner).options["stopped_early"]
    with pytest.raises(
        vr.InvalidInputError, match=f"Privacy.m: expected at most 1000000 nodes for the planner {planner}"
    ):
        vr.solve(corridor, vr.Privacy(k=2, m=10**6 + 1), planner=planner)


def test_rbp_draws_for_each_trip(corridor: vr.Problem) -> None:
    problem = vr.Problem(corridor.domain, [vr.Trip((0, 5), (0, 5))] * 2, corridor.candidates)
    playbook = vr.solve(problem, vr.Privacy(k=2, m=60), planner="rbp")
    first, second = playbook.classes[0].routes
    assert first[:60] != second[:60]
