from __future__ import annotations

import math

import numpy as np
import pytest

import veilroute as vr


def edges_of(domain: vr.Domain) -> dict[tuple[object, object], float]:
    tails, heads, costs = domain.edge_arrays()
    items = zip(tails.tolist(), heads.tolist(), costs.tolist(), strict=True)
    return {(domain.label(a), domain.label(b)): c for a, b, c in items}


def test_four_way_movement_goes_through_the_door(two_rooms: vr.Domain) -> None:
    edges = edges_of(two_rooms)
    assert two_rooms.num_nodes == 19
    assert edges[(1, 2), (1, 3)] == 1
    assert edges[(1, 3), (1, 2)] == 1
    assert ((0, 2), (0, 4)) not in edges
    assert two_rooms.unit_cost == 1


def test_eight_way_movement_does_not_cut_corners() -> None:
    edges = edges_of(vr.grid_domain(["..@", "...", "..."], movement=8))
    assert edges[(1, 0), (0, 1)] == pytest.approx(math.sqrt(2))
    assert ((0, 1), (1, 2)) not in edges
    assert edges[(1, 1), (2, 2)] == pytest.approx(math.sqrt(2))
    assert ((1, 1), (0, 2)) not in edges


def test_rows_of_neighbours_are_ascending() -> None:
    for movement in (4, 8):
        domain = vr.grid_domain(np.ones((4, 5), dtype=bool), movement=movement)
        for node in range(domain.num_nodes):
            row = domain.indices[domain.indptr[node] : domain.indptr[node + 1]].tolist()
            assert row == sorted(row)


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ((0, 3), "a free cell; this one is inside a wall"),
        ((3, 0), "a cell on the map"),
        ((-1, 0), "a cell on the map"),
        (5, r"a cell as \(row, col\)"),
        ((1.0, 2.0), r"a cell as \(row, col\)"),
    ],
)
def test_cells_that_cannot_be_stood_on(two_rooms: vr.Domain, label: object, reason: str) -> None:
    with pytest.raises(vr.InvalidInputError, match=reason):
        two_rooms.node(label)


@pytest.mark.parametrize(
    ("cells", "field"),
    [
        (["..", "."], r"grid.map\[1\]"),
        (["..", ".x"], r"grid.map\[1\]\[1\]"),
        (["@@"], "grid.map"),
        ([], "grid.map"),
        (np.zeros((2, 2, 2), dtype=bool), "grid.map"),
    ],
)
def test_bad_grids_are_named(cells: list[str], field: str) -> None:
    with pytest.raises(vr.InvalidInputError, match=field):
        vr.grid_domain(cells)


def test_movement_is_4_or_8() -> None:
    with pytest.raises(vr.InvalidInputError, match="grid.movement"):
        vr.grid_domain(["."], movement=6)
