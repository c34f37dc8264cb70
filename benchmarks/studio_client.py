"""A studio's server in a process of its own, and a plain client of it; for its tests and for ``studio.py``."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

SECRET = "5ecret-Customer"  # stands where somebody could put a secret; no log may have it
FINAL = ("done", "failed", "cancelled", "killed")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """`veilroute serve` on any free port, with its data in a folder."""

    def __init__(self, data: Path, *options: str) -> None:
        self.data, self.options = data, options
        self.process: subprocess.Popen[str] | None = None
        self.url, self.port, self.token = "", 0, ""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Self:
        argv = [sys.executable, "-m", "veilroute", "serve", "--port", "0", "--data", str(self.data), *self.options]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("Studio: "):
            _, error = self.process.communicate()
            raise RuntimeError(line + error)
        self.url = line.removeprefix("Studio: ").strip()
        self.port = int(self.url.split("/#")[0].rstrip("/").rsplit(":", 1)[1])
        self.token = self.url.partition("#token=")[2]
        # The socket listens before the first request is answered: whoever asks waits.
        self.process.stdout.readline()
        return self

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def stop(self) -> tuple[int, str]:
        """End it as Ctrl-C does; its exit code and what it said on standard error."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        _, error = self.process.communicate(timeout=60)
        return self.process.returncode, error

    def kill(self) -> None:
        """End it without any warning."""
        assert self.process is not None
        self.process.kill()
        self.process.communicate()

    def workers(self) -> list[int]:
        """The ids of its worker processes."""
        text = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii")
        return [int(word) for word in text.split()]

    def connect(self, timeout: float = 120) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None, timeout: float = 120
    ) -> Answer:
        """Ask for something on a connection of its own; what is no bytes is sent as JSON."""
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        given = {"Content-Type": "application/json"} if method == "POST" else {}
        if self.token:
            given["Authorization"] = f"Bearer {self.token}"
        connection = self.connect(timeout)
        try:
            connection.request(method, path, sent, given | (headers or {}))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def upload(self, name: str, content: bytes) -> Answer:
        from urllib.parse import quote

        kind = {"Content-Type": "application/octet-stream"}
        return self.ask("POST", f"/api/files?name={quote(name, safe='')}", content, kind)

    def file(self, name: str, content: bytes) -> str:
        """Upload a file that is taken; its id."""
        answer = self.upload(name, content)
        assert answer.status == 201, answer.body
        return str(answer.json["id"])

    def submit(self, kind: str, key: str | None = None, **params: Any) -> Answer:
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.ask("POST", "/api/jobs", {"kind": kind, "params": params}, headers)

    def job(self, id_: str) -> dict[str, Any]:
        answer = self.ask("GET", f"/api/jobs/{id_}")
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.json
        return found

    def events(self, id_: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The events of a job, until its stream ends."""
        connection = self.connect()
        try:
            headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
            connection.request("GET", f"/api/jobs/{id_}/events", headers=headers)
            name = ""
            for raw in connection.getresponse():
                line = raw.decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield name, json.loads(line.removeprefix("data: "))
        finally:
            connection.close()

    def run(self, kind: str, **params: Any) -> dict[str, Any]:
        """Submit a job, wait for its end, and give it as it is then."""
        answer = self.submit(kind, **params)
        assert answer.status == 202, answer.body
        return self.wait(answer.json["id"])

    def wait(self, id_: str) -> dict[str, Any]:
        while True:
            for name, data in self.events(id_):
                if name == "state" and data["state"] in FINAL:
                    return data
            time.sleep(0.05)

    def result(self, id_: str, name: str) -> Any:
        answer = self.ask("GET", f"/api/jobs/{id_}/results/{name}")
        assert answer.status == 200, answer.body
        return answer.json

    def log(self) -> str:
        return (self.data / "studio.log").read_text(encoding="utf-8")


def endings(data: Path) -> dict[str, list[tuple[int, str]]]:
    """How the attempts at each job ended, from the data folder itself."""
    found: dict[str, list[tuple[int, str]]] = {}
    with sqlite3.connect(data / "studio.sqlite") as db:
        for job, attempt, state in db.execute("SELECT job, attempt, state FROM endings ORDER BY job, attempt"):
            found.setdefault(job, []).append((attempt, state))
    db.close()
    return found


def rss_mb(pid: int) -> float:
    """How much memory a process has, in MB; 0 when it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def fuzz(server: Server, book: str, num_calls: int, *, seed: int) -> None:
    """Send calls that are nearly right: every one is answered, and none of them brings a fault of the server about."""
    rng = random.Random(seed)
    odd: list[object] = [
        None, True, -1, 0, 10**30, 1e308, "", "x" * 400, [], {}, [[[]]], "NaN", "\u2028", "../x", "-o", {"a": 1},
        SECRET, [None], "0" * 16, f"{'0' * 16}/plan.json", book, 2, "2,2", ["2,2"], {"k": 2},
    ]  # fmt: skip
    kinds = ["open", "plan", "audit", "risk", "frontier", "replan", "fleet", "linked", "export", "route", 7, None]
    names = ["source", "options", "playbook", "k", "class", "at", "closed", "format", "touched", "vehicles", "ledger"]
    raw = [b"", b"{", b"[" * 5000, b'{"kind":1,"kind":2}', b"\xff\xfe", b'{"kind":NaN}', b'{"kind": 1e999}', b"null"]
    raw += [b'{"kind": "plan", "params": {"source": ' + b"9" * 5000 + b"}}", b'"' + b"\\u0000" * 100 + b'"']
    paths = ["/api/jobs", "/api/files", "/api/files?name=%ff%00", "/api/jobs/%ff", "/api/jobs/" + "f" * 16]
    paths += [f"/api/jobs/{'a' * 16}/{end}" for end in ("events", "cancel", "resume", "results/x.json", "results/")]
    for number in range(num_calls):
        if rng.random() < 0.4:
            params = {rng.choice(names): rng.choice(odd) for _ in range(rng.randrange(4))}
            body: object = {"kind": rng.choice(kinds), "params": params if rng.random() < 0.9 else rng.choice(odd)}
            method, path = "POST", "/api/jobs"
        else:
            method, path = rng.choice(["GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS"]), rng.choice(paths)
            body = rng.choice(raw) if method == "POST" else None
        headers = {}
        if rng.random() < 0.2:
            name = rng.choice(["Host", "Origin", "Content-Type", "Idempotency-Key", "Authorization", "Range", "Accept"])
            headers[name] = rng.choice(["", "x", SECRET, "bytes=5-1", "http://evil.example", "*/*", "a" * 3000])
        answer = server.ask(method, path, body, headers)
        assert answer.status < 500, (number, method, path, body, headers, answer)
        assert b"Traceback" not in answer.body
        if answer.status >= 400 and method != "HEAD" and answer.body != b"Invalid HTTP request received.":
            assert list(answer.json) == ["error"], answer
        if answer.status == 202 and "id" in answer.json:
            server.ask("POST", f"/api/jobs/{answer.json['id']}/cancel")
