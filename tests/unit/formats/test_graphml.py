from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

import veilroute as vr

# As OSMnx saves it: everything is text, and keys come in any order.
OSMNX = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d9" for="edge" attr.name="travel_time" attr.type="string" />
  <key id="d8" for="edge" attr.name="geometry" attr.type="string" />
  <key id="d7" for="edge" attr.name="length" attr.type="string" />
  <key id="d6" for="edge" attr.name="name" attr.type="string" />
  <key id="d5" for="edge" attr.name="highway" attr.type="string" />
  <key id="d4" for="edge" attr.name="osmid" attr.type="string" />
  <key id="d3" for="node" attr.name="x" attr.type="string" />
  <key id="d2" for="node" attr.name="y" attr.type="string" />
  <key id="d1" for="graph" attr.name="crs" attr.type="string" />
  <graph edgedefault="directed">
    <node id="10"><data key="d2">60.17</data><data key="d3">24.90</data></node>
    <node id="20"><data key="d2">60.17</data><data key="d3">24.91</data></node>
    <edge source="10" target="20" id="0">
      <data key="d4">[1, 2]</data><data key="d5">primary</data><data key="d6">['Ring', "Bishop's Way"]</data>
      <data key="d7">700.5</data><data key="d8">LINESTRING (24.9 60.17, 24.905 60.18, 24.91 60.17)</data>
      <data key="d9">50.25</data>
    </edge>
    <edge source="20" target="10" id="0">
      <data key="d4">3</data><data key="d6">[East] Side</data><data key="d7">560.0</data><data key="d9">40.0</data>
    </edge>
    <data key="d1">epsg:4326</data>
  </graph>
</graphml>
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "some.graphml"
    path.write_text(text, encoding="utf-8")
    return path


def test_files_of_osmnx_are_streets(tmp_path: Path) -> None:
    domain = vr.read_graphml(write(tmp_path, OSMNX))
    assert domain.labels == (10, 20)
    assert domain.costs.tolist() == [50.25, 40.0]
    streets = domain.streets
    assert streets is not None
    assert (streets.unit, streets.lengths.tolist()) == ("seconds", [700.5, 560.0])
    assert [streets.name(0), streets.name(1)] == ["Bishop's Way / Ring", "[East] Side"]
    assert [streets.kind(0), streets.kind(1)] == ["primary", ""]
    assert streets.line(0, 1, 0).tolist() == [[24.9, 60.17], [24.905, 60.18], [24.91, 60.17]]
    assert "OpenStreetMap" in streets.attribution
    metres = vr.read_graphml(write(tmp_path, OSMNX), cost="length")
    assert metres.costs.tolist() == [700.5, 560.0]


def test_files_of_networkx_are_plain_graphs(tmp_path: Path) -> None:
    graph = nx.DiGraph()
    graph.add_node("depot", x=0, y=1.5)
    graph.add_node("bank", x=2, y=3)
    graph.add_edge("depot", "bank", weight=2, scenic=0.5, name="Lane")
    graph.add_edge("bank", "depot", weight=3, scenic=0.25)
    nx.write_graphml(graph, tmp_path / "a.graphml")
    domain = vr.read_graphml(tmp_path / "a.graphml")
    assert domain.sha256 == vr.Domain.from_networkx(graph).sha256
    assert domain.has_integer_costs
    assert domain.coordinates is not None
    assert domain.coordinates.tolist() == [[0, 1.5], [2, 3]]
    assert vr.read_graphml(tmp_path / "a.graphml", cost="scenic").costs.tolist() == [0.5, 0.25]
    with pytest.raises(vr.FileFormatError, match=r"edges with charm, or .* \(weight, scenic\)"):
        vr.read_graphml(tmp_path / "a.graphml", cost="charm")
    with pytest.raises(vr.FileFormatError, match="edge bank -> depot: expected a number as its name, got 'none'"):
        graph.edges["depot", "bank"]["name"] = "7"
        nx.write_graphml(graph, tmp_path / "b.graphml")
        vr.read_graphml(tmp_path / "b.graphml", cost="name")


def test_undirected_graphs_and_edges_count_both_ways(tmp_path: Path) -> None:
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, 4, "length")
    nx.write_graphml(graph, tmp_path / "a.graphml")
    domain = vr.read_graphml(tmp_path / "a.graphml")
    assert domain.labels is None
    assert domain.unit_cost == 4
    assert domain.num_edges == 4
    text = (tmp_path / "a.graphml").read_text()
    mixed = write(tmp_path, text.replace('source="0"', 'directed="true" source="0"'))
    assert vr.read_graphml(mixed).num_edges == 3


def test_defaults_of_keys_count(tmp_path: Path) -> None:
    key = '<key id="w" for="edge" attr.name="cost" attr.type="int"><default>7</default></key>'
    edges = '<edge source="a" target="b"/><edge source="b" target="a"><data key="w">2</data></edge>'
    graph = f'<graph edgedefault="directed"><node id="a"/><node id="b"/>{edges}</graph>'
    assert vr.read_graphml(write(tmp_path, f"<graphml>{key}{graph}</graphml>")).costs.tolist() == [7, 2]


def test_without_any_cost_the_error_lists_what_is_there(tmp_path: Path) -> None:
    graph = nx.path_graph(3, create_using=nx.DiGraph)
    nx.set_edge_attributes(graph, 4, "minutes")
    nx.set_edge_attributes(graph, "red", "colour")
    nx.write_graphml(graph, tmp_path / "a.graphml")
    with pytest.raises(vr.FileFormatError, match=r"edges with weight or cost or length, or .* \(minutes\)"):
        vr.read_graphml(tmp_path / "a.graphml")


def test_ids_with_leading_zeros_stay_text(tmp_path: Path) -> None:
    graph = nx.relabel_nodes(nx.path_graph(2, create_using=nx.DiGraph), {0: "007", 1: "8"})
    nx.set_edge_attributes(graph, 1, "weight")
    nx.write_graphml(graph, tmp_path / "a.graphml")
    assert vr.read_graphml(tmp_path / "a.graphml").labels == ("007", "8")


PARTS = """<graphml><key id="w" for="edge" attr.name="cost"/>
<edge source="a" target="b"><data key="w">1</data></edge>
<graph edgedefault="directed"><node id="a"/><node id="b"/>
<edge source="a" target="b"><data key="w">5<x/>0</data></edge></graph>
<edge source="b" target="a"><data key="w">1</data></edge></graphml>
"""


def test_text_after_a_part_and_edges_outside_the_graph_do_not_count(tmp_path: Path) -> None:
    domain = vr.read_graphml(write(tmp_path, PARTS))
    assert [array.tolist() for array in domain.edge_arrays()] == [[0], [1], [5.0]]
