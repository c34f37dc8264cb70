"""Draw the pictures of the documentation again, from the tour that `veilroute demo` makes.

python docs/make_images.py

Beside each picture it leaves the SHA-256 of the routes in it, by which a test knows when the picture is out of date.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path

from veilroute import Playbook, read_playbook
from veilroute.cli.main import run
from veilroute.plotting import draw_playbook

IMAGES = Path(__file__).resolve().parent / "images"
# Dots per inch; chosen to keep each file well below 250 kB. The demo itself draws with 150.
RESOLUTION = {"building": 150, "streets": 100}


def routes_sha256(playbook: Playbook) -> str:
    routes = [(group.members, [route.nodes for route in group.routes]) for group in playbook.classes]
    return hashlib.sha256(repr(routes).encode()).hexdigest()


def main() -> int:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        code = run(["demo", "--out", folder])
        for name, dpi in RESOLUTION.items():
            path = IMAGES / f"{name}.png"
            playbook = read_playbook(Path(folder) / f"{name}.json")
            draw_playbook(playbook, path, dpi=dpi)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
            path.with_suffix(".sha256").write_text(routes_sha256(playbook) + "\n", encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
