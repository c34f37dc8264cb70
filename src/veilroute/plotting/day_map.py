"""A day of a fleet as one HTML file: the tours on their streets, and vehicles that move along them with a slider.

Like the map of a playbook (:mod:`veilroute.plotting.html_map`) it loads nothing. It holds what is in the day and the
playbook, and so nothing about who has ordered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veilroute.base.arrays import Points
from veilroute.domain.geography import streets_of
from veilroute.model.day import Day
from veilroute.model.playbook import Playbook
from veilroute.plotting.base_map import box_of, line_data, map_data, plane_of, whole
from veilroute.plotting.day_plot import DayMark, day_marks, day_walks, part_shown
from veilroute.plotting.html_map import web_page
from veilroute.plotting.lanes import Walk
from veilroute.plotting.routes import distances_along
from veilroute.plotting.scene import FORMAT, mark_data
from veilroute.streets.day_sheets import VanSheet, Visit, day_facts, day_sheets, visible_lines


def day_html(playbook: Playbook, day: Day) -> str:
    """The text of an HTML file with the tours of a day.

    A slider and a button move the vehicles: by the clock where times are known, else by the way driven. Tours can be
    switched off; stops say who is visited and when. The text depends only on the playbook and the day.

    Parameters
    ----------
    playbook
        On a street network, or on a grid with an origin, with its domain attached.
    day
        A day of this playbook.
    """
    streets = streets_of(playbook.problem.domain)  # or it says that there are none
    sheets, domain = day_sheets(playbook, day), part_shown(playbook.problem.domain, day)
    plane = plane_of(domain)
    walks, positions = plane.lay(day_walks(domain, day))
    lines = line_data(walks, positions, domain.num_nodes, [[] for _ in walks])
    scale = plane.scale()
    assert scale is not None, "it is on earth"
    for line, sheet in zip(lines, sheets, strict=True):
        (walk,) = walks[sheet.number - 1]
        line |= _moves(sheet, walk, positions / scale["units"], domain.num_nodes) | _words(sheet)
    # What comes last is drawn on top.
    places = [_place(mark, positions) for mark in day_marks(domain, sheets)][::-1]
    spots = np.array([[place["x"], place["y"]] for place in places], dtype=np.int64).reshape(-1, 2)
    shown = [whole(positions[walk]) for group in walks for walk in group] or [whole(positions)]
    has_times = all(sheet.tour.seconds is not None for sheet in sheets)
    customers = sum(len(sheet.visits) for sheet in sheets)
    shown_day = {
        "title": "Day of a fleet",
        "lead": f"{customers} customers are visited. This file does not know who of them has ordered.",
        "summary": [list(fact) for fact in day_facts(playbook, day, sheets)],
        "hint": "\n".join(visible_lines(playbook, day)),
        "classes": lines,
        "places": places,
        "focus": box_of(np.concatenate([spots, *shown])),
        "clock": {
            "first": min((line["times"][0] for line in lines), default=0),
            "last": max((line["times"][-1] for line in lines), default=0),
            "hasTimes": has_times,
        },
    }
    data = {"format": FORMAT, "map": map_data(plane) | {"attribution": streets.attribution}, "day": shown_day}
    return web_page(data, {"title": "Day of a fleet"}, "day.js")


def _moves(sheet: VanSheet, walk: Walk, positions: Points, num_nodes: int) -> dict[str, Any]:
    """When a vehicle is at which point of its line, and its stops; metres stand for seconds where these are unknown."""
    line = positions[np.asarray(walk, dtype=np.int64)]
    along, at_node = distances_along(line), [i for i, node in enumerate(walk) if node < num_nodes]
    departs, driven = 0.0, along[at_node]
    if sheet.tour.departs_s is not None and sheet.seconds_per_cost is not None:
        departs, driven = sheet.tour.departs_s, np.asarray(sheet.reached) * sheet.seconds_per_cost
    here: dict[int, list[Visit]] = {}
    for visit in sheet.visits:
        here.setdefault(visit.stop.position, []).append(visit)
    times, spots, stops = list[float](), list[int](), list[dict[str, Any]]()
    later = departs
    for node, point in enumerate(at_node):
        now = later + float(driven[node])
        if node:
            before = at_node[node - 1]
            span, begun = along[point] - along[before], times[-1]
            for bend in range(before + 1, point):
                share = float((along[bend] - along[before]) / span) if span > 0 else 0.0
                times.append(begun + share * (now - begun))
                spots.append(bend)
        times.append(now)
        spots.append(point)
        for visit in here.get(node, ()):
            arrives = now if visit.arrives_s is None else visit.arrives_s
            leaves = now if visit.begins_s is None else visit.begins_s + visit.service_s
            text = ", ".join(part for part in (f"stop {visit.stop.number} of {visit.stop.total}", visit.at) if part)
            stops.append({"arrives": round(arrives, 1), "leaves": round(leaves, 1), "text": text})
            times += [arrives, leaves]
            spots += [point, point]
            later, now = later + leaves - now, leaves
    # Where roads have become faster since the playbook was made, vehicles are sooner where the day says.
    times = np.minimum.accumulate(np.array(times)[::-1])[::-1].tolist()
    ends = f"at {sheet.goal}" if sheet.goal else "done"
    return {
        "times": [round(time, 1) for time in times],
        "spots": spots,
        "stops": stops,
        "begins": f"leaves at {sheet.leaves}",
        "ends": f"{ends} since {sheet.home}" if sheet.home else ends,
    }


def _place(mark: DayMark, positions: Points) -> dict[str, Any]:
    x, y = whole(positions[mark.node]).tolist()
    return {
        "x": x,
        "y": y,
        "aside": 0,
        "role": mark.mark.gid,
        "numbers": list(mark.vehicles),
        "ring": [],
        "text": mark.meaning,
    } | mark_data(mark.mark)  # fmt: skip


def _words(sheet: VanSheet) -> dict[str, Any]:
    """What the list says of a vehicle."""
    return {
        "about": sheet.about,
        "visits": [f"{visit.called} ({sheet.when_text(visit)})" for visit in sheet.visits],
        "total": sheet.total_text,
        "note": sheet.note,
        "steps": [step.to_text() for step in sheet.steps()],
    }
