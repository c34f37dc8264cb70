"""Parallel lanes: routes that share an edge are drawn side by side.

Each class has one lane for its whole route. Lanes lie across an edge in the order of their numbers, starting on a
*side* of the edge that is the same for all classes. Sides are chosen so that a route which passes from one edge to
the next keeps its lane on the same hand; lanes then run round corners and down staircases without crossing. Where
that is impossible (a loop that closes onto the street it left) lanes cross once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Walk = Sequence[int]
Edge = tuple[int, int]

# Two offset lines that turn more sharply than this are cut off instead of being extended to where they meet.
_MITRE_LIMIT = 0.3


@dataclass(frozen=True)
class Lanes:
    """Where each class runs.

    Parameters
    ----------
    count
        How many lanes there are, at least 1.
    shifts
        For each class its distance from the middle of the edge, in lanes.
    sides
        For each edge ``(lower node, higher node)`` that is used, +1 or -1: the hand on which lanes of positive shift
        lie when one walks towards the higher node.
    """

    count: int
    shifts: tuple[float, ...]
    sides: dict[Edge, int]


def assign_lanes(walks: Sequence[Sequence[Walk]]) -> Lanes:
    """Give each class a lane such that classes which share an edge, in either direction, have different ones.

    Parameters
    ----------
    walks
        For each class the walks to draw in its lane, as node numbers.

    Notes
    -----
    Greedy colouring in the order of the classes, lowest free lane first. A class that shares no edge runs in the
    middle.
    """
    edges = [{_edge(a, b) for walk in group for a, b in pairwise(walk) if a != b} for group in walks]
    lanes: list[int] = []
    alone: list[bool] = []
    for i, mine in enumerate(edges):
        rivals = [j for j, other in enumerate(edges) if j != i and not mine.isdisjoint(other)]
        taken = {lanes[j] for j in rivals if j < i}
        lanes.append(next(lane for lane in range(len(edges)) if lane not in taken))
        alone.append(not rivals)
    count = max(lanes, default=0) + 1
    middle = (count - 1) / 2
    shifts = tuple(0.0 if single else lane - middle for lane, single in zip(lanes, alone, strict=True))
    return Lanes(count, shifts, _edge_sides([walk for group in walks for walk in group]))


def lane_path(walk: Walk, positions: Points, lanes: Lanes, shift: float) -> Points:
    """The line along a walk, moved sideways by ``shift`` (in the unit of ``positions``)."""
    points = positions[np.asarray(walk, dtype=np.int64)]
    if len(walk) < 2:
        return points
    normals = np.array([_normal(a, b, positions, lanes.sides) for a, b in pairwise(walk)])
    line: list[Points] = [points[0] + shift * normals[0]]
    for point, before, after in zip(points[1:-1], normals, normals[1:], strict=False):
        bend = 1.0 + float(before @ after)
        if bend > _MITRE_LIMIT:
            line.append(point + shift * (before + after) / bend)
        else:
            line += [point + shift * before, point + shift * after]
    line.append(points[-1] + shift * normals[-1])
    return np.array(line)


def _edge(a: int, b: int) -> Edge:
    return (a, b) if a < b else (b, a)


def _normal(a: int, b: int, positions: Points, sides: dict[Edge, int]) -> Points:
    if a == b:
        return np.zeros(2)
    low, high = _edge(a, b)
    dx, dy = positions[high] - positions[low]
    length = float(np.hypot(dx, dy))
    return np.array([-dy, dx]) * (sides[low, high] / length) if length > 0 else np.zeros(2)


def _edge_sides(walks: Iterable[Walk]) -> dict[Edge, int]:
    """Choose sides by joining edges that routes pass between, the most used passages first (Kruskal, with signs)."""
    passages: Counter[tuple[Edge, Edge, int]] = Counter()
    edges: dict[Edge, None] = {}
    for walk in walks:
        steps = [(_edge(a, b), 1 if a < b else -1) for a, b in pairwise(walk) if a != b]
        edges.update((edge, None) for edge, _ in steps)
        for (first, way1), (second, way2) in pairwise(steps):
            if first != second:
                passages[min(first, second), max(first, second), way1 * way2] += 1
    signs = _SignedSets(edges)
    # `most_common` keeps equal counts in the order of their first use.
    for (first, second, product), _ in passages.most_common():
        signs.join(first, second, product)
    return {edge: signs.find(edge)[1] for edge in edges}


class _SignedSets:
    """Disjoint sets whose members know their sign relative to the root."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        self._parent = {edge: (edge, 1) for edge in edges}

    def find(self, edge: Edge) -> tuple[Edge, int]:
        trail = []
        sign = 1
        while self._parent[edge][0] != edge:
            trail.append((edge, sign))
            parent, step = self._parent[edge]
            edge, sign = parent, sign * step
        for member, before in trail:
            self._parent[member] = (edge, before * sign)
        return edge, sign

    def join(self, first: Edge, second: Edge, product: int) -> None:
        root1, sign1 = self.find(first)
        root2, sign2 = self.find(second)
        if root1 != root2:
            self._parent[root2] = (root1, sign1 * sign2 * product)
