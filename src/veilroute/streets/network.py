"""From raw ways to the domain of a street network.

The part of a network within which one can get from everywhere to everywhere.

From ways to directed segments: one for each stretch between two nodes of a way and each direction allowed.

Edges between junctions: what is added up, and what is chosen, over the segments of each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veilroute.arrays import Flags, Floats, Ints
from veilroute.domain.graph import Domain
from veilroute.domain.streets import UNITS, great_circle_m, street_domain
from veilroute.errors import InvalidInputError, UnknownMethodError
from veilroute.streets.network_report import Counts, NetworkReport
from veilroute.streets.rules import Network, Ruling, is_for, is_stopped, network_called, rule_way, way_speeds
from veilroute.streets.simplify import Chains, join_segments, nodes_between
from veilroute.streets.ways import Ways


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


@dataclass(frozen=True, eq=False, repr=False)
class Segments:
    """Directed segments between raw nodes, in parallel arrays.

    Parameters
    ----------
    tails, heads
        Positions in the ``node_ids`` of the ways.
    ways
        The way of each segment, as its position.
    metres, seconds
        How long a segment is, and how long one takes.
    """

    tails: Ints
    heads: Ints
    ways: Ints
    metres: Floats
    seconds: Floats


@dataclass(frozen=True)
class Selection:
    """Which ways belong to a network.

    Parameters
    ----------
    is_in
        For each way.
    rulings
        What the rules say of each of the ways' sets of tags.
    dropped
        Each reason to leave ways out, as ``access=private``, and for how many; the most frequent first.
    """

    is_in: Flags
    rulings: tuple[Ruling, ...]
    dropped: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class SegmentCounts:
    """What was seen while ways were cut into segments.

    Parameters
    ----------
    is_left
        For each way, whether it has segments.
    num_cut, num_lost
        Ways of which some nodes are missing in the file, and ways of which nothing is left for that reason.
    street_m
        Metres of street, each counted once whatever its directions.
    one_way_m, stated_m
        Metres of it that go one way only, and that have a stated speed limit.
    """

    is_left: Flags
    num_cut: int
    num_lost: int
    street_m: float
    one_way_m: float
    stated_m: float


def select_ways(ways: Ways, network: Network, *, service: bool = False) -> Selection:
    """Apply the rules of a network to all ways, once for each different set of tags."""
    rulings = tuple(rule_way(network, tags, service=service) for tags in ways.tag_sets)
    reasons: Counter[str] = Counter()
    for ruling, count in zip(rulings, np.bincount(ways.tag_ids, minlength=len(rulings)).tolist(), strict=True):
        if not ruling.is_in:
            reasons[ruling.reason] += count
    is_in = np.array([ruling.is_in for ruling in rulings], dtype=np.bool_)[ways.tag_ids]
    return Selection(is_in, rulings, tuple(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))))


def refs_of(ways: Ways, is_in: Flags) -> Ints:
    """The nodes of the chosen ways, ascending and each once: those whose places are needed."""
    return np.unique(ways.refs[np.repeat(is_in, np.diff(ways.ptr))])


def cut_ways(ways: Ways, selection: Selection, network: Network) -> tuple[Segments, SegmentCounts]:
    """Cut the chosen ways into directed segments.

    Where the place of a node is missing, as at the border of an extract, the way has a gap. A node that follows itself
    is one node.
    """
    is_in, rulings = selection.is_in, selection.rulings
    owners = np.repeat(np.arange(ways.num_ways, dtype=np.int64), np.diff(ways.ptr))
    chosen = is_in[owners]
    owners, spots = owners[chosen], _positions(ways.node_ids, ways.refs[chosen])
    whole = (owners[1:] == owners[:-1]) & (spots[1:] >= 0) & (spots[:-1] >= 0) & (spots[1:] != spots[:-1])
    firsts, seconds, owner = spots[:-1][whole], spots[1:][whole], owners[:-1][whole]
    metres = great_circle_m(ways.lonlat[firsts], ways.lonlat[seconds])

    tag_ids = ways.tag_ids[owner]
    pairs = zip(ways.tag_sets, rulings, strict=True)
    speeds = [way_speeds(network, tags) if ruling.is_in else None for tags, ruling in pairs]
    is_forward = np.array([ruling.forward for ruling in rulings], dtype=np.bool_)[tag_ids]
    is_backward = np.array([ruling.backward for ruling in rulings], dtype=np.bool_)[tag_ids]
    is_stated = np.array([speed is not None and speed.is_stated for speed in speeds], dtype=np.bool_)[tag_ids]
    forward_ms = np.array([1.0 if speed is None else speed.forward_kmh / 3.6 for speed in speeds])[tag_ids]
    backward_ms = np.array([1.0 if speed is None else speed.backward_kmh / 3.6 for speed in speeds])[tag_ids]

    def both(forward: npt.NDArray[np.generic], backward: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        return np.concatenate([forward[is_forward], backward[is_backward]])

    segments = Segments(
        tails=both(firsts, seconds).astype(np.int64),
        heads=both(seconds, firsts).astype(np.int64),
        ways=both(owner, owner).astype(np.int64),
        metres=both(metres, metres).astype(np.float64),
        seconds=both(metres / forward_ms, metres / backward_ms).astype(np.float64),
    )
    has_gap, is_left = np.zeros_like(is_in), np.zeros_like(is_in)
    has_gap[owners[spots < 0]] = True
    is_left[owner] = True
    counts = SegmentCounts(
        is_left=is_left,
        num_cut=int((has_gap & is_left).sum()),
        num_lost=int((has_gap & ~is_left).sum()),
        street_m=float(metres.sum()),
        one_way_m=float(metres[is_forward != is_backward].sum()),
        stated_m=float(metres[is_stated].sum()),
    )
    return segments, counts


def _positions(known: Ints, wanted: Ints) -> Ints:
    """Where each wanted number stands in the ascending known ones, -1 where it does not."""
    if not known.size:
        return np.full(wanted.size, -1, dtype=np.int64)
    spots = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.where(known[spots] == wanted, spots, -1)


@dataclass(frozen=True, eq=False, repr=False)
class Edges:
    """Directed edges between junctions, in parallel arrays; loops and parallel edges included.

    Parameters
    ----------
    tails, heads
        Positions in the ``node_ids`` of the ways.
    metres, seconds
        How long an edge is, to the centimetre, and how long one takes, to the millisecond.
    name_ids
        Which of the ways' ``names`` an edge has.
    kinds, kind_ids
        The kinds of highway that occur, by name, and which of them an edge is.
    bend_ptr, bends
        Edge ``e`` passes the nodes ``bends[bend_ptr[e]:bend_ptr[e + 1]]`` between its ends; positions in ``node_ids``.
    """

    tails: Ints
    heads: Ints
    metres: Floats
    seconds: Floats
    name_ids: Ints
    kinds: tuple[str, ...]
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
    is_first = np.zeros(edge.size, dtype=np.bool_)
    is_first[chains.ptr[:-1]] = True
    return Edges(
        tails=segments.tails[chains.segments[chains.ptr[:-1]]],
        heads=segments.heads[chains.segments[chains.ptr[1:] - 1]],
        metres=np.round(np.bincount(edge, metres, minlength=num_edges), 2),
        seconds=np.round(np.bincount(edge, segments.seconds[chains.segments], minlength=num_edges), 3),
        name_ids=_prevailing(edge, ways.name_ids[owner].astype(np.int64), metres),
        kinds=kinds,
        kind_ids=_prevailing(edge, kind_of_tags[ways.tag_ids[owner]], metres),
        bend_ptr=np.concatenate([[0], np.cumsum(sizes - 1)]).astype(np.int64),
        bends=segments.tails[chains.segments][~is_first],
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
    prevailing: Ints = pairs[order][leads] % width
    return prevailing


ATTRIBUTION = "© OpenStreetMap contributors, ODbL 1.0"
"""Whom to credit wherever a map made from OpenStreetMap is shown."""


@dataclass(frozen=True)
class StreetNetwork:
    """A street network, and what was done to get it.

    Parameters
    ----------
    domain
        The network; nodes are labelled with the numbers that they have in OpenStreetMap.
    report
        How it was made, in numbers.
    """

    domain: Domain
    report: NetworkReport


def build_network(
    ways: Ways, *, network: str = "drive", cost: str = "seconds", service: bool = False, connected: bool = False
) -> StreetNetwork:
    """Build the street network of ways: choose them, cut them into segments, join these into edges between junctions.

    Junctions are in the order of their numbers. Lengths are rounded to a centimetre and times to a millisecond, once
    for each edge. Loops and parallel edges are parted by nodes that stay between junctions, so that no street is lost:
    one that is slower than another beside it may be shorter, and distances in metres depend on it.

    Parameters
    ----------
    ways
        What a file says.
    network
        One of ``drive``, ``cycle`` and ``walk``.
    cost
        What edges cost: ``seconds`` or ``metres``.
    service
        Whether the drive network is to have service roads; the others always do.
    connected
        Whether to keep only the largest strongly connected component; of equally large ones that of the lowest
        number.
    """
    moving = network_called(network)
    if cost not in UNITS:
        raise UnknownMethodError("cost", cost, UNITS)
    selection = select_ways(ways, moving, service=service)
    segments, counts = cut_ways(ways, selection, moving)
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
    metres_inside, metres = float(edges.metres[inside].sum()), _metres(domain)
    report = NetworkReport(
        network=network,
        unit=cost,
        service=service,
        num_ways_read=ways.num_read,
        num_highways=ways.num_ways,
        num_ways_kept=int(counts.is_left.sum()),
        kept=_count_kept(ways, counts.is_left),
        dropped=selection.dropped,
        num_ways_cut=counts.num_cut,
        num_ways_lost=counts.num_lost,
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
        street_m=round(counts.street_m, 2),
        one_way_share=round(counts.one_way_m / max(counts.street_m, 0.01), 4),
        stated_share=round(counts.stated_m / max(counts.street_m, 0.01), 4) if network == "drive" else None,
        num_turn_restrictions=sum(count for tags, count in ways.restrictions if is_for(moving, tags)),
        num_barriers=_count_barriers(ways, moving, segments),
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
    spot = np.zeros(ways.node_ids.size, dtype=np.int64)
    spot[nodes] = np.arange(nodes.size)
    names, name_ids = _occurring(ways.names, edges.name_ids[inside])
    kinds, kind_ids = _occurring(edges.kinds, edges.kind_ids[inside])
    sizes = np.diff(edges.bend_ptr)
    is_inside = np.zeros(edges.tails.size, dtype=np.bool_)
    is_inside[inside] = True
    return street_domain(
        lonlat=ways.lonlat[nodes],
        tails=spot[edges.tails[inside]],
        heads=spot[edges.heads[inside]],
        costs=(edges.seconds if cost == "seconds" else edges.metres)[inside],
        lengths=edges.metres[inside],
        unit=cost,
        labels=ways.node_ids[nodes].tolist(),
        names=names,
        name_ids=name_ids,
        kinds=kinds,
        kind_ids=kind_ids,
        shape_ptr=np.concatenate([[0], np.cumsum(sizes[inside])]),
        shape=ways.lonlat[edges.bends[np.repeat(is_inside, sizes)]],
        attribution=ATTRIBUTION,
    )


def _occurring(words: tuple[str, ...], ids: Ints) -> tuple[list[str], Ints]:
    """The words that occur, by name, and the numbers that they have now."""
    used = sorted(np.unique(ids).tolist(), key=lambda number: words[number])
    renumbered = np.zeros(len(words), dtype=np.int64)
    renumbered[used] = np.arange(len(used))
    return [words[number] for number in used], renumbered[ids]


def _count_kept(ways: Ways, is_left: Flags) -> Counts:
    kinds: Counter[str] = Counter()
    chosen = np.bincount(ways.tag_ids[is_left], minlength=len(ways.tag_sets)).tolist()
    for tags, count in zip(ways.tag_sets, chosen, strict=True):
        kinds[tags["highway"]] += count
    return tuple(sorted(((kind, n) for kind, n in kinds.items() if n), key=lambda item: (-item[1], item[0])))


def _count_barriers(ways: Ways, network: Network, segments: Segments) -> int:
    """How many barriers one would have to pass, which is where streets lead to two other nodes or more."""
    stopped = [number for number, tags in ways.barriers.items() if is_stopped(network, tags)]
    num_nodes = ways.node_ids.size
    low, high = np.minimum(segments.tails, segments.heads), np.maximum(segments.tails, segments.heads)
    pairs = np.unique(low * num_nodes + high)
    next_to = np.bincount(pairs // num_nodes, minlength=num_nodes) + np.bincount(pairs % num_nodes, minlength=num_nodes)
    return int((next_to[np.isin(ways.node_ids, np.array(stopped, dtype=np.int64))] > 1).sum())


def _metres(domain: Domain) -> float:
    return 0.0 if domain.streets is None else float(domain.streets.lengths.sum())
