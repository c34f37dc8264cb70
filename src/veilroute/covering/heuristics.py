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

from veilroute.arrays import Floats, Indices
from veilroute.covering.rows import FIELD_BYTES
from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask
from veilroute.errors import TooLargeError
from veilroute.kernels import estimates
from veilroute.kernels.estimates import Estimator
from veilroute.progress import Watch


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
        self._is_kept = num_kinds * len(task.members) * task.domain.num_nodes * 8 <= field_bytes
        # By trip, and under -1 what no trip matters for. Pages take memory only once they are written.
        self._fields: dict[int, Floats] = {}
        self._row_of: dict[int, dict[int, int]] = {}
        self._to_goal: dict[int, Floats] = {}

    def sweep(self, members: Sequence[int], trip: int, watch: Watch) -> bool:
        """Make the sweeps for a search that covers ``members``; false when the time is over."""
        if len(members) > self.heuristic.max_targets:
            more = ", ".join(name for name, each in HEURISTICS.items() if each.max_targets >= len(members))
            other = f"; the engine astar takes more with {more}" if more else ""
            raise TooLargeError(
                "members", f"at most {self.heuristic.max_targets} for this heuristic{other}", len(members)
            )
        if self.heuristic.kind != estimates.BLIND and trip not in self._to_goal:
            self._to_goal[trip] = self.backward.run(self.task.goals[trip]) * self.task.unit
        is_done = not self.heuristic.has_reach or self._sweep_from(members, -1, watch)
        return is_done and (not self.heuristic.has_through or self._sweep_from(members, trip, watch))

    def _sweep_from(self, members: Sequence[int], key: int, watch: Watch) -> bool:
        if not self._is_kept or key not in self._fields:
            num_rows = len(self.task.members) if self._is_kept else len(members)
            self._fields[key] = np.empty((num_rows, self.task.domain.num_nodes))
            self._row_of[key] = {}
        rows = self._row_of[key]
        for member in members:
            if member in rows:
                continue
            if watch.is_over():
                return False
            nodes = self._watchers(member)
            seeds = np.zeros(nodes.size) if key < 0 else self._to_goal[key][nodes] / self.task.unit
            self._fields[key][len(rows)] = self.backward.run_from(nodes, seeds) * self.task.unit
            rows[member] = len(rows)
        return True

    def prepare(self, members: Sequence[int], trip: int) -> Estimator:
        """The heuristic after its sweeps; bit i of its masks stands for ``members[i]``."""
        kind, num = self.heuristic.kind, len(members)
        nothing = np.empty((0, 0))
        if kind == estimates.BLIND:
            no_rows, no_costs = np.zeros(num, dtype=np.int64), np.zeros(self.task.domain.num_nodes)
            return Estimator(kind, no_rows, nothing, no_rows, nothing, no_costs, np.zeros(num), nothing)
        to_goal = self._to_goal[trip]
        reach, through = self._fields.get(-1, nothing), self._fields.get(trip, nothing)
        reach_rows, through_rows = (
            np.array([self._row_of.get(key, {}).get(member, -1) for member in members], dtype=np.int64)
            for key in (-1, trip)
        )
        watchers = [self._watchers(member) for member in members]
        ends = np.array([to_goal[nodes].min() for nodes in watchers])
        rest = nothing
        if kind in (estimates.TREE, estimates.TOUR):
            between = np.array([[reach[row][nodes].min() for row in reach_rows.tolist()] for nodes in watchers])
            table = estimates.tree_table if kind == estimates.TREE else estimates.tour_table
            rest = table(between.reshape(num, num), ends)
        return Estimator(kind, reach_rows, reach, through_rows, through, to_goal, ends, rest)

    def _watchers(self, member: int) -> Indices:
        return self.task.posts.nodes[self.task.posts.posts_of(member)]
