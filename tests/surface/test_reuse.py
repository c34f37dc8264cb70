"""`veilroute plan --reuse`: a later trip with the classes of an earlier playbook."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused

BACK = ("--start", "32,60", "--goal", "1,18")


def classes_of(path: Path) -> set[frozenset[object]]:
    return {frozenset(group.members) for group in vr.read_playbook(path).classes if group.anonymized}


def test_the_way_back_keeps_the_classes(command: Command, building: Path, planned: Path, tmp_path: Path) -> None:
    done = command("plan", building, *BACK, "--radius", 2, "--reuse", planned, "-o", "back.json")
    assert done.code == 0, done.err
    assert classes_of(tmp_path / "back.json") == classes_of(planned)
    assert vr.read_playbook(tmp_path / "back.json").candidates == vr.read_playbook(planned).candidates
    assert command("audit", "back.json").code == 0
    named = command("plan", building, *BACK, "--radius", 2, "--reuse", planned, "--planner", "reuse", "--json")
    result = json.loads(named.out)
    assert (result["planner"], result["status"], result["mac_lower_bound"]) == ("reuse", "feasible", None)


def test_a_finite_m_an_instance_file_and_classes_that_fall_short(
    command: Command, building: Path, planned: Path
) -> None:
    earlier = vr.read_playbook(planned)
    problem = vr.Problem(vr.read_movingai(building), [vr.Trip((32, 60), (1, 18))], earlier.candidates[:8])
    vr.write_instance(vr.Instance(problem, vr.Privacy(m=9)), "back.json")
    result = json.loads(command("plan", "back.json", "--reuse", planned, "--json").out)
    assert result["num_candidates"] == 8
    assert all(len(group["prefix"]) == 9 for group in result["classes"] if group["anonymized"])
    largest = max(map(len, classes_of(planned)))
    done = command("plan", building, *BACK, "-k", largest + 1, "--reuse", planned)
    assert done.code == 3
    assert f"k={largest + 1}" in done.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--planner", "optimal"), ("--planner", "reuse, or none named, with --reuse", "optimal")),
        (("--partitioner", "naive"), ("--partitioner", "none with --reuse")),
        (("--merge-order", "random"), ("--merge-order", "none with --reuse")),
        (("--candidates", "2,2 30,10"), ("candidates that the reused partition knows", "plan --ledger")),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    command: Command, building: Path, planned: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_refused(command("plan", building, *BACK, "--reuse", planned, *options), *words)
    assert_refused(command("plan", building, *BACK, "--random-candidates", 6, "--planner", "reuse"), "--reuse")
    assert_refused(command("plan", building, *BACK, "--reuse", "nowhere.json"), "no such file")
    assert_refused(command("plan", building, *BACK, "--reuse", building))
