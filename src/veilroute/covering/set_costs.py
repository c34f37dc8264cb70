"""Covering costs of any small sets out of many members, asked for by the thousand.

Two ways: where each member is watched from one post, the cheapest order through a table of distances between members;
elsewhere the fields engine. Either keeps O(members x nodes) and answers for sets in an order of the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from veilroute.arrays import Floats, Int32s, Ints
from veilroute.covering.fields_engine import FieldsEngine
from veilroute.covering.posts import Posts, PostTable
from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask
from veilroute.kernels.tours import pair_costs, tour_costs
from veilroute.progress import Watch

MAX_TOUR = 12
"""The most members that a set may have for :class:`TourCosts`: a set takes two to that power times its square."""

_STEPS_PER_LOOK = 1 << 27


class SetCosts(Protocol):
    """Whatever can be asked for covering costs of sets."""

    max_size: int

    def pairs(self, watch: Watch) -> Floats | None:
        """Costs of all pairs, per trip: a symmetric matrix each, with those of single members on the diagonal."""

    def costs(self, sets: Int32s, watch: Watch) -> Floats | None:
        """Costs per set, of one size each, and trip; infinite where no walk covers one. ``None`` when time is over."""

    def steps(self, watch: Watch) -> tuple[Floats, Floats, Floats] | None:
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

    def prepare(self, watch: Watch) -> bool:
        """Work the distances between members out; false when the time is over."""
        if self.between.shape[0] == 0 and self._posts.size:
            if not self._table.complete(watch):
                return False
            distances = self._table.distances
            self.between = distances if self.task.unit == 1 else distances * self.task.unit
        return True

    def table_of(self, group: Sequence[int], posts: Posts) -> PostTable | None:
        """Distances between the ``posts`` of some members (positions in the task); ``None`` before they are there."""
        if not self._table.is_complete:
            return None
        rows = np.empty(posts.nodes.size, dtype=np.int64)
        rows[posts.watch_posts] = self._rank[list(group)]
        return self._table.part(posts, rows)

    def pairs(self, watch: Watch) -> Floats | None:
        """See :class:`SetCosts`; one sweep for each member."""
        if not self.prepare(watch):
            return None
        out = np.empty((self.task.num_trips, *self.between.shape))
        pair_costs(self.from_start, self.to_goal, self.between, out)
        return out

    def costs(self, sets: Int32s, watch: Watch) -> Floats | None:
        """See :class:`SetCosts`."""
        if not self.prepare(watch):
            return None
        out = np.empty((len(sets), self.task.num_trips))
        size = sets.shape[1]
        per_look = max(1, _STEPS_PER_LOOK // (2**size * size * size * self.task.num_trips))
        for first in range(0, len(sets), per_look):
            if first and watch.is_over():
                return None
            part = slice(first, first + per_look)
            tour_costs(sets[part], self.from_start, self.to_goal, self.between, out[part])
        return out

    def steps(self, watch: Watch) -> tuple[Floats, Floats, Floats] | None:
        """See :class:`SetCosts`."""
        return (self.from_start, self.to_goal, self.between) if self.prepare(watch) else None


class FieldCosts:
    """Costs of sets whose members may be watched from anywhere, by fields.

    Parameters as for :class:`TourCosts`.
    """

    max_size = MAX_TOUR

    def __init__(self, task: CoveringTask, order: Ints) -> None:
        self.task = task
        self.engine = FieldsEngine(task)
        self._order = order

    def pairs(self, watch: Watch) -> Floats | None:
        """See :class:`SetCosts`; one sweep for each member."""
        num = self._order.size
        out = np.empty((self.task.num_trips, num, num))
        rows, cols = np.triu_indices(num, 1)
        costs = self.costs(np.column_stack((rows, cols)).astype(np.int32), watch)
        if costs is None:
            return None
        out[:, rows, cols] = out[:, cols, rows] = costs.T
        out[:, range(num), range(num)] = self.task.base_costs[:, self._order]
        return out

    def costs(self, sets: Int32s, watch: Watch) -> Floats | None:
        """See :class:`SetCosts`."""
        asked = np.sort(self._order[sets], axis=1)
        columns = [self.engine.costs(asked, trip, watch) for trip in range(self.task.num_trips)]
        out = np.column_stack(columns) if len(sets) else np.empty((0, self.task.num_trips))
        return None if np.isnan(out).any() else out

    def steps(self, watch: Watch) -> tuple[Floats, Floats, Floats] | None:
        """See :class:`SetCosts`; one sweep for each member."""
        posts, num = self.task.posts, self._order.size
        mine = [posts.posts_of(i) for i in self._order.tolist()]
        sweeper = Sweeper(self.task.domain, backward=False, num_seeds=max(map(len, mine)))
        between = np.empty((num, num))
        for i, own in enumerate(mine):
            if watch.is_over():
                return None
            distances = sweeper.run_from(posts.nodes[own], np.zeros(own.size))[posts.nodes]
            between[i] = [distances[other].min() for other in mine]
        first, last = (
            np.array([[field[own].min() for own in mine] for field in fields])
            for fields in (self.task.from_start, self.task.to_goal)
        )
        return first * self.task.unit, last * self.task.unit, between * self.task.unit
