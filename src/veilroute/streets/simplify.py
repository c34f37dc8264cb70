"""From segments between raw nodes to edges between junctions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilroute.arrays import Flags, Ints


@dataclass(frozen=True, eq=False, repr=False)
class Chains:
    """Segments joined into edges.

    Parameters
    ----------
    is_junction
        For each raw node, whether edges end there.
    ptr, segments
        Edge ``e`` consists of ``segments[ptr[e]:ptr[e + 1]]``, in the order in which one passes them.
    """

    is_junction: Flags
    ptr: Ints
    segments: Ints


def join_segments(num_nodes: int, tails: Ints, heads: Ints, more: Ints | None = None) -> Chains:
    """Join directed segments at every node where one can only go on.

    A node is a junction unless exactly two nodes are next to it and one passes it either in one direction (one segment
    in, one out) or in both (two in, two out). This is OSMnx's criterion, except that a node beside which two segments
    run in parallel always stays, so that nothing is lost. A ring without a junction keeps its node of the lowest
    number. Edges are in the order of their first segments.

    The work grows with the number of segments, and the number of passes over arrays with the longest edge.

    Parameters
    ----------
    num_nodes
        How many raw nodes there are.
    tails, heads
        The segments; none leads from a node to itself.
    more
        Nodes that are to be junctions as well.
    """
    is_junction = _find_junctions(num_nodes, tails, heads)
    if more is not None:
        is_junction[more] = True
    following = _find_following(num_nodes, tails, heads, is_junction)
    num_segments = tails.size
    in_edge = np.zeros(num_segments, dtype=np.bool_)
    in_edge[_walk(np.flatnonzero(is_junction[tails]), following)[2]] = True
    for node in _lowest_of_rings(tails, heads, following, np.flatnonzero(~in_edge)):
        is_junction[node] = True
    following = np.where(is_junction[heads], -1, following)
    edges, steps, segments = _walk(np.flatnonzero(is_junction[tails]), following)
    order = np.lexsort((steps, edges))
    num_edges = int(edges.max()) + 1 if edges.size else 0
    ptr = np.concatenate([[0], np.cumsum(np.bincount(edges, minlength=num_edges))]).astype(np.int64)
    return Chains(is_junction, ptr, segments[order])


def nodes_between(chains: Chains, tails: Ints, heads: Ints) -> Ints:
    """Nodes which, made junctions, part loops and parallel edges, so that a graph of single edges loses no street.

    Of streets between the same two junctions all but one get a junction in their middle: a straight one is left as it
    is, else the one with the lowest bend. A loop gets two. Both directions of a street get the same ones. Where the
    very same segment is there twice, there is nothing to part.

    Parameters
    ----------
    chains
        Edges that were joined.
    tails, heads
        The segments.
    """
    if chains.ptr.size < 2:
        return np.empty(0, dtype=np.int64)
    firsts, sizes = chains.ptr[:-1], np.diff(chains.ptr)
    starts, ends = tails[chains.segments[firsts]], heads[chains.segments[firsts + sizes - 1]]
    # Within an edge, the tail of a segment is a bend.
    bends = tails[chains.segments]
    bends[firsts] = np.iinfo(np.int64).max
    lowest = np.where(sizes > 1, np.minimum.reduceat(bends, firsts), -1)
    order = np.lexsort((lowest, ends, starts))
    follows = (np.diff(starts[order], prepend=-1) == 0) & (np.diff(ends[order], prepend=-1) == 0)
    is_twin = np.zeros(sizes.size, dtype=np.bool_)
    is_twin[order[follows]] = True
    twins = np.flatnonzero(is_twin & (starts != ends) & (sizes > 1))
    loops = np.flatnonzero((starts == ends) & (sizes > 2))
    half = np.where(starts < ends, sizes // 2, sizes - sizes // 2)
    places = [(firsts + half)[twins], (firsts + sizes // 3)[loops], (firsts + sizes - sizes // 3)[loops]]
    return np.unique(tails[chains.segments[np.concatenate(places)]])


def _find_junctions(num_nodes: int, tails: Ints, heads: Ints) -> Flags:
    outs = np.bincount(tails, minlength=num_nodes)
    ins = np.bincount(heads, minlength=num_nodes)
    pairs = np.unique(np.minimum(tails, heads) * num_nodes + np.maximum(tails, heads))
    next_to = np.bincount(pairs // num_nodes, minlength=num_nodes) + np.bincount(pairs % num_nodes, minlength=num_nodes)
    directed, counts = np.unique(tails * num_nodes + heads, return_counts=True)
    doubled = directed[counts > 1]
    is_passed = (next_to == 2) & (ins == outs) & ((ins == 1) | (ins == 2))
    is_passed[doubled // num_nodes] = False
    is_passed[doubled % num_nodes] = False
    is_junction: Flags = ~is_passed & (ins + outs > 0)
    return is_junction


def _find_following(num_nodes: int, tails: Ints, heads: Ints, is_junction: Flags) -> Ints:
    """The segment on which one goes on after each, which is not the way back; -1 where an edge ends."""
    if not tails.size:
        return np.empty(0, dtype=np.int64)
    by_tail = np.argsort(tails, kind="stable")
    first = np.searchsorted(tails[by_tail], np.arange(num_nodes, dtype=np.int64))
    spot = np.minimum(first[heads], tails.size - 1)
    one = by_tail[spot]
    other = by_tail[np.minimum(spot + 1, tails.size - 1)]
    return np.where(is_junction[heads], -1, np.where(heads[one] != tails, one, other))


def _walk(starts: Ints, following: Ints) -> tuple[Ints, Ints, Ints]:
    """Follow segments from every start to the end of its edge: number of the edge, step in it, segment."""
    edges, steps, segments = [], [], []
    number, segment, step = np.arange(starts.size, dtype=np.int64), starts, 0
    while segment.size:
        edges.append(number)
        steps.append(np.full(number.size, step, dtype=np.int64))
        segments.append(segment)
        beyond = following[segment]
        goes_on = beyond >= 0
        number, segment, step = number[goes_on], beyond[goes_on], step + 1
    if not edges:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, nothing
    return np.concatenate(edges), np.concatenate(steps), np.concatenate(segments)


def _lowest_of_rings(tails: Ints, heads: Ints, following: Ints, loose: Ints) -> list[int]:
    """The node of the lowest number in each ring of segments that belong to no edge."""
    lowest = []
    seen: set[int] = set()
    for segment in loose.tolist():
        ring = []
        while segment not in seen:
            seen.add(segment)
            ring.append(int(tails[segment]))
            segment = int(following[segment])
        if ring:
            lowest.append(min(ring))
    return lowest
