"""The cheapest way on from a node to the goal that covers one member: how routes end once they may part."""

from __future__ import annotations

import math

import numpy as np

from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask
from veilroute.covering.walks import NO_WALK, Walk, walk_cost, walk_through
from veilroute.kernels.sweep import Floats


class Completions:
    """Completes walks that begin alike, each member's in its own way.

    Ties: of equally cheap posts the lowest node; between posts the walk is that of :meth:`Sweeper.follow`.

    Parameters
    ----------
    task
        Members, posts and trips.
    """

    def __init__(self, task: CoveringTask) -> None:
        self.task = task
        self._forward = Sweeper(task.domain, backward=False, num_seeds=1)
        self._backward = Sweeper(task.domain, backward=True, num_seeds=1)
        self._from: tuple[int, Floats] = (-1, np.empty(0))

    def complete(self, prefix: Walk, member: int, trip: int) -> tuple[Walk, float]:
        """The whole walk and its cost: the prefix, then on to the goal, past a post of the member if none was passed.

        An empty walk of infinite cost when there is no way on. One sweep for each end of a prefix, and up to two for
        each member.
        """
        posts, goal = self.task.posts, self.task.goals[trip]
        mine = posts.posts_of(member)
        here = int(prefix[-1])
        if np.isin(posts.nodes[mine], prefix).any():
            stops = [goal]
            is_possible = math.isfinite(self._distances_from(here)[goal])
        else:
            through = self._distances_from(here)[posts.nodes[mine]] + self.task.to_goal[trip][mine]
            best = int(through.argmin())
            stops = [int(posts.nodes[mine[best]]), goal]
            is_possible = math.isfinite(through[best])
        if not is_possible:
            return NO_WALK, math.inf
        walk = np.concatenate((prefix, walk_through(self._backward, here, stops)[1:]))
        return walk, walk_cost(self.task.domain, walk)

    def _distances_from(self, node: int) -> Floats:
        if self._from[0] != node:
            self._from = (node, self._forward.run(node))
        return self._from[1]
