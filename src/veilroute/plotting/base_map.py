"""The map underneath as data for the page: streets, cells or lines in whole map units, x east and y north.

On street networks a unit is a decimetre: finer than a pixel at the closest zoom, and short as text. A cell of a grid
measures ten units, the middle of cell (0, 0) is at the origin. A graph that is nowhere on earth is scaled so that a
typical edge measures 500 units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilroute.base.arrays import Floats, Ints, Points
from veilroute.domain.geography import EARTH_RADIUS_M
from veilroute.domain.graph import Domain, Label, label_text
from veilroute.plotting.domain_plot import StreetLines, bend_walks, street_lines
from veilroute.plotting.frame import frame_of
from veilroute.plotting.lanes import Walk, assign_lanes
from veilroute.plotting.palette import class_style

PER_METRE = 10
PER_CELL = 10
_PER_EDGE = 500.0
# A graph's coordinates may be anything; in map units it measures no more than this.
_WIDEST = 1e7
# Of so many nodes the page knows the labels, so that they can be clicked.
_MOST_LABELS = 20_000
# The rank of what is no real street.
_PLAIN_RANK = 2


@dataclass(frozen=True, eq=False)
class Plane:
    """Where everything of a domain is in map units, before they are made whole."""

    domain: Domain
    kind: str  #: "streets", "grid" or "graph"
    nodes: Floats  #: one (x, y) per node

    def lay(self, walks: Sequence[Sequence[Walk]]) -> tuple[list[list[Walk]], Points]:
        """Walks whose bends count as nodes, with numbers beyond the domain's own, and where nodes and bends are."""
        if self.kind != "streets":
            return [list(group) for group in walks], self.nodes
        bent, metres = bend_walks(self.domain, walks)
        return bent, metres * PER_METRE

    def line(self, walk: Walk) -> Ints:
        """The points of one walk along its bends."""
        ((bent,),), positions = self.lay([[walk]])
        return whole(positions[np.asarray(bent, dtype=np.int64)])

    def spot(self, label: Label) -> list[int]:
        """Where the node of a label is."""
        return [int(value) for value in whole(self.nodes[self.domain.node(label)])]

    def spot_on_earth(self, lonlat: tuple[float, float]) -> list[int] | None:
        """Where a longitude and latitude is; ``None`` where the map does not know where on earth it lies."""
        earth = self.earth()
        if earth is None:
            return None
        x, y = (lonlat[0] - earth["lon"]) / earth["perX"], (lonlat[1] - earth["lat"]) / earth["perY"]
        return [round(x), round(y)]

    def earth(self) -> dict[str, float] | None:
        """From a point to degrees: longitude is ``lon + x * perX``, latitude is ``lat + y * perY``."""
        degree = EARTH_RADIUS_M * math.radians(1)
        if self.domain.streets is not None:
            lon, lat = self.domain.streets.middle
            per_y = 1 / (degree * PER_METRE)
            return {"lon": lon, "lat": lat, "perX": per_y / math.cos(math.radians(lat)), "perY": per_y}
        anchor = None if self.domain.grid is None else self.domain.grid.anchor
        if anchor is None:
            return None
        (lon, lat), (east, south) = anchor.lonlat([(0.5, 0.5), (1.5, 1.5)]).tolist()
        return {"lon": lon, "lat": lat, "perX": (east - lon) / PER_CELL, "perY": (lat - south) / PER_CELL}

    def scale(self) -> dict[str, Any] | None:
        """How many units a metre has or, on grids that are nowhere on earth, a cell."""
        grid = self.domain.grid
        if grid is not None:
            if grid.anchor is None:
                return {"units": PER_CELL, "name": "cells"}
            return {"units": PER_CELL / grid.anchor.cell_m, "name": "m"}
        return {"units": PER_METRE, "name": "m"} if self.kind == "streets" else None


def plane_of(domain: Domain) -> Plane:
    """Lay the map out."""
    if domain.grid is not None:
        cells = domain.grid.cells[:, ::-1].astype(np.float64)
        return Plane(domain, "grid", cells * (PER_CELL, -PER_CELL))
    if domain.streets is not None:
        return Plane(domain, "streets", domain.streets.project(domain.streets.lonlat) * PER_METRE)
    frame = frame_of(domain)
    low, high = frame.positions.min(axis=0), frame.positions.max(axis=0)
    extent = float((high - low).max())
    factor = min(_PER_EDGE / frame.step, _WIDEST / extent if extent > 0 else math.inf)
    return Plane(domain, "graph", (frame.positions - low) * factor)


def map_data(plane: Plane) -> dict[str, Any]:
    """The map as the page draws it."""
    domain, points = plane.domain, whole(plane.nodes)
    streets, grid = domain.on_earth, domain.grid
    data: dict[str, Any] = {
        "kind": plane.kind,
        "box": box_of(points),
        "scale": plane.scale(),
        "earth": plane.earth(),
        "attribution": "" if streets is None else streets.attribution,
        "nodes": None,
    }
    if grid is not None:
        return data | {"box": _cells_box(points), "grid": {"rows": grid.rows()}}
    if plane.kind == "streets":
        return data | {"streets": street_data(domain)}
    if domain.num_nodes <= _MOST_LABELS:
        labels = [label_text(label) for label in domain.labels_of(np.arange(domain.num_nodes))]
        data["nodes"] = {"points": differences(points), "labels": labels}
    return data | {"streets": _edge_data(domain, points)}


def street_data(domain: Domain) -> dict[str, Any]:
    """The streets as the page draws them."""
    assert domain.streets is not None, "grids have cells"
    shown: StreetLines = street_lines(domain)
    return {
        "points": differences(whole(PER_METRE * np.concatenate([np.empty((0, 2)), *shown.points]))),
        "sizes": [len(line) for line in shown.points],
        "ranks": shown.ranks.tolist(),
        "oneWay": shown.is_one_way.astype(np.int64).tolist(),
        "names": list(domain.streets.names),
        "nameIds": domain.streets.name_ids[shown.edges].tolist(),
    }


def _edge_data(domain: Domain, points: Ints) -> dict[str, Any]:
    """The edges of a graph in place of streets: each once, in both directions or in one."""
    tails, heads, _ = domain.edge_arrays()
    one_way = ~np.isin(tails * domain.num_nodes + heads, heads * domain.num_nodes + tails)
    drawn = one_way | (tails < heads)
    ends = np.stack([points[tails[drawn]], points[heads[drawn]]], axis=1)
    num = len(ends)
    return {
        "points": differences(ends.reshape(-1, 2)),
        "sizes": [2] * num,
        "ranks": [_PLAIN_RANK] * num,
        "oneWay": one_way[drawn].astype(np.int64).tolist(),
        "names": [""],
        "nameIds": [0] * num,
    }


def _cells_box(middles: Ints) -> list[int]:
    """The box around whole cells, of which the middles are known."""
    half = PER_CELL // 2
    west, south, east, north = box_of(middles)
    return [west - half, south - half, east + half, north + half]


def line_data(
    walks: Sequence[Sequence[Walk]], positions: Points, num_nodes: int, sights: Sequence[Sequence[Sequence[int]]]
) -> list[dict[str, Any]]:
    """The lines of classes, or of vehicles, as the page draws them; who has no walk is left out.

    Of the numbers in a walk those below ``num_nodes`` are nodes, and the others bends.
    """
    lanes = assign_lanes(walks, positions)
    classes = []
    for i, group in enumerate(walks):
        if not group:
            continue
        style, lines = class_style(i), [whole(positions[np.asarray(walk, dtype=np.int64)]) for walk in group]
        # In halves of a lane, to the left of who walks.
        shifts = [(2 * lanes.left_shifts(i, walk)).astype(np.int64).tolist() for walk in group]
        parts = []
        for walk, line, aside in zip(group, lines, shifts, strict=True):
            at_node = [j for j, node in enumerate(walk) if node < num_nodes]
            parts.append({"points": differences(line), "shifts": aside, "nodes": at_node})
        classes.append(
            {
                "number": i + 1,
                "colour": style.colour,
                "ink": style.text,
                "route": style.route,
                "edge": style.edge,
                "dashes": list(style.dashes),
                "parts": parts,
                # From a candidate that the route only passes by to where it is seen from.
                "sights": [list(sight) for sight in sights[i]],
                "box": box_of(np.concatenate(lines)),
            }
        )
    return classes


def whole(points: Points) -> Ints:
    """Map units made whole."""
    return np.rint(points).astype(np.int64)


def differences(points: Ints) -> list[int]:
    """Each point as the way from the one before, the first from (0, 0); x and y in turn."""
    return list(np.diff(points, axis=0, prepend=np.zeros((1, 2), dtype=np.int64)).reshape(-1).tolist())


def box_of(points: Ints) -> list[int]:
    """West, south, east, north."""
    return [*points.min(axis=0).tolist(), *points.max(axis=0).tolist()]
