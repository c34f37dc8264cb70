"""What a record says about the software and the machine that it came from; no paths, no user names."""

from __future__ import annotations

import os
import platform
import socket
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from veilroute import __version__
from veilroute.bench.memory import proc_line


def provenance(run_id: str) -> dict[str, Any]:
    """Versions, machine, worker, run and time of day, for a record that is made here and now."""
    return {
        "versions": dict(_versions()),
        "machine": dict(_machine()),
        "worker": {"host": socket.gethostname(), "pid": os.getpid()},
        "run": run_id,
        "finished_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }


def available_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _versions() -> dict[str, str]:
    versions = {"veilroute": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for name in ("numpy", "numba"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = ""
    return versions


@cache
def _machine() -> dict[str, Any]:
    processor = proc_line("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()
    return {
        "system": platform.system(),
        "processor": processor,
        "cores": os.cpu_count(),
        "memory_mb": _memory_mb(),
    }


def _memory_mb() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (AttributeError, OSError, ValueError):
        return None
