"""What the other browser tests rely on finds what it should."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from browser_pages import TOUCH_PX, PageErrors, axe_findings, layout_findings

_HEAD = (
    '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>A page</title>'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    "<style>body { margin: 0 } button { display: block; width: 100px; height: 44px }</style>"
)
_GOOD = f"{_HEAD}<main><h1>Title</h1><p>Seen 12 of 34.</p><button>One</button><button>Other</button></main>"


def test_a_sound_page_has_no_findings(page: Page) -> None:
    page.set_content(_GOOD)
    assert layout_findings(page, least_px=TOUCH_PX) == []
    assert axe_findings(page) == []


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ('<div style="width: 3000px">wide</div>', "scrolls sideways"),
        ('<button style="margin-left: -30px">One</button>', "outside the window"),
        ('<button>One</button><button style="margin-top: -20px">Other</button>', "covers button 'Other'"),
        ("<button></button>", "has no name"),
        ('<button style="height: 20px">One</button>', "100 x 20 px"),
    ],
)
def test_findings_of_layout(desktop: Page, body: str, finding: str) -> None:
    desktop.set_content(f"{_HEAD}<main><h1>Title</h1>{body}</main>")
    (found,) = layout_findings(desktop, least_px=TOUCH_PX)
    assert finding in found


def test_what_is_not_seen_covers_nothing(desktop: Page) -> None:
    body = "<details><summary>More</summary><button>In</button></details><button hidden>Not</button>"
    cut = '<div style="height: 50px; overflow: auto"><button>One</button><button>Other</button></div>'
    desktop.set_content(f"{_HEAD}<main>{body}{cut}<button>Next</button></main>")
    assert layout_findings(desktop) == []


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
def test_axe_finds_faint_text_in_either_scheme(desktop: Page, colour_scheme: str) -> None:
    style = (
        f"<style>@media (prefers-color-scheme: {colour_scheme}) {{ h1 {{ color: #ddd; background: #fff }} }}</style>"
    )
    desktop.set_content(_GOOD.replace("<style>", f"{style}<style>", 1))
    (found,) = axe_findings(desktop)
    assert found.startswith("color-contrast")


def test_errors_are_noted(desktop: Page, page_errors: PageErrors) -> None:
    desktop.evaluate("() => { console.error('said'); setTimeout(() => { throw new Error('thrown'); }); }")
    desktop.wait_for_timeout(100)
    assert sorted(page_errors.unexpected()) == ["console: said", "uncaught: thrown"]
    page_errors.allow("said|thrown")
    assert page_errors.unexpected() == []
