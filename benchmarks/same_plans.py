"""Whether two versions of veilroute plan alike by counting: the same files, byte for byte, and why where they are not.

    python benchmarks/same_plans.py OLD/bin/python --shared ../shared

Plans the paper's instances (every optimum that is listed, finite m included) and some sixty problems on generated
maps, on directed graphs and with doors that have two names, with every planner of counting plans, and compares the
file with the one that another version writes, which is run by its own interpreter. Of each difference it says why.
Where the list of candidates decides a tie, the other version plans the sorted list as this one plans any list; this is
looked at and not taken for granted. Exits with 1 if there is a difference without a reason.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import veilroute as vr
from paper_instances import build_problem, read_rows
from veilroute.domain.turns import with_rules

NUM_OTHERS = 60
METHODS: list[dict[str, Any]] = [
    {},
    {"planner": "pbp"},
    {"planner": "pbp", "partitioner": "merge-bb"},
    {"planner": "pbp", "partitioner": "df-bb"},
    {"planner": "pbp", "partitioner": "naive", "seed": 3},
    {"planner": "constructive"},
]
BOUNDED: list[dict[str, Any]] = [{"planner": "m-pbp"}, {"planner": "cbp", "seed": 3}, {"planner": "rbp", "seed": 3}]


def paper_cases(shared: Path) -> Iterator[tuple[str, vr.Problem, vr.Privacy, dict[str, Any]]]:
    for row in read_rows(shared):
        for entry in row["optimum"]:
            privacy = vr.Privacy(k=entry["k"], ell=entry["ell"], m=entry["m"], spread=entry["spread"])
            problem = build_problem(shared, row, entry["radius"])
            name = f"{row['map']} {row['seed']} {row['num_candidates']} {privacy}"
            yield name, problem, privacy, {}
            if row["num_candidates"] == 8 and entry["radius"] == 0:
                methods = METHODS[1:] if privacy.m is None else BOUNDED
                for method in methods:
                    yield f"{name} {method}", problem, privacy, method


def other_problem(number: int) -> vr.Problem:
    """Rooms, a directed graph with broken costs, or a graph some of whose nodes have two names."""
    rng = random.Random(number)
    if number % 3 == 0:
        domain = vr.generate_rooms(seed=number)
        start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
        return vr.Problem(domain, [vr.Trip(start, goal)], vr.draw_candidates(domain, start, goal, 10, seed=number))
    size = 40
    pairs = [(node, (node + 1) % size) for node in range(size)]
    pairs += [(rng.randrange(size), rng.randrange(size)) for _ in range(2 * size)]
    pairs = [(a, b) for a, b in pairs if a != b]
    labels = [f"n{node}" for node in range(size)]
    costs = [rng.choice([0.7, 1.1, 2.3, 3.14]) + rng.random() for _ in pairs]
    domain = vr.Domain.from_edges(size, [a for a, _ in pairs], [b for _, b in pairs], costs, labels=labels)
    places = rng.sample(labels[1:], 9)
    if number % 3 == 1:
        domain = with_rules(domain, None, [(f"{place} too", domain.node(place)) for place in places[:3]])
        places += [f"{place} too" for place in places[:3]]
    trips = [vr.Trip(labels[0], labels[rng.randrange(1, size)])]
    return vr.Problem(domain, trips, places, vr.WithinDistance(rng.choice([0, 2])))


def cases(shared: Path) -> Iterator[tuple[str, vr.Problem, vr.Privacy, dict[str, Any]]]:
    """A name, a problem, the privacy and the planner with its options, for everything that is compared."""
    yield from paper_cases(shared)
    for number in range(NUM_OTHERS):
        problem = other_problem(number)
        for method in METHODS:
            spread = "all-pairs" if "partitioner" in method or number % 2 else "witness"
            privacy = vr.Privacy(k=2 + number % 2, ell=(0, 1, 3)[number // 3 % 3], spread=spread)
            yield f"other {number} {privacy} {method}", problem, privacy, method
        for method in BOUNDED:
            privacy = vr.Privacy(k=2 + number % 2, ell=1, m=5)
            yield f"other {number} {privacy} {method}", problem, privacy, method
        randomised = vr.Privacy(k=2 + number % 2, ell=1, mechanism="randomised")
        yield f"other {number} {randomised}", problem, randomised, {}


def write_all(shared: Path, folder: Path, *, is_other: bool) -> None:
    """Plan everything, with the other version from the sorted list as well."""
    for at, (_, problem, privacy, method) in enumerate(cases(shared)):
        if is_other:
            nodes = zip(problem.candidate_nodes, map(str, problem.candidates), problem.candidates, strict=True)
            listed = replace(problem, candidates=[label for *_, label in sorted(nodes)])
            (folder / f"{at}-sorted.json").write_bytes(vr.solve(listed, privacy, **method).to_json())
        (folder / f"{at}.json").write_bytes(vr.solve(problem, privacy, **method).to_json())


def classes(data: dict[str, Any]) -> list[tuple[bool, list[str], list[str], list[str]]]:
    """Of each class whether it is hidden, its members, routes and shares, in no order of the file's own."""
    return sorted(
        (
            group["anonymized"],
            sorted(map(json.dumps, group["members"])),
            sorted(map(json.dumps, group["routes"])),
            sorted(map(json.dumps, zip(group["members"], group.get("shares", []), strict=False))),
        )
        for group in data["classes"]
    )


def plan_of(data: dict[str, Any]) -> str:
    """The same as text."""
    return json.dumps(classes(data))


def without_copies(data: dict[str, Any]) -> dict[str, Any]:
    """A file without routes of single members that are the shared one again; earlier versions wrote some."""

    def kept(routes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        shared = {each["trip"]: each.get("prefix", each.get("route")) for each in routes if "member" not in each}
        return [each for each in routes if "member" not in each or each["route"] != shared[each["trip"]]]

    return data | {"classes": [group | {"routes": kept(group["routes"])} for group in data["classes"]]}


def shares_node(problem: vr.Problem) -> bool:
    return len(set(problem.candidate_nodes)) < len(problem.candidate_nodes)


def why(old: dict[str, Any], by_sorted: dict[str, Any], new: dict[str, Any], problem: vr.Problem) -> str:
    """What the difference between two files is; ``by_sorted`` is what the other version plans for the sorted list."""
    is_same_plan = plan_of(old) == plan_of(new)
    if shares_node(problem):
        return f"names share a node: {'the same plan, other figures' if is_same_plan else 'another plan'}"
    if without_copies(old) != old:
        rest = why(without_copies(old), without_copies(by_sorted), new, problem)
        return rest if "WITHOUT" in rest else "a member's copy of the route that all share is left out"
    by_sorted = without_copies(by_sorted)
    if not is_same_plan:
        if plan_of(by_sorted) != plan_of(new):
            return "WITHOUT A REASON: another plan, also for the sorted list"
        is_level = old["claims"].get("mac") == new["claims"].get("mac")
        what = "routes" if [each[:2] for each in classes(old)] == [each[:2] for each in classes(new)] else "classes"
        cost = "at the same cost" if is_level else "at another cost (a method that proves nothing)"
        return f"the order of the list decided a tie: other {what}, {cost}"
    names = [name for name in old.keys() | new.keys() if old.get(name) != new.get(name)]
    if not names:
        return "nothing"
    if names == ["certificate"] and by_sorted["certificate"] == new["certificate"]:
        return "the same plan: other prices in the certificate, which depend on the order of the list"
    if names == ["claims"]:
        before, after = old["claims"], new["claims"]
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        if changed == ["worst_posterior"] and after["worst_posterior"] <= before["worst_posterior"]:
            return "the same plan: the worst posterior is that of an area, and not of a ball, which is no less"
    if names == ["status"] or (set(names) <= {"status", "claims", "options"} and new["status"] == "feasible"):
        return "the same plan: Merge-BB or DF-BB claimed a proof"
    return f"WITHOUT A REASON: the same plan, other {', '.join(sorted(names))}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", help="the interpreter in whose environment the other version is")
    parser.add_argument("--shared", type=Path, required=True, help="folder with instances/paper.jsonl and maps/")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--is-other", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write is not None:
        write_all(options.shared, options.write, is_other=options.is_other)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / "other", Path(name) / "this"]
        for folder, python in zip(folders, (options.other, sys.executable), strict=True):
            folder.mkdir()
            command = [python, __file__, options.other, "--shared", str(options.shared), "--write", str(folder)]
            subprocess.run([*command, *(["--is-other"] if python == options.other else [])], check=True)
        reasons: Counter[str] = Counter()
        examples: dict[str, str] = {}
        total = 0
        for at, (case, problem, _, _) in enumerate(cases(options.shared)):
            files = [folders[0] / f"{at}.json", folders[0] / f"{at}-sorted.json", folders[1] / f"{at}.json"]
            old, by_sorted, new = (file.read_bytes() for file in files)
            total += 1
            if old != new:
                reason = why(json.loads(old), json.loads(by_sorted), json.loads(new), problem)
                reasons[reason] += 1
                examples.setdefault(reason, case)
    print(f"{total:,} plans by counting: {total - reasons.total():,} files are the same, {reasons.total():,} are not")
    for reason, num in sorted(reasons.items()):
        print(f"{num:6,} {reason} (the first: {examples[reason]})")
    return int(any(reason.startswith("WITHOUT") for reason in reasons))


if __name__ == "__main__":
    sys.exit(main())
