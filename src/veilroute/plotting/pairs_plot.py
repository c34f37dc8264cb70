"""Heat maps of a survey: what hiding costs by where trips start or end, and who is hidden how often.

Every part of the map has the colour of the surveyed point that is the fewest steps away; the points themselves are
small dots, so that one sees how much was measured. A complete survey has no dots: every node is a point.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize, to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from veilroute.analysis.all_pairs import PairSurvey
from veilroute.base.arrays import Floats, Ints
from veilroute.base.checks import check_name
from veilroute.domain.connectivity import steps_from
from veilroute.domain.graph import Domain
from veilroute.plotting.domain_plot import draw_domain
from veilroute.plotting.frame import Frame, frame_of, new_axes, save_picture
from veilroute.plotting.palette import INK, MUTED, luminance

Shown = Literal["mac", "hidden"]
SHOWN = ("mac", "hidden")

# Light to dark in one hue each, so that they read in grey as well; blue is cost, as violet to pale is who is exposed.
_COST = LinearSegmentedColormap.from_list("cost", ["#F4F8FB", "#B9D6EA", "#6AAED6", "#2171B5", "#08306B"])
_HIDDEN = LinearSegmentedColormap.from_list("hidden", ["#7A0177", "#DD3497", "#FBB4B9", "#FEEDE8", "#F7FBF7"])
_TITLES = {
    "mac": "What hiding costs, by where a trip starts or ends",
    "hidden": "Who is hidden: the share of the candidates, by where a trip starts or ends",
    "all": "Who is hidden: everybody, wherever a trip starts or ends",
}
_BAR_IN, _TITLE_IN, _GAP_IN, _SIDE_IN, _NOTES_IN = 0.95, 0.34, 0.16, 0.5, 0.42


def plot_survey(survey: PairSurvey, shown: Shown = "mac", *, ax: Axes | None = None) -> Axes:
    """Draw one heat map of a survey.

    Parameters
    ----------
    survey
        From :func:`veilroute.analysis.survey_pairs`.
    shown
        ``mac``: the mean MAC of the trips that start or end at a point. ``hidden``: the share of coverable candidates
        that these trips hide, and each candidate as a disc with how much longer its own route is on average; one that
        is not hidden on every trip has the share of trips on which it is written beside it.
    ax
        Where to draw; a new figure when left out.
    """
    check_name("shown", shown, SHOWN)
    frame = frame_of(survey.domain)
    ax = new_axes(frame) if ax is None else ax
    draw_domain(ax, survey.domain, frame)
    values = _values(survey, shown)
    norm, colours = _scale(values, shown)
    _fill(ax, survey.domain, frame, values, norm, colours)
    scale = frame.points_per_unit(ax)
    if not survey.is_complete:
        spots = frame.positions[[survey.domain.node(point) for point in survey.points]]
        size = float(np.clip(0.5 * frame.step * scale, 2.4, 4.0))
        ax.plot(*spots.T, "o", color=INK, markersize=size, markeredgecolor="white", markeredgewidth=0.5, zorder=3)
    if shown == "hidden":
        _mark_candidates(ax, survey, frame)
    else:
        nodes = [survey.domain.node(each.candidate) for each in survey.candidates]
        style = {"color": "#D55E00", "markersize": 6.5, "markeredgecolor": "white", "markeredgewidth": 0.8}
        ax.plot(*frame.positions[nodes].T, "D", zorder=4, **style)  # type: ignore[arg-type]
    is_all = shown == "hidden" and bool((values[np.isfinite(values)] == 1).all())
    ax.set_title(_TITLES["all" if is_all else shown], fontsize=9.5, color=INK, loc="left", pad=5)
    if not is_all:
        _add_bar(ax, norm, colours, shown)
    return ax


def draw_survey(survey: PairSurvey, path: str | Path, *, dpi: float = 150) -> None:
    """Draw both heat maps of a survey and save them as ``.png``, ``.svg`` or ``.pdf``; equal surveys, equal bytes."""
    save_picture(path, lambda: _both(survey), dpi)


def _both(survey: PairSurvey) -> Figure:
    """The two maps one above the other, or side by side where the map is taller than wide."""
    frame = frame_of(survey.domain)
    (width, height), is_wide = frame.size_in, frame.size_in[0] >= frame.size_in[1]
    one = (width + _SIDE_IN + _BAR_IN, height + frame.below_in + _TITLE_IN + _GAP_IN)
    size = (one[0], 2 * one[1] + _NOTES_IN) if is_wide else (2 * one[0], one[1] + _NOTES_IN)
    figure = Figure(figsize=size, facecolor="white")
    FigureCanvasAgg(figure)
    for number, shown in enumerate(SHOWN):
        left = _SIDE_IN + (0 if is_wide else number * one[0])
        bottom = _NOTES_IN + frame.below_in + ((1 - number) * one[1] if is_wide else 0)
        box = (left / size[0], bottom / size[1], width / size[0], height / size[1])
        plot_survey(survey, shown, ax=figure.add_axes(box))  # type: ignore[arg-type]
    privacy = survey.privacy
    wanted = f"k = {privacy.k}" if privacy.risk is None else f"risk {privacy.risk:g}"
    first = f"first {privacy.m} nodes" if privacy.m is not None else "whole routes"
    points = "every node" if survey.is_complete else f"{len(survey.points)} points (dots)"
    verdict = {True: "everybody is hidden who can be", False: "not everybody is hidden who can be", None: ""}
    legend = "Diamonds and discs: candidates; in a disc, by how many per cent its own route is longer on average."
    note = f"{survey.planner}, {wanted}, ell = {privacy.ell:g}, {first}; {len(survey.pairs):,} pairs of {points}"
    told = verdict[survey.satisfies]
    lines = f"{note}{f'; {told}' if told else ''}.\n{legend}"
    figure.text(_SIDE_IN / size[0], 0.08 / size[1], lines, fontsize=7.5, color=MUTED, linespacing=1.4)
    return figure


def _values(survey: PairSurvey, shown: Shown) -> Floats:
    """What every node shows: the figure of the point that is the fewest steps away; NaN where there is none."""
    table = survey.at_points()
    figures = [table[point][SHOWN.index(shown)] for point in survey.points]
    at_point = np.array([np.nan if figure is None else figure for figure in figures])
    if not at_point.size:
        return np.full(survey.domain.num_nodes, np.nan)
    owner = _nearest(survey.domain, [survey.domain.node(point) for point in survey.points])
    return np.where(owner >= 0, at_point[np.maximum(owner, 0)], np.nan)


def _nearest(domain: Domain, nodes: list[int]) -> Ints:
    """Which of the nodes is the fewest steps away, edges taken either way: its position, the first of equals; or -1."""
    owner = np.full(domain.num_nodes, -1, dtype=np.int64)
    if len(nodes) == domain.num_nodes:
        owner[nodes] = np.arange(len(nodes))
        return owner
    best = np.full(domain.num_nodes, np.iinfo(np.int64).max)
    for number, node in enumerate(nodes):
        steps = steps_from(domain, node, backward=True)
        is_nearer = (steps >= 0) & (steps < best)
        best[is_nearer], owner[is_nearer] = steps[is_nearer], number
    return owner


def _scale(values: Floats, shown: Shown) -> tuple[Normalize, Colormap]:
    """Shares from 0 to 1; costs from the least to the most, or from 0 where all are the same."""
    known = values[np.isfinite(values)]
    if shown == "hidden":
        return Normalize(0.0, 1.0), _HIDDEN
    least, most = float(known.min(initial=np.inf)), float(known.max(initial=0.0))
    return Normalize(least if least < most else 0.0, most or 1.0), _COST


def _fill(ax: Axes, domain: Domain, frame: Frame, values: Floats, norm: Normalize, colours: Colormap) -> None:
    rgba = colours(norm(values))
    rgba[~np.isfinite(values)] = 0.0
    if domain.grid is not None:
        grid = domain.grid
        picture = np.zeros((grid.height, grid.width, 4))
        picture[grid.cells[:, 0], grid.cells[:, 1]] = rgba
        extent = (-0.5, grid.width - 0.5, grid.height - 0.5, -0.5)
        ax.imshow(picture, extent=extent, origin="upper", interpolation="nearest", zorder=0.8, gid="heat")
        frame.apply(ax)
        return
    size = float(np.clip(0.45 * frame.step * frame.points_per_unit(ax), 2.0, 9.0))
    xs, ys = frame.positions.T
    ax.scatter(xs, ys, s=size**2, c=rgba, edgecolors=MUTED, linewidths=0.3, zorder=2, gid="heat")


def _mark_candidates(ax: Axes, survey: PairSurvey, frame: Frame) -> None:
    """A disc for each candidate with how much longer its route is; beside it how often it is hidden, if not always."""
    extras = [each.mean_extra for each in survey.candidates]
    most = max((extra for extra in extras if extra is not None), default=0.0) or 1.0
    for each, extra in zip(survey.candidates, extras, strict=True):
        spot = frame.positions[survey.domain.node(each.candidate)]
        face = "#FFFFFF" if extra is None else to_hex(_COST(extra / most))
        ink = "white" if luminance(face) < 0.18 else "black"
        text = "x" if extra is None else f"{100 * extra:.0f}"
        is_always = each.num_anonymized == each.num_coverable > 0
        edge = INK if is_always else "#D7191C"
        style = {"boxstyle": "circle,pad=0.28", "fc": face, "ec": edge, "lw": 0.9 if is_always else 1.8}
        ax.text(spot[0], spot[1], text, fontsize=6.5, color=ink, ha="center", va="center", bbox=style, zorder=4)
        if not is_always:
            share = "never coverable" if each.hidden is None else f"hidden {100 * each.hidden:.0f}%"
            ax.annotate(
                share, spot, xytext=(9, 0), textcoords="offset points", fontsize=6.5, color="#8B0000", va="center",
                zorder=4, bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8},
            )  # fmt: skip


def _add_bar(ax: Axes, norm: Normalize, colours: Colormap, shown: Shown) -> None:
    figure = ax.figure
    assert isinstance(figure, Figure)
    bar = figure.colorbar(ScalarMappable(norm, colours), cax=ax.inset_axes((1.015, 0.0, 0.018, 1.0)))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g}%"))
    label = "longer on average (MAC)" if shown == "mac" else "hidden"
    bar.set_label(label, fontsize=7, color=INK)
    bar.ax.tick_params(labelsize=7, colors=INK, length=2, width=0.5)
    bar.outline.set_linewidth(0.5)
