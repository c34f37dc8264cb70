"""Classes under a prior of more members than are priced exactly."""

from itertools import pairwise

import numpy as np
import pytest

import veilroute as vr
from strategies import rooms
from veilroute import Watch
from veilroute.covering import MAX_TOUR, ClassWalks, TourCosts, prepare_task


def costs_of(problem: vr.Problem) -> TourCosts:
    task = prepare_task(problem)
    costs = TourCosts(task, np.arange(len(task.members)))
    costs.prepare(Watch())
    return costs


def length_of(costs: TourCosts, order: list[int]) -> float:
    steps = sum(costs.between[a, b] for a, b in pairwise(order))
    return float(costs.from_start[0, order[0]] + steps + costs.to_goal[0, order[-1]])


@pytest.mark.parametrize("is_one_way", [False, True])
def test_walk_of_a_large_class_costs_what_it_is_priced_at(is_one_way: bool) -> None:
    city = vr.generate_streets(9, 9, seed=2, one_way_share=0.5)
    one_way = vr.Problem(city, [vr.Trip(0, 0)], vr.draw_candidates(city, 0, 0, 40, seed=1))
    problem = one_way if is_one_way else rooms(40, seed=2)
    costs = costs_of(problem)
    members = tuple(range(0, 40, 2))
    walk = ClassWalks(costs.task, costs).find(members)
    assert walk.cost == pytest.approx(costs.costs(np.array([members], dtype=np.int32), Watch())[0, 0], rel=1e-14)
    passed = set(walk.walk.tolist())
    nodes = costs.task.posts.nodes[costs.task.posts.watch_posts[list(members)]]
    assert passed.issuperset(nodes.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("limit_s", [4, 20])
def test_a_heavy_member_that_needs_more_light_ones_than_are_priced_exactly_is_hidden(limit_s: float) -> None:
    prior = [18.0] + [1.0] * 39
    problem = rooms(40, seed=4, prior=prior)
    playbook = vr.solve(problem, vr.Privacy(risk=0.5), time_limit_s=limit_s)
    assert playbook.claims.hidden_mass == 1.0
    assert playbook.claims.worst_posterior is not None
    assert playbook.claims.worst_posterior <= 0.5 + 1e-9
    assert max(len(each.members) for each in playbook.classes) > MAX_TOUR
    assert vr.audit(playbook).holds
