"""Charts of the partitioners at m = infinity: one panel each, on axes of your own or on new ones."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from veilroute.bench import published
from veilroute.bench.cells import Method
from veilroute.bench.design import CONVERGING, PARTITIONING
from veilroute.bench.records import Record
from veilroute.bench.selection import method_label, select
from veilroute.bench.styles import GRID, TICK_SIZE, Look, dress, look_of, new_axes
from veilroute.bench.summaries import compare, moment, of_method, relate, steps_of
from veilroute.plotting.palette import INK, MUTED

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
