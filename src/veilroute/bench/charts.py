"""Charts of the partitioners at m = infinity: one panel each, on axes of your own or on new ones.

How methods look in figures: one colour, marker and dash each, told apart without relying on hue.

Colours are those of Okabe and Ito without yellow, which is hard to see on white. What the paper published has the
method's colour and marker, hollow.

Charts by m, and by k, ell and radius: one panel each, on axes of your own or on new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from veilroute.bench import published
from veilroute.bench.cells import Method, Record
from veilroute.bench.paper_tables import at_ratio
from veilroute.bench.selection import bounded_label, method_label, select, setting
from veilroute.bench.suites import BOUNDED, CONVERGING, KLR_METHODS, KLR_RADII, M_RATIOS, PARTITIONING
from veilroute.bench.summaries import average, compare, moment, of_method, relate, steps_of
from veilroute.bench.table import format_apr
from veilroute.plotting.palette import INK, MUTED, mix

GRID = "#DADAD6"
TITLE_SIZE, LABEL_SIZE, TICK_SIZE = 10.0, 9.0, 8.0

Dashes = tuple[int, tuple[float, ...]] | str


@dataclass(frozen=True)
class Look:
    """How one method is drawn."""

    colour: str
    marker: str
    dashes: Dashes


_LOOKS = {
    "naive": Look("#E69F00", "s", (0, (1.0, 1.5))),
    "df-bb": Look("#D55E00", "v", (0, (5.0, 1.5, 1.0, 1.5))),
    "merge-bb/random": Look("#56B4E9", "D", (0, (4.0, 2.0))),
    "merge-bb/cost-asc": Look("#0072B2", "o", "solid"),
    "rbp": Look("#CC79A7", "s", (0, (1.0, 1.5))),
    "cbp": Look("#009E73", "^", (0, (4.0, 2.0))),
    "m-pbp": Look("#0072B2", "o", "solid"),
    "optimal": Look("#000000", "*", (0, (6.0, 1.5))),
}
_OTHER = Look(MUTED, "x", "solid")


def look_of(method: Method) -> Look:
    """The look of a method; with the Blind heuristic in a lighter tone."""
    name = method.planner if method.planner != "pbp" else method.partitioner
    if name == "merge-bb":
        name = f"{name}/{method.merge_order}"
    look = _LOOKS.get(name, _OTHER)
    if method.heuristic == "blind":
        return Look(mix(look.colour, "#FFFFFF", 0.45), look.marker, look.dashes)
    return look


def new_axes() -> Axes:
    """Axes on a figure of their own; nothing global is touched."""
    axes: Axes = new_figure((6.0, 4.0)).subplots()
    return axes


def new_figure(size_in: tuple[float, float]) -> Figure:
    """An empty figure that arranges its axes and legend by itself."""
    # Imported here so that whoever brings their own axes and backend is not made to load this one.
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = Figure(figsize=size_in, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def dress(ax: Axes, *, title: str, xlabel: str, ylabel: str, grid: str = "both") -> None:
    """Title, labels and grid in the style that all panels have."""
    ax.set_title(title, fontsize=TITLE_SIZE)
    ax.set_xlabel(xlabel, fontsize=LABEL_SIZE)
    ax.set_ylabel(ylabel, fontsize=LABEL_SIZE)
    ax.tick_params(labelsize=TICK_SIZE)
    ax.set_axisbelow(True)
    ax.grid(axis=grid, color=GRID, linewidth=0.6)  # type: ignore[arg-type]
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


_RATED = tuple(method for method in PARTITIONING if method.partitioner != "naive")
_EARLIEST_S = 1e-3


def plot_coverage(records: Sequence[Record], *, size: int, ax: Axes | None = None) -> Axes:
    """On what share of the instances each method finished: Table 1.

    Parameters
    ----------
    records
        Of any suites.
    size
        Number of candidates.
    ax
        Where to draw; a new figure when left out.
    """
    ax = new_axes() if ax is None else ax
    own = select("table1", records).of_size(size).records
    for place, method in enumerate(_RATED):
        every = compare(own, method).averages
        if every.num_cells:
            share = 100 * every.num_finished / every.num_cells
            ax.barh(place, share, height=0.6, color=look_of(method).colour)
        text = f"{every.num_finished}/{every.num_cells}" if every.num_cells else "no run"
        ax.text(108, place, text, fontsize=TICK_SIZE - 0.5, color=MUTED, va="center")
        paper = published.TABLE1.get((method, size))
        if paper and paper.coverage.value is not None:
            _diamond(ax, paper.coverage.value, place)
    dress(ax, title=f"{size} candidates", xlabel="finished [%]", ylabel="", grid="x")
    _name_rows(ax, _RATED)
    ax.set_xlim(-4, 138)
    ax.set_xticks([0, 50, 100])
    return ax


def plot_times(records: Sequence[Record], *, size: int, ax: Axes | None = None) -> Axes:
    """Mean runtimes of Table 1: over all instances, and over those that the paper chose.

    Parameters
    ----------
    records
        Of any suites.
    size
        Number of candidates.
    ax
        Where to draw; a new figure when left out.
    """
    ax = new_axes() if ax is None else ax
    own = select("table1", records).of_size(size).records
    for place, method in enumerate(PARTITIONING):
        ours = compare(own, method)
        if ours.averages.runtime_s is not None:
            seconds = max(ours.averages.runtime_s, _EARLIEST_S)
            marker = ">" if ours.averages.is_time_bound else "o"
            ax.plot(seconds, place - 0.22, marker, color=look_of(method).colour, markersize=7, zorder=3)
        if ours.total_time_s is not None:
            seconds = max(ours.total_time_s, _EARLIEST_S)
            ax.plot(seconds, place + 0.02, "|", color=INK, markersize=7, markeredgewidth=1.6, zorder=4)
        paper = published.TABLE1.get((method, size))
        if paper and paper.total_time_s.text == "<1":
            ax.plot(1.0, place + 0.24, "<", markerfacecolor="none", markeredgecolor=INK, markersize=6, zorder=4)
        elif paper and paper.total_time_s.value is not None:
            _diamond(ax, paper.total_time_s.value, place + 0.24)
    dress(ax, title="", xlabel="mean time [s]", ylabel="", grid="x")
    ax.set_xscale("log")
    ax.set_xlim(0.7 * _EARLIEST_S, 1000)
    ax.set_xticks([0.001, 0.1, 10, 1000], ["≤0.001", "0.1", "10", "1000"])
    ax.xaxis.set_minor_locator(NullLocator())
    _name_rows(ax, PARTITIONING)
    return ax


def plot_relative(records: Sequence[Record], *, size: int, ax: Axes | None = None) -> Axes:
    """MAC relative to Naive with its standard deviation: Table 2.

    Parameters
    ----------
    records
        Of any suites.
    size
        Number of candidates.
    ax
        Where to draw; a new figure when left out.
    """
    ax = new_axes() if ax is None else ax
    own = select("table2", records).of_size(size).records
    for place, method in enumerate(_RATED):
        ours = relate(own, method)
        look = look_of(method)
        if ours.mean is not None:
            spread = 0.0 if ours.deviation is None else ours.deviation
            ax.errorbar(
                ours.mean, place - 0.14, xerr=spread, fmt=look.marker, color=look.colour, markersize=7, capsize=2.5
            )
        paper = published.TABLE2.get((method, size))
        if paper and paper.mean.value is not None:
            ax.errorbar(
                paper.mean.value,
                place + 0.18,
                xerr=paper.deviation.value,
                fmt="D",
                color=MUTED,
                markerfacecolor="white",
                markeredgecolor=INK,
                markersize=5,
                capsize=2,
                elinewidth=0.8,
            )
    ax.axvline(0.0, color=GRID, linewidth=0.6, zorder=1)
    ax.axvline(1.0, color=MUTED, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1)
    dress(ax, title=f"{size} candidates", xlabel="MAC over Naive's", ylabel="", grid="x")
    _name_rows(ax, _RATED)
    return ax


def plot_convergence(records: Sequence[Record], *, size: int, measure: str, ax: Axes | None = None) -> Axes:
    """APR or MAC over time, mean over the instances: Figure 3.

    A MAC is drawn thin as long as some instances have none, because the mean is over those that have one. Its axis is
    logarithmic; a MAC of 0 lies below it.

    Parameters
    ----------
    records
        Of any suites.
    size
        Number of candidates.
    measure
        ``apr`` or ``mac``.
    ax
        Where to draw; a new figure when left out.
    """
    ax = new_axes() if ax is None else ax
    chosen = select("convergence", records).of_size(size)
    end = max(chosen.time_limits_s, default=1.0)
    for method in CONVERGING:
        own = of_method(chosen.records, method)
        if not own:
            continue
        times = sorted({max(step[0], _EARLIEST_S) for record in own for step in steps_of(record.outcome)})
        times = [*(time for time in times if time < end), end]
        moments = [moment(own, time) for time in times]
        look = look_of(method)
        label = method_label(method)
        if measure == "apr":
            aprs = [(time, at.apr or 0.0) for time, at in zip(times, moments, strict=True)]
            _draw_steps(ax, look, aprs if times[0] <= _EARLIEST_S else [(_EARLIEST_S, 0.0), *aprs], label=label)
        else:
            macs = [(time, at) for time, at in zip(times, moments, strict=True)]
            _draw_steps(ax, look, [(time, at.mac) for time, at in macs if at.mac is not None], width=0.7)
            complete = [(time, at) for time, at in macs if at.num_macs == at.num_cells]
            _draw_steps(ax, look, [(time, at.mac) for time, at in complete if at.mac is not None], label=label)
        paper = published.TABLE1.get((method, size))
        value = None if paper is None else paper.apr.value if measure == "apr" else paper.mac.value
        if value is not None:
            face, edge = "white", look.colour
            ax.plot(end * 1.5, value, look.marker, markerfacecolor=face, markeredgecolor=edge, markersize=5.5)
    dress(ax, title=f"{size} candidates", xlabel="time [s]", ylabel="mean APR" if measure == "apr" else "mean MAC")
    ax.set_xscale("log")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlim(_EARLIEST_S, end * 2.4)
    if measure == "apr":
        ax.set_ylim(-0.04, 1.06)
    else:
        # First partitions can be many times dearer than the last.
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    return ax


def _draw_steps(
    ax: Axes, look: Look, points: Sequence[tuple[float, float]], *, width: float = 1.8, label: str | None = None
) -> None:
    """A line that stays at each point until the next."""
    if points:
        xs, ys = zip(*points, strict=True)
        colour, dashes = look.colour, look.dashes
        ax.plot(xs, ys, color=colour, linestyle=dashes, linewidth=width, drawstyle="steps-post", label=label)


def _name_rows(ax: Axes, methods: Sequence[Method]) -> None:
    ax.set_yticks(range(len(methods)), [method_label(method) for method in methods])
    ax.set_ylim(len(methods) - 0.4, -0.6)


def _diamond(ax: Axes, x: float, y: float) -> None:
    ax.plot(x, y, "D", markerfacecolor="white", markeredgecolor=INK, markersize=5, zorder=5)


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
