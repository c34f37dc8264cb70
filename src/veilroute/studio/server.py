"""The studio's HTTP server: the page, and ``/api`` for files and jobs.

Handlers do no work of their own that takes long: they ask the store, queue jobs, and send files.
"""

import asyncio
import hashlib
import logging
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from veilroute import __version__
from veilroute.base.errors import InvalidInputError, VeilrouteError
from veilroute.base.io import parse_json
from veilroute.studio.api import ID, RESULT, ROUTES, openapi
from veilroute.studio.files import classify, clean_name
from veilroute.studio.guard import LOOPBACK, Guard, Refusal, allowed_hosts
from veilroute.studio.jobs import Limits, Supervisor
from veilroute.studio.store import Job, Store, StoredFile

MOST_JSON = 4 * 2**20  #: bytes of a request that is JSON
_CHUNK_S = 30.0  # the longest silence of who sends a body
_BODY_S = 3600.0
_DRAIN_S = 10.0
_MOST_DRAINED = 4 * 2**30
_PING_S = 15.0
_STREAM_S = 3600.0
_LEAST_FREE = 256 * 2**20
_LOOK_EVERY = 16 * 2**20
_MOST_UPLOADS = 8
_KEY = 512

_TYPES = {
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon", ".json": "application/json",
    ".txt": "text/plain; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".geojson": "application/geo+json",
    ".gpx": "application/gpx+xml", ".kml": "application/vnd.google-earth.kml+xml", ".pdf": "application/pdf",
}  # fmt: skip
_WEB = (("veilroute.plotting", "web"), ("veilroute.studio", "web"))
_PAGE = "studio.html"


@dataclass(frozen=True)
class Settings:
    """Where a server listens and for whom."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    is_demo: bool = False


def web_files() -> dict[str, Traversable]:
    """The files of the page, by name."""
    found: dict[str, Traversable] = {}
    for package, folder in _WEB:
        place = resources.files(package) / folder
        if place.is_dir():
            found |= {one.name: one for one in place.iterdir() if one.is_file() and _suffix(one.name) in _TYPES}
    return found


def _suffix(name: str) -> str:
    return Path(name).suffix.lower()


class Studio:
    """The handlers.

    Parameters
    ----------
    store
        Files and jobs.
    limits
        How much is taken on.
    command
        How a worker is started.
    settings
        Where the server listens.
    log
        Where requests are written down.
    """

    def __init__(
        self, store: Store, limits: Limits, command: Sequence[str], settings: Settings, log: logging.Logger
    ) -> None:
        self.store, self.limits, self.settings, self.log = store, limits, settings, log
        self.jobs = Supervisor(store, limits, command, log)
        self._num_uploads = 0
        self.web = web_files()

    def app(self) -> ASGIApp:
        """The application, with the guard before it."""
        handlers: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
            ("GET", "/", self.page),
            ("GET", "/static/{name}", self.static),
            *((method, path, getattr(self, name)) for method, path, name, *_ in ROUTES),
        ]
        routes = [Route(path, handler, methods=[method]) for method, path, handler in handlers]

        @asynccontextmanager
        async def lifespan(_: object) -> AsyncIterator[None]:
            await self.jobs.start()
            try:
                yield
            finally:
                await self.jobs.stop()

        async def not_found(*_: object) -> None:
            raise Refusal(404, "there is nothing at this address")

        router = Router(routes, redirect_slashes=False, default=not_found, lifespan=lifespan)
        settings = self.settings
        return Guard(
            router,
            hosts=allowed_hosts(settings.host, settings.port),
            port=settings.port,
            token=settings.token,
            any_address=settings.host not in LOOPBACK,
            templates={handler: path for _, path, handler in handlers},
            log=self.log,
        )

    # The page

    async def page(self, request: Request) -> Response:
        """The page itself."""
        return self._web(request, _PAGE)

    async def static(self, request: Request) -> Response:
        """A file of the page."""
        return self._web(request, request.path_params["name"])

    def _web(self, request: Request, name: str) -> Response:
        place = self.web.get(name)
        if place is None:
            raise Refusal(404, "there is no page of that name")
        body = place.read_bytes()
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        headers = {"ETag": etag}
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers | {"Content-Type": _TYPES[_suffix(name)]})

    async def about(self, _: Request) -> Response:
        """What this server is."""
        limits = self.limits
        shown = {
            "workers": limits.workers, "queue": limits.queue, "memory_mb": limits.memory // 2**20,
            "time_limit_s": limits.time_s, "upload_mb": limits.upload // 2**20, "files": limits.files,
            "jobs": limits.jobs,
        }  # fmt: skip
        usage = self.store.usage()
        return _json({"version": __version__, "limits": shown, "demo": self.settings.is_demo, "files": usage["files"]})

    async def described(self, _: Request) -> Response:
        """The description of this interface."""
        return _json(openapi())

    # Files

    async def list_files(self, _: Request) -> Response:
        """All files."""
        return _json({"files": [file.to_dict() for file in self.store.files()]})

    async def upload(self, request: Request) -> Response:
        """Take a file in, as it is sent."""
        if self._num_uploads >= _MOST_UPLOADS:
            raise Refusal(503, "too many files are being sent at once; try again", {"Retry-After": "2"})
        self._num_uploads += 1
        try:
            return await self._take(request)
        except Refusal:
            await _drain(request)
            raise
        finally:
            self._num_uploads -= 1

    async def _take(self, request: Request) -> Response:
        self._check_room(request)
        usage = self.store.usage()
        if usage["files"] >= self.limits.files:
            raise Refusal(507, f"{self.limits.files} files are kept, and no more; remove some", {"Connection": "close"})
        name = clean_name(request.query_params.get("name", ""))
        path = self.store.folder / "incoming" / os.urandom(8).hex()
        try:
            digest = await self._receive(request, path, min(self.limits.upload, self.limits.disk - usage["bytes"]))
            kind, suffix = await asyncio.to_thread(classify, path, name)
            file = await asyncio.to_thread(self.store.add_file, path, name, kind, suffix, digest)
        except InvalidInputError as error:
            raise Refusal(422, str(error)) from None
        except OSError:
            raise Refusal(507, "the disk is full, or cannot be written to", {"Connection": "close"}) from None
        finally:
            path.unlink(missing_ok=True)
        return _json(file.to_dict(), 201)

    def _check_room(self, request: Request) -> None:
        if self._is_full():
            raise Refusal(507, "the disk is nearly full", {"Connection": "close"})
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or len(length) > 15 or int(length) > self.limits.upload:
            raise Refusal(413, f"a file has at most {self.limits.upload:,} bytes", {"Connection": "close"})

    def _is_full(self) -> bool:
        return shutil.disk_usage(self.store.folder).free < _LEAST_FREE

    async def _receive(self, request: Request, path: Path, most: int) -> str:
        """Write a body to a file, and give its hash."""
        digest, size = hashlib.sha256(), 0
        with path.open("xb") as file:
            async for chunk in _body(request):
                size += len(chunk)
                if size > most:
                    raise Refusal(413, f"a file has at most {most:,} bytes here", {"Connection": "close"})
                if size // _LOOK_EVERY != (size - len(chunk)) // _LOOK_EVERY and self._is_full():
                    raise Refusal(507, "the disk is nearly full", {"Connection": "close"})
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            await asyncio.to_thread(os.fsync, file.fileno())
        return digest.hexdigest()

    def _file(self, request: Request) -> StoredFile:
        id_ = request.path_params["id"]
        file = self.store.file(id_) if ID.fullmatch(id_) else None
        if file is None:
            raise Refusal(404, "there is no such file")
        return file

    async def download(self, request: Request) -> Response:
        """A file as it came."""
        file = self._file(request)
        return _attachment(self.store.file_path(file.id), f"{file.kind}{file.suffix}", "application/octet-stream")

    async def remove_file(self, request: Request) -> Response:
        """Forget a file."""
        self.store.remove_file(self._file(request).id)
        return Response(status_code=204)

    # Jobs

    async def list_jobs(self, _: Request) -> Response:
        """The last jobs, the newest first, without lists among their parameters."""
        return _json({"jobs": [self.jobs.describe(job, is_brief=True) for job in self.store.jobs()]})

    async def submit(self, request: Request) -> Response:
        """Queue a job."""
        data = await _read_json(request)
        if not isinstance(data, dict) or not {"kind", "params"} >= set(data) >= {"kind"}:
            raise Refusal(422, "expected an object with kind and params, and nothing else")
        key = request.headers.get("idempotency-key")
        if key is not None and not (0 < len(key) <= _KEY and key.isascii() and key.isprintable()):
            raise Refusal(422, f"Idempotency-Key: expected 1 to {_KEY} printable signs")
        usage = self.store.usage()
        if usage["jobs"] >= self.limits.jobs or usage["bytes"] >= self.limits.disk or self._is_full():
            raise Refusal(507, "as many jobs and results are kept as may be; remove some")
        try:
            kind, params = data["kind"], data.get("params", {})
            job = self.jobs.submit(kind, params, key)
        except VeilrouteError as error:
            raise Refusal(422, str(error).replace("\n", "; ")) from None
        if job is None:
            line = f"the queue is full: {self.limits.queue} jobs wait; try again when some are done"
            raise Refusal(429, line, {"Retry-After": "1"})
        if (job.kind, job.params) != (kind, params):
            raise Refusal(409, "this Idempotency-Key was used for another job")
        return _json(self.jobs.describe(job), 202, {"Location": f"/api/jobs/{job.id}"})

    def _job(self, request: Request) -> Job:
        id_ = request.path_params["id"]
        job = self.store.job(id_) if ID.fullmatch(id_) else None
        if job is None:
            raise Refusal(404, "there is no such job")
        return job

    async def show_job(self, request: Request) -> Response:
        """One job."""
        return _json(self.jobs.describe(self._job(request)))

    async def remove_job(self, request: Request) -> Response:
        """Forget a job that is not running."""
        if not await asyncio.to_thread(self.store.remove_job, self._job(request)):
            raise Refusal(409, "the job is running; cancel it first")
        return Response(status_code=204)

    async def cancel(self, request: Request) -> Response:
        """End a job, with the best so far."""
        job = await self.jobs.cancel(self._job(request))
        if job is None:
            raise Refusal(409, "the job has changed meanwhile")
        return _json(self.jobs.describe(job), 202)

    async def resume(self, request: Request) -> Response:
        """Begin a job anew that did not come to its end."""
        job = self.jobs.resume(self._job(request))
        if job is None:
            raise Refusal(409, "only jobs that failed, were cancelled or were killed can be resumed")
        return _json(self.jobs.describe(job), 202)

    async def result(self, request: Request) -> Response:
        """A result of a job."""
        job, name = self._job(request), request.path_params["name"]
        path = self.store.result_path(job, name) if RESULT.fullmatch(name) else None
        if path is None:
            raise Refusal(404, "the job has no such result, or not yet")
        return _attachment(path, name, _TYPES.get(_suffix(name), "application/octet-stream"))

    async def events(self, request: Request) -> Response:
        """What happens to a job, as it happens."""
        job = self._job(request)
        if self.jobs.num_listeners >= self.limits.streams:
            raise Refusal(503, "too many event streams at once; close a page", {"Retry-After": "5"})
        return StreamingResponse(self._stream(job.id), media_type="text/event-stream")

    async def _stream(self, id_: str) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        until = loop.time() + _STREAM_S
        listener = self.jobs.listen(id_)
        try:
            job = self.store.job(id_)
            if job is None:
                return
            yield _event("state", self.jobs.describe(job))
            is_over = job.is_final
            while not is_over and loop.time() < until and not self.jobs.is_closing:
                try:
                    event, data = await asyncio.wait_for(listener.get(), _PING_S)
                except TimeoutError:
                    yield b": ping\n\n"
                    continue
                if event == "close":
                    return
                yield _event(event, data)
                is_over = event == "state" and data["state"] in ("done", "failed", "cancelled", "killed")
        finally:
            self.jobs.forget(id_, listener)


def _event(name: str, data: Mapping[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"


def _json(data: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(orjson.dumps(data), status, headers, "application/json")


def _attachment(path: Path, name: str, kind: str) -> Response:
    """A file that a browser saves and never shows: what is in it came from who knows where."""
    disposition = f'attachment; filename="{name}"'
    return FileResponse(path, headers={"Content-Disposition": disposition, "Content-Type": kind})


async def _body(request: Request) -> AsyncIterator[bytes]:
    """The body of a request, piece by piece, from somebody who must not be too slow."""
    stream = request.stream()
    try:
        async with asyncio.timeout(_BODY_S):
            while True:
                try:
                    async with asyncio.timeout(_CHUNK_S):
                        chunk = await anext(stream)
                except StopAsyncIteration:
                    request.state.is_read = True
                    return
                if chunk:
                    yield chunk
    except TimeoutError:
        raise Refusal(408, "the request came too slowly", {"Connection": "close"}) from None
    except ClientDisconnect:
        raise Refusal(400, "the request did not come to its end", {"Connection": "close"}) from None
    finally:
        with suppress(RuntimeError):
            await stream.aclose()


async def _drain(request: Request) -> None:
    """Let a client finish what it sends, within reason: who is still sending does not hear an answer."""
    length = request.headers.get("content-length", "")
    if (
        getattr(request.state, "is_read", False)
        or not length.isdigit()
        or len(length) > 15
        or int(length) > _MOST_DRAINED
    ):
        return
    with suppress(TimeoutError, RuntimeError):
        async with asyncio.timeout(_DRAIN_S):
            while True:
                message = await request.receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return


async def _read_json(request: Request) -> Any:
    raw = bytearray()
    async for chunk in _body(request):
        raw += chunk
        if len(raw) > MOST_JSON:
            raise Refusal(413, f"a request has at most {MOST_JSON:,} bytes", {"Connection": "close"})
    try:
        return parse_json(bytes(raw), "request")
    except VeilrouteError as error:
        raise Refusal(422, str(error)) from None
