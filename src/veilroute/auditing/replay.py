"""The replay: ask for every candidate's route, as the adversary would, and walk it on the map.

The anonymity set: which candidates look the same to an observer, and whether that is enough.

The case file: everything worked out once and read by every check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

from veilroute.auditing.apartness import Spread, mask_of, members_of
from veilroute.auditing.sight import Facts, TripFacts, find_watchers, gather_facts
from veilroute.auditing.verdicts import AnonymityStep
from veilroute.auditing.walking import WalkingMap
from veilroute.domain.graph import Label
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


@dataclass(frozen=True)
class Standard:
    """When a candidate counts as anonymized within the group of those that look the same.

    Parameters
    ----------
    k
        How many candidates must look the same.
    is_all_pairs
        Which reading of spread was promised.
    spread
        Who stands far from whom.
    listed
        For each candidate claimed anonymized, the class that the playbook lists it in.
    """

    k: int
    is_all_pairs: bool
    spread: Spread
    listed: dict[int, int]

    def is_met(self, candidate: int, group: int) -> bool:
        """Whether ``group`` hides the candidate.

        Under the ``all-pairs`` reading the members of its own class must be k and all far apart; candidates of
        other classes that happen to look the same (all do, at first) can only add to the doubt.
        """
        if not self.is_all_pairs:
            return self.spread.largest_far_set(group, enough=self.k).size >= self.k
        own = group & self.listed.get(candidate, group)
        return own.bit_count() >= self.k and self.spread.is_far(own)


def listed_classes(playbook: Playbook, facts: Facts) -> dict[int, int]:
    """The class of each candidate claimed anonymized; the first that lists it, as in ``route_for``."""
    listed: dict[int, int] = {}
    seen: set[int] = set()
    for group in playbook.classes:
        members = [c for c in map(facts.find, group.members) if c is not None]
        if group.anonymized:
            listed.update(dict.fromkeys((c for c in members if c not in seen), mask_of(members)))
        seen.update(members)
    return listed


def group_candidates(facts: Facts, replay: Replay, m: int | None) -> dict[int, int]:
    """For each candidate those with the same first ``m`` nodes on every trip, itself included.

    An observer may link the trips, so all of them must agree. Candidates without a sound route on every trip are in
    no group: Failure equals nothing, itself included.
    """
    trips = range(len(facts.trips))
    groups: dict[tuple[tuple[int | None, ...], ...], list[int]] = {}
    for c in facts.counted:
        if all(replay.is_sound(c, trip) for trip in trips):
            groups.setdefault(tuple(replay.walked_nodes(c, trip)[:m] for trip in trips), []).append(c)
    return {c: mask_of(group) for group in groups.values() for c in group}


def watch_trips(facts: Facts, replay: Replay, standard: Standard) -> tuple[AnonymityStep, ...]:
    """The anonymity set over time, for each trip and every number of nodes seen.

    Groups are split by the node at each position (a route that has ended differs from one that goes on), and
    judged again only when one of them was split.
    """
    steps: list[AnonymityStep] = []
    for trip in range(len(facts.trips)):
        masks: dict[tuple[int | None, ...], int] = {}
        for c in facts.counted:
            if replay.is_sound(c, trip):
                nodes = replay.walked_nodes(c, trip)
                masks[nodes] = masks.get(nodes, 0) | 1 << c
        if not masks:
            continue
        undecided = [list(masks)]
        settled: list[int] = []
        state = _judge_groups(trip, [sum(masks.values())], facts, standard)
        for m in range(1, max(map(len, masks)) + 1):
            pieces: list[list[tuple[int | None, ...]]] = []
            for routes in undecided:
                pieces += _split(routes, m)
            if len(pieces) > len(undecided):
                settled += [masks[piece[0]] for piece in pieces if len(piece) == 1]
                undecided = [piece for piece in pieces if len(piece) > 1]
                groups = settled + [sum(masks[route] for route in piece) for piece in undecided]
                state = _judge_groups(trip, groups, facts, standard)
            steps.append(replace(state, m=m))
    return tuple(steps)


def _split(routes: list[tuple[int | None, ...]], m: int) -> list[list[tuple[int | None, ...]]]:
    pieces: dict[int | None, list[tuple[int | None, ...]]] = {}
    for route in routes:
        pieces.setdefault(route[m - 1] if m <= len(route) else None, []).append(route)
    return list(pieces.values())


def _judge_groups(trip: int, groups: list[int], facts: Facts, standard: Standard) -> AnonymityStep:
    """What an observer knows while these are the groups; the caller says for which number of nodes."""
    promised = mask_of(standard.listed)
    watched = [group for group in groups if group & promised] or groups
    revealed = [group.bit_length() - 1 for group in groups if group.bit_count() == 1]
    exposed = [c for group in groups for c in members_of(group) if not standard.is_met(c, group)]
    return AnonymityStep(
        trip,
        1,
        min(group.bit_count() for group in watched),
        min(standard.spread.largest_far_set(group).size for group in watched),
        tuple(facts.label(c) for c in sorted(revealed)),
        tuple(facts.label(c) for c in sorted(exposed)),
    )


RELATIVE = 1e-9
ABSOLUTE = 1e-12


@dataclass(frozen=True)
class Case:
    """A playbook, what the domain says, what the replay gave, and who looks like whom.

    Parameters
    ----------
    playbook
        Whose claims are checked.
    facts
        Watchers, distances and base costs.
    replay
        The routes.
    standard
        When a candidate counts as anonymized.
    groups
        For each candidate with sound routes, those with the same first m nodes on every trip.
    is_foreign
        Whether the routes come from a planner function rather than from the playbook.
    """

    playbook: Playbook
    facts: Facts
    replay: Replay
    standard: Standard
    groups: dict[int, int]
    is_foreign: bool

    @property
    def claimed(self) -> tuple[int, ...]:
        """The candidates that the playbook claims to anonymize."""
        return tuple(sorted(self.standard.listed))

    @cached_property
    def protected(self) -> tuple[int, ...]:
        """Those for which the claim is true."""
        return tuple(c for c in self.claimed if c in self.groups and self.standard.is_met(c, self.groups[c]))

    def on_trip(self, trip: int) -> str:
        """`` on trip 1``, or nothing when there is only one."""
        return f" on trip {trip}" if len(self.facts.trips) > 1 else ""


def open_case(playbook: Playbook, planner: Planner | None) -> Case:
    """Replay the planner for every candidate and group what an observer cannot tell apart."""
    facts = gather_facts(playbook.problem)
    answers = replay(playbook, facts, planner)
    privacy = playbook.privacy
    standard = Standard(
        privacy.k, privacy.spread == "all-pairs", Spread(facts, privacy), listed_classes(playbook, facts)
    )
    return Case(playbook, facts, answers, standard, group_candidates(facts, answers, privacy.m), planner is not None)


def is_hidden(playbook: Playbook, group: PlaybookClass) -> bool:
    """Whether a class by itself keeps (k, ell, m), worked out from the map with the auditor's own means.

    All its members are asked for, so the work tells the class, which whoever sees the route knows anyway, and not which
    member it is done for. It takes a sweep of the map as far as ell for each member.
    """
    problem, privacy = playbook.problem, playbook.privacy
    walking = WalkingMap(problem.domain)
    counted = {problem.candidates[c]: c for c in problem.counted}
    if not all(member in counted for member in group.members):
        return False
    nodes = {counted[member]: problem.candidate_nodes[counted[member]] for member in group.members}
    # No base costs: nothing is asked here about how long the routes are.
    trips = tuple(
        TripFacts(start, goal, [], [], {}) for start, goal in zip(problem.start_nodes, problem.goal_nodes, strict=True)
    )
    facts = Facts(problem, walking, nodes, find_watchers(problem, walking, nodes), trips)
    groups = group_candidates(facts, replay(playbook, facts, None), privacy.m)
    standard = Standard(
        privacy.k, privacy.spread == "all-pairs", Spread(facts, privacy), listed_classes(playbook, facts)
    )
    return bool(nodes) and all(c in groups and standard.is_met(c, groups[c]) for c in nodes)


def is_same(real: float, stated: float) -> bool:
    """Whether two figures agree up to rounding."""
    if not (math.isfinite(real) and math.isfinite(stated)):
        return False
    return abs(real - stated) <= RELATIVE * max(abs(real), abs(stated)) + ABSOLUTE
