"""The 40 customers of the docs in the studio: planned at k = 2, 3 and 4, and each plan driven, audited and reloaded."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from studio_client import Server

LONG_S = 60_000
CUSTOMERS = Path(__file__).parents[2] / "docs" / "examples" / "helsinki-customers.csv"


@pytest.fixture(scope="module")
def town(helsinki: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, bytes]]:
    with Server(tmp_path_factory.mktemp("town")) as studio:
        yield studio, helsinki.read_bytes()


def open_streets(studio: Server, extract: bytes) -> str:
    """The streets for vans; the id of their job."""
    source = studio.file("Helsinki.osm.pbf", extract)
    found: str = studio.submit("open", source=source, network="drive", cost="seconds", connected=True).json["id"]
    return found


def plan_customers(page: Page, k: int) -> None:
    page.get_by_role("button", name="Plan", exact=True).wait_for(timeout=LONG_S)
    page.get_by_text("As a list, from a table").click()
    page.locator(".editor input[type=file]").first.set_input_files(CUSTOMERS)
    expect(page.get_by_text("In use:")).to_contain_text(CUSTOMERS.name)
    page.get_by_label("Goal", exact=True).last.fill("Depot")
    page.get_by_label("Places that stay possible, k").fill(str(k))
    page.get_by_label("Distance between them, ell").fill("300")
    page.get_by_label("Measure of ell").select_option("driving")
    page.get_by_role("button", name="Plan", exact=True).click()
    page.get_by_role("heading", name="Your plan").wait_for(timeout=LONG_S)


def figures(page: Page, panel: str) -> list[str]:
    """The three numbers and the average as a panel shows them."""
    facts = page.locator(f"#view-{panel} section[aria-label='The observer'] dd")
    facts.first.wait_for(timeout=LONG_S)
    return facts.all_text_contents()


def customers() -> list[str]:
    with CUSTOMERS.open(encoding="utf-8") as file:
        return [row["name"] for row in csv.DictReader(file) if not row["role"]]


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_plan_of_forty_customers_is_driven_audited_and_reloaded(
    desktop: Page, town: tuple[Server, bytes], k: int
) -> None:
    page, (studio, extract) = desktop, town
    page.goto(f"{studio.url}#job={open_streets(studio, extract)}&view=make")
    plan_customers(page, k)
    card = page.get_by_role("region", name="Your plan")
    expect(card).to_contain_text("40 of 40")
    expect(card).to_contain_text("claims hold")
    shown = figures(page, "make")
    assert [text.split(" ")[0] for text in shown] == ["at", "at", "at", "right"]

    # Everything that the job has is about one plan.
    job = next(each for each in studio.ask("GET", "/api/jobs").json["jobs"] if each["kind"] == "plan")
    assert set(job["results"]) == {"plan.json", "playbook.json", "scene.json", "audit.json", "risk.json"}
    plan, scene, audit = (studio.result(job["id"], f"{name}.json") for name in ("plan", "scene", "audit"))
    assert audit["holds"]
    assert audit["playbook_sha256"] == scene["playbook"]["sha256"]
    assert scene["playbook"]["mac"] == plan["mac"]
    hidden = [group for group in plan["classes"] if group["anonymized"]]
    assert len(scene["playbook"]["trips"][0]["classes"]) == len(hidden)

    # An area is likelier than 1/k in each of these plans: nothing is green, and the option that bounds it is named.
    worst = plan["risk"]["worst"]
    assert worst > 1 / k
    expect(card.locator(".tile.good")).to_have_count(1 if plan["status"] == "optimal" else 0)
    expect(card.locator(".seat-warning")).to_contain_text(f"{100 * worst:.3g}%")
    expect(card.locator(".seat-warning")).to_contain_text("--risk")
    expect(card.locator(".verdict-line")).to_have_class(re.compile("warn"))
    assert shown[:3] == [
        f"at least {plan['risk']['num_possible']}",
        f"at most {100 * plan['risk']['worst_place']:.3g}%",
        f"at most {100 * worst:.3g}%",
    ]

    for view in ("Look", "Watch", "Trust"):
        page.get_by_role("tab", name=view).click()
        assert figures(page, view.lower()) == shown
    expect(page.locator("#view-trust .banner.warn")).to_contain_text("keeps its word")
    assert not re.search(r"\d er\b", page.locator("#view-trust").inner_text())

    page.reload()
    page.locator("#view-trust .banner").wait_for(timeout=LONG_S)
    page.get_by_role("tab", name="Look").click()
    expect(page.locator("#view-look .classes > li")).to_have_count(len(hidden))
    page.get_by_role("tab", name="Drive").click()
    for name in customers()[:: 40 // 3]:
        page.locator(".seat-secret input").fill(name)
        page.get_by_role("button", name="Give route").click()
        expect(page.locator("#view-drive .seat-route pre")).to_contain_text("Arrive")
    page.reload()
    page.locator(".seat-secret input").wait_for(timeout=LONG_S)


def test_a_day_of_vans_names_its_stops(desktop: Page, town: tuple[Server, bytes]) -> None:
    pytest.importorskip("pyvrp")
    page, (studio, extract) = desktop, town
    page.goto(f"{studio.url}#job={open_streets(studio, extract)}&view=make")
    plan_customers(page, 2)
    page.get_by_role("tab", name="Look").click()
    page.get_by_text("A day of a fleet").click()
    page.get_by_label("Today's orders").fill("\n".join(customers()[:2]))
    page.get_by_role("button", name="Plan the day").click()
    day = page.locator(".look-more details[open] ul.plain").first
    day.wait_for(timeout=LONG_S)
    stops = re.findall(r"[^,:]+", day.inner_text().replace("\n", ","))
    assert {stop.strip() for stop in stops} >= set(customers()[:2])
    assert not re.search(r"\d{6}", day.inner_text()), "a stop is shown as the number of its node"
