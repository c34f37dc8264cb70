"""The replay: ask for every candidate's route, as the adversary would, and walk it on the map."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from veilroute.audit.facts import Facts
from veilroute.domain.labels import Label
from veilroute.errors import NotAnonymizedError, UnknownCandidateError
from veilroute.playbook import Playbook, PlaybookClass, Route

Planner = Callable[[Label, int], Route | Sequence[Label]]
"""Anything that gives the route for a candidate on a trip, or raises `NotAnonymizedError` (the paper's Failure)."""

UNSTATED: Final = object()
"""Stands for the cost of a route that came without one, such as a plain list of nodes."""


@dataclass(frozen=True)
class ReplayedRoute:
    """A route as the planner gave it, and what walking it showed.

    Parameters
    ----------
    labels
        The nodes as given.
    nodes
        Their numbers; ``None`` for each that is not in the domain.
    stated_cost
        The cost that came with it, whatever it is; `UNSTATED` when there was none.
    real_cost
        Sum of its edges, or ``None`` when it is not a walk.
    fault
        Why it is not a walk of the trip, or an empty string.
    """

    labels: tuple[Label, ...]
    nodes: tuple[int | None, ...]
    stated_cost: object
    real_cost: float | None
    fault: str

    def covers(self, watchers: frozenset[int]) -> bool:
        """Whether one of its nodes, start and goal included, is a watcher."""
        return not watchers.isdisjoint(node for node in self.nodes if node is not None)


@dataclass(frozen=True)
class Replay:
    """The answers to "which route does this candidate get?".

    Parameters
    ----------
    routes
        By (candidate, trip); a candidate without a route got the paper's Failure.
    exposed
        Routes that the playbook holds for candidates it does not anonymize and gives only when asked to expose
        them. They protect nobody, but must be what they say.
    covered
        The pairs (candidate, trip) of both kinds whose route covers the candidate.
    """

    routes: dict[tuple[int, int], ReplayedRoute]
    exposed: dict[tuple[int, int], ReplayedRoute]
    covered: frozenset[tuple[int, int]]

    def is_sound(self, candidate: int, trip: int) -> bool:
        """Whether the candidate gets a true walk of the trip that covers it.

        A route that is no walk, or passes its candidate by, protects nobody: an observer with the same map rules
        the candidate out.
        """
        route = self.routes.get((candidate, trip))
        return route is not None and not route.fault and (candidate, trip) in self.covered

    def walked_nodes(self, candidate: int, trip: int) -> tuple[int | None, ...]:
        """Node numbers of the route of a candidate that gets one."""
        return self.routes[candidate, trip].nodes


def replay(playbook: Playbook, facts: Facts, planner: Planner | None) -> Replay:
    """Ask for the route of every counted candidate on every trip and check each distinct one once."""
    routes: dict[tuple[int, int], ReplayedRoute] = {}
    exposed: dict[tuple[int, int], ReplayedRoute] = {}
    # By identity, because members of a class usually share one object. The route is kept so that it stays alive.
    known: dict[tuple[int, int], tuple[object, ReplayedRoute]] = {}

    def walk(given: object, trip: int) -> ReplayedRoute:
        if (trip, id(given)) not in known:
            known[trip, id(given)] = (given, _walk(given, trip, facts))
        return known[trip, id(given)][1]

    for candidate in facts.counted:
        label = facts.label(candidate)
        for trip in range(len(facts.trips)):
            try:
                given = _route_of(playbook, label, trip) if planner is None else planner(label, trip)
            except (NotAnonymizedError, UnknownCandidateError):
                if planner is None and (spare := _exposed_route(playbook, label, trip)) is not None:
                    exposed[candidate, trip] = walk(spare, trip)
            else:
                routes[candidate, trip] = walk(given, trip)
    covered = frozenset(
        (candidate, trip)
        for (candidate, trip), route in (*routes.items(), *exposed.items())
        if route.covers(facts.watchers[candidate])
    )
    return Replay(routes, exposed, covered)


def _route_of(playbook: Playbook, label: Label, trip: int) -> Route | None:
    """What the playbook holds for a candidate that it calls anonymized; ``None`` when it has no route for the trip.

    Looked up here because ``route_for`` refuses what it can see to be wrong, and the auditor is to say what that is.
    """
    group = playbook.class_of(label)
    if group is None or not group.anonymized:
        raise NotAnonymizedError
    return _held(group, label, trip)


def _exposed_route(playbook: Playbook, label: Label, trip: int) -> Route | None:
    group = playbook.class_of(label)
    return None if group is None else _held(group, label, trip)


def _held(group: PlaybookClass, label: Label, trip: int) -> Route | None:
    return group.route_of(label, trip) if trip < len(group.routes) else group.member_routes.get((trip, label))


def _walk(given: object, trip: int, facts: Facts) -> ReplayedRoute:
    stated: object = given.cost if isinstance(given, Route) else UNSTATED
    if not isinstance(given, Iterable):
        return ReplayedRoute((), (), stated, None, f"is {given!r} and no sequence of nodes")
    labels = tuple(given)
    nodes = tuple(facts.node(label) for label in labels)
    fault = _ends_fault(labels, nodes, trip, facts)
    costs: list[float] = []
    if not fault:
        for step, (tail, head) in enumerate(pairwise(nodes), start=1):
            cost = None if tail is None or head is None else facts.walking.edge_cost(tail, head)
            if cost is None:
                apart = "nodes that no edge joins" if facts.problem.domain.grid is None else "cells that do not touch"
                fault = (
                    f"jumps between {apart}: from {labels[step - 1]} to {labels[step]} "
                    f"(nodes {step} and {step + 1} of the route)"
                )
                break
            costs.append(cost)
    return ReplayedRoute(labels, nodes, stated, None if fault else math.fsum(costs), fault)


def _ends_fault(labels: tuple[Label, ...], nodes: tuple[int | None, ...], trip: int, facts: Facts) -> str:
    ends = facts.trips[trip]
    asked = facts.problem.trips[trip]
    if not nodes:
        return "is empty"
    if None in nodes:
        place = nodes.index(None)
        return f"names {labels[place]}, which is not in the domain (node {place + 1} of the route)"
    if nodes[0] != ends.start:
        return f"begins at {labels[0]} instead of the start {asked.start}"
    if nodes[-1] != ends.goal:
        return f"ends at {labels[-1]} instead of the goal {asked.goal}"
    return ""
