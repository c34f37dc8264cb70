"""Sweeps that end as soon as they know what is asked, and leave their memory clean for the next one.

Where a few nodes are *wanted*, the sweep ends when the last of them is settled. Where all that matters is a shortest
path, it passes over nodes that lie on none: a node at the value v is kept while ``v + ahead[node] <= ahead_limit`` and
``v - behind[node] <= behind_limit``. With distances from the start of a trip and to its goal these are lower bounds on
what is left (the triangle inequality), so that no node on a shortest path is lost. Nodes are settled in the same order
as by :mod:`veilroute.kernels.sweep`, so the paths are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veilroute.arrays import Flags, Floats, Indices, Int32s, Ints
from veilroute.kernels.jit import jit
from veilroute.kernels.sweep import FAR, descend_costs, descend_hops, drop_first, push


class Ground(NamedTuple):
    """One direction of a graph, with the memory that sweeps need and leave clean.

    Parameters
    ----------
    by_hops
        Whether all edges cost the same; values then count edges.
    indptr, indices, costs
        CSR rows; no costs by hops.
    wanted
        Per node, all false.
    hops, distances
        Per node, all unreached; the one that is not needed is empty.
    towards
        Per node; none by hops.
    heap_keys, heap_nodes, reached
        Room for edges and seeds; ``heap_nodes`` is the queue of a sweep by hops, which needs no other.
    """

    by_hops: bool
    indptr: Indices
    indices: Indices
    costs: Floats
    wanted: Flags
    hops: Int32s
    distances: Floats
    towards: Ints
    heap_keys: Floats
    heap_nodes: Indices
    reached: Indices


@jit
def near_hops(
    indptr: Indices,
    indices: Indices,
    seeds: Ints,
    ahead: Floats,
    ahead_limit: float,
    behind: Floats,
    behind_limit: float,
    wanted: Flags,
    num_wanted: int,
    hops: Int32s,
    queue: Indices,
) -> int:
    """Breadth first.

    Parameters
    ----------
    indptr, indices, seeds, queue
        As for :func:`~veilroute.kernels.sweep.sweep_hops`; all nodes that were reached are in the queue afterwards.
    ahead, ahead_limit, behind, behind_limit
        Which nodes to pass over; empty arrays pass over none.
    wanted, num_wanted
        Per node whether it is wanted, and how many are; those that were settled are no longer marked afterwards.
    hops
        Output; everywhere :data:`FAR` before.

    Returns
    -------
    int
        How many entries of ``queue`` were used.
    """
    head = 0
    tail = 0
    taken = 0
    is_narrow = ahead.size > 0
    while True:
        if taken < seeds.size and (head == tail or (seeds[taken] >> 32) <= hops[queue[head]]):
            value = np.int32(seeds[taken] >> 32)
            node = np.uint32(seeds[taken] & 0xFFFFFFFF)
            taken += 1
            if value >= hops[node]:
                continue
            hops[node] = value
        elif head < tail:
            node = queue[head]
            head += 1
            value = hops[node]
        else:
            break
        if wanted[node]:
            wanted[node] = False
            num_wanted -= 1
            if num_wanted == 0:
                break
        further = np.int32(value + 1)
        for e in range(indptr[node], indptr[node + 1]):
            other = indices[e]
            if further >= hops[other]:
                continue
            if is_narrow and (further + ahead[other] > ahead_limit or further - behind[other] > behind_limit):
                continue
            hops[other] = further
            queue[tail] = other
            tail += 1
    return tail


@jit
def near_costs(
    indptr: Indices,
    indices: Indices,
    costs: Floats,
    seed_nodes: Indices,
    seed_values: Floats,
    ahead: Floats,
    ahead_limit: float,
    behind: Floats,
    behind_limit: float,
    wanted: Flags,
    num_wanted: int,
    distances: Floats,
    towards: Ints,
    heap_keys: Floats,
    heap_nodes: Indices,
    reached: Indices,
) -> int:
    """Dijkstra's algorithm.

    Parameters
    ----------
    indptr, indices, costs, seed_nodes, seed_values, towards, heap_keys, heap_nodes
        As for :func:`~veilroute.kernels.sweep.sweep_costs`.
    ahead, ahead_limit, behind, behind_limit, wanted, num_wanted
        As for :func:`near_hops`.
    distances
        Output; everywhere infinite before.
    reached
        Output: the nodes that have a distance now.

    Returns
    -------
    int
        How many these are.
    """
    size = 0
    num_reached = 0
    is_narrow = ahead.size > 0
    for i in range(seed_nodes.size):
        node = seed_nodes[i]
        if seed_values[i] < distances[node]:
            if distances[node] == np.inf:
                reached[num_reached] = node
                num_reached += 1
            distances[node] = seed_values[i]
            towards[node] = -1
            size = push(heap_keys, heap_nodes, size, seed_values[i], node)
    while size > 0:
        key = heap_keys[0]
        node = heap_nodes[0]
        size = drop_first(heap_keys, heap_nodes, size)
        if key > distances[node]:
            continue
        if wanted[node]:
            wanted[node] = False
            num_wanted -= 1
            if num_wanted == 0:
                break
        for e in range(indptr[node], indptr[node + 1]):
            other = indices[e]
            value = key + costs[e]
            if value >= distances[other]:
                continue
            if is_narrow and (value + ahead[other] > ahead_limit or value - behind[other] > behind_limit):
                continue
            if distances[other] == np.inf:
                reached[num_reached] = other
                num_reached += 1
            distances[other] = value
            towards[other] = node
            size = push(heap_keys, heap_nodes, size, value, other)
    return num_reached


@jit
def _run(
    ground: Ground, seed_nodes: Indices, seed_values: Floats, ahead: Floats, ahead_limit: float, behind: Floats,
    behind_limit: float, num_wanted: int,
) -> int:  # fmt: skip
    """Sweep; returns how many entries of the queue or of ``reached`` were used."""
    if not ground.by_hops:
        return near_costs(
            ground.indptr, ground.indices, ground.costs, seed_nodes, seed_values, ahead, ahead_limit, behind,
            behind_limit, ground.wanted, num_wanted, ground.distances, ground.towards, ground.heap_keys,
            ground.heap_nodes, ground.reached,
        )  # fmt: skip
    keys = np.empty(seed_nodes.size, dtype=np.int64)
    count = 0
    for i in range(seed_nodes.size):
        if seed_values[i] < FAR:
            keys[count] = (np.int64(seed_values[i]) << 32) | np.int64(seed_nodes[i])
            count += 1
    keys = keys[:count]
    if count > 1:
        keys.sort()
    return near_hops(
        ground.indptr, ground.indices, keys, ahead, ahead_limit, behind, behind_limit, ground.wanted, num_wanted,
        ground.hops, ground.heap_nodes,
    )  # fmt: skip


@jit
def _clean(ground: Ground, seed_nodes: Indices, num_used: int) -> None:
    """Forget what was reached."""
    for i in range(num_used):
        if ground.by_hops:
            ground.hops[ground.heap_nodes[i]] = FAR
        else:
            ground.distances[ground.reached[i]] = np.inf
    if ground.by_hops:
        for i in range(seed_nodes.size):
            ground.hops[seed_nodes[i]] = FAR


@jit
def values_at(
    ground: Ground,
    seed_nodes: Indices,
    seed_values: Floats,
    ahead: Floats,
    ahead_limit: float,
    asked: Indices,
    out: Floats,
) -> None:
    """For each of the ``asked`` nodes the least of ``seed_values[i]`` plus the distance from ``seed_nodes[i]``.

    Infinite where it is not reached, or passed over for ``ahead`` (no such array where it is empty).
    """
    num_wanted = 0
    for i in range(asked.size):
        if not ground.wanted[asked[i]]:
            ground.wanted[asked[i]] = True
            num_wanted += 1
    num_used = _run(ground, seed_nodes, seed_values, ahead, ahead_limit, ahead, np.inf, num_wanted)
    for i in range(asked.size):
        ground.wanted[asked[i]] = False
        if ground.by_hops:
            hop = ground.hops[asked[i]]
            out[i] = np.inf if hop == FAR else hop
        else:
            out[i] = ground.distances[asked[i]]
    _clean(ground, seed_nodes, num_used)


@jit
def lead(
    back: Ground,
    indptr: Indices,
    indices: Indices,
    here: int,
    stop: int,
    from_start: Floats,
    to_goal: Floats,
    length: float,
    slack: float,
) -> Ints:
    """A shortest path; of several the one that a whole sweep towards ``stop`` would give.

    Parameters
    ----------
    back
        The graph with its edges turned round.
    indptr, indices
        The graph.
    here, stop
        Where the path begins and ends.
    from_start, to_goal
        Per node the distance from some node that has a way to ``here``, and to some node that can be reached from it.
    length
        Of the path.
    slack
        By how much sums of distances may be off.

    Returns
    -------
    Nodes
        Empty where there is no path of that length.
    """
    seed_nodes = np.empty(1, dtype=np.uint32)
    seed_nodes[0] = stop
    back.wanted[here] = True
    num_used = _run(
        back, seed_nodes, np.zeros(1), from_start, length + from_start[here] + slack, to_goal,
        length - to_goal[here] + slack, 1,
    )  # fmt: skip
    is_there = not back.wanted[here]
    back.wanted[here] = False
    if not is_there:
        path = np.empty(0, dtype=np.int64)
    elif back.by_hops:
        path = descend_hops(indptr, indices, back.hops, here)
    else:
        path = descend_costs(back.towards, here)
    _clean(back, seed_nodes, num_used)
    return path
