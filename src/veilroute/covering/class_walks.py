"""The walks of a partition's classes: each from what is known already, and from sweeps of its surroundings.

Thousands of classes are written down in a moment: a whole sweep of the graph for each would take longer than finding
them. A walk is a chain of shortest paths past a few posts. The distances between these come from the table or the
fields that a partitioner has filled, or else from sweeps that end when they have reached the posts of the class. The
path to the next post is read off a sweep that keeps to nodes on shortest paths, which the distances from the start and
to the goal tell apart; and from the last post all walks of a trip follow one sweep to the goal.

The walks are those of :class:`~veilroute.covering.fields_engine.FieldsEngine`, ties included.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import cached_property

from veilroute.arrays import Members
from veilroute.covering.fields_engine import FieldsEngine
from veilroute.covering.found import Found
from veilroute.covering.set_costs import FieldCosts, SetCosts, TourCosts
from veilroute.covering.sweeps import Near
from veilroute.covering.task import CoveringTask
from veilroute.progress import Watch

_FEW_MEMBERS = 300
_NUM_TRIED = 40
_FEW_TRIED = 3
_TRIED_SHARE = 0.05
_LITTLE_SHARE = 0.01
_MARGIN = 1.5


class ClassWalks:
    """Finds the walks of classes, a class at a time.

    Parameters
    ----------
    task
        Members, posts and trips.
    costs
        What a partitioner has found costs of sets with; what it has worked out is not worked out again.
    """

    def __init__(self, task: CoveringTask, costs: SetCosts | None = None) -> None:
        self.task = task
        self._tours: TourCosts | None = costs if isinstance(costs, TourCosts) else None
        self._fields: FieldsEngine | None = costs.engine if isinstance(costs, FieldCosts) else None
        self._found: dict[tuple[Members, int], Found] = {}
        self._last: tuple[Members, FieldsEngine] | None = None
        self._together: FieldsEngine | None = None

    @cached_property
    def _near(self) -> Near:
        return Near.over(self.task.domain, self.task.posts.nodes.size)

    def _find_together(self) -> FieldsEngine | None:
        """One engine for all classes, where members are few and their distances known: quicker than one for each."""
        everybody = range(len(self.task.members))
        if self._together is None and self._tours is not None and len(everybody) <= _FEW_MEMBERS:
            table = self._tours.table_of(everybody, self.task.posts)
            self._together = None if table is None else FieldsEngine(self.task, table=table, near=self._near)
        return self._together

    def find(self, members: Sequence[int], trip: int = 0) -> Found:
        """The cheapest walk of a trip that covers ``members`` (positions in the task)."""
        group = tuple(sorted(members))
        if (group, trip) in self._found:
            return self._found[group, trip]
        if self._fields is not None and self._fields.has_fields(group, trip):
            self._fields.near = self._near
            return self._fields.find(group, trip)
        together = self._find_together()
        if together is not None:
            return together.find(group, trip)
        # Trip after trip is asked for one class.
        if self._last is None or self._last[0] != group:
            self._last = (group, self._engine_of(group))
        return self._last[1].find(range(len(group)), trip)

    def has_walks(self, members: Sequence[int]) -> bool:
        """Whether some walk of each trip covers the class; they are kept for who asks for them later."""
        group = tuple(sorted(members))
        found = [self.find(group, trip) for trip in range(self.task.num_trips)]
        self._found |= {(group, trip): each for trip, each in enumerate(found)}
        return all(math.isfinite(each.cost) for each in found)

    def keep_time(
        self, classes: Sequence[Members], watch: Watch, write_down: Callable[[Members], object] | None = None
    ) -> None:
        """Have a search with a time limit end early enough to write the walks of so many classes down.

        Tried out on a few of them, with whatever writes the walks of a class down; this source when left out.
        """
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

    def _engine_of(self, group: Members) -> FieldsEngine:
        """The engine of a class by itself."""
        part = self.task.part(group)
        table = None if self._tours is None else self._tours.table_of(group, part.posts)
        return FieldsEngine(part, table=table, near=self._near)
