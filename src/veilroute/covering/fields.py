"""Fields: exact covering costs and walks of any sets, from the cheapest walks to every post that all sets share.

With ``f_S(n)`` the cheapest walk from the start to n that covers at least S, and ``h_T(n)`` from n to the goal that
covers T,

    f_S(n) = min over t in S, posts q of t:  f_{S - t}(q) + d(q, n)
    c(C)   = min over j in C, S + T = C - j, posts q of j:  f_S(q) + h_T(q)

for any fixed size of S (docs/theory, :ref:`Covering costs <theory-covering>`). A field is a row of one number per post:
the values of ``f_S``, or of ``h_T``, there, which is all that the next larger sets need. :class:`FieldStepper` is the
recursion; it leaves to others which sets there are and where their rows stand. :class:`SharedFields` keeps the rows of
any sets, by members; :mod:`veilroute.covering.set_costs` those of whole families, by bit mask and one size at a time,
which is ten times as fast for all sets of up to five members, and a hundred times for larger ones.

:class:`FieldsEngine` meets in the middle: a set of z members needs forward fields of up to ``(z - 1) // 2`` members and
backward fields of up to ``z // 2``. Pairs therefore need one backward sweep per candidate, triples one forward sweep
more, and no sweep per pair. Walks come from the same fields, without a parent being stored anywhere: the best middle is
known, and from there the next post is the one where distance and remaining field add up, one sweep for each.

Rows stay in memory up to a budget of bytes. Computations over large sets need more; instead of failing they move to a
file without a name in the system's temporary folder (``TMPDIR`` says where), which is gone as soon as the process is.
It holds distances and no names.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from itertools import chain, combinations

import numpy as np

from veilroute.base.arrays import Floats, Ints, Members, Post, Walk, as_members
from veilroute.base.errors import InvalidInputError, TooLargeError
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.crew import Seeds, Sweeps, crew_at_work
from veilroute.covering.states import StateGraph
from veilroute.covering.task import CoveringTask, Posts, PostTable
from veilroute.covering.walks import Counts, CoveringWalk, Sweeper, Sweepers, stop_with_walk, walk_cost, walk_through
from veilroute.domain.graph import RELATIVE, at_most, choice_margin
from veilroute.kernels.subsets import advance_by_table, gather_seeds, join_rows

#: The fields of one computation stay in memory up to this many bytes, unless the caller says otherwise.
FIELD_BYTES = 512 * 2**20
MAX_MEMBERS = 20  #: the most members that a set may have: their fields number about two to that power
_CHUNK_OPERATIONS = 2e7
_FIRST_ROWS = 16
_PIECES_PER_JOIN = 1 << 16
_SIZES_FOR_BOUNDS = (2, 3)
_MAX_KEPT = 8


class FieldsEngine:
    """Covering costs and walks by fields.

    Ties: of equally cheap walks, the one whose middle member comes first; then the one with the first members behind
    it; then the one with the lowest post. Before and behind the middle the next member, then its post, is again the
    first of the best, and between posts the walk is that of :meth:`Sweeper.follow`.

    Parameters
    ----------
    task
        Members, posts and trips.
    table
        Distances between all posts of the task, when somebody has them already. Without, the engine builds them
        where posts are hardly more than members, and sweeps the graph elsewhere.
    field_bytes
        Memory for fields, shared evenly between the trips and directions.
    sweepers
        What to sweep with where the task is one class of many, and others sweep with it as well.
    """

    def __init__(
        self,
        task: CoveringTask,
        *,
        table: PostTable | None = None,
        field_bytes: int = FIELD_BYTES,
        sweepers: Sweepers | None = None,
    ) -> None:
        self.task = task
        self._sweepers = Sweepers(task.domain, task.posts.nodes.size) if sweepers is None else sweepers
        # Where posts are hardly more than members, a table takes no more sweeps than the members' fields would; where
        # states are swept, it takes hardly longer, and is of use for the walks as well.
        per_member = 4 if isinstance(task.domain, StateGraph) else 2
        if table is None and task.posts.nodes.size <= per_member * len(task.members):
            table = PostTable(
                task.domain, task.posts, local=None if sweepers is None else sweepers.sweeper(backward=False)
            )
        self._table = table
        self._num_rows_given = 0 if table is None else table.num_done
        self._field_bytes = field_bytes
        self._fields: dict[tuple[int, bool], SharedFields] = {}
        self._margin = choice_margin(exact=task.domain.has_integer_costs)

    @property
    def will_have_table(self) -> bool:
        """Whether the distances between all posts will be there with the first costs."""
        return self._table is not None

    @property
    def table(self) -> PostTable | None:
        """The distances between all posts, once they are there."""
        return self._table if self._table is not None and self._table.is_complete else None

    def costs(self, sets: Sequence[Sequence[int]] | Ints, trip: int = 0, watch: Watch | None = None) -> Floats:
        """Covering costs of sets of one size, each given in ascending order; infinite where no walk covers one.

        Complexity: one sweep for each subset of at most ``(z - 1) // 2`` members of a set, and one for each of at most
        ``z // 2``, as far as no call before needed them; then ``z * comb(z - 1, z // 2)`` looks at a member's posts.
        """
        members = np.asarray(sets, dtype=np.int64)
        if len(members) == 0:
            return np.empty(0)
        if members.ndim != 2:
            raise InvalidInputError("sets", "sets of one size, each a row")
        if members.shape[1] == 0:
            return np.full(len(members), self.task.direct[trip]) * self.task.unit
        self._check_size(members.shape[1])
        if not 0 <= members.min() <= members.max() < len(self.task.members):
            raise InvalidInputError("sets", f"positions from 0 to {len(self.task.members) - 1}")
        watch = watch or Watch()
        watch.count("searches", len(members))
        self._ensure(members, trip, watch)
        return self._join(members, trip)[0] * self.task.unit

    def find(
        self, members: Sequence[int], trip: int = 0, *, cost_bound: float = math.inf, watch: Watch | None = None
    ) -> CoveringWalk:
        """The cheapest walk of a trip that covers ``members`` (positions in the task).

        With a ``cost_bound`` the work ends as soon as no walk can keep to it: the members one by one, then their pairs
        and triples, are looked at on the way. Complexity as in :meth:`costs`, and up to 2z sweeps for the walk.
        """
        watch = watch or Watch()
        ordered = as_members(members)
        self._check_size(len(ordered))
        swept = self.num_sweeps
        lower = float(self.task.least_costs(ordered, trip).max())
        highest = at_most(cost_bound, exact=self.task.domain.has_integer_costs)
        split, post = -1, Post(-1)
        # Without a bound to break, the small subsets would be looked at for nothing.
        smaller = () if highest == math.inf else _SIZES_FOR_BOUNDS
        for size in sorted({size for size in (*smaller, len(ordered)) if 0 < size <= len(ordered)}):
            if lower > highest or lower == math.inf:
                break
            sets = np.array(list(combinations(ordered, size)))
            try:
                self._ensure(sets, trip, watch)
            except OutOfTimeError:
                forward = self._sweepers.sweeper(backward=False)
                return stop_with_walk(self.task, ordered, trip, forward, lower, highest, self._count(swept))
            values, splits, posts = self._join(sets, trip)
            lower = max(lower, float(values.max()) * self.task.unit)
            split, post = int(splits[0]), Post(int(posts[0]))
        if lower > highest or lower == math.inf:
            return CoveringWalk.none("infeasible" if lower == math.inf else "over-bound", lower, self._count(swept))
        walk = self._walk(*self._stops(ordered, trip, split, post), trip)
        cost = walk_cost(self.task.domain, walk)
        # The walk is priced edge by edge, the bound comes from the fields: they differ by rounding at most.
        is_proved = math.isclose(cost, lower, rel_tol=RELATIVE)
        lower = cost if is_proved else lower
        return CoveringWalk(walk, cost, "optimal" if is_proved else "feasible", lower, self._count(swept))

    def has_fields(self, members: Sequence[int], trip: int) -> bool:
        """Whether the fields that joining a set needs are there, because somebody asked for them before."""
        for backward, largest in zip((False, True), _halves(len(members)), strict=True):
            parts = chain.from_iterable(combinations(as_members(members), size) for size in range(1, largest + 1))
            if (trip, backward) not in self._fields or any(part not in self._fields[trip, backward] for part in parts):
                return False
        return True

    def _check_size(self, num_members: int) -> None:
        if num_members > MAX_MEMBERS:
            expected = f"at most {MAX_MEMBERS} for the fields engine; cover them by several walks"
            raise TooLargeError("members", expected, num_members)

    def _ensure(self, sets: Ints, trip: int, watch: Watch) -> None:
        """Work out the fields that joining these sets needs."""
        if self._table is not None:
            self._table.complete(watch)
        in_front, behind = _halves(sets.shape[1])
        singles: list[Members] = [(member,) for member in np.unique(sets).tolist()]
        for backward, largest in ((True, behind), (False, in_front)):
            for size in range(1, largest + 1):
                wanted = chain.from_iterable(combinations(members, size) for members in sets.tolist())
                self._shared(trip, backward=backward).add(singles if size == 1 else sorted(set(wanted)), watch)

    def _join(self, sets: Ints, trip: int) -> tuple[Floats, Ints, Ints]:
        """Covering cost in units, best split and best middle post of each set."""
        posts = self.task.posts
        forward, backward = self._shared(trip, backward=False), self._shared(trip, backward=True)
        best = np.full(len(sets), np.inf)
        choice, choice_post = np.full((2, len(sets)), -1, dtype=np.int64)
        for middle in range(sets.shape[1]):
            in_front, behind = _split(sets.shape[1], middle)
            num = len(behind)
            per_chunk = max(1, _PIECES_PER_JOIN // num)
            for first in range(0, len(sets), per_chunk):
                part = sets[first : first + per_chunk]
                join_rows(
                    np.repeat(np.arange(first, first + len(part)), num),
                    np.tile(np.arange(middle * num, (middle + 1) * num), len(part)),
                    np.repeat(part[:, middle], num),
                    forward.rows_of(part[:, in_front].reshape(len(part) * num, in_front.shape[1])),
                    backward.rows_of(part[:, behind].reshape(len(part) * num, behind.shape[1])),
                    forward.rows, backward.rows, posts.watch_ptr, posts.watch_posts,
                    self._margin, best, choice, choice_post,
                )  # fmt: skip
        return best, choice, choice_post

    def _walk(self, stops: list[Post], steps: list[float], trip: int) -> Walk:
        """The walk past posts, in order of travel, with the distances from each to the next."""
        task, back = self.task, self._sweepers.sweeper(backward=True)
        nodes = task.posts.nodes[stops].tolist()
        lengths = [float(task.from_start[trip][stops[0]]), *steps] if stops else []
        walk = walk_through(back, task.starts[trip], nodes, lengths, task.all_from_start[trip], task.all_to_goal[trip])
        return np.concatenate((walk, self._sweepers.path_to_goal(int(walk[-1]), task.goals[trip])[1:]))

    def _stops(self, ordered: Members, trip: int, split: int, post: Post) -> tuple[list[Post], list[float]]:
        """The posts at which an optimal walk covers each member, in order of travel, and the steps between them."""
        if not ordered:
            return [], []
        # Splits are numbered through all middles, as many for each.
        middle, number = divmod(split, math.comb(len(ordered) - 1, len(ordered) // 2))
        first, last = (tuple(ordered[i] for i in side[number].tolist()) for side in _split(len(ordered), middle))
        before, steps = self._descend(post, first, trip, self._shared(trip, backward=False))
        after, further = self._descend(post, last, trip, self._shared(trip, backward=True))
        return [*before[::-1], post, *after], [*steps[::-1], *further]

    def _descend(self, post: Post, left: Members, trip: int, fields: SharedFields) -> tuple[list[Post], list[float]]:
        """The posts from the middle to where the fields begin that cover ``left``, and the steps between them."""
        stops: list[Post] = []
        steps: list[float] = []
        while left:
            distances = self._distances_at_posts(post, left, trip, fields)
            best_member, best = -1, math.inf
            for i, member in enumerate(left):
                mine = self.task.posts.posts_of(member)
                values = distances[mine] + fields[left[:i] + left[i + 1 :]][mine]
                at = int(values.argmin())
                # A later member must be better by more than rounding to be preferred.
                if values[at] < best * self._margin:
                    best_member, post, best = i, Post(int(mine[at])), float(values[at])
            stops.append(post)
            steps.append(float(distances[post]))
            left = left[:best_member] + left[best_member + 1 :]
        return stops, steps

    def _distances_at_posts(self, post: Post, left: Members, trip: int, fields: SharedFields) -> Floats:
        """Distances between a post and those of members ``left``, in the fields' direction; infinite off the way."""
        is_onward, nodes = fields.is_backward, self.task.posts.nodes
        if self._table is not None:
            table = self._table.distances if is_onward else self._table.transposed
            return np.asarray(table[post])
        mine = np.unique(np.concatenate([self.task.posts.posts_of(member) for member in left]))
        ahead = (self.task.all_to_goal if is_onward else self.task.all_from_start)[trip]
        distances = np.full(nodes.size, np.inf)
        sweeper = self._sweepers.sweeper(backward=not is_onward)
        distances[mine] = sweeper.near(int(nodes[post]), nodes[mine], ahead, float(fields[left][post]))
        return distances

    def _count(self, swept: int) -> Counts:
        return Counts(num_sweeps=self.num_sweeps - swept)

    @property
    def num_sweeps(self) -> int:
        """Sweeps of the graph so far."""
        in_table = 0 if self._table is None else self._table.num_done - self._num_rows_given
        return in_table + self._sweepers.num_sweeps

    def _shared(self, trip: int, *, backward: bool) -> SharedFields:
        if (trip, backward) not in self._fields:
            transport: Sweeper | Floats = self._sweepers.sweeper(backward=backward)
            if self._table is not None:
                transport = self._table.transposed if backward else self._table.distances
            self._fields[trip, backward] = SharedFields(
                FieldStepper(self.task.posts, transport),
                self.task.to_goal[trip] if backward else self.task.from_start[trip],
                self._field_bytes // (2 * self.task.num_trips),
                is_backward=backward,
            )
        return self._fields[trip, backward]


def _halves(size: int) -> tuple[int, int]:
    """How many members of a set are covered in front of the middle one, and how many behind."""
    return max(0, size - 1) // 2, size // 2


def _split(size: int, middle: int) -> tuple[Ints, Ints]:
    """The ways to place a set around a middle member: positions of those in front and behind, a row for each way."""
    return _kept_split(size, middle) if size <= _MAX_KEPT else _make_split(size, middle)


def _make_split(size: int, middle: int) -> tuple[Ints, Ints]:
    num_in_front, num_behind = _halves(size)
    behind = np.array(list(combinations([i for i in range(size) if i != middle], num_behind)), dtype=np.int64)
    is_in_front = np.ones((len(behind), size), dtype=bool)
    is_in_front[:, middle] = False
    np.put_along_axis(is_in_front, behind, False, axis=1)
    return np.nonzero(is_in_front)[1].reshape(len(behind), num_in_front), behind


_kept_split = cache(_make_split)


class FieldStepper:
    """Advances fields by one member: a sweep for each set, or a table of distances from each post (row) to each."""

    def __init__(self, posts: Posts, transport: Sweeper | Floats) -> None:
        self.posts = posts
        self.transport = transport
        asked = posts.nodes.astype(np.int64)  # which numpy looks up in half the time
        self._sweeps = Sweeps.shared(transport, asked) if isinstance(transport, Sweeper) else None

    @property
    def sets_per_chunk(self) -> int:
        """How many sets to advance between two looks at the clock."""
        num_at_once = 1 if self._sweeps is None else crew_at_work().num_at_once
        return num_at_once * max(1, int(_CHUNK_OPERATIONS / max(1, self.transport.size)))

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
        assert self._sweeps is not None, "made with the sweeper"
        work: list[Seeds] = []
        for group, fields in zip(members, smaller, strict=True):
            gather_seeds(group, fields, previous, *watch, best)
            seeds = np.flatnonzero(np.isfinite(best))
            work.append((self.posts.nodes[seeds], best[seeds]))
        done, swept = 0, self.transport.num_sweeps
        for rows in crew_at_work().read(self._sweeps, work):
            out[done : done + len(rows)] = rows
            done += len(rows)
        self.transport.num_sweeps = swept + done


class SharedFields:
    """The fields of any sets of one trip, in one direction: each is worked out once, when it is first asked for.

    ``empty_set`` is the field of the empty set: distances from the start, or, for ``is_backward`` fields, to the goal.
    Fields that take more than ``num_bytes`` are kept in a file. Growing doubles the room for them, so that for a moment
    the file may take three times what is in it.
    """

    def __init__(self, stepper: FieldStepper, empty_set: Floats, num_bytes: int, *, is_backward: bool) -> None:
        self.is_backward = is_backward
        self.num_bytes = num_bytes
        self._stepper = stepper
        self.rows = empty_set.reshape(1, -1)
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

    def _make_room(self, num_rows: int) -> None:
        """Make room for so many rows in all; ``rows`` may be another array then."""
        capacity, width = self.rows.shape
        if num_rows > capacity:
            capacity = max(num_rows, 2 * capacity, _FIRST_ROWS)
            within = self.num_bytes // (8 * max(1, width))
            # Fill the budget before going beyond it.
            capacity = min(capacity, within) if num_rows <= within else capacity
            rows = allocate_rows(capacity, width, in_memory=capacity <= within)
            rows[: len(self._row_of)] = self.rows[: len(self._row_of)]
            self.rows = rows

    def add(self, sets: list[Members], watch: Watch) -> None:
        """Work out the fields of sets of one size, each in ascending order, after those of their subsets."""
        sets = [members for members in sets if members not in self._row_of]
        per_chunk = self._stepper.sets_per_chunk
        direction = "to the goal" if self.is_backward else "from the start"
        first = len(self._row_of)
        self._make_room(first + len(sets))
        for begin in range(0, len(sets), per_chunk):
            watch.check()
            watch.tell(f"fields of {len(sets[0])} {direction}", begin, len(sets))
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
