"""The chart of linked trips: how few are left of somebody, and how many are identified, playbook after playbook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from veilroute.auditing import LinkedReport
from veilroute.plotting.frame import save_picture
from veilroute.plotting.palette import INK, MUTED

_SIZE_IN = (7.6, 5.2)
_BLUE, _RED, _ORANGE, _GRID = "#0072B2", "#D55E00", "#E69F00", "#DADAD6"
_MAX_TICKS = 12


def plot_linked(report: LinkedReport) -> Figure:
    """Draw what whoever links all trips is left with after each playbook.

    Above: the fewest and the middle number of places that are left of somebody who is hidden. Below: the share of all
    listed so far of whom nobody else is left, and of those for whom a promise does not hold any more.
    """
    figure = Figure(figsize=_SIZE_IN, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    xs = range(1, len(report.playbooks) + 1)
    middle, known = [], []
    for at in range(len(report.playbooks)):
        steps = [each.over_time[at] for each in report.candidates]
        listed = [step for step in steps if step is not None]
        known.append(max(1, len(listed)))
        middle.append(median([step.num_left for step in listed if step.is_hidden] or [0]))
    fewest = [each.smallest_left or 0 for each in report.playbooks]
    identified = [100 * each.num_identified / num for each, num in zip(report.playbooks, known, strict=True)]
    short = [100 * each.num_below / num for each, num in zip(report.playbooks, known, strict=True)]
    _draw(above, xs, [("middle candidate", middle, MUTED, "s"), ("worst candidate", fewest, _BLUE, "o")])
    _draw(below, xs, [("promise broken", short, _ORANGE, "s"), ("identified", identified, _RED, "o")])
    above.set_ylabel("places left of who is hidden", fontsize=9.5, color=INK)
    above.set_ylim(0, max(2.5, 1.15 * max([*fewest, *middle, 0])))
    above.yaxis.set_major_locator(MaxNLocator(integer=True))
    below.set_ylabel("of all listed so far", fontsize=9.5, color=INK)
    below.set_ylim(0, max(10.0, 1.1 * max([*identified, *short, 0.0])))
    below.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    _label_days(below, report)
    first = report.to_text().splitlines()[0]
    above.set_title("\n".join(wrap(first, 88)), fontsize=10, color=INK, loc="left")
    return figure


def draw_linked(report: LinkedReport, path: str | Path, *, dpi: float = 150) -> None:
    """Draw linked trips as :func:`plot_linked` does and save the chart as ``.png``, ``.svg`` or ``.pdf``.

    Equal reports give equal bytes; the user's settings of matplotlib play no part.
    """
    save_picture(path, lambda: plot_linked(report), dpi)


def _draw(ax: Axes, xs: Sequence[int], lines: Sequence[tuple[str, Sequence[float], str, str]]) -> None:
    """Some lines, the first ones wider so that those on top of them do not hide them, and their names in a corner."""
    for width, (name, ys, colour, marker) in zip((3.4, 1.6), lines, strict=True):
        ax.plot(xs, ys, color=colour, marker=marker, linewidth=width, markersize=3 + width, label=name, clip_on=False)
    ax.set_axisbelow(True)
    ax.grid(axis="y", color=_GRID, linewidth=0.6)
    ax.tick_params(labelsize=9, colors=INK)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9, labelcolor=INK, reverse=True)


def _label_days(ax: Axes, report: LinkedReport) -> None:
    num = len(report.playbooks)
    step = -(-num // _MAX_TICKS)
    days = {at + 1: each.date or str(at + 1) for at, each in enumerate(report.playbooks) if at % step == 0}
    ax.xaxis.set_major_locator(FixedLocator(list(days)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: days.get(round(value), "")))
    has_dates = any(each.date is not None for each in report.playbooks)
    ax.set_xlabel("linked up to the playbook of" if has_dates else "linked up to playbook", fontsize=9.5, color=INK)
    if has_dates and len(days) > 6:
        ax.tick_params(axis="x", labelrotation=35)
