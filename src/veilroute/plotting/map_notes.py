"""Below a map of real streets: how long a distance is on it, and whom to credit."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from veilroute.plotting import palette
from veilroute.plotting.frame import POINTS_PER_INCH, Frame

_LONGEST_PT = 110.0
_DROP_PT = 7.0
_FONT_SIZE = 6.5


def scale_length_m(points_per_metre: float) -> float:
    """The longest of 1, 2, 5, 10, 20, 50, ... metres that takes at most 110 points on paper."""
    longest = _LONGEST_PT / points_per_metre
    power = 10.0 ** math.floor(math.log10(longest))
    return max(power * factor for factor in (1, 2, 5) if power * factor <= longest)


def draw_notes(ax: Axes, frame: Frame, scale: float, attribution: str) -> None:
    """Draw the scale below the right corner of the map and the credits below the left one."""
    below = ax.transAxes + ScaledTranslation(0.0, -_DROP_PT / POINTS_PER_INCH, ax.figure.dpi_scale_trans)
    metres = scale_length_m(scale)
    share = metres / abs(frame.right - frame.left)
    style: dict[str, Any] = {
        "color": palette.MUTED,
        "linewidth": 1.0,
        "transform": below,
        "clip_on": False,
        "gid": "scale",
    }
    tick = 2.5 / (abs(frame.top - frame.bottom) * scale)
    ax.add_line(Line2D([1 - share, 1 - share, 1, 1], [tick, 0, 0, tick], **style))
    text: dict[str, Any] = {"transform": below, "fontsize": _FONT_SIZE, "color": palette.MUTED, "va": "center_baseline"}
    gap = 4.0 / (abs(frame.right - frame.left) * scale)
    ax.text(1 - share - gap, 0, f"{metres:g} m" if metres < 1000 else f"{metres / 1000:g} km", ha="right", **text)
    if attribution:
        ax.text(0, 0, attribution, ha="left", gid="attribution", parse_math=False, **text)
