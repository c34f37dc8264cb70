"""Where everything is on paper: node positions, the part of the plane that is shown, and its size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from veilroute.arrays import Floats
from veilroute.domain.graph import Domain
from veilroute.domain.grid import Grid
from veilroute.plotting.layout import lay_out

POINTS_PER_INCH = 72.0

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

    Parameters
    ----------
    positions
        One ``(x, y)`` per node; ``(col, row)`` on grids.
    left, right, bottom, top
        What is shown; ``bottom`` is the larger number on grids, because row 0 is at the top.
    step
        Length of a typical edge: 1 on grids.
    size_in
        Width and height of the map in inches, without title and legend.
    ticks_in
        Room for tick labels beside and below the map, in inches.
    notes_in
        Room for scale and credits below the map, in inches.
    """

    positions: Floats
    left: float
    right: float
    bottom: float
    top: float
    step: float
    size_in: tuple[float, float]
    ticks_in: float
    notes_in: float = 0.0

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
    margin = 0.03 * extent + 0.4 * step
    centre = (low + high) / 2
    half = np.maximum((high - low) / 2, _FLATTEST * extent / 2) + margin
    size_in = _size_in(2 * float(half[0]), 2 * float(half[1]), _STREET_IN / step)
    (left, bottom), (right, top) = (centre - half).tolist(), (centre + half).tolist()
    return Frame(positions, left, right, bottom, top, step, size_in, 0.0)


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
    half = np.maximum((high - low) / 2, _FLATTEST * float((high - low).max()) / 2)
    centre = (low + high) / 2
    size_in = _size_in(2 * float(half[0]), 2 * float(half[1]), _STREET_IN / step)
    (left, bottom), (right, top) = (centre - half).tolist(), (centre + half).tolist()
    return Frame(positions, left, right, bottom, top, step, size_in, 0.0, _NOTES_IN)


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
