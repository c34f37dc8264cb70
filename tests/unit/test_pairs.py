"""Surveys of all pairs of start and goal: small maps whose figures can be worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import veilroute as vr
from veilroute.plotting import draw_survey


def ring(num: int = 6) -> vr.Domain:
    here, there = list(range(num)), [(i + 1) % num for i in range(num)]
    return vr.Domain.from_edges(num, here + there, there + here, [1] * (2 * num))


@pytest.fixture
def whole() -> vr.PairSurvey:
    return vr.survey_pairs(vr.Problem(ring(), [vr.Trip(0, 0)], [1, 3, 5]), vr.Privacy(k=2), points=None)


def test_a_complete_survey_has_every_pair_once_and_counts_tuples(whole: vr.PairSurvey) -> None:
    assert whole.is_complete
    assert {(pair.start, pair.goal) for pair in whole.pairs} == {(s, g) for s in range(6) for g in range(6)}
    assert len(whole.pairs) == whole.num_wanted == 36
    # Each candidate is an end of 11 pairs, and can be covered on the other 25.
    assert [each.num_coverable for each in whole.candidates] == [25, 25, 25]
    assert whole.num_coverable == 75
    # With two candidates as ends a single one is left: 6 ordered pairs. All others can hide, by Theorem 2.
    assert whole.num_anonymizable == whole.num_anonymized == 69
    assert whole.satisfies is True


def test_each_pair_is_what_a_plan_of_its_own_gives(whole: vr.PairSurvey) -> None:
    for pair in whole.pairs:
        problem = vr.Problem(ring(), [vr.Trip(pair.start, pair.goal)], [1, 3, 5])
        if len(problem.counted) < 2:
            assert (pair.status, pair.num_coverable, pair.num_anonymized, pair.mac) == ("infeasible", 1, 0, None)
            continue
        alone = vr.solve(problem, vr.Privacy(k=2))
        assert (pair.mac, pair.status) == (alone.mac, alone.status)


def test_the_mean_of_points_and_candidates(whole: vr.PairSurvey) -> None:
    # From 0 to 0, all three on one round of 6: alone they cost 2, 6 and 2, so 2 + 0 + 2 over 3; or 1 with 5 for 4,
    # which leaves 3 alone, and nobody may be alone. From 0 to 3, which is a candidate: 1 and 5 share a walk of 5.
    macs = {(pair.start, pair.goal): pair.mac for pair in whole.pairs}
    assert macs[0, 0] == pytest.approx(4 / 3)
    assert macs[0, 3] == pytest.approx((5 - 3) / 3)
    mac, hidden = whole.at_points()[0]
    touching = [pair for pair in whole.pairs if 0 in (pair.start, pair.goal)]
    assert len(touching) == 11
    assert mac == pytest.approx(sum(pair.mac or 0 for pair in touching) / 11)
    assert hidden == 1
    # Weighted by pairs, the candidates' own figures come to the same total as the MACs.
    total = sum((each.mean_extra or 0) * each.num_anonymized for each in whole.candidates)
    assert total == pytest.approx(sum((pair.mac or 0) * pair.num_anonymized for pair in whole.pairs))


def test_one_way_streets_may_keep_definition_3_from_holding() -> None:
    fork = vr.Domain.from_edges(7, [0, 1, 2, 3, 1, 4, 5], [1, 2, 3, 6, 4, 5, 6], [1] * 7)
    problem = vr.Problem(fork, [vr.Trip(0, 6)], [1, 2, 3, 4, 5])
    survey = vr.survey_pairs(problem, vr.Privacy(k=3), points=[0, 6])
    assert survey.satisfies is False
    assert (survey.num_anonymizable, survey.num_anonymized) == (5, 3)


def test_a_planner_that_does_not_say_who_could_be_hidden_leaves_it_open() -> None:
    problem = vr.Problem(ring(), [vr.Trip(0, 0)], [1, 3, 5])
    survey = vr.survey_pairs(problem, vr.Privacy(k=2), points=[0, 2], planner="pbp", partitioner="naive")
    assert survey.satisfies is None
    assert survey.to_dict()["num_anonymizable"] is None


def test_more_points_go_on_with_the_same_and_a_stop_keeps_the_first() -> None:
    building = vr.generate_rooms(14, 18, seed=1)
    problem = vr.Problem(building, [vr.Trip(building.label(0), building.label(0))], vr.draw_candidates(
        building, building.label(0), building.label(0), 4, seed=1))  # fmt: skip
    small, large = (vr.survey_pairs(problem, points=num, seed=7) for num in (3, 5))
    assert large.points[:3] == small.points
    assert large.pairs[: len(small.pairs)] == small.pairs
    done = [0]
    stopped = vr.survey_pairs(
        problem, points=5, seed=7, progress=lambda told: done.append(told.done), should_stop=lambda: done[-1] >= 9
    )
    assert (stopped.pairs, stopped.points, stopped.num_wanted) == (small.pairs, small.points, 25)


def test_a_pair_that_the_clock_stops_does_not_count() -> None:
    """DF-BB would go on for minutes on the first pair; what it has found by then is no figure of a survey."""
    building = vr.generate_rooms(24, 40, seed=3)
    places = vr.draw_candidates(building, (1, 32), (21, 36), 16, seed=1)
    problem = vr.Problem(building, [vr.Trip((1, 32), (21, 36))], places)
    survey = vr.survey_pairs(
        problem, vr.Privacy(k=2), points=4, time_limit_s=0.2, planner="pbp", partitioner="df-bb", heuristic="blind"
    )
    assert len(survey.pairs) < survey.num_wanted == 16
    assert all(pair.status == "optimal" for pair in survey.pairs)
    assert all(each.num_coverable <= len(survey.pairs) for each in survey.candidates)


@pytest.mark.parametrize("points", [0, 7, [], [1, 1], [99]])
def test_points_that_are_none_are_refused(points: int | list[int]) -> None:
    with pytest.raises(vr.InvalidInputError, match="points"):
        vr.survey_pairs(vr.Problem(ring(), [vr.Trip(0, 0)], [1, 3]), points=points)


def test_pictures_show_what_was_measured(whole: vr.PairSurvey, tmp_path: Path) -> None:
    for name in "ab":
        draw_survey(whole, tmp_path / f"{name}.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
