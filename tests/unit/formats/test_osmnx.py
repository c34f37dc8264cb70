from __future__ import annotations

import math
from typing import Any

import networkx as nx
import pytest

import veilroute as vr


class Line:
    """Stands in for a shapely LineString, of which only the coordinates are read."""

    def __init__(self, *coords: tuple[float, ...]) -> None:
        self.coords = coords


def crossing(kind: type[nx.Graph] = nx.MultiDiGraph) -> Any:
    """Three junctions near Kamppi: 10 -> 20 twice, 20 <-> 30, and a loop at 30."""
    graph = kind(crs="epsg:4326")
    for label, lon in ((10, 24.90), (20, 24.91), (30, 24.92)):
        graph.add_node(label, x=lon, y=60.17, street_count=2)
    bent = Line((24.90, 60.17), (24.904, 60.171, 3.0), (24.906, 60.171, 3.0), (24.91, 60.17))
    graph.add_edge(10, 20, osmid=1, length=900.0, travel_time=30.0, name="Ring", highway="primary", geometry=bent)
    graph.add_edge(10, 20, osmid=2, length=560.0, travel_time=60.0, name=["Short", "Lane"], highway="service")
    graph.add_edge(20, 30, osmid=[3, 4], length=560, travel_time=40.5, highway=["tertiary", "residential"], ref="E75")
    graph.add_edge(30, 20, osmid=[3, 4], length=560, travel_time=40.5, name=math.nan, geometry=math.nan)
    graph.add_edge(30, 30, osmid=5, length=100.0, travel_time=9.0)
    return graph


def test_time_is_the_cost_where_every_edge_has_one() -> None:
    domain = vr.domain_from_osmnx(crossing())
    assert domain.labels == (10, 20, 30)
    assert domain.indices.tolist() == [1, 2, 1]
    assert domain.costs.tolist() == [30.0, 40.5, 40.5]
    streets = domain.streets
    assert streets is not None
    assert streets.unit == "seconds"
    assert streets.lengths.tolist() == [900.0, 560.0, 560.0]
    assert [streets.name(edge) for edge in range(3)] == ["Ring", "E75", ""]
    assert [streets.kind(edge) for edge in range(3)] == ["primary", "residential", ""]
    assert streets.line(0, 1, 0).tolist() == [[24.90, 60.17], [24.904, 60.171], [24.906, 60.171], [24.91, 60.17]]
    assert streets.line(1, 2, 1).tolist() == [[24.91, 60.17], [24.92, 60.17]]
    assert "OpenStreetMap" in streets.attribution


def test_length_on_request_keeps_the_other_parallel_edge() -> None:
    domain = vr.domain_from_osmnx(crossing(), cost="length")
    assert domain.costs.tolist() == [560, 560, 560]
    assert domain.streets is not None
    assert domain.streets.unit == "metres"
    assert domain.streets.name(0) == "Lane / Short"
    assert domain.streets.shape.size == 0


def test_length_is_the_cost_where_some_edge_has_no_time() -> None:
    graph = crossing()
    del graph.edges[20, 30, 0]["travel_time"]
    domain = vr.domain_from_osmnx(graph)
    assert domain.streets is not None
    assert domain.streets.unit == "metres"
    with pytest.raises(
        vr.InvalidInputError, match=r"edge 20 -> 30: .*add_edge_speeds\(G\) and then ox.add_edge_travel"
    ):
        vr.domain_from_osmnx(graph, cost="travel_time")


def test_undirected_graphs_count_both_ways_and_turn_the_bends() -> None:
    # The line is drawn from the head here, as OSMnx may do.
    graph = nx.MultiGraph(crs="epsg:4326")
    graph.add_node(0, x=24.90, y=60.17)
    graph.add_node(1, x=24.91, y=60.17)
    graph.add_edge(0, 1, length=700.0, geometry=Line((24.91, 60.17), (24.906, 60.18), (24.902, 60.18), (24.90, 60.17)))
    domain = vr.domain_from_osmnx(graph)
    assert domain.labels is None
    assert domain.num_edges == 2
    assert domain.streets is not None
    assert domain.streets.line(0, 1, 0)[1:3, 0].tolist() == [24.902, 24.906]
    assert domain.streets.line(1, 0, 1)[1:3, 0].tolist() == [24.906, 24.902]
    assert domain.streets.attribution == ""


def test_a_line_that_ends_beside_its_node_keeps_that_end() -> None:
    graph = crossing()
    graph.edges[20, 30, 0]["geometry"] = Line((24.91, 60.17), (24.9199, 60.17))
    domain = vr.domain_from_osmnx(graph)
    assert domain.streets is not None
    assert domain.streets.line(1, 2, 1)[:, 0].tolist() == [24.91, 24.9199, 24.92]


def test_names_become_printable() -> None:
    graph = crossing()
    graph.edges[20, 30, 0]["name"] = "Iso\u00a0Roobertin\u200bkatu\n"
    domain = vr.domain_from_osmnx(graph)
    assert domain.streets is not None
    assert domain.streets.name(1) == "Iso Roobertin katu"


def spoiled(edge: dict[str, Any] | None = None, node: dict[str, Any] | None = None, **about: object) -> Any:
    graph = crossing()
    graph.edges[20, 30, 0].update(edge or {})
    graph.nodes[20].update(node or {})
    graph.graph.update(about)
    return graph


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (spoiled(crs="EPSG:32635"), r"graph crs: expected longitude and latitude .*to_latlong=True.*'EPSG:32635'"),
        (spoiled(crs=None, node={"x": 385000.0}), r"node 20: expected x and y in degrees; .*\(385000.0, 60.17\)"),
        (spoiled(node={"x": math.nan}), "node 20: expected x and y in degrees"),
        (spoiled(node={"x": None}), "node 20: expected x and y, its longitude and latitude"),
        (spoiled(edge={"length": "far"}), "edge 20 -> 30: expected a number as its length, got 'far'"),
        (spoiled(edge={"travel_time": -1}), "edge 20 -> 30: expected a finite travel_time >= 0, got -1.0"),
        (spoiled(edge={"geometry": "POINT (1 2)"}), "edge 20 -> 30: expected a LineString as its geometry"),
        (spoiled(edge={"geometry": 5}), "edge 20 -> 30: expected a LineString as its geometry, got 'int'"),
        ("Helsinki", "graph: expected a graph made by OSMnx, got 'str'"),
        (nx.MultiDiGraph(), "expected an integer from 1"),
    ],
)
def test_other_graphs_are_refused_in_one_line(graph: Any, message: str) -> None:
    with pytest.raises(vr.InvalidInputError, match=message) as caught:
        vr.domain_from_osmnx(graph)
    assert "\n" not in str(caught.value)


def test_other_costs_are_refused() -> None:
    with pytest.raises(vr.InvalidInputError, match="cost: expected length or travel_time, got 'beauty'"):
        vr.domain_from_osmnx(crossing(), cost="beauty")


def test_degrees_by_any_name() -> None:
    for crs in ("EPSG:4326", "OGC:CRS84", 'GEOGCRS["WGS 84"]', "+proj=longlat +datum=WGS84", None):
        assert vr.domain_from_osmnx(spoiled(crs=crs)).num_edges == 3


def test_plain_networkx_multigraphs_keep_the_cheapest_and_read_text() -> None:
    graph = nx.MultiDiGraph()
    graph.add_edge("a", "b", weight="2.5")
    graph.add_edge("a", "b", weight="1.5")
    assert vr.Domain.from_networkx(graph).costs.tolist() == [1.5]
    graph.add_edge("a", "b", weight="far")
    with pytest.raises(vr.InvalidInputError, match="edges.cost: expected numbers >= 0"):
        vr.Domain.from_networkx(graph)
    for attributes in ({"x": "east", "y": 1}, {"x": None, "y": 1}, {"pos": (1, 2, 3)}, {"pos": 5}):
        place = nx.DiGraph()
        place.add_node("a", **attributes)
        with pytest.raises(vr.InvalidInputError, match="coordinates: expected numbers as x and y"):
            vr.Domain.from_networkx(place)
