from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

import veilroute as vr
from osm_files import Row, on_grid, write_osm
from veilroute.domain import street_domain
from veilroute.formats import read_domain

ROWS: list[Row] = [(1, [11, 12, 13], {"highway": "residential", "name": "Main"}), (2, [13, 23], {"highway": "primary"})]


@pytest.fixture
def network(tmp_path: Path) -> vr.StreetNetwork:
    path = write_osm(tmp_path / "a.osm", [*ROWS, (3, [13, 14], {"highway": "tertiary"})], on_grid(11, 12, 13, 14, 23))
    return vr.read_osm(path)


@pytest.mark.parametrize("name", ["city.json", "city.npz"])
def test_round_trip(tmp_path: Path, network: vr.StreetNetwork, name: str) -> None:
    path = tmp_path / name
    vr.write_network(network, path)
    again = vr.read_network(path)
    assert again.sha256 == network.domain.sha256
    assert again.streets is not None
    assert network.domain.streets is not None
    assert again.streets.names == network.domain.streets.names
    assert again.streets.shape.tolist() == network.domain.streets.shape.tolist()
    assert read_domain(path).sha256 == network.domain.sha256
    first = path.read_bytes()
    vr.write_network(again, path)
    assert (path.read_bytes() == first) == (name == "city.npz"), "a domain alone has no report"
    vr.write_network(network, path)
    assert path.read_bytes() == first


def test_the_report_is_in_the_json(tmp_path: Path, network: vr.StreetNetwork) -> None:
    vr.write_network(network, tmp_path / "city.json")
    data = json.loads((tmp_path / "city.json").read_bytes())
    assert data["format"] == "veilroute-network/1"
    assert data["report"] == network.report.to_dict()


def test_files_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("from,to,cost\n1,2,3\n", encoding="utf-8")
    assert vr.read_network(tmp_path / "a.csv", oneway=True).num_edges == 1
    assert vr.read_network(tmp_path / "a.csv").num_edges == 2
    assert read_domain(tmp_path / "a.csv").num_edges == 2
    (tmp_path / "a.gr").write_text("p sp 2 1\na 1 2 7\n", encoding="ascii")
    assert vr.read_network(tmp_path / "a.gr").costs.tolist() == [7]
    with pytest.raises(vr.InvalidInputError, match="cost: expected nothing: a .csv file says what its costs are"):
        vr.read_network(tmp_path / "a.csv", cost="metres")


@pytest.mark.parametrize(("cost", "expected"), [("seconds", 14.3), ("metres", 139.2)])
def test_the_cost_of_a_graphml_by_its_unit(tmp_path: Path, cost: str, expected: float) -> None:
    graph = nx.MultiDiGraph(crs="epsg:4326")
    graph.add_node(7, x=24.937, y=60.164)
    graph.add_node(8, x=24.936, y=60.165)
    graph.add_edge(7, 8, length=139.2, travel_time=14.3)
    nx.write_graphml(graph, tmp_path / "a.graphml")
    domain = vr.read_network(tmp_path / "a.graphml", cost=cost)
    assert domain.streets is not None
    assert (domain.streets.unit, domain.costs.tolist()) == (cost, [expected])


def test_domains_of_instances_are_still_read(tmp_path: Path) -> None:
    lonlat = [[0.0, 0.0], [0.0, 0.001]]
    domain = street_domain(lonlat=lonlat, tails=[0, 1], heads=[1, 0], costs=[9, 9], lengths=[111, 111], unit="seconds")
    problem = vr.Problem(domain, [vr.Trip(0, 1)], [1])
    for name in ("a.json", "a.in"):
        vr.write_instance(vr.Instance(problem), tmp_path / name)
        assert read_domain(tmp_path / name).num_edges == 2
