"""What somebody might try with files, jobs and other pages to have the studio say what is not so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from street_samples import little_book
from studio_client import Server
from veilroute import Privacy, Problem, Trip
from veilroute.domain import WithinDistance, draw_candidates, generate_rooms
from veilroute.formats import Instance, write_instance

LONG_MS = 60_000


@pytest.fixture(scope="module")
def long_instance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for which a proof takes far longer than any test."""
    rooms = generate_rooms(40, 60, seed=3)
    start, goal = rooms.label(0), rooms.label(rooms.num_nodes - 1)
    places = draw_candidates(rooms, start, goal, 50, seed=1)
    path = tmp_path_factory.mktemp("long") / "long.json"
    problem = Problem(rooms, [Trip(start, goal)], places, WithinDistance(1))
    write_instance(Instance(problem, Privacy(k=4, ell=6)), path)
    return path


def show(page: Page, view: str) -> None:
    page.get_by_role("tab", name=view).click()


def cancel_after_first_plan(page: Page, press: Locator) -> None:
    with page.expect_response(
        lambda answer: answer.url.endswith("/results/scene.json") and "playbook" in answer.json(), timeout=LONG_MS
    ):
        press.click()
    page.get_by_role("button", name=re.compile("^(Cancel|Stop)")).first.click()
    page.get_by_role("heading", name="The best plan before you cancelled").wait_for(timeout=LONG_MS)


def test_a_report_is_about_the_plan_that_is_shown(desktop: Page, server: Server, long_instance: Path) -> None:
    page, marks = desktop, ["a" * 64, "b" * 64]

    def marked(route: Route) -> None:
        """Every attempt at the job has made another playbook, and only the first keeps its word."""
        answer = route.fetch()
        if not answer.ok:
            return route.fulfill(response=answer)
        data = answer.json()
        if "holds" in data:
            data |= {"holds": marks[0][0] == "a", "playbook_sha256": marks[0]}
        elif "playbook" in data:
            data["playbook"]["sha256"] = marks[0]
        return route.fulfill(response=answer, body=json.dumps(data))

    page.route("**/results/scene.json", marked)
    page.route("**/results/audit.json", marked)
    page.goto(server.url)
    page.locator(".drop input[type=file]").set_input_files(str(long_instance))
    cancel_after_first_plan(page, page.get_by_role("button", name="Plan", exact=True))
    show(page, "Trust")
    expect(page.locator(".report code", has_text="a" * 64)).to_be_visible(timeout=LONG_MS)
    expect(page.locator(".banner")).to_contain_text("The playbook keeps its word")
    cancel_again = page.locator(".job.cancelled", has_text="Plan")
    del marks[0]
    show(page, "Jobs")
    cancel_after_first_plan(page, cancel_again.get_by_role("button", name="Resume"))
    assert_second(page)
    # The same where another page has resumed it: here it is opened only.
    marks[:] = ["a" * 64, "b" * 64]
    show(page, "Jobs")
    cancel_again.get_by_role("button", name="Open").click()
    page.get_by_role("heading", name="The best plan before you cancelled").wait_for(timeout=LONG_MS)
    show(page, "Trust")
    expect(page.locator(".banner")).to_contain_text("The playbook keeps its word")
    del marks[0]
    show(page, "Jobs")
    cancel_again.get_by_role("button", name="Open").click()
    page.get_by_role("heading", name="The best plan before you cancelled").wait_for(timeout=LONG_MS)
    assert_second(page)


def assert_second(page: Page) -> None:
    show(page, "Trust")
    expect(page.locator(".report code", has_text="b" * 64)).to_be_visible(timeout=LONG_MS)
    expect(page.locator(".banner")).to_contain_text("does not keep its word")


def test_a_report_of_another_playbook_says_nothing_about_this_one(desktop: Page, server: Server) -> None:
    page = desktop

    def exchanged(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=json.dumps(answer.json() | {"playbook_sha256": "c" * 64}))

    page.route("**/results/audit.json", exchanged)
    page.goto(server.url)
    page.locator("[data-demo=building]").click()
    page.get_by_role("button", name="Plan", exact=True).click()
    page.get_by_role("heading", name="Your plan").wait_for(timeout=LONG_MS)
    show(page, "Trust")
    expect(page.locator(".banner.bad")).to_contain_text("about another playbook", timeout=LONG_MS)


DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const kind of ["dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));
  }
}"""


def test_a_key_that_is_dropped_anywhere_stays_here(desktop: Page, server: Server) -> None:
    sent: list[str] = []
    desktop.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    key = "veilroute-key/1\n" + "ab" * 32 + "\n"
    desktop.goto(server.url)
    desktop.locator("[data-demo=building]").wait_for()
    for view in ("Make", "Trust", "Look"):
        for name, text in (("my.key", key), ("places.json", " " * 200 + key), ("places.csv", "# mine\n" * 50 + key)):
            show(desktop, view)
            desktop.evaluate(DROP, [name, text])
            expect(desktop.locator(".error:visible", has_text="It was not sent").first).to_be_visible()
            desktop.reload()
    assert not sent


def test_a_forged_playbook_is_called_so_where_its_promises_are_read(
    desktop: Page, server: Server, tmp_path: Path
) -> None:
    little_book().write(tmp_path / "book.json")
    book = json.loads((tmp_path / "book.json").read_text())
    book["privacy"]["k"], book["claims"]["mac"] = 9, 0.0
    (tmp_path / "forged.json").write_text(json.dumps(book))
    stop = little_book().name(little_book().hidden_classes[0].members[0])
    desktop.goto(server.url)
    desktop.locator(".drop input[type=file]").set_input_files(str(tmp_path / "forged.json"))
    desktop.locator("#view-look .seat-verdict", has_text="violated").wait_for(timeout=LONG_MS)
    show(desktop, "Watch")
    expect(desktop.locator("#view-watch .seat-verdict")).to_contain_text("violated")
    show(desktop, "Make")
    expect(desktop.locator("#view-make .verdict-line")).to_contain_text("violated")
    show(desktop, "Drive")
    expect(desktop.locator("#view-drive .seat-verdict")).to_contain_text("violated")
    desktop.get_by_label("Where you have to stop").last.fill(stop)
    desktop.get_by_role("button", name="Give route").click()
    expect(desktop.locator(".seat-said")).not_to_be_empty()
    expect(desktop.locator(".seat-route")).to_be_hidden()
