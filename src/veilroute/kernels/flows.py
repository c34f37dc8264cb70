"""Walks as flows between members: which edges walks need, and where too little flows to a member.

Nodes are the members, then the start, then the goal.
"""

import numpy as np

from veilroute.base.arrays import Flags, Floats, Ints
from veilroute.kernels.jit import inner, jit

_SAME = 1e-15
_NOTHING = 1e-9


@jit
def keep_edges(lengths: Floats, num: int, kept: Flags) -> None:
    """Mark every edge between two nodes that is shorter than any way by one of the ``num`` members.

    The others are not needed: a walk goes by the member, which need not matter to it. Ways consist of shorter edges, so
    that at their ends there are some that were kept. Lengths are the same in both directions.
    """
    nodes = lengths.shape[0]
    for i in range(nodes):
        for j in range(i + 1, nodes):
            length = lengths[i, j]
            is_kept = length < np.inf
            for k in range(num):
                first, second = lengths[i, k], lengths[k, j]
                if first < length and second < length and first + second <= length * (1 + _SAME):
                    is_kept = False
                    break
            kept[i, j] = kept[j, i] = is_kept


@jit
def narrow_cuts(
    ptr: Ints, heads: Ints, twins: Ints, capacities: Floats, source: int, targets: Ints, wanted: Floats, least: float,
    sides: Flags,
) -> int:  # fmt: skip
    """For each target that the source sends less than ``wanted`` to, by ``least`` or more, the sides of two cuts.

    The edges from node i are ``ptr[i]`` to ``ptr[i + 1]``: ``heads`` has where they lead to and ``twins`` the same ones
    in the other direction, of the same capacity. Rows of ``sides`` get the nodes on the target's side: the fewest, then
    the most. Returns how many rows there are.
    """
    num_nodes = ptr.size - 1
    left = np.empty(heads.size)
    level = np.empty(num_nodes, dtype=np.int64)
    queue = np.empty(num_nodes, dtype=np.int64)
    following = np.empty(num_nodes, dtype=np.int64)
    path = np.empty(num_nodes, dtype=np.int64)
    found = 0
    for number in range(targets.size):
        target = targets[number]
        left[:] = capacities
        sent = 0.0
        while sent < wanted[number] - least and _number_levels(ptr, heads, left, source, level, queue, target):
            following[:] = ptr[:num_nodes]
            sent += _send(ptr, heads, twins, left, level, following, path, source, target, wanted[number] - sent)
        if sent >= wanted[number] - least:
            continue
        # Who is not reached from the source, and before that, who reaches the target.
        for node in range(num_nodes):
            sides[found, node] = False
            sides[found + 1, node] = level[node] < 0
        sides[found, target] = True
        queue[0] = target
        begin, end = 0, 1
        while begin < end:
            node = queue[begin]
            begin += 1
            for e in range(ptr[node], ptr[node + 1]):
                if left[twins[e]] > _NOTHING and not sides[found, heads[e]]:
                    sides[found, heads[e]] = True
                    queue[end] = heads[e]
                    end += 1
        found += 2
    return found


@inner
def _number_levels(ptr: Ints, heads: Ints, left: Floats, source: int, level: Ints, queue: Ints, target: int) -> bool:
    """How many edges from the source nodes are where something can still flow; whether the target is reached."""
    level[:] = -1
    level[source] = 0
    queue[0] = source
    begin, end = 0, 1
    while begin < end:
        node = queue[begin]
        begin += 1
        for e in range(ptr[node], ptr[node + 1]):
            if left[e] > _NOTHING and level[heads[e]] < 0:
                level[heads[e]] = level[node] + 1
                queue[end] = heads[e]
                end += 1
    return bool(level[target] >= 0)


@inner
def _send(
    ptr: Ints, heads: Ints, twins: Ints, left: Floats, level: Ints, following: Ints, path: Ints, source: int,
    target: int, most: float,
) -> float:  # fmt: skip
    """Send up to ``most`` from level to level until nothing more goes through; returns how much it was."""
    sent = 0.0
    node, depth = source, 0
    while True:
        if node == target:
            amount = most - sent
            for i in range(depth):
                amount = min(amount, left[path[i]])
            for i in range(depth):
                left[path[i]] -= amount
                left[twins[path[i]]] += amount
            sent += amount
            if sent >= most:
                return sent
            node, depth = source, 0
        elif following[node] < ptr[node + 1]:
            e = following[node]
            if left[e] > _NOTHING and level[heads[e]] == level[node] + 1:
                path[depth] = e
                depth += 1
                node = heads[e]
            else:
                following[node] += 1
        elif node == source:
            return sent
        else:
            depth -= 1
            node = heads[twins[path[depth]]]
            following[node] += 1
