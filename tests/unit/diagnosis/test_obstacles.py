"""Why candidates get no route, on networks small enough to see it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import veilroute as vr
from veilroute.domain import street_domain

ONE_WAY = [(0, 1), (1, 2), (2, 3), (1, 4), (5, 2), (1, 7), (7, 2), (1, 8), (8, 2)]
"""0 -> 1 -> 2 -> 3 with a trap at 4, a source at 5, nothing at 6, and two ways from 1 to 2: by 7 or by 8."""


@pytest.fixture
def one_way() -> vr.Domain:
    tails, heads = zip(*ONE_WAY, strict=True)
    return vr.Domain.from_edges(9, tails, heads, [1] * len(ONE_WAY))


@pytest.fixture
def one_way_town() -> vr.Domain:
    """The same as streets, each called after its ends."""
    tails, heads = zip(*ONE_WAY, strict=True)
    return street_domain(
        lonlat=[(24.9 + 0.001 * i, 60.1) for i in range(9)],
        tails=tails,
        heads=heads,
        costs=[1.0] * len(ONE_WAY),
        lengths=[60.0] * len(ONE_WAY),
        unit="seconds",
        names=[f"{a}-{b} street" for a, b in ONE_WAY],
        name_ids=range(len(ONE_WAY)),
    )


def reasons(domain: vr.Domain, candidates: list[int], **privacy: object) -> dict[object, vr.Obstacle]:
    problem = vr.Problem(domain, [vr.Trip(0, 3)], candidates)
    playbook = vr.solve(problem, vr.Privacy(**privacy))  # type: ignore[arg-type]
    return {obstacle.candidate: obstacle for obstacle in vr.find_obstacles(playbook)}


def test_one_way_edges_are_told_from_parts_that_are_not_connected(one_way: vr.Domain) -> None:
    found = reasons(one_way, [4, 5, 6, 1, 7], ell=0)
    assert {label: obstacle.kind for label, obstacle in found.items()} == dict.fromkeys((4, 5, 6), "uncoverable")
    assert found[4].reason == "no way leads from it to the goal: one-way edges lead only towards that part of the map"
    assert "no way leads from the start to it: one-way edges lead only away" in found[5].reason
    assert "not connected" in found[6].reason


def test_the_streets_in_the_way_are_named(one_way_town: vr.Domain) -> None:
    found = reasons(one_way_town, [4, 5, 1, 7], ell=0)
    assert found[4].streets == ("1-4 street",)
    assert found[5].streets == ("5-2 street",)
    assert "one-way streets (1-4 street) lead only towards" in found[4].reason


def test_at_most_three_streets_are_named() -> None:
    """0 -> 1 -> 2 -> 5 -> 6 -> 7 -> 3, and from each of the five between a street into the trap at 4."""
    pairs = [(0, 1), (1, 2), (2, 5), (5, 6), (6, 7), (7, 3), (1, 4), (2, 4), (5, 4), (6, 4), (7, 4)]
    town = street_domain(
        lonlat=[(24.9 + 0.001 * i, 60.1) for i in range(8)],
        tails=[tail for tail, _ in pairs],
        heads=[head for _, head in pairs],
        costs=[1.0] * len(pairs),
        lengths=[60.0] * len(pairs),
        unit="seconds",
        names=["", "A", "B", "C", "D"],
        name_ids=[0] * 7 + [1, 2, 3, 4],
    )
    assert reasons(town, [4, 1, 2], ell=0)[4].streets == ("A", "B", "C")


def test_candidates_that_no_walk_passes_together_are_named(one_way: vr.Domain) -> None:
    found = reasons(one_way, [7, 8], ell=0)
    assert found[7].kind == found[8].kind == "unprotected"
    assert found[7].parted_from == (8,)
    assert "needs 1 other candidate on one walk with it, and there are none: no walk passes both it and 8" in str(
        found[7].reason
    )


def test_how_many_others_a_class_needs(one_way: vr.Domain) -> None:
    assert reasons(one_way, [1, 7, 8], ell=0, k=3)[7].reason == (
        "a class needs 2 other candidates on one walk with it, and there is 1: no walk passes both it and 8"
    )


def test_candidates_too_close_together(one_way: vr.Domain) -> None:
    found = reasons(one_way, [1, 7], ell=5)
    assert "too few stand 5 apart for k=2" in found[1].reason
    everyone = reasons(one_way, [1, 7], ell=5, spread="all-pairs")
    assert "too few stand 5 apart for k=2" in everyone[7].reason


def test_far_apart_but_never_on_one_walk(one_way: vr.Domain) -> None:
    assert "no walk covers it together" in reasons(one_way, [1, 7, 8], ell=5)[1].reason


def test_a_partition_may_have_no_room_for_all(one_way: vr.Domain) -> None:
    found = reasons(one_way, [1, 7, 8], ell=0)
    assert list(found) in ([7], [8])
    assert "a class for it would take members from others" in next(iter(found.values())).reason


def test_with_all_pairs_the_candidate_itself_is_one_of_k(one_way: vr.Domain) -> None:
    (found,) = reasons(one_way, [1, 7, 8], ell=1, spread="all-pairs").values()
    assert "a class for it would take members from others" in found.reason


def test_without_proof_nothing_is_said_to_be_impossible(one_way: vr.Domain) -> None:
    playbook = vr.solve(vr.Problem(one_way, [vr.Trip(0, 3)], [1, 7, 8]), vr.Privacy(ell=0))
    (found,) = vr.find_obstacles(replace(playbook, status="feasible"))
    assert found.reason == "no class for it was found, which is no proof that there is none"


def test_a_start_that_cannot_reach_the_goal(one_way: vr.Domain) -> None:
    problem = vr.Problem(one_way, [vr.Trip(3, 0)], [1, 7])
    found = vr.find_obstacles(vr.solve(problem, vr.Privacy(ell=0)))
    assert [obstacle.reason for obstacle in found] == ["no way leads from the start to the goal"] * 2


def test_trips_are_named_where_there_are_several(one_way: vr.Domain) -> None:
    problem = vr.Problem(one_way, [vr.Trip(0, 3), vr.Trip(2, 3)], [1, 7])
    found = vr.find_obstacles(vr.solve(problem, vr.Privacy(ell=0)))
    assert all("from the start of trip 1 to it" in obstacle.reason for obstacle in found)


def test_nobody_sees_it_and_seers_that_do_not_serve(one_way: vr.Domain) -> None:
    sees = {4: [7], 5: [7], 1: [8], 2: [8]}
    problem = vr.Problem(one_way, [vr.Trip(0, 3)], [6, 7, 8], vr.Explicit(sees))
    found = {o.candidate: o.reason for o in vr.find_obstacles(vr.solve(problem, vr.Privacy(k=1, ell=0)))}
    assert found == {
        6: "no node sees it",
        7: "some places that see it can be reached and others lead on, but none does both",
    }


def test_nothing_to_explain_and_a_limit(one_way: vr.Domain) -> None:
    assert reasons(one_way, [1, 7], ell=0) == {}
    problem = vr.Problem(one_way, [vr.Trip(0, 3)], [4, 5, 6])
    playbook = vr.solve(problem, vr.Privacy(ell=0))
    assert len(vr.find_obstacles(playbook, limit=2)) == 2


def test_at_finite_m_sharing_a_whole_walk_is_not_asked(one_way: vr.Domain) -> None:
    found = reasons(one_way, [7, 8], ell=0, m=2)
    assert found == {}
    close = reasons(one_way, [1, 7], ell=5, m=2)
    assert "too few stand 5 apart" in close[7].reason


def test_plain_data() -> None:
    obstacle = vr.Obstacle(3, "unprotected", "why", (4,), ("Street",))
    assert obstacle.to_dict() == {
        "candidate": 3, "kind": "unprotected", "reason": "why", "parted_from": [4], "streets": ["Street"],
    }  # fmt: skip
