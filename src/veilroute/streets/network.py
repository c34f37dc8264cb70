"""From raw ways to the domain of a street network.

The rules say which ways belong to the network (:func:`select_ways`). These are cut into directed segments, one for each
stretch between two nodes of a way and each direction allowed (:func:`cut_ways`). Segments are joined into edges between
junctions (:func:`join_segments`, :func:`join_edges`), and these make the graph (:func:`build_network`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from veilroute.arrays import Flags, Floats, Ints
from veilroute.domain.connectivity import largest_component
from veilroute.domain.geography import UNITS, great_circle_m, street_domain
from veilroute.domain.graph import Domain, spans
from veilroute.errors import InvalidInputError, UnknownMethodError
from veilroute.streets.network_report import NetworkReport
from veilroute.streets.rules import Network, Ruling, is_for, is_stopped, network_called, rule_way, way_speeds
from veilroute.streets.ways import Counts, Ways


@dataclass(frozen=True, eq=False, repr=False)
class Segments:
    """Directed segments between raw nodes, in parallel arrays; nodes are positions in the ``node_ids`` of the ways."""

    tails: Ints
    heads: Ints
    ways: Ints  # the position of each segment's way
    metres: Floats
    seconds: Floats  # how long one takes


@dataclass(frozen=True)
class ChosenWays:
    """Which ways belong to a network."""

    is_in: Flags  # for each way
    rulings: tuple[Ruling, ...]  # what the rules say of each of the ways' sets of tags
    dropped: Counts  # each reason to leave ways out, as "access=private", and for how many; the most frequent first


def select_ways(ways: Ways, network: Network, *, service: bool = False) -> ChosenWays:
    """Apply the rules of a network to all ways, once for each different set of tags."""
    rulings = tuple(rule_way(network, tags, service=service) for tags in ways.tag_sets)
    is_in = np.array([ruling.is_in for ruling in rulings], dtype=np.bool_)[ways.tag_ids]
    return ChosenWays(is_in, rulings, ways.count_by([ruling.reason for ruling in rulings], ~is_in))


def refs_of(ways: Ways, is_in: Flags) -> Ints:
    """The nodes of the chosen ways, ascending and each once: those whose places are needed."""
    return np.unique(ways.refs[np.repeat(is_in, np.diff(ways.ptr))])


def cut_ways(ways: Ways, chosen: ChosenWays, network: Network) -> tuple[Segments, dict[str, Any]]:
    """Cut the chosen ways into directed segments; with what a :class:`NetworkReport` says of the ways.

    Where the place of a node is missing, as at the border of an extract, the way has a gap. A node that follows itself
    is one node.
    """
    is_in, rulings = chosen.is_in, chosen.rulings
    owners = np.repeat(np.arange(ways.num_ways, dtype=np.int64), np.diff(ways.ptr))
    needed = is_in[owners]
    owners, spots = owners[needed], _positions(ways.node_ids, ways.refs[needed])
    whole = (owners[1:] == owners[:-1]) & (spots[1:] >= 0) & (spots[:-1] >= 0) & (spots[1:] != spots[:-1])
    tails, heads, owner = spots[:-1][whole], spots[1:][whole], owners[:-1][whole]
    metres = great_circle_m(ways.lonlat[tails], ways.lonlat[heads])

    tag_ids = ways.tag_ids[owner]
    pairs = zip(ways.tag_sets, rulings, strict=True)
    speeds = [way_speeds(network, tags) if ruling.is_in else None for tags, ruling in pairs]
    is_forward = np.array([ruling.forward for ruling in rulings], dtype=np.bool_)[tag_ids]
    is_backward = np.array([ruling.backward for ruling in rulings], dtype=np.bool_)[tag_ids]
    is_stated = np.array([speed is not None and speed.is_stated for speed in speeds], dtype=np.bool_)[tag_ids]
    forward_ms = np.array([1.0 if speed is None else speed.forward_kmh / 3.6 for speed in speeds])[tag_ids]
    backward_ms = np.array([1.0 if speed is None else speed.backward_kmh / 3.6 for speed in speeds])[tag_ids]

    def both(forward: npt.NDArray[Any], backward: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.concatenate([forward[is_forward], backward[is_backward]])

    segments = Segments(
        tails=both(tails, heads),
        heads=both(heads, tails),
        ways=both(owner, owner),
        metres=both(metres, metres),
        seconds=both(metres / forward_ms, metres / backward_ms),
    )
    has_gap, is_left = np.zeros_like(is_in), np.zeros_like(is_in)
    has_gap[owners[spots < 0]] = True
    is_left[owner] = True
    street_m = float(metres.sum())
    one_way_m, stated_m = float(metres[is_forward != is_backward].sum()), float(metres[is_stated].sum())
    counts = {
        "num_ways_kept": int(is_left.sum()),
        "kept": ways.count_kinds(is_left),
        "num_ways_cut": int((has_gap & is_left).sum()),
        "num_ways_lost": int((has_gap & ~is_left).sum()),
        "street_m": round(street_m, 2),
        "one_way_share": round(one_way_m / max(street_m, 0.01), 4),
        "stated_share": round(stated_m / max(street_m, 0.01), 4) if network.name == "drive" else None,
    }
    return segments, counts


def _positions(known: Ints, wanted: Ints) -> Ints:
    """Where each wanted number stands in the ascending known ones, -1 where it does not."""
    if not known.size:
        return np.full(wanted.size, -1, dtype=np.int64)
    spots = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.where(known[spots] == wanted, spots, -1)


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


def nodes_between(chains: Chains, tails: Ints, heads: Ints) -> Ints:
    """Nodes which, made junctions, part loops and parallel edges, so that a graph of single edges loses no street.

    Of streets between the same two junctions all but one get a junction in their middle: a straight one is left as it
    is, else the one with the lowest bend. A loop gets two. Both directions of a street get the same ones. Where the
    very same segment is there twice, there is nothing to part.
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
    next_to = _count_next_to(num_nodes, tails, heads)
    directed, counts = np.unique(tails * num_nodes + heads, return_counts=True)
    doubled = directed[counts > 1]
    is_passed = (next_to == 2) & (ins == outs) & ((ins == 1) | (ins == 2))
    is_passed[doubled // num_nodes] = False
    is_passed[doubled % num_nodes] = False
    return np.asarray(~is_passed & (ins + outs > 0))


def _count_next_to(num_nodes: int, tails: Ints, heads: Ints) -> Ints:
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


ATTRIBUTION = "© OpenStreetMap contributors, ODbL 1.0"  #: whom to credit where a map made from OpenStreetMap is shown


@dataclass(frozen=True)
class StreetNetwork:
    """A street network, whose nodes are labelled with their numbers in OpenStreetMap, and what was done to get it."""

    domain: Domain
    report: NetworkReport


def build_network(
    ways: Ways, *, network: str = "drive", cost: str = "seconds", service: bool = False, connected: bool = False
) -> StreetNetwork:
    """Build the street network of ways: choose them, cut them into segments, join these into edges between junctions.

    Junctions are in the order of their numbers. Lengths are rounded to a centimetre and times to a millisecond, once
    for each edge. Loops and parallel edges are parted by nodes that stay between junctions, so that no street is lost:
    one that is slower than another beside it may be shorter, and distances in metres depend on it. The options are
    those of :func:`~veilroute.formats.osm.read_osm`.
    """
    moving = network_called(network)
    if cost not in UNITS:
        raise UnknownMethodError("cost", cost, UNITS)
    chosen = select_ways(ways, moving, service=service)
    segments, counts = cut_ways(ways, chosen, moving)
    if not segments.tails.size:
        raise InvalidInputError("ways", f"at least one to {network} along")
    simple = join_segments(ways.node_ids.size, segments.tails, segments.heads)
    between = nodes_between(simple, segments.tails, segments.heads)
    chains = join_segments(ways.node_ids.size, segments.tails, segments.heads, between)
    edges = join_edges(ways, segments, chains)
    is_in, is_alone = _choose_nodes(chains.is_junction, edges, connected=connected)
    if is_in.sum() < 2:
        raise InvalidInputError("ways", f"streets to {network} along that lead from one junction to another")
    is_apart = ~(is_in | is_alone)
    apart = is_apart[edges.tails] | is_apart[edges.heads]
    loops = (edges.tails == edges.heads) & ~apart
    inside = np.flatnonzero(~apart & ~loops)
    domain = _domain(ways, edges, np.flatnonzero(is_in), inside, cost)
    assert domain.streets is not None, "made with streets"
    metres_inside, metres = float(edges.metres[inside].sum()), float(domain.streets.lengths.sum())
    # One would have to pass a barrier where streets lead to two other nodes or more.
    stopped = [number for number, tags in ways.barriers.items() if is_stopped(moving, tags)]
    next_to = _count_next_to(ways.node_ids.size, segments.tails, segments.heads)
    report = NetworkReport(
        network=network,
        unit=cost,
        service=service,
        num_ways_read=ways.num_read,
        num_highways=ways.num_ways,
        dropped=chosen.dropped,
        num_raw_nodes=int(np.unique(np.concatenate([segments.tails, segments.heads])).size),
        num_raw_segments=int(segments.tails.size),
        num_nodes_multi=int(simple.is_junction.sum()),
        num_edges_multi=int(simple.ptr.size - 1),
        metres_multi=round(float(edges.metres.sum()), 2),
        num_nodes_between=int(between.size),
        num_loops=int(loops.sum()),
        metres_loops=round(float(edges.metres[loops].sum()), 2),
        num_parallel=int(inside.size) - domain.num_edges,
        metres_parallel=round(metres_inside - metres, 2),
        is_connected=connected,
        num_nodes_apart=int((chains.is_junction & is_apart).sum()),
        num_edges_apart=int(apart.sum()),
        num_nodes_alone=int(is_alone.sum()),
        num_nodes=domain.num_nodes,
        num_edges=domain.num_edges,
        metres=round(metres, 2),
        num_turn_restrictions=sum(count for tags, count in ways.restrictions if is_for(moving, tags)),
        num_barriers=int((next_to[np.isin(ways.node_ids, np.array(stopped, dtype=np.int64))] > 1).sum()),
        **counts,
    )
    return StreetNetwork(domain, report)


def _choose_nodes(is_junction: Flags, edges: Edges, *, connected: bool) -> tuple[Flags, Flags]:
    """Which raw nodes become nodes of the network, and which are left out because only loops are there."""
    proper = edges.tails != edges.heads
    has_edge = np.zeros_like(is_junction)
    has_edge[edges.tails[proper]] = has_edge[edges.heads[proper]] = True
    if not connected:
        return has_edge, is_junction & ~has_edge
    nodes = np.flatnonzero(is_junction)
    spot = np.searchsorted(nodes, np.arange(is_junction.size))
    chosen = np.zeros_like(is_junction)
    chosen[nodes[largest_component(nodes.size, spot[edges.tails], spot[edges.heads])]] = True
    return chosen, np.zeros_like(is_junction)


def _domain(ways: Ways, edges: Edges, nodes: Ints, inside: Ints, cost: str) -> Domain:
    """The domain of some nodes and some edges between them; names and kinds that do not occur are left out."""
    names, name_ids = _occurring(ways.names, edges.name_ids[inside])
    kinds, kind_ids = _occurring(edges.kinds, edges.kind_ids[inside])
    sizes = np.diff(edges.bend_ptr)[inside]
    return street_domain(
        lonlat=ways.lonlat[nodes],
        tails=np.searchsorted(nodes, edges.tails[inside]),
        heads=np.searchsorted(nodes, edges.heads[inside]),
        costs=(edges.seconds if cost == "seconds" else edges.metres)[inside],
        lengths=edges.metres[inside],
        unit=cost,
        labels=ways.node_ids[nodes].tolist(),
        names=names,
        name_ids=name_ids,
        kinds=kinds,
        kind_ids=kind_ids,
        shape_ptr=np.concatenate([[0], np.cumsum(sizes)]),
        shape=ways.lonlat[edges.bends[spans(edges.bend_ptr[inside], sizes)]],
        attribution=ATTRIBUTION,
    )


def _occurring(texts: tuple[str, ...], ids: Ints) -> tuple[list[str], Ints]:
    """The texts that occur, in the order of the alphabet, and the numbers that they have now."""
    used = sorted(np.unique(ids).tolist(), key=lambda number: texts[number])
    renumbered = np.zeros(len(texts), dtype=np.int64)
    renumbered[used] = np.arange(len(used))
    return [texts[number] for number in used], renumbered[ids]
