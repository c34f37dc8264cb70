from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from veilroute.formats import Instance, read_domain, write_movingai

MAP = "type octile\nheight 3\nwidth 4\nmap\n.GS.\n@OTW\n....\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_map_with_any_line_ends(tmp_path: Path, ends: str) -> None:
    domain = vr.read_movingai(write(tmp_path, "a.map", MAP.replace("\n", ends)))
    assert domain.grid is not None
    assert domain.grid.rows() == ["....", "@@@@", "...."]


def test_map_round_trip(tmp_path: Path) -> None:
    domain = vr.generate_rooms(20, 30, seed=3)
    write_movingai(domain, tmp_path / "b.map")
    assert vr.read_movingai(tmp_path / "b.map").sha256 == domain.sha256
    assert read_domain(tmp_path / "b.map", movement=8).num_edges > domain.num_edges


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("hello", "not a Moving AI map"),
        (MAP.replace("height 3", "height 4"), "truncated: the header promises 4 rows, the file has 3"),
        (MAP.replace("height 3", "height 2"), "the header promises 2 rows, the file has 3"),
        (MAP.replace("@OTW", "@OT"), "line 6: ragged row: expected 4 characters, got 3"),
        (MAP.replace("@OTW", "@OT?"), "unknown terrain '\\?'"),
        (MAP.replace("height 3", "height many"), "height: expected a positive whole number"),
        (MAP.replace(".GS.", "@@@@").replace("....", "@@@@"), "at least one free cell"),
    ],
)
def test_bad_maps_say_what_to_change(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(vr.FileFormatError, match=message):
        vr.read_movingai(write(tmp_path, "bad.map", text))


def test_scenarios_are_rows_and_columns(tmp_path: Path) -> None:
    text = "version 1\n3\tmaps/dao/a.map\t4\t3\t1\t0\t2\t2\t3.41421\n"
    (scenario,) = vr.read_scenarios(write(tmp_path, "a.map.scen", text))
    assert scenario.map_name == "a.map"
    assert scenario.start == (0, 1)
    assert scenario.goal == (2, 2)
    assert scenario.bucket == 3


@pytest.mark.parametrize("text", ["", "version 1\n", "version 1\n0 a.map 4 3 x 0 2 2 3\n", "some text here\n"])
def test_bad_scenarios_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(vr.FileFormatError):
        vr.read_scenarios(write(tmp_path, "bad.scen", text))


AUTHORS = "3 4\n0 1 1\n1 0 1\n1 2 2.5\n2 1 2.5\n0 2\n1\n1\nanything else\n"


def test_authors_format(tmp_path: Path) -> None:
    problem = vr.read_instance(write(tmp_path, "a.in", AUTHORS)).problem
    assert problem.domain.num_edges == 4
    assert problem.domain.costs.tolist() == [1, 1, 2.5, 2.5]
    assert problem.trips[0] == vr.Trip(0, 2)
    assert problem.candidates == (1,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("3", "the file ends before the number of edges"),
        ("3 400\n0 1 1\n", "truncated: 400 edges promised"),
        (AUTHORS.replace("1 2 2.5", "1 2 -1"), "line 4: expected the cost of edge 2 as a finite number >= 0, got -1"),
        (AUTHORS.replace("1 2 2.5", "1 2 nan"), "line 4: expected the cost of edge 2 as a finite number >= 0, got nan"),
        (AUTHORS.replace("1 2 2.5", "1 2 far"), "the cost of edge 2"),
        (AUTHORS.replace("1 2 2.5", "1 9 2.5"), r"edges\[2\].head"),
        (AUTHORS.replace("0 2\n1\n1\n", "0 2\n2\n1\n"), "expected a candidate as a whole number"),
        (AUTHORS.replace("0 2\n1\n1\n", "0 2\n1\n7\n"), r"candidates\[0\]"),
        ("3 0\n0 2\n5\n", "the file ends before a candidate"),
    ],
)
def test_bad_authors_files_say_what_to_change(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(vr.FileFormatError, match=message):
        vr.read_instance(write(tmp_path, "bad.in", text))


def test_authors_round_trip_and_what_is_lost(tmp_path: Path, two_rooms: vr.Domain) -> None:
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(1, 3), (2, 2)], vr.WithinDistance(1))
    lost = vr.write_instance(Instance(problem), tmp_path / "a.in")
    assert lost == ["privacy", "visibility", "labels"]
    again = vr.read_instance(tmp_path / "a.in").problem
    assert again.candidate_nodes == problem.candidate_nodes
    assert again.domain.costs.tolist() == problem.domain.costs.tolist()
    several = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6)), vr.Trip((0, 0), (0, 1))], [(1, 3)])
    with pytest.raises(vr.InvalidInputError, match="one trip"):
        vr.write_instance(Instance(several), tmp_path / "b.in")


def instance_data() -> dict[str, Any]:
    return {
        "format": "veilroute-instance/1",
        "domain": {"grid": {"map": ["....", ".@@.", "...."], "movement": 4}},
        "trips": [{"start": [0, 0], "goal": [2, 3]}],
        "candidates": [[0, 2], [2, 0]],
        "visibility": {"kind": "within-distance", "radius": 1},
        "privacy": {"k": 2, "ell": 2, "m": None, "spread": "all-pairs"},
    }


def test_json_instances_of_every_kind_round_trip(tmp_path: Path) -> None:
    graph = {"graph": {"num_nodes": 3, "edges": [[0, 1, 1], [1, 2, 0.5]], "coordinates": [[0, 0], [1, 0], [2, 0]]}}
    variants = [
        instance_data(),
        instance_data() | {"visibility": {"kind": "line-of-sight", "range": 3}},
        instance_data() | {"visibility": {"kind": "explicit", "sees": {"0,0": [[0, 2], [2, 0]]}}},
        instance_data()
        | {"domain": graph, "trips": [{"start": 0, "goal": 2, "weight": 2}], "candidates": [1]}
        | {"visibility": {"kind": "explicit", "sees": {"0": [1]}}},
    ]
    for number, data in enumerate(variants):
        path = write(tmp_path, f"{number}.json", json.dumps(data))
        instance = vr.read_instance(path)
        assert vr.write_instance(instance, tmp_path / "again.json") == []
        again = vr.read_instance(tmp_path / "again.json")
        assert again.privacy == instance.privacy
        assert again.problem.trips == instance.problem.trips
        assert again.problem.candidates == instance.problem.candidates
        assert again.problem.visibility == instance.problem.visibility
        assert again.problem.domain.sha256 == instance.problem.domain.sha256


def test_json_may_name_a_map_beside_it(tmp_path: Path) -> None:
    write(tmp_path, "a.map", MAP)
    data = instance_data() | {"domain": {"grid": {"map": "a.map"}}, "trips": [{"start": [0, 0], "goal": [0, 3]}]}
    data["candidates"] = [[0, 1], [0, 2]]
    assert vr.read_instance(write(tmp_path, "a.json", json.dumps(data))).problem.domain.num_nodes == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "veilroute-instance/9"}, "format veilroute-instance/1"),
        ({"domain": {"sphere": 1}}, "domain: expected"),
        ({"domain": {"grid": {"map": ["..", "."]}}}, r"grid.map\[1\]"),
        ({"domain": {"grid": {"map": [1, 2]}}}, "rows of text"),
        ({"domain": {"grid": {"map": ["...."], "movement": 5}}}, "grid.movement"),
        ({"domain": {"grid": {"map": "missing.map"}}}, "missing.map: no such file"),
        ({"domain": {"graph": {"num_nodes": 2, "edges": [[0, 1]]}}}, r"edges\[0\]"),
        ({"domain": {"graph": {"num_nodes": 2, "edges": [[0, 1, -2]]}}}, r"edges\[0\].cost"),
        ({"domain": {"graph": {"num_nodes": 2, "edges": [], "labels": 4}}}, "labels"),
        ({"trips": 4}, "trips: expected a list"),
        ({"trips": [{"start": [0, 0]}]}, r"trips\[0\]"),
        ({"trips": [{"start": [1, 1], "goal": [2, 3]}]}, "inside a wall"),
        ({"candidates": None}, "candidates: expected a list"),
        ({"candidates": [[9, 9]]}, r"candidates\[0\]: expected a cell on the map"),
        ({"privacy": {"k": 2, "color": 1}}, "privacy"),
        ({"privacy": {"ell": -2}}, "Privacy.ell"),
    ],
)
def test_bad_json_instances_say_what_to_change(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write(tmp_path, "bad.json", json.dumps(instance_data() | change))
    with pytest.raises(vr.FileFormatError, match=message):
        vr.read_instance(path)


def test_unknown_suffixes_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(vr.InvalidInputError, match=r"one of \.json, \.in"):
        vr.read_instance(tmp_path / "a.txt")
    with pytest.raises(vr.FileFormatError, match="no such file"):
        vr.read_instance(tmp_path / "a.json")
    with pytest.raises(vr.FileFormatError, match="directory"):
        vr.read_movingai(tmp_path)
