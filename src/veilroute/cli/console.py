"""What commands share: consoles, a progress display for long work, and a polite Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from veilroute.progress import Progress, ProgressCallback

_PATIENCE_S = 2.0


class PlainConsole(Console):
    """A console that prints text as it is and does not mind when nobody reads any more."""

    def __init__(self, *, stderr: bool = False) -> None:
        stream = sys.stderr if stderr else sys.stdout
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=not stream.isatty())

    def on_broken_pipe(self) -> None:
        """Go on: the exit code says how the command ended, not who listened."""
        if not self.stderr:
            forget_stdout()


def stdout() -> Console:
    """Where results go."""
    return PlainConsole()


def stderr() -> Console:
    """Where progress and remarks go."""
    return PlainConsole(stderr=True)


def emit(text: str) -> None:
    """Write a result as it is."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget_stdout()


def forget_stdout() -> None:
    """Send what is still to be printed nowhere, because the reader has gone."""
    sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


@contextmanager
def live_progress() -> Iterator[ProgressCallback]:
    """Yield a callback whose reports are drawn once the work takes longer than two seconds, for who watches it.

    They go to standard error, and nowhere when that is no terminal.
    """
    screen = stderr()
    bar = RichProgress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
    )
    task = bar.add_task("getting ready (a first run compiles for some seconds)", total=None)
    timer = threading.Timer(_PATIENCE_S, bar.start)
    timer.daemon = True
    best = ""

    def report(progress: Progress) -> None:
        nonlocal best
        if progress.incumbent is not None:
            best = f" (best so far: {progress.incumbent.num_anonymized} hidden, MAC {progress.incumbent.mac:.4g})"
        bar.update(task, description=progress.stage + best, completed=progress.done, total=progress.total or None)

    if screen.is_terminal:
        timer.start()
    try:
        yield report
    finally:
        if timer.is_alive():
            timer.cancel()
            timer.join()
        if bar.live.is_started:
            bar.stop()


class Interrupt:
    """Turns the first Ctrl-C into a request to finish with the best so far; the second one really interrupts.

    Parameters
    ----------
    reply
        What to say to the first.
    """

    def __init__(self, reply: str = "stopping with the best so far; once more to drop it") -> None:
        self.is_requested = False
        self._reply = reply

    def __call__(self) -> bool:
        """Whether to stop."""
        return self.is_requested

    def __enter__(self) -> Interrupt:
        self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._previous)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.is_requested:
            raise KeyboardInterrupt
        self.is_requested = True
        print(f"veilroute: {self._reply}", file=sys.stderr)
