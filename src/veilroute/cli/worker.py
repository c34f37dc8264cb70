"""A worker of the studio: runs commands for jobs, one after the other, in a process that stays warm.

Jobs come as lines of JSON on standard input, and what happens to them goes out as lines of JSON on what was standard
output when the process began. A worker whose input ends has lost its server, and ends at once.
"""

import ctypes
import os
import queue
import re
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from itertools import groupby
from pathlib import Path
from typing import Any, NoReturn

import orjson

from veilroute.base.errors import FileFormatError, VeilrouteError
from veilroute.base.io import parse_json, read_bytes
from veilroute.base.run import Progress
from veilroute.cli.console import INTERRUPTED, listening, remark
from veilroute.studio.commands import LAST_BOOK
from veilroute.studio.store import results_folder
from veilroute_start import forbid_core_dumps

_REPORT_EVERY_S = 0.1
_MOST_WRITTEN = 4 * 2**30  # bytes of one file
_POINT = re.compile(r"playbook-(\d+)\.json", re.ASCII)
_BROKEN = "the command failed in a way that nobody has foreseen; the studio's data folder has a trace of it"


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
        job = jobs.get()
        Attempt(job, send, interrupts).run()


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
    import veilroute.cli.audit
    import veilroute.cli.export
    import veilroute.cli.plan
    import veilroute.partition
    import veilroute.planners
    import veilroute.planners.solve

    with suppress(ImportError):  # who cancels while these are imported for a picture would get none
        import veilroute.plotting.scene
        import veilroute.plotting.seats  # noqa: F401


class Interrupts:
    """Remembers that a job is to end; within a command it is interrupted."""

    def __init__(self) -> None:
        self.is_wanted = False
        self.is_within = False

    def handle(self, _number: int, _frame: object) -> None:
        """What a signal does."""
        self.is_wanted = True
        if self.is_within:
            raise KeyboardInterrupt

    @contextmanager
    def within(self) -> Iterator[None]:
        """Within it, a signal raises."""
        self.is_within = True
        try:
            yield
        finally:
            self.is_within = False


def _run_command(arguments: list[str]) -> int:
    from veilroute.cli.main import run

    return run(arguments)


class Attempt:
    """One attempt at a job."""

    def __init__(
        self,
        job: Mapping[str, Any],
        send: Callable[..., None],
        interrupts: Interrupts,
        run_command: Callable[[list[str]], int] = _run_command,
    ) -> None:
        self.job, self.interrupts = job, interrupts
        self._run_command = run_command
        self.folder = Path(job["folder"])
        self.began, self.told = time.monotonic(), 0.0
        self._send = send
        self.exit_code: int | None = None
        self.is_proved = self.is_hidden = self.is_cancelled = False
        self.is_interim = False
        self.made: list[tuple[str, str]] = []
        self.book = ""

    def send(self, event: str, **values: Any) -> None:
        """Report on this attempt."""
        self._send(event, job=self.job["job"], attempt=self.job["attempt"], **values)

    def run(self) -> None:
        """Run all commands of the job and report how it ended."""
        self.interrupts.is_wanted = False
        self.send("begin")  # from now on a signal is meant for this job
        home = Path.cwd()
        state, error = "failed", None
        try:
            os.chdir(self.folder)
            state = self._run_all()
        except KeyboardInterrupt:
            state = "cancelled"
        except MemoryError:
            error = "out of memory; use a smaller map or fewer candidates, or allow more: veilroute serve --memory"
        except Exception:
            error = _BROKEN
            with suppress(OSError):
                Path("trace.txt").write_text(traceback.format_exc(), encoding="utf-8")
        finally:
            with suppress(OSError):
                os.chdir(home)
        self.send("end", state=state, error=error, exit_code=self.exit_code)

    def _run_all(self) -> str:
        try:
            for alias in self.job["checked"]:
                _check_paths(Path(alias))
        except VeilrouteError as error:
            with Path("stderr.txt").open("a", encoding="utf-8") as err, redirect_stderr(err):
                remark(str(error))
            return "failed"
        steps = [{**step, "number": number} for number, step in enumerate(self.job["steps"])]
        for _, part in groupby(steps, key=lambda step: step["group"] or step["number"]):
            state = self._run_part(list(part))
            if state is not None:
                return state
        return "cancelled" if self.is_cancelled else "done"

    def _run_part(self, steps: Sequence[Mapping[str, Any]]) -> str | None:
        """Run the steps of a group, or one that is in none; how the job ended, where it goes no further."""
        first = steps[0]
        if (
            (first["is_main"] and self.is_cancelled)
            or (first["when"] == "unless-proved" and self.is_proved)
            or (first["when"] == "if-hidden" and not self.is_hidden)
        ):
            return None
        self.is_interim, self.made = first["is_interim"], []
        for step in steps:
            if self.interrupts.is_wanted and not self.is_cancelled:
                if step is first:
                    return "cancelled"
                self.is_cancelled = True
            for file, index in self._files_for(step):
                code = self._run_step(step, file, index)
                if code == INTERRUPTED and step["group"] and not step["is_main"] and not self.is_cancelled:
                    # The plan is there, and who cancels keeps it: a picture of it takes little longer.
                    self.is_cancelled = True
                    code = self._run_step(step, file, index)
                if step["is_main"]:
                    self.exit_code = code
                if code == INTERRUPTED:
                    self.is_cancelled = True
                    if step["group"] and not any(Path(path).is_file() for path, _ in step["results"]):
                        return None  # it was too early: what was there before stays as it is
                if code not in step["ok"]:
                    return "cancelled" if code == INTERRUPTED else "failed"
                if not step["group"]:
                    self._publish(in_place_of_all=False)
        if first["group"]:
            self._publish(in_place_of_all=True)
        return None

    def _files_for(self, step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """The files that a step is run for, with their numbers; a step that is for none is run once."""
        if not step["each"]:
            yield "", ""
            return
        folder = Path(step["each"])
        found = [(int(match[1]), path) for path in folder.glob("*") if (match := _POINT.fullmatch(path.name))]
        for index, path in sorted(found):
            yield str(path), str(index)

    def _run_step(self, step: Mapping[str, Any], file: str, index: str) -> int:
        out = f"step-{step['number']}{index and '-' + index}.out"

        def fill(text: str) -> str:
            # Whole words of ours only: what a client sent always stands behind an option's name.
            if text == LAST_BOOK:
                return self.book
            return text.replace("{file}", file).replace("{number}", index) if step["each"] else text

        argv = [fill(text) for text in step["argv"]]
        with (
            Path(out).open("w", encoding="utf-8", newline="\n") as stdout,
            Path("stderr.txt").open("a", encoding="utf-8", errors="backslashreplace") as stderr,
            redirect_stdout(stdout),
            redirect_stderr(stderr),
            listening(self._report),
            self.interrupts.within(),
        ):
            code = self._run_command(argv)
        if code in step["ok"]:
            self.made += [(fill(path), fill(name)) for path, name in step["results"]]
            if step["folder"] and Path(step["folder"]).is_dir():
                self.made += [(str(path), path.name) for path in sorted(Path(step["folder"]).iterdir())]
            if step["out"] and Path(out).stat().st_size:
                self.made.append((out, step["out"]))
        return code

    def _publish(self, *, in_place_of_all: bool) -> None:
        """Make what was printed and written results of the job: beside those that are there, or in place of them all.

        In the second case they appear at once: nobody sees the routes of one plan beside the figures of another.
        """
        made, self.made = {name: path for path, name in self.made if Path(path).is_file()}, []
        here = results_folder(Path())
        is_first = not here.name.isdecimal()
        folder = Path("waiting") if in_place_of_all or is_first else here
        folder.mkdir(exist_ok=True)
        for name, path in made.items():
            _place(Path(path), folder / name)
        if folder != here:
            folder.rename(Path("results") / str(1 if is_first else int(here.name) + 1))
        if "plan.json" in made:
            self._learn(Path(made["plan.json"]))
        self.book = made.get("playbook.json", self.book)
        is_final = not self.is_interim or (self.is_proved and not self.job["has_more"])
        for name in made:
            self.send("result", name=name, is_final=is_final)

    def _learn(self, path: Path) -> None:
        plan = orjson.loads(path.read_bytes())
        # Nothing better is found by a method that proves nothing, however long it takes.
        self.is_proved = plan["status"] in ("optimal", "infeasible")
        self.is_hidden = plan["num_anonymized"] > 0

    def _report(self, progress: Progress) -> None:
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
