"""Processes that add to a journal until they are killed, and tell what was added."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from veilroute import journal

FORMAT = "test-journal/1"
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["journal_writers"])


def entry_of(name: str, number: int) -> dict[str, Any]:
    """An entry that is found by its id; its filling crosses pages, and some characters have several bytes."""
    return {"id": f"{name}-{number}", "filling": "é\\" * (number * 7919 % 801)}


def add(path: Path, name: str, slowly: bool, reports: Connection) -> None:
    """Add entries, and report the id of each when it is on the disk.

    Slowly: lines are written in random pieces with pauses, so that a kill tears them and others look at half a line.
    """
    if slowly:
        chance = random.Random(name)

        def write_in_pieces(handle: int, data: bytes) -> None:
            while data:
                size = chance.randint(1, 1000)
                os.write(handle, data[:size])
                data = data[size:]
                time.sleep(chance.choice([0, 0, 0.0005, 0.002]))

        journal._write = write_in_pieces
    for number in range(10**6):
        entry = entry_of(name, number)
        journal.append(path, FORMAT, entry)
        reports.send(entry["id"])
    reports.close()


class Writer:
    """One process that adds, and what it reported."""

    def __init__(self, path: Path, name: str, *, slowly: bool) -> None:
        self.name = name
        self._reports, theirs = SERVER.Pipe(duplex=False)
        self.process: ForkServerProcess = SERVER.Process(target=add, args=(path, name, slowly, theirs))
        self.process.start()
        theirs.close()

    def wait_for_one(self) -> list[str]:
        """The first report, so that the process is at work; empty when it ended without one."""
        try:
            return [self._reports.recv()]
        except EOFError:
            return []

    def end(self) -> list[str]:
        """Kill the process, and return what it reported."""
        self.process.kill()
        reported: list[str] = []
        with suppress(EOFError, OSError):  # the latter where it was killed amid a report
            while True:
                reported.append(self._reports.recv())
        self.process.join()
        self._reports.close()
        self.process.close()
        return reported
