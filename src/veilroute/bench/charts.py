"""The figures of a report: lines by what an experiment varies, rows where it varies no number, and playbooks on maps.

Methods have colours, markers and dashes, told apart without relying on hue. Colours are those of Okabe and Ito without
yellow, which is hard to see on white. The same records give files with the same bytes.
"""

import io
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from statistics import fmean
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from veilroute.bench.cells import Method, Record
from veilroute.bench.design import Picture, Selection
from veilroute.bench.paper import method_label
from veilroute.bench.statistics import bootstrap_interval
from veilroute.bench.tables import (
    SETTINGS,
    USUAL,
    Layout,
    Measure,
    Part,
    describe,
    find_measure,
    methods_of,
    parts_of,
    varied_settings,
)  # fmt: skip
from veilroute.domain.graph import Domain
from veilroute.errors import InvalidInputError
from veilroute.jsontext import dump_canonical, write_file
from veilroute.playbook import Playbook, playbook_from_json
from veilroute.plotting import draw_playbook

GRID = "#DADAD6"
TITLE_SIZE, LABEL_SIZE, TICK_SIZE = 10.0, 9.0, 8.0
DPI = 150.0
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_MOST_MEASURES, _MOST_COLUMNS, _MOST_PANELS = 4, 4, 8
_METADATA = {
    "png": {"Software": "veilroute"},
    "svg": {"Creator": "veilroute", "Date": None},
    "pdf": {"Creator": "veilroute", "Producer": "veilroute", "CreationDate": None},
}
_LONGEST = 40  # of a map's name in the name of a file


def draw_pictures(layout: Layout, chosen: Selection, folder: Path, domains: Mapping[str, Domain]) -> list[Picture]:
    """The playbooks of an experiment that keeps them, else its chart; maps by name or by hash."""
    if any(record.cell.keep_playbook for record in chosen.records):
        return _draw_playbooks(chosen, folder, domains)
    png = folder / f"{layout.name}.png"
    with mpl.rc_context():  # the user's settings of matplotlib play no part
        mpl.rcdefaults()
        mpl.rcParams["svg.hashsalt"] = "veilroute"
        figure, num_left_out = draw_chart(layout, chosen)
        if not figure.axes:
            return []
        # Arranged once, so that the files agree.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for form, metadata in _METADATA.items():
            made = io.BytesIO()
            figure.savefig(made, format=form, dpi=DPI, metadata=metadata)
            write_file(png.with_suffix(f".{form}"), made.getvalue())
    rest = f" {num_left_out} more settings are in the tables." if num_left_out else ""
    return [Picture(png, f"Means over the instances, with their 95 % intervals.{rest}")]


def draw_chart(layout: Layout, chosen: Selection) -> tuple[Figure, int]:
    """The figure of an experiment, and for how many settings it has no panel.

    What stands across the tables is the axis if it has numbers, else the first setting that has several. The values of
    the other settings have a panel each. Without any such setting there is a row for each setting and method.
    """
    varied = varied_settings(chosen, (layout.across,))
    numbers = {name: _numbers(chosen, name) for name in varied}
    axis = next((name for name in (layout.across, *varied) if name == "time" or len(numbers.get(name, ())) > 1), "")
    names = [*(name for name in varied if name != axis), *([axis] if axis else [])]
    parts = parts_of(chosen, names, layout.methods)
    measures = [find_measure(name) for name in layout.columns or USUAL]
    measures = [each for each in measures if any(each.numbers(part, m) for part in parts for m in part.outcomes)]
    measures, methods = measures[:_MOST_MEASURES], methods_of(chosen.records, layout.methods)
    if not measures:
        return Figure(), 0
    if not axis:
        height_in = 0.9 + 0.24 * sum(len(part.outcomes) for part in parts)
        figure, grid = _grid(1, len(measures), height_in, width_in=3.0 + 1.5 * len(measures), shares=True)
        for measure, ax in zip(measures, grid, strict=True):
            plot_rows(ax, measure, names, parts)
            ax.label_outer()
        return figure, 0
    panels: dict[str, list[Part]] = {}
    for part in parts:
        panels.setdefault(describe(names[:-1], part.values[:-1]), []).append(part)
    shown = list(panels)[:_MOST_PANELS]
    num_columns = min(len(shown), _MOST_COLUMNS) if len(shown) > 1 else min(len(measures), 2)
    num_rows = len(measures) * math.ceil(len(shown) / num_columns) if len(shown) > 1 else math.ceil(len(measures) / 2)
    figure, grid = _grid(num_rows, num_columns, 2.3 * num_rows + 0.8, shares="row" if len(shown) > 1 else False)
    free = iter(grid)
    for measure in measures:
        for place, title in enumerate(shown, start=1):
            plot_lines(ax := next(free), measure, axis, panels[title], methods)
            ax.set_title(title, fontsize=TITLE_SIZE)
            for _ in range(-place % num_columns if place == len(shown) > 1 else 0):
                next(free).set_axis_off()
    for ax in free:
        ax.set_axis_off()
    found = {label: line for ax in grid for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    labelled = {label: found[label] for label in map(method_label, methods) if label in found}
    for width in range(len(labelled), 0, -1):  # in as many even columns as fit
        even = math.ceil(len(labelled) / math.ceil(len(labelled) / width))
        legend = figure.legend(
            labelled.values(), labelled, loc="outside lower center", ncols=even, fontsize=TICK_SIZE, frameon=False
        )
        if even == 1 or legend.get_window_extent().width < figure.bbox.width:
            break
        legend.remove()
    return figure, len(panels) - len(shown)


def plot_lines(ax: Axes, measure: Measure, axis: str, parts: Sequence[Part], methods: Sequence[Method]) -> None:
    """A line for each method; a MAC or a time of 0 has no place on an axis that is logarithmic."""
    every: list[float] = []
    for place, method in enumerate(methods):
        points = []
        for part in parts:
            values = measure.numbers(part, method) if method in part.outcomes else []
            if values and isinstance(part.values[-1], int | float):
                low, high = bootstrap_interval(values) or (values[0], values[0])
                points.append((float(part.values[-1]), fmean(values), low, high))
        if points:
            xs, means, lows, highs = zip(*points, strict=True)
            every += means
            # Dashes of different lengths, because methods may meet in the same points.
            ax.errorbar(
                xs, means, yerr=_around(means, lows, highs), label=method_label(method), capsize=2.5, markersize=5,
                color=COLOURS[place % len(COLOURS)], marker=MARKERS[place % len(MARKERS)], linewidth=1.4,
                linestyle=(0, (6, 2 * (place % 4))),
            )  # fmt: skip
    ticks = sorted({float(x) for part in parts if isinstance(x := part.values[-1], int | float)})
    _dress(ax, SETTINGS[axis].heading, measure.heading)
    if _is_wide(ticks, 20):
        ax.set_xscale("log")
        _show_plain(ax.xaxis)
    if axis != "time":
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    if _is_wide(every, 20 if measure.is_time else 50):
        ax.set_yscale("log")
        _show_plain(ax.yaxis)


def plot_rows(ax: Axes, measure: Measure, names: Sequence[str], parts: Sequence[Part]) -> None:
    """A row for each setting and method."""
    labels: list[str] = []
    for part in parts:
        for place, method in enumerate(part.outcomes):
            if values := measure.numbers(part, method):
                low, high = bootstrap_interval(values) or (values[0], values[0])
                average = fmean(values)
                around = _around([average], [low], [high])
                ax.errorbar(
                    average, len(labels), xerr=around, fmt=MARKERS[place % len(MARKERS)], color=COLOURS[0], capsize=2.5
                )
            labels.append(", ".join(filter(None, (method_label(method), describe(names, part.values)))))
    _dress(ax, textwrap.fill(measure.heading, 16), "")
    ax.set_yticks(range(len(labels)), labels)
    ax.margins(x=0.15)
    ax.set_ylim(len(labels) - 0.4, -0.6)


def _numbers(chosen: Selection, name: str) -> set[float]:
    found = {SETTINGS[name].read(record.cell) for record in chosen.records}
    return {value for value in found if isinstance(value, int | float)} if name not in ("kind", "map") else set()


def _grid(
    num_rows: int, num_columns: int, height_in: float, *, width_in: float = 0.0, shares: bool | Literal["row"] = False
) -> tuple[Figure, list[Axes]]:
    """A figure and its axes, row by row; nothing global is touched."""
    width_in = width_in or (5.6 if num_columns == 1 else min(8.0, 2.6 + 1.9 * num_columns))
    figure = Figure(figsize=(width_in, height_in), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(num_rows, num_columns, squeeze=False, sharey=shares).flat)


def _around(means: Sequence[float], lows: Sequence[float], highs: Sequence[float]) -> list[list[float]]:
    """What errorbar takes; rounding may put a mean just outside its interval."""
    below = [max(value - low, 0.0) for value, low in zip(means, lows, strict=True)]
    return [below, [max(high - value, 0.0) for value, high in zip(means, highs, strict=True)]]


def _dress(ax: Axes, xlabel: str, ylabel: str) -> None:
    ax.set_xlabel(xlabel, fontsize=LABEL_SIZE)
    ax.set_ylabel(ylabel, fontsize=LABEL_SIZE)
    ax.tick_params(labelsize=TICK_SIZE)
    ax.set_axisbelow(True)
    ax.grid(color=GRID, linewidth=0.6)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _is_wide(values: Sequence[float], times: float) -> bool:
    """Whether a logarithmic axis shows numbers better."""
    return bool(values) and min(values) > 0 and max(values) / min(values) >= times


def _show_plain(axis: Axis) -> None:
    """Numbers of a logarithmic axis as 0.5 and not as powers of ten."""
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _draw_playbooks(chosen: Selection, folder: Path, domains: Mapping[str, Domain]) -> list[Picture]:
    """One picture for each playbook; those whose map is not there are not drawn."""
    pictures: dict[str, Picture] = {}
    for record in chosen.records:
        cell, at = record.cell, record.cell.instance
        if (playbook := _playbook(record, domains)) is None:
            continue
        # What is left of a map's name in the name of a file, on every system.
        map_name = re.sub(r"[^a-z0-9]+", "-", at.map_name.lower()).strip("-")[:_LONGEST] or "map"
        plain = f"example-{map_name}-{at.seed}-k{cell.k}-ell{cell.ell:g}"
        name = next(each for each in chain([plain], (f"{plain}-{i}" for i in count(2))) if each not in pictures)
        pictures[name] = Picture(
            folder / f"{name}.png",
            f"Map {at.map_name}, pair {at.seed}: the playbook of {method_label(cell.method)}, k = {cell.k}, "
            f"ell = {cell.ell:g}, radius {cell.radius:g}, {cell.num_candidates} candidates.",
        )
        draw_playbook(playbook, pictures[name].png, dpi=110)
        draw_playbook(playbook, pictures[name].svg)
        draw_playbook(playbook, pictures[name].pdf)
    return list(pictures.values())


def _playbook(record: Record, domains: Mapping[str, Domain]) -> Playbook | None:
    """The playbook on its map, ``None`` when the record has none or the map is not there."""
    cell, data = record.cell, record.outcome.playbook
    domain = domains.get(cell.map_sha256, domains.get(cell.instance.map_name))
    if data is None or domain is None:
        return None
    try:
        return playbook_from_json(dump_canonical(data)).with_domain(domain)
    except InvalidInputError:
        # Another map of that name, or a record that was damaged: the table still has its figures.
        return None
