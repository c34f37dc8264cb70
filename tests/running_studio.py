"""A studio for tests: ``veilroute serve`` in a process of its own, that can be killed and started again."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Studio:
    """A running ``veilroute serve``.

    Attributes
    ----------
    url
        Where its page is, with a slash at the end.
    folder
        Where it keeps files, jobs and its log.
    process
        The server, to be killed and started again by :meth:`start`.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self._options = folder, options
        self.url = ""
        self.process: subprocess.Popen[str]
        self._reader: threading.Thread | None = None
        self.start()

    def start(self) -> None:
        """Start it, on the same folder of data if it ran before, and wait until it says where it is."""
        if self._reader is not None and self.process.stdout is not None:
            self._reader.join()
            self.process.stdout.close()
        command = [sys.executable, "-m", "veilroute", "serve", "--port", "0", "--no-browser", *self._options]
        self.process = subprocess.Popen(
            [*command, "--data", str(self.folder)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        self.said: list[str] = []
        for line in self.process.stdout:
            self.said.append(line)
            if found := re.search(r"https?://[\w.\[\]:-]+/", line):
                self.url = found[0]
                # Nobody else reads the pipe, and a full one would stop the server.
                self._reader = threading.Thread(target=self.said.extend, args=(self.process.stdout,), daemon=True)
                self._reader.start()
                return
        raise RuntimeError(f"veilroute serve ended by itself:\n{''.join(self.said)}")

    def stop(self) -> None:
        """Ask it to end, and wait."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@contextmanager
def running_studio(folder: Path, *options: str) -> Iterator[Studio]:
    """A studio that is stopped at the end."""
    studio = Studio(folder, *options)
    try:
        yield studio
    finally:
        studio.stop()
