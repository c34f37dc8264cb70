"""The queue of jobs and the worker processes that take them from it.

Each worker has a task of the server's event loop that gives it one job after the other, passes on what it reports, and
watches its memory and its time. A worker that dies takes its job's attempt with it, and nothing else.
"""

import asyncio
import logging
import os
import re
import shutil
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from veilroute.base.errors import InvalidInputError, VeilrouteError, one_line
from veilroute.studio.api import REF, Asked, plain, read_job
from veilroute.studio.files import clean_name
from veilroute.studio.store import RESUMABLE, Job, Store

_LINE = 2**20
_WATCH_EVERY_S = 0.25
_AFTER_SCENE_S = 4.0
_MOST_REMARKS = 50
_MOST_WAITING = 256
_QUOTED = re.compile(r"`([a-z_]+)`")  # keys of requests, within a sentence
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

Event = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Limits:
    """How much the studio takes on."""

    workers: int = 2
    queue: int = 100  #: jobs that may wait
    memory: int = 4 * 2**30  #: bytes of one worker
    time_s: float = 3600.0  #: of one job
    upload: int = 512 * 2**20  #: bytes of one file
    files: int = 1000
    jobs: int = 10_000
    disk: int = 16 * 2**30  #: bytes of all files and results
    streams: int = 64  #: event streams at once
    grace_s: float = 20.0  #: from being asked to end until being made to
    jobs_per_worker: int = 200


@dataclass
class _Running:
    """A job that a worker has in hand."""

    job: Job
    began: float = field(default_factory=time.monotonic)
    progress: dict[str, Any] | None = None
    has_begun: bool = False
    cancel_asked: float | None = None
    num_signals: int = 0
    verdict: str | None = None  #: why the server ended the worker
    remarks: list[str] = field(default_factory=list)  #: what the job has to say that is no error
    names: dict[str, str] = field(default_factory=dict)  #: what its owner calls each file that the worker has

    def remark(self, line: str) -> None:
        """Keep a line, once."""
        line = self.named(line)
        if line not in self.remarks:
            self.remarks = [*self.remarks, line][-_MOST_REMARKS:]

    def named(self, line: str) -> str:
        """A line with files called as their owner calls them, in plain words."""
        for alias, name in self.names.items():
            line = line.replace(alias, name)
        return one_line(_QUOTED.sub(r"\1", line))


class Worker:
    """A worker process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.num_jobs = 0

    @classmethod
    async def start(cls, command: Sequence[str], memory: int) -> "Worker":
        """Start one; it takes jobs at once, and runs them when it has warmed up."""
        process = await asyncio.create_subprocess_exec(
            *command, str(memory), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL, limit=_LINE, start_new_session=True,
        )  # fmt: skip
        return cls(process)

    @property
    def is_alive(self) -> bool:
        """Whether it can be given a job."""
        return self.process.returncode is None

    def give(self, message: dict[str, Any]) -> None:
        """Give it a job."""
        assert self.process.stdin is not None
        self.num_jobs += 1
        self.process.stdin.write(orjson.dumps(message) + b"\n")

    async def reports(self) -> AsyncIterator[dict[str, Any]]:
        """What it reports, until it ends."""
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            with suppress(orjson.JSONDecodeError):
                yield orjson.loads(line)

    def signal(self, number: int) -> None:
        """Send it a signal, if it is there."""
        with suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def end(self) -> None:
        """End it and wait until it is gone."""
        self.signal(signal.SIGKILL)
        await self.process.wait()

    def rss(self) -> int:
        """The bytes of memory that it has; 0 where the system does not say."""
        try:
            return int(Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
        except (OSError, ValueError, IndexError):
            return 0


class Supervisor:
    """Takes jobs from the queue, has workers run them, and tells who listens.

    Parameters
    ----------
    store
        Files and jobs.
    limits
        How much is taken on.
    command
        How a worker is started; the bound of its memory is put behind.
    log
        Where faults are written down.
    """

    def __init__(self, store: Store, limits: Limits, command: Sequence[str], log: logging.Logger) -> None:
        self.store, self.limits, self.command, self.log = store, limits, tuple(command), log
        self._running: dict[str, tuple[Worker | None, _Running]] = {}
        self._in_hand: dict[int, Job] = {}
        self._listeners: dict[str, set[asyncio.Queue[Event]]] = {}
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.peak_rss = 0
        self.is_closing = False

    async def start(self) -> None:
        """Queue what was interrupted, and begin to work."""
        self.store.requeue_interrupted()
        self._tasks = [asyncio.create_task(self._serve_forever(number)) for number in range(self.limits.workers)]

    async def stop(self) -> None:
        """End all workers; their jobs are queued again when the next server starts."""
        self.is_closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for queues in self._listeners.values():
            for listener in queues:
                with suppress(asyncio.QueueFull):
                    listener.put_nowait(("close", {}))

    # What the server asks for

    def submit(self, kind: object, params: object, key: str | None) -> Job | None:
        """Queue a job that was asked for; nothing where the queue is full."""
        asked = self._read(kind, params)
        assert isinstance(params, dict)  # which was just checked
        job = self.store.add_job(asked.kind, params, self._key(asked, key), self.limits.queue)
        self._wake.set()
        return job

    def _read(self, kind: object, params: object) -> Asked:
        return read_job(kind, params, self.kind_of, self._suffix_of, self.limits.time_s)

    def _key(self, asked: Asked, key: str | None) -> str | None:
        """A client's key, with how far the jobs have come whose results are asked about.

        A job that goes on, or is resumed, has other results under the same names: an audit or an export of those that
        it had before must not be taken for one of those that it has now.
        """
        if key is None:
            return None
        named = [self.store.job(one.ref.split("/")[0]) for one in asked.inputs if "/" in one.ref]
        return " ".join([key, *(f"{job.attempt}.{job.state}" for job in named if job is not None)])

    def resume(self, job: Job) -> Job | None:
        """Queue a job again that failed, was cancelled or was killed."""
        if job.state not in RESUMABLE:
            return None
        found = self.store.resume(job)
        if found is not None:
            self._tell_state(found)
            self._wake.set()
        return found

    async def cancel(self, job: Job) -> Job | None:
        """Ask a job to end with the best so far; a second time, to end at once."""
        if job.state == "queued":
            found = await asyncio.to_thread(self.store.finish, job, "cancelled")
            if found is not None:
                self._tell_state(found)
                return found
            # A worker has taken it meanwhile.
        worker, running = self._running.get(job.id, (None, None))
        if running is None:
            return self.store.job(job.id)
        if running.cancel_asked is None:
            running.cancel_asked = time.monotonic()
        elif worker is not None and running.has_begun:
            self._interrupt(worker, running)
        return self.store.job(job.id)

    def describe(self, job: Job, *, is_brief: bool = False) -> dict[str, Any]:
        """A job as clients see it; in brief without lists and what belongs to parts."""
        _, running = self._running.get(job.id, (None, None))
        values = job.to_dict()
        if is_brief:
            values["params"] = {key: one for key, one in job.params.items() if not isinstance(one, dict | list)}
        values["results"] = list(self.store.results_of(job))
        values["progress"] = None if running is None else running.progress
        return values

    def kind_of(self, where: str, ref: str) -> str:
        """The kind of what a reference names."""
        match = REF.fullmatch(ref)
        if match is not None and match[2] is None and (file := self.store.file(match[1])) is not None:
            return file.kind
        if match is not None and match[2] is not None and self._result(ref) is not None:
            name = match[2]
            if name.startswith("playbook"):
                return "playbook"
            return {"network.json": "network"}.get(name, "result")
        raise InvalidInputError(where, "the id of a file that is there, or JOB/NAME of a result that is there", ref)

    def _result(self, ref: str) -> Path | None:
        id_, name = ref.split("/")
        job = self.store.job(id_)
        return None if job is None else self.store.result_path(job, name)

    def _suffix_of(self, ref: str) -> str:
        if "/" in ref:
            return Path(ref).suffix
        file = self.store.file(ref)
        return "" if file is None else file.suffix

    # Listening

    def listen(self, id_: str) -> asyncio.Queue[Event]:
        """A queue to which everything that happens to a job goes from now on."""
        listener: asyncio.Queue[Event] = asyncio.Queue(_MOST_WAITING)
        self._listeners.setdefault(id_, set()).add(listener)
        return listener

    def forget(self, id_: str, listener: asyncio.Queue[Event]) -> None:
        """Send nothing to a queue any more."""
        queues = self._listeners.get(id_, set())
        queues.discard(listener)
        if not queues:
            self._listeners.pop(id_, None)

    @property
    def num_listeners(self) -> int:
        """How many listen."""
        return sum(map(len, self._listeners.values()))

    def _tell(self, id_: str, event: str, data: dict[str, Any]) -> None:
        for listener in self._listeners.get(id_, ()):
            if event == "progress" and listener.qsize() > _MOST_WAITING // 2:
                continue  # who is slow misses some of these
            if listener.full():
                # Who is that slow has to ask again, and then hears how things stand.
                while not listener.empty():
                    listener.get_nowait()
                listener.put_nowait(("close", {}))
                continue
            listener.put_nowait((event, data))

    def _tell_state(self, job: Job) -> None:
        self._tell(job.id, "state", self.describe(job))

    # Working

    async def _serve_forever(self, number: int) -> None:
        """Have one worker after the other run jobs; whatever goes wrong ends one job, and never the others."""
        while True:
            try:
                await self._serve(number)
            except Exception as error:
                self.log.error("%s in a worker's task", type(error).__name__)
                await self._abandon(number)
                await asyncio.sleep(1)

    async def _abandon(self, number: int) -> None:
        """Say of the job that a task had in hand that it has come to no end."""
        job = self._in_hand.pop(number, None)
        if job is None:
            return
        self._running.pop(job.id, None)
        with suppress(Exception):
            finished = await asyncio.to_thread(
                self.store.finish, job, "killed", error="the server could not go on with it; resume it to begin again"
            )
            if finished is not None:
                self._tell_state(finished)

    async def _serve(self, number: int) -> None:
        worker: Worker | None = None
        watched: asyncio.Task[None] | None = None
        try:
            if number == 0:  # one is warm before the first job comes; the others start when they are needed
                worker = await Worker.start(self.command, self.limits.memory)
            while True:
                job = self.store.claim()
                if job is None:
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                self._in_hand[number] = job
                if worker is None or not worker.is_alive:
                    worker = await Worker.start(self.command, self.limits.memory)
                running = _Running(job)
                self._running[job.id] = (worker, running)
                self._tell_state(job)
                watched = asyncio.create_task(self._watch(worker, running))
                try:
                    await self._run(worker, running)
                finally:
                    watched.cancel()
                    self._running.pop(job.id, None)
                self._in_hand.pop(number, None)
                # An interruption may have hit a module halfway through its import, which stays broken in this process.
                if running.num_signals or self._is_worn(worker):
                    await worker.end()
                    worker = await Worker.start(self.command, self.limits.memory)
        finally:
            if watched is not None:
                watched.cancel()
            if worker is not None:
                await asyncio.shield(worker.end())

    def _is_worn(self, worker: Worker) -> bool:
        return worker.num_jobs >= self.limits.jobs_per_worker or worker.rss() > self.limits.memory // 2

    async def _run(self, worker: Worker, running: _Running) -> None:
        """Have a worker run a job, and write down how that ended."""
        job = running.job
        try:
            message = await asyncio.to_thread(self._prepare, running)
            worker.give(message)
        except VeilrouteError as error:
            await self._finish(running, "failed", error=str(error))
            return
        except OSError as error:
            await self._finish(running, "failed", error=f"the job's folder cannot be made ({error.strerror})")
            return
        end: dict[str, Any] | None = None
        async for report in worker.reports():
            event = report.pop("event", None)
            if report.pop("job", None) != job.id or report.pop("attempt", None) != job.attempt:
                continue
            if event == "begin":
                running.has_begun = True
            elif event == "progress":
                running.progress = report["progress"]
                self._tell(job.id, "progress", report["progress"])
            elif event == "remark":
                running.remark(report["line"])
            elif event == "result":
                self._tell(job.id, "result", report)
                if running.cancel_asked is not None and report["name"] == "scene.json":
                    # What is worth waiting for is there: the audit may take some seconds more, and no longer.
                    running.cancel_asked = time.monotonic() - self.limits.grace_s + _AFTER_SCENE_S
            elif event == "end":
                end = report
                break
        if end is not None:
            state, line = end["state"], end["error"]
            if running.verdict is not None and state == "cancelled":
                state, line = "failed", running.verdict
            await self._finish(running, state, error=line, exit_code=end["exit_code"], problems=end["problems"])
            return
        code = await worker.process.wait()
        if running.verdict is not None:
            await self._finish(running, "failed", error=running.verdict)
        elif running.cancel_asked is not None:
            await self._finish(running, "cancelled", error="ended before it could write down the best so far")
        else:
            how = f"by signal {-code}" if code < 0 else f"with code {code}"
            await self._finish(running, "killed", error=f"its worker ended {how}; resume it to begin again")

    async def _finish(
        self,
        running: _Running,
        state: str,
        *,
        error: str | None = None,
        exit_code: int | None = None,
        problems: Sequence[dict[str, Any]] = (),
    ) -> None:
        job = running.job
        line = None if error is None else running.named(error)
        if error is not None:
            running.remark(error)
        told = [
            one | {"what": running.named(one["what"]), "file": running.names.get(one["file"], one["file"])}
            for one in problems
        ]
        finished = await asyncio.to_thread(
            self.store.finish, job, state, error=line, exit_code=exit_code, remarks=running.remarks, problems=told
        )
        self._running.pop(job.id, None)
        if finished is not None:
            self._tell_state(finished)
            await asyncio.to_thread(self.store.clean_attempts, finished)

    def _prepare(self, running: _Running) -> dict[str, Any]:
        """Make the folder of an attempt, with the files that its task reads, and what to tell the worker."""
        job = running.job
        asked = self._read(job.kind, job.params)
        folder = self.store.attempt_folder(job.id, job.attempt)
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "results").mkdir(parents=True, mode=0o700)
        for one in asked.inputs:
            (folder / one.alias).symlink_to(self._path_of(one.ref))
            if self.kind_of("params", one.ref) in ("instance", "scenario"):
                self._lay_maps(folder)
            if "/" not in one.ref and (file := self.store.file(one.ref)) is not None:
                running.names[one.alias] = file.name
        return {
            "job": job.id,
            "attempt": job.attempt,
            "folder": str(folder),
            "kind": job.kind,
            "request": plain(asked.request),
            # Whatever a file was taken for: what it says of itself and what a task reads it as may differ.
            "checked": [one.alias for one in asked.inputs if one.alias.endswith(".json")],
        }

    def _path_of(self, ref: str) -> Path:
        path = self._result(ref) if "/" in ref else self.store.file_path(ref)
        if path is None or not path.is_file():
            raise InvalidInputError("params", "files that are still there", ref)
        return path

    def _lay_maps(self, folder: Path) -> None:
        """Put the maps that were uploaded beside a scenario or instance, which names its map by the file's name."""
        for file in self.store.files():
            if file.kind == "map":
                with suppress(OSError):  # there is one of that name, or the name is too long for this disk
                    (folder / clean_name(file.name)).symlink_to(self.store.file_path(file.id))

    # Watching

    async def _watch(self, worker: Worker, running: _Running) -> None:
        """Hold a worker to its bounds, and interrupt it when its job was cancelled."""
        limits = self.limits
        while worker.is_alive:
            await asyncio.sleep(_WATCH_EVERY_S)
            now, size = time.monotonic(), worker.rss()
            self.peak_rss = max(self.peak_rss, size)
            if size > limits.memory:
                running.verdict = (
                    f"it took more than {limits.memory / 2**20:,.0f} MB of memory; use a smaller map or fewer "
                    "places, or start the studio with more memory"
                )
                worker.signal(signal.SIGKILL)
                return
            if now - running.began > limits.time_s and running.cancel_asked is None:
                running.verdict = f"it took longer than {limits.time_s:g} s; start the studio with a longer time limit"
                running.cancel_asked = now
            if running.cancel_asked is None or not running.has_begun:
                continue
            if running.num_signals == 0 or now - running.cancel_asked > running.num_signals * limits.grace_s:
                self._interrupt(worker, running)

    def _interrupt(self, worker: Worker, running: _Running) -> None:
        """The first time politely, then less so."""
        running.num_signals += 1
        worker.signal(signal.SIGINT if running.num_signals < 3 else signal.SIGKILL)
