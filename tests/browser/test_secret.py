"""What is typed into Drive stays there: nothing leaves, nothing is kept, nothing differs among members of a class."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route

import veilroute as vr
from browser_pages import DESKTOP, PHONE, PageErrors, map_at_rest
from browser_records import Recorder, heap_strings, holding, install, leaving
from studio_books import BOOKS, command, make_book, odd_spelling, place_text, write_key
from studio_client import Server
from veilroute.domain import Label
from veilroute.formats import route_texts
from veilroute.plotting import write_html_map

OCCASION = "Friday, 13 März"
FORMATS = {"gpx": "Save GPX", "json": "Save JSON", "text": "Save nodes", "directions": "Save directions"}
SECRET = ".seat-secret input"

# All that the page shows after a route was given, in one call: Playwright's are slow, and there are hundreds.
_USE = """async (saves) => {
  const panel = document.querySelector("#view-drive"), route = panel.querySelector(".seat-route");
  const said = panel.querySelector(".seat-said");
  while (route.hidden && !said.textContent) await new Promise((resolve) => setTimeout(resolve, 1));
  for (const button of panel.querySelectorAll(".seat-route button")) {
    if (!route.hidden && saves.includes(button.textContent)) button.click();
  }
  const texts = await Promise.all(recorded.saved.splice(0));
  const buttons = [...panel.querySelectorAll(".seat-route button")].map((button) => button.textContent);
  const names = buttons.filter((name) => texts.length && saves.includes(name));
  const saved = Object.fromEntries(names.map((name, i) => [name, texts[i]]));
  // The map comes to rest later, with its scale; its picture is looked at by a test of its own.
  const scale = document.querySelector(".map-scale")?.outerHTML ?? "";
  const page = document.documentElement.outerHTML.replace(scale, "");
  const fields = [...document.querySelectorAll("input:not([type=file]), textarea, select")];
  return {
    said: said.textContent, isGiven: !route.hidden, heading: route.querySelector("h3").textContent, saved,
    sheet: route.querySelector("pre").textContent, html: page,
    values: fields.map((field) => field.value), focus: document.activeElement.outerHTML, scroll: [scrollX, scrollY],
    undone: document.querySelector(".seat-secret input").value,
  };
}"""


@dataclass
class Books:
    """Files of the playbooks, by name, and a key."""

    folder: Path
    books: dict[str, vr.Playbook]
    key: Path

    def path(self, name: str, suffix: str = ".json") -> Path:
        return self.folder / f"{name.replace(' ', '-')}{suffix}"


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    folder = tmp_path_factory.mktemp("books")
    made = Books(folder, {name: make_book(name) for name in BOOKS}, write_key(folder / "van.key"))
    for name, book in made.books.items():
        book.write(made.path(name))
        if "streets" in name:
            write_html_map(book, made.path(name, ".html"))
    return made


@pytest.fixture(scope="module")
def studio(books: Books, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("studio"), *(str(books.path(name)) for name in BOOKS)) as started:
        yield started


def open_drive(page: Page, books: Books, studio: Server, name: str, surface: str) -> None:
    """Drive with a playbook: in the studio, or in the file that was exported."""
    if surface == "studio":
        page.goto(studio.url)
        page.get_by_role("button", name=books.path(name).name).first.click()
        page.locator("#view-look .classes li").first.wait_for()
    else:
        page.goto(books.path(name, ".html").as_uri())
    page.get_by_role("tab", name="Drive").click()
    page.locator(SECRET).wait_for()


def drawing_options(books: Books, name: str) -> list[object]:
    return ["--key", books.key, "--occasion", OCCASION] if "randomised" in name else []


def use(page: Page, typed: str, saves: list[str], *, is_slow: bool = False) -> dict[str, Any]:
    """Type a secret, key by key or all at once as phones do, and take all that the page gives."""
    page.locator(SECRET).focus()
    if is_slow:
        page.keyboard.type(typed)
    else:
        page.keyboard.insert_text(typed)
    page.keyboard.press("Enter")
    given: dict[str, Any] = page.evaluate(_USE, saves)
    return given


def fingerprint(given: dict[str, Any]) -> dict[str, str]:
    """All that is on the page, on the map and in its fields; long texts by their hash."""
    return {name: hashlib.sha256(repr(value).encode()).hexdigest() for name, value in given.items()}


SURFACES = [
    ("grid partition", "studio"),
    ("streets randomised", "studio"),
    ("streets partition", "file"),
    ("streets randomised", "file"),
    pytest.param("grid randomised", "studio", marks=pytest.mark.slow),
    pytest.param("streets partition", "studio", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "surface"), SURFACES)
def test_fifty_secrets_leave_no_trace_and_get_the_commands_routes(
    books: Books, studio: Server, new_context: Callable[..., BrowserContext], name: str, surface: str
) -> None:
    book, options = books.books[name], drawing_options(books, name)
    # The last is the one that is shown.
    formats = list(FORMATS) if "streets" in name else ["json", "text"]
    context = new_context(viewport=DESKTOP if surface == "studio" else PHONE)
    install(context)
    page = context.new_page()
    open_drive(page, books, studio, name, surface)
    if options:
        page.locator("#view-drive input[type=file]").set_input_files(books.key)
        page.get_by_text("Key read").wait_for()
        page.get_by_label("Occasion").fill(OCCASION)
    recorder = Recorder(page)
    recorder.start()
    use(page, "nowhere", [])  # whatever is done once is done now
    recorder.take()
    by_draw: dict[str, list[tuple[int, dict[str, str], list[tuple[str, ...]]]]] = {}
    for at, label in enumerate(book.candidates):
        typed = odd_spelling(book.name(label), at) if at % 5 else place_text(book, at)
        given = use(page, typed, [FORMATS[each] for each in formats], is_slow=at % 4 == 0)
        events = recorder.take()
        assert leaving(events) == []
        assert at % 5 == 0 or holding(events, typed) == []
        assert holding(events, book.name(label)) == []
        assert given["undone"] == ""
        assert not any(typed in str(value) for value in given["values"])
        if at % 5:
            assert typed not in given["html"]
        for each in formats if at % 5 == 0 or "streets" in name else ["json"]:
            told = command("route", books.path(name), "--transit", typed, "--format", each, *options)
            assert given["isGiven"] == (told.code == 0)
            assert given["saved"].get(FORMATS[each], "") == told.out
            assert given["isGiven"] or f"veilroute: {given['said']}\n" == told.err
        if given["isGiven"]:
            assert given["sheet"] == given["saved"][FORMATS[formats[-1]]]
        by_draw.setdefault(given["heading"], []).append((at, fingerprint(given), events))
    assert sum(len(uses) for uses in by_draw.values()) == len(book.candidates)
    assert sum(len(uses) > 1 for uses in by_draw.values()) >= 5
    for uses in by_draw.values():
        # Whoever is in the class: the same was sent, kept, said and saved, in the same order; and the page is the same.
        for _, seen, events in uses[1:]:
            assert seen == uses[0][1]
            assert events == uses[0][2]


# Ways out of a page to its own server; each ends when the browser has made up its mind.
WAYS_OUT = {
    "fetch": "fetch('/api/about')",
    "XMLHttpRequest": """new Promise((done) => { const x = new XMLHttpRequest(); x.onloadend = done;
        x.open('GET', '/api/about'); x.send(); })""",
    "beacon": "navigator.sendBeacon('/api/jobs', new Blob(['{}'], { type: 'text/plain' }))",
    "image": "new Promise((done) => { const i = new Image(); i.onload = i.onerror = done; i.src = '/static/x.png'; })",
    "event source": """new Promise((done) => { const s = new EventSource('/api/about');
        s.onerror = s.onopen = () => { s.close(); done(); }; })""",
    "socket": """new Promise((done) => { const s = new WebSocket(location.origin.replace('http', 'ws') + '/api/about');
        s.onclose = s.onerror = done; })""",
    "worker": "new Promise((done) => { const w = new Worker('/static/geometry.js?worker'); w.onerror = done; })",
    "import": "import('/static/geometry.js?import')",
    "script": """new Promise((done) => { const s = document.createElement('script'); s.src = '/static/hash.js?script';
        s.type = 'module'; s.onload = s.onerror = done; document.head.append(s); })""",
    "style": """new Promise((done) => { const l = document.createElement('link'); l.rel = 'stylesheet';
        l.href = '/static/page.css?style'; l.onload = l.onerror = done; document.head.append(l); })""",
    "prefetch": """new Promise((done) => { const l = document.createElement('link'); l.rel = 'prefetch';
        l.href = '/static/page.css?prefetch'; l.onload = l.onerror = done; document.head.append(l); })""",
    "frame": """new Promise((done) => { const f = document.createElement('iframe'); f.src = '/?frame';
        f.onload = f.onerror = done; document.body.append(f); })""",
    "form": """(() => { const f = document.createElement('form'); f.action = '/?form'; f.target = 'nobody';
        document.body.append(f); f.submit(); })()""",
    "audio": "new Promise((done) => { const a = new Audio('/static/x.mp3'); a.onerror = done; a.load(); })",
}  # fmt: skip
LET_OUT = {"fetch", "XMLHttpRequest", "beacon", "image", "event source", "worker", "import", "script", "style"}


def num_answered(studio: Server) -> int:
    """So many requests have reached the server, as its log says."""
    return len(studio.log().splitlines())


def ways_that_are_open(page: Page, studio: Server) -> set[str]:
    """Try all ways out from the page's own scripts, and see what comes in at the server."""
    found = set()
    for name, code in WAYS_OUT.items():
        before = num_answered(studio)
        page.evaluate(
            f"""async () => {{
              try {{ await Promise.race([{code}, new Promise((done) => setTimeout(done, 1000))]); }} catch {{}}
              await new Promise((done) => setTimeout(done, 100));
            }}"""
        )
        if num_answered(studio) > before:
            found.add(name)
    return found


def test_drive_seals_the_page_by_the_browser_itself(
    books: Books, studio: Server, desktop: Page, page_errors: PageErrors
) -> None:
    page_errors.allow(".")  # the browser says of each that it refuses it
    open_drive(desktop, books, studio, "streets randomised", "studio")
    assert ways_that_are_open(desktop, studio) == set()
    refused = [text for text in page_errors.texts if "Content Security Policy" in text]
    assert len(refused) >= len(LET_OUT)


def test_without_the_seal_the_same_ways_are_open(
    books: Books, studio: Server, desktop: Page, page_errors: PageErrors
) -> None:
    page_errors.allow(".")

    # The page as it is, but that its seal does nothing.
    def unseal(route: Route) -> None:
        answer = route.fetch()
        text = answer.text().replace("function sealPage() {", "function sealPage() {\n  return;", 1)
        assert text != answer.text()
        route.fulfill(response=answer, body=text)

    desktop.route("**/static/studio.js", unseal)
    open_drive(desktop, books, studio, "streets randomised", "studio")
    assert ways_that_are_open(desktop, studio) >= LET_OUT


def test_the_exported_file_is_sealed_from_the_beginning(
    books: Books, studio: Server, desktop: Page, page_errors: PageErrors
) -> None:
    page_errors.allow(".")
    path = books.path("streets partition", ".html")
    # Served by the studio's own address, so that nothing but its policy is in the way.
    desktop.route(f"{studio.url}exported", lambda route: route.fulfill(path=path, content_type="text/html"))
    desktop.goto(f"{studio.url}exported")
    desktop.get_by_role("tab", name="Drive").click()
    desktop.locator(SECRET).wait_for()
    assert ways_that_are_open(desktop, studio) == set()


def texts_of(page: Page) -> str:
    """All that the page says to eyes, to screen readers and to whoever reads its source."""
    values = page.evaluate(
        "() => [...document.querySelectorAll('input, textarea, select')].map((e) => e.value).join('|')"
    )
    return "\n".join([page.content(), page.locator("body").aria_snapshot(), values, page.title(), page.url])


@pytest.mark.parametrize("surface", ["studio", "file"])
def test_it_is_gone_after_use(books: Books, studio: Server, desktop: Page, surface: str) -> None:
    book = books.books["streets partition"]
    open_drive(desktop, books, studio, "streets partition", surface)
    typed = "mArKeT    sQuArE  01"
    desktop.locator(SECRET).focus()
    desktop.keyboard.type(typed)
    assert desktop.locator(SECRET).input_value() == typed
    desktop.get_by_role("button", name="Give route").click()
    desktop.get_by_role("heading", name="Your route").wait_for()
    strings = heap_strings(desktop)
    assert any(book.name(book.candidates[0]) in each for each in strings), "names of the playbook are found in the heap"
    assert not any(typed in each for each in strings)
    assert typed not in texts_of(desktop)
    # Undo finds nothing to undo, wherever it is tried.
    for target in (SECRET, "body"):
        desktop.locator(target).focus()
        for key in ("Control+z", "Control+Shift+z", "Control+y"):
            desktop.keyboard.press(key)
        assert desktop.locator(SECRET).input_value() == ""
        assert typed not in texts_of(desktop)
    # What is typed but not used does not come back either.
    desktop.locator(SECRET).focus()
    desktop.keyboard.type(typed)
    desktop.goto("about:blank")
    desktop.go_back()
    desktop.get_by_role("tab", name="Drive").click()
    assert desktop.locator(SECRET).input_value() == ""
    desktop.reload()
    desktop.get_by_role("tab", name="Drive").click()
    assert desktop.locator(SECRET).input_value() == ""
    assert typed not in texts_of(desktop)


def test_the_heap_is_really_searched(books: Books, studio: Server, desktop: Page) -> None:
    open_drive(desktop, books, studio, "streets partition", "file")
    desktop.locator(SECRET).focus()
    desktop.keyboard.type("mArKeT    sQuArE  01")
    desktop.evaluate("() => { window.kept = { secret: document.querySelector('.seat-secret input').value }; }")
    assert any("mArKeT    sQuArE  01" in each for each in heap_strings(desktop))


def test_leaving_drive_leaves_the_document(books: Books, studio: Server, desktop: Page) -> None:
    open_drive(desktop, books, studio, "streets partition", "studio")
    desktop.evaluate("() => { window.isOld = true; }")
    desktop.locator(SECRET).focus()
    desktop.keyboard.type("mArKeT    sQuArE  01")
    desktop.get_by_role("tab", name="Look").click()
    desktop.locator("#view-look .classes li").first.wait_for()
    assert desktop.evaluate("() => window.isOld") is None
    assert "mArKeT" not in texts_of(desktop)
    assert not any("mArKeT" in each for each in heap_strings(desktop))


def likeliest_share(book: vr.Playbook, label: Label) -> float:
    """How probable the class is that a candidate gets most often; 1 where there is one, or none."""
    shares = [group.share_of(label) for group in book.classes_of(label)]
    return max(shares) / sum(shares) if sum(shares) else 1.0


def test_without_a_key_each_draw_is_one_that_the_command_could_make(
    books: Books, studio: Server, new_context: Callable[..., BrowserContext]
) -> None:
    name = "streets randomised"
    book = books.books[name]
    context = new_context(viewport=PHONE, has_touch=True)
    install(context)
    page = context.new_page()
    open_drive(page, books, studio, name, "file")
    recorder = Recorder(page)
    recorder.start()
    seen: set[str] = set()
    by_draw: dict[str, set[str]] = {}
    # Whose draws are the least certain: thirty that are all the same would be a fault, and not chance.
    likeliest = [likeliest_share(book, label) for label in book.candidates]
    torn = likeliest.index(min(likeliest))
    assert min(likeliest) ** 29 < 1e-6
    for at in [*range(12), *[torn] * 30]:
        label = book.candidates[at]
        given = use(page, odd_spelling(book.name(label), at), [FORMATS["json"]])
        events = recorder.take()
        assert leaving(events) == []
        possible = {route_texts(book, group.route_of(label, 0), ["json"])["json"] for group in book.classes_of(label)}
        if not given["isGiven"]:
            assert not possible
            continue
        assert given["said"].startswith("one of several routes was drawn")
        assert given["saved"][FORMATS["json"]] in possible
        by_draw.setdefault(given["heading"], set()).add(repr((fingerprint(given), events)))
        if at == torn:
            seen.add(given["heading"])
    assert len(seen) > 1, "thirty draws were all the same"
    assert all(len(found) == 1 for found in by_draw.values())


def test_the_picture_is_the_same_for_all_members(books: Books, studio: Server, desktop: Page) -> None:
    book = books.books["streets partition"]
    open_drive(desktop, books, studio, "streets partition", "file")
    pictures = []
    for group in book.hidden_classes[:2]:
        for label in group.members[:3]:
            desktop.locator(SECRET).focus()
            desktop.keyboard.insert_text(book.name(label))
            desktop.keyboard.press("Enter")
            desktop.get_by_role("heading", name="Your route").wait_for()
            pictures.append(map_at_rest(desktop))
    assert len(set(pictures[:3])) == 1
    assert len(set(pictures[3:])) == 1
    assert pictures[0] != pictures[3]


# What somebody could do to drive.js one day, and by which of the checks above it is found.
FAULTS = {
    "asks the server": ("leaving", "const at = ", "fetch('/api/about'); const at = "),
    "asks for some only": ("differs", "return at;", "if (at % 2) fetch('/api/about'); return at;"),
    "stores it": ("holding", "const at = ", "localStorage.last = parts.secret().value; const at = "),
    "says it": ("holding", "const at = ", "console.debug(encodeURI(parts.secret().value)); const at = "),
    "puts it into the address": (
        "holding", "const at = ", "history.replaceState(0, '', '#' + btoa('at ' + parts.secret().value)); const at = ",
    ),
    "names files by it": (
        "differs", "state.given = { class", "FILE_KINDS.json[0] = `route-${at}.json`; state.given = { class",
    ),
    "marks a member": ("differs", "return at;", "parts.heading.dataset.at = at; return at;"),
    "keeps it": ("heap", "const at = ", "state.last = parts.secret().value; const at = "),
    "keeps it in the field": ("page", "parts.renewSecret(giveOnEnter);\n    return at;", "return at;"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_drive_would_be_found(
    books: Books, studio: Server, new_context: Callable[..., BrowserContext], page_errors: PageErrors, fault: str
) -> None:
    page_errors.allow(".")
    by, sound, broken = FAULTS[fault]
    context = new_context(viewport=DESKTOP)
    if by != "heap":
        install(context)
    page = context.new_page()

    def plant(route: Route) -> None:
        answer = route.fetch()
        text = answer.text().replace(sound, broken, 1)
        assert text != answer.text()
        route.fulfill(response=answer, body=text)

    page.route("**/static/drive.js", plant)
    open_drive(page, books, studio, "grid partition", "studio")
    book = books.books["grid partition"]
    if by == "heap":
        page.locator(SECRET).focus()
        page.keyboard.type("mArKeT  SqUaRe 01")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Your route").wait_for()
        assert any("mArKeT  SqUaRe 01" in each for each in heap_strings(page))
        return
    recorder, found, uses = Recorder(page), set(), []
    recorder.start()
    use(page, "nowhere", [])
    recorder.take()
    for label in book.hidden_classes[0].members:
        typed = odd_spelling(book.name(label), 0)
        given, events = use(page, typed, [FORMATS["json"]]), recorder.take()
        found |= {"leaving"} if leaving(events) else set()
        found |= {"holding"} if holding(events, typed) else set()
        found |= {"page"} if typed in f"{given['html']}{given['values']}" else set()
        uses.append((fingerprint(given), events))
    found |= {"differs"} if any(each != uses[0] for each in uses) else set()
    assert by in found
