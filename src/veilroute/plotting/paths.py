"""Lines that run beside a walk: with corners where streets are long, rounded where they are short.

Both functions take the walk's points and, for each move, the unit vector across it and how far along that vector the
line is to run. All lengths are in one unit, points on paper for instance.
"""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Points

# Two lines may meet this much further out than the larger of their shifts; otherwise the corner is cut off.
_LONGEST_MITRE = 1.9
# A change of lane on a straight takes this many times the change.
_RAMP = 1.5


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
    legs = np.hypot(*np.diff(points, axis=0).T)
    at = np.concatenate([[0.0], np.cumsum(legs)])
    total = float(at[-1])
    spacing = max(radius / 6, total / 20_000)
    if total <= 0:
        return points[[0, -1]]
    places = np.linspace(0.0, total, max(2, int(np.ceil(total / spacing)) + 1))
    move = np.minimum(np.searchsorted(at, places, side="right") - 1, len(legs) - 1)
    middle = np.column_stack([np.interp(places, at, points[:, 0]), np.interp(places, at, points[:, 1])])
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
    corner = np.array(
        [shift1 * normal2[1] - shift2 * normal1[1], normal1[0] * shift2 - normal2[0] * shift1],
    )
    corner /= cross
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
