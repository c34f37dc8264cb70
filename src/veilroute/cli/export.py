"""`veilroute draw`, `export`, `scene` and `convert`: playbooks as pictures and routes, instances in other formats."""

import math
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from veilroute.app.export import FORMATS, check_schedule, write_routes
from veilroute.app.load import load_instance, load_map, load_playbook
from veilroute.app.requests import GridSpec, ProblemRequest
from veilroute.base.errors import UnknownMethodError
from veilroute.base.io import dump_canonical, read_bytes, write_file
from veilroute.cli.console import (
    DONE,
    VIOLATED,
    DepartOption,
    DwellOption,
    check_out,
    live_progress,
    plain_run,
    remark,
    stdout,
)
from veilroute.cli.options import DomainOption, FileArgument, MovementOption, PlaybookArgument, complete, takes_request
from veilroute.formats import write_instance
from veilroute.streets.stops import DWELL_S, Schedule


def run_export(
    playbook: PlaybookArgument,
    /,
    *,
    out: Annotated[
        Path,
        Parameter(
            name=(
                "-o",
                "--out",
            ),
            metavar="FILE",
            help="A .gpx, .geojson, .kml, .html, .txt, .csv, .xlsx or .pdf file.",
        ),
    ],
    trip: Annotated[
        int | None, Parameter(help="Only this trip, from 0, all when left out; in a .html the first to be shown.")
    ] = None,
    dwell: DwellOption = DWELL_S,
    depart: DepartOption = None,
    domain: DomainOption = None,
    movement: MovementOption = 4,
) -> int:
    """Write the routes of all classes: for devices and map programs, as driver's sheets, as tables, or as a report.

    GPX, GeoJSON, KML and the driver's sheets (.txt) need a street network, or a grid planned with --origin and --cell.
    The page that a browser shows offline (.html: to look at, to watch, to drive by), tables (.csv, .xlsx) and the
    report (.pdf), which audits the playbook, are for all. What is written is as public as the playbook: it does not
    know the secret.
    """
    suffix = out.suffix.lower()
    if suffix not in FORMATS:
        raise UnknownMethodError("export format", out.suffix or str(out), FORMATS)
    check_out(out)
    schedule = Schedule(dwell, depart)
    book = load_playbook(playbook, domain, movement)
    check_schedule(book, depart, "--depart")
    with live_progress("writing"):
        is_sound = write_routes(book, out, trip, schedule)
    stdout().print(f"Map: {out} ({_size_text(out)})" if suffix == ".html" else f"Written: {out}")
    if not is_sound:
        remark("the playbook does not pass its audit, and the report says so")
        return VIOLATED
    return DONE


def _size_text(path: Path) -> str:
    """How large a file is, in kilobytes or megabytes."""
    size = path.stat().st_size
    return f"{math.ceil(size / 1000)} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


@takes_request(ProblemRequest)
def run_convert(
    instance: FileArgument,
    out: Annotated[Path, Parameter(name="OUT", help="A .json, .in or .map file.")],
    /,
    *,
    request: ProblemRequest,
) -> int:
    """Convert an instance to another format; what the new format cannot hold is named on standard error."""
    lost = write_instance(load_instance(complete(request, [instance])[0], plain_run()), out)
    print(f"Written: {out}")
    if lost:
        remark(f"{out.suffix} holds no {', '.join(lost)}; left out")
    return DONE


def run_draw(
    playbook: PlaybookArgument,
    /,
    *,
    out: Annotated[
        Path,
        Parameter(
            name=(
                "-o",
                "--out",
            ),
            metavar="FILE",
            help="A .png, .svg, .pdf or .html file.",
        ),
    ],
    trip: Annotated[int, Parameter(help="Which trip, from 0.")] = 0,
    domain: DomainOption = None,
    movement: MovementOption = 4,
) -> int:
    """Draw a playbook: obstacles, start, goal, and one colour per class for candidates and route.

    A .html is a page for the browser with all trips, this one first; it loads nothing from anywhere.
    """
    from veilroute.plotting import draw_playbook, write_html_map

    book = load_playbook(playbook, domain, movement)
    is_page = out.suffix.lower() == ".html"
    with live_progress("drawing"):
        if is_page:
            write_html_map(book, out, trip=trip)
        else:
            draw_playbook(book, out, trip=trip)
    stdout().print(f"Map: {out} ({_size_text(out)})" if is_page else f"Picture: {out}")
    return DONE


@takes_request(ProblemRequest)
def run_scene(
    file: Annotated[Path, Parameter(name="FILE", help="A map, an instance, a street network or a playbook.")],
    /,
    *,
    request: ProblemRequest,
    out: Annotated[
        Path,
        Parameter(
            name=(
                "-o",
                "--out",
            ),
            metavar="FILE",
            help="A .json file.",
        ),
    ],
    domain: DomainOption = None,
) -> int:
    """Write what the studio draws of a map, an instance or a playbook, as JSON.

    Of a file that says where a trip goes and what its candidates are these are drawn too, and of a playbook all that
    its pages show.
    """
    from veilroute.plotting.scene import domain_scene, instance_scene, playbook_scene

    if out.suffix.lower() != ".json":
        raise UnknownMethodError("scene format", out.suffix or str(out), (".json",))
    check_out(out)
    with live_progress("drawing"):
        if _is_playbook(file):
            scene = playbook_scene(load_playbook(file, domain, request.grid.movement or 4))
        else:
            asked, _ = complete(request, [file])
            world, is_whole = load_map(asked, plain_run())
            if is_whole or request != ProblemRequest(grid=GridSpec(movement=request.grid.movement)):
                found = load_instance(asked, plain_run())
                scene = instance_scene(found.problem, found.privacy)
            else:
                scene = domain_scene(world)
        write_file(out, dump_canonical(scene))
    stdout().print(f"Written: {out}")
    return DONE


def _is_playbook(path: Path) -> bool:
    """Whether a file is a playbook, by the word that none of the others has."""
    return path.suffix.lower() == ".json" and b'"veilroute-playbook/' in read_bytes(path)
