"""Line of sight on grids in whole numbers, row by row.

The line between two centres crosses every row of cells over one unbroken run of columns. It is free when no run
holds a blocked cell, and when at no corner that it meets exactly the two cells on either side are both blocked.
Everything is counted in half cells, so nothing is rounded. (Planning follows the line from cell to cell; this is
another way on purpose.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate

from veilroute.domain.grid import Grid
from veilroute.domain.tolerance import at_most


class SightLines:
    """Answers who sees whom on a grid.

    Parameters
    ----------
    grid
        The free and blocked cells.
    """

    def __init__(self, grid: Grid) -> None:
        self._height, self._width = grid.height, grid.width
        self._free: list[list[bool]] = grid.free.tolist()
        # How many blocked cells stand before each column: a run of columns is clear when its two ends agree.
        self._walls = [list(accumulate((not cell for cell in row), initial=0)) for row in self._free]

    def seen_from(self, cell: tuple[int, int], reach: float) -> Iterator[tuple[int, int]]:
        """The free cells within ``reach`` of a cell that no wall hides from it, itself included."""
        row, col = cell
        limit = at_most(reach, exact=False)
        span = math.floor(limit)
        for there_row in range(max(0, row - span), min(self._height, row + span + 1)):
            for there_col in range(max(0, col - span), min(self._width, col + span + 1)):
                if (
                    self._free[there_row][there_col]
                    and math.hypot(there_row - row, there_col - col) <= limit
                    and self.is_clear(cell, (there_row, there_col))
                ):
                    yield there_row, there_col

    def is_clear(self, a: tuple[int, int], b: tuple[int, int]) -> bool:
        """Whether no wall stands between the centres of two cells."""
        (row, col), (last_row, last_col) = min(a, b), max(a, b)
        down, right = last_row - row, last_col - col
        if down == 0:
            return self._is_run_clear(row, col, last_col)
        for step in range(down + 1):
            # Where the line enters and leaves this row, in half cells below the first centre.
            enter, leave = max(2 * step - 1, 0), min(2 * step + 1, 2 * down)
            left, right_end = sorted((right * enter, right * leave))
            first = (left - down) // (2 * down) + 1 if right else 0
            final = -(-(right_end + down) // (2 * down)) - 1 if right else 0
            if not self._is_run_clear(row + step, col + first, col + final):
                return False
            if step < down and self._is_squeezed(row + step, col, right * (2 * step + 1), down):
                return False
        return True

    def _is_run_clear(self, row: int, first: int, final: int) -> bool:
        walls = self._walls[row]
        return walls[first] == walls[final + 1]

    def _is_squeezed(self, row: int, col: int, across: int, down: int) -> bool:
        """Whether the line leaves ``row`` through a corner between two blocked cells.

        It leaves ``across / down`` half cells to the right of the first centre; corners lie at odd half cells.
        """
        halves, rest = divmod(across, down)
        if rest or halves % 2 == 0:
            return False
        beside = col + (halves - 1) // 2  # the column left of the corner
        if across > 0:
            return not (self._free[row][beside + 1] or self._free[row + 1][beside])
        return not (self._free[row][beside] or self._free[row + 1][beside + 1])
