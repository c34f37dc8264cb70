"""Memory for fields: in RAM up to a budget of bytes, in a temporary file once they need more.

A field is a row of one number per post. Computations over large sets of candidates need more rows than fit; instead
of failing they move to a file without a name in the system's temporary folder (``TMPDIR`` says where), which is
gone as soon as the process is. It holds distances and no names.
"""

from __future__ import annotations

import os
import shutil
import tempfile

import numpy as np

from veilroute.arrays import Floats
from veilroute.errors import TooLargeError

FIELD_BYTES = 512 * 2**20
"""The fields of one computation stay in memory up to this many bytes, unless the caller says otherwise."""

_FIRST_ROWS = 16


def allocate_rows(num_rows: int, width: int, *, in_memory: bool) -> Floats:
    """An array of rows whose values are not set, in memory or in a file."""
    if in_memory or num_rows * width == 0:
        return np.empty((num_rows, width))
    num_bytes = num_rows * width * 8
    try:
        with tempfile.TemporaryFile(prefix="veilroute-") as file:
            _reserve(file.fileno(), num_bytes)
            # The mapping keeps the file alive after it is closed.
            return np.memmap(file, dtype=np.float64, mode="r+", shape=(num_rows, width)).view(np.ndarray)
    except OSError as error:
        raise _no_room(num_bytes, os.strerror(error.errno or 0)) from error


def check_room(num_bytes: int) -> None:
    """Refuse at once what the temporary folder could not take later."""
    try:
        free = shutil.disk_usage(tempfile.gettempdir()).free
    except OSError as error:
        raise _no_room(num_bytes, os.strerror(error.errno or 0)) from error
    if num_bytes > free:
        raise _no_room(num_bytes, f"{free / 1e6:.0f} MB")


def _no_room(num_bytes: int, got: str) -> TooLargeError:
    return TooLargeError(
        "fields",
        f"room for {num_bytes / 1e6:.0f} MB in the temporary folder (set TMPDIR to a larger disk), fewer members to a "
        "set or a smaller radius",
        got,
    )


def _reserve(descriptor: int, num_bytes: int) -> None:
    """Take the disk space now: without it a full disk ends the process later, when a page is written."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, num_bytes)
    else:
        os.ftruncate(descriptor, num_bytes)


class RowStore:
    """Rows that are added one block after the other and never dropped.

    Parameters
    ----------
    width
        Numbers to a row.
    num_bytes
        The budget: a store that needs more lives in a file. Growing doubles it, so that for a moment the file of a
        store may take three times its rows.
    """

    def __init__(self, width: int, num_bytes: int) -> None:
        self.rows: Floats = np.empty((0, width))
        self.num_rows = 0
        self.num_bytes = num_bytes

    @property
    def is_spilled(self) -> bool:
        """Whether the rows live in a file."""
        return self.rows.nbytes > self.num_bytes

    def add(self, num_rows: int) -> int:
        """Make room for a block of rows and return the number of its first; ``rows`` may be another array then."""
        first = self.num_rows
        needed = first + num_rows
        capacity, width = self.rows.shape
        if needed > capacity:
            capacity = max(needed, 2 * capacity, _FIRST_ROWS)
            within = self.num_bytes // (8 * max(1, width))
            # Fill the budget before going beyond it.
            capacity = min(capacity, within) if needed <= within else capacity
            rows = allocate_rows(capacity, width, in_memory=capacity <= within)
            rows[:first] = self.rows[:first]
            self.rows = rows
        self.num_rows = needed
        return first
