"""Legal walks in plain Python: what :mod:`veilroute.domain.turns` defines, and the cheapest of them, by brute force."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from random import Random

import veilroute as vr
from veilroute.domain import Turns

Edge = tuple[int, int, float]


def neighbours(edges: Iterable[Edge]) -> dict[int, list[int]]:
    out: dict[int, list[int]] = {}
    for tail, head, _ in edges:
        out.setdefault(tail, []).append(head)
    return out


def may_turn_round(node: int, out: dict[int, list[int]], turns: Turns) -> bool:
    return turns.u_turns == "allow" or (turns.u_turns == "dead-ends" and len(out.get(node, [])) == 1)


def is_legal(walk: Sequence[int], out: dict[int, list[int]], turns: Turns) -> bool:
    nodes = tuple(walk)
    for before, here, after in zip(nodes, nodes[1:], nodes[2:], strict=False):
        if before == after and not may_turn_round(here, out, turns):
            return False
    return not any(
        nodes[i : i + len(stretch)] == stretch for stretch in turns.banned for i in range(len(nodes) - len(stretch) + 1)
    )


def cheapest(edges: Sequence[Edge], turns: Turns, start: int, goal: int, targets: Iterable[int]) -> float:
    """What the cheapest legal walk costs that passes all targets."""
    return cheapest_after(edges, turns, (start,), goal, [{node} for node in targets])


def cheapest_after(
    edges: Sequence[Edge], turns: Turns, walk: tuple[int, ...], goal: int, wanted: Iterable[Collection[int]]
) -> float:
    """The cheapest legal way on to the goal that meets each of some sets of nodes, beyond what was walked.

    By Dijkstra's algorithm over (the last nodes, what is not met yet).
    """
    out, sets = neighbours(edges), [frozenset(nodes) for nodes in wanted]
    cost = {(tail, head): price for tail, head, price in edges}
    memory = max((len(stretch) for stretch in turns.banned), default=3) - 1
    unmet = frozenset(i for i, nodes in enumerate(sets) if nodes.isdisjoint(walk))
    waiting: list[tuple[float, tuple[int, ...], frozenset[int]]] = [(0.0, walk[-memory:], unmet)]
    settled = set()
    while waiting:
        paid, last, left = heapq.heappop(waiting)
        if (last, left) in settled:
            continue
        settled.add((last, left))
        if last[-1] == goal and not left:
            return paid
        for node in out.get(last[-1], []):
            longer = (*last, node)
            turned = len(longer) > 2 and longer[-3] == node
            if turned and not may_turn_round(longer[-2], out, turns):
                continue
            if any(longer[-len(stretch) :] == stretch for stretch in turns.banned):
                continue
            price = paid + cost[last[-1], node] + (turns.u_turn_cost if turned else 0)
            heapq.heappush(waiting, (price, longer[-memory:], frozenset(i for i in left if node not in sets[i])))
    return math.inf


def drawn_rules(rng: Random, out: dict[int, list[int]], num_nodes: int, *, costs: Sequence[float] = (0,)) -> Turns:
    """Rules of any kind, with stretches of three to five nodes."""
    banned = set()
    for _ in range(rng.randint(0, 6)):
        walk = [rng.randrange(num_nodes)]
        for _ in range(rng.randint(2, 4)):
            if walk[-1] in out:
                walk.append(rng.choice(out[walk[-1]]))
        if len(walk) > 2:
            banned.add(tuple(walk))
    return Turns.of(rng.choice(("never", "dead-ends", "allow")), banned, rng.choice(costs))


def drawn_edges(rng: Random, num_nodes: int) -> list[Edge]:
    """A small graph, most of whose streets lead both ways."""
    found: dict[tuple[int, int], int] = {}
    for tail in range(num_nodes):
        for _ in range(2):
            head = rng.randrange(num_nodes)
            if head != tail:
                found[tail, head] = rng.randint(1, 9)
                if rng.random() < 0.7:
                    found[head, tail] = rng.randint(1, 9)
    return [(tail, head, price) for (tail, head), price in sorted(found.items())]


def drawn_problem(seed: int, num_closed: int = 0) -> tuple[vr.Problem, list[Edge], Turns]:
    """A trip on a small graph with rules, with whole or broken costs; the goal may be the start.

    So many edges are closed: banned stretches may lead over them.
    """
    rng = Random(seed)
    num_nodes = rng.randint(5, 12)
    edges = drawn_edges(rng, num_nodes)
    turns = drawn_rules(rng, neighbours(edges), num_nodes, costs=(0, 0, 2))
    edges = sorted(rng.sample(edges, len(edges) - num_closed))
    prices = [price if seed % 2 else float(price) for _, _, price in edges]
    domain = vr.Domain.from_edges(num_nodes, [e[0] for e in edges], [e[1] for e in edges], prices)
    nodes = rng.sample(range(num_nodes), num_nodes)
    start, goal = nodes[0], nodes[rng.choice((0, 1))]
    candidates = nodes[2 : 2 + rng.randint(1, 4)]
    return (
        vr.Problem(replace(domain, turns=None if turns.is_free else turns), [vr.Trip(start, goal)], candidates),
        edges,
        turns,
    )
