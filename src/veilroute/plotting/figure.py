"""Room on the page: how large a figure is and where map, title and legend go."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from veilroute.plotting.frame import Frame
from veilroute.plotting.legend import Entry, add_legend

_PAD_IN = 0.12
# Still wide enough for a title.
_NARROWEST_IN = 5.6
# A map this much taller than wide has its legend on the right.
_TALL = 1.15


def fit_figure(ax: Axes, frame: Frame, entries: Sequence[Entry], size_in: tuple[float, float] | None) -> None:
    """Set the size of the figure and the place of the axes so that title, map and legend just fit.

    Parameters
    ----------
    ax
        The only axes of their figure, with their title set.
    frame
        The map.
    entries
        Of the legend; none for no legend.
    size_in
        Width and height of the whole figure in inches; the map takes what is left. When left out, the map has the
        frame's size and the figure grows around it.
    """
    figure = ax.figure
    assert isinstance(figure, Figure)
    width, height = frame.size_in
    # Names of places make a legend wide, and there would be little beside it.
    beside = height > _TALL * width and not frame.notes_in
    left = _PAD_IN + frame.ticks_in
    page_width = max(left + width + _PAD_IN, _NARROWEST_IN) if size_in is None else size_in[0]
    # The legend's columns depend on the width there is for it, which is the axes' at this moment.
    _place(figure, ax, (page_width, height), (left, 0.0, max(page_width - left - _PAD_IN, 0.5), height))
    legend_width = legend_height = 0.0
    if entries:
        extent = add_legend(ax, entries, frame, beside=beside).get_window_extent()
        legend_width, legend_height = extent.width / figure.dpi + _PAD_IN, extent.height / figure.dpi + _PAD_IN
    bottom = _PAD_IN + frame.below_in + (0.0 if beside else legend_height)
    right = _PAD_IN + (legend_width if beside else 0.0)
    if beside:
        # Over a narrow map the title would hang out on the left; let it run on above the legend.
        ax.title.set(x=0.0, ha="left")
    top = _PAD_IN + _title_height(figure, ax, max(page_width, left + width + right) - left)
    if size_in is None:
        page = (max(left + width + right, page_width), bottom + height + top)
        spare = 0.0 if beside else page[0] - left - width - right
        _place(figure, ax, page, (left + spare / 2, bottom, width, height))
    else:
        # A page that is too small for title and legend still shows some map.
        room = (max(size_in[0] - left - right, 0.5), max(size_in[1] - bottom - top, 0.5))
        _place(figure, ax, size_in, (left, max(size_in[1] - top - room[1], 0.0), *room))


def _place(figure: Figure, ax: Axes, page: tuple[float, float], box: tuple[float, float, float, float]) -> None:
    figure.set_size_inches(page)
    ax.set_position((box[0] / page[0], box[1] / page[1], box[2] / page[0], box[3] / page[1]))


def _title_height(figure: Figure, ax: Axes, width: float) -> float:
    """Height of the title in inches, after breaking it at its colon when it is wider than ``width``."""
    text = ax.get_title()
    if not text:
        return 0.0
    if ax.title.get_window_extent().width / figure.dpi > width:
        ax.title.set_text(text.replace(": ", "\n", 1))
    return float(ax.title.get_window_extent().height / figure.dpi) + _PAD_IN
