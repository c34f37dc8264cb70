"""Shortest-path sweeps over a domain, with the scratch memory that they share."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from veilroute.domain.graph import Domain
from veilroute.kernels.sweep import Floats, Hops, Indices, descend_hops, hops_to_distances, sweep


class Sweeper:
    """Runs sweeps over one direction of a domain.

    On domains whose edges all cost the same, distances count edges and ``unit`` is the cost of one; elsewhere
    ``unit`` is 1 and distances are costs.

    Parameters
    ----------
    domain
        The world.
    backward
        Whether edges are followed from head to tail, which measures distances *to* the seeds.
    num_seeds
        The most seeds that a sweep will have.
    """

    def __init__(self, domain: Domain, *, backward: bool, num_seeds: int) -> None:
        indptr, indices, costs = domain.reversed_rows if backward else (domain.indptr, domain.indices, domain.costs)
        self.by_hops = domain.unit_cost is not None
        self.unit = 1.0 if domain.unit_cost is None else domain.unit_cost
        self.num_nodes = domain.num_nodes
        self.num_sweeps = 0
        self.indptr: Indices = indptr
        self.indices: Indices = indices
        self._onward = (domain.indptr, domain.indices) if backward else domain.reversed_rows[:2]
        room = max(domain.num_nodes, domain.num_edges) + num_seeds + 1
        self.costs: Floats = np.empty(0) if self.by_hops else costs.astype(np.float64)
        self.distances: Floats = np.empty(domain.num_nodes)
        self.towards: npt.NDArray[np.int64] = np.empty(0 if self.by_hops else domain.num_nodes, dtype=np.int64)
        self.heap_keys: Floats = np.empty(0 if self.by_hops else room)
        self.heap_nodes: Indices = np.empty(room, dtype=np.uint32)
        self.hops: Hops = np.empty(domain.num_nodes if self.by_hops else 0, dtype=np.int32)

    def run(self, node: int, limit: float = math.inf) -> Floats:
        """Distances from (or, backward, to) one node; the array is overwritten by the next sweep."""
        return self.run_from(np.array([node], dtype=np.uint32), np.zeros(1), limit)

    def run_from(self, nodes: Indices, values: Floats, limit: float = math.inf) -> Floats:
        """For every node the least of ``values[i]`` plus the distance from (or, backward, to) ``nodes[i]``."""
        sweep(
            self.by_hops, self.indptr, self.indices, self.costs, nodes, values, limit,
            self.distances, self.towards, self.heap_keys, self.heap_nodes, self.hops,
        )  # fmt: skip
        self.num_sweeps += 1
        if self.by_hops:
            hops_to_distances(self.hops, self.distances)
        return self.distances

    def follow(self, node: int) -> npt.NDArray[np.int64]:
        """The path along the last sweep between ``node`` and the seed, starting at ``node``.

        Ties: on equal edge costs each step goes to the lowest-numbered neighbour on a shortest path; otherwise to
        the one that the sweep settled first, and it settles by (distance, node number).
        """
        if self.by_hops:
            return descend_hops(*self._onward, self.hops, node)
        path = [node]
        while self.towards[path[-1]] >= 0:
            path.append(int(self.towards[path[-1]]))
        return np.array(path, dtype=np.int64)
