from __future__ import annotations

import pytest

import veilroute as vr
from veilroute.covering import find_watchers
from veilroute.domain import visibility_from_dict, visibility_to_dict


def seen_from(domain: vr.Domain, visibility: vr.Visibility, label: object) -> list[object]:
    (watchers,) = find_watchers(domain, visibility, [domain.node(label)])
    return [domain.label(node) for node in watchers.tolist()]


def test_a_single_corner_may_be_brushed_but_not_a_gap_between_two() -> None:
    one = vr.grid_domain([".@", ".."])
    assert (1, 1) in seen_from(one, vr.LineOfSight(2), (0, 0))
    two = vr.grid_domain([".@", "@."])
    assert (1, 1) not in seen_from(two, vr.LineOfSight(2), (0, 0))


def test_explicit_visibility_is_taken_to_the_letter(line5: vr.Domain) -> None:
    visibility = vr.Explicit({0: [2], 4: [2, 3]})
    assert seen_from(line5, visibility, 2) == [0, 4]
    assert seen_from(line5, visibility, 1) == []


@pytest.mark.parametrize(
    "visibility",
    [vr.AtNode(), vr.WithinDistance(2.5), vr.LineOfSight(7), vr.Explicit({(0, 0): ((0, 1), (1, 1))})],
)
def test_plain_data_round_trip(two_rooms: vr.Domain, visibility: vr.Visibility) -> None:
    again = visibility_from_dict(visibility_to_dict(visibility), two_rooms)
    assert visibility_to_dict(again) == visibility_to_dict(visibility)
