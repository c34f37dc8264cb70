"""The map underneath: walls and floor of a grid, lines of a graph, or real streets.

Real streets are drawn along their bends, both directions of a street once, main roads wider and darker. Below them
stand how long a distance is on paper, and whom to credit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, islice, pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from veilroute.base.arrays import Flags, Ints, Points
from veilroute.domain.geography import LATTICE, streets_of
from veilroute.domain.graph import Domain
from veilroute.domain.grid import Grid
from veilroute.plotting import palette
from veilroute.plotting.frame import POINTS_PER_INCH, Frame, frame_of, new_axes
from veilroute.plotting.lanes import Walk
from veilroute.plotting.routes import add_arrows, arrow_heads, distances_along, point_at
from veilroute.streets.directions import edge_number

# Cells and streets shorter than this many points get no lines between them and no one-way arrows.
_FINE_CELL_PT = 7.0
_FINE_STREET_PT = 16.0

# Main roads, secondary roads, other streets (2), and what is narrower than a street.
_RANKS = {"motorway": 0, "trunk": 0, "primary": 0, "secondary": 1, "tertiary": 1} | dict.fromkeys(
    ("bridleway", "corridor", "cycleway", "footway", "path", "pedestrian", "service", "steps", "track"), 3
)
# By rank: the share of the main roads' width.
_WIDTHS = (1.0, 0.72, 0.46, 0.3)
_WIDEST_PT, _NARROWEST_PT = 3.4, 1.2
# A street of a network gets its one-way arrow when it is this long on paper, in points.
_ROOM_PT = 26.0
# Two edges that differ by more are not one street in both directions.
_SAME_LENGTH_M = 0.05

# Of the scale and the credits.
_LONGEST_PT = 110.0
_DROP_PT = 7.0
_FONT_SIZE = 6.5


def plot_domain(domain: Domain, *, ax: Axes | None = None) -> Axes:
    """Draw the map alone.

    A grid is drawn with row 0 at the top, cropped to its free cells; walls are dark. A graph is drawn with its
    streets as thin grey lines, one-way streets with a small arrow where there is room. A graph without coordinates is
    laid out so that distances on paper resemble numbers of steps (see :func:`veilroute.plotting.frame.lay_out`). A
    street network is drawn with its bends, main roads wider, and with a scale and the credits of the map.

    Parameters
    ----------
    domain
        The world.
    ax
        Where to draw; a new figure when left out.
    """
    frame = frame_of(domain)
    ax = new_axes(frame) if ax is None else ax
    draw_domain(ax, domain, frame)
    return ax


def draw_domain(ax: Axes, domain: Domain, frame: Frame) -> None:
    """Draw the map into ``ax`` on a frame that is known already."""
    scale = frame.points_per_unit(ax)
    ax.set_facecolor(palette.FLOOR)
    if domain.grid is not None:
        _draw_grid(ax, domain.grid, frame, scale)
    elif domain.streets is not None:
        _draw_street_network(ax, domain, frame, scale)
        _draw_notes(ax, frame, scale, domain.streets.attribution)
    else:
        _draw_graph(ax, domain, frame, scale)
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
    ax.spines[:].set(color=palette.WALL, linewidth=0.8)


def _draw_graph(ax: Axes, domain: Domain, frame: Frame, scale: float) -> None:
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
        directions = ends[one_way, 1] - ends[one_way, 0]
        arrows = arrow_heads(ends[one_way].mean(axis=1), directions, 6.5 / scale, 4.5 / scale)
        add_arrows(ax, arrows, palette.STREET, edgecolors="none", zorder=1.1, gid="one-way")
        size = 1.6 + 1.6 * width
        ax.plot(*frame.positions.T, ".", color=palette.JUNCTION, markersize=size, markeredgewidth=0, zorder=1.2)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def _draw_street_network(ax: Axes, domain: Domain, frame: Frame, scale: float) -> None:
    """Draw the streets that are in the frame; one-way streets with a small arrow where there is room."""
    shown = street_lines(domain)
    lines: list[list[Points]] = [[] for _ in _WIDTHS]
    arrows: list[tuple[Points, Points]] = []
    low, high = np.array([frame.left, frame.bottom]), np.array([frame.right, frame.top])
    for line, is_one_way, rank in zip(shown.points, shown.is_one_way.tolist(), shown.ranks.tolist(), strict=True):
        if (line.max(axis=0) < low).any() or (line.min(axis=0) > high).any():
            continue
        lines[rank].append(line)
        if is_one_way and (arrow := _arrow(line, scale)) is not None:
            arrows.append(arrow)
    widest = float(np.clip(0.12 * frame.step * scale, _NARROWEST_PT, _WIDEST_PT))
    # Main roads last, on top of the streets that lead into them.
    for rank, share in reversed(list(enumerate(_WIDTHS))):
        collection = LineCollection(lines[rank], colors=palette.ROADS[rank], linewidths=max(widest * share, 0.35))
        collection.set(capstyle="round", joinstyle="round", gid=f"streets-{rank}")
        collection.set_zorder(1.0 + 0.02 * (len(_WIDTHS) - rank))
        ax.add_collection(collection, autolim=False)
    if arrows:
        centres, directions = np.swapaxes(arrows, 0, 1)
        heads = arrow_heads(centres, directions, 5.0 / scale, 3.6 / scale)
        add_arrows(ax, heads, palette.MUTED, edgecolors="none", zorder=1.2, gid="one-way")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(color=palette.CELL_LINE, linewidth=0.8)


def _arrow(line: Points, scale: float) -> tuple[Points, Points] | None:
    """Where the arrow of a one-way street is and where it points; ``None`` when there is no room."""
    at = distances_along(line)
    if at[-1] * scale < _ROOM_PT:
        return None
    reach = 4.0 / scale
    behind, here, ahead = point_at(line, at, at[-1] / 2 + np.array([-reach, 0.0, reach]))
    return here, ahead - behind


def _draw_notes(ax: Axes, frame: Frame, scale: float, attribution: str) -> None:
    """Draw the scale below the right corner of the map and the credits below the left one."""
    below = ax.transAxes + ScaledTranslation(0.0, -_DROP_PT / POINTS_PER_INCH, ax.figure.dpi_scale_trans)
    metres = scale_length_m(scale)
    share = metres / abs(frame.right - frame.left)
    tick = 2.5 / (abs(frame.top - frame.bottom) * scale)
    bracket = Line2D([1 - share, 1 - share, 1, 1], [tick, 0, 0, tick], color=palette.MUTED, linewidth=1.0, gid="scale")
    bracket.set(transform=below, clip_on=False)
    ax.add_line(bracket)
    text: dict[str, Any] = {"transform": below, "fontsize": _FONT_SIZE, "color": palette.MUTED, "va": "center_baseline"}
    gap = 4.0 / (abs(frame.right - frame.left) * scale)
    ax.text(1 - share - gap, 0, f"{metres:g} m" if metres < 1000 else f"{metres / 1000:g} km", ha="right", **text)
    if attribution:
        ax.text(0, 0, attribution, ha="left", gid="attribution", parse_math=False, **text)


def scale_length_m(points_per_metre: float) -> float:
    """The longest of 1, 2, 5, 10, 20, 50, ... metres that takes at most 110 points on paper."""
    longest = _LONGEST_PT / points_per_metre
    power = 10.0 ** math.floor(math.log10(longest))
    return max(power * factor for factor in (1, 2, 5) if power * factor <= longest)


def street_rank(kind: str) -> int:
    """How important a kind of street is: 0 for main roads to 3 for service roads and paths."""
    return _RANKS.get(kind.removesuffix("_link"), 2)


@dataclass(frozen=True, eq=False)
class StreetLines:
    """The lines to draw of a street network: their points from end to end, and the edges of the domain that they show.

    A two-way street is shown once; one-way streets lead along their line. For ranks see :func:`street_rank`.
    """

    points: list[Points]
    edges: Ints
    is_one_way: Flags
    ranks: Ints


def street_lines(domain: Domain) -> StreetLines:
    """Choose the edges to draw: of two that are one street in both directions only one."""
    streets = streets_of(domain)
    tails, heads, _ = domain.edge_arrays()
    key, key_back = tails * domain.num_nodes + heads, heads * domain.num_nodes + tails
    back = np.minimum(np.searchsorted(key, key_back), max(key.size - 1, 0))
    has_back = key[back] == key_back
    num_bends = np.diff(streets.shape_ptr)
    alike = (num_bends == num_bends[back]) & (np.abs(streets.lengths - streets.lengths[back]) < _SAME_LENGTH_M)
    drawn = np.flatnonzero(~(has_back & alike) | (tails < heads))
    used = {streets.kinds[i] for i in np.unique(streets.kind_ids).tolist()}
    nodes, bends = streets.project(streets.lonlat), streets.project(streets.shape)
    if used and used <= set(LATTICE):
        return _lattice_lines(nodes, tails, heads)
    ranks = np.array([street_rank(kind) for kind in streets.kinds], dtype=np.int64)[streets.kind_ids[drawn]]
    inner = (bends[streets.shape_ptr[edge] : streets.shape_ptr[edge + 1]] for edge in drawn.tolist())
    ends = zip(nodes[tails[drawn]], nodes[heads[drawn]], inner, strict=True)
    points = [np.concatenate([tail[None], between, head[None]]) for tail, head, between in ends]
    return StreetLines(points, drawn, ~has_back[drawn], ranks)


def _lattice_lines(nodes: Points, tails: Ints, heads: Ints) -> StreetLines:
    """Squared paper in place of single moves: those that lead due east or due north, and what is in line is one line.

    Where nobody may go, the paper has a hole. Diagonal moves are left out, and those to a place between two points.
    """
    points, shown, ahead = [], [], nodes[heads] - nodes[tails]
    for axis in (0, 1):
        along = np.flatnonzero((np.abs(ahead[:, 1 - axis]) < _SAME_LENGTH_M) & (ahead[:, axis] > 0))
        from_, to = tails[along], heads[along]
        order = np.lexsort((nodes[from_, axis], nodes[from_, 1 - axis]))
        from_, to, along = from_[order], to[order], along[order]
        is_first = np.concatenate([[True], from_[1:] != to[:-1]])[: along.size]
        is_last = np.concatenate([is_first[1:], [True]])[: along.size]
        points += list(np.stack([nodes[from_[is_first]], nodes[to[is_last]]], axis=1))
        shown.append(along[is_first])
    which = np.concatenate(shown)
    return StreetLines(points, which, np.zeros(which.size, dtype=bool), np.full(which.size, len(_WIDTHS) - 1))


def bend_walks(domain: Domain, walks: Sequence[Sequence[Walk]]) -> tuple[list[list[Walk]], Points]:
    """Walks whose bends count as nodes, so that lanes and arrows follow the streets, and where nodes and bends are.

    Numbers beyond the domain's own nodes are bends. A bend has the same number in both directions of a street, so
    that routes which meet on it are drawn side by side.
    """
    streets, numbers = streets_of(domain), count(domain.num_nodes)
    known: dict[bytes, list[int]] = {}
    lines = [streets.shape[:0]]

    def bends(tail: int, head: int) -> list[int]:
        shape = streets.bends(edge_number(domain, tail, head))
        # By their ends and their line, seen from the lower node: this is how both directions find each other.
        line = np.ascontiguousarray(shape[::-1] if tail > head else shape)
        key = np.array(sorted((tail, head)), dtype=np.int64).tobytes() + line.tobytes()
        if key not in known:
            known[key] = list(islice(numbers, len(line)))
            lines.append(line)
        return known[key][::-1] if tail > head else known[key]

    def bend(walk: Walk) -> Walk:
        return [*walk[:1], *(node for tail, head in pairwise(walk) for node in (*bends(tail, head), head))]

    bent = [[bend(walk) for walk in group] for group in walks]
    return bent, streets.project(np.concatenate([streets.lonlat, *lines]))
