"""The area rule in plain Python: who is close, which sets are classes, and what a written file tells.

Nothing of the planner or the auditor is used. What the best plans are is worked out by tests/reference.py.
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, count
from random import Random
from typing import Any

import harness
import veilroute as vr
from plain_cliques import heaviest_area

Edge = tuple[int, int, float]

EARTH_RADIUS_M = 6_371_008.8
SLACK = 1e-9  #: sums of floating-point numbers may be off by as much, relatively


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
    def prior(self) -> dict[int, float]:
        """How probable candidates are, but for a factor."""
        given = self.problem.prior or [1.0] * len(self.problem.candidates)
        return {c: given[c] for c in self.counted}

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


def hiding_cases(num: int) -> Iterator[tuple[PlainProblem, vr.Playbook]]:
    """Random problems in which somebody is hidden by two classes or more, with their plans; some measure in metres."""
    found = 0
    for seed in count():
        rng, case = Random(seed), harness.draw_case(seed)
        problem, privacy = replace(case.problem, past=None), case.privacy
        if problem.domain.streets is not None and rng.random() < 0.8:
            measure = rng.choice(("driving", "walking", "straight"))
            privacy = replace(privacy, ell=rng.choice((0, 60, 150)), measure=measure)
        book = vr.solve(problem, privacy)
        if len(book.hidden_classes) > 1:
            found += 1
            yield PlainProblem(problem, privacy), book
        if found == num:
            return
