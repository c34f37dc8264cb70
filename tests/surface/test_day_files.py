"""The files of a day: sheets, devices, maps and the report say what the day says; of a former day nothing is left."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import runpy
import shutil
import subprocess
import xml.etree.ElementTree as ET
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from commands import Command
from door_towns import door_problem, winding_town
from gpx_schema import NAMESPACE, check_gpx
from street_samples import ATTRIBUTION, little_book
from veilroute import InvalidInputError, read_day
from veilroute.app import write_day
from veilroute.plotting import join_modules

NINE = 9 * 3600.0
EVIL = "</script><script>alert(1)</script> {{js}} & <b>"


def make_day() -> tuple[vr.Playbook, vr.Day]:
    """A winding town with doors, banned turns and twins at one spot; four vehicles, of which some are idle."""
    problem = door_problem(3, winding_town(3, u_turn_cost=5.0), num=8, num_twins=2)
    depot = problem.trips[0].start
    names = {depot: "Yard", problem.candidates[0]: "Café Ö"}
    problem = vr.Problem(problem.domain, [vr.Trip(depot, depot)], problem.candidates, names=names)
    book = vr.solve(problem, vr.Privacy(k=2, ell=0))
    late = {book.hidden_classes[0].members[0]: vr.Customer(opens_s=NINE, service_s=300.0)}
    vans = (vr.Van(depot, depot),) * 4
    terms = vr.Terms(vans, capacity=4, seconds_per_cost=1.0, customers=late, iterations=60)
    return book, vr.dispatch(book, range(1, len(book.hidden_classes) + 1), terms)


@pytest.fixture(scope="module")
def town() -> tuple[vr.Playbook, vr.Day]:
    return make_day()


@pytest.fixture(scope="module")
def folder(town: tuple[vr.Playbook, vr.Day], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the day; tests only read them."""
    made = tmp_path_factory.mktemp("day")
    write_day(*town, made)
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def embedded(text: str) -> Any:
    """What is shown of the day, out of the data of its page."""
    found = re.search(r'<script type="application/octet-stream" id="scene">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])))["day"]


def test_a_day_on_earth_has_all_its_files_and_the_same_again(
    tmp_path: Path, folder: Path, town: tuple[vr.Playbook, vr.Day]
) -> None:
    book, day = town
    paths = write_day(book, day, tmp_path / "a" / "day")
    used = [number for number, tour in enumerate(day.tours, start=1) if tour.stops]
    assert 1 < len(used) < len(day.tours)
    own = [f"vehicle-{number}.{ending}" for number in used for ending in ("txt", "gpx", "geojson")]
    assert [path.name for path in paths] == ["day.json", *own, "day.geojson", "map.html", "report.pdf"]
    found = contents(tmp_path / "a" / "day")
    assert sorted(found) == sorted(path.name for path in paths)
    assert contents(folder) == found
    write_day(book, read_day(folder / "day.json"), tmp_path / "a" / "day")
    assert contents(tmp_path / "a" / "day") == found


def test_gpx_and_sheets_have_every_stop_at_its_door_and_time(folder: Path, town: tuple[vr.Playbook, vr.Day]) -> None:
    book, day = town
    domain = book.problem.domain
    assert domain.on_earth is not None and domain.turns is not None
    for number, tour in enumerate(day.tours, start=1):
        if not tour.stops:
            continue
        root = check_gpx((folder / f"vehicle-{number}.gpx").read_text(encoding="utf-8"))
        points = root.findall(f"{NAMESPACE}wpt")
        sheet = (folder / f"vehicle-{number}.txt").read_text(encoding="utf-8")
        said = re.findall(r"^ *\d+\. (Stop .*)$", sheet, re.MULTILINE)
        assert len(points) == len(said) == len(tour.stops)
        for at, (point, line) in enumerate(zip(points, said, strict=True)):
            title, name = f"Stop {at + 1} of {len(tour.stops)}", book.name(tour.stops[at])
            lon, lat = domain.on_earth.lonlat[domain.node(tour.stops[at])].tolist()
            assert (float(point.get("lon", "")), float(point.get("lat", ""))) == pytest.approx((lon, lat), abs=1e-7)
            assert _text(point, "name") == title
            begins = clock(tour.begins_s[at])
            assert _text(point, "desc").startswith(f"{name}; at ") and begins in _text(point, "desc")
            assert line.startswith(f"{title}: {name} (at ") and begins in line
        assert tour.departs_s is not None and tour.seconds is not None
        for when in (tour.departs_s, tour.departs_s + tour.seconds):
            assert re.search(f"Yard,? at {clock(when)}\\b", sheet)


def clock(seconds: float) -> str:
    return f"{int(seconds) // 3600:02}:{int(seconds) % 3600 // 60:02}"


def _text(element: ET.Element, name: str) -> str:
    return element.findtext(f"{NAMESPACE}{name}") or ""


def test_the_map_loads_nothing(folder: Path) -> None:
    text = (folder / "map.html").read_text(encoding="utf-8")
    # The data is letters of base64, in which anything may occur; a name space of XML is a name and no address.
    bare = re.sub(r'id="scene">[^<]*<', "<", text).replace('"http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//[a-z]|@import|url\(|fetch\(|XMLHttpRequest|import\(|<a |<link|<img| src=", bare)
    script = text[text.rindex('<script type="module">') + 22 : text.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{digest}&#x27;" in text
    assert embedded(text)["clock"]["hasTimes"]


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node to run JavaScript")
def test_the_slider_moves_vehicles() -> None:
    script = join_modules(["vans.js"])
    script += """
    const assert = require("node:assert"), frames = [], elements = {};
    const make = (tag) => elements[tag] = { on: {}, children: [], setAttribute(name, value) { this[name] = value; },
      append(...children) { this.children.push(...children); },
      addEventListener(kind, act) { this.on[kind] = act; } };
    const document = { createElement: make };
    const requestAnimationFrame = (act) => frames.push(act);
    const van = { number: 1, times: [60, 70, 90, 100], spots: [0, 1, 1, 2],
      parts: [{ points: [0, 0, 10, 0, 0, 20] }],
      stops: [{ arrives: 70, leaves: 90, text: "stop 1 of 1" }], begins: "leaves at 00:01", ends: "home" };
    let now = null;
    const clock = createClock({ first: 0, last: 120, hasTimes: true }, (time) => { now = time; });
    for (const [time, x, y, said] of [[0, 0, 0.5, "leaves at 00:01"], [65, 5, 0.5, "next: stop 1 of 1"],
        [80, 10, 0.5, "at stop 1 of 1"], [95, 10, 10.5, "all stops made"], [120, 10, 20.5, "home"]]) {
      elements.input.value = time;
      elements.input.on.input();
      const drawn = [];
      paintVan({ fillRect() {}, fillText: (...given) => drawn.push(...given) }, van, vanPlace(van, now), false);
      assert.deepEqual([...drawn, vanDoing(van, now)], [1, x, y, said]);
    }
    assert.equal(elements.output.textContent, elements.input["aria-valuetext"]);
    elements.button.on.click();
    let time = 0;
    while (frames.length) frames.shift()(time += 100);
    assert.equal(elements.output.textContent, "00:02");
    assert.ok(time > 40000 && time < 50000);
    """
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_report_has_no_link_and_no_date(folder: Path) -> None:
    data = (folder / "report.pdf").read_bytes()
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)
    plain = data + b"".join(zlib.decompress(part) for part in streams if part[:1] == b"x")
    for word in (b"/URI", b"http", b"/JavaScript", b"/Launch", b"CreationDate", b"/A <<"):
        assert word not in plain, word


def test_nothing_of_a_former_day_is_left_and_nothing_else_is_touched(
    tmp_path: Path, town: tuple[vr.Playbook, vr.Day]
) -> None:
    book, day = town
    folder = tmp_path / "day"
    write_day(book, day, folder)
    (folder / ".DS_Store").write_bytes(b"file manager")
    (folder / "vehicle-17.gpx").write_text("of a day with more vehicles", encoding="utf-8")
    less = vr.dispatch(book, [1], replace(day.terms, vans=day.terms.vans[:1]))
    names = {path.name for path in write_day(book, less, folder)}
    assert names | {".DS_Store"} == set(contents(folder))
    assert "vehicle-1.gpx" in names and "vehicle-2.gpx" not in names

    for name in ("playbook.json", "vehicle-0.gpx", "vehicle-1.gpx.bak", "day.json.old"):
        (folder / name).write_text("mine", encoding="utf-8")
        before = contents(folder)
        with pytest.raises(InvalidInputError, match=re.escape(f"also {name}")):
            write_day(book, day, folder)
        assert contents(folder) == before
        (folder / name).unlink()
    (folder / "map.html").unlink()
    (folder / "map.html").symlink_to(tmp_path / "elsewhere.html")
    with pytest.raises(InvalidInputError, match=r"also map\.html"):
        write_day(book, day, folder)
    other = tmp_path / "other"
    other.mkdir()
    (other / "report.pdf").write_bytes(b"of a playbook")
    with pytest.raises(InvalidInputError, match=r"report\.pdf without a day\.json"):
        write_day(book, day, other)
    with pytest.raises(InvalidInputError, match="folder"):
        write_day(book, day, other / "report.pdf")


def test_a_stop_is_where_the_day_says_though_the_route_passes_before(tmp_path: Path) -> None:
    book = little_book(names={105: EVIL, 102: EVIL})
    route = (105, 101, 102, 103, 102, 101, 105)
    terms = vr.Terms((vr.Van(105, 105), vr.Van(105, None)))
    tour = vr.Tour((103, 102), (3, 4), route, 0.0)
    touched = tuple(range(1, len(book.hidden_classes) + 1))
    day = vr.Day(book.sha256, terms, touched, (tour, vr.Tour((111,), (3,), (105, 109, 110, 111), 0.0)), 0.0, 0.0)
    write_day(book, day, tmp_path)
    sheet = (tmp_path / "vehicle-1.txt").read_text(encoding="utf-8")
    order = [line for line in sheet.splitlines() if "Stop" in line or "U-turn" in line]
    assert ["1 of 2: 103" in order[0], "U-turn" in order[1], "2 of 2" in order[2]] == [True] * 3
    assert " at 0" not in sheet, "nobody knows when"
    assert f"Map: {ATTRIBUTION}" in sheet
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert page.count("<script") == 2 and "<b>" not in page
    assert not embedded(page)["clock"]["hasTimes"]
    check_gpx((tmp_path / "vehicle-1.gpx").read_text(encoding="utf-8"))
    with pytest.raises(InvalidInputError, match="of this playbook"):
        write_day(book, replace(day, playbook="0" * 64), tmp_path)
    with pytest.raises(InvalidInputError, match="and at nobody else"):
        write_day(book, replace(day, touched=()), tmp_path)


@pytest.mark.parametrize("kind", ["grid", "graph", "bare"])
def test_maps_that_are_not_on_earth_have_a_picture_where_there_are_places(tmp_path: Path, kind: str) -> None:
    domain = vr.grid_domain(["....", "....", "...."]) if kind == "grid" else vr.generate_streets(4, 4, seed=2)
    if kind == "bare":
        domain = replace(domain, coordinates=None)
    depot, *customers = (domain.label(node) for node in (0, 3, 5, 7, 9))
    book = vr.solve(vr.Problem(domain, [vr.Trip(depot, depot)], customers), vr.Privacy(k=2, ell=0))
    terms = vr.Terms((vr.Van(depot, depot),) * 2, capacity=3, iterations=20)
    day = vr.dispatch(book, range(1, len(book.hidden_classes) + 1), terms)
    names = [path.name for path in write_day(book, day, tmp_path)]
    assert names == ["day.json", *([] if kind == "bare" else ["day.png"]), "report.pdf"]
    before = contents(tmp_path)
    write_day(book, day, tmp_path)
    assert contents(tmp_path) == before
    idle = vr.Tour((), (), (), 0)  # a day without orders drives nobody
    none = vr.Day(book.sha256, terms, (), (idle, idle), 0, 0)
    assert names == [path.name for path in write_day(book, none, tmp_path / "none")]


@pytest.mark.slow
def test_the_picture_of_the_page_shows_its_day(tmp_path: Path, helsinki: Path, command: Command) -> None:
    """Out of date? `python docs/make_images.py` draws it again."""
    docs = Path(__file__).parents[2] / "docs"
    assert command("streets", helsinki, "-o", tmp_path / "city.json", "--connected").code == 0
    images = runpy.run_path(str(docs / "make_images.py"))
    made = images["make_day"](tmp_path)
    written = (docs / "images" / "fleet.sha256").read_text(encoding="utf-8").strip()
    assert made is not None and written == images["day_sha256"](made[1])
