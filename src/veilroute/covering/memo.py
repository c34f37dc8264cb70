"""Covering walks of sets, one at a time, each worked out once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veilroute.arrays import Floats, Members
from veilroute.covering.astar import AStarEngine
from veilroute.covering.fields_engine import FieldsEngine
from veilroute.covering.found import Found
from veilroute.covering.task import CoveringTask
from veilroute.errors import InvalidInputError, UnknownMethodError
from veilroute.progress import Watch

ENGINES = ("astar", "fields")
"""What can work underneath."""

WALK_BYTES = 512 * 2**20
"""Walks beyond this are not kept; one that is asked for is then looked for again."""


class CoverMemo:
    """Asks an engine for the covering costs of sets and remembers the answers.

    Parameters
    ----------
    task
        Members, posts and trips.
    engine
        One of :data:`ENGINES`; ``astar`` when left out.
    heuristic
        For ``astar``; ``tunnel`` when left out.
    """

    def __init__(self, task: CoveringTask, *, engine: str | None = None, heuristic: str | None = None) -> None:
        if engine is not None and engine not in ENGINES:
            raise UnknownMethodError("engine", engine, ENGINES)
        if engine == "fields" and heuristic is not None:
            raise InvalidInputError("heuristic", "none but with the engine astar", heuristic)
        self.task = task
        self._engine = FieldsEngine(task) if engine == "fields" else AStarEngine(task, heuristic or "tunnel")
        self._costs: dict[Members, Floats] = {}
        self._found: dict[tuple[Members, int], Found] = {}
        self._walk_bytes = 0

    @property
    def num_solved(self) -> int:
        """How many sets were worked out."""
        return len(self._costs)

    def costs(self, members: Members, watch: Watch) -> Floats | None:
        """Covering cost of a set, given in ascending order, for each trip; infinite where no walk covers it.

        ``None`` when the time was over, or the engine's memory used up, before it was worked out; a set that is too
        large for the engine raises `TooLargeError`.
        """
        if members in self._costs:
            return self._costs[members]
        costs = np.empty(self.task.num_trips)
        for trip in range(self.task.num_trips):
            costs[trip] = self._solve(members, trip, watch)
            if np.isnan(costs[trip]):
                return None
        self._costs[members] = costs
        return costs

    def _solve(self, members: Members, trip: int, watch: Watch) -> float:
        if isinstance(self._engine, FieldsEngine):  # its walks take sweeps of their own: only for those asked for
            return float(self._engine.costs([members], trip, watch)[0])
        found = self._engine.find(members, trip, watch=watch)
        if found.status not in ("optimal", "infeasible"):
            return np.nan
        if self._walk_bytes + found.walk.nbytes <= WALK_BYTES:
            self._walk_bytes += found.walk.nbytes
            self._found[members, trip] = found
        return found.cost

    def find(self, members: Sequence[int], trip: int = 0) -> Found:
        """The cheapest walk of a trip that covers ``members``."""
        group = tuple(sorted(members))
        known = self._found.get((group, trip))
        return self._engine.find(group, trip) if known is None else known
