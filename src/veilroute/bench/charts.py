"""The figures of a report: panels that share one style, their legends, and files with the same bytes for same records.

Every method has one colour, marker and dash, told apart without relying on hue. Colours are those of Okabe and Ito
without yellow, which is hard to see on white. What the paper published is hollow.
"""

import io
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from veilroute.bench import paper
from veilroute.bench.cells import Method
from veilroute.bench.comparing import SETTINGS, bootstrap_interval, by_setting, methods_of, varied_settings
from veilroute.bench.design import Selection
from veilroute.bench.impact import shown_ks
from veilroute.bench.observing import OBSERVERS, faring, rivals
from veilroute.bench.paper import method_label
from veilroute.bench.partitioning import averages_at, compare, relate, steps_of
from veilroute.jsontext import write_file
from veilroute.plotting.palette import INK, MUTED, mix

GRID = "#DADAD6"
TITLE_SIZE, LABEL_SIZE, TICK_SIZE = 10.0, 9.0, 8.0
DPI = 150.0
_STUDY_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MOST_COLUMNS = 4
_STUDY_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
ZERO = "zero"  #: marks the artists that stand for a MAC of 0
_METADATA = {
    "png": {"Software": "veilroute"},
    "svg": {"Creator": "veilroute", "Date": None},
    "pdf": {"Creator": "veilroute", "Producer": "veilroute", "CreationDate": None},
}
_EARLIEST_S = 1e-3
# Zeros of several planners stand side by side.
_ASIDE = {"s": 0.83, "^": 0.94, "o": 1.06, "*": 1.2}


class Look(NamedTuple):
    """How one method is drawn."""

    colour: str
    marker: str
    dashes: tuple[int, tuple[float, ...]] | str


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


def look_of(method: Method) -> Look:
    """The look of a method; with the Blind heuristic in a lighter tone."""
    name = method.planner if method.planner != "pbp" else method.partitioner
    if name == "merge-bb":
        name = f"{name}/{method.merge_order}"
    look = _LOOKS.get(name, Look(MUTED, "x", "solid"))
    return look._replace(colour=mix(look.colour, "#FFFFFF", 0.45)) if method.heuristic == "blind" else look


def save_chart(draw: Callable[[Selection], Figure], chosen: Selection, png: Path) -> None:
    """Draw a figure and write it as ``.png``, ``.svg`` and ``.pdf``; the user's settings of matplotlib play no part."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams["svg.hashsalt"] = "veilroute"
        figure = draw(chosen)
        # Arranged once, so that both files agree.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for form, metadata in _METADATA.items():
            made = io.BytesIO()
            figure.savefig(made, format=form, dpi=DPI, metadata=metadata)
            write_file(png.with_suffix(f".{form}"), made.getvalue())


def _draw_panels(
    keys: Sequence[Any],
    panels: Sequence[Callable[[Axes, Any], None]],
    height_in: float,
    *,
    width_in: float = 0.0,
    share_x: bool | Literal["col"] = False,
    height_ratios: Sequence[float] | None = None,
    is_outer: bool = False,  # only the panels at the edge have labels
) -> Figure:
    """A figure with a column for each key and a row for each kind of panel; nothing global is touched."""
    if not width_in:
        width_in = 5.6 if len(keys) == 1 else min(8.0, 2.6 + 1.9 * len(keys))
    figure = Figure(figsize=(width_in, height_in), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    shape = (len(panels), len(keys))
    grid = figure.subplots(*shape, squeeze=False, sharex=share_x, sharey="row", height_ratios=height_ratios)
    for key, column in zip(keys, grid.T, strict=True):
        for draw, ax in zip(panels, column, strict=True):
            draw(ax, key)
            if is_outer:
                ax.label_outer()
    return figure


def _dress(ax: Axes, title: str, xlabel: str, ylabel: str = "", *, grid: Literal["both", "x", "y"] = "both") -> None:
    ax.set_title(title, fontsize=TITLE_SIZE)
    ax.set_xlabel(xlabel, fontsize=LABEL_SIZE)
    ax.set_ylabel(ylabel, fontsize=LABEL_SIZE)
    ax.tick_params(labelsize=TICK_SIZE)
    ax.set_axisbelow(True)
    ax.grid(axis=grid, color=GRID, linewidth=0.6)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _dress_rows(ax: Axes, title: str, xlabel: str, methods: Sequence[Method]) -> None:
    """Of a panel with a row for each method."""
    _dress(ax, title, xlabel, grid="x")
    ax.set_yticks(range(len(methods)), [method_label(method) for method in methods])
    ax.set_ylim(len(methods) - 0.4, -0.6)


def _show_plain(axis: Axis) -> None:
    """Numbers of a logarithmic axis as 0.5 and not as powers of ten."""
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _hollow(edge: str = INK, face: str = "white") -> dict[str, Any]:
    return {"markerfacecolor": face, "markeredgecolor": edge}


def _diamond(ax: Axes, figure: paper.Printed, y: float) -> None:
    """The paper's number, if there is one."""
    if (value := paper.number(figure)) is not None:
        ax.plot(value, y, "D", markersize=5, zorder=5, **_hollow())


def _mark(marker: str, label: str, **options: Any) -> Line2D:
    """An entry of a legend; hollow, as the paper's figures, unless it has a colour."""
    return Line2D([], [], linestyle="", marker=marker, label=label, **(options or _hollow()))


def _add_legend(figure: Figure, *marks: Artist) -> Figure:
    """Put what the panels labelled, each once, and some marks below the panels, in as many even columns as fit."""
    labelled: dict[str, Artist] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            labelled.setdefault(label, handle)
    handles = [*labelled.values(), *marks]
    for num_columns in range(len(handles), 0, -1):
        even = math.ceil(len(handles) / math.ceil(len(handles) / num_columns))
        legend = figure.legend(
            handles=handles, loc="outside lower center", ncols=even, fontsize=TICK_SIZE + 0.5, frameon=False
        )
        if even == 1 or legend.get_window_extent().width < figure.bbox.width:
            break
        legend.remove()
    return figure


def plot_coverage(chosen: Selection, ax: Axes, size: int) -> None:
    """On what share of the instances each method finished: Table 1."""
    part = chosen.where(num_candidates=size)
    for place, method in enumerate(paper.RATED):
        every = compare(part, method).averages
        if every.num_cells:
            share = 100 * every.num_finished / every.num_cells
            ax.barh(place, share, height=0.6, color=look_of(method).colour)
        text = f"{every.num_finished}/{every.num_cells}" if every.num_cells else "no run"
        ax.text(108, place, text, fontsize=TICK_SIZE - 0.5, color=MUTED, va="center")
        _diamond(ax, paper.table1_row(method, size).coverage, place)
    _dress_rows(ax, f"{size} candidates", "finished [%]", paper.RATED)
    ax.set(xlim=(-4, 138), xticks=[0, 50, 100])


def plot_times(chosen: Selection, ax: Axes, size: int) -> None:
    """Mean runtimes of Table 1: over all instances, and over those that the paper chose."""
    part = chosen.where(num_candidates=size)
    for place, method in enumerate(paper.PARTITIONING):
        ours = compare(part, method)
        if ours.averages.runtime_s is not None:
            seconds = max(ours.averages.runtime_s, _EARLIEST_S)
            marker = ">" if ours.averages.is_time_bound else "o"
            ax.plot(seconds, place - 0.22, marker, color=look_of(method).colour, markersize=7, zorder=3)
        if ours.total_time_s is not None:
            seconds = max(ours.total_time_s, _EARLIEST_S)
            ax.plot(seconds, place + 0.02, "|", color=INK, markersize=7, markeredgewidth=1.6, zorder=4)
        printed = paper.table1_row(method, size).total_time_s
        if printed == "<1":
            ax.plot(1.0, place + 0.24, "<", markersize=6, zorder=4, **_hollow(face="none"))
        _diamond(ax, printed, place + 0.24)
    _dress_rows(ax, "", "mean time [s]", paper.PARTITIONING)
    ax.set(xscale="log", xlim=(0.7 * _EARLIEST_S, 1000))
    ax.set_xticks([0.001, 0.1, 10, 1000], ["≤0.001", "0.1", "10", "1000"])
    ax.xaxis.set_minor_locator(NullLocator())


def draw_table1(chosen: Selection) -> Figure:
    """Coverage above, times below, a column for each number of candidates."""
    panels = (partial(plot_coverage, chosen), partial(plot_times, chosen))
    return _add_legend(
        _draw_panels(chosen.sizes, panels, 5.9, height_ratios=[7, 9]),
        _mark("D", "paper"),
        _mark("<", "paper: below 1 s"),
        _mark("o", "ours, all instances", color=MUTED, markersize=7),
        _mark(">", "ours, at least: some stopped", color=MUTED, markersize=7),
        _mark("|", "ours, where Merge-BB, Blind finished", color=INK, markersize=8),
    )


def plot_relative(chosen: Selection, ax: Axes, size: int) -> None:
    """MAC relative to Naive with its standard deviation: Table 2."""
    part = chosen.where(num_candidates=size)
    style = {"color": MUTED, "markersize": 5, "capsize": 2, "elinewidth": 0.8, **_hollow()}
    for place, method in enumerate(paper.RATED):
        ratios, printed = relate(part, method), paper.TABLE2.get((method, size), paper.Ratio())
        if ratios:
            look, spread = look_of(method), stdev(ratios) if len(ratios) > 1 else 0.0
            dot: dict[str, Any] = {"fmt": look.marker, "color": look.colour, "markersize": 7, "capsize": 2.5}
            ax.errorbar(fmean(ratios), place - 0.14, xerr=spread, **dot)
        if (value := paper.number(printed.mean)) is not None:
            ax.errorbar(value, place + 0.18, xerr=paper.number(printed.deviation), fmt="D", **style)
    ax.axvline(0.0, color=GRID, linewidth=0.6, zorder=1)
    ax.axvline(1.0, color=MUTED, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1)
    _dress_rows(ax, f"{size} candidates", "MAC over Naive's", paper.RATED)


def draw_table2(chosen: Selection) -> Figure:
    """A panel for each number of candidates."""
    figure = _draw_panels(chosen.sizes, [partial(plot_relative, chosen)], 3.6, share_x=True)
    ours = _mark("o", "ours: mean ± standard deviation", color=MUTED, markersize=7)
    return _add_legend(figure, ours, _mark("D", "paper"))


def plot_convergence(chosen: Selection, measure: str, ax: Axes, size: int) -> None:
    """APR or MAC over time, mean over the instances: Figure 3.

    A MAC is drawn thin as long as some instances have none, because the mean is over those that have one. Its axis is
    logarithmic, because first partitions can be many times dearer than the last; a MAC of 0 lies below it.
    """
    is_apr = measure == "apr"
    part = chosen.where(num_candidates=size)
    end = max(part.time_limits_s, default=1.0)
    for method in paper.CONVERGING:
        own = part.where(method=method).records
        if not own:
            continue
        times = sorted({max(step[0], _EARLIEST_S) for record in own for step in steps_of(record.outcome)})
        times = [*(time for time in times if time < end), end]
        moments = [(time, averages_at(own, time)) for time in times]
        look, label = look_of(method), method_label(method)
        if is_apr:
            aprs = [(time, at.apr or 0.0) for time, at in moments]
            _draw_steps(ax, look, aprs if times[0] <= _EARLIEST_S else [(_EARLIEST_S, 0.0), *aprs], label=label)
        else:
            macs = [(time, at.mac, at.num_macs == at.num_cells) for time, at in moments if at.mac is not None]
            _draw_steps(ax, look, [(time, mac) for time, mac, _ in macs], width=0.7)
            _draw_steps(ax, look, [(time, mac) for time, mac, is_complete in macs if is_complete], label=label)
        printed = paper.table1_row(method, size)
        if (value := paper.number(printed.apr if is_apr else printed.mac)) is not None:
            ax.plot(end * 1.5, value, look.marker, markersize=5.5, **_hollow(look.colour))
    title, ylabel = (f"{size} candidates", "mean APR") if is_apr else ("", "mean MAC")
    _dress(ax, title, "time [s]", ylabel)
    ax.set(xscale="log", xlim=(_EARLIEST_S, end * 2.4))
    ax.xaxis.set_minor_locator(NullLocator())
    if is_apr:
        ax.set_ylim(-0.04, 1.06)
    else:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        _show_plain(ax.yaxis)


def _draw_steps(
    ax: Axes, look: Look, points: Sequence[tuple[float, float]], *, width: float = 1.8, label: str | None = None
) -> None:
    """A line that stays at each point until the next."""
    if points:
        xs, ys = zip(*points, strict=True)
        colour, dashes = look.colour, look.dashes
        ax.plot(xs, ys, color=colour, linestyle=dashes, linewidth=width, drawstyle="steps-post", label=label)


def draw_convergence(chosen: Selection) -> Figure:
    """APR above, MAC below, a column for each number of candidates."""
    panels = [partial(plot_convergence, chosen, measure) for measure in ("apr", "mac")]
    figure = _draw_panels(chosen.sizes, panels, 5.4, share_x="col", is_outer=True)
    return _add_legend(figure, _mark("o", "hollow: the paper's at 300 s"))


def plot_runtimes(chosen: Selection, ax: Axes, _: object = None) -> None:
    """Mean runtime by m: Table 3."""
    for method in paper.BOUNDED:
        ours = [chosen.where(method=method, m_ratio=ratio).averages.runtime_s for ratio in paper.M_RATIOS]
        _draw_by_m(ax, look_of(method), chosen.bounded_label(method), ours, paper.TABLE3.get(method, {}).values())
    _dress_by_m(ax, "", "mean runtime [s]")


def draw_table3(chosen: Selection) -> Figure:
    """One panel."""
    figure = _draw_panels([None], [partial(plot_runtimes, chosen)], 4.3, width_in=6.4)
    return _add_legend(figure, _mark("o", "hollow: the paper's"))


def plot_impact_of_m(chosen: Selection, ax: Axes, k: int) -> None:
    """Mean MAC by m: Figure 6. A MAC of 0 has no place on a logarithmic axis; it is a triangle at the lower edge."""
    for method in paper.BOUNDED:
        look = look_of(method)
        ours = [chosen.where(method=method, k=k, m_ratio=ratio).averages.mac for ratio in paper.M_RATIOS]
        _draw_by_m(ax, look, chosen.bounded_label(method), ours, paper.TABLE4.get((method, k), {}).values())
        limit = chosen.where(method=paper.BEST, k=k, m_ratio=None).averages.mac
        if limit and method == paper.M_PBP:
            ax.axhline(limit, color=look.colour, linewidth=0.9, linestyle=(0, (1, 2)), label="Pbp, m = infinity")
    _dress_by_m(ax, f"k = {k}", "mean MAC")


def draw_table4(chosen: Selection) -> Figure:
    """A panel for each k."""
    figure = _draw_panels(shown_ks(chosen), [partial(plot_impact_of_m, chosen)], 4.0, is_outer=True)
    marks = [_mark("o", "hollow: the paper's")]
    if figure.findobj(lambda artist: artist.get_gid() == ZERO):
        marks.append(_mark("v", "MAC 0, off the scale", color=MUTED))
    return _add_legend(figure, *marks)


def _draw_by_m(ax: Axes, look: Look, label: str, ours: Sequence[float | None], theirs: Iterable[paper.Printed]) -> None:
    """Our line with filled markers, the paper's markers hollow, zeros at the lower edge."""
    points = [(ratio, value) for ratio, value in zip(paper.M_RATIOS, ours, strict=True) if value is not None]
    ratios, values = [ratio for ratio, value in points if value > 0], [value for _, value in points if value > 0]
    style: dict[str, Any] = {"linestyle": look.dashes, "marker": look.marker, "markersize": 5.5, "linewidth": 1.5}
    style |= {"markersize": 8} if look.marker == "*" else {}
    ax.plot(ratios, values, color=look.colour, label=label, **style)
    if zeros := [ratio * _ASIDE.get(look.marker, 1.0) for ratio, value in points if value <= 0]:
        edge = ax.get_xaxis_transform()
        ax.plot(zeros, [0.02] * len(zeros), "v", color=look.colour, markersize=6, transform=edge, gid=ZERO)
    printed = [value for figure in theirs if (value := paper.number(figure)) is not None]
    if printed:
        ax.plot(paper.M_RATIOS, printed, look.marker, markeredgewidth=1.1, markersize=9, **_hollow(look.colour, "none"))


def _dress_by_m(ax: Axes, title: str, ylabel: str) -> None:
    _dress(ax, title, "m / shortest path", ylabel)
    ax.set(xscale="log", yscale="log", xlim=(0.07, 14))
    _show_plain(ax.yaxis)
    ax.xaxis.set_major_locator(FixedLocator(paper.M_RATIOS))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticklabels([f"{ratio:g}" for ratio in paper.M_RATIOS])


def plot_study(methods: Sequence[Method], axis: str, measure: str, ax: Axes, panel: tuple[str, Selection]) -> None:
    """Mean MAC or time of each method by one setting, or side by side where none with numbers is varied."""
    title, part = panel
    for place, method in enumerate(methods):
        points = []
        for value in _axis_values(part, axis) if axis else [None]:
            own = [r for r in part.where(method=method).records if not axis or SETTINGS[axis](r.cell) == value]
            values = [v for r in own if (v := r.outcome.mac if measure == "MAC" else r.outcome.runtime_s) is not None]
            if values:
                low, high = bootstrap_interval(values) or (values[0], values[0])
                points.append((place if value is None else value, fmean(values), low, high))
        if not points:
            continue
        at, means, lows, highs = map(np.array, zip(*points, strict=True))
        around = np.maximum([means - lows, highs - means], 0.0)
        style: dict[str, Any] = {"color": _STUDY_COLOURS[place % len(_STUDY_COLOURS)], "linewidth": 1.4, "capsize": 2.5}
        style |= {"marker": _STUDY_MARKERS[place % len(_STUDY_MARKERS)], "markersize": 5}
        # Dashes of different lengths, because methods may meet in the same points.
        ax.errorbar(at, means, yerr=around, label=method_label(method), linestyle=(0, (6, 2.0 * place)), **style)
    _dress(ax, title, axis or "method", "mean MAC" if measure == "MAC" else "mean time [s]", grid="y")
    if measure != "MAC":
        ax.set_yscale("log")
        _show_plain(ax.yaxis)
    if axis:
        shown = _axis_values(part, axis)
        if shown[0] > 0 and shown[-1] / shown[0] >= 20:
            ax.set_xscale("log")
            _show_plain(ax.xaxis)
        ax.set_xticks(shown, [f"{value:g}" for value in shown])
    else:
        ax.set_xticks([])


def _axis_values(chosen: Selection, axis: str) -> list[float]:
    found = {SETTINGS[axis](record.cell) for record in chosen.records}
    return sorted(float(value) for value in found if isinstance(value, int | float))


def draw_study(chosen: Selection) -> Figure:
    """MAC above time, by the first setting with numbers that is varied; a column for each value of the others, if there
    are few, else the means over them."""
    varied = varied_settings(chosen)
    axis = next((name for name in varied if len(_axis_values(chosen, name)) > 1), "")
    others = [name for name in varied if name != axis]
    panels = [
        (", ".join(f"{name} {value}" for name, value in zip(others, values, strict=True)), part)
        for values, part in by_setting(chosen, others)
    ]
    if len(panels) > _MOST_COLUMNS:
        panels = [(f"means over {', '.join(others)}", chosen)]
    rows = [partial(plot_study, methods_of(chosen), axis, measure) for measure in ("MAC", "time")]
    return _add_legend(_draw_panels(panels, rows, 5.6, share_x="col", is_outer=True))


def plot_klr(chosen: Selection, ax: Axes, panel: tuple[int, float]) -> None:
    """Mean MAC by radius for one k and ell: Figure 4. The mean APR stands above a bar where not all is anonymized."""
    k, ell = panel
    width = 0.38
    for i, method in enumerate(paper.KLR_METHODS):
        for place, radius in enumerate(paper.KLR_RADII):
            cells = chosen.where(method=method, k=k, ell=ell, radius=radius).averages
            label = method_label(method) if place == 0 else None
            at, height = place + (i - 0.5) * width, cells.mac or 0.0
            ax.bar(at, height, width * 0.94, color=look_of(method).colour, label=label)
            note = "no records" if cells.apr is None else "APR 0" if cells.mac is None else f"APR {cells.apr_text}"
            if cells.apr != 1 or cells.mac is None:
                style: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": TICK_SIZE - 1.5, "color": MUTED}
                ax.annotate(note, (at, height), (0, 3), textcoords="offset points", rotation=90, **style)
    _dress(ax, f"k = {k}, ell = {ell:g}", "radius", "mean MAC", grid="y")
    ax.set_xticks(range(len(paper.KLR_RADII)), [f"{radius:g}" for radius in paper.KLR_RADII])
    ax.set_xlim(-0.6, len(paper.KLR_RADII) - 0.4)
    ax.margins(y=0.26)  # room for words above the highest bar


def draw_klr(chosen: Selection) -> Figure:
    """A panel for each k and ell."""
    panels = list(product(paper.KLR_KS, paper.KLR_ELLS))
    return _add_legend(_draw_panels(panels, [partial(plot_klr, chosen)], 3.6, width_in=8.0, is_outer=True))


_OBSERVER_COLOURS = dict(zip(OBSERVERS, ("#56B4E9", "#E69F00", "#0072B2"), strict=True))


def plot_observers(chosen: Selection, ax: Axes, is_finite: bool) -> None:
    """How often each observer guesses right against each planner; a dot is what it knows when all has been seen."""
    shown = rivals(chosen, is_finite=is_finite)
    height = 0.8 / len(OBSERVERS)
    for place, rival in enumerate(shown):
        for i, (name, colour) in enumerate(_OBSERVER_COLOURS.items()):
            if name not in (guesses := faring(chosen, rival).guesses):
                continue
            (within, at_end), at = guesses[name], place + (i - 1) * height
            label = f"{name.replace('bayes', 'Bayes')} observer" if place == 0 else None
            ax.barh(at, 100 * within, height * 0.92, color=colour, label=label)
            text: dict[str, Any] = {"fontsize": TICK_SIZE - 1.5, "color": MUTED, "va": "center"}
            text["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            ax.text(100 * within + 1.2, at, f"{100 * within:.0f}", **text)
            if is_finite:
                ax.plot(100 * at_end, at, "o", markersize=3.5, **_hollow(colour))
    ax.axvline(50, color=MUTED, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1)
    _dress(ax, "m = the shortest path" if is_finite else "the whole route", "right guesses [%]", grid="x")
    ax.set_yticks(range(len(shown)), [rival.label for rival in shown])
    ax.set(xlim=(0, 106), ylim=(len(shown) - 0.4, -0.6))


def draw_adversaries(chosen: Selection) -> Figure:
    """A panel for the finite m, and one below it for whole routes."""
    figure = Figure(figsize=(7.2, 6.4), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    sizes = [len(rivals(chosen, is_finite=is_finite)) for is_finite in (True, False)]
    upper, lower = figure.subplots(2, 1, height_ratios=sizes, sharex=True)
    plot_observers(chosen, upper, True)
    plot_observers(chosen, lower, False)
    upper.set_xlabel("")
    half = Line2D([], [], color=MUTED, linewidth=1.0, linestyle=(0, (2, 2)), label="1/k, and the risk that is bounded")
    return _add_legend(figure, _mark("o", "dots: when all has been seen"), half)
