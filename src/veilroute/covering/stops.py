"""A few posts for each member, and the distances between them: enough for walks that are nearly as cheap as any."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veilroute.arrays import Floats, Ints
from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask
from veilroute.progress import Watch

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


def choose_stops(task: CoveringTask, order: Ints, partners: Ints, watch: Watch) -> Stops | None:
    """Choose stops, by one sweep for each; ``None`` when the time is over.

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
        if not chooser.sweep(stops[0]):
            return None
    first = [stops[0] for stops in own]
    for at, (posts, stops) in enumerate(zip(mine, own, strict=True)):
        watch.tell("distances between posts", order.size + at * (num_own - 1), num_own * order.size)
        wanted = chooser.vote(posts, [first[other] for other in partners[at].tolist() if other >= 0])
        stops += [post for post in wanted if post != stops[0]][: num_own - 1]
        if not all(chooser.sweep(post) for post in stops):
            return None
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

    def sweep(self, post: int) -> bool:
        """Make a post a stop, if it is none; false when the time is over."""
        if post not in self._number_of:
            if self._watch.is_over():
                return False
            self._number_of[post] = len(self._rows)
            self._rows.append(self._sweeper.run(int(self._task.posts.nodes[post]))[self._task.posts.nodes])
        return True

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
