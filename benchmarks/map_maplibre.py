"""The streets of a city in MapLibre GL JS, to hold our own canvas against it; see map_frames.py.

MapLibre GL JS is taken from the package `maplibre`, which is installed by hand and is no dependency of anything here.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, BrowserType, Error

import veilroute as vr
from browser_pages import DESKTOP, PageErrors, started_chromium
from veilroute.plotting.domain_plot import street_lines

_WIDTHS = (4.0, 3.0, 2.0, 1.3)
_COLOURS = ("#8c8c8c", "#9c9c9c", "#b4b4b4", "#c4c4c4")
_SCRIPT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src"


def maplibre_page(city: vr.Domain, *, worker: str = "blob:", with_policy: bool = True) -> str:
    """A file of its own with the streets: no tiles, glyphs or sprites, colours and widths like ours.

    Its policy is that of our exported maps, by the scripts' hashes, and besides what is allowed as a worker.
    """
    library, css = _carried("maplibre-gl.js"), _carried("maplibre-gl.css")
    start = _START % {"style": _text(_style(city)), "box": _text(_box(city))}
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in (library, start))
    policy = f"{_SCRIPT_POLICY} {hashes}; worker-src {worker}; connect-src 'none'"
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if with_policy else ""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">{meta}<title>MapLibre</title>'
        f"<style>{css} body {{ margin: 0 }} #map {{ position: absolute; inset: 0 }}</style>"
        f'<div id="map"></div><script>{library}</script><script>{start}</script>'
    )


def packed_bytes(page: str) -> int:
    """How large a file would be whose content is packed as in our exported maps."""
    return len(base64.b64encode(gzip.compress(page.encode(), 9, mtime=0)))


def library_bytes() -> int:
    """The script and its styles as they are."""
    return len(_carried("maplibre-gl.js").encode()) + len(_carried("maplibre-gl.css").encode())


def print_needs(browser: Browser, kind: BrowserType, city: vr.Domain, folder: Path) -> None:
    """Print what a page with MapLibre GL JS asks of its policy and of the machine, tried out on a small city."""
    path = folder / "needs.html"
    for said, worker in (
        ("workers from blob: allowed", "blob:"),
        ("no worker allowed, as in our exported maps", "'none'"),
    ):
        path.write_text(maplibre_page(city, worker=worker), encoding="utf-8")
        print(f"  {said}: {_try(browser, path)}")
    path.write_text(maplibre_page(city), encoding="utf-8")
    with started_chromium("--disable-3d-apis", kind=kind) as without:
        print(f"  no WebGL: {_try(without, path)}")


def _try(browser: Browser, path: Path) -> str:
    page, errors = browser.new_page(viewport=DESKTOP), PageErrors()
    errors.watch(page.context)
    try:
        page.goto(path.as_uri())
        page.wait_for_function("() => window.allLoaded", timeout=20_000)
        return "drawn"
    except Error:
        return f"not drawn ({errors.texts[0].splitlines()[0][:150] if errors.texts else 'no error is reported'})"
    finally:
        page.context.close()


_START = """
const map = window.map = new maplibregl.Map({
  container: "map", style: %(style)s, bounds: %(box)s, attributionControl: false, fadeDuration: 0, maxZoom: 20,
});
const twice = (act) => requestAnimationFrame(() => requestAnimationFrame(act));
map.on("load", () => twice(() => { window.allLoaded = performance.now(); }));
"""


def _style(city: vr.Domain) -> dict[str, Any]:
    streets = {"type": "geojson", "data": {"type": "FeatureCollection", "features": _features(city)}}
    roads = [
        {
            "id": f"road{rank}",
            "type": "line",
            "source": "streets",
            "filter": ["==", ["get", "rank"], rank],
            "layout": {"line-cap": "round", "line-join": "round"},
            "paint": {
                "line-color": _COLOURS[rank],
                "line-width": ["interpolate", ["exponential", 1.4], ["zoom"], 9, 0.4, 17, 2.5 * _WIDTHS[rank]],
            },
        }
        for rank in (3, 2, 1, 0)
    ]
    land = {"id": "land", "type": "background", "paint": {"background-color": "#fbfcf7"}}
    return {"version": 8, "sources": {"streets": streets}, "layers": [land, *roads]}


def _features(city: vr.Domain) -> list[dict[str, Any]]:
    assert city.streets is not None
    shown, middle = street_lines(city), city.streets.lonlat.mean(axis=0)
    per_metre = 1 / (111_200 * np.array([np.cos(np.radians(middle[1])), 1.0]))
    return [
        {
            "type": "Feature",
            "properties": {"rank": rank},
            "geometry": {"type": "LineString", "coordinates": np.round(middle + line * per_metre, 6).tolist()},
        }
        for line, rank in zip(shown.points, shown.ranks.tolist(), strict=True)
    ]


def _box(city: vr.Domain) -> list[list[float]]:
    assert city.streets is not None
    return [city.streets.lonlat.min(axis=0).tolist(), city.streets.lonlat.max(axis=0).tolist()]


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _carried(name: str) -> str:
    """A file of the package, which is not imported: it would want libraries of its own."""
    package = find_spec("maplibre")
    if package is None or not package.submodule_search_locations:
        sys.exit("MapLibre GL JS is not here: pip install --no-deps maplibre")
    return Path(package.submodule_search_locations[0], "srcjs", name).read_text(encoding="utf-8")
