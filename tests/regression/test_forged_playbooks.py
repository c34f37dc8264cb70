"""Playbooks changed at random: none may be accepted while something in it is not true, or was taken out of it.

What is true is worked out by plain code (tests/harness.py), which tries everything and shares nothing with the auditor.
A forger who knows the format does not stop at one edit: half of the time all figures are made to fit again, the status
is raised to ``optimal``, and the bound to what the plan reaches.

The usual draw takes some seconds. ``VEILROUTE_FORGERIES=4000`` draws as many in all.
"""

from __future__ import annotations

import copy
import json
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import veilroute as vr
from changed_values import mutate
from harness import Case, Method, check_playbook
from veilroute import playbook_from_json
from veilroute.auditing import measure_risk, replay_playbook

Data = dict[str, Any]

NUM = int(os.environ.get("VEILROUTE_FORGERIES", "0"))
ROWS = ["......", ".@@.@.", "......", ".@.@@.", "......"]
PLACES = [(0, 5), (2, 2), (4, 0), (2, 5), (3, 2), (0, 3), (4, 3)]


def problem_of(num: int, **wanted: Any) -> vr.Problem:
    trips = wanted.pop("trips", [vr.Trip((0, 0), (4, 5))])
    return vr.Problem(vr.grid_domain(ROWS), trips, PLACES[:num], **wanted)


def one_way() -> vr.Problem:
    """A directed graph with costs, places that are seen from afar, and one that nobody reaches."""
    tails = [0, 1, 2, 3, 4, 5, 6, 7, 1, 4, 6, 8]
    heads = [1, 2, 3, 4, 5, 6, 7, 0, 4, 1, 2, 0]
    costs = [1.5, 2, 1, 0.5, 3, 1, 2, 1, 4, 2.5, 1, 1]
    domain = vr.Domain.from_edges(9, tails, heads, costs)
    return vr.Problem(domain, [vr.Trip(0, 7)], [1, 2, 3, 5, 6, 8], vr.WithinDistance(1))


def town() -> vr.Problem:
    domain = vr.generate_streets(5, 6, seed=3)
    places = vr.draw_candidates(domain, domain.label(0), domain.label(20), 6, seed=1)
    names = {place: f"Customer {at}" for at, place in enumerate(places)}
    return vr.Problem(domain, [vr.Trip(domain.label(0), domain.label(20))], places, names=names)


PRIOR = [5, 1, 2, 2, 1, 3]
MADE: dict[str, Callable[[], vr.Playbook]] = {
    "partition": lambda: vr.solve(problem_of(6), vr.Privacy(k=2)),
    "all pairs": lambda: vr.solve(problem_of(7), vr.Privacy(k=3, ell=3, spread="all-pairs")),
    "witness": lambda: vr.solve(problem_of(7, objective="total"), vr.Privacy(k=2, ell=5)),
    "trips": lambda: vr.solve(
        problem_of(6, trips=[vr.Trip((0, 0), (4, 5)), vr.Trip((4, 5), (0, 0), 3)]), vr.Privacy(k=2)
    ),
    "first nodes": lambda: vr.solve(problem_of(6), vr.Privacy(k=2, m=4)),
    "risk": lambda: vr.solve(problem_of(6, prior=PRIOR), vr.Privacy(risk=0.5, ell=3)),
    "randomised": lambda: vr.solve(problem_of(6, prior=PRIOR), vr.Privacy(risk=0.4, ell=2, mechanism="randomised")),
    "one way": lambda: vr.solve(one_way(), vr.Privacy(k=2)),
    "streets": lambda: vr.solve(town(), vr.Privacy(k=2)),
    "infeasible": lambda: vr.solve(problem_of(5), vr.Privacy(k=3, ell=9)),
    "searched": lambda: vr.solve(problem_of(6), vr.Privacy(k=2), planner="pbp", partitioner="naive"),
}


@cache
def made(kind: str) -> Data:
    data: Data = json.loads(MADE[kind]().to_json())
    return data


def is_accepted(data: Data, ledger: Path | None = None) -> bool:
    try:
        given: dict[str, Any] = {} if ledger is None else {"ledger": ledger}
        return vr.audit(playbook_from_json(json.dumps(data).encode()), **given).verdict == "holds"
    except vr.VeilrouteError:
        return False


def edit(data: Data, rng: Random) -> None:
    """Change one value anywhere but in the map; sections are as likely as each other, however large they are."""
    sections = [key for key in data if key not in ("domain", "format", "domain_sha256")]
    section = rng.choice(sections)
    part = {section: data.pop(section)}
    mutate(rng, part, PLACES)
    data |= part


def rearrange(data: Data, rng: Random) -> None:
    """Move members and routes as somebody would who knows what they are."""
    groups = data["classes"]
    one, other = rng.choice(groups), rng.choice(groups)
    route = rng.choice(one["routes"])
    match rng.choice(["move", "swap", "merge", "split", "cut", "detour", "take", "expose", "claim", "share", "drop"]):
        case "move" if one["members"] and "shares" not in one:
            other["members"].append(one["members"].pop(rng.randrange(len(one["members"]))))
        case "swap":
            i, j = rng.randrange(len(one["members"])), rng.randrange(len(other["members"]))
            one["members"][i], other["members"][j] = other["members"][j], one["members"][i]
        case "merge" if one is not other and "shares" not in one:
            other["members"] += one["members"]
            groups.remove(one)
        case "split" if len(one["members"]) > 1 and "shares" not in one:
            groups.append(copy.deepcopy(one) | {"members": [one["members"].pop()]})
        case "cut" if len(route["route"]) > 2:
            at = rng.randrange(1, len(route["route"]) - 1)
            del route["route"][at : at + rng.randint(1, 3)]
            route["cost"] = max(0, len(route["route"]) - 1)
        case "detour" if len(route["route"]) > 2:
            at = rng.randrange(1, len(route["route"]))
            route["route"][at:at] = [route["route"][at], route["route"][at - 1]]
            route["cost"] += rng.choice([0, 1, 2])
        case "take":
            one["routes"] = copy.deepcopy(other["routes"])
        case "expose":
            one["anonymized"] = not one["anonymized"]
        case "claim":
            for group in groups:
                group["anonymized"] = True
        case "share" if "shares" in one and "shares" in other:
            i, j = rng.randrange(len(one["shares"])), rng.randrange(len(other["shares"]))
            moved = one["shares"][i] * rng.choice([0.1, 0.5, 1])
            one["shares"][i] -= moved
            other["shares"][j] += moved
        case "drop":
            groups.remove(one)


def repair(data: Data, rng: Random) -> None:
    """Make the figures fit what the file holds now, and claim what would be nice."""
    claims, replayed = data["claims"], replay_playbook(playbook_from_json(json.dumps(data).encode()), None)
    risk, num, able = measure_risk(replayed), len(replayed.claimed), len(replayed.survey.coverable)
    figures = asdict(replayed.real_costs) | {
        "num_candidates": len(replayed.survey.counted), "num_coverable": able, "num_anonymized": num, "apr": num / able,
        "hidden_mass": replayed.mass(replayed.claimed), "worst_posterior": risk.worst,
        "bayes_success": risk.bayes_success,
    }  # fmt: skip
    claims |= {name: value for name, value in figures.items() if name in claims}
    if rng.random() < 0.5:
        claims["num_anonymizable"] = claims["num_anonymized"] or None
    able = claims["num_anonymizable"]
    claims["delta"] = claims["num_anonymized"] / able if able else None
    if rng.random() < 0.7:
        data["status"] = "optimal"
        for name in ("mac", "total_extra", "expected_mac"):
            if claims.get(f"{name}_lower_bound") is not None:
                claims[f"{name}_lower_bound"] = claims[name]
    if rng.random() < 0.2:
        data["options"] = {"partitioner": rng.choice(["merge-bb", "df-bb", "exact"]), "search_completed": True}


def invent_past(data: Data) -> None:
    """Say that earlier trips have left nobody more than its class, so that no other plan is possible."""
    left = [[label, group["members"]] for group in data["classes"] for label in group["members"]]
    data["past"] = {"ledger": "0" * 64, "left": left}


def forge(kind: str, rng: Random) -> Data:
    data = copy.deepcopy(made(kind))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        try:
            if data["classes"] and rng.random() < 0.4:
                rearrange(data, rng)
            else:
                edit(data, rng)
        except (IndexError, KeyError, ValueError, TypeError):
            continue  # there is nothing left to change in such a way
    if rng.random() < 0.05:
        invent_past(data)
    if rng.random() < 0.5:
        with suppress(Exception):  # broken beyond repair; the auditor has to cope
            repair(data, rng)
    return data


def lies_of(data: Data) -> list[str]:
    """What is not true of a file. To say or prove less is no lie, nor is a detour for somebody who is exposed."""
    book = playbook_from_json(json.dumps(data).encode())
    case = Case(0, "forged", book.problem, book.privacy)
    try:
        found = [*check_playbook(case, Method("forged", book.planner), book)]
    except Exception as error:  # there is nothing to work out: walks that are none, members that are no places
        found = [repr(error)]
    no_lies = ("proves nothing", "says nothing", "was stopped", "alone, ")
    return [each for each in found if not each.startswith(no_lies)]


def test_plain_code_agrees_with_honest_playbooks() -> None:
    for kind in MADE:
        assert not lies_of(made(kind)), kind
        assert is_accepted(made(kind)), kind


@pytest.mark.parametrize("kind", MADE)
def test_no_forged_playbook_is_accepted(kind: str) -> None:
    found: Counter[str] = Counter()
    num = NUM // len(MADE) + 1 if NUM else 25
    for number in range(num):
        data = forge(kind, Random(f"{kind}-{number}"))
        found["forged"] += data != made(kind)
        if is_accepted(data):
            assert "past" not in data and not lies_of(data), (kind, number, lies_of(data))
            found["true"] += data != made(kind)
        elif data != made(kind):
            try:
                found["lies" if lies_of(data) else "unproved"] += 1
            except vr.VeilrouteError:
                found["unreadable"] += 1
    print(kind, dict(found))
    # Without lies among them, the draw would show nothing.
    assert found["lies"] >= found["forged"] / 8


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Data]:
    """A ledger, and a playbook that was planned under it."""
    path = tmp_path_factory.mktemp("week") / "ledger.jsonl"
    first = vr.solve(problem_of(7, trips=[vr.Trip((0, 0), (4, 4))]), vr.Privacy(k=2))
    ledger = vr.new_ledger(path).add(first, day="2026-11-16")
    second = problem_of(7)
    past = ledger.past(second, vr.Privacy(k=2))
    problem = vr.Problem(second.domain, second.trips, second.candidates, past=past)
    return path, json.loads(vr.solve(problem, vr.Privacy(k=2)).to_json())


def past_of(data: Data) -> Any:
    past = data.get("past", {})
    lines = {(json.dumps(own), frozenset(map(json.dumps, others))) for own, others in past.get("left", [])}
    near = {frozenset(map(json.dumps, pair)) for pair in past.get("near", [])}
    return lines, near, past.get("ledger"), past.get("since")


def test_no_forged_past_is_accepted(week: tuple[Path, Data]) -> None:
    ledger, honest = week
    assert is_accepted(honest, ledger) and not lies_of(honest)
    assert not is_accepted(honest)
    num, num_true = NUM // len(MADE) + 1 if NUM else 25, 0
    for number in range(num):
        rng = Random(f"past-{number}")
        data = copy.deepcopy(honest)
        try:
            edit({"past": data["past"]} if rng.random() < 0.5 else data, rng)
            if rng.random() < 0.5:
                rearrange(data, rng)
            if rng.random() < 0.5:
                with suppress(Exception):
                    repair(data, rng)
        except (IndexError, KeyError, ValueError, TypeError):
            pass
        if is_accepted(data, ledger):
            lies = lies_of(data)
            if "past" in data and past_of(data) != past_of(honest):
                lies.append("another past than that of the ledger")
            assert not lies, (number, lies)
            num_true += data != honest
    print("past", num, "forged", num_true, "true")
