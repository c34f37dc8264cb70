"""The part of a network within which one can get from everywhere to everywhere."""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Flags, Ints


def strong_components(num_nodes: int, tails: Ints, heads: Ints) -> Ints:
    """Number every node by its strongly connected component (Tarjan 1972, without recursion; linear time)."""
    order = np.argsort(tails, kind="stable")
    after = heads[order].tolist()
    ends = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=num_nodes))]).tolist()
    component = [-1] * num_nodes
    found = [-1] * num_nodes
    low = [0] * num_nodes
    upcoming = ends[:-1]
    num_found = num_components = 0
    open_nodes: list[int] = []
    for root in range(num_nodes):
        if found[root] >= 0:
            continue
        path = [root]
        while path:
            node = path[-1]
            if found[node] < 0:
                found[node] = low[node] = num_found
                num_found += 1
                open_nodes.append(node)
            edge = upcoming[node]
            if edge < ends[node + 1]:
                upcoming[node] = edge + 1
                head = after[edge]
                if found[head] < 0:
                    path.append(head)
                elif component[head] < 0:
                    low[node] = min(low[node], found[head])
                continue
            path.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[node])
            if low[node] == found[node]:
                while True:
                    member = open_nodes.pop()
                    component[member] = num_components
                    if member == node:
                        break
                num_components += 1
    return np.array(component, dtype=np.int64)


def largest_component(num_nodes: int, tails: Ints, heads: Ints) -> Flags:
    """Which nodes are in the largest strongly connected component; of equally large ones, that of the lowest node."""
    component = strong_components(num_nodes, tails, heads)
    sizes = np.bincount(component)
    is_in: Flags = component == component[np.argmax(sizes[component])]
    return is_in
