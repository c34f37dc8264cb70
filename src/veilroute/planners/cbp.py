"""Cbp, the clustering-based planner (paper, section 5, Algorithm 4): towards a cluster's middle, then each its way."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from veilroute.arrays import Walk
from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask, prepare_task
from veilroute.covering.walks import NO_WALK
from veilroute.partition.clusters import Cluster, cluster_members
from veilroute.planners.plan import Plan
from veilroute.planners.prefixes import plan_prefixes, require_finite_m
from veilroute.planners.random_walks import draw_walk, seeded
from veilroute.problem import Privacy, Problem
from veilroute.progress import Watch


def plan_cbp(problem: Problem, privacy: Privacy, *, seed: int, watch: Watch) -> Plan:
    """Cluster the candidates, lead each cluster's routes towards its centroid for m nodes, and complete each.

    Where the centroid is nearer than m nodes, a random walk goes before the way there. It depends on the seed, the
    trip and the cluster, never on a member, so that the members of a cluster have their first m nodes in common.
    """
    m = require_finite_m(privacy, "cbp")
    task = prepare_task(problem)
    clusters = cluster_members(task, privacy.k, seed=seed, watch=watch)
    backward = Sweeper(problem.domain, backward=True, num_seeds=1)
    # Drawn one by one, so that those that are completed before the time is over count.
    groups = (
        (cluster.members, [lead_to(task, cluster, m, trip, seed, backward, watch) for trip in range(task.num_trips)])
        for cluster in clusters
    )
    return plan_prefixes(problem, privacy, task, groups, seed=seed, watch=watch)


def lead_to(
    task: CoveringTask, cluster: Cluster, m: int, trip: int, seed: int, backward: Sweeper, watch: Watch
) -> Walk:
    """The first nodes of a cluster's routes: m of them, or more where the padding comes out longer.

    The paper's ``|s to r| + |r to centroid| < m`` counts the node r twice if lengths count nodes; we pad until the
    *joined* walk has m nodes, so that no node within the first m depends on a member. Empty when one-way streets do not
    let the padding return to the centroid, or the time is over.
    """
    start = task.starts[trip]
    distances = backward.run(cluster.centroid)
    if math.isinf(distances[start]):
        return NO_WALK
    direct = backward.follow(start)
    if direct.size >= m:
        return direct[:m]

    @cache
    def num_nodes_from(node: int) -> int:
        return backward.follow(node).size

    def is_long_enough(num_nodes: int, last: int) -> bool:
        return math.isinf(distances[last]) or num_nodes + num_nodes_from(last) - 1 >= m

    name = ",".join(str(task.members[i]) for i in cluster.members)
    padding = draw_walk(task.domain, start, seeded("cbp", seed, trip, name), is_long_enough, watch)
    if not padding.size or math.isinf(distances[padding[-1]]):
        return NO_WALK
    return np.concatenate((padding, backward.follow(int(padding[-1]))[1:]))
