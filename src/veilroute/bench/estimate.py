"""How long the rest of a run will take."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean

from veilroute.bench.cells import Cell
from veilroute.bench.records import Record

_FEW = 3


class TimeEstimate:
    """Learns from finished cells how long others will take.

    A cell is expected to take as long as finished ones of the same method and size did on average; where there is
    none yet, those of the same method, then of the same size, then all.
    """

    def __init__(self) -> None:
        self._seconds: dict[tuple[object, ...], list[float]] = defaultdict(list)
        self._overheads: list[float] = []

    def learn(self, record: Record, turnaround_s: float | None = None) -> None:
        """Take a finished cell into account.

        Parameters
        ----------
        record
            What came of it; errors teach nothing.
        turnaround_s
            How long it took from being handed in to the answer, when it was run now.
        """
        if record.outcome.error:
            return
        runtime_s = record.outcome.runtime_s
        for kind in _kinds(record.cell):
            self._seconds[kind].append(runtime_s)
        if turnaround_s is not None:
            self._overheads.append(max(0.0, turnaround_s - runtime_s))

    def seconds_left(self, waiting: Iterable[Cell], running: Iterable[tuple[Cell, float]], num_slots: int) -> float:
        """Expected seconds until all is done; NaN while nothing is known, infinite without anybody to do it.

        Parameters
        ----------
        waiting
            Cells that have not begun.
        running
            Cells that have, with the seconds since.
        num_slots
            How many run at a time.
        """
        if not self._seconds:
            return math.nan
        known: dict[tuple[object, ...], float] = {}
        total = longest = 0.0
        for cell, spent_s in [*((cell, 0.0) for cell in waiting), *running]:
            kind = _kinds(cell)[0]
            if kind not in known:
                known[kind] = self._expected(cell)
            left_s = known[kind] - spent_s
            if left_s < 0:  # longer than expected already: perhaps as long again, up to its limit
                left_s = min(spent_s, max(0.0, cell.time_limit_s - spent_s))
            total += left_s
            longest = max(longest, left_s)
        return max(total / num_slots, longest) if num_slots else math.inf

    def _expected(self, cell: Cell) -> float:
        # The least of the overheads: the first cells of each method and process also load and compile.
        overhead = min(self._overheads) if len(self._overheads) >= _FEW else 0.0
        seconds = next(self._seconds[kind] for kind in _kinds(cell) if kind in self._seconds)
        return min(fmean(seconds), cell.time_limit_s) + overhead


def _kinds(cell: Cell) -> list[tuple[object, ...]]:
    """Groups of cells that a cell belongs to, the narrowest first."""
    method, size, limit = cell.method.name, cell.num_candidates, cell.time_limit_s
    return [("both", method, size, limit), ("method", method, limit), ("size", size, limit), ("any",)]
