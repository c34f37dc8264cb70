"""Who may ask the studio's server for what, and what is written down about it.

A page from elsewhere that runs in the same browser must get nothing: not by a name that it has made to point to this
machine (``Host``), not by a form or a script of its own (``Origin``, ``Sec-Fetch-Site``, content types that a form
cannot send), not in a frame. Nothing of what is asked or answered is ever logged but the kind of request, how it ended
and how long it took. And no connection may be slow for ever.
"""

import asyncio
import hmac
import ipaddress
import logging
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

LOOPBACK = ("127.0.0.1", "localhost", "::1")
METHODS = ("GET", "POST", "DELETE")
BODY_TYPES = ("application/json", "application/octet-stream")
_MOST_URL = 2048
_MOST_HEADERS = 64
_MOST_AT_ONCE = 400
_HEADERS_S = 15.0
_LOOK_EVERY_S = 5.0
OUR_FAULT = "something went wrong on the server; its log says where"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
API_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
_PACKAGE = Path(__file__).parents[1]
_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"x-frame-options": b"DENY",
    b"permissions-policy": b"geolocation=(), camera=(), microphone=()",
}


class Refusal(Exception):  # noqa: N818
    """A request that is not answered: why not, in one line, and with which status."""

    def __init__(self, status: int, line: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(line)
        self.status, self.line, self.headers = status, line, dict(headers or {})


def allowed_hosts(host: str, port: int) -> frozenset[str]:
    """What the ``Host`` header may be for a server that listens there; addresses in numbers are judged apart."""
    names = set(LOOPBACK) if host in LOOPBACK else {host, *LOOPBACK}
    shown = {f"[{name}]" if ":" in name else name for name in names}
    return frozenset({f"{name}:{port}" for name in shown} | (shown if port == 80 else set()))


class Guard:
    """Stands before the application.

    Parameters
    ----------
    app
        What answers requests that may pass.
    hosts
        What the ``Host`` header may be.
    port
        Where the server listens.
    token
        What every request to ``/api`` must know; nothing where only this machine can ask.
    any_address
        Whether an address in numbers will do as ``Host``: no name can be made to point elsewhere by it.
    templates
        What the log calls the handlers of requests.
    log
        Where it is written down.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Collection[str],
        port: int,
        token: str | None,
        any_address: bool,
        templates: Mapping[Any, str],
        log: logging.Logger,
    ) -> None:
        self.app, self.hosts, self.port, self.token = app, frozenset(hosts), port, token
        self.any_address, self.templates, self.log = any_address, templates, log
        self._num_now = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        began, status = time.perf_counter(), 0
        has_begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal status, has_begun
            if message["type"] == "http.response.start":
                has_begun, status = True, message["status"]
                message["headers"] = _with_headers(message.get("headers", []), scope["path"])
            await send(message)

        self._num_now += 1
        try:
            self._check(scope)
            # Parts of files are not asked for, and looking for them in a hostile header takes time.
            scope["headers"] = [pair for pair in scope["headers"] if pair[0] not in (b"range", b"if-range")]
            scope["app"] = self.app  # then a method that is not answered is an exception, and not a page of its own
            await self.app(scope, receive, send_guarded)
        except Refusal as refusal:
            if not has_begun:
                await answer(send_guarded, refusal.status, refusal.line, refusal.headers)
        except HTTPException as error:
            if not has_begun:
                await answer(send_guarded, error.status_code, "this method is not answered here", error.headers or {})
        except Exception as error:
            self.log.error("%s at %s", type(error).__name__, _place(error))
            if not has_begun:
                await answer(send_guarded, 500, OUR_FAULT, {"Connection": "close"})
        finally:
            self._num_now -= 1
            self._write(scope, status, time.perf_counter() - began)

    def _write(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else "OTHER"
        template = self.templates.get(scope.get("endpoint"), "-")
        self.log.info("%s %s %d %.1f", method, template, status, 1000 * seconds)

    def _check(self, scope: Scope) -> None:
        headers = _Headers(scope["headers"])
        method, path = scope["method"], scope["path"]
        if method not in METHODS:
            raise Refusal(405, "this method is not answered", {"Allow": ", ".join(METHODS)})
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > _MOST_URL:
            raise Refusal(414, f"the address is longer than {_MOST_URL} signs")
        if len(scope["headers"]) > _MOST_HEADERS:
            raise Refusal(431, f"more than {_MOST_HEADERS} headers")
        host = headers.single("host")
        if host is None or not self._is_ours(host):
            raise Refusal(421, "this server does not go by that name; open the address that it printed")
        origin = headers.single("origin")
        # Our page asks the server that it came from: the same name, and not only one that could be ours.
        if origin is not None and origin.lower() != f"http://{host.lower()}":
            raise Refusal(403, "requests from other pages are not answered")
        self._check_fetch(headers, method, path)
        self._check_body(headers, method)
        if path.startswith("/api/") and self.token is not None:
            given = (headers.single("authorization") or "").encode()
            if not hmac.compare_digest(given, f"Bearer {self.token}".encode()):
                raise Refusal(401, "the token is missing or wrong; open the address that veilroute serve printed")
        if self._num_now > _MOST_AT_ONCE:
            raise Refusal(503, "too many requests at once; try again", {"Retry-After": "1"})

    def _is_ours(self, host: str) -> bool:
        if host.lower() in self.hosts:
            return True
        name, _, port = host.rpartition(":")
        if not self.any_address or port != str(self.port):
            return False
        try:
            ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return True

    def _check_fetch(self, headers: "_Headers", method: str, path: str) -> None:
        """Browsers say whose page asks; a link that somebody follows to the page itself may come from anywhere."""
        site = headers.single("sec-fetch-site")
        if site is None or site in ("same-origin", "none"):
            return
        is_visit = headers.single("sec-fetch-mode") == "navigate" and headers.single("sec-fetch-dest") == "document"
        if not (is_visit and method == "GET" and path == "/"):
            raise Refusal(403, "requests from other pages are not answered")

    def _check_body(self, headers: "_Headers", method: str) -> None:
        length, coding = headers.single("content-length"), headers.single("transfer-encoding")
        if length is not None and coding is not None:
            raise Refusal(400, "either a length or chunks, not both", {"Connection": "close"})
        if headers.single("content-encoding") not in (None, "identity"):
            raise Refusal(415, "contents are taken as they are, not compressed on the way", {"Connection": "close"})
        if method != "POST":
            if coding is not None or (length or "0") != "0":
                raise Refusal(400, "a request of this kind has no body", {"Connection": "close"})
            return
        kind = (headers.single("content-type") or "").split(";")[0].strip().lower()
        if kind not in BODY_TYPES:
            raise Refusal(415, f"the content type must be {' or '.join(BODY_TYPES)}", {"Connection": "close"})


class _Headers:
    """The headers of a request, of which those that matter here may come once only."""

    def __init__(self, pairs: Collection[tuple[bytes, bytes]]) -> None:
        self.pairs = pairs

    def single(self, name: str) -> str | None:
        found = [value for key, value in self.pairs if key == name.encode()]
        if len(found) > 1:
            raise Refusal(400, f"more than one header {name}", {"Connection": "close"})
        return found[0].decode("latin-1") if found else None


def _with_headers(given: Collection[tuple[bytes, bytes]], path: str) -> list[tuple[bytes, bytes]]:
    headers = dict(_HEADERS)
    headers[b"content-security-policy"] = (API_POLICY if path.startswith("/api") else POLICY).encode()
    headers[b"cache-control"] = b"no-store" if path.startswith("/api") else b"no-cache"
    names = {name.lower() for name, _ in given}
    return [*given, *((name, value) for name, value in headers.items() if name not in names)]


async def answer(send: Callable[[Message], Any], status: int, line: str, headers: Mapping[str, str]) -> None:
    """Answer with one line about what is wrong."""
    body = orjson.dumps({"error": line})
    pairs = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    pairs += [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


def _place(error: Exception) -> str:
    """Where an error was raised: file and line, and nothing of what it is about."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)] or frames
    if not ours:
        return "an unknown place"
    name = ours[-1].filename.replace("\\", "/").rsplit("/", 2)
    return f"{'/'.join(name[-2:])}:{ours[-1].lineno}"


class PatientProtocol(H11Protocol):
    """A connection that is closed when a request takes too long to arrive.

    The library below closes a connection on which nothing more is asked. What it does not do is to close one on which a
    request never comes to the end of its headers, which is how a few clients could keep all others out.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch."""
        super().connection_made(transport)
        self._answered: Any = None
        self._idle_since = self.loop.time()
        self._look_timer = self.loop.call_later(_LOOK_EVERY_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch no more."""
        self._look_timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close the connection when nothing is being answered, and nothing was, for too long."""
        now = self.loop.time()
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering or self.cycle is not self._answered:
            self._answered, self._idle_since = self.cycle, now
        if now - self._idle_since > _HEADERS_S:
            self.transport.close()
            return
        self._look_timer = self.loop.call_later(_LOOK_EVERY_S, self._look)
