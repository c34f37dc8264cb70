"""A day of a fleet as one HTML file: the tours on their streets, and vehicles that move along them with a slider.

Like the map of a playbook (:mod:`veilroute.plotting.html_map`) it loads nothing. It holds what is in the day and the
playbook, and so nothing about who has ordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from veilroute.arrays import Points
from veilroute.days import Day
from veilroute.domain.geography import streets_of
from veilroute.playbook import Playbook
from veilroute.plotting.day_plot import DayMark, day_marks, day_walks, part_shown
from veilroute.plotting.domain_plot import bend_walks
from veilroute.plotting.html_map import box_of, line_data, street_data, web_page, whole
from veilroute.plotting.lanes import Walk
from veilroute.plotting.palette import class_style
from veilroute.plotting.routes import distances_along
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
    streets_of(playbook.problem.domain)  # or it says that there are none
    sheets, domain = day_sheets(playbook, day), part_shown(playbook.problem.domain, day)
    walks, positions = bend_walks(domain, day_walks(domain, day))
    lines = line_data(walks, positions, [[] for _ in walks])
    for line, sheet in zip(lines, sheets, strict=True):
        style = class_style(sheet.number - 1)
        (walk,) = walks[sheet.number - 1]
        line |= {"fill": style.colour, "ink": style.text, **_moves(sheet, walk, positions, domain.num_nodes)}
    # What comes last is drawn on top.
    places = [_place(mark, positions) for mark in day_marks(domain, sheets)][::-1]
    spots = np.array([[place["x"], place["y"]] for place in places], dtype=np.int64).reshape(-1, 2)
    shown = [whole(positions[walk]) for group in walks for walk in group] or [whole(positions)]
    has_times = all(sheet.tour.seconds is not None for sheet in sheets)
    first = min((line["times"][0] for line in lines), default=0)
    last = max((line["times"][-1] for line in lines), default=0)
    data = {
        "streets": street_data(domain),
        "classes": lines,
        "places": places,
        "box": box_of(whole(positions)),
        "focus": box_of(np.concatenate([spots, *shown])),
        "clock": {"first": first, "last": last, "hasTimes": has_times},
    }
    return web_page(data, _texts(playbook, day, sheets, first, last), ("geometry.js", "day.js", "map.js"))


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
        "mark": mark.mark.text,
        "shape": mark.mark.shape,
        "face": mark.mark.face,
        "edge": mark.mark.edge,
        "ink": mark.mark.ink,
        "text": mark.meaning,
    }


def _texts(playbook: Playbook, day: Day, sheets: Sequence[VanSheet], first: float, last: float) -> dict[str, str]:
    """The texts of the page by their names in the template, escaped."""
    attribution = streets_of(playbook.problem.domain).attribution
    customers = sum(len(sheet.visits) for sheet in sheets)
    slider = (
        '<div class="clock"><button type="button" id="play" aria-label="Play">▶</button>'
        f'<input type="range" id="time" min="{first:g}" max="{last:g}" step="any" value="{first:g}" '
        'aria-label="Time"><output id="clock" for="time"></output></div>\n'
    )
    return {
        "title": "Day of a fleet",
        "map_label": escape(f"Streets with {len(sheets)} tours; the list beside it names the stops of each"),
        "lead": escape(f"{customers} customers are visited. This file does not know who of them has ordered."),
        "summary": "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in day_facts(playbook, day, sheets)
        ),
        "list": "Vehicles",
        "classes": "".join(map(_van_item, sheets)),
        "clock": slider,
        "others": "",
        "attribution": escape(f"Map: {attribution}" if attribution else ""),
        "hint": escape("\n".join(visible_lines(playbook, day))),
    }


def _van_item(sheet: VanSheet) -> str:
    style = class_style(sheet.number - 1)
    stops = "".join(f"<li>{escape(f'{v.called} ({sheet.when_text(v)})')}</li>" for v in sheet.visits)
    steps = "".join(f"<li>{escape(step.to_text())}</li>" for step in sheet.steps())
    return (
        f'<li class="class" data-number="{sheet.number}" style="--class: {style.colour}; --on-class: {style.text}">'
        f'<div class="row"><input type="checkbox" checked aria-label="Show vehicle {sheet.number}">'
        f'<button type="button" title="Zoom to vehicle {sheet.number}"><span class="number">{sheet.number}</span>'
        f'<span class="members">{escape(sheet.about)}</span><span class="doing"></span></button></div>'
        f"<details><summary>Stops</summary><ol>{stops}</ol></details>"
        f"<details><summary>Directions ({escape(sheet.total_text)})</summary>"
        f"<p>{escape(sheet.note)}</p><ol>{steps}</ol></details></li>\n"
    )
