"""What a plan keeps small: the mean ratio of detours, or their sum."""

from __future__ import annotations

import json

import numpy as np
import pytest

import veilroute as vr
from veilroute import playbook_from_json
from veilroute.covering import prepare_task


def building(num: int, seed: int, *, objective: str = "mac", num_trips: int = 1) -> vr.Problem:
    domain = vr.generate_rooms(24, 36, seed=seed)
    labels = domain.labels_of(np.arange(domain.num_nodes))
    start, goal = labels[3], labels[-4]
    trips = [vr.Trip(start, goal), vr.Trip(goal, start, weight=3.0)][:num_trips]
    return vr.Problem(domain, trips, vr.draw_candidates(domain, start, goal, num, seed=seed), objective=objective)


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
