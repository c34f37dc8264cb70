"""What a plan keeps small: the mean ratio of detours, or their sum."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import veilroute as vr
from reference import set_partitions
from veilroute import playbook_from_json
from veilroute.covering import FieldsEngine, Members, as_members, prepare_task


def building(num: int, seed: int, *, objective: str = "mac", num_trips: int = 1) -> vr.Problem:
    domain = vr.generate_rooms(24, 36, seed=seed)
    labels = domain.labels_of(np.arange(domain.num_nodes))
    start, goal = labels[3], labels[-4]
    trips = [vr.Trip(start, goal), vr.Trip(goal, start, weight=3.0)][:num_trips]
    return vr.Problem(domain, trips, vr.draw_candidates(domain, start, goal, num, seed=seed), objective=objective)


@pytest.mark.parametrize(("num", "seed", "num_trips"), [(6, 1, 1), (7, 2, 2), (8, 3, 1)])
def test_each_objective_is_the_least_of_all_partitions(num: int, seed: int, num_trips: int) -> None:
    problem = building(num, seed, num_trips=num_trips)
    task = prepare_task(problem)
    engine = FieldsEngine(task)

    def extra(members: Members, trip: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.asarray(engine.find(members, trip).cost - task.base_costs[trip][list(members)])

    least = {"mac": math.inf, "total": math.inf}
    for groups in set_partitions(list(range(num))):
        classes = [as_members(group) for group in groups]
        if not {len(members) for members in classes} <= {2, 3}:
            continue
        sums = {"mac": 0.0, "total": 0.0}
        for members in classes:
            for trip, weight in enumerate(task.weights):
                sums["total"] += weight * float(extra(members, trip).sum())
                sums["mac"] += weight * float((extra(members, trip) / task.base_costs[trip][list(members)]).sum()) / num
        least = {name: min(least[name], sums[name]) for name in least}
    by_mac = vr.solve(problem, vr.Privacy(2))
    by_total = vr.solve(replace(problem, objective="total"), vr.Privacy(2))
    assert by_mac.status == by_total.status == "optimal"
    assert by_mac.mac == pytest.approx(least["mac"])
    assert by_total.claims.total_extra == pytest.approx(least["total"])
    assert by_total.claims.total_extra_lower_bound == by_total.claims.total_extra
    assert (by_total.mac_lower_bound, by_mac.claims.total_extra_lower_bound) == (None, None)
    assert by_mac.claims.total_extra is not None
    assert by_mac.claims.total_extra >= least["total"] - 1e-9


@pytest.mark.parametrize("planner", ["optimal", "pbp", "m-pbp"])
@pytest.mark.parametrize("m", [None, 12])
def test_a_total_beside_the_mean(planner: str, m: int | None) -> None:
    """Fifteen candidates by column generation; what is kept small is never larger than under the other objective."""
    plans = {
        objective: vr.solve(building(15, 5, objective=objective), vr.Privacy(3, m=m), planner=planner)
        for objective in ("mac", "total")
    }
    total, mac = plans["total"].claims, plans["mac"].claims
    assert total.total_extra is not None and mac.total_extra is not None
    if planner == "optimal" or m is None:
        assert plans["total"].status == plans["mac"].status == "optimal"
        assert total.total_extra <= mac.total_extra + 1e-9
        assert (mac.mac or 0) <= (total.mac or 0) + 1e-12


def test_the_worst_detour_is_that_of_a_member() -> None:
    playbook = vr.solve(building(9, 4, num_trips=2), vr.Privacy(2))
    task = prepare_task(playbook.problem)
    position = {playbook.candidates[i]: at for at, i in enumerate(task.members)}
    extras = [
        [group.route_of(label, trip).cost - task.base_costs[trip][position[label]] for trip in range(2)]
        for group in playbook.classes
        for label in group.members
    ]
    assert playbook.claims.worst_extra == pytest.approx(max(max(pair) for pair in extras))
    assert playbook.claims.total_extra == pytest.approx(sum(a / 4 + 3 * b / 4 for a, b in extras))


def test_the_objective_is_kept_in_the_file() -> None:
    playbook = vr.solve(building(8, 1, objective="total"), vr.Privacy(2))
    again = playbook_from_json(playbook.to_json())
    assert again.objective == again.problem.objective == "total"
    assert again.to_json() == playbook.to_json()
    assert b'"objective"' not in vr.solve(building(8, 1), vr.Privacy(2)).to_json()
    with pytest.raises(vr.FileFormatError, match="objective: expected mac or total"):
        playbook_from_json(playbook.to_json().replace(b'"objective":"total"', b'"objective":"least"'))
    with pytest.raises(vr.InvalidInputError, match=r"Problem.objective: expected mac or total"):
        building(6, 1, objective="least")


def test_a_playbook_of_old_has_no_extra_costs() -> None:
    data = vr.solve(building(8, 1), vr.Privacy(2)).to_dict()
    for name in ("total_extra", "worst_extra"):
        del data["claims"][name]
    old = playbook_from_json(json.dumps(data).encode())
    assert (old.claims.total_extra, old.claims.worst_extra) == (None, None)
    assert not {"total_extra", "worst_extra"} & set(json.loads(old.to_json())["claims"])
