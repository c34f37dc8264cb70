from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from sound_files import INSTANCE
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


def test_scenarios_are_rows_and_columns(tmp_path: Path) -> None:
    text = "version 1\n3\tmaps/dao/a.map\t4\t3\t1\t0\t2\t2\t3.41421\n"
    (scenario,) = vr.read_scenarios(write(tmp_path, "a.map.scen", text))
    assert scenario.map_name == "a.map"
    assert scenario.start == (0, 1)
    assert scenario.goal == (2, 2)
    assert scenario.bucket == 3


AUTHORS = "3 4\n0 1 0\n1 0 1\n1 2 2.5\n2 1 2.5\n0 2\n1\n1\nanything else\n"


def test_authors_format(tmp_path: Path) -> None:
    problem = vr.read_instance(write(tmp_path, "a.in", AUTHORS)).problem
    assert problem.domain.num_edges == 4
    assert problem.domain.costs.tolist() == [0, 1, 2.5, 2.5]
    assert problem.trips[0] == vr.Trip(0, 2)
    assert problem.candidates == (1,)


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


def test_json_instances_of_every_kind_round_trip(tmp_path: Path) -> None:
    graph = {"graph": {"num_nodes": 3, "edges": [[0, 1, 1], [1, 2, 0.5]], "coordinates": [[0, 0], [1, 0], [2, 0]]}}
    variants = [
        INSTANCE,
        INSTANCE | {"visibility": {"kind": "line-of-sight", "range": 3}},
        INSTANCE | {"visibility": {"kind": "explicit", "sees": {"0,0": [[0, 2], [2, 0]]}}},
        INSTANCE
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
    data = INSTANCE | {"domain": {"grid": {"map": "a.map"}}, "trips": [{"start": [0, 0], "goal": [0, 3]}]}
    data["candidates"] = [[0, 1], [0, 2]]
    assert vr.read_instance(write(tmp_path, "a.json", json.dumps(data))).problem.domain.num_nodes == 8


def test_unknown_suffixes(tmp_path: Path) -> None:
    with pytest.raises(vr.InvalidInputError, match=r"one of \.json, \.in"):
        vr.read_instance(tmp_path / "a.txt")
    (tmp_path / "a.json").write_text(json.dumps(INSTANCE | {"domain": {"grid": {"map": "missing.map"}}}))
    with pytest.raises(vr.FileFormatError, match=r"missing\.map"):
        vr.read_instance(tmp_path / "a.json")
