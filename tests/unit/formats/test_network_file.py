from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from osm_files import Row, on_grid, write_osm
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
    if name == "city.json":
        data = json.loads(path.read_bytes())
        assert (data["format"], data["report"]) == ("veilroute-network/1", network.report.to_dict())
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
