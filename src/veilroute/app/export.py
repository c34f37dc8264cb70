"""Export: a playbook as pictures, pages, routes, tables or a report, and scenes for drawing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veilroute.app.audit import audit_playbook
from veilroute.app.load import load_instance, load_map, load_playbook
from veilroute.app.problem_file import override
from veilroute.app.requests import ExportRequest, GridSpec, ProblemRequest, SceneRequest
from veilroute.auditing import AuditReport
from veilroute.base.errors import InvalidInputError
from veilroute.base.io import check_out, read_bytes, write_file
from veilroute.base.run import Progress, Run
from veilroute.formats.geojson import write_geojson
from veilroute.formats.gpx import write_gpx
from veilroute.formats.kml import write_kml
from veilroute.formats.route_table import write_csv, write_xlsx
from veilroute.model.playbook import Playbook
from veilroute.streets.sheets import playbook_directions
from veilroute.streets.stops import DWELL_S, Schedule

FORMATS = (".gpx", ".geojson", ".kml", ".html", ".txt", ".csv", ".xlsx", ".pdf", ".png", ".svg")


@dataclass(frozen=True)
class ExportResult:
    """A file that was written."""

    out: Path
    report: AuditReport | None = None  #: the audit that a report (.pdf) tells of
    warnings: tuple[str, ...] = ()


def export(request: ExportRequest, run: Run | None = None) -> ExportResult:
    """Write a playbook in the format of the file's ending; a .pdf is the report, for which the playbook is audited."""
    run = Run() if run is None else run
    check_out(request.out, endings=FORMATS)
    schedule = Schedule(DWELL_S if request.dwell_s is None else request.dwell_s, request.depart)
    run.progress(Progress("writing"))
    book = load_playbook(request.playbook, request.domain, request.movement)
    report = write_book(book, request.out, schedule, run, trip=request.trip)
    return ExportResult(request.out, report, tuple(run.warnings))


def write_book(
    book: Playbook, out: Path, schedule: Schedule, run: Run, *, trip: int | None = None
) -> AuditReport | None:
    """Write a playbook in the format of the file's ending; the audit, if that tells of one."""
    check_out(out, endings=FORMATS)
    streets = book.problem.domain.on_earth
    if schedule.depart is not None and streets is not None and streets.unit != "seconds":
        expected = "a network whose costs are seconds: on others no times are known"
        raise InvalidInputError("depart", expected, schedule.depart)
    report = None
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
        case ".pdf":
            from veilroute.plotting import write_report  # here, because it loads matplotlib

            report = audit_playbook(book)
            write_report(book, out, report=report, trip=trip, schedule=schedule)
            if not report.holds:
                run.warn("the playbook does not pass its audit, and the report says so")
        case _:
            _draw(book, out, trip or 0)
    return report


def draw(request: ExportRequest, run: Run | None = None) -> ExportResult:
    """Draw a playbook: as a page for the browser (.html), else as a picture, which a .pdf is here too."""
    run = Run() if run is None else run
    run.progress(Progress("drawing"))
    _draw(load_playbook(request.playbook, request.domain, request.movement), request.out, request.trip or 0)
    return ExportResult(request.out, None, tuple(run.warnings))


def _draw(book: Playbook, out: Path, trip: int) -> None:
    from veilroute.plotting import draw_playbook, write_html_map  # here, because they load matplotlib

    (write_html_map if out.suffix.lower() == ".html" else draw_playbook)(book, out, trip=trip)


def scene(request: SceneRequest, run: Run | None = None) -> dict[str, Any]:
    """What the studio draws of a map, a problem or a playbook, as plain data.

    Of a file that says where a trip goes and what its candidates are, or of options that do, these are drawn too.
    """
    from veilroute.plotting.scene import domain_scene, instance_scene, playbook_scene

    run = Run() if run is None else run
    run.progress(Progress("drawing"))
    movement = request.asked.grid.movement
    # A playbook is known by the word that no other file has.
    if request.file.suffix.lower() == ".json" and b'"veilroute-playbook/' in read_bytes(request.file):
        return playbook_scene(load_playbook(request.file, request.domain, movement or 4))
    asked = request.asked if request.asked.problem.map else override(request.asked, {"map": request.file})
    world, is_whole = load_map(asked, run)
    plain = override(ProblemRequest(grid=GridSpec(movement=movement)), {"map": asked.problem.map})
    if not is_whole and asked == plain:
        return domain_scene(world)
    found = load_instance(asked, run)
    return instance_scene(found.problem, found.privacy)
