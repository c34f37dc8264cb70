"""A local web server that can be told to misbehave, and small archives to serve.

The fixtures hand out plain types, so that the test modules need not import from here.
"""

from __future__ import annotations

import io
import random
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from veilroute.maps import Catalogue, MapSet, MapStore, hash_text

LAST_MODIFIED = "Sat, 01 Jan 2022 00:00:00 GMT"


class _Server(ThreadingHTTPServer):
    # Not daemons, so that closing the server waits for its threads and no test leaves one behind.
    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.site: dict[str, bytes] = {}
        self.faults: list[str] = []
        self.habits: set[str] = set()
        self.seen: list[dict[str, str]] = []
        self.released = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is part of the game."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        server = self.server
        words = set(server.habits)
        if server.faults:
            words |= set(server.faults.pop(0).split())
        record = {"path": self.path, "range": self.headers.get("Range", ""), "sent": "0"}
        record["if-range"] = self.headers.get("If-Range", "")
        server.seen.append(record)
        status = next((int(word) for word in words if word.isdigit()), 0)
        body = server.site.get(self.path)
        if status or body is None:
            self.send_error(status or 404)
            return
        self._serve(body, words, record)

    def _serve(self, body: bytes, words: set[str], record: dict[str, str]) -> None:
        etag = f'"{hash_text(body)[:8]}"'
        if "weak-etag" in words:
            etag = "W/" + etag
        if "folded-etag" in words:
            etag = '"a\r\n b"'
        first = 0
        wanted = self.headers.get("Range", "")
        condition = self.headers.get("If-Range", "")
        is_current = not condition or condition in (etag, LAST_MODIFIED) or "ignore-if-range" in words
        if wanted and is_current and "no-range" not in words:
            first = int(wanted.removeprefix("bytes=").removesuffix("-"))
        if first >= len(body):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        payload = body[first:]
        self.send_response(206 if first else 200)
        if first:
            start = first + 1 if "off-by-one" in words else first
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if "no-length" not in words:
            self.send_header("Content-Length", str(len(payload) + (100 if "overstate" in words else 0)))
        if "no-validator" not in words:
            self.send_header("ETag", etag)
            self.send_header("Last-Modified", LAST_MODIFIED)
        self.end_headers()
        if words & {"drop", "stall"}:
            payload = payload[: len(payload) // 2]
        record["sent"] = str(len(payload))
        self.wfile.write(payload)
        self.wfile.flush()
        if "stall" in words:
            self.server.released.wait(10)


@pytest.fixture(autouse=True)
def _own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the user's cache, address or proxy."""
    monkeypatch.setenv("VEILROUTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("VEILROUTE_MAPS_URL", raising=False)
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def base_url(server: _Server) -> str:
    """Address of the running server."""
    return f"http://127.0.0.1:{server.server_address[1]}"


@pytest.fixture
def site(server: _Server) -> dict[str, bytes]:
    """What the server serves: path to content."""
    return server.site


@pytest.fixture
def faults(server: _Server) -> list[str]:
    """Misbehaviour of the next requests, one entry each; an entry may hold several words."""
    return server.faults


@pytest.fixture
def habits(server: _Server) -> set[str]:
    """Misbehaviour of every request."""
    return server.habits


@pytest.fixture
def seen(server: _Server) -> list[dict[str, str]]:
    """The requests so far: ``path``, ``range``, ``if-range`` and the number of bytes ``sent``."""
    return server.seen


@pytest.fixture
def make_zip() -> Callable[[dict[str, bytes]], bytes]:
    """Pack files, uncompressed so that one wrong byte stays one wrong byte."""

    def pack(files: dict[str, bytes]) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return buffer.getvalue()

    return pack


@pytest.fixture
def arena() -> bytes:
    """A map with LF line ends whose text the test catalogue pins as ``arena.map``."""
    draw = random.Random(7)
    rows = ["".join(draw.choice("..@T") for _ in range(120)) for _ in range(80)]
    return "\n".join(["type octile", "height 80", "width 120", "map", *rows, ""]).encode()


@pytest.fixture
def catalogue(arena: bytes) -> Catalogue:
    """Two sets; only ``arena.map`` of the first is pinned."""
    return Catalogue(
        (
            MapSet("dao", "dao/dao-map.zip", "dao/dao-scen.zip", {"arena.map": hash_text(arena)}),
            MapSet("street", "street/street-map.zip", "street/street-scen.zip"),
        )
    )


@pytest.fixture
def store(tmp_path: Path, catalogue: Catalogue) -> MapStore:
    """An empty cache with the test catalogue."""
    return MapStore(tmp_path / "store", catalogue=catalogue)


@pytest.fixture
def served(
    site: dict[str, bytes], arena: bytes, make_zip: Callable[[dict[str, bytes]], bytes]
) -> dict[str, dict[str, bytes]]:
    """Both sets as the server offers them at first: archive to its files."""
    files = {
        "/dao/dao-map.zip": {"arena.map": arena, "other.map": b"type octile\nheight 1\nwidth 1\nmap\n.\n"},
        "/dao/dao-scen.zip": {"arena.map.scen": b"version 1\n"},
        "/street/street-map.zip": {"street-map/Town.map": b"type octile\r\nheight 1\r\nwidth 1\r\nmap\r\n.\r\n"},
        "/street/street-scen.zip": {"street-scen/Town.map.scen": b"version 1\n"},
    }
    site.update({path: make_zip(content) for path, content in files.items()})
    return files
