"""The claim about doors: distances worked out by hand, on streets that are easy to measure."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import veilroute as vr
from door_towns import winding_town
from veilroute.auditing import Lines
from veilroute.domain import Label, great_circle_m, street_domain, streets_of

Places = Mapping[Label, tuple[float, float]]

DEGREE_M = 111_195.08  # of latitude


def crossroads(*, west: float = 0.0) -> vr.Domain:
    """A street from west to east along the equator with a bend to the north in its second half, both ways."""
    pairs = [(0, 1), (1, 0), (1, 2), (2, 1)]
    bend = (west + 0.015, 0.002)
    return street_domain(
        lonlat=[(west, 0.0), (west + 0.01, 0.0), (west + 0.02, 0.0)],
        tails=[tail for tail, _ in pairs],
        heads=[head for _, head in pairs],
        costs=[100.0] * 4,
        lengths=[1112.0, 1112.0, 1200.0, 1200.0],
        unit="seconds",
        labels=["west", "middle", "east"],
        shape_ptr=[0, 0, 0, 1, 2],
        shape=[bend, bend],
    )


def claim(report: vr.AuditReport, name: str) -> tuple[bool, str]:
    return next((each.holds, each.evidence) for each in report.claims if each.claim == name)


def test_the_farthest_place_is_measured_to_its_route_and_its_street() -> None:
    domain = crossroads()
    # One stands beside its junction, one beside the bend, which is nearer than the junction it was put at.
    places: Places = {"middle": (0.01, -0.0003), "east": (0.015, 0.0021)}
    problem = vr.Problem(domain, [vr.Trip("west", "west")], ["middle", "east"], places=places)
    holds, shown = claim(vr.audit(vr.solve(problem, vr.Privacy(k=2, ell=1))), "doors")
    assert holds
    assert f"middle is the farthest from its route: {0.0003 * DEGREE_M:.1f} m (from its node 33.4 m" in shown
    assert "from the nearest street 33.4 m" in shown
    assert "a street is nearer" not in shown


def test_a_place_at_a_junction_that_its_route_turns_at_is_told_how_far_off_its_street_is() -> None:
    """The one in the second half of the street was put at the junction before it, as --snap junction does."""
    places: Places = {"middle": (0.0125, 0.0)}
    problem = vr.Problem(crossroads(), [vr.Trip("west", "west")], ["middle"], places=places)
    holds, shown = claim(vr.audit(vr.solve(problem, vr.Privacy(k=1, ell=0))), "doors")
    assert holds
    assert "middle is the farthest from its route: 278.0 m (from its node 278.0 m" in shown
    # The nearest point of the slope from (0.01, 0) to (0.015, 0.002): 0.0025 * sin(atan(0.4)) degrees.
    assert "from the nearest street 103.2 m)" in shown
    assert "for 1 place a street is nearer than the route, by up to 174.7 m" in shown


def test_a_route_that_does_not_come_to_the_door_is_found() -> None:
    places: Places = {"middle": (0.01, -0.0003), "east": (0.02, 0.0)}
    problem = vr.Problem(crossroads(), [vr.Trip("west", "west")], ["middle", "east"], places=places)
    book = vr.solve(problem, vr.Privacy(k=2, ell=1))
    (group,) = book.classes
    short = replace(group.routes[0], nodes=("west", "middle", "west"), cost=200.0)
    holds, shown = claim(vr.audit(replace(book, classes=(replace(group, routes=(short,)),))), "doors")
    assert not holds
    assert "the route for east stays 1,112.0 m away from it, though its door is only 0.0 m off" in shown


def test_who_is_only_to_be_seen_may_be_farther_off() -> None:
    places: Places = {"middle": (0.01, 0.0), "east": (0.02, 0.0)}
    view = vr.WithinDistance(1500, "driving")
    problem = vr.Problem(crossroads(), [vr.Trip("west", "west")], ["middle", "east"], view, places=places)
    holds, shown = claim(vr.audit(vr.solve(problem, vr.Privacy(k=2, ell=1))), "doors")
    assert holds
    assert "east is the farthest from its route: 1,112.0 m" in shown


def test_without_places_or_streets_there_is_no_such_claim() -> None:
    problem = vr.Problem(crossroads(), [vr.Trip("west", "west")], ["middle", "east"])
    names = {each.claim for each in vr.audit(vr.solve(problem, vr.Privacy(k=2, ell=1))).claims}
    assert names.isdisjoint({"doors", "turns"})


def test_distances_do_not_tear_at_the_date_line() -> None:
    lines = Lines(town := crossroads(west=179.98), streets_of(town))
    assert lines.from_node((-179.99, 0.0), 2) == pytest.approx(0.01 * DEGREE_M, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_distances_to_streets_are_those_to_points_close_together_along_them(seed: int) -> None:
    town, rng = winding_town(seed), random.Random(seed)
    streets = streets_of(town)
    lines = Lines(town, streets)
    tails, heads, _ = town.edge_arrays()
    shares = np.linspace(0, 1, 201)[:, None]
    points = np.concatenate(
        [
            one + shares * (other - one)
            for edge, (tail, head) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True))
            for line in [streets.line(tail, head, edge)]
            for one, other in pairwise(line)
        ]
    )
    for _ in range(20):
        place = (rng.uniform(24.895, 24.915), rng.uniform(60.098, 60.107))
        nearest = float(great_circle_m(points, place).min())
        assert lines.from_streets(place, 1e5) == pytest.approx(nearest, abs=0.3)
