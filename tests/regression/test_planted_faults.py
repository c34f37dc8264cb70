"""Faults planted into honest playbooks, maps and ledgers: each is refuted, and what stays true passes.

A forger changes one thing, by hand or at random, and makes all hashes again. `NAMED` faults must be found by the claim
that is about them, in words that say where; of the hundreds that `planted` makes, none may pass.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import veilroute as vr
from door_towns import door_problem
from ledger_weeks import Data, Week, forge, plan_week, random_days, read_week
from veilroute import PlaybookClass, playbook_from_json
from veilroute.auditing import audit_replan
from veilroute.domain import Turns, domain_from_dict, with_rules

Edits = dict[tuple[str | int, ...], Any]
"""By the path to a value in a file what stands there instead."""

GONE = object()
FIGURES = (
    "expected_mac", "hidden_mass", "worst_posterior", "bayes_success", "mac", "total_extra", "worst_extra", "apr",
)  # fmt: skip


def building(num: int, seed: int, *, prior: str = "even", num_trips: int = 1, **wanted: Any) -> vr.Problem:
    size = wanted.pop("size", (16, 20))
    domain = wanted.pop("domain", None) or vr.generate_rooms(*size, seed=seed, movement=wanted.pop("movement", 4))
    rng = Random(seed)
    labels = [domain.label(node) for node in rng.sample(range(domain.num_nodes), num + 4)]
    trips = [vr.Trip(labels[-1], labels[-2]), vr.Trip(labels[-3], labels[-4], 2.0)][:num_trips]
    weights = {"zipf": [1 / (i + 1) for i in range(num)], "even": None, "drawn": [rng.random() for _ in range(num)]}
    return vr.Problem(domain, trips, labels[:num], prior=weights[prior], **wanted)


@cache
def doors() -> vr.Problem:
    """Eight places beside the streets of a town, two of them where others are."""
    return door_problem(2)


DOORS = vr.Privacy(k=2, ell=3)
BOOKS: dict[str, Callable[[], vr.Playbook]] = {
    "grid": lambda: vr.solve(building(8, 5, size=(26, 34)), vr.Privacy(k=2, ell=4)),
    "doors": lambda: vr.solve(doors(), DOORS),
    "partition": lambda: vr.solve(building(8, 1, prior="zipf"), vr.Privacy(risk=0.5, ell=2)),
    "partition, two trips": lambda: vr.solve(building(8, 2, prior="drawn", num_trips=2), vr.Privacy(risk=0.4)),
    "partition, first nodes": lambda: vr.solve(building(8, 3, prior="zipf"), vr.Privacy(risk=0.5, m=12)),
    "randomised": lambda: vr.solve(
        building(8, 1, prior="zipf"), vr.Privacy(risk=0.5, ell=2, mechanism="randomised")
    ),
    "randomised, with a rest": lambda: vr.solve(
        building(8, 4, prior="zipf"), vr.Privacy(risk=0.4, mechanism="randomised")
    ),
    "randomised, k": lambda: vr.solve(building(7, 5), vr.Privacy(k=3, mechanism="randomised")),
    "randomised, two trips": lambda: vr.solve(
        building(8, 2, prior="drawn", num_trips=2), vr.Privacy(risk=0.5, mechanism="randomised")
    ),
    "randomised, 14": lambda: vr.solve(
        building(14, 6, prior="drawn"), vr.Privacy(risk=0.3, mechanism="randomised")
    ),
}  # fmt: skip
WEIGHED = [name for name in BOOKS if name not in ("grid", "doors")]


@cache
def honest(name: str) -> str:
    data = json.loads(BOOKS[name]().to_json())
    assert data["status"] == "optimal"
    return json.dumps(data)


def data_of(name: str) -> Data:
    data: Data = json.loads(honest(name))
    return data


def edited(data: Data, edits: Edits) -> Data:
    data = copy.deepcopy(data)
    for path, value in edits.items():
        holder: Any = data
        for key in path[:-1]:
            holder = holder[key]
        if value is GONE:
            del holder[path[-1]]
        else:
            holder[path[-1]] = copy.deepcopy(value)
    return data


def read(data: Data) -> vr.Playbook:
    """The playbook of some data, with the hash of the map that is in it now: forgers can hash."""
    return playbook_from_json(json.dumps(data | {"domain_sha256": domain_from_dict(data["domain"]).sha256}).encode())


def broken(report: vr.AuditReport) -> dict[str, str]:
    return {each.claim: each.evidence for each in report.claims if not each.holds}


def verdict_of(data: Data, ledger: Path | None = None) -> str:
    """What comes of a file: one that cannot be read is refuted as well."""
    try:
        return vr.audit(read(data), ledger=ledger).verdict
    except vr.VeilrouteError:
        return "violated"


# ----------------------------------------------------------------------------------------------------------------------
# Faults with a name: each changes a file, and returns words that the evidence must hold.


def to_and_fro(route: Data) -> Data:
    """Its first edge is walked once more in each direction, and paid for, on a map on which edges cost 1."""
    nodes = route["route"]
    return route | {"route": [*nodes[:2], nodes[0], *nodes[1:]], "cost": route["cost"] + 2}


def first_route(data: Data, at: int = 0) -> Data:
    route: Data = data["classes"][at]["routes"][0]
    return route


def plant_jump(data: Data) -> list[str]:
    route = first_route(data)["route"]
    del route[4]
    return ["do not touch", str(tuple(route[3])), str(tuple(route[4])), "nodes 4 and 5"]


def plant_unknown_node(data: Data) -> list[str]:
    first_route(data)["route"][3] = [0, 0]
    return ["(0, 0)", "not in the domain", "node 4"]


def plant_wrong_goal(data: Data) -> list[str]:
    first_route(data)["route"].pop()
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
    route = first_route(data, 1)
    route["cost"] -= 2
    return ["too low", f"{route['cost']:g}", f"{route['cost'] + 2:g}"]


def plant_cost_too_high(data: Data) -> list[str]:
    first_route(data, 1)["cost"] *= 1.001
    return ["too high"]


def plant_detour(data: Data) -> list[str]:
    data["classes"][0]["routes"] = [to_and_fro(route) for route in data["classes"][0]["routes"]]
    return ["worse than", f"{data['claims']['mac']:.9g}"]


def plant_worse_partition(data: Data) -> list[str]:
    """Two classes in one, with the best walk for it and true figures, and a bound that meets them."""
    book = read(data)
    first, second, *rest = [group.members for group in book.classes]
    groups = [{"members": own, "route": vr.cover(book.problem, own).walk} for own in ((*first, *second), *rest)]
    made = json.loads(vr.playbook_from_classes(book.problem, book.privacy, groups).to_json())
    data |= {"classes": made["classes"]}
    data["claims"] |= {name: made["claims"][name] for name in (*FIGURES, "mac_by_trip")}
    data["claims"]["mac_lower_bound"] = data["claims"]["mac"]
    return ["is possible"]


def node_numbers(data: Data, labels: list[Any]) -> list[int]:
    graph = data["domain"]["graph"]
    table = {label: node for node, label in enumerate(graph["labels"])} | dict(graph["also"])
    return [table[label] for label in labels]


def is_door(label: Any) -> bool:
    return str(label).startswith("Place")


def ban(data: Data, stretch: list[Any]) -> None:
    data["domain"]["graph"]["turns"]["banned"].append(node_numbers(data, stretch))


def plant_banned_turn(data: Data) -> list[str]:
    stretch = first_route(data)["route"][2:5]
    ban(data, stretch)
    return ["makes a banned turn", ", ".join(stretch), "nodes 3 to 5", "Street"]


def plant_banned_stretch(data: Data) -> list[str]:
    stretch = first_route(data)["route"][1:6]
    ban(data, stretch)
    return ["makes a banned turn", ", ".join(stretch), "nodes 2 to 6"]


def plant_turn_at_a_door(data: Data) -> list[str]:
    """To a door and back and to it again, priced rightly."""
    edges = {(tail, head): cost for tail, head, cost in data["domain"]["graph"]["edges"]}
    for group in data["classes"]:
        for route in group["routes"]:
            nodes = node_numbers(data, route["route"])
            for at in range(1, len(nodes) - 1):
                if is_door(route["route"][at]) and (nodes[at], nodes[at - 1]) in edges:
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
    route = first_route(data)["route"]
    at = next(i for i, label in enumerate(route) if i and is_door(label))
    ends = node_numbers(data, route[at - 1 : at + 1])
    next(edge for edge in data["domain"]["graph"]["edges"] if edge[:2] == ends)[2] = 0.01
    return ["too high"]


def plant_moved_place(data: Data) -> list[str]:
    data["places"][-1][1] += 0.001
    return ["places: hashed as"]


UNSOUND = {"class-size", "anonymized", "risk", "apr", "mac", "extra-cost", "expected-mac", "optimality"}
"""What a class breaks whose members can be told apart, or have no walk."""

NAMED: list[tuple[str, Callable[[Data], list[str]], str, set[str] | None]] = [
    # The book, the fault, the claim that names it, and all that are broken where that was worked out.
    ("grid", plant_jump, "walk", {"walk", *UNSOUND}),
    ("grid", plant_unknown_node, "walk", None),
    ("grid", plant_wrong_goal, "walk", None),
    ("grid", plant_left_out_member, "coverage", None),
    ("grid", plant_member_too_few, "class-size", None),
    ("grid", plant_members_too_close, "spread", None),
    ("grid", plant_cost_too_low, "cost", {"cost"}),
    ("grid", plant_cost_too_high, "cost", {"cost"}),
    ("grid", plant_detour, "mac", {"mac", "extra-cost", "expected-mac", "optimality"}),
    ("grid", plant_worse_partition, "optimality", {"bound", "optimality"}),
    ("doors", plant_banned_turn, "turns", None),
    ("doors", plant_banned_stretch, "turns", None),
    ("doors", plant_turn_at_a_door, "turns", {"turns", *UNSOUND}),
    ("doors", plant_turn_where_none_is_legal, "turns", None),
    ("doors", plant_moved_name, "coverage", None),
    ("doors", plant_moved_door, "doors", None),
    ("doors", plant_cheaper_part, "cost", None),
    ("doors", plant_moved_place, "shown", {"shown"}),
]


@pytest.mark.parametrize(("name", "plant", "claim", "all_broken"), NAMED)
def test_a_named_fault_is_found_by_its_claim(
    name: str, plant: Callable[[Data], list[str]], claim: str, all_broken: set[str] | None
) -> None:
    data = data_of(name)
    words = plant(data)
    report = vr.audit(read(data))
    found = broken(report)
    assert not report.holds
    assert [word for word in words if word not in found[claim]] == [], found[claim]
    assert all_broken is None or set(found) == all_broken
    assert f"VIOLATED  {claim} " in report.to_text()


def test_a_member_with_a_route_of_its_own_is_found_and_revealed() -> None:
    """No file of a playbook for whole routes may hold such a route."""
    book = read(data_of("grid"))
    group, *rest = book.classes
    route, (first, second, *_) = group.routes[0], group.members
    own = replace(route, nodes=(*route.nodes[:2], route.nodes[0], *route.nodes[1:]), cost=route.cost + 2)
    forged = replace(book, classes=(replace(group, member_routes={(0, second): own}), *rest))
    report = vr.audit(forged)
    found = broken(report)
    assert set(found) == {"same-route", *UNSOUND}
    assert all(word in found["same-route"] for word in ("different routes", str(first), str(second), "node 3"))
    assert {first, second}.isdisjoint(report.anonymity[1].revealed)
    assert {first, second} <= set(report.anonymity[-1].revealed)
    with pytest.raises(vr.FileFormatError, match="no routes of single members"):
        playbook_from_json(forged.to_json())


# ----------------------------------------------------------------------------------------------------------------------
# Faults anywhere in a playbook


def priors_of(data: Data) -> dict[str, float]:
    num = len(data["candidates"])
    return {str(c): p for c, p in zip(data["candidates"], data.get("prior") or [1 / num] * num, strict=True)}


def hidden_of(data: Data) -> list[int]:
    return [at for at, group in enumerate(data["classes"]) if group["anonymized"]]


def planted(name: str) -> Iterator[tuple[str, Data]]:
    """Files of which none is true."""
    honest = data_of(name)
    for what, edits in changes_of(honest, Random(name)):
        data = edited(honest, edits)
        if data != honest:
            yield f"{name}: {what}", data


def changes_of(data: Data, rng: Random) -> Iterator[tuple[str, Edits]]:
    claims, classes, privacy = data["claims"], data["classes"], data["privacy"]
    for figure in FIGURES:
        for factor in (0.5, 1 - 1e-6, 1 + 1e-6, 2.0):
            yield f"{figure} times {factor}", {("claims", figure): claims[figure] * factor}
    for figure in (*FIGURES, "expected_mac_lower_bound"):
        yield f"{figure} is NaN", {("claims", figure): math.nan}
    for figure in ("num_candidates", "num_coverable", "num_anonymized"):
        for change in (-1, 1):
            yield f"{figure} {change:+}", {("claims", figure): claims[figure] + change}
    for factor in (0.9, 1 - 1e-6, 1 + 1e-6, 1.5):
        bound: Edits = {("claims", "expected_mac_lower_bound"): claims["expected_mac_lower_bound"] * factor}
        yield f"bound times {factor}", bound
        yield f"bound and figure times {factor}", bound | {("claims", "expected_mac"): claims["expected_mac"] * factor}
    for worst in (0.9, 0.99):
        risk = worst * claims["worst_posterior"]
        promised = privacy | {"risk": risk, "k": math.ceil(1 / risk - 1e-9)}
        yield f"promises {worst} of its worst posterior", {("privacy",): promised}
    yield "promises an ell that nobody keeps", {("privacy", "ell"): 10_000}
    is_randomised = privacy.get("mechanism") == "randomised"
    other = "partition" if is_randomised else "randomised"
    yield "the other mechanism", {("privacy",): privacy | {"mechanism": other, "spread": "all-pairs"}}
    if "prior" in data:
        weights = data["prior"]
        for _ in range(6):
            i, j = rng.sample(range(len(weights)), 2)
            yield f"priors of {i} and {j} swapped", {("prior", i): weights[j], ("prior", j): weights[i]}
        for label, changed in {
            "all the same": [1.0] * len(weights),
            "one impossible": [0.0, *weights[1:]],
            "one a little likelier": [weights[0] * 1.001, *weights[1:]],
            "negative": [-weights[0], *weights[1:]],
            "one too few": weights[1:],
            "certain": [1.0, *[0.0] * (len(weights) - 1)],
            "none": GONE,
        }.items():
            yield f"prior {label}", {("prior",): changed}
    for at in hidden_of(data):
        group, others = classes[at], [each for each in classes if each is not classes[at]]
        yield f"class {at} is gone", {("classes",): others}
        yield f"class {at} is there twice", {("classes",): [*classes, group]}
        yield f"class {at} is said not to be hidden", {("classes", at, "anonymized"): False}
        own = [route for route in group["routes"] if route.get("member") != group["members"][-1]]
        lost: Edits = {("classes", at, "members"): group["members"][:-1], ("classes", at, "routes"): own}
        lost |= {("classes", at, "shares"): group["shares"][:-1]} if "shares" in group else {}
        yield f"class {at} has lost a member", lost
        yield f"class {at} takes a detour", {("classes", at, "routes"): [*map(to_and_fro, group["routes"])]}
    gone = classes[hidden_of(data)[0]]["members"][0]
    left: Edits = {("classes",): [group for group in classes if gone not in group["members"]]}
    yield "a member is called uncoverable", left | {("uncoverable",): [*data["uncoverable"], gone]}
    yield from changes_of_shares(data, rng) if is_randomised else changes_to_shares(data)


def changes_to_shares(data: Data) -> Iterator[tuple[str, Edits]]:
    """Shares in a partition."""
    at = hidden_of(data)[0]
    for value in (0.0, 0.25, 1.0):
        yield f"shares of {value}", {("classes", at, "shares"): [value] * len(data["classes"][at]["members"])}


def changes_of_shares(data: Data, rng: Random) -> Iterator[tuple[str, Edits]]:
    classes = data["classes"]
    homes: dict[str, list[tuple[int, int]]] = {}
    for at in hidden_of(data):
        group, shares = classes[at], classes[at]["shares"]
        for i, member in enumerate(group["members"]):
            homes.setdefault(str(member), []).append((at, i))
        for factor in (0.0, 0.5, 1 - 1e-3, 1 + 1e-3, 3.0, -1.0, math.nan, math.inf):
            i = rng.randrange(len(shares))
            yield f"a share of class {at} times {factor}", {("classes", at, "shares", i): shares[i] * factor}
        yield f"all shares of class {at} larger", {("classes", at, "shares"): [share * 1.01 for share in shares]}
        yield f"no shares in class {at}", {("classes", at, "shares"): GONE}
        if max(shares) > min(shares) * 1.001:
            turned = shares[::-1] if shares[0] != shares[-1] else sorted(shares)
            yield f"shares of class {at} in another order", {("classes", at, "shares"): turned}
        # The class in two parts: one is mostly one member, the other the rest. What an observer sees of them together
        # is as it was if both go the same way; `route` looks at each class, and refuses everybody.
        parts = [[share * (own if i else 1 - own) for i, share in enumerate(shares)] for own in (0.9, 0.1)]
        for how, routes in (("otherwise", [*map(to_and_fro, group["routes"])]), ("the same", group["routes"])):
            rest = [each | {"shares": parts[1]} if each is group else each for each in classes]
            other = group | {"shares": parts[0], "routes": routes}
            yield f"class {at} in two parts that look {how}", {("classes",): [*rest, other]}
    for member, places in homes.items():
        if len(places) > 1:
            # Some of its probability goes from one of its classes to another, so that all sums are as before.
            (one, i), (other, j) = rng.sample(places, 2)
            moved = classes[one]["shares"][i] / 2
            edits: Edits = {("classes", one, "shares", i): classes[one]["shares"][i] - moved}
            edits[("classes", other, "shares", j)] = classes[other]["shares"][j] + moved
            yield f"{member} moved from class {one} to {other}", edits
    yield from changes_of_certificate(data, rng)


def changes_of_certificate(data: Data, rng: Random) -> Iterator[tuple[str, Edits]]:
    certificate, claims = data["certificate"], data["claims"]
    duals, members, bound = certificate["cost"]["duals"], certificate["members"], certificate["bound"]
    num, prior = len(members), priors_of(data)
    yield "no certificate", {("certificate",): GONE}
    for i in range(num):
        for change in (1e-4, 0.1, 10.0):
            # The bound that such prices would prove, were they true, is stated everywhere.
            raised = change * prior[str(members[i])]
            edits: Edits = {("certificate", "cost", "duals", i): duals[i] + change}
            edits |= {("certificate", "bound"): bound + raised}
            yield f"price {i} is higher by {change}", dict(edits)
            for figure in ("expected_mac", "expected_mac_lower_bound"):
                edits[("claims", figure)] = claims[figure] + raised / claims["hidden_mass"]
            yield f"price {i} is higher by {change}, and all figures with it", edits
        yield f"price {i} is lower", {("certificate", "cost", "duals", i): duals[i] - 0.1}
    others: dict[str, Data] = {
        "bound": {"bound": bound + 0.1},
        "negative bound": {"bound": -1.0},
        "threshold": {"threshold": 1.0},
        "listed": {"num_enumerated": 5},
        "count": {"count": {"duals": [1.0] * num, "cuts": []}},
        "fewer members": {"members": members[:-1]},
        "huge prices": {"cost": {"duals": [1e18, -1e18, *[0.0] * (num - 2)], "cuts": []}},
        "prices of nothing": {"cost": {"duals": [0.0] * num, "cuts": []}},
        "a cut": {"cost": {"duals": duals, "cuts": [{"members": members[:3], "dual": 0.01}]}},
    }
    if len({round(dual, 9) for dual in duals}) > 1:
        others["members"] = {"members": members[::-1]}
    for what, parts in others.items():
        yield f"certificate with another {what}", {("certificate",): certificate | parts}
    for _ in range(5):
        # A plan with a detour, whose prices are stretched to meet what it costs.
        factor = 1 + rng.random()
        paths = [("certificate", "bound"), ("claims", "expected_mac"), ("claims", "expected_mac_lower_bound")]
        scaled: Edits = {(part, name): data[part][name] * factor for part, name in paths}
        yield f"all prices times {factor}", scaled | {("certificate", "cost", "duals"): [d * factor for d in duals]}


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "randomised, 14" else ()) for name in WEIGHED]
)
def test_every_planted_fault_is_refuted(name: str, step: int) -> None:
    assert verdict_of(data_of(name)) == "holds"
    faults = list(planted(name))
    assert len(faults) >= 60
    assert [what for what, data in faults[::step] if verdict_of(data) != "violated"] == []


def harmless(data: Data) -> Iterator[tuple[str, Edits]]:
    """The same, or less, in other words."""
    classes, claims = data["classes"], data["claims"]
    if "prior" in data:
        yield "prior in another unit", {("prior",): [7 * weight for weight in data["prior"]]}
    yield "classes in another order", {("classes",): classes[::-1]}
    yield "does not say that it is optimal", {("status",): "feasible"}
    lower: Edits = {("claims", "expected_mac_lower_bound"): claims["expected_mac_lower_bound"] * 0.5}
    yield "a lower bound", lower | {("status",): "feasible"}
    if data["privacy"].get("mechanism") == "randomised":
        parts = [
            group | {"shares": [share * part for share in group["shares"]]} if group["anonymized"] else group
            for group in classes
            for part in ((0.25, 0.75) if group["anonymized"] else (1,))
        ]
        yield "every class in two parts that look the same", {("classes",): parts}
        turned = [
            group | {name: group[name][::-1] for name in ("members", "shares") if name in group} for group in classes
        ]
        yield "members in another order", {("classes",): turned}


@pytest.mark.parametrize("name", WEIGHED)
def test_what_stays_true_passes(name: str) -> None:
    honest = data_of(name)
    assert [what for what, edits in harmless(honest) if verdict_of(edited(honest, edits)) != "holds"] == []


# ----------------------------------------------------------------------------------------------------------------------
# Streets with rules for turns, and doors


def test_two_at_one_spot_do_not_help_each_other() -> None:
    """Two names at one door are one place at every distance, 0 included."""
    label, node = doors().domain.also[0]
    twins = replace(doors(), candidates=[label, doors().domain.label(node)])
    for ell in (0, 1e-9):
        assert vr.solve(twins, vr.Privacy(k=2, ell=ell)).status == "infeasible"
    alone = vr.solve(twins, vr.Privacy(k=1, ell=0))
    together = PlaybookClass(tuple(twins.candidates), True, alone.classes[0].routes, {})
    forged = replace(alone, classes=(together,), privacy=vr.Privacy(k=2, ell=0))
    assert "anonymized" in broken(vr.audit(forged))


def rules() -> Turns:
    turns = doors().domain.turns
    assert turns is not None
    return turns


def others_of_doors() -> Iterator[tuple[str, vr.Problem]]:
    """What a forger plans in place of what was meant, with rules that are easier to keep; and how it is found."""
    problem, domain, turns = doors(), doors().domain, rules()
    (label, _), *names = domain.also
    (first, _), *places = problem.places.items()
    last, (lon, lat) = list(problem.places.items())[-1]
    head = int(domain.indices[0])
    one_more = (0, head, int(domain.indices[domain.indptr[head]]))
    shorter = domain.costs.copy()
    shorter[-1] /= 2
    for words, other in {
        "only the instance bans": replace(domain, turns=Turns.of(turns.u_turns, turns.banned[1:])),
        "only the playbook bans": replace(domain, turns=Turns.of(turns.u_turns, [*turns.banned, one_more])),
        "dead-ends in the instance, allow in the playbook": replace(domain, turns=Turns.of("allow", turns.banned)),
        "only the instance has rules": with_rules(domain, None, domain.also),
        f"{label} is not at the same node": replace(domain, also=((label, 0), *names)),
        "costs": replace(domain, costs=shorter),
    }.items():
        yield words, replace(problem, domain=other)
    yield f"{last} is 111.2 m away", replace(problem, places={**problem.places, last: (lon, lat + 0.001)})
    yield f"only the instance says where {first} is", replace(problem, places=dict(places))


@pytest.mark.parametrize("number", range(8))
def test_a_plan_for_something_else_is_told_from_what_was_meant(number: int) -> None:
    """Such a plan keeps all its claims: only the user's own copy settles it."""
    words, changed = list(others_of_doors())[number]
    book = playbook_from_json(vr.solve(changed, DOORS).to_json())
    assert broken(vr.audit(book)) == {}
    found = broken(vr.audit(book, instance=doors(), privacy=DOORS))
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
    found = broken(vr.audit(replace(book, classes=(replace(group, routes=(replace(route, cost=18.0),)),))))
    assert set(found) == {"cost"}
    assert "32: too low" in found["cost"]


def test_a_detour_is_legal_and_paid_for() -> None:
    book = vr.solve(doors(), DOORS)
    shared = book.hidden_classes[0].shared(0)
    made = next(
        made
        for at in range(1, len(shared) - 1)
        for made in [vr.replan(book, 1, shared[at], position=at, closed=[shared[at : at + 2]])]
        if len(made.going_on.route) > 2
    )

    def found(book: vr.Playbook, made: Any) -> list[str]:
        return [each.claim for each in audit_replan(book, made) if not each.holds]

    assert found(book, made) == []
    back = (made.walked[-1], made.walked[-2])
    assert "turns" in found(book, replace(made, going_on=replace(made.going_on, route=(*back, *made.going_on.route))))
    # A ban that nobody knew of when the detour was planned.
    ahead = [made.walked[-1], *made.going_on.route[1:3]]
    turns = Turns.of(rules().u_turns, [*rules().banned, tuple(map(doors().domain.node, ahead))])
    domain = replace(doors().domain, turns=turns)
    assert "turns" in found(replace(book, domain=domain, domain_sha256=domain.sha256), made)


def test_a_ban_on_a_stretch_without_end_is_refused() -> None:
    """A small file must not ask for gigabytes."""
    line = vr.Domain.from_edges(3, [0, 1, 1, 2], [1, 0, 2, 1], [1] * 4, labels=list("abc"))
    domain = with_rules(line, Turns.of("allow", [[0, 1] * 3000]))
    book = vr.solve(vr.Problem(line, [vr.Trip("a", "a")], ["b", "c"]), vr.Privacy(k=2, ell=1))
    with pytest.raises(vr.InvalidInputError, match=r"turns\.banned"):
        vr.audit(replace(book, domain=domain, domain_sha256=domain.sha256))


# ----------------------------------------------------------------------------------------------------------------------
# Ledgers, and playbooks planned under them

WEEKS = {
    "k=2": (vr.Privacy(k=2, ell=3), 9, 1),
    "k=3": (vr.Privacy(k=3), 10, 2),
    "all pairs": (vr.Privacy(k=2, ell=4, spread="all-pairs"), 8, 3),
    "first nodes": (vr.Privacy(k=2, ell=2, m=6), 8, 4),
    "risk": (vr.Privacy(risk=0.5, ell=3), 8, 5),
    "certified": (vr.Privacy(k=2, ell=3), 18, 6),
}
DRAWN = vr.Privacy(k=2, mechanism="randomised")


@cache
def week_of(name: str) -> Week:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.jsonl"
        if name == "drawn":
            book = vr.solve(random_days(Random(1), DRAWN, 7, 1, has_prior=True)[0], DRAWN)
            vr.new_ledger(path).add(book, day="2026-11-01", occasion="Monday")
            return read_week(path, [book])
        privacy, num, seed = WEEKS[name]
        return read_week(path, plan_week(path, random_days(Random(seed), privacy, num, 4), privacy))


def week_verdict(week: Week, folder: Path) -> str:
    """What comes of a week: one that cannot be read is refuted as well."""
    path = folder / "ledger.jsonl"
    path.unlink(missing_ok=True)
    try:
        forge(week, path)
        return vr.audit_linked(week.playbooks(), ledger=path).verdict
    except vr.VeilrouteError:
        return "violated"


def changes_of_entry(entry: Data, rng: Random) -> Iterator[tuple[str, Edits]]:
    """What may be changed in an entry, all of it false."""
    classes, near, places, refused = (entry[name] for name in ("classes", "near", "places", "refused"))
    hidden = [member for members in classes for member in members]
    pairs = {tuple(pair) for pair in near}
    apart = [(a, b) for a in hidden for b in hidden if a < b and (a, b) not in pairs]
    others: dict[str, list[Any]] = {
        "near": [near[:-1], [*near, list(rng.choice(apart))]],
        "places": [[places[0] | {"name": "Elsewhere"}, *places[1:]], [places[0] | {"at": [99, 99]}, *places[1:]]],
        "trips": [[entry["trips"][-1][::-1], *entry["trips"][-2::-1]]],
        "privacy": [entry["privacy"] | change for change in ({"ell": 0.5}, {"ell": 99}, {"m": 3}, {"k": 9}, {"k": 1})],
        "domain": ["0" * 64], "since": ["2026-11-03"], "kind": ["replan"], "playbook": ["1" * 64],
        "parent": ["2" * 64, None], "prior": [[i + 1.0 for i in range(len(places))]],
    }  # fmt: skip
    if "shares" in entry:
        others["shares"] = [[[share / 2 for share in shares] for shares in entry["shares"]], GONE]
    else:
        others["occasion"] = ["x"]
        others["classes"] = [[hidden], classes[:-1], [classes[0][:-1], *classes[1:], classes[0][-1:]]]
        others["refused"] = [[*refused, hidden[0]], []]
    for name, values in others.items():
        for at, value in enumerate(values):
            if entry.get(name, GONE) != value:
                yield f"{name}, {at}", {(name,): value}


def changes_of_past(past: Data, book: Data, rng: Random) -> Iterator[tuple[str, Edits]]:
    """What may be changed in what a playbook says of the past, all of it false."""
    ends = {str(end) for trip in book["trips"] for end in (trip["start"], trip["goal"])}
    counted = [label for label in book["candidates"] if str(label) not in ends]
    lines, near = past["left"], past.get("near", [])
    at = rng.randrange(len(lines))
    yield "a line is dropped", {("left",): lines[:at] + lines[at + 1 :]}
    yield "all lines are dropped", {("left",): []}
    shrinking = [i for i, (own, others) in enumerate(lines) if others != [own]]
    if shrinking:
        i = rng.choice(shrinking)
        yield "a line is one alone", {("left", i): [lines[i][0], [lines[i][0]]]}
    growing = [i for i, (_, others) in enumerate(lines) if len(others) < len(counted)]
    if growing:
        i = rng.choice(growing)
        yield "a line holds everybody", {("left", i): [lines[i][0], counted]}
    if near:
        yield "no near pairs", {("near",): GONE}
    known = [sorted(map(str, pair)) for pair in near]
    pair = next([a, b] for a in counted for b in counted if str(a) < str(b) and sorted(map(str, (a, b))) not in known)
    yield "a near pair is made up", {("near",): [*near, pair]}
    yield "since is assumed", {("since",): "2026-12-01"}
    yield "no ledger", {("ledger",): None}
    yield "another ledger", {("ledger",): "3" * 64}


def planted_weeks() -> Iterator[tuple[str, Week]]:
    """Weeks of which none is true."""
    for name in (*WEEKS, "drawn"):
        rng, week = Random(name), week_of(name)
        for day, entry in enumerate(week.entries):
            for what, edits in changes_of_entry(entry, rng):
                mutant = week.copy()
                mutant.entries[day] = edited(entry, edits)
                yield f"{name}, entry {day}: {what}", mutant
            mutant = week.copy()
            del mutant.entries[day], mutant.lines[day]
            yield f"{name}, entry {day}: is missing", mutant
        for day, book in enumerate(week.books):
            if "past" in book:
                for what, edits in changes_of_past(book["past"], book, rng):
                    mutant = week.copy()
                    past = mutant.books[day]["past"] = edited(book["past"], edits)
                    # The forger's entry says the same, as far as entries do.
                    mutant.entries[day] |= {"parent": past["ledger"]}
                    mutant.entries[day] |= {"since": past["since"]} if "since" in past else {}
                    yield f"{name}, past of {day}: {what}", mutant


def harmless_weeks() -> Iterator[tuple[str, Week]]:
    """Weeks that say the same in other words."""
    for name in (*WEEKS, "drawn"):
        yield f"{name}, as it was", week_of(name).copy()
        for day in range(len(week_of(name).entries)):
            mutant = week_of(name).copy()
            entry, book = mutant.entries[day], mutant.books[day]
            if "shares" not in entry:
                entry["classes"] = [members[::-1] for members in entry["classes"][::-1]]
            entry["refused"].reverse()
            entry["near"] = [pair[::-1] for pair in entry["near"][::-1]]
            if "past" in book:
                book["past"]["left"] = [[own, others[::-1]] for own, others in book["past"]["left"][::-1]]
            yield f"{name}, day {day} in another order", mutant
            mutant = week_of(name).copy()
            for entry in mutant.entries[day:]:
                entry["date"] = "2027" + entry["date"][4:]
            yield f"{name}, from day {day} on a year later", mutant


@pytest.mark.parametrize("step", [30, pytest.param(1, marks=pytest.mark.slow)])
def test_false_weeks_are_refuted(step: int, tmp_path: Path) -> None:
    mutants = list(planted_weeks())
    assert len(mutants) >= 300
    assert [what for what, week in mutants[::step] if week_verdict(week, tmp_path) != "violated"] == []


def test_true_weeks_pass(tmp_path: Path) -> None:
    found = [(what, week_verdict(week, tmp_path)) for what, week in harmless_weeks()]
    assert [(what, verdict) for what, verdict in found if verdict != "holds"] == []


def changes_under_past(book: Data, rng: Random) -> Iterator[tuple[str, Edits]]:
    """What a playbook planned under a past may say falsely about it, or about what is best after it."""
    claims, classes, past = book["claims"], book["classes"], book["past"]
    figure = "expected_mac" if "risk" in book["privacy"] else "mac"
    if claims.get(figure):
        for factor in (0.5, 1 - 1e-6, 1 + 1e-6, 2.0):
            names = (figure, f"{figure}_lower_bound")
            yield f"{figure} and its bound times {factor}", {("claims", n): claims[n] * factor for n in names}
    for count in ("num_anonymized", "num_anonymizable", "num_coverable"):
        if claims.get(count) is not None:
            for change in (-1, 1):
                yield f"{count} {change:+}", {("claims", count): claims[count] + change}
    for at in hidden_of(book):
        own = classes[at]["members"][0]
        lines = [[own, [own]], *(line for line in past["left"] if line[0] != own)]
        yield "nobody else is left of a member", {("past", "left"): lines}
        pairs = [[a, b] for a, b in combinations(classes[at]["members"], 2)]
        yield "all of a class stood near each other", {("past", "near"): [*past.get("near", []), *pairs]}
    if len(hidden_of(book)) > 1:
        one, two = hidden_of(book)[:2]
        yield "a class is given up", {("classes", one, "anonymized"): False}
        swapped: Edits = {("classes", one, "members", 0): classes[two]["members"][0]}
        swapped[("classes", two, "members", 0)] = classes[one]["members"][0]
        yield "two members change places, routes stay", swapped
    certificate = book.get("certificate")
    if certificate is not None:
        members, duals = certificate["members"], certificate["cost"]["duals"]
        for at in rng.sample(range(len(members)), 4):
            raised: Edits = {("certificate", "cost", "duals", at): duals[at] + 0.2}
            yield f"price {at} is higher", raised | {("certificate", "bound"): certificate["bound"] + 0.2}
        yield "no certificate", {("certificate",): None}
        yield "somebody is not priced", {
            ("certificate", "members"): members[:-1], ("certificate", "cost", "duals"): duals[:-1]
        }  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in ("first nodes", "risk") else pytest.mark.slow) for name in WEEKS]
)
def test_false_claims_after_earlier_trips_are_refuted(name: str, tmp_path: Path) -> None:
    week, path, rng = week_of(name), tmp_path / "ledger.jsonl", Random(name)
    forge(week.copy(), path)
    assert [verdict_of(book, path) for book in week.books] == ["holds"] * len(week.books)
    faults = [
        (f"{day}: {what}", edited(book, edits))
        for day, book in enumerate(week.books[1:], 1)
        for what, edits in changes_under_past(book, rng)
    ]
    assert len(faults) >= 20
    assert [what for what, book in faults if verdict_of(book, path) != "violated"] == []
