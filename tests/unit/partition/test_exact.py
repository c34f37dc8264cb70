from __future__ import annotations

import pytest

import veilroute as vr
from veilroute import Progress
from veilroute.partition import other_limits


def test_classes_too_large_for_anything_are_refused() -> None:
    domain = vr.generate_rooms(seed=1)
    start, goal = domain.label(0), domain.label(9)
    problem = vr.Problem(domain, [vr.Trip(start, goal)], vr.draw_candidates(domain, start, goal, 30, seed=0))
    for m in (None, 10):
        with pytest.raises(vr.InvalidInputError, match=r"Privacy.k: expected at most 12 .* got 13"):
            vr.solve(problem, vr.Privacy(k=13, m=m))


@pytest.mark.parametrize(
    ("num", "num_trips", "stage", "num_done", "num_hidden", "largest"),
    [(17, 1, "partition", 0, 17, 3), (8, 2, "class costs", 2 * (8 + 28), 8, 2), (8, 1, "", 0, 0, 1)],
)
def test_a_stop_gives_a_valid_playbook_without_proof(
    num: int, num_trips: int, stage: str, num_done: int, num_hidden: int, largest: int
) -> None:
    """In the partition; among the class costs, with the sizes that are done; and at once."""
    domain = vr.generate_rooms(seed=2)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    trips = [vr.Trip(start, goal), vr.Trip(goal, start)][:num_trips]
    problem = vr.Problem(domain, trips, vr.draw_candidates(domain, start, goal, num, seed=0))
    reports: list[Progress] = []

    def stop() -> bool:
        return not stage or (bool(reports) and reports[-1].stage == stage and reports[-1].done >= num_done)

    with other_limits(tried=20):
        playbook = vr.solve(problem, vr.Privacy(k=2), progress=reports.append, should_stop=stop)
    assert (playbook.status, playbook.mac_lower_bound) == ("feasible", None)
    assert playbook.options["stopped_early"] is True
    assert playbook.claims.num_anonymized == num_hidden
    assert max(len(group.members) for group in playbook.classes) <= largest
    assert vr.audit(playbook).holds
    best = vr.solve(problem, vr.Privacy(k=2))
    assert best.status == "optimal" and best.options["stopped_early"] is False
    assert best.mac is not None
    assert playbook.mac is None or best.mac <= playbook.mac


def test_large_integer_costs_are_compared_exactly() -> None:
    big = 10**9
    edges = [(0, 1, big), (1, 2, 1), (2, 3, big), (0, 2, big + 1), (2, 1, 1), (1, 3, big + 1)]
    domain = vr.Domain.from_edges(4, [a for a, _, _ in edges], [b for _, b, _ in edges], [c for _, _, c in edges])
    playbook = vr.solve(vr.Problem(domain, [vr.Trip(0, 3)], [1, 2]), vr.Privacy(k=2, ell=1))
    assert playbook.classes[0].routes[0].cost == 2 * big + 1
    assert playbook.status == "optimal"
    apart = vr.Domain.from_edges(4, [0, 1, 2, 1], [1, 2, 3, 0], [1, big, 1, 1])
    for ell, count in ((big, 2), (big + 1, 0)):
        found = vr.solve(vr.Problem(apart, [vr.Trip(0, 3)], [1, 2]), vr.Privacy(k=2, ell=ell))
        assert found.claims.num_anonymized == count
        assert vr.audit(found).holds
