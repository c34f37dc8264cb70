"""Real streets as the map underneath: along their bends, main roads wider and darker."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection

from veilroute.arrays import Points
from veilroute.domain.graph import Domain
from veilroute.plotting import palette
from veilroute.plotting.arrows import arrow_heads
from veilroute.plotting.frame import Frame
from veilroute.plotting.street_lines import NUM_RANKS, street_lines
from veilroute.streets.itinerary import streets_of

# By rank: the share of the main roads' width, and the colour.
_WIDTHS = (1.0, 0.72, 0.46, 0.3)
_WIDEST_PT, _NARROWEST_PT = 3.4, 1.2
# A one-way street gets an arrow when it is this long on paper, in points.
_ROOM_PT = 26.0


def draw_street_map(ax: Axes, domain: Domain, frame: Frame, scale: float) -> None:
    """Draw the streets that are in the frame; one-way streets with a small arrow where there is room."""
    streets = streets_of(domain)
    shown = street_lines(domain)
    bends = streets.project(streets.shape)
    lines: list[list[Points]] = [[] for _ in range(NUM_RANKS)]
    arrows: list[list[Points]] = [[], []]
    low, high = np.array([frame.left, frame.bottom]), np.array([frame.right, frame.top])
    for tail, head, edge, is_one_way, rank in zip(
        shown.tails.tolist(),
        shown.heads.tolist(),
        shown.edges.tolist(),
        shown.is_one_way.tolist(),
        shown.ranks.tolist(),
        strict=True,
    ):
        inner = bends[streets.shape_ptr[edge] : streets.shape_ptr[edge + 1]]
        line = np.concatenate([frame.positions[tail : tail + 1], inner, frame.positions[head : head + 1]])
        if (line.max(axis=0) < low).any() or (line.min(axis=0) > high).any():
            continue
        lines[rank].append(line)
        if is_one_way and (arrow := _arrow(line, scale)) is not None:
            for ends, end in zip(arrows, arrow, strict=True):
                ends.append(end)
    widest = float(np.clip(0.12 * frame.step * scale, _NARROWEST_PT, _WIDEST_PT))
    # Main roads last, on top of the streets that lead into them.
    for rank in reversed(range(NUM_RANKS)):
        width = max(widest * _WIDTHS[rank], 0.35)
        collection = LineCollection(
            lines[rank],
            colors=palette.ROADS[rank],
            linewidths=width,
            zorder=1.0 + 0.02 * (NUM_RANKS - rank),
            gid=f"streets-{rank}",
            capstyle="round",
            joinstyle="round",
        )
        ax.add_collection(collection, autolim=False)
    if arrows[0]:
        heads = arrow_heads(np.array(arrows[0]), np.array(arrows[1]), 5.0 / scale, 3.6 / scale)
        collection_of_arrows = PolyCollection(
            list(heads), facecolors=palette.MUTED, edgecolors="none", zorder=1.2, gid="one-way"
        )
        ax.add_collection(collection_of_arrows, autolim=False)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(color=palette.CELL_LINE, linewidth=0.8)


def _arrow(line: Points, scale: float) -> tuple[Points, Points] | None:
    """Where the arrow of a one-way street is and where it points; ``None`` when there is no room."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    if along[-1] * scale < _ROOM_PT:
        return None
    middle, reach = along[-1] / 2, 4.0 / scale
    behind, here, ahead = (
        np.array([np.interp(middle + step, along, line[:, i]) for i in range(2)]) for step in (-reach, 0.0, reach)
    )
    return here, ahead - behind
