"""Export: a playbook as a picture, a page, routes, tables or a report, by the ending of the file."""

from __future__ import annotations

from pathlib import Path

from veilroute.base.errors import InvalidInputError, UnknownMethodError
from veilroute.base.io import write_file
from veilroute.formats.geojson import write_geojson
from veilroute.formats.gpx import write_gpx
from veilroute.formats.kml import write_kml
from veilroute.formats.route_table import write_csv, write_xlsx
from veilroute.model.playbook import Playbook
from veilroute.streets.sheets import playbook_directions
from veilroute.streets.stops import Schedule

FORMATS = (".gpx", ".geojson", ".kml", ".html", ".txt", ".csv", ".xlsx", ".pdf")
PICTURES = (".png", ".svg")


def write_routes(book: Playbook, out: Path, trip: int | None, schedule: Schedule) -> bool:
    """Write a playbook in the format of the file's ending; whether it passed its audit, where that was asked."""
    match out.suffix.lower():
        case ".gpx":
            write_gpx(book, out, trip=trip, schedule=schedule)
        case ".geojson":
            write_geojson(book, out, trip=trip)
        case ".kml":
            write_kml(book, out, trip=trip, schedule=schedule)
        case ".csv":
            write_csv(book, out, trip=trip)
        case ".xlsx":
            write_xlsx(book, out, trip=trip)
        case ".txt":
            write_file(out, playbook_directions(book, trip=trip, schedule=schedule))
        case ".html":
            from veilroute.plotting import write_html_map  # here, because it loads matplotlib

            write_html_map(book, out, trip=trip or 0)
        case ".pdf":
            from veilroute.plotting import write_report

            return write_report(book, out, trip=trip, schedule=schedule).holds
        case ".png" | ".svg":
            from veilroute.plotting import draw_playbook

            draw_playbook(book, out, trip=trip or 0)
        case _:
            raise UnknownMethodError("export format", out.suffix or str(out), (*FORMATS, *PICTURES))
    return True


def check_schedule(book: Playbook, depart: str | None, field: str = "depart") -> None:
    """Raise if times of day are asked for on a map that knows none."""
    streets = book.problem.domain.on_earth
    if depart is not None and streets is not None and streets.unit != "seconds":
        raise InvalidInputError(field, "a network whose costs are seconds: on others no times are known", depart)
