"""Multi-source shortest-path sweeps of a graph.

A *sweep* computes, for every node, ``min over seeds (value of the seed + distance from the seed)``. On graphs whose
edges all cost the same it is breadth first, counting hops and without a heap; otherwise it is Dijkstra's algorithm
on a binary heap. Either settles nodes in a fixed order, so equal inputs give equal outputs to the last bit.

A sweep need not go everywhere. It leaves out nodes beyond a limit. Where a few nodes are *wanted*, it ends when the
last of them is settled. Where all that matters is a shortest path, it passes over nodes that lie on none: a node at the
value v is kept while ``v + ahead[node] <= ahead_limit`` and ``v - behind[node] <= behind_limit``. With distances from
the start of a trip and to its goal these are lower bounds on what is left (the triangle inequality), so that no node
on a shortest path is lost, and the paths are those of a whole sweep.
"""

import numpy as np

from veilroute.arrays import Flags, Floats, Indices, Int32s, Ints
from veilroute.kernels.jit import jit
from veilroute.kernels.tables import drop_first, push

FAR = np.int32(2**31 - 1)  #: hop count of a node that was not reached


@jit
def sweep_hops(
    indptr: Indices, indices: Indices, seeds: Ints, limit: int, ahead: Floats, ahead_limit: float, behind: Floats,
    behind_limit: float, wanted: Flags, num_wanted: int, hops: Int32s, queue: Indices,
) -> int:  # fmt: skip
    """Breadth-first sweep.

    ``indptr``, ``indices``: CSR rows. ``seeds``: sorted keys ``value << 32 | node``. ``limit``: nodes further than this
    are left unreached. ``ahead``, ``ahead_limit``, ``behind``, ``behind_limit``: which nodes to pass over; empty arrays
    pass over none. ``wanted``, ``num_wanted``: per node whether it is wanted, and how many are, 0 for a sweep that goes
    on; those that were settled are no longer marked afterwards. ``hops``: output, one entry per node, :data:`FAR`
    everywhere before. ``queue``: scratch of at least nodes + seeds entries; the nodes that were reached and are no
    seeds stand there afterwards.

    Returns how many entries of ``queue`` were used. A seed is taken before the queue's head when its value
    is not larger. The queue holds two consecutive values at most, and a waiting seed is never below the smaller of
    them, so values leave in ascending order. O(nodes + edges) after the seeds are sorted.
    """
    head = 0
    tail = 0
    taken = 0
    num_seeds = seeds.size
    is_narrow = ahead.size > 0
    # Settle one node after the other, in the order of their values.
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
        if num_wanted > 0 and wanted[node]:
            wanted[node] = False
            num_wanted -= 1
            if num_wanted == 0:
                break
        if value >= limit:
            continue
        further = np.int32(value + 1)
        # Queue the neighbours that were not reached before.
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
def sweep_costs(
    indptr: Indices, indices: Indices, costs: Floats, seed_nodes: Indices, seed_values: Floats, limit: float,
    ahead: Floats, ahead_limit: float, behind: Floats, behind_limit: float, wanted: Flags, num_wanted: int,
    distances: Floats, towards: Ints, heap_keys: Floats, heap_nodes: Indices, reached: Indices,
) -> int:  # fmt: skip
    """Dijkstra sweep with a binary heap ordered by (distance, node).

    ``indptr``, ``indices``, ``costs``: CSR rows. ``seed_nodes``, ``seed_values``: where the sweep starts and at what
    distance. ``limit``, ``ahead``, ``ahead_limit``, ``behind``, ``behind_limit``, ``wanted``, ``num_wanted``: as for
    :func:`sweep_hops`. ``distances``: output, one entry per node, infinite everywhere before. ``towards``: output: the
    node from which each node was reached, -1 at seeds. Of several equally good ones it is the one settled first.
    ``heap_keys``, ``heap_nodes``: scratch of at least edges + seeds entries. ``reached``: output: the nodes that have a
    distance now; an empty array where nobody asks.

    Returns how many nodes were reached.
    """
    size = 0
    num_reached = 0
    is_narrow = ahead.size > 0
    is_noted = reached.size > 0
    # The seeds are the first on the heap.
    for i in range(seed_nodes.size):
        node = seed_nodes[i]
        if seed_values[i] < distances[node] and seed_values[i] <= limit:
            if is_noted and distances[node] == np.inf:
                reached[num_reached] = node
                num_reached += 1
            distances[node] = seed_values[i]
            towards[node] = -1
            size = push(heap_keys, heap_nodes, size, seed_values[i], node, None)
    # Settle one node after the other, in the order of their values.
    while size > 0:
        key = heap_keys[0]
        node = heap_nodes[0]
        size = drop_first(heap_keys, heap_nodes, size, None)
        if key > distances[node]:
            continue
        if num_wanted > 0 and wanted[node]:
            wanted[node] = False
            num_wanted -= 1
            if num_wanted == 0:
                break
        # Put the neighbours on the heap that are reached for less than before.
        for e in range(indptr[node], indptr[node + 1]):
            other = indices[e]
            value = key + costs[e]
            if value >= distances[other] or value > limit:
                continue
            if is_narrow and (value + ahead[other] > ahead_limit or value - behind[other] > behind_limit):
                continue
            if is_noted and distances[other] == np.inf:
                reached[num_reached] = other
                num_reached += 1
            distances[other] = value
            towards[other] = node
            size = push(heap_keys, heap_nodes, size, value, other, None)
    return num_reached


@jit
def descend_hops(indptr: Indices, indices: Indices, hops: Int32s, start: int) -> Ints:
    """Follow falling hop counts from ``start`` to a node at 0, each time to the lowest-numbered such neighbour."""
    path = np.empty(hops[start] + 1, dtype=np.int64)
    node = np.int64(start)
    path[0] = node
    for i in range(1, path.size):
        below = hops[node] - 1
        # The first neighbour that is one hop nearer.
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
    # How long the path is, and then the path.
    while towards[node] >= 0:
        node = towards[node]
        num += 1
    path = np.empty(num, dtype=np.int64)
    path[0] = start
    for i in range(1, num):
        path[i] = towards[path[i - 1]]
    return path
