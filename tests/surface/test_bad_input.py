"""Bad input: exit code 2, one line on standard error that says what to change, no traceback."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused

ENDS = ("--start", "1,18", "--goal", "32,60")
GOOD = (*ENDS, "--random-candidates", "6")
GRAPH = {
    "format": "veilroute-instance/1",
    "domain": {"graph": {"num_nodes": 3, "edges": [[0, 1, 1], [1, 2, 1]]}},
    "trips": [{"start": 0, "goal": 2}],
    "candidates": [1],
}


@pytest.mark.parametrize("name", ["a.map", "a.in", "a.json", "a.scen"])
def test_empty_files(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    assert_refused(command("plan", name, *GOOD), "empty")


@pytest.mark.parametrize("name", ["a.map", "a.in", "a.json", "a.scen"])
def test_random_bytes_as_an_instance(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(random.Random(0).randbytes(10_000_000))
    assert_refused(command("plan", name, *GOOD), name)
    assert_refused(command("convert", name, "out.json", *GOOD), name)


@pytest.mark.parametrize("name", ["audit", "draw", "route"])
def test_random_bytes_as_a_playbook(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "book.json").write_bytes(random.Random(1).randbytes(10_000_000))
    more = {"audit": (), "draw": ("-o", "a.png"), "route": ("--transit", "1,1")}[name]
    # `route` repeats nothing that was typed or read.
    words = (
        ("PLAYBOOK: expected a file made by veilroute plan",) if name == "route" else ("book.json", "not valid JSON")
    )
    assert_refused(command(name, "book.json", *more), *words)


def test_truncated_map(command: Command, building: Path) -> None:
    text = building.read_text()
    building.write_text(text[: len(text) // 2].rsplit("\n", 1)[0] + "\n")
    assert_refused(command("plan", building, *GOOD), "truncated", "36 rows")


def test_ragged_map(command: Command, building: Path) -> None:
    lines = building.read_text().split("\n")
    lines[9] = lines[9][:-3]
    building.write_text("\n".join(lines))
    assert_refused(command("plan", building, *GOOD), "line 10", "ragged", "64")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--start", "0,0", "--goal", "32,60", "--random-candidates", "6"), ("--start", "inside a wall")),
        ((*ENDS, "--candidates", "2,2 99,2"), ("--candidates", "on the map")),
        ((*ENDS, "--candidates", "2,2 2"), ("--candidates", "ROW,COL")),
        ((*ENDS, "--candidates", "2,2 2,2"), ("distinct",)),
        ((*ENDS,), ("--candidates",)),
        (("--random-candidates", "6"), ("--start",)),
        ((*ENDS, "--random-candidates", "99999"), ("random candidates",)),
        ((*GOOD, "--candidates", "2,2"), ("not both",)),
        ((*GOOD, "-k", "0"), ("Privacy.k", ">= 1")),
        ((*GOOD, "-k", "two"), ("-k",)),
        ((*GOOD, "--ell", "-1"), ("Privacy.ell", ">= 0")),
        ((*GOOD, "--ell", "nan"), ("Privacy.ell",)),
        ((*GOOD, "--m", "0"), ("Privacy.m",)),
        ((*GOOD, "--m", "99999999999999999999999"), ("Privacy.m",)),
        ((*GOOD, "--seed", "99999999999999999999999"), ("seed",)),
        ((*GOOD, "--m", "many"), ("--m", "inf")),
        ((*GOOD, "--spread", "wide"), ("Privacy.spread", "witness or all-pairs")),
        ((*GOOD, "--radius", "-2"), ("radius",)),
        ((*GOOD, "--radius", "2", "--sight", "2"), ("not both",)),
        ((*GOOD, "--movement", "6"), ("movement", "4 or 8")),
        ((*GOOD, "--planner", "magic"), ("planner", "optimal, pbp")),
        ((*GOOD, "--planner", "pbp", "--partitioner", "magic"), ("partitioner", "exact")),
        ((*GOOD, "--partitioner", "exact"), ("partitioner", "optimal takes no options")),
        ((*GOOD, "--time-limit", "0"), ("--time-limit", "or none")),
        ((*GOOD, "--time-limit", "soon"), ("--time-limit", "or none")),
        ((*GOOD, "--time-limit", "nan"), ("--time-limit", "or none")),
        ((*GOOD, "--frobnicate"), ("--frobnicate",)),
        ((*ENDS, "--random-candidates", "30", "-k", "13"), ("Privacy.k", "at most 12")),
        ((*GOOD, "-o", "no/such/folder/book.json"), ("--out", "folder")),
    ],
)
def test_bad_options(command: Command, building: Path, options: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert_refused(command("plan", building, *options), *words)


@pytest.mark.parametrize("cost", [-1, "NaN"])
def test_bad_edge_costs(command: Command, tmp_path: Path, cost: object) -> None:
    (tmp_path / "a.in").write_text(f"3 2\n0 1 1\n1 2 {cost}\n0 2\n1\n1\n")
    assert_refused(command("plan", "a.in", "-k", "1"), "the cost of edge 1", ">= 0")
    text = json.dumps(GRAPH).replace("[1, 2, 1]", f"[1, 2, {cost}]")
    (tmp_path / "a.json").write_text(text)
    assert_refused(command("plan", "a.json", "-k", "1"), "a.json")


def test_missing_files_and_unknown_formats(command: Command, tmp_path: Path) -> None:
    assert_refused(command("plan", "nowhere.map", *GOOD), "veilroute maps get")
    assert_refused(command("plan", "nowhere.json"), "no such file")
    assert_refused(command("plan", tmp_path), "one of .in, .json, .map, .scen")
    assert_refused(command("audit", "nowhere.json"), "no such file")
    (tmp_path / "a.json").write_text(json.dumps(GRAPH))
    assert_refused(command("convert", "a.json", "a.xml"), "one of .json, .in, .map")
    assert_refused(command("convert", "a.json", "no/such/folder/b.json"), "check the path")


def test_unreadable_playbooks(command: Command, planned: Path, tmp_path: Path) -> None:
    text = planned.read_text()
    (tmp_path / "half.json").write_text(text[: len(text) // 2])
    assert_refused(command("audit", "half.json"), "half.json", "not valid JSON")
    (tmp_path / "later.json").write_text(text.replace("veilroute-playbook/1", "veilroute-playbook/2"))
    assert_refused(command("audit", "later.json"), "veilroute-playbook/2", "this version reads veilroute-playbook/1")
    (tmp_path / "instance.json").write_text(json.dumps(GRAPH))
    assert_refused(command("audit", "instance.json"), "not a veilroute playbook")
    assert_refused(command("draw", planned, "-o", "a.gif"), ".png, .svg, .pdf")
    assert_refused(command("draw", planned, "-o", "a.png", "--trip", "3"), "trip")
    assert_refused(command("route", planned, "--transit", "0,0", "--format", "xml"), "gpx, geojson, kml or directions")
    assert_refused(command("plan", planned), "not a veilroute instance")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"domain": {"graph": {"num_nodes": 10**18, "edges": []}}}, "num_nodes"),
        ({"domain": {"graph": {"num_nodes": 3, "edges": [[0, 1, 1e300], [1, 2, 1]]}}}, "edges[0].cost"),
        ({"domain": {"graph": {"num_nodes": 3, "edges": [], "labels": ["a", "b", "c\n\u001b[31m"]}}}, "labels"),
        ({"domain": {"grid": {"map": "\u0000"}}}, "null byte"),
        ({"trips": [{"start": 0, "goal": 2, "weight": 1e308}]}, "Trip.weight"),
        ({"format": "veilroute-instance/2\n\u001b[31m"}, "format"),
        ({"privacy": {"a\nb": 1}}, "privacy"),
        ({"candidates": [[[[[[[1]]]]]]]}, "candidates"),
        ({"candidates": [2**70]}, "a.json"),
    ],
)
def test_strange_instances(command: Command, tmp_path: Path, change: dict[str, object], word: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps(GRAPH | change))
    assert_refused(command("plan", "a.json", "-k", "1"), word)


def test_strange_playbooks(command: Command, planned: Path, tmp_path: Path) -> None:
    data = json.loads(planned.read_bytes())
    shared = data["classes"][0]["routes"][0]
    stranger = {"trip": 0, "member": [0, 0], "cost": 1, "route": [[1, 18]]}
    nested: object = 0
    for _ in range(900):
        nested = [nested]
    changes: list[dict[str, object]] = [
        {"classes": [data["classes"][0] | {"routes": [shared, shared]}]},
        {"classes": [data["classes"][0] | {"routes": [shared, stranger]}]},
        {"classes": [data["classes"][0] | {"routes": [shared | {"trip": 0.5}]}]},
        {"uncoverable": {}},
        {"trips": [{"start": nested, "goal": [32, 60]}]},
        {"format": "veilroute-playbook/2\n\u001b[31m"},
    ]
    for change in changes:
        (tmp_path / "strange.json").write_text(json.dumps(data | change))
        assert_refused(command("audit", "strange.json"), "strange.json")


def test_bad_commands(command: Command) -> None:
    assert_refused(command("fly"), "no such command", "demo, plan")
    assert_refused(command("plan"), "INSTANCE")


def test_the_library_raises_and_never_exits(tmp_path: Path) -> None:
    with pytest.raises(vr.FileFormatError):
        vr.read_playbook(tmp_path / "nothing.json")
