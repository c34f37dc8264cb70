"""Free flight: an area less its no-fly zones as a lattice of points, with 8 or 16 moves from each.

Points stand in the middle of square cells, row 0 in the north. A move is kept when it stays within the area and has no
point in common with a no-fly zone, whose border belongs to it. The result is a street network without streets: it has
places on earth and lengths in metres, so whatever works on streets works on it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from veilroute.base.arrays import Flags, Floats, Ints
from veilroute.base.checks import is_number
from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import AIR, EARTH_RADIUS_M, great_circle_m, street_domain
from veilroute.domain.graph import Domain, spans
from veilroute.domain.polygons import MOST, Shape, chunks_of, crossing_of, stays_inside, touches, without_repeats

WAYS = (8, 16)
MOST_POINTS = 2**20
_MOST_CELLS = 2**25  # of the box around the area
_LEAST_CELL_M = 0.1
_WIDEST_M = 250_000.0  # beyond, a plane is too crude a picture of the earth
_CHUNK = 1_000_000

# Half of the moves, as rows south and columns east; the others are their reverses.
_STEPS = (0, 1), (1, -1), (1, 0), (1, 1)
_MOVES: dict[int, tuple[tuple[int, int], ...]] = {8: _STEPS, 16: (*_STEPS, (1, -2), (1, 2), (2, -1), (2, 1))}


@dataclass(frozen=True, eq=False)
class Zone:
    """A polygon on earth: its outer ring and its holes as longitude and latitude, and what to call it in messages."""

    name: str
    rings: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class FreeFlight:
    """A network of free flight, with what to report about it."""

    domain: Domain
    num_areas: int  #: polygons of the area
    area_m2: float  #: of all of them, before no-fly zones are taken away
    num_no_fly: int  #: no-fly zones that lie within reach


def free_flight(areas: Sequence[Zone], no_fly: Sequence[Zone], *, cell: float, ways: int = 16) -> FreeFlight:
    """Make the network of free flight over some areas and around no-fly zones.

    Parameters
    ----------
    areas
        Where to fly; polygons that overlap or share a border are one area.
    no_fly
        Where not to.
    cell
        How far apart the points are, in metres.
    ways
        8 (straight and diagonal moves) or 16 (knight's moves as well). Between two points of an empty plane routes are
        at most 8.2 % longer than the straight line with 8 ways, and 2.8 % with 16.
    """
    if not is_number(cell, _LEAST_CELL_M, _WIDEST_M):
        raise InvalidInputError("cell", f"metres from {_LEAST_CELL_M:g} to {_WIDEST_M:g}", cell)
    if ways not in WAYS:
        raise InvalidInputError("ways", "8 or 16", ways)
    if not areas:
        raise InvalidInputError("area", "a polygon to fly in; there is none that is not marked as no-fly")
    plane = _Plane(areas)
    lands = [plane.shape(zone) for zone in areas]
    _check_needed(areas, lands)
    shut = [plane.shape(zone) for zone in no_fly if plane.is_near(zone)]
    area_m2 = sum(land.area_mm2 for land in lands) / 1e6
    lattice = _Lattice(plane, round(cell * 1000), area_m2)
    free = np.zeros(lattice.size, dtype=bool)
    for land in lands:
        rows, cols, inside = lattice.cells_in(land)
        free[rows, cols] |= inside
    for shape in shut:
        rows, cols, inside = lattice.cells_in(shape)
        free[rows, cols] &= ~inside
    pairs = np.concatenate([_moves_between(lattice, free, move, lands, shut) for move in _MOVES[ways]])
    if not len(pairs):
        fitting = f"a smaller one: of a lattice {cell:g} m wide {int(free.sum())} points are free, and no move is"
        raise InvalidInputError("cell", fitting, cell)
    return FreeFlight(_network(lattice, pairs), len(lands), area_m2, len(shut))


class _Plane:
    """Longitude and latitude as whole millimetres east and south of the middle of the area."""

    def __init__(self, areas: Sequence[Zone]) -> None:
        points = np.concatenate([ring for zone in areas for ring in zone.rings])
        self.low, self.high = points.min(axis=0), points.max(axis=0)
        self.middle = (self.low + self.high) / 2
        down = EARTH_RADIUS_M * math.radians(1) * 1000
        self._scale = np.array([down * math.cos(math.radians(float(self.middle[1]))), -down])
        self.box = np.sort(np.rint((np.stack([self.low, self.high]) - self.middle) * self._scale), axis=0).astype(
            np.int64
        )
        across = float((self.box[1] - self.box[0]).max()) / 1000
        if across > _WIDEST_M or abs(float(self.middle[1])) > 85:
            expected = f"an area of at most {_WIDEST_M / 1000:g} km across, and not at a pole"
            raise InvalidInputError("area", expected, f"{across / 1000:,.0f} km")

    def is_near(self, zone: Zone) -> bool:
        """Whether a zone's box meets that of the area."""
        outer = zone.rings[0]
        return bool((outer.min(axis=0) <= self.high).all() and (outer.max(axis=0) >= self.low).all())

    def shape(self, zone: Zone) -> Shape:
        """A zone on the plane, or one line about a ring that cannot be used."""
        rings = []
        for number, ring in enumerate(zone.rings):
            where = zone.name if number == 0 else f"{zone.name}, hole {number}"
            flat = (ring - self.middle) * self._scale
            if float(np.abs(flat).max()) >= MOST:
                raise InvalidInputError(where, f"a ring within {MOST / 1e6:.0f} km of the area; cut it off there")
            points = without_repeats(np.rint(flat).astype(np.int64))
            if len(points) < 3:
                raise InvalidInputError(
                    where, "a ring of three corners or more that are a millimetre apart", len(points)
                )
            if (crossing := crossing_of(points)) is not None:
                lon, lat = self.lonlat(np.array([crossing]))[0].tolist()
                raise InvalidInputError(where, f"a ring that does not cross or touch itself, as at {lat:.6f},{lon:.6f}")
            rings.append(points)
        return Shape(tuple(rings))

    def lonlat(self, points: Ints) -> Floats:
        """Longitude and latitude of points on the plane, to a tenth of a millimetre."""
        return np.asarray(np.round(points / self._scale + self.middle, 9))


def _check_needed(areas: Sequence[Zone], lands: Sequence[Shape]) -> None:
    """Raise when a polygon adds nothing to the area: somebody drew a no-fly zone and did not say so."""
    for i, inner in enumerate(lands):
        for j, outer in enumerate(lands):
            if i != j and bool(outer.holds(inner.rings[0]).all()) and inner.area_mm2 < outer.area_mm2:
                expected = (
                    f"no_fly: true among its properties, or no such polygon: {areas[j].name} has all of it already"
                )
                raise InvalidInputError(areas[i].name, expected)


class _Lattice:
    """The points: where they are on the plane, and how many."""

    def __init__(self, plane: _Plane, cell: int, area_m2: float) -> None:
        self.plane, self.cell = plane, cell
        low, high = plane.box
        width, height = (np.maximum(-(-(high - low) // cell), 1)).tolist()
        num_points = area_m2 * 1e6 / cell**2
        if num_points > MOST_POINTS or width * height > _MOST_CELLS:
            least = max(math.sqrt(area_m2 / MOST_POINTS), cell / 1000 * math.sqrt(width * height / _MOST_CELLS))
            digits = 1 - math.floor(math.log10(least))
            least = math.ceil(least * 10**digits) / 10**digits
            makes = f"{cell / 1000:g} makes about {num_points:,.0f} points, and {MOST_POINTS:,} are the most"
            raise InvalidInputError("cell", f"at least {least:g} metres: {makes}")
        self.size = height, width
        self.first = low + cell // 2

    def points(self, rows: Ints, cols: Ints) -> Ints:
        """Where points are on the plane."""
        return np.asarray(self.first + self.cell * np.stack([cols, rows], axis=-1))

    def cells_in(self, shape: Shape) -> tuple[slice, slice, Flags]:
        """Which points are in a shape: a window of rows and columns, and a flag for each point in it."""
        outer, most = shape.rings[0], np.array(self.size[::-1])
        low = np.clip((outer.min(axis=0) - self.first) // self.cell, 0, most)
        high = np.clip((outer.max(axis=0) - self.first) // self.cell + 2, low, most)
        (left, top), (right, bottom) = low.tolist(), high.tolist()
        rows, cols = slice(top, bottom), slice(left, right)
        inside = self._ring_mask(outer, rows, cols)
        for hole in shape.rings[1:]:
            inside &= ~self._ring_mask(hole, rows, cols)
        return rows, cols, inside

    def _ring_mask(self, ring: Ints, rows: slice, cols: slice) -> Flags:
        """Row by row: each edge of the ring turns the points west of it over. Exact, by division of integers."""
        a, b = ring, np.roll(ring, -1, axis=0)
        down = a[:, 1:] > b[:, 1:]
        a, b = np.where(down, b, a), np.where(down, a, b)
        first, last = (-(-(end[:, 1] - int(self.first[1])) // self.cell) for end in (a, b))
        first, last = (np.clip(bound, rows.start, rows.stop) for bound in (first, last))
        edge, row = np.repeat(np.arange(len(ring)), last - first), spans(first, last - first)
        (xa, ya), (xb, yb) = a[edge].T, b[edge].T
        west, north = self.points(row, np.full_like(row, cols.start)).T
        num_cols = cols.stop - cols.start
        turned = -(-((north - ya) * (xb - xa) + (xa - west) * (yb - ya)) // ((yb - ya) * self.cell))
        place = (row - rows.start) * (num_cols + 1) + np.clip(turned, 0, num_cols)
        counts = np.bincount(place, minlength=(rows.stop - rows.start) * (num_cols + 1)).reshape(-1, num_cols + 1)
        return np.asarray(np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, 1:] % 2 == 1)

    def near(self, edges: Ints, reach: int) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Edges with the rows and columns of points from which a move of ``reach`` may touch them, some at a time."""
        ends = (edges.reshape(-1, 2, 2) - self.first) / self.cell
        (u1, v1), (u2, v2) = np.moveaxis(ends, 1, 0).transpose(0, 2, 1)
        height, width = self.size
        first = np.clip(np.ceil(np.minimum(v1, v2)) - reach, 0, height).astype(np.int64)
        last = np.clip(np.floor(np.maximum(v1, v2)) + 1, first, height).astype(np.int64)
        for some in chunks_of(last - first, _CHUNK):
            edge, row = np.repeat(some, (last - first)[some]), spans(first[some], (last - first)[some])
            level = v1[edge] == v2[edge]
            rise = np.where(level, 1.0, v2[edge] - v1[edge])
            between = [np.clip((row + far - v1[edge]) / rise, 0.0, 1.0) for far in (0, reach)]
            at = [u1[edge] + np.where(level, i, part) * (u2 - u1)[edge] for i, part in enumerate(between)]
            left = np.clip(np.floor(np.minimum(*at)) - reach, 0, width).astype(np.int64)
            right = np.clip(np.ceil(np.maximum(*at)) + reach + 1, left, width).astype(np.int64)
            for part in chunks_of(right - left, _CHUNK):
                sizes = (right - left)[part]
                yield np.repeat(edge[part], sizes), np.repeat(row[part], sizes), spans(left[part], sizes)


def _moves_between(
    lattice: _Lattice, free: Flags, move: tuple[int, int], lands: Sequence[Shape], shut: Sequence[Shape]
) -> Ints:
    """The moves of one kind that are allowed, as pairs of cells numbered row by row."""
    down, right = move
    height, width = lattice.size
    rows, cols = slice(0, height - down), slice(max(-right, 0), width - max(right, 0))
    ahead = slice(down, height), slice(cols.start + right, cols.stop + right)
    allowed = np.zeros(free.shape, dtype=bool)
    if cols.start < cols.stop:
        allowed[rows, cols] = free[rows, cols] & free[ahead]
    for cells, _, _ in _touching(lattice, allowed, move, shut):
        allowed.reshape(-1)[cells] = False
    found = list(_touching(lattice, allowed, move, lands))
    if found:
        cells, segments, edges = (np.concatenate(parts) for parts in zip(*found, strict=True))
        which, first, crossed = np.unique(cells, return_index=True, return_inverse=True)
        leaving = ~stays_inside(segments[first], crossed.reshape(-1), edges, lands)
        allowed.reshape(-1)[which[leaving]] = False
    tails = np.flatnonzero(allowed)
    return np.column_stack([tails, tails + down * width + right])


def _touching(
    lattice: _Lattice, allowed: Flags, move: tuple[int, int], shapes: Sequence[Shape]
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Moves that touch an edge of a shape: the cells that they start from, their segments, and the edges."""
    if not shapes:
        return
    edges = np.concatenate([shape.edges for shape in shapes])
    for edge, row, col in lattice.near(edges, max(abs(move[0]), abs(move[1]))):
        kept = np.flatnonzero(allowed[row, col])
        edge, row, col = edge[kept], row[kept], col[kept]
        segments = np.hstack([lattice.points(row, col), lattice.points(row + move[0], col + move[1])])
        touched = np.flatnonzero(touches(segments, edges[edge]))
        yield row[touched] * lattice.size[1] + col[touched], segments[touched], edges[edge[touched]]


def _network(lattice: _Lattice, pairs: Ints) -> Domain:
    """The network of the moves, both ways, on the points that have one."""
    cells, numbers = np.unique(pairs, return_inverse=True)
    one, other = numbers.reshape(-1, 2).T
    lonlat = lattice.plane.lonlat(lattice.points(*np.divmod(cells, lattice.size[1])))
    # To the millimetre, so that the last bit of a platform's sine is in no file.
    metres = np.tile(np.round(great_circle_m(lonlat[one], lonlat[other]), 3), 2)
    return street_domain(
        lonlat=lonlat,
        tails=np.concatenate([one, other]),
        heads=np.concatenate([other, one]),
        costs=metres,
        lengths=metres,
        unit="metres",
        kinds=(AIR,),
    )
