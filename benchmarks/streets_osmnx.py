"""Compare a street network with OSMnx's simplified graph of the same OpenStreetMap file.

    python benchmarks/streets_osmnx.py CITY.osm.pbf
    python benchmarks/streets_osmnx.py CITY.osm.pbf --network walk

OSMnx is not a dependency; without it nothing is compared. It gets the file twice: once with the ways that its own
filter lets through, once with the ways that veilroute keeps, so that what differs by the choice of ways stands apart
from what differs by the making of the graph. Every way and every junction that only one of the two has is listed with
the reason. The exit code is 1 when edges or metres of the second comparison are more than 2 % apart, or when a junction
has no reason.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import osmium

from veilroute.domain.geography import great_circle_m
from veilroute.formats.osm import read_osm
from veilroute.streets.network_report import NetworkReport
from veilroute.streets.rules import NETWORKS, Network, rule_way

LIMIT = 0.02
Places = dict[int, tuple[float, float]]
Step = tuple[int, int]


@dataclass(frozen=True)
class Figures:
    """What is compared."""

    num_nodes: int
    num_edges: int
    metres: float


@dataclass(frozen=True)
class Way:
    """A way of the file with a highway tag."""

    number: int
    refs: list[int]
    tags: dict[str, str]

    def pieces(self, places: Places) -> Iterator[list[int]]:
        """Its parts between nodes that are missing in the file."""
        piece: list[int] = []
        for ref in [*self.refs, -1]:
            if ref in places:
                piece.append(ref)
                continue
            if len(piece) > 1:
                yield piece
            piece = []

    def metres(self, places: Places) -> float:
        return sum(
            float(great_circle_m([places[ref] for ref in piece[:-1]], [places[ref] for ref in piece[1:]]).sum())
            for piece in self.pieces(places)
        )


def read_plainly(path: Path) -> tuple[list[Way], Places]:
    """All highways and all places, by a reader that shares nothing with veilroute's."""
    ways: list[Way] = []
    places: Places = {}
    thing: Any
    for thing in osmium.FileProcessor(str(path)):
        if thing.is_node():
            places[thing.id] = (thing.location.lon, thing.location.lat)
        elif thing.is_way() and "highway" in thing.tags:
            ways.append(Way(thing.id, [node.ref for node in thing.nodes], {tag.k: tag.v for tag in thing.tags}))
    return ways, places


def passes(tags: dict[str, str], overpass_filter: str) -> bool:
    """Whether tags pass a filter such as ``["highway"]["area"!~"yes"]``, as Overpass reads it."""
    for key, pattern in re.findall(r'\["([^"]+)"(?:!~"([^"]+)")?\]', overpass_filter):
        if not pattern and key not in tags:
            return False
        if pattern and key in tags and re.search(pattern, tags[key]):
            return False
    return True


def osmnx_graph(ox: Any, ways: list[Way], places: Places, folder: Path, *, both_ways: bool) -> Any:
    """OSMnx's simplified graph of some ways; those with gaps in pieces, because it does not take gaps."""
    path = folder / "ways.osm"
    path.unlink(missing_ok=True)
    pieces = [(way, piece) for way in ways for piece in way.pieces(places)]
    writer = osmium.SimpleWriter(str(path))
    for ref in sorted({ref for _, piece in pieces for ref in piece}):
        writer.add_node(osmium.osm.mutable.Node(id=ref, location=places[ref], version=1))
    for number, (way, piece) in enumerate(pieces, start=1):
        writer.add_way(osmium.osm.mutable.Way(id=number, nodes=piece, tags=way.tags, version=1))
    writer.close()
    return ox.graph_from_xml(path, bidirectional=both_ways, simplify=True, retain_all=True)


def figures_of(graph: Any) -> Figures:
    return Figures(len(graph), graph.number_of_edges(), sum(length for *_, length in graph.edges(data="length")))


def show(title: str, ours: Figures, theirs: Figures) -> float:
    """Print both and their ratios; return the largest deviation of edges and metres."""
    print(f"{title}\n{'':12}{'veilroute':>12}{'OSMnx':>12}{'ratio':>10}")
    deviations: list[float] = []
    for name in ("num_nodes", "num_edges", "metres"):
        one, other = getattr(ours, name), getattr(theirs, name)
        print(f"{name:12}{one:12,.0f}{other:12,.0f}{one / other:10.4f}")
        deviations.append(abs(one / other - 1))
    return max(deviations[1:])


def explain_ways(kept: list[Way], theirs: list[Way], places: Places, network: Network) -> None:
    """List the ways that only one of the two takes."""
    mine, other = {way.number for way in kept}, {way.number for way in theirs}
    reasons: dict[str, list[Way]] = {}
    for way in theirs:
        if way.number not in mine:
            reasons.setdefault(f"only OSMnx: {rule_way(network, way.tags).reason}", []).append(way)
    for way in kept:
        if way.number not in other:
            reasons.setdefault(f"only veilroute: highway={way.tags['highway']}", []).append(way)
    for reason, ways in reasons.items():
        metres = sum(way.metres(places) for way in ways)
        print(f"  {reason}: {len(ways)} ways, {metres:,.0f} m: {' '.join(str(way.number) for way in ways)}")
    if not reasons:
        print("  the same ways")


def explain_nodes(graph: Any, labels: set[int], kept: list[Way], network: Network) -> int:
    """List the junctions that only one of the two has; return how many have no reason."""
    steps: dict[int, list[Step]] = {}
    for way in kept:
        ruling = rule_way(network, way.tags)
        for tail, head in zip(way.refs[:-1], way.refs[1:], strict=True):
            for is_open, step in ((ruling.forward, (tail, head)), (ruling.backward, (head, tail))):
                if is_open and tail != head:
                    steps.setdefault(tail, []).append(step)
                    steps.setdefault(head, []).append(step)
    num_open = 0
    for node in sorted(labels ^ set(graph)):
        around = steps.get(node, [])
        who = "veilroute" if node in labels else "OSMnx"
        reason = next((text for text, holds in REASONS.items() if holds(around)), "")
        num_open += not reason
        print(f"  only {who}: node {node}: {reason or 'NOT EXPLAINED'}")
    return num_open


REASONS: dict[str, Callable[[list[Step]], bool]] = {
    "two ways run over the same stretch, of which OSMnx keeps one": lambda steps: len(set(steps)) < len(steps),
    "a bend, which parts streets between the same junctions, or where turns are restricted or a barrier stands": (
        lambda steps: len({node for step in steps for node in step}) == 3
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--network", choices=("drive", "walk"), default="drive")
    given = parser.parse_args()
    path, moving = given.path, NETWORKS[given.network]
    try:
        import osmnx as ox  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        print("skipped: osmnx is not installed")
        return 0
    network = read_osm(path, network=moving.name, cost="metres")
    ours = figures_of_report(network.report)
    ways, places = read_plainly(path)
    kept = [way for way in ways if rule_way(moving, way.tags).is_in]
    theirs = [way for way in ways if passes(way.tags, ox._overpass._get_network_filter(moving.name))]
    with tempfile.TemporaryDirectory() as folder:
        by_filter = osmnx_graph(ox, theirs, places, Path(folder), both_ways=not moving.heeds_oneway)
        same_ways = osmnx_graph(ox, kept, places, Path(folder), both_ways=not moving.heeds_oneway)
    show("The ways that each takes itself:", ours, figures_of(by_filter))
    explain_ways(kept, theirs, places, moving)
    missed = show("The ways that veilroute takes, in both:", ours, figures_of(same_ways))
    # Numbers below zero are the other sides of barriers.
    labels = {label for label in network.domain.labels or () if isinstance(label, int) and label > 0}
    num_open = explain_nodes(same_ways, labels, kept, moving)
    num_rings = network.report.num_nodes_alone
    if num_rings:
        print(f"  only counted by veilroute: {num_rings} nodes of rings that lead nowhere, which neither graph has")
    print(f"at most {missed:.2%} apart in edges and metres (limit {LIMIT:.0%}); {num_open} nodes not explained")
    return int(missed > LIMIT or num_open > 0)


def figures_of_report(report: NetworkReport) -> Figures:
    return Figures(report.num_nodes_multi, report.num_edges_multi, report.metres_multi)


if __name__ == "__main__":
    sys.exit(main())
