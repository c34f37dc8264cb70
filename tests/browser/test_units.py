"""The page's modules, tested in the browser: every function test* of unit/*.test.js is a test. No node is needed."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

_UNIT = Path(__file__).parent / "unit"
_PACKAGE = Path(__file__).parents[2] / "src" / "veilroute"
# Flat, as the studio serves them.
_FOLDERS = (_PACKAGE / "plotting" / "web", _PACKAGE / "studio" / "web", _UNIT)
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".json": "application/json"}
_TEST = re.compile(r"^export (?:async )?function (test\w+)", re.MULTILINE)


def _tests() -> list[tuple[str, str]]:
    return [
        (path.name, name)
        for path in sorted(_UNIT.glob("*.test.js"))
        for name in _TEST.findall(path.read_text(encoding="utf-8"))
    ]


class _Files(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.partition("?")[0].removeprefix("/")
        found = next((folder / name for folder in _FOLDERS if name and (folder / name).is_file()), None)
        body = found.read_bytes() if found else b"<!doctype html><html lang=en><title>Unit tests</title>"
        is_there = found is not None or name in ("", "favicon.ico")
        self.send_response(HTTPStatus.OK if is_there else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", f"{_KINDS.get(Path(name).suffix, 'text/html')}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a test's output is its own."""


@pytest.fixture(scope="module")
def files_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Files) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def unit_page(browser: Browser, files_url: str) -> Iterator[Page]:
    """One page for all, because a test of a module takes a millisecond and a page takes a hundred."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(files_url)
    yield page
    context.close()


@pytest.mark.parametrize(("module", "name"), _tests())
def test_unit(unit_page: Page, module: str, name: str) -> None:
    failure = unit_page.evaluate(
        """async ([module, name]) => {
          try { await (await import("/" + module))[name](); } catch (error) { return error.stack; }
          return null;
        }""",
        [module, name],
    )
    assert failure is None, failure


def test_every_test_module_has_tests() -> None:
    assert {module for module, _ in _tests()} == {path.name for path in _UNIT.glob("*.test.js")}
