"""The report of a day for whoever dispatches it: map, vehicles, all stops with their times, and what can be seen.

It is one PDF without a date or a link in it, made from the day and its playbook alone: the same day gives the same
bytes.
"""

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from veilroute.domain.geography import cost_text
from veilroute.formats.geojson import class_colour
from veilroute.model.day import Day
from veilroute.model.playbook import Playbook
from veilroute.plotting.day_plot import has_picture, plot_day
from veilroute.plotting.frame import plain_settings
from veilroute.plotting.pages import Pages
from veilroute.streets.day_sheets import VanSheet, day_facts, day_sheets, stand_lines, visible_lines
from veilroute.streets.stops import stay_length


def write_day_report(playbook: Playbook, day: Day, path: str | Path) -> None:
    """Write the report of a day as a PDF.

    Parameters
    ----------
    playbook
        With its domain attached.
    day
        A day of this playbook.
    path
        The file to write.
    """
    sheets = day_sheets(playbook, day)
    digest = hashlib.sha256(day.to_json()).hexdigest()
    with plain_settings():
        pages = Pages()
        pages.title("Day of a fleet", _about(playbook, sheets))
        pages.facts(day_facts(playbook, day, sheets))
        if has_picture(playbook.problem.domain):
            pages.picture(partial(_draw, playbook, day))
        pages.heading("Vehicles", least=min(1.0 + 0.2 * len(day.tours), 6.0))
        pages.table(*_vehicles(playbook, day, sheets), colours=[class_colour(i) for i in range(len(day.tours))])
        pages.paragraph("The load is what the largest orders of all customers on a tour would take.")
        if day.after is not None:
            pages.heading("What has happened")
            for line in stand_lines(playbook, day):
                pages.paragraph(line)
        pages.heading("What remains visible")
        for line in visible_lines(playbook, day):
            pages.paragraph(line.removeprefix("What remains visible: "))
        for sheet in sheets:
            pages.heading(f"{sheet.title}: {sheet.about}")
            pages.paragraph(sheet.note)
            if sheet.visits:
                pages.table(*_stops(sheet), colours=[class_colour(sheet.number - 1)] * len(sheet.visits))
        _write_hashes(pages, playbook, digest)
        pages.save(path, f"veilroute   day {digest[:16]}")


def _draw(playbook: Playbook, day: Day, ax: Axes) -> None:
    plot_day(playbook, day, ax=ax, legend=False)


def _about(playbook: Playbook, sheets: Sequence[VanSheet]) -> str:
    starts = ", ".join(dict.fromkeys(sheet.start for sheet in sheets))
    return (
        f"{f'From {starts}. ' if starts else ''}Numbers on the map are stops, colours are vehicles. "
        "The report does not say who has ordered. For what an observer can find out, see What remains visible."
    )


def _vehicles(playbook: Playbook, day: Day, sheets: Sequence[VanSheet]) -> tuple[list[str], list[list[str]]]:
    """A row for each vehicle, idle ones too."""
    domain, by_number = playbook.problem.domain, {sheet.number: sheet for sheet in sheets}
    room = "" if day.terms.capacity is None else f" of {day.terms.capacity}"
    rows = []
    for number in range(1, len(day.tours) + 1):
        sheet = by_number.get(number)
        if sheet is None:
            rows.append([str(number), "idle", "", "", "", "", "", ""])
            continue
        length = f"{sheet.laid.metres / 1000:.1f}" if sheet.itinerary is not None else ""
        driving, all_in = (
            "" if seconds is None else f"{seconds / 60:.0f}" for seconds in (sheet.driving_s, sheet.tour.seconds)
        )
        cost = cost_text(domain, sheet.tour.cost)
        times = [driving, all_in, sheet.leaves, sheet.home]
        rows.append([str(number), str(len(sheet.visits)), length or cost, *times, f"{sheet.load}{room}"])
    length_of = "km" if domain.on_earth is not None else "cost"
    headings = ["vehicle", "stops", length_of, "min driving", "min in all", "leaves", "ends", "load"]
    return _without_empty(headings, rows)


def _stops(sheet: VanSheet) -> tuple[list[str], list[list[str]]]:
    rows = [
        [str(v.stop.number), v.at, v.called, str(v.group), stay_length(v.service_s), str(v.demand), v.window]
        for v in sheet.visits
    ]
    return _without_empty(["stop", "at", "customer", "class", "stay", "room", "open"], rows)


def _without_empty(headings: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Without the columns in which nothing stands."""
    kept = [j for j in range(len(headings)) if any(row[j] for row in rows)]
    return [headings[j] for j in kept], [[row[j] for j in kept] for row in rows]


def _write_hashes(pages: Pages, playbook: Playbook, digest: str) -> None:
    pages.heading("What this is about")
    hashes = {"Day": digest, "Playbook": playbook.sha256, "Map": playbook.domain_sha256}
    pages.facts([(name, f"SHA-256 {each}") for name, each in hashes.items()])
    streets = playbook.problem.domain.on_earth
    if streets is not None and streets.attribution:
        pages.paragraph(f"Map: {streets.attribution}")
