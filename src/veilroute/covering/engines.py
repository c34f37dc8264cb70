"""The engines that find covering walks, by name, and a memory of what one has found.

============ =====================================================================================================
``auto``     A* with the ``tour`` heuristic, and fields where its states take too much memory
``astar``    the paper's search, with any heuristic; the fastest for one set
``fields``   subset recursion over sweeps; the fastest for many sets of the same candidates
============ =====================================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veilroute.base.arrays import Floats, Members, as_members
from veilroute.base.errors import InvalidInputError, TooLargeError, UnknownMethodError
from veilroute.base.run import Watch
from veilroute.covering.astar import STATE_BYTES, AStarEngine
from veilroute.covering.fields import FIELD_BYTES, FieldsEngine
from veilroute.covering.task import CoveringTask
from veilroute.covering.walks import CoveringWalk

ENGINES = ("auto", "astar", "fields")  #: the names
WALK_BYTES = 512 * 2**20  #: walks beyond this are not kept; one that is asked for is then looked for again


def build_engine(
    name: str, task: CoveringTask, *, heuristic: str | None = None, memory_bytes: int | None = None
) -> FieldsEngine | AStarEngine | _AutoEngine:
    """The engine of a name, ready for a task.

    A heuristic is for ``astar`` only (``tour`` when left out). ``memory_bytes`` is what ``fields`` keeps in memory
    before it goes on in a file, or what the states of ``astar`` may take before it gives up; each has its own default.
    """
    _check_names(name, heuristic, ENGINES)
    if name == "fields":
        return FieldsEngine(task, field_bytes=FIELD_BYTES if memory_bytes is None else memory_bytes)
    state_bytes = STATE_BYTES if memory_bytes is None else memory_bytes
    engine = AStarEngine(task, "tour" if heuristic is None else heuristic, state_bytes=state_bytes)
    return engine if name == "astar" else _AutoEngine(engine, task, memory_bytes)


def _check_names(engine: str, heuristic: str | None, known: tuple[str, ...]) -> None:
    if engine not in known:
        raise UnknownMethodError("engine", engine, known)
    if engine != "astar" and heuristic is not None:
        raise InvalidInputError("heuristic", "none but with the engine astar", heuristic)


class _AutoEngine:
    def __init__(self, first: AStarEngine, task: CoveringTask, memory_bytes: int | None) -> None:
        self.first, self.task, self.memory_bytes = first, task, memory_bytes

    def find(
        self, members: Sequence[int], trip: int = 0, *, cost_bound: float = math.inf, watch: Watch | None = None
    ) -> CoveringWalk:
        watch = watch or Watch()
        first = self.first.find(members, trip, cost_bound=cost_bound, watch=watch)
        if first.status not in ("feasible", "unknown") or watch.is_over():
            return first
        second = build_engine("fields", self.task, memory_bytes=self.memory_bytes)
        try:
            better = second.find(members, trip, cost_bound=cost_bound, watch=watch)
        except TooLargeError:  # no room for its fields either
            return first
        counts = replace(first.counts, num_sweeps=first.counts.num_sweeps + better.counts.num_sweeps)
        lower_bound = min(better.cost, max(first.lower_bound, better.lower_bound))
        return replace(better, lower_bound=lower_bound, counts=counts)


class CoverMemo:
    """Asks an engine for the covering costs of sets, one at a time, and remembers the answers.

    The partitioners of the paper use it, because the heuristic of its search is theirs to choose. A partitioner that
    only wants costs is better off with :class:`~veilroute.partition.Costs`, which is more than a hundred times as fast.

    Parameters
    ----------
    task
        Members, posts and trips.
    engine
        ``astar`` or ``fields``; ``astar`` when left out.
    heuristic
        For ``astar``; ``tunnel`` when left out.
    tie_break
        For ``astar``; ``first-made`` when left out.
    sighting
        For ``astar``; ``arriving`` when left out.

    Attributes
    ----------
    task
        As given.
    """

    def __init__(
        self, task: CoveringTask, *, engine: str | None = None, heuristic: str | None = None,
        tie_break: str | None = None, sighting: str | None = None,
    ) -> None:  # fmt: skip
        engine = "astar" if engine is None else engine
        _check_names(engine, heuristic, ("astar", "fields"))
        for name, value in (("tie_break", tie_break), ("sighting", sighting)):
            if engine != "astar" and value is not None:
                raise InvalidInputError(name, "none but with the engine astar", value)
        self.task = task
        self._engine = (
            FieldsEngine(task)
            if engine == "fields"
            else AStarEngine(
                task, heuristic or "tunnel", tie_break=tie_break or "first-made", sighting=sighting or "arriving"
            )
        )
        self._costs: dict[Members, Floats] = {}
        self._walks: dict[tuple[Members, int], CoveringWalk] = {}
        self._walk_bytes = 0

    def costs(self, members: Sequence[int], watch: Watch) -> Floats | None:
        """Covering cost of a set, given in any order, for each trip; infinite if no walk covers it.

        ``None`` if the engine's memory was used up before the cost was found. A set that is too large for the engine
        raises `TooLargeError`, and `OutOfTimeError` says that the time is over.
        """
        members = as_members(members)
        if members in self._costs:
            return self._costs[members]
        costs = np.empty(self.task.num_trips)
        for trip in range(self.task.num_trips):
            if isinstance(self._engine, FieldsEngine):  # its walks take sweeps of their own: only for those asked for
                costs[trip] = self._engine.costs([members], trip, watch)[0]
                continue
            solved = self._engine.find(members, trip, watch=watch)
            if solved.status not in ("optimal", "infeasible"):
                watch.check()
                return None
            if self._walk_bytes + solved.walk.nbytes <= WALK_BYTES:
                self._walk_bytes += solved.walk.nbytes
                self._walks[members, trip] = solved
            costs[trip] = solved.cost
        self._costs[members] = costs
        return costs

    def find(self, members: Sequence[int], trip: int = 0) -> CoveringWalk:
        """The cheapest walk of a trip that covers ``members``."""
        ordered = as_members(members)
        known = self._walks.get((ordered, trip))
        return self._engine.find(ordered, trip) if known is None else known
