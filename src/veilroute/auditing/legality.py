"""Legal turns, for the auditor alone: whether a walk has an illegal one, and the map on which all walks are legal.

Whether a walk is legal is read off its nodes, by the definition in :class:`~veilroute.domain.turns.Turns`. Where walks
are searched, the auditor has a *state* for each directed edge, which says on which one arrived. A banned stretch that
is longer than a turn has one more for every beginning of it. After any walk one is in the state of the longest such
beginning with which the walk ends, or else in that of its last edge. This is all that must be known of it: a banned
stretch that ends with the next step has a beginning that is no longer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veilroute.auditing.walking import WalkingMap, make_rows
from veilroute.base.arrays import Floats, Ints
from veilroute.domain.graph import Domain, Label, label_text
from veilroute.domain.turns import Turns, edge_numbers

Nodes = tuple[int, ...]


class TurnRules:
    """The rules for turns on a map; the edges may be others than those of the domain for which the rules were made."""

    def __init__(self, domain: Domain, turns: Turns, walking: WalkingMap, called: Mapping[Label, str]) -> None:
        self.turns, self.walking = turns, walking
        self._domain, self._called = domain, called
        self._banned = set(turns.banned)
        self._sizes = sorted({3, *map(len, turns.banned)})

    @property
    def longest(self) -> int:
        """How many nodes of a walk may matter for its next step."""
        return self._sizes[-1] - 1

    def describe(self, nodes: Sequence[int], first: int = 2) -> str:
        """The first turn of a walk that is not legal, in words, or nothing.

        Turns that are complete before the node number ``first`` are not asked: the map may have been another then.
        """
        for last in range(max(2, first), len(nodes)):
            walked = tuple(nodes[max(0, last - self.longest) : last + 1])
            if reason := self.forbids(walked):
                sizes = [size for size in self._sizes if walked[-size:] in self._banned]
                return f"{reason}: {self._name(walked[-min(sizes, default=3) :], last)}"
        return ""

    def forbids(self, walked: Nodes) -> str:
        """Why the last step of a walk is not legal, or nothing."""
        if turns_round(walked) and not self._may_turn(walked[-2], walked[-1]):
            return "turns round" + (" where other streets lead on" if self.turns.u_turns == "dead-ends" else "")
        return "makes a banned turn" if any(walked[-size:] in self._banned for size in self._sizes) else ""

    def _name(self, stretch: Nodes, last: int) -> str:
        """A stretch that ends with the node number ``last`` of a walk: its nodes, and the names of its streets."""
        domain, streets = self._domain, self._domain.streets
        labels = map(domain.label, stretch)
        names = ", ".join(self._called.get(label, label_text(label)) for label in labels)
        where = f"{names} (nodes {last + 2 - len(stretch)} to {last + 1} of the route"
        if streets is not None:
            edges = edge_numbers(domain, stretch[:-1], stretch[1:]).tolist()
            called = dict.fromkeys(streets.name(edge) for edge in edges if edge >= 0)
            where += f"; {' to '.join(name or 'an unnamed street' for name in called)}"
        return where + ")"

    def _may_turn(self, at: int, back: int) -> bool:
        if self.turns.u_turns == "dead-ends":
            return all(head == back for head, _ in self.walking.edges_from(at))
        return self.turns.u_turns == "allow"

    def extra_cost(self, walked: Nodes) -> float:
        """What the last step of a walk costs beside its edge."""
        return self.turns.u_turn_cost if turns_round(walked) else 0.0


def turns_round(walked: Sequence[int]) -> bool:
    """Whether the last step of a walk leads back to where it came from."""
    return len(walked) > 2 and walked[-3] == walked[-1]


@dataclass(frozen=True, eq=False)
class LegalMap:
    """The map whose nodes are states; every walk on it from a state of ``begins`` is a legal walk of the same cost."""

    walking: WalkingMap
    at_node: Sequence[Sequence[int]]  #: the states at each node
    begins: tuple[int, ...]  #: the states of who has walked what was given

    def states_at(self, nodes: Iterable[int]) -> list[int]:
        """All states at some nodes."""
        return [state for node in nodes for state in self.at_node[node]]


def legal_map(rules: TurnRules, histories: Sequence[Nodes]) -> LegalMap:
    """The states of a map, and one for each history: what was walked so far, over whatever edges, or a start alone."""
    heads = rules.walking.edges_out[1]
    begun = {stretch[:size] for stretch in rules.turns.banned for size in range(2, len(stretch))}
    places = {pair: rules.walking.edge_number(*pair) for pair in sorted(begun) if len(pair) == 2}
    firsts = {pair: edge for pair, edge in places.items() if edge is not None}
    longer = {each: len(heads) + i for i, each in enumerate(sorted(each for each in begun if len(each) > 2))}
    num = len(heads) + len(longer)
    begins = tuple(range(num, num + len(histories)))
    slow = [*firsts.items(), *longer.items(), *zip(histories, begins, strict=True)]
    tails, targets, costs = _steps_between_edges(rules, list(firsts.values()))
    more = np.array(list(_steps_after(rules, slow, longer)), dtype=np.float64).reshape(-1, 3).T
    rows = make_rows(
        num + len(histories),
        np.concatenate([tails, more[0].astype(np.int64)]),
        np.concatenate([targets, more[1].astype(np.int64)]),
        np.concatenate([costs, more[2]]),
    )
    at_node: list[list[int]] = [[] for _ in range(rules.walking.num_nodes)]
    for state, node in enumerate([*heads, *(walked[-1] for walked in (*longer, *histories))]):
        at_node[node].append(state)
    return LegalMap(WalkingMap(rows), at_node, begins)


def _steps_between_edges(rules: TurnRules, without: list[int]) -> tuple[Ints, Ints, Floats]:
    """From each edge, but for those ``without``, to all that leave its head, with what these cost."""
    turns = rules.turns
    offsets, heads = (np.array(part, dtype=np.int64) for part in rules.walking.edges_out[:2])
    costs = np.array(rules.walking.edges_out[2], dtype=np.float64)
    num_out = np.diff(offsets)
    tails = np.repeat(np.arange(num_out.size), num_out)
    num_next = num_out[heads]
    came = np.repeat(np.arange(heads.size), num_next)
    goes = np.arange(came.size) + np.repeat(offsets[heads] - np.cumsum(num_next) + num_next, num_next)
    is_back = heads[goes] == tails[came]
    is_kept = np.ones(heads.size, dtype=np.bool_)
    is_kept[without] = False
    kept = is_kept[came]
    if turns.u_turns != "allow":
        kept &= ~is_back if turns.u_turns == "never" else ~is_back | (num_next[came] == 1)
    return came[kept], goes[kept], (costs[goes] + turns.u_turn_cost * is_back)[kept]


def _steps_after(
    rules: TurnRules, walks: Iterable[tuple[Nodes, int]], longer: Mapping[Nodes, int]
) -> Iterator[tuple[int, int, float]]:
    """What may follow each of some walks, which end in the states beside them: to which state, and at what cost."""
    offsets, heads, costs = rules.walking.edges_out
    for walked, state in walks:
        for edge in range(offsets[walked[-1]], offsets[walked[-1] + 1]):
            ahead = (*walked, heads[edge])
            if not rules.forbids(ahead):
                ends = (ahead[-size:] for size in range(min(len(ahead), rules.longest), 2, -1))
                target = next((longer[end] for end in ends if end in longer), edge)
                yield state, target, costs[edge] + rules.extra_cost(ahead)
