"""Claims about routes: they are walks, cover their candidates, cost what they say and agree within a class."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from veilroute.audit.case import Case, is_same
from veilroute.audit.replay import UNSTATED, ReplayedRoute
from veilroute.audit.report import ClaimVerdict, first_nodes, judge, names, number
from veilroute.playbook import Route


def check_walk(case: Case) -> ClaimVerdict:
    """Every route starts at the trip's start, ends at its goal and follows edges."""
    problems = [
        f"the route for {who}{case.on_trip(trip)} {route.fault}" for route, who, trip in _distinct(case) if route.fault
    ]
    routes = [route for route, _, _ in _distinct(case)]
    steps = sum(max(0, len(route.nodes) - 1) for route in routes)
    return judge(
        "walk",
        problems,
        f"{number(len(routes), 'distinct route')} of {number(steps, 'step')} lead from start to goal along edges",
    )


def check_coverage(case: Case) -> ClaimVerdict:
    """Every candidate that gets a route is covered by it."""
    given = {**case.replay.routes, **case.replay.exposed}
    problems = [
        f"the route for {case.facts.label(c)}{case.on_trip(trip)} leaves it out: "
        f"none of its {number(len(route.nodes), 'node')} sees it"
        for (c, trip), route in given.items()
        if route.nodes and (c, trip) not in case.replay.covered
    ]
    return judge("coverage", problems, f"each of {number(len(given), 'answer')} covers the candidate it was given for")


def check_cost(case: Case) -> ClaimVerdict:
    """Stated costs are the sums of the edges; routes that are no walks have none and are left to ``walk``."""
    compared = [
        (f"the route for {who}{case.on_trip(trip)}", route.real_cost, route.stated_cost)
        for route, who, trip in _distinct(case)
        if route.real_cost is not None and route.stated_cost is not UNSTATED
    ]
    compared += [
        (f"the route shown for {place}", _beginning_cost(case, holder, len(shown)), shown.cost)
        for place, shown, holder in _shown_only(case)
        if holder is not None and holder.real_cost is not None
    ]
    problems = []
    for which, real, stated in compared:
        if isinstance(stated, bool) or not isinstance(stated, int | float) or not math.isfinite(stated):
            problems.append(f"{which} states the cost {stated!r}, which is no number")
        elif not is_same(real, stated):
            side = "low" if stated < real else "high"
            problems.append(f"{which} states a cost of {stated:.10g}, but its edges add up to {real:.10g}: too {side}")
    return judge("cost", problems, f"{number(len(compared), 'stated cost')} recomputed and found right")


def check_same_route(case: Case) -> ClaimVerdict:
    """All members of an anonymized class get the same first m nodes on every trip; no class is shown with others."""
    m = case.playbook.privacy.m
    problems = []
    num_compared = 0
    for position, group in enumerate(case.playbook.classes):
        members = [c for c in map(case.facts.find, group.members) if c is not None]
        if not group.anonymized or not members:
            continue
        for trip in range(len(case.facts.trips)):
            answers = [(c, case.replay.routes.get((c, trip))) for c in members]
            num_compared += len(answers)
            problem = _first_difference(case, answers, m)
            if problem:
                problems.append(f"class {position}{case.on_trip(trip)}: {problem}")
    problems += [
        f"{place}: the route shown is not the one that its members get"
        for place, _, holder in _shown_only(case)
        if holder is None
    ]
    shared = "whole route" if m is None else first_nodes(m)
    return judge("same-route", problems, f"the {shared} of {number(num_compared, 'answer')} agree within their classes")


def _first_difference(case: Case, answers: list[tuple[int, ReplayedRoute | None]], m: int | None) -> str:
    first, route = answers[0]
    for c, other in answers:
        if other is None or route is None:
            return f"{case.facts.label(c if other is None else first)} gets no route"
        a, b = route.labels[:m], other.labels[:m]
        if a != b:
            common = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            return (
                f"{case.facts.label(first)} and {case.facts.label(c)} get different routes, "
                f"told apart at node {common + 1}"
            )
    return ""


def _shown_only(case: Case) -> Iterator[tuple[str, Route, ReplayedRoute | None]]:
    """Routes that stand for a class but that nobody gets, because each member has one of its own.

    With each of them comes its place, and a member's route that begins with it: for as long as the promise holds, where
    there is one.
    """
    given = {} if case.is_foreign else {**case.replay.routes, **case.replay.exposed}
    m = case.playbook.privacy.m
    for position, group in enumerate(case.playbook.classes):
        members = [c for c in map(case.facts.find, group.members) if c is not None]
        for trip, shown in enumerate(group.routes[: len(case.facts.trips)]):
            own = [given[c, trip] for c in members if (c, trip) in given]
            if own and all((trip, label) in group.member_routes for label in group.members):
                place = f"class {position}{case.on_trip(trip)}"
                least = m if group.anonymized or m is None else 1
                yield place, shown, next((route for route in own if _begins_with(route, shown, least)), None)


def _begins_with(route: ReplayedRoute, shown: Route, least: int | None) -> bool:
    return len(shown) >= len(route.labels[:least]) and route.labels[: len(shown)] == shown.nodes


def _beginning_cost(case: Case, route: ReplayedRoute, length: int) -> float:
    steps = pairwise(route.nodes[:length])
    costs = (case.facts.walking.edge_cost(a, b) for a, b in steps if a is not None and b is not None)
    return math.fsum(cost for cost in costs if cost is not None)


def _distinct(case: Case) -> list[tuple[ReplayedRoute, str, int]]:
    """Each route once, with the candidates that get it and the trip."""
    holders: dict[int, tuple[ReplayedRoute, list[object], int]] = {}
    for (c, trip), route in (*case.replay.routes.items(), *case.replay.exposed.items()):
        holders.setdefault(id(route), (route, [], trip))[1].append(case.facts.label(c))
    return [(route, names(labels), trip) for route, labels, trip in holders.values()]
