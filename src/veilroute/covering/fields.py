"""Fields: the cheapest walks to every post that cover a set, for many sets at once.

With ``f_S(n)`` the cheapest walk from the start to n that covers at least S,

    f_S(n) = min over t in S, posts q of t:  f_{S - t}(q) + d(q, n)

A field is a row of one number per post: the values of ``f_S`` there, which is all that the next larger sets need. The
fields of walks to the goal follow in the same way from the end (docs/theory,
:ref:`Covering costs <theory-covering>`). :class:`FieldStepper` is this recursion; it leaves to others which sets there
are and where their rows stand. :class:`SharedFields` keeps the rows of any sets, by members;
:mod:`veilroute.covering.class_costs` those of whole families, by bit mask and one size at a time, which is ten times as
fast for all sets of up to five members, and a hundred times for larger ones.

Rows stay in memory up to a budget of bytes. Computations over large sets need more; instead of failing they move to a
file without a name in the system's temporary folder (``TMPDIR`` says where), which is gone as soon as the process is.
It holds distances and no names.
"""

from __future__ import annotations

import os
import shutil
import tempfile

import numpy as np

from veilroute.arrays import Floats, Ints, Members
from veilroute.covering.task import Posts
from veilroute.covering.walks import Sweeper
from veilroute.errors import TooLargeError
from veilroute.kernels.subsets import advance_by_table, gather_seeds
from veilroute.progress import Watch

#: The fields of one computation stay in memory up to this many bytes, unless the caller says otherwise.
FIELD_BYTES = 512 * 2**20
_CHUNK_OPERATIONS = 2e7
_FIRST_ROWS = 16


class FieldStepper:
    """Advances fields by one member: a sweep for each set, or a table of distances from each post (row) to each."""

    def __init__(self, posts: Posts, transport: Sweeper | Floats) -> None:
        self.posts = posts
        self.transport = transport
        self._asked = posts.nodes.astype(np.int64)  # which numpy looks up in half the time

    @property
    def sets_per_chunk(self) -> int:
        """How many sets to advance between two looks at the clock."""
        return max(1, int(_CHUNK_OPERATIONS / max(1, self.transport.size)))

    def advance(self, members: Ints, smaller: Ints, previous: Floats, out: Floats) -> None:
        """Write the fields of sets to ``out``.

        Row i of ``members`` lists the members of a set; ``previous[smaller[i, j]]`` is the field of that set without
        its j-th member.
        """
        # In one layout: kernels are compiled once for each.
        members = np.ascontiguousarray(members)
        watch = (self.posts.watch_ptr, self.posts.watch_posts)
        best = np.empty(self.posts.nodes.size)
        if not isinstance(self.transport, Sweeper):
            advance_by_table(members, smaller, previous, *watch, self.transport, best, out)
            return
        for row, (group, fields) in enumerate(zip(members, smaller, strict=True)):
            gather_seeds(group, fields, previous, *watch, best)
            seeds = np.flatnonzero(np.isfinite(best))
            out[row] = self.transport.values(self.posts.nodes[seeds], best[seeds], self._asked)


class RowStore:
    """Rows of ``width`` numbers that are added one block after the other and never dropped.

    A store that needs more than ``num_bytes`` lives in a file. Growing doubles it, so that for a moment the file of a
    store may take three times its rows.
    """

    def __init__(self, width: int, num_bytes: int) -> None:
        self.rows: Floats = np.empty((0, width))
        self.num_rows = 0
        self.num_bytes = num_bytes

    def make_room(self, num_rows: int) -> int:
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


class SharedFields(RowStore):
    """The fields of any sets of one trip, in one direction: each is worked out once, when it is first asked for.

    ``empty_set`` is the field of the empty set: distances from the start, or, for ``is_backward`` fields, to the goal.
    Fields that take more than ``num_bytes`` are kept in a file.
    """

    def __init__(self, stepper: FieldStepper, empty_set: Floats, num_bytes: int, *, is_backward: bool) -> None:
        self.is_backward = is_backward
        self._direction = "to the goal" if is_backward else "from the start"
        self._stepper = stepper
        super().__init__(empty_set.size, num_bytes)
        self.make_room(1)
        self.rows[0] = empty_set
        self._row_of: dict[Members, int] = {(): 0}
        self._row_of_one = np.zeros(stepper.posts.watch_ptr.size - 1, dtype=np.int64)

    def __getitem__(self, members: Members) -> Floats:
        return np.asarray(self.rows[self._row_of[members]])

    def __contains__(self, members: Members) -> bool:
        return members in self._row_of

    def rows_of(self, sets: Ints) -> Ints:
        """Where in ``rows`` the fields of sets of one size stand, each given in ascending order."""
        if sets.shape[1] == 0:
            return np.zeros(len(sets), dtype=np.int64)
        if sets.shape[1] == 1:
            return self._row_of_one[sets[:, 0]]
        return np.array([self._row_of[tuple(members)] for members in sets.tolist()], dtype=np.int64)

    def add(self, sets: list[Members], watch: Watch) -> None:
        """Work out the fields of sets of one size, each in ascending order, after those of their subsets."""
        sets = [members for members in sets if members not in self._row_of]
        per_chunk = self._stepper.sets_per_chunk
        first = self.make_room(len(sets))
        for begin in range(0, len(sets), per_chunk):
            watch.check()
            watch.tell(f"fields of {len(sets[0])} {self._direction}", begin, len(sets))
            chunk = sets[begin : begin + per_chunk]
            smaller = [[self._row_of[s[:i] + s[i + 1 :]] for i in range(len(s))] for s in chunk]
            out = self.rows[first + begin : first + begin + len(chunk)]
            self._stepper.advance(np.array(chunk), np.array(smaller), self.rows, out)
            for row, members in enumerate(chunk, first + begin):
                self._row_of[members] = row
                if len(members) == 1:
                    self._row_of_one[members[0]] = row


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
