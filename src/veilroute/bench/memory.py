"""How much memory this process has taken."""

from __future__ import annotations

import sys
from pathlib import Path


def peak_memory_mb() -> float | None:
    """The most memory that this process has held so far; ``None`` where the system does not tell (Windows)."""
    peak = proc_line("/proc/self/status", "VmHWM")
    if peak:  # Linux, where getrusage would count what the parent held before it started us
        return int(peak.split()[0]) / 1024
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 * 1024 if sys.platform == "darwin" else 1024)


def proc_line(path: str, name: str) -> str:
    """The value behind a name in one of Linux's files about itself; empty elsewhere."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")
