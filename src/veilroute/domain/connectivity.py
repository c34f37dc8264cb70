"""What of a graph can be reached, from one node and from everywhere to everywhere; and the shortest way between two."""

import math
from heapq import heappop, heappush

import numpy as np

from veilroute.base.arrays import Flags, Ints
from veilroute.domain.graph import Domain, spans


def reached_from(domain: Domain, node: int, *, forward: bool = True, backward: bool = False) -> Flags:
    """Which nodes one can get to from a node when edges are taken forward, backward, or either way."""
    return np.asarray(steps_from(domain, node, forward=forward, backward=backward) >= 0)


def steps_from(domain: Domain, node: int, *, forward: bool = True, backward: bool = False) -> Ints:
    """How many edges it takes to get to each node, -1 where there is no way (breadth first)."""
    taken = [(domain.indptr, domain.indices)] if forward else []
    taken += [domain.reversed_rows[:2]] if backward else []
    rows = [(ptr.astype(np.int64), heads) for ptr, heads in taken]
    steps = np.full(domain.num_nodes, -1, dtype=np.int64)
    border = np.array([node], dtype=np.int64)
    steps[node] = depth = 0
    while border.size:
        depth += 1
        spread = [heads[spans(ptr[border], ptr[border + 1] - ptr[border])] for ptr, heads in rows]
        ahead = np.concatenate(spread).astype(np.int64)
        border = np.unique(ahead[steps[ahead] < 0])
        steps[border] = depth
    return steps


def shortest_walk(domain: Domain, start: int, goal: int) -> tuple[list[int], float]:
    """The cheapest legal walk between two nodes, and its cost; no nodes and infinity where there is none.

    Dijkstra's algorithm, for single questions: planning has kernels for many. Where there are rules for turns, a state
    is the longest end of a walk with which a banned stretch may go on, or else its last edge; elsewhere a state is a
    node. Of equally cheap states the lowest is settled first.
    """
    turns = domain.turns
    banned = set() if turns is None else set(turns.banned)
    sizes = sorted({len(stretch) for stretch in banned})
    begun = {stretch[:size] for stretch in banned for size in range(3, len(stretch))}
    bounds = domain.indptr
    first = (start,)
    best: dict[tuple[int, ...], float] = {first: 0}
    before: dict[tuple[int, ...], tuple[int, ...]] = {}
    queue: list[tuple[float, tuple[int, ...]]] = [(0, first)]
    while queue:
        cost, state = heappop(queue)
        if cost > best[state]:
            continue  # a cheaper way to it has been followed already
        node = state[-1]
        if node == goal:
            walk = [node]
            while state in before:
                state = before[state]
                walk.append(state[-1])
            return walk[::-1], cost
        row = slice(int(bounds[node]), int(bounds[node + 1]))
        heads = domain.indices[row].tolist()
        for head, price in zip(heads, domain.costs[row].tolist(), strict=True):
            walked = (*state, head)
            reached = (head,)
            if turns is not None:
                if len(walked) > 2 and walked[-3] == head:
                    if turns.u_turns == "never" or (turns.u_turns == "dead-ends" and len(heads) > 1):
                        continue
                    price += turns.u_turn_cost
                if any(walked[-size:] in banned for size in sizes):
                    continue
                ends = (walked[at:] for at in range(len(walked) - 2))
                reached = next((end for end in ends if end in begun), walked[-2:])
            if cost + price < best.get(reached, math.inf):
                best[reached] = cost + price
                before[reached] = state
                heappush(queue, (cost + price, reached))
    return [], math.inf


def largest_component(num_nodes: int, tails: Ints, heads: Ints) -> Flags:
    """Which nodes are in the largest strongly connected component; of equally large ones, that of the lowest node."""
    component = strong_components(num_nodes, tails, heads)
    sizes = np.bincount(component)
    return np.asarray(component == component[np.argmax(sizes[component])])


def strong_components(num_nodes: int, tails: Ints, heads: Ints) -> Ints:
    """Number every node by its strongly connected component (Tarjan 1972, without recursion; linear time)."""
    after = heads[np.argsort(tails, kind="stable")].tolist()
    ends = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=num_nodes))]).tolist()
    component = [-1] * num_nodes
    number = [-1] * num_nodes  # in the order in which nodes are come upon
    low = [0] * num_nodes
    upcoming = ends[:-1]
    num_seen = num_components = 0
    open_nodes: list[int] = []
    for root in range(num_nodes):
        if number[root] >= 0:
            continue
        path = [root]
        while path:
            node = path[-1]
            if number[node] < 0:
                number[node] = low[node] = num_seen
                num_seen += 1
                open_nodes.append(node)
            edge = upcoming[node]
            if edge < ends[node + 1]:
                upcoming[node] = edge + 1
                head = after[edge]
                if number[head] < 0:
                    path.append(head)
                elif component[head] < 0:
                    low[node] = min(low[node], number[head])
                continue
            path.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[node])
            if low[node] == number[node]:
                # No way leads further back: what was come upon since this node is its component.
                member = -1
                while member != node:
                    member = open_nodes.pop()
                    component[member] = num_components
                num_components += 1
    return np.array(component, dtype=np.int64)
