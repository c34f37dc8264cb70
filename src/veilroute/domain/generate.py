"""Seeded generators of believable maps, for demonstrations and tests.

All draw from a seeded ``random.Random`` alone and give the same result in every process; tests pin some results, so
that a Python whose generator draws differently would be noticed.
"""

import math
import random
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from veilroute.base.arrays import Flags
from veilroute.base.checks import check_whole
from veilroute.base.errors import InvalidInputError
from veilroute.domain.connectivity import largest_component, reached_from
from veilroute.domain.graph import Domain, Label
from veilroute.domain.grid import grid_domain


def generate_rooms(height: int = 40, width: int = 72, *, seed: int, movement: int = 4) -> Domain:
    """Make a building of rooms joined by corridors and doors; every free cell can reach every other.

    The floor is split in two again and again, each part gets a room, and the two halves of every split are joined
    by a corridor. Large rooms have pillars, and a few extra corridors make loops.
    """
    check_whole("generate_rooms.height", height, "an integer >= 12", least=12)
    check_whole("generate_rooms.width", width, "an integer >= 12", least=12)
    rng = random.Random(f"veilroute-rooms-{seed}")
    free = np.zeros((height, width), dtype=bool)
    rooms: list[_Box] = []
    _carve(free, _Box(1, 1, height - 1, width - 1), rng, rooms)
    for _ in range(max(2, len(rooms) // 4)):
        a, b = rng.sample(rooms, 2) if len(rooms) > 1 else (rooms[0], rooms[0])
        _join(free, a, b, rng, width=1)
    return grid_domain(free, movement=movement)


def generate_streets(
    num_rows: int = 14, num_cols: int = 18, *, seed: int, spacing_m: float = 90.0, one_way_share: float = 0.2
) -> Domain:
    """Make an organic street grid: a directed graph with coordinates and lengths in metres.

    A lattice of junctions is bent and shaken, some blocks are merged, an avenue cuts across, some streets are
    one-way, and the largest strongly connected part is kept.
    """
    check_whole("generate_streets.num_rows", num_rows, "an integer >= 3", least=3)
    check_whole("generate_streets.num_cols", num_cols, "an integer >= 3", least=3)
    if not 0 <= one_way_share <= 1:
        raise InvalidInputError("generate_streets.one_way_share", "a number from 0 to 1", one_way_share)
    rng = random.Random(f"veilroute-streets-{seed}")
    points = _bent_lattice(num_rows, num_cols, spacing_m, rng)
    edges: set[tuple[int, int]] = set()

    def pave(street: list[int], one_way: int) -> None:
        for a, b in pairwise(street):
            if rng.random() < 0.1:
                continue
            if one_way >= 0:
                edges.add((a, b))
            if one_way <= 0:
                edges.add((b, a))

    lines = [[r * num_cols + c for c in range(num_cols)] for r in range(num_rows)]
    lines += [[r * num_cols + c for r in range(num_rows)] for c in range(num_cols)]
    for line in lines:
        pave(line, rng.choice((-1, 1)) if rng.random() < one_way_share else 0)
    pave([i * num_cols + i for i in range(min(num_rows, num_cols))], 0)
    return _largest_strong_part(points, sorted(edges))


def draw_candidates(domain: Domain, start: Label, goal: Label, num: int, *, seed: int) -> list[Label]:
    """Draw candidates uniformly from the nodes, other than start and goal, that a walk between these can visit."""
    first, last = domain.node(start, field="start"), domain.node(goal, field="goal")
    between = reached_from(domain, first) & reached_from(domain, last, forward=False, backward=True)
    between[[first, last]] = False
    pool = np.flatnonzero(between).tolist()
    expected = f"1 to {len(pool)}, the nodes on the way"
    check_whole("number of random candidates", num, expected, least=1, most=len(pool))
    rng = random.Random(f"veilroute-candidates-{seed}")
    return [domain.label(node) for node in rng.sample(pool, num)]


@dataclass(frozen=True)
class _Box:
    top: int
    left: int
    bottom: int
    right: int

    @property
    def centre(self) -> tuple[int, int]:
        return (self.top + self.bottom) // 2, (self.left + self.right) // 2


def _carve(free: Flags, box: _Box, rng: random.Random, rooms: list[_Box]) -> _Box:
    """Fill ``box`` with rooms and corridors and return one of its rooms."""
    height, width = box.bottom - box.top, box.right - box.left
    smallest = 7
    split_rows = height >= 2 * smallest and (height * 2 > width or width < 2 * smallest)
    split_cols = width >= 2 * smallest and not split_rows
    if not (split_rows or split_cols) or (height * width < 260 and rng.random() < 0.35):
        room = _furnish(free, box, rng)
        rooms.append(room)
        return room
    if split_rows:
        cut = box.top + rng.randint(smallest, height - smallest)
        first, second = _Box(box.top, box.left, cut, box.right), _Box(cut, box.left, box.bottom, box.right)
    else:
        cut = box.left + rng.randint(smallest, width - smallest)
        first, second = _Box(box.top, box.left, box.bottom, cut), _Box(box.top, cut, box.bottom, box.right)
    a = _carve(free, first, rng, rooms)
    b = _carve(free, second, rng, rooms)
    _join(free, a, b, rng, width=rng.choice((1, 2)))
    return rng.choice((a, b))


def _furnish(free: Flags, box: _Box, rng: random.Random) -> _Box:
    top, left = box.top + rng.randint(0, 1), box.left + rng.randint(0, 1)
    bottom, right = box.bottom - rng.randint(1, 2), box.right - rng.randint(1, 2)
    free[top:bottom, left:right] = True
    room = _Box(top, left, bottom, right)
    if bottom - top >= 8 and right - left >= 8:
        for row in range(top + 2, bottom - 2, 3):
            for col in range(left + 2, right - 2, 4):
                if rng.random() < 0.5 and (row, col) != room.centre:
                    free[row, col] = False
    return room


def _join(free: Flags, a: _Box, b: _Box, rng: random.Random, *, width: int) -> None:
    (row_a, col_a), (row_b, col_b) = a.centre, b.centre
    turn_row, turn_col = (row_a, col_b) if rng.random() < 0.5 else (row_b, col_a)
    for row0, col0, row1, col1 in ((row_a, col_a, turn_row, turn_col), (turn_row, turn_col, row_b, col_b)):
        top, bottom = sorted((row0, row1))
        left, right = sorted((col0, col1))
        thick_rows, thick_cols = (width, 1) if top == bottom else (1, width)
        below, beside = min(bottom + thick_rows, free.shape[0] - 1), min(right + thick_cols, free.shape[1] - 1)
        free[top:below, left:beside] = True


def _bent_lattice(num_rows: int, num_cols: int, spacing_m: float, rng: random.Random) -> list[tuple[float, float]]:
    phase_x, phase_y = rng.random() * math.tau, rng.random() * math.tau
    points = []
    for row in range(num_rows):
        for col in range(num_cols):
            bend_x = 0.45 * math.sin(phase_x + row * 0.55)
            bend_y = 0.45 * math.sin(phase_y + col * 0.45)
            x = col + bend_x + (rng.random() - 0.5) * 0.4
            y = row + bend_y + (rng.random() - 0.5) * 0.4
            # Rounded, so that the last bit of a platform's sine cannot change the map.
            points.append((round(x * spacing_m, 1), round(y * spacing_m, 1)))
    return points


def _largest_strong_part(points: list[tuple[float, float]], edges: list[tuple[int, int]]) -> Domain:
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    part = np.flatnonzero(largest_component(len(points), ends[:, 0], ends[:, 1])).tolist()
    number = {node: i for i, node in enumerate(part)}
    kept = [(tail, head) for tail, head in edges if tail in number and head in number]
    lengths = [round(math.dist(points[tail], points[head]), 1) for tail, head in kept]
    tails, heads = ([number[edge[end]] for edge in kept] for end in (0, 1))
    return Domain.from_edges(len(part), tails, heads, lengths, coordinates=[points[node] for node in part])
