"""The files of a day of a fleet: what the dispatcher, the drivers and the auditor are given.

All of them are functions of the day, which is public, and of the playbook: the same day gives the same bytes.
"""

import re
from pathlib import Path

from veilroute.days import Day
from veilroute.errors import InvalidInputError, listing
from veilroute.formats.geojson import day_geojson
from veilroute.formats.gpx import van_gpx
from veilroute.playbook import Playbook
from veilroute.streets.day_sheets import day_sheets

DAY_FILE = "day.json"
_DERIVED = re.compile(r"(vehicle-[1-9]\d*\.(gpx|geojson|txt)|day\.(geojson|png)|map\.html|report\.pdf)", re.ASCII)


def write_day(book: Playbook, day: Day, folder: Path) -> list[Path]:
    """Write all files of a day into a folder, which is made if it is not there; returns their paths, in order.

    The folder of a former day is taken over: what was made from that day is removed before anything new is written, so
    that no vehicle finds yesterday's tour beside today's. In any other folder that is not empty nothing is touched.
    """
    check_folder(folder)
    sheets = day_sheets(book, day)
    folder.mkdir(parents=True, exist_ok=True)
    # First of all, so that a folder is known as a day's should the rest not come to its end.
    written = [folder / DAY_FILE]
    written[0].write_bytes(day.to_json())
    for path in sorted(folder.iterdir()):
        if _DERIVED.fullmatch(path.name):
            path.unlink()

    def write(name: str, text: str | bytes) -> None:
        path = folder / name
        path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
        written.append(path)

    # Imported here because they load matplotlib.
    from veilroute.plotting.day_map import day_html
    from veilroute.plotting.day_plot import draw_day, has_picture
    from veilroute.plotting.day_report import write_day_report

    domain = book.problem.domain
    if domain.on_earth is not None:
        for sheet in sheets:
            write(f"vehicle-{sheet.number}.txt", sheet.text())
            write(f"vehicle-{sheet.number}.gpx", van_gpx(sheet))
            write(f"vehicle-{sheet.number}.geojson", day_geojson([sheet]))
        write("day.geojson", day_geojson(sheets))
        write("map.html", day_html(book, day))
    elif has_picture(domain):
        draw_day(book, day, folder / "day.png")
        written.append(folder / "day.png")
    write_day_report(book, day, folder / "report.pdf")
    return [*written, folder / "report.pdf"]


def check_folder(folder: Path) -> None:
    """Raise where a folder holds anything but a day: nothing of somebody's work may be lost or mistaken for a day's."""
    if not folder.exists():
        return
    expected = "a folder that is new or empty, or that holds a day and nothing else"
    if not folder.is_dir():
        raise InvalidInputError("--out", expected, str(folder))
    # Of a name that begins with a dot is what file managers leave behind.
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    others = [
        path.name
        for path in paths
        if path.is_symlink() or not path.is_file() or not (path.name == DAY_FILE or _DERIVED.fullmatch(path.name))
    ]
    if others:
        raise InvalidInputError("--out", expected, f"also {listing(others)}")
    if paths and not (folder / DAY_FILE).exists():
        raise InvalidInputError("--out", expected, f"{listing([path.name for path in paths])} without a {DAY_FILE}")
