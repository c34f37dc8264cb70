"""How long work reports what it is doing and learns that it should stop."""

import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from veilroute.base.checks import is_number, plain_number
from veilroute.base.errors import InvalidInputError

#: What searches count: states that A* expands, covering walks or costs looked for, and partitions looked at.
COUNTED = ("expansions", "searches", "partitions")


@dataclass(frozen=True)
class Incumbent:
    """The best partition that a search has found so far."""

    elapsed_s: float  #: seconds since the search was asked for
    num_anonymized: int  #: how many members it groups
    mac: float  #: at what mean anonymization cost


@dataclass(frozen=True)
class Progress:
    """One report of a running computation."""

    stage: str  #: what is being done, in a few words
    done: int = 0  #: units of work finished
    total: int = 0  #: units expected, 0 while unknown
    #: The best so far of a search that works towards better and better partitions, from its first one on. The same
    #: object comes with every report until a better one is found.
    incumbent: Incumbent | None = None
    #: What the MAC is proved to be at least, for as many members as the incumbent groups; ``None`` without a proof.
    bound: float | None = None
    #: How much was done, by :data:`COUNTED`, as far as it is counted. It goes on being counted here after the report.
    counts: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def gap(self) -> float | None:
        """How far the incumbent's MAC is above the bound, relative to it; ``None`` when either is missing."""
        if self.incumbent is None or self.bound is None:
            return None
        return max(0.0, self.incumbent.mac - self.bound) / max(self.bound, 1e-12)


ProgressCallback = Callable[[Progress], None]


def check_time_limit(seconds: object) -> float | None:
    """Return a time limit as seconds, or say what is wrong with it."""
    if seconds is None:
        return None
    plain = plain_number(seconds)
    if not is_number(plain) or not plain > 0:
        raise InvalidInputError("time_limit_s", "a number of seconds > 0", seconds)
    return float(plain)


class OutOfTimeError(Exception):
    """The time is over, or a solver gave up: raised by :meth:`Watch.check`, caught by whoever has something to show."""


@dataclass
class Watch:
    """Carries the caller's progress callback and stop conditions through a computation.

    It remembers the last incumbent and the best bound, and every report holds both.
    """

    report: ProgressCallback | None = None  #: called with each :class:`Progress`; ``None`` for silence
    time_limit_s: float | None = None  #: seconds after which :meth:`is_over` turns true; ``None`` for no limit
    should_stop: Callable[[], bool] | None = None  #: asked between pieces of work; true means "return the best so far"
    #: How many seconds of this process do not count against the limit so far: those in which kernels are compiled,
    #: which happens once on a machine.
    uncounted_s: Callable[[], float] | None = None
    started_s: float = field(default_factory=time.monotonic)
    started_cpu_s: float = 0.0
    #: How long the work after a search will take: who learns it makes the search end that much earlier.
    reserve_s: float = field(default=0.0, init=False)
    walks_per_class: int = field(default=1, init=False)  #: for planners to say how much there is to write down
    incumbent: Incumbent | None = field(default=None, init=False)
    bound: float | None = field(default=None, init=False)
    #: Whether what is solved now is what was asked for. Of whole routes, where they may part, bounds say nothing.
    has_bounds: bool = field(default=True, init=False)
    counts: dict[str, int] = field(default_factory=dict, init=False)  #: see :attr:`Progress.counts`
    _uncounted_before_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        if self.uncounted_s is not None:
            self._uncounted_before_s = self.uncounted_s()
        # The processor's time is slow to ask for, and of use with a limit only.
        if self.time_limit_s is not None and not self.started_cpu_s:
            self.started_cpu_s = time.process_time()

    def tell(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Pass a report on."""
        if self.report is not None:
            self.report(Progress(stage, done, total, self.incumbent, self.bound, self.counts))

    def count(self, what: str, num: int) -> None:
        """Add to what was done of one kind (:data:`COUNTED`)."""
        self.counts[what] = self.counts.get(what, 0) + num

    def tell_improvement(self, stage: str, num_anonymized: int, mac: float) -> Incumbent:
        """Pass a better partition on, with the time at which it was found.

        The bound is forgotten when the partition groups another number of members than the one before: it was for that
        number. One that was told before the first partition is taken to be for the first one's number.
        """
        if self.incumbent is not None and self.incumbent.num_anonymized != num_anonymized:
            self.bound = None
        self.incumbent = Incumbent(time.monotonic() - self.started_s, num_anonymized, mac)
        self.tell(stage)
        return self.incumbent

    def tell_bound(self, stage: str, bound: float) -> None:
        """Pass on what the MAC is proved to be at least; a bound below the best one changes nothing."""
        if self.has_bounds:
            self.bound = bound if self.bound is None else max(self.bound, bound)
        self.tell(stage)

    def is_over(self) -> bool:
        """Whether the time is used up or the caller asked to stop."""
        return self.left_s() <= 0 or (self.should_stop is not None and self.should_stop())

    def check(self) -> None:
        """Raise :class:`OutOfTimeError` when it is over."""
        if self.is_over():
            raise OutOfTimeError

    @property
    def is_limited(self) -> bool:
        """Whether it may ever be over."""
        return self.time_limit_s is not None or self.should_stop is not None

    def slowdown(self) -> float:
        """How many seconds of the clock a second of work has taken so far; more than 1 on a busy machine."""
        worked = time.process_time() - self.started_cpu_s
        return max(1.0, (time.monotonic() - self.started_s) / max(worked, 1e-9))

    def left_s(self) -> float:
        """Seconds until the search must end."""
        if self.time_limit_s is None:
            return math.inf
        uncounted = 0.0 if self.uncounted_s is None else self.uncounted_s() - self._uncounted_before_s
        return self.time_limit_s - self.reserve_s - (time.monotonic() - self.started_s - uncounted)


class Stopwatch:
    """Measures from when it is made, without the time in which kernels are compiled or loaded, once in a process."""

    def __init__(self, loading_s: Callable[[], float] = lambda: 0.0) -> None:
        self._loading_s = loading_s
        self._began = time.perf_counter(), time.process_time(), loading_s()

    def read(self) -> tuple[float, float]:
        """Seconds of the clock and of the processor so far."""
        wall, cpu, loaded = self._began
        loading = self._loading_s() - loaded
        return max(0.0, time.perf_counter() - wall - loading), max(0.0, time.process_time() - cpu - loading)


def peak_memory_mb() -> float | None:
    """The most memory that this process has held so far; ``None`` if the system does not tell (Windows)."""
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


@dataclass
class Run:
    """What goes along with a request: how long it may take, who hears of its progress, and what is to be said of it.

    A request says what is wanted, and its result says what came of it. A run holds what belongs to neither.
    """

    progress: ProgressCallback = lambda progress: None
    should_stop: Callable[[], bool] = lambda: False  #: true means: come to an end, with the best result so far
    tell: Callable[[str], None] = lambda line: None  #: hears each warning as soon as it is known
    tell_compiling: Callable[[], None] = lambda: None  #: hears once that kernels are compiled for this machine
    warnings: list[str] = field(default_factory=list)  #: all of them, in order

    def warn(self, line: str) -> None:
        """Say something that is no error and that somebody should read."""
        self.warnings.append(line)
        self.tell(line)
