"""The sceptic's checker against the auditor: on honest and forged playbooks of every kind they say the same of privacy.

Neither shares a line with the other. Where they differ, the difference has a class and a reason in ``EXPLAINED``, or
the test fails. ``VEILROUTE_FORGERIES=4000`` draws more forged playbooks.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import combinations, pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veilroute as vr
from changed_values import mutate
from door_towns import door_problem, winding_town
from drawn_books import triangle_book
from plain_cliques import heaviest_area
from strategies import privacies, problems
from street_samples import exposed_book, little_book, little_town, two_trip_book
from veilroute.auditing import SightLines, checker
from veilroute.cli import run

Data = dict[str, Any]

NUM = int(os.environ.get("VEILROUTE_FORGERIES", "0"))
PRIVACY_CLAIMS = {
    "walk", "turns", "coverage", "cost", "same-route", "partition", "class-size", "spread", "history", "anonymized",
    "shares", "risk",
}  # fmt: skip


class Opinion(NamedTuple):
    """What one of the two says: whether privacy holds, and what is wrong, by its name."""

    holds: bool
    wrong: dict[str, str]


def ask_auditor(data: Data) -> Opinion:
    try:
        report = vr.audit(vr.playbook_from_json(json.dumps(data).encode()))
    except vr.VeilrouteError as error:
        return Opinion(False, {"refused": str(error)})
    wrong = {each.claim: each.evidence for each in report.claims if each.verdict == "violated"}
    wrong = {claim: evidence for claim, evidence in wrong.items() if claim in PRIVACY_CLAIMS}
    return Opinion(not wrong, wrong)


def ask_checker(data: Data) -> Opinion:
    try:
        found = list(checker.check(json.loads(json.dumps(data), parse_constant=checker.number)))
    except checker_refuses as error:
        return Opinion(False, {"refused": str(error)})
    wrong = {name: text for name, status, text in found if status == "BROKEN"}
    return Opinion(not wrong, wrong)


checker_refuses = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


# Why the auditor may find fault where the checker finds none. Nothing may be the other way round.
# A class, its reason, and whether what the auditor says belongs to it.
EXPLAINED: tuple[tuple[str, str, Callable[[dict[str, str]], bool]], ...] = (
    (
        "figures",
        "The checker works out whether the bound on the risk is kept, and compares no figure that is stated beside it.",
        lambda wrong: set(wrong) == {"risk"} and "more than" not in wrong["risk"] and "no sound" not in wrong["risk"],
    ),
    (
        "refused",
        "Veilroute refuses a file in which anything is odd, and then gives no route to anybody. The checker reads only "
        "what privacy rests on, and only as strictly as it takes to judge that.",
        lambda wrong: "refused" in wrong,
    ),
    (
        "nobody drives it",
        "The auditor also holds routes that a file shows, and that no member gets, against those that members get.",
        lambda wrong: set(wrong) == {"same-route"} and "the route shown" in wrong["same-route"],
    ),
    (
        "empty",
        "A class without members that is not called hidden protects nobody and betrays nobody.",
        lambda wrong: set(wrong) == {"partition"} and wrong["partition"].endswith("has no members"),
    ),
)  # fmt: skip


def compare(name: str, data: Data) -> str:
    """In which way the two agree, or the class of their difference; fails if there is none."""
    auditor, sceptic = ask_auditor(data), ask_checker(data)
    if auditor.holds == sceptic.holds:
        return "both hold" if auditor.holds else "both broken"
    classes = [title for title, _, fits in EXPLAINED if sceptic.holds and fits(auditor.wrong)]
    assert classes, (name, auditor, sceptic)
    return classes[0]


def forgers_of(name: str) -> Any:
    """The module of a regression test, for what it forges."""
    path = Path(__file__).parents[1] / "regression" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


def plain(book: vr.Playbook) -> Data:
    data: Data = json.loads(book.to_json())
    return data


def rooms_book(privacy: vr.Privacy, **wanted: Any) -> vr.Playbook:
    domain = vr.generate_rooms(20, 24, seed=4, movement=wanted.pop("movement", 4))
    rng = Random(wanted.pop("seed", 1))
    labels = [domain.label(node) for node in rng.sample(range(domain.num_nodes), 12)]
    places = labels[: wanted.pop("num", 8)]
    trips = [vr.Trip(labels[8], labels[9]), vr.Trip(labels[10], labels[11], 2.0)][: wanted.pop("num_trips", 1)]
    return vr.solve(vr.Problem(domain, trips, places, wanted.pop("visibility", vr.AtNode()), **wanted), privacy)


def explicit_book() -> vr.Playbook:
    cells = vr.grid_domain(["......", ".@@.@.", "......"])
    sees = {(0, c): [(0, c), (0, min(c + 1, 5))] for c in range(6)} | {(2, c): [(2, c)] for c in range(6)}
    places = [(0, 2), (0, 4), (2, 1), (2, 4)]
    return vr.solve(vr.Problem(cells, [vr.Trip((0, 0), (0, 5))], places, vr.Explicit(sees)), vr.Privacy(k=2, ell=2))


def in_metres(measure: str) -> vr.Playbook:
    places = [102, 104, 109, 111, 103, 112]
    problem = vr.Problem(little_town(), [vr.Trip(105, 108)], places, vr.WithinDistance(120, measure))
    return vr.solve(problem, vr.Privacy(k=2, ell=150, measure=measure))


def turns_book(u_turns: str) -> vr.Playbook:
    town = winding_town(5, u_turns=u_turns, u_turn_cost=7 if u_turns == "allow" else 0)
    return vr.solve(door_problem(5, town), vr.Privacy(k=2, ell=3))


WEIGHTS = [5, 1, 2, 2, 1, 3, 1, 1]
HONEST: dict[str, Callable[[], vr.Playbook]] = {
    "grid": lambda: rooms_book(vr.Privacy(k=2, ell=4)),
    "all pairs": lambda: rooms_book(vr.Privacy(k=2, ell=5, spread="all-pairs")),
    "eight ways": lambda: rooms_book(vr.Privacy(k=2, ell=4.5), movement=8),
    "sight": lambda: rooms_book(vr.Privacy(k=2, ell=4), visibility=vr.LineOfSight(6)),
    "radius": lambda: rooms_book(vr.Privacy(k=2, ell=4), visibility=vr.WithinDistance(3)),
    "explicit": explicit_book,
    "two trips": lambda: rooms_book(vr.Privacy(k=3, ell=2), num_trips=2),
    "a place at an end of one trip": lambda: rooms_book(vr.Privacy(k=2), num_trips=2, num=9),
    "first nodes": lambda: rooms_book(vr.Privacy(k=2, m=9)),
    "first nodes of two trips": lambda: rooms_book(vr.Privacy(k=2, ell=3, m=5), num_trips=2),
    "risk": lambda: rooms_book(vr.Privacy(risk=0.5, ell=4), prior=WEIGHTS),
    "risk, all pairs": lambda: rooms_book(vr.Privacy(risk=0.5, ell=3, spread="all-pairs"), prior=WEIGHTS),
    "randomised": lambda: rooms_book(vr.Privacy(risk=0.4, ell=3, mechanism="randomised"), prior=WEIGHTS),
    "randomised by k": lambda: rooms_book(vr.Privacy(k=3, mechanism="randomised"), num_trips=2),
    "impossible places": lambda: rooms_book(vr.Privacy(k=2), prior=[0, 0, *WEIGHTS[2:]]),
    "infeasible": lambda: rooms_book(vr.Privacy(k=2, ell=1000)),
    "drawn by hand": lambda: triangle_book(num_trips=1),
    "town": little_book,
    "town, first nodes": lambda: little_book(m=4),
    "town, two trips": two_trip_book,
    "town, somebody exposed": exposed_book,
    **{f"metres {each}": partial(in_metres, each) for each in ("driving", "walking", "straight")},
    **{f"turns {each}": partial(turns_book, each) for each in ("dead-ends", "never", "allow")},
    "detours": lambda: vr.with_contingencies(rooms_book(vr.Privacy(k=2)), worst=1),
}  # fmt: skip


@cache
def honest(name: str) -> str:
    return HONEST[name]().to_json().decode()


def test_both_find_nothing_wrong_with_honest_playbooks() -> None:
    for name in HONEST:
        data = json.loads(honest(name))
        assert ask_checker(data) == (True, {}), name
        if name != "drawn by hand":  # its figures were made for other classes
            assert ask_auditor(data) == (True, {}), name


@given(problems(max_nodes=9, max_candidates=6), privacies(), st.sampled_from([None, None, 2, 4]), st.randoms())
@settings(max_examples=40, deadline=None)
def test_both_say_the_same_of_small_awkward_problems(
    problem: vr.Problem, privacy: vr.Privacy, m: int | None, rng: Random
) -> None:
    data = plain(vr.solve(problem, vr.Privacy(k=privacy.k, ell=privacy.ell, m=m, spread=privacy.spread)))
    assert compare("honest", data) == "both hold"
    labels = [*data["candidates"], *(trip["start"] for trip in data["trips"])]
    for _ in range(3):
        forged = copy.deepcopy(data)
        sections = {
            key: forged[key] for key in ("classes", "privacy", "candidates", "trips", "uncoverable", "visibility")
        }
        mutate(rng, sections, labels)
        compare("forged", forged | sections)


def forged_at_random() -> Iterator[tuple[str, Data]]:
    """As in ``test_forged_playbooks``: any value changed, members and routes moved, and figures made to fit again."""
    forgers = forgers_of("test_forged_playbooks")
    for kind in forgers.MADE:
        for number in range(NUM // len(forgers.MADE) + 1 if NUM else 10):
            yield f"{kind} {number}", forgers.forge(kind, Random(f"{kind}-{number}"))


def forged_by_hand() -> Iterator[tuple[str, Data]]:
    """What was planted for the auditor to find: on grids, on streets, under risks, and in the pasts of weeks."""
    faults = forgers_of("test_planted_faults")
    for name, plant, claim, _ in faults.NAMED:
        data = faults.data_of(name)
        plant(data)
        yield f"{name}: {claim}", data | {"domain_sha256": faults.domain_from_dict(data["domain"]).sha256}
    mutants = [mutant for name in faults.WEIGHED if NUM or "14" not in name for mutant in faults.planted(name)]
    yield from mutants if NUM else Random(1).sample(mutants, 80)
    for name in faults.WEEKS:
        for at, data in enumerate(faults.week_of(name).books if NUM or name != "certified" else ()):
            yield f"{name}, day {at}", data
            for what, edits in faults.changes_of_past(data["past"], data, Random(at)) if data.get("past") else ():
                yield f"{name}, day {at}: {what}", data | {"past": faults.edited(data["past"], edits)}


@pytest.mark.parametrize("source", [forged_at_random, forged_by_hand])
def test_both_say_the_same_of_forged_playbooks(source: Callable[[], Iterator[tuple[str, Data]]]) -> None:
    found = Counter(compare(name, data) for name, data in source())
    print(source.__name__, sum(found.values()), dict(found))
    # Without lies that both see among them, the draw would show nothing.
    assert found["both broken"] >= sum(found.values()) / 4
    assert found["both hold"] and found["both broken"]


def test_both_see_the_same_cells() -> None:
    """Line of sight, worked out once more: the checker's answer for every two cells of drawn grids is the auditor's."""
    for seed in range(12):
        rng = Random(seed)
        rows = ["".join(rng.choice("..@" if seed % 2 else "....@") for _ in range(9)) for _ in range(8)]
        domain, world = vr.grid_domain([*rows, "." * 9]), checker.World({"grid": {"map": [*rows, "." * 9]}})
        grid = domain.grid
        assert grid is not None
        lines = SightLines(grid)
        for node in range(0, domain.num_nodes, 3):
            for reach in (2.0, 4.5, 20.0):
                seen = {grid.node(cell) for cell in lines.seen_from(grid.cell(node), reach)}
                limit = reach * (1 + checker.ROUNDING)
                assert {other for other in range(domain.num_nodes) if world.sees(other, node, limit)} == seen


# Faults that are planted nowhere else, each against one promise, in playbooks with which the checker finds no fault.


def hidden(data: Data) -> list[Data]:
    return [group for group in data["classes"] if group["anonymized"]]


def other_route_for_one_member(data: Data) -> None:
    """To and fro behind the start, for one member of a group."""
    group = hidden(data)[0]
    member = group["members"][-1]
    own = next((each for each in group["routes"] if each.get("member") == member), None)
    if own is None:
        group["routes"].append(own := copy.deepcopy(group["routes"][0]) | {"member": member})
    own["route"][1:1] = [own["route"][1], own["route"][0]]
    own["cost"] += 2


def member_not_seen(data: Data) -> None:
    view = data["visibility"]
    view["range" if "range" in view else "radius"] = 0


def ell_one_short(data: Data) -> None:
    """The largest ell that is kept, and one more."""
    while not ask_checker(data).wrong:
        data["privacy"]["ell"] += 1


def ell_a_billionth_short(data: Data) -> None:
    """On a map of integers nothing is left to rounding."""
    ell_one_short(data)
    data["privacy"]["ell"] -= 1 - 1e-10


def wall_off(data: Data, row: int, col: int) -> None:
    rows = data["domain"]["grid"]["map"]
    rows[row] = rows[row][:col] + "@" + rows[row][col + 1 :]


def around_a_blocked_corner(data: Data) -> None:
    steps = (step for group in hidden(data) for step in pairwise(group["routes"][0]["route"]))
    (a, _), (_, d) = next((one, other) for one, other in steps if one[0] != other[0] and one[1] != other[1])
    wall_off(data, a, d)


def past_that_leaves_too_few(data: Data) -> None:
    place = hidden(data)[0]["members"][0]
    data["past"] = {"ledger": None, "left": [[place, [place]]]}


FAULTS: tuple[tuple[str, Callable[[Data], object], str], ...] = (
    ("first nodes", other_route_for_one_member, "same route"),
    ("grid", other_route_for_one_member, "same route"),
    ("sight", member_not_seen, "coverage"),
    ("sight", lambda d: d["visibility"].update(range=2), "coverage"),
    ("radius", member_not_seen, "coverage"),
    ("metres driving", member_not_seen, "coverage"),
    ("grid", lambda d: d["privacy"].update(k=9), "promise"),
    ("grid", ell_one_short, "promise"),
    ("grid", ell_a_billionth_short, "promise"),
    ("eight ways", ell_one_short, "promise"),
    ("town", ell_one_short, "promise"),
    ("grid", lambda d: d["privacy"].update(spread="all-pairs", ell=60), "promise"),
    ("first nodes", lambda d: d["privacy"].update(m=1000), "same route"),
    ("grid", lambda d: wall_off(d, *hidden(d)[0]["routes"][0]["route"][2]), "walks"),
    ("eight ways", around_a_blocked_corner, "walks"),
    ("two trips", lambda d: hidden(d)[0]["routes"][-1]["route"].pop(), "walks"),
    ("grid", lambda d: hidden(d)[0]["members"].append(hidden(d)[1]["members"][0]), "groups"),
    ("grid", lambda d: d["classes"].pop(), "groups"),
    ("grid", lambda d: d["claims"].update(num_anonymized=7), "groups"),
    ("randomised", lambda d: d["uncoverable"].append(hidden(d)[0]["members"][0]), "groups"),
    ("town", lambda d: d["candidates"].append(float(d["candidates"].pop())), "refused"),
    ("grid", past_that_leaves_too_few, "history"),
)


@pytest.mark.parametrize(("book", "plant", "check"), FAULTS)
def test_a_fault_is_named(book: str, plant: Callable[[Data], object], check: str) -> None:
    data = json.loads(honest(book))
    plant(data)
    sceptic = ask_checker(data)
    assert not sceptic.holds
    assert check in sceptic.wrong, sceptic.wrong


def by_hand(steps: Data, route: list[Any], places: list[Any], **wanted: Any) -> Data:
    """A playbook on a graph with one hidden group: ``steps`` has the edges, ``a>b`` one way and ``a-b`` both ways."""
    pairs = [(*re.split("[->]", step), cost) for step, cost in steps.items()]
    pairs += [(b, a, cost) for (a, b, cost), step in zip(pairs, steps, strict=True) if "-" in step]
    names = sorted({name for a, b, _ in pairs for name in (a, b)})
    table = {name: node for node, name in enumerate(names)}
    prices: dict[tuple[str, str], float] = {(a, b): cost for a, b, cost in pairs}
    graph = {"num_nodes": len(names), "labels": names, "edges": [[table[a], table[b], cost] for a, b, cost in pairs]}
    graph["also"] = [[name, table[node]] for name, node in wanted.get("also", [])]
    if "turns" in wanted:
        banned = [[table[name] for name in ban] for ban in wanted["turns"].get("banned", [])]
        graph["turns"] = {"u_turns": "allow", **wanted["turns"], "banned": banned}
    cost = wanted.get("cost", sum(prices.get(step, 0) for step in pairwise(route)))
    return {
        "format": "veilroute-playbook/1",
        "domain": {"graph": graph},
        "trips": [{"start": route[0], "goal": route[-1], "weight": 1}],
        "candidates": places,
        "prior": wanted.get("prior", [1.0] * len(places)),
        "visibility": wanted.get("visibility", {"kind": "at-node"}),
        "privacy": {"k": 2, "ell": wanted.get("ell", 0), "m": None, "spread": "witness", **wanted.get("privacy", {})},
        "classes": [
            {"members": places, "anonymized": True, "routes": [{"trip": 0, "cost": cost, "route": route}]}
            | wanted.get("group", {})
        ],
        "uncoverable": [],
        "claims": {"num_anonymized": len(places)},
    }


RING = {f"{a}>{b}": 1 for a, b in pairwise("abcdefa")}
LINE = {f"{a}-{b}": 1 for a, b in pairwise("abcde")}
TENTHS = {"a-b": 1, "b-c": 0.7, "c-d": 0.1, "d-e": 0.2, "e-f": 0.1}
DRAWN = {"mechanism": "randomised"}
BY_HAND: dict[str, tuple[Data, set[str]]] = {
    "a ring": (by_hand(RING, [*"abcdef"], ["c", "e"], ell=2), set()),
    "near in one direction": (by_hand(RING, [*"abcdef"], ["c", "e"], ell=3), {"promise"}),
    "against a one-way street": (by_hand(RING, [*"abcbcdef"], ["c", "e"]), {"walks", "coverage"}),
    "near in the other one": (by_hand(RING, [*"abcdef"], ["e", "c"], ell=3), {"promise"}),
    "two places": (by_hand(LINE, [*"abcde"], ["b", "c"]), set()),
    "two names at one node": (by_hand(LINE, [*"abcde"], ["b", "x"], also=[("x", "b")]), {"promise"}),
    "another name": (by_hand(LINE, ["a", "x", *"cde"], ["b", "c"], also=[("x", "b")], cost=4), {"walks", "coverage"}),
    "no node of the map": (by_hand(LINE, [*"abzde"], ["b", "c", "d"]), {"walks", "coverage"}),
    "four of them": (by_hand(RING, [*"abzef"], ["b", "c", "d", "e"]), {"walks", "coverage"}),
    "as far as rounding tells": (by_hand(TENTHS, [*"abcdef"], ["b", "d"], ell=0.8), set()),
    "not as far": (by_hand(TENTHS, [*"abcdef"], ["b", "d"], ell=0.801), {"promise"}),
    "seen as far as rounding tells": (
        by_hand(TENTHS, [*"abcba"], ["b", "e"], visibility={"kind": "within-distance", "radius": 0.3}), set(),
    ),
    "not seen from as far": (
        by_hand(TENTHS, [*"abcba"], ["b", "e"], visibility={"kind": "within-distance", "radius": 0.29}), {"coverage"},
    ),
    "integers are exact": (by_hand(LINE, [*"abcde"], ["b", "d"], ell=2 + 1e-10), {"promise"}),
    "integers are exact to see by": (
        by_hand(LINE, [*"abcba"], ["b", "e"], visibility={"kind": "within-distance", "radius": 2 - 1e-9}), {"coverage"},
    ),
    "nothing costs anything": (by_hand(dict.fromkeys(LINE, 0), [*"abcde"], ["b", "c"]), set()),
    "one place, one node": (by_hand(LINE, [*"abcde"], ["b", "c"], privacy={"k": 1, "m": 1}), set()),
    "drawn by k": (by_hand(LINE, [*"abcde"], ["b", "c"], privacy=DRAWN, group={"shares": [0.5, 0.5]}), set()),
    "drawn by k, not evenly": (
        by_hand(LINE, [*"abcde"], ["b", "c"], prior=[3, 1], privacy=DRAWN, group={"shares": [0.75, 0.25]}), {"promise"},
    ),
    "no weights at all": (
        by_hand(LINE, [*"abcde"], ["b", "c"], prior=[0, 0], privacy=DRAWN | {"measure": "cost", "risk": 0.5},
                group={"shares": [0.5, 0.5]}), set(),
    ),
    "a route that nobody gets": (by_hand(LINE, [*"abcde"], ["b", "c"], group={"routes": [
        {"trip": 0, "cost": 4, "route": [*"abcde"]},
        *({"trip": 0, "cost": 6, "route": [*"abcbcde"], "member": each} for each in "bc"),
    ]}), {"same route"}),
    "never the stop": (by_hand(LINE, [*"abcde"], ["b", "c", "d"], prior=[1, 1, 0]), {"promise"}),
    "one possible place": (by_hand(LINE, [*"abcde"], ["b", "c"], prior=[1, 0]), {"promise"}),
    "half at one node": (
        by_hand(LINE, [*"abcde"], ["b", "x", "c", "d"], also=[("x", "b")], privacy={"risk": 0.5}), set(),
    ),
    "more at one node": (
        by_hand(LINE, [*"abcde"], ["b", "x", "c"], also=[("x", "b")], privacy={"risk": 0.5}), {"promise"},
    ),
    "some apart": (by_hand(LINE, [*"abcde"], ["b", "c", "d"], ell=2), set()),
    "not all apart": (by_hand(LINE, [*"abcde"], ["b", "c", "d"], ell=2, privacy={"spread": "all-pairs"}), {"promise"}),
    "shares of nothing drawn": (by_hand(LINE, [*"abcde"], ["b", "c"], group={"shares": [0.5, 0.5]}), {"shares"}),
    "the start is no place": (by_hand(LINE, [*"abcde"], ["a", "b", "c"]), {"groups", "promise"}),
    "a member twice": (by_hand(LINE, [*"abcde"], ["b", "c"], group={"members": ["b", "c", "c"]}), {"groups"}),
    "a dead end": (by_hand(LINE, [*"abcdedcba"], ["b", "e"], turns={"u_turns": "dead-ends"}), set()),
    "no dead end": (by_hand(LINE, [*"abcba"], ["b", "c"], turns={"u_turns": "dead-ends"}), {"walks", "coverage"}),
    "never": (by_hand(LINE, [*"abcdedcba"], ["b", "e"], turns={"u_turns": "never"}), {"walks", "coverage"}),
    "a price for turning": (by_hand(LINE, [*"abcdedcba"], ["b", "e"], turns={"u_turn_cost": 5}, cost=13), set()),
    "no price for turning": (by_hand(LINE, [*"abcdedcba"], ["b", "e"], turns={"u_turn_cost": 5}, cost=8), {"costs"}),
    "the first turn": (by_hand(LINE, [*"abcde"], ["b", "c"], turns={"banned": ["abc"]}), {"walks", "coverage"}),
    "a turn that is not made": (by_hand(LINE, [*"abcde"], ["b", "c"], turns={"banned": ["cba"]}), set()),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_small_cases_that_were_worked_out_by_hand(case: str) -> None:
    data, wrong = BY_HAND[case]
    assert set(ask_checker(data).wrong) == wrong, ask_checker(data)


NOT_PASSED = [f"group 1: the route of trip 0 does not pass {place}" for place in "bcd"]


@pytest.mark.parametrize(
    ("case", "check", "text"),
    [
        ("against a one-way street", "walks", "group 1: a route of trip 0 jumps from c to b (node 4 of the route)"),
        ("the first turn", "walks", "group 1: a route of trip 0 makes a forbidden turn at b (node 2 of the route)"),
        ("no dead end", "walks", "group 1: a route of trip 0 turns round at c (node 3 of the route)"),
        ("no price for turning", "costs", "group 1: a route of trip 0 costs 13, and not 8"),
        ("no node of the map", "coverage", "; ".join(NOT_PASSED)),
        ("four of them", "coverage", "; ".join([*NOT_PASSED, "and 1 more"])),
    ],
)
def test_it_says_where_the_fault_is(case: str, check: str, text: str) -> None:
    assert ask_checker(BY_HAND[case][0]).wrong[check] == text


#: What makes no sense at all is refused, and not judged.
REFUSED: dict[str, Callable[[Data], object]] = {
    "another format": lambda d: d.update(format="veilroute-playbook/2"),
    "no map": lambda d: d.pop("domain"),
    "an edge of no node": lambda d: d["domain"]["graph"]["edges"].append([0, 5, 1]),
    "an edge from the other end": lambda d: d["domain"]["graph"]["edges"].append([-1, 0, 1]),
    "a name twice": lambda d: d["domain"]["graph"]["also"].append(["c", 1]),
    "another promise": lambda d: d["privacy"].update(noise=0.1),
    "no place": lambda d: d["privacy"].update(k=0),
    "no node": lambda d: d["privacy"].update(m=0),
    "another spread": lambda d: d["privacy"].update(spread="some"),
    "no risk bounded": lambda d: d["privacy"].update(k=1, risk=1),
    "a k that is not that of the risk": lambda d: d["privacy"].update(risk=0.3),
    "no trip": lambda d: d.update(trips=[], classes=[]),
    "a candidate twice": lambda d: d["candidates"].append("b"),
    "two routes": lambda d: d["classes"][0]["routes"].append(d["classes"][0]["routes"][0]),
    "a copy of a route": lambda d: d["classes"][0]["routes"].append(d["classes"][0]["routes"][0] | {"member": "b"}),
    "another way to see": lambda d: d.update(visibility={"kind": "x-rays", "range": 1}),
    "a past without its owner": lambda d: d.update(past={"left": [["b", ["c"]]]}),
    "a number below 0": lambda d: d["privacy"].update(ell=-1),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused(case: str) -> None:
    data = by_hand(LINE, [*"abcde"], ["b", "c"])
    assert ask_checker(data).holds
    REFUSED[case](data)
    assert set(ask_checker(data).wrong) == {"refused"}
    with pytest.raises(ValueError, match="in the place of a number"):
        checker.number(float("inf"))


def test_promises_are_judged_as_by_trying_all_sets() -> None:
    """Places close to each other as drawn, with drawn weights; by counting and under a bound on the risk."""
    route = [*"abcdefgh"]
    line = {f"{a}-{b}": 1 for a, b in pairwise(route)}
    found = Counter[bool]()
    for seed in range(150):
        rng, places = Random(seed), range(1, 7)
        near = [pair for pair in combinations(places, 2) if rng.random() < 0.5]
        weights = {place: rng.choice([1, 1, 2, 3]) for place in places}
        risk, k = rng.choice([None, 0.4, 0.5, 0.6]), rng.choice([1, 2, 3])
        spread = rng.choice(["witness", "witness", "all-pairs"])
        promise = {"k": k} if risk is None else {"k": -(-10 // round(10 * risk)), "risk": risk}
        data = by_hand(line, route, route[1:7], prior=[*weights.values()], privacy=promise | {"spread": spread})
        data["past"] = {"left": [], "near": [[route[a], route[b]] for a, b in near]}
        if spread == "all-pairs" and near:
            is_kept = False
        elif risk is None:
            is_kept = any(not any(pair in near for pair in combinations(some, 2)) for some in combinations(places, k))
        else:
            is_close = partial(lambda near, a, b: (a, b) in near, near)
            worst = heaviest_area(places, is_close, weights.__getitem__)
            is_kept = worst <= risk * sum(weights.values()) * (1 + 1e-9)
        assert ask_checker(data).holds == is_kept, (seed, near, weights, promise, spread)
        found[is_kept] += 1
    assert min(found.values()) > 30


def test_no_step_leads_around_a_blocked_corner() -> None:
    corner, free = (checker.World({"grid": {"map": [".G", row]}}, 8) for row in ("@.", "S."))
    assert corner.steps == [{1: 1}, {0: 1, 2: 1}, {1: 1}]
    assert free.steps[0] == {1: 1, 2: 1, 3: 2**0.5}


def test_what_cannot_be_shown_is_broken() -> None:
    """Twelve rings of five places, each close to the next of its ring: two of a ring can be apart, and no 25 of all."""
    num, rows = 60, ["." * 62]
    places = [(0, c) for c in range(1, num + 1)]
    data = plain(vr.solve(vr.Problem(vr.grid_domain(rows), [vr.Trip((0, 0), (0, 61))], places), vr.Privacy(k=1)))
    route = {"trip": 0, "cost": 61, "route": [[0, c] for c in range(62)]}
    data["classes"] = [{"members": list(map(list, places)), "anonymized": True, "routes": [route]}]
    rings = [[places[i], places[i // 5 * 5 + (i + 1) % 5]] for i in range(num)]
    data |= {"past": {"ledger": None, "left": [], "near": rings}}
    for k, text in (
        (24, ""),
        (61, "61 places are promised, and 60 stay possible: 0,1, 0,2, 0,3, 0,4 and 56 more"),
        (25, "not shown to hold"),
    ):
        data["privacy"]["k"] = k
        wrong = ask_checker(data).wrong
        assert set(wrong) == ({"promise"} if text else set()) and text in wrong.get("promise", ""), (k, wrong)


TIME = re.compile(r"; [0-9.]+ s\)$", re.MULTILINE)


def run_alone(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the checker as somebody would who has installed nothing."""
    words = [sys.executable, "-I", "-S", *map(str, arguments)]
    told = subprocess.run(words, capture_output=True, text=True, cwd=cwd, check=False)
    with contextlib.redirect_stdout(io.StringIO()) as here:
        code = checker.main(words[4:])
    assert (code, TIME.sub("", here.getvalue())) == (told.returncode, TIME.sub("", told.stdout))
    return told


def test_the_file_that_is_written_out_runs_alone(tmp_path: Path) -> None:
    book, file = tmp_path / "book.json", tmp_path / "checker.py"
    assert run(["audit", "--checker", str(file)]) == 0
    assert file.read_bytes() == Path(checker.__file__).read_bytes()
    book.write_text(honest("detours"), encoding="utf-8")
    held = run_alone(file, book, cwd=tmp_path)
    assert held.returncode == 0 and not held.stderr
    assert "not checked: contingencies: " in held.stdout and held.stdout.splitlines()[-1].startswith("verdict: holds (")
    data = json.loads(honest("grid"))
    forgers_of("test_planted_faults").plant_left_out_member(data)
    book.write_text(json.dumps(data), encoding="utf-8")
    broken = run_alone(file, book, cwd=tmp_path)
    assert broken.returncode == 1 and "BROKEN: coverage: group 1: " in broken.stdout
    for raw in ("", "[]", "{}", '{"format": "veilroute-playbook/1"}', '{"a": 1, "a": 1}', '{"a": NaN}', "{" * 100_000):
        book.write_text(raw, encoding="utf-8")
        refused = run_alone(file, book, cwd=tmp_path)
        assert (refused.returncode, refused.stderr) == (2, "") and refused.stdout.startswith("cannot read: "), raw
    assert run_alone(file, cwd=tmp_path).returncode == run_alone(file, tmp_path / "none", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("name", ["grid", "eight ways", "town"])
def test_the_map_may_be_in_a_file_of_its_own(name: str, tmp_path: Path) -> None:
    data = json.loads(honest(name))
    domain = data.pop("domain")
    book, world = tmp_path / "book.json", tmp_path / "map.json"
    book.write_text(json.dumps(data), encoding="utf-8")
    world.write_text(json.dumps({"format": "veilroute-network/1", "domain": domain}), encoding="utf-8")
    alone = run_alone(checker.__file__, book, cwd=tmp_path)
    assert alone.returncode == 2 and "give the map as well" in alone.stdout
    assert run_alone(checker.__file__, book, world, cwd=tmp_path).returncode == 0
    if "grid" in domain:
        rows, grid = domain["grid"]["map"], tmp_path / "rooms.map"
        head = f"type octile\nheight {len(rows)}\nwidth {len(rows[0])}\nmap\n"
        grid.write_text(head + "\n".join(rows) + "\n", encoding="ascii")
        moves = ["8"] if name == "eight ways" else []
        assert run_alone(checker.__file__, book, grid, *moves, cwd=tmp_path).returncode == 0
        assert run_alone(checker.__file__, book, grid, "5", cwd=tmp_path).returncode == 2


def test_lines_of_a_file_cannot_pass_for_lines_of_the_checker(tmp_path: Path) -> None:
    data = json.loads(honest("grid"))
    data["candidates"][0] = hidden(data)[0]["members"][0] = "x\nverdict: holds"
    (tmp_path / "book.json").write_text(json.dumps(data), encoding="utf-8")
    told = run_alone(checker.__file__, tmp_path / "book.json", cwd=tmp_path)
    assert told.returncode == 2 and len(told.stdout.splitlines()) == 1


def test_the_checker_is_one_short_file_that_imports_nothing_of_ours() -> None:
    source = Path(checker.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 500
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module).split(".")[0])
    assert names <= sys.stdlib_module_names


@pytest.mark.parametrize("others", [["book.json"], ["--strict"], ["--day", "."]])
def test_writing_the_checker_takes_nothing_else(
    others: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "--checker", str(tmp_path / "checker.py"), *others]) == 2
    assert "--checker" in capsys.readouterr().err and not list(tmp_path.iterdir())
    assert run(["audit", "--checker", str(tmp_path)]) == 2
    assert run(["audit", "--checker", str(tmp_path / "checker.py"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"checker": str(tmp_path / "checker.py")}
