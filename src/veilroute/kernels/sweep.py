"""Multi-source shortest-path sweeps of a graph.

A *sweep* computes, for every node, ``min over seeds (value of the seed + distance from the seed)``. On graphs whose
edges all cost the same it is breadth first, counting hops and without a heap; otherwise it is Dijkstra's algorithm
on a binary heap. Either settles nodes in a fixed order, so equal inputs give equal outputs to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from veilroute.arrays import Floats, Indices, Int32s, Ints
from veilroute.kernels.jit import jit

FAR = np.int32(2**31 - 1)
"""Hop count of a node that was not reached."""


@jit
def sweep_hops(indptr: Indices, indices: Indices, seeds: Ints, limit: int, hops: Int32s, queue: Indices) -> int:
    """Breadth-first sweep.

    Parameters
    ----------
    indptr, indices
        CSR rows.
    seeds
        Sorted keys ``value << 32 | node``.
    limit
        Nodes further than this are left unreached.
    hops
        Output, one entry per node.
    queue
        Scratch of at least nodes + seeds entries; holds the settled nodes in order afterwards.

    Returns
    -------
    int
        How many entries of ``queue`` were used.

    Notes
    -----
    A seed is taken before the queue's head when its value is not larger. The queue holds two consecutive values
    at most, and a waiting seed is never below the smaller of them, so values leave in ascending order. O(nodes +
    edges) after the seeds are sorted.
    """
    for i in range(hops.size):
        hops[i] = FAR
    head = 0
    tail = 0
    taken = 0
    num_seeds = seeds.size
    while True:
        if taken < num_seeds and (head == tail or (seeds[taken] >> 32) <= hops[queue[head]]):
            value = np.int32(seeds[taken] >> 32)
            node = np.uint32(seeds[taken] & 0xFFFFFFFF)
            taken += 1
            if value >= hops[node] or value > limit:
                continue
            hops[node] = value
        elif head < tail:
            node = queue[head]
            head += 1
            value = hops[node]
        else:
            break
        if value >= limit:
            continue
        further = np.int32(value + 1)
        for e in range(indptr[node], indptr[node + 1]):
            other = indices[e]
            if further < hops[other]:
                hops[other] = further
                queue[tail] = other
                tail += 1
    return tail


@jit
def sweep_costs(
    indptr: Indices,
    indices: Indices,
    costs: Floats,
    seed_nodes: Indices,
    seed_values: Floats,
    limit: float,
    distances: Floats,
    towards: Ints,
    heap_keys: Floats,
    heap_nodes: Indices,
) -> None:
    """Dijkstra sweep with a binary heap ordered by (distance, node).

    Parameters
    ----------
    indptr, indices, costs
        CSR rows.
    seed_nodes, seed_values
        Where the sweep starts and at what distance.
    limit
        Nodes further than this are left unreached.
    distances
        Output, one entry per node, infinite where unreached.
    towards
        Output: the node from which each node was reached, -1 at seeds and unreached nodes. Of several equally
        good ones it is the one settled first.
    heap_keys, heap_nodes
        Scratch of at least edges + seeds entries.
    """
    for i in range(distances.size):
        distances[i] = np.inf
        towards[i] = -1
    size = 0
    for i in range(seed_nodes.size):
        node = seed_nodes[i]
        if seed_values[i] < distances[node] and seed_values[i] <= limit:
            distances[node] = seed_values[i]
            size = push(heap_keys, heap_nodes, size, seed_values[i], node)
    while size > 0:
        key = heap_keys[0]
        node = heap_nodes[0]
        size = drop_first(heap_keys, heap_nodes, size)
        if key > distances[node]:
            continue
        for e in range(indptr[node], indptr[node + 1]):
            other = indices[e]
            value = key + costs[e]
            if value < distances[other] and value <= limit:
                distances[other] = value
                towards[other] = node
                size = push(heap_keys, heap_nodes, size, value, other)


@jit
def push(keys: Floats, nodes: Indices, size: int, key: float, node: int) -> int:
    """Put a node on a heap ordered by (key, node); returns how many it holds."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if keys[parent] < key or (keys[parent] == key and nodes[parent] <= node):
            break
        keys[i] = keys[parent]
        nodes[i] = nodes[parent]
        i = parent
    keys[i] = key
    nodes[i] = node
    return size + 1


@jit
def drop_first(keys: Floats, nodes: Indices, size: int) -> int:
    """Take the first node off a heap; returns how many are left."""
    size -= 1
    key = keys[size]
    node = nodes[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (keys[right] < keys[child] or (keys[right] == keys[child] and nodes[right] < nodes[child])):
            child = right
        if key < keys[child] or (key == keys[child] and node <= nodes[child]):
            break
        keys[i] = keys[child]
        nodes[i] = nodes[child]
        i = child
    keys[i] = key
    nodes[i] = node
    return size


@jit
def sweep(
    by_hops: bool,
    indptr: Indices,
    indices: Indices,
    costs: Floats,
    seed_nodes: Indices,
    seed_values: Floats,
    limit: float,
    distances: Floats,
    towards: Ints,
    heap_keys: Floats,
    heap_nodes: Indices,
    hops: Int32s,
) -> None:
    """Sweep breadth first into ``hops`` when ``by_hops`` (values then count edges), else into ``distances``.

    ``heap_nodes`` doubles as the queue; ``towards`` is written only by the sweep over costs.
    """
    if not by_hops:
        sweep_costs(indptr, indices, costs, seed_nodes, seed_values, limit, distances, towards, heap_keys, heap_nodes)
        return
    keys = np.empty(seed_nodes.size, dtype=np.int64)
    count = 0
    for i in range(seed_nodes.size):
        if seed_values[i] < FAR:
            keys[count] = (np.int64(seed_values[i]) << 32) | np.int64(seed_nodes[i])
            count += 1
    keys = keys[:count]
    if count > 1:
        keys.sort()
    whole_limit = int(FAR) - 1 if limit >= FAR - 1 else int(np.floor(limit))
    sweep_hops(indptr, indices, keys, whole_limit, hops, heap_nodes)


@jit
def sweep_rows(
    by_hops: bool,
    indptr: Indices,
    indices: Indices,
    costs: Floats,
    nodes: Indices,
    first: int,
    distances: Floats,
    towards: Ints,
    heap_keys: Floats,
    heap_nodes: Indices,
    hops: Int32s,
    out: Floats,
) -> None:
    """Write the distances from ``nodes[first]``, and those after it, to all ``nodes`` into the rows of ``out``."""
    nothing = np.zeros(1)
    for i in range(out.shape[0]):
        seed = nodes[first + i : first + i + 1]
        sweep(
            by_hops, indptr, indices, costs, seed, nothing, np.inf, distances, towards, heap_keys, heap_nodes, hops,
        )  # fmt: skip
        for j in range(nodes.size):
            if by_hops:
                out[i, j] = np.inf if hops[nodes[j]] == FAR else hops[nodes[j]]
            else:
                out[i, j] = distances[nodes[j]]


@jit
def hops_to_distances(hops: Int32s, distances: Floats) -> None:
    """Write hop counts as numbers, infinite where unreached."""
    for i in range(distances.size):
        distances[i] = np.inf if hops[i] == FAR else hops[i]


@jit
def descend_hops(indptr: Indices, indices: Indices, hops: Int32s, start: int) -> Ints:
    """Follow falling hop counts from ``start`` to a node at 0, each time to the lowest-numbered such neighbour."""
    path = np.empty(hops[start] + 1, dtype=np.int64)
    node = np.int64(start)
    path[0] = node
    for i in range(1, path.size):
        below = hops[node] - 1
        for e in range(indptr[node], indptr[node + 1]):
            if hops[indices[e]] == below:
                node = np.int64(indices[e])
                break
        path[i] = node
    return path


@jit
def descend_costs(towards: Ints, start: int) -> Ints:
    """Follow a sweep over costs from ``start`` back to its seed."""
    num = 1
    node = np.int64(start)
    while towards[node] >= 0:
        node = towards[node]
        num += 1
    path = np.empty(num, dtype=np.int64)
    path[0] = start
    for i in range(1, num):
        path[i] = towards[path[i - 1]]
    return path


@jit
def add_costs(indptr: Indices, indices: Indices, costs: npt.NDArray[Any], walk: Ints) -> float:
    """Sum of the edge costs along a walk, from its first edge to its last; infinite where an edge is missing."""
    total = 0.0
    for i in range(1, walk.size):
        step = np.inf
        for e in range(indptr[walk[i - 1]], indptr[walk[i - 1] + 1]):
            if indices[e] == walk[i]:
                step = costs[e]
                break
        total += step
    return total
