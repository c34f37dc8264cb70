"""Claims about what anonymity costs: MAC, its lower bound and optimality.

Claims about privacy: the partition, class sizes, spread, and how many candidates are protected.

Claims about routes: they are walks, cover their candidates, cost what they say and agree within a class.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from veilroute.auditing.apartness import mask_of, members_of
from veilroute.auditing.optimality import Optimum
from veilroute.auditing.proofs import Proof
from veilroute.auditing.replay import UNSTATED, Case, ReplayedRoute, is_same
from veilroute.auditing.verdicts import ClaimVerdict, first_nodes, judge, names, number
from veilroute.certificate import MAX_TRIED
from veilroute.domain.graph import Label
from veilroute.playbook import Route

_STATUSES = ("optimal", "feasible", "infeasible")

_WITHOUT_EVIDENCE = ("merge-bb", "df-bb")
"""Partitioners whose proof is that their search came to its end: they have nothing to hand over."""


@dataclass(frozen=True)
class RealCost:
    """MAC as recomputed from the replayed routes and the auditor's own base costs.

    Parameters
    ----------
    by_trip
        MAC of each trip; ``None`` when nothing is anonymized.
    mac
        Their weighted mean.
    unknown
        Candidates claimed anonymized whose routes have no cost because they are no walks.
    """

    by_trip: tuple[float | None, ...]
    mac: float | None
    unknown: tuple[int, ...]


def recompute_mac(case: Case) -> RealCost:
    """MAC over the candidates claimed anonymized, each with the route that it really gets."""
    trips = range(len(case.facts.trips))
    costs = {
        (c, trip): route.real_cost
        for (c, trip), route in case.replay.routes.items()
        if route.real_cost is not None and case.facts.trips[trip].base_costs[c] < math.inf
    }
    known = [c for c in case.claimed if all((c, trip) in costs for trip in trips)]
    unknown = tuple(sorted(set(case.claimed).difference(known)))
    if not known:
        return RealCost((None,) * len(trips), None, unknown)
    by_trip = []
    for trip in trips:
        base = case.facts.trips[trip].base_costs
        extra = [(costs[c, trip] - base[c]) / case.facts.divisor(base[c]) for c in known]
        by_trip.append(math.fsum(extra) / len(extra))
    weights = [trip.weight for trip in case.facts.problem.trips]
    mac = math.fsum(w * value for w, value in zip(weights, by_trip, strict=True)) / math.fsum(weights)
    return RealCost(tuple(by_trip), mac, unknown)


def check_mac(case: Case, real: RealCost) -> ClaimVerdict:
    """MAC per trip and over all trips."""
    claims = case.playbook.claims
    problems = []
    if real.unknown:
        who = names(case.facts.label(c) for c in real.unknown)
        return judge("mac", [f"cannot be recomputed for {who}: no walk, so no cost"], "")
    if len(claims.mac_by_trip) != len(real.by_trip):
        problems.append(f"states {len(claims.mac_by_trip)} values for {number(len(real.by_trip), 'trip')}")
    problems += _mac_problem("MAC", claims.mac, real.mac)
    # With a single trip its MAC is the MAC: say the same thing only once.
    if not problems or len(real.by_trip) > 1:
        for trip, (stated, found) in enumerate(zip(claims.mac_by_trip, real.by_trip, strict=False)):
            problems += _mac_problem(f"MAC of trip {trip}", stated, found)
    shown = "nothing is anonymized, so there is none" if real.mac is None else f"MAC recomputed: {real.mac:.9g}"
    return judge("mac", problems, shown)


def _mac_problem(name: str, stated: float | None, real: float | None) -> list[str]:
    if stated is None or real is None:
        if stated is real:
            return []
        return [f"{name}: stated {_figure(stated)}, recomputed {_figure(real)}"]
    if is_same(real, stated):
        return []
    side = "better" if real < stated else "worse"
    return [f"{name} is {side} than stated: {real:.9g} instead of {stated:.9g}"]


def check_bound(case: Case, real: RealCost, optimum: Optimum | None, proof: Proof | None) -> ClaimVerdict:
    """The lower bound on MAC is none that the playbook, or any other way to group so many candidates, undercuts."""
    bound = case.playbook.claims.mac_lower_bound
    if bound is None:
        return judge("bound", [], "no lower bound is stated")
    problems = []
    if real.mac is None and not real.unknown:
        problems.append(f"states the bound {bound:.9g} where nothing is anonymized")
    elif real.mac is not None and not real.unknown and real.mac < bound and not is_same(real.mac, bound):
        problems.append(f"states that no MAC is below {bound:.9g}, but its own is {real.mac:.9g}")
    best = None if optimum is None else optimum.mac_at.get(case.playbook.claims.num_anonymized)
    cheaper = proof.cheaper_mac if best is None and proof is not None else best
    if cheaper is not None and cheaper < bound and not is_same(cheaper, bound):
        problems.append(f"states that no MAC is below {bound:.9g}, but {cheaper:.9g} is possible")
    if best is not None:
        return judge("bound", problems, f"{bound:.9g} is not above {best:.9g}, the least possible")
    if proof is not None and proof.has_bound:
        return judge("bound", problems, f"no MAC is below {bound:.9g} (certificate: {proof.effort})")
    if proof is None and _gives_evidence(case):
        problems.append(f"states that no MAC is below {bound:.9g} without the certificate that proves it")
    reason = "" if proof is None else f" ({proof.effort})"
    evidence = f"{bound:.9g} is not above the MAC; whether none is below it, was not worked out{reason}"
    return judge("bound", problems, evidence, checked=False)


def _gives_evidence(case: Case) -> bool:
    """Whether the planner hands a certificate over with its bounds, where there is too much to try it all."""
    is_small = len(case.facts.coverable) <= MAX_TRIED
    return not is_small and case.playbook.options.get("partitioner") not in _WITHOUT_EVIDENCE


def check_optimality(
    case: Case, real: RealCost, optimum: Optimum | None, proof: Proof | None, num_anonymizable: int | None
) -> ClaimVerdict:
    """What the status says: proved optimal, or that nothing can be anonymized."""
    status, claims = case.playbook.status, case.playbook.claims
    num_real = len(case.protected)
    if status not in _STATUSES:
        return judge("optimality", [f"unknown status {status!r}"], "")
    if status == "feasible":
        return judge("optimality", [], "none claimed: the status is 'feasible'")
    problems = []
    if status == "infeasible":
        if claims.num_anonymized or num_real:
            problems.append(
                f"says that nothing can be anonymized and anonymizes {max(num_real, claims.num_anonymized)}"
            )
    elif claims.mac_lower_bound is None or claims.mac is None:
        problems.append("says optimal without a MAC and a bound that meets it")
    else:
        if not is_same(claims.mac, claims.mac_lower_bound):
            problems.append(f"says optimal, but the MAC {claims.mac:.9g} does not meet the bound")
        if real.mac is not None and not real.unknown and not is_same(real.mac, claims.mac_lower_bound):
            side = "worse" if real.mac > claims.mac_lower_bound else "lower"
            problems.append(
                f"the real MAC {real.mac:.9g} is {side} than the {claims.mac_lower_bound:.9g} claimed as optimal"
            )
    if optimum is not None:
        problems += _better_way(case, real, optimum)
        return judge("optimality", problems, f"{status}; re-proved: {optimum.effort}")
    if status == "infeasible":
        return _judge_infeasible(problems, proof, num_anonymizable)
    if proof is not None and proof.more is not None:
        problems.append(f"not optimal: {proof.more} candidates can be anonymized, not only {claims.num_anonymized}")
    if proof is not None and proof.cheaper_mac is not None:
        problems.append(f"not optimal: a MAC of {proof.cheaper_mac:.9g} is possible")
    if proof is None:
        if _gives_evidence(case):
            problems.append("says optimal without the certificate that proves it; plan again")
        return judge("optimality", problems, "optimal by the planner's word; too large to re-prove", checked=False)
    if not proof.has_bound:
        return judge("optimality", problems, f"optimal by the planner's word: {proof.effort}", checked=False)
    if _most(proof, num_anonymizable) > claims.num_anonymized:
        reason = "that no more can be anonymized was not worked out"
        return judge("optimality", problems, f"optimal by the planner's word: {reason}", checked=False)
    return judge("optimality", problems, f"optimal (certificate: {proof.effort})")


def _judge_infeasible(problems: list[str], proof: Proof | None, num_anonymizable: int | None) -> ClaimVerdict:
    if num_anonymizable:
        problems.append(f"says that nothing can be anonymized, but {num_anonymizable} candidates can be")
    if _most(proof, num_anonymizable) == 0:
        return judge("optimality", problems, "infeasible: no candidate belongs to a class that could be anonymized")
    return judge("optimality", problems, "infeasible by the planner's word; too large to re-prove", checked=False)


def _most(proof: Proof | None, num_anonymizable: int | None) -> float:
    """No more than everybody who could be anonymized at all, and no more than the certificate leaves room for."""
    known = [num_anonymizable, None if proof is None else proof.most]
    return min((num for num in known if num is not None), default=math.inf)


def _better_way(case: Case, real: RealCost, optimum: Optimum) -> list[str]:
    num_real = len(case.protected)
    if optimum.num_anonymized > num_real:
        return [f"not optimal: {optimum.num_anonymized} candidates can be anonymized, not only {num_real}"]
    if not optimum.num_anonymized and case.playbook.status == "optimal":
        return ["not optimal but infeasible: no candidate can be anonymized"]
    if optimum.num_anonymized < num_real:
        return [f"at most {optimum.num_anonymized} candidates can be anonymized, yet {num_real} seem to be"]
    if optimum.mac is None or real.mac is None or real.unknown or is_same(real.mac, optimum.mac):
        return []
    if real.mac < optimum.mac:
        return [f"the MAC {real.mac:.9g} lies below the least possible, {optimum.mac:.9g}"]
    return [f"not optimal: a MAC of {optimum.mac:.9g} is possible, this one is {real.mac:.9g} ({optimum.effort})"]


def check_anonymizable(case: Case, num_anonymizable: int | None) -> ClaimVerdict:
    """How many candidates some planner could anonymize."""
    stated = case.playbook.claims.num_anonymizable
    if stated is None:
        return judge("anonymizable", [], "no number is stated")
    if stated < len(case.protected):
        return judge("anonymizable", [f"states {stated}, fewer than the {len(case.protected)} it anonymizes"], "")
    if stated > len(case.facts.coverable):
        problem = f"states {stated}, but only {len(case.facts.coverable)} can be covered at all"
        return judge("anonymizable", [problem], "")
    if stated and case.playbook.status == "infeasible":
        return judge("anonymizable", [f"states {stated}, yet says that nothing can be anonymized"], "")
    if num_anonymizable is None:
        evidence = f"{stated} by the planner's word; too large to recount"
        return judge("anonymizable", [], evidence, checked=False)
    problems = []
    if stated != num_anonymizable:
        problems.append(f"states {stated} anonymizable candidates, in truth there are {num_anonymizable}")
    return judge("anonymizable", problems, f"{num_anonymizable} belong to some class that could be anonymized")


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.9g}"


def check_partition(case: Case) -> ClaimVerdict:
    """Classes are disjoint and hold each counted candidate once, except those listed as uncoverable."""
    facts, playbook = case.facts, case.playbook
    problems = []
    home: dict[int, str] = {}
    places = [(f"class {i}", group.members) for i, group in enumerate(playbook.classes)]
    for place, members in (*places, ("the uncoverable list", playbook.uncoverable)):
        for label in members:
            c = facts.find(label)
            if c is None:
                problems.append(f"{place} holds {label}, which is no candidate that counts")
            elif c in home:
                problems.append(f"{label} is both in {home[c]} and in {place}")
            else:
                home[c] = place
    missing = [facts.label(c) for c in facts.counted if c not in home]
    if missing:
        problems.append(f"in no class and not listed as uncoverable: {names(missing)}")
    problems += [f"{place} has no members" for place, members in places if not members]
    for i, group in enumerate(playbook.classes):
        known: Collection[Label] = group.members
        with suppress(TypeError):  # a playbook that was not read from a file may hold anything
            known = set(group.members)
        problems += [
            f"class {i} holds a route for {member}, who is not a member"
            for _, member in group.member_routes
            if member not in known
        ]
    return judge(
        "partition",
        problems,
        f"{number(len(facts.counted), 'candidate')} stand once each in {len(playbook.classes)} classes "
        f"or among {len(playbook.uncoverable)} uncoverable",
    )


def check_class_size(case: Case) -> ClaimVerdict:
    """Every candidate claimed anonymized shares its first m nodes with at least k - 1 others."""
    k = case.standard.k
    m = case.playbook.privacy.m
    shared = "route" if m is None else first_nodes(m)
    lost = [case.facts.label(c) for c in case.claimed if c not in case.groups]
    problems = [f"without a sound route, and so nobody to hide among: {names(lost)}"] if lost else []
    for group in _claimed_groups(case):
        if group.bit_count() < k:
            who = names(case.facts.label(c) for c in members_of(group))
            alone = f"nobody shares the {shared} of {who}"
            few = f"only {who} share their {shared}"
            problems.append(f"{alone if group.bit_count() == 1 else few}: {group.bit_count()} where {k} are needed")
    sizes = [group.bit_count() for group in _claimed_groups(case)]
    if not sizes:
        return judge("class-size", problems, "no class is said to be anonymized")
    return judge(
        "class-size", problems, f"groups found by replaying have {min(sizes)} to {max(sizes)} members, k is {k}"
    )


def check_spread(case: Case) -> ClaimVerdict:
    """Enough members of each group stand at least ell apart; groups that are too small are left to ``class-size``."""
    facts, standard, apart = case.facts, case.standard, case.playbook.privacy.distance_text
    problems = []
    if not case.claimed:
        return judge("spread", [], "no class is said to be anonymized")
    if standard.is_all_pairs:
        for own in dict.fromkeys(case.groups.get(c, 1 << c) & standard.listed[c] for c in case.claimed):
            problems += [
                f"{facts.label(a)} and {facts.label(b)} share a class but are only {gap:.6g} apart, less than {apart}"
                for a, b, gap in standard.spread.close_pairs(own)
            ]
        return judge("spread", problems, f"all members of each class are pairwise at least {apart} apart")
    for group in _claimed_groups(case):
        needed = min(standard.k, group.bit_count())
        far = standard.spread.largest_far_set(group, enough=needed)
        if far.size < needed:
            a, b, gap = standard.spread.close_pairs(group)[0]
            most = f"at most {far.size}" if far.is_largest else f"no more than {far.size} were found that"
            problems.append(
                f"of {names(facts.label(c) for c in members_of(group))} {most} are pairwise at least {apart} "
                f"apart where {standard.k} are needed; {facts.label(a)} and {facts.label(b)} are only {gap:.6g} apart"
            )
    return judge("spread", problems, f"{standard.k} members of each group are pairwise at least {apart} apart")


def check_coverable(case: Case) -> ClaimVerdict:
    """The counts of candidates and the list of those that no walk of every trip can cover."""
    facts, claims = case.facts, case.playbook.claims
    problems = []
    if claims.num_candidates != len(facts.counted):
        problems.append(f"states {claims.num_candidates} candidates that count, there are {len(facts.counted)}")
    if claims.num_coverable != len(facts.coverable):
        problems.append(f"states {claims.num_coverable} coverable candidates, there are {len(facts.coverable)}")
    listed, coverable = {facts.find(label) for label in case.playbook.uncoverable}, set(facts.coverable)
    for c in facts.counted:
        if (c in listed) == (c in coverable):
            said, found = ("uncoverable", "a walk covers it") if c in listed else ("coverable", "no walk covers it")
            problems.append(
                f"{facts.label(c)} counts as {said}, but {found}{' on every trip' * (len(facts.trips) > 1)}"
            )
    return judge(
        "coverable", problems, f"{len(facts.coverable)} of {number(len(facts.counted), 'candidate')} can be covered"
    )


def check_anonymized(case: Case) -> ClaimVerdict:
    """The number of anonymized candidates is the number for which (k, ell, m) really holds."""
    stated, real = case.playbook.claims.num_anonymized, len(case.protected)
    problems = []
    if stated != real:
        lost = [case.facts.label(c) for c in sorted(set(case.claimed).difference(case.protected))]
        tail = f"; not anonymized in truth: {names(lost)}" if lost else ""
        problems.append(f"states {stated} anonymized candidates, in truth there are {real}{tail}")
    elif real != len(case.claimed):
        lost = [case.facts.label(c) for c in sorted(set(case.claimed).difference(case.protected))]
        problems.append(f"classes called anonymized hold {names(lost)}, for whom it is not true")
    return judge("anonymized", problems, f"(k, ell, m) holds for {number(real, 'candidate')}, as stated")


def check_apr(case: Case) -> ClaimVerdict:
    """APR is anonymized over coverable candidates; delta, where stated, over those stated to be anonymizable."""
    claims, num_real, num_coverable = case.playbook.claims, len(case.protected), len(case.facts.coverable)
    real = num_real / num_coverable if num_coverable else 0.0
    problems = [] if is_same(real, claims.apr) else [f"states an APR of {claims.apr:.6g}, in truth it is {real:.6g}"]
    if claims.delta is not None:
        delta = num_real / claims.num_anonymizable if claims.num_anonymizable else 0.0
        if not is_same(delta, claims.delta):
            problems.append(f"states a delta of {claims.delta:.6g}, in truth it is {delta:.6g}")
    return judge("apr", problems, f"{num_real} / {num_coverable} = {real:.6g}")


def _claimed_groups(case: Case) -> list[int]:
    """The distinct replayed groups that hold a candidate claimed anonymized."""
    promised = mask_of(case.claimed)
    return list(dict.fromkeys(group for group in case.groups.values() if group & promised))


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
