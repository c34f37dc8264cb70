"""Covering costs of any small sets out of many members, asked for by the thousand.

Two ways: where each member is watched from one post, the cheapest order through a table of distances between members;
elsewhere the fields engine. Either keeps O(members x nodes) and answers for sets in an order of the caller's.

What sets add to the MAC sum when their members share their first m nodes, asked for by the thousand.

On grids, and wherever walks can be padded (see :mod:`veilroute.covering.prefixes`): a beginning of m nodes that ends
at n and has covered S exists if and only if ``f_S(n)`` is at most m - 1 and n has the right colour. All beginnings cost
the same, so a set needs the best end for each of its subsets S, which is a look at the nodes that ``f_S`` reaches.

A few posts for each member, and the distances between them: enough for walks that are nearly as cheap as any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from veilroute.arrays import Flags, Floats, Int32s, Ints, Members
from veilroute.covering.fields_engine import FieldsEngine
from veilroute.covering.task import CoveringTask, Posts, PostTable
from veilroute.covering.walks import Sweeper
from veilroute.kernels.subsets import pair_costs, price_beginnings, tour_costs
from veilroute.progress import Watch

MAX_TOUR = 12
"""The most members that a set may have for :class:`TourCosts`: a set takes two to that power times its square."""

_STEPS_PER_LOOK = 1 << 27


class SetCosts(Protocol):
    """Whatever can be asked for covering costs of sets; `OutOfTimeError` is raised when the time is over."""

    max_size: int

    def pairs(self, watch: Watch) -> Floats:
        """Costs of all pairs, per trip: a symmetric matrix each, with those of single members on the diagonal."""

    def costs(self, sets: Int32s, watch: Watch) -> Floats:
        """Costs per set, of one size each, and trip; infinite where no walk covers one."""

    def steps(self, watch: Watch) -> tuple[Floats, Floats, Floats]:
        """What walks go at least: from the start to each member and from each to the goal, per trip; between members.

        Where a member has many posts, each step may end at one of them and the next begin at another.
        """


def set_costs(task: CoveringTask, order: Ints) -> SetCosts:
    """The way that fits a task."""
    has_one_post_each = bool(np.all(np.diff(task.posts.watch_ptr) == 1))
    return TourCosts(task, order) if has_one_post_each else FieldCosts(task, order)


class TourCosts:
    """Costs of sets whose members have one post each.

    Parameters
    ----------
    task
        Members, posts and trips.
    order
        How the members are numbered.
    """

    max_size = MAX_TOUR

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

    def table_of(self, group: Sequence[int], posts: Posts) -> PostTable | None:
        """Distances between the ``posts`` of some members (positions in the task); ``None`` before they are there."""
        if not self._table.is_complete:
            return None
        rows = np.empty(posts.nodes.size, dtype=np.int64)
        rows[posts.watch_posts] = self._rank[list(group)]
        return self._table.part(posts, rows)

    def pairs(self, watch: Watch) -> Floats:
        """See :class:`SetCosts`; one sweep for each member."""
        self.prepare(watch)
        out = np.empty((self.task.num_trips, *self.between.shape))
        pair_costs(self.from_start, self.to_goal, self.between, out)
        return out

    def costs(self, sets: Int32s, watch: Watch) -> Floats:
        """See :class:`SetCosts`."""
        self.prepare(watch)
        out = np.empty((len(sets), self.task.num_trips))
        size = sets.shape[1]
        per_look = max(1, _STEPS_PER_LOOK // (2**size * size * size * self.task.num_trips))
        for first in range(0, len(sets), per_look):
            if first:
                watch.check()
            part = slice(first, first + per_look)
            tour_costs(sets[part], self.from_start, self.to_goal, self.between, out[part])
        return out

    def steps(self, watch: Watch) -> tuple[Floats, Floats, Floats]:
        """See :class:`SetCosts`."""
        self.prepare(watch)
        return self.from_start, self.to_goal, self.between


class FieldCosts:
    """Costs of sets whose members may be watched from anywhere, by fields.

    Parameters as for :class:`TourCosts`.
    """

    max_size = MAX_TOUR

    def __init__(self, task: CoveringTask, order: Ints) -> None:
        self.task = task
        self.engine = FieldsEngine(task)
        self._order = order

    def pairs(self, watch: Watch) -> Floats:
        """See :class:`SetCosts`; one sweep for each member."""
        num = self._order.size
        out = np.empty((self.task.num_trips, num, num))
        rows, cols = np.triu_indices(num, 1)
        costs = self.costs(np.column_stack((rows, cols)).astype(np.int32), watch)
        out[:, rows, cols] = out[:, cols, rows] = costs.T
        out[:, range(num), range(num)] = self.task.base_costs[:, self._order]
        return out

    def costs(self, sets: Int32s, watch: Watch) -> Floats:
        """See :class:`SetCosts`."""
        asked = np.sort(self._order[sets], axis=1)
        columns = [self.engine.costs(asked, trip, watch) for trip in range(self.task.num_trips)]
        return np.column_stack(columns) if len(sets) else np.empty((0, self.task.num_trips))

    def steps(self, watch: Watch) -> tuple[Floats, Floats, Floats]:
        """See :class:`SetCosts`; one sweep for each member."""
        posts, num = self.task.posts, self._order.size
        mine = [posts.posts_of(i) for i in self._order.tolist()]
        sweeper = Sweeper(self.task.domain, backward=False, num_seeds=max(map(len, mine)))
        between = np.empty((num, num))
        for i, own in enumerate(mine):
            watch.check()
            distances = sweeper.run_from(posts.nodes[own], np.zeros(own.size))[posts.nodes]
            between[i] = [distances[other].min() for other in mine]
        first, last = (
            np.array([[field[own].min() for own in mine] for field in fields])
            for fields in (self.task.from_start, self.task.to_goal)
        )
        return first * self.task.unit, last * self.task.unit, between * self.task.unit


MAX_BYTES = 2**30
"""The most memory for where beginnings that cover two members can end; some 500 members on 8,000 nodes."""

_SETS_PER_LOOK = 256


def fits_memory(task: CoveringTask) -> bool:
    """Whether the beginnings of all pairs can be kept: half of the nodes, those of one colour, for each."""
    num = len(task.members)
    return num * (num - 1) / 2 * task.domain.num_nodes / 2 * task.num_trips <= MAX_BYTES


class PrefixCosts:
    """Shares of sets whose members share a beginning.

    Parameters
    ----------
    task
        Members, posts and trips.
    order
        How the members are numbered.
    m
        How many nodes they share.
    whole
        Covering costs of whole walks: one of at most m nodes is shared to its end.
    """

    def __init__(self, task: CoveringTask, order: Ints, m: int, whole: SetCosts) -> None:
        self.task, self.order, self.m, self.whole = task, order, m, whole
        self._trips = [_TripBeginnings(task, order, m, trip) for trip in range(task.num_trips)]

    def shares(self, sets: Int32s, watch: Watch) -> Floats:
        """What sets of one size add, trips weighted; infinite where it is impossible."""
        total = np.zeros(len(sets))
        whole = self.whole.costs(sets, watch)
        ratios = self.task.rates[:, self.order]
        base = self.task.base_costs[:, self.order]
        for trip, beginnings in enumerate(self._trips):
            weight = ratios[trip][sets].sum(axis=1)
            prices = beginnings.prices(sets, watch)
            is_short = whole[:, trip] <= (self.m - 1) * self.task.unit * (1 + 1e-12)
            prices = np.minimum(prices, np.where(is_short, whole[:, trip] * weight, np.inf))
            fixed = (ratios[trip] * base[trip])[sets].sum(axis=1)
            total += self.task.weights[trip] * (prices - fixed)
        # Rounding must not make sharing look better than nothing.
        return np.maximum(total, 0.0)

    def pairs(self, watch: Watch) -> Floats:
        """What every two members add, as a symmetric matrix with zeros on its diagonal."""
        num = self.order.size
        rows, cols = np.triu_indices(num, 1)
        shares = self.shares(np.column_stack((rows, cols)).astype(np.int32), watch)
        out = np.zeros((num, num))
        out[rows, cols] = out[cols, rows] = shares
        return out


class _TripBeginnings:
    """The beginnings of one trip."""

    def __init__(self, task: CoveringTask, order: Ints, m: int, trip: int) -> None:
        self.task, self.trip, self.m = task, trip, m
        self._posts = [task.posts.posts_of(i) for i in order.tolist()]
        self._forward = Sweeper(task.domain, backward=False, num_seeds=max(1, task.posts.watch_posts.size))
        backward = Sweeper(task.domain, backward=True, num_seeds=max(1, task.posts.nodes.size))
        start = task.starts[trip]
        from_start = self._forward.run(start)
        to_goal = backward.run(task.goals[trip]).copy()
        is_stuck = m > 1 and task.domain.indptr[start] == task.domain.indptr[start + 1]
        has_colour = np.where(np.isfinite(from_start), from_start, 1 + m) % 2 == (m - 1) % 2
        is_end = (from_start <= m - 1) & has_colour & np.isfinite(to_goal) & (not is_stuck)
        self.nodes = np.flatnonzero(is_end)
        self._ratios = task.rates[trip][order]
        self._to_goal: Floats = to_goal[self.nodes] * task.unit
        self._ahead: Floats = np.empty((order.size, self.nodes.size))
        for i, mine in enumerate(self._posts):
            field = backward.run_from(task.posts.nodes[mine], task.to_goal[trip][mine])
            self._ahead[i] = field[self.nodes] * task.unit
        self._at_posts: dict[Members, Floats] = {(): from_start[task.posts.nodes]}
        self._row_of: dict[Members, int] = {(): 0 if self.nodes.size else -1}
        self._is_there: Flags = np.ones((64, self.nodes.size), dtype=np.bool_)
        self._num_rows = 1

    def prices(self, sets: Int32s, watch: Watch) -> Floats:
        """What the best beginning of each set costs its members together."""
        out = np.empty(len(sets))
        size = sets.shape[1]
        for first in range(0, len(sets), _SETS_PER_LOOK):
            watch.check()
            watch.tell("beginnings", first, len(sets))
            part = np.ascontiguousarray(sets[first : first + _SETS_PER_LOOK])
            rows = np.array([self._rows(members, size) for members in part.tolist()])
            price_beginnings(
                part, rows, self._is_there, self._to_goal, self._ahead, self._ratios, out[first : first + len(part)]
            )
        spent = (self.m - 1) * self.task.unit * self._ratios[sets].sum(axis=1)
        total: Floats = out + spent
        return total

    def _rows(self, members: Sequence[int], size: int) -> list[int]:
        """The row of each subset, by its bits."""
        return [self._row(tuple(members[i] for i in range(size) if covered >> i & 1)) for covered in range(1 << size)]

    def _row(self, covered: Members) -> int:
        """Where the nodes stand at which a beginning that covers a set can end; -1 when there are none."""
        known = self._row_of.get(covered)
        if known is not None:
            return known
        smaller = [covered[:i] + covered[i + 1 :] for i in range(len(covered))]
        row = -1
        if all(self._row(part) >= 0 for part in smaller):
            mine = [self._posts[i] for i in covered]
            values = [self._at_posts[part][posts] for part, posts in zip(smaller, mine, strict=True)]
            nodes, seeds = self.task.posts.nodes[np.concatenate(mine)], np.concatenate(values)
            is_soon = seeds <= self.m - 1
            if is_soon.any():
                field = self._forward.run_from(nodes[is_soon], seeds[is_soon])
                is_there = field[self.nodes] <= self.m - 1
                if is_there.any():
                    self._at_posts[covered] = field[self.task.posts.nodes]
                    row = self._keep(is_there)
        self._row_of[covered] = row
        return row

    def _keep(self, is_there: Flags) -> int:
        if self._num_rows == len(self._is_there):
            more = np.zeros_like(self._is_there)
            self._is_there = np.concatenate((self._is_there, more))
        self._is_there[self._num_rows] = is_there
        self._num_rows += 1
        return self._num_rows - 1


MAX_STOPS = 8
"""The most posts that are kept for a member."""

_MAX_OWN = 4
_NUM_AT_LEAST = 1000


@dataclass(frozen=True, eq=False)
class Stops:
    """Posts that stand for all posts of the members, in an order of the caller's.

    Parameters
    ----------
    ptr, stops
        Member i has the stops ``stops[ptr[i]:ptr[i + 1]]``.
    from_start, to_goal
        Costs per trip and stop.
    between
        Costs from each stop (row) to each.
    """

    ptr: Ints
    stops: Ints
    from_start: Floats
    to_goal: Floats
    between: Floats


def choose_stops(task: CoveringTask, order: Ints, partners: Ints, watch: Watch) -> Stops:
    """Choose stops, by one sweep for each.

    A member's first stop is the post that is cheapest to pass on its own. Further ones, up to four in all, are those
    where a walk to the goal by way of the first stops of its partners (``partners``, -1 where there is none), or back
    from there to the start, meets it most often. Then a member gets the stops of others that happen to be posts of its
    own. Where stops are more than a thousand, there are only as many as keep the distances between them within members
    times nodes. Ties: the lowest post.
    """
    chooser = _Chooser(task, watch)
    num_stops = max(_NUM_AT_LEAST, math.isqrt(task.domain.num_nodes * order.size))
    num_own = min(_MAX_OWN, max(1, num_stops // max(1, order.size)))
    mine = [task.posts.posts_of(member) for member in order.tolist()]
    own = [[int(posts[chooser.detour[posts].argmin()])] for posts in mine]
    for at, stops in enumerate(own):
        watch.tell("distances between posts", at, num_own * order.size)
        chooser.sweep(stops[0])
    first = [stops[0] for stops in own]
    for at, (posts, stops) in enumerate(zip(mine, own, strict=True)):
        watch.tell("distances between posts", order.size + at * (num_own - 1), num_own * order.size)
        wanted = chooser.vote(posts, [first[other] for other in partners[at].tolist() if other >= 0])
        stops += [post for post in wanted if post != stops[0]][: num_own - 1]
        for post in stops:
            chooser.sweep(post)
    return chooser.finish(mine, own)


class _Chooser:
    """Knows the distances from the stops chosen so far."""

    def __init__(self, task: CoveringTask, watch: Watch) -> None:
        self._task = task
        self._watch = watch
        self._sweeper = Sweeper(task.domain, backward=False, num_seeds=1)
        self._number_of: dict[int, int] = {}
        self._rows: list[Floats] = []
        self.detour: Floats = np.array(task.weights) @ (task.from_start + task.to_goal)

    def sweep(self, post: int) -> None:
        """Make a post a stop, if it is none."""
        if post not in self._number_of:
            self._watch.check()
            self._number_of[post] = len(self._rows)
            self._rows.append(self._sweeper.run(int(self._task.posts.nodes[post]))[self._task.posts.nodes])

    def vote(self, posts: Ints, others: list[int]) -> list[int]:
        """Posts of a member that lie best for walks past other stops, those with the most votes first."""
        votes = np.zeros(posts.size, dtype=np.int64)
        for other in others:
            there = self._rows[self._number_of[other]][posts]
            for trip in range(self._task.num_trips):
                votes[(there + self._task.to_goal[trip][posts]).argmin()] += 1
                votes[(there + self._task.from_start[trip][posts]).argmin()] += 1
        ranked = np.argsort(-votes, kind="stable")
        return [int(post) for post in posts[ranked[votes[ranked] > 0]]]

    def finish(self, mine: list[Ints], own: list[list[int]]) -> Stops:
        """The stops of all members."""
        task = self._task
        taken = np.array(list(self._number_of), dtype=np.int64)
        lists = []
        for posts, stops in zip(mine, own, strict=True):
            shared = [post for post in posts.tolist() if post in self._number_of and post not in stops]
            shared.sort(key=lambda post: (self.detour[post], post))
            lists.append([self._number_of[post] for post in (*stops, *shared)][:MAX_STOPS])
        return Stops(
            ptr=np.concatenate(([0], np.cumsum([len(stops) for stops in lists]))).astype(np.int64),
            stops=np.array([stop for stops in lists for stop in stops], dtype=np.int64),
            from_start=np.ascontiguousarray(task.from_start[:, taken]) * task.unit,
            to_goal=np.ascontiguousarray(task.to_goal[:, taken]) * task.unit,
            between=np.ascontiguousarray(np.array(self._rows)[:, taken]) * task.unit,
        )
