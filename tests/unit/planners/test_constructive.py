"""The planner of Theorem 2 and the lemma about extended paths, on instances that can be checked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import veilroute as vr
from veilroute.planners import join_walks


def line(num: int = 5, *, both_ways: bool = True) -> vr.Domain:
    tails, heads = list(range(num - 1)), list(range(1, num))
    if both_ways:
        tails, heads = tails + heads, heads + tails
    return vr.Domain.from_edges(num, tails, heads, [1] * len(tails))


def star() -> vr.Domain:
    """A centre, 0, with arms to 1, 2, 3 and 4."""
    return vr.Domain.from_edges(5, [0, 0, 0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 0, 0, 0, 0], [1] * 8)


def test_walks_are_joined_where_they_meet() -> None:
    assert join_walks(np.array([0, 1, 2]), np.array([2, 1])).tolist() == [0, 1, 2, 1]
    with pytest.raises(vr.InvalidInputError, match="begins where the first ends"):
        join_walks(np.array([0, 1]), np.array([2, 3]))


def test_the_walk_goes_past_each_member_and_back() -> None:
    problem = vr.Problem(star(), [vr.Trip(1, 2)], [3, 4, 0])
    playbook = vr.solve(problem, vr.Privacy(k=2), planner="constructive")
    (group,) = playbook.classes
    # Past 3 to the goal, back to the start, past 4 to the goal; 0 was passed on the way.
    assert list(group.routes[0]) == [1, 0, 3, 0, 2, 0, 1, 0, 4, 0, 2]
    assert (group.members, group.routes[0].cost, playbook.status) == ((3, 4, 0), 10, "feasible")
    # Alone, 3 and 4 cost 4 and 0 costs 2: (10 - 4) / 4 twice and (10 - 2) / 2.
    assert playbook.mac == pytest.approx((1.5 + 1.5 + 4) / 3)
    assert vr.audit(playbook).holds


def test_without_a_way_back_only_the_first_piece_is_walked() -> None:
    fork = vr.Domain.from_edges(7, [0, 1, 2, 3, 1, 4, 5], [1, 2, 3, 6, 4, 5, 6], [1] * 7)
    problem = vr.Problem(fork, [vr.Trip(0, 6)], [2, 3, 1, 4, 5])
    playbook = vr.solve(problem, vr.Privacy(k=3), planner="constructive")
    assert [group.members for group in playbook.hidden_classes] == [(2, 3, 1)]
    assert playbook.exposed_candidates == (4, 5)
    assert vr.audit(playbook).holds


def test_a_playbook_is_extended_at_both_ends() -> None:
    problem = vr.Problem(line(8), [vr.Trip(2, 5)], [3, 4])
    playbook = vr.solve(problem, vr.Privacy(k=2))
    longer = vr.extend_playbook(playbook, before=[0, 1, 2], after=[5, 6, 5, 6, 7])
    assert list(longer.route_for(3)) == [0, 1, 2, 3, 4, 5, 6, 5, 6, 7]
    assert longer.trips[0] == vr.Trip(0, 7)
    # The cheapest route of the longer trip costs 7, the extended one 9: to and fro at 5 and 6.
    assert longer.mac == pytest.approx(2 / 7)
    assert (longer.status, longer.mac_lower_bound) == ("feasible", None)
    assert vr.audit(longer).holds
    assert vr.extend_playbook(playbook).classes == playbook.classes


def test_what_cannot_extend_a_playbook_is_refused() -> None:
    problem = vr.Problem(line(8), [vr.Trip(2, 5)], [3, 4, 6])
    playbook = vr.solve(problem, vr.Privacy(k=2))
    refused: list[tuple[dict[str, Any], str]] = [
        ({"before": [0, 1]}, "before: expected a walk that ends at the start 2"),
        ({"after": [6, 7]}, "after: expected a walk that begins at the goal 5"),
        ({"before": [0, 2]}, "before: expected a walk along edges of the domain"),
        ({"after": [5, 6]}, "after: expected an end that is no candidate"),
    ]
    for ends, message in refused:
        with pytest.raises(vr.InvalidInputError, match=message):
            vr.extend_playbook(playbook, **ends)


def test_a_risk_of_a_beginning_can_be_extended() -> None:
    """After a longer beginning all look alike: by the lemma on areas an observer then knows no more of any area."""
    problem = vr.Problem(line(8), [vr.Trip(2, 5)], [1, 3, 4, 6], prior=[1, 2, 2, 1])
    for privacy in (vr.Privacy(risk=0.5, m=2), vr.Privacy(k=2, m=2, mechanism="randomised", spread="all-pairs")):
        playbook = vr.solve(problem, privacy)
        assert vr.extend_playbook(playbook).classes == playbook.classes
        longer = vr.extend_playbook(playbook, before=[0, 1, 2])
        after, before = longer.claims.worst_posterior, playbook.claims.worst_posterior
        assert after is not None and before is not None and after <= before + 1e-12
        assert vr.audit(longer).holds
    whole = vr.solve(problem, vr.Privacy(risk=0.5))
    longer = vr.extend_playbook(whole, before=[0, 1, 2])
    assert longer.claims.num_anonymized == whole.claims.num_anonymized > 0
    assert vr.audit(longer).holds
