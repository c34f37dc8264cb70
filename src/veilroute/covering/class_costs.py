"""Covering costs of all sets of candidates that can be a class, and the walks of the classes that were chosen.

The costs are those of :mod:`veilroute.covering.fields`, for whole families of sets over a few candidates. Those of size
z need forward fields up to size ``z - 1 - b`` and backward fields up to size b, whatever b is; a field follows from
those of the sets one smaller, by a sweep of the graph or through a table of distances between posts.
:func:`choose_method` picks the cheapest way that fits. Sets are bit masks here and not tuples, and fields are dropped
when those of the next size are there: for all sets of up to seven out of fourteen candidates that is 13 to 170 times as
fast as to ask the engine.

Memory: O(candidates x nodes) for the table, which is only built when it fits that bound, plus two levels of fields
at the posts, within :data:`~veilroute.covering.fields.FIELD_BYTES`. Where no method keeps to it, the levels go to a
file. No table of nodes by nodes is ever built.

The walks (:class:`ClassWalks`) are those of the engine, ties included, but a whole sweep of the graph for each of
thousands of classes would take longer than finding the classes. The distances between the posts of a class come from
the table or the fields that a partitioner has filled, or else from sweeps that end when they have reached these posts;
the path to the next post is read off a sweep that keeps to nodes on shortest paths; and from the last post all walks of
a trip follow one sweep to the goal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from veilroute.arrays import Flags, Floats, Masks, Members, as_members
from veilroute.covering.fields import FIELD_BYTES, FieldsEngine, FieldStepper, allocate_rows, check_room
from veilroute.covering.set_costs import FieldCosts, TourCosts
from veilroute.covering.task import CoveringTask, PostTable, members_of
from veilroute.covering.walks import CoveringWalk, Sweeper, Sweepers, estimate_sweep
from veilroute.kernels.subsets import join_fields
from veilroute.progress import OutOfTimeError, Watch

_LARGEST_BACK_SIZE = 4
_SETS_PER_JOIN = 1 << 14
_FEW_MEMBERS = 300
_NUM_TRIED = 40
_FEW_TRIED = 3
_TRIED_SHARE = 0.05
_LITTLE_SHARE = 0.01
_MARGIN = 1.5


@dataclass(frozen=True, eq=False)
class ClassCosts:
    """Covering costs by set."""

    costs: Floats  # per trip and bit mask of members; infinite where no walk covers the set or it was not needed
    is_complete: bool  # false after an early stop
    table: PostTable | None  # distances between the posts, when the method built them


@dataclass(frozen=True)
class Method:
    """How fields are advanced (``by_table`` or by sweeps) and up to which size backward fields go."""

    by_table: bool
    back_size: int


def choose_method(task: CoveringTask, sets_by_size: list[int], field_bytes: int = FIELD_BYTES) -> Method:
    """The method with the least estimated work among those whose fields fit the memory meant for them.

    A function of the problem alone, never of the machine, so that every process chooses alike. When none fits, the
    smallest is taken.
    """
    fits_table = task.posts.nodes.size**2 <= len(task.members) * task.domain.num_nodes
    largest = len(sets_by_size) - 1
    methods = [
        Method(by_table, back_size)
        for by_table in ((True, False) if fits_table else (False,))
        for back_size in range(min(_LARGEST_BACK_SIZE + 1, max(1, largest)))
    ]
    num_bytes = {method: _estimate_bytes(task, sets_by_size, method) for method in methods}
    allowed = max(field_bytes, min(num_bytes.values()))
    fitting = [method for method in methods if num_bytes[method] <= allowed]
    return min(fitting, key=lambda method: _estimate_work(task, sets_by_size, method))


def _estimate_bytes(task: CoveringTask, sets_by_size: list[int], method: Method) -> int:
    """Memory of the fields, at most: two neighbouring levels forwards, all levels backwards."""
    forward_size = max(0, len(sets_by_size) - 2 - method.back_size)
    forward = sets_by_size[: forward_size + 1]
    together = max(a + b for a, b in zip([0, *forward], forward, strict=False))
    return 8 * task.posts.nodes.size * (together + sum(sets_by_size[: method.back_size + 1]))


def _estimate_work(task: CoveringTask, sets_by_size: list[int], method: Method) -> float:
    """Rough nanoseconds of a method for one trip."""
    num_posts = task.posts.nodes.size
    largest = len(sets_by_size) - 1
    one_sweep = estimate_sweep(task.domain)
    watchers = task.posts.watch_posts.size / max(1, len(task.members))
    forward_size = max(0, largest - 1 - method.back_size)
    num_fields = sum(sets_by_size[1 : forward_size + 1]) + sum(sets_by_size[1 : method.back_size + 1])
    joining = 0.0
    for size in range(1, largest + 1):
        behind = min(method.back_size, size - 1)
        tried = 2 ** (size - 1) if behind else 1
        joining += sets_by_size[size] * size * (3 * tried + math.comb(size - 1, behind) * watchers)
    if method.by_table:
        one_field = num_posts * (1 + min(num_posts, largest * watchers))
        return num_posts * one_sweep / task.num_trips + num_fields * one_field + joining
    return num_fields * (one_sweep + 20 * largest * watchers) + joining


def compute_class_costs(
    task: CoveringTask, needed: Flags, watch: Watch, method: Method | None = None, *, field_bytes: int = FIELD_BYTES
) -> ClassCosts:
    """Covering costs of all sets marked in ``needed``, a family closed under taking subsets.

    Sets are worked out in order of size, so that an early stop leaves a usable result. Fields beyond ``field_bytes``
    are kept in a file.
    """
    masks = np.flatnonzero(needed).astype(np.int64)
    sizes = np.bitwise_count(masks)
    largest = int(sizes.max(initial=0))
    levels = [np.zeros(1, dtype=np.int64), *(masks[sizes == size] for size in range(1, largest + 1))]  # by size
    sets_by_size = [level.size for level in levels]
    method = method or choose_method(task, sets_by_size, field_bytes)
    num_bytes = task.num_trips * _estimate_bytes(task, sets_by_size, method)
    in_memory = num_bytes <= field_bytes
    if not in_memory:
        check_room(num_bytes)
    table = PostTable(task.domain, task.posts) if method.by_table else None
    costs = np.full((task.num_trips, needed.size), np.inf)
    if table is not None:
        try:
            table.complete(watch)
        except OutOfTimeError:
            return ClassCosts(costs, is_complete=False, table=None)

    def sides(fields: Floats, *, backward: bool) -> list[_Side]:
        way: Sweeper | Floats
        if table is None:
            way = Sweeper(task.domain, backward=backward, num_seeds=task.posts.nodes.size)
        else:
            way = table.transposed if backward else table.distances
        return [_Side(FieldStepper(task.posts, way), field, levels, in_memory=in_memory) for field in fields]

    forward, backward = sides(task.from_start, backward=False), sides(task.to_goal, backward=True)
    done, total = 0, sum(sets_by_size[1:]) * task.num_trips
    reached = 0
    with suppress(OutOfTimeError):
        for size in range(1, largest + 1):
            back_size = min(method.back_size, size - 1)
            for trip, (front, back) in enumerate(zip(forward, backward, strict=True)):
                for _ in chain(back.advance_to(back_size), front.advance_to(size - 1 - back_size)):
                    watch.check()
                    watch.tell("class costs", done, total)
                for first in range(0, levels[size].size, _SETS_PER_JOIN):
                    watch.check()
                    part = levels[size][first : first + _SETS_PER_JOIN]
                    values = np.empty(part.size)
                    join_fields(
                        part, back_size, front.rows, front.fields, back.rows, back.fields,
                        task.posts.watch_ptr, task.posts.watch_posts, values,
                    )  # fmt: skip
                    costs[trip, part] = values
                    done += part.size
                    watch.tell("class costs", done, total)
            reached = size
    if reached < largest:
        costs[:, np.bitwise_count(np.arange(needed.size)) > reached] = np.inf
    costs *= task.unit
    return ClassCosts(costs, reached == largest, table)


class _Side:
    """The fields of one trip in one direction: those of one size, from which those of the next follow."""

    def __init__(self, stepper: FieldStepper, empty_set: Floats, levels: list[Masks], *, in_memory: bool) -> None:
        self.stepper, self.levels, self.in_memory = stepper, levels, in_memory
        self.size = 0
        self.fields = empty_set.reshape(1, -1)
        self.rows = np.zeros(1 << (stepper.posts.watch_ptr.size - 1), dtype=np.int64)  # where each set's field stands

    def advance_to(self, size: int) -> Iterator[None]:
        """Go on to the sets of a size; comes back now and then, for a look at the clock."""
        per_chunk = self.stepper.sets_per_chunk
        while self.size < size:
            self.size += 1
            masks = self.levels[self.size]
            fields = allocate_rows(masks.size, self.fields.shape[1], in_memory=self.in_memory)
            for first in range(0, masks.size, per_chunk):
                yield
                part = slice(first, first + per_chunk)
                members = members_of(masks[part], self.size)
                self.stepper.advance(members, self.rows[masks[part, None] ^ (1 << members)], self.fields, fields[part])
            self.rows[masks] = np.arange(masks.size)
            self.fields = fields


class ClassWalks:
    """Finds the walks of classes, a class at a time.

    Parameters
    ----------
    task
        Members, posts and trips.
    costs
        What a partitioner has found costs of sets with; what it has worked out is not worked out again.
    """

    def __init__(self, task: CoveringTask, costs: TourCosts | FieldCosts | None = None) -> None:
        self.task = task
        self._tours: TourCosts | None = costs if isinstance(costs, TourCosts) else None
        self._fields: FieldsEngine | None = costs.engine if isinstance(costs, FieldCosts) else None
        self._walks: dict[tuple[Members, int], CoveringWalk] = {}
        self._last: tuple[Members, FieldsEngine] | None = None
        self._together: FieldsEngine | None = None  # for all classes, see `find`

    @cached_property
    def _sweepers(self) -> Sweepers:
        return Sweepers(self.task.domain, self.task.posts.nodes.size)

    def find(self, members: Sequence[int], trip: int = 0) -> CoveringWalk:
        """The cheapest walk of a trip that covers ``members`` (positions in the task)."""
        ordered = as_members(members)
        if (ordered, trip) in self._walks:
            return self._walks[ordered, trip]
        if self._fields is not None and self._fields.has_fields(ordered, trip):
            return self._fields.find(ordered, trip)
        everybody = range(len(self.task.members))
        if self._together is None and self._tours is not None and len(everybody) <= _FEW_MEMBERS:
            # Where members are few and their distances known, one engine for all classes is quicker than one for each.
            table = self._tours.table_of(everybody, self.task.posts)
            self._together = None if table is None else FieldsEngine(self.task, table=table, sweepers=self._sweepers)
        if self._together is not None:
            return self._together.find(ordered, trip)
        # Trip after trip is asked for one class.
        if self._last is None or self._last[0] != ordered:
            self._last = (ordered, self._engine_of(ordered))
        return self._last[1].find(range(len(ordered)), trip)

    def has_walks(self, members: Sequence[int]) -> bool:
        """Whether some walk of each trip covers the class; they are kept for who asks for them later."""
        ordered = as_members(members)
        walks = [self.find(ordered, trip) for trip in range(self.task.num_trips)]
        self._walks |= {(ordered, trip): walk for trip, walk in enumerate(walks)}
        return all(math.isfinite(walk.cost) for walk in walks)

    def keep_time(
        self, classes: Sequence[Members], watch: Watch, write_down: Callable[[Members], object] | None = None
    ) -> None:
        """Have a search with a time limit end early enough to ``write_down`` so many classes; tries a few of them."""
        if watch.time_limit_s is None or not classes:
            return
        little = _LITTLE_SHARE * watch.time_limit_s
        if 0 < watch.reserve_s < little:
            return  # as before: the walks hardly matter
        write_down = write_down or self._write_down
        write_down(classes[0])  # loads kernels
        # Work, at the pace that the machine has kept so far: a moment's pause must not count a thousand times.
        began = time.thread_time()
        needed = 0.0
        for num, members in enumerate(classes[:: math.ceil(len(classes) / _NUM_TRIED)], start=1):
            write_down(members)
            spent = time.thread_time() - began
            needed = _MARGIN * watch.slowdown() * watch.walks_per_class * len(classes) * spent / num
            is_little = num >= _FEW_TRIED and needed < little
            if is_little or spent > _TRIED_SHARE * watch.time_limit_s:
                break
        watch.reserve_s = needed

    def _write_down(self, members: Members) -> None:
        # To look a walk's labels up stands for the rest of what is done with it.
        for trip in range(self.task.num_trips):
            self.task.domain.labels_of(self.find(members, trip).walk)

    def _engine_of(self, ordered: Members) -> FieldsEngine:
        """The engine of a class by itself."""
        part = self.task.part(ordered)
        table = None if self._tours is None else self._tours.table_of(ordered, part.posts)
        return FieldsEngine(part, table=table, sweepers=self._sweepers)
