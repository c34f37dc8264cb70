"""`veilroute draw`, `export` and `convert`: playbooks as pictures and routes, instances in other formats."""

from pathlib import Path

from typer import Argument, Option

from veilroute.cli import instances
from veilroute.cli.console import DONE, check_out, live_progress, remark, stdout
from veilroute.errors import UnknownMethodError
from veilroute.formats import write_instance
from veilroute.formats.geojson import write_geojson
from veilroute.formats.gpx import write_gpx
from veilroute.streets.directions import playbook_directions

FORMATS = (".gpx", ".geojson", ".html", ".txt")


def run_export(
    playbook: instances.PlaybookArgument,
    out: Path = Option(..., "-o", "--out", metavar="FILE", help="A .gpx, .geojson, .html or .txt file."),
    trip: int | None = Option(None, help="Only this trip, from 0; all when left out, the first in a .html."),
    domain: instances.DomainOption = None,
    movement: instances.MovementOption = 4,
) -> int:
    """Write the routes of all classes as GPX, GeoJSON, turn-by-turn directions, or a map that a browser shows offline.

    The playbook must be on a street network, or on a grid planned with --origin and --cell. What is written is as
    public as the playbook: it does not know the secret.
    """
    if out.suffix.lower() not in FORMATS:
        raise UnknownMethodError("export format", out.suffix or str(out), FORMATS)
    check_out(out)
    book = instances.load_playbook(playbook, domain, movement)
    with live_progress("writing"):
        match out.suffix.lower():
            case ".gpx":
                write_gpx(book, out, trip=trip)
            case ".geojson":
                write_geojson(book, out, trip=trip)
            case ".html":
                from veilroute.plotting import write_html_map  # here, because it loads matplotlib

                write_html_map(book, out, trip=trip or 0)
            case _:
                out.write_text(playbook_directions(book, trip=trip), encoding="utf-8", newline="\n")
    stdout().print(f"Written: {out}")
    return DONE


@instances.takes_instance_options
def run_convert(
    instance: instances.FileArgument,
    options: instances.InstanceOptions,
    out: Path = Argument(metavar="OUT", help="A .json, .in or .map file."),
) -> int:
    """Convert an instance to another format; what the new format cannot hold is named on standard error."""
    lost = write_instance(instances.load_instance(instance, options), out)
    print(f"Written: {out}")
    if lost:
        remark(f"{out.suffix} holds no {', '.join(lost)}; left out")
    return DONE


def run_draw(
    playbook: instances.PlaybookArgument,
    out: Path = Option(..., "-o", "--out", metavar="FILE", help="A .png, .svg, .pdf or .html file."),
    trip: int = Option(0, help="Which trip, from 0."),
    domain: instances.DomainOption = None,
    movement: instances.MovementOption = 4,
) -> int:
    """Draw a playbook: obstacles, start, goal, and one colour per class for candidates and route.

    A .html is a map for the browser, on streets and grids with an origin only; it loads nothing from anywhere.
    """
    from veilroute.plotting import draw_playbook, write_html_map

    book = instances.load_playbook(playbook, domain, movement)
    with live_progress("drawing"):
        if out.suffix.lower() == ".html":
            write_html_map(book, out, trip=trip)
        else:
            draw_playbook(book, out, trip=trip)
    stdout().print(f"Picture: {out}")
    return DONE
