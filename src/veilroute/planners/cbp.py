"""Cbp, the clustering-based planner (paper, section 5, Algorithm 4): towards a cluster's middle, then each its way.

Clusters are found as by k-means, on a graph (lines 1 to 10). The centroid of a cluster is the node that minimises the
largest distance *to cover* a member (Wasserman and Faust's centre):
``argmin over n of max over u of min over w in W_u of d(n, w)``.

The program of the paper's authors does three things in another way, and each is an option here: the ``centre`` has the
least *sum* of distances; the first clusters are the candidates k by k in the order given (``cluster_order``
``listed``); and the walk to the centre is found by A* with the heuristic of the *goal* (``centre_heuristic``
``to-goal``), so that of all shortest walks to the centre it takes one that stays near the ways to the goal.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from veilroute.base.arrays import Flags, Members, Node, Walk, as_members
from veilroute.base.errors import UnknownMethodError
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.astar import AStarEngine
from veilroute.covering.task import CoveringTask, prepare_task
from veilroute.covering.walks import NO_WALK, Sweeper
from veilroute.model.problem import Privacy, Problem
from veilroute.planners.plan import Plan
from veilroute.planners.rbp import draw_walk, plan_prefixes, require_finite_m, seeded

CENTRES = ("furthest", "sum")  #: what is least at a centroid: the largest distance to cover a member, or their sum
CLUSTER_ORDERS = ("shuffled", "listed")  #: how candidates are dealt to the first clusters
CENTRE_HEURISTICS = ("to-centre", "to-goal")  #: where the walk to a centroid is aimed


def plan_cbp(
    problem: Problem, privacy: Privacy, *, seed: int, watch: Watch, centre: str = "furthest",
    cluster_order: str = "shuffled", centre_heuristic: str = "to-centre",
) -> Plan:  # fmt: skip
    """Cluster the candidates, lead each cluster's routes towards its centroid for m nodes, and complete each.

    Where the centroid is nearer than m nodes, a random walk goes before the way there. It depends on the seed, the
    trip and the cluster, never on a member, so that the members of a cluster have their first m nodes in common.
    """
    m = require_finite_m(privacy, "cbp")
    given = {"centre": centre, "cluster_order": cluster_order, "centre_heuristic": centre_heuristic}
    for (name, value), known in zip(given.items(), (CENTRES, CLUSTER_ORDERS, CENTRE_HEURISTICS), strict=True):
        if value not in known:
            raise UnknownMethodError(name, value, known)
    task = prepare_task(problem)
    clusters = cluster_members(task, privacy.k, seed=seed, watch=watch, centre=centre, cluster_order=cluster_order)
    leads = Leads(task, seed, watch, centre_heuristic)
    # Drawn one by one, so that those that are completed before the time is over count.
    prefixed = (
        (cluster.members, [leads.find(cluster, m, trip) for trip in range(task.num_trips)]) for cluster in clusters
    )
    plan = plan_prefixes(problem, privacy, task, prefixed, seed=seed, watch=watch)
    usual = (CENTRES[0], CLUSTER_ORDERS[0], CENTRE_HEURISTICS[0])
    return replace(plan, options={**given, **plan.options}) if tuple(given.values()) != usual else plan


class Leads:
    """Finds the nodes that the routes of a cluster begin with."""

    def __init__(self, task: CoveringTask, seed: int, watch: Watch, centre_heuristic: str = "to-centre") -> None:
        self.task, self.seed, self.watch = task, seed, watch
        self.backward = Sweeper(task.domain, backward=True, num_seeds=1)
        is_to_goal = centre_heuristic == "to-goal"
        self._search = AStarEngine(task, "tunnel", tie_break="last-made") if is_to_goal else None

    def find(self, cluster: Cluster, m: int, trip: int) -> Walk:
        """The first m nodes of a cluster's routes, or more where the padding comes out longer.

        The paper's ``|s to r| + |r to centroid| < m`` counts the node r twice if lengths count nodes; we pad until the
        *joined* walk has m nodes, so that no node within the first m depends on a member. Empty when one-way streets do
        not let the padding return to the centroid, or the time is over.
        """
        start, backward = self.task.starts[trip], self.backward
        distances = backward.run(cluster.centroid)
        if math.isinf(distances[start]):
            return NO_WALK
        direct = self._direct(cluster.centroid, trip)
        if direct.size >= m or not direct.size:
            return direct[:m]

        @cache
        def num_nodes_from(node: int) -> int:
            return backward.follow(node).size

        def is_long_enough(num_nodes: int, last: int) -> bool:
            return math.isinf(distances[last]) or num_nodes + num_nodes_from(last) - 1 >= m

        name = ",".join(str(self.task.members[i]) for i in cluster.members)
        padding = draw_walk(self.task.domain, start, seeded("cbp", self.seed, trip, name), is_long_enough, self.watch)
        if not padding.size or math.isinf(distances[padding[-1]]):
            return NO_WALK
        return np.concatenate((padding, backward.follow(int(padding[-1]))[1:]))

    def _direct(self, centroid: Node, trip: int) -> Walk:
        """A shortest walk from the start to a centroid; empty when the time is over."""
        if self._search is None:
            return self.backward.follow(self.task.starts[trip])
        try:
            return self._search.way_to(centroid, trip, self.watch)
        except OutOfTimeError:
            return NO_WALK


@dataclass(frozen=True)
class Cluster:
    """Members, ascending, and the node in their middle."""

    members: Members
    centroid: Node


def cluster_members(
    task: CoveringTask, k: int, *, seed: int, watch: Watch, centre: str = "furthest", cluster_order: str = "shuffled"
) -> list[Cluster]:
    """Clusters of at least k members each, ordered by first member; none when there are fewer than k members.

    Members are dealt at random, or k by k as they are listed, to as many clusters as can have k, then each goes to the
    nearest centroid until nothing changes (or a state comes back), and clusters that are too small join the one whose
    centroid is nearest to theirs. Centroids move after each of these steps. One partition serves all trips: a centroid
    is a node that all of them can reach. Ties: the lowest node, the first cluster.

    Complexity: one sweep per member, then members times nodes for each round; memory members times nodes.
    """
    num = len(task.members)
    if num < k:
        return []
    middle = _Middle(task, watch, centre)
    num_clusters = num // k
    if cluster_order == "listed":
        # Those left over join the last cluster.
        ends = [*range(k, k * num_clusters, k), num]
        dealt = [as_members(range(first, end)) for first, end in zip([0, *ends], ends, strict=False)]
    else:
        order = list(range(num))
        random.Random(f"veilroute-cbp-{seed}").shuffle(order)
        dealt = [as_members(order[i::num_clusters]) for i in range(num_clusters)]
    return _merge_small(_settle(dealt, middle), k, middle)


class _Middle:
    """Finds centroids."""

    def __init__(self, task: CoveringTask, watch: Watch, centre: str) -> None:
        self._measure = np.sum if centre == "sum" else np.max
        backward = Sweeper(task.domain, backward=True, num_seeds=max(1, task.posts.nodes.size))
        self.forward = Sweeper(task.domain, backward=False, num_seeds=1)
        self.to_cover = np.empty((len(task.members), task.domain.num_nodes))
        for i in range(len(task.members)):
            watch.tell("distances to cover", i, len(task.members))
            nodes = task.posts.nodes_of(i)
            self.to_cover[i] = backward.run_from(nodes, np.zeros(nodes.size))
        self._in_reach: Flags = np.logical_and.reduce(np.isfinite(task.all_from_start))

    def find(self, members: Members) -> Cluster:
        """The cluster of these members."""
        distances = np.where(self._in_reach, self._measure(self.to_cover[list(members)], axis=0), np.inf)
        if np.isinf(distances).all():  # one-way streets: nobody reaches all of them, so stay where the trips can go
            return Cluster(members, Node(int(self._in_reach.argmax())))
        return Cluster(members, Node(int(distances.argmin())))


def _settle(dealt: list[Members], middle: _Middle) -> list[Cluster]:
    """Move every member to the nearest centroid until nothing changes."""
    clusters = [middle.find(members) for members in dealt]
    met = set()
    while (now := tuple(cluster.members for cluster in clusters)) not in met:
        met.add(now)
        nearest = middle.to_cover[:, [cluster.centroid for cluster in clusters]].argmin(axis=1)
        moved = [as_members(np.flatnonzero(nearest == j).tolist()) for j in range(len(clusters))]
        clusters = [middle.find(members) for members in moved if members]
    return clusters


def _merge_small(clusters: list[Cluster], k: int, middle: _Middle) -> list[Cluster]:
    """Let clusters of fewer than k members join the nearest one."""
    while len(clusters) > 1 and (small := next((c for c in clusters if len(c.members) < k), None)) is not None:
        others = [cluster for cluster in clusters if cluster is not small]
        distances = middle.forward.run(small.centroid)[[cluster.centroid for cluster in others]]
        home = others[int(distances.argmin())]
        joined = middle.find(as_members((*small.members, *home.members)))
        clusters = [joined if cluster is home else cluster for cluster in others]
    return sorted(clusters, key=lambda cluster: cluster.members)
