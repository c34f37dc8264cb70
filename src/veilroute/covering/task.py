"""What all covering computations of a problem share: who can be covered, from where, and at what base cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veilroute.arrays import Floats, Indices, Ints
from veilroute.covering.posts import Posts
from veilroute.covering.sweeps import Sweeper
from veilroute.covering.watchers import find_watchers
from veilroute.domain.graph import Domain
from veilroute.problem import Problem


@dataclass(frozen=True, eq=False)
class CoveringTask:
    """The coverable candidates of a problem with their watchers, and each trip's fields at these posts.

    Parameters
    ----------
    domain
        The world.
    members
        Positions, among the problem's candidates, of those that count and that every trip can cover.
    uncoverable
        Positions of those that count but that some trip cannot cover.
    posts
        Watchers of the members; candidate i of the posts is ``members[i]``.
    starts, goals
        Nodes, one per trip.
    weights
        Weights of the trips, summing to 1.
    from_start, to_goal
        Per trip and post the distance from the start and to the goal, in units of ``unit``.
    all_from_start, all_to_goal
        The same per trip and node.
    direct
        Per trip the distance from its start to its goal, in the same units.
    base_costs
        Per trip and member the cheapest cost of covering it alone.
    unit
        What one unit of distance costs.
    """

    domain: Domain
    members: tuple[int, ...]
    uncoverable: tuple[int, ...]
    posts: Posts
    starts: tuple[int, ...]
    goals: tuple[int, ...]
    weights: tuple[float, ...]
    from_start: Floats
    to_goal: Floats
    all_from_start: Floats
    all_to_goal: Floats
    direct: Floats
    base_costs: Floats
    unit: float

    @property
    def num_trips(self) -> int:
        """How many trips there are."""
        return len(self.starts)

    @property
    def ratio_weights(self) -> Floats:
        """Per trip and member ``1 / base cost``, or one over the smallest positive edge cost where that is 0."""
        base = np.where(self.base_costs > 0, self.base_costs, self.domain.smallest_positive_cost)
        return 1.0 / base

    def least_costs(self, members: Sequence[int], trip: int) -> Floats:
        """What covering the members one by one costs, after what covering nothing does."""
        return np.concatenate(([self.direct[trip] * self.unit], self.base_costs[trip][list(members)]))

    def part(self, members: Sequence[int]) -> CoveringTask:
        """The task of some of the members only, in the order given."""
        posts, at = self.posts.subset(members)
        return replace(
            self,
            members=tuple(self.members[i] for i in members),
            posts=posts,
            from_start=self.from_start[:, at],
            to_goal=self.to_goal[:, at],
            base_costs=self.base_costs[:, list(members)],
        )


def prepare_task(problem: Problem, positions: Sequence[int] | None = None) -> CoveringTask:
    """Find watchers and base costs, by two sweeps per trip.

    For the candidates at ``positions``, or for all that count.
    """
    domain = problem.domain
    counted = problem.counted if positions is None else tuple(positions)
    watchers = find_watchers(domain, problem.visibility, [problem.candidate_nodes[i] for i in counted])
    out = Sweeper(domain, backward=False, num_seeds=1)
    back = Sweeper(domain, backward=True, num_seeds=1)
    # A candidate that nobody watches cannot be covered, whatever the trip.
    coverable = np.array([w.size > 0 for w in watchers], dtype=bool)
    all_from_start, all_to_goal = np.empty((2, len(problem.trips), domain.num_nodes))
    base = np.full((len(problem.trips), len(counted)), np.inf)
    everyone = Posts.of(watchers)
    for j, (start, goal) in enumerate(zip(problem.start_nodes, problem.goal_nodes, strict=True)):
        all_from_start[j] = out.run(start)
        all_to_goal[j] = back.run(goal)
        base[j] = _cheapest_per_candidate(everyone, (all_from_start[j] + all_to_goal[j])[everyone.nodes])
        coverable &= np.isfinite(base[j])
    kept = np.flatnonzero(coverable)
    posts = _restrict(everyone, watchers, kept)
    total = sum(trip.weight for trip in problem.trips)
    return CoveringTask(
        domain=domain,
        members=tuple(counted[i] for i in kept.tolist()),
        uncoverable=tuple(counted[i] for i in np.flatnonzero(~coverable).tolist()),
        posts=posts,
        starts=problem.start_nodes,
        goals=problem.goal_nodes,
        weights=tuple(trip.weight / total for trip in problem.trips),
        # Picking columns turns the memory round; kernels are compiled once for each layout that they are given.
        from_start=np.ascontiguousarray(all_from_start[:, posts.nodes]),
        to_goal=np.ascontiguousarray(all_to_goal[:, posts.nodes]),
        all_from_start=all_from_start,
        all_to_goal=all_to_goal,
        direct=all_to_goal[range(len(problem.trips)), problem.start_nodes],
        base_costs=np.ascontiguousarray(base[:, kept]) * out.unit,
        unit=out.unit,
    )


def _cheapest_per_candidate(posts: Posts, through: Floats) -> Floats:
    num = posts.watch_ptr.size - 1
    best = np.full(num, np.inf)
    owner = np.repeat(np.arange(num), np.diff(posts.watch_ptr))
    np.minimum.at(best, owner, through[posts.watch_posts])
    return best


def _restrict(everyone: Posts, watchers: list[Indices], kept: Ints) -> Posts:
    if kept.size == len(watchers):
        return everyone
    return everyone.subset(kept.tolist())[0] if kept.size else Posts.of([])
