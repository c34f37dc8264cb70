"""Draw the pictures of the documentation again, from the tour that `veilroute demo` makes.

python docs/make_images.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from veilroute import read_playbook
from veilroute.cli.main import run
from veilroute.plotting import draw_playbook

IMAGES = Path(__file__).resolve().parent / "images"
# Dots per inch; chosen to keep each file well below 250 kB. The demo itself draws with 150.
RESOLUTION = {"building": 150, "streets": 100}


def main() -> int:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        code = run(["demo", "--out", folder])
        for name, dpi in RESOLUTION.items():
            path = IMAGES / f"{name}.png"
            draw_playbook(read_playbook(Path(folder) / f"{name}.json"), path, dpi=dpi)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    return code


if __name__ == "__main__":
    sys.exit(main())
