"""The auditor must find each fault that is planted into a real playbook file, and nothing in an untouched one."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from risk_plans import with_risk
from veilroute import playbook_from_json
from veilroute.auditing import survey_problem
from veilroute.cli.main import run

Data = dict[str, Any]

NUM_CANDIDATES = 8


def rooms_problem(*, num_trips: int = 1, visibility: vr.Visibility | None = None, movement: int = 4) -> vr.Problem:
    domain = vr.generate_rooms(26, 34, seed=11, movement=movement)
    return sampled_problem(domain, num_trips, visibility)


def streets_problem() -> vr.Problem:
    return sampled_problem(vr.generate_streets(7, 8, seed=4), 1, vr.WithinDistance(60))


def sampled_problem(domain: vr.Domain, num_trips: int, visibility: vr.Visibility | None) -> vr.Problem:
    rng = random.Random(5)
    labels = [domain.label(node) for node in rng.sample(range(domain.num_nodes), NUM_CANDIDATES + 2 * num_trips)]
    ends = labels[NUM_CANDIDATES:]
    trips = [vr.Trip(ends[2 * i], ends[2 * i + 1], 1.0 + i) for i in range(num_trips)]
    return vr.Problem(domain, trips, labels[:NUM_CANDIDATES], visibility or vr.AtNode())


@pytest.fixture(scope="module")
def honest() -> Data:
    """A playbook on a generated building, as plain data."""
    return plain(with_risk(vr.solve(rooms_problem(), vr.Privacy(k=2, ell=4))))


def plain(playbook: vr.Playbook) -> Data:
    data: Data = json.loads(playbook.to_json())
    return data


def rebuilt(data: Data) -> vr.Playbook:
    """The playbook of this data, also where members have routes of their own, which no file of these may have."""
    data = copy.deepcopy(data)
    own = []
    for group in data["classes"]:
        own.append([item for item in group["routes"] if "member" in item])
        group["routes"] = [item for item in group["routes"] if "member" not in item]
    book = playbook_from_json(json.dumps(data).encode())
    classes = []
    for group, items in zip(book.classes, own, strict=True):
        routes: dict[tuple[int, Hashable], vr.Route] = {}
        for item in items:
            nodes = tuple(map(tuple, item["route"]))
            routes[item["trip"], tuple(item["member"])] = vr.Route(nodes, item["cost"], item["trip"])
        classes.append(replace(group, member_routes=routes) if routes else group)
    return replace(book, classes=tuple(classes))


# Each fault changes the data of a playbook and returns words that the evidence must hold.


def plant_jump(data: Data) -> list[str]:
    route = data["classes"][0]["routes"][0]["route"]
    del route[4]
    return ["do not touch", str(tuple(route[3])), str(tuple(route[4])), "nodes 4 and 5"]


def plant_unknown_node(data: Data) -> list[str]:
    route = data["classes"][0]["routes"][0]["route"]
    route[3] = [0, 0]
    return ["(0, 0)", "not in the domain", "node 4"]


def plant_wrong_goal(data: Data) -> list[str]:
    route = data["classes"][0]["routes"][0]["route"]
    route.pop()
    return ["ends at", str(tuple(data["trips"][0]["goal"]))]


def plant_left_out_member(data: Data) -> list[str]:
    for group in data["classes"]:
        for other in data["classes"]:
            route = other["routes"][0]
            missed = [member for member in group["members"] if member not in route["route"]]
            if missed:
                group["routes"][0] = copy.deepcopy(route)
                return ["leaves it out", str(tuple(missed[0]))]
    raise AssertionError("every route covers everyone")


def plant_member_too_few(data: Data) -> list[str]:
    group = next(group for group in data["classes"] if len(group["members"]) == 2)
    gone = group["members"].pop()
    data["classes"].append({"members": [gone], "anonymized": False, "routes": copy.deepcopy(group["routes"])})
    return [str(tuple(group["members"][0])), "1 where 2 are needed"]


def plant_members_too_close(data: Data) -> list[str]:
    data["privacy"]["ell"] = 70
    return ["apart", "70", "only"]


def plant_cost_too_low(data: Data) -> list[str]:
    route = data["classes"][1]["routes"][0]
    route["cost"] -= 2
    return ["too low", f"{route['cost']:g}", f"{route['cost'] + 2:g}"]


def plant_cost_too_high(data: Data) -> list[str]:
    data["classes"][1]["routes"][0]["cost"] *= 1.001
    return ["too high"]


def plant_different_routes(data: Data) -> list[str]:
    group = data["classes"][0]
    own = copy.deepcopy(group["routes"][0])
    own["route"] = own["route"][:2] + own["route"][:1] + own["route"][1:]
    own["cost"] += 2
    own["member"] = group["members"][1]
    group["routes"].append(own)
    return ["different routes", str(tuple(group["members"][0])), str(tuple(group["members"][1])), "node 3"]


def plant_detour(data: Data) -> list[str]:
    route = data["classes"][0]["routes"][0]
    route["route"] = route["route"][:2] + route["route"][:1] + route["route"][1:]
    route["cost"] += 2
    return ["worse than", f"{data['claims']['mac']:.9g}"]


def plant_worse_partition(data: Data) -> list[str]:
    """Merge two classes into one and walk both routes one after the other; all figures are made consistent."""
    first, second = data["classes"][:2]
    there, then = first["routes"][0], second["routes"][0]
    there["route"] += there["route"][-2::-1] + then["route"][1:]
    there["cost"] = len(there["route"]) - 1
    first["members"] += second["members"]
    del data["classes"][1]
    settle_claims(data)
    return ["is possible"]


def settle_claims(data: Data) -> None:
    """Make MAC and bound agree with the routes."""
    survey = survey_problem(rebuilt(data).problem)
    base = survey.trips[0].base_costs
    extra, ratios = [], []
    for group in data["classes"]:
        for member in group["members"]:
            candidate = survey.find(member)
            assert candidate is not None
            extra.append(group["routes"][0]["cost"] - base[candidate])
            ratios.append(extra[-1] / base[candidate])
    mac = sum(ratios) / len(ratios)
    data["claims"] |= {"mac": mac, "mac_by_trip": [mac], "mac_lower_bound": mac}
    data["claims"] |= {"total_extra": sum(extra), "worst_extra": max(extra), "expected_mac": mac}
    data["claims"] = plain(with_risk(rebuilt(data)))["claims"]


UNSOUND = {"class-size", "anonymized", "risk", "apr", "mac", "extra-cost", "expected-mac", "optimality"}
"""What a class breaks whose members can be told apart, or have no walk."""

FAULTS: dict[str, tuple[Callable[[Data], list[str]], str]] = {
    "jump": (plant_jump, "walk"),
    "unknown node": (plant_unknown_node, "walk"),
    "wrong goal": (plant_wrong_goal, "walk"),
    "left-out member": (plant_left_out_member, "coverage"),
    "member too few": (plant_member_too_few, "class-size"),
    "members too close": (plant_members_too_close, "spread"),
    "cost too low": (plant_cost_too_low, "cost"),
    "cost too high": (plant_cost_too_high, "cost"),
    "different routes": (plant_different_routes, "same-route"),
    "detour breaks MAC": (plant_detour, "mac"),
    "detour breaks optimality": (plant_detour, "optimality"),
    "worse partition": (plant_worse_partition, "optimality"),
    "bound of a worse partition": (plant_worse_partition, "bound"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found_and_named(honest: Data, name: str) -> None:
    plant, claim = FAULTS[name]
    data = copy.deepcopy(honest)
    words = plant(data)
    report = vr.audit(rebuilt(data))
    verdict = next(v for v in report.claims if v.claim == claim)
    assert not report.holds
    assert not verdict.holds
    for word in words:
        assert word in verdict.evidence
    assert f"VIOLATED  {claim} " in report.to_text()
    assert "Do not rely on this playbook" in report.to_text().splitlines()[0]


@pytest.mark.parametrize("name", FAULTS)
def test_fault_sets_the_exit_code(honest: Data, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant, claim = FAULTS[name]
    data = copy.deepcopy(honest)
    plant(data)
    path = tmp_path / "playbook.json"
    path.write_text(json.dumps(data))
    if plant is plant_different_routes:
        assert run(["audit", str(path), "--json"]) == 2
        assert "no routes of single members" in capsys.readouterr().err
        return
    assert run(["audit", str(path), "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert not printed["holds"]
    assert claim in [entry["claim"] for entry in printed["claims"] if not entry["holds"]]


@pytest.mark.parametrize(
    ("plant", "broken"),
    [
        (plant_jump, {"walk", *UNSOUND}),
        (plant_cost_too_low, {"cost"}),
        (plant_cost_too_high, {"cost"}),
        (plant_worse_partition, {"bound", "optimality"}),
        (plant_detour, {"mac", "extra-cost", "expected-mac", "optimality"}),
        (plant_different_routes, {"same-route", *UNSOUND}),
    ],
)
def test_fault_breaks_no_claim_it_does_not_touch(
    honest: Data, plant: Callable[[Data], list[str]], broken: set[str]
) -> None:
    data = copy.deepcopy(honest)
    plant(data)
    assert {v.claim for v in vr.audit(rebuilt(data)).claims if not v.holds} == broken


def test_different_routes_reveal_both_members(honest: Data) -> None:
    data = copy.deepcopy(honest)
    plant_different_routes(data)
    members = {tuple(member) for member in data["classes"][0]["members"]}
    steps = vr.audit(rebuilt(data)).anonymity
    assert members.isdisjoint(steps[1].revealed)
    assert members <= set(steps[-1].revealed)


@pytest.mark.parametrize(
    ("problem", "privacy"),
    [
        (rooms_problem(), vr.Privacy(k=2, ell=4)),
        (rooms_problem(), vr.Privacy(k=3, ell=4, spread="all-pairs")),
        (rooms_problem(movement=8), vr.Privacy(k=2, ell=4.5)),
        (rooms_problem(visibility=vr.LineOfSight(5)), vr.Privacy(k=2, ell=4)),
        (rooms_problem(visibility=vr.WithinDistance(3)), vr.Privacy(k=2, ell=4)),
        (rooms_problem(num_trips=2), vr.Privacy(k=2, ell=4)),
        (rooms_problem(num_trips=2), vr.Privacy(k=2, ell=60)),
        (rooms_problem(), vr.Privacy(k=2, ell=10_000)),
        (streets_problem(), vr.Privacy(k=2, ell=150)),
    ],
    ids=["grid", "all-pairs", "8-way", "sight", "within", "two trips", "far apart", "infeasible", "streets"],
)
def test_untouched_playbook_passes(problem: vr.Problem, privacy: vr.Privacy, tmp_path: Path) -> None:
    path = tmp_path / "playbook.json"
    vr.solve(problem, privacy).write(path)
    report = vr.audit(vr.read_playbook(path))
    assert [v for v in report.claims if not v.holds] == []
    assert report.holds
    assert "re-proved: " in next(v.evidence for v in report.claims if v.claim == "optimality")
    assert run(["audit", str(path)]) == 0
