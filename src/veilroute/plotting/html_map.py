"""A playbook as one HTML file: to look at, to watch as an observer does, and to drive by.

The file loads nothing: no library, no font, no tile, no picture. A map that asks a server for tiles tells that server
where its reader's trips are. Here the map itself is in the file, and a content security policy makes the browser refuse
whatever would be fetched. Style and scripts are in the folder ``web`` beside this module, where the studio has them
from, too; what is shown is a scene (:mod:`veilroute.plotting.scene`).
"""

import base64
import gzip
import hashlib
import re
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from pathlib import Path

from veilroute.base.io import dump_canonical, write_file
from veilroute.model.playbook import Playbook
from veilroute.plotting.scene import playbook_scene
from veilroute.streets.sheets import check_trip

_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=async |function|const |let |class )", re.MULTILINE)
_WAITING = "Opening the map. It needs a browser that runs scripts, and asks nobody for anything."


def html_map(playbook: Playbook, *, trip: int = 0) -> str:
    """The text of an HTML file with the playbook on its map.

    It shows the map, start, goal and candidates, and a route for each anonymized class on each trip, with directions;
    and of the playbook's contingencies the one that is opened in the list. Beside that it is the observer's and the
    driver's seat. It can be moved and zoomed, works offline and from a file, and holds nothing that is not in the
    playbook. The text depends only on the playbook and the trip.

    Parameters
    ----------
    playbook
        With its domain attached.
    trip
        Which trip's routes to show first.
    """
    check_trip(playbook, trip)
    scene = playbook_scene(playbook)
    scene["playbook"]["shown"] = trip
    return web_page(scene, {"title": "Playbook"}, "page.js")


def write_html_map(playbook: Playbook, path: str | Path, *, trip: int = 0) -> int:
    """Write what :func:`html_map` makes to a file; its size in bytes."""
    text = html_map(playbook, trip=trip).encode()
    write_file(path, text)
    return len(text)


def web_page(data: object, texts: Mapping[str, str], script: str) -> str:
    """The page with its texts, which are escaped already, and the data that its script, with all it imports, shows."""
    code = join_modules([script])
    # A browser runs this script and no other, whatever the names in the data hold.
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    css = _web("page.css") + _web("seats.css")
    parts = {"policy": escape(policy), "css": css, "js": code, "data": pack(data), "waiting": _WAITING}
    return re.sub(r"\{\{(\w+)\}\}", lambda name: {**parts, **texts}[name[1]], _web("page.html"))


def join_modules(names: Iterable[str]) -> str:
    """The modules of these names and all that they import as one module: nothing is left to be loaded.

    Each comes after those that it imports from. Their names must differ, because they all are in one scope then.
    """
    found: dict[str, str] = {}

    def add(name: str) -> None:
        if name in found:
            return
        text = _web(name)
        found[name] = ""  # so that modules which import from each other end
        for imported in _IMPORT.findall(text):
            add(imported)
        del found[name]
        found[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    for name in names:
        add(name)
    return "".join(found.values())


def pack(data: object) -> str:
    """Data as text that may stand inside a ``<script>``: base64 of gzip of JSON, in which no name can end it."""
    return base64.b64encode(gzip.compress(dump_canonical(data), 9, mtime=0)).decode("ascii")


def _web(name: str) -> str:
    return files("veilroute.plotting").joinpath("web", name).read_text(encoding="utf-8")
