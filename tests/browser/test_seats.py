"""The seats in a browser: what the page decides is what Python decides, with and without the browser's own HMAC."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route

import veilroute as vr
from browser_pages import DESKTOP
from drawn_books import triangle_book
from street_samples import exposed_book, little_book, two_trip_book
from studio_books import ways_of
from veilroute import BrokenPromiseError, Key, VeilrouteError
from veilroute.analysis import Bayesian
from veilroute.app import find_secret
from veilroute.auditing import is_hidden
from veilroute.domain import Label, label_text
from veilroute.formats import route_texts
from veilroute.plotting import drive_data, watch_data, write_html_map

_WEB = Path(vr.__file__).parent / "plotting" / "web"
# Browsers trust what is on this machine, and do not trust other machines over plain HTTP: these get no crypto.subtle.
SECURE, OPEN = "http://localhost/", "http://seats.test/"

_GIVE = """async ([drive, cases]) => {
  const { findPlace, chooseDraw, openKey, routeText } = await import("/draw.js");
  const given = [];
  for (const { typed, key, occasion, trip } of cases) {
    const at = findPlace(drive, typed), place = drive.places[at];
    const refusal = place ? place.refusal : "unknown";
    if (refusal) { given.push({ refusal: drive.sentences[refusal] }); continue; }
    const own = key && await openKey(new TextEncoder().encode(`veilroute-key/1\\n${key}\\n`));
    const { routes } = await chooseDraw(drive, at, own, occasion);
    given.push(Object.fromEntries(drive.formats.map((format) => [format, routeText(drive, routes[trip], format)])));
  }
  return given;
}"""

_BELIEVE = """async (watch) => {
  const { createObserver } = await import("/observer.js"), observer = createObserver(watch), found = [];
  for (const way of watch.ways.keys()) {
    for (let step = 1; step <= watch.trips[0].length; step++) found.push([...observer.chances(way, 0, step)]);
  }
  return found;
}"""


def names_book() -> vr.Playbook:
    """A randomised playbook on a grid with names that are hard to type."""
    spots = [(0, 3), (2, 0), (2, 4), (4, 1), (4, 5), (2, 7)]
    names: dict[Label, str] = dict(zip(spots, ["Åsa", "Straße 3", "ﬁsh", "Σίσυφος", "naïve  café", "2,0"], strict=True))
    domain = vr.grid_domain(["........", ".@@..@..", "........", "..@@.@..", "........"])
    trips = [vr.Trip((0, 0), (4, 7)), vr.Trip((4, 0), (0, 7))]
    problem = vr.Problem(domain, trips, spots, names=names, prior=[3, 1, 2, 1, 2, 1])
    return vr.solve(problem, vr.Privacy(risk=0.4, ell=1, mechanism="randomised"))


def prefix_book() -> vr.Playbook:
    book = names_book()
    return vr.solve(vr.Problem(book.problem.domain, book.trips, book.candidates), vr.Privacy(k=2, ell=1, m=4))


BOOKS: dict[str, Callable[[], vr.Playbook]] = {
    "names": names_book,
    "prefix": prefix_book,
    "triangle": triangle_book,
    "streets": little_book,
    "two trips": two_trip_book,
    "exposed": exposed_book,
}


def served(context: BrowserContext, address: str) -> Page:
    """A page at this address, whose modules are the package's."""

    def answer(route: Route) -> None:
        path = _WEB / route.request.url.removeprefix(address)
        if path.suffix == ".js":
            route.fulfill(body=path.read_text(encoding="utf-8"), content_type="text/javascript")
        else:
            route.fulfill(body="<!doctype html><html lang=en><title>Seats</title>", content_type="text/html")

    context.route(f"{address}**", answer)
    page = context.new_page()
    page.goto(address)
    return page


def as_the_command(book: vr.Playbook, case: dict[str, Any]) -> dict[str, str]:
    """What `veilroute route` would say."""
    assert book.domain is not None
    try:
        secret = find_secret(book, case["typed"])
        key = None if case["key"] is None else Key(bytes.fromhex(case["key"]))
        route = book.route_for(secret, case["trip"], key=key, occasion=case["occasion"])
        if not is_hidden(book, book.hidden_classes if book.is_randomised else book.classes_of(secret)[:1]):
            raise BrokenPromiseError
    except VeilrouteError as error:
        return {"refusal": str(error)}
    return route_texts(book, route, ["text", "json", *(["directions", "gpx"] if book.domain.on_earth else [])])


def typed_cases(book: vr.Playbook, num: int) -> list[dict[str, Any]]:
    """Candidates as people may type them, with keys and occasions."""
    rng, cases = random.Random(num), []
    spellings: list[Callable[[str], str]] = [
        str, str.upper, str.lower, str.swapcase, "  {}\u00a0".format, "({})".format, lambda text: text.replace(",", " ")
    ]  # fmt: skip
    for _ in range(num):
        label = rng.choice(book.candidates)
        text = rng.choice([label_text(label), book.name(label)])
        cases.append(
            {
                "typed": rng.choice(["", "nobody", "60.1,24.9 ", *[rng.choice(spellings)(text)] * 27]),
                "key": rng.randbytes(32).hex() if book.is_randomised else None,
                "occasion": rng.choice(["", "2026-11-18", "U\u0308bung", "\U0001f69a"]) if book.is_randomised else "",
                "trip": rng.randrange(len(book.trips)),
            }
        )
    return cases


@pytest.mark.parametrize("address", [SECURE, OPEN])
@pytest.mark.parametrize("name", BOOKS)
def test_the_page_gives_what_the_command_gives(
    new_context: Callable[..., BrowserContext], name: str, address: str
) -> None:
    book = BOOKS[name]()
    page = served(new_context(), address)
    assert page.evaluate("Boolean(crypto.subtle)") == (address == SECURE)
    cases = typed_cases(book, 80)
    wanted = [as_the_command(book, case) for case in cases]
    assert any("text" in each for each in wanted)
    assert page.evaluate(_GIVE, [drive_data(book), cases]) == wanted


@pytest.mark.parametrize("name", ["names", "prefix", "triangle", "streets"])
def test_the_page_believes_what_the_bayesian_observer_believes(
    new_context: Callable[..., BrowserContext], name: str
) -> None:
    book = BOOKS[name]()
    if len(book.trips) > 1:  # the page shows one trip after the other, the observer sees all at once
        book = vr.solve(
            vr.Problem(book.problem.domain, book.trips[:1], book.candidates, prior=book.prior), book.privacy
        )
    watch = watch_data(book)
    observer = Bayesian(book, book.prior or (1.0,) * len(book.candidates))
    found = iter(served(new_context(), SECURE).evaluate(_BELIEVE, watch))
    for (route,) in ways_of(book, watch):
        for m in range(1, watch["trips"][0]["length"] + 1):
            beliefs = observer.believe((route[:m],), m)
            total = sum(beliefs)
            chances = dict(next(found))
            assert [chances.get(at, 0.0) for at in range(len(beliefs))] == pytest.approx([b / total for b in beliefs])


def test_drive_forgets(new_context: Callable[..., BrowserContext], tmp_path: Path) -> None:
    write_html_map(names_book(), tmp_path / "map.html")
    key = tmp_path / "van.key"
    key.write_text(f"veilroute-key/1\n{'0f' * 32}\n")
    page = new_context(viewport=DESKTOP).new_page()
    page.goto((tmp_path / "map.html").as_uri())
    page.get_by_role("tab", name="Drive").click()
    empty = page.locator("#view-drive").evaluate("(view) => view.outerHTML")
    page.locator("#view-drive input[type=file]").set_input_files(key)
    page.get_by_text("Key read").wait_for()
    page.get_by_label("Occasion").fill("Monday")
    field = page.get_by_label("Where you have to stop")
    field.fill("Åsa")
    page.get_by_role("button", name="Give route").click()
    page.get_by_role("heading", name="Your route").wait_for()
    page.get_by_role("button", name="Forget", exact=True).click()
    assert page.locator("#view-drive").evaluate("(view) => view.outerHTML") == empty
    assert page.get_by_label("Occasion").input_value() == ""
    # What was typed is gone when another view is shown, and there is no way back to it.
    field.fill("Åsa")
    page.get_by_role("tab", name="Look").click()
    assert page.locator(".seat-secret input").count() == 0
    page.get_by_role("tab", name="Drive").click()
    assert field.input_value() == ""
    field.press("Control+z")
    assert field.input_value() == ""
