"""Turn restrictions of OpenStreetMap as stretches of junctions that no walk may have in it.

A restriction leads from a way over a node, or over one or several ways, to a way. One that begins with ``no_`` bans
just that. One that begins with ``only_`` bans everything else for who comes from there: at the node, or at every
junction along the ways between, turning round included. Where the way that one must take is not in the network, nothing
is left to go on.

Ways should end where they meet. Where one passes through, a ``no_`` bans every turn that may be meant (``no_u_turn``
turning round only), but for an ``only_`` it is not clear from which side one comes: it is left out and counted.
Restrictions that hold only at times (``restriction:conditional``) are counted and not read; the old tags for hours
beside a restriction (``hour_on``) are not read either, so that it always holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from veilroute.base.arrays import Ints
from veilroute.streets.joining import Chains, Edges, Segments
from veilroute.streets.rules import Network
from veilroute.streets.ways import Restriction, Tags, Ways, positions

CONDITIONAL, OTHER, UNCLEAR, INCOMPLETE = "conditional", "other", "unclear", "incomplete"
_MOST_STEPS, _MOST_JUNCTIONS = 500, 100  # of a search along the ways between, and in what it finds

Stretch = tuple[int, ...]


def kinds_for(network: Network, tags: Tags) -> tuple[str, ...] | None:
    """Of the tags of a restriction its kinds, such as ``no_left_turn``, for a network.

    None at all where it holds only at times, ``None`` where it is for others.
    """
    if {word.strip() for word in tags.get("except", "").split(";")} & set(network.modes):
        return None
    keys = [f"restriction:{mode}" for mode in network.modes]
    keys += ["restriction"] if network.heeds_oneway else []
    found = [word.strip() for key in keys if key in tags for word in tags[key].split(";")]
    if found:
        return tuple(dict.fromkeys(found))
    return () if any(f"{key}:conditional" in tags for key in keys) else None


@dataclass(frozen=True)
class TurnRule:
    """A restriction that holds; ways are positions among the ways, nodes are positions among their nodes."""

    is_only: bool
    is_turning_round: bool
    froms: tuple[int, ...]
    tos: frozenset[int]
    vias: frozenset[int]  # the ways between; without any, it is at a single node
    begins: tuple[int, ...]  # that node, or those where the ways between meet those from which one comes
    ends: tuple[int, ...]  # that node, or those where they meet those to which one goes


@dataclass(frozen=True)
class TurnRules:
    """The restrictions of a file for a network, and how many are not among them for which reason."""

    rules: tuple[tuple[TurnRule, ...], ...]  # for each restriction one for each of its kinds
    left_out: Counter[str]

    def meeting_nodes(self) -> Ints:
        """The nodes that have to be junctions."""
        nodes = {node for rules in self.rules for rule in rules for node in (*rule.begins, *rule.ends)}
        return np.array(sorted(nodes), dtype=np.int64)

    def at_all_sides(self, num_nodes: int, copied: Ints) -> TurnRules:
        """The same rules where further nodes, numbered from ``num_nodes`` on, are the other sides of some nodes."""
        sides: dict[int, list[int]] = {}
        for copy, node in enumerate(copied.tolist(), start=num_nodes):
            sides.setdefault(node, []).append(copy)

        def spread(nodes: tuple[int, ...]) -> tuple[int, ...]:
            return (*nodes, *(copy for node in nodes for copy in sides.get(node, ())))

        def moved(rule: TurnRule) -> TurnRule:
            # From a barrier no way leads on, so that what begins there over ways has no other sides.
            return replace(rule, begins=rule.begins if rule.vias else spread(rule.begins), ends=spread(rule.ends))

        return TurnRules(tuple(tuple(map(moved, rules)) for rules in self.rules), self.left_out)


def read_rules(ways: Ways, network: Network) -> TurnRules:
    """Which restrictions hold for a network, and where."""
    finder = _Members(ways)
    rules: list[tuple[TurnRule, ...]] = []
    left_out: Counter[str] = Counter()
    for restriction in ways.restrictions:
        kinds = kinds_for(network, restriction.tags)
        if not kinds:
            left_out[OTHER if kinds is None else CONDITIONAL] += 1
        elif any(not kind.startswith(("no_", "only_")) for kind in kinds):
            left_out[UNCLEAR] += 1
        else:
            found = [finder.rule(restriction, kind) for kind in kinds]
            known = tuple(each for each in found if isinstance(each, TurnRule))
            if len(known) == len(found):
                rules.append(known)
            else:
                left_out.update([each for each in found if isinstance(each, str)][:1])
    return TurnRules(tuple(rules), left_out)


class _Members:
    """Finds the members of restrictions among the ways of a file."""

    def __init__(self, ways: Ways) -> None:
        wanted = {way for each in ways.restrictions for way in (*each.froms, *each.via_ways, *each.tos)}
        order = np.flatnonzero(np.isin(ways.numbers, np.array(sorted(wanted), dtype=np.int64)))
        self._positions = {int(ways.numbers[way]): way for way in order.tolist()}
        self._refs = {way: frozenset(ways.refs[ways.ptr[way] : ways.ptr[way + 1]].tolist()) for way in order.tolist()}
        self._known = ways.node_ids

    def rule(self, restriction: Restriction, kind: str) -> TurnRule | str:
        """The restriction as a rule, or why it cannot be one."""
        is_only = kind.startswith("only_")
        froms, vias, tos = (self._found(ways) for ways in (restriction.froms, restriction.via_ways, restriction.tos))
        is_there = froms and restriction.tos and (restriction.via_nodes or restriction.via_ways)
        if not is_there or len(vias) < len(set(restriction.via_ways)) or not (tos or is_only):
            return INCOMPLETE
        if len(restriction.via_nodes) > 1 or (restriction.via_nodes and restriction.via_ways):
            return UNCLEAR
        between = set(restriction.via_nodes).union(*(self._refs[way] for way in vias))
        begins = between & set().union(*(self._refs[way] for way in froms))
        ends = between & set().union(*(self._refs[way] for way in tos)) if tos else set(restriction.via_nodes)
        if not ends and not tos:
            return INCOMPLETE
        if not begins or not ends:
            return UNCLEAR
        return TurnRule(
            is_only,
            kind.endswith("_u_turn"),
            froms,
            frozenset(tos),
            frozenset(vias),
            self._places(begins),
            self._places(ends),
        )

    def _found(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self._positions[number] for number in numbers if number in self._positions))

    def _places(self, nodes: Iterable[int]) -> tuple[int, ...]:
        wanted = np.array(sorted(nodes), dtype=np.int64)
        return tuple(spot for spot in positions(self._known, wanted).tolist() if spot >= 0)


def ban_turns(
    turn_rules: TurnRules, segments: Segments, chains: Chains, edges: Edges
) -> tuple[set[Stretch], Counter[str]]:
    """The stretches of raw nodes that rules ban, and how many restrictions are left out for which reason.

    Stretches lead along edges, whose ends they hold. That an edge is told by its ends is up to the network.
    """
    banned: set[Stretch] = set()
    left_out = turn_rules.left_out.copy()
    layout = _Layout(segments, chains, edges)
    for rules in turn_rules.rules:
        found = [layout.between_ways(rule) if rule.vias else layout.at_node(rule) for rule in rules]
        left_out[UNCLEAR] += None in found
        banned.update(stretch for stretches in found if stretches is not None for stretch in stretches)
    return banned, left_out


class _Layout:
    """Edges by where they begin and end, and the ways that they consist of."""

    def __init__(self, segments: Segments, chains: Chains, edges: Edges) -> None:
        self._tails, self._heads = edges.tails, edges.heads
        first, last = chains.segments[chains.ptr[:-1]], chains.segments[chains.ptr[1:] - 1]
        self._first_way, self._last_way = segments.ways[first], segments.ways[last]
        self._first_node, self._last_node = segments.heads[first], segments.tails[last]
        self._out, self._into = np.argsort(edges.tails, kind="stable"), np.argsort(edges.heads, kind="stable")
        self._sorted_tails, self._sorted_heads = edges.tails[self._out], edges.heads[self._into]
        self._way_of_segment, self._chains = segments.ways, chains

    def _leaving(self, node: int) -> list[int]:
        first, last = np.searchsorted(self._sorted_tails, [node, node + 1])
        return [edge for edge in self._out[first:last].tolist() if self._heads[edge] != node]

    def _arriving(self, node: int, way: int) -> list[int]:
        first, last = np.searchsorted(self._sorted_heads, [node, node + 1])
        edges = self._into[first:last]
        return [edge for edge in edges[self._last_way[edges] == way].tolist() if self._tails[edge] != node]

    def _onto(self, node: int, ways: frozenset[int]) -> list[int]:
        return [edge for edge in self._leaving(node) if int(self._first_way[edge]) in ways]

    def at_node(self, rule: TurnRule) -> list[Stretch] | None:
        """What a restriction over a single node bans; ``None`` where that is not clear."""
        banned: list[Stretch] = []
        for way in rule.froms:
            arriving = [edge for node in rule.begins for edge in self._arriving(node, way)]
            if rule.is_only and len(set(self._last_node[arriving].tolist())) > 1:
                return None
            for edge in arriving:
                came, node = int(self._tails[edge]), int(self._heads[edge])
                after = self._onto(node, rule.tos)
                if rule.is_only:
                    banned += self._others((came, node), self._heads[after].tolist())
                    continue
                for beyond in after:
                    is_back = self._first_node[beyond] == self._last_node[edge]
                    if is_back or not (rule.is_turning_round and way in rule.tos):
                        banned.append((came, node, int(self._heads[beyond])))
        return banned

    def _others(self, walked: Stretch, allowed: Collection[int]) -> Iterator[Stretch]:
        """Every way on after some nodes but to the nodes that are allowed."""
        for edge in self._leaving(walked[-1]):
            if int(self._heads[edge]) not in allowed:
                yield (*walked, int(self._heads[edge]))

    def between_ways(self, rule: TurnRule) -> list[Stretch] | None:
        """What a restriction over ways bans; ``None`` where that is not clear."""
        arriving = {node: [self._arriving(node, way) for way in rule.froms] for node in rule.begins}
        arriving = {node: by_way for node, by_way in arriving.items() if any(by_way)}
        if not arriving:
            return []
        paths = self._paths(rule, arriving)
        if paths is None or (rule.is_only and len(paths) != 1):
            return None
        banned: list[Stretch] = []
        for path in paths:
            after = self._onto(path[-1], rule.tos)
            for edges in arriving[path[0]]:
                if rule.is_only and len(set(self._last_node[edges].tolist())) > 1:
                    return None
                for edge in edges:
                    walked = (int(self._tails[edge]), *path)
                    if not rule.is_only:
                        banned += [(*walked, int(self._heads[beyond])) for beyond in after]
                        continue
                    for num in range(2, len(walked)):
                        banned += self._others(walked[:num], walked[num : num + 1])
                    banned += self._others(walked, self._heads[after].tolist())
        return banned

    def _paths(self, rule: TurnRule, begins: Iterable[int]) -> list[Stretch] | None:
        """The junctions of every way along the ways between, past all of them to where they end.

        ``None`` where that is too much to look for.
        """
        found: list[Stretch] = []
        # Who is on the way: the junctions so far, and which ways were used.
        upcoming: list[tuple[Stretch, frozenset[int]]] = [((node,), frozenset()) for node in begins]
        for _ in range(_MOST_STEPS):
            if not upcoming:
                return found
            walked, used = upcoming.pop()
            if used == rule.vias and walked[-1] in rule.ends:
                found.append(walked)
            if len(walked) == _MOST_JUNCTIONS:
                return None
            for edge in self._onto(walked[-1], rule.vias):
                head = int(self._heads[edge])
                parts = self._chains.segments[self._chains.ptr[edge] : self._chains.ptr[edge + 1]]
                ways = frozenset(self._way_of_segment[parts].tolist())
                if ways <= rule.vias and head not in walked:
                    upcoming.append(((*walked, head), used | ways))
        return None
