"""What is true of a playbook file, worked out from its plain data by brute force: nothing of the auditor takes part.

Walks are priced by one search over (node, who was covered), plans by all ways to group the candidates, randomised plans
by scipy. Sees grids with four moves and graphs, places seen from themselves or from within a distance, and ell as a
cost; that is enough for small maps.
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

Data = dict[str, Any]
Label = Any
RELATIVE, ABSOLUTE = 1e-7, 1e-9
_INFINITE = math.inf


def plain(label: Any) -> Label:
    """A label as JSON has it, such that a dictionary can hold it."""
    return tuple(map(plain, label)) if isinstance(label, list) else label


def is_near(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


class Map:
    """The edges of a map, and the distances between its nodes."""

    def __init__(self, domain: Data) -> None:
        self.edges: dict[tuple[Label, Label], float] = {}
        self.labels: list[Label] = []
        if "grid" in domain:
            assert domain["grid"].get("movement", 4) == 4
            rows = domain["grid"]["map"]
            self.labels = [(r, c) for r, row in enumerate(rows) for c, sign in enumerate(row) if sign in ".GS"]
            free = set(self.labels)
            for r, c in self.labels:
                for there in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
                    if there in free:
                        self.edges[(r, c), there] = 1
        else:
            graph = domain["graph"]
            assert "turns" not in graph and not graph.get("also")
            self.labels = list(map(plain, graph.get("labels", range(graph["num_nodes"]))))
            for tail, head, cost in graph["edges"]:
                pair = self.labels[tail], self.labels[head]
                self.edges[pair] = min(cost, self.edges.get(pair, _INFINITE))
        self.out: dict[Label, list[tuple[Label, float]]] = {label: [] for label in self.labels}
        for (a, b), cost in self.edges.items():
            self.out[a].append((b, cost))

    def distances(self, source: Label, closed: frozenset[tuple[Label, Label]] = frozenset()) -> dict[Label, float]:
        return {node: cost for (node, _), cost in self.search(source, {}, 0, closed).items()}

    def search(
        self, source: Label, seen: dict[Label, int], covered: int, closed: frozenset[tuple[Label, Label]] = frozenset()
    ) -> dict[tuple[Label, int], float]:
        """The least cost to each (node, who was covered)."""
        first = (source, covered | seen.get(source, 0))
        best, order, heap = {first: 0.0}, 0, [(0.0, 0, first)]
        while heap:
            cost, _, (node, mask) = heapq.heappop(heap)
            if cost > best[node, mask]:
                continue
            for other, step in self.out[node]:
                if (node, other) in closed:
                    continue
                state, total = (other, mask | seen.get(other, 0)), cost + step
                if total < best.get(state, _INFINITE):
                    best[state] = total
                    order += 1
                    heapq.heappush(heap, (total, order, state))
        return best

    @cached_property
    def smallest_positive(self) -> float:
        return min((cost for cost in self.edges.values() if cost > 0), default=1)


class World:
    """A problem: who counts, who sees whom, and what covering some of them costs."""

    def __init__(self, domain: Data, trips: list[Data], candidates: list[Any], visibility: Data) -> None:
        self.map = Map(domain)
        self.trips = [(plain(trip["start"]), plain(trip["goal"])) for trip in trips]
        weights = [trip["weight"] for trip in trips]
        self.weights = [weight / sum(weights) for weight in weights]
        ends = {end for trip in self.trips for end in trip}
        self.counted = [plain(label) for label in candidates if plain(label) not in ends]
        radius = 0 if visibility["kind"] == "at-node" else visibility["radius"]
        assert visibility["kind"] in ("at-node", "within-distance") and visibility.get("measure", "cost") == "cost"
        self.apart = {label: self.map.distances(label) for label in self.map.labels}
        self.watchers = {
            c: {n for n in self.map.labels if self.apart[n].get(c, _INFINITE) <= radius + 1e-9} for c in self.counted
        }
        self.seen: dict[Label, int] = {}
        for i, c in enumerate(self.counted):
            for node in self.watchers[c]:
                self.seen[node] = self.seen.get(node, 0) | 1 << i
        self.covers = [self._covers(trip) for trip in range(len(self.trips))]
        self.coverable = [
            i for i in range(len(self.counted)) if all(costs[1 << i] < _INFINITE for costs in self.covers)
        ]
        self.base = [[costs[1 << i] for i in range(len(self.counted))] for costs in self.covers]
        self.ends_of, self.rest = cache(self._ends_of), cache(self._rest)
        self.divisors = [[cost or self.map.smallest_positive for cost in costs] for costs in self.base]

    def _covers(self, trip: int) -> list[float]:
        """The least cost of a whole walk that covers each set at least."""
        start, goal = self.trips[trip]
        num = len(self.counted)
        costs = [_INFINITE] * (1 << num)
        for (node, mask), cost in self.map.search(start, self.seen, 0).items():
            if node == goal:
                costs[mask] = min(costs[mask], cost)
        for i in range(num):
            for mask in range(1 << num):
                if not mask >> i & 1:
                    costs[mask] = min(costs[mask], costs[mask | 1 << i])
        return costs

    def distance(self, one: Label, other: Label) -> float:
        return min(self.apart[one].get(other, _INFINITE), self.apart[other].get(one, _INFINITE))

    def _ends_of(self, m: int, trip: int) -> tuple[dict[tuple[Label, int], float], list[tuple[int, float]]]:
        """What is shared by m nodes: the cheapest way to each (node, covered); and whole walks of at most m nodes."""
        start, goal = self.trips[trip]
        layer, whole = {(start, self.seen.get(start, 0)): 0.0}, []
        for length in range(1, m + 1):
            whole += [(mask, cost) for (node, mask), cost in layer.items() if node == goal]
            if length == m:
                break
            ahead: dict[tuple[Label, int], float] = {}
            for (node, mask), cost in layer.items():
                for other, step in self.map.out[node]:
                    state = (other, mask | self.seen.get(other, 0))
                    ahead[state] = min(ahead.get(state, _INFINITE), cost + step)
            layer = ahead
        return layer, whole

    def _rest(self, node: Label, trip: int, i: int | None) -> float:
        """The least that it costs to go on to the goal, past a candidate if one is named."""
        goal, away = self.trips[trip][1], self.apart[node]
        if i is None:
            return away.get(goal, _INFINITE)
        watchers = self.watchers[self.counted[i]]
        return min((away.get(q, _INFINITE) + self.apart[q].get(goal, _INFINITE) for q in watchers), default=_INFINITE)

    def share(self, mask: int, m: int | None, rates: list[list[float]]) -> float:
        """What a class adds to the sum that is kept small; the rates are those of each trip's extra costs."""
        members, total = [i for i in range(len(self.counted)) if mask >> i & 1], 0.0
        for trip, weight in enumerate(self.weights):
            if m is None:
                pays = [[self.covers[trip][mask]] * len(members)]
            else:
                layer, whole = self.ends_of(m, trip)
                pays = [[cost] * len(members) for covered, cost in whole if not mask & ~covered]
                for (node, covered), cost in layer.items():
                    pays.append([cost + self.rest(node, trip, None if covered >> i & 1 else i) for i in members])
            least = _INFINITE
            for costs in pays:
                if max(costs) < _INFINITE:
                    extra = (
                        (cost - self.base[trip][i]) * rates[trip][i] for cost, i in zip(costs, members, strict=True)
                    )
                    least = min(least, math.fsum(extra))
            total += weight * least
        return total


@cache
def world_of(text: str) -> World:
    data = json.loads(text)
    return World(data["domain"], data["trips"], data["candidates"], data["visibility"])


class Best(NamedTuple):
    """The best plans: how much is hidden, at which sum; and the least sum for each amount that can be hidden."""

    hidden: float
    total: float
    least: dict[float, float]
    num_anonymizable: int | None


class Truth:
    """What a playbook file says, held against the map."""

    def __init__(self, data: Data) -> None:
        self.data, self.claims, self.privacy = data, data["claims"], data["privacy"]
        parts = ("domain", "trips", "candidates", "visibility")
        self.key = json.dumps({part: data[part] for part in parts}, sort_keys=True)
        self.world = world_of(self.key)
        self.m = self.privacy["m"]
        self.is_randomised = self.privacy.get("mechanism") == "randomised"
        risk = self.privacy.get("risk")
        self.k = math.ceil(1 / risk - 1e-9) if risk else self.privacy["k"]
        self.beta = risk or (1 / self.k if self.is_randomised else None)
        self.is_all_pairs = self.privacy["spread"] == "all-pairs"
        self.objective = (
            "expected_mac" if self.beta else {"mac": "mac", "total": "total_extra"}[data.get("objective", "mac")]
        )
        near = data.get("past", {}).get("near", [])
        self.near = {frozenset(map(plain, pair)) for pair in near}
        weights = data.get("prior") or [1.0] * len(data["candidates"])
        by_label = {plain(c): w for c, w in zip(data["candidates"], weights, strict=True)}
        masses = {i: by_label[self.world.counted[i]] for i in self.world.coverable}
        total = math.fsum(masses.values())
        self.prior = {i: mass / total if total else 1 / len(masses) for i, mass in masses.items()}
        self.is_close, self.hides = cache(self._is_close), cache(self._hides)

    # What the promise asks of some candidates.

    def _is_close(self, i: int, j: int) -> bool:
        one, other = self.world.counted[i], self.world.counted[j]
        if one == other or frozenset((one, other)) in self.near:
            return True
        return bool(self.world.distance(one, other) < self.privacy["ell"] * (1 - 1e-9))

    def is_apart(self, members: tuple[int, ...]) -> bool:
        return not any(self.is_close(i, j) for i, j in combinations(members, 2))

    def _hides(self, members: tuple[int, ...]) -> bool:
        """Whether candidates that look the same are as many as was promised, and stand apart."""
        if self.is_all_pairs:
            return len(members) >= self.k and self.is_apart(members)
        return any(self.is_apart(chosen) for chosen in combinations(members, self.k))

    def heaviest(self, masses: dict[int, float]) -> float:
        """The largest mass of an area: of candidates that are pairwise close."""
        found = 0.0
        for size in range(1, len(masses) + 1):
            for some in combinations(masses, size):
                if all(self.is_close(i, j) for i, j in combinations(some, 2)):
                    found = max(found, math.fsum(masses[i] for i in some))
        return found

    @cached_property
    def histories(self) -> list[tuple[int, frozenset[int]]]:
        at = {label: i for i, label in enumerate(self.world.counted)}
        return [
            (at[plain(own)], frozenset(at[plain(other)] for other in others if plain(other) in at))
            for own, others in self.data.get("past", {}).get("left", [])
            if plain(own) in at
        ]

    def is_class(self, members: tuple[int, ...]) -> bool:
        """Whether a planner may put these into one class."""
        if self.beta is None:
            left = [tuple(i for i in members if i in line) for own, line in self.histories if own in members]
            return self.hides(members) and all(map(self.hides, left))
        masses = {i: self.prior[i] for i in members}
        total = math.fsum(masses.values())
        if self.is_all_pairs and not self.is_apart(members):
            return False
        return total > 0 and self.heaviest(masses) <= self.beta * total * (1 + 1e-9)

    # The best that can be had.

    @cached_property
    def best(self) -> Best:
        parts = ("privacy", "prior", "past", "objective")
        return best_of(self.key, json.dumps({part: self.data.get(part) for part in parts}, sort_keys=True))

    def find_best(self) -> Best:
        world = self.world
        rates = [[1 / d for d in divisors] for divisors in world.divisors]
        if self.objective == "total_extra":
            rates = [[1.0] * len(divisors) for divisors in world.divisors]
        if self.is_randomised:
            return self._find_best_draws(rates)
        if self.beta is not None:
            rates = [[rate * self.prior.get(i, 0.0) for i, rate in enumerate(each)] for each in rates]
        ids, num = world.coverable, len(world.coverable)
        shares: dict[int, float] = {}
        for mask in range(1, 1 << num):
            members = tuple(ids[i] for i in range(num) if mask >> i & 1)
            if self.is_class(members):
                share = world.share(sum(1 << i for i in members), self.m, rates)
                if share < _INFINITE:
                    shares[mask] = share
        sums = [0.0] + [_INFINITE] * ((1 << num) - 1)
        by_first: list[list[tuple[int, float]]] = [[] for _ in range(num)]
        for mask, share in shares.items():
            by_first[(mask & -mask).bit_length() - 1].append((mask, share))
        for mask in range(1, 1 << num):
            first = (mask & -mask).bit_length() - 1
            found = _INFINITE
            for group, share in by_first[first]:
                if not group & ~mask and sums[mask ^ group] + share < found:
                    found = sums[mask ^ group] + share
            sums[mask] = found
        least: dict[float, float] = {}
        for mask, total in enumerate(sums):
            if total < _INFINITE:
                chosen = [ids[i] for i in range(num) if mask >> i & 1]
                hidden = len(chosen) if self.beta is None else round(math.fsum(self.prior[i] for i in chosen), 9)
                least[hidden] = min(total, least.get(hidden, _INFINITE))
        most = max(least)
        union = 0
        for mask in shares:
            union |= mask
        return Best(most, least[most], least, union.bit_count())

    def _find_best_draws(self, rates: list[list[float]]) -> Best:
        """Of randomised playbooks: all sets of members that stand apart, and who can be hidden tried from the most."""
        assert self.beta is not None
        ids = [i for i in self.world.coverable if self.prior[i] > 0]
        sets = []
        for size in range(1, len(ids) + 1):
            for members in combinations(ids, size):
                if self.is_apart(members):
                    mask = sum(1 << i for i in members)
                    costs = [self._costs(mask, members, trip) for trip in range(len(self.world.trips))]
                    if all(map(max, costs)) and max(map(max, costs)) < _INFINITE:
                        sets.append((members, costs))
        choices = sorted(
            (some for size in range(1, len(ids) + 1) for some in combinations(ids, size)),
            key=lambda some: -math.fsum(self.prior[i] for i in some),
        )
        most, total = 0.0, _INFINITE
        for some in choices:
            mass = math.fsum(self.prior[i] for i in some)
            if mass < most - 1e-9:
                break
            found = self._draw_programme(some, [each for each in sets if set(each[0]) <= set(some)], rates)
            if found is not None:
                most, total = max(most, mass), min(total, found)
        hidden = round(most, 9)
        return Best(hidden, total if most else 0.0, {0.0: 0.0, hidden: total if most else 0.0}, None)

    def _costs(self, mask: int, members: tuple[int, ...], trip: int) -> list[float]:
        assert self.m is None, "whole routes"
        return [self.world.covers[trip][mask]] * len(members)

    def _draw_programme(self, some: tuple[int, ...], sets: list[Any], rates: list[list[float]]) -> float | None:
        columns = [(at, i) for at, (members, _) in enumerate(sets) for i in members]
        if not columns:
            return None
        number = {column: at for at, column in enumerate(columns)}
        costs = [
            sum(
                weight * (sets[at][1][trip][0] - self.world.base[trip][i]) * rates[trip][i]
                for trip, weight in enumerate(self.world.weights)
            )
            for at, i in columns
        ]
        equal = np.zeros((len(some), len(columns)))
        for (_, i), at in number.items():
            equal[some.index(i), at] = 1
        upper = np.zeros((len(columns), len(columns)))
        for (at, _), row in number.items():
            upper[row, row] = 1
            for j in sets[at][0]:
                upper[row, number[at, j]] -= self.beta or 0.0
        found = linprog(
            costs, A_ub=upper, b_ub=np.full(len(columns), 1e-12), A_eq=equal, b_eq=[self.prior[i] for i in some]
        )
        return float(found.fun) if found.status == 0 else None

    # What the file says.

    def lies(self) -> Iterator[str]:
        """Everything in the file that is not true, or was taken out of it."""
        yield from self._false_routes()
        yield from self._broken_promises()
        yield from self._false_figures()
        yield from self._false_proofs()
        yield from self._false_contingencies()

    def find(self, label: Any) -> int | None:
        label = plain(label)
        return self.world.counted.index(label) if label in self.world.counted else None

    def route_of(self, group: Data, label: Any, trip: int) -> Data:
        own = [r for r in group["routes"] if r["trip"] == trip and plain(r.get("member", "-")) == plain(label)]
        return own[0] if own else next(r for r in group["routes"] if r["trip"] == trip and "member" not in r)

    @cached_property
    def draws(self) -> dict[tuple[int, int], float]:
        """Candidates and the anonymized classes that may give them a route, with how probable each is for them."""
        found: dict[tuple[int, int], float] = {}
        taken: set[int] = set()
        for at, group in enumerate(self.data["classes"]):
            for place, label in enumerate(group["members"]):
                i = self.find(label)
                if i is not None and group["anonymized"] and (self.is_randomised or i not in taken):
                    shares = group.get("shares") or [0.0] * len(group["members"])
                    found[i, at] = shares[place] if self.is_randomised else 1.0
            if not self.is_randomised:
                taken |= {i for i in map(self.find, group["members"]) if i is not None}
        sums: dict[int, float] = {}
        for (i, _), share in found.items():
            sums[i] = sums.get(i, 0.0) + share
        return {draw: share / sums[draw[0]] if sums[draw[0]] else 0.0 for draw, share in found.items()}

    def _false_routes(self) -> Iterator[str]:
        for group in self.data["classes"]:
            for trip, (start, goal) in enumerate(self.world.trips):
                for label in group["members"]:
                    route = self.route_of(group, label, trip)
                    nodes = list(map(plain, route["route"]))
                    i = self.find(label)
                    if i is None:
                        yield f"{label} does not count"
                        continue
                    if not nodes or (nodes[0], nodes[-1]) != (start, goal):
                        yield f"ends of the route for {label}"
                    elif any(step not in self.world.map.edges for step in pairwise(nodes)):
                        yield f"no walk for {label}"
                    elif not is_near(route["cost"], sum(self.world.map.edges[step] for step in pairwise(nodes))):
                        yield f"cost of the route for {label}"
                    elif not self.world.watchers[self.world.counted[i]] & set(nodes):
                        yield f"{label} is not covered"
                shared = next(r for r in group["routes"] if r["trip"] == trip and "member" not in r)
                nodes = list(map(plain, shared["route"]))
                if any(step not in self.world.map.edges for step in pairwise(nodes)):
                    yield "the route shown is no walk"
                elif not is_near(shared["cost"], sum(self.world.map.edges[step] for step in pairwise(nodes))):
                    yield "cost of the route shown"

    @cached_property
    def groups(self) -> dict[tuple[int, int], dict[int, float]]:
        """For each draw who looks the same, with how probable each is to look like this."""
        sights: dict[Any, list[tuple[int, int]]] = {}
        for i, at in self.draws:
            group = self.data["classes"][at]
            label = self.world.counted[i]
            seen = tuple(
                tuple(map(plain, self.route_of(group, label, trip)["route"]))[: self.m]
                for trip in range(len(self.world.trips))
            )
            sights.setdefault(seen, []).append((i, at))
        found: dict[tuple[int, int], dict[int, float]] = {}
        for draws in sights.values():
            masses: dict[int, float] = {}
            for i, at in draws:
                masses[i] = masses.get(i, 0.0) + self.draws[i, at] * self.prior.get(i, 0.0)
            found |= dict.fromkeys(draws, masses)
        return found

    def _broken_promises(self) -> Iterator[str]:
        taken: dict[int, int] = {}
        for at, group in enumerate(self.data["classes"]):
            if not group["members"]:
                yield "an empty class"
            members = [i for i in map(self.find, group["members"]) if i is not None]
            if len(set(members)) < len(members):
                yield "a member twice"
            for i in members:
                overlaps = (
                    self.is_randomised and group["anonymized"] and self.data["classes"][taken.get(i, at)]["anonymized"]
                )
                if i in taken and not overlaps:
                    yield "a member in two classes"
                taken.setdefault(i, at)
            if group["anonymized"] and self.m is None and len({
                json.dumps(self.route_of(group, label, trip)["route"])
                for label in group["members"] for trip in range(1)
            }) > 1:  # fmt: skip
                yield "members of a class with different routes"
            if self.is_randomised and group["anonymized"]:
                if not all(share > 0 for share in group.get("shares", [0])):
                    yield "a share of 0"
            elif group.get("shares"):
                yield "shares where nobody is drawn"
        listed = {i for i in map(self.find, self.data["uncoverable"]) if i is not None}
        if set(taken) & listed or set(taken) | listed != set(range(len(self.world.counted))):
            yield "somebody is in no class, or in two places"
        for (i, at), masses in self.groups.items():
            own = {j for (j, there) in self.draws if there == at}
            alike = tuple(sorted(masses))
            if self.is_all_pairs and not self.is_randomised:
                alike = tuple(sorted(set(masses) & own))
            total = math.fsum(masses.values())
            if self.beta is not None:
                if not total or self.heaviest(masses) > self.beta * total * (1 + 1e-7):
                    yield f"the risk of {self.world.counted[i]}"
                if self.is_all_pairs and not self.is_randomised and not self.is_apart(alike):
                    yield "members that are too close"
            elif not self.hides(alike):
                yield f"{self.world.counted[i]} is not hidden"
            for one, line in self.histories:
                if one == i and self.beta is None and not self.hides(tuple(j for j in alike if j in line)):
                    yield f"{self.world.counted[i]} is not hidden from who links trips"
            if own - set(masses):
                yield "members of a class that look different"
        if self.is_randomised:
            sums: dict[int, float] = {}
            for group in self.data["classes"]:
                for label, share in zip(group["members"], group.get("shares", []), strict=False):
                    sums[self.find(label) or 0] = sums.get(self.find(label) or 0, 0.0) + share
            for i, total in sums.items():
                if not is_near(total, self.prior.get(i, 0.0)):
                    yield f"shares of {self.world.counted[i]}"

    def figures(self) -> Data:
        """The claims as they should be, without bounds."""
        world = self.world
        hidden = sorted({i for i, _ in self.draws})
        base = {
            "num_candidates": len(world.counted),
            "num_coverable": len(world.coverable),
            "num_anonymized": len(hidden),
            "apr": len(hidden) / len(world.coverable) if world.coverable else 0.0,
            "hidden_mass": math.fsum(self.prior.get(i, 0.0) for i in hidden),
        }
        if not hidden:
            nothing = ("mac", "total_extra", "worst_extra", "expected_mac", "worst_posterior", "bayes_success")
            return base | dict.fromkeys(nothing) | {"mac_by_trip": [None] * len(world.trips)}
        macs, totals, means, worst = [], [], [], 0.0
        mass = math.fsum(chance * self.prior.get(i, 0.0) for (i, _), chance in self.draws.items())
        for trip in range(len(world.trips)):
            extra = {
                (i, at): self.route_of(self.data["classes"][at], world.counted[i], trip)["cost"] - world.base[trip][i]
                for i, at in self.draws
            }
            ratio = {draw: value / world.divisors[trip][draw[0]] for draw, value in extra.items()}
            macs.append(math.fsum(ratio[d] * chance for d, chance in self.draws.items()) / len(hidden))
            totals.append(math.fsum(extra[d] * chance for d, chance in self.draws.items()))
            means.append(
                math.fsum(ratio[d] * c * self.prior.get(d[0], 0.0) for d, c in self.draws.items()) / (mass or _INFINITE)
            )
            worst = max(worst, *extra.values())

        def over_trips(values: list[float]) -> float:
            return math.fsum(w * value for w, value in zip(world.weights, values, strict=True))

        looks = {id(masses): masses for masses in self.groups.values()}.values()
        seen = [masses for masses in looks if math.fsum(masses.values()) > 0]
        total = math.fsum(math.fsum(masses.values()) for masses in seen)
        return base | {
            "mac_by_trip": macs,
            "mac": over_trips(macs),
            "total_extra": over_trips(totals),
            "worst_extra": worst,
            "expected_mac": over_trips(means) if mass else None,
            "worst_posterior": max((self.heaviest(m) / math.fsum(m.values()) for m in seen), default=None),
            "bayes_success": math.fsum(max(m.values()) for m in seen) / total if seen else None,
        }

    def _false_figures(self) -> Iterator[str]:
        for name, real in self.figures().items():
            stated = self.claims.get(name)
            if name == "mac_by_trip":
                if len(stated) != len(real) or not all(map(is_near, stated, real)):
                    yield name
            elif not is_near(stated, real):
                yield f"{name}: {stated} for {real}"
        listed = {plain(label) for label in self.data["uncoverable"]}
        if listed != {c for i, c in enumerate(self.world.counted) if i not in self.world.coverable}:
            yield "the uncoverable"
        able, stated = self.claims["num_anonymizable"], self.claims.get("delta")
        if not is_near(stated, self.claims["num_anonymized"] / able if able else None) and not (
            not able and not stated
        ):
            yield "delta"

    def _false_proofs(self) -> Iterator[str]:
        status, able = self.data["status"], self.claims["num_anonymizable"]
        bounds = {name: self.claims.get(f"{name}_lower_bound") for name in ("mac", "total_extra", "expected_mac")}
        if status not in ("optimal", "feasible", "infeasible"):
            yield "the status"
        if status == "feasible" and able is None and not any(bound is not None for bound in bounds.values()):
            return
        best, hidden = self.best, float(self.claims["num_anonymized"])
        if self.beta is not None:
            hidden = round(math.fsum(self.prior.get(i, 0.0) for i in {i for i, _ in self.draws}), 9)
        if able is not None and best.num_anonymizable is not None and able != best.num_anonymizable:
            yield f"{able} anonymizable, not {best.num_anonymizable}"
        least = next((total for much, total in best.least.items() if is_near(much, hidden)), None)
        for name, bound in bounds.items():
            if bound is None:
                continue
            if name != self.objective or not hidden or least is None:
                yield f"a bound on {name}"
            elif not self.is_randomised or is_near(hidden, best.hidden):
                figure = least if name == "total_extra" else least / hidden
                if bound > figure and not is_near(bound, figure):
                    yield f"the bound {bound} above {figure}"
        if status == "infeasible" and best.hidden > 0:
            yield "not infeasible"
        if status == "optimal":
            figure = self.figures()[self.objective]
            total = figure if figure is None or self.objective == "total_extra" else figure * hidden
            if not is_near(hidden, best.hidden) or total is None or not is_near(total, best.total):
                yield f"not optimal: {hidden} at {total}, best {best.hidden} at {best.total}"
        certificate = self.data.get("certificate")
        if certificate is not None and least is not None and not self.is_randomised:
            bound = certificate["bound"]
            if bound > least and not is_near(bound, least):
                yield "the certificate's bound"

    def _false_contingencies(self) -> Iterator[str]:
        hidden = [group for group in self.data["classes"] if group["anonymized"]]
        for entry in self.data.get("contingencies", []):
            group = hidden[entry["class"] - 1]
            route = [plain(node) for node in self.route_of(group, group["members"][0], entry["trip"])["route"]]
            walked, closed = list(map(plain, entry["walked"])), set()
            for a, b in entry["closed"]:
                closed |= {(plain(a), plain(b)), (plain(b), plain(a))}
            shut = frozenset(closed)
            if walked != route[: len(walked)] or (walked[-1], route[len(walked)]) not in closed:
                yield "where a contingency begins"
                continue
            if any(step in closed for step in pairwise(walked)):
                yield "a closed road was walked"
            goal = self.world.trips[entry["trip"]][1]
            covered = 0
            for node in walked:
                covered |= self.world.seen.get(node, 0)
            wanted = sum(1 << i for i in map(self.find, group["members"]) if i is not None)
            ends = {
                mask: cost
                for (node, mask), cost in self.world.map.search(walked[-1], self.world.seen, covered, shut).items()
                if node == goal
            }
            reached = 0
            for mask in ends:
                reached |= mask & wanted  # on these maps roads lead both ways: who can be reached can be so together
            least = {
                "going_on": min((cost for mask, cost in ends.items() if not reached & ~mask), default=_INFINITE),
                "giving_up": min(ends.values(), default=_INFINITE),
            }
            for name, cost in least.items():
                way = entry[name]
                nodes = list(map(plain, way["route"]))
                steps = list(pairwise(nodes))
                if not nodes or (nodes[0], nodes[-1]) != (walked[-1], goal):
                    yield f"ends of {name}"
                elif any(step not in self.world.map.edges or step in closed for step in steps):
                    yield f"{name} is no walk"
                else:
                    real = sum(self.world.map.edges[step] for step in steps)
                    if not is_near(way["cost"], real) or not is_near(real, cost):
                        yield f"cost of {name}"
                    mask = covered
                    for node in nodes:
                        mask |= self.world.seen.get(node, 0)
                    left = {i for i in map(self.find, way["left"]) if i is not None}
                    own = {i for i in range(len(self.world.counted)) if wanted & mask & 1 << i}
                    if {i for i in left if wanted & 1 << i} != own:
                        yield f"who is left by {name}"
                    if way["qualifies"] and not self.hides(tuple(sorted(left))):
                        yield f"{name} does not qualify"
            if entry["choice"] not in ("go-on", "give-up"):
                yield "nothing chosen"


@cache
def best_of(key: str, rest: str) -> Best:
    data = json.loads(key) | {name: part for name, part in json.loads(rest).items() if part is not None}
    return Truth(data | {"claims": {}, "classes": [], "uncoverable": []}).find_best()
