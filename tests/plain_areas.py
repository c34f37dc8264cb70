"""The area rule in plain Python: who is close, which sets are classes, the best plan, and what a written file tells.

Nothing of the planner or the auditor is used. Walks are found by one search over (last nodes, what was covered), every
partition is looked at, and randomised playbooks are a linear programme over all sets. It takes eight candidates or so.
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

import veilroute as vr
from door_towns import door_problem, winding_town
from plain_cliques import heaviest_area
from plain_turns import drawn_edges, drawn_rules, may_turn_round, neighbours
from veilroute.domain import Turns, with_rules

Edge = tuple[int, int, float]

EARTH_RADIUS_M = 6_371_008.8
SLACK = 1e-9  #: sums of floating-point numbers may be off by as much, relatively
BETAS = (0.5, 0.5, 0.4, 1 / 3, 0.34, 0.6, 0.5, 0.6, 0.9, 0.7, 0.3)


def plain_distances(num_nodes: int, edges: Sequence[Edge], source: int) -> list[float]:
    """Dijkstra's algorithm, with nothing added to it."""
    out: dict[int, list[tuple[int, float]]] = {}
    for tail, head, cost in edges:
        out.setdefault(tail, []).append((head, cost))
    found = [math.inf] * num_nodes
    heap = [(0.0, source)]
    while heap:
        paid, node = heapq.heappop(heap)
        if paid >= found[node]:
            continue
        found[node] = paid
        for head, cost in out.get(node, []):
            heapq.heappush(heap, (paid + cost, head))
    return found


@dataclass(frozen=True)
class Best:
    """What the best plan hides, and what that costs on average; ``None`` when nothing can be hidden."""

    hidden: float
    cost: float | None


@dataclass(frozen=True)
class PlainProblem:
    """A problem and a privacy, looked at from the definitions. Candidates are positions in the problem's list."""

    problem: vr.Problem
    privacy: vr.Privacy

    @cached_property
    def edges(self) -> list[Edge]:
        return list(zip(*(part.tolist() for part in self.problem.domain.edge_arrays()), strict=True))

    @cached_property
    def measured(self) -> list[Edge]:
        """The edges with the lengths that ell is measured in."""
        streets, measure = self.problem.domain.streets, self.privacy.measure
        if measure == "cost" or streets is None:
            return self.edges
        ahead = [(a, b, metres) for (a, b, _), metres in zip(self.edges, streets.shortest.tolist(), strict=True)]
        return ahead if measure == "driving" else ahead + [(b, a, metres) for a, b, metres in ahead]

    def node(self, label: Any) -> int:
        return self.problem.domain.node(label)

    @cached_property
    def nodes(self) -> list[int]:
        return [self.node(label) for label in self.problem.candidates]

    @cached_property
    def counted(self) -> list[int]:
        ends = {self.node(end) for trip in self.problem.trips for end in (trip.start, trip.goal)}
        return [c for c, node in enumerate(self.nodes) if node not in ends]

    @cached_property
    def apart(self) -> dict[tuple[int, int], float]:
        """How far two candidates are apart, in the direction in which it is less."""
        size = self.problem.domain.num_nodes
        if self.privacy.measure == "straight":
            assert self.problem.domain.streets is not None
            spots = self.problem.domain.streets.lonlat.tolist()
            return {
                (a, b): _metres(spots[self.nodes[a]], spots[self.nodes[b]]) for a in self.counted for b in self.counted
            }
        away = {node: plain_distances(size, self.measured, node) for node in {self.nodes[c] for c in self.counted}}
        return {
            (a, b): min(away[self.nodes[a]][self.nodes[b]], away[self.nodes[b]][self.nodes[a]])
            for a in self.counted
            for b in self.counted
        }

    def is_close(self, one: int, other: int) -> bool:
        """At one node, or less than ell apart."""
        if self.nodes[one] == self.nodes[other]:
            return True
        return self.apart[one, other] < self.privacy.ell * (1 - SLACK)

    @cached_property
    def watchers(self) -> dict[int, set[int]]:
        """The nodes from which one can walk to a candidate within the radius."""
        radius = self.problem.visibility.radius if isinstance(self.problem.visibility, vr.WithinDistance) else 0.0
        back = [(head, tail, cost) for tail, head, cost in self.edges]
        seen = {}
        for c in self.counted:
            if radius == 0 and not isinstance(self.problem.visibility, vr.WithinDistance):
                seen[c] = {self.nodes[c]}
                continue
            away = plain_distances(self.problem.domain.num_nodes, back, self.nodes[c])
            seen[c] = {node for node, far in enumerate(away) if far <= radius * (1 + SLACK)}
        return seen

    @cached_property
    def costs(self) -> list[dict[frozenset[int], float]]:
        """Per trip the cheapest legal walk for each set of candidates that some cheapest walk covers exactly."""
        domain = self.problem.domain
        turns = domain.turns or Turns.of("allow")
        out = neighbours(self.edges)
        price = {(tail, head): cost for tail, head, cost in self.edges}
        memory = max(2, *(len(stretch) - 1 for stretch in turns.banned), 2) if domain.turns is not None else 1
        seen_from: dict[int, int] = {}
        for c, nodes in self.watchers.items():
            for node in nodes:
                seen_from[node] = seen_from.get(node, 0) | 1 << c
        found = []
        for trip in self.problem.trips:
            start, goal = self.node(trip.start), self.node(trip.goal)
            heap: list[tuple[float, tuple[int, ...], int]] = [(0.0, (start,), seen_from.get(start, 0))]
            settled = set()
            at_goal: dict[frozenset[int], float] = {}
            while heap:
                paid, last, covered = heapq.heappop(heap)
                if (last, covered) in settled:
                    continue
                settled.add((last, covered))
                if last[-1] == goal:
                    at_goal.setdefault(frozenset(c for c in self.counted if covered >> c & 1), paid)
                for head in out.get(last[-1], []):
                    walk = (*last, head)
                    turned = len(walk) > 2 and walk[-3] == head
                    if turned and not may_turn_round(walk[-2], out, turns):
                        continue
                    if any(walk[-len(stretch) :] == stretch for stretch in turns.banned):
                        continue
                    more = price[last[-1], head] + (turns.u_turn_cost if turned else 0)
                    heapq.heappush(heap, (paid + more, walk[-memory:], covered | seen_from.get(head, 0)))
            found.append(at_goal)
        return found

    def cost(self, group: Sequence[int], trip: int) -> float:
        """The cheapest walk that covers a set of candidates."""
        return min((paid for covered, paid in self.costs[trip].items() if covered.issuperset(group)), default=math.inf)

    @cached_property
    def coverable(self) -> list[int]:
        trips = range(len(self.problem.trips))
        return [c for c in self.counted if all(math.isfinite(self.cost([c], trip)) for trip in trips)]

    @cached_property
    def prior(self) -> dict[int, float]:
        """How probable coverable candidates are among themselves."""
        given = self.problem.prior
        weights = {c: 1.0 if given is None else given[c] for c in self.coverable}
        if not any(weights.values()):
            weights = dict.fromkeys(weights, 1.0)
        total = math.fsum(weights.values())
        return {c: weight / total for c, weight in weights.items()}

    @cached_property
    def extra(self) -> dict[tuple[int, ...], dict[int, float]]:
        """For each set that all trips can cover what each member pays beyond its base cost, relatively."""
        smallest = min((cost for *_, cost in self.edges if cost > 0), default=1.0)
        total = math.fsum(trip.weight for trip in self.problem.trips)
        base = [{c: self.cost([c], trip) for c in self.coverable} for trip in range(len(self.problem.trips))]
        found = {}
        for size in range(1, len(self.coverable) + 1):
            for group in combinations(self.coverable, size):
                paid = [self.cost(group, trip) for trip in range(len(self.problem.trips))]
                if all(map(math.isfinite, paid)):
                    found[group] = {
                        c: math.fsum(
                            each.weight / total * (paid[trip] - base[trip][c]) / (base[trip][c] or smallest)
                            for trip, each in enumerate(self.problem.trips)
                        )
                        for c in group
                    }
        return found

    @cached_property
    def worth(self) -> dict[int, float]:
        """What hiding each candidate is worth, and how much its cost counts: its prior, or 1 when k is wanted."""
        return self.prior if self.privacy.risk is not None else dict.fromkeys(self.coverable, 1.0)

    def is_class(self, group: Sequence[int]) -> bool:
        """Whether a set keeps the promise."""
        is_apart = not any(self.is_close(one, other) for one, other in combinations(group, 2))
        if self.privacy.spread == "all-pairs" and not is_apart:
            return False
        if self.privacy.risk is None:
            if not all(self.prior[c] > 0 for c in group):  # a place that is never the secret does not stay possible
                return False
            return any(
                not any(self.is_close(one, other) for one, other in combinations(some, 2))
                for some in combinations(group, self.privacy.k)
            )
        whole = math.fsum(self.prior[c] for c in group)
        return whole > 0 and heaviest_area(
            group, self.is_close, self.prior.__getitem__
        ) <= self.privacy.risk * whole * (1 + SLACK)

    def best_partition(self) -> Best:
        """Every partition into classes: the one that hides most, and of these the cheapest."""
        classes = {group: extra for group, extra in self.extra.items() if self.is_class(group)}
        prices = {
            group: math.fsum(self.worth[c] * more for c, more in extra.items()) for group, extra in classes.items()
        }
        begins: dict[int, list[tuple[int, ...]]] = {c: [] for c in self.coverable}
        for group in classes:
            begins[group[0]].append(group)
        best = (0.0, 0.0)

        def search(left: tuple[int, ...], hidden: float, paid: float) -> None:
            nonlocal best
            if not left:
                if hidden > best[0] + SLACK or (hidden > best[0] - SLACK and paid < best[1]):
                    best = (max(hidden, best[0]), paid)
                return
            search(left[1:], hidden, paid)
            for group in begins[left[0]]:
                if set(group) <= set(left):
                    rest = tuple(c for c in left if c not in group)
                    search(rest, hidden + math.fsum(self.worth[c] for c in group), paid + prices[group])

        search(tuple(self.coverable), 0.0, 0.0)
        hidden, paid = best
        return Best(hidden, paid / hidden if hidden > SLACK else None)

    def best_mixture(self) -> Best:
        """All ways to share candidates out among sets that are pairwise not close, by a linear programme.

        A candidate is hidden when all of its probability is, so that every choice of whom to hide is looked at.
        """
        beta = self.privacy.beta
        assert beta is not None
        groups = [
            group for group in self.extra if not any(self.is_close(one, other) for one, other in combinations(group, 2))
        ]
        choices = sorted(
            (-math.fsum(self.prior[c] for c in who), who)
            for size in range(1, len(self.coverable) + 1)
            for who in combinations(self.coverable, size)
        )
        best = Best(0.0, None)
        for minus, who in choices:
            if -minus < best.hidden - SLACK:
                break
            if -minus > SLACK and (paid := self._cheapest_mixture(groups, who, beta)) is not None:
                cost = paid / -minus
                if best.cost is None or cost < best.cost:
                    best = Best(-minus, cost)
        return best

    def _cheapest_mixture(self, groups: Sequence[tuple[int, ...]], who: Sequence[int], beta: float) -> float | None:
        wanted = {c for c in who if self.prior[c] > 0}
        columns = [(group, c) for group in groups if set(group) <= wanted for c in group]
        place = {column: at for at, column in enumerate(columns)}
        if wanted - {c for _, c in columns}:
            return None
        bounds = []
        for row, ((group, _), at) in enumerate(place.items()):
            bounds.append((row, at, 1.0))
            bounds += [(row, place[group, other], -beta) for other in group]
        rows = {c: row for row, c in enumerate(sorted(wanted))}
        sums = [(rows[c], at, 1.0) for (_, c), at in place.items()]

        def matrix(entries: list[tuple[int, int, float]], height: int) -> Any:
            row, column, value = zip(*entries, strict=True)
            return coo_array((value, (row, column)), shape=(height, len(columns))).tocsr()

        # In units in which a candidate is about 1, because the solver's tolerances are absolute.
        scale = len(self.prior)
        found = linprog(
            [self.extra[group][c] for group, c in columns],
            matrix(bounds, len(place)), np.zeros(len(place)),
            matrix(sums, len(rows)), [self.prior[c] * scale for c in sorted(wanted)], method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )  # fmt: skip
        return float(found.fun) / scale if found.success else None

    def best(self) -> Best:
        return self.best_mixture() if self.privacy.mechanism == "randomised" else self.best_partition()


@dataclass(frozen=True)
class Told:
    """What the routes of a written playbook tell, at worst and on average."""

    area: float
    place: float
    bayes_success: float
    num_possible: int


def told_by_file(text: str | bytes, plain: PlainProblem, m: int | None = None) -> Told | None:
    """The posteriors of areas and nodes, from the JSON of a playbook alone; ``None`` when nothing is hidden.

    An observer sees the first ``m`` nodes of every trip, or all.
    """
    seen = sights(text, m)
    if not seen:
        return None
    area, place, guessed, fewest = 0.0, 0.0, 0.0, len(plain.nodes)
    for masses in seen.values():
        whole = math.fsum(masses.values())
        possible = [c for c, mass in masses.items() if mass > 0]
        nodes = nodes_of(masses, plain)
        area = max(area, heaviest_area(possible, plain.is_close, masses.__getitem__) / whole)
        place = max(place, max(nodes.values()) / whole)
        guessed += max(nodes.values())
        fewest = min(fewest, sum(mass > 0 for mass in nodes.values()))
    hidden = math.fsum(mass for masses in seen.values() for mass in masses.values())
    return Told(area, place, guessed / hidden, fewest)


def nodes_of(masses: Mapping[int, float], plain: PlainProblem) -> dict[int, float]:
    """What each node weighs, under all its names."""
    nodes: dict[int, float] = {}
    for c, mass in masses.items():
        nodes[plain.nodes[c]] = nodes.get(plain.nodes[c], 0.0) + mass
    return nodes


def sights(text: str | bytes, m: int | None = None) -> dict[str, dict[int, float]]:
    """For everything that can be seen of hidden candidates how probable each is together with it, but for a factor."""
    data = json.loads(text)
    number = {json.dumps(label): c for c, label in enumerate(data["candidates"])}
    prior = data.get("prior") or [1.0] * len(number)
    if not any(prior[number[json.dumps(label)]] for group in data["classes"] for label in group["members"]):
        prior = [1.0] * len(number)
    seen: dict[str, dict[int, float]] = {}
    for group in data["classes"]:
        if not group["anonymized"]:
            continue
        for at, label in enumerate(group["members"]):
            c = number[json.dumps(label)]
            shared = {each["trip"]: each["route"] for each in group["routes"] if "member" not in each}
            own = {each["trip"]: each["route"] for each in group["routes"] if each.get("member") == label}
            routes = shared | own
            look = json.dumps([routes[trip][:m] for trip in sorted(routes)])
            mass = group["shares"][at] if group.get("shares") else prior[c]
            masses = seen.setdefault(look, {})
            masses[c] = masses.get(c, 0.0) + mass
    return {look: masses for look, masses in seen.items() if any(masses.values())}


def _metres(one: Sequence[float], other: Sequence[float]) -> float:
    """Along the great circle, by the haversine formula."""
    (lon1, lat1), (lon2, lat2) = (map(math.radians, spot) for spot in (one, other))
    half = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(half))


def draw_case(seed: int, *, most: int = 8) -> PlainProblem:
    """A small map of any kind, with places that may share a node, a prior, and k or a risk."""
    rng = Random(f"areas-{seed}")
    while True:
        kind = rng.choice(("grid", "grid", "directed", "turns", "streets"))
        problem = _DRAWN[kind](rng, rng.randint(5, most))
        if len(problem.counted) >= 3:
            break
    num = len(problem.candidates)
    counted = problem.counted
    weights = rng.choice(
        (
            None,
            [1 / rank for rank in rng.sample(range(1, num + 1), num)],
            [rng.random() + 0.01 for _ in range(num)],
            [rng.random() ** 4 + 1e-4 for _ in range(num)],
            [rng.choice([1, 1, 2]) for _ in range(num)],
            [rng.choice([0, 1, 2, 3]) for _ in range(num)],
        )
    )
    if weights is not None and sum(weights[c] > 0 for c in counted) < 2:
        weights = None
    problem = replace(problem, prior=weights)
    measures = ("cost",) if problem.domain.streets is None else ("cost", "driving", "walking", "straight")
    measure = rng.choice(measures)
    bare = PlainProblem(problem, vr.Privacy(k=2, measure=measure))
    gaps = sorted({gap for (a, b), gap in bare.apart.items() if a != b and math.isfinite(gap)})
    widest = gaps[-1] if gaps else 1.0
    ell = rng.choice(
        (0.0, *(1.001 * rng.choice(gaps or [1.0]) for _ in range(2)), rng.choice(gaps or [1.0]), rng.uniform(0, widest))
    )
    ell = min(ell, rng.choice((0.3, 0.5, 0.5, 1.0)) * widest)
    wanted: dict[str, Any] = {"ell": ell, "measure": measure, "spread": rng.choice(("witness", "witness", "all-pairs"))}
    if rng.random() < 0.7:
        wanted["risk"] = rng.choice(BETAS)
    else:
        wanted["k"] = rng.randint(1, min(4, len(counted)))
    if rng.random() < 0.35 and wanted.get("k", 2) > 1:
        wanted |= {"mechanism": "randomised", "spread": "all-pairs"}
    return PlainProblem(problem, vr.Privacy(**wanted))


def _named(rng: Random, num_nodes: int, edges: Sequence[Edge], num: int, turns: Turns | None) -> vr.Problem:
    """A problem on a graph whose nodes have names; some have two or three."""
    labels = [f"n{node}" for node in range(num_nodes)]
    tails, heads, costs = zip(*edges, strict=True)
    domain = vr.Domain.from_edges(num_nodes, tails, heads, costs, labels=labels)
    spots = rng.sample(range(num_nodes), min(num, num_nodes))
    if rng.random() < 0.5:
        spots = [rng.choice(spots[: max(2, num // 2)]) if rng.random() < 0.4 else spot for spot in spots]
    names, also = [], []
    for at, spot in enumerate(spots):
        names.append(labels[spot] if spot not in spots[:at] else f"{labels[spot]} {at}")
        if spot in spots[:at]:
            also.append((names[-1], spot))
    domain = with_rules(domain, turns, also)
    sight = vr.WithinDistance(rng.choice([0, 1, 1, 2, 3])) if rng.random() < 0.5 else vr.AtNode()
    trips = [
        vr.Trip(labels[rng.randrange(num_nodes)], labels[rng.randrange(num_nodes)], rng.choice([1.0, 0.5, 3.0]))
        for _ in range(rng.choice([1, 1, 1, 2]))
    ]
    return vr.Problem(domain, trips, names, sight)


def _draw_grid(rng: Random, num: int) -> vr.Problem:
    height, width = rng.randint(2, 5), rng.randint(3, 6)
    rows = ["".join(rng.choice("....@") for _ in range(width)) for _ in range(height)] + ["." * width]
    cells = [(row, col) for row in range(height + 1) for col in range(width) if rows[row][col] == "."]
    if rng.random() < 0.4:
        at = {cell: node for node, cell in enumerate(cells)}
        steps = [(a, (a[0] + i, a[1] + j)) for a in cells for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0))]
        return _named(rng, len(cells), [(at[a], at[b], 1) for a, b in steps if b in at], num, None)
    sight = vr.WithinDistance(rng.choice([0, 1, 2])) if rng.random() < 0.5 else vr.AtNode()
    trip = vr.Trip(rng.choice(cells), rng.choice(cells))
    return vr.Problem(vr.grid_domain(rows), [trip], rng.sample(cells, min(num, len(cells))), sight)


def _draw_directed(rng: Random, num: int) -> vr.Problem:
    size = rng.randint(6, 14)
    costs = rng.choice([(1,), (1, 2, 3, 4), (0.1, 0.5, 1.0, 1.7, 2.25), (0, 0, 1, 2)])
    pairs = [(rng.randrange(size), rng.randrange(size)) for _ in range(rng.randint(2, 2 * size))]
    if rng.random() < 0.6:
        pairs += [(node, (node + 1) % size) for node in range(size)]
    else:
        tree = [(rng.randrange(node), node) for node in range(1, size)]
        pairs += tree + [(head, tail) for tail, head in tree]
    return _named(rng, size, [(a, b, rng.choice(costs)) for a, b in pairs if a != b], num, None)


def _draw_turns(rng: Random, num: int) -> vr.Problem:
    size = rng.randint(6, 12)
    edges = drawn_edges(rng, size)
    return _named(rng, size, edges, num, drawn_rules(rng, neighbours(edges), size, costs=(0, 0, 2)))


def _draw_streets(rng: Random, num: int) -> vr.Problem:
    seed = rng.randrange(10_000)
    u_turns = rng.choice(("allow", "dead-ends"))
    town = winding_town(seed, side=rng.randint(3, 4), u_turns=u_turns, num_banned=rng.choice([0, 0, 3]))
    return door_problem(seed, town, num=num, num_twins=rng.randint(0, num // 2))


_DRAWN: dict[str, Callable[[Random, int], vr.Problem]] = {
    "grid": _draw_grid,
    "directed": _draw_directed,
    "turns": _draw_turns,
    "streets": _draw_streets,
}


def differences(plain: PlainProblem, book: vr.Playbook) -> Iterator[str]:
    """How a plan differs from the best one by definition, or its figures from what the written file tells."""
    best, claims, text = plain.best(), book.claims, book.to_json()
    told = told_by_file(text, plain)
    if book.status not in ("optimal", "infeasible"):
        yield f"status {book.status}"
    if (book.status == "infeasible") != (best.hidden <= SLACK):
        yield f"status {book.status}, the best plan hides {best.hidden}"
    hidden = claims.num_anonymized if plain.privacy.beta is None else claims.hidden_mass or 0.0
    if not math.isclose(hidden, best.hidden, rel_tol=1e-9, abs_tol=1e-9):
        yield f"hides {hidden}, best {best.hidden}"
    cost = claims.mac if plain.privacy.beta is None else claims.expected_mac
    is_same = cost is best.cost is None or math.isclose(cost or 0.0, best.cost or 0.0, rel_tol=1e-6, abs_tol=1e-8)
    if not is_same or (cost is None) != (best.cost is None):
        yield f"costs {cost}, best {best.cost}"
    stated = json.loads(text)["claims"]
    if told is None:
        if stated.get("worst_posterior") is not None:
            yield "a figure for nothing"
        return
    for name, real in (("worst_posterior", told.area), ("bayes_success", told.bayes_success)):
        if not math.isclose(stated.get(name, -1.0), real, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{name} {stated.get(name)}, the file tells {real}"
    beta = plain.privacy.beta
    if beta is not None and told.area > beta * (1 + 2 * SLACK):
        yield f"an area has {told.area}, promised {beta}"
    if told.num_possible < plain.privacy.k:
        yield f"{told.num_possible} nodes stay possible, promised {plain.privacy.k}"
    risk = vr.risk(book)
    figures = (risk.worst, risk.worst_place, risk.bayes_success)
    for name, shown, real in zip(
        ("area", "place", "guess"), figures, (told.area, told.place, told.bayes_success), strict=True
    ):
        if shown is None or not math.isclose(shown, real, rel_tol=1e-9, abs_tol=1e-12):
            yield f"risk prints {shown} for the {name}, the file tells {real}"
    if risk.num_possible != told.num_possible:
        yield f"risk prints {risk.num_possible} possible, the file tells {told.num_possible}"
