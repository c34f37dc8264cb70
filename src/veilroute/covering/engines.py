"""The engines that find covering walks, by name.

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

from veilroute.covering.found import CoverEngine, Found
from veilroute.covering.task import CoveringTask
from veilroute.errors import InvalidInputError, TooLargeError, UnknownMethodError
from veilroute.progress import Watch

ENGINES = ("auto", "astar", "fields")
"""The names."""


def build_engine(
    name: str, task: CoveringTask, *, heuristic: str | None = None, memory_bytes: int | None = None
) -> CoverEngine:
    """The engine of a name, ready for a task.

    Parameters
    ----------
    name
        One of :data:`ENGINES`.
    task
        Members, posts and trips.
    heuristic
        For ``astar`` only; ``tour`` when left out.
    memory_bytes
        What ``fields`` keeps in memory before it goes on in a file, or what the states of ``astar`` may take before it
        gives up; each has its own default.
    """
    if name not in ENGINES:
        raise UnknownMethodError("engine", name, ENGINES)
    if name != "astar" and heuristic is not None:
        raise InvalidInputError("heuristic", "none but with the engine astar", heuristic)
    # Here and not at the top: a planner that needs only one of them does not wait for the other's kernels to load.
    if name == "fields":
        from veilroute.covering.fields_engine import FieldsEngine
        from veilroute.covering.rows import FIELD_BYTES

        return FieldsEngine(task, field_bytes=FIELD_BYTES if memory_bytes is None else memory_bytes)
    from veilroute.covering.astar import STATE_BYTES, AStarEngine

    state_bytes = STATE_BYTES if memory_bytes is None else memory_bytes
    engine = AStarEngine(task, "tour" if heuristic is None else heuristic, state_bytes=state_bytes)
    return engine if name == "astar" else _AutoEngine(engine, task, memory_bytes)


class _AutoEngine:
    def __init__(self, first: CoverEngine, task: CoveringTask, memory_bytes: int | None) -> None:
        self.first, self.task, self.memory_bytes = first, task, memory_bytes

    def find(
        self, members: Sequence[int], trip: int = 0, *, cost_bound: float = math.inf, watch: Watch | None = None
    ) -> Found:
        watch = watch or Watch()
        found = self.first.find(members, trip, cost_bound=cost_bound, watch=watch)
        if found.status not in ("feasible", "unknown") or watch.is_over():
            return found
        second = build_engine("fields", self.task, memory_bytes=self.memory_bytes)
        try:
            better = second.find(members, trip, cost_bound=cost_bound, watch=watch)
        except TooLargeError:  # no room for its fields either
            return found
        counts = replace(found.counts, num_sweeps=found.counts.num_sweeps + better.counts.num_sweeps)
        lower_bound = min(better.cost, max(found.lower_bound, better.lower_bound))
        return replace(better, lower_bound=lower_bound, counts=counts)
