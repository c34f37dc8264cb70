from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from sound_files import INSTANCE, write
from veilroute.formats import Instance


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
