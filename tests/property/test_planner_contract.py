"""What every registered planner and partitioner must keep, on problems of every kind."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import veilroute as vr
from reference import World, adjacency, distances, qualifies, watchers
from strategies import privacies, problems
from veilroute.partition import OPTIONS, PARTITIONERS
from veilroute.planners import PLANNERS

UNDERNEATH: list[dict[str, str]] = [{"heuristic": "blind"}, {"heuristic": "tunnel"}, {"engine": "fields"}]
PARTITIONING: list[dict[str, str]] = [
    {"partitioner": "exact"},
    {"partitioner": "local-search"},
    *({"partitioner": "naive", **below} for below in UNDERNEATH),
    *({"partitioner": "df-bb", **below} for below in UNDERNEATH),
    {"partitioner": "df-bb", "branch_order": "join-first"},
    *(
        {"partitioner": "merge-bb", "merge_order": order, **below}
        for order in ("cost-asc", "random")
        for below in UNDERNEATH
    ),
    {"partitioner": "naive", "shuffle": "libstdc++"},
    {"partitioner": "merge-bb", "tie_break": "last-made", "sighting": "leaving"},
]
METHODS: list[tuple[str, dict[str, str]]] = [
    ("optimal", {}),
    *(("pbp", options) for options in PARTITIONING),
    *(("m-pbp", options) for options in PARTITIONING[::3]),
    ("cbp", {}),
    ("m-pbp", PARTITIONING[-1]),
    ("cbp", {"centre": "sum", "cluster_order": "listed"}),
    ("cbp", {"centre_heuristic": "to-goal"}),
    ("rbp", {}),
    ("constructive", {}),
    ("reuse", {}),
    ("fleet", {}),
]
BOUNDED_ONLY = ("cbp", "rbp")
PROVING = ("exact",)
COMPLETING = ("merge-bb", "df-bb")  # they look at everything, and have nothing to prove it by


def name_of(method: object) -> str:
    return "-".join(method.values()) if isinstance(method, dict) else str(method)


def test_every_planner_and_partitioner_is_under_contract() -> None:
    assert {name for name, _ in METHODS} == set(PLANNERS)
    assert {options["partitioner"] for name, options in METHODS if name == "pbp"} == set(PARTITIONERS)
    assert {option for one in PARTITIONERS.values() for option in one.options} == set(OPTIONS)
    assert {option for _, options in METHODS for option in options} == {
        "partitioner", "centre", "cluster_order", "centre_heuristic", *OPTIONS
    }  # fmt: skip


@pytest.mark.parametrize(("planner", "options"), METHODS, ids=name_of)
@settings(max_examples=40)
@given(problem=problems(max_nodes=9, max_candidates=6), privacy=privacies(), m=st.sampled_from([None, 1, 3, 6, 50]))
def test_contract(
    planner: str, options: dict[str, Any], problem: vr.Problem, privacy: vr.Privacy, m: int | None
) -> None:
    assume(m is not None or planner not in BOUNDED_ONLY)
    privacy = vr.Privacy(privacy.k, privacy.ell, m, privacy.spread)
    if planner == "reuse":
        options = {"partition": plan_way_back(problem, privacy)}
    playbook = vr.solve(problem, privacy, planner=planner, seed=3, **options)
    check_routes(problem, playbook)
    check_classes(problem, playbook)
    check_status(playbook, planner, options)
    report = vr.audit(playbook)
    assert report.holds, report.to_text()
    again = vr.solve(problem, privacy, planner=planner, seed=3, **options)
    assert again.to_json() == playbook.to_json()


def plan_way_back(problem: vr.Problem, privacy: vr.Privacy) -> vr.Playbook:
    """What an earlier trip has left to reuse: the problem's trips the other way round."""
    trips = [vr.Trip(trip.goal, trip.start) for trip in problem.trips]
    return vr.solve(vr.Problem(problem.domain, trips, problem.candidates, problem.visibility), privacy)


def check_routes(problem: vr.Problem, playbook: vr.Playbook) -> None:
    """Every member's route is a walk of the trip that covers it; the members of a class share their first m nodes."""
    edges = {(a, b): c for a, b, c in zip(*(x.tolist() for x in problem.domain.edge_arrays()), strict=True)}
    m = playbook.privacy.m
    for group in playbook.classes:
        assert len(group.routes) == len(problem.trips)
        for number, trip in enumerate(problem.trips):
            for member in group.members:
                route = group.route_of(member, number)
                assert (route[0], route[-1]) == (trip.start, trip.goal)
                assert all(step in edges for step in itertools.pairwise(route))
                assert route.cost == pytest.approx(sum(edges[step] for step in itertools.pairwise(route)))
                assert watchers(problem, problem.domain.node(member)) & set(route)
                if m is None:
                    assert route is group.routes[number]
                if group.anonymized:
                    assert route[:m] == group.routes[number][:m]


def check_classes(problem: vr.Problem, playbook: vr.Playbook) -> None:
    """Classes are disjoint, hold everybody who can be covered, and qualify where they say so."""
    members = [member for group in playbook.classes for member in group.members]
    nodes = [problem.domain.node(label) for label in members]
    world = World(problem)
    assert sorted(nodes) == sorted(problem.candidate_nodes[problem.counted[i]] for i in world.coverable)
    graph = adjacency(problem.domain)
    apart = {a: distances(graph, a) for a in nodes}
    for group in playbook.classes:
        inside = [problem.domain.node(label) for label in group.members]
        table = [[apart[a][b] for b in inside] for a in inside]
        if group.anonymized:
            assert qualifies(range(len(inside)), playbook.privacy, table)


def check_status(playbook: vr.Playbook, planner: str, options: dict[str, Any]) -> None:
    """Where a method claims optimality, it is the exact partitioner's equal; where it should claim it, it does."""
    privacy = playbook.privacy
    assert playbook.status in ("optimal", "feasible", "infeasible")
    assert (playbook.mac is None) == (playbook.claims.num_anonymized == 0)
    is_claimed = playbook.status != "feasible"
    partitioner = options.get("partitioner", "exact" if planner == "optimal" else "none")
    if is_claimed:
        exact = vr.solve(playbook.problem, privacy)
        assert privacy.m is None or planner == "optimal" or privacy.k > len(playbook.problem.counted)
        assert playbook.claims.num_anonymized == exact.claims.num_anonymized
        assert playbook.mac == (None if exact.mac is None else pytest.approx(exact.mac, abs=1e-9))
    if planner == "optimal" or (privacy.m is None and partitioner == "exact"):
        assert is_claimed
    if privacy.k > len(playbook.problem.counted):
        assert playbook.status == "infeasible"
    elif partitioner not in PROVING and playbook.claims.num_coverable:
        assert not is_claimed
    if partitioner in COMPLETING and not is_claimed and privacy.m is None:
        assert playbook.search_completed
        if privacy.spread == "all-pairs":
            exact = vr.solve(playbook.problem, privacy)
            assert playbook.claims.num_anonymized == exact.claims.num_anonymized
            assert playbook.mac == (None if exact.mac is None else pytest.approx(exact.mac, abs=1e-9))


@pytest.mark.parametrize("planner", BOUNDED_ONLY)
def test_planners_that_draw_their_beginning_need_a_finite_m(planner: str, line5: vr.Domain) -> None:
    problem = vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3])
    with pytest.raises(vr.InvalidInputError, match="Privacy.m: expected a whole number"):
        vr.solve(problem, vr.Privacy(k=2), planner=planner)


def test_options_of_another_method_are_refused(line5: vr.Domain) -> None:
    problem = vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3])
    refused: list[tuple[dict[str, Any], str]] = [
        ({"partitioner": "exact", "heuristic": "tunnel"}, "exact takes no options"),
        ({"partitioner": "df-bb", "merge_order": "random"}, "df-bb takes branch_order, engine, heuristic"),
        (
            {"partitioner": "merge-bb", "merge_order": "upwards"},
            "merge order: expected one of cost-asc, random, got 'upwards'",
        ),
        ({"partitioner": "df-bb", "branch_order": "last"}, "branch_order: expected one of new-first, join-first"),
        ({"partitioner": "naive", "engine": "fields", "heuristic": "blind"}, "none but with the engine astar"),
        ({"partitioner": "naive", "engine": "auto"}, "engine: expected one of astar, fields, got 'auto'"),
        ({"partitioner": "best"}, "partitioner: expected one of exact, local-search, merge-bb, df-bb, naive, got"),
    ]
    for options, message in refused:
        with pytest.raises(vr.InvalidInputError, match=message):
            vr.solve(problem, vr.Privacy(k=2), planner="pbp", **options)
    with pytest.raises(vr.InvalidInputError, match="centre: expected one of furthest, sum, got 'mean'"):
        vr.solve(problem, vr.Privacy(k=2, m=3), planner="cbp", centre="mean")
    with pytest.raises(vr.InvalidInputError, match="rbp takes no options"):
        vr.solve(problem, vr.Privacy(k=2, m=3), planner="rbp", partitioner="exact")


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
    for planner in ("m-pbp", "cbp", "rbp"):
        for m in (1, 9, 60):
            report = vr.audit(vr.solve(problem, vr.Privacy(k=3, ell=6, m=m, spread=spread), planner=planner))
            assert report.holds, report.to_text()
