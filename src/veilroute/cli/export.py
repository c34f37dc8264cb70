"""`veilroute export`, and the older `draw`, `scene` and `convert`: playbooks as files, instances in other formats."""

import math
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from veilroute.app.export import draw, export, scene
from veilroute.app.load import load_instance
from veilroute.app.requests import ExportRequest, ProblemRequest, SceneRequest
from veilroute.base.io import dump_canonical, write_file
from veilroute.base.run import Run
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
from veilroute.cli.options import (
    DomainOption,
    FileArgument,
    MovementOption,
    PlaybookArgument,
    complete,
    out_option,
    takes_request,
)
from veilroute.formats import write_instance
from veilroute.streets.stops import DWELL_S


def run_export(
    playbook: PlaybookArgument,
    /,
    *,
    out: Annotated[
        Path,
        out_option("Its ending says what it is: .png, .svg, .html, .pdf, .txt, .gpx, .kml, .geojson, .csv or .xlsx."),
    ],
    trip: Annotated[
        int | None,
        Parameter(help="Only this trip, from 0; all if left out. A picture shows one, a .html this one first."),
    ] = None,
    dwell: DwellOption = DWELL_S,
    depart: DepartOption = None,
    domain: DomainOption = None,
    movement: MovementOption = 4,
) -> int:
    """Write a playbook as a picture, a page, a report, routes or tables.

    A picture is a .png or .svg. A .html is a page that a browser shows offline: to look at, to watch, to drive by. The
    report (.pdf) audits the playbook; exit 1 if it does not pass. Tables are .csv or .xlsx. For devices and map
    programs there are GPX, GeoJSON and KML, and driver's sheets (.txt): these need a street network, or a grid planned
    with --origin and --cell. What is written is as public as the playbook: it does not know the secret.
    """
    wanted = ExportRequest(
        playbook=playbook, out=out, trip=trip, dwell_s=dwell, depart=depart, domain=domain, movement=movement
    )
    with live_progress("writing") as report:
        written = export(wanted, Run(report, tell=remark))
    _tell(out, "Picture" if out.suffix.lower() in (".png", ".svg") else "Written")
    return DONE if written.report is None or written.report.holds else VIOLATED


def _tell(out: Path, what: str) -> None:
    """Say what was written; of a page how large it is, in kilobytes or megabytes."""
    if out.suffix.lower() != ".html":
        stdout().print(f"{what}: {out}")
        return
    size = out.stat().st_size
    shown = f"{math.ceil(size / 1000)} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
    stdout().print(f"Map: {out} ({shown})")


@takes_request(ProblemRequest, without=("map",))
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
    out: Annotated[Path, out_option("A .png, .svg, .pdf or .html file.")],
    trip: Annotated[int, Parameter(help="Which trip, from 0.")] = 0,
    domain: DomainOption = None,
    movement: MovementOption = 4,
) -> int:
    """Draw a playbook: obstacles, start, goal, and one colour per class for candidates and route.

    A .html is a page for the browser with all trips, this one first; it loads nothing from anywhere.
    """
    with live_progress("drawing") as report:
        draw(ExportRequest(playbook=playbook, out=out, trip=trip, domain=domain, movement=movement), Run(report))
    _tell(out, "Picture")
    return DONE


@takes_request(ProblemRequest, without=("map",))
def run_scene(
    file: Annotated[Path, Parameter(name="FILE", help="A map, an instance, a street network or a playbook.")],
    /,
    *,
    request: ProblemRequest,
    out: Annotated[Path, out_option("A .json file.")],
    domain: DomainOption = None,
) -> int:
    """Write what the studio draws of a map, an instance or a playbook, as JSON.

    Of a file that says where a trip goes and what its candidates are these are drawn too, and of a playbook all that
    its pages show.
    """
    check_out(out, endings=(".json",))
    wanted = SceneRequest(file=file, asked=complete(request, [file])[0], domain=domain)
    with live_progress("drawing") as report:
        write_file(out, dump_canonical(scene(wanted, Run(report, tell=remark))))
    stdout().print(f"Written: {out}")
    return DONE
