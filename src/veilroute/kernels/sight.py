"""Line of sight between grid cells, in exact integer arithmetic."""

import numpy as np

from veilroute.base.arrays import Flags, Ints
from veilroute.kernels.jit import inner, jit


@inner
def is_clear(free: Flags, row0: int, col0: int, row1: int, col1: int) -> bool:
    """Whether the line between two cell centres misses the inside of every blocked cell.

    The line is followed from cell to cell. Where it passes exactly through a corner it moves on diagonally, unless
    both cells beside the corner are blocked.
    """
    down, right = abs(row1 - row0), abs(col1 - col0)
    row_step = 1 if row1 > row0 else -1
    col_step = 1 if col1 > col0 else -1
    row, col = row0, col0
    rows_done, cols_done = 0, 0
    while rows_done < down or cols_done < right:
        # The next crossing of a row border is at (rows_done + 1/2) / down, of a column border at
        # (cols_done + 1/2) / right along the line; compare without dividing.
        row_key = (2 * rows_done + 1) * right
        col_key = (2 * cols_done + 1) * down
        if down == 0 or (right != 0 and col_key < row_key):
            col += col_step
            cols_done += 1
        elif right == 0 or row_key < col_key:
            row += row_step
            rows_done += 1
        else:
            if not free[row + row_step, col] and not free[row, col + col_step]:
                return False
            row += row_step
            col += col_step
            rows_done += 1
            cols_done += 1
        if not free[row, col]:
            return False
    return True


@jit
def visible_cells(free: Flags, row0: int, col0: int, reach: float) -> Ints:
    """Row and column of every free cell in sight of a cell and within ``reach``, row by row."""
    height, width = free.shape
    span = int(np.floor(min(reach, float(height + width))))
    found = np.empty((min(height * width, (2 * span + 1) * (2 * span + 1)), 2), dtype=np.int64)
    count = 0
    for row in range(max(0, row0 - span), min(height, row0 + span + 1)):
        for col in range(max(0, col0 - span), min(width, col0 + span + 1)):
            apart = (row - row0) ** 2 + (col - col0) ** 2
            if free[row, col] and apart <= reach * reach and is_clear(free, row0, col0, row, col):
                found[count, 0] = row
                found[count, 1] = col
                count += 1
    return found[:count]
