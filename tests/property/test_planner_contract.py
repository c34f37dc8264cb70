"""What every registered planner and partitioner must keep, on problems of every kind."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import veilroute as vr
from strategies import privacies, problems
from veilroute.partition.registry import PARTITIONERS
from veilroute.planners.registry import PLANNERS

METHODS = [("optimal", {}), *(("pbp", {"partitioner": name}) for name in PARTITIONERS)]


def test_every_planner_is_under_contract() -> None:
    assert {name for name, _ in METHODS} == set(PLANNERS)


@pytest.mark.parametrize(("planner", "options"), METHODS)
@given(problem=problems(max_nodes=9, max_candidates=6), privacy=privacies(), m=st.sampled_from([None, 1, 3, 50]))
def test_contract(
    planner: str, options: dict[str, Any], problem: vr.Problem, privacy: vr.Privacy, m: int | None
) -> None:
    assume(privacy.k <= len(problem.counted))
    privacy = vr.Privacy(privacy.k, privacy.ell, m, privacy.spread)
    playbook = vr.solve(problem, privacy, planner=planner, seed=3, **options)
    edges = {(a, b) for a, b, _ in zip(*(x.tolist() for x in problem.domain.edge_arrays()), strict=True)}
    for group in playbook.classes:
        assert len(group.routes) == len(problem.trips)
        for trip, route in zip(problem.trips, group.routes, strict=True):
            assert (route[0], route[-1]) == (trip.start, trip.goal)
            assert all(step in edges for step in itertools.pairwise(route))
        if group.anonymized:
            assert len(group.members) >= privacy.k
    assert playbook.status in ("optimal", "feasible", "infeasible")
    assert (playbook.mac is None) == (playbook.claims.num_anonymized == 0)
    if m is None:
        assert (playbook.mac is None) == (playbook.status == "infeasible")
    report = vr.audit(playbook)
    assert report.holds, report.to_text()
    again = vr.solve(problem, privacy, planner=planner, seed=3, **options)
    assert again.to_json() == playbook.to_json()


@pytest.mark.parametrize(
    "visibility", [vr.AtNode(), vr.WithinDistance(2), vr.LineOfSight(5)], ids=["at", "within", "sight"]
)
@pytest.mark.parametrize("movement", [4, 8])
@pytest.mark.parametrize("spread", ["witness", "all-pairs"])
def test_buildings_of_every_kind_pass_the_audit(visibility: vr.Visibility, movement: int, spread: str) -> None:
    domain = vr.generate_rooms(20, 26, seed=movement, movement=movement)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, start, goal, 9, seed=1)
    problem = vr.Problem(domain, [vr.Trip(start, goal), vr.Trip(goal, start, 0.5)], candidates, visibility)
    for k, ell in ((2, 1), (3, 6)):
        playbook = vr.solve(problem, vr.Privacy(k=k, ell=ell, spread=spread))
        report = vr.audit(playbook)
        assert report.holds, report.to_text()
        assert playbook.status == "optimal"


def test_asking_for_more_privacy_never_costs_less() -> None:
    domain = vr.generate_streets(9, 9, seed=2)
    start = domain.label(0)
    candidates = vr.draw_candidates(domain, start, start, 10, seed=5)
    problem = vr.Problem(domain, [vr.Trip(start, start)], candidates)
    macs = [vr.solve(problem, vr.Privacy(k=k)).mac for k in (1, 2, 3, 5, 10)]
    assert all(mac is not None for mac in macs)
    assert macs == sorted(macs, key=float)  # type: ignore[arg-type]
    assert macs[0] == 0
    strict = vr.solve(problem, vr.Privacy(k=3, ell=300, spread="all-pairs"))
    loose = vr.solve(problem, vr.Privacy(k=3, ell=300, spread="witness"))
    assert loose.claims.num_anonymized >= strict.claims.num_anonymized
