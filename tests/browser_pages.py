"""Chromium for tests and benchmarks: finding it, starting it, and what is looked for on a page."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import (
    Browser,
    BrowserContext,
    BrowserType,
    ConsoleMessage,
    Page,
    ViewportSize,
    sync_playwright,
)

DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}

# A finger needs this many pixels.
TOUCH_PX = 40

FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-blink-features=ComputedAccessibilityInfo",  # element.computedRole and computedName
)

# Controls that are seen, with the boxes that they have on the screen: what lies in a closed <details>, is hidden or has
# no size is not seen; what a scrolling ancestor cuts off is seen as far as it is not cut off.
_CONTROLS = """() => {
  const found = [];
  const chosen = "a[href], button, input, select, textarea, summary, canvas, [role], [tabindex]";
  for (const element of document.querySelectorAll(chosen)) {
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const own = element.getBoundingClientRect();
    let [left, top, right, bottom] = [own.left, own.top, own.right, own.bottom];
    for (let up = element.parentElement; up && up !== document.body; up = up.parentElement) {
      if (getComputedStyle(up).overflow === "visible") continue;
      const cut = up.getBoundingClientRect();
      [left, top] = [Math.max(left, cut.left), Math.max(top, cut.top)];
      [right, bottom] = [Math.min(right, cut.right), Math.min(bottom, cut.bottom)];
    }
    if (right - left < 1 || bottom - top < 1) continue;
    // A box of a check may be small: its label is touched as well.
    const label = element.labels && element.labels.length ? element.labels[0].getBoundingClientRect() : own;
    found.push({
      role: element.computedRole, name: element.computedName, element: found.length, left, top, right, bottom,
      reach: [Math.max(own.width, label.width), Math.max(own.height, label.height)],
      isControl: element.matches("a[href], button, input, select, textarea, summary"),
      isInline: element.matches("p a, li a, dd a"),
    });
    element.dataset.numberInTest = found.length - 1;
  }
  for (const element of document.querySelectorAll("[data-number-in-test]")) {
    const number = element.dataset.numberInTest;
    found[number].within = [...element.querySelectorAll("[data-number-in-test]")].map((e) => +e.dataset.numberInTest);
  }
  for (const element of document.querySelectorAll("[data-number-in-test]")) delete element.dataset.numberInTest;
  const root = document.scrollingElement;
  return { controls: found, scrolls: root.scrollWidth - root.clientWidth, width: innerWidth };
}"""


def find_chromium() -> str | None:
    """The browser to drive: what ``CHROMIUM`` names, or the first one found; None where there is none."""
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def started_chromium(*flags: str, kind: BrowserType | None = None) -> Iterator[Browser]:
    """A browser without a window; beside another one if the ``kind`` of that is given. Root cannot have the sandbox."""
    path = find_chromium()
    if path is None:
        raise FileNotFoundError("no Chromium: install Debian's package chromium, or set CHROMIUM to one")
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    args = [*(["--no-sandbox"] if is_root else []), *FLAGS, *flags]
    with ExitStack() as stack:
        kind = kind or stack.enter_context(sync_playwright()).chromium
        browser = kind.launch(executable_path=path, args=args)
        yield browser
        browser.close()


class PageErrors:
    """What went wrong on the pages of some contexts: uncaught exceptions and errors on the console.

    A test that provokes some says which by :meth:`allow`; any other fails it.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._allowed: list[str] = []

    def watch(self, context: BrowserContext) -> None:
        """Note the errors of all pages of a context."""
        context.on("console", self._note)
        context.on("weberror", lambda error: self.texts.append(f"uncaught: {error.error}"))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.texts.append(f"console: {message.text}")

    def allow(self, pattern: str) -> None:
        """Errors with this pattern are part of the test."""
        self._allowed.append(pattern)

    def unexpected(self) -> list[str]:
        """The errors that nobody allowed."""
        return [text for text in self.texts if not any(re.search(pattern, text) for pattern in self._allowed)]


def map_at_rest(page: Page) -> str:
    """The picture of the map, once it stays the same for longer than a move takes to settle."""
    found: str = page.evaluate(
        """async () => {
          const canvas = document.querySelector("canvas"), pause = () => new Promise((done) => setTimeout(done, 250));
          for (let last = "", same = 0; ; ) {
            await pause();
            const now = canvas.toDataURL();
            same = now === last ? same + 1 : 0;
            if (same === 2) return now;
            last = now;
          }
        }"""
    )
    return found


def axe_findings(page: Page, within: str | None = None) -> list[str]:
    """What axe-core finds serious or critical, one line for each element; on the whole page or within a selector."""
    page.evaluate(f"{AXE_SCRIPT};null")
    found = page.evaluate("(within) => axe.run(within || document, { resultTypes: ['violations'] })", within)
    return [
        f"{rule['id']} ({rule['impact']}): {node['target']}: {node['failureSummary']}"
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


def layout_findings(page: Page, *, least_px: float = 0) -> list[str]:
    """What is wrong with where things are.

    The page scrolls sideways; a control is outside the window on a side, covers another, has no name, or is smaller
    than ``least_px`` (links within a text excepted).
    """
    seen: dict[str, Any] = page.evaluate(_CONTROLS)
    findings = [f"the page scrolls sideways by {seen['scrolls']} px"] if seen["scrolls"] > 0 else []
    controls = seen["controls"]
    for one in controls:
        what = f"{one['role']} {one['name']!r}"
        if not one["isControl"]:
            continue
        if not one["name"].strip():
            findings.append(f"{what} has no name")
        if one["left"] < -1 or one["right"] > seen["width"] + 1:
            findings.append(f"{what} is outside the window: {one['left']:.0f} to {one['right']:.0f}")
        if not one["isInline"] and min(one["reach"]) < least_px - 0.5:
            findings.append(f"{what} is {one['reach'][0]:.0f} x {one['reach'][1]:.0f} px")
        findings += [f"{what} covers {other}" for other in _covered(one, controls)]
    return findings


def _covered(one: dict[str, Any], controls: list[dict[str, Any]]) -> Iterator[str]:
    """Controls that come after one, are not inside it, and share more than a rim with it."""
    for other in controls[one["element"] + 1 :]:
        if other["isControl"] and other["element"] not in one["within"]:
            across = min(one["right"], other["right"]) - max(one["left"], other["left"])
            down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
            if across > 2 and down > 2:
                yield f"{other['role']} {other['name']!r}"
