"""A local web server that can be told to misbehave, and small archives of maps to serve."""

from __future__ import annotations

import io
import random
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from veilroute.maps import Catalogue, MapSet, hash_text


def _arena() -> bytes:
    draw = random.Random(7)
    rows = ["".join(draw.choice("..@T") for _ in range(120)) for _ in range(80)]
    return "\n".join(["type octile", "height 80", "width 120", "map", *rows, ""]).encode()


ARENA = _arena()
"""A map with LF line ends whose text the test catalogue pins as ``arena.map``."""
CATALOGUE = Catalogue(
    (
        MapSet("dao", "dao/dao-map.zip", "dao/dao-scen.zip", {"arena.map": hash_text(ARENA)}),
        MapSet("street", "street/street-map.zip", "street/street-scen.zip"),
    )
)
"""Two sets; only ``arena.map`` of the first is pinned."""
TINY = b"type octile\r\nheight 1\r\nwidth 1\r\nmap\r\n.\r\n"
OFFERED = {
    "/dao/dao-map.zip": {"arena.map": ARENA, "other.map": TINY},
    "/dao/dao-scen.zip": {"arena.map.scen": b"version 1\n"},
    "/street/street-map.zip": {"street-map/Town.map": TINY},
    "/street/street-scen.zip": {"street-scen/Town.map.scen": b"version 1\n"},
}
"""Both sets as the server offers them at first: archive to its files."""


def make_zip(files: Mapping[str, bytes]) -> bytes:
    """Pack files, uncompressed so that one wrong byte stays one wrong byte."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


class MapServer(ThreadingHTTPServer):
    """Serves a site; ``faults`` are words on how to misbehave at the next requests, ``habits`` at every request."""

    # Not daemons, so that closing the server waits for its threads and no test leaves one behind.
    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.site = {path: make_zip(content) for path, content in OFFERED.items()}
        self.faults: list[str] = []
        self.habits: set[str] = set()
        #: The requests so far: ``path``, ``range`` and the number of bytes ``sent``.
        self.seen: list[dict[str, str]] = []
        self.released = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is part of the game."""

    def asked(self, name: str = "path") -> list[str]:
        """One entry of each request so far."""
        return [record[name] for record in self.seen]


class _Handler(BaseHTTPRequestHandler):
    server: MapServer

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        server = self.server
        words = set(server.habits)
        if server.faults:
            words |= set(server.faults.pop(0).split())
        record = {"path": self.path, "range": self.headers.get("Range", ""), "sent": "0"}
        server.seen.append(record)
        status = next((int(word) for word in words if word.isdigit()), 0)
        elsewhere = next((word for word in words if word.startswith(("/", "http:", "file:"))), "")
        body = server.site.get(self.path)
        if elsewhere:
            self.send_response(status)
            self.send_header("Location", elsewhere)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif status or body is None:
            self.send_error(status or 404)
        else:
            self._serve(body, words, record)

    def _serve(self, body: bytes, words: set[str], record: dict[str, str]) -> None:
        etag = f'"{hash_text(body)[:8]}"'
        first = 0
        wanted, condition = record["range"], self.headers.get("If-Range", "")
        is_current = not condition or condition == etag or "ignore-if-range" in words
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
            self.send_header("Content-Length", str(len(payload)))
        if "no-validator" not in words:
            self.send_header("ETag", etag)
        self.end_headers()
        if words & {"drop", "stall"}:
            payload = payload[: len(payload) // 2]
        record["sent"] = str(len(payload))
        self.wfile.write(payload)
        self.wfile.flush()
        if "stall" in words:
            self.server.released.wait(10)


@contextmanager
def running_server() -> Iterator[MapServer]:
    """The server, until the block ends."""
    with MapServer() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield running
        finally:
            running.released.set()
            running.shutdown()
            thread.join()
