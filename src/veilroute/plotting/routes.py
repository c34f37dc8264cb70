"""Routes as lines in parallel lanes, with small arrow heads that show which way they are walked.

A line runs beside its walk: with corners where streets are long, rounded where they are short. Functions that make
lines take the walk's points and, for each move, the unit vector across it and how far along that vector the line is to
run. All lengths are in one unit, points on paper for instance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D

from veilroute.base.arrays import Points
from veilroute.model.playbook import Playbook
from veilroute.plotting.frame import Frame
from veilroute.plotting.lanes import Lanes, Walk, assign_lanes
from veilroute.plotting.palette import ClassStyle, class_style

_WIDEST_PT = 5.0
_NARROWEST_PT = 2.8
# Of a cell, and of a typical street, which is longer and has more air around it.
_SHARE_OF_CELL = 0.84
_SHARE_OF_STREET = 0.4
# All lanes together may leave the cell when it is too small to tell them apart, but not by more than this.
_BUNDLE_PT = 26.0

# Two lines may meet this much further out than the larger of their shifts; otherwise the corner is cut off.
_LONGEST_MITRE = 1.9
# A change of lane on a straight takes this many times the change.
_RAMP = 1.5

# Of arrows, in points: how far apart they stand, how much further on another place is tried when one is taken, and how
# far before and behind it the direction is looked at.
_SPACING = 70.0
_STRIDE = 4.0
_REACH = 4.0
_MOST_ARROWS = 300


def class_walks(playbook: Playbook, trip: int) -> list[list[Walk]]:
    """What is walked for each hidden class: what all members share, then the rest of each where they part."""
    node = playbook.problem.domain.node
    walks: list[list[Walk]] = []
    for group in playbook.hidden_classes:
        rests = [nodes for _, nodes in group.rests(trip) if len(nodes) > 1]
        walks.append([[node(label) for label in walk] for walk in (group.shared(trip), *rests)])
    return walks


def draw_routes(
    ax: Axes, frame: Frame, walks: Sequence[Sequence[Walk]], positions: Points, marks: Points, mark_size: float
) -> None:
    """Draw the routes of all classes, each as its walks, the shared one first.

    ``positions`` of the nodes and the places of ``marks``, where arrows would not be seen, are in data units.
    """
    lanes, scale = assign_lanes(walks, positions), frame.points_per_unit(ax)
    sizes = lane_sizes(lanes, frame.step * scale, is_grid=frame.bottom > frame.top)  # row 0 is at the top
    positions_pt = positions * scale
    for i, group in enumerate(walks):
        style = class_style(i)
        for j, walk in enumerate(group):
            line = route_path(i, walk, positions_pt, lanes, sizes) / scale
            width = sizes.width if j == 0 else 0.7 * sizes.width
            below, above = route_lines(line, style, width)
            number = f"{i + 1}" if j == 0 else f"{i + 1}-{j}"
            below.set(zorder=3.0 + 0.01 * i, gid=f"casing-{number}")
            above.set(zorder=3.005 + 0.01 * i, gid=f"route-{number}")
            ax.add_line(below)
            ax.add_line(above)
            if len(line) < 2:
                continue
            breadth = max(1.7 * width, 5.0)
            clearance = mark_size / 2 + 0.8 * breadth
            arrows = arrows_along(line * scale, marks * scale, clearance=clearance, phase=i / len(walks))
            heads = arrow_heads(*arrows, 1.5 * breadth, breadth) / scale
            add_arrows(ax, heads, style.edge, edgecolors="white", linewidths=0.4, zorder=5.0, gid=f"arrows-{i + 1}")


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


@dataclass(frozen=True)
class LaneSizes:
    """How lanes are laid out, in points."""

    gap: float  # from lane to lane
    width: float  # of the lines in them
    # Whether a class keeps its distance from the middle of the edge everywhere, as it can where all lanes fit into a
    # cell; otherwise lanes that are not in use are closed up.
    is_fixed: bool
    radius: float  # over which lines are rounded, 0 for sharp corners


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


def cornered_path(points: Points, normals: Points, shifts: Points) -> Points:
    """The line beside a walk, with its corners where the lines beside neighbouring moves meet.

    On a straight, a change of shift becomes a short ramp around the node.
    """
    if len(points) < 2:
        return points
    line = [points[0] + shifts[0] * normals[0]]
    for i in range(1, len(points) - 1):
        before, after = shifts[i - 1] * normals[i - 1], shifts[i] * normals[i]
        corner = _meeting(normals[i - 1], normals[i], shifts[i - 1], shifts[i])
        if corner is not None:
            line.append(points[i] + corner)
            continue
        into, out = points[i] - points[i - 1], points[i + 1] - points[i]
        ramp = _RAMP * float(np.hypot(*(after - before))) / 2 if float(into @ out) > 0 else 0.0
        line += [points[i] + before - _shortened(into, ramp), points[i] + after + _shortened(out, ramp)]
    line.append(points[-1] + shifts[-1] * normals[-1])
    return np.array(line)


def rounded_path(points: Points, normals: Points, shifts: Points, *, radius: float) -> Points:
    """The line beside a walk after both have been averaged over ``radius`` before and behind.

    For walks of many short moves, whose corners are closer together than the line is away.
    """
    if len(points) < 2:
        return points
    at = distances_along(points)
    total = float(at[-1])
    spacing = max(radius / 6, total / 20_000)
    if total <= 0:
        return points[[0, -1]]
    places = np.linspace(0.0, total, max(2, int(np.ceil(total / spacing)) + 1))
    move = np.minimum(np.searchsorted(at, places, side="right") - 1, len(points) - 2)
    middle = point_at(points, at, places)
    reach = max(1, round(radius / (total / (len(places) - 1))))
    across = _averaged(normals[move], reach)
    shift = _averaged(shifts[move][:, None] * normals[move], reach)
    # Averaged unit vectors are short where the walk bends, which must not pull the lanes together there.
    bent = np.hypot(across[:, 0], across[:, 1])
    return _averaged(middle, reach) + shift * np.minimum(1.0 / np.maximum(bent, 1e-9), 1.5)[:, None]


def _meeting(normal1: Points, normal2: Points, shift1: float, shift2: float) -> Points | None:
    """Where two shifted lines through one node meet, or ``None`` when that is nowhere near."""
    cross = float(normal1[0] * normal2[1] - normal1[1] * normal2[0])
    if not normal1.any() or not normal2.any():
        return np.asarray(shift1 * normal1 + shift2 * normal2)
    if abs(cross) < 1e-6:
        same = float(normal1 @ normal2) > 0 and shift1 == shift2
        return np.asarray(shift1 * normal1) if same else None
    corner = np.array([shift1 * normal2[1] - shift2 * normal1[1], normal1[0] * shift2 - normal2[0] * shift1]) / cross
    far = float(np.hypot(*corner)) > _LONGEST_MITRE * max(abs(shift1), abs(shift2))
    return None if far else corner


def _shortened(vector: Points, length: float) -> Points:
    """``vector`` cut to ``length``, and to 0.4 of itself at most."""
    own = float(np.hypot(*vector))
    return vector * min(length / own, 0.4) if own > 0 else vector


def _averaged(values: Points, reach: int) -> Points:
    """Mean over ``reach`` values to either side; mirrored at its ends, which therefore stay where they are."""
    padded = np.pad(values, ((reach, reach), (0, 0)), mode="reflect", reflect_type="odd")
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(padded, axis=0)])
    return np.asarray((sums[2 * reach + 1 :] - sums[: -2 * reach - 1]) / (2 * reach + 1))


def arrows_along(line: Points, obstacles: Points, *, clearance: float, phase: float) -> tuple[Points, Points]:
    """Where to put arrows on a line, and which way they point; all lengths in points.

    They keep a ``clearance`` from ``obstacles``, such as markers. The ``phase``, from 0 to 1, puts the first arrow off,
    so that arrows of neighbouring lanes do not stand abreast.
    """
    at = distances_along(line)
    taken = obstacles.tolist()
    centres: list[Points] = []
    directions: list[Points] = []
    spacing = min(_SPACING, max(at[-1] / 3, 2 * clearance))
    position = clearance + phase * spacing / 2
    while position < at[-1] - _REACH and len(centres) < _MOST_ARROWS:
        behind, here, ahead = point_at(line, at, position + np.array([-_REACH, 0.0, _REACH]))
        direction = ahead - behind
        here_x, here_y = here.tolist()
        free = all((here_x - x) ** 2 + (here_y - y) ** 2 >= clearance**2 for x, y in taken)
        # At a turning point the direction means nothing.
        if free and np.hypot(*direction) > 1.2 * _REACH:
            centres.append(here)
            directions.append(direction)
            taken.append((here_x, here_y))
            position += spacing
        else:
            position += _STRIDE
    return np.array(centres).reshape(-1, 2), np.array(directions).reshape(-1, 2)


def arrow_heads(centres: Points, directions: Points, length: float, width: float) -> Points:
    """Notched triangles at ``centres`` that point along ``directions``, shape (number, 4, 2)."""
    lengths = np.hypot(directions[:, 0], directions[:, 1])
    along = directions / np.where(lengths > 0, lengths, 1.0)[:, None]
    across = np.column_stack([-along[:, 1], along[:, 0]])
    tip = centres + along * (0.55 * length)
    notch = centres - along * (0.2 * length)
    back = centres - along * (0.45 * length)
    return np.stack([tip, back + across * (width / 2), notch, back - across * (width / 2)], axis=1)


def add_arrows(ax: Axes, heads: Points, colour: str, **style: Any) -> None:
    """Draw what :func:`arrow_heads` made."""
    ax.add_collection(PolyCollection(list(heads), facecolors=colour, **style), autolim=False)


def distances_along(line: Points) -> Points:
    """How far along the line each of its points is."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])


def point_at(line: Points, at: Points, places: Points) -> Points:
    """The points that are this far along a line whose own points are as far along as ``at`` says."""
    return np.column_stack([np.interp(places, at, line[:, 0]), np.interp(places, at, line[:, 1])])
