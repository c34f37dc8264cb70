"""Random small problems over all dimensions at once, solved by every method and by plain Python (reference.py).

``python tests/harness.py 1000 --seed 3`` draws a thousand of them and prints what was compared. A problem is known by
its seed alone. Of each plan all that it says is worked out once more: who is hidden, what its routes cost and pass,
what an observer makes of them, and how far from the best of all partitions it is; and the auditor has to agree.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from random import Random
from typing import Any

import veilroute as vr
from door_towns import door_problem, winding_town
from plain_turns import drawn_edges, drawn_rules, neighbours
from reference import SLACK, Best, Group, Reference, World
from scipy_optima import Oracle
from strategies import COSTS, KINDS, build_domain
from veilroute.domain.graph import Label
from veilroute.domain.turns import Turns, with_rules
from veilroute.partition.limits import other_limits

MAPS = ("grid", "graph", "turns", "doors")
BETAS = (0.5, 0.5, 0.4, 1 / 3, 0.35, 0.6, 0.7, 0.25)
#: The ways of the exact partitioner, by the limits that lead to them (:mod:`veilroute.partition.limits`).
WAYS: dict[str, dict[str, float]] = {
    "tables": {},
    "tables, certified": {"certified": 0},
    "columns": {"tried": 0, "tables": 0},
    "columns, whole numbers": {"tried": 0, "tables": 0, "combined": 0},
    "columns, alike ones as one": {"tried": 0, "tables": 0, "combined": 0, "many_columns": 0},
    "columns, in a hurry": {"tried": 0, "tables": 0, "few": 0, "quota": 1, "steps": 20, "exact": 2, "rows": 40},
    "strolls": {"tried": 0, "tables": 0, "large_k": 2, "large_gap": -1, "few": 0},
    "strolls, whole numbers": {"tried": 0, "tables": 0, "large_k": 2, "large_gap": -1, "few": 0, "combined": 0},
}
WALKS: tuple[dict[str, str], ...] = (
    {},
    {"engine": "fields"},
    {"heuristic": "blind"},
    {"heuristic": "tour"},
    {"heuristic": "tree"},
    {"heuristic": "singleton"},
    {"tie_break": "last-made", "sighting": "leaving"},
)
NUM_STOPPED, NUM_STOPS = 4, 5  #: how many methods are stopped, and how often each
ENGINES: tuple[dict[str, Any], ...] = (
    {"engine": "auto"},
    {"engine": "fields"},
    {"engine": "fields", "memory_bytes": 1},
    *({"engine": "astar", "heuristic": name} for name in ("blind", "tunnel", "singleton", "tree", "tour")),
)


@dataclass(frozen=True)
class Case:
    """A problem, the privacy wanted, and the plain answers."""

    seed: int
    kind: str
    problem: vr.Problem
    privacy: vr.Privacy

    @cached_property
    def world(self) -> World:
        return World(self.problem)

    @cached_property
    def reference(self) -> Reference:
        return Reference(self.world, self.privacy)

    @cached_property
    def apart(self) -> Reference:
        """The same privacy where all members of a class have to stand apart, as the paper's searches have it."""
        return Reference(self.world, replace(self.privacy, spread="all-pairs"))

    @property
    def is_counting(self) -> bool:
        """Whether candidates are counted and not weighed, by this trip alone: what the paper's methods know."""
        return (
            self.privacy.beta is None
            and self.problem.past is None
            and all(self.reference.prior[i] > 0 for i in self.world.coverable)
        )

    @cached_property
    def best(self) -> Best:
        """The best plan: of all partitions or, where classes are drawn, of all ways to share out."""
        if self.privacy.mechanism == "partition":
            return self.reference.best
        if not self.world.coverable:
            return Best(0.0, 0.0)
        found = Oracle(self.world, self.privacy).randomised()
        return Best(found.hidden, found.hidden * (found.expected or 0.0))

    @cached_property
    def dimensions(self) -> list[str]:
        """Where it lies."""
        problem, privacy = self.problem, self.privacy
        rule = f"k and ell, {privacy.spread}" if privacy.beta is None else f"risk, {privacy.spread}"
        nodes = self.world.nodes
        can_hide = {i for group in self.reference.groups for i in group}
        told = {
            f"map {self.kind}": True,
            f"{len(problem.trips)} trips": True,
            rule if privacy.mechanism == "partition" else "randomised": True,
            f"k={privacy.k}": True,
            "finite m": privacy.m is not None,
            "a past": problem.past is not None,
            "a prior": problem.prior is not None,
            f"visibility {type(problem.visibility).__name__}": True,
            "turns": problem.domain.turns is not None,
            "objective total": problem.objective == "total",
            "several candidates at a node": len(set(nodes)) < len(nodes),
            "candidates that no walk covers": len(self.world.coverable) < len(nodes),
            "candidates that cannot be hidden": len(can_hide) < len(self.world.coverable),
            "nobody can be hidden": not can_hide,
            "members near each other": any(not self.reference.is_apart(group) for group in self.reference.groups),
        }
        return [name for name, is_so in told.items() if is_so]


# What is drawn.


def draw_case(seed: int) -> Case:
    """A problem of four to eight candidates."""
    rng = Random(f"harness-{seed}")
    while True:
        kind = rng.choice(MAPS)
        m = rng.choice((None, None, None, 1, 2, 3, 4, 5, 6, 8))
        mechanism = "randomised" if rng.random() < 0.12 else "partition"
        most = {"doors": 5, "turns": 7}.get(kind, 8)
        num = rng.randint(4, min(most, 6) if m is not None or mechanism == "randomised" else most)
        domain, labels = _draw_map(rng, kind, num)
        if len(labels) < 4:
            continue
        trips = [
            vr.Trip(rng.choice(labels), rng.choice(labels), rng.choice((1.0, 0.5, 3.0)))
            for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3, 3)))
        ]
        candidates = rng.sample(labels, min(num, len(labels)))
        steps = sorted(cost for cost in domain.costs.tolist() if cost > 0) or [1.0]
        step = steps[len(steps) // 2]
        problem = vr.Problem(domain, trips, candidates, _draw_visibility(rng, kind, domain, step))
        privacy = _draw_privacy(rng, m, mechanism, step)
        if privacy.beta is None:
            problem = replace(problem, objective=rng.choice(("mac", "mac", "total")))
        if len(problem.counted) < 3:
            continue
        if rng.random() < (0.8 if privacy.beta is not None else 0.2):
            problem = replace(problem, prior=_draw_prior(rng, problem))
        if mechanism == "partition" and rng.random() < 0.25:
            problem = replace(problem, past=_draw_past(rng, problem, privacy))
        case = Case(seed, kind, problem, privacy)
        if case.reference.groups or rng.random() < 0.1:
            return case


def _draw_map(rng: Random, kind: str, num: int) -> tuple[vr.Domain, list[Any]]:
    """A map, and the labels from which ends of trips and candidates are drawn."""
    if kind == "grid":
        height, width = rng.randint(2, 4), rng.randint(3, 5)
        walls = rng.choice(("....", "....@", "...@"))
        rows = ["".join(rng.choice(walls) for _ in range(width)) for _ in range(height)]
        rows[rng.randrange(height)] = "." * width
        domain = vr.grid_domain(rows, movement=rng.choice((4, 4, 4, 8)))
        return domain, [domain.label(node) for node in range(domain.num_nodes)]
    if kind == "doors":
        side = rng.choice(("any", "kerb"))
        u_turns = rng.choice(("never", "dead-ends", "dead-ends", "allow"))
        dear = rng.choice((0.0, 5.0)) if side == "any" else 0.0
        town = winding_town(
            rng.randrange(10_000), side=3, num_banned=rng.randint(0, 5), u_turns=u_turns, u_turn_cost=dear
        )
        made = door_problem(rng.randrange(10_000), town, num=num, side=side, num_twins=rng.choice((0, 1, 2)))
        return made.domain, list(dict.fromkeys((made.trips[0].start, made.trips[0].goal, *made.candidates)))
    if kind == "turns":
        size = rng.randint(5, 9)
        edges = drawn_edges(rng, size)
        turns: Turns | None = drawn_rules(rng, neighbours(edges), size, costs=(0, 0, 2))
        unit = rng.choice((1, 0.5))
        tails, heads, costs = ([edge[at] for edge in edges] for at in range(3))
        costs = [unit * cost for cost in costs]
    else:
        size, turns = rng.randint(6, 11), None
        plain = build_domain(rng, rng.choice(KINDS), rng.choice(sorted(COSTS)), size)
        tails, heads, costs = (part.tolist() for part in plain.edge_arrays())
    labels: list[Label] = [f"n{node}" for node in range(size)]
    also: list[tuple[Label, int]] = [(f"n{node} too", node) for node in range(size) if rng.random() < 0.15]
    domain = vr.Domain.from_edges(size, tails, heads, costs, labels=labels)
    return with_rules(domain, turns, also), [*labels, *(label for label, _ in also)]


def _draw_visibility(rng: Random, kind: str, domain: vr.Domain, step: float) -> vr.Visibility:
    nodes = range(domain.num_nodes)
    others = ("sight", "within") if kind == "grid" else ("within", "explicit")
    match rng.choice(("at", "at", "at", "at", *others, *others[:1])):
        case "at":
            return vr.AtNode()
        case "within":
            return vr.WithinDistance(step * rng.choice((0.6, 1, 1, 1.5, 2)))
        case "sight":
            return vr.LineOfSight(rng.choice((1, 1.5, 2, 2.3, 3, 5)))
        case _:
            sees: dict[Label, list[Label]] = {}
            for node in nodes:
                for seer in rng.sample(nodes, rng.choice((0, 1, 1, 2, 2))):
                    sees.setdefault(domain.label(seer), []).append(domain.label(node))
            return vr.Explicit(sees)


def _draw_privacy(rng: Random, m: int | None, mechanism: str, step: float) -> vr.Privacy:
    ell = step * rng.choice((0, 0, 0.5, 1, 1.5, 2, 2, 3))
    spread = rng.choice(("witness", "witness", "all-pairs"))
    if mechanism == "randomised" or rng.random() < 0.4:
        return vr.Privacy(risk=rng.choice(BETAS), ell=ell, m=m, spread=spread, mechanism=mechanism)
    return vr.Privacy(k=rng.choice((2, 2, 2, 2, 3, 3, 3, 4, 4, 1)), ell=ell, m=m, spread=spread)


def _draw_prior(rng: Random, problem: vr.Problem) -> list[float] | None:
    least = rng.choice((0, 1, 1))
    prior = [float(rng.choice((least, 1, 1, 2, 3, 5, 9))) for _ in problem.candidates]
    return prior if sum(prior[i] > 0 for i in problem.counted) > 1 else None


def _draw_past(rng: Random, problem: vr.Problem, privacy: vr.Privacy) -> vr.Past:
    """Who is left to an observer after one to three days, on which most were in some class."""
    seen: dict[Label, list[set[Label]]] = {label: [] for label in problem.candidates}
    for _ in range(rng.choice((1, 1, 2, 3))):
        listed = [label for label in rng.sample(problem.candidates, len(problem.candidates)) if rng.random() < 0.9]
        while listed:
            size = rng.choice((2, 3, 4, 4, 6, 8))
            for label in listed[:size]:
                seen[label].append(set(listed[:size]))
            listed = listed[size:]
    lines: list[tuple[Label, tuple[Label, ...]]] = []
    for label, classes in seen.items():
        stories = [set.intersection(*classes)] if classes else []
        stories += classes if privacy.risk is not None and len(classes) > 1 else []
        lines += [(label, tuple(each for each in problem.candidates if each in story)) for story in stories]
    pairs = [pair for pair in combinations(problem.candidates, 2) if rng.random() < 0.05]
    return vr.Past(tuple(lines), tuple(pairs))


# What is compared.


@dataclass(frozen=True)
class Method:
    """A way to solve a problem, and what is known of its result."""

    name: str
    planner: str
    options: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    best: Callable[[Case], Best] | None = None  #: what it has to reach
    proves: bool = False  #: whether it has to say that this is the best there is
    shares_best: bool = False  #: whether each of its classes pays no more than it must
    parts_best: bool = False  #: whether each member goes on the cheapest way once the first m nodes are walked

    def run(self, case: Case, **more: Any) -> vr.Playbook:
        with other_limits(**{"effort": 100, "annealed": 1000, **self.limits}):
            return vr.solve(
                case.problem, case.privacy, planner=self.planner, seed=case.seed % 5, **self.options, **more
            )


def methods(case: Case) -> Iterator[Method]:
    """All that support the case; of those with many options some of these."""
    rng = Random(f"methods-{case.seed}")
    is_whole, is_drawn = case.privacy.m is None, case.privacy.mechanism == "randomised"
    for name, limits in WAYS.items():
        if not is_drawn or name == "tables":
            # Columns prove nothing where members are not alike and somebody is left out, and have a price for the
            # first m nodes only where walks can be padded. In a hurry they need not come to an end.
            grid = case.problem.domain.grid
            has_prices = is_whole or "tables" in name or (grid is not None and grid.movement == 4)
            has_time = "hurry" not in name and case.privacy.risk is None
            is_sure = "tables" in name or (has_time and has_prices)
            best = (lambda case: case.best) if is_sure else None
            yield Method(f"optimal by {name}", "optimal", {}, limits, best, is_sure, has_prices and not is_drawn)
    if is_drawn:
        return

    def whole(case: Case) -> Best:
        return case.reference.best_whole

    way = rng.choice([name for name in sorted(WAYS) if "hurry" not in name])
    yield Method("pbp", "pbp", {}, {} if case.privacy.risk is not None else WAYS[way], whole, is_whole, is_whole)
    local: dict[str, float] = {"effort": rng.choice((0, 50, 500)), "rows": rng.choice((40, 4096))}
    # All who are few, stand at one post each and are counted fit into one union, which is grouped as well as can be.
    is_one = len(case.world.coverable) <= 6 and isinstance(case.problem.visibility, vr.AtNode) and case.is_counting
    reaches = whole if is_one and local["rows"] > 40 and local["effort"] else None
    options = {"partitioner": "local-search"}
    yield Method("pbp, local search", "pbp", options, local, reaches, shares_best=is_whole)
    yield Method("m-pbp", "m-pbp", {"partitioner": rng.choice(("exact", "local-search"))}, parts_best=True)
    yield Method(
        "fleet",
        "fleet",
        {"orders_per_day": min(rng.choice((0.5, 1, 4)), len(case.problem.candidates))},
        shares_best=is_whole,
    )
    if not case.is_counting:
        return

    def all_apart(case: Case) -> Best:
        return case.apart.best_whole

    merging = {"merge_order": rng.choice(("cost-asc", "random")), **rng.choice(WALKS)}
    yield Method("pbp, merge-bb", "pbp", {"partitioner": "merge-bb", **merging}, {}, all_apart, False, is_whole)
    branching = {"branch_order": rng.choice(("new-first", "join-first")), **rng.choice(WALKS)}
    yield Method("pbp, df-bb", "pbp", {"partitioner": "df-bb", **branching}, {}, all_apart, False, is_whole)
    naive = {"shuffle": rng.choice(("python", "libstdc++")), **rng.choice(WALKS)}
    yield Method("m-pbp, naive", "m-pbp", {"partitioner": "naive", **naive}, parts_best=True)
    yield Method("constructive", "constructive")
    back = [vr.Trip(trip.goal, trip.start) for trip in case.problem.trips]
    labels = rng.sample(case.problem.candidates, len(case.problem.candidates))
    half = rng.randrange(len(labels) + 1)
    earlier: Any = [labels[:half], labels[half:]]  # classes of which nobody knows whether they hide anybody
    if rng.random() < 0.5:
        earlier = vr.solve(replace(case.problem, trips=back), case.privacy)
    yield Method("reuse", "reuse", {"partition": earlier}, shares_best=True)
    if not is_whole:
        centre = {"centre": rng.choice(("furthest", "sum")), "cluster_order": rng.choice(("shuffled", "listed"))}
        yield Method("cbp", "cbp", {**centre, "centre_heuristic": rng.choice(("to-centre", "to-goal"))})
        yield Method("rbp", "rbp", parts_best=True)


def compare(case: Case, count: Callable[[str], object] = lambda name: None) -> list[str]:
    """Solve a case by every method; what is wrong, a line each. ``count`` is told each method."""
    wrong = []
    tried = list(methods(case))
    twice = Random(f"twice-{case.seed}").choice(tried)
    for method in tried:
        count(method.name)
        try:
            playbook = method.run(case)
            wrong += [f"{method.name}: {line}" for line in check_playbook(case, method, playbook)]
            if method is twice and method.run(case, workers=1).to_json() != playbook.to_json():
                wrong.append(f"{method.name}: the same input gave other bytes")
        except Exception:
            wrong.append(f"{method.name}: {traceback.format_exc()}")
    # A stop is between kernels, so it shows nothing new of kernels that Python runs, which takes ten times as long.
    wrong += () if "NUMBA_DISABLE_JIT" in os.environ else check_stops(case, tried)
    wrong += check_covers(case, count)
    return wrong


def check_stops(case: Case, tried: list[Method]) -> Iterator[str]:
    """A plan that is stopped at any moment keeps its promise, and no bound or status ever says more than is true."""
    rng = Random(f"ends-{case.seed}")
    for method in rng.sample(tried, min(NUM_STOPPED, len(tried))):
        pays_least = method.shares_best and method.planner != "reuse"
        stopped = replace(method, name=f"{method.name}, stopped", best=None, proves=False, shares_best=pays_least)
        looks, told = itertools.count(), list[vr.Progress]()
        try:
            method.run(case, should_stop=lambda looks=looks: next(looks) < 0, progress=told.append)
            num_looks = next(looks)
            for most in sorted(rng.sample(range(num_looks), min(NUM_STOPS, num_looks))):
                left = iter(range(most))
                playbook = method.run(case, should_stop=lambda left=left: next(left, None) is None)
                yield from (f"{stopped.name} after {most}: {line}" for line in check_playbook(case, stopped, playbook))
        except Exception:
            yield f"{stopped.name}: {traceback.format_exc()}"
        is_bounded = method.planner == "optimal" and case.privacy.beta is None
        bounds = [
            each.bound * case.best.worth
            for each in told
            if each.bound and each.incumbent and each.incumbent.num_anonymized == case.best.worth
        ]
        if is_bounded and max(bounds, default=0.0) > case.best.total + SLACK:
            yield f"{method.name}: tells a bound of {max(bounds)} above the least, {case.best.total}"


def check_playbook(case: Case, method: Method, playbook: vr.Playbook) -> Iterator[str]:
    """What a playbook says that is not so, or should say and does not."""
    facts = Facts(case, playbook)
    yield from facts.wrong_routes()
    yield from facts.wrong_classes()
    yield from facts.wrong_claims()
    if method.shares_best:
        yield from facts.dear_classes()
    if method.parts_best:
        yield from facts.long_ways()
    best, reached, slack = case.best, facts.reached, SLACK * (1 + abs(facts.reached.total))
    if reached.worth > best.worth + SLACK:
        yield f"hides {reached.worth}, which is more than the {best.worth} that can be hidden"
    if reached.worth > best.worth - SLACK and reached.total < best.total - slack:
        yield f"costs {reached.total}, which is less than the least, {best.total}"
    due = None if method.best is None else method.best(case)
    if due is not None and not _is_close(reached, due):
        yield f"hides {reached.worth} at {reached.total} where {due.worth} can be hidden at {due.total}"
    if playbook.status != "feasible":
        if not _is_close(reached, best):
            yield f"is called {playbook.status} at {reached}, and the best is {best}"
        if playbook.status != ("optimal" if best.worth > 0 else "infeasible"):
            yield f"is called {playbook.status} where {best.worth} can be hidden"
        if best.worth > 0 and not (facts.bound is not None and facts.bound > reached.total - slack):
            yield f"is called {playbook.status} at {reached.total} with a bound of {facts.bound}"
        if playbook.options.get("stopped_early"):
            yield f"was stopped, and is called {playbook.status}"
        has_time = "stopped" not in method.name and case.privacy.mechanism == "partition"
        if has_time and playbook.claims.num_anonymizable is None:
            yield "says nothing of how many can be hidden at all"
    elif method.proves or (case.privacy.risk is None and case.privacy.k > case.problem.num_places):
        yield "proves nothing"
    bound = facts.bound
    if bound is not None:
        if reached.worth > best.worth - SLACK and bound > best.total + slack:
            yield f"its bound of {bound} is above the least, {best.total}"
        if bound > reached.total + slack:
            yield f"its bound of {bound} is above what it costs, {reached.total}"
    if method.name.endswith("-bb") and playbook.status == "feasible" and not playbook.search_completed:
        yield "has not looked at everything"
    report = vr.audit(playbook)
    if not report.holds:
        yield f"the auditor objects: {[claim.claim for claim in report.claims if not claim.holds]}"


def _is_close(one: Best, other: Best) -> bool:
    return math.isclose(one.worth, other.worth, rel_tol=SLACK, abs_tol=SLACK) and math.isclose(
        one.total, other.total, rel_tol=1e-8, abs_tol=1e-8
    )


class Facts:
    """What a playbook's classes and routes are, worked out from the problem by plain code."""

    def __init__(self, case: Case, playbook: vr.Playbook) -> None:
        self.case, self.playbook, self.reference = case, playbook, case.reference
        self.world, self.problem, self.m = case.world, case.problem, case.privacy.m
        place = self.reference.place
        self.groups = [tuple(place[label] for label in group.members) for group in playbook.classes]

    def walk(self, at: int, i: int, trip: int) -> list[int]:
        """The nodes of a member's route."""
        route = self.playbook.classes[at].route_of(self.reference.label[i], trip)
        return [self.problem.domain.node(label) for label in route]

    def wrong_routes(self) -> Iterator[str]:
        """Routes are legal walks of their trips past their members, at their costs; classes share what they must."""
        for at, group in enumerate(self.playbook.classes):
            for trip, (start, goal) in enumerate(self.world.trips):
                begun = set()
                for i in self.groups[at]:
                    walk, route = self.walk(at, i, trip), group.route_of(self.reference.label[i], trip)
                    cost = self.world.cost_of(walk)
                    if (walk[0], walk[-1]) != (start, goal) or not self.world.is_legal(walk) or math.isinf(cost):
                        yield f"{walk} is no walk of trip {trip}"
                    elif not self.world.seen[i] & set(walk):
                        yield f"{walk} does not cover {self.reference.label[i]}"
                    elif not math.isclose(cost, route.cost, rel_tol=SLACK, abs_tol=SLACK):
                        yield f"{walk} costs {cost} and not {route.cost}"
                    elif not group.anonymized and not math.isclose(cost, self.world.base[trip][i], abs_tol=SLACK):
                        yield f"alone, {self.reference.label[i]} pays {cost} and not {self.world.base[trip][i]}"
                    begun.add(tuple(walk[: self.m]))
                if group.anonymized and len(begun) > 1:
                    yield f"{group.members} do not begin alike"

    def wrong_classes(self) -> Iterator[str]:
        """Everybody who can be covered is in one class, or in some that are drawn; and each hides its members."""
        listed = sorted(i for group in self.groups for i in group)
        is_drawn = self.case.privacy.mechanism == "randomised"
        if (sorted(set(listed)) if is_drawn else listed) != self.world.coverable:
            yield f"{listed} are listed where {self.world.coverable} can be covered"
        for group, each in zip(self.groups, self.playbook.classes, strict=True):
            if each.anonymized and not (self.reference.is_apart(group) if is_drawn else self.reference.is_class(group)):
                yield f"{group} is no class"

    @cached_property
    def hidden(self) -> list[tuple[int, int, float]]:
        """Class, member and how probable both are, for those who are hidden."""
        prior = self.reference.prior
        rows = []
        for at, group in enumerate(self.playbook.classes):
            shares = group.shares or [prior[i] for i in self.groups[at]]
            rows += [(at, i, share) for i, share in zip(self.groups[at], shares, strict=True) if group.anonymized]
        return rows

    @cached_property
    def reached(self) -> Best:
        """How much is hidden, and the sum that is kept small."""
        who = sorted({i for _, i, _ in self.hidden})
        prior, total = self.reference.prior, 0.0
        for at, i, joint in self.hidden:
            part = joint / prior[i] if prior[i] > 0 else 1.0
            for trip in range(len(self.world.trips)):
                total += part * self.reference.price(trip, i, self.world.cost_of(self.walk(at, i, trip)))
        return Best(self.reference.worth(who), total)

    @property
    def bound(self) -> float | None:
        """What the playbook says that the sum is at least."""
        claims, num = self.playbook.claims, len({i for _, i, _ in self.hidden})
        if self.problem.objective == "total":
            return claims.total_extra_lower_bound
        if self.case.privacy.beta is None:
            return None if claims.mac_lower_bound is None else claims.mac_lower_bound * num
        mean = claims.expected_mac_lower_bound
        return None if mean is None else mean * self.reached.worth

    def wrong_claims(self) -> Iterator[str]:
        """What it claims in figures; and what an observer makes of routes that look alike keeps the promise."""
        claims, reached, reference = self.playbook.claims, self.reached, self.reference
        who = {i for _, i, _ in self.hidden}
        mass = sum(joint for _, _, joint in self.hidden)
        expected: dict[str, float | None] = {
            "num_candidates": len(self.world.nodes),
            "num_coverable": len(self.world.coverable),
            "num_anonymized": len(who),
            "hidden_mass": mass,
        }
        if self.problem.objective == "total":
            expected["total_extra"] = reached.total if who else None
        elif self.case.privacy.beta is None:
            expected["mac"] = reached.mean
        elif mass > 0:
            expected["expected_mac"] = reached.mean
        if claims.num_anonymizable is not None:
            expected["num_anonymizable"] = len({i for group in reference.shares for i in group})
        sights: dict[object, Counter[int]] = {}
        for at, i, joint in self.hidden:
            routes = tuple(tuple(self.walk(at, i, trip)[: self.m]) for trip in range(len(self.world.trips)))
            sights.setdefault(routes, Counter())[i] += joint  # type: ignore[assignment]
        beta = self.case.privacy.beta
        worst = [reference.heaviest_area(dict(seen)) / sum(seen.values()) for seen in sights.values()]
        if beta is not None and max(worst, default=0.0) > beta * (1 + 1e-7):
            yield f"an observer can be {max(worst)} sure of an area"
        # Classes that look alike are one to the observer, some of whose members may stand near each other.
        k = self.case.privacy.k
        if beta is None and not all(any(map(reference.is_apart, combinations(seen, k))) for seen in sights.values()):
            yield "what looks alike hides too few"
        if mass > 0:
            # Of areas on today's map: who was near when it was promised counts in classes, and is no area for that.
            today = Reference(self.world, self.case.privacy, replace(self.problem, past=None))
            areas = [today.heaviest_area(dict(seen)) / sum(seen.values()) for seen in sights.values()]
            expected["worst_posterior"] = max(areas)
            places = [Counter[int]() for _ in sights]
            for at_node, seen in zip(places, sights.values(), strict=True):
                for i, joint in seen.items():
                    at_node[self.world.nodes[i]] += joint
            expected["bayes_success"] = sum(max(each.values()) for each in places) / mass
        for name, value in expected.items():
            told = getattr(claims, name)
            if (told is None) != (value is None) or (
                value is not None and not math.isclose(told, value, rel_tol=1e-8, abs_tol=1e-9)
            ):
                yield f"claims {name} {told} and not {value}"

    def dear_classes(self) -> Iterator[str]:
        """Each class pays what it must, and no more: walks are the cheapest ones."""
        for group, each in zip(self.groups, self.playbook.classes, strict=True):
            if not each.anonymized:
                continue
            trips = range(len(self.world.trips))
            at = self.groups.index(group)
            paid = sum(
                self.reference.price(trip, i, self.world.cost_of(self.walk(at, i, trip)))
                for trip in trips
                for i in group
            )
            least = self.reference.share(tuple(sorted(group)), self.m)
            if not math.isclose(paid, least, rel_tol=1e-8, abs_tol=1e-8):
                yield f"{group} pays {paid} where {least} is enough"

    def long_ways(self) -> Iterator[str]:
        """Once the shared nodes are walked, each member goes on as cheaply as it can."""
        for at, i, _ in self.hidden:
            for trip, (_, goal) in enumerate(self.world.trips):
                walk = self.walk(at, i, trip)
                begun = walk[: self.m]
                least = self.world.rest(begun, goal, None if self.world.seen[i] & set(begun) else i)
                paid = self.world.cost_of(walk) - self.world.cost_of(begun)
                if len(begun) < len(walk) and not math.isclose(paid, least, rel_tol=1e-8, abs_tol=1e-8):
                    yield f"after {begun}, {self.reference.label[i]} pays {paid} where {least} is enough"


def check_covers(case: Case, count: Callable[[str], object]) -> Iterator[str]:
    """Every engine finds the cheapest walks past some sets, and says so."""
    rng = Random(f"covers-{case.seed}")
    world, label = case.world, case.reference.label
    if not world.coverable:
        return
    for options in ENGINES:
        name = "cover by " + " ".join(map(str, options.values()))
        count(name)
        trip = rng.randrange(len(world.trips))
        group: Group = tuple(sorted(rng.sample(world.coverable, rng.randint(1, min(5, len(world.coverable))))))
        least = world.costs[group][trip]
        found = vr.cover(case.problem, [label[i] for i in group], trip=trip, **options)
        walk = [case.problem.domain.node(each) for each in found.walk]
        if not math.isclose(found.cost, least, rel_tol=SLACK, abs_tol=SLACK) or found.lower_bound != found.cost:
            yield f"{name}: {group} costs {least} and not {found.cost} ({found.lower_bound})"
        elif found.status != ("optimal" if math.isfinite(least) else "infeasible"):
            yield f"{name}: {group} is called {found.status}"
        elif 0 < least < math.inf and not _is_refused(
            vr.cover(case.problem, [label[i] for i in group], trip=trip, cost_bound=0.9 * least, **options), least
        ):
            yield f"{name}: {group} is not told to cost more than {0.9 * least}"
        elif walk and not (
            (walk[0], walk[-1]) == world.trips[trip]
            and world.is_legal(walk)
            and math.isclose(world.cost_of(walk), least, rel_tol=SLACK, abs_tol=SLACK)
            and all(world.seen[i] & set(walk) for i in group)
        ):
            yield f"{name}: {walk} is no such walk past {group}"


def _is_refused(cover: vr.Cover, least: float) -> bool:
    """Whether it is said, and rightly, that every walk costs more than nine tenths of the least."""
    return cover.status == "over-bound" and not cover.walk and 0.9 * least < cover.lower_bound <= least * (1 + SLACK)


# What is told.


@dataclass
class Tally:
    """How many problems there were, where they lay, and what differed."""

    problems: int = 0
    dimensions: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    differences: dict[int, list[str]] = field(default_factory=dict)

    def add(self, case: Case) -> None:
        self.problems += 1
        self.dimensions.update(case.dimensions)
        if wrong := compare(case, lambda name: self.methods.update([name])):
            self.differences[case.seed] = wrong

    def lines(self) -> Iterator[str]:
        yield f"{self.problems} problems, {sum(self.methods.values())} comparisons, {len(self.differences)} differ"
        for name, num in sorted(self.dimensions.items()):
            yield f"  {num:6} {name}"
        yield "by method:"
        yield from (f"  {num:6} {name}" for name, num in sorted(self.methods.items()))


def describe(case: Case) -> str:
    """All that there is to a case, for people."""
    problem = case.problem
    edges = zip(*(part.tolist() for part in problem.domain.edge_arrays()), strict=True)
    drawn = problem.domain.grid.rows() if problem.domain.grid is not None else list(edges)
    return "\n".join(
        [
            f"seed {case.seed}: {case.privacy}",
            f"  map {drawn}, turns {problem.domain.turns}",
            f"  trips {[(t.start, t.goal, t.weight) for t in problem.trips]}, objective {problem.objective}",
            f"  candidates {problem.candidates}, prior {problem.prior}, {problem.visibility}",
            f"  past {problem.past}",
        ]
    )


def run(seeds: Iterable[int], *, tell: Callable[[str], object], most: int | None = None) -> Tally:
    """Compare the cases of some seeds; no more once ``most`` differ."""
    tally = Tally()
    for seed in seeds:
        case = draw_case(seed)
        tally.add(case)
        if seed in tally.differences:
            tell("\n".join([describe(case), *(f"  {line}" for line in tally.differences[seed]), ""]))
        if most is not None and len(tally.differences) >= most:
            break
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", type=int)
    parser.add_argument(
        "--seed", type=int, nargs="+", default=[0], help="those of the first problems, as many from each"
    )
    parser.add_argument("--most", type=int, help="stop after so many problems that differ")
    given = parser.parse_args()
    seeds = [seed for first in given.seed for seed in range(first, first + given.problems)]
    tally = run(seeds, tell=print, most=given.most)
    print("\n".join(tally.lines()))
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
