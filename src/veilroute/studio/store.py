"""What the studio keeps on the disk: files, jobs and their states, in SQLite.

A job's state changes in one transaction that also says from which state and attempt it leaves, so that whoever comes
second changes nothing. A finished job is on the disk before anybody is told that it is finished.
"""

import os
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import orjson

from veilroute.base.errors import VeilrouteError

STATES = ("queued", "running", "done", "failed", "cancelled", "killed")
FINAL = ("done", "failed", "cancelled", "killed")  #: a job stays in these until somebody resumes it
RESUMABLE = ("failed", "cancelled", "killed")

_KEPT = ("results", "trace.txt")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, suffix TEXT NOT NULL, bytes INTEGER NOT NULL,
  sha256 TEXT NOT NULL, created REAL NOT NULL);
CREATE TABLE IF NOT EXISTS jobs (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, kind TEXT NOT NULL, params TEXT NOT NULL,
  key TEXT UNIQUE, state TEXT NOT NULL, attempt INTEGER NOT NULL, created REAL NOT NULL, started REAL, finished REAL,
  error TEXT, exit_code INTEGER, remarks TEXT NOT NULL DEFAULT '[]', results TEXT NOT NULL DEFAULT '[]',
  bytes INTEGER NOT NULL DEFAULT 0, problems TEXT NOT NULL DEFAULT '[]');
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, number);
CREATE TABLE IF NOT EXISTS endings (
  job TEXT NOT NULL, attempt INTEGER NOT NULL, state TEXT NOT NULL, finished REAL NOT NULL, PRIMARY KEY (job, attempt));
"""


class InUseError(VeilrouteError):
    """Another server works in the data folder."""


@dataclass(frozen=True)
class StoredFile:
    """A file that was uploaded or opened."""

    id: str
    name: str  #: as its owner calls it; may hold anything that can be printed
    kind: str
    suffix: str  #: of the name under which commands get it, one of those that are known
    bytes: int
    sha256: str
    created: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {name: getattr(self, name) for name in ("id", "name", "kind", "bytes", "sha256", "created")}


@dataclass(frozen=True)
class Job:
    """A job as it stands."""

    id: str
    kind: str
    params: dict[str, Any]
    key: str | None
    state: str
    attempt: int
    created: float
    started: float | None
    finished: float | None
    error: str | None
    exit_code: int | None
    remarks: tuple[str, ...]
    results: tuple[str, ...]
    bytes: int
    problems: tuple[dict[str, Any], ...] = ()  #: what was wrong with what came, thing by thing

    @property
    def is_final(self) -> bool:
        """Whether nothing happens to it any more by itself."""
        return self.state in FINAL

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        hidden = ("key", "bytes")
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in hidden}


def new_id() -> str:
    """A name that nobody can guess, of hexadecimal digits."""
    return secrets.token_hex(8)


class Store:
    """The data folder: ``studio.sqlite``, ``files/ID``, ``jobs/ID/ATTEMPT``.

    Parameters
    ----------
    folder
        Where it is; made for its owner alone when it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if hasattr(os, "geteuid") and self.folder.stat().st_uid != os.geteuid():
            # Whoever owns it could read what is kept here, and put other files in their place.
            raise InUseError(f"{self.folder}: the folder belongs to another user; name another --data")
        with suppress(OSError):
            self.folder.chmod(0o700)
        for name in ("files", "jobs", "incoming"):
            (self.folder / name).mkdir(exist_ok=True, mode=0o700)
        self._lock_file = self._take_lock()
        self._lock = threading.RLock()
        self._db = sqlite3.connect(self.folder / "studio.sqlite", check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        for line in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=2000"):
            self._db.execute(f"PRAGMA {line}")
        self._db.executescript(_SCHEMA)
        with suppress(sqlite3.OperationalError):  # data of an earlier version has no such column
            self._db.execute("ALTER TABLE jobs ADD COLUMN problems TEXT NOT NULL DEFAULT '[]'")
        self._sweep()

    def _sweep(self) -> None:
        """Remove what a server that was killed has left half done."""
        for path in (self.folder / "incoming").iterdir():
            path.unlink()
        files = {row["id"] for row in self._rows("SELECT id FROM files")}
        for path in (self.folder / "files").iterdir():
            if path.name not in files:
                path.unlink()
        jobs = {row["id"] for row in self._rows("SELECT id FROM jobs")}
        for path in (self.folder / "jobs").iterdir():
            if path.name not in jobs:
                shutil.rmtree(path, ignore_errors=True)

    def _take_lock(self) -> int:
        """Keep other servers off this folder for as long as this process lives."""
        handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            import fcntl
        except ImportError:  # on Windows nobody is kept off
            return handle
        # A server that was killed is gone for the system a moment later.
        for is_last in [False] * 20 + [True]:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return handle
            except OSError:
                if is_last:
                    os.close(handle)
                    raise InUseError(
                        f"{self.folder}: another veilroute serve works in this folder; end it, or name another --data"
                    ) from None
                time.sleep(0.05)
        raise AssertionError

    def close(self) -> None:
        """Write everything down and let others in."""
        with self._lock:
            self._db.close()
        os.close(self._lock_file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _changing(self, *, is_lasting: bool = False) -> Iterator[sqlite3.Connection]:
        """One transaction; a lasting one is on the disk itself when it ends, and not in the system's memory only."""
        with self._lock:
            if is_lasting:
                self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            else:
                self._db.execute("COMMIT")
            finally:
                if is_lasting:
                    self._db.execute("PRAGMA synchronous=NORMAL")

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    # Files

    def file_path(self, id_: str) -> Path:
        """Where a file is."""
        return self.folder / "files" / id_

    def add_file(self, incoming: Path, name: str, kind: str, suffix: str, sha256: str) -> StoredFile:
        """Take a file from ``incoming`` in."""
        file = StoredFile(new_id(), name, kind, suffix, incoming.stat().st_size, sha256, time.time())
        incoming.replace(self.file_path(file.id))
        with self._changing(is_lasting=True) as db:
            db.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", tuple(vars(file).values()))
        return file

    def files(self) -> list[StoredFile]:
        """All files, in the order in which they came."""
        return [StoredFile(**dict(row)) for row in self._rows("SELECT * FROM files ORDER BY created, id")]

    def file(self, id_: str) -> StoredFile | None:
        """The file with this id."""
        rows = self._rows("SELECT * FROM files WHERE id = ?", (id_,))
        return StoredFile(**dict(rows[0])) if rows else None

    def remove_file(self, id_: str) -> bool:
        """Forget a file; whether there was one."""
        with self._changing() as db:
            is_there = db.execute("DELETE FROM files WHERE id = ?", (id_,)).rowcount > 0
        if is_there:
            self.file_path(id_).unlink(missing_ok=True)
        return is_there

    def usage(self) -> dict[str, int]:
        """How much is kept: numbers of files and jobs, and the bytes of both."""
        (row,) = self._rows(
            "SELECT (SELECT COUNT(*) FROM files) AS files, (SELECT COUNT(*) FROM jobs) AS jobs,"
            " (SELECT COALESCE(SUM(bytes), 0) FROM files) + (SELECT COALESCE(SUM(bytes), 0) FROM jobs) AS bytes,"
            " (SELECT COUNT(*) FROM jobs WHERE state = 'queued') AS queued"
        )
        return dict(row)

    # Jobs

    def attempt_folder(self, id_: str, attempt: int) -> Path:
        """Where an attempt at a job works."""
        return self.folder / "jobs" / id_ / str(attempt)

    def result_path(self, job: Job, name: str) -> Path | None:
        """Where a result of a job is, if it has one of that name."""
        path = results_folder(self.attempt_folder(job.id, job.attempt)) / name
        return path if name in self.results_of(job) and path.is_file() and not path.is_symlink() else None

    def results_of(self, job: Job) -> tuple[str, ...]:
        """The names of the results that are there by now."""
        return job.results if job.is_final else list_results(self.attempt_folder(job.id, job.attempt))

    def add_job(self, kind: str, params: dict[str, Any], key: str | None, most_queued: int) -> Job | None:
        """Queue a job; nothing where the queue is full. With a key that was there before, that job comes back."""
        now, id_ = time.time(), new_id()
        with self._changing() as db:
            if key is not None:
                rows = db.execute("SELECT * FROM jobs WHERE key = ?", (key,)).fetchall()
                if rows:
                    return _job(rows[0])
            queued = db.execute("SELECT COUNT(*) FROM jobs WHERE state = 'queued'").fetchone()[0]
            if queued >= most_queued:
                return None
            text = orjson.dumps(params).decode()
            db.execute(
                "INSERT INTO jobs (id, kind, params, key, state, attempt, created) VALUES (?, ?, ?, ?, 'queued', 1, ?)",
                (id_, kind, text, key, now),
            )
            return _job(db.execute("SELECT * FROM jobs WHERE id = ?", (id_,)).fetchone())

    def jobs(self, most: int = 1000) -> list[Job]:
        """The last jobs, the newest first."""
        return [_job(row) for row in self._rows("SELECT * FROM jobs ORDER BY number DESC LIMIT ?", (most,))]

    def job(self, id_: str) -> Job | None:
        """The job with this id."""
        rows = self._rows("SELECT * FROM jobs WHERE id = ?", (id_,))
        return _job(rows[0]) if rows else None

    def claim(self) -> Job | None:
        """Take the job that waits longest; it is running from now on."""
        with self._changing() as db:
            row = db.execute("SELECT * FROM jobs WHERE state = 'queued' ORDER BY number LIMIT 1").fetchone()
            if row is None:
                return None
            db.execute(
                "UPDATE jobs SET state = 'running', started = ?, finished = NULL WHERE id = ? AND state = 'queued'",
                (time.time(), row["id"]),
            )
            return _job(db.execute("SELECT * FROM jobs WHERE id = ?", (row["id"],)).fetchone())

    def finish(
        self,
        job: Job,
        state: str,
        *,
        error: str | None = None,
        exit_code: int | None = None,
        remarks: Sequence[str] = (),
        problems: Sequence[Mapping[str, Any]] = (),
    ) -> Job | None:
        """End this attempt at a job; nothing where it was ended or begun anew by somebody else."""
        folder = self.attempt_folder(job.id, job.attempt)
        results = list_results(folder)
        size = sum((results_folder(folder) / name).stat().st_size for name in results)
        now = time.time()
        with self._changing(is_lasting=True) as db:
            changed = db.execute(
                "UPDATE jobs SET state = ?, finished = ?, error = ?, exit_code = ?, remarks = ?, results = ?,"
                " bytes = ?, problems = ? WHERE id = ? AND state = ? AND attempt = ?",
                (
                    state, now, error, exit_code, orjson.dumps(list(remarks)).decode(),
                    orjson.dumps(list(results)).decode(), size, orjson.dumps(list(problems)).decode(),
                    job.id, job.state, job.attempt,
                ),
            ).rowcount  # fmt: skip
            if not changed:
                return None
            db.execute("INSERT INTO endings VALUES (?, ?, ?, ?)", (job.id, job.attempt, state, now))
            return _job(db.execute("SELECT * FROM jobs WHERE id = ?", (job.id,)).fetchone())

    def resume(self, job: Job) -> Job | None:
        """Queue a job once more, as a new attempt; nothing where it changed meanwhile."""
        with self._changing() as db:
            changed = db.execute(
                "UPDATE jobs SET state = 'queued', attempt = attempt + 1, started = NULL, finished = NULL,"
                " error = NULL, exit_code = NULL, remarks = '[]', results = '[]', bytes = 0,"
                " problems = '[]'"
                " WHERE id = ? AND state = ? AND attempt = ?",
                (job.id, job.state, job.attempt),
            ).rowcount
            if not changed:
                return None
            return _job(db.execute("SELECT * FROM jobs WHERE id = ?", (job.id,)).fetchone())

    def requeue_interrupted(self) -> int:
        """Queue what ran under a server that is no more, as new attempts; how many these are."""
        interrupted = [_job(row) for row in self._rows("SELECT * FROM jobs WHERE state = 'running'")]
        return sum(self.resume(job) is not None for job in interrupted)

    def remove_job(self, job: Job) -> bool:
        """Forget a job that is not running, with all that it made; whether that was done."""
        with self._changing() as db:
            changed = db.execute(
                "DELETE FROM jobs WHERE id = ? AND state = ? AND attempt = ? AND state != 'running'",
                (job.id, job.state, job.attempt),
            ).rowcount
        if changed:
            shutil.rmtree(self.folder / "jobs" / job.id, ignore_errors=True)
        return changed > 0

    def clean_attempts(self, job: Job) -> None:
        """Remove what a finished job leaves beside its results, and what attempts before this one have left."""
        folder = self.folder / "jobs" / job.id
        with suppress(OSError):
            for path in folder.iterdir():
                if path.name != str(job.attempt):
                    shutil.rmtree(path, ignore_errors=True)
            attempt = folder / str(job.attempt)
            for path in [*attempt.iterdir(), *_numbered_results(attempt)[:-1]]:
                if path.name in _KEPT:
                    continue
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def results_folder(attempt: Path) -> Path:
    """Where the results of an attempt are now: in the folder with the highest number.

    A worker puts results that belong together into a new folder, which appears under its number when all of them are in
    it: nobody sees some of these beside some of those before. Without such folders (data of earlier versions) it is the
    folder above.
    """
    return next(reversed(_numbered_results(attempt)), attempt / "results")


def _numbered_results(attempt: Path) -> list[Path]:
    """The folders that held the results of an attempt one after the other."""
    found = (path for path in (attempt / "results").glob("[0-9]*") if path.name.isdecimal() and path.is_dir())
    return sorted(found, key=lambda path: int(path.name))


def list_results(attempt: Path) -> tuple[str, ...]:
    """The names of the results that an attempt has made so far."""
    try:
        return tuple(sorted(entry.name for entry in os.scandir(results_folder(attempt)) if entry.is_file()))
    except OSError:
        return ()


def _job(row: sqlite3.Row) -> Job:
    values = dict(row)
    del values["number"]
    values["params"] = orjson.loads(values["params"])
    for name in ("remarks", "results", "problems"):
        values[name] = tuple(orjson.loads(values[name]))
    return Job(**values)
