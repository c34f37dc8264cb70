from __future__ import annotations

import math

import numpy as np
import pytest

import veilroute as vr
from veilroute import Anchor
from veilroute.domain import domain_from_dict, domain_to_dict, great_circle_m, places_on_earth, streets_of


def edges_of(domain: vr.Domain) -> dict[tuple[object, object], float]:
    tails, heads, costs = domain.edge_arrays()
    items = zip(tails.tolist(), heads.tolist(), costs.tolist(), strict=True)
    return {(domain.label(a), domain.label(b)): c for a, b, c in items}


def test_eight_way_movement_does_not_cut_corners() -> None:
    edges = edges_of(vr.grid_domain(["..@", "...", "..."], movement=8))
    assert edges[(1, 0), (0, 1)] == pytest.approx(math.sqrt(2))
    assert ((0, 1), (1, 2)) not in edges
    assert edges[(1, 1), (2, 2)] == pytest.approx(math.sqrt(2))
    assert ((1, 1), (0, 2)) not in edges


def test_cells_lie_where_the_north_west_corner_and_their_width_say() -> None:
    """One degree of latitude is 111,195 m; at 60 degrees one of longitude is half of that."""
    domain = vr.grid_domain(np.ones((20, 30), dtype=bool), anchor=Anchor(60.0, 24.0, 111.195))
    first, below, beside = places_on_earth(domain, [domain.node(cell) for cell in ((0, 0), (10, 0), (0, 10))])
    assert first == pytest.approx((24.001, 59.9995), abs=1e-7)
    assert below - first == pytest.approx((0, -0.01), abs=1e-7)
    assert beside - first == pytest.approx((0.02, 0), abs=1e-7)
    assert great_circle_m(first, below) == pytest.approx(1111.95, abs=0.5)
    assert great_circle_m(first, beside) == pytest.approx(1111.95, abs=0.5)


def test_every_place_is_in_its_own_cell() -> None:
    anchor = Anchor(-33.86, 151.2, 2.5)
    domain = vr.grid_domain(["..@.", "....", "@..."], movement=8, anchor=anchor)
    places = places_on_earth(domain, np.arange(domain.num_nodes)).tolist()
    assert [anchor.cell_at(lat, lon) for lon, lat in places] == [domain.label(n) for n in range(domain.num_nodes)]
    assert streets_of(domain).lengths.tolist() == (domain.costs * 2.5).round(3).tolist()


def test_where_a_grid_lies_changes_its_drawing_and_nothing_that_planning_uses() -> None:
    plain = vr.grid_domain(["...", "..."])
    here, there = (vr.grid_domain(["...", "..."], anchor=Anchor(60, 24, cell)) for cell in (5, 6))
    assert plain.sha256 == here.sha256 == there.sha256
    assert len({plain.drawing_sha256, here.drawing_sha256, there.drawing_sha256}) == 3
    assert plain.drawing_sha256 is None and plain.on_earth is None
    again = domain_from_dict(domain_to_dict(here))
    assert again.drawing_sha256 == here.drawing_sha256
