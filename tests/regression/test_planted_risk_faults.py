"""Playbooks that promise a risk, changed by somebody who wants to cheat: what breaks a claim must be refuted.

Each mutant is an honest playbook file with one thing changed, by hand or at random. Those that stay true must pass.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any

import pytest

import veilroute as vr
from veilroute import playbook_from_json

Data = dict[str, Any]
Mutant = tuple[str, Data]

FIGURES = (
    "expected_mac",
    "hidden_mass",
    "worst_posterior",
    "bayes_success",
    "mac",
    "total_extra",
    "worst_extra",
    "apr",
)


def rooms(num: int, seed: int, *, prior: str = "zipf", num_trips: int = 1) -> vr.Problem:
    domain = vr.generate_rooms(16, 20, seed=seed)
    rng = Random(seed)
    labels = [domain.label(node) for node in rng.sample(range(domain.num_nodes), num + 4)]
    trips = [vr.Trip(labels[-1], labels[-2]), vr.Trip(labels[-3], labels[-4], 2.0)][:num_trips]
    weights = {"zipf": [1 / (i + 1) for i in range(num)], "even": None, "drawn": [rng.random() for _ in range(num)]}
    return vr.Problem(domain, trips, labels[:num], prior=weights[prior])


BOOKS: dict[str, Callable[[], vr.Playbook]] = {
    "partition": lambda: vr.solve(rooms(8, 1), vr.Privacy(risk=0.5, ell=2)),
    "partition, two trips": lambda: vr.solve(rooms(8, 2, prior="drawn", num_trips=2), vr.Privacy(risk=0.4)),
    "partition, first nodes": lambda: vr.solve(rooms(8, 3), vr.Privacy(risk=0.5, m=12)),
    "randomised": lambda: vr.solve(rooms(8, 1), vr.Privacy(risk=0.5, ell=2, mechanism="randomised")),
    "randomised, with a rest": lambda: vr.solve(rooms(8, 4), vr.Privacy(risk=0.4, mechanism="randomised")),
    "randomised, k": lambda: vr.solve(rooms(7, 5, prior="even"), vr.Privacy(k=3, mechanism="randomised")),
    "randomised, two trips": lambda: vr.solve(
        rooms(8, 2, prior="drawn", num_trips=2), vr.Privacy(risk=0.5, mechanism="randomised")
    ),
    "randomised, 14": lambda: vr.solve(rooms(14, 6, prior="drawn"), vr.Privacy(risk=0.3, mechanism="randomised")),
}
RANDOMISED = [name for name in BOOKS if name.startswith("randomised")]


@cache
def honest(name: str) -> str:
    """A playbook with all its figures, as JSON."""
    data = json.loads(BOOKS[name]().to_json())
    assert data["status"] == "optimal"
    settle_risk(data)
    return json.dumps(data)


def settle_risk(data: Data) -> None:
    """State the worst posterior and the Bayes success that the routes have, worked out plainly; no two are close."""
    num = len(data["candidates"])
    prior = {str(c): p for c, p in zip(data["candidates"], data.get("prior") or [1 / num] * num, strict=True)}
    seen: dict[str, dict[str, float]] = {}
    for group in data["classes"]:
        if group["anonymized"]:
            for i, member in enumerate(group["members"]):
                routes = {r["trip"]: r for r in group["routes"] if r.get("member", member) == member}
                routes |= {r["trip"]: r for r in group["routes"] if r.get("member") == member}
                key = str([routes[trip]["route"][: data["privacy"]["m"]] for trip in sorted(routes)])
                masses = seen.setdefault(key, {})
                mass = group["shares"][i] if "shares" in group else prior[str(member)]
                masses[str(member)] = masses.get(str(member), 0.0) + mass
    total = sum(sum(masses.values()) for masses in seen.values())
    data["claims"]["worst_posterior"] = max(max(masses.values()) / sum(masses.values()) for masses in seen.values())
    data["claims"]["bayes_success"] = sum(max(masses.values()) for masses in seen.values()) / total


def book(name: str) -> Data:
    data: Data = json.loads(honest(name))
    return data


def verdict_of(data: Data) -> str:
    """What comes of a file: one that cannot be read is refuted as well."""
    try:
        return vr.audit(playbook_from_json(json.dumps(data).encode())).verdict
    except vr.VeilrouteError:
        return "violated"


def hidden(data: Data) -> list[Data]:
    return [group for group in data["classes"] if group["anonymized"]]


def planted(name: str) -> Iterator[Mutant]:
    """Mutants of a playbook, none of which is true."""
    rng = Random(name)

    def mutant(what: str) -> tuple[str, Data]:
        return f"{name}: {what}", book(name)

    for figure in FIGURES:
        for factor in (0.5, 1 - 1e-6, 1 + 1e-6, 2.0):
            what, data = mutant(f"{figure} times {factor}")
            data["claims"][figure] *= factor
            if data["claims"][figure] != book(name)["claims"][figure]:
                yield what, data
    for figure in (*FIGURES, "expected_mac_lower_bound"):
        what, data = mutant(f"{figure} is NaN")
        data["claims"][figure] = math.nan
        yield what, data
    for figure in ("num_candidates", "num_coverable", "num_anonymized"):
        for change in (-1, 1):
            what, data = mutant(f"{figure} {change:+}")
            data["claims"][figure] += change
            yield what, data
    for factor in (0.9, 1 - 1e-6, 1 + 1e-6, 1.5):
        what, data = mutant(f"bound times {factor}")
        data["claims"]["expected_mac_lower_bound"] *= factor
        yield what, data
        what, data = mutant(f"bound times {factor}, and the figure with it")
        data["claims"]["expected_mac_lower_bound"] *= factor
        data["claims"]["expected_mac"] *= factor
        yield what, data
    for other in ("mac_lower_bound", "total_extra_lower_bound"):
        what, data = mutant(f"{other} stated as well")
        data["claims"][other] = 0.0
        yield what, data
    what, data = mutant("no expected MAC")
    del data["claims"]["expected_mac"]
    yield what, data
    for worst in (0.9, 0.99):
        what, data = mutant(f"promises {worst} of its worst posterior")
        privacy = data["privacy"]
        privacy["risk"] = worst * data["claims"]["worst_posterior"]
        privacy["k"] = math.ceil(1 / privacy["risk"] - 1e-9)
        yield what, data
    what, data = mutant("promises an ell that nobody keeps")
    data["privacy"]["ell"] = 10_000
    yield what, data
    what, data = mutant("the other mechanism")
    other = "partition" if name in RANDOMISED else "randomised"
    data["privacy"] |= {"mechanism": other, "spread": "all-pairs"}
    yield what, data
    if "prior" in data:
        weights = book(name)["prior"]
        for _ in range(6):
            i, j = rng.sample(range(len(weights)), 2)
            what, data = mutant(f"priors of {i} and {j} swapped")
            data["prior"][i], data["prior"][j] = weights[j], weights[i]
            yield what, data
        for label, changed in {
            "all the same": [1.0] * len(weights),
            "squared": [weight**2 for weight in weights],
            "one impossible": [0.0, *weights[1:]],
            "one a little likelier": [weights[0] * 1.001, *weights[1:]],
            "negative": [-weights[0], *weights[1:]],
            "NaN": [math.nan, *weights[1:]],
            "infinite": [math.inf, *weights[1:]],
            "one too few": weights[1:],
            "certain": [1.0, *[0.0] * (len(weights) - 1)],
        }.items():
            what, data = mutant(f"prior {label}")
            data["prior"] = changed
            yield what, data
        what, data = mutant("no prior")
        del data["prior"]
        yield what, data
    num_hidden = len(hidden(book(name)))
    for at in range(num_hidden):
        what, data = mutant(f"class {at} is gone")
        data["classes"].remove(hidden(data)[at])
        yield what, data
        what, data = mutant(f"class {at} is there twice")
        data["classes"].append(hidden(data)[at])
        yield what, data
        what, data = mutant(f"class {at} is said not to be hidden")
        hidden(data)[at]["anonymized"] = False
        yield what, data
        what, data = mutant(f"class {at} has lost a member")
        group = hidden(data)[at]
        group["members"].pop()
        group["routes"] = [
            route for route in group["routes"] if route.get("member", group["members"][0]) in group["members"]
        ]
        if "shares" in group:
            group["shares"].pop()
        yield what, data
        what, data = mutant(f"class {at} takes a detour")
        for route in hidden(data)[at]["routes"]:
            route["route"] = route["route"][:2] + route["route"][:1] + route["route"][1:]
            route["cost"] += 2
        yield what, data
    what, data = mutant("a member is called uncoverable")
    gone = hidden(data)[0]["members"][0]
    data["uncoverable"].append(gone)
    data["classes"] = [group for group in data["classes"] if gone not in group["members"]]
    yield what, data
    yield from planted_shares(name, rng) if name in RANDOMISED else planted_unshared(name)


def planted_unshared(name: str) -> Iterator[Mutant]:
    data = book(name)
    for group in hidden(data):
        group["shares"] = [data["prior"][data["candidates"].index(member)] for member in group["members"]]
    yield f"{name}: shares in a partition", data
    for value in (0.0, 1.0):
        data = book(name)
        hidden(data)[0]["shares"] = [value] * len(hidden(data)[0]["members"])
        yield f"{name}: shares of {value} in a partition", data


def planted_shares(name: str, rng: Random) -> Iterator[Mutant]:
    num = len(hidden(book(name)))
    for at in range(num):
        for factor in (0.0, 0.5, 1 - 1e-3, 1 + 1e-3, 3.0, -1.0, math.nan, math.inf):
            data = book(name)
            shares = hidden(data)[at]["shares"]
            shares[rng.randrange(len(shares))] *= factor
            yield f"{name}: a share of class {at} times {factor}", data
        data = book(name)
        hidden(data)[at]["shares"] = [share * 1.01 for share in hidden(data)[at]["shares"]]
        yield f"{name}: all shares of class {at} larger", data
        data = book(name)
        del hidden(data)[at]["shares"]
        yield f"{name}: no shares in class {at}", data
        data = book(name)
        shares = hidden(data)[at]["shares"]
        if max(shares) > min(shares) * 1.001:
            shares.reverse() if shares[0] != shares[-1] else shares.sort()
            if shares != hidden(book(name))[at]["shares"]:
                yield f"{name}: shares of class {at} in another order", data
        data = book(name)
        group = copy.deepcopy(hidden(data)[at])
        # Half of the class takes another way round: one half is mostly one member, the other the rest.
        for route in group["routes"]:
            route["route"] = route["route"][:2] + route["route"][:1] + route["route"][1:]
            route["cost"] += 2
        first = hidden(data)[at]
        group["shares"] = [share * (0.9 if i else 0.1) for i, share in enumerate(first["shares"])]
        first["shares"] = [share * (0.1 if i else 0.9) for i, share in enumerate(first["shares"])]
        data["classes"].append(group)
        yield f"{name}: class {at} in two parts that look otherwise", data
        data = book(name)
        group, first = copy.deepcopy(hidden(data)[at]), hidden(data)[at]
        group["shares"] = [share * (0.9 if i else 0.1) for i, share in enumerate(first["shares"])]
        first["shares"] = [share * (0.1 if i else 0.9) for i, share in enumerate(first["shares"])]
        data["classes"].append(group)
        # Together they are what they were; `route` looks at each class, and refuses everybody.
        yield f"{name}: class {at} in two uneven parts that look the same", data
    # Some of a member's probability goes from one of its classes to another, so that all sums are as before.
    homes: dict[str, list[tuple[int, int]]] = {}
    for at, group in enumerate(hidden(book(name))):
        for i, member in enumerate(group["members"]):
            homes.setdefault(str(member), []).append((at, i))
    for member, places in homes.items():
        if len(places) > 1:
            data = book(name)
            (one, i), (other, j) = rng.sample(places, 2)
            moved = hidden(data)[one]["shares"][i] / 2
            hidden(data)[one]["shares"][i] -= moved
            hidden(data)[other]["shares"][j] += moved
            yield f"{name}: {member} moved from class {one} to {other}", data
    yield from planted_certificates(name, rng)


def planted_certificates(name: str, rng: Random) -> Iterator[Mutant]:
    data = book(name)
    del data["certificate"]
    yield f"{name}: no certificate", data
    prior = priors_of(book(name))
    num = len(book(name)["certificate"]["members"])
    for i in range(num):
        for change in (1e-4, 0.1, 10.0):
            # The bound that such prices would prove, were they true, is stated everywhere.
            data = book(name)
            certificate = data["certificate"]
            certificate["cost"]["duals"][i] += change
            raised = change * prior[str(certificate["members"][i])]
            certificate["bound"] += raised
            yield f"{name}: price {i} is higher by {change}", data
            data = copy.deepcopy(data)
            for figure in ("expected_mac", "expected_mac_lower_bound"):
                data["claims"][figure] += raised / data["claims"]["hidden_mass"]
            yield f"{name}: price {i} is higher by {change}, and all figures with it", data
        data = book(name)
        data["certificate"]["cost"]["duals"][i] -= 0.1
        yield f"{name}: price {i} is lower", data
    others: dict[str, Data] = {
        "bound": {"bound": book(name)["certificate"]["bound"] + 0.1},
        "negative bound": {"bound": -1.0},
        "threshold": {"threshold": 1.0},
        "listed": {"num_enumerated": 5},
        "count": {"count": {"duals": [1.0] * num, "cuts": []}},
        "members": {"members": list(reversed(book(name)["certificate"]["members"]))},
        "fewer members": {"members": book(name)["certificate"]["members"][:-1]},
        "huge prices": {"cost": {"duals": [1e18, -1e18, *[0.0] * (num - 2)], "cuts": []}},
        "prices of nothing": {"cost": {"duals": [0.0] * num, "cuts": []}},
    }
    for what, parts in others.items():
        data = book(name)
        data["certificate"] |= parts
        if what == "members" and len({round(dual, 9) for dual in data["certificate"]["cost"]["duals"]}) == 1:
            continue
        yield f"{name}: certificate with another {what}", data
    data = book(name)
    cut = {"members": data["certificate"]["members"][:3], "dual": 0.01}
    data["certificate"]["cost"]["cuts"] = [cut]
    yield f"{name}: certificate with a cut", data
    for _ in range(5):
        # A plan with a detour, whose prices are stretched to meet what it costs.
        data = book(name)
        factor = 1 + rng.random()
        data["certificate"]["cost"]["duals"] = [dual * factor for dual in data["certificate"]["cost"]["duals"]]
        data["certificate"]["bound"] *= factor
        for figure in ("expected_mac", "expected_mac_lower_bound"):
            data["claims"][figure] *= factor
        yield f"{name}: all prices times {factor}", data


def priors_of(data: Data) -> dict[str, float]:
    num = len(data["candidates"])
    return {str(c): p for c, p in zip(data["candidates"], data.get("prior") or [1 / num] * num, strict=True)}


@pytest.mark.parametrize("name", BOOKS)
def test_honest_playbooks_pass(name: str) -> None:
    report = vr.audit(playbook_from_json(honest(name).encode()))
    assert [claim for claim in report.claims if claim.verdict != "holds"] == []


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "randomised, 14" else ()) for name in BOOKS]
)
def test_every_planted_fault_is_refuted(name: str) -> None:
    passed = [what for what, data in planted(name) if verdict_of(data) != "violated"]
    assert passed == []


def test_there_are_enough_mutants() -> None:
    assert sum(1 for name in BOOKS for _ in planted(name)) >= 500


def harmless(name: str) -> Iterator[Mutant]:
    """Mutants that say the same, or less, in other words."""
    if "prior" in book(name):
        data = book(name)
        data["prior"] = [7 * weight for weight in data["prior"]]
        yield "prior in another unit", data
    data = book(name)
    data["classes"].reverse()
    yield "classes in another order", data
    data = book(name)
    data["status"] = "feasible"
    yield "does not say that it is optimal", data
    data["claims"]["expected_mac_lower_bound"] *= 0.5
    yield "a lower bound", data
    if name in RANDOMISED:
        data = book(name)
        for group in hidden(data):
            other = copy.deepcopy(group)
            group["shares"] = [share * 0.25 for share in group["shares"]]
            other["shares"] = [share * 0.75 for share in other["shares"]]
            data["classes"].append(other)
        yield "every class in two parts that look the same", data
        data = book(name)
        for group in hidden(data):
            order = list(reversed(range(len(group["members"]))))
            group["members"] = [group["members"][i] for i in order]
            group["shares"] = [group["shares"][i] for i in order]
        yield "members in another order", data


@pytest.mark.parametrize("name", BOOKS)
def test_what_stays_true_passes(name: str) -> None:
    refuted = [what for what, data in harmless(name) if verdict_of(data) != "holds"]
    assert refuted == []
