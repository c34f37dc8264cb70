"""Grid worlds: free and blocked cells with 4-way or 8-way movement."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from veilroute.base.arrays import Flags, Floats, Indices, Ints
from veilroute.base.checks import is_number, is_whole, plain_number
from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import EARTH_RADIUS_M
from veilroute.domain.graph import CostArray, Domain

FREE_CHARACTERS = ".GS"  #: terrain that can be walked on in Moving AI maps
BLOCKED_CHARACTERS = "@OTW"  #: terrain that cannot
MAX_CELLS = 2**22  #: a grid of 2048 x 2048, four times the largest benchmark map; planning on it takes gigabytes

# Nearer to a pole a cell would be no square any more, and a cell beyond these sizes is a slip of the pen.
_FURTHEST_LAT = 85.0
_LEAST_CELL_M, _LARGEST_CELL_M = 0.1, 100_000.0

# In ascending order of the neighbour's number, because cells are numbered row by row.
_STEPS_4 = ((-1, 0), (0, -1), (0, 1), (1, 0))
_STEPS_8 = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))


@dataclass(frozen=True)
class Anchor:
    """Where on earth a grid lies: its north-west corner, and how wide its square cells are.

    Row 0 is the north edge and column 0 the west edge, so the corner is the outer one of cell (0, 0).
    """

    lat: float  #: of the corner, in degrees, as is lon
    lon: float
    cell_m: float  #: metres from one side of a cell to the other

    def __post_init__(self) -> None:
        if not (is_number(self.lat, -_FURTHEST_LAT, _FURTHEST_LAT) and is_number(self.lon, -180, 180)):
            expected = f"LAT,LON of the north-west corner (latitudes up to {_FURTHEST_LAT:g})"
            raise InvalidInputError("grid.origin", expected, (self.lat, self.lon))
        if not is_number(self.cell_m, _LEAST_CELL_M, _LARGEST_CELL_M):
            expected = f"metres from {_LEAST_CELL_M:g} to {_LARGEST_CELL_M:g}"
            raise InvalidInputError("grid.cell", expected, self.cell_m)

    @cached_property
    def _degrees(self) -> tuple[float, float]:
        """How many degrees of latitude and of longitude a cell measures; the latter beside the corner."""
        down = self.cell_m / (EARTH_RADIUS_M * math.radians(1))
        return down, down / math.cos(math.radians(self.lat))

    def lonlat(self, points: npt.ArrayLike) -> Floats:
        """Longitude and latitude of points, given as how many cells they are south and east of the corner."""
        down, right = self._degrees
        south, east = np.moveaxis(np.asarray(points, dtype=np.float64), -1, 0)
        # To a tenth of a millimetre, so that the last bit of a platform's cosine is in no file.
        return np.asarray(np.round(np.stack([self.lon + east * right, self.lat - south * down], axis=-1), 9))

    def cell_at(self, lat: float, lon: float) -> tuple[int, int]:
        """Row and column of the cell around a point on earth; the map may end before it."""
        down, right = self._degrees
        return math.floor((self.lat - lat) / down), math.floor((lon - self.lon) / right)


@dataclass(frozen=True, eq=False, repr=False)
class Grid:
    """Which cells are free and how one may move; node numbers run over the free cells row by row."""

    free: Flags  #: true for each cell that can be walked on, shape (height, width)
    movement: int = 4  #: 4 (unit costs) or 8 (1 and sqrt(2), no corner cutting)
    anchor: Anchor | None = None  #: where on earth it lies, or ``None``

    @property
    def height(self) -> int:
        """Number of rows."""
        return int(self.free.shape[0])

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.free.shape[1])

    @cached_property
    def cells(self) -> Ints:
        """Row and column of each node."""
        return np.argwhere(self.free)

    @cached_property
    def index(self) -> Ints:
        """Node number of each cell, -1 where blocked."""
        index = np.full(self.free.shape, -1, dtype=np.int64)
        index[self.free] = np.arange(int(self.free.sum()))
        return index

    def cell(self, node: int) -> tuple[int, int]:
        """Row and column of a node."""
        row, col = self.cells[node].tolist()
        return row, col

    def node(self, label: object, *, field: str = "node") -> int:
        """The node at a ``(row, col)`` cell; raises with ``field`` when it is off the map or blocked."""
        match label:
            case [row, col] if is_whole(row := plain_number(row)) and is_whole(col := plain_number(col)):
                pass
            case _:
                raise InvalidInputError(field, "a cell as (row, col)", label)
        if not (0 <= row < self.height and 0 <= col < self.width):
            expected = f"a cell on the map (rows 0-{self.height - 1}, columns 0-{self.width - 1})"
            raise InvalidInputError(field, expected, (row, col))
        node = int(self.index[row, col])
        if node < 0:
            raise InvalidInputError(field, "a free cell; this one is inside a wall", (row, col))
        return node

    def rows(self) -> list[str]:
        """The grid as text, ``.`` free and ``@`` blocked."""
        return ["".join(row) for row in np.where(self.free, ".", "@")]


def grid_domain(cells: Sequence[str] | npt.ArrayLike, *, movement: int = 4, anchor: Anchor | None = None) -> Domain:
    """Build a domain from rows of text (Moving AI characters) or a 2-D array that is true where free.

    4-way movement has unit costs; 8-way costs 1 straight and sqrt(2) diagonally, and a diagonal step needs both
    cells beside it free (no corner cutting). With an ``anchor`` the cells have places on earth.
    """
    if movement not in (4, 8):
        raise InvalidInputError("grid.movement", "4 or 8", movement)
    free = _parse_cells(cells)
    if not free.any():
        raise InvalidInputError("grid.map", "at least one free cell")
    grid = Grid(free, movement)
    indptr, indices, costs = _grid_rows(grid)
    domain = Domain(indptr, indices, costs, grid=grid)
    return domain if anchor is None else anchored(domain, anchor)


def anchored(domain: Domain, anchor: Anchor) -> Domain:
    """The same grid with a place on earth; nodes, labels and costs stay as they are."""
    if domain.grid is None:
        raise InvalidInputError("grid.origin", "a grid: a graph cannot be laid on the earth by its corner")
    grid = replace(domain.grid, anchor=anchor)
    east, south = anchor.lonlat([grid.height, grid.width]).tolist()
    if south < -_FURTHEST_LAT or east > 180:
        expected = f"a grid that ends before latitude -{_FURTHEST_LAT:g} and longitude 180; choose smaller cells"
        raise InvalidInputError("grid.cell", expected, anchor.cell_m)
    return replace(domain, grid=grid)


def _parse_cells(cells: Sequence[str] | npt.ArrayLike) -> Flags:
    if isinstance(cells, Sequence) and cells and all(isinstance(row, str) for row in cells):
        rows = [str(row) for row in cells]
        width = len(rows[0])
        for number, row in enumerate(rows):
            if len(row) != width:
                raise InvalidInputError(f"grid.map[{number}]", f"{width} characters as in row 0", len(row))
        _check_size(len(rows), width)
        allowed = FREE_CHARACTERS + BLOCKED_CHARACTERS
        for number, row in enumerate(rows):
            if odd := set(row) - set(allowed):
                col = min(row.index(sign) for sign in odd)
                raise InvalidInputError(f"grid.map[{number}][{col}]", f"one of {allowed}", row[col])
        table = np.frombuffer("".join(rows).encode("ascii"), dtype=np.uint8).reshape(len(rows), width)
        return np.isin(table, np.frombuffer(FREE_CHARACTERS.encode("ascii"), dtype=np.uint8))
    array = np.asarray(cells)
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "biu":
        raise InvalidInputError("grid.map", "rows of text or a 2-D array that is true where free")
    _check_size(*array.shape)
    return np.ascontiguousarray(array.astype(bool))


def _check_size(height: int, width: int) -> None:
    if height * width > MAX_CELLS:
        raise InvalidInputError("grid.map", f"at most {MAX_CELLS:,} cells; cut the map", f"{height} x {width}")


def _grid_rows(grid: Grid) -> tuple[Indices, Indices, CostArray]:
    steps = _STEPS_4 if grid.movement == 4 else _STEPS_8
    padded = np.full((grid.height + 2, grid.width + 2), -1, dtype=np.int64)
    padded[1:-1, 1:-1] = grid.index
    rows, cols = grid.cells[:, 0] + 1, grid.cells[:, 1] + 1
    neighbours = np.empty((rows.size, len(steps)), dtype=np.int32)
    for i, (down, right) in enumerate(steps):
        there = padded[rows + down, cols + right]
        if down and right:
            clear = (padded[rows + down, cols] >= 0) & (padded[rows, cols + right] >= 0)
            there = np.where(clear, there, -1)
        neighbours[:, i] = there
    present = neighbours >= 0
    indptr = np.zeros(rows.size + 1, dtype=np.int64)
    np.cumsum(present.sum(axis=1), out=indptr[1:])
    lengths: CostArray = np.array([math.sqrt(2) if down and right else 1 for down, right in steps])
    costs = np.broadcast_to(lengths, present.shape)[present]
    return indptr.astype(np.uint32), neighbours[present].astype(np.uint32), costs
