"""Branch and bound that reports each improvement and can be stopped."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import veilroute as vr
from veilroute import Incumbent, Progress, Watch
from veilroute.covering import k_and_ell, prepare_task
from veilroute.partition import Partition, partition_df_bb, partition_merge_bb

METHODS: list[Callable[..., Partition]] = [partition_merge_bb, partition_df_bb]


@pytest.fixture(scope="module")
def problem() -> vr.Problem:
    domain = vr.generate_rooms(24, 40, seed=3)
    candidates = vr.draw_candidates(domain, (1, 32), (21, 36), 10, seed=1)
    return vr.Problem(domain, [vr.Trip((1, 32), (21, 36))], candidates)


@pytest.mark.parametrize("method", METHODS)
def test_each_improvement_is_reported_with_its_time(method: Callable[..., Partition], problem: vr.Problem) -> None:
    reports: list[Incumbent] = []

    def listen(progress: Progress) -> None:
        if progress.incumbent is not None and progress.incumbent not in reports:
            reports.append(progress.incumbent)

    privacy = vr.Privacy(2, 1, spread="all-pairs")
    found = method(
        problem,
        task := prepare_task(problem),
        k_and_ell(problem, task, privacy),
        seed=0,
        watch=Watch(listen),
        engine="fields",
    )
    assert tuple(reports) == found.improvements
    assert len(reports) > 2
    for before, after in itertools.pairwise(reports):
        assert after.elapsed_s >= before.elapsed_s
        is_more = after.num_anonymized > before.num_anonymized
        assert is_more or (after.num_anonymized == before.num_anonymized and after.mac < before.mac)
    assert reports[-1].mac == pytest.approx(vr.solve(problem, privacy).mac)


@pytest.mark.parametrize("method", METHODS)
def test_a_search_that_is_stopped_gives_the_best_so_far(method: Callable[..., Partition], problem: vr.Problem) -> None:
    task = prepare_task(problem)
    privacy = vr.Privacy(2, 1, spread="all-pairs")
    whole = method(problem, task, k_and_ell(problem, task, privacy), seed=0, watch=Watch(), engine="fields")
    seen: set[Incumbent] = set()

    def listen(progress: Progress) -> None:
        if progress.incumbent is not None:
            seen.add(progress.incumbent)

    watch = Watch(listen, should_stop=lambda: len(seen) >= 2)
    stopped = method(problem, task, k_and_ell(problem, task, privacy), seed=0, watch=watch, engine="fields")
    assert stopped.is_stopped
    assert not (stopped.is_optimal or stopped.is_completed)
    assert stopped.least_mean is None
    assert len(stopped.improvements) == 2
    assert [i.mac for i in stopped.improvements] == [i.mac for i in whole.improvements[:2]]
    assert sum(map(len, stopped.classes)) == stopped.improvements[-1].num_anonymized


@pytest.mark.parametrize("options", [{"partitioner": "merge-bb"}, {"partitioner": "df-bb"}, {"partitioner": "naive"}])
def test_no_time_at_all_is_a_sound_playbook(options: dict[str, Any], problem: vr.Problem) -> None:
    playbook = vr.solve(problem, vr.Privacy(2), planner="pbp", should_stop=lambda: True, **options)
    assert playbook.status == "feasible"
    assert playbook.apr < 1
    assert playbook.options["stopped_early"]
    assert vr.audit(playbook).holds


@pytest.mark.parametrize("method", METHODS)
def test_a_set_too_large_for_its_engine_costs_the_proof_not_the_answer(
    method: Callable[..., Partition], problem: vr.Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = prepare_task(problem)
    privacy = vr.Privacy(2, 1, spread="all-pairs")
    whole = method(problem, task, k_and_ell(problem, task, privacy), seed=0, watch=Watch(), engine="fields")
    monkeypatch.setattr("veilroute.covering.fields.MAX_MEMBERS", 3)
    limited = method(problem, task, k_and_ell(problem, task, privacy), seed=0, watch=Watch(), engine="fields")
    assert whole.is_completed
    assert not limited.is_completed
    assert limited.is_stopped
    # No class of the optimum needs more than 2k - 1 members.
    assert limited.improvements[-1].mac == pytest.approx(whole.improvements[-1].mac)


def test_no_class_at_all_is_proved_where_there_is_evidence(problem: vr.Problem) -> None:
    for spread in ("witness", "all-pairs"):
        for partitioner in ("merge-bb", "df-bb"):
            privacy = vr.Privacy(3, 60, spread=spread)
            assert vr.solve(problem, privacy).status == "infeasible"
            searched = vr.solve(problem, privacy, planner="pbp", partitioner=partitioner)
            assert (searched.status, searched.claims.num_anonymized) == ("feasible", 0)
            assert searched.search_completed


def test_too_many_candidates_are_refused() -> None:
    domain = vr.grid_domain(["." * 70])
    problem = vr.Problem(domain, [vr.Trip((0, 0), (0, 69))], [(0, i) for i in range(1, 65)])
    with pytest.raises(vr.VeilrouteError, match="at most 62 coverable candidates"):
        vr.solve(problem, vr.Privacy(2), planner="pbp", partitioner="merge-bb")


def test_a_search_that_pauses_goes_on_where_it_was(problem: vr.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    task = prepare_task(problem)
    privacy = vr.Privacy(3, 1, spread="all-pairs")
    in_one_go = [method(problem, task, k_and_ell(problem, task, privacy), seed=0, watch=Watch()) for method in METHODS]
    for module in ("merge_bb", "df_bb"):
        monkeypatch.setattr(f"veilroute.partition.{module}.STEPS_PER_CALL", 3)
    in_pieces = [method(problem, task, k_and_ell(problem, task, privacy), seed=0, watch=Watch()) for method in METHODS]
    for one, other in zip(in_one_go, in_pieces, strict=True):
        assert one.classes == other.classes
        assert [i.mac for i in one.improvements] == [i.mac for i in other.improvements]
