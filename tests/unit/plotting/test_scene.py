"""Scenes: what a page is given to draw, for every kind of map."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from street_samples import little_town, place
from veilroute.plotting import domain_scene, plane_of, playbook_scene

ROOM = ["....", ".@@.", "...."]


def points(differences: list[int]) -> list[list[int]]:
    summed = np.cumsum(np.array(differences, dtype=np.int64).reshape(-1, 2), axis=0)
    return [[int(x), int(y)] for x, y in summed]


def cell_point(row: int, col: int) -> list[int]:
    return [10 * col, -10 * row]


def room_book(**options: Any) -> vr.Playbook:
    domain = vr.grid_domain(ROOM, **options)
    problem = vr.Problem(domain, [vr.Trip((0, 0), (2, 3)), vr.Trip((2, 3), (0, 0))], [(0, 2), (2, 1), (0, 3), (2, 0)])
    return vr.solve(problem, vr.Privacy(k=2))


def test_a_grid_has_its_rows_cells_of_ten_units_and_moves_told_by_direction() -> None:
    book = room_book()
    scene = playbook_scene(book)
    assert json.loads(json.dumps(scene)) == scene == playbook_scene(room_book())
    drawn = scene["map"]
    assert (scene["format"], drawn["kind"], drawn["grid"]["rows"]) == ("veilroute-scene/1", "grid", ROOM)
    assert (drawn["box"], drawn["scale"], drawn["earth"]) == ([-5, -25, 35, 5], {"units": 10, "name": "cells"}, None)
    for number, trip in enumerate(scene["playbook"]["trips"]):
        for group, shown in zip(book.hidden_classes, trip["classes"], strict=True):
            (part,), route = shown["parts"], group.routes[number].nodes
            assert points(part["points"]) == [cell_point(*label) for label in route]  # type: ignore[misc]
            assert part["nodes"] == list(range(len(route)))
            ((_, *steps),) = [told["steps"] for told in shown["directions"]]
            assert sum(int(step.split()[0]) for step in steps) == len(part["shifts"]) == len(route) - 1
            assert steps[-1].endswith(f"to {trip['goal']['name']}")


def test_points_are_where_they_are_on_earth() -> None:
    anchor = vr.Anchor(60.17, 24.93, 20.0)
    floor, town = vr.grid_domain(ROOM, anchor=anchor), little_town()
    assert domain_scene(floor)["map"]["scale"] == {"units": 0.5, "name": "m"}
    cells = [(0, 0), (2, 3)]
    middles = anchor.lonlat([(row + 0.5, col + 0.5) for row, col in cells]).tolist()
    for domain, labels, lonlat in (
        (floor, cells, middles),
        (town, [101, 108, 112], [place(label) for label in (101, 108, 112)]),
    ):
        plane, earth = plane_of(domain), domain_scene(domain)["map"]["earth"]
        for label, here in zip(labels, lonlat, strict=True):
            x, y = plane.spot(label)
            assert [earth["lon"] + x * earth["perX"], earth["lat"] + y * earth["perY"]] == pytest.approx(here, abs=2e-6)
            assert plane.spot_on_earth((here[0], here[1])) == pytest.approx([x, y], abs=1)
