"""Small arrow heads that show which way a route is walked."""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Points

_SPACING = 70.0
_STRIDE = 4.0
_REACH = 4.0
_MOST = 300


def arrow_heads(centres: Points, directions: Points, length: float, width: float) -> Points:
    """Notched triangles at ``centres`` that point along ``directions``, shape (number, 4, 2)."""
    lengths = np.hypot(directions[:, 0], directions[:, 1])
    along = directions / np.where(lengths > 0, lengths, 1.0)[:, None]
    across = np.column_stack([-along[:, 1], along[:, 0]])
    tip = centres + along * (0.55 * length)
    notch = centres - along * (0.2 * length)
    back = centres - along * (0.45 * length)
    return np.stack([tip, back + across * (width / 2), notch, back - across * (width / 2)], axis=1)


def arrows_along(line: Points, obstacles: Points, *, clearance: float, phase: float) -> tuple[Points, Points]:
    """Where to put arrows on a line, and which way they point; all lengths in points.

    Parameters
    ----------
    line
        Corners of the line.
    obstacles, clearance
        Places to stay clear of, such as markers, and by how much.
    phase
        From 0 to 1: how far the first arrow is put off, so that arrows of neighbouring lanes do not stand abreast.
    """
    legs = np.hypot(*np.diff(line, axis=0).T)
    at = np.concatenate([[0.0], np.cumsum(legs)])
    taken = [tuple(place) for place in obstacles.tolist()]
    centres: list[tuple[float, float]] = []
    directions: list[tuple[float, float]] = []
    spacing = min(_SPACING, max(at[-1] / 3, 2 * clearance))
    position = clearance + phase * spacing / 2
    while position < at[-1] - _REACH and len(centres) < _MOST:
        behind, here, ahead = (_point_at(line, at, position + step) for step in (-_REACH, 0.0, _REACH))
        direction = (ahead[0] - behind[0], ahead[1] - behind[1])
        free = all((here[0] - x) ** 2 + (here[1] - y) ** 2 >= clearance**2 for x, y in taken)
        # At a turning point the direction means nothing.
        if free and np.hypot(*direction) > 1.2 * _REACH:
            centres.append(here)
            directions.append(direction)
            taken.append(here)
            position += spacing
        else:
            position += _STRIDE
    return np.array(centres).reshape(-1, 2), np.array(directions).reshape(-1, 2)


def _point_at(line: Points, at: Points, position: float) -> tuple[float, float]:
    return float(np.interp(position, at, line[:, 0])), float(np.interp(position, at, line[:, 1]))
