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

from veilroute.base.arrays import Flags, Floats, Indices, Int8s, Int32s, Ints
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
            size = push(heap_keys, heap_nodes, size, seed_values[i], node, None, False)
    # Settle one node after the other, in the order of their values.
    while size > 0:
        key = heap_keys[0]
        node = heap_nodes[0]
        size = drop_first(heap_keys, heap_nodes, size, None, False)
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
            size = push(heap_keys, heap_nodes, size, value, other, None, False)
    return num_reached


@jit
def sweep_states(
    indptr: Indices, heads: Indices, costs: Floats, back: Int32s, state_of: Int32s, is_plain: Flags, nodes: Int32s,
    row_ptr: Indices, row_heads: Indices, row_costs: Floats, row_edges: Int32s, seed: int, posts: Int32s,
    num_posts: int, marks: Int8s, nearest: Floats, nearest_edge: Int32s, heap_keys: Floats, heap_items: Indices,
    out: Floats,
) -> None:  # fmt: skip
    """Distances from one state of a street network to some of the others, by Dijkstra's algorithm.

    There are many more states than nodes. But whatever state one is in at a node, an edge costs the same and leads to
    the same state, where it may be followed at all. So the first state settled at a node that may follow an edge gives
    what is behind it its distance, and no other need look at that edge. At a *plain* node the only edge that a state
    may not follow leads back where it came from. Of the states there only the two nearest matter, or the nearest if it
    may follow all: between them they follow every edge. The others are not even put on the heap. The second has only
    one edge to follow, and does not go there either where two have come to its end before. The state of a plain node is
    on the heap as the edge that leads to it, any other as its own number after those of the edges.

    ``indptr``, ``heads``, ``costs``: rows of edges, by node. ``back``: per edge the one that leads back, or -1 where
    that may be followed as well. ``state_of``: per edge the state to which it leads, but for those that remember more.
    ``is_plain``: per node. ``nodes``: per state its node. ``row_ptr``, ``row_heads``, ``row_costs``, ``row_edges``:
    rows of steps by state, with a number for the edge that each follows, -1 for one that ends a trip. ``posts``: per
    state the number under which its distance is asked for, or -1. ``num_posts``: for how many states it is; when the
    last of them is settled, the sweep ends. ``marks``: scratch per number of an edge: 2 where it leads to a post, else
    0; 1 is added when it is passed. ``nearest``: scratch, two per node, infinite. ``nearest_edge``: scratch per node.
    ``heap_keys``, ``heap_items``: scratch, an entry per step. ``out``: output, infinite before.
    """
    num_edges = heads.size
    size = push(heap_keys, heap_items, 0, 0.0, np.uint32(num_edges + seed), None, False)
    num_left = num_posts
    latest = 0.0  # the largest value of a post that may still get a smaller one
    if posts[seed] >= 0:
        out[posts[seed]] = 0.0
        num_left -= 1
    # Settle one state after the other, in the order of their values.
    while size > 0:
        key = heap_keys[0]
        item = np.int64(heap_items[0])
        size = drop_first(heap_keys, heap_items, size, None, False)
        if num_left == 0 and key >= latest:
            break
        is_simple = item < num_edges
        state = item - num_edges
        barred = np.int64(back[item]) if is_simple else np.int64(-1)
        begin = np.int64(indptr[heads[item]]) if is_simple else np.int64(row_ptr[state])
        end = np.int64(indptr[heads[item] + 1]) if is_simple else np.int64(row_ptr[state + 1])
        # Follow the edges that nobody at this node has followed.
        for e in range(begin, end):
            edge = e if is_simple else np.int64(row_edges[e])
            if edge < 0 or marks[edge] & 1 or edge == barred:
                continue
            is_post = marks[edge] > 0
            marks[edge] |= 1
            value = key + (costs[e] if is_simple else row_costs[e])
            there = np.int64(heads[e]) if is_simple else np.int64(nodes[row_heads[e]])
            is_there_plain = is_plain[there]
            if is_there_plain and not is_post and value >= nearest[there, 1]:
                continue
            other = np.int64(-1)
            if is_post or not is_there_plain:
                other = np.int64(state_of[e]) if is_simple else np.int64(row_heads[e])
                post = posts[other]
                if post >= 0 and value < out[post]:
                    if out[post] == np.inf:
                        num_left -= 1
                    if not is_there_plain or back[edge] < 0:  # several edges may lead to a state like this
                        latest = max(latest, value)
                    out[post] = value
            if not is_there_plain:
                size = push(heap_keys, heap_items, size, value, np.uint32(num_edges + other), None, False)
                continue
            if value >= nearest[there, 1]:
                continue
            if back[edge] < 0:
                nearest[there, 0] = value
                nearest[there, 1] = value
            elif value < nearest[there, 0]:
                nearest[there, 1] = nearest[there, 0]
                nearest[there, 0] = value
                nearest_edge[there] = edge
            else:
                nearest[there, 1] = value
                way = np.int64(back[nearest_edge[there]])
                beyond = np.int64(heads[way])
                is_useless = is_plain[beyond] and value + costs[way] >= nearest[beyond, 1]
                if marks[way] & 1 or (is_useless and marks[way] == 0):
                    continue
            size = push(heap_keys, heap_items, size, value, np.uint32(edge), None, False)


@jit
def turn_rows(
    indptr: Indices, indices: Indices, costs: Floats, new_ptr: Indices, new_indices: Indices, new_costs: Floats
) -> None:
    """Rows of a graph with every edge turned round, tails ascending.

    ``indptr``, ``indices``, ``costs``: the rows. ``new_ptr``: where each new row begins, which is moved to where it
    ends. ``new_indices``, ``new_costs``: output.
    """
    # In the order of the tails, so that each new row is ascending.
    for node in range(indptr.size - 1):
        for e in range(indptr[node], indptr[node + 1]):
            place = new_ptr[indices[e]]
            new_ptr[indices[e]] = place + 1
            new_indices[place] = node
            new_costs[place] = costs[e]


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
