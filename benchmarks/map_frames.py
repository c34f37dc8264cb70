"""How smoothly the map moves in a browser: 200,000 streets and the routes of 119 customers.

    python benchmarks/map_frames.py
    python benchmarks/map_frames.py --phone
    python benchmarks/map_frames.py --maplibre

Makes a generated city, plans on it, exports the map, and moves it about in Chromium with the mouse: panned and zoomed
with the whole city in view, then with the routes in view, then close to the streets. A frame's time is the time between
two pictures that reach the screen, by Chromium's trace, while the mouse moves once a frame. Prints the median and the
95th percentile, what of it is script, and how long the file takes to its first picture and to its whole picture.
Ends with 1 when a median is longer than a thirtieth of a second.

`--maplibre` measures the same streets in MapLibre GL JS as well, which is no dependency of anything here: install the
package that carries it by hand (`pip install --no-deps maplibre`). Where there is no graphics card, everything is drawn
by the processor: our canvas by Skia, MapLibre's WebGL by SwiftShader.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, BrowserType, Page

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import veilroute as vr
from browser_pages import DESKTOP, PHONE, started_chromium
from map_maplibre import library_bytes, maplibre_page, packed_bytes, print_needs
from veilroute.domain.geography import street_domain
from veilroute.plotting.domain_plot import street_lines
from veilroute.plotting.html_map import html_map

SIDE, CUSTOMERS = 345, 119
MOST_MS = 1000 / 30
_SPACING_M = 90.0
_MOVES, _TURNS, _MOST_S = 90, 60, 8.0
_TRACED = ["devtools.timeline", "devtools.timeline.frame", "disabled-by-default-devtools.timeline.frame"]
# How often "+" or "-" is pressed before each view, where the map first shows the routes.
_VIEWS = (("city", "-", 4), ("routes", "+", 4), ("streets", "+", 4))

# Notes when something is first drawn, and when a frame was last asked for, before the page's own scripts run.
_NOTE_PICTURES = """
  const after = (act) => queueMicrotask(() => ask(() => ask(() => act(performance.now()))));
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (act) => ask((now) => { after((time) => { window.lastPicture = time; }); act(now); });
  const note = (prototype, ...names) => names.forEach((name) => {
    const own = prototype[name];
    prototype[name] = function (...given) {
      prototype[name] = own;
      // A picture is on the screen when the frame after the next begins.
      after((time) => { window.firstPicture ??= time; });
      return own.apply(this, given);
    };
  });
  note(CanvasRenderingContext2D.prototype, "stroke", "drawImage");
  note(WebGL2RenderingContext.prototype, "drawElements", "drawArrays");
"""
# Turns the wheel once a frame.
_ZOOM = """async ([clientX, clientY, turns, most]) => {
  const canvas = document.querySelector("canvas"), begun = performance.now();
  for (let i = 0; i < turns && performance.now() - begun < most; i++) {
    const deltaY = i < turns / 2 ? -60 : 60;
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, clientX, clientY, bubbles: true, cancelable: true }));
    await new Promise(requestAnimationFrame);
  }
}"""


@dataclass(frozen=True)
class Frames:
    """The times between frames, and the median time of script in a frame, in milliseconds."""

    times_ms: list[float]
    script_ms: float

    @property
    def median_ms(self) -> float:
        return float(np.median(self.times_ms))

    def __str__(self) -> str:
        late = float(np.percentile(self.times_ms, 95))
        rate = f"{1000 / self.median_ms:.1f} a second, script {self.script_ms:.1f} ms"
        return f"median {self.median_ms:6.1f} ms, 95 % {late:6.1f} ms ({rate})"


def make_city(side: int) -> vr.Domain:
    """A generated city; a street has up to three bends, the same both ways, and main roads run through."""
    plain = vr.generate_streets(side, side, seed=1)
    assert plain.coordinates is not None
    tails, heads, metres = plain.edge_arrays()
    rng, scale = np.random.default_rng(0), (55_600.0, 111_200.0)
    lonlat = np.round(plain.coordinates / scale + (24.9, 60.1), 7)
    # Bends belong to a street: drawn for the pair of its ends, and turned round for who drives back.
    ends = np.sort(np.column_stack([tails, heads]), axis=1)
    keys, street = np.unique(ends[:, 0] * plain.num_nodes + ends[:, 1], return_inverse=True)
    num_bends = rng.integers(0, 4, keys.size)
    aside = rng.normal(0, 4.0, (keys.size, 3, 2)) / scale
    shape = []
    for one, (low, high), is_ahead in zip(street.tolist(), lonlat[ends], (tails < heads).tolist(), strict=True):
        num = num_bends[one]
        bends = low + (high - low) * (np.arange(1, num + 1) / (num + 1))[:, None] + aside[one, :num]
        shape.append(bends if is_ahead else bends[::-1])
    across = np.abs(np.diff(plain.coordinates[ends], axis=1)[:, 0]).argmin(axis=1)
    line = np.rint(plain.coordinates[ends].mean(axis=1)[np.arange(tails.size), across] / _SPACING_M).astype(np.int64)
    kinds = np.where(line % 24 == 0, 2, np.where(line % 8 == 0, 1, 0))
    return street_domain(
        lonlat=lonlat,
        tails=tails,
        heads=heads,
        costs=np.round(metres / np.array([8.3, 11.1, 13.9])[kinds], 3),
        lengths=metres,
        unit="seconds",
        names=["", *(f"Street {number}" for number in range(1, 5000))],
        name_ids=street % 5000,
        kinds=["residential", "tertiary", "primary"],
        kind_ids=kinds,
        shape_ptr=np.concatenate([[0], np.cumsum(num_bends[street])]),
        shape=np.round(np.concatenate(shape), 7),
    )


def plan(city: vr.Domain, customers: int) -> vr.Playbook:
    """Routes for customers within some kilometres of a depot in the middle."""
    assert city.streets is not None
    places = city.streets.project(city.streets.lonlat)
    away = np.hypot(*(places - places.mean(axis=0)).T)
    near = np.argsort(away)[: max(city.num_nodes // 40, 4 * customers)]
    depot, *others = map(city.label, np.random.default_rng(2).choice(near, customers + 1, replace=False).tolist())
    return vr.solve(vr.Problem(city, [vr.Trip(depot, depot)], others), vr.Privacy(k=3, ell=100), time_limit_s=10)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=SIDE, help="junctions on a side of the city")
    parser.add_argument("--customers", type=int, default=CUSTOMERS)
    parser.add_argument("--phone", action="store_true", help="in 390 x 844 with two pixels for one, not 1280 x 800")
    parser.add_argument("--maplibre", action="store_true", help="measure MapLibre GL JS beside it")
    parser.add_argument("--keep", type=Path, help="keep the pages in this folder, and take them from there next time")
    given = parser.parse_args()
    window: dict[str, Any] = {"viewport": DESKTOP}
    if given.phone:
        window = {"viewport": PHONE, "device_scale_factor": 2}
    with _folder(given.keep) as folder:
        ours, theirs = make_pages(folder, given.side, given.customers, maplibre=given.maplibre)
        with started_chromium() as browser:
            print(f"our canvas, with routes and marks: {ours.stat().st_size / 1e6:.1f} MB")
            slowest = measure_page(browser, ours, window)
            if theirs is not None:
                print_maplibre(folder, theirs, window, browser.browser_type)
    return 0 if slowest <= MOST_MS else 1


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="veilroute-") as folder:
        yield Path(folder)


def make_pages(folder: Path, side: int, customers: int, *, maplibre: bool) -> tuple[Path, Path | None]:
    """Write the pages that are not there yet."""
    ours, theirs = folder / "canvas.html", folder / "maplibre.html"
    if not ours.exists() or (maplibre and not theirs.exists()):
        city = make_city(side)
        print(f"{city}: {len(street_lines(city).points):,} streets drawn, {customers} customers")
        if not ours.exists():
            ours.write_text(html_map(plan(city, customers)), encoding="utf-8")
        if maplibre:
            theirs.write_text(maplibre_page(city), encoding="utf-8")
    return ours, theirs if maplibre else None


def print_maplibre(folder: Path, path: Path, window: dict[str, Any], kind: BrowserType) -> None:
    """Print the same of MapLibre GL JS, and what it needs."""
    text = path.read_text(encoding="utf-8")
    packed, library = packed_bytes(text), library_bytes()
    print(
        f"MapLibre GL JS, streets only: {len(text) / 1e6:.1f} MB ({packed / 1e6:.1f} MB if it were packed as ours is),"
    )
    print(f"  of which the library {library / 1e6:.2f} MB")
    # Without a card WebGL is drawn by SwiftShader, which Chromium must be told to use.
    with started_chromium("--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", kind=kind) as browser:
        print_needs(browser, kind, make_city(20), folder)
        measure_page(browser, path, window)


def measure_page(browser: Browser, path: Path, window: dict[str, Any]) -> float:
    """Print what one page takes; returns the longest median of its frames."""
    firsts, wholes = zip(*(_load_ms(browser, path, window) for _ in range(3)), strict=True)
    print(f"  first picture after {np.median(firsts):.0f} ms, all of it after {np.median(wholes):.0f} ms (median of 3)")
    page = browser.new_page(**window)
    page.goto(path.as_uri())
    _wait(page)
    slowest = 0.0
    for view, key, times in _VIEWS:
        _turn_to(page, view, key, times)
        for what, act in (("pan", _pan), ("zoom", _zoom)):
            frames = trace_frames(browser, page, act)
            print(f"  {view:<8} {what:<5} {frames}", flush=True)
            slowest = max(slowest, frames.median_ms)
    page.context.close()
    return slowest


def _load_ms(browser: Browser, path: Path, window: dict[str, Any]) -> tuple[float, float]:
    """From opening the file to its first picture and to its whole one, in a context of its own."""
    page = browser.new_page(**window)
    page.add_init_script(_NOTE_PICTURES)
    page.goto(path.as_uri())
    _wait(page)
    first, whole = page.evaluate("() => [window.firstPicture, window.allLoaded ?? window.lastPicture]")
    page.context.close()
    return first, whole


def _wait(page: Page) -> None:
    page.wait_for_function("() => !window.map?.on || window.allLoaded", timeout=120_000, polling=500)
    page.wait_for_timeout(2500)


def _turn_to(page: Page, view: str, key: str, times: int) -> None:
    """Have the city, the routes or the streets in view, and wait until the map is still."""
    if page.evaluate("() => Boolean(window.map?.jumpTo)"):  # MapLibre, which begins with the city, and zooms by twice
        page.evaluate("(by) => { map.jumpTo({ zoom: map.getZoom() + by }); }", 0 if view == "city" else 2.3)
        page.wait_for_function("() => map.loaded() && map.areTilesLoaded()", timeout=120_000, polling=500)
    else:
        page.locator("canvas").first.focus()
        for _ in range(times):
            page.keyboard.press(key)
    page.wait_for_timeout(2500)


def _middle(page: Page) -> tuple[float, float]:
    box = page.locator("canvas").first.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _pan(page: Page) -> None:
    """Drag the map round in a circle, so that something else comes into view all the time."""
    (x, y), begun = _middle(page), time.monotonic()
    across, down = min(250.0, x - 40), min(200.0, y - 40)
    page.mouse.move(x, y)
    page.mouse.down()
    for angle in np.linspace(0, 2 * np.pi, _MOVES):
        page.mouse.move(x + across * np.sin(angle), y - down * (1 - np.cos(angle)) / 2)
        if time.monotonic() - begun > _MOST_S:
            break
    page.mouse.up()


def _zoom(page: Page) -> None:
    """Come closer and go back. A wheel turned from outside would make one step in two frames, so the page does it."""
    x, y = _middle(page)
    page.mouse.move(x, y)
    page.evaluate(_ZOOM, [x, y, _TURNS, 1000 * _MOST_S])


def trace_frames(browser: Browser, page: Page, act: Callable[[Page], None]) -> Frames:
    """What Chromium's trace says of the frames while something is done."""
    browser.start_tracing(page=page, categories=_TRACED)
    act(page)
    events: list[dict[str, Any]] = json.loads(browser.stop_tracing())["traceEvents"]
    drawn = sorted(event["ts"] / 1000 for event in events if event["name"] == "DrawFrame")
    scripts = [event["dur"] / 1000 for event in events if event["name"] == "FireAnimationFrame" and "dur" in event]
    return Frames(np.diff(drawn).tolist(), float(np.median(scripts)) if scripts else 0.0)


if __name__ == "__main__":
    sys.exit(main())
