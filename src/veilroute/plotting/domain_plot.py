"""The map underneath: walls and floor of a grid, streets of a graph."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.ticker import MaxNLocator

from veilroute.arrays import Floats
from veilroute.domain.graph import Domain
from veilroute.domain.grid import Grid
from veilroute.plotting import palette
from veilroute.plotting.arrows import arrow_heads
from veilroute.plotting.frame import Frame, frame_of, new_axes
from veilroute.plotting.map_notes import draw_notes
from veilroute.plotting.street_map import draw_street_map

# Cells and streets shorter than this many points get no lines between them and no one-way arrows.
_FINE_CELL_PT = 7.0
_FINE_STREET_PT = 16.0


def plot_domain(domain: Domain, *, ax: Axes | None = None) -> Axes:
    """Draw the map alone.

    A grid is drawn with row 0 at the top, cropped to its free cells; walls are dark. A graph is drawn with its
    streets as thin grey lines, one-way streets with a small arrow where there is room. A graph without coordinates is
    laid out so that distances on paper resemble numbers of steps (see :func:`veilroute.plotting.layout.lay_out`). A
    street network is drawn with its bends, main roads wider, and with a scale and the credits of the map.

    Parameters
    ----------
    domain
        The world.
    ax
        Where to draw; a new figure when left out.
    """
    frame = frame_of(domain)
    if ax is None:
        ax = new_axes(frame)
    draw_domain(ax, domain, frame)
    return ax


def draw_domain(ax: Axes, domain: Domain, frame: Frame) -> None:
    """Draw the map into ``ax`` on a frame that is known already."""
    scale = frame.points_per_unit(ax)
    ax.set_facecolor(palette.FLOOR)
    if domain.grid is not None:
        _draw_grid(ax, domain.grid, frame, scale)
    elif domain.streets is not None:
        draw_street_map(ax, domain, frame, scale)
        draw_notes(ax, frame, scale, domain.streets.attribution)
    else:
        _draw_streets(ax, domain, frame, scale)
    frame.apply(ax)


def _draw_grid(ax: Axes, grid: Grid, frame: Frame, scale: float) -> None:
    left, right, top, bottom = (round(edge + 0.5) for edge in (frame.left, frame.right, frame.top, frame.bottom))
    # What lies beyond the map cannot be walked on either.
    walls = np.ones((bottom - top, right - left), dtype=bool)
    rows = slice(max(top, 0), min(bottom, grid.height))
    cols = slice(max(left, 0), min(right, grid.width))
    walls[rows.start - top : rows.stop - top, cols.start - left : cols.stop - left] = ~grid.free[rows, cols]
    picture = np.zeros((*walls.shape, 4))
    picture[walls] = to_rgba(palette.WALL)
    extent = (frame.left, frame.right, frame.bottom, frame.top)
    ax.imshow(picture, extent=extent, origin="upper", interpolation="nearest", zorder=1, gid="walls")
    if scale >= _FINE_CELL_PT:
        lines = [[(x - 0.5, frame.bottom), (x - 0.5, frame.top)] for x in range(left, right)]
        lines += [[(frame.left, y - 0.5), (frame.right, y - 0.5)] for y in range(top, bottom)]
        ax.add_collection(LineCollection(lines, colors=palette.CELL_LINE, linewidths=0.5, zorder=0.5), autolim=False)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10, steps=[1, 2, 2.5, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, steps=[1, 2, 2.5, 5, 10]))
    ax.tick_params(length=2, width=0.5, color=palette.MUTED, labelcolor=palette.MUTED, labelsize=7, pad=2)
    ax.set_xlabel("column", fontsize=7, color=palette.MUTED, labelpad=1)
    ax.set_ylabel("row", fontsize=7, color=palette.MUTED, labelpad=1)
    for spine in ax.spines.values():
        spine.set(color=palette.WALL, linewidth=0.8)


def _draw_streets(ax: Axes, domain: Domain, frame: Frame, scale: float) -> None:
    tails, heads, _ = domain.edge_arrays()
    key = tails * domain.num_nodes + heads
    one_way = ~np.isin(key, heads * domain.num_nodes + tails)
    drawn = one_way | (tails < heads)
    ends = np.stack([frame.positions[tails], frame.positions[heads]], axis=1)
    room = frame.step * scale
    width = float(np.clip(room * 0.06, 0.5, 1.6))
    streets = LineCollection(list(ends[drawn]), colors=palette.STREET, linewidths=width, zorder=1, gid="streets")
    ax.add_collection(streets, autolim=False)
    if room >= _FINE_STREET_PT:
        heads_pt = arrow_heads(
            ends[one_way].mean(axis=1), ends[one_way, 1] - ends[one_way, 0], 6.5 / scale, 4.5 / scale
        )
        arrows = PolyCollection(list(heads_pt), facecolors=palette.STREET, edgecolors="none", zorder=1.1, gid="one-way")
        ax.add_collection(arrows, autolim=False)
        _draw_junctions(ax, frame.positions, width)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)


def _draw_junctions(ax: Axes, positions: Floats, width: float) -> None:
    ax.plot(*positions.T, ".", color=palette.JUNCTION, markersize=1.6 + 1.6 * width, markeredgewidth=0, zorder=1.2)
