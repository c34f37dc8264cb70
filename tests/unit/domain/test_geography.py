"""Street networks as data: canonical order, JSON, hash and distances on earth."""

from __future__ import annotations

from typing import Any

import pytest

import veilroute as vr
from veilroute.domain import (
    Streets,
    Turns,
    great_circle_m,
    street_domain,
    with_rules,
)

PARTS: dict[str, Any] = {
    "lonlat": [(24.90, 60.10), (24.91, 60.10), (24.91, 60.11)],
    "tails": [1, 0, 0, 2, 1],
    "heads": [2, 1, 1, 2, 0],
    "costs": [20.0, 12.0, 10.0, 1.0, 11.0],
    "lengths": [200.0, 120.0, 110.0, 5.0, 130.0],
    "unit": "seconds",
    "labels": [501, 502, 503],
    "names": ["", "High Street", "Low Street"],
    "name_ids": [1, 0, 2, 1, 1],
    "kinds": ["", "primary"],
    "kind_ids": [1, 0, 1, 0, 0],
    "shape_ptr": [0, 2, 2, 3, 4, 4],
    "shape": [(24.911, 60.101), (24.912, 60.105), (24.905, 60.099), (0.0, 0.0)],
    "attribution": "© somebody",
}
"""Edges out of order, with a loop at 2 and two edges from 0 to 1, of which the second is cheaper."""


def streets_of(domain: vr.Domain) -> Streets:
    assert domain.streets is not None
    return domain.streets


def test_edges_are_sorted_with_all_that_belongs_to_them() -> None:
    domain = street_domain(**PARTS)
    streets = streets_of(domain)
    tails, heads, costs = domain.edge_arrays()
    assert list(zip(tails.tolist(), heads.tolist(), costs.tolist(), strict=True)) == [
        (0, 1, 10.0), (1, 0, 11.0), (1, 2, 20.0),
    ]  # fmt: skip
    assert streets.lengths.tolist() == [110.0, 130.0, 200.0]
    assert [streets.name(edge) for edge in range(3)] == ["Low Street", "High Street", "High Street"]
    assert [streets.kind(edge) for edge in range(3)] == ["primary", "", "primary"]
    assert streets.line(0, 1, 0).tolist() == [[24.90, 60.10], [24.905, 60.099], [24.91, 60.10]]
    assert streets.line(1, 0, 1).tolist() == [[24.91, 60.10], [24.90, 60.10]]
    assert len(streets.line(1, 2, 2)) == 4


def test_the_hash_covers_what_distances_depend_on_and_not_what_is_for_people() -> None:
    plain = street_domain(**PARTS).sha256
    assert street_domain(**PARTS | {"names": ["", "A", "B"], "shape_ptr": None, "shape": None}).sha256 == plain
    for change in (
        {"unit": "metres"},
        {"lengths": [200.0, 120.0, 111.0, 5.0, 130.0]},
        {"lonlat": [(24.90, 60.10), (24.91, 60.10), (24.92, 60.11)]},
    ):
        assert street_domain(**PARTS | change).sha256 != plain


def test_a_degree_of_latitude_and_of_longitude() -> None:
    assert great_circle_m((0, 0), (0, 1)) == pytest.approx(111_195, abs=1)
    assert great_circle_m((24, 60), (25, 60)) == pytest.approx(55_597, abs=3)
    assert great_circle_m([(24, 60), (24, 60)], [(24, 60), (24, 61)]) == pytest.approx([0, 111_195], abs=1)


@pytest.mark.parametrize("banned", [[[0, 1]], [[1, 0, 3]], [[-1, 0, 1]], [[0, 1, 2], [0, 2, 1]], [[0, 1, 2], [2]]])
def test_rules_along_what_is_no_street_are_refused(banned: list[list[int]]) -> None:
    domain = street_domain(**PARTS)
    assert with_rules(domain, Turns.of("never", [[0, 1, 2]])).turns == Turns.of("never", [[0, 1, 2]])
    with pytest.raises(vr.InvalidInputError, match=r"turns\.banned"):
        with_rules(domain, Turns("never", banned=tuple(map(tuple, banned))))


@pytest.mark.parametrize("also", [[(501, 0)], [("503", 0)], [("a", 0), ("a", 1)], [("a", 3)], [("a", -1)]])
def test_further_labels_are_told_from_others(also: list[tuple[int | str, int]]) -> None:
    domain = street_domain(**PARTS)
    assert with_rules(domain, None, [("a", 0), ("b", 0)]).node("b") == 0
    with pytest.raises(vr.InvalidInputError, match="also"):
        with_rules(domain, None, also)
