from __future__ import annotations

import pytest

import veilroute as vr
from veilroute.domain import reached_from, street_domain
from veilroute.streets import Located, check_distinct, check_joined, check_way


def islands() -> vr.Domain:
    """Mainland a <-> b -> c <-> d, and an island e <-> f; c and d cannot be left to the west."""
    pairs = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 2), (4, 5), (5, 4)]
    return street_domain(
        lonlat=[(i / 1000, 0.0) for i in range(6)],
        tails=[a for a, _ in pairs],
        heads=[b for _, b in pairs],
        costs=[1] * len(pairs),
        lengths=[100] * len(pairs),
        unit="seconds",
        labels=list("abcdef"),
    )


def at(label: str, name: str | None = None, *, distance_m: float | None = None, origin: str = "--x") -> Located:
    return Located(label, name or label, name, distance_m, origin=origin)


@pytest.mark.parametrize(
    ("label", "along", "both"),
    [("a", "abcd", "abcd"), ("c", "cd", "abcd"), ("f", "ef", "ef")],
)
def test_what_can_be_reached(label: str, along: str, both: str) -> None:
    domain = islands()
    for backward, expected in ((False, along), (True, both)):
        mask = reached_from(domain, domain.node(label), backward=backward)
        assert "".join(str(domain.label(node)) for node in mask.nonzero()[0].tolist()) == expected


def test_a_way_from_start_to_goal() -> None:
    domain = islands()
    check_way(domain, at("a"), at("d"))
    check_way(domain, at("e"), at("e"))
    with pytest.raises(
        vr.InvalidInputError, match=r"--goal: .*one-way streets leave no way from Depot to b.*--connected"
    ):
        check_way(domain, at("d", "Depot"), at("b", origin="--goal"))


def test_the_place_on_the_smaller_part_is_named() -> None:
    domain = islands()
    with pytest.raises(vr.InvalidInputError, match=r"--goal: .*Pier \(junction f\) .*not connected to a:"):
        check_way(domain, at("a"), at("f", "Pier", origin="--goal"))
    with pytest.raises(vr.InvalidInputError, match=r"--start: .*Pier \(junction f\) .*not connected to a:"):
        check_way(domain, at("f", "Pier", origin="--start"), at("a"))
    with pytest.raises(
        vr.InvalidInputError, match=r"Quay .junction e. is on a part .*not connected to b: choose another"
    ):
        check_joined(domain, at("b"), [at("a"), at("c"), at("e", "Quay")])


def test_one_way_streets_do_not_separate_candidates() -> None:
    check_joined(islands(), at("d"), [at("a"), at("b")])


def test_two_places_at_one_junction() -> None:
    start, goal = at("a", "Depot"), at("d")
    check_distinct(islands(), start, goal, [at("b"), at("c", distance_m=3.0)])
    check_distinct(islands(), start, at("a", "Depot, back gate"), [at("b")])
    with pytest.raises(vr.InvalidInputError, match="b and b are both"):
        check_distinct(islands(), start, goal, [at("b"), at("b")])


def test_a_candidate_at_the_start() -> None:
    """Given by its id it does not count, as in every problem; given by coordinates it may be a surprise."""
    start, goal = at("a", "Depot"), at("d", "Gate")
    check_distinct(islands(), start, goal, [at("a"), at("d")])
    with pytest.raises(vr.InvalidInputError, match="Depot and Kamppi are both at junction a"):
        check_distinct(islands(), start, goal, [at("a", "Kamppi", distance_m=12.0)])
    with pytest.raises(vr.InvalidInputError, match="Gate and Kamppi are both at junction d"):
        check_distinct(islands(), start, goal, [at("d", "Kamppi", distance_m=12.0)])


def test_a_candidate_at_an_end_is_refused_when_either_came_by_coordinates() -> None:
    with pytest.raises(vr.InvalidInputError, match="Depot and a are both at junction a"):
        check_distinct(islands(), at("a", "Depot", distance_m=3.0), at("d"), [at("a"), at("b")])
    with pytest.raises(vr.InvalidInputError, match="d and Pier are both at junction d"):
        check_distinct(islands(), at("a"), at("d"), [at("d", "Pier", distance_m=9.0)])
    check_distinct(islands(), at("a"), at("d"), [at("a"), at("b")])
