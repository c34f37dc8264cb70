"""Directed segments between raw nodes, joined into edges between junctions."""

from dataclasses import dataclass

import numpy as np

from veilroute.base.arrays import Flags, Floats, Ints
from veilroute.streets.ways import Ways


@dataclass(frozen=True, eq=False, repr=False)
class Segments:
    """Directed segments between raw nodes, in parallel arrays; nodes are positions in the ``node_ids`` of the ways."""

    tails: Ints
    heads: Ints
    ways: Ints  # the position of each segment's way
    metres: Floats
    seconds: Floats  # how long one takes


@dataclass(frozen=True, eq=False, repr=False)
class Chains:
    """Segments joined into edges: ``e`` consists of ``segments[ptr[e]:ptr[e + 1]]``, as one passes them."""

    is_junction: Flags  # for each raw node, whether edges end there
    ptr: Ints
    segments: Ints


def join_segments(num_nodes: int, tails: Ints, heads: Ints, extra_junctions: Ints | None = None) -> Chains:
    """Join directed segments, none of them a loop, at every node where one can only go on; ``extra_junctions`` stay.

    A node is a junction unless exactly two nodes are next to it and one passes it either in one direction (one segment
    in, one out) or in both (two in, two out). This is OSMnx's criterion, except that a node beside which two segments
    run in parallel always stays, so that nothing is lost. A ring without a junction keeps its node of the lowest
    number. Edges are in the order of their first segments.

    The work grows with the number of segments, and the number of passes over arrays with the longest edge.
    """
    is_junction = _find_junctions(num_nodes, tails, heads)
    if extra_junctions is not None:
        is_junction[extra_junctions] = True
    following = _find_following(num_nodes, tails, heads, is_junction)
    in_edge = np.zeros(tails.size, dtype=np.bool_)
    in_edge[_walk(np.flatnonzero(is_junction[tails]), following)[1]] = True
    is_junction[_lowest_of_rings(tails, following, np.flatnonzero(~in_edge))] = True
    following = np.where(is_junction[heads], -1, following)
    edges, segments = _walk(np.flatnonzero(is_junction[tails]), following)
    ptr = np.concatenate([[0], np.cumsum(np.bincount(edges))]).astype(np.int64)
    return Chains(is_junction, ptr, segments[np.argsort(edges, kind="stable")])


def nodes_between(chains: Chains, tails: Ints, heads: Ints, *, both_ways: bool = False) -> Ints:
    """Nodes which, made junctions, part loops and parallel edges, so that a graph of single edges loses no street.

    Of streets between the same two junctions all but one get a junction in their middle: a straight one is left as it
    is, else the one with the lowest bend. A loop gets two. Both directions of a street get the same ones. Where the
    very same segment is there twice, there is nothing to part. With ``both_ways`` streets that lead there on one side
    and back on another are parted as well: who goes round so does not turn round.
    """
    if chains.ptr.size < 2:
        return np.empty(0, dtype=np.int64)
    firsts, sizes = chains.ptr[:-1], np.diff(chains.ptr)
    starts, ends = tails[chains.segments[firsts]], heads[chains.segments[firsts + sizes - 1]]
    # Within an edge, the tail of a segment is a bend.
    bends = tails[chains.segments]
    bends[firsts] = np.iinfo(np.int64).max
    lowest = np.where(sizes > 1, np.minimum.reduceat(bends, firsts), -1)
    one, other = (np.minimum(starts, ends), np.maximum(starts, ends)) if both_ways else (starts, ends)
    order = np.lexsort((lowest, other, one))
    leads = (np.diff(one[order], prepend=-1) != 0) | (np.diff(other[order], prepend=-1) != 0)
    least = lowest[order][leads][np.cumsum(leads) - 1]
    is_twin = np.zeros(sizes.size, dtype=np.bool_)
    is_twin[order] = lowest[order] != least
    twins = np.flatnonzero(is_twin & (starts != ends))
    loops = np.flatnonzero((starts == ends) & (sizes > 2))
    half = np.where(starts < ends, sizes // 2, sizes - sizes // 2)
    places = [(firsts + half)[twins], (firsts + sizes // 3)[loops], (firsts + sizes - sizes // 3)[loops]]
    return np.unique(tails[chains.segments[np.concatenate(places)]])


def _find_junctions(num_nodes: int, tails: Ints, heads: Ints) -> Flags:
    outs = np.bincount(tails, minlength=num_nodes)
    ins = np.bincount(heads, minlength=num_nodes)
    next_to = count_next_to(num_nodes, tails, heads)
    directed, counts = np.unique(tails * num_nodes + heads, return_counts=True)
    doubled = directed[counts > 1]
    is_passed = (next_to == 2) & (ins == outs) & ((ins == 1) | (ins == 2))
    is_passed[doubled // num_nodes] = False
    is_passed[doubled % num_nodes] = False
    return np.asarray(~is_passed & (ins + outs > 0))


def count_next_to(num_nodes: int, tails: Ints, heads: Ints) -> Ints:
    """For each node, to how many others segments lead, in whatever direction."""
    pairs = np.unique(np.minimum(tails, heads) * num_nodes + np.maximum(tails, heads))
    return np.bincount(np.concatenate([pairs // num_nodes, pairs % num_nodes]), minlength=num_nodes)


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


def _walk(starts: Ints, following: Ints) -> tuple[Ints, Ints]:
    """Follow segments from every start to the end of its edge, all step by step: number of the edge, segment."""
    number, segment = np.arange(starts.size, dtype=np.int64), starts
    edges, segments = [number], [segment]
    while segment.size:
        beyond = following[segment]
        goes_on = beyond >= 0
        number, segment = number[goes_on], beyond[goes_on]
        edges.append(number)
        segments.append(segment)
    return np.concatenate(edges), np.concatenate(segments)


def _lowest_of_rings(tails: Ints, following: Ints, loose: Ints) -> list[int]:
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


@dataclass(frozen=True, eq=False, repr=False)
class Edges:
    """Directed edges between junctions, in parallel arrays; loops and parallel edges included.

    Nodes are positions in the ``node_ids`` of the ways. Edge ``e`` passes the nodes
    ``bends[bend_ptr[e]:bend_ptr[e + 1]]`` between its ends.
    """

    tails: Ints
    heads: Ints
    metres: Floats  # to the centimetre
    seconds: Floats  # to the millisecond
    name_ids: Ints  # which of the ways' names an edge has
    kinds: tuple[str, ...]  # the kinds of highway that occur, by name
    kind_ids: Ints
    bend_ptr: Ints
    bends: Ints


def join_edges(ways: Ways, segments: Segments, chains: Chains) -> Edges:
    """Add up lengths and times over the segments of each edge, and choose a name and a kind.

    An edge that is made of several ways has the name of which it has the most metres, and the kind likewise; of equals
    the first along the edge.
    """
    sizes = np.diff(chains.ptr)
    num_edges = sizes.size
    edge = np.repeat(np.arange(num_edges, dtype=np.int64), sizes)
    metres, owner = segments.metres[chains.segments], segments.ways[chains.segments]
    kinds = tuple(sorted({tags["highway"] for tags in ways.tag_sets}))
    kind_of_tags = np.array([kinds.index(tags["highway"]) for tags in ways.tag_sets], dtype=np.int64)
    return Edges(
        tails=segments.tails[chains.segments[chains.ptr[:-1]]],
        heads=segments.heads[chains.segments[chains.ptr[1:] - 1]],
        metres=np.round(np.bincount(edge, metres, minlength=num_edges), 2),
        seconds=np.round(np.bincount(edge, segments.seconds[chains.segments], minlength=num_edges), 3),
        name_ids=_prevailing(edge, ways.name_ids[owner].astype(np.int64), metres),
        kinds=kinds,
        kind_ids=_prevailing(edge, kind_of_tags[ways.tag_ids[owner]], metres),
        bend_ptr=np.concatenate([[0], np.cumsum(sizes - 1)]).astype(np.int64),
        bends=np.delete(segments.tails[chains.segments], chains.ptr[:-1]),
    )


def _prevailing(edge: Ints, value: Ints, metres: Floats) -> Ints:
    """For each edge the value that most of its metres have; of equals the one that comes first."""
    width = int(value.max()) + 1
    pairs, first, which = np.unique(edge * width + value, return_index=True, return_inverse=True)
    # Metres to the millimetre, so that the order of adding up cannot decide.
    total = np.round(np.bincount(which.reshape(-1), metres, minlength=pairs.size), 3)
    order = np.lexsort((first, -total, pairs // width))
    edges = pairs[order] // width
    leads = np.concatenate([[True], edges[1:] != edges[:-1]])
    return np.asarray(pairs[order][leads] % width)
