"""What sets of candidates cost to cover: small ones out of many, or all of a few; and the walks of those chosen.

Any small sets, asked for by the thousand, get exact costs in two ways: where each member is watched from one post, as
the cheapest order through a table of distances between members (:class:`TourCosts`); elsewhere from the fields engine
(:class:`FieldCosts`). The former keeps O(members^2) numbers, the latter O(members x posts); both number the members in
an ``order`` of the caller's. Local search does with less: :func:`choose_stops` picks a few posts for each member, its
*stops*, and the distances between them are enough for walks that are nearly as cheap as any.

All sets of a few candidates that can be a class get theirs at once, from :func:`compute_class_costs`. Those of size z
need forward fields up to size ``z - 1 - b`` and backward fields up to size b, whatever b is; a field follows from those
of the sets one smaller, by a sweep of the graph or through a table of distances between posts. :func:`choose_method`
picks the cheapest way that fits. Sets are bit masks here and not tuples, and fields are dropped when those of the next
size are there: for all sets of up to seven out of fourteen candidates that is 13 to 170 times as fast as to ask the
engine. Memory: O(candidates x nodes) for the table, which is only built when it fits that bound, plus two levels of
fields at the posts, within :data:`~veilroute.covering.fields.FIELD_BYTES`. Where no method keeps to it, the levels go
to a file. No table of nodes by nodes is ever built.

The walks (:class:`ClassWalks`) are those of the engine, ties included, but a whole sweep of the graph for each of
thousands of classes would take longer than finding the classes. The distances between the posts of a class come from
the table or the fields that a partitioner has filled, or else from sweeps that end when they have reached these posts;
the path to the next post is read off a sweep that keeps to nodes on shortest paths; and from the last post all walks of
a trip follow one sweep to the goal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints, Masks, Members, as_members
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.crew import Sweeps, crew_at_work
from veilroute.covering.fields import FIELD_BYTES, FieldsEngine, FieldStepper, allocate_rows, check_room
from veilroute.covering.task import CoveringTask, Posts, PostTable, members_of
from veilroute.covering.walks import Counts, CoveringWalk, Sweeper, Sweepers, estimate_sweep, walk_cost
from veilroute.kernels.subsets import join_fields, pair_costs, tour_costs
from veilroute.kernels.touring import order_members

#: The most members that a set may have out of many: for :class:`TourCosts` it takes two to that power times its square.
MAX_TOUR = 12
MAX_STOPS = 8  #: the most stops that a member has
_STEPS_PER_LOOK = 1 << 27
_MAX_OWN = 4
_NUM_AT_LEAST = 1000
_LARGEST_BACK_SIZE = 4
_SETS_PER_JOIN = 1 << 14
_MOST_KEPT = 1 << 16
_FEW_MEMBERS = 300
_NUM_TRIED = 40
_FEW_TRIED = 3
_TRIED_SHARE = 0.05
_LITTLE_SHARE = 0.01
_MARGIN = 1.5


def set_costs(task: CoveringTask, order: Ints) -> TourCosts | FieldCosts:
    """The way that fits a task; ``order`` has the members by their new numbers."""
    has_one_post_each = bool(np.all(np.diff(task.posts.watch_ptr) == 1))
    make = TourCosts if has_one_post_each else FieldCosts
    if task.kept is None:
        return make(task, order)
    key = ("costs", order.tobytes())
    if key not in task.kept:
        task.kept[key] = make(task, order)
    shared: TourCosts | FieldCosts = task.kept[key]
    return shared


class TourCosts:
    """Costs of sets whose members have one post each; `OutOfTimeError` is raised when the time is over."""

    def __init__(self, task: CoveringTask, order: Ints) -> None:
        self.task = task
        self._posts = task.posts.watch_posts[order]
        self._rank = np.argsort(order)
        # In the order of the members, so that it is kept once.
        self._table = PostTable(task.domain, task.posts, order=self._posts)
        self.from_start: Floats = np.ascontiguousarray(task.from_start[:, self._posts]) * task.unit
        self.to_goal: Floats = np.ascontiguousarray(task.to_goal[:, self._posts]) * task.unit
        self.between: Floats = np.empty((0, 0))

    def prepare(self, watch: Watch) -> None:
        """Work the distances between members out."""
        if self.between.shape[0] == 0 and self._posts.size:
            self._table.complete(watch)
            distances = self._table.distances
            self.between = distances if self.task.unit == 1 else distances * self.task.unit

    @property
    def is_prepared(self) -> bool:
        """Whether the distances between members are there."""
        return bool(self.between.shape[0])

    def table_of(self, members: Sequence[int], posts: Posts) -> PostTable | None:
        """Distances between the ``posts`` of some members (positions in the task); ``None`` before they are there."""
        if not self._table.is_complete:
            return None
        rows = np.empty(posts.nodes.size, dtype=np.int64)
        rows[posts.watch_posts] = self._rank[list(members)]
        return self._table.part(posts, rows)

    def pairs(self, watch: Watch) -> Floats:
        """Costs of all pairs, per trip, with those of single members on the diagonal; one sweep for each member."""
        self.prepare(watch)
        out = np.empty((self.task.num_trips, *self.between.shape))
        pair_costs(self.from_start, self.to_goal, self.between, out)
        return out

    def costs(self, sets: Int32s, watch: Watch) -> Floats:
        """Costs per set, of one size each, and trip; infinite where no walk covers one.

        Beyond :data:`MAX_TOUR` members these are the costs of short walks, which need not be the cheapest.
        """
        self.prepare(watch)
        watch.count("searches", len(sets) * self.task.num_trips)
        out = np.empty((len(sets), self.task.num_trips))
        size = sets.shape[1]
        if size > MAX_TOUR:
            for row, members in enumerate(sets):
                out[row] = [self._order(members, trip)[1] for trip in range(self.task.num_trips)]
            return out
        per_look = max(1, _STEPS_PER_LOOK // (2**size * size * size * self.task.num_trips))
        for first in range(0, len(sets), per_look):
            if first:
                watch.check()
            part = slice(first, first + per_look)
            tour_costs(sets[part], self.from_start, self.to_goal, self.between, out[part])
        return out

    def _order(self, members: Int32s | Ints, trip: int) -> tuple[Ints, float]:
        """Many members in the order of a short walk, and what it costs."""
        order = np.empty(members.size, dtype=np.int64)
        ascending = np.sort(members).astype(np.int64)
        cost = order_members(ascending, self.from_start[trip], self.to_goal[trip], self.between, order)
        return order, cost

    def stops_past(self, members: Members, trip: int) -> Ints | None:
        """The posts of many members (positions in the task) in the order of the walk that :meth:`costs` has priced."""
        order, cost = self._order(self._rank[list(members)], trip)
        return self._posts[order] if math.isfinite(cost) else None

    def stops(self, watch: Watch) -> Stops:
        """All posts of the members, each of whom has one."""
        self.prepare(watch)
        everyone = np.arange(self._posts.size + 1, dtype=np.int64)
        return Stops(everyone, everyone[:-1], self.from_start, self.to_goal, self.between)

    def steps(self, watch: Watch) -> tuple[Floats, Floats, Floats]:
        """What walks go at least: from the start to each member and from each to the goal, per trip; between members.

        Where a member has many posts, each step may end at one of them and the next begin at another.
        """
        self.prepare(watch)
        return self.from_start, self.to_goal, self.between


class FieldCosts:
    """Costs of sets whose members may be watched from anywhere, by fields; asked for as :class:`TourCosts` are."""

    def __init__(self, task: CoveringTask, order: Ints) -> None:
        self.task = task
        self.engine = FieldsEngine(task)
        self._order = order

    def pairs(self, watch: Watch) -> Floats:
        """See :meth:`TourCosts.pairs`."""
        num = self._order.size
        out = np.empty((self.task.num_trips, num, num))
        rows, cols = np.triu_indices(num, 1)
        costs = self.costs(np.column_stack((rows, cols)).astype(np.int32), watch)
        out[:, rows, cols] = out[:, cols, rows] = costs.T
        out[:, range(num), range(num)] = self.task.base_costs[:, self._order]
        return out

    def costs(self, sets: Int32s, watch: Watch) -> Floats:
        """See :meth:`TourCosts.costs`."""
        asked = np.sort(self._order[sets], axis=1)
        columns = [self.engine.costs(asked, trip, watch) for trip in range(self.task.num_trips)]
        return np.column_stack(columns) if len(sets) else np.empty((0, self.task.num_trips))

    def stops(self, watch: Watch) -> Stops:
        """All posts of each member, where there is a table of them: it comes with the first costs."""
        posts, unit = self.task.posts, self.task.unit
        mine = [posts.posts_of(i) for i in self._order.tolist()]
        stops = np.concatenate(mine)
        watch.check()
        assert self.engine.table is not None, "pairs were asked for"
        return Stops(
            ptr=np.concatenate(([0], np.cumsum([own.size for own in mine]))).astype(np.int64),
            stops=stops,
            from_start=np.ascontiguousarray(self.task.from_start[:, stops]) * unit,
            to_goal=np.ascontiguousarray(self.task.to_goal[:, stops]) * unit,
            between=self.engine.table.distances[np.ix_(stops, stops)] * unit,
        )

    def steps(self, watch: Watch) -> tuple[Floats, Floats, Floats]:
        """See :meth:`TourCosts.steps`; one sweep for each member."""
        posts, num = self.task.posts, self._order.size
        mine, table = [posts.posts_of(i) for i in self._order.tolist()], self.engine.table
        between = np.empty((num, num))
        if table is None:
            sweeps = Sweeps(self.task.domain, posts.nodes, num_seeds=max(map(len, mine)))
            work = [(posts.nodes[own], np.zeros(own.size)) for own in mine]
            rows: Iterable[Floats] = chain.from_iterable(crew_at_work().read(sweeps, work, watch))
        else:
            rows = (table.distances[own].min(axis=0) for own in mine)
        for i, distances in enumerate(rows):
            watch.check()
            between[i] = [distances[other].min() for other in mine]
        first, last = (
            np.array([[field[own].min() for own in mine] for field in fields])
            for fields in (self.task.from_start, self.task.to_goal)
        )
        return first * self.task.unit, last * self.task.unit, between * self.task.unit


@dataclass(frozen=True, eq=False)
class Stops:
    """Posts that stand for all posts of the members: member i has the stops ``stops[ptr[i]:ptr[i + 1]]``."""

    ptr: Ints
    stops: Ints
    from_start: Floats  # costs per trip and stop
    to_goal: Floats
    between: Floats  # costs from each stop (row) to each


def choose_stops(
    task: CoveringTask, order: Ints, partners: Ints, watch: Watch, table: PostTable | None = None
) -> Stops:
    """Choose stops, by one sweep for each, or by the ``table`` of all distances between posts where there is one.

    A member's first stop is the post that is cheapest to pass on its own. Further ones, up to four in all, are those
    where a walk to the goal by way of the first stops of its partners (``partners``, -1 where there is none), or back
    from there to the start, meets it most often. Then a member gets the stops of others that happen to be posts of its
    own. Where stops are more than a thousand, there are only as many as keep the distances between them within members
    times nodes. Ties: the lowest post.
    """
    sweeps = Sweeps(task.domain, task.posts.nodes.astype(np.int64))  # which numpy looks up in half the time
    rows: dict[int, Floats] = {}  # distances from each stop to all posts

    def make_stops(posts: Iterable[int]) -> None:
        new = [post for post in dict.fromkeys(posts) if post not in rows]
        made: Iterable[Floats]
        if table is None:
            made = chain.from_iterable(crew_at_work().read(sweeps, task.posts.nodes[new], watch))
        else:
            made = (table.distances[post] for post in new)
        for post, distances in zip(new, made, strict=True):
            watch.tell("distances between posts", len(rows), num_own * order.size)
            rows[post] = distances

    detour = np.array(task.weights) @ (task.from_start + task.to_goal)
    num_stops = max(_NUM_AT_LEAST, math.isqrt(task.domain.num_nodes * order.size))
    num_own = min(_MAX_OWN, max(1, num_stops // max(1, order.size)))
    mine = [task.posts.posts_of(member) for member in order.tolist()]
    first = [int(posts[detour[posts].argmin()]) for posts in mine]
    make_stops(first)
    own = []
    for at, posts in enumerate(mine):
        watch.check()
        wanted = _vote(task, posts, [rows[first[other]] for other in partners[at].tolist() if other >= 0])
        own.append([first[at], *[post for post in wanted if post != first[at]][: num_own - 1]])
    make_stops(chain.from_iterable(own))
    number_of = {post: number for number, post in enumerate(rows)}
    lists = []
    for posts, stops in zip(mine, own, strict=True):
        shared = [post for post in posts.tolist() if post in rows and post not in stops]
        shared.sort(key=lambda post: (detour[post], post))
        lists.append([number_of[post] for post in (*stops, *shared)][:MAX_STOPS])
    taken = np.array(list(rows), dtype=np.int64)
    return Stops(
        ptr=np.concatenate(([0], np.cumsum([len(stops) for stops in lists]))).astype(np.int64),
        stops=np.array([stop for stops in lists for stop in stops], dtype=np.int64),
        from_start=np.ascontiguousarray(task.from_start[:, taken]) * task.unit,
        to_goal=np.ascontiguousarray(task.to_goal[:, taken]) * task.unit,
        between=np.ascontiguousarray(np.array(list(rows.values()))[:, taken]) * task.unit,
    )


def _vote(task: CoveringTask, posts: Ints, others: list[Floats]) -> list[int]:
    """Posts of a member that lie best for walks past others (by the distances of these to all); most votes first."""
    votes = np.zeros(posts.size, dtype=np.int64)
    ends = [field[posts] for field in (*task.to_goal, *task.from_start)]
    for distances in others:
        there = distances[posts]
        for on in ends:
            votes[(there + on).argmin()] += 1
    ranked = np.argsort(-votes, kind="stable")
    return [int(post) for post in posts[ranked[votes[ranked] > 0]]]


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
    if task.kept is None or needed.size > _MOST_KEPT:
        return _compute_class_costs(task, needed, watch, method, field_bytes)
    key = ("class costs", needed.tobytes(), method)
    if key not in task.kept:
        found = _compute_class_costs(task, needed, watch, method, field_bytes)
        if not found.is_complete:
            return found
        task.kept[key] = found
    shared: ClassCosts = task.kept[key]
    return shared


def _compute_class_costs(
    task: CoveringTask, needed: Flags, watch: Watch, method: Method | None, field_bytes: int
) -> ClassCosts:
    masks = np.flatnonzero(needed).astype(np.int64)
    watch.count("searches", masks.size * task.num_trips)
    sizes = np.bitwise_count(masks)
    largest = int(sizes.max(initial=0))
    levels = [np.zeros(1, dtype=np.int64), *(masks[sizes == size] for size in range(1, largest + 1))]  # by size
    sets_by_size = [level.size for level in levels]
    method = method or choose_method(task, sets_by_size, field_bytes)
    num_bytes = task.num_trips * _estimate_bytes(task, sets_by_size, method)
    in_memory = num_bytes <= field_bytes
    if not in_memory:
        check_room(num_bytes)
    table = _whole_table(task) if method.by_table else None
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


def _whole_table(task: CoveringTask) -> PostTable:
    """Distances between all posts, from whoever needed them before where plans share them."""
    if task.kept is None:
        return PostTable(task.domain, task.posts)
    if "posts" not in task.kept:
        task.kept["posts"] = PostTable(task.domain, task.posts)
    shared: PostTable = task.kept["posts"]
    return shared


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

    ``costs`` is what a partitioner has found costs of sets with; what it has worked out is not worked out again.
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
        if len(ordered) > MAX_TOUR and self._tours is not None and self._tours.is_prepared:
            return self._find_long(ordered, trip)
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

    def _find_long(self, ordered: Members, trip: int) -> CoveringWalk:
        """A short walk past many members, in the order in which they were priced."""
        assert self._tours is not None
        task = self.task
        swept = self._sweepers.num_sweeps
        lower = float(task.least_costs(ordered, trip).max())
        stops = self._tours.stops_past(ordered, trip)
        if stops is None:
            return CoveringWalk.none("unknown", lower, Counts())
        forward = self._sweepers.sweeper(backward=False)
        walk = np.array([task.starts[trip]], dtype=np.int64)
        for stop in task.posts.nodes[stops].tolist():
            forward.run(int(walk[-1]))
            walk = np.concatenate((walk, forward.follow(stop)[::-1][1:]))
        walk = np.concatenate((walk, self._sweepers.path_to_goal(int(walk[-1]), task.goals[trip])[1:]))
        cost = walk_cost(task.domain, walk)
        counts = Counts(num_sweeps=self._sweepers.num_sweeps - swept)
        return CoveringWalk(walk, cost, "feasible", min(lower, cost), counts)

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
        if self._fields is not None and self._fields.table is not None:
            table = self._fields.table.part(*self.task.posts.subset(ordered))
        return FieldsEngine(part, table=table, sweepers=self._sweepers)
