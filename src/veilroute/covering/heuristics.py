"""Heuristics for the A* engine: lower bounds from sweeps out of the targets' watcher sets.

============== =========================================================================================
``blind``      0 everywhere: breadth-first search where all edges cost the same, else Dijkstra's (paper)
``tunnel``     the furthest target, then from the target nearest to the goal (paper, section 4.3)
``singleton``  the target that is dearest to cover alone on the way to the goal
``tree``       the nearest target, then a minimum spanning tree over the targets left and the goal
``tour``       the larger of ``singleton`` and the cheapest order of the targets left, from set to set
============== =========================================================================================

Distances between targets are those between their watcher sets, so every bound holds whichever watchers a walk uses. A
walk that covers the targets left visits them in some order, paying at least the set distance between each two: that
is ``tour``, exact where every target has one watcher. It loses the way *within* a watcher set; ``singleton`` loses
everything but one target and nothing of that one, which is why they are taken together. All five are consistent.
``benchmarks/heuristics.py`` has the measurements behind the choice.

Memory: a field of one number per node for each target, two for ``tour``; and a table of ``2^targets`` numbers for
``tree``, ``targets`` times that for ``tour``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veilroute.covering.rows import FIELD_BYTES
from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask
from veilroute.errors import TooLargeError
from veilroute.kernels import estimates
from veilroute.kernels.sweep import Floats


@dataclass(frozen=True)
class Heuristic:
    """A heuristic of the A* engine.

    Parameters
    ----------
    kind
        Its number in the kernel.
    has_reach, has_through
        Which fields it needs.
    max_targets
        The most targets that it takes.
    """

    kind: int
    has_reach: bool
    has_through: bool
    max_targets: int


HEURISTICS = {
    "blind": Heuristic(estimates.BLIND, has_reach=False, has_through=False, max_targets=31),
    "tunnel": Heuristic(estimates.TUNNEL, has_reach=True, has_through=False, max_targets=31),
    "singleton": Heuristic(estimates.SINGLETON, has_reach=False, has_through=True, max_targets=31),
    "tree": Heuristic(estimates.TREE, has_reach=True, has_through=False, max_targets=20),
    "tour": Heuristic(estimates.TOUR, has_reach=True, has_through=True, max_targets=20),
}
"""By name."""


@dataclass(frozen=True, eq=False)
class Estimator:
    """A heuristic made ready for the targets of one search: the arguments of the kernel, in its order."""

    kind: int
    rows: npt.NDArray[np.int64]
    reach: Floats
    through: Floats
    to_goal: Floats
    ends: Floats
    rest: Floats

    def arguments(self) -> tuple[int, npt.NDArray[np.int64], Floats, Floats, Floats, Floats, Floats]:
        """Everything, for ``*`` in a call."""
        return self.kind, self.rows, self.reach, self.through, self.to_goal, self.ends, self.rest

    def all_states(self) -> Floats:
        """The heuristic at every state: by targets left (a bit mask) and node. For small instances."""
        return estimates.estimate_states(*self.arguments())


class TargetFields:
    """Sweeps out of watcher sets, kept for all members of a task where they fit, worked out anew where not.

    Parameters
    ----------
    task
        Members, posts and trips.
    heuristic
        Which fields are needed.
    field_bytes
        Memory for fields that are kept from one search to the next.
    """

    def __init__(self, task: CoveringTask, heuristic: Heuristic, field_bytes: int = FIELD_BYTES) -> None:
        self.task = task
        self.heuristic = heuristic
        self.backward = Sweeper(task.domain, backward=True, num_seeds=max(1, task.posts.nodes.size))
        num_kinds = heuristic.has_reach + heuristic.has_through * task.num_trips
        shape = (len(task.members), task.domain.num_nodes)
        self._is_kept = num_kinds * shape[0] * shape[1] * 8 <= field_bytes
        # Pages of these arrays take memory only once they are written.
        self._reach = np.empty(shape if self._is_kept and heuristic.has_reach else (0, 0))
        self._through = [
            np.empty(shape if self._is_kept and heuristic.has_through else (0, 0)) for _ in range(task.num_trips)
        ]
        self._done: set[tuple[int, int]] = set()
        self._to_goal: dict[int, Floats] = {}

    def prepare(self, members: Sequence[int], trip: int) -> Estimator:
        """The heuristic for a search that covers ``members``; bit i of its masks stands for ``members[i]``."""
        num = len(members)
        if num > self.heuristic.max_targets:
            more = ", ".join(name for name, each in HEURISTICS.items() if each.max_targets >= num)
            other = f"; these take more: {more}" if more else ""
            raise TooLargeError("members", f"at most {self.heuristic.max_targets} for this heuristic{other}", num)
        empty = np.empty((0, 0))
        if self.heuristic.kind == estimates.BLIND:
            nothing = np.zeros(self.task.domain.num_nodes)
            return Estimator(self.heuristic.kind, np.arange(num), empty, empty, nothing, np.zeros(num), empty)
        to_goal = self._distances_to_goal(trip)
        if self._is_kept:
            rows, reach, through = np.array(members, dtype=np.int64), self._reach, self._through[trip]
        else:
            shape = (num, self.task.domain.num_nodes)
            rows = np.arange(num)
            reach = np.empty(shape if self.heuristic.has_reach else (0, 0))
            through = np.empty(shape if self.heuristic.has_through else (0, 0))
        watchers = [self.task.posts.nodes[self.task.posts.posts_of(member)] for member in members]
        for row, member, nodes in zip(rows.tolist(), members, watchers, strict=True):
            if self.heuristic.has_reach and (member, -1) not in self._done:
                reach[row] = self.backward.run_from(nodes, np.zeros(nodes.size)) * self.task.unit
            if self.heuristic.has_through and (member, trip) not in self._done:
                through[row] = self.backward.run_from(nodes, to_goal[nodes] / self.task.unit) * self.task.unit
            if self._is_kept:
                self._done |= {(member, -1), (member, trip)}
        ends = np.array([to_goal[nodes].min() for nodes in watchers])
        rest = empty
        if self.heuristic.kind in (estimates.TREE, estimates.TOUR):
            between = np.array([[reach[row][nodes].min() for row in rows.tolist()] for nodes in watchers])
            table = estimates.tree_table if self.heuristic.kind == estimates.TREE else estimates.tour_table
            rest = table(between.reshape(num, num), ends)
        return Estimator(self.heuristic.kind, rows, reach, through, to_goal, ends, rest)

    def _distances_to_goal(self, trip: int) -> Floats:
        if trip not in self._to_goal:
            self._to_goal[trip] = self.backward.run(self.task.goals[trip]) * self.task.unit
        return self._to_goal[trip]
