"""Routes as lines in parallel lanes, with arrows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D

from veilroute.arrays import Points
from veilroute.playbook import PlaybookClass
from veilroute.plotting.arrows import arrow_heads, arrows_along
from veilroute.plotting.lanes import Lanes, Walk, assign_lanes
from veilroute.plotting.palette import ClassStyle, class_style
from veilroute.plotting.paths import cornered_path, rounded_path
from veilroute.problem import Problem

_WIDEST_PT = 5.0
_NARROWEST_PT = 2.8
# Of a cell, and of a typical street, which is longer and has more air around it.
_SHARE_OF_CELL = 0.84
_SHARE_OF_STREET = 0.4
# All lanes together may leave the cell when it is too small to tell them apart, but not by more than this.
_BUNDLE_PT = 26.0


@dataclass(frozen=True)
class LaneSizes:
    """How lanes are laid out, in points.

    Parameters
    ----------
    gap, width
        Distance between lanes and width of the lines in them.
    is_fixed
        Whether a class keeps its distance from the middle of the edge everywhere, as it can where all lanes fit
        into a cell; otherwise lanes that are not in use are closed up.
    radius
        How far lines are rounded; 0 for sharp corners.
    """

    gap: float
    width: float
    is_fixed: bool
    radius: float


def lane_sizes(lanes: Lanes, step_pt: float, *, is_grid: bool) -> LaneSizes:
    """Fit lanes into cells, or beside streets, whose typical length on paper is ``step_pt``.

    Lanes stay inside the cell where cells are large enough to tell them apart. Where they are not, lanes leave the
    cell and lines are rounded, because a staircase of small steps has no room for parallel lanes.
    """
    fixed_gap = _gap(lanes.count, step_pt * _SHARE_OF_CELL, 1.4 * _WIDEST_PT)
    if is_grid and fixed_gap * lanes.count <= step_pt * 1.1:
        return LaneSizes(fixed_gap, min(0.94 * fixed_gap, _WIDEST_PT), True, 0.0)
    gap = _gap(lanes.most_abreast, step_pt * _SHARE_OF_STREET, 1.06 * _WIDEST_PT)
    half = gap * lanes.most_abreast / 2
    radius = 0.0 if half <= 0.4 * step_pt else max(half, 1.5 * gap)
    return LaneSizes(gap, min(0.94 * gap, _WIDEST_PT), False, radius)


def _gap(num_lanes: int, room: float, widest: float) -> float:
    return max(min(_NARROWEST_PT, _BUNDLE_PT / num_lanes), min(room / num_lanes, widest))


def class_walks(problem: Problem, group: PlaybookClass, trip: int) -> list[Walk]:
    """What is walked for a class: what all members share, then the rest of each where they part."""
    rests = [nodes for _, nodes in group.rests(trip) if len(nodes) > 1]
    return [[problem.domain.node(label) for label in walk] for walk in (group.shared(trip), *rests)]


def draw_routes(
    ax: Axes,
    walks: Sequence[Sequence[Walk]],
    positions: Points,
    marks: Points,
    *,
    mark_size: float,
    step: float,
    scale: float,
    is_grid: bool,
) -> None:
    """Draw the routes of all classes.

    Parameters
    ----------
    walks
        For each class its walks, the shared one first.
    positions, step
        Of the nodes and of a typical edge, in data units.
    marks, mark_size
        Places of marks, where arrows would not be seen, and their diameter in points.
    scale
        Points per data unit.
    is_grid
        Whether lanes should stay inside cells.
    """
    lanes = assign_lanes(walks, positions)
    sizes = lane_sizes(lanes, step * scale, is_grid=is_grid)
    positions_pt = positions * scale
    for i, group in enumerate(walks):
        style = class_style(i)
        for j, walk in enumerate(group):
            line = route_path(i, walk, positions_pt, lanes, sizes) / scale
            width = sizes.width if j == 0 else 0.7 * sizes.width
            below, above = route_lines(line, style, width)
            below.set(zorder=3.0 + 0.01 * i, gid=f"casing-{i + 1}" if j == 0 else f"casing-{i + 1}-{j}")
            above.set(zorder=3.005 + 0.01 * i, gid=f"route-{i + 1}" if j == 0 else f"route-{i + 1}-{j}")
            ax.add_line(below)
            ax.add_line(above)
            phase = i / max(len(walks), 1)
            _draw_arrows(ax, line, marks, style, width, mark_size, scale, phase, f"arrows-{i + 1}")


def route_path(index: int, walk: Walk, positions: Points, lanes: Lanes, sizes: LaneSizes) -> Points:
    """The line of a walk of the class at ``index``, in its lane; positions in points."""
    points = positions[np.asarray(walk, dtype=np.int64)]
    shifts = lanes.fixed_shifts(index, walk) if sizes.is_fixed else lanes.tight_shifts(index, walk)
    normals = lanes.normals(walk, positions)
    if sizes.radius > 0:
        return rounded_path(points, normals, sizes.gap * shifts, radius=sizes.radius)
    return cornered_path(points, normals, sizes.gap * shifts)


def route_lines(line: Points, style: ClassStyle, width: float) -> tuple[Line2D, Line2D]:
    """The two lines that make a route: a darker one below, and a lighter one above that may be dashed."""
    edge = 0.55 if width >= 2.5 else 0.35
    below = Line2D(line[:, 0], line[:, 1], color=style.edge, linewidth=width)
    above = Line2D(line[:, 0], line[:, 1], color=style.route, linewidth=max(width - 2 * edge, 0.4 * width))
    for part in (below, above):
        part.set(solid_capstyle="round", solid_joinstyle="round")
    if style.dashes:
        above.set(linestyle=(0.0, style.dashes), dash_capstyle="butt", dash_joinstyle="round")
    return below, above


def _draw_arrows(
    ax: Axes,
    line: Points,
    marks: Points,
    style: ClassStyle,
    width: float,
    mark_size: float,
    scale: float,
    phase: float,
    gid: str,
) -> None:
    if len(line) < 2:
        return
    breadth = max(1.7 * width, 5.0)
    clearance = mark_size / 2 + 0.8 * breadth
    centres, directions = arrows_along(line * scale, marks * scale, clearance=clearance, phase=phase)
    heads = arrow_heads(centres, directions, 1.5 * breadth, breadth) / scale
    arrows = PolyCollection(list(heads), facecolors=style.edge, edgecolors="white", linewidths=0.4, zorder=5.0, gid=gid)
    ax.add_collection(arrows, autolim=False)
