"""Local search: a partition that is improved a few classes at a time, for thousands of members.

How it goes about that is told in :mod:`veilroute.kernels.local_search`. Where members are watched from many posts, the
search prices classes by walks past a few of these (:mod:`veilroute.covering.set_costs`), so never too low; whatever
leaves this module has its exact price.
"""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Flags, Floats, Ints
from veilroute.covering.class_costs import ClassWalks
from veilroute.covering.set_costs import TourCosts, choose_stops
from veilroute.covering.task import CoveringTask
from veilroute.errors import TooLargeError
from veilroute.kernels import local_search as kernel
from veilroute.kernels.local_search import Groups
from veilroute.kernels.regroup import MAX_UNION, Tours, make_union
from veilroute.partition.class_space import ClassSpace
from veilroute.partition.first import likely_classes, stopped_at_first
from veilroute.partition.greedy import find_partners, greedy_partition
from veilroute.partition.result import Grouping, Partition, Record
from veilroute.problem import Problem, Rule
from veilroute.progress import OutOfTimeError, Watch

EFFORT_PER_MEMBER = 20_000
"""How many sets the partitioner looks at for each member, after the first local optimum."""

MOST_PER_MEMBER = 100_000
"""How many sets are looked at for each member on the way to the first local optimum; it is missed where k is large."""

_NUM_STAGES = 10
_NUM_PARTNERS = 10
_WIDE = (12, 24)
_WIDEST = 34
_WORK_PER_LOOK = 1 << 17
_WORK_PER_ASKING = 1 << 12


def partition_local_search(problem: Problem, task: CoveringTask, rule: Rule, *, seed: int, watch: Watch) -> Partition:
    """Group as many members as the search can, at as little cost as it can; nothing is proved.

    Complexity: a sweep of the graph for each member and a look at all pairs, then a number of steps in proportion to
    the members. Ties: see :mod:`veilroute.kernels.regroup`; whatever is drawn depends on the seed alone.
    """
    num = len(task.members)
    if num < rule.least:
        return Partition((), tuple(range(num)), is_optimal=False)
    space = ClassSpace(task, rule)
    if rule.least > space.max_size:
        raise TooLargeError("Privacy.k", f"at most {space.max_size} for the partitioner local-search", rule.least)
    source = ClassWalks(task, space.prices_of)
    likely = likely_classes(task, rule) if watch.is_limited else ()
    source.keep_time(likely, watch)
    try:
        space.prepare(watch)
    except OutOfTimeError:
        return stopped_at_first(task, likely, source)
    record = Record(greedy_partition(space, watch), watch, "local search")
    source.keep_time(space.named(record.best.classes), watch)
    running = LocalSearch(space, record.best, seed=seed, watch=watch)
    running.descend(watch)
    record.offer(running.grouping())
    for _ in range(_NUM_STAGES):
        if running.is_stopped:
            break
        running.go_on(EFFORT_PER_MEMBER * num // _NUM_STAGES, watch)
        record.offer(running.grouping())
    return space.partition(record, source, is_optimal=False, is_stopped=running.is_stopped)


def improve(space: ClassSpace, grouping: Grouping, *, seed: int, effort: int, watch: Watch) -> Grouping:
    """Improve a partition by local search; the space must be prepared.

    ``effort`` is how many sets to look at after the first local optimum; a hundred thousand take some hundredths of a
    second. When the time is over, the best so far is returned.
    """
    running = LocalSearch(space, grouping, seed=seed, watch=watch)
    running.descend(watch)
    running.go_on(effort, watch)
    return running.grouping()


class LocalSearch:
    """A local search that can be paused. When the time is over before the costs are there, it does nothing."""

    def __init__(self, space: ClassSpace, grouping: Grouping, *, seed: int, watch: Watch) -> None:
        self._space = space
        self._begun_with = grouping
        self._tours: Tours | None = None
        self.is_stopped = False
        if space.k == 1 or space.num < space.k:
            return
        num_partners = min(_NUM_PARTNERS, space.num - 1)
        self._partners, self._least = find_partners(space, num_partners, num_partners // 2 if space.is_loose else 0)
        try:
            watch.check()
            self._tours = _tours(space, self._partners, watch)
        except OutOfTimeError:
            self.is_stopped = True
            return
        self._groups, self._saved = _start(space, grouping, seed), _start(space, grouping, seed)
        self._members: Ints = np.empty(MAX_UNION, dtype=np.int64)
        self._figures: Floats = np.empty(kernel.NUM_FIGURES)
        self._memory = make_union(space.task.num_trips, int(np.diff(self._tours.post_ptr).max()))

    def descend(self, watch: Watch) -> None:
        """Improve the partition up to a local optimum."""
        self._search(MOST_PER_MEMBER * self._space.num, watch, has_rounds=False)

    def go_on(self, effort: int, watch: Watch) -> None:
        """Look at so many sets more, in rounds that leave local optima behind."""
        self._search(effort, watch, has_rounds=True)

    def _search(self, effort: int, watch: Watch, *, has_rounds: bool) -> None:
        if self._tours is None:
            return
        wide = np.array([max(size, min(3 * self._space.k, MAX_UNION)) for size in _WIDE], dtype=np.int64)
        widest = max(_WIDEST, int(wide[-1]))
        begin = now = int(self._groups.numbers[kernel.WORK])
        is_done = False
        while not is_done and now < begin + effort:
            if watch.is_over():
                self.is_stopped = True
                return
            watch.tell("local search", now - begin if has_rounds else 0, effort if has_rounds else 0)
            limit = min(now + (_WORK_PER_LOOK if self._space.is_known else _WORK_PER_ASKING), begin + effort)
            if self._space.is_known:
                outcome = kernel.search(
                    self._tours, self._groups, self._saved, self._partners, self._least, wide, widest,
                    has_rounds, limit, self._members, self._figures, *self._memory,
                )  # fmt: skip
                is_done = outcome == kernel.DONE
                if outcome == kernel.CROWDED:
                    num = int(self._figures[kernel.UNION_SIZE])
                    kernel.exchange_members(self._tours, self._groups, self._members, num, *self._memory, self._figures)
            else:
                is_done = self._search_asking(self._tours, wide, widest, has_rounds, limit)
            now = int(self._groups.numbers[kernel.WORK])

    def _search_asking(self, tours: Tours, wide: Ints, widest: int, has_rounds: bool, limit: int) -> bool:
        """As :func:`search`, for a rule that kernels do not know: it is asked which of the sets listed are classes."""
        groups, members, figures = self._groups, self._members, self._figures
        union, rows, listed = self._memory
        while groups.numbers[kernel.WORK] < limit:
            num = kernel.next_union(groups, self._saved, self._partners, self._least, wide, widest, has_rounds, members)
            if num < 0:
                return True
            num_listed = kernel.list_union(tours, groups, members, num, union, rows, listed, figures) if num else -2
            if num_listed < 0:
                continue
            kept = np.flatnonzero(self._qualify(listed.masks[:num_listed], members[:num]))
            for figure in (listed.masks, listed.shares, listed.excess):
                figure[: kept.size] = figure[kept]
            kernel.settle_union(groups, members, num, kept.size, listed, figures)
        return False

    def _qualify(self, masks: Ints, members: Ints) -> Flags:
        """Which of some sets, given by bit masks of ``members``, are classes."""
        sizes = np.bitwise_count(masks)
        is_class = np.zeros(masks.size, dtype=np.bool_)
        for size in np.unique(sizes).tolist():
            mine = np.flatnonzero(sizes == size)
            inside = np.nonzero((masks[mine, None] >> np.arange(members.size)) & 1)[1].reshape(mine.size, size)
            is_class[mine] = self._space.rule.qualify(np.sort(members[inside], axis=1).astype(np.int32))
        return is_class

    def grouping(self) -> Grouping:
        """The best partition so far."""
        if self._tours is None:
            return self._begun_with
        # A round that is not over yet may be undone.
        groups = self._saved if self._groups.numbers[kernel.IS_TRIAL] else self._groups
        held = np.flatnonzero(groups.sizes)
        return self._space.price(tuple(sorted(groups.sets[c, : groups.sizes[c]].tolist())) for c in held)


def _tours(space: ClassSpace, partners: Ints, watch: Watch) -> Tours:
    """Costs as the search takes them."""
    costs = space.prices_of
    arrays: tuple[Ints, Ints, Floats, Floats, Floats]
    if isinstance(costs, TourCosts):
        everyone = np.arange(space.num + 1, dtype=np.int64)
        arrays = (everyone, everyone[:-1], costs.from_start, costs.to_goal, costs.between)
    else:
        stops = choose_stops(space.task, space.order, partners, watch)
        arrays = (stops.ptr, stops.stops, stops.from_start, stops.to_goal, stops.between)
    return Tours(
        space.k, space.max_size, space.is_loose, space.weights, space.fixed, space.pair_costs, space.compatible,
        space.far, *arrays,
    )  # fmt: skip


def _start(space: ClassSpace, grouping: Grouping, seed: int) -> Groups:
    """A partition as the search takes it, with everybody waiting to be looked at."""
    num, num_classes = space.num, len(grouping.classes)
    # The best classes are found before those in their place go, but never more than there can be.
    num_slots = num // space.k + 1
    sets = np.full((num_slots, space.max_size), -1, dtype=np.int32)
    sizes = np.zeros(num_slots, dtype=np.int64)
    shares = np.zeros(num_slots)
    class_of = np.full(num, -1, dtype=np.int64)
    for c, members in enumerate(grouping.classes):
        sets[c, : len(members)] = members
        sizes[c] = len(members)
        class_of[list(members)] = c
    shares[:num_classes] = grouping.shares
    numbers = np.zeros(kernel.NUM_NUMBERS, dtype=np.int64)
    numbers[kernel.NUM_FREE] = num_slots - num_classes
    numbers[kernel.NUM_OUT] = len(grouping.left_out)
    numbers[kernel.QUEUE_LENGTH] = num
    numbers[kernel.MEMBER] = -1
    numbers[kernel.DRAW] = int(np.random.SeedSequence(seed % 2**64).generate_state(1)[0]) % (2**31 - 2) + 1
    waiting: Flags = np.ones(num, dtype=np.bool_)
    free = np.arange(num_slots - 1, -1, -1, dtype=np.int64)
    return Groups(sets, sizes, shares, class_of, free, np.arange(num, dtype=np.int64), waiting, numbers)
