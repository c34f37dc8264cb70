"""The tours of a day on their map: one colour for each vehicle, its stops numbered in the order of the visits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from veilroute.domain.geography import cost_text, part_of
from veilroute.domain.graph import Domain
from veilroute.model.day import Day
from veilroute.model.playbook import Playbook
from veilroute.plotting import marks, palette
from veilroute.plotting.domain_plot import bend_walks, draw_domain
from veilroute.plotting.frame import frame_of, new_axes, save_picture
from veilroute.plotting.lanes import Walk
from veilroute.plotting.marks import Mark
from veilroute.plotting.palette import class_style
from veilroute.plotting.playbook_plot import Entry, add_legend, fit_figure
from veilroute.plotting.routes import draw_routes
from veilroute.streets.day_sheets import VanSheet, Visit, day_sheets

DEPOT = Mark("D", "s", palette.START, palette.INK, palette.INK, 1.15, "start")

# Of a stop's marker, in points; many are smaller, so that they find room.
_MARK_PT, _SMALL_PT, _MANY = 13.0, 9.5, 40
_LEAST_M = 300.0  # of streets in all directions


@dataclass(frozen=True)
class DayMark:
    """A place where vehicles begin, stop or end."""

    node: int
    mark: Mark
    vehicles: tuple[int, ...]  #: who stops there, by number from 1; nobody where they only begin or end
    meaning: str  #: a line for what the place is called, and one for each stop


def has_picture(domain: Domain) -> bool:
    """Whether it is known where things are on a map."""
    return domain.grid is not None or domain.coordinates is not None


def part_shown(domain: Domain, day: Day) -> Domain:
    """The part of a network around the tours: a day may be a small part of its country. Grids are shown as they are."""
    nodes = [domain.node(label) for tour in day.tours for label in tour.route]
    if domain.grid is not None or domain.coordinates is None or not nodes:
        return domain
    low, high = domain.coordinates[nodes].min(axis=0), domain.coordinates[nodes].max(axis=0)
    reach = max(float((high - low).max()), _LEAST_M if domain.streets is not None else 0.0) or np.inf
    is_in = (np.abs(domain.coordinates - (low + high) / 2) <= reach).all(axis=1)
    return domain if is_in.all() else part_of(domain, is_in)


def day_walks(domain: Domain, day: Day) -> list[list[Walk]]:
    """What each vehicle drives, none where it is idle: in the order of their numbers, by which they have colours."""
    return [[[domain.node(label) for label in tour.route]] if tour.route else [] for tour in day.tours]


def day_marks(domain: Domain, sheets: Sequence[VanSheet]) -> list[DayMark]:
    """Where vehicles begin and end, then their stops; customers at one spot have one mark."""
    node = domain.node
    starts = dict.fromkeys(node(sheet.tour.route[0]) for sheet in sheets)
    goals = dict.fromkeys(node(sheet.tour.route[-1]) for sheet in sheets if sheet.goal)
    names = {node(sheet.tour.route[0]): sheet.start for sheet in sheets}
    names |= {node(sheet.tour.route[-1]): sheet.goal for sheet in sheets if sheet.goal}
    found = []
    for place in {**starts, **goals}:
        ends = [which for which, places in ((marks.START, starts), (marks.GOAL, goals)) if place in places]
        mark, role = (DEPOT, "Depot") if len(ends) > 1 else (ends[0], ends[0].gid.capitalize())
        found.append(DayMark(place, mark, (), f"{names[place]}\n{role}"))
    here: dict[int, list[tuple[VanSheet, Visit]]] = {}
    for sheet in sheets:
        for visit in sheet.visits:
            here.setdefault(node(visit.customer), []).append((sheet, visit))
    for place, stops in here.items():
        first, visit = stops[0]
        more = "+" if len(stops) > 1 else ""
        mark = marks.class_mark(first.number - 1)
        mark = replace(mark, text=f"{visit.stop.number}{more}", gid=f"stop-{first.number}-{visit.stop.number}")
        lines = "\n".join(
            f"{v.called}\n{s.title}, {v.stop.title.lower()}{f', {v.at}' if v.at else ''}" for s, v in stops
        )
        found.append(DayMark(place, mark, tuple(dict.fromkeys(s.number for s, _ in stops)), lines))
    return found


def plot_day(playbook: Playbook, day: Day, *, ax: Axes | None = None, legend: bool = True) -> Axes:
    """Draw the tours of a day on the map.

    Each vehicle has a colour; the numbers are its stops in the order of the visits. A number with a plus is the first
    of several stops at one spot. ``D`` is where vehicles begin and end. Nothing shows who has ordered.

    Parameters
    ----------
    playbook
        With its domain attached.
    day
        A day of this playbook.
    ax
        Where to draw; a new figure, sized for the map, when left out.
    legend
        Whether to say which vehicle has which colour.
    """
    domain, sheets = part_shown(playbook.problem.domain, day), day_sheets(playbook, day)
    walks, shown = day_walks(domain, day), day_marks(domain, sheets)
    marked = [each.node for each in shown]
    frame = frame_of(domain, marked + [node for group in walks for walk in group for node in walk])
    positions = frame.positions
    if domain.streets is not None:
        walks, positions = bend_walks(domain, walks)
    own_figure = ax is None
    ax = new_axes(frame) if ax is None else ax
    frame.apply(ax)
    entries = _entries(playbook, day, sheets) if legend else []
    if own_figure:
        fit_figure(ax, frame, entries, None)
    elif entries:
        add_legend(ax, entries, frame, beside=False)
    draw_domain(ax, domain, frame)
    size = _MARK_PT if len(shown) <= _MANY else _SMALL_PT
    if shown:
        scale = frame.points_per_unit(ax)
        placed = marks.draw_marks(ax, [each.mark for each in shown], frame.positions[marked], scale, size)
        draw_routes(ax, frame, walks, positions, placed, size)
    frame.apply(ax)
    return ax


def draw_day(playbook: Playbook, day: Day, path: str | Path, *, dpi: float = 150) -> None:
    """Draw a day as :func:`plot_day` does and save it as ``.png``, ``.svg`` or ``.pdf``; the same day, same bytes."""
    save_picture(path, lambda: plot_day(playbook, day), dpi)


def _entries(playbook: Playbook, day: Day, sheets: Sequence[VanSheet]) -> list[Entry]:
    """The legend: a line for each vehicle."""
    by_number, entries = {sheet.number: sheet for sheet in sheets}, []
    for i in range(len(day.tours)):
        sheet, mark = by_number.get(i + 1), marks.class_mark(i)
        if sheet is None:
            entries.append(Entry(mark, f"vehicle {i + 1}: idle"))
            continue
        cost = "" if sheet.itinerary is not None else f", cost {cost_text(playbook.problem.domain, sheet.tour.cost)}"
        entries.append(Entry(mark, f"vehicle {i + 1}: {sheet.about}{cost}", class_style(i)))
    return entries
