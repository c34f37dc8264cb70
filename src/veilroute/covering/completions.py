"""The cheapest way on from a node to the goal that covers one member: how routes end once they may part."""

from __future__ import annotations

import math

import numpy as np

from veilroute.arrays import Walk
from veilroute.covering.sweeps import Near
from veilroute.covering.task import CoveringTask
from veilroute.covering.walks import NO_WALK, walk_cost


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
        self._near = Near.over(task.domain, 1)

    def complete(self, prefix: Walk, member: int, trip: int, *, at_most: float = math.inf) -> tuple[Walk, float]:
        """The whole walk and its cost: the prefix, then on to the goal, past a post of the member if none was passed.

        An empty walk of infinite cost when there is no way on. Where it is known what the rest costs ``at_most``, in
        units of the task, nothing is looked for beyond. Two sweeps of the surroundings.
        """
        posts, goal = self.task.posts, self.task.goals[trip]
        mine = posts.posts_of(member)
        here = int(prefix[-1])
        from_start, to_goal = self.task.all_from_start[trip], self.task.all_to_goal[trip]
        walks = [prefix]
        if np.isin(posts.nodes[mine], prefix).any():
            is_possible = math.isfinite(to_goal[here])
        else:
            nodes = posts.nodes[mine]
            seed = np.array([here], dtype=np.uint32)
            distances = self._near.forward.values(seed, np.zeros(1), nodes, to_goal, at_most)
            through = distances + self.task.to_goal[trip][mine]
            best = int(through.argmin())
            is_possible = math.isfinite(through[best])
            if is_possible:
                stop = int(nodes[best])
                walks.append(self._near.backward.follow(here, stop, float(distances[best]), from_start, to_goal)[1:])
                here = stop
        if not is_possible:
            return NO_WALK, math.inf
        walks.append(self._near.follow_to_goal(here, goal)[1:])
        walk = np.concatenate(walks)
        return walk, walk_cost(self.task.domain, walk)
