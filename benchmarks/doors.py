"""Does the route pass the door: customers anywhere on the streets of a real map, by the command line.

    python benchmarks/doors.py --osm test.osm.pbf

Six draws of 30 customers on streets, and 120 in one run, k = 3: each is planned, audited, and every customer's distance
from the drawn line of its route is measured here, with geometry of its own. Prints how many are farther from their
route than from their street (and a metre); for comparison with places at junctions (--snap junction). Exits with 1 if
one is farther off at its door.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

Point = tuple[float, float]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osm", type=Path, required=True, help="an OpenStreetMap file, as test.osm.pbf of pyrosm")
    options = parser.parse_args()
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        network = Path(folder) / "network.json"
        run("streets", options.osm, "-o", network, "--connected")
        lines = drawn_lines(json.loads(network.read_text()))
        for snap in ("junction", "door"):
            offs = [offset for draw in range(6) for offset in trial(network, lines, 30, draw, snap)]
            report(f"6 x 30 customers, --snap {snap}", offs)
        kept &= all(off <= street + 1 for off, street in offs)
        offs = trial(network, lines, 120, 99, "door")
        report("120 customers in one run", offs)
        kept &= len(offs) == 120 and all(off <= street + 1 for off, street in offs)
    return 0 if kept else 1


def run(*arguments: object, may_fail: bool = False) -> int:
    command = [sys.executable, "-m", "veilroute", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and not may_fail:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.returncode


def drawn_lines(network: dict[str, Any]) -> list[list[Point]]:
    """The line of each edge, as the file has it."""
    graph = network["domain"]["graph"]
    lonlat, bends = graph["streets"]["lonlat"], graph["streets"]["bends"]
    lines: list[list[Point]] = []
    for (tail, head, _), flat in zip(graph["edges"], bends, strict=True):
        inner = [(flat[i], flat[i + 1]) for i in range(0, len(flat), 2)]
        lines.append([tuple(lonlat[tail]), *inner, tuple(lonlat[head])])
    return lines


def trial(network: Path, lines: list[list[Point]], num: int, draw: int, snap: str) -> list[tuple[float, float]]:
    """Per customer the distance from its route, and from its street."""
    rng = Random(draw)
    places = network.with_name("places.csv")
    points = {f"customer {i}": on_street(rng, lines) for i in range(num)}
    book = network.with_name("book.json")
    privacy = ("-k", 3, "--ell", 100, "--ell-measure", "driving")
    done = 2
    while done == 2:  # the depot is elsewhere while its junction is that of a customer
        rows = [f"{name},{lat:.7f},{lon:.7f}," for name, (lon, lat) in points.items()]
        ends = [(role, *on_street(rng, lines)) for role in ("start", "goal")]
        rows += [f"{role},{lat:.7f},{lon:.7f},{role}" for role, lon, lat in ends]
        places.write_text("\n".join(["name,lat,lon,role", *rows]))
        arguments = ("plan", network, "--places", places, *privacy, "--snap", snap, "--time-limit", 60, "-o", book)
        done = run(*arguments, may_fail=snap == "junction")
    run("audit", book)
    exported = network.with_name("routes.geojson")
    run("export", book, "-o", exported)
    data = json.loads(book.read_text())
    names = {json.dumps(label): name for label, name in data["names"]}
    routes = [f for f in json.loads(exported.read_text())["features"] if f["geometry"]["type"] == "LineString"]
    offs = []
    for feature in routes:
        for label in feature["properties"]["members"]:
            point = points[names.get(json.dumps(label), label)]
            street = min(off_line(point, line) for line in lines)
            offs.append((off_line(point, [tuple(p) for p in feature["geometry"]["coordinates"]]), street))
    return offs


def on_street(rng: Random, lines: list[list[Point]]) -> Point:
    line = rng.choice(lines)
    i, share = rng.randrange(len(line) - 1), rng.random()
    (lon, lat), (lon2, lat2) = line[i], line[i + 1]
    return lon + share * (lon2 - lon), lat + share * (lat2 - lat)


def off_line(point: Point, line: list[Point]) -> float:
    """Metres from a point to a line, on the plane around the point."""
    scale = 111_195.0
    wide = scale * math.cos(math.radians(point[1]))
    flat = [((lon - point[0]) * wide, (lat - point[1]) * scale) for lon, lat in line]
    least = math.hypot(*flat[0])
    for (x, y), (x2, y2) in pairwise(flat):
        dx, dy = x2 - x, y2 - y
        share = max(0.0, min(1.0, -(x * dx + y * dy) / (dx * dx + dy * dy or 1.0)))
        least = min(least, math.hypot(x + share * dx, y + share * dy))
    return least


def report(name: str, offs: list[tuple[float, float]]) -> None:
    farther = sum(off > street + 1 for off, street in offs)
    largest = max(off for off, _ in offs)
    beyond = [sum(off > limit for off, _ in offs) for limit in (25, 50)]
    print(
        f"{name}: {len(offs)} with a route; {farther} farther from it than from their street (+1 m); "
        f"{beyond[0]} more than 25 m off, {beyond[1]} more than 50 m, at most {largest:.1f} m",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
