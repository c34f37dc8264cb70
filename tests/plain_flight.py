"""Free flight worked out again, point by point in plain Python and exact fractions, without code of the library.

Polygons are lists of rings, and rings are lists of (x, y) in whole millimetres, x east and y south. The lattice is that
of the library: points in the middle of cells that begin in the north-west corner of the areas' box.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from random import Random

Point = tuple[Fraction | int, Fraction | int]
Ring = list[tuple[int, int]]
Polygon = list[Ring]

MM_PER_DEGREE = 6_371_008.8 * math.pi / 180 * 1000
HALF_MOVES = {8: [(0, 1), (1, -1), (1, 0), (1, 1)]}
HALF_MOVES[16] = [*HALF_MOVES[8], (1, -2), (1, 2), (2, -1), (2, 1)]


def edges_of(ring: Ring) -> list[tuple[Point, Point]]:
    return list(pairwise([*ring, ring[0]]))


def winding_number(ring: Ring, point: Point) -> int:
    """How often a ring goes round a point that is not on it (Sunday 2001)."""
    number = 0
    for (ax, ay), (bx, by) in edges_of(ring):
        side = (bx - ax) * (point[1] - ay) - (point[0] - ax) * (by - ay)
        if ay <= point[1] < by and side > 0:
            number += 1
        elif by <= point[1] < ay and side < 0:
            number -= 1
    return number


def is_on(ring: Ring, point: Point) -> bool:
    return any(meeting((point, point), edge) for edge in edges_of(ring))


def crossings(ring: Ring, point: Point) -> int:
    """How many edges a ray to the east meets, by where it meets them; lower ends count and upper ones do not."""
    number = 0
    for (ax, ay), (bx, by) in edges_of(ring):
        if min(ay, by) <= point[1] < max(ay, by):
            number += ax + Fraction((point[1] - ay) * (bx - ax)) / (by - ay) > point[0]
    return number


def is_in(polygon: Polygon, point: Point) -> bool:
    outer, *holes = polygon
    return crossings(outer, point) % 2 == 1 and all(crossings(hole, point) % 2 == 0 for hole in holes)


def meeting(first: tuple[Point, Point], second: tuple[Point, Point]) -> list[Fraction]:
    """Where on the first segment the second meets it, as fractions of its length; two where they run together."""
    (px, py), (qx, qy) = first
    (ax, ay), (bx, by) = second
    dx, dy, ex, ey = qx - px, qy - py, bx - ax, by - ay
    across = dx * ey - dy * ex
    if across != 0:
        t, s = Fraction((ax - px) * ey - (ay - py) * ex) / across, Fraction((ax - px) * dy - (ay - py) * dx) / across
        return [t] if 0 <= t <= 1 and 0 <= s <= 1 else []
    if (dx, dy) == (0, 0):  # a point: is it on the second?
        if (px - ax) * ey != (py - ay) * ex:
            return []
        return [Fraction(0)] if min(ax, bx) <= px <= max(ax, bx) and min(ay, by) <= py <= max(ay, by) else []
    if (ax - px) * dy != (ay - py) * dx:
        return []
    low, high = sorted(Fraction((x - px) * dx + (y - py) * dy) / (dx * dx + dy * dy) for x, y in second)
    return [max(low, Fraction(0)), min(high, Fraction(1))] if low <= 1 and high >= 0 else []


def is_simple(ring: Ring) -> bool:
    edges = edges_of(ring)
    for i, first in enumerate(edges):
        for j in range(i):
            met = meeting(first, edges[j])
            beside = i - j == 1 or i - j == len(edges) - 1
            if met and (not beside or len(set(met)) > 1):
                return False
    return len(ring) >= 3


def is_allowed(segment: tuple[Point, Point], areas: list[Polygon], no_fly: list[Polygon]) -> bool:
    """Whether a move stays within the areas and touches no no-fly polygon; its ends are known to be free."""
    if any(meeting(segment, edge) for polygon in no_fly for ring in polygon for edge in edges_of(ring)):
        return False
    (px, py), (qx, qy) = segment
    met = {t for polygon in areas for ring in polygon for edge in edges_of(ring) for t in meeting(segment, edge)}
    for low, high in pairwise(sorted({Fraction(0), Fraction(1)} | met)):
        middle = px + (low + high) / 2 * (qx - px), py + (low + high) / 2 * (qy - py)
        if not any(is_in(area, middle) or any(is_on(ring, middle) for ring in area) for area in areas):
            return False
    return True


def plain_moves(areas: list[Polygon], no_fly: list[Polygon], cell: int, ways: int) -> set[tuple[Point, Point]]:
    """All moves, both ways, as pairs of points."""
    xs, ys = ([point[i] for area in areas for ring in area for point in ring] for i in (0, 1))
    width, height = (max(1, math.ceil((max(values) - min(values)) / cell)) for values in (xs, ys))
    points = {
        (row, col): (min(xs) + cell // 2 + col * cell, min(ys) + cell // 2 + row * cell)
        for row in range(height)
        for col in range(width)
    }
    free = {
        at
        for at, point in points.items()
        if any(is_in(area, point) for area in areas) and not any(is_in(zone, point) for zone in no_fly)
    }
    moves: set[tuple[Point, Point]] = set()
    for row, col in free:
        for down, right in HALF_MOVES[ways]:
            there = row + down, col + right
            if there in free and is_allowed((points[row, col], points[there]), areas, no_fly):
                moves |= {(points[row, col], points[there]), (points[there], points[row, col])}
    return moves


def random_ring(rng: Random, middle: tuple[int, int], reach: int, step: int) -> Ring:
    """A simple ring whose corners are multiples of a step, so that many things touch that random ones would miss."""
    while True:
        angles = sorted(rng.uniform(0, 2 * math.pi) for _ in range(rng.randint(3, 9)))
        sizes = [rng.uniform(0.3, 1.0) * reach for _ in angles]
        corners = [
            (middle[0] + size * math.cos(angle), middle[1] + size * math.sin(angle))
            for angle, size in zip(angles, sizes, strict=True)
        ]
        ring = [(round(x / step) * step, round(y / step) * step) for x, y in corners]
        ring = [point for point, before in zip(ring, [ring[-1], *ring[:-1]], strict=True) if point != before]
        if len(ring) >= 3 and is_simple(ring):
            return ring


def random_sky(rng: Random) -> tuple[list[Polygon], list[Polygon]]:
    """Areas whose box has its middle at (0, 0), some with holes, side by side or one over the other; no-fly zones."""
    step = rng.choice([500, 1000, 250])
    frame = [(-6000, -5000), (6000, -5000), (6000, 5000), (-6000, 5000)]
    areas: list[Polygon] = [[frame]]
    match rng.randrange(3):
        case 1:  # two halves that share a border
            x = rng.randrange(-4, 5) * step
            areas = [
                [[(-6000, -5000), (x, -5000), (x, 5000), (-6000, 5000)]],
                [[(x, -5000), (6000, -5000), (6000, 5000), (x, 5000)]],
            ]
        case 2:  # triangles that overlap
            areas = [[[(-6000, -5000), (6000, -5000), (0, 5000)]], [[(-6000, 5000), (step, -5000), (6000, 5000)]]]
    if rng.random() < 0.5:
        areas[0].append(random_ring(rng, (-2500, 0), 1500, step))
    zones = []
    for _ in range(rng.randint(0, 3)):
        middle = rng.randrange(-5000, 5001, step), rng.randrange(-5000, 5001, step)
        zones.append([random_ring(rng, middle, rng.choice([1200, 3000]), step)])
    if zones and rng.random() < 0.3:
        x, y = zones[0][0][0]
        zones[0].append(random_ring(rng, (x, y), 1000, step))
    return areas, zones
