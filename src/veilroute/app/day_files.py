"""The files of a day of a fleet: what the dispatcher, the drivers and the auditor are given.

All of them are functions of the day, which is public, and of the playbook: the same day gives the same bytes.
"""

import re
from pathlib import Path

from veilroute.base.errors import InvalidInputError, listing
from veilroute.base.io import move_file, staging, write_file
from veilroute.formats.geojson import day_geojson
from veilroute.formats.gpx import van_gpx
from veilroute.model.day import Day
from veilroute.model.playbook import Playbook
from veilroute.streets.day_sheets import day_sheets

DAY_FILE = "day.json"
_DERIVED = re.compile(r"(vehicle-[1-9]\d*\.(gpx|geojson|txt)|day\.(geojson|png)|map\.html|report\.pdf)", re.ASCII)
_STAGING = ".veilroute-day-"


def write_day(book: Playbook, day: Day, folder: Path) -> list[Path]:
    """Write all files of a day into a folder, which is made if it is not there; returns their paths, in order.

    All files are made in a folder of their own first, so that a full disk or Ctrl-C leaves a former day as it was. Then
    each takes the place of the former one, and only after that files that this day does not have are removed. So no
    file is ever missing, also if the process is killed; what it leaves is removed by the next run.

    A process that is killed between two moves leaves files of both days. ``day.json`` is moved first: then the folder
    is known as a day's, so that the next run may write into it, which puts it right. `audit --day` notices such a
    folder by two claims: ``same-files``, because it makes all files again from ``day.json`` and names each one that is
    of the former day (unproved if the new day drives nobody), and ``files``, because the folder in which the new files
    were made is still there. In any other folder that is not empty nothing is touched.
    """
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with staging(folder, _STAGING) as place:
        made = _make_files(book, day, place)
        for path in made:
            move_file(path, folder / path.name)
        kept = {path.name for path in made}
        for path in sorted(folder.iterdir()):
            if _DERIVED.fullmatch(path.name) and path.name not in kept:
                path.unlink()
    return [folder / path.name for path in made]


def _make_files(book: Playbook, day: Day, folder: Path) -> list[Path]:
    """Write all files of a day into a new folder, the day itself first."""
    written: list[Path] = []

    def write(name: str, text: str | bytes) -> None:
        write_file(folder / name, text)
        written.append(folder / name)

    sheets = day_sheets(book, day)
    write(DAY_FILE, day.to_json())
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
        raise InvalidInputError("out", expected, str(folder))
    # Of a name that begins with a dot is what file managers leave behind.
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    others = [
        path.name
        for path in paths
        if path.is_symlink() or not path.is_file() or not (path.name == DAY_FILE or _DERIVED.fullmatch(path.name))
    ]
    if others:
        raise InvalidInputError("out", expected, f"also {listing(others)}")
    if paths and not (folder / DAY_FILE).exists():
        raise InvalidInputError("out", expected, f"{listing([path.name for path in paths])} without a {DAY_FILE}")
