"""The chart of what privacy costs: privacy to the right, longer routes upwards, a line for each way to hide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from veilroute.analysis.frontier import Frontier, FrontierPoint
from veilroute.base.checks import check_finite
from veilroute.plotting.frame import save_picture
from veilroute.plotting.palette import DASHES, INK, MARKERS, MUTED

_SIZE_IN = (7.6, 4.6)
# Of Okabe and Ito, without yellow, which is hard to read on white, and black, which marks the best point.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_GRID = "#DADAD6"
_LINE = 0.052  # the height of a line of text, as a share of the axes
_X_LABELS = {
    "level": "how private: among how many places the stop stays hidden (k, or 1 / risk)",
    "ell": "how private: how far apart these places stand (ell)",
    "m": "how private: for how many nodes of the route (m)",
}


def plot_frontier(frontier: Frontier, *, budget: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw what privacy costs.

    A line joins the points that differ in k or risk only, or where these are all the same in ell or m. A hollow point
    is not proved to be the best, or does not hide everybody. A ``budget``, as a share, is a line of its own.

    Parameters
    ----------
    frontier
        At least one point.
    budget
        The most that routes may be longer on average.
    ax
        Where to draw; a new figure when left out.
    """
    if ax is None:
        figure = Figure(figsize=_SIZE_IN, facecolor="white", layout="constrained")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
    if budget is not None:
        check_finite("budget", budget, least=0)
    shown = [point for point in frontier.points if point.longer is not None]
    across = _across(shown)
    place = _places(shown, across)
    lines: dict[str, list[FrontierPoint]] = {}
    for point in shown:
        lines.setdefault(_line_name(point, shown, across), []).append(point)
    ends: list[tuple[float, float, str, str]] = []
    best = None if budget is None else frontier.best_within(budget)
    for number, (name, points) in enumerate(lines.items()):
        colour, marker = _COLOURS[number % len(_COLOURS)], MARKERS[number % len(MARKERS)]
        dashes = DASHES[number // len(_COLOURS) % len(DASHES)]
        points.sort(key=place)
        xs, ys = [place(point) for point in points], [100 * (point.longer or 0.0) for point in points]
        # The first are the widest: lines that stand on each other all show.
        width = 1.6 + 0.9 * min(4, len(lines) - 1 - number)
        ax.plot(xs, ys, color=colour, linewidth=width, linestyle=(0, dashes) if dashes else "solid", zorder=2)
        for x, y, point in zip(xs, ys, points, strict=True):
            face = colour if point.is_proved else "white"
            ax.plot(x, y, marker, color=colour, markerfacecolor=face, markersize=5 + width, zorder=3, clip_on=False)
        ends.append((xs[-1], ys[-1], name, colour))
    if best is not None and best.longer is not None:
        spot = (place(best), 100 * best.longer)
        ax.plot(*spot, "o", color=INK, markersize=15, markerfacecolor="none", markeredgewidth=1.6, zorder=4)
    _dress(ax, across)
    names = {place(point): _tick(point, across) for point in shown}
    ax.xaxis.set_major_locator(FixedLocator(sorted(names)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: names.get(value, "")))
    if budget is not None:
        _draw_budget(ax, budget)
    _label_ends(ax, ends)
    title = "What privacy costs" if budget is None else frontier.answer(budget)
    ax.set_title("\n".join(wrap(title, 88)), fontsize=10, color=INK, loc="left")
    _add_notes(ax, frontier, shown)
    return ax


def draw_frontier(frontier: Frontier, path: str | Path, *, budget: float | None = None, dpi: float = 150) -> None:
    """Draw what privacy costs as :func:`plot_frontier` does and save the chart as ``.png``, ``.svg`` or ``.pdf``.

    Equal points give equal bytes; the user's settings of matplotlib play no part.
    """
    save_picture(path, lambda: plot_frontier(frontier, budget=budget), dpi)


def _across(points: list[FrontierPoint]) -> str:
    """What the horizontal axis shows: k and risk, or where all have the same, ell or m."""
    if len({point.level for point in points}) > 1:
        return "level"
    if len({point.privacy.ell for point in points}) > 1:
        return "ell"
    return "m" if len({point.privacy.m for point in points}) > 1 else "level"


def _places(points: list[FrontierPoint], across: str) -> Callable[[FrontierPoint], float]:
    """Where points stand on the horizontal axis; whole routes stand a step beyond the last m."""
    ms = sorted({point.privacy.m for point in points if point.privacy.m is not None})
    beyond = ms[-1] + max(1.0, (ms[-1] - ms[0]) / max(1, len(ms) - 1)) if ms else 0.0

    def place(point: FrontierPoint) -> float:
        if across == "level":
            return point.level
        if across == "ell":
            return float(point.privacy.ell)
        return beyond if point.privacy.m is None else float(point.privacy.m)

    return place


def _tick(point: FrontierPoint, across: str) -> str:
    privacy = point.privacy
    if across == "level":
        return f"{point.level:.3g}" if privacy.risk is None else f"{point.level:.3g}\n{100 * privacy.risk:.3g}%"
    if across == "ell":
        return privacy.distance_text
    return "all" if privacy.m is None else str(privacy.m)


def _line_name(point: FrontierPoint, points: list[FrontierPoint], across: str) -> str:
    """What a line is called: all that tells it from the others."""
    privacy = point.privacy
    parts = [privacy.mechanism] if len({other.privacy.mechanism for other in points}) > 1 else []
    if len({other.privacy.risk is None for other in points}) > 1:
        parts.append("counted" if privacy.risk is None else "by risk")
    if across != "ell" and len({other.privacy.ell for other in points}) > 1:
        parts.append(f"{privacy.distance_text} apart")
    if across != "m" and len({other.privacy.m for other in points}) > 1:
        parts.append("whole route" if privacy.m is None else f"first {privacy.m} nodes")
    return ", ".join(parts) or privacy.mechanism


def _dress(ax: Axes, across: str) -> None:
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    ax.set_xlabel(_X_LABELS[across], fontsize=9.5, color=INK)
    ax.set_ylabel("how much longer routes are on average", fontsize=9.5, color=INK)
    ax.set_ylim(bottom=0)
    ax.tick_params(labelsize=9, colors=INK)
    ax.set_axisbelow(True)
    ax.grid(axis="y", color=_GRID, linewidth=0.6)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _draw_budget(ax: Axes, budget: float) -> None:
    low, high = ax.get_ylim()
    ax.set_ylim(low, max(high, 112 * budget))
    ax.axhline(100 * budget, color=MUTED, linewidth=1.1, linestyle=(0, (5, 3)), zorder=1)
    where = ax.get_yaxis_transform()
    text = f"budget {100 * budget:g}%"
    ax.text(0.995, 100 * budget, text, transform=where, ha="right", va="bottom", fontsize=9, color=MUTED)


def _label_ends(ax: Axes, ends: list[tuple[float, float, str, str]]) -> None:
    """Write each line's name beside its last point, those that would stand on each other one above the other."""
    low, high = ax.get_ylim()
    height = (high - low) * _LINE
    ends = sorted(ends, key=lambda end: (end[1], end[2]))
    free, heights = low - height, []
    for _, y, _, _ in ends:
        free = max(y, free + height)
        heights.append(free)
    ceiling = high + height
    for at in reversed(range(len(heights))):
        ceiling = heights[at] = min(heights[at], ceiling - height)
    for (x, y, name, colour), at_y in zip(ends, heights, strict=True):
        ax.annotate(
            name, (x, y), xytext=(1.015, at_y), textcoords=ax.get_yaxis_transform(), va="center", fontsize=9,
            color=colour, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "alpha": 0.6, "shrinkA": 0, "shrinkB": 5},
        )  # fmt: skip


def _add_notes(ax: Axes, frontier: Frontier, shown: list[FrontierPoint]) -> None:
    notes = []
    if any(not point.is_proved for point in shown):
        notes.append("Hollow: not proved to be the best, or not everybody is hidden.")
    if num := len(frontier.points) - len(shown):
        notes.append(f"Not shown: {num} {'point' if num == 1 else 'points'} where nothing can be hidden.")
    if notes:
        ax.annotate(
            " ".join(notes), (0, 0), xytext=(0, -44), xycoords="axes fraction", textcoords="offset points", fontsize=8,
            color=MUTED, va="top",
        )  # fmt: skip
