"""Fixtures of the browser tests: Chromium, pages of two sizes, and a studio of one's own.

`make test-browser` runs these tests; `make test` does not collect them. They are skipped where there is no Chromium.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from browser_pages import DESKTOP, PHONE, PageErrors, find_chromium, started_chromium
from studio_client import Server

Scheme = Literal["light", "dark"]
_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder is a browser test."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, once for all tests of a process."""
    if find_chromium() is None:
        pytest.skip("no Chromium here (Debian's package chromium, or set CHROMIUM to one)")
    with started_chromium() as started:
        yield started


@pytest.fixture
def colour_scheme() -> Scheme:
    """What the user prefers. Parametrise it by "light" and "dark" to see both."""
    return "light"


@pytest.fixture
def page_errors() -> Iterator[PageErrors]:
    """Errors on the pages of a test, which fail it; ``page_errors.allow(pattern)`` says which the test provokes."""
    errors = PageErrors()
    yield errors
    unexpected = errors.unexpected()
    assert not unexpected, "\n".join(["the page reported errors:", *unexpected])


@pytest.fixture
def new_context(
    browser: Browser, colour_scheme: Scheme, page_errors: PageErrors
) -> Iterator[Callable[..., BrowserContext]]:
    """Makes contexts: storage and pages of their own, as Playwright's ``new_context`` does. Their errors are noted."""
    with ExitStack() as stack:

        def make(**options: Any) -> BrowserContext:
            context = browser.new_context(color_scheme=colour_scheme, reduced_motion="reduce", **options)
            stack.callback(context.close)
            context.set_default_timeout(20_000)
            page_errors.watch(context)
            return context

        yield make


@pytest.fixture
def desktop(new_context: Callable[..., BrowserContext]) -> Page:
    """A page of 1280 x 800."""
    return new_context(viewport=DESKTOP).new_page()


@pytest.fixture
def phone(new_context: Callable[..., BrowserContext]) -> Page:
    """A page of 390 x 844 that is touched."""
    return new_context(viewport=PHONE, is_mobile=True, has_touch=True, device_scale_factor=2).new_page()


@pytest.fixture(params=["desktop", "phone"])
def page(request: pytest.FixtureRequest) -> Page:
    """Both sizes, one after the other."""
    found: Page = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A studio with the demo's files, for the tests of a module."""
    with Server(tmp_path_factory.mktemp("studio"), "--demo") as studio:
        yield studio
