"""A Dask cluster of processes, for tests that kill some of them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

Cluster = tuple[str, list[subprocess.Popen[bytes]]]


def wait_until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def dask_process(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    module, *rest = map(str, arguments)
    process = subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.{module}", *rest],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """A scheduler and two workers, each a process of its own: the address, and the workers."""
    where = folder / "scheduler.json"
    with ExitStack() as stack:
        stack.enter_context(
            dask_process(
                "dask_scheduler", "--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", where
            )
        )
        workers = [
            stack.enter_context(
                dask_process(
                    "dask_worker", "--scheduler-file", where, "--no-nanny", "--nthreads", threads, "--no-dashboard",
                    "--local-directory", folder / f"worker-{threads}",
                )
            )
            for threads in (1, 2)
        ]  # fmt: skip
        wait_until(lambda: where.exists() and where.stat().st_size > 0)  # it is there before anything is in it
        yield json.loads(where.read_bytes())["address"], workers
