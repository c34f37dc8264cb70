"""From raw ways to the domain of a street network.

The rules say which ways belong to the network (:func:`select_ways`). These are cut into directed segments, one for each
stretch between two nodes of a way and each direction allowed (:func:`cut_ways`), and at barriers. Segments are joined
into edges between junctions (:mod:`veilroute.streets.joining`), and these make the graph, with its rules for turns
(:func:`build_network`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from veilroute.base.arrays import Flags, Ints
from veilroute.base.checks import check_finite, check_name
from veilroute.base.errors import InvalidInputError, UnknownMethodError
from veilroute.domain.connectivity import largest_component, strong_components
from veilroute.domain.geography import UNITS, great_circle_m, part_of, street_domain
from veilroute.domain.graph import Domain, spans
from veilroute.domain.turns import U_TURNS, Turns, edge_numbers, with_rules
from veilroute.streets import restrictions
from veilroute.streets.joining import Edges, Segments, count_next_to, join_edges, join_segments, nodes_between
from veilroute.streets.network_report import NetworkReport
from veilroute.streets.restrictions import ban_turns, read_rules
from veilroute.streets.rules import Network, Ruling, is_stopped, network_called, rule_way, way_speeds
from veilroute.streets.vehicles import Vehicle
from veilroute.streets.ways import Counts, Ways, positions


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
    owners, spots = owners[needed], positions(ways.node_ids, ways.refs[needed])
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
        "stated_share": round(stated_m / max(street_m, 0.01), 4) if network.is_motor else None,
    }
    return segments, counts


ATTRIBUTION = "© OpenStreetMap contributors, ODbL 1.0"  #: whom to credit where a map made from OpenStreetMap is shown


@dataclass(frozen=True)
class StreetNetwork:
    """A street network, whose nodes are labelled with their numbers in OpenStreetMap, and what was done to get it."""

    domain: Domain
    report: NetworkReport


def build_network(
    ways: Ways,
    *,
    network: str = "drive",
    cost: str = "seconds",
    service: bool = False,
    connected: bool = False,
    u_turns: str | None = None,
    u_turn_cost: float = 0.0,
    vehicle: Vehicle | None = None,
) -> StreetNetwork:
    """Build the street network of ways: choose them, cut them into segments, join these into edges between junctions.

    Junctions are in the order of their numbers. Lengths are rounded to a centimetre and times to a millisecond, once
    for each edge. Loops and parallel edges are parted by nodes that stay between junctions, so that no street is lost:
    one that is slower than another beside it may be shorter, and distances in metres depend on it. So do nodes at which
    turns are restricted. A barrier cuts its street; the ends on its other sides have numbers below zero. The options
    are those of :func:`~veilroute.formats.osm.read_osm`.
    """
    moving = network_called(network, vehicle)
    if cost not in UNITS:
        raise UnknownMethodError("cost", cost, UNITS)
    turns = turning_rules(moving, u_turns, u_turn_cost, unit=cost)
    chosen = select_ways(ways, moving, service=service)
    raw, counts = cut_ways(ways, chosen, moving)
    if not raw.tails.size:
        raise InvalidInputError("ways", f"at least one to {network} along")
    rules = read_rules(ways, moving)
    ways, segments, copied = _cut_at_barriers(ways, raw, moving)
    rules = rules.at_all_sides(ways.node_ids.size - copied.size, copied)
    num_raw = ways.node_ids.size
    simple = join_segments(num_raw, raw.tails, raw.heads)
    meeting = np.intersect1d(rules.meeting_nodes(), segments.tails)
    is_same = not meeting.size and not copied.size
    parted = simple if is_same else join_segments(num_raw, segments.tails, segments.heads, meeting)
    # Where it matters whether somebody turns round, that must be told by junctions alone.
    between = nodes_between(parted, segments.tails, segments.heads, both_ways=not turns.is_free)
    stays = between if turns.is_free else np.union1d(between, np.flatnonzero(parted.is_junction))
    chains = join_segments(num_raw, segments.tails, segments.heads, np.union1d(meeting, stays))
    edges = join_edges(ways, segments, chains)
    banned, left_out = ban_turns(rules, segments, chains, edges)
    turns = Turns.of(turns.u_turns, banned, turns.u_turn_cost)

    has_edge = np.zeros(num_raw, dtype=np.bool_)
    is_loop = edges.tails == edges.heads
    has_edge[edges.tails[~is_loop]] = has_edge[edges.heads[~is_loop]] = True
    nodes, inside = np.flatnonzero(has_edge), np.flatnonzero(~is_loop)
    if nodes.size < 2:
        raise InvalidInputError("ways", f"streets to {network} along that lead from one junction to another")
    domain = _domain(ways, edges, nodes, inside, cost, turns)
    num_apart = num_illegal = 0
    if connected:
        is_near, is_legal = _connected_nodes(domain)
        num_apart, num_illegal = int((~is_near).sum()), int((is_near & ~is_legal).sum())
        domain = _part(domain, is_legal)
        is_in = np.zeros(num_raw, dtype=np.bool_)
        is_in[nodes[is_legal]] = True
        nodes, inside = nodes[is_legal], inside[is_in[edges.tails[inside]] & is_in[edges.heads[inside]]]
    assert domain.streets is not None, "made with streets"
    metres_inside, metres = float(edges.metres[inside].sum()), float(domain.streets.lengths.sum())
    is_alone = chains.is_junction & ~has_edge
    loops = is_loop & np.isin(edges.tails, nodes) if connected else is_loop
    report = NetworkReport(
        network=network,
        unit=cost,
        service=service,
        num_ways_read=ways.num_read,
        num_highways=ways.num_ways,
        dropped=chosen.dropped,
        num_raw_nodes=int(np.unique(np.concatenate([raw.tails, raw.heads])).size),
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
        num_nodes_apart=num_apart + (int(is_alone.sum()) if connected else 0),
        num_nodes_illegal=num_illegal,
        num_edges_apart=int(edges.tails.size - loops.sum() - inside.size),
        num_nodes_alone=0 if connected else int(is_alone.sum()),
        num_nodes=domain.num_nodes,
        num_edges=domain.num_edges,
        metres=round(metres, 2),
        u_turns=turns.u_turns,
        u_turn_cost=turns.u_turn_cost,
        height=moving.vehicle.height,
        weight=moving.vehicle.weight,
        length=moving.vehicle.length,
        num_turn_restrictions=len(ways.restrictions) - left_out.total(),
        num_banned_turns=0 if domain.turns is None else len(domain.turns.banned),
        num_restrictions_other=left_out[restrictions.OTHER],
        num_restrictions_conditional=left_out[restrictions.CONDITIONAL],
        num_restrictions_unclear=left_out[restrictions.UNCLEAR],
        num_restrictions_incomplete=left_out[restrictions.INCOMPLETE],
        num_barriers=int(np.unique(copied).size),
        **counts,
    )
    return StreetNetwork(domain, report)


def turning_rules(network: Network, u_turns: str | None, u_turn_cost: float, *, unit: str) -> Turns:
    """The rules for turning round; where nothing is said, cars and trucks do so at dead ends, others anywhere."""
    if u_turns is None:
        u_turns = "dead-ends" if network.is_motor else "allow"
    check_name("u_turns", u_turns, U_TURNS)
    check_finite("u_turn_cost", u_turn_cost, least=0)
    if u_turn_cost and unit != "seconds":
        raise InvalidInputError("u_turn_cost", "a network whose costs are seconds", u_turn_cost)
    if u_turn_cost and u_turns == "never":
        raise InvalidInputError("u_turn_cost", "u_turns dead-ends or allow; never has no price", u_turn_cost)
    return Turns.of(u_turns, u_turn_cost=u_turn_cost)


def with_u_turns(domain: Domain, u_turns: str | None, u_turn_cost: float = 0.0) -> Domain:
    """A network from elsewhere with a rule for turning round: its own where nothing is said, or that of cars."""
    unit = "" if domain.streets is None else domain.streets.unit
    before = domain.turns or Turns()
    turns = turning_rules(network_called("drive"), u_turns or before.u_turns, u_turn_cost, unit=unit)
    return with_rules(domain, replace(turns, banned=before.banned), domain.also)


def _cut_at_barriers(ways: Ways, segments: Segments, network: Network) -> tuple[Ways, Segments, Ints]:
    """Let streets end at nodes that cannot be passed, from each side at a node of its own.

    The side of the neighbour of the lowest number keeps the node; the others get new ones at the end, numbered below
    zero and below all others. Comes with which node each of these copies.
    """
    stopped = [number for number, tags in ways.barriers.items() if is_stopped(network, tags)]
    is_wall = np.isin(ways.node_ids, np.array(stopped, dtype=np.int64))
    num = ways.node_ids.size
    is_wall &= count_next_to(num, segments.tails, segments.heads) > 1
    if not is_wall.any():
        return ways, segments, np.empty(0, dtype=np.int64)
    tails, heads = segments.tails, segments.heads
    sides = np.unique(np.concatenate([(tails * num + heads)[is_wall[tails]], (heads * num + tails)[is_wall[heads]]]))
    is_first = np.diff(sides // num, prepend=-1) != 0
    others = sides[~is_first]

    def ends(nodes: Ints, beyond: Ints) -> Ints:
        spots = np.minimum(np.searchsorted(others, nodes * num + beyond), others.size - 1)
        return np.where(others[spots] == nodes * num + beyond, num + spots, nodes)

    lowest = min(int(ways.node_ids.min()), 0)
    extended = replace(
        ways,
        node_ids=np.concatenate([ways.node_ids, lowest - 1 - np.arange(others.size, dtype=np.int64)]),
        lonlat=np.concatenate([ways.lonlat, ways.lonlat[others // num]]),
    )
    return extended, replace(segments, tails=ends(tails, heads), heads=ends(heads, tails)), others // num


def connected_part(domain: Domain) -> Domain:
    """The largest part of a graph within which legal walks lead from everywhere to everywhere; labels stay.

    Of equally large parts it is that of the lowest node.
    """
    return _part(domain, _connected_nodes(domain)[1])


def _connected_nodes(domain: Domain) -> tuple[Flags, Flags]:
    """Which nodes are in the largest strongly connected component, and which of these legal turns connect.

    The latter are the nodes of the largest strongly connected component of states within the former one, by how many
    nodes it has; of equally large ones that of the lowest node.
    """
    tails, heads, _ = domain.edge_arrays()
    is_near = largest_component(domain.num_nodes, tails, heads)
    if domain.turns is None:
        return is_near, is_near
    # Here and not at the top, because compiling kernels would make `import veilroute` slow.
    from veilroute.covering.states import StateGraph, search_graph

    graph = search_graph(domain, [], []).graph
    assert isinstance(graph, StateGraph), "there are rules for turns"
    before, after, _ = graph.edge_arrays()
    component = strong_components(graph.num_nodes, before, after)
    inside = before[(component[before] == component[after]) & is_near[graph.nodes[before]]]
    is_legal = np.zeros_like(is_near)
    if inside.size:
        pairs = np.unique(component[inside] * domain.num_nodes + graph.nodes[inside])
        sizes = np.bincount(pairs // domain.num_nodes)
        chosen = pairs[np.lexsort((pairs % domain.num_nodes, -sizes[pairs // domain.num_nodes]))[0]]
        is_legal[graph.nodes[inside[component[inside] == chosen // domain.num_nodes]]] = True
    return is_near, is_legal


def _part(domain: Domain, is_in: Flags) -> Domain:
    """A network with only some of its nodes, in which nothing seems to be a dead end that was none."""
    if is_in.sum() < 2:
        expected = "streets that lead from one junction to another, and back by legal turns"
        raise InvalidInputError("connected", expected)
    turns = domain.turns
    if turns is not None and turns.u_turns == "dead-ends":
        tails, heads, _ = domain.edge_arrays()
        within = is_in[tails] & is_in[heads]
        num_left = np.bincount(tails[within], minlength=domain.num_nodes)
        ends = within & (num_left[tails] == 1) & (np.diff(domain.indptr.astype(np.int64))[tails] > 1)
        ends &= edge_numbers(domain, heads, tails) >= 0
        seeming = np.stack([heads[ends], tails[ends], heads[ends]], axis=1).tolist()
        domain = replace(domain, turns=Turns.of(turns.u_turns, [*turns.banned, *seeming], turns.u_turn_cost))
    return part_of(domain, is_in)


def _domain(ways: Ways, edges: Edges, nodes: Ints, inside: Ints, cost: str, turns: Turns) -> Domain:
    """The domain of some nodes and some edges between them; names and kinds that do not occur are left out.

    The rules for turns are in raw nodes.
    """
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
        turns=Turns.of(turns.u_turns, _among(turns.banned, edges, nodes, inside), turns.u_turn_cost),
    )


def _among(banned: Iterable[tuple[int, ...]], edges: Edges, nodes: Ints, inside: Ints) -> list[list[int]]:
    """The stretches of raw nodes that lead along some of the edges, in the numbers that nodes have in the domain."""
    width = int(max(edges.tails.max(), edges.heads.max())) + 1
    steps = set((edges.tails[inside] * width + edges.heads[inside]).tolist())
    kept = [stretch for stretch in banned if all(a * width + b in steps for a, b in pairwise(stretch))]
    return [np.searchsorted(nodes, stretch).tolist() for stretch in kept]


def _occurring(texts: tuple[str, ...], ids: Ints) -> tuple[list[str], Ints]:
    """The texts that occur, in the order of the alphabet, and the numbers that they have now."""
    used = sorted(np.unique(ids).tolist(), key=lambda number: texts[number])
    renumbered = np.zeros(len(texts), dtype=np.int64)
    renumbered[used] = np.arange(len(used))
    return [texts[number] for number in used], renumbered[ids]
