"""From a class to the walk: the cheapest start-goal walk that covers all members, node by node.

Ties are broken by a rule that depends on nothing but the problem. Going back from the goal, the last member to be
covered, and the post from which, is the first in the order of (member, node number) among the optimal ones; then the
one before it, and so on. Between two posts the walk is the shortest path of :meth:`Sweeper.follow`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from veilroute.covering.fields import FieldStepper
from veilroute.covering.posts import Posts
from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask
from veilroute.domain.graph import Domain
from veilroute.kernels.sweep import Floats, add_costs

Walk = npt.NDArray[np.int64]

_ROUNDING = 1e-12


class WalkFinder:
    """Finds covering walks; keeps the sweepers, and the table of post distances when there is one.

    Parameters
    ----------
    task
        Members, posts and trips.
    table
        Distances between all posts of the task, or ``None`` to sweep the graph for each subset of a class.
    """

    def __init__(self, task: CoveringTask, table: Floats | None = None) -> None:
        self.task = task
        self.table = table
        self.backward = Sweeper(task.domain, backward=True, num_seeds=1)

    @cached_property
    def _forward(self) -> Sweeper:
        return Sweeper(self.task.domain, backward=False, num_seeds=self.task.posts.nodes.size)

    def find(self, members: Sequence[int], trip: int) -> tuple[Walk, float]:
        """The cheapest walk of a trip that covers ``members`` (positions in the task), and its cost."""
        stops = self._choose_stops(sorted(members), trip)
        goal = self.task.goals[trip]
        walk = [np.array([self.task.starts[trip]], dtype=np.int64)]
        for stop in (*stops, goal):
            here = int(walk[-1][-1])
            if here != stop:
                self.backward.run(stop)
                walk.append(self.backward.follow(here)[1:])
        nodes = np.concatenate(walk)
        return nodes, walk_cost(self.task.domain, nodes)

    def _choose_stops(self, members: list[int], trip: int) -> list[int]:
        """The posts at which an optimal walk covers each member, in order of travel."""
        posts, kept = self.task.posts.subset(members)
        table = None if self.table is None else np.ascontiguousarray(self.table[np.ix_(kept, kept)])
        fields = self._all_fields(len(members), posts, self.task.from_start[trip][kept], table)
        onward = self.task.to_goal[trip][kept]
        left = (1 << len(members)) - 1
        stops: list[int] = []
        margin = 1.0 if self.task.domain.has_integer_costs else 1 - _ROUNDING
        while left:
            best_member, best_post, best = -1, -1, np.inf
            for i in range(len(members)):
                if not left >> i & 1:
                    continue
                mine = posts.watch_posts[posts.watch_ptr[i] : posts.watch_ptr[i + 1]]
                values = fields[left ^ (1 << i)][mine] + onward[mine]
                at = int(values.argmin())
                # A later member must be better by more than rounding to be preferred.
                if np.isfinite(values[at]) and values[at] < best * margin:
                    best_member, best_post, best = i, int(mine[at]), float(values[at])
            stop = int(posts.nodes[best_post])
            stops.append(stop)
            left ^= 1 << best_member
            if left:
                onward = self.backward.run(stop)[posts.nodes] if table is None else table[:, best_post]
        return stops[::-1]

    def _all_fields(self, num_members: int, posts: Posts, from_start: Floats, table: Floats | None) -> Floats:
        """Forward fields of every proper subset of a class, indexed by bit mask over the class."""
        stepper = FieldStepper(posts, table if table is not None else self._forward)
        num_sets = 1 << num_members
        fields = np.full((num_sets, posts.nodes.size), np.inf)
        fields[0] = from_start
        sets = np.arange(num_sets, dtype=np.int64)
        sizes = np.bitwise_count(sets)
        for size in range(1, num_members):
            level = sets[sizes == size]
            out = np.empty((level.size, posts.nodes.size))
            stepper.advance(level, sets, fields, out)
            fields[level] = out
        return fields


def walk_cost(domain: Domain, nodes: Walk) -> float:
    """Sum of the edge costs along a walk, an integer when the domain's costs are."""
    total = float(add_costs(domain.indptr, domain.indices, domain.costs, nodes))
    return int(total) if domain.has_integer_costs else total
