"""A process that adds to a journal until it is killed, and prints the id of each entry when it is on the disk."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from veilroute.base import journal

FORMAT = "test-journal/1"


def entry_of(name: str, number: int) -> dict[str, Any]:
    """An entry that is found by its id; its filling crosses pages, and some characters have several bytes."""
    return {"id": f"{name}-{number}", "filling": "é\\" * (number * 7919 % 801)}


def start(path: Path, name: str, *, is_slow: bool) -> subprocess.Popen[str]:
    """One writer; a slow one writes in random pieces with pauses, so that a kill tears lines."""
    words = [sys.executable, __file__, str(path), name, "slow" * is_slow]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def write_in_pieces(handle: int, data: bytes) -> None:
    while data:
        size = random.randint(1, 1000)
        os.write(handle, data[:size])
        data = data[size:]
        time.sleep(random.choice([0, 0, 0.0005, 0.002]))


if __name__ == "__main__":
    if sys.argv[3]:
        journal._write = write_in_pieces
    for number in itertools.count():
        journal.append(Path(sys.argv[1]), FORMAT, entry_of(sys.argv[2], number))
        print(f"{sys.argv[2]}-{number}", flush=True)
