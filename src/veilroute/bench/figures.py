"""The figures of each suite as files: the same records give the same bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from veilroute.bench.cells import Record
from veilroute.bench.charts import (
    TICK_SIZE,
    ZERO,
    new_figure,
    plot_convergence,
    plot_coverage,
    plot_impact_of_m,
    plot_klr,
    plot_relative,
    plot_runtimes,
    plot_times,
)
from veilroute.bench.selection import Example, find_examples, select
from veilroute.bench.suites import BOUNDED_KS, KLR_ELLS, KLR_KS
from veilroute.domain.graph import Domain
from veilroute.errors import InvalidInputError
from veilroute.jsontext import dump_canonical
from veilroute.playbook import Playbook, playbook_from_json
from veilroute.plotting import draw_playbook
from veilroute.plotting.palette import INK, MUTED

DPI = 150.0
_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": "veilroute"},
    "svg": {"Creator": "veilroute", "Date": None},
}


@dataclass(frozen=True)
class Picture:
    """A figure that was drawn.

    Parameters
    ----------
    name
        Of its files, without suffix.
    caption
        What it shows.
    png, svg
        The files.
    """

    name: str
    caption: str
    png: Path
    svg: Path


def draw_figures(
    suite_name: str, records: Sequence[Record], folder: Path, *, domains: Mapping[str, Domain]
) -> list[Picture]:
    """Draw the figures of a suite into a folder.

    Parameters
    ----------
    suite_name
        One of :data:`veilroute.bench.suites.SUITES`.
    records
        Of any suites, in any order.
    folder
        Where the files go; it must be there.
    domains
        Maps by name, or by their hash, for the examples. An example whose map is not there is not drawn.

    Returns
    -------
    list of Picture
        One for each figure, none without records.
    """
    if not select(suite_name, records).records:
        return []
    if suite_name == "examples":
        return [
            _draw_example(example, playbook, folder)
            for example in find_examples(records)
            if (playbook := playbook_of(example, domains)) is not None
        ]
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams["svg.hashsalt"] = "veilroute"
        figure, caption = _MAKERS[suite_name](records)
        # Arranged once, so that both files agree.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        paths = {form: folder / f"{suite_name}.{form}" for form in _METADATA}
        for form, path in paths.items():
            figure.savefig(path, format=form, dpi=DPI, metadata=_METADATA[form])
    return [Picture(suite_name, caption, paths["png"], paths["svg"])]


def playbook_of(example: Example, domains: Mapping[str, Domain]) -> Playbook | None:
    """The playbook of an example on its map, ``None`` when the record has none or the map is not there."""
    cell, data = example.record.cell, example.record.outcome.playbook
    domain = domains.get(cell.map_sha256, domains.get(cell.instance.map_name))
    if data is None or domain is None:
        return None
    try:
        return playbook_from_json(dump_canonical(data)).with_domain(domain)
    except InvalidInputError:
        # Another map of that name, or a record that was damaged: the table still has its figures.
        return None


def _draw_example(example: Example, playbook: Playbook, folder: Path) -> Picture:
    png, svg = folder / f"{example.name}.png", folder / f"{example.name}.svg"
    draw_playbook(playbook, png, dpi=110)
    draw_playbook(playbook, svg)
    cell = example.record.cell
    setting = f"k = {cell.k}, ell = {cell.ell:g}, radius {cell.radius:g}, {cell.num_candidates} candidates"
    caption = f"Map {cell.instance.map_name}, pair {cell.instance.seed}: the playbook of optimal (exact), {setting}."
    return Picture(example.name, caption, png, svg)


def _table1(records: Sequence[Record]) -> tuple[Figure, str]:
    sizes = select("table1", records).sizes
    figure = new_figure((_width(len(sizes)), 5.9))
    grid = figure.subplots(2, len(sizes), squeeze=False, sharey="row", height_ratios=[7, 9])
    for size, coverage, times in zip(sizes, *grid, strict=True):
        plot_coverage(records, size=size, ax=coverage)
        plot_times(records, size=size, ax=times)
    handles = [
        _hollow("D", "paper"),
        _hollow("<", "paper: below 1 s"),
        Line2D([], [], linestyle="", marker="o", color=MUTED, markersize=7, label="ours, all instances"),
        Line2D([], [], linestyle="", marker=">", color=MUTED, markersize=7, label="ours, at least: some stopped"),
        Line2D([], [], linestyle="", marker="|", color=INK, markersize=8, label="ours, where Merge-BB, Blind finished"),
    ]
    _add_legend(figure, handles)
    return figure, (
        "Above: the share of the instances on which each method finished; the numbers on the right count them. Below: "
        "mean times; the paper's are over the instances on which Merge-BB with Blind finished."
    )


def _table2(records: Sequence[Record]) -> tuple[Figure, str]:
    sizes = select("table2", records).sizes
    figure = new_figure((_width(len(sizes)), 3.6))
    for size, ax in zip(sizes, figure.subplots(1, len(sizes), squeeze=False, sharey=True, sharex=True)[0], strict=True):
        plot_relative(records, size=size, ax=ax)
    ours = Line2D([], [], linestyle="", marker="o", color=MUTED, markersize=7, label="ours: mean ± standard deviation")
    _add_legend(figure, [ours, _hollow("D", "paper")])
    return figure, "MAC divided by Naive's on the same instance; 1 is as costly as Naive."


def _table3(records: Sequence[Record]) -> tuple[Figure, str]:
    figure = new_figure((6.4, 4.3))
    plot_runtimes(records, ax=figure.subplots())
    _add_legend(figure, [*_labelled(figure), _hollow("o", "hollow: the paper's")])
    return figure, "Mean runtime by m over the shortest path, both axes logarithmic."


def _table4(records: Sequence[Record]) -> tuple[Figure, str]:
    bounded = [record for record in select("table4", records).records if record.cell.m_ratio is not None]
    ks = sorted({*BOUNDED_KS, *(record.cell.k for record in bounded)})
    figure = new_figure((_width(len(ks)), 4.0))
    for k, ax in zip(ks, figure.subplots(1, len(ks), squeeze=False, sharey=True)[0], strict=True):
        plot_impact_of_m(records, k=k, ax=ax)
        ax.label_outer()
    handles = [*_labelled(figure), _hollow("o", "hollow: the paper's")]
    if figure.findobj(lambda artist: artist.get_gid() == ZERO):
        handles.append(Line2D([], [], linestyle="", marker="v", color=MUTED, label="MAC 0, off the scale"))
    _add_legend(figure, handles)
    return figure, "Mean MAC by m over the shortest path, both axes logarithmic."


def _convergence(records: Sequence[Record]) -> tuple[Figure, str]:
    sizes = select("convergence", records).sizes
    figure = new_figure((_width(len(sizes)), 5.4))
    grid = figure.subplots(2, len(sizes), squeeze=False, sharey="row", sharex="col")
    for size, above, below in zip(sizes, *grid, strict=True):
        plot_convergence(records, size=size, measure="apr", ax=above)
        plot_convergence(records, size=size, measure="mac", ax=below)
        below.set_title("")
        above.label_outer()
        below.label_outer()
    handles = [*_labelled(figure), _hollow("o", "hollow: the paper's at 300 s")]
    _add_legend(figure, handles)
    return figure, (
        "Mean APR and mean MAC over time; time and MAC are logarithmic. A MAC is thin as long as some instances have "
        "none, and a MAC of 0 is below the axis. The paper's ends, from its Table 1, stand right of our time limit."
    )


def _klr(records: Sequence[Record]) -> tuple[Figure, str]:
    panels = [(k, ell) for k in KLR_KS for ell in KLR_ELLS]
    figure = new_figure((8.0, 3.6))
    for (k, ell), ax in zip(panels, figure.subplots(1, len(panels), sharey=True), strict=True):
        plot_klr(records, k=k, ell=ell, ax=ax)
        ax.label_outer()
    _add_legend(figure, _labelled(figure))
    return figure, "Mean MAC by k, ell and radius; where not all candidates are anonymized, the mean APR stands above."


_MAKERS: dict[str, Callable[[Sequence[Record]], tuple[Figure, str]]] = {
    "table1": _table1,
    "table2": _table2,
    "table3": _table3,
    "table4": _table4,
    "convergence": _convergence,
    "klr": _klr,
}


def _width(num_panels: int) -> float:
    return 5.6 if num_panels == 1 else min(8.0, 2.6 + 1.9 * num_panels)


def _hollow(marker: str, label: str) -> Line2D:
    face, edge = "white", INK
    return Line2D([], [], linestyle="", marker=marker, markerfacecolor=face, markeredgecolor=edge, label=label)


def _labelled(figure: Figure) -> list[Artist]:
    """What the panels labelled, each label once."""
    found: dict[str, Artist] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values())


def _add_legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """Put the legend below the panels, in as many columns as fit, and those even."""
    for num_columns in range(len(handles), 0, -1):
        even = math.ceil(len(handles) / math.ceil(len(handles) / num_columns))
        legend = figure.legend(
            handles=list(handles), loc="outside lower center", ncols=even, fontsize=TICK_SIZE + 0.5, frameon=False
        )
        if even == 1 or legend.get_window_extent().width < figure.bbox.width:
            return
        legend.remove()
