"""Random small graphs with rules for turns, and legal walks found by remembering all that was walked."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import veilroute as vr
from plain_turns import cheapest_after, drawn_edges, drawn_rules, is_legal, neighbours
from veilroute.domain import Label, Turns, with_rules


@dataclass(frozen=True)
class World:
    """A problem on a graph, and the plain definition of legal walks on it."""

    problem: vr.Problem

    @property
    def turns(self) -> Turns:
        """The rules; such that allow everything where the domain has none."""
        return self.problem.domain.turns or Turns.of("allow")

    @cached_property
    def out(self) -> dict[int, dict[int, float]]:
        """The edges out of each node, with their costs."""
        found: dict[int, dict[int, float]] = {node: {} for node in range(self.problem.domain.num_nodes)}
        for tail, head, cost in zip(*(part.tolist() for part in self.problem.domain.edge_arrays()), strict=True):
            found[tail][head] = cost
        return found

    def is_legal(self, walk: Sequence[int]) -> bool:
        """Whether a walk is legal, by the plain definition."""
        return is_legal(walk, {node: list(heads) for node, heads in self.out.items()}, self.turns)

    def cost(self, walk: Sequence[int]) -> float:
        """What a walk costs, turning round included."""
        num_turned = sum(before == after for before, after in zip(walk, walk[2:], strict=False))
        steps = (self.out[tail][head] for tail, head in pairwise(walk))
        return math.fsum(steps) + num_turned * self.turns.u_turn_cost

    def steps(self, walk: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The walk with each legal next step."""
        return (longer for head in self.out[walk[-1]] if self.is_legal(longer := (*walk, head)))

    def cheapest(self, walk: tuple[int, ...], goal: int, wanted: Collection[Collection[int]]) -> float:
        """The cheapest legal way on to the goal that meets each of some sets of nodes, beyond what was walked."""
        edges = [(tail, head, cost) for tail, heads in self.out.items() for head, cost in heads.items()]
        return cheapest_after(edges, self.turns, walk, goal, wanted)


def draw_world(seed: int, *, num_nodes: int | None = None) -> World:
    """A problem drawn at random: one or two trips, whole or broken costs, places that share a node, a view of some."""
    rng = random.Random(seed)
    num = num_nodes or rng.randint(5, 12)
    edges = drawn_edges(rng, num)
    turns = drawn_rules(rng, neighbours(edges), num, costs=(0, 0, 2))
    prices = [price + 0.5 if seed % 2 else price for _, _, price in edges]
    nodes = rng.sample(range(num), num)
    places: list[tuple[Label, int]] = [(f"n{node}", node) for node in nodes[2 : 2 + rng.randint(3, 7)]]
    also: list[tuple[Label, int]] = [(f"{label} too", node) for label, node in places if rng.random() < 0.3]
    labels = [f"n{node}" for node in range(num)]
    tails, heads = [edge[0] for edge in edges], [edge[1] for edge in edges]
    domain = with_rules(vr.Domain.from_edges(num, tails, heads, prices, labels=labels), turns, also)
    candidates = [label for label, _ in (*places, *also)]
    rng.shuffle(candidates)
    trips = [vr.Trip(labels[nodes[0]], labels[nodes[rng.randint(0, 1)]])]
    trips += [vr.Trip(labels[nodes[1]], labels[nodes[0]], 2.0)] if rng.random() < 0.3 else []
    view: vr.Visibility = vr.WithinDistance(3) if rng.random() < 0.3 else vr.AtNode()
    return World(vr.Problem(domain, trips, candidates, view))
