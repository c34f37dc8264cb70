"""Covering costs of any small sets out of many members, asked for by the thousand.

Exact ones come in two ways: where each member is watched from one post, as the cheapest order through a table of
distances between members (:class:`TourCosts`); elsewhere from the fields engine (:class:`FieldCosts`). Either keeps
O(members x nodes) and numbers the members in an ``order`` of the caller's.

Local search does with less: :func:`choose_stops` picks a few posts for each member, its *stops*, and the distances
between them are enough for walks that are nearly as cheap as any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veilroute.arrays import Floats, Int32s, Ints
from veilroute.covering.fields import FieldsEngine
from veilroute.covering.task import CoveringTask, Posts, PostTable
from veilroute.covering.walks import Sweeper
from veilroute.kernels.subsets import pair_costs, tour_costs
from veilroute.progress import Watch

#: The most members that a set may have here: for :class:`TourCosts` it takes two to that power times its square.
MAX_TOUR = 12
MAX_STOPS = 8  #: the most stops that a member has
_STEPS_PER_LOOK = 1 << 27
_MAX_OWN = 4
_NUM_AT_LEAST = 1000


def set_costs(task: CoveringTask, order: Ints) -> TourCosts | FieldCosts:
    """The way that fits a task; ``order`` has the members by their new numbers."""
    has_one_post_each = bool(np.all(np.diff(task.posts.watch_ptr) == 1))
    return TourCosts(task, order) if has_one_post_each else FieldCosts(task, order)


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
        """Costs per set, of one size each, and trip; infinite where no walk covers one."""
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

    def steps(self, watch: Watch) -> tuple[Floats, Floats, Floats]:
        """See :meth:`TourCosts.steps`; one sweep for each member."""
        posts, num = self.task.posts, self._order.size
        mine = [posts.posts_of(i) for i in self._order.tolist()]
        sweeper = Sweeper(self.task.domain, backward=False, num_seeds=max(map(len, mine)))
        between = np.empty((num, num))
        for i, own in enumerate(mine):
            watch.check()
            distances = sweeper.values(posts.nodes[own], np.zeros(own.size), posts.nodes)
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


def choose_stops(task: CoveringTask, order: Ints, partners: Ints, watch: Watch) -> Stops:
    """Choose stops, by one sweep for each.

    A member's first stop is the post that is cheapest to pass on its own. Further ones, up to four in all, are those
    where a walk to the goal by way of the first stops of its partners (``partners``, -1 where there is none), or back
    from there to the start, meets it most often. Then a member gets the stops of others that happen to be posts of its
    own. Where stops are more than a thousand, there are only as many as keep the distances between them within members
    times nodes. Ties: the lowest post.
    """
    sweeper = Sweeper(task.domain, backward=False, num_seeds=1)
    nodes = task.posts.nodes.astype(np.int64)  # which numpy looks up in half the time
    rows: dict[int, Floats] = {}  # distances from each stop to all posts

    def make_stop(post: int) -> None:
        if post not in rows:
            watch.check()
            rows[post] = sweeper.near(int(nodes[post]), nodes)

    detour = np.array(task.weights) @ (task.from_start + task.to_goal)
    num_stops = max(_NUM_AT_LEAST, math.isqrt(task.domain.num_nodes * order.size))
    num_own = min(_MAX_OWN, max(1, num_stops // max(1, order.size)))
    mine = [task.posts.posts_of(member) for member in order.tolist()]
    first = [int(posts[detour[posts].argmin()]) for posts in mine]
    for at, post in enumerate(first):
        watch.tell("distances between posts", at, num_own * order.size)
        make_stop(post)
    own = []
    for at, posts in enumerate(mine):
        watch.tell("distances between posts", order.size + at * (num_own - 1), num_own * order.size)
        wanted = _vote(task, posts, [rows[first[other]] for other in partners[at].tolist() if other >= 0])
        own.append([first[at], *[post for post in wanted if post != first[at]][: num_own - 1]])
        for post in own[at]:
            make_stop(post)
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
