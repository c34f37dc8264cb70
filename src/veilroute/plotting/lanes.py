"""Parallel lanes: routes that share an edge are drawn side by side.

Each class has one lane for its whole route. Lanes lie across an edge in the order of their numbers, starting on a
*side* of the edge that is the same for all classes. Sides are chosen so that a route which passes from one edge to
the next keeps its lane on the same hand; lanes then run round corners and down staircases without crossing. Where
that is impossible (a loop that closes onto the street it left) lanes cross once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from veilroute.base.arrays import Points

Walk = Sequence[int]
Edge = tuple[int, int]

# Cosine of the largest turn that still counts as going straight on.
_STRAIGHT = 0.9


@dataclass(frozen=True, eq=False)
class Lanes:
    """Where each class runs; an edge is ``(lower node, higher node)``."""

    lanes: tuple[int, ...]  # of each class, from 0
    users: dict[Edge, tuple[int, ...]]  # the classes on each edge in the order of their lanes
    # For each edge whether lanes are counted from its right to its left, as seen by who walks towards the higher node
    # (+1), or the other way round (-1).
    sides: dict[Edge, int]

    @property
    def count(self) -> int:
        """How many lanes there are, at least 1."""
        return max(self.lanes, default=0) + 1

    @property
    def most_abreast(self) -> int:
        """The largest number of classes on one edge, at least 1."""
        return max(map(len, self.users.values()), default=1)

    def fixed_shifts(self, index: int, walk: Walk) -> Points:
        """For each move of a walk the distance from the middle of the edge, in lanes: everywhere the same.

        A class that shares no edge runs in the middle.
        """
        shared = any(index in users and len(users) > 1 for users in self.users.values())
        shift = self.lanes[index] - (self.count - 1) / 2 if shared else 0.0
        return np.full(max(len(walk) - 1, 0), shift)

    def tight_shifts(self, index: int, walk: Walk) -> Points:
        """Like :meth:`fixed_shifts`, but lanes that are free on an edge are closed up, so that bundles are narrow."""
        shifts = np.zeros(max(len(walk) - 1, 0))
        for i, (a, b) in enumerate(pairwise(walk)):
            users = self.users.get(_edge(a, b), (index,))
            shifts[i] = users.index(index) - (len(users) - 1) / 2
        return shifts

    def left_shifts(self, index: int, walk: Walk) -> Points:
        """Like :meth:`tight_shifts`, but to the left of who walks."""
        return self.tight_shifts(index, walk) * self._signs(walk)

    def _signs(self, walk: Walk) -> Points:
        """For each move +1 where higher lanes are on the left of who walks, -1 where they are on the right."""
        return np.array([self.sides.get(_edge(a, b), 0) * (1.0 if a < b else -1.0) for a, b in pairwise(walk)])

    def normals(self, walk: Walk, positions: Points) -> Points:
        """For each move of a walk the unit vector across it, towards higher lanes; zero for a move of no length."""
        ends = positions[np.asarray(walk, dtype=np.int64)]
        along = np.diff(ends, axis=0)
        lengths = np.hypot(along[:, 0], along[:, 1])
        across = np.column_stack([-along[:, 1], along[:, 0]])
        return across * (self._signs(walk) / np.where(lengths > 0, lengths, 1.0))[:, None]


def assign_lanes(walks: Sequence[Sequence[Walk]], positions: Points) -> Lanes:
    """Give each class a lane for its walks, so that classes which share an edge, in either direction, differ.

    Greedy colouring in the order of the classes, lowest free lane first.
    """
    users: dict[Edge, list[int]] = {}
    for i, group in enumerate(walks):
        for edge in dict.fromkeys(_edge(a, b) for walk in group for a, b in pairwise(walk) if a != b):
            users.setdefault(edge, []).append(i)
    rivals: list[set[int]] = [set() for _ in walks]
    for together in users.values():
        for i in together:
            rivals[i].update(together)
    lanes: list[int] = []
    for i, others in enumerate(rivals):
        taken = {lanes[j] for j in others if j < i}
        lanes.append(next(lane for lane in range(len(rivals)) if lane not in taken))
    by_lane = {edge: tuple(sorted(together, key=lambda i: lanes[i])) for edge, together in users.items()}
    sides = _edge_sides([walk for group in walks for walk in group], positions)
    return Lanes(tuple(lanes), by_lane, sides)


def _edge(a: int, b: int) -> Edge:
    return (a, b) if a < b else (b, a)


def _edge_sides(walks: Iterable[Walk], positions: Points) -> dict[Edge, int]:
    """Choose sides by joining edges that routes pass between (Kruskal's algorithm, with signs).

    Straight passages come first, because lanes that must cross had better do so at a corner; then the most used.
    """
    passages: Counter[tuple[Edge, Edge, int]] = Counter()
    straight: set[tuple[Edge, Edge, int]] = set()
    edges: dict[Edge, None] = {}
    for walk in walks:
        moves = [(a, b) for a, b in pairwise(walk) if a != b]
        edges.update((_edge(a, b), None) for a, b in moves)
        for (a, b), (_, c) in pairwise(moves):
            if a == c:
                continue
            first, second = sorted((_edge(a, b), _edge(b, c)))
            passage = (first, second, 1 if (a < b) == (b < c) else -1)
            passages[passage] += 1
            before, after = positions[b] - positions[a], positions[c] - positions[b]
            if float(before @ after) > _STRAIGHT * float(np.hypot(*before) * np.hypot(*after)):
                straight.add(passage)
    # `most_common` keeps equal counts in the order of their first use, and so does `sorted`.
    by_use = [passage for passage, _ in passages.most_common()]
    return _signs(edges, sorted(by_use, key=lambda passage: passage not in straight))


def _signs(edges: Iterable[Edge], passages: Iterable[tuple[Edge, Edge, int]]) -> dict[Edge, int]:
    """Signs whose product over the two edges of a passage is as it says, unless that contradicts earlier passages.

    Disjoint sets, whose members know their sign relative to their parent.
    """
    parents = {edge: (edge, 1) for edge in edges}

    def find(edge: Edge) -> tuple[Edge, int]:
        trail, sign = [], 1
        while parents[edge][0] != edge:
            trail.append((edge, sign))
            edge, sign = parents[edge][0], sign * parents[edge][1]
        for member, before in trail:
            # Signs are their own inverses, so this is the way from the member to the root.
            parents[member] = (edge, before * sign)
        return edge, sign

    for first, second, product in passages:
        (root1, sign1), (root2, sign2) = find(first), find(second)
        if root1 != root2:
            parents[root2] = (root1, sign1 * sign2 * product)
    return {edge: find(edge)[1] for edge in parents}
