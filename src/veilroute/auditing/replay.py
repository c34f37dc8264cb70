"""The replay: ask for every candidate's route, as the adversary would, walk it on the map, and see who looks like whom.

What is worked out here once is read by every check.
"""

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

from veilroute.auditing.apartness import Spread, mask_of, members_of
from veilroute.auditing.survey import Survey, TripDistances, find_watchers, survey_problem
from veilroute.auditing.verdicts import AnonymityStep
from veilroute.auditing.walking import WalkingMap
from veilroute.domain.graph import Label
from veilroute.errors import NotAnonymizedError, UnknownCandidateError
from veilroute.playbook import Playbook, PlaybookClass, Route
from veilroute.problem import ROUNDING

Planner = Callable[[Label, int], Route | Sequence[Label]]
"""Anything that gives the route for a candidate on a trip, or raises `NotAnonymizedError` (the paper's Failure)."""

UNSTATED: Final = object()  #: stands for the cost of a route that came without one, such as a plain list of nodes

RELATIVE = 1e-9
ABSOLUTE = 1e-12

_Nodes = tuple[int | None, ...]


def is_same(real: float, stated: float, unit: float = 1.0) -> bool:
    """Whether two figures agree up to rounding; ``unit`` is the size of what they were added up from."""
    if not (math.isfinite(real) and math.isfinite(stated)):
        return False
    return abs(real - stated) <= RELATIVE * max(abs(real), abs(stated)) + ABSOLUTE * unit


@dataclass(frozen=True)
class Objective:
    """The figure that the playbook says to keep small, and what it states of it.

    Plans are compared by a sum over their classes. The MAC is that sum divided by the number of anonymized candidates,
    the total extra cost is the sum itself.
    """

    name: str
    sum_name: str
    stated: float | None
    bound: float | None
    reached: float | None  # the real figure, None where some route has no cost
    unit: float  # what a base cost comes to in the sum, on average, which rounding is relative to: 1 in the MAC

    def figure(self, total: float, num: int) -> float:
        """The figure of a plan for ``num`` candidates whose classes add up to ``total``."""
        return total / num if self.name == "MAC" else total

    def total(self, figure: float, num: int) -> float:
        """The sum over the classes behind a figure."""
        return figure * num if self.name == "MAC" else figure

    def margin(self, value: float, num: int) -> float:
        """How far a sum over so many candidates may be off: as far as the MAC itself may, for each of them."""
        return RELATIVE * abs(value) + ABSOLUTE * self.unit * num

    def is_same(self, real: float, stated: float, num: int) -> bool:
        """Whether two figures of plans for ``num`` candidates agree up to rounding."""
        return is_same(real, stated, self.unit * (1 if self.name == "MAC" else num))


@dataclass(frozen=True)
class RealCosts:
    """What the candidates claimed anonymized pay, worked out from the replayed routes and the auditor's base costs.

    All figures are ``None`` when nothing is anonymized.
    """

    mac_by_trip: tuple[float | None, ...]
    mac: float | None = None
    total_extra: float | None = None  # the trips averaged by their weights
    worst_extra: float | None = None  # the largest over all trips
    unknown: tuple[int, ...] = ()  # candidates without a cost: their routes are no walks


@dataclass(frozen=True)
class ReplayedRoute:
    """A route as the planner gave it, and what walking it showed."""

    labels: tuple[Label, ...]
    nodes: _Nodes  # None for each label that is not in the domain
    stated_cost: object  # whatever came with the route, or `UNSTATED`
    steps: tuple[float, ...]  # what each of its edges costs; none when it is no walk of the trip
    fault: str  # why it is not, or nothing

    @cached_property
    def real_cost(self) -> float | None:
        """What its edges add up to, or ``None`` when it is no walk of the trip."""
        return None if self.fault else math.fsum(self.steps)

    def covers(self, watchers: frozenset[int]) -> bool:
        """Whether one of its nodes, start and goal included, is a watcher."""
        return not watchers.isdisjoint(node for node in self.nodes if node is not None)


_Routes = dict[tuple[int, int], ReplayedRoute]  #: routes by candidate and trip


@dataclass(frozen=True)
class ReplayedPlaybook:
    """A playbook, the map surveyed, and which route every candidate was given."""

    playbook: Playbook
    survey: Survey
    routes: _Routes  # whoever has none got the paper's Failure
    exposed: _Routes  # what it holds for those it does not anonymize: they protect nobody, but must be what they say
    is_foreign: bool = False  # whether the routes come from a planner function rather than from the playbook

    @cached_property
    def rule(self) -> Spread:
        """What the playbook promises that each class is, and who stands far from whom."""
        return Spread(self.survey, self.playbook.privacy)

    @cached_property
    def real_costs(self) -> RealCosts:
        """The costs of the candidates claimed anonymized, each with the route that it really gets."""
        survey = self.survey
        costs = {
            (c, trip): route.real_cost
            for (c, trip), route in self.routes.items()
            if route.real_cost is not None and survey.trips[trip].base_costs[c] < math.inf
        }
        known = [c for c in self.claimed if all((c, trip) in costs for trip in range(len(survey.trips)))]
        unknown = tuple(sorted(set(self.claimed).difference(known)))
        if not known:
            return RealCosts((None,) * len(survey.trips), unknown=unknown)
        macs, totals, worst = [], [], 0.0
        for i, trip in enumerate(survey.trips):
            extra = {c: costs[c, i] - trip.base_costs[c] for c in known}
            macs.append(math.fsum(extra[c] * survey.weight(trip, c, "mac") for c in known) / len(known))
            totals.append(math.fsum(extra.values()))
            worst = max(worst, *extra.values())
        mac, total = (math.fsum(map(operator.mul, survey.trip_shares, by_trip)) for by_trip in (macs, totals))
        return RealCosts(tuple(macs), mac, total, worst, unknown)

    @cached_property
    def objective(self) -> Objective:
        """What the playbook says to keep small."""
        claims, survey = self.playbook.claims, self.survey
        real = RealCosts(()) if self.real_costs.unknown else self.real_costs
        if self.playbook.objective == "mac":
            return Objective("MAC", "MAC sum", claims.mac, claims.mac_lower_bound, real.mac, 1.0)
        base_costs = survey.credits(survey.coverable)
        unit = math.fsum(base_costs) / max(1, len(base_costs)) or survey.walking.smallest_positive_cost
        name, bound = "total extra cost", claims.total_extra_lower_bound
        return Objective(name, name, claims.total_extra, bound, real.total_extra, unit)

    @property
    def answers(self) -> _Routes:
        """All routes, those that are only exposed last."""
        return {**self.routes, **self.exposed}

    @cached_property
    def covered(self) -> frozenset[tuple[int, int]]:
        """The pairs (candidate, trip) whose route covers the candidate."""
        watchers = self.survey.watchers
        return frozenset(place for place, route in self.answers.items() if route.covers(watchers[place[0]]))

    @cached_property
    def listed(self) -> dict[int, int]:
        """The class of each candidate claimed anonymized; the first that lists it, as in ``route_for``."""
        listed: dict[int, int] = {}
        seen: set[int] = set()
        for group in self.playbook.classes:
            members = self.members(group)
            if group.anonymized:
                listed.update(dict.fromkeys((c for c in members if c not in seen), mask_of(members)))
            seen.update(members)
        return listed

    @cached_property
    def groups(self) -> dict[int, int]:
        """For each candidate those with the same first m nodes on every trip, itself included.

        An observer may link the trips, so all of them must agree. Candidates without a sound route on every trip are in
        no group: Failure equals nothing, itself included.
        """
        trips, m = range(len(self.survey.trips)), self.playbook.privacy.m
        groups: dict[tuple[_Nodes, ...], list[int]] = {}
        for c in self.survey.counted:
            if all(self.is_sound(c, trip) for trip in trips):
                groups.setdefault(tuple(self.routes[c, trip].nodes[:m] for trip in trips), []).append(c)
        return {c: mask_of(group) for group in groups.values() for c in group}

    @property
    def claimed(self) -> tuple[int, ...]:
        """The candidates that the playbook claims to anonymize."""
        return tuple(sorted(self.listed))

    @cached_property
    def protected(self) -> tuple[int, ...]:
        """Those for which the claim is true."""
        return tuple(c for c in self.claimed if c in self.groups and self.hides(c, self.groups[c]))

    def members(self, group: PlaybookClass) -> list[int]:
        """The counted candidates that a class of the playbook lists."""
        return [c for c in map(self.survey.find, group.members) if c is not None]

    def is_sound(self, candidate: int, trip: int) -> bool:
        """Whether the candidate gets a true walk of the trip that covers it.

        A route that is no walk, or passes its candidate by, protects nobody: an observer with the same map rules
        the candidate out.
        """
        route = self.routes.get((candidate, trip))
        return route is not None and not route.fault and (candidate, trip) in self.covered

    def hides(self, candidate: int, group: int) -> bool:
        """Whether a candidate is hidden among those of ``group``, who look the same.

        Under the ``all-pairs`` reading the members of its own class must be k and all far apart; candidates of
        other classes that happen to look the same (all do, at first) can only add to the doubt.
        """
        own = group & self.listed.get(candidate, group) if self.rule.is_all_pairs else group
        return self.rule.qualifies(own)

    def on_trip(self, trip: int) -> str:
        """`` on trip 1``, or nothing when there is only one."""
        return f" on trip {trip}" if len(self.survey.trips) > 1 else ""


def is_hidden(playbook: Playbook, groups: Sequence[PlaybookClass]) -> bool:
    """Whether each of some classes by itself keeps what is promised, worked out from the map with the auditor's means.

    All their members are asked for, so the work tells the classes and not which member it is done for. It takes a sweep
    of the map as far as ell for each member. Of a partition one class is enough, which whoever sees the route knows
    anyway. Of a randomised playbook take all: a member that is refused for the sake of another class hides nobody.
    """
    problem = playbook.problem
    walking = WalkingMap(problem.domain)
    counted = {problem.candidates[c]: c for c in problem.counted}
    if not all(member in counted for group in groups for member in group.members):
        return False
    members = sorted({counted[member] for group in groups for member in group.members})
    nodes = {c: problem.candidate_nodes[c] for c in members}
    # No base costs: nothing is asked here about how long the routes are.
    trips = tuple(
        TripDistances(start, goal, [], [], {})
        for start, goal in zip(problem.start_nodes, problem.goal_nodes, strict=True)
    )
    survey = Survey(problem, walking, nodes, find_watchers(problem, walking, nodes), trips)
    rule, beta = Spread(survey, playbook.privacy), playbook.privacy.beta
    for group in groups:
        # By itself: in a randomised playbook its members have other classes as well.
        own = {counted[member]: nodes[counted[member]] for member in group.members}
        alone = replay_playbook(replace(playbook, classes=(group,)), None, replace(survey, nodes=own))
        mask = mask_of(own)
        if not mask or any(alone.groups.get(c) != mask for c in members_of(mask)):
            return False
        if beta is None:
            if not rule.qualifies(mask):
                return False
            continue
        shares = group.shares or [playbook.coverable_prior.get(member, 0.0) for member in group.members]
        masses = dict(zip((counted[member] for member in group.members), shares, strict=True))
        limit = beta * math.fsum(masses.values()) * (1 + ROUNDING)
        near = [math.fsum(masses[u] for u in members_of(mask & (rule.close[c] | 1 << c))) for c in masses]
        if not 0 < max(near) <= limit or (rule.is_all_pairs and not rule.is_far(mask)):
            return False
    return bool(groups)


def replay_playbook(playbook: Playbook, planner: Planner | None, survey: Survey | None = None) -> ReplayedPlaybook:
    """Ask for the route of every counted candidate on every trip, and walk each distinct one once.

    What the playbook holds is looked up here: ``route_for`` refuses what it can see to be wrong, and the auditor is to
    say what that is.
    """
    survey = survey or survey_problem(playbook.problem)
    routes: _Routes = {}
    exposed: _Routes = {}
    # By identity, because members of a class usually share one object. The route is kept so that it stays alive.
    known: dict[tuple[int, int], tuple[object, ReplayedRoute]] = {}

    def walk(given: object, trip: int) -> ReplayedRoute:
        if (trip, id(given)) not in known:
            known[trip, id(given)] = (given, _walk(given, trip, survey))
        return known[trip, id(given)][1]

    for candidate in survey.counted:
        label = survey.label(candidate)
        for trip in range(len(survey.trips)):
            if planner is not None:
                try:
                    given = planner(label, trip)
                except (NotAnonymizedError, UnknownCandidateError):
                    continue
                routes[candidate, trip] = walk(given, trip)
            elif (group := playbook.class_of(label)) is not None:
                own = group.member_routes.get((trip, label))
                held = group.routes[trip] if own is None and trip < len(group.routes) else own
                if group.anonymized:
                    routes[candidate, trip] = walk(held, trip)
                elif held is not None:
                    exposed[candidate, trip] = walk(held, trip)
    return ReplayedPlaybook(playbook, survey, routes, exposed, planner is not None)


def _walk(given: object, trip: int, survey: Survey) -> ReplayedRoute:
    stated: object = given.cost if isinstance(given, Route) else UNSTATED
    if not isinstance(given, Iterable):
        return ReplayedRoute((), (), stated, (), f"is {given!r} and no sequence of nodes")
    labels = tuple(given)
    nodes = tuple(survey.node(label) for label in labels)
    costs = [None if a is None or b is None else survey.walking.edge_cost(a, b) for a, b in pairwise(nodes)]
    fault = _find_fault(labels, nodes, costs, trip, survey)
    steps = () if fault else tuple(cost for cost in costs if cost is not None)
    return ReplayedRoute(labels, nodes, stated, steps, fault)


def _find_fault(labels: tuple[Label, ...], nodes: _Nodes, costs: list[float | None], trip: int, survey: Survey) -> str:
    """Why a route is no walk of the trip, or nothing; ``costs`` are those of its steps, ``None`` without an edge."""
    ends, asked = survey.trips[trip], survey.problem.trips[trip]
    if not nodes:
        return "is empty"
    if None in nodes:
        place = nodes.index(None)
        return f"names {labels[place]}, which is not in the domain (node {place + 1} of the route)"
    if nodes[0] != ends.start:
        return f"begins at {labels[0]} instead of the start {asked.start}"
    if nodes[-1] != ends.goal:
        return f"ends at {labels[-1]} instead of the goal {asked.goal}"
    if None in costs:
        step = costs.index(None) + 1
        apart = "nodes that no edge joins" if survey.problem.domain.grid is None else "cells that do not touch"
        places = f"from {labels[step - 1]} to {labels[step]} (nodes {step} and {step + 1} of the route)"
        return f"jumps between {apart}: {places}"
    return ""


def watch_trips(replayed: ReplayedPlaybook) -> tuple[AnonymityStep, ...]:
    """The anonymity set over time, for each trip and every number of nodes seen.

    Groups are split by the node at each position (a route that has ended differs from one that goes on), and
    judged again only when one of them was split.
    """
    steps: list[AnonymityStep] = []
    for trip in range(len(replayed.survey.trips)):
        masks: dict[_Nodes, int] = {}
        for c in replayed.survey.counted:
            if replayed.is_sound(c, trip):
                nodes = replayed.routes[c, trip].nodes
                masks[nodes] = masks.get(nodes, 0) | 1 << c
        if not masks:
            continue
        undecided = [list(masks)]
        settled: list[int] = []
        state = _judge_groups(trip, [sum(masks.values())], replayed)
        for m in range(1, max(map(len, masks)) + 1):
            pieces: list[list[_Nodes]] = []
            for routes in undecided:
                by_node: dict[int | None, list[_Nodes]] = {}
                for route in routes:
                    by_node.setdefault(route[m - 1] if m <= len(route) else None, []).append(route)
                pieces += by_node.values()
            if len(pieces) > len(undecided):
                settled += [masks[piece[0]] for piece in pieces if len(piece) == 1]
                undecided = [piece for piece in pieces if len(piece) > 1]
                groups = settled + [sum(masks[route] for route in piece) for piece in undecided]
                state = _judge_groups(trip, groups, replayed)
            steps.append(replace(state, m=m))
    return tuple(steps)


def _judge_groups(trip: int, groups: list[int], replayed: ReplayedPlaybook) -> AnonymityStep:
    """What an observer knows while these are the groups; the caller says for which number of nodes."""
    promised = mask_of(replayed.listed)
    watched = [group for group in groups if group & promised] or groups
    revealed = [group.bit_length() - 1 for group in groups if group.bit_count() == 1]
    exposed = [c for group in groups for c in members_of(group) if not replayed.hides(c, group)]
    return AnonymityStep(
        trip,
        1,
        min(group.bit_count() for group in watched),
        min(replayed.rule.largest_far_set(group).size for group in watched),
        tuple(replayed.survey.label(c) for c in sorted(revealed)),
        tuple(replayed.survey.label(c) for c in sorted(exposed)),
    )
