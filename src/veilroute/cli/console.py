"""What commands share: exit codes, consoles, a progress display for long work, and a polite Ctrl-C."""

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console, RenderableType
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.text import Text

from veilroute.base.errors import InvalidInputError
from veilroute.base.io import check_out as check_out
from veilroute.base.run import Progress, ProgressCallback, Run
from veilroute.cli.keys import heading
from veilroute.cli.output import BAD_INPUT as BAD_INPUT
from veilroute.cli.output import DONE as DONE
from veilroute.cli.output import INTERRUPTED as INTERRUPTED
from veilroute.cli.output import NOTHING_ANONYMIZED as NOTHING_ANONYMIZED
from veilroute.cli.output import VIOLATED as VIOLATED
from veilroute.cli.output import emit as emit
from veilroute.cli.output import emit_json as emit_json
from veilroute.cli.output import forget_stdout as forget_stdout
from veilroute.cli.output import remark as remark
from veilroute.domain.geography import duration_text

JsonOption = Annotated[bool, Parameter(name="--json", help="Print one JSON object.", group=heading("Output"))]

OutOption = Annotated[
    Path | None,
    Parameter(name=("--out", "-o"), metavar="FILE", help="Write the playbook here.", group=heading("Output")),
]

TimeLimitOption = Annotated[
    str | None, Parameter(name="--time-limit", metavar="SECONDS|none", help="Stop with the best so far. [300]")
]

DwellOption = Annotated[float, Parameter(metavar="SECONDS", help="How long every stop takes, the same at each.")]
DepartOption = Annotated[
    str | None,
    Parameter(metavar="HH:MM", help="When the trip begins, for times by the clock; from the start on without."),
]

_GETTING_READY = "getting ready (a first run compiles for some seconds)"
_DEFAULT_LIMIT_S = 300.0
_PATIENCE_S = 2.0
_LINE_EVERY_S = 10.0
_LARGEST_GAP = 100.0
_NEARLY = 0.8  # of the time limit: searches end early, to leave time for writing down what they found


_listener: ContextVar[ProgressCallback | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: ProgressCallback) -> Iterator[None]:
    """Within it, commands report their progress to the listener and draw none."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class PlainConsole(Console):
    """A console that prints text as it is and does not mind when nobody reads any more."""

    def __init__(self, *, stderr: bool = False) -> None:
        stream = sys.stderr if stderr else sys.stdout
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=not stream.isatty())

    def on_broken_pipe(self) -> None:
        """Go on: the exit code says how the command ended, not who listened."""
        if not self.stderr:
            forget_stdout()


stdout = PlainConsole  # where results go
stderr = partial(PlainConsole, stderr=True)  # where progress and remarks go


@dataclass(frozen=True)
class TimeLimit:
    """How long work may take, and whether somebody said so."""

    seconds: float | None  #: ``None``: as long as it takes
    is_default: bool = False
    each: str = ""  #: what it is for, where not for the whole work: "a point"

    @property
    def text(self) -> str:
        """What to say of it; nothing about a limit that somebody chose."""
        if not self.is_default or self.seconds is None:
            return ""
        what = f"time limit {duration_text(self.seconds)}{f' {self.each}' if self.each else ''}"
        return f"{what}; --time-limit none lifts it"

    def tell_if_reached(self, runtime_s: float) -> None:
        """Say why there is no proof, where that may be the default's fault."""
        if self.is_default and self.seconds is not None and runtime_s >= _NEARLY * self.seconds:
            remark(f"not proved within the {self.text}")


def read_time_limit(text: str | None, each: str = "") -> TimeLimit:
    """The time limit as typed: seconds or ``none``; a few minutes when left out."""
    if text is None:
        return TimeLimit(_DEFAULT_LIMIT_S, is_default=True, each=each)
    if text.strip().lower() == "none":
        return TimeLimit(None)
    with suppress(ValueError):
        if 0 < (seconds := float(text)) < math.inf:
            return TimeLimit(seconds)
    raise InvalidInputError("--time-limit", "a number of seconds > 0, or none", text)


def describe_best(progress: Progress, figure: str = "MAC") -> str:
    """What a search that keeps ``figure`` small has found and proved so far, in one line; empty before it has found."""
    best = progress.incumbent
    if best is None:
        return ""
    parts = [f"best so far: {best.num_anonymized} hidden", f"{figure} {best.mac:.4g}"]
    if progress.bound is not None:
        parts.append(f"bound {progress.bound:.4g}")
    if progress.gap is not None and (gap := gap_text(progress.gap)):
        parts.append(f"gap {gap}")
    return ", ".join(parts)


def gap_text(gap: float) -> str:
    """A gap in percent, rounded up so that "at most" is true; empty when the bound is too low to say anything."""
    if gap > _LARGEST_GAP:
        return ""
    return f"{math.ceil(1000 * gap - 1e-9) / 10:.1f}%"


class _Bar(ProgressColumn):
    """A bar, as soon as it is known how much work there is."""

    bar = BarColumn()

    def render(self, task: Task) -> RenderableType:
        return Text() if task.total is None else self.bar.render(task)


class _SearchProgress(RichProgress):
    """A progress display with the best so far in a line below."""

    best = ""
    about = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        for line in filter(None, (self.best, self.about)):
            yield Text(f"  {line}", overflow="ellipsis", no_wrap=True)


@contextmanager
def live_progress(
    stage: str = _GETTING_READY,
    *,
    figure: str = "MAC",
    limit: TimeLimit | None = None,
    patience_s: float = _PATIENCE_S,
    line_every_s: float = _LINE_EVERY_S,
) -> Iterator[ProgressCallback]:
    """Yield a callback whose reports are drawn once the work takes longer than two seconds (``patience_s``).

    Reports go to standard error: drawn on a terminal, elsewhere a line every ten (``line_every_s``). A report costs
    next to nothing: it is kept, and drawn at the next refresh, some ten times a second. The ``stage`` is shown before
    the first one; the ``figure`` is what the search keeps small; a ``limit`` that nobody chose is named. When somebody
    listens (:func:`listening`), reports go there instead.
    """
    if (listener := _listener.get()) is not None:
        listener(Progress(stage))
        yield listener
        return
    screen = stderr()
    about = "" if limit is None else limit.text
    if not screen.is_terminal:
        with _lines_of_progress(stage, figure, about, line_every_s) as report_line:
            yield report_line
        return
    count = TextColumn("{task.fields[count]}", style="progress.download")
    columns = (SpinnerColumn(), TextColumn("{task.description}"), _Bar(), count, TimeElapsedColumn())
    display = _SearchProgress(*columns, console=screen, transient=True)
    display.about = about
    display.add_task(stage, total=None, count="")
    (task,) = display.tasks
    timer = threading.Timer(patience_s, display.start)
    timer.daemon = True

    def report(progress: Progress) -> None:
        # Not by `update`, which keeps the total of the stage before and stops the clock when a stage is complete.
        done, total = progress.done, progress.total
        task.description, task.completed, task.total = progress.stage, done, total or None
        task.fields["count"] = f"{done:>{len(str(total))}}/{total}" if total else str(done or "")
        display.best = describe_best(progress, figure)

    timer.start()
    try:
        yield report
    finally:
        if timer.is_alive():
            timer.cancel()
            timer.join()
        if display.live.is_started:
            display.stop()


@contextmanager
def _lines_of_progress(stage: str, figure: str, about: str, every_s: float) -> Iterator[ProgressCallback]:
    """Yield a callback of whose last report a line is written now and then, by a thread of its own."""
    last, done, began = Progress(stage), threading.Event(), time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal last
        last = progress

    def write() -> None:
        told = about
        while not done.wait(every_s):
            count = f" {last.done}/{last.total}" if last.total else f" {last.done}" if last.done else ""
            parts = (f"{last.stage}{count}", describe_best(last, figure), told)
            remark(f"{time.monotonic() - began:.0f} s: {'; '.join(part for part in parts if part)}")
            told = ""

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield report
    finally:
        done.set()
        writer.join()


def tell_compiling() -> None:
    """Say that kernels are compiled, once in the life of an installation."""
    remark("compiling for this machine: this takes some seconds, and only the first time")


def plain_run() -> Run:
    """A run for work that is done at once: what is to be said goes to standard error."""
    return Run(tell=remark, tell_compiling=tell_compiling)


@contextmanager
def running(stage: str = _GETTING_READY, *, limit: TimeLimit | None = None) -> Iterator[Run]:
    """Yield a run whose progress is shown, and whose warnings go to standard error."""
    with live_progress(stage, limit=limit) as report:
        yield Run(report, tell=remark, tell_compiling=tell_compiling)


@contextmanager
def compile_notice() -> Iterator[None]:
    """Within it, it is said once when kernels must be compiled."""
    from veilroute.kernels.jit import telling

    with telling(cache(tell_compiling)):
        yield


@contextmanager
def polite_interrupt(
    reply: str = "stopping with the best so far; once more to drop it",
) -> Iterator[Callable[[], bool]]:
    """Yield whether the work is to finish, which the first Ctrl-C asks for, with a reply; the second interrupts it."""
    is_wanted = False  # no event, whose lock a second Ctrl-C would wait for within the first

    def handle(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_wanted
        if is_wanted:
            raise KeyboardInterrupt
        is_wanted = True
        remark(reply)

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: is_wanted
    finally:
        signal.signal(signal.SIGINT, previous)
