"""The sceptic's checker: does a veilroute playbook hide what it says it hides? `python checker.py PLAYBOOK [MAP [8]]`

This file needs Python 3.11 and nothing else, and shares no line with the program that wrote the playbook. Read it from
top to bottom before you believe it. It never asks for the secret stop, and a playbook does not hold one. MAP is a .json
of veilroute or a .map (8: its cells have 8 neighbours, not 4). Without it, the map inside the playbook is used.

A playbook lists *places* where a vehicle may have to stop, puts them into *groups*, and gives each group a route for
each trip. An observer who knows the map, the playbook and this file, and who watches the vehicle, learns which route it
takes. The stop stays hidden among the places of its group if

1. the routes are real: they are legal walks and pass every place of the group (an observer crosses out the others);
2. every place of the group gets the very same route, on every trip (or the same first m nodes, if that is promised);
3. the group is good enough: it has k places far enough apart or, if the playbook bounds a risk, no area of it is so
   probable that betting on this area succeeds more often than promised.

Each check prints one line: `holds`, `BROKEN` with what is wrong and where, or `not checked` with the reason. The last
line is the verdict. Exit code 0: nothing is broken. 1: something is. 2: a file cannot be read. Not looked at: whether
routes are short, and other figures; and whether the playbook is about the map, places, distances and probabilities that
*you* care about. Compare the first line, which says what is promised, with what you want.
"""

import heapq
import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

EARTH_RADIUS_M = 6_371_008.8
# Numbers that are added up in another order can differ in the last digits. So a length that is within a billionth of a
# limit counts as equal to it (unless all costs are integers), and so does a probability.
ROUNDING = 1e-9
PATIENCE = 200_000  # steps of a search for places far apart, or for the heaviest area, before it is given up

Route = tuple[int, ...]  # a walk, by the numbers of its nodes


def need(fine: bool, what: str) -> None:
    """Refuse the file unless something about it is fine."""
    if not fine:
        raise ValueError(what)


def number(value: Any) -> Any:
    """A finite number that is not negative."""
    need(type(value) in (int, float) and 0 <= value < math.inf, f"{value!r} in the place of a number from 0 on")
    return value


def label(value: Any) -> Any:
    """What a node is called: a number, a text, or several of these, such as row and column of a cell."""
    need(value is None or type(value) in (int, str, list, tuple), f"{value!r} in the place of a name of a node")
    return tuple(map(label, value)) if isinstance(value, list | tuple) else value


def text_of(name: Any) -> str:
    """A node's name as text, as keys of JSON have it: 3,4 for a cell."""
    if isinstance(name, tuple):
        return ",".join(f"({text_of(part)})" if isinstance(part, tuple) else str(part) for part in name)
    return str(name)


class World:
    """A grid, a graph or streets. Nodes have numbers; `steps[node]` says where one can go from it, at what costs."""

    def __init__(self, data: Any, movement: int | None = None) -> None:
        self.free: list[list[bool]] = []  # of a grid: which cells one can be in
        self.metres: list[dict[int, float]] = []  # of streets: the length of each step; and on foot, where
        self.on_foot: list[dict[int, float]] = []  # one-way streets lead both ways
        self.places: list[Sequence[float]] = []  # of streets: longitude and latitude of each node
        self.banned: set[Route] = set()  # forbidden turns: three nodes or more that no route may pass in a row
        self.u_turns, self.u_turn_cost = "allow", 0.0
        if "grid" in data:
            self._read_grid(data["grid"]["map"], movement or data["grid"].get("movement", 4))
        else:
            self._read_graph(data["graph"])
        # Nodes may have further names: several places may be at one door.
        also = [(label(name), node) for name, node in data.get("graph", {}).get("also", [])]
        self.called = {name: node for node, name in enumerate(self.names)}
        self.at, self.sizes = dict(also) | self.called, {len(ban) for ban in self.banned}
        need(len(self.at) == len(self.names) + len(also), "two nodes of the map have the same name")

    def _read_grid(self, rows: list[str], movement: int) -> None:
        """Cells are free (. G S) or blocked. One can step into the 4 free cells beside a cell, or the 8 around it."""
        self.free = [[sign in ".GS" for sign in row] for row in rows]
        self.names: list[Any] = [(r, c) for r, row in enumerate(self.free) for c, free in enumerate(row) if free]
        at = {cell: node for node, cell in enumerate(self.names)}
        self.is_exact, self.steps = movement == 4, [dict[int, float]() for _ in self.names]
        for (r, c), down, right in product(at, (-1, 0, 1), (-1, 0, 1)):
            there, beside = (r + down, c + right), {(r + down, c), (r, c + right)}
            if there in at and abs(down) + abs(right) == 1:
                self.steps[at[r, c]][at[there]] = 1
            elif there in at and movement == 8 and down and right and beside <= at.keys():  # around no blocked corner
                self.steps[at[r, c]][at[there]] = math.sqrt(2)

    def _read_graph(self, graph: Any) -> None:
        """Edges lead one way. Of several between the same nodes the cheapest and, in metres, the shortest counts."""
        num, edges, streets = graph["num_nodes"], graph["edges"], graph.get("streets") or {}
        need(all(0 <= node < num for tail, head, _ in edges for node in (tail, head)), "an edge of no node")
        self.places, metres = streets.get("lonlat", []), streets.get("shortest") or streets.get("lengths") or []
        self.steps, self.metres, self.on_foot = ([dict[int, float]() for _ in range(num)] for _ in range(3))
        for i, (tail, head, cost) in enumerate(edges):
            if tail != head:
                self.steps[tail][head] = min(number(cost), self.steps[tail].get(head, math.inf))
                ways = [(self.metres, tail, head), (self.on_foot, tail, head), (self.on_foot, head, tail)]
                for table, a, b in ways if metres else ():
                    table[a][b] = min(number(metres[i]), table[a].get(b, math.inf))
        self.metres, self.on_foot = (table if metres else [] for table in (self.metres, self.on_foot))
        self.is_exact = bool(edges) and all(type(cost) is int for _, _, cost in edges)
        self.names = [label(name) for name in graph.get("labels") or range(num)]
        if rules := graph.get("turns"):
            self.u_turns, self.u_turn_cost = rules["u_turns"], number(rules.get("u_turn_cost", 0))
            self.banned = {tuple(ban) for ban in rules.get("banned", [])}

    def reach(self, sources: Iterable[int], limit: float, measure: str, wanted: frozenset[int]) -> dict[int, float]:
        """How far the wanted nodes are from the nearest source, if it is no more than the limit (Dijkstra's search)."""
        if measure == "straight":
            crow = {node: min(self.straight(source, node) for source in sources) for node in wanted}
            return {node: metres for node, metres in crow.items() if metres <= limit}
        steps = {"cost": self.steps, "driving": self.metres, "walking": self.on_foot}[measure]
        best, found = dict[int, float].fromkeys(sources, 0.0), dict[int, float]()
        heap = [(so_far, source) for source, so_far in best.items()]
        while heap and len(found) < len(wanted):
            so_far, node = heapq.heappop(heap)
            if node in wanted:
                found.setdefault(node, so_far)  # who comes first comes by the shortest way
            for head, length in steps[node].items():
                total = so_far + length
                if total <= limit and total < best.get(head, math.inf):
                    best[head] = total
                    heapq.heappush(heap, (total, head))
        return found

    def straight(self, one: int, other: int) -> float:
        """Metres as the crow flies, on a sphere (haversine formula)."""
        (lon, lat), (east, north) = (map(math.radians, self.places[node]) for node in (one, other))
        rise = math.sin((north - lat) / 2) ** 2 + math.cos(lat) * math.cos(north) * math.sin((east - lon) / 2) ** 2
        return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, rise)))

    def sees(self, one: int, other: int, limit: float) -> bool:
        """Whether no wall is between the middles of two cells that are no more than a limit apart.

        A wall is there if the line from middle to middle passes through the inside of a blocked cell, or between two
        blocked cells that touch at a corner; one blocked corner is no harm. Measured across the line (and scaled), the
        middle of a cell is `side` away from it, and its corners are within `size` of the middle.
        """
        (r, c), (last, final) = sorted((self.names[one], self.names[other]))
        down, right = last - r, final - c
        if math.hypot(down, right) > limit:
            return False
        size, bend = down + abs(right), (right > 0) - (right < 0)
        for row in range(r, last + 1):
            first, stop = min(c, final), max(c, final)
            if down:  # only the cells that the line comes near
                first = max(first, c - (size - 2 * right * (row - r)) // (2 * down))
                stop = min(stop, c + (size + 2 * right * (row - r)) // (2 * down))
            for col in range(first, stop + 1):
                side = 2 * (down * (col - c) - right * (row - r))
                # At `size` the line touches a corner of the cell. The cell across the corner is one column back.
                is_gap_shut = side == size and not self.free[row][col] and not self.free[row + bend][col - 1]
                if is_gap_shut or (abs(side) < size and not self.free[row][col]):
                    return False
        return True

    def illegal_turn(self, route: Route) -> str:
        """The first turn of a walk that is forbidden, in words, or nothing."""
        for i in range(2, len(route)):
            is_round = route[i] == route[i - 2] and self.u_turns != "allow"
            if is_round and (self.u_turns == "never" or set(self.steps[route[i - 1]]) != {route[i]}):  # no dead end
                return f"turns round at {text_of(self.names[route[i - 1]])} (node {i} of the route)"
            if any(route[max(0, i + 1 - size) : i + 1] in self.banned for size in self.sizes):
                return f"makes a forbidden turn at {text_of(self.names[route[i - 1]])} (node {i} of the route)"
        return ""


def bits_of(pool: int) -> Iterator[int]:
    """The places of a set. A set is a number whose bits are places; below, close[i] is the set of those close to i."""
    while pool:
        yield (pool & -pool).bit_length() - 1
        pool &= pool - 1


def has_apart(close: Sequence[int], pool: int, num: int, steps: Iterator[int]) -> bool:
    """Whether `num` places of a set are pairwise not close.

    Take the place that is close to the fewest. If there are `num` such places, then there are `num` with this place or
    with one of those close to it among them: if none of these is, any of the `num` can be exchanged for this place.
    """
    if num <= 0 or pool.bit_count() < num:
        return num <= 0
    next(steps)  # when there are none left, Python makes a RuntimeError of it
    loneliest = min(bits_of(pool), key=lambda i: (close[i] & pool).bit_count())
    for i in [loneliest, *bits_of(close[loneliest] & pool)]:
        pool &= ~(1 << i)
        if has_apart(close, pool & ~close[i], num - 1, steps):
            return True
    return False


def areas(close: Sequence[int], pool: int, taken: int, done: int, steps: Iterator[int]) -> Iterator[int]:
    """All maximal areas: places that are pairwise close (Bron and Kerbosch). These are `taken` with some of `pool`, who
    are close to all of them. Areas with one of `done` were listed before."""
    next(steps)
    if not pool | done:
        yield taken
        return
    # A maximal set holds the pivot, or one that is not close to it.
    pivot = max(bits_of(pool | done), key=lambda i: (close[i] & pool).bit_count())
    for i in bits_of(pool & ~close[pivot]):
        yield from areas(close, pool & close[i], taken | 1 << i, done & close[i], steps)
        pool, done = pool & ~(1 << i), done | 1 << i


class Group(NamedTuple):
    """Places that share their routes; routes are tuples of the nodes' names."""

    title: str  # "group 3", as counted in the file
    members: list[int]
    is_hidden: bool
    routes: dict[tuple[int, int], Any]  # by trip and place: what is driven if this place is the stop
    shares: list[float]  # in a randomised playbook: how probable are each member and this group, both together?


class Book:
    """What a playbook says, and the checks: each yields what is wrong; if nothing is, its first line is printed."""

    def __init__(self, data: Any, world: World) -> None:
        self.data, self.world, promise = data, world, data["privacy"]
        need(promise.keys() <= {"k", "ell", "m", "spread", "measure", "risk", "mechanism"}, "a promise of unknown kind")
        self.k, self.ell, self.m = promise["k"], number(promise["ell"]), promise["m"]
        self.measure, risk = promise.get("measure", "cost"), promise.get("risk")
        need(self.k >= 1 and (self.m is None or self.m >= 1), "k and m have to be at least 1")
        need(promise["spread"] in ("witness", "all-pairs") and (risk is None or 0 < risk < 1), "spread or risk is odd")
        need(risk is None or self.k == math.ceil(1 / risk - ROUNDING), "k does not follow from the risk")
        self.is_all_pairs, self.is_drawn = promise["spread"] == "all-pairs", promise.get("mechanism") == "randomised"
        # A randomised playbook that promises k promises that no place is more probable than 1 / k.
        self.beta = 1 / self.k if risk is None and self.is_drawn else risk
        self.ends = [(world.at[label(trip["start"])], world.at[label(trip["goal"])]) for trip in data["trips"]]
        self.names = [label(name) for name in data["candidates"]]  # places are numbered in this order
        self.nodes = [world.at[name] for name in self.names]
        self.place = {name: place for place, name in enumerate(self.names)}
        need(bool(self.ends) and len(self.place) == len(self.names), "no trip, or a candidate twice")
        # Every route passes the starts and goals of trips anyway, so places there do not count.
        self.counted = [place for place, node in enumerate(self.nodes) if not any(node in ends for ends in self.ends)]
        self.unserved = [self.place[label(name)] for name in data["uncoverable"]]
        self.groups = [self._group(f"group {i}", each) for i, each in enumerate(data["classes"], 1)]
        # Every route that somebody gets: group, trip, place, and the names of the nodes.
        self.answers = [(group, *key, names) for group in self.groups for key, names in group.routes.items()]
        self.past = data.get("past") or {"left": []}
        # What was close on the map of an earlier trip counts as close for good.
        self.were_close = {frozenset(self.place[label(name)] for name in pair) for pair in self.past.get("near", [])}
        self.near: dict[int, dict[int, float]] = {}
        # How probable each place is beforehand, among those that the file says can be served.
        weights = data.get("prior") or [1.0] * len(self.names)
        kept = {place: number(weights[place]) for place in self.counted if place not in self.unserved}
        total = math.fsum(kept.values())
        self.prior = {place: weight / total if total else 1 / len(kept) for place, weight in kept.items()}
        # The hidden groups, with how probable it is that a member is the stop and the group is used for it.
        self.hidden = [(g, {p: self.prior.get(p, 0.0) for p in g.members}) for g in self.groups if g.is_hidden]
        if self.is_drawn:
            self.hidden = [(g, dict(zip(g.members, g.shares, strict=False))) for g, _ in self.hidden]

    def _group(self, title: str, data: Any) -> Group:
        entries = [(each["trip"], label(each.get("member")), label(each["route"])) for each in data["routes"]]
        shared = {trip: names for trip, member, names in entries if member is None}
        own = {(trip, self.place[member]): names for trip, member, names in entries if member is not None}
        need(len(entries) == len(shared) + len(own), f"{title}: two routes for a trip")
        keys = list(product(range(len(self.ends)), (self.place[label(name)] for name in data["members"])))
        routes = {key: own[key] if key in own else shared[key[0]] for key in keys}
        need(all(names != shared[trip] for (trip, _), names in own.items()), f"{title}: copies can be told apart")
        members, shares = [place for trip, place in keys if not trip], list(map(number, data.get("shares", [])))
        return Group(title, members, data["anonymized"], routes, shares)

    def some(self, places: Iterable[int]) -> str:
        """A few places by their names."""
        texts = [text_of(self.names[place]) for place in places]
        return (", ".join(texts[:4]) or "nobody") + (f" and {len(texts) - 4} more" if len(texts) > 4 else "")

    @cache  # noqa: B019
    def walk(self, trip: int, names: Any) -> tuple[Route, str]:
        """A route by the numbers of its nodes; or nothing, and why it is no walk of the trip that one may drive."""
        # A node may have further names. A route that used them could be written in two ways, and so tell who gets it.
        if unknown := [name for name in names if name not in self.world.called]:
            return (), f"passes {text_of(unknown[0])}, which is not what the map calls a node"
        route = tuple(self.world.called[name] for name in names)
        if not route or (route[0], route[-1]) != self.ends[trip]:
            return (), "does not lead from the start of the trip to its goal"
        for i, (a, b) in enumerate(pairwise(route), 1):
            if b not in self.world.steps[a]:
                return (), f"jumps from {text_of(names[i - 1])} to {text_of(names[i])} (node {i + 1} of the route)"
        fault = self.world.illegal_turn(route)
        return () if fault else route, fault

    def is_close(self, one: int, other: int) -> bool:
        """Whether two places are at one node, or less than ell apart in one of the two directions."""
        a, b = self.nodes[one], self.nodes[other]
        limit: float = self.ell if self.world.is_exact and self.measure == "cost" else self.ell * (1 - ROUNDING)
        if a == b or frozenset((one, other)) in self.were_close:
            return True
        if self.measure == "straight":
            return self.world.straight(a, b) < limit
        for node in (a, b):
            if node not in self.near:  # one search from each place that is asked for, and it ends at ell
                self.near[node] = self.world.reach([node], limit, self.measure, frozenset(self.nodes))
        return min(self.near[a].get(b, math.inf), self.near[b].get(a, math.inf)) < limit

    def seen_from(self, route: Route, wanted: frozenset[int]) -> set[int]:
        """Which of some nodes are passed by a route, or seen from it; its start and goal are part of it."""
        view, world, nodes = self.data["visibility"], self.world, set(route)
        if view["kind"] == "at-node":
            return nodes & wanted
        if view["kind"] == "within-distance":  # a node sees what one can reach from it within the radius
            measure, radius = view.get("measure", "cost"), number(view["radius"])
            limit = radius if world.is_exact and measure == "cost" else radius * (1 + ROUNDING)
            return set(world.reach(nodes, limit, measure, wanted))
        if view["kind"] == "explicit":
            keys = {text_of(name): node for name, node in world.at.items()}
            listed = [seen for key, seen in view["sees"].items() if keys[key] in nodes]
            return {world.at[label(name)] for seen in listed for name in seen} & wanted
        need(view["kind"] == "line-of-sight" and bool(world.free), "visibility: unknown, or not for this map")
        limit = number(view["range"]) * (1 + ROUNDING)
        return {spot for spot in wanted if any(world.sees(node, spot, limit) for node in nodes)}

    def check_walks(self) -> Iterator[str]:
        """Every route leads from the start of its trip to the goal, along edges of the map, by legal turns."""
        for title, trip, names in dict.fromkeys((group.title, trip, names) for group, trip, _, names in self.answers):
            if fault := self.walk(trip, names)[1]:
                yield f"{title}: a route of trip {trip} {fault}"

    def check_costs(self) -> Iterator[str]:
        """The stated cost of every route is what its edges add up to."""
        for i, group in enumerate(self.data["classes"], 1):
            for trip, stated, names in ((each["trip"], each["cost"], label(each["route"])) for each in group["routes"]):
                if all(name in self.world.at for name in names):
                    steps = list(pairwise(self.world.at[name] for name in names))
                    if all(b in self.world.steps[a] for a, b in steps):
                        real = math.fsum(self.world.steps[a][b] for a, b in steps)
                        real += self.world.u_turn_cost * sum(a == d for (a, _), (_, d) in pairwise(steps))
                        if abs(real - number(stated)) > ROUNDING * real + 1e-12:
                            yield f"group {i}: a route of trip {trip} costs {real:.9g}, and not {stated:.9g}"

    def check_coverage(self) -> Iterator[str]:
        """Every place is passed by the route that it gets, or seen from it."""
        wanted: dict[Route, set[int]] = {}
        for _, trip, place, names in self.answers:
            wanted.setdefault(self.walk(trip, names)[0], set()).add(self.nodes[place])
        seen = {route: self.seen_from(route, frozenset(nodes)) for route, nodes in wanted.items()}
        for group, trip, place, names in self.answers:
            if self.nodes[place] not in seen[self.walk(trip, names)[0]]:
                yield f"{group.title}: the route of trip {trip} does not pass {self.some([place])}"

    def check_same_route(self) -> Iterator[str]:
        """The members of a hidden group share their first m nodes on every trip, and the whole route if m is null."""
        for group, data in zip(self.groups, self.data["classes"], strict=True):
            if self.m is None and any("member" in each for each in data["routes"]):
                yield f"{group.title}: has routes for single members, who could be told apart by them"
            for trip in range(len(self.ends)):
                starts = {place: group.routes[trip, place][: self.m] for place in group.members}
                others = [place for place in starts if starts[place] != starts[group.members[0]]]
                if group.is_hidden and others:
                    yield f"{group.title}: trip {trip} tells {self.some([group.members[0], *others])} from each other"

    def check_groups(self) -> Iterator[str]:
        """Every place that counts is in one group, or listed as uncoverable. Only groups that are drawn may overlap."""
        homes: dict[int, Group] = {}
        for group in [*self.groups, Group("the uncoverable list", self.unserved, False, {}, [])]:
            for place in group.members:
                home = homes.setdefault(place, group)
                is_twice = home is not group and not (self.is_drawn and group.is_hidden and home.is_hidden)
                if is_twice or group.members.count(place) > 1 or place not in self.counted:
                    yield f"{group.title}: {self.some([place])} is listed twice, or does not count as a place"
        if missing := [place for place in self.counted if place not in homes]:
            yield f"in no group: {self.some(missing)}"
        num = len({place for group, _ in self.hidden for place in group.members})
        if num != self.data["claims"]["num_anonymized"]:
            yield f"the file says that {self.data['claims']['num_anonymized']} places are hidden; it hides {num}"

    def check_shares(self) -> Iterator[str]:
        """In a randomised playbook the shares of each hidden place are above 0 and add up to its prior."""
        sums: dict[int, list[float]] = {}
        for group in self.groups:
            num = len(group.members) if self.is_drawn and group.is_hidden else 0
            if len(group.shares) != num or not all(group.shares):
                yield f"{group.title}: there is not one share above 0 for each of {num} members who are drawn"
            for place, share in zip(group.members, group.shares, strict=False):
                sums.setdefault(place, []).append(share)
        for place, shares in sums.items():
            if abs(math.fsum(shares) - self.prior.get(place, 0.0)) > ROUNDING * self.prior.get(place, 0.0):
                yield f"the shares of {self.some([place])} add up to {math.fsum(shares):.9g}, not to its prior"

    def check_promise(self) -> Iterator[str]:
        """Every hidden group keeps by itself what is promised."""
        # Groups that look the same then keep it together: no fewer places are possible, and of no area a larger part.
        for group, masses in self.hidden:
            if short := self.shortfall(masses):
                yield f"{group.title}: {short}"
            if self.beta is None and (never := [place for place, mass in masses.items() if not mass]):
                yield f"{group.title}: the prior says that {self.some(never)} is never the stop"

    def check_history(self) -> Iterator[str]:
        """What earlier trips, if the file names any, have left of each group still hides its places."""
        for name, others in self.past["left"]:
            owner, left = self.place[label(name)], {self.place[label(other)] for other in others}
            need(owner in left, "past: a place is not in its own history")
            for group, masses in self.hidden:
                rest = {place: mass for place, mass in masses.items() if place in left}
                if owner in rest and (short := self.shortfall(rest)):
                    yield f"{group.title}, after earlier trips of {self.some([owner])}: {short}"

    def shortfall(self, masses: dict[int, float]) -> str:
        """Why an observer who still has these places to choose from knows too much, or nothing."""
        places = [place for place, mass in masses.items() if mass > 0]  # one that is impossible hides nobody
        close = [sum(1 << j for j, b in enumerate(places) if a != b and self.is_close(a, b)) for a in places]
        who = self.some(places)
        # If groups are drawn, the shares of close members may make up for their being close.
        if self.is_all_pairs and not self.is_drawn and any(close):
            return f"not all of {who} are at least {self.ell:g} apart"
        if self.beta is None:
            if (num := len({self.nodes[place] for place in places})) < self.k:
                return f"{self.k} places are promised, and {num} stay possible: {who}"
            is_kept = has_apart(close, (1 << len(places)) - 1, self.k, iter(range(PATIENCE)))
            return "" if is_kept else f"no {self.k} of {who} are pairwise at least {self.ell:g} apart"
        weights = [masses[place] for place in places]
        limit = self.beta * math.fsum(weights) * (1 + ROUNDING)
        # It is enough, and quicker to see, if no place with everything close to it weighs more.
        around = (weights[i] + math.fsum(weights[j] for j in bits_of(near)) for i, near in enumerate(close))
        listed = areas(close, (1 << len(places)) - 1, 0, 0, iter(range(PATIENCE)))
        heavy = (area for area in listed if math.fsum(weights[i] for i in bits_of(area)) > limit)
        is_kept = bool(places) and (max(around) <= limit or next(heavy, None) is None)
        return "" if is_kept else f"of {who} one area is more probable than {self.beta:.9g}"


def check(data: Any, world: World | None = None) -> Iterator[tuple[str, str, str]]:
    """The name of each check of a playbook's data, its status, and what was found."""
    need(isinstance(data, dict) and data.get("format") == "veilroute-playbook/1", "no playbook of version 1")
    need(world is not None or "domain" in data, "the playbook names its map by a hash only: give the map as well")
    book = Book(data, world or World(data["domain"]))
    asked = ", ".join(f"{key} {value}" for key, value in sorted(data["privacy"].items()))
    yield "promise", "stated", f"{len(book.hidden)} hidden groups; {asked}"
    for method in (book.check_walks, book.check_costs, book.check_coverage, book.check_same_route, book.check_groups,
                   book.check_shares, book.check_promise, book.check_history):  # fmt: skip
        name, text = method.__name__.removeprefix("check_").replace("_", " "), (method.__doc__ or "").split("\n")[0]
        try:
            found = list(method())
            more = [f"and {len(found) - 3} more"] if len(found) > 3 else []
            yield name, "BROKEN" if found else "holds", "; ".join([*found[:3], *more]) or text
        except RuntimeError:
            yield name, "BROKEN", "not shown to hold: too many places are close to each other to try all sets of them"
    left_out = {
        "past": "whether earlier trips left what the file says: that takes the ledger",
        "contingencies": "the detours for closed roads",
        "places": "whether the nodes of the map are near the doors of the places",
        "uncoverable": f"whether no route could serve {book.some(book.unserved)}",
    }
    yield from ((key, "not checked", why) for key, why in left_out.items() if data.get(key))


def read(path: str) -> Any:
    """The JSON in a file. If an object had a key twice, one program would read the first, and another the last."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        need(len(dict(pairs)) == len(pairs), "an object has a key twice")
        return dict(pairs)

    return json.loads(Path(path).read_bytes(), object_pairs_hook=unique, parse_constant=number)  # no NaN, no infinity


def say(line: str) -> None:
    """Print a line. What a file holds must not move the cursor, or pass for a line of ours."""
    plain = "".join(sign if sign.isprintable() else "?" for sign in line)
    sys.stdout.write(plain.encode("ascii", "backslashreplace").decode() + "\n")


def main(arguments: Sequence[str]) -> int:
    """Check the files that are named, say what was found, and return the exit code."""
    began, counts, world = time.perf_counter(), {"stated": 0, "holds": 0, "BROKEN": 0, "not checked": 0}, None
    try:
        need(1 <= len(arguments) <= 3 and arguments[2:] in ([], ["8"]), "usage: python checker.py PLAYBOOK [MAP [8]]")
        if arguments[1:] and arguments[1].endswith(".map"):
            rows = Path(arguments[1]).read_text(encoding="ascii").partition("\nmap")[2].split()
            world = World({"grid": {"map": rows}}, 8 if arguments[2:] else 4)
        elif arguments[1:]:
            world = World(read(arguments[1])["domain"])
        for name, status, text in check(read(arguments[0]), world):
            counts[status] += 1
            say(f"{status}: {name}: {text}")
    except (OSError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        say(f"cannot read: {type(error).__name__}: {error}")
        return 2
    summary = ", ".join(f"{num} {status}" for status, num in counts.items() if status != "stated")
    say(f"verdict: {'BROKEN' if counts['BROKEN'] else 'holds'} ({summary}; {time.perf_counter() - began:.1f} s)")
    return 1 if counts["BROKEN"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
