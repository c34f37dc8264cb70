"""Polygons on a plane of whole millimetres: what is inside, what touches, which rings cross themselves.

Coordinates are integers below 2^29 (half a thousand kilometres), so that every product of two differences is exact: two
segments touch or they do not, and no rounding decides. A point on a ring's border counts as inside or outside by the
half-open rule: of polygons that share an edge, exactly one holds it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veilroute.base.arrays import Flags, Floats, Ints
from veilroute.domain.graph import spans

MOST = 2**29  #: what coordinates stay below, in millimetres
_CHUNK = 2_000_000  # pairs that are compared at a time
_SHORTEST_MM = 0.1  # what is left of a segment between two borders, if shorter, is rounding


@dataclass(frozen=True, eq=False)
class Shape:
    """A polygon: what its outer ring encloses, less what the others do. Rings are arrays of (x, y) without an end."""

    rings: tuple[Ints, ...]

    @cached_property
    def edges(self) -> Ints:
        """All edges as rows of x, y, x, y."""
        return np.concatenate([np.hstack([ring, np.roll(ring, -1, axis=0)]) for ring in self.rings])

    @property
    def area_mm2(self) -> float:
        """The outer ring's area less that of the others."""
        outer, *holes = (abs(_doubled_area(ring)) / 2 for ring in self.rings)
        return max(outer - sum(holes), 0.0)

    def holds(self, points: Ints | Floats) -> Flags:
        """Which points are inside; exact where their coordinates are integers."""
        inside = _in_ring(self.rings[0], points)
        for hole in self.rings[1:]:
            inside &= ~_in_ring(hole, points)
        return inside


def without_repeats(ring: Ints) -> Ints:
    """A ring without points that repeat the one before, the last of a closed ring among them."""
    return np.asarray(ring[(ring != np.roll(ring, 1, axis=0)).any(axis=1)])


def crossing_of(ring: Ints) -> tuple[int, int] | None:
    """A point near which a ring crosses or touches itself, or turns back on itself; ``None`` when it is simple."""
    ends = np.hstack([ring, np.roll(ring, -1, axis=0)])
    before = np.roll(ends, 1, axis=0)
    back = (_turn(before[:, :2], ends[:, :2], ends[:, 2:]) == 0) & (_dot(before, ends) < 0)
    if back.any():
        return _point(ends[np.argmax(back), :2])
    for a, b in _pairs_that_overlap(ends):
        apart = np.abs(a - b)
        far = (apart > 1) & (apart < len(ends) - 1)
        a, b = a[far], b[far]
        touching = np.flatnonzero(touches(ends[a], ends[b]))
        if touching.size:
            return _point(ends[b[touching[0]], :2])
    return None


def touches(first: Ints, second: Ints) -> Flags:
    """Which segments, in rows of x, y, x, y, have a point in common with their partner; exact."""
    (p, q), (a, b) = (np.split(segments, 2, axis=-1) for segments in (first, second))
    boxes = (np.maximum(p, q) >= np.minimum(a, b)) & (np.maximum(a, b) >= np.minimum(p, q))
    across = np.sign(_turn(p, q, a)) * np.sign(_turn(p, q, b)) <= 0
    return np.asarray(boxes.all(axis=-1) & across & (np.sign(_turn(a, b, p)) * np.sign(_turn(a, b, q)) <= 0))


def stays_inside(segments: Ints, crossed: Ints, edges: Ints, shapes: Sequence[Shape]) -> Flags:
    """Which segments keep to the union of some shapes, borders included.

    ``edges[i]`` is an edge that touches the segment of number ``crossed[i]``, and every such pair is listed. Between
    two touches a segment is inside or outside all along, so the middle between them tells.
    """
    start = segments[:, :2].astype(np.float64)
    way = segments[:, 2:] - start
    length = np.hypot(*way.T)
    a, b = np.split(edges, 2, axis=1)
    left, right = (_turn(a, b, end).astype(np.float64) for end in np.split(segments[crossed], 2, axis=1))
    along = left == right  # both 0: the edge and the segment run together
    across, beside = crossed[~along], crossed[along]
    at = left[~along] / (left[~along] - right[~along])
    ends = (
        np.stack([np.sum((end[along] - start[beside]) * way[beside], axis=1) for end in (a, b)]) / length[beside] ** 2
    )
    number = np.arange(len(segments))
    # Where something begins or ends on each segment, and by how much it changes the number of edges that run along.
    which = np.concatenate([number, number, across, beside, beside])
    places = [np.zeros(number.size), np.ones(number.size), at, ends.min(axis=0), ends.max(axis=0)]
    changes = np.repeat([0, 0, 0, 1, -1], [part.size for part in places])
    at = np.clip(np.concatenate(places), 0.0, 1.0)
    order = np.lexsort((at, which))
    which, at, running = which[order], at[order], np.cumsum(changes[order])[:-1]
    piece = (which[1:] == which[:-1]) & ((at[1:] - at[:-1]) * length[which[1:]] > _SHORTEST_MM)
    which, middle, inside = which[1:][piece], ((at[1:] + at[:-1]) / 2)[piece], running[piece] > 0
    points = start[which] + middle[:, None] * way[which]
    for shape in shapes:
        inside |= shape.holds(points)
    kept = np.ones(len(segments), dtype=bool)
    kept[which[~inside]] = False
    return kept


def _in_ring(ring: Ints, points: Ints | Floats) -> Flags:
    """Which points a ray to the east leaves the ring from an odd number of times."""
    inside = np.zeros(len(points), dtype=bool)
    x, y = points[:, 0], points[:, 1]
    low, high = ring.min(axis=0), ring.max(axis=0)
    near = np.flatnonzero((x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1]))
    a, b = ring, np.roll(ring, -1, axis=0)
    down = a[:, 1] > b[:, 1]
    a, b = np.where(down[:, None], b, a), np.where(down[:, None], a, b)  # each edge upwards
    step = max(1, _CHUNK // len(ring))
    for first in range(0, near.size, step):
        some = near[first : first + step]
        px, py = x[some, None], y[some, None]
        spanned = (a[:, 1] <= py) & (py < b[:, 1])
        is_left = (b[:, 0] - a[:, 0]) * (py - a[:, 1]) - (b[:, 1] - a[:, 1]) * (px - a[:, 0]) > 0
        inside[some] = np.count_nonzero(spanned & is_left, axis=1) % 2 == 1
    return inside


def _pairs_that_overlap(ends: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Positions of edges whose spans in x overlap, or those in y if these are fewer; each pair once, some at a time."""
    spans_in = []
    for axis in (0, 1):
        low, high = np.minimum(ends[:, axis], ends[:, axis + 2]), np.maximum(ends[:, axis], ends[:, axis + 2])
        order = np.argsort(low, kind="stable")
        after = np.searchsorted(low[order], high[order], side="right") - np.arange(order.size) - 1
        spans_in.append((int(after.sum()), axis, order, after))
    _, _, order, sizes = min(spans_in, key=lambda span: span[:2])
    for some in chunks_of(sizes, _CHUNK):
        first = np.repeat(some, sizes[some])
        yield order[first], order[spans(some + 1, sizes[some])]


def chunks_of(sizes: Ints, most: int) -> Iterator[Ints]:
    """Positions in turn, so many at a time that their sizes sum to about ``most``; at least one."""
    total = np.cumsum(sizes)
    first = 0
    while first < sizes.size:
        before = int(total[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(total, before + most, side="right")))
        yield np.arange(first, last)
        first = last


def _turn(a: Ints, b: Ints, c: Ints) -> Ints:
    """Twice the area of triangles: positive where they turn from x towards y, 0 where the corners are in line."""
    return np.asarray(
        (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])
    )


def _dot(first: Ints, second: Ints) -> Ints:
    return np.asarray(np.sum((first[:, 2:] - first[:, :2]) * (second[:, 2:] - second[:, :2]), axis=1))


def _doubled_area(ring: Ints) -> float:
    x, y = (ring - ring[0]).astype(np.float64).T
    return float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))


def _point(row: Ints) -> tuple[int, int]:
    x, y = row.tolist()
    return x, y
