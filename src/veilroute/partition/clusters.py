"""Cbp's clusters: like k-means, on a graph (paper, section 5, Algorithm 4, lines 1 to 10).

The centroid of a cluster is the node that minimises the largest distance *to cover* a member (Wasserman and Faust's
centre): ``argmin over n of max over u of min over w in W_u of d(n, w)``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from veilroute.arrays import Flags, Floats
from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask
from veilroute.progress import Watch


@dataclass(frozen=True)
class Cluster:
    """Members, as ascending positions in the task, and the node in their middle."""

    members: tuple[int, ...]
    centroid: int


def cluster_members(task: CoveringTask, k: int, *, seed: int, watch: Watch) -> list[Cluster]:
    """Clusters of at least k members each, ordered by first member; none when there are fewer than k members.

    Members are dealt at random to as many clusters as can have k, then each goes to the nearest centroid until nothing
    changes (or a state comes back), and clusters that are too small join the one whose centroid is nearest to theirs.
    Centroids move after each of these steps. One partition serves all trips: a centroid is a node that all of them can
    reach. Ties: the lowest node, the first cluster.

    Complexity: one sweep per member, then members times nodes for each round; memory members times nodes.
    """
    num = len(task.members)
    if num < k:
        return []
    middle = _Middle(task, watch)
    order = list(range(num))
    random.Random(f"veilroute-cbp-{seed}").shuffle(order)
    num_clusters = num // k
    dealt = [tuple(sorted(order[i::num_clusters])) for i in range(num_clusters)]
    return _merge_small(_settle(dealt, middle), k, middle)


class _Middle:
    """Finds centroids."""

    def __init__(self, task: CoveringTask, watch: Watch) -> None:
        backward = Sweeper(task.domain, backward=True, num_seeds=max(1, task.posts.nodes.size))
        self._forward = Sweeper(task.domain, backward=False, num_seeds=1)
        self.to_cover = np.empty((len(task.members), task.domain.num_nodes))
        for i in range(len(task.members)):
            watch.tell("distances to cover", i, len(task.members))
            nodes = task.posts.nodes[task.posts.posts_of(i)]
            self.to_cover[i] = backward.run_from(nodes, np.zeros(nodes.size))
        reached = [np.isfinite(self._forward.run(start)) for start in task.starts]
        self._in_reach: Flags = np.logical_and.reduce(reached)

    def find(self, members: tuple[int, ...]) -> Cluster:
        """The cluster of these members."""
        furthest = np.where(self._in_reach, self.to_cover[list(members)].max(axis=0), np.inf)
        if np.isinf(furthest).all():  # one-way streets: nobody reaches all of them, so stay where the trips can go
            return Cluster(members, int(self._in_reach.argmax()))
        return Cluster(members, int(furthest.argmin()))

    def distances_from(self, node: int) -> Floats:
        """To all nodes."""
        return self._forward.run(node)


def _settle(dealt: list[tuple[int, ...]], middle: _Middle) -> list[Cluster]:
    """Move every member to the nearest centroid until nothing changes."""
    clusters = [middle.find(members) for members in dealt]
    met = set()
    while (now := tuple(cluster.members for cluster in clusters)) not in met:
        met.add(now)
        nearest = middle.to_cover[:, [cluster.centroid for cluster in clusters]].argmin(axis=1)
        groups = [tuple(np.flatnonzero(nearest == j).tolist()) for j in range(len(clusters))]
        clusters = [middle.find(members) for members in groups if members]
    return clusters


def _merge_small(clusters: list[Cluster], k: int, middle: _Middle) -> list[Cluster]:
    """Let clusters of fewer than k members join the nearest one."""
    while len(clusters) > 1 and (small := next((c for c in clusters if len(c.members) < k), None)) is not None:
        others = [cluster for cluster in clusters if cluster is not small]
        distances = middle.distances_from(small.centroid)[[cluster.centroid for cluster in others]]
        home = others[int(distances.argmin())]
        joined = middle.find(tuple(sorted((*small.members, *home.members))))
        clusters = [joined if cluster is home else cluster for cluster in others]
    return sorted(clusters, key=lambda cluster: cluster.members)
