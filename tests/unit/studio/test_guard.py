"""Who may ask, and what is said and written down when something goes wrong."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from veilroute.studio import OUR_FAULT, Guard, allowed_hosts


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"] == "/fault":
        raise RuntimeError("what nobody may read")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


def ask(
    headers: dict[str, str] | None = None, path: str = "/api/x", method: str = "GET", **options: Any
) -> tuple[int, dict[str, str], bytes]:
    given = {"host": "127.0.0.1:8765", **(headers or {})}
    scope: Scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }  # fmt: skip
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    settings: dict[str, Any] = {"token": None, "any_address": False, **options}
    guard = Guard(
        hello, hosts=allowed_hosts("127.0.0.1", 8765), port=8765, templates={}, log=logging.getLogger("guard"),
        **settings,
    )  # fmt: skip
    asyncio.run(guard(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(message.get("body", b"") for message in sent)


@pytest.mark.parametrize(
    ("status", "hosts"),
    [
        (200, ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765", "[::1]:8765"]),
        (421, ["127.0.0.1", "127.0.0.1:80", "evil.example:8765", "127.0.0.1.evil.example:8765", "", "10.0.0.7:8765"]),
    ],
)
def test_names_of_this_machine_and_others(status: int, hosts: list[str]) -> None:
    assert {host: ask({"host": host})[0] for host in hosts} == dict.fromkeys(hosts, status)


def test_with_a_token_an_address_in_numbers_will_do() -> None:
    right = {"authorization": "Bearer abc"}
    assert ask({"host": "10.0.0.7:8765", **right}, token="abc", any_address=True)[0] == 200
    assert ask({"host": "evil.example:8765", **right}, token="abc", any_address=True)[0] == 421
    assert ask({"host": "10.0.0.7:1", **right}, token="abc", any_address=True)[0] == 421
    for given in ({}, {"authorization": "abc"}, {"authorization": "Bearer abd"}, {"authorization": "Bearer é"}):
        assert ask(given, token="abc")[0] == 401
        assert ask(given, token="abc", path="/")[0] == 200  # the page itself knows nothing


def test_a_link_from_elsewhere_opens_the_page_and_nothing_else() -> None:
    visit = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert ask(visit, path="/")[0] == 200
    assert ask(visit)[0] == 403
    assert ask({**visit, "sec-fetch-dest": "iframe"}, path="/")[0] == 403
    assert ask({**visit, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}, path="/static/api.js")[0] == 403


def test_a_page_asks_the_server_that_it_came_from() -> None:
    assert ask({"origin": "http://127.0.0.1:8765"})[0] == 200
    # Another user's server may stand behind the machine's other names.
    for origin in ("http://localhost:8765", "http://[::1]:8765", "http://127.0.0.1", "https://127.0.0.1:8765"):
        assert ask({"origin": origin})[0] == 403
    right = {"authorization": "Bearer abc", "host": "10.0.0.7:8765"}
    assert ask({**right, "origin": "http://10.0.0.7:8765"}, token="abc", any_address=True)[0] == 200
    assert ask({**right, "origin": "http://10.0.0.8:8765"}, token="abc", any_address=True)[0] == 403


def test_what_a_form_can_send_is_not_taken() -> None:
    assert ask({"content-type": "application/json; charset=utf-8"}, method="POST")[0] == 200
    for kind in ("text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", ""):
        assert ask({"content-type": kind}, method="POST")[0] == 415
    assert ask({"content-length": "3"})[0] == 400


def test_every_answer_has_the_headers_that_keep_browsers_strict() -> None:
    for path, headers in (("/", {}), ("/api/x", {}), ("/api/x", {"host": "evil"}), ("/fault", {})):
        found = ask(headers, path=path)[1]
        assert found["x-content-type-options"] == "nosniff"
        assert found["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in found["content-security-policy"]
        assert "frame-ancestors 'none'" in found["content-security-policy"]
        assert found["cache-control"] == ("no-store" if path.startswith("/api") else "no-cache")


def test_a_fault_is_a_fixed_sentence_and_a_place_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "guard"):
        status, _, body = ask(path="/fault")
    assert (status, json.loads(body)) == (500, {"error": OUR_FAULT})
    assert "RuntimeError at studio/guard.py" in caplog.text
    assert "what nobody may read" not in caplog.text
