"""Every way through the studio, as people go it: make, look, and what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import veilroute as vr
from browser_pages import PageErrors, map_at_rest
from street_samples import NAMES, little_book, little_problem, little_town, two_trip_book
from studio_client import Server
from veilroute.plotting import write_html_map

LONG_S = 60_000
EVIL: dict[Hashable, str] = {
    102: '</script><img src=x onerror="hacked=1">',
    104: "שלום (exe.gpj)",
    109: "${hacked=1}{{title}}<!--",
    111: "<b>Harbour</b> & \"quotes\" 'n' `more`",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def open_demo(page: Page, server: Server, name: str = "building") -> None:
    page.goto(server.url)
    page.locator(f"[data-demo={name}]").click()
    plan_button(page).wait_for()


def open_at(page: Page, server: Server, fragment: str) -> None:
    """The page at an address of its own, as a new document."""
    page.goto("about:blank")
    page.goto(f"{server.url}{fragment}")


def plan_button(page: Page) -> Locator:
    return page.get_by_role("button", name="Plan", exact=True)


def plan(page: Page) -> None:
    plan_button(page).click()
    page.get_by_role("heading", name="Your plan").wait_for(timeout=LONG_S)


def show(page: Page, view: str) -> None:
    page.get_by_role("tab", name=view).click()


def send_file(page: Page, name: str, content: bytes) -> None:
    """Choose a file on the first screen."""
    files: Any = [{"name": name, "mimeType": "application/octet-stream", "buffer": content}]
    page.locator(".drop input[type=file]").set_input_files(files)


def open_book(page: Page, server: Server, book: vr.Playbook, path: Path, name: str = "") -> None:
    book.write(path)
    page.goto(server.url)
    send_file(page, name or path.name, path.read_bytes())
    page.locator("#view-look .classes li").first.wait_for(timeout=LONG_S)


def start_long_plan(server: Server) -> str:
    """A plan that takes minutes, by the server's interface."""
    files = server.ask("GET", "/api/files").json["files"]
    source = next(file["id"] for file in files if "building" in file["name"])
    options = {"random_candidates": 100, "k": 4, "ell": 4}
    found: str = server.submit("plan", source=source, options=options, time_limit_s=600).json["id"]
    return found


# ---- Make ----


def test_places_are_clicked_on_the_map(page: Page, server: Server) -> None:
    page.goto(server.url)
    rows = ["." * 20] * 12
    send_file(page, "hall.map", f"type octile\nheight 12\nwidth 20\nmap\n{chr(10).join(rows)}\n".encode())
    plan_button(page).wait_for()
    plan_button(page).click()
    expect(page.locator("#view-make [role=alert]").filter(has_text="Set a start")).to_be_visible()
    box = page.locator("canvas").bounding_box()
    assert box is not None

    def click(across: float, down: float) -> None:
        page.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])

    summary = page.locator(".places-summary")
    click(0.35, 0.5)
    expect(summary).not_to_contain_text("no start yet")
    click(0.65, 0.5)
    expect(summary).not_to_contain_text("no goal yet")
    for at, across in enumerate((0.4, 0.45, 0.5, 0.55, 0.6), start=1):
        click(across, 0.4 + 0.2 * (at % 2))
        expect(summary).to_contain_text(f"{at} candidate")
    page.get_by_role("radio", name="Remove").check()
    click(0.6, 0.6)
    expect(summary).to_contain_text("4 candidates")
    page.get_by_label("Distance between them, ell").fill("2")
    plan(page)
    expect(page.get_by_role("region", name="Your plan")).to_contain_text("4 of 4")


def test_routes_come_while_it_is_solved_and_cancelling_keeps_the_best(page: Page, server: Server) -> None:
    page.goto(server.url)
    job = start_long_plan(server)
    open_at(page, server, f"#job={job}&view=make")
    progress = page.get_by_role("region", name="Progress")
    expect(progress.locator("dd").nth(0)).to_have_text("100", timeout=LONG_S)  # so many are hidden so far
    show(page, "Look")
    page.locator("#view-look .classes > li").first.wait_for(timeout=LONG_S)
    show(page, "Drive")
    expect(page.locator("#view-drive")).to_contain_text("still being improved")
    show(page, "Make")
    page.get_by_role("button", name="Cancel, keep the best").click()
    page.get_by_role("heading", name="The best plan before you cancelled").wait_for(timeout=LONG_S)
    expect(page.locator(".result")).to_contain_text("100 of 100")
    expect(page.locator(".result")).to_contain_text("Audited", timeout=LONG_S)


# ---- What it costs ----


def test_the_slider_shows_other_routes(page: Page, server: Server) -> None:
    open_demo(page, server)
    show(page, "What it costs")
    page.get_by_role("button", name="Compute").click()
    slider = page.locator("#frontier-slider")
    slider.wait_for(timeout=LONG_S)
    said, pictures = [], []
    slider.focus()
    for key in ("Home", "End"):
        page.keyboard.press(key)
        said.append(page.locator(".point-text").text_content())
        expect(page.get_by_role("button", name="Use this plan")).to_be_enabled()
        pictures.append(map_at_rest(page))
    assert said[0] != said[1]
    assert slider.get_attribute("aria-valuetext") == said[1]
    assert pictures[0] != pictures[1]
    page.get_by_role("button", name="Use this plan").click()
    page.locator("#view-look .classes > li").first.wait_for()


# ---- Look ----


def test_one_route_at_a_time_and_both_trips(page: Page, server: Server, folder: Path) -> None:
    open_book(page, server, two_trip_book(), folder / "two.json")
    items = page.locator("#view-look .classes > li")
    number = items.count()
    all_routes = map_at_rest(page)
    page.get_by_role("radio", name="One at a time").check()
    stepper = page.locator(".stepper output")
    expect(stepper).to_have_text(f"Class 1 of {number}")
    first = map_at_rest(page)
    assert first != all_routes
    page.get_by_role("button", name="Next class").focus()
    page.keyboard.press("Enter")
    expect(stepper).to_have_text(f"Class {2 if number > 1 else 1} of {number}")
    lead = page.locator("#view-look .lead").text_content()
    page.get_by_label("Trip").select_option("1")
    assert page.locator("#view-look .lead").text_content() != lead
    items.first.get_by_text("Directions").first.click()
    expect(items.first.locator("ol li").nth(1)).to_be_visible()


def test_closed_roads_are_shown(desktop: Page, server: Server) -> None:
    open_demo(desktop, server)
    desktop.get_by_text("Closed roads", exact=False).first.evaluate("(e) => { e.closest('details').open = true; }")
    desktop.get_by_label("Closed roads", exact=False).first.fill("3")
    plan(desktop)
    show(desktop, "Look")
    detours = desktop.locator("#view-look details.detour")
    before = map_at_rest(desktop)
    detours.first.locator("summary").first.click()
    assert detours.first.locator("p").first.text_content()
    assert map_at_rest(desktop) != before


# ---- What goes wrong ----


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.json", b'{"format": "veilroute-instance/1", '),
        ("nothing.xyz", b"\0\1\2"),
        (
            "odd.json",
            json.dumps({"format": "veilroute-instance/1", "names": {"1": "\u2028\u202e<img src=x>"}}).encode(),
        ),
    ],
)
def test_bad_files_show_the_servers_line(
    page: Page, server: Server, page_errors: PageErrors, name: str, content: bytes
) -> None:
    page_errors.allow("422")
    page.goto(server.url)
    with page.expect_response("**/api/files?*") as answer:
        send_file(page, name, content)
    alert = page.locator("#view-make [role=alert]").filter(has_text="expected")
    expect(alert).to_be_visible(timeout=LONG_S)
    if answer.value.status == 422:
        expect(alert).to_have_text(answer.value.json()["error"])
    check_names_are_text(page)


def test_a_private_key_is_not_sent(desktop: Page, server: Server, page_errors: PageErrors) -> None:
    page_errors.allow("422")
    desktop.goto(server.url)
    sent: list[str] = []
    desktop.on("request", lambda request: sent.append(request.post_data or "") if request.method == "POST" else None)
    send_file(desktop, "van.key", b"veilroute-key/1\n" + b"0" * 64 + b"\n")
    expect(desktop.locator("#view-make [role=alert]").filter(has_text="key")).to_be_visible()
    assert sent == []


def check_names_are_text(page: Page) -> None:
    assert page.evaluate("() => window.hacked") is None
    assert page.locator("img, iframe, [onerror], bdi b, bdi img").count() == 0


def test_hostile_names_are_shown_as_text_everywhere(page: Page, server: Server, folder: Path) -> None:
    problem = little_problem(little_town(evil_name='<svg onload="hacked=1">'), names={**NAMES, **EVIL})
    book = vr.solve(problem, little_book().privacy)
    open_book(page, server, book, folder / "evil.json", "<img src=x onerror=hacked=1>\u202e.json")
    members = page.locator("#view-look .classes").text_content() or ""
    for name in EVIL.values():
        assert name in members
    check_names_are_text(page)
    for summary in page.locator("#view-look .classes summary").all():
        summary.click()
    check_names_are_text(page)
    for view in ("Watch", "Trust", "Jobs", "Make", "Drive"):
        show(page, view)
        if view == "Trust":
            expect(page.locator("#view-trust .report")).to_contain_text("keeps its word", timeout=LONG_S)
        page.wait_for_timeout(200)
        check_names_are_text(page)
    page.locator(".seat-secret input").focus()
    page.keyboard.insert_text(EVIL[102])
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Your route").wait_for()
    check_names_are_text(page)
    write_html_map(book, folder / "evil.html")
    page.goto((folder / "evil.html").as_uri())
    for view in ("Watch", "Drive", "Look"):
        show(page, view)
        check_names_are_text(page)
    assert EVIL[102] in (page.locator("#view-look").text_content() or "")
