"""The figures of a report: lines by what an experiment varies, rows if it varies no number, and playbooks on maps.

Methods have colours, markers and dashes, told apart without relying on hue. Colours are those of Okabe and Ito without
yellow, which is hard to see on white. The same records give files with the same bytes.
"""

import io
import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain, count, product
from pathlib import Path
from statistics import fmean
from textwrap import fill

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from veilroute.base.errors import InvalidInputError
from veilroute.base.io import dump_canonical, write_file
from veilroute.bench.cells import Method, Record
from veilroute.bench.design import Picture, Selection
from veilroute.bench.paper import method_label
from veilroute.bench.statistics import bootstrap_interval
from veilroute.bench.tables import SETTINGS, Layout, Measure, Part, describe, methods_of, parts_of, varied_settings
from veilroute.domain.graph import Domain
from veilroute.model.playbook import Playbook, playbook_from_json
from veilroute.plotting import draw_playbook

GRID = "#DADAD6"
TITLE_SIZE, LABEL_SIZE, TICK_SIZE = 10.0, 9.0, 8.0
DPI = 150.0
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_MOST_MEASURES, _MOST_PANELS = 4, 4
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

    The axis is what has the columns of the tables, if these are numbers, else the first setting that has several; the
    values of the others have a panel each. Without any such setting, settings stand side by side.
    """
    varied = varied_settings(chosen, (layout.across,))
    axis = next((name for name in (layout.across, *varied) if _has_numbers(chosen, name)), "")
    names = [*(name for name in varied if name != axis), axis] if axis else varied
    parts, methods = parts_of(chosen, names, layout.methods), methods_of(chosen.records, layout.methods)
    measures = [
        each for each in layout.measures.values() if any(each.numbers(part, m) for part in parts for m in part.outcomes)
    ]
    panels: dict[str, list[Part]] = {}
    for part in parts:
        panels.setdefault(describe(names[:-1], part.values[:-1]) if axis else "", []).append(part)
    shown = list(product(measures[:_MOST_MEASURES], list(panels)[:_MOST_PANELS]))
    num_columns = min(len(panels), _MOST_PANELS) if len(panels) > 1 else min(len(shown), 2)
    num_rows = math.ceil(len(shown) / max(num_columns, 1))
    figure = Figure(
        (5.6 if num_columns == 1 else min(8.0, 2.6 + 1.9 * num_columns), 2.3 * num_rows + 0.8),
        facecolor="white", layout="constrained",
    )  # fmt: skip
    if not shown:
        return figure, 0
    FigureCanvasAgg(figure)
    grid = figure.subplots(num_rows, num_columns, squeeze=False, sharey="row" if len(panels) > 1 else False)
    for ax, (measure, title) in zip(grid.flat, shown, strict=False):
        plot_panel(ax, measure, names, panels[title], methods, has_axis=bool(axis))
        ax.set_title(fill(title, int(10 * figure.get_figwidth() / num_columns)), fontsize=TITLE_SIZE)
    for ax in grid.flat[len(shown) :]:
        ax.set_axis_off()
    found = {label: line for ax in grid.flat for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    labelled = {label: found[label] for label in map(method_label, methods) if label in found}
    for width in range(len(labelled), 0, -1):  # in as many even columns as fit
        even = math.ceil(len(labelled) / math.ceil(len(labelled) / width))
        legend = figure.legend(
            labelled.values(), labelled, loc="outside lower center", ncols=even, fontsize=TICK_SIZE, frameon=False
        )
        if even == 1 or legend.get_window_extent().width < figure.bbox.width:
            break
        legend.remove()
    return figure, max(0, len(panels) - _MOST_PANELS)


def plot_panel(
    ax: Axes, measure: Measure, names: Sequence[str], parts: Sequence[Part], methods: Sequence[Method], *,
    has_axis: bool,
) -> None:  # fmt: skip
    """The means of each method with their intervals: a line by the last setting, or side by side at each setting.

    A MAC or a time of 0 has no place on an axis that is logarithmic.
    """
    every: list[float] = []
    for place, method in enumerate(methods):
        points = []
        for at, part in enumerate(parts):
            x = part.values[-1] if has_axis else at + 0.8 * ((place + 0.5) / len(methods) - 0.5)
            values = measure.numbers(part, method) if method in part.outcomes else []
            if values and x is not None:
                low, high = bootstrap_interval(values) or (values[0], values[0])
                average = fmean(values)
                # Rounding may put a mean just outside its interval.
                points.append((float(x), average, max(average - low, 0.0), max(high - average, 0.0)))
        if points:
            xs, means, below, above = zip(*points, strict=True)
            every += means
            # Dashes of different lengths, because methods may meet in the same points.
            ax.errorbar(
                xs, means, yerr=[below, above], label=method_label(method), capsize=2.5, markersize=5,
                color=COLOURS[place % len(COLOURS)], marker=MARKERS[place % len(MARKERS)], linewidth=1.4,
                linestyle=(0, (6, 2 * (place % 4))) if has_axis else "none",
            )  # fmt: skip
    ax.set_xlabel(SETTINGS[names[-1]].heading if has_axis else "", fontsize=LABEL_SIZE)
    ax.set_ylabel(measure.heading, fontsize=LABEL_SIZE)
    ax.tick_params(labelsize=TICK_SIZE)
    ax.set_axisbelow(True)
    ax.grid(axis="both" if has_axis else "y", color=GRID, linewidth=0.6)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ticks = sorted({float(part.values[-1]) for part in parts if part.values[-1] is not None}) if has_axis else []
    if _is_wide(ticks, 20):
        ax.set_xscale("log")
        _show_plain(ax.xaxis)
    if not has_axis:
        texts = [describe(names, part.values) for part in parts]
        ax.set_xticks(range(len(parts)), texts, rotation=30, ha="right", rotation_mode="anchor")
    elif names[-1] != "time":
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    if _is_wide(every, 20 if measure.is_time else 50):
        ax.set_yscale("log")
        _show_plain(ax.yaxis)


def _has_numbers(chosen: Selection, name: str) -> bool:
    """Whether a setting has several values that are numbers."""
    if name not in SETTINGS or name == "time":
        return name == "time"
    found = {SETTINGS[name].read(record.cell) for record in chosen.records}
    return sum(isinstance(value, int | float) for value in found) > 1


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
        for path in pictures[name].paths[1:]:
            draw_playbook(playbook, path)
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
