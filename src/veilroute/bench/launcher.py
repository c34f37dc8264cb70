"""Runs one program of others, and ends it with all that it has started: a script, which imports nothing from here.

:mod:`veilroute.bench.external` starts it with one argument, an object in JSON, and reads one such object from its
standard output. It is a process between a worker and the program for three reasons. On Linux it adopts what the program
leaves behind, so that nothing outlives the time limit and no processor's time is hidden. It notices when the worker is
killed. And it is small: the memory of a process that is started counts from that of the process that starts it.
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
from pathlib import Path
from typing import Any

_LOOK_EVERY_S = 0.02
_ENDING_S = 5.0  # how long to try to end what starts itself again and again
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main(asked: dict[str, Any]) -> dict[str, Any]:
    """Run ``words`` to the end, to ``limit_s``, or until it has printed ``most_bytes``; what there is to know of it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            prctl = ctypes.CDLL(None).prctl
            prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if os.getppid() != asked["parent"]:  # gone before we could be told
        sys.exit(1)
    out, err = Path(asked["stdout"]), Path(asked["stderr"])
    stopped, ended = [""], threading.Event()
    with Path(asked["stdin"]).open("rb") as given, out.open("wb") as printed, err.open("wb") as complaint:
        began = time.perf_counter()
        try:
            process = subprocess.Popen(
                asked["words"], stdin=given, stdout=printed, stderr=complaint, start_new_session=True
            )
        except (OSError, ValueError) as error:
            return {"failure": getattr(error, "strerror", None) or str(error)}

        def watch() -> None:
            while not ended.wait(_LOOK_EVERY_S):
                is_late = time.perf_counter() - began > asked["limit_s"]
                sizes = [os.fstat(file.fileno()).st_size for file in (printed, complaint)]
                if is_late or max(sizes) > asked["most_bytes"]:
                    stopped[0] = "time" if is_late else "output"
                    process.kill()  # what it has started is ended below
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            code = process.wait()
            runtime_s = time.perf_counter() - began
        finally:
            ended.set()
            watcher.join()
            end_all(process.pid)
    return {"code": code, "stopped": stopped[0], "runtime_s": runtime_s, **_used()}


def end_all(session: int) -> None:
    """End the session of the program and, where orphans come to us, everything below this process."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(session, signal.SIGKILL)
    until = time.monotonic() + _ENDING_S
    while hasattr(os, "WNOHANG") and time.monotonic() < until:
        for child in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(_LOOK_EVERY_S / 10)
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
