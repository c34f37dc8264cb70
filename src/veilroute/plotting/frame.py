"""Where everything is on paper: node positions, the part of the plane that is shown, its size, and the file."""

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from veilroute.base.arrays import Floats, Ints, Points
from veilroute.base.errors import UnknownMethodError
from veilroute.base.io import write_file
from veilroute.domain.connectivity import steps_from
from veilroute.domain.graph import Domain
from veilroute.domain.grid import Grid

POINTS_PER_INCH = 72.0

# The formats, and what is noted in a file: no dates, and no version that would change the bytes but not the picture.
METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": "veilroute"},
    ".svg": {"Creator": "veilroute", "Date": None},
    ".pdf": {"Creator": "veilroute", "Producer": "veilroute", "CreationDate": None},
}

# When a graph without coordinates is laid out.
_NUM_PIVOTS = 48
_POLISH_UP_TO = 400
_POLISH_ROUNDS = 120

_SMALLEST_IN, _LARGEST_IN = 5.5, 9.5
_CELL_IN = 0.135
_STREET_IN = 0.42
# A street that is all in one line would give a picture of no height.
_FLATTEST = 0.3
# Around what a picture of real streets is about: a share of its extent, and metres at least.
_AROUND, _AROUND_M = 0.07, 60.0
# Below a map of real streets, for its scale and credits.
_NOTES_IN = 0.2


@dataclass(frozen=True, eq=False)
class Frame:
    """The drawing plane of a domain.

    Shown is what lies between ``left`` and ``right``, ``bottom`` and ``top``; ``bottom`` is the larger number on grids,
    because row 0 is at the top.
    """

    positions: Floats  # one (x, y) per node; (col, row) on grids
    left: float
    right: float
    bottom: float
    top: float
    step: float  # the length of a typical edge: 1 on grids
    size_in: tuple[float, float]  # width and height of the map in inches, without title and legend
    ticks_in: float  # room for tick labels beside and below the map
    notes_in: float = 0.0  # room for scale and credits below it

    @property
    def below_in(self) -> float:
        """How much room the map takes below itself, in inches."""
        return self.ticks_in + self.notes_in

    def apply(self, ax: Axes) -> None:
        """Set limits and aspect."""
        ax.set_xlim(self.left, self.right)
        ax.set_ylim(self.bottom, self.top)
        ax.set_aspect("equal", adjustable="box")

    def points_per_unit(self, ax: Axes) -> float:
        """How many typographic points a length of 1 takes on ``ax``, as it stands now."""
        self.apply(ax)
        ax.apply_aspect()
        ends = ax.transData.transform([(self.left, self.top), (self.right, self.top)])
        return float(abs(ends[1, 0] - ends[0, 0]) / abs(self.right - self.left) / ax.figure.dpi * POINTS_PER_INCH)


def frame_of(domain: Domain, focus: Sequence[int] = ()) -> Frame:
    """Work the drawing plane out: grids are cropped to their free cells, graphs to their nodes, plus a margin.

    A street network is cropped to the nodes in ``focus``, when there are some, and what is around them: a van's round
    may be a small part of its city. The map's longer side measures 5.5 to 9.5 inches, growing with the number of cells
    or streets along it.
    """
    if domain.grid is not None:
        return _grid_frame(domain.grid)
    if domain.streets is not None:
        return _street_frame(domain, focus)
    positions = lay_out(domain) if domain.coordinates is None else domain.coordinates
    step = _typical_edge(domain, positions)
    low, high = positions.min(axis=0), positions.max(axis=0)
    extent = max(float((high - low).max()), step)
    return _frame_around(positions, low, high, step, extent, margin=0.03 * extent + 0.4 * step, notes_in=0.0)


def new_axes(frame: Frame) -> Axes:
    """Axes on a figure of their own, as large as the frame; nothing global is touched."""
    # Imported here so that whoever brings their own axes and backend is not made to load this one.
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = Figure(figsize=frame.size_in, facecolor="white")
    FigureCanvasAgg(figure)
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _grid_frame(grid: Grid) -> Frame:
    rows = np.flatnonzero(grid.free.any(axis=1))
    cols = np.flatnonzero(grid.free.any(axis=0))
    longest = max(rows[-1] - rows[0], cols[-1] - cols[0]) + 1
    margin = max(1, round(0.01 * float(longest)))
    left, right = float(cols[0]) - margin - 0.5, float(cols[-1]) + margin + 0.5
    top, bottom = float(rows[0]) - margin - 0.5, float(rows[-1]) + margin + 0.5
    size_in = _size_in(right - left, bottom - top, _CELL_IN)
    return Frame(grid.cells[:, ::-1].astype(np.float64), left, right, bottom, top, 1.0, size_in, 0.3)


def _street_frame(domain: Domain, focus: Sequence[int]) -> Frame:
    positions, streets = domain.coordinates, domain.streets
    assert positions is not None and streets is not None
    step = _typical_edge(domain, positions)
    whole = np.concatenate([positions, streets.project(streets.shape)])
    shown = positions[list(focus)] if focus else whole
    low, high = shown.min(axis=0), shown.max(axis=0)
    around = max(_AROUND * float((high - low).max()), _AROUND_M)
    # No empty margin where the map ends, but room for the marks on its edge.
    low = np.maximum(low - around, whole.min(axis=0) - 0.4 * around)
    high = np.minimum(high + around, whole.max(axis=0) + 0.4 * around)
    return _frame_around(positions, low, high, step, float((high - low).max()), margin=0.0, notes_in=_NOTES_IN)


def _frame_around(
    positions: Floats, low: Floats, high: Floats, step: float, extent: float, *, margin: float, notes_in: float
) -> Frame:
    """A frame of streets from corner to corner, plus a margin; not much flatter than its ``extent`` is wide."""
    centre = (low + high) / 2
    half = np.maximum((high - low) / 2, _FLATTEST * extent / 2) + margin
    size_in = _size_in(2 * float(half[0]), 2 * float(half[1]), _STREET_IN / step)
    (left, bottom), (right, top) = (centre - half).tolist(), (centre + half).tolist()
    return Frame(positions, left, right, bottom, top, step, size_in, 0.0, notes_in)


def _size_in(width: float, height: float, inches_per_unit: float) -> tuple[float, float]:
    longest = max(width, height)
    inches = min(max(longest * inches_per_unit, _SMALLEST_IN), _LARGEST_IN)
    return width / longest * inches, height / longest * inches


def _typical_edge(domain: Domain, positions: Floats) -> float:
    tails, heads, _ = domain.edge_arrays()
    lengths = np.hypot(*(positions[heads] - positions[tails]).T)
    lengths = lengths[lengths > 0]
    if lengths.size:
        return float(np.median(lengths))
    spread = float(np.ptp(positions, axis=0).max())
    return spread / math.sqrt(domain.num_nodes) if spread > 0 else 1.0


def lay_out(domain: Domain) -> Points:
    """Place the nodes so that distances on paper resemble numbers of steps, directions and costs aside.

    Pivot MDS (Brandes and Pich, 2006) from up to 48 pivots, each the furthest from those before; graphs of up to
    400 nodes are then polished by stress majorization (Gansner, Koren and North, 2004). Nothing is random and no
    library is needed, so a graph looks the same everywhere. Parts that are not connected stand apart.
    """
    num_nodes = domain.num_nodes
    if num_nodes == 1:
        return np.zeros((1, 2))
    num_pivots = num_nodes if num_nodes <= _POLISH_UP_TO else _NUM_PIVOTS
    steps = _steps_from_pivots(domain, num_pivots)
    points = _pivot_mds(steps)
    if num_pivots == num_nodes:
        points = _majorize(points, steps)
    return points


def _steps_from_pivots(domain: Domain, num_pivots: int) -> Points:
    """Numbers of steps, one column per pivot; with as many pivots as nodes, column ``i`` belongs to node ``i``."""
    num_nodes = domain.num_nodes
    columns: list[Ints] = []
    nearest = np.full(num_nodes, num_nodes, dtype=np.int64)
    for number in range(num_pivots):
        pivot = number if num_pivots == num_nodes else int(nearest.argmax()) if number else 0
        column = steps_from(domain, pivot, backward=True)
        columns.append(column)
        nearest = np.minimum(nearest, np.where(column < 0, num_nodes, column))
    steps = np.stack(columns, axis=1).astype(np.float64)
    steps[steps < 0] = steps.max() * 1.25 + 1.0
    return steps


def _pivot_mds(steps: Points) -> Points:
    squares = steps**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    points = -0.5 * centred @ axes[:2].T
    # The sign of a singular vector is arbitrary: let the first node be left of and above the middle.
    points = points * np.where(points[0] * (-1.0, 1.0) < 0, -1.0, 1.0)
    length = float(np.abs(points[:, 0]).max())
    return np.asarray(points * (steps.max() / 2 / length) if length > 0 else points, dtype=np.float64)


def _majorize(points: Points, steps: Points) -> Points:
    """Move every node to the weighted mean of where the others want it, again and again."""
    num_nodes = len(points)
    wanted = np.where(steps > 0, steps, 1.0)
    weights = 1.0 / wanted**2
    np.fill_diagonal(weights, 0.0)
    # Nodes with the same neighbours start on one spot and would stay there; a small turn of the clock parts them.
    angles = np.arange(num_nodes) * 2.399963
    points = points + 1e-3 * np.column_stack([np.cos(angles), np.sin(angles)])
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(_POLISH_ROUNDS):
        apart = points[:, None, :] - points[None, :, :]
        lengths = np.sqrt((apart**2).sum(axis=2))
        pull = weights * wanted / np.where(lengths > 1e-9, lengths, 1.0)
        np.fill_diagonal(pull, 0.0)
        points = inverse @ (pull.sum(axis=1)[:, None] * points - pull @ points)
    return np.asarray(points, dtype=np.float64)


def save_picture(path: str | Path, draw: Callable[[], Axes | Figure], dpi: float) -> None:
    """Draw and save as ``.png``, ``.svg`` or ``.pdf``; equal pictures give equal bytes under any settings."""
    suffix = Path(path).suffix.lower()
    if suffix not in METADATA:
        raise UnknownMethodError("picture format", Path(path).suffix, tuple(METADATA))
    with plain_settings():
        drawn = draw()
        figure = drawn.figure if isinstance(drawn, Axes) else drawn
        assert isinstance(figure, Figure)
        made = io.BytesIO()
        figure.savefig(made, format=suffix[1:], dpi=dpi, metadata=METADATA[suffix])
    write_file(path, made.getvalue())


@contextmanager
def plain_settings() -> Iterator[None]:
    """Within it, whatever is drawn does not depend on the user's settings of matplotlib."""
    with mpl.rc_context(), warnings.catch_warnings():
        # A name in a script that the font lacks shows boxes; the picture is of use all the same.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        mpl.rcdefaults()
        mpl.rcParams["svg.hashsalt"] = "veilroute"
        yield
