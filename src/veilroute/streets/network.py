"""From raw ways to the domain of a street network."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from veilroute.arrays import Flags, Ints
from veilroute.domain.graph import Domain
from veilroute.domain.streets import UNITS, street_domain
from veilroute.errors import InvalidInputError, UnknownMethodError
from veilroute.streets.components import largest_component
from veilroute.streets.edges import Edges, join_edges
from veilroute.streets.report import Counts, NetworkReport
from veilroute.streets.rules import Network, is_for, is_stopped, network_called
from veilroute.streets.segments import Segments, cut_ways, select_ways
from veilroute.streets.simplify import join_segments, nodes_between
from veilroute.streets.ways import Ways

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
