"""Each view for everybody: what axe-core finds, where things are, and all of it without a mouse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from browser_pages import DESKTOP, PHONE, TOUCH_PX, axe_findings, layout_findings
from street_samples import little_book
from studio_client import Server
from veilroute.plotting import write_html_map

LONG_S = 60_000
SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": DESKTOP},
    "phone": {"viewport": PHONE, "is_mobile": True, "has_touch": True, "device_scale_factor": 2},
}


@pytest.fixture(scope="module")
def jobs(server: Server) -> dict[str, str]:
    """A plan and a frontier of the demo's streets, by kind."""
    files = server.ask("GET", "/api/files").json["files"]
    source = next(file["id"] for file in files if "streets" in file["name"])
    ended = {
        "plan": server.run("plan", source=source, options={}),
        "frontier": server.run("frontier", source=source, options={}, k=[2, 3], ell=[300], time_limit_s=5),
    }
    assert {job["state"] for job in ended.values()} == {"done"}
    return {kind: job["id"] for kind, job in ended.items()}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("exported") / "town.html"
    write_html_map(little_book(), path)
    return path.as_uri()


def studio_views(page: Page, server: Server, jobs: dict[str, str]) -> Iterator[str]:
    """Goes from view to view, and gives the name of each."""
    page.goto(server.url)
    page.locator("[data-demo=building]").wait_for()
    yield "make-first"
    page.locator("[data-demo=building]").click()
    page.get_by_role("button", name="Plan", exact=True).wait_for()
    yield "make-map"
    for summary in page.locator("#view-make summary").all():
        summary.click()
    yield "make-all-options"
    for view in ("make", "cost", "look", "watch", "trust", "jobs", "drive"):
        job = jobs["frontier" if view == "cost" else "plan"]
        page.goto("about:blank")
        page.goto(f"{server.url}#job={job}&view={view}")
        ready = {
            "make": ".result", "cost": "#frontier-slider", "look": "#view-look .classes li", "jobs": "#view-jobs li",
            "watch": "#view-watch .seat-bars li", "trust": ".banner", "drive": ".seat-secret input",
        }  # fmt: skip
        page.locator(ready[view]).first.wait_for(timeout=LONG_S)
        yield f"{view}-plan" if view == "make" else view
    name = page.evaluate("() => document.querySelector('.map').getAttribute('aria-label')")
    assert name
    page.locator(".seat-secret input").focus()
    page.keyboard.insert_text("nowhere")
    page.keyboard.press("Enter")
    expect(page.locator(".seat-said")).to_contain_text("not among")
    yield "drive-refused"


def file_views(page: Page, url: str) -> Iterator[str]:
    """The exported file's views."""
    page.goto(url)
    for view in ("Look", "Watch", "Drive"):
        page.get_by_role("tab", name=view).click()
        yield f"file-{view.lower()}"
    page.locator(".seat-secret input").focus()
    page.keyboard.insert_text("Branch North")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Your route").wait_for()
    yield "file-route"


def findings(page: Page, size: str) -> list[str]:
    """What is wrong with a view. What stays at the bottom of a panel may cover what scrolls below it."""
    page.evaluate(
        """() => { for (const e of document.querySelectorAll("*")) {
          if (["sticky", "fixed"].includes(getComputedStyle(e).position)) e.dataset.staysInTest = "";
        } }"""
    )
    staying = page.evaluate(
        "() => [...document.querySelectorAll('[data-stays-in-test] *')].map((e) => e.computedName).filter(Boolean)"
    )
    page.evaluate(
        "() => { for (const e of document.querySelectorAll('[data-stays-in-test]')) delete e.dataset.staysInTest; }"
    )
    placed = layout_findings(page, least_px=TOUCH_PX if size == "phone" else 0)
    placed = [each for each in placed if not any(" covers " in each and repr(name) in each for name in staying)]
    return [*axe_findings(page), *placed]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
def test_every_view_of_the_studio_is_for_everybody(
    new_context: Callable[..., BrowserContext], server: Server, jobs: dict[str, str], size: str
) -> None:
    page = new_context(**SIZES[size]).new_page()
    wrong = {}
    for view in studio_views(page, server, jobs):
        wrong[view] = findings(page, size)
    assert {view: found for view, found in wrong.items() if found} == {}
    assert len(wrong) == 11


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
def test_every_view_of_the_exported_file_is_for_everybody(
    new_context: Callable[..., BrowserContext], exported: str, size: str
) -> None:
    page = new_context(**SIZES[size]).new_page()
    wrong = {}
    for view in file_views(page, exported):
        wrong[view] = findings(page, size)
    assert {view: found for view, found in wrong.items() if found} == {}


def tab_to(page: Page, name: str) -> None:
    """Press Tab until something of this name has the focus, and see that the focus is seen."""
    for _ in range(80):
        page.keyboard.press("Tab")
        now = page.evaluate(
            """() => { const e = document.activeElement, s = getComputedStyle(e);
              return [e.computedName, s.outlineStyle, s.boxShadow, e.matches(":focus-visible")]; }"""
        )
        if name in now[0]:
            assert now[3], f"{name} does not show the focus"
            assert now[1] != "none" or now[2] != "none", f"{name} does not show the focus"
            return
    raise AssertionError(f"{name} cannot be reached with the keyboard")


def test_from_the_first_page_to_audited_routes_without_a_mouse(desktop: Page, server: Server) -> None:
    desktop.goto(server.url)
    desktop.locator("[data-demo=building]").wait_for()
    tab_to(desktop, "A building")
    desktop.keyboard.press("Enter")
    desktop.get_by_role("button", name="Plan", exact=True).wait_for()
    tab_to(desktop, "Plan")
    desktop.keyboard.press("Enter")
    desktop.get_by_role("heading", name="Your plan").wait_for(timeout=LONG_S)
    tab_to(desktop, "Audit report")
    desktop.keyboard.press("Enter")
    expect(desktop.locator("#view-trust .report")).to_contain_text("keeps its word")
    # From tab to tab with the arrows; Drive is entered on purpose only.
    tab_to(desktop, "Trust")
    desktop.keyboard.press("ArrowLeft")
    assert desktop.evaluate("() => document.activeElement.id") == "tab-drive"
    expect(desktop.locator("#view-drive")).to_be_hidden()
    desktop.keyboard.press("ArrowLeft")
    expect(desktop.locator("#view-watch")).to_be_visible()
    tab_to(desktop, "Nodes seen")
    desktop.keyboard.press("End")
    expect(desktop.locator("#view-watch .seat-out").first).to_be_visible()


def test_places_are_picked_without_a_mouse(desktop: Page, server: Server) -> None:
    desktop.goto(server.url)
    desktop.locator("[data-demo=building]").click()
    summary = desktop.locator(".places-summary")
    expect(summary).to_contain_text("10 candidates")
    desktop.locator("canvas").focus()
    desktop.keyboard.press("c")
    for at in range(1, 9):
        desktop.keyboard.press("ArrowDown" if at % 2 else "ArrowRight")
        desktop.keyboard.press("Enter")
        if "11 candidates" in (summary.text_content() or ""):
            return
    raise AssertionError("no place could be picked at the cross-hair")
