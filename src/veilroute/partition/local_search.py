"""Local search: a partition that is improved a few classes at a time, for thousands of members.

How it goes about that is told in :mod:`veilroute.kernels.local_search`. Where members are watched from many posts, the
search prices classes by walks past a few of these (:mod:`veilroute.covering.set_costs`), so never too low; whatever
leaves this module has its exact price.

It begins with what the costs of pairs tell: good partners for each member, and a first partition. That is in numpy and
not in kernels: it runs once for a plan, over all pairs, and takes less time than kernels take to load.
"""

import math

import numpy as np

from veilroute.base.arrays import Flags, Floats, Ints, as_members
from veilroute.base.errors import TooLargeError
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.set_costs import ClassWalks, Stops, TourCosts, choose_stops
from veilroute.covering.task import CoveringTask, members_of
from veilroute.kernels import local_search as kernel
from veilroute.kernels.annealing import Plan as AnnealedPlan
from veilroute.kernels.annealing import anneal
from veilroute.kernels.local_search import Groups
from veilroute.kernels.regroup import MAX_UNION, Tours, make_union
from veilroute.kernels.touring import order_members
from veilroute.model.problem import Problem
from veilroute.model.rules import Rule
from veilroute.partition.class_space import ClassSpace
from veilroute.partition.first import first_partition, stopped_at_first
from veilroute.partition.limits import limits
from veilroute.partition.result import Grouping, Partition, Record, better
from veilroute.partition.weighed_space import WeighedSpace, make_space

#: How many sets are looked at for each member on the way to the first local optimum; it is missed where k is large.
MOST_PER_MEMBER = 100_000
_ROWS_AT_ONCE = 256
_NUM_STAGES = 10
_NUM_PARTNERS = 10
_WIDE = (12, 24)
_WIDEST = 34
_WORK_PER_LOOK = 1 << 17
_WORK_PER_ASKING = 1 << 12
_MOST_ANNEALED = 40
_NUM_ANNEALED = 24
_NUM_RUNS = 10
_HOTTEST = 1.0
_COLDEST = 0.004


def partition_local_search(problem: Problem, task: CoveringTask, rule: Rule, *, seed: int, watch: Watch) -> Partition:
    """Group as many members as the search can, at as little cost as it can; nothing is proved.

    Complexity: a sweep of the graph for each member and a look at all pairs, then a number of steps in proportion to
    the members. Ties: see :mod:`veilroute.kernels.regroup`; whatever is drawn depends on the seed alone.
    """
    num = len(task.members)
    if num < rule.least:
        return Partition((), as_members(range(num)), is_optimal=False)
    space = make_space(task, rule)
    if rule.least > space.max_size:
        raise TooLargeError("Privacy.k", f"at most {space.max_size} for the partitioner local-search", rule.least)
    source = ClassWalks(task, space.prices_of)
    likely = first_partition(task, rule).classes if watch.is_limited else ()
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
        running.go_on(limits().effort * num // _NUM_STAGES, watch)
        record.offer(running.grouping())
    return space.partition(record, source, is_optimal=False, is_stopped=running.is_stopped)


def find_partners(space: ClassSpace, num_partners: int, num_apart: int) -> tuple[Ints, Floats]:
    """Each member's best partners, the cheapest pair first, and what it adds to any class at least.

    The first ``num_apart`` of the partners, if there are as many, are far. Where there are fewer than ``num_partners``,
    -1 stands behind them; ties: the lower member. A class holds k - 1 others, so members that have fewer partners add
    nothing at least.
    """
    k, weights, fixed, pair_costs = space.k, space.weights, space.fixed, space.pair_costs
    num_trips, num = weights.shape
    partners, least = np.full((num, num_partners), -1, dtype=np.int64), np.empty(num)
    for begin in range(0, num, _ROWS_AT_ONCE):
        rows = slice(begin, begin + _ROWS_AT_ONCE)
        is_pair = space.compatible[rows]
        least[rows] = -fixed[rows]
        values = -fixed[rows, None] - fixed
        for trip in range(num_trips):
            costs = np.where(is_pair, pair_costs[trip, rows], np.inf)
            least[rows] += np.partition(costs, k - 2, axis=1)[:, k - 2] * weights[trip, rows]
            values += pair_costs[trip, rows] * (weights[trip, rows, None] + weights[trip])
        values[~is_pair] = np.inf
        for member, row in enumerate(values, begin):
            first = _lowest(np.where(space.far[member], row, np.inf), num_apart)
            row[first] = np.inf
            chosen = np.concatenate([first, _lowest(row, num_partners - first.size)])
            partners[member, : chosen.size] = chosen
    least[np.isinf(least)] = 0.0
    return partners, least


def _lowest(values: Floats, most: int) -> Ints:
    """Where the lowest finite values stand, in ascending order, of equal ones the first."""
    if most == 0:
        return np.empty(0, dtype=np.int64)
    highest = np.partition(values, most - 1)[most - 1] if most < values.size else np.inf
    places = np.flatnonzero((values <= highest) & (values < np.inf))
    return places[np.argsort(values[places], kind="stable")][:most]


def greedy_partition(space: ClassSpace, watch: Watch) -> Grouping:
    """A first partition: members begin classes in turn, those with the fewest possible partners first.

    A member in no class yet begins one with the k - 1 that seem to fit best. Those who find too few then join the class
    where that seems to cost least. What a class costs is taken to be the most that two of its members cost. Members of
    a class are compatible, and its first k are far from each other as well. Ties: the lowest member or class.
    Complexity: a look at every pair, k times.

    The space must be prepared. Classes that no walk covers are dissolved; only one-way streets with several posts for a
    member bring such about.
    """
    if space.k == 1:
        return Grouping.of(space.worth, {as_members([i]): 0.0 for i in range(space.num)})
    watch.tell("first partition")
    if isinstance(space, WeighedSpace):
        return _weigh_out(space)
    may_begin = space.compatible & space.far if space.is_loose else space.compatible
    order = np.argsort(may_begin.sum(axis=1), kind="stable")
    class_of = np.full(space.num, -1, dtype=np.int64)
    num_classes = 0
    for member in order.tolist():
        if class_of[member] < 0:
            chosen = _begin_class(space, member, may_begin, class_of < 0)
            if len(chosen) == space.k:
                class_of[chosen] = num_classes
                num_classes += 1
    if num_classes:
        _join_classes(space, order, num_classes, class_of)
    found = [as_members(np.flatnonzero(class_of == number).tolist()) for number in range(num_classes)]
    return space.price(found if space.is_known else filter(space.rule.qualifies, found))


def _begin_class(space: ClassSpace, member: int, may_begin: Flags, is_open: Flags) -> list[int]:
    """A member with up to k - 1 others that seem to fit best, one after the other."""
    weights, pair_costs = space.weights, space.pair_costs
    chosen = [member]
    # By trip and member: what a class would cost with the member in it.
    costs = np.repeat(pair_costs[:, member, member, None], space.num, axis=1)
    weight = np.zeros(len(weights))
    while len(chosen) < space.k:
        newest = chosen[-1]
        is_open[newest] = False
        is_open &= may_begin[newest]
        weight += weights[:, newest]
        # The class has cost as much as its newest member with those before it.
        costs = np.maximum(costs, np.maximum(costs[:, newest, None], pair_costs[:, newest]))
        values = -space.fixed
        for trip in range(len(weights)):
            values = values + costs[trip] * (weight[trip] + weights[trip])
        values[~is_open | np.isnan(values)] = np.inf
        following = int(np.argmin(values))
        if values[following] == np.inf:
            break
        chosen.append(following)
    return chosen


def _join_classes(space: ClassSpace, order: Ints, num_classes: int, class_of: Ints) -> None:
    """Let members in no class join one, in the given order."""
    weights, pair_costs, num_trips = space.weights, space.pair_costs, len(space.weights)
    inside = np.flatnonzero(class_of >= 0)
    sizes = np.bincount(class_of[inside], minlength=num_classes)
    class_costs, class_weights = np.zeros((2, num_trips, num_classes))
    for trip in range(num_trips):
        # One after the other: the order of additions is part of the result.
        np.add.at(class_weights[trip], class_of[inside], weights[trip, inside])
    for number in range(num_classes):
        members = np.flatnonzero(class_of == number)
        class_costs[:, number] = pair_costs[:, members[:, None], members].max(axis=(1, 2), initial=0.0)
    for member in order[class_of[order] < 0].tolist():
        inside = np.flatnonzero(class_of >= 0)
        may_join = sizes < space.max_size
        may_join[class_of[inside[~space.compatible[member, inside]]]] = False
        wider_costs = class_costs.copy()
        values = np.zeros(num_classes)
        for trip in range(num_trips):
            np.maximum.at(wider_costs[trip], class_of[inside], pair_costs[trip, member, inside])
            values += wider_costs[trip] * (class_weights[trip] + weights[trip, member])
            values -= class_costs[trip] * class_weights[trip]
        values[~may_join | np.isnan(values)] = np.inf  # where no walk covers the class, nothing can be said
        joined = int(np.argmin(values))
        if values[joined] < np.inf:
            class_of[member] = joined
            sizes[joined] += 1
            class_costs[:, joined] = wider_costs[:, joined]
            class_weights[:, joined] += weights[:, member]


def _weigh_out(space: WeighedSpace) -> Grouping:
    """A first partition under a prior: the heaviest member in no class yet takes those who bring it mass for the least.

    It needs some mass beside it. Who finds too little joins a class with somebody as heavy, which
    stays one. So everybody gets a class, unless who is near whom forbids it, or classes get too large to be priced.
    """
    masses = space.worth
    order = np.argsort(-masses, kind="stable")
    class_of = np.full(space.num, -1, dtype=np.int64)
    groups: list[list[int]] = []
    for member in order.tolist():
        if class_of[member] >= 0:
            continue
        # Local search knows no larger classes than those up to the first of these sizes; in haste few members do.
        for is_hasty, most in ((False, space.max_size), (True, space.width)):
            chosen = _gather(space, member, space.more * masses[member], class_of < 0, most, is_hasty=is_hasty)
            if chosen:
                class_of[chosen] = len(groups)
                groups.append(chosen)
                break
    for member in order[class_of[order] < 0].tolist():
        values = [
            math.inf
            if len(group) >= space.max_size
            or masses[group].max() < masses[member]
            or not space.compatible[member, group].all()
            else float(_joining(space, group)[member])
            for group in groups
        ]
        if values and min(values) < math.inf:
            groups[int(np.argmin(values))].append(member)
    found = [as_members(group) for group in groups]
    return space.price(filter(space.rule.qualifies, found))


def _gather(space: ClassSpace, member: int, missing: float, is_open: Flags, most: int, *, is_hasty: bool) -> list[int]:
    """A class of up to ``most``: a member, and lighter ones, the cheapest for their mass or the heaviest; or none."""
    masses, chosen = space.worth, [member]
    is_open = is_open & (masses <= masses[member])
    while missing > 0:
        is_open[chosen[-1]] = False
        is_open &= space.compatible[chosen[-1]]
        if len(chosen) == most or not is_open.any():
            return []
        values = -masses if is_hasty else _joining(space, chosen) / np.minimum(masses, missing)
        following = int(np.argmin(np.where(is_open, values, np.inf)))
        chosen.append(following)
        missing -= masses[following]
    return chosen


def _joining(space: ClassSpace, group: list[int]) -> Floats:
    """What each member would add to a class, whose cost is taken to be the most that two of its members cost."""
    added = -space.fixed
    for costs, weights in zip(space.pair_costs, space.weights, strict=True):
        now, weight = costs[np.ix_(group, group)].max(), weights[group].sum()
        wider = np.maximum(now, costs[group].max(axis=0))
        added = added + wider * (weight + weights) - now * weight
    return added


def improve(space: ClassSpace, grouping: Grouping, *, seed: int, effort: int, watch: Watch) -> Grouping:
    """Improve a partition by local search; the space must be prepared.

    ``effort`` is how many sets to look at after the first local optimum; a hundred thousand take some hundredths of a
    second. When the time is over, the best so far is returned. Where a class is too large for it, nothing is done.
    """
    if max(map(len, grouping.classes), default=0) > space.max_size:
        return grouping
    running = LocalSearch(space, grouping, seed=seed, watch=watch)
    running.descend(watch)
    running.go_on(effort, watch)
    return running.grouping()


class LocalSearch:
    """A local search that can be paused. When the time is over before the costs are there, it does nothing."""

    def __init__(
        self, space: ClassSpace, grouping: Grouping, *, seed: int, watch: Watch, work_per_look: int = _WORK_PER_LOOK
    ) -> None:
        self._space = space
        self._work_per_look = work_per_look if space.is_known else _WORK_PER_ASKING
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
        self._memory = make_union(space.task.num_trips, int(np.diff(self._tours.post_ptr).max()), limits().rows)

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
            limit = min(now + self._work_per_look, begin + effort)
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
            inside = np.sort(members[members_of(masks[mine], size)], axis=1)
            is_class[mine] = self._space.rule.qualify(inside.astype(np.int32))
        return is_class

    def grouping(self) -> Grouping:
        """The best partition so far."""
        if self._tours is None:
            return self._begun_with
        # A round that is not over yet may be undone.
        groups = self._saved if self._groups.numbers[kernel.IS_TRIAL] else self._groups
        held = np.flatnonzero(groups.sizes)
        return self._space.price(as_members(groups.sets[c, : groups.sizes[c]].tolist()) for c in held)


def _tours(space: ClassSpace, partners: Ints, watch: Watch) -> Tours:
    """Costs as the search takes them."""
    costs = space.prices_of
    if isinstance(costs, TourCosts):
        everyone = np.arange(space.num + 1, dtype=np.int64)
        stops = Stops(everyone, everyone[:-1], costs.from_start, costs.to_goal, costs.between)
    else:
        stops = choose_stops(space.task, space.order, partners, watch, costs.engine.table)
    return Tours(
        space.k, space.max_size, space.is_loose, space.weights, space.fixed, space.pair_costs, space.compatible,
        space.far, stops.ptr, stops.stops, stops.from_start, stops.to_goal, stops.between,
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
    numbers[[kernel.NUM_FREE, kernel.NUM_OUT]] = num_slots - num_classes, len(grouping.left_out)
    numbers[[kernel.QUEUE_LENGTH, kernel.MEMBER]] = num, -1
    numbers[kernel.DRAW] = int(np.random.SeedSequence(seed % 2**64).generate_state(1)[0]) % (2**31 - 2) + 1
    waiting: Flags = np.ones(num, dtype=np.bool_)
    free = np.arange(num_slots - 1, -1, -1, dtype=np.int64)
    return Groups(sets, sizes, shares, class_of, free, np.arange(num, dtype=np.int64), waiting, numbers)


def anneal_classes(space: ClassSpace, grouping: Grouping, watch: Watch) -> Grouping:
    """Make a partition better, where everybody is in a class, by moves and swaps at random; on one trip only.

    Where members are met at several stops, the search takes walks for shorter than they may be. Any two members must be
    allowed in one class.
    """
    if space.task.num_trips > 1 or grouping.left_out or len(grouping.classes) < 2 or watch.is_over():
        return grouping
    num_classes, room = len(grouping.classes), min(space.width, _MOST_ANNEALED)
    if max(map(len, grouping.classes)) > room:
        return grouping
    try:
        from_start, to_goal, between = space.prices_of.steps(watch)
    except OutOfTimeError:
        return grouping
    partners = find_partners(space, min(_NUM_ANNEALED, space.num - 1), 0)[0]
    ways = from_start[0], to_goal[0], np.ascontiguousarray(between)
    weights = np.ascontiguousarray(space.weights[0])
    best = grouping
    for run in range(_NUM_RUNS):
        if watch.is_over():
            break
        watch.tell("annealing", run, _NUM_RUNS)
        orders, sizes = np.zeros((num_classes, room), dtype=np.int64), np.zeros(num_classes, dtype=np.int64)
        lengths, class_of = np.zeros(num_classes), np.zeros(space.num, dtype=np.int64)
        for number, members in enumerate(best.classes):
            inside = np.array(sorted(members), dtype=np.int64)
            lengths[number] = order_members(inside, *ways, orders[number, : inside.size])
            sizes[number], class_of[inside] = inside.size, number
        held = np.array([weights[list(members)].sum() for members in best.classes])
        plan = AnnealedPlan(orders, sizes, lengths, held, class_of)
        kept = AnnealedPlan(orders.copy(), sizes.copy(), lengths.copy(), held.copy(), class_of.copy())
        hottest = _HOTTEST * float((lengths * held).sum()) / space.num
        anneal(
            plan, kept, space.k, weights, space.far, partners, *ways, run + 1, limits().annealed, hottest,
            hottest * _COLDEST, np.zeros(64, dtype=np.int64),
        )  # fmt: skip
        found = [as_members(row[:size].tolist()) for row, size in zip(kept.orders, kept.sizes, strict=True)]
        best = better(best, space.price(found))
    return best
