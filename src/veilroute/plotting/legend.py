"""The legend: outside the map, in as many columns as fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from veilroute.plotting.marks import Mark
from veilroute.plotting.palette import ClassStyle
from veilroute.plotting.routes import route_lines

_FONT_SIZE = 8.5
_MARK_SIZE = 11.0
_LINE_WIDTH = 4.0
_GAP_IN = 0.4


@dataclass(frozen=True)
class Entry:
    """One line of the legend: a mark, the style of a route when there is one, and what they mean."""

    mark: Mark
    label: str
    style: ClassStyle | None = None


def add_legend(ax: Axes, entries: Sequence[Entry], *, beside: bool) -> Legend:
    """Put the legend below the axes, or ``beside`` them on the right."""
    width, height = ax.get_window_extent().size
    single = _make_legend(ax, entries, beside=beside, num_columns=1)
    extent = single.get_window_extent()
    if beside:
        num_columns = math.ceil(extent.height / max(height, 1.0))
    else:
        num_columns = int(max(width, 1.0) / extent.width)
    num_columns = max(1, min(num_columns, len(entries)))
    # With the number of rows settled, even columns look better than a last one that is nearly empty.
    num_columns = math.ceil(len(entries) / math.ceil(len(entries) / num_columns))
    return single if num_columns == 1 else _make_legend(ax, entries, beside=beside, num_columns=num_columns)


def _make_legend(ax: Axes, entries: Sequence[Entry], *, beside: bool, num_columns: int) -> Legend:
    shift = (0.12, 0.0) if beside else (0.0, -_GAP_IN)
    outside = ax.transAxes + ScaledTranslation(*shift, ax.figure.dpi_scale_trans)
    return ax.legend(
        [_handle(entry) for entry in entries],
        [entry.label for entry in entries],
        handler_map={tuple: HandlerTuple(ndivide=1, pad=0.0)},
        loc="upper left" if beside else "upper center",
        bbox_to_anchor=(1.0, 1.0) if beside else (0.5, 0.0),
        bbox_transform=outside,
        borderaxespad=0.0,
        ncols=num_columns,
        fontsize=_FONT_SIZE,
        frameon=False,
        handlelength=3.4,
        handletextpad=0.7,
        labelspacing=0.75,
        columnspacing=2.2,
    )


def _handle(entry: Entry) -> tuple[Line2D, ...]:
    parts: list[Line2D] = []
    if entry.style is not None:
        parts += route_lines(np.zeros((0, 2)), entry.style, _LINE_WIDTH)
    mark = entry.mark
    parts.append(
        Line2D(
            [],
            [],
            linestyle="none",
            marker=mark.shape,
            markersize=_MARK_SIZE * mark.scale,
            markerfacecolor=mark.face,
            markeredgecolor=mark.edge,
            markeredgewidth=2.0 if mark.shape == "x" else 0.9,
        )
    )
    if mark.text:
        size = _MARK_SIZE * (0.48 if len(mark.text) == 1 else 0.72)
        text = Line2D([], [], linestyle="none", marker=f"$\\mathbf{{{mark.text}}}$", markersize=size)
        text.set(markerfacecolor=mark.ink, markeredgecolor="none")
        parts.append(text)
    return tuple(parts)
