"""A worker of the studio: runs the tasks of jobs, one after the other, in a process that stays warm.

Jobs come as lines of JSON on standard input, and what happens to them goes out as lines of JSON on what was standard
output when the process began. A worker whose input ends has lost its server, and ends at once.
"""

import ctypes
import errno
import os
import queue
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import orjson

from veilroute.base.errors import (
    FileFormatError,
    InvalidInputError,
    Issue,
    ManyProblemsError,
    NotAnonymizedError,
    UnsafeLedgerError,
    VeilrouteError,
    issues_of,
)
from veilroute.base.io import dump_canonical, parse_json, read_bytes, write_file
from veilroute.base.run import Progress, Run
from veilroute.studio.api import KINDS, request_of
from veilroute.studio.store import results_folder
from veilroute.studio.tasks import BAD_INPUT, INTERRUPTED, NOTHING_ANONYMIZED, VIOLATED, Desk, Hall, Results
from veilroute_start import forbid_core_dumps

_REPORT_EVERY_S = 0.1
_MOST_WRITTEN = 4 * 2**30  # bytes of one file
_BROKEN = "the job failed in a way that nobody has foreseen; the studio's data folder has a trace of it"


def main() -> NoReturn:
    """Work until there is nobody to work for."""
    reports = os.fdopen(os.dup(1), "wb", buffering=0)
    # Libraries write to these by their numbers, and what they write is for nobody.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    _die_with_parent()
    _be_modest(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    forbid_core_dumps()
    interrupts = Interrupts()
    signal.signal(signal.SIGINT, interrupts.handle)
    jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    lock = threading.Lock()

    def send(event: str, **values: Any) -> None:
        with lock:
            reports.write(orjson.dumps({"event": event, **values}) + b"\n")

    _warm_up()
    send("ready")
    while True:
        Attempt(jobs.get(), send, interrupts).run()


def _listen(jobs: "queue.SimpleQueue[dict[str, Any]]") -> None:
    for line in sys.stdin.buffer:
        jobs.put(orjson.loads(line))
    os._exit(0)


def _die_with_parent() -> None:
    """Have the system end this process with the server, also within a long computation."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _be_modest(memory: int) -> None:
    """Leave the processor to the server when it wants it, and take no more memory than allowed."""
    with suppress(OSError, AttributeError):
        os.nice(5)
    if memory > 0:
        with suppress(ImportError, OSError, ValueError):
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
            resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_WRITTEN, _MOST_WRITTEN))


def _warm_up() -> None:
    """Import what nearly every job needs, before the first one comes."""
    import veilroute.app.plan
    import veilroute.auditing
    import veilroute.partition
    import veilroute.planners

    with suppress(ImportError):  # who cancels while these are imported for a picture would get none
        import veilroute.plotting.scene
        import veilroute.plotting.seats  # noqa: F401


class Interrupts:
    """Counts the signals for a job. Within its task each raises, but for the first one where the task is patient."""

    def __init__(self) -> None:
        self.number = 0
        self.is_within = self.is_patient = False

    def handle(self, _number: int, _frame: object) -> None:
        """What a signal does."""
        self.number += 1
        if self.is_within and (self.number > 1 or not self.is_patient):
            raise KeyboardInterrupt

    def is_wanted(self) -> bool:
        """Whether the job is to end."""
        return self.number > 0


class Attempt:
    """One attempt at a job."""

    def __init__(
        self, job: Mapping[str, Any], send: Callable[..., None], interrupts: Interrupts, hall: Hall | None = None
    ) -> None:
        self.job, self.interrupts, self.hall = job, interrupts, hall or Hall.usual()
        self.folder = Path(job["folder"])
        self.began, self.told = time.monotonic(), 0.0
        self.exit_code: int | None = None
        self._send = send
        self._is_searching = False

    def send(self, event: str, **values: Any) -> None:
        """Report on this attempt."""
        self._send(event, job=self.job["job"], attempt=self.job["attempt"], **values)

    def run(self) -> None:
        """Do what the job asks for, and report how it ended."""
        self.interrupts.number = 0
        self.send("begin")  # from now on a signal is meant for this job
        home = Path.cwd()
        state, error, problems = "failed", None, []
        try:
            os.chdir(self.folder)
            self._work()
            state = "cancelled" if self.interrupts.is_wanted() else "done"
        except KeyboardInterrupt:
            state, self.exit_code = "cancelled", INTERRUPTED
        except VeilrouteError as caught:
            error, problems, self.exit_code = _line(caught), _problems(caught), _code(caught)
        except (MemoryError, RecursionError, OSError) as caught:
            error, self.exit_code = _system_line(caught), BAD_INPUT
        except Exception:
            error = _BROKEN
            with suppress(OSError):
                Path("trace.txt").write_text(traceback.format_exc(), encoding="utf-8")
        finally:
            with suppress(OSError):
                os.chdir(home)
        self.send("end", state=state, error=error, problems=problems, exit_code=self.exit_code)

    def _work(self) -> None:
        for alias in self.job["checked"]:
            _check_paths(Path(alias))
        kind = KINDS[self.job["kind"]]
        run = Run(
            progress=self._report,
            should_stop=self.interrupts.is_wanted,
            tell=lambda line: self.send("remark", line=line),
            tell_compiling=lambda: self._report(Progress("compiling for this machine, which takes some seconds")),
        )
        steps = kind.task(request_of(kind, self.job["request"]), Desk(run, self._patient, self.hall))
        while True:
            self.interrupts.is_within = True
            try:
                found = next(steps, None)
            finally:
                self.interrupts.is_within = False
            if found is None:
                return
            self._publish(found)

    @contextmanager
    def _patient(self, is_short: bool) -> Iterator[None]:
        self._is_searching, self.interrupts.is_patient = not is_short, is_short
        try:
            yield
        finally:
            self._is_searching = self.interrupts.is_patient = False

    def _publish(self, found: Results) -> None:
        """Make what was found results of the job: beside those that are there, or in place of them all.

        In the second case they appear at once: nobody sees the routes of one plan beside the figures of another.
        """
        here = results_folder(Path())
        is_first = not here.name.isdecimal()
        folder = Path("waiting") if found.in_place_of_all or is_first else here
        folder.mkdir(exist_ok=True)
        for name, content in found.made.items():
            if isinstance(content, Path):
                _place(content, folder / name)
            else:
                write_file(folder / name, content if isinstance(content, bytes) else dump_canonical(content))
        if folder != here:
            folder.rename(Path("results") / str(1 if is_first else int(here.name) + 1))
        self.exit_code = self.exit_code if found.code is None else found.code
        for name in found.made:
            self.send("result", name=name, is_final=found.is_final)

    def _report(self, progress: Progress) -> None:
        self.interrupts.is_patient |= self._is_searching
        now = time.monotonic()
        if now - self.told < _REPORT_EVERY_S:
            return
        self.told = now
        best = progress.incumbent
        self.send(
            "progress",
            progress={
                "stage": progress.stage,
                "done": progress.done,
                "total": progress.total,
                "hidden": None if best is None else best.num_anonymized,
                "mac": None if best is None else best.mac,
                "bound": progress.bound,
                "gap": progress.gap,
                "elapsed_s": round(now - self.began, 3),
            },
        )


def _line(error: VeilrouteError) -> str:
    """What went wrong, in one line."""
    first, *more = str(error).split("\n")
    count = len(error.problems) if isinstance(error, ManyProblemsError) else 1 + len(more)
    return f"{count} problems; the first: {first}" if more else first


def _problems(error: VeilrouteError) -> list[dict[str, Any]]:
    """What an error says, thing by thing, as data."""
    issues = issues_of(error) if isinstance(error, InvalidInputError) else (Issue(str(error)),)
    return [asdict(issue) for issue in issues]


def _system_line(error: MemoryError | RecursionError | OSError) -> str:
    """What is not the fault of our code, in one line."""
    if isinstance(error, RecursionError):
        return "the input is nested too deeply; check the file"
    if isinstance(error, MemoryError) or error.errno == errno.ENOMEM or error.strerror is None:
        return "there is not enough memory; use a smaller map or fewer places, or start the studio with more memory"
    return f"{Path(str(error.filename or 'file')).name}: {error.strerror}"


def _code(error: VeilrouteError) -> int:
    if isinstance(error, NotAnonymizedError):
        return NOTHING_ANONYMIZED
    return VIOLATED if isinstance(error, UnsafeLedgerError) else BAD_INPUT


def _check_paths(path: Path) -> None:
    """Refuse an instance whose map is to be read from elsewhere: the file came from who knows where."""
    raw = read_bytes(path)
    if b'"grid"' not in raw and b"\\" not in raw:  # a large network is not to be parsed twice; keys may be escaped
        return
    match parse_json(raw, path):
        case {"domain": {"grid": {"map": str(name)}}} if "/" in name or "\\" in name or name.startswith("."):
            raise FileFormatError(path, "its map is in another folder; give the map's rows instead, or its plain name")


def _place(path: Path, result: Path) -> None:
    """Put a copy of a file where results are: whole, and on the disk, or not at all."""
    waiting = Path(f"waiting-{result.name}")
    waiting.unlink(missing_ok=True)
    try:
        os.link(path, waiting)
    except OSError:
        shutil.copyfile(path, waiting)
    with waiting.open("rb") as file:
        os.fsync(file.fileno())
    waiting.replace(result)


if __name__ == "__main__":
    main()
