"""Who may turn where, from the raw file: what legal routes of veilroute are held against.

Shares nothing with the package. There are no junctions here: walks go from each node of the file to the next. Turn
restrictions become sequences of such nodes that no walk may have in it.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from plain_osm import PlainMap, PlainRelation, directions, is_road

Sequenced = tuple[int, ...]
CAR = ("access", "vehicle", "motor_vehicle", "motorcar")
STOPS_CARS = (
    "bollard", "block", "cycle_barrier", "motorcycle_barrier", "chain", "planter", "jersey_barrier", "stile",
    "kissing_gate", "turnstile", "full-height_turnstile", "log", "debris", "fence", "wall", "hedge",
)  # fmt: skip
CLOSED = ("no", "private", "agricultural", "forestry", "emergency", "psv", "bus")


class RawTurns:
    """The rules of a file for cars."""

    def __init__(self, plain: PlainMap, *, u_turns: str = "dead-ends") -> None:
        self.plain, self.u_turns = plain, u_turns
        self.owners: dict[tuple[int, int], set[int]] = defaultdict(set)  # the ways of each permitted step
        self.refs = {way.id: way.refs for way in plain.ways if "highway" in way.tags}
        for way in plain.ways:
            if is_road(way.tags):
                along, against = directions(way.tags)
                for a, b in pairwise(way.refs):
                    if a != b and a in plain.nodes and b in plain.nodes:
                        for step in [(a, b)] * along + [(b, a)] * against:
                            self.owners[step].add(way.id)
        self.outs: dict[int, set[int]] = defaultdict(set)
        for a, b in self.owners:
            self.outs[a].add(b)
        self.walls = {node for node, tags in plain.node_tags.items() if "barrier" in tags and is_wall(tags)}
        self.banned: set[Sequenced] = set()
        self.num_restrictions = 0
        for relation in plain.relations:
            if relation.tags.get("type") == "restriction":
                for kind in kinds_for_cars(relation.tags):
                    found = self.sequences(relation, kind)
                    self.num_restrictions += bool(found)
                    self.banned |= found
        self.by_start: dict[tuple[int, int], list[Sequenced]] = defaultdict(list)
        for sequence in self.banned:
            self.by_start[sequence[0], sequence[1]].append(sequence)

    def sequences(self, relation: PlainRelation, kind: str) -> set[Sequenced]:
        """The walks that a restriction forbids."""
        ways = {role: [n for r, t, n in relation.members if (r, t) == (role, "way")] for role in ("from", "via", "to")}
        nodes = [n for r, t, n in relation.members if (r, t) == ("via", "node")]
        froms = [way for way in ways["from"] if way in self.refs]
        tos = {way for way in ways["to"] if way in self.refs}
        is_only = kind.startswith("only_")
        if not ways["to"] or not (tos or is_only) or len(nodes) + bool(ways["via"]) != 1:
            return set()
        paths: list[Sequenced]
        if nodes:
            paths = [(nodes[0],)] if not tos or any(nodes[0] in self.refs[way] for way in tos) else []
        elif all(way in self.refs for way in ways["via"]):
            ends = {node for way in tos for node in self.refs[way]}
            begins = {node for way in froms for node in self.refs[way] if self.arrivals(node, froms)}
            paths = [path for node in begins for path in self.along((node,), set(ways["via"]), set(), ends)]
        else:
            return set()
        if is_only and len(paths) != 1:
            return set()
        found: set[Sequenced] = set()
        for path in paths:
            for way in froms:
                arrivals = self.arrivals(path[0], [way])
                if is_only and len(arrivals) > 1:
                    return set()
                for came in arrivals:
                    walk = (came, *path)
                    onto = {node for node in self.outs[path[-1]] if self.owners[path[-1], node] & tos}
                    if not is_only:
                        if kind == "no_u_turn" and way in tos and len(path) == 1:
                            onto &= {came}
                        found |= {(*walk, node) for node in onto}
                        continue
                    for num in range(2, len(walk)):
                        found |= {(*walk[:num], node) for node in self.outs[walk[num - 1]] - {walk[num]}}
                    found |= {(*walk, node) for node in self.outs[walk[-1]] - onto}
        return found

    def arrivals(self, node: int, ways: Collection[int]) -> set[int]:
        """From where one may come to a node along some ways."""
        beside = {n for way in ways for a, b in pairwise(self.refs[way]) if node in (a, b) for n in (a, b)} - {node}
        return {other for other in beside if self.owners.get((other, node), set()) & set(ways)}

    def along(self, walked: Sequenced, vias: set[int], used: set[int], ends: set[int]) -> Iterator[Sequenced]:
        """The ways on from some nodes along certain ways, past all of these, to one of the ends."""
        if used == vias and walked[-1] in ends:
            yield walked
        for node in self.outs[walked[-1]]:
            ways = self.owners[walked[-1], node] & vias
            if ways and node not in walked and walked[-1] not in self.walls:
                yield from self.along((*walked, node), vias, used | ways, ends)

    def may_turn_round(self, node: int, came: int) -> bool:
        """Whether one may go back to where one came from."""
        if self.u_turns == "dead-ends":
            return node in self.walls or self.outs[node] == {came}
        return self.u_turns == "allow"

    def faults(self, walk: Sequence[int]) -> list[str]:
        """What is wrong with a walk."""
        found = [f"no way from {a} to {b}" for a, b in pairwise(walk) if (a, b) not in self.owners]
        for came, node, beyond in zip(walk, walk[1:], walk[2:], strict=False):
            if came == beyond and not self.may_turn_round(node, came):
                found.append(f"turns round at {node}")
            if came != beyond and node in self.walls:
                found.append(f"passes the barrier {node}")
        for at, step in enumerate(pairwise(walk)):
            sequences = self.by_start.get(step, ())
            found += [f"banned: {each}" for each in sequences if tuple(walk[at : at + len(each)]) == each]
        return found

    def metres(self, a: int, b: int) -> float:
        """How long a step is on the ball that everybody takes the earth for."""
        one, other = ([math.radians(value / 1e7) for value in self.plain.nodes[node]] for node in (a, b))
        chord = math.sin((one[0] - other[0]) / 2) ** 2
        chord += math.cos(one[0]) * math.cos(other[0]) * math.sin((one[1] - other[1]) / 2) ** 2
        return 2 * 6_371_008.8 * math.asin(math.sqrt(chord))

    def cheapest(
        self,
        start: int,
        goal: int,
        targets: Sequence[int],
        *,
        price: float = 0.0,
        per_metre: float = 1.0,
        places: Collection[int] | None = None,
    ) -> float:
        """The cost of the cheapest legal walk past all targets: Dijkstra over (step, what is walked, covered).

        ``price`` is for turning round, which is done at ``places`` only.
        """
        bits = {node: 1 << number for number, node in enumerate(targets)}
        State = tuple[int, int, frozenset[tuple[Sequenced, int]], int]
        begin: State = (-1, start, frozenset(), bits.get(start, 0))
        best: dict[State, float] = {begin: 0.0}
        queue: list[tuple[float, int, State]] = [(0.0, 0, begin)]
        pushed = 0
        while queue:
            cost, _, state = heapq.heappop(queue)
            came, node, walked, covered = state
            if cost > best[state]:
                continue
            if node == goal and covered == (1 << len(targets)) - 1:
                return cost
            for beyond in self.outs[node]:
                more = cost + per_metre * self.metres(node, beyond)
                if beyond == came:
                    if not self.may_turn_round(node, came) or (places is not None and node not in places):
                        continue
                    more += price
                elif node in self.walls and came != -1:
                    continue
                going = [(sequence, num + 1) for sequence, num in walked if sequence[num] == beyond]
                if any(num == len(sequence) for sequence, num in going):
                    continue
                going += [(sequence, 2) for sequence in self.by_start.get((node, beyond), ())]
                after: State = (node, beyond, frozenset(going), covered | bits.get(beyond, 0))
                if more < best.get(after, math.inf):
                    best[after] = more
                    pushed += 1
                    heapq.heappush(queue, (more, pushed, after))
        return math.inf


def is_wall(tags: dict[str, str]) -> bool:
    """Whether a node with a barrier stops cars."""
    for key in reversed(CAR):
        if key in tags:
            return tags[key] in CLOSED
    return tags["barrier"] in STOPS_CARS


def kinds_for_cars(tags: dict[str, str]) -> list[str]:
    """What a restriction forbids cars."""
    if {word.strip() for word in tags.get("except", "").split(";")} & set(CAR):
        return []
    keys = ["restriction", *(f"restriction:{mode}" for mode in CAR)]
    kinds = {kind.strip() for key in keys for kind in tags.get(key, "").split(";")} - {""}
    return sorted(kinds) if all(kind.startswith(("no_", "only_")) for kind in kinds) else []
