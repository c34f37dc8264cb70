"""A Dask cluster of processes, for tests that kill some of them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Cluster = tuple[str, list[subprocess.Popen[bytes]]]


def wait_until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """A scheduler and two workers, each a process of its own: the address, and the workers."""
    where, started = folder / "scheduler.json", list[subprocess.Popen[bytes]]()

    def start(module: str, *arguments: object) -> None:
        words = [f"distributed.cli.{module}", "--scheduler-file", where, "--no-dashboard", *arguments]
        call, nowhere = [sys.executable, "-m", *map(str, words)], subprocess.DEVNULL
        started.append(subprocess.Popen(call, stdout=nowhere, stderr=nowhere))

    try:
        start("dask_scheduler", "--host", "127.0.0.1", "--port", 0)
        for threads in (1, 2):
            at = folder / f"worker-{threads}"
            start("dask_worker", "--no-nanny", "--nthreads", threads, "--local-directory", at)
        wait_until(lambda: where.exists() and where.stat().st_size > 0)  # it is there before anything is in it
        yield json.loads(where.read_bytes())["address"], started[1:]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
