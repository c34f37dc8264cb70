"""The auditor must find what is forged about turns, doors and places at one spot, and nothing in an untouched file."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import veilroute as vr
from door_towns import door_problem, winding_town
from veilroute import PlaybookClass, playbook_from_json
from veilroute.auditing import audit_replan
from veilroute.domain import Turns, domain_from_dict, with_rules

Data = dict[str, Any]

PRIVACY = vr.Privacy(k=2, ell=3)


@pytest.fixture(scope="module")
def problem() -> vr.Problem:
    """Eight places beside the streets of a town, two of them where others are."""
    return door_problem(2)


@pytest.fixture(scope="module")
def honest(problem: vr.Problem) -> Data:
    data: Data = json.loads(vr.solve(problem, PRIVACY).to_json())
    return data


def rebuilt(data: Data) -> vr.Playbook:
    """The playbook of some data, with the hash of whatever map is in it now: whoever forges can hash."""
    data["domain_sha256"] = domain_from_dict(data["domain"]).sha256
    return playbook_from_json(json.dumps(data).encode())


def broken(report: vr.AuditReport) -> dict[str, str]:
    return {each.claim: each.evidence for each in report.claims if not each.holds}


def node_numbers(data: Data, labels: list[Any]) -> list[int]:
    graph = data["domain"]["graph"]
    table = {label: node for node, label in enumerate(graph["labels"])} | dict(graph["also"])
    return [table[label] for label in labels]


def is_door(data: Data, label: Any) -> bool:
    return str(label).startswith("Place")


# Each fault changes the data of a playbook and returns words that the evidence must hold.


def plant_banned_turn(data: Data) -> list[str]:
    route = data["classes"][0]["routes"][0]["route"]
    data["domain"]["graph"]["turns"]["banned"].append(node_numbers(data, route[2:5]))
    return ["makes a banned turn", ", ".join(map(str, route[2:5])), "nodes 3 to 5", "Street"]


def plant_banned_stretch(data: Data) -> list[str]:
    route = data["classes"][0]["routes"][0]["route"]
    data["domain"]["graph"]["turns"]["banned"].append(node_numbers(data, route[1:6]))
    return ["makes a banned turn", ", ".join(map(str, route[1:6])), "nodes 2 to 6"]


def plant_turn_at_a_door(data: Data) -> list[str]:
    """To a door and back and to it again, priced rightly."""
    edges = {(tail, head): cost for tail, head, cost in data["domain"]["graph"]["edges"]}
    for group in data["classes"]:
        for route in group["routes"]:
            nodes = node_numbers(data, route["route"])
            for at in range(1, len(nodes) - 1):
                if is_door(data, route["route"][at]) and (nodes[at], nodes[at - 1]) in edges:
                    here, before = route["route"][at], route["route"][at - 1]
                    route["route"][at + 1 : at + 1] = [before, here]
                    route["cost"] += edges[nodes[at - 1], nodes[at]] + edges[nodes[at], nodes[at - 1]]
                    return ["turns round where other streets lead on", f"{before}, {here}, {before}"]
    raise AssertionError("no door on a street for both directions")


def plant_turn_where_none_is_legal(data: Data) -> list[str]:
    plant_turn_at_a_door(data)
    data["domain"]["graph"]["turns"]["u_turns"] = "never"
    return ["turns round: "]


def plant_moved_name(data: Data) -> list[str]:
    """One of two places at one spot is said to be elsewhere: nobody comes past it."""
    graph = data["domain"]["graph"]
    label = graph["also"][0][0]
    home = next(group for group in data["classes"] if label in group["members"])
    passed = set(node_numbers(data, home["routes"][0]["route"]))
    graph["also"][0][1] = next(node for node in range(graph["num_nodes"]) if node not in passed)
    return ["leaves it out", label]


def plant_moved_door(data: Data) -> list[str]:
    plant_moved_name(data)
    return ["stays", "away from it", data["domain"]["graph"]["also"][0][0]]


def plant_cheaper_part(data: Data) -> list[str]:
    """A part of a street, up to a door on it, that costs next to nothing."""
    route = data["classes"][0]["routes"][0]["route"]
    at = next(i for i, label in enumerate(route) if i and is_door(data, label))
    tail, head = node_numbers(data, route[at - 1 : at + 1])
    edge = next(edge for edge in data["domain"]["graph"]["edges"] if edge[:2] == [tail, head])
    edge[2] = 0.01
    return ["too high"]


def plant_moved_place(data: Data) -> list[str]:
    data["places"][-1][1] += 0.001
    return ["places: hashed as"]


FAULTS: dict[str, tuple[Callable[[Data], list[str]], str]] = {
    "banned turn": (plant_banned_turn, "turns"),
    "banned stretch": (plant_banned_stretch, "turns"),
    "turn at a door": (plant_turn_at_a_door, "turns"),
    "turn where none is legal": (plant_turn_where_none_is_legal, "turns"),
    "moved name": (plant_moved_name, "coverage"),
    "moved door": (plant_moved_door, "doors"),
    "cheaper part": (plant_cheaper_part, "cost"),
    "moved place": (plant_moved_place, "shown"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found_and_named(honest: Data, name: str) -> None:
    plant, claim = FAULTS[name]
    data = copy.deepcopy(honest)
    words = plant(data)
    found = broken(vr.audit(rebuilt(data)))
    assert claim in found
    assert [word for word in words if word not in found[claim]] == [], found[claim]


def test_an_illegal_route_hides_nobody(honest: Data) -> None:
    data = copy.deepcopy(honest)
    plant_turn_at_a_door(data)
    assert {"turns", "class-size", "anonymized"} <= set(broken(vr.audit(rebuilt(data))))
    data = copy.deepcopy(honest)
    plant_moved_place(data)
    assert set(broken(vr.audit(rebuilt(data)))) == {"shown"}


def test_two_at_one_spot_do_not_help_each_other(problem: vr.Problem) -> None:
    """Two names at one door are one place at every distance, 0 included."""
    label, node = problem.domain.also[0]
    twins = replace(problem, candidates=[label, problem.domain.label(node)])
    for ell in (0, 1e-9):
        assert vr.solve(twins, vr.Privacy(k=2, ell=ell)).status == "infeasible"
    alone = vr.solve(twins, vr.Privacy(k=1, ell=0))
    (route,) = alone.classes[0].routes
    together = PlaybookClass(tuple(twins.candidates), True, (route,), {})
    forged = replace(alone, classes=(together,), privacy=vr.Privacy(k=2, ell=0))
    assert "anonymized" in broken(vr.audit(forged))


def lift_ban(problem: vr.Problem) -> tuple[vr.Problem, str]:
    turns = problem.domain.turns
    assert turns is not None
    domain = replace(problem.domain, turns=Turns.of(turns.u_turns, turns.banned[1:]))
    return replace(problem, domain=domain), "only the instance bans"


def add_ban(problem: vr.Problem) -> tuple[vr.Problem, str]:
    turns, domain = problem.domain.turns, problem.domain
    assert turns is not None
    tail, head = 0, int(domain.indices[0])
    after = int(domain.indices[domain.indptr[head]])
    return replace(
        problem, domain=replace(domain, turns=Turns.of(turns.u_turns, [*turns.banned, (tail, head, after)]))
    ), "only the playbook bans"


def allow_turning(problem: vr.Problem) -> tuple[vr.Problem, str]:
    turns = problem.domain.turns
    assert turns is not None
    domain = replace(problem.domain, turns=Turns.of("allow", turns.banned))
    return replace(problem, domain=domain), "dead-ends in the instance, allow in the playbook"


def forget_turns(problem: vr.Problem) -> tuple[vr.Problem, str]:
    return replace(problem, domain=with_rules(problem.domain, None, problem.domain.also)), "only the instance has rules"


def move_name(problem: vr.Problem) -> tuple[vr.Problem, str]:
    (label, _), *others = problem.domain.also
    domain = replace(problem.domain, also=((label, 0), *others))
    return replace(problem, domain=domain), f"{label} is not at the same node"


def move_place(problem: vr.Problem) -> tuple[vr.Problem, str]:
    label, (lon, lat) = list(problem.places.items())[-1]
    return replace(problem, places={**problem.places, label: (lon, lat + 0.001)}), f"{label} is 111.2 m away"


def drop_place(problem: vr.Problem) -> tuple[vr.Problem, str]:
    (label, _), *others = problem.places.items()
    return replace(problem, places=dict(others)), f"only the instance says where {label} is"


def shorten_part(problem: vr.Problem) -> tuple[vr.Problem, str]:
    costs = problem.domain.costs.copy()
    costs[-1] = costs[-1] / 2
    return replace(problem, domain=replace(problem.domain, costs=costs)), "costs"


@pytest.mark.parametrize(
    "change",
    [lift_ban, add_ban, allow_turning, forget_turns, move_name, move_place, drop_place, shorten_part],
    ids=lambda change: str(change.__name__),
)
def test_a_plan_for_something_else_is_told_from_what_was_meant(
    problem: vr.Problem, change: Callable[[vr.Problem], tuple[vr.Problem, str]]
) -> None:
    """Whoever plans anew, for easier rules, keeps all claims: only the user's own copy settles it."""
    changed, words = change(problem)
    book = playbook_from_json(vr.solve(changed, PRIVACY).to_json())
    assert broken(vr.audit(book)) == {}
    found = broken(vr.audit(book, instance=problem, privacy=PRIVACY))
    assert set(found) == {"instance"}
    assert words in found["instance"]


def test_turning_round_is_paid_for() -> None:
    """A street with a dead end at which one has to turn; the route costs 7 more than its edges."""
    line = vr.Domain.from_edges(4, [0, 1, 1, 2, 1, 3], [1, 0, 2, 1, 3, 1], [2, 2, 3, 3, 4, 4], labels=list("abcd"))
    domain = with_rules(line, Turns.of("dead-ends", (), 7))
    book = vr.solve(vr.Problem(domain, [vr.Trip("a", "a")], ["c", "d"]), vr.Privacy(k=2, ell=1))
    (group,) = book.classes
    (route,) = group.routes
    assert (route.nodes, route.cost) == (tuple("abcbdba"), 32)
    assert broken(vr.audit(book)) == {}
    cheap = replace(group, routes=(replace(route, cost=18.0),))
    found = broken(vr.audit(replace(book, classes=(cheap,))))
    assert set(found) == {"cost"}
    assert "32: too low" in found["cost"]


def test_a_detour_is_legal_and_paid_for(problem: vr.Problem) -> None:
    book = vr.solve(problem, PRIVACY)
    shared = book.hidden_classes[0].shared(0)
    made = next(
        made
        for at in range(1, len(shared) - 1)
        for made in [book.replan(1, shared[at], position=at, closed=[shared[at : at + 2]])]
        if len(made.going_on.route) > 2
    )
    assert [each.evidence for each in audit_replan(book, made) if not each.holds] == []
    back = (made.walked[-1], made.walked[-2])
    forged = replace(made, going_on=replace(made.going_on, route=(*back, *made.going_on.route)))
    assert "turns" in [each.claim for each in audit_replan(book, forged) if not each.holds]
    turns, ahead = problem.domain.turns, [made.walked[-1], *made.going_on.route[1:3]]
    assert turns is not None
    # A ban that nobody knew of when the detour was planned.
    banned = [*turns.banned, tuple(problem.domain.node(label) for label in ahead)]
    domain = replace(problem.domain, turns=Turns.of(turns.u_turns, banned))
    other = replace(book, domain=domain, domain_sha256=domain.sha256)
    assert "turns" in [each.claim for each in audit_replan(other, made) if not each.holds]


def test_a_ban_on_a_stretch_without_end_is_refused() -> None:
    """A small file must not ask for gigabytes."""
    line = vr.Domain.from_edges(3, [0, 1, 1, 2], [1, 0, 2, 1], [1] * 4, labels=list("abc"))
    domain = with_rules(line, Turns.of("allow", [[0, 1] * 3000]))
    book = vr.solve(vr.Problem(line, [vr.Trip("a", "a")], ["b", "c"]), vr.Privacy(k=2, ell=1))
    with pytest.raises(vr.InvalidInputError, match="shorter stretches, or fewer"):
        vr.audit(replace(book, domain=domain, domain_sha256=domain.sha256))


@pytest.mark.parametrize("side", ["any", "kerb"])
@pytest.mark.parametrize("u_turns", ["dead-ends", "never", "allow"])
def test_untouched_playbook_passes(side: str, u_turns: str) -> None:
    problem = door_problem(5, winding_town(5, u_turns=u_turns), side=side)
    report = vr.audit(playbook_from_json(vr.solve(problem, PRIVACY).to_json()), instance=problem, privacy=PRIVACY)
    assert broken(report) == {}
    assert report.verdict == "holds"
