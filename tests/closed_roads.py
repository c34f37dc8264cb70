"""Replans by brute force: Dijkstra over (node, covered) on the changed map, as plainly as it can be said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import combinations, pairwise
from random import Random
from typing import Any, NamedTuple

import veilroute as vr
from reference import Adjacency, adjacency, covering_cost, distances
from reference import qualifies as keeps
from veilroute.auditing import ClaimVerdict, WalkingMap, audit_replan, find_watchers
from veilroute.model.closure import replan_from_dict
from veilroute.planners.replan import change_domain, replan_alone

__all__ = ["Best", "audited", "best_rest", "change_domain", "changed_graph", "check_walk", "draw_closure"]
__all__ += ["replan_from_dict", "watchers_of"]


def audited(book: vr.Playbook, entry: vr.Replan) -> tuple[ClaimVerdict, ...]:
    """The audit of a replan, in which the other classes of the playbook are asked for theirs."""
    return audit_replan(book, entry, replanner=partial(replan_alone, book))


class Best(NamedTuple):
    """How many can be left at most, whether some that many keep the promise, and what going past these costs."""

    num: int
    qualifies: bool
    cost: float
    goal: float  # what giving up costs


def changed_graph(domain: vr.Domain, closure: vr.Closure) -> Adjacency:
    node = domain.node
    shut = {node(label) for label in closure.nodes}
    closed = {(node(a), node(b)) for a, b in (*closure.roads, *closure.one_way)}
    closed |= {(node(b), node(a)) for a, b in closure.roads}
    costs = {(node(a), node(b)): cost for a, b, cost in closure.costs}
    return [
        [
            (head, costs.get((tail, head), cost))
            for head, cost in row
            if (tail, head) not in closed and tail not in shut and head not in shut
        ]
        for tail, row in enumerate(adjacency(domain))
    ]


def watchers_of(book: vr.Playbook, members: Sequence[object]) -> list[set[int]]:
    """By the auditor's code, which planning does not share; on the playbook's own map."""
    problem = book.problem
    nodes = {i: problem.domain.node(member) for i, member in enumerate(members)}
    found = find_watchers(problem, WalkingMap(problem.domain), nodes)
    return [set(found[i]) for i in range(len(members))]


def best_rest(book: vr.Playbook, entry: vr.Replan) -> Best:
    """The best that can be done where a replan was made, for whole routes and k and ell by cost."""
    domain, members = book.problem.domain, entry.members
    graph, seen = changed_graph(domain, entry.closure), watchers_of(book, members)
    walked = {domain.node(label) for label in entry.walked}
    here, goal = domain.node(entry.at), domain.node(book.trips[entry.trip].goal)
    covered = [i for i in range(len(members)) if seen[i] & walked]
    ahead = [i for i in range(len(members)) if i not in covered]
    straight = covering_cost(graph, here, goal, [])
    if math.isinf(straight):
        return Best(len(covered), False, math.inf, math.inf)
    nodes = [domain.node(member) for member in members]
    apart = [[[distances(each, a)[b] for b in nodes] for a in nodes] for each in (adjacency(domain), graph)]
    for size in range(len(ahead), -1, -1):
        ways = []
        for chosen in combinations(ahead, size):
            cost = covering_cost(graph, here, goal, [seen[i] for i in chosen])
            if math.isfinite(cost):
                left = sorted([*covered, *chosen])
                ways.append((not all(keeps(left, book.privacy, each) for each in apart), cost))
        if ways:
            fails, cost = min(ways)
            return Best(len(covered) + size, not fails, cost, straight)
    raise AssertionError("the goal can be reached")


def check_walk(book: vr.Playbook, entry: vr.Replan, way: vr.Way) -> None:
    """The rest is a walk on the changed map that costs what it says and covers whom it says."""
    domain = book.problem.domain
    graph, seen = changed_graph(domain, entry.closure), watchers_of(book, entry.members)
    covered = []
    for i, member in enumerate(entry.members):
        nodes = [domain.node(label) for label in way.rest_of(member)]
        assert nodes[0] == domain.node(entry.at)
        assert nodes[-1] == domain.node(book.trips[entry.trip].goal)
        total = sum(dict(graph[tail])[head] for tail, head in pairwise(nodes))
        stated = way.own[member][1] if way.own else way.cost
        assert stated is not None
        assert math.isclose(total, stated, rel_tol=1e-9, abs_tol=1e-12)
        if seen[i] & {*nodes, *map(domain.node, entry.walked)}:
            covered.append(member)
    assert tuple(covered) == way.left


def draw_closure(rng: Random, book: vr.Playbook, ahead: Sequence[object]) -> dict[str, Any]:
    """Some roads of the way ahead or from anywhere, in one direction or both; sometimes a node, or new costs."""
    domain = book.problem.domain
    tails, heads, costs = (array.tolist() for array in domain.edge_arrays())
    edges = [(domain.label(tail), domain.label(head)) for tail, head in zip(tails, heads, strict=True)]
    on_way = list(pairwise(ahead))
    closed: list[tuple[object, object]] = []
    one_way: list[tuple[object, object]] = []
    nodes: list[object] = []
    changes: dict[tuple[object, object], float] = {}
    for _ in range(rng.randint(0, 3)):
        (closed if rng.random() < 0.7 else one_way).append(
            rng.choice(on_way if on_way and rng.random() < 0.7 else edges)
        )
    if rng.random() < 0.2:
        nodes.append(rng.choice([label for label in map(domain.label, range(domain.num_nodes)) if label != ahead[0]]))
    closure = vr.Closure.of(closed, one_way, nodes)
    for _ in range(rng.choice([0, 0, 2])):
        at = rng.randrange(len(edges))
        if not closure.shuts(*edges[at]):
            changes[edges[at]] = rng.choice([0.5, 2, 3]) * costs[at]
    return {
        "closed": closed,
        "closed_one_way": one_way,
        "closed_nodes": nodes,
        "costs": [(*edge, cost) for edge, cost in changes.items()],
    }
