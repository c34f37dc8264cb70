"""Runs one program of others, and ends it with all that it has started: a script, which imports nothing from here.

:mod:`veilroute.bench.external` starts it with one argument, an object in JSON, and reads one such object from its
standard output. It is a process between a worker and the program for three reasons. On Linux it adopts what the program
leaves behind, so that nothing outlives the time limit and no processor's time is hidden. It notices when the worker is
gone: its standard input, which nobody writes to, comes to its end. And it is small: the memory of a process that is
started counts from that of the process that starts it.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

_LOOK_EVERY_S = 0.002
_ENDING_S = 5.0  # how long to try to end what starts itself again and again
_CHUNK = 1 << 16
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main(asked: dict[str, Any]) -> dict[str, Any]:
    """Run ``words`` to the end, to ``limit_s``, or until it has printed ``most_bytes``; what there is to know of it.

    It is at its end when the process is, and everybody that it has handed its standard output to.
    """
    prctl = _prctl()
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    told, session = _Told(), 0
    try:
        with Path(asked["stdin"]).open("rb") as given:
            began = time.perf_counter()
            try:
                process = subprocess.Popen(
                    asked["words"], stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                    preexec_fn=(lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)) if sys.platform == "linux" else None,
                )  # fmt: skip
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                return {"failure": getattr(error, "strerror", None) or str(error)}
        session, stop = process.pid, told.stopper(process)
        out, err = (
            _start(_copy, stream, Path(asked[name]), asked["most_bytes"], stop)
            for stream, name in ((process.stdout, "stdout"), (process.stderr, "stderr"))
        )
        _start(_outlive, stop)
        timer = threading.Timer(asked["limit_s"], stop, ["time"])
        timer.daemon = True
        timer.start()
        code = process.wait()
        while out.is_alive() and not told.stopped:
            out.join(_LOOK_EVERY_S)
        runtime_s = time.perf_counter() - began
        timer.cancel()
    finally:
        _end_all(session)
    for copier in (out, err):
        copier.join(_ENDING_S)
    return {"code": code, "stopped": told.stopped, "runtime_s": runtime_s, **_used()}


class _Told:
    """Why the program was ended, if it was: ``time``, ``output``, or ``gone`` where nobody waits for it any more."""

    stopped = ""

    def stopper(self, process: subprocess.Popen[bytes]) -> Callable[[str], None]:
        """What ends the program, for the first reason that there is; what it has started is ended later."""

        def stop(reason: str) -> None:
            self.stopped = self.stopped or reason
            process.kill()

        return stop


def _start(run: Callable[..., None], *given: Any) -> threading.Thread:
    thread = threading.Thread(target=run, args=given, daemon=True)
    thread.start()
    return thread


def _copy(stream: IO[bytes], path: Path, most_bytes: int, stop: Callable[[str], None]) -> None:
    """Write down what comes, up to a bound."""
    num = 0
    with path.open("wb") as file:
        while data := os.read(stream.fileno(), _CHUNK):
            num += len(data)
            if num > most_bytes:
                stop("output")
                return
            file.write(data)


def _outlive(stop: Callable[[str], None]) -> None:
    """End the program when the process that asked for it is gone."""
    with contextlib.suppress(OSError):
        os.read(0, 1)
    stop("gone")


def _prctl() -> Callable[[int, int], object]:
    """The system's call of that name, or one that does nothing."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            call = ctypes.CDLL(None).prctl
            return lambda what, value: call(what, value, 0, 0, 0)
    return lambda _what, _value: None


def _end_all(session: int) -> None:
    """End everything below this process, where orphans come to us: on Linux; elsewhere the program's session."""
    if sys.platform != "linux" and session and hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(session, signal.SIGKILL)
    until = time.monotonic() + _ENDING_S
    while hasattr(os, "WNOHANG") and time.monotonic() < until:
        for child in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(_LOOK_EVERY_S)
        except ChildProcessError:
            return


def _children() -> list[int]:
    """Whose parent is this process, where the system tells."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            # The name of a program, in brackets, may hold anything, brackets included.
            if entry.read_text("utf-8", "replace").rpartition(")")[2].split()[1] == str(os.getpid()):
                found.append(int(entry.parent.name))
    return found


def _used() -> dict[str, float | None]:
    """The processor's time of the program and all that it has started, and the most memory that one of them held."""
    try:
        import resource
    except ImportError:  # Windows
        return {"cpu_s": None, "memory_mb": None}
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    per_mb = 1024 * 1024 if sys.platform == "darwin" else 1024
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "memory_mb": usage.ru_maxrss / per_mb}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(json.loads(sys.argv[1]))))
