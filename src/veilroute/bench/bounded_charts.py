"""Charts by m, and by k, ell and radius: one panel each, on axes of your own or on new ones."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from veilroute.bench import published
from veilroute.bench.bounded_tables import at_ratio
from veilroute.bench.design import BOUNDED, KLR_METHODS, KLR_RADII, M_RATIOS
from veilroute.bench.records import Record
from veilroute.bench.selection import bounded_label, method_label, select, setting
from veilroute.bench.styles import TICK_SIZE, Look, dress, look_of, new_axes
from veilroute.bench.summaries import average
from veilroute.bench.table import format_apr
from veilroute.plotting.palette import MUTED

ZERO = "zero"
"""Marks the artists that stand for a MAC of 0."""

_XLABEL = "m / shortest path"
# Zeros of several planners stand side by side.
_ASIDE = {"s": 0.83, "^": 0.94, "o": 1.06, "*": 1.2}


def plot_runtimes(records: Sequence[Record], *, ax: Axes | None = None) -> Axes:
    """Mean runtime by m: Table 3.

    Parameters
    ----------
    records
        Of any suites.
    ax
        Where to draw; a new figure when left out.
    """
    ax = new_axes() if ax is None else ax
    own = select("table3", records).records
    for method in BOUNDED:
        ours = [average(setting(own, method, ratio=ratio)).runtime_s for ratio in M_RATIOS]
        paper = published.TABLE3.get(method.planner)
        texts = [paper[ratio].value for ratio in M_RATIOS] if paper else []
        _draw_lines(ax, look_of(method), bounded_label(method, own), ours, texts)
    dress(ax, title="", xlabel=_XLABEL, ylabel="mean runtime [s]")
    _scale(ax)
    return ax


def plot_impact_of_m(records: Sequence[Record], *, k: int, ax: Axes | None = None) -> Axes:
    """Mean MAC by m: Figure 6.

    A MAC of 0 has no place on a logarithmic axis; it is a triangle at the lower edge.

    Parameters
    ----------
    records
        Of any suites.
    k
        Which k.
    ax
        Where to draw; a new figure when left out.
    """
    ax = new_axes() if ax is None else ax
    own = select("table4", records).records
    for method in BOUNDED:
        look = look_of(method)
        ours = [average(setting(own, method, k=k, ratio=ratio)).mac for ratio in M_RATIOS]
        paper = published.TABLE4.get((method.planner, k))
        texts = [paper[ratio].value for ratio in M_RATIOS] if paper else []
        _draw_lines(ax, look, bounded_label(method, own), ours, texts)
        last = average(setting(own, at_ratio(method, None), k=k, ratio=None)).mac
        if last and method.planner == "m-pbp":
            ax.axhline(last, color=look.colour, linewidth=0.9, linestyle=(0, (1, 2)), label="Pbp, m = infinity")
    dress(ax, title=f"k = {k}", xlabel=_XLABEL, ylabel="mean MAC")
    _scale(ax)
    return ax


def plot_klr(records: Sequence[Record], *, k: int, ell: float, ax: Axes | None = None) -> Axes:
    """Mean MAC by radius: one panel of Figure 4.

    Where not all candidates are anonymized, the mean APR stands above the bar.

    Parameters
    ----------
    records
        Of any suites.
    k, ell
        Which panel.
    ax
        Where to draw; a new figure when left out.
    """
    ax = new_axes() if ax is None else ax
    own = select("klr", records).records
    width = 0.38
    for i, method in enumerate(KLR_METHODS):
        shift = (i - 0.5) * width
        look = look_of(method)
        for place, radius in enumerate(KLR_RADII):
            cells = average(setting(own, method, k=k, ell=ell, radius=radius, ratio=None))
            label = method_label(method) if place == 0 else None
            at = place + shift
            ax.bar(at, cells.mac or 0.0, width * 0.94, color=look.colour, label=label)
            if not cells.num_cells or cells.apr is None:
                note = "no records"
            elif cells.mac is None:
                note = "APR 0"
            else:
                note = "" if cells.apr == 1 else f"APR {format_apr(cells.apr)}"
            if note:
                offset = (0, 3)
                ax.annotate(
                    note,
                    (at, cells.mac or 0.0),
                    offset,
                    textcoords="offset points",
                    rotation=90,
                    ha="center",
                    va="bottom",
                    fontsize=TICK_SIZE - 1.5,
                    color=MUTED,
                )
    dress(ax, title=f"k = {k}, ell = {ell:g}", xlabel="radius", ylabel="mean MAC", grid="y")
    ax.set_xticks(range(len(KLR_RADII)), [f"{radius:g}" for radius in KLR_RADII])
    ax.set_xlim(-0.6, len(KLR_RADII) - 0.4)
    ax.margins(y=0.26)  # room for words above the highest bar
    return ax


def _draw_lines(ax: Axes, look: Look, label: str, ours: Sequence[float | None], paper: Sequence[float | None]) -> None:
    """Our line with filled markers, the paper's markers hollow, zeros at the lower edge."""
    points = [(ratio, value) for ratio, value in zip(M_RATIOS, ours, strict=True) if value is not None]
    positive = [(ratio, value) for ratio, value in points if value > 0]
    ax.plot(
        [ratio for ratio, _ in positive],
        [value for _, value in positive],
        marker=look.marker,
        color=look.colour,
        linestyle=look.dashes,
        linewidth=1.5,
        markersize=8 if look.marker == "*" else 5.5,
        label=label,
    )
    zeros = [ratio * _ASIDE.get(look.marker, 1.0) for ratio, value in points if value <= 0]
    if zeros:
        edge = ax.get_xaxis_transform()
        height = [0.02] * len(zeros)
        ax.plot(zeros, height, "v", color=look.colour, markersize=6, transform=edge, gid=ZERO)
    shown = [(ratio, value) for ratio, value in zip(M_RATIOS, paper, strict=False) if value is not None]
    if shown:
        ax.plot(
            [ratio for ratio, _ in shown],
            [value for _, value in shown],
            look.marker,
            markerfacecolor="none",
            markeredgecolor=look.colour,
            markeredgewidth=1.1,
            markersize=9,
        )


def _scale(ax: Axes) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_major_locator(FixedLocator(M_RATIOS))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xticklabels([f"{ratio:g}" for ratio in M_RATIOS])
    ax.set_xlim(0.07, 14)
