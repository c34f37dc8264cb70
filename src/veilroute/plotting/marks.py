"""Marks on the map: start, goal and candidates, moved apart where they would hide each other.

Also the lines from candidates that a route only passes by to where it sees them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.path import Path

from veilroute.base.arrays import Floats, Points
from veilroute.domain.visibility import AtNode
from veilroute.model.playbook import Playbook
from veilroute.plotting import palette
from veilroute.plotting.palette import class_style

# Matplotlib's shapes differ in area and in where their middle is: factor on the size, text shift in sizes.
_SHAPE_FIT = {
    "o": (1.0, 0.0), "s": (0.9, 0.0), "D": (0.86, 0.0), "^": (1.3, -0.13), "v": (1.3, 0.14), "p": (1.14, -0.03),
}  # fmt: skip

_ROUNDS = 200
_GAP = 1.0


@dataclass(frozen=True)
class Mark:
    """How a place is marked: a few characters inside a matplotlib marker."""

    text: str
    shape: str
    face: str  # the colour of the inside
    edge: str  # of the outline
    ink: str  # of the text
    scale: float  # the size relative to the markers of classes
    gid: str  # names the artist, also in SVG files
    ring: tuple[tuple[int, float], ...] = ()  # the classes of a place that has several, and the chance of each


# Cyan and green, as in the paper.
START = Mark("S", "s", palette.START, palette.INK, palette.INK, 1.15, "start")
GOAL = Mark("G", "s", palette.GOAL, palette.INK, palette.INK, 1.15, "goal")
# Candidates that the playbook does not protect, that no walk of every trip can cover, and that are the start or goal of
# some trip and so do not count.
EXPOSED = Mark("!", "o", palette.FLOOR, palette.MUTED, palette.INK, 0.9, "not-protected")
UNCOVERABLE = Mark("", "x", palette.MUTED, palette.MUTED, palette.MUTED, 0.7, "uncoverable")
UNCOUNTED = Mark("", "o", palette.MUTED, palette.FLOOR, palette.MUTED, 0.5, "not-counted")


def class_mark(index: int) -> Mark:
    """The mark of candidates of the class at ``index``, which is shown as number ``index + 1``."""
    style, number = class_style(index), index + 1
    return Mark(str(number), style.marker, style.colour, style.edge, style.text, 1.0, f"candidate-{number}")


def ring_mark(position: int, ring: tuple[tuple[int, float], ...]) -> Mark:
    """The mark of a place in a randomised playbook: its letters, within a ring of the colours of its classes."""
    return Mark(letters(position), "o", "#FFFFFF", palette.INK, palette.INK, 1.25, f"place-{position + 1}", ring)


def letters(position: int) -> str:
    """``a`` to ``z``, then ``aa``, ``ab`` and so on: what a place is called that has no class of its own."""
    text = ""
    position += 1
    while position:
        position, digit = divmod(position - 1, 26)
        text = chr(ord("a") + digit) + text
    return text


def _sector(begin: float, end: float) -> Path:
    """A slice of the disc of radius 1, clockwise from the top; from and to are shares of the whole."""
    angles = 2 * math.pi * np.linspace(begin, end, max(3, math.ceil(48 * (end - begin)) + 1))
    rim = np.column_stack([np.sin(angles), np.cos(angles)])
    # Two points at the corners make all slices one scale: markers are scaled to their furthest point.
    vertices = np.concatenate([[(-1.0, -1.0), (1.0, 1.0), (0.0, 0.0)], rim, [(0.0, 0.0)]])
    codes = [Path.MOVETO, Path.MOVETO, Path.MOVETO, *[Path.LINETO] * len(rim), Path.CLOSEPOLY]
    return Path(vertices, codes)


def spread_marks(places: Points, radii: Floats) -> Points:
    """Move discs apart until none overlap, each as little as possible; deterministic.

    Pairs that overlap push each other away by half the overlap, for a fixed number of rounds. Discs on one spot part
    sideways, the earlier to the left.
    """
    placed = places.copy()
    apart = radii[:, None] + radii[None, :] + _GAP
    np.fill_diagonal(apart, 0.0)
    order = np.sign(np.arange(len(placed))[:, None] - np.arange(len(placed))[None, :])
    for _ in range(_ROUNDS):
        away = placed[:, None, :] - placed[None, :, :]
        lengths = np.sqrt((away**2).sum(axis=2))
        overlap = apart - lengths
        if overlap.max() < 0.05:
            break
        same = lengths < 1e-9
        away[same, 0] = order[same]
        lengths[same] = 1.0
        push = np.where(overlap > 0, 0.5 * overlap / lengths, 0.0)
        np.fill_diagonal(push, 0.0)
        placed += 0.7 * (push[:, :, None] * away).sum(axis=1)
    return placed


def draw_marks(ax: Axes, marks: Sequence[Mark], places: Points, scale: float, size: float) -> Points:
    """Draw marks at the places where they belong and, for those that had to move, a line to there.

    Places are in data units, of which one takes ``scale`` points; a class's marker measures ``size`` points across.
    Returns where the marks ended up, in data units.
    """
    radii = np.array([mark.scale * size / 2 for mark in marks])
    placed = spread_marks(places * scale, radii) / scale
    for i, mark in enumerate(marks):
        moved = float(np.hypot(*(placed[i] - places[i]))) * scale
        shared = bool((np.delete(places, i, axis=0) == places[i]).all(axis=1).any())
        if moved > 0.9 * radii[i] and not shared:
            _draw_leader(ax, mark, places[i], placed[i])
        zorder = 8.0 if mark.gid in ("start", "goal") else 7.0
        spot = (float(placed[i, 0]), float(placed[i, 1]))
        for step, line in enumerate(mark_lines(mark, spot, size)):
            line.set(zorder=zorder + 0.01 * step, clip_on=False, gid=mark.gid)
            ax.add_line(line)
        if mark.text:
            offset = (0.0, text_shift(mark, size))
            text = ax.annotate(mark.text, spot, offset, textcoords="offset points", annotation_clip=False)
            text.set(zorder=zorder + 0.5, **text_style(mark, size))
    return placed


def _draw_leader(ax: Axes, mark: Mark, home: Points, place: Points) -> None:
    ends = np.stack([home, place])
    ax.plot(*ends.T, "-", color=palette.FLOOR, linewidth=2.2, zorder=6.0)
    ax.plot(*ends.T, "-", color=mark.edge, linewidth=1.0, zorder=6.1)
    ax.plot(*home, "o", color=mark.face, markeredgecolor=mark.edge, markersize=4.0, markeredgewidth=0.8, zorder=6.2)


def mark_lines(mark: Mark, place: tuple[float, float], size: float) -> list[Line2D]:
    """The marker without its text, for markers of classes that measure ``size`` points across; a ring in slices."""
    factor, _ = _SHAPE_FIT.get(mark.shape, (1.0, 0.0))
    diameter = size * mark.scale

    def line(shape: str | Path, across: float, face: str, edge: str, outline: float) -> Line2D:
        made = Line2D([place[0]], [place[1]], linestyle="none", marker=shape, markersize=across)
        made.set(markerfacecolor=face, markeredgecolor=edge, markeredgewidth=outline)
        return made

    outline = 2.2 if mark.shape == "x" else max(0.9, 0.07 * diameter)
    if not mark.ring:
        return [line(mark.shape, diameter * factor, mark.face, mark.edge, outline)]
    lines = [line("o", diameter, mark.face, mark.edge, outline)]
    end = 0.0
    for number, chance in mark.ring:
        begin, end = end, end + chance
        edge = palette.FLOOR if len(mark.ring) > 1 else class_style(number).colour
        lines.append(line(_sector(begin, end), diameter, class_style(number).colour, edge, 0.4))
    return [*lines, line("o", 0.62 * diameter, mark.face, mark.edge, 0.5)]


def text_shift(mark: Mark, size: float) -> float:
    """How far above the marker's middle its text stands, in points."""
    return _SHAPE_FIT.get(mark.shape, (1.0, 0.0))[1] * size * mark.scale


def text_style(mark: Mark, size: float) -> dict[str, Any]:
    """Properties of the text in a marker."""
    points = size * mark.scale * (0.62 if len(mark.text) == 1 else 0.5) * (0.75 if mark.ring else 1.0)
    return {"ha": "center", "va": "center_baseline", "fontsize": points, "fontweight": "bold", "color": mark.ink}


def sight_lines(playbook: Playbook, trip: int, positions: Points) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the class, and the nodes of candidate and watcher, for each candidate that its route only passes by.

    Of the route's nodes that see the candidate it is the nearest on paper, the first of equals.
    """
    if isinstance(playbook.visibility, AtNode):
        return
    # Imported here because it brings the compiled kernels, which other pictures do without.
    from veilroute.covering.task import find_watchers

    domain = playbook.problem.domain
    for i, group in enumerate(playbook.hidden_classes):
        nodes = [domain.node(member) for member in group.members]
        watchers_of = find_watchers(domain, playbook.visibility, nodes)
        for member, node, watchers in zip(group.members, nodes, watchers_of, strict=True):
            route = np.array([domain.node(label) for label in group.route_of(member, trip)])
            seeing = route[np.isin(route, watchers)]
            if seeing.size and node not in route:
                away = np.hypot(*(positions[seeing] - positions[node]).T)
                yield i, (node, int(seeing[away.argmin()]))
