"""Graphs of OSMnx and networkx, in memory and as GraphML: the same network either way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import veilroute as vr


class Line:
    """Stands in for a shapely LineString, of which only the coordinates are read; as text it is one, too."""

    def __init__(self, *coords: tuple[float, ...]) -> None:
        self.coords = coords

    def __str__(self) -> str:
        return f"LINESTRING ({', '.join(f'{spot[0]} {spot[1]}' for spot in self.coords)})"


def crossing(kind: type[nx.Graph] = nx.MultiDiGraph) -> Any:
    """Three junctions near Kamppi: 10 -> 20 twice, 20 <-> 30, and a loop at 30."""
    graph = kind(crs="epsg:4326")
    for label, lon in ((10, 24.90), (20, 24.91), (30, 24.92)):
        graph.add_node(label, x=lon, y=60.17, street_count=2)
    bent = Line((24.90, 60.17), (24.904, 60.171, 3.0), (24.906, 60.171, 3.0), (24.91, 60.17))
    graph.add_edge(10, 20, osmid=1, length=900.0, travel_time=30.0, name="Ring", highway="primary", geometry=bent)
    graph.add_edge(10, 20, osmid=2, length=560.0, travel_time=60.0, name=["Short", "Lane"], highway="service")
    graph.add_edge(20, 30, osmid=[3, 4], length=560, travel_time=40.5, highway=["tertiary", "residential"], ref="E75")
    graph.add_edge(30, 20, osmid=[3, 4], length=560, travel_time=40.5, name="[East] Bishop's\u00a0Way\u200b\n")
    graph.add_edge(30, 30, osmid=5, length=100.0, travel_time=9.0)
    return graph


def in_memory(graph: Any, tmp_path: Path, cost: str | None = None) -> vr.Domain:
    return vr.domain_from_osmnx(graph, **({"cost": cost} if cost else {}))


def in_a_file(graph: Any, tmp_path: Path, cost: str | None = None) -> vr.Domain:
    """As OSMnx saves it: everything is text."""
    text = type(graph)(**{key: str(value) for key, value in graph.graph.items() if value is not None})
    for node, about in graph.nodes(data=True):
        text.add_node(node, **{key: str(value) for key, value in about.items()})
    for a, b, about in graph.edges(data=True):
        text.add_edge(a, b, **{key: str(value) for key, value in about.items()})
    nx.write_graphml(text, tmp_path / "a.graphml")
    return vr.read_graphml(tmp_path / "a.graphml", **({"cost": cost} if cost else {}))


both = pytest.mark.parametrize("read", [in_memory, in_a_file])


@both
def test_time_is_the_cost_if_every_edge_has_one(read: Any, tmp_path: Path) -> None:
    domain = read(crossing(), tmp_path)
    assert domain.labels == (10, 20, 30)
    assert domain.indices.tolist() == [1, 2, 1]
    assert domain.costs.tolist() == [30.0, 40.5, 40.5]
    streets = domain.streets
    assert (streets.unit, streets.lengths.tolist()) == ("seconds", [900.0, 560.0, 560.0])
    assert [streets.name(edge) for edge in range(3)] == ["Ring", "E75", "[East] Bishop's Way"]
    assert [streets.kind(edge) for edge in range(3)] == ["primary", "residential", ""]
    assert streets.line(0, 1, 0).tolist() == [[24.90, 60.17], [24.904, 60.171], [24.906, 60.171], [24.91, 60.17]]
    assert streets.line(1, 2, 1).tolist() == [[24.91, 60.17], [24.92, 60.17]]


@both
def test_length_on_request_keeps_the_other_parallel_edge(read: Any, tmp_path: Path) -> None:
    domain = read(crossing(), tmp_path, "length")
    assert domain.costs.tolist() == [560, 560, 560]
    assert (domain.streets.unit, domain.streets.name(0), domain.streets.shape.size) == ("metres", "Lane / Short", 0)
    graph = crossing()
    del graph.edges[20, 30, 0]["travel_time"]
    assert read(graph, tmp_path).streets.unit == "metres"
    with pytest.raises(vr.InvalidInputError, match="edge 20 -> 30: .*travel_time"):
        read(graph, tmp_path, "travel_time")


def test_undirected_graphs_count_both_ways_and_turn_the_bends() -> None:
    """The line is drawn from the head here, as OSMnx may do; one that ends beside its node keeps that end."""
    graph = nx.MultiGraph(crs="epsg:4326")
    graph.add_node(0, x=24.90, y=60.17)
    graph.add_node(1, x=24.91, y=60.17)
    graph.add_edge(0, 1, length=700.0, geometry=Line((24.91, 60.17), (24.906, 60.18), (24.902, 60.18), (24.90, 60.17)))
    domain = vr.domain_from_osmnx(graph)
    assert (domain.labels, domain.num_edges) == (None, 2)
    assert domain.streets is not None
    assert domain.streets.line(0, 1, 0)[1:3, 0].tolist() == [24.902, 24.906]
    assert domain.streets.line(1, 0, 1)[1:3, 0].tolist() == [24.906, 24.902]
    beside = vr.domain_from_osmnx(spoiled(edge={"geometry": Line((24.91, 60.17), (24.9199, 60.17))}))
    assert beside.streets is not None
    assert beside.streets.line(1, 2, 1)[:, 0].tolist() == [24.91, 24.9199, 24.92]


def spoiled(edge: dict[str, Any] | None = None, node: dict[str, Any] | None = None, **about: object) -> Any:
    graph = crossing()
    graph.edges[20, 30, 0].update(edge or {})
    graph.nodes[20].update(node or {})
    graph.graph.update(about)
    return graph


def test_files_of_networkx_are_plain_graphs(tmp_path: Path) -> None:
    graph, path = nx.DiGraph(), tmp_path / "a.graphml"
    graph.add_node("depot", x=0, y=1.5)
    graph.add_node("007", x=2, y=3)
    graph.add_edge("depot", "007", weight=2, scenic=0.5, name="7")
    graph.add_edge("007", "depot", weight=3, scenic=0.25)
    nx.write_graphml(graph, path)
    domain = vr.read_graphml(path)
    assert domain.sha256 == vr.Domain.from_networkx(graph).sha256
    assert domain.has_integer_costs and domain.labels == ("depot", "007")
    assert domain.coordinates is not None and domain.coordinates.tolist() == [[0, 1.5], [2, 3]]
    assert vr.read_graphml(path, cost="scenic").costs.tolist() == [0.5, 0.25]
    with pytest.raises(vr.FileFormatError, match="weight, scenic"):
        vr.read_graphml(path, cost="charm")
