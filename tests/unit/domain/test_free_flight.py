"""Networks of free flight: the same moves as plain Python finds with fractions, and the right lengths."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import veilroute as vr
from plain_flight import MM_PER_DEGREE, Point, Polygon, plain_moves, random_sky
from veilroute.domain import Zone
from veilroute.domain.free_flight import free_flight

CASES = [pytest.param(8), pytest.param(500, marks=pytest.mark.slow)]
SQUARE = [(-2000, -2000), (2000, -2000), (2000, 2000), (-2000, 2000)]


def zone(polygon: Polygon, name: str = "zone") -> Zone:
    """A polygon at the equator, where a degree is as long either way."""
    return Zone(name, tuple(np.array(ring) * (1.0, -1.0) / MM_PER_DEGREE for ring in polygon))


def zones(polygons: list[Polygon]) -> list[Zone]:
    return [zone(polygon, f"zone {number}") for number, polygon in enumerate(polygons)]


def moves_of(domain: vr.Domain) -> set[tuple[Point, Point]]:
    assert domain.streets is not None
    flat = np.rint(domain.streets.lonlat * (1.0, -1.0) * MM_PER_DEGREE).astype(int).tolist()
    points = [(x, y) for x, y in flat]
    tails, heads, _ = domain.edge_arrays()
    return {(points[tail], points[head]) for tail, head in zip(tails.tolist(), heads.tolist(), strict=True)}


@pytest.mark.parametrize("num_cases", CASES)
def test_moves_are_those_that_fractions_allow(num_cases: int) -> None:
    rng = Random(17)
    for _ in range(num_cases):
        areas, no_fly = random_sky(rng)
        cell, ways = rng.choice([800, 1000, 1300]), rng.choice([8, 16])
        expected = plain_moves(areas, no_fly, cell, ways)
        assert moves_of(free_flight(zones(areas), zones(no_fly), cell=cell / 1000, ways=ways).domain) == expected


def test_a_zone_is_kept_clear_of_by_a_millimetre_and_an_area_is_not_left() -> None:
    """Moves along the border of a no-fly zone are refused, a millimetre beside it they are not."""
    for edge, expected in ((500, False), (499, True)):
        wall: Polygon = [[(-400, -2000), (edge, -2000), (edge, 2000), (-400, 2000)]]
        moves = moves_of(free_flight([zone([SQUARE])], [zone(wall)], cell=1, ways=8).domain)
        assert (((500, 500), (500, 1500)) in moves) == expected


def test_polygons_that_share_a_border_are_one_area() -> None:
    halves = [[[(-2000, -2000), (300, -2000), (300, 2000), (-2000, 2000)]]]
    halves.append([[(300, -2000), (2000, -2000), (2000, 2000), (300, 2000)]])
    whole, parted = (free_flight(zones(areas), [], cell=1, ways=16).domain for areas in ([[SQUARE]], halves))
    assert moves_of(whole) == moves_of(parted)


def test_metres_are_true_in_the_north_and_turns_are_free() -> None:
    ring = np.array([(24.93, 60.15), (24.97, 60.15), (24.97, 60.17), (24.93, 60.17)])
    flight = free_flight([Zone("Helsinki", (ring,))], [], cell=100, ways=16)
    domain = flight.domain
    assert flight.area_m2 == pytest.approx(2216 * 2224, rel=0.01)
    assert domain.num_nodes == pytest.approx(flight.area_m2 / 100**2, rel=0.05)
    lengths = np.unique(domain.costs.round())
    assert set(lengths.tolist()) == {100.0, 141.0, 224.0}
    assert domain.turns is None
