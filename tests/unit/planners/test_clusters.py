from __future__ import annotations

import pytest

import veilroute as vr
from veilroute import Watch
from veilroute.covering import Node, as_members, prepare_task
from veilroute.planners import Cluster, Leads, cluster_members


def corridor(length: int) -> vr.Domain:
    return vr.grid_domain(["." * length])


def clusters_of(
    problem: vr.Problem, k: int, seed: int = 0, *, cluster_order: str = "shuffled"
) -> list[tuple[list[object], object]]:
    task = prepare_task(problem)
    found = cluster_members(task, k, seed=seed, watch=Watch(), cluster_order=cluster_order)
    return [
        ([problem.candidates[task.members[i]] for i in one.members], problem.domain.label(one.centroid))
        for one in found
    ]


@pytest.mark.parametrize(
    ("cells", "radius", "centroid"),
    [
        ([1, 2, 9], 0, 5),  # from cell 5 the furthest is 4 away; from cell 4 or 6 it is 5 away
        ([1, 9], 3, 5),  # cell 1 is seen up to cell 4 and cell 9 from cell 6 on: cell 5 is one step from both
        ([1, 8], 3, 4),  # from 4 one sees 1, and from 5 one sees 8: each is a step from the other, and 4 is the lower
    ],
)
def test_centroid_is_where_the_furthest_member_is_nearest_to_be_seen(
    cells: list[int], radius: float, centroid: int
) -> None:
    members = [(0, cell) for cell in cells]
    problem = vr.Problem(corridor(12), [vr.Trip((0, 0), (0, 11))], members, vr.WithinDistance(radius))
    assert clusters_of(problem, len(cells)) == [(members, (0, centroid))]


def test_two_heaps_become_two_clusters() -> None:
    """Unless both middles were dealt to the same place: then one cluster takes all."""
    heaps = [[(0, 1), (0, 2), (0, 3)], [(0, 36), (0, 37), (0, 38)]]
    problem = vr.Problem(corridor(40), [vr.Trip((0, 0), (0, 39))], [*heaps[0], *heaps[1]])
    found = [clusters_of(problem, 3, seed) for seed in range(10)]
    apart = [(heaps[0], (0, 2)), (heaps[1], (0, 37))]
    together = [([*heaps[0], *heaps[1]], (0, 19))]
    assert all(one in (apart, together) for one in found)
    assert sum(one == apart for one in found) >= 5


@pytest.mark.parametrize(("middle", "home"), [(28, 0), (30, 1)])
def test_a_small_cluster_joins_the_nearest_one_and_no_other(middle: int, home: int) -> None:
    """Three heaps of which the middle one is a single cell, nearer to the left one or to the right one."""
    heaps = [[(0, 1), (0, 2), (0, 3)], [(0, 55), (0, 56), (0, 57)]]
    problem = vr.Problem(corridor(60), [vr.Trip((0, 0), (0, 59))], [*heaps[0], (0, middle), *heaps[1]])
    heaps[home] = sorted([*heaps[home], (0, middle)])
    assert [members for members, _ in clusters_of(problem, 2, cluster_order="listed")] == heaps


def test_fewer_members_than_k_are_no_cluster() -> None:
    problem = vr.Problem(corridor(5), [vr.Trip((0, 0), (0, 4))], [(0, 1), (0, 2)])
    assert clusters_of(problem, 3) == []


def test_the_way_to_a_centre_can_be_aimed_at_the_goal() -> None:
    """In an open square all staircases to the far corner are shortest; one of them follows the side with the goal."""
    square = vr.grid_domain(["....."] * 5)
    problem = vr.Problem(square, [vr.Trip((4, 0), (0, 0))], [(0, 3), (0, 4)])
    task = prepare_task(problem)
    cluster = Cluster(as_members((0, 1)), Node(square.node((0, 4))))
    for heuristic, expected in (("to-goal", {(3, 0), (2, 0), (1, 0), (0, 0)}), ("to-centre", None)):
        lead = Leads(task, 0, Watch(), heuristic).find(cluster, 9, 0)
        places = [square.label(int(node)) for node in lead]
        assert (len(places), places[0], places[-1]) == (9, (4, 0), (0, 4))
        if expected is not None:
            assert set(places[1:5]) == expected


@pytest.mark.parametrize("name", ["centre", "cluster_order", "centre_heuristic"])
def test_options_of_cbp_are_looked_at(name: str) -> None:
    problem = vr.Problem(corridor(8), [vr.Trip((0, 0), (0, 7))], [(0, 2), (0, 5)])
    with pytest.raises(vr.VeilrouteError, match=f"{name}: expected one of"):
        vr.solve(problem, vr.Privacy(k=2, m=3), planner="cbp", **{name: "best"})  # type: ignore[arg-type]
    usual = vr.solve(problem, vr.Privacy(k=2, m=3), planner="cbp")
    assert name not in usual.options, "a plan that is made as usual says nothing of these options"
    other = {"centre": "sum", "cluster_order": "listed", "centre_heuristic": "to-goal"}[name]
    stated = vr.solve(problem, vr.Privacy(k=2, m=3), planner="cbp", **{name: other})  # type: ignore[arg-type]
    assert stated.options[name] == other and vr.audit(stated).holds
