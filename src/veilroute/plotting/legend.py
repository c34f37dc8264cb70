"""The legend: outside the map, in as many columns as fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.legend_handler import HandlerBase
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation, Transform

from veilroute.plotting.frame import POINTS_PER_INCH, Frame
from veilroute.plotting.marks import Mark, mark_line, text_shift, text_style
from veilroute.plotting.palette import ClassStyle
from veilroute.plotting.routes import route_lines

_FONT_SIZE = 8.5
_MARK_SIZE = 11.0
_LINE_WIDTH = 4.0
_GAP_IN = 0.12
_COLUMN_SPACING = 2.2


@dataclass(frozen=True)
class Entry:
    """One line of the legend: a mark, the style of a route when there is one, and what they mean."""

    mark: Mark
    label: str
    style: ClassStyle | None = None


def add_legend(ax: Axes, entries: Sequence[Entry], frame: Frame, *, beside: bool) -> Legend:
    """Put the legend below the axes of a map and what stands below these, or ``beside`` them on the right."""
    width, height = ax.get_window_extent().size
    shift = (_GAP_IN, 0.0) if beside else (0.0, -_GAP_IN - frame.below_in)
    single = _make_legend(ax, entries, shift, beside=beside, num_columns=1)
    extent = single.get_window_extent()
    spacing = _COLUMN_SPACING * _FONT_SIZE * ax.figure.dpi / POINTS_PER_INCH
    fitting = (
        math.ceil(extent.height / max(height, 1.0)) if beside else int((width + spacing) / (extent.width + spacing))
    )
    num_columns = max(1, min(fitting, len(entries)))
    # With the number of rows settled, even columns look better than a last one that is nearly empty.
    num_columns = math.ceil(len(entries) / math.ceil(len(entries) / num_columns))
    return single if num_columns == 1 else _make_legend(ax, entries, shift, beside=beside, num_columns=num_columns)


def _make_legend(
    ax: Axes, entries: Sequence[Entry], shift: tuple[float, float], *, beside: bool, num_columns: int
) -> Legend:
    outside = ax.transAxes + ScaledTranslation(*shift, ax.figure.dpi_scale_trans)
    legend = ax.legend(
        cast(list[Artist], list(entries)),
        [entry.label for entry in entries],
        handler_map={Entry: _EntryHandler()},
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
        columnspacing=_COLUMN_SPACING,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # a place may be called "$"
    return legend


class _EntryHandler(HandlerBase):
    """Draws an entry's route and mark, with the number set as it is on the map."""

    def create_artists(
        self,
        legend: Legend,
        orig_handle: Artist,
        xdescent: float,
        ydescent: float,
        width: float,
        height: float,
        fontsize: float,
        trans: Transform,
    ) -> Sequence[Artist]:
        """Return the artists of one entry, in the legend's coordinates."""
        entry = cast(Entry, orig_handle)
        mark = entry.mark
        left, middle, right = -xdescent, width / 2 - xdescent, width - xdescent
        y = height / 2 - ydescent
        artists: list[Artist] = []
        if entry.style is not None:
            artists += route_lines(np.array([(left, y), (right, y)]), entry.style, _LINE_WIDTH)
        artists.append(mark_line(mark, (middle, y), _MARK_SIZE))
        if mark.text:
            shift = text_shift(mark, _MARK_SIZE)
            artists.append(Text(middle, y + shift, mark.text, **text_style(mark, _MARK_SIZE)))
        for artist in artists:
            artist.set_transform(trans)
        return artists
