"""Searches that report each improvement and can be stopped."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import veilroute as vr
from veilroute import Incumbent, Progress, Watch
from veilroute.covering import k_and_ell, prepare_task
from veilroute.partition import Partition, partition_df_bb, partition_local_search, partition_merge_bb

Method = Callable[..., Partition]
COMPLETING: list[Method] = [partition_merge_bb, partition_df_bb]
ALL_PAIRS = vr.Privacy(2, 1, spread="all-pairs")


@pytest.fixture(scope="module")
def problem() -> vr.Problem:
    domain = vr.generate_rooms(24, 40, seed=3)
    candidates = vr.draw_candidates(domain, (1, 32), (21, 36), 10, seed=1)
    return vr.Problem(domain, [vr.Trip((1, 32), (21, 36))], candidates)


def run(
    method: Method, problem: vr.Problem, seen: list[Incumbent], should_stop: Callable[[], bool] | None = None
) -> Partition:
    """Run a method and note each improvement that it reports."""

    def listen(progress: Progress) -> None:
        if progress.incumbent is not None and progress.incumbent not in seen:
            seen.append(progress.incumbent)

    task = prepare_task(problem)
    rule = k_and_ell(problem, task, ALL_PAIRS)
    options = {"engine": "fields"} if method in COMPLETING else {}
    return method(problem, task, rule, seed=0, watch=Watch(listen, should_stop=should_stop), **options)


@pytest.mark.parametrize("method", [*COMPLETING, partition_local_search])
def test_each_improvement_is_reported_and_a_stop_keeps_the_best_so_far(method: Method, problem: vr.Problem) -> None:
    reports: list[Incumbent] = []
    whole = run(method, problem, reports)
    assert tuple(reports) == whole.improvements
    for before, after in itertools.pairwise(reports):
        assert after.elapsed_s >= before.elapsed_s
        assert (-after.num_anonymized, after.mac) < (-before.num_anonymized, before.mac)
    assert reports[-1].mac == pytest.approx(vr.solve(problem, ALL_PAIRS).mac)
    if method not in COMPLETING:
        return
    assert len(reports) > 2
    assert whole.is_completed
    for num in range(1, len(reports)):
        seen: list[Incumbent] = []
        stopped = run(method, problem, seen, lambda seen=seen, num=num: len(seen) >= num)  # type: ignore[misc]
        assert stopped.is_stopped
        assert not (stopped.is_optimal or stopped.is_completed)
        assert stopped.least_mean is None
        assert [i.mac for i in stopped.improvements] == [i.mac for i in whole.improvements[:num]]
        assert sum(map(len, stopped.classes)) == stopped.improvements[-1].num_anonymized


@pytest.mark.parametrize("options", [{"partitioner": "merge-bb"}, {"partitioner": "df-bb"}, {"partitioner": "naive"}])
def test_no_time_at_all_is_a_sound_playbook(options: dict[str, Any], problem: vr.Problem) -> None:
    playbook = vr.solve(problem, vr.Privacy(2), planner="pbp", should_stop=lambda: True, **options)
    assert playbook.status == "feasible"
    assert playbook.apr < 1
    assert playbook.options["stopped_early"]
    assert vr.audit(playbook).holds


def test_a_set_too_large_for_its_engine_costs_the_proof_not_the_answer() -> None:
    """Twenty-two on a line, all in one set at first, which is more than the heuristic takes."""
    problem = vr.Problem(vr.grid_domain(["." * 24]), [vr.Trip((0, 0), (0, 23))], [(0, c) for c in range(1, 23)])
    options: dict[str, Any] = {"partitioner": "df-bb", "branch_order": "join-first", "heuristic": "tour"}
    playbook = vr.solve(problem, vr.Privacy(k=2), planner="pbp", **options)
    assert (playbook.apr, playbook.mac) == (1, 0)
    assert playbook.options["stopped_early"] and not playbook.search_completed


def test_too_many_candidates_are_refused() -> None:
    domain = vr.grid_domain(["." * 70])
    problem = vr.Problem(domain, [vr.Trip((0, 0), (0, 69))], [(0, i) for i in range(1, 65)])
    with pytest.raises(vr.VeilrouteError, match="at most 62"):
        vr.solve(problem, vr.Privacy(2), planner="pbp", partitioner="merge-bb")
