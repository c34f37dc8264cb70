"""The claims, one check each, in the order of a report's topics: what anonymity costs, privacy, and the routes."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress

from veilroute.auditing.apartness import members_of
from veilroute.auditing.optimality import Optimum
from veilroute.auditing.proofs import Proof
from veilroute.auditing.replay import UNSTATED, ReplayedPlaybook, ReplayedRoute, is_same, wrong_figure
from veilroute.auditing.verdicts import ClaimVerdict, first_nodes, judge, number
from veilroute.base.errors import VeilrouteError
from veilroute.domain.geography import cost_text
from veilroute.domain.graph import Domain, Label
from veilroute.model.certificate import MAX_TRIED
from veilroute.model.exposure import area_text
from veilroute.model.playbook import Playbook, Route

#: For each group of routes a format in which they are not written byte for byte alike; ``None`` if there is none.
WrittenApart = Callable[[Playbook, Sequence[Sequence[Route]]], list[str | None]]
_STATUSES = ("optimal", "feasible", "infeasible")


def check_mac(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """MAC per trip and over all trips."""
    claims, real = replayed.playbook.claims, replayed.real_costs
    if real.unknown:
        return _judge_unknown("mac", replayed)
    problems = []
    if len(claims.mac_by_trip) != len(real.mac_by_trip):
        problems.append(f"states {len(claims.mac_by_trip)} values for {number(len(real.mac_by_trip), 'trip')}")
    problems += wrong_figure("MAC", claims.mac, real.mac)
    # With a single trip its MAC is the MAC: say the same thing only once.
    if not problems or len(real.mac_by_trip) > 1:
        for trip, (stated, found) in enumerate(zip(claims.mac_by_trip, real.mac_by_trip, strict=False)):
            problems += wrong_figure(f"MAC of trip {trip}", stated, found)
    shown = "nothing is anonymized, so there is none" if real.mac is None else f"MAC recomputed: {real.mac:.9g}"
    return judge("mac", problems, shown)


def check_extra_cost(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """The total extra cost and the largest single one. A plan that keeps the total small has to state it."""
    real = replayed.real_costs
    if real.unknown:
        return _judge_unknown("extra-cost", replayed)
    claims, claimed = replayed.playbook.claims, replayed.claimed
    largest = max((trip.base_costs[c] for trip in replayed.survey.trips for c in claimed), default=0.0)
    problems = []
    is_needed = replayed.objective.name == "total extra cost"
    if claims.total_extra is not None or is_needed:
        problems += wrong_figure("total extra cost", claims.total_extra, real.total_extra, largest * len(claimed))
    if claims.worst_extra is not None:
        problems += wrong_figure("worst extra cost", claims.worst_extra, real.worst_extra, largest)
    if real.total_extra is None or real.worst_extra is None:
        return judge("extra-cost", problems, "nothing is anonymized, so there is none")
    domain = replayed.survey.problem.domain
    total, worst = (_figure(domain, cost) for cost in (real.total_extra, real.worst_extra))
    figures = f"total extra cost recomputed: {total}, worst single detour: {worst}"
    stated = {"the total extra cost": claims.total_extra, "the worst extra cost": claims.worst_extra}
    return judge("extra-cost", problems, figures, missing=[name for name, figure in stated.items() if figure is None])


def _figure(domain: Domain, cost: float) -> str:
    """A cost to its last digit and, on a street network, as people say it."""
    return f"{cost:.9g}" if domain.streets is None else f"{cost_text(domain, cost)} ({cost:.9g} {domain.streets.unit})"


def _judge_unknown(claim: str, replayed: ReplayedPlaybook) -> ClaimVerdict:
    who = replayed.survey.names(replayed.real_costs.unknown)
    return judge(claim, [f"cannot be recomputed for {who}: no walk, so no cost"], "")


def check_bound(replayed: ReplayedPlaybook, optimum: Optimum | None, proof: Proof | None) -> ClaimVerdict:
    """The lower bound is none that the playbook, or any other way to group so many candidates, undercuts."""
    objective, hidden = replayed.objective, replayed.stated_size
    bound, name, reached = objective.bound, objective.name, objective.reached
    # Bounds are proved for what the plan keeps small; nobody would check one on the other figure.
    claims = replayed.playbook.claims
    others = {
        "MAC": claims.mac_lower_bound,
        "total extra cost": claims.total_extra_lower_bound,
        "expected MAC": claims.expected_mac_lower_bound,
    }
    problems = [
        f"states that no {other} is below {stated:.9g}, but it is the {name} that is kept small"
        for other, stated in others.items()
        if other != name and stated is not None
    ]
    if bound is None:
        return judge("bound", problems, "no lower bound is stated")
    if math.isnan(bound):
        problems.append("states a bound that is no number")
    if reached is None and not replayed.real_costs.unknown:
        problems.append(f"states the bound {bound:.9g} where nothing is anonymized")
    elif reached is not None and reached < bound and not objective.is_same(reached, bound, hidden):
        problems.append(f"states that no {name} is below {bound:.9g}, but its own is {reached:.9g}")
    best = None if optimum is None else optimum.least_for(hidden)
    least = proof.cheaper if best is None and proof is not None else best
    cheaper = None if least is None else objective.figure(least, hidden)
    if cheaper is not None and cheaper < bound and not objective.is_same(cheaper, bound, hidden):
        problems.append(f"states that no {name} is below {bound:.9g}, but {cheaper:.9g} is possible")
    if best is not None:
        return judge("bound", problems, f"{bound:.9g} is not above {cheaper:.9g}, the least possible")
    if proof is not None and proof.has_bound:
        return judge("bound", problems, f"no {name} is below {bound:.9g} (certificate: {proof.effort})")
    if proof is None and _needs_evidence(replayed):
        problems.append(f"states that no {name} is below {bound:.9g} without the certificate that proves it")
    reason = "" if proof is None else f" ({proof.effort})"
    evidence = f"{bound:.9g} is not above the {name}; whether none is below it, was not worked out{reason}"
    return judge("bound", problems, evidence, checked=False)


def _needs_evidence(replayed: ReplayedPlaybook) -> bool:
    """Whether a bound needs a certificate, whoever planned: there are too many candidates to try it all."""
    return replayed.is_randomised or len(replayed.hideable) > MAX_TRIED


def check_optimality(
    replayed: ReplayedPlaybook, optimum: Optimum | None, proof: Proof | None, num_anonymizable: int | None
) -> ClaimVerdict:
    """What the status says: proved optimal, or that nothing can be anonymized."""
    status, num_stated = replayed.playbook.status, replayed.playbook.claims.num_anonymized
    objective, num_real, is_bounded = replayed.objective, len(replayed.protected), replayed.rule.beta is not None
    if status not in _STATUSES:
        return judge("optimality", [f"unknown status {status!r}"], "")
    if status == "feasible":
        return judge("optimality", [], "none claimed: the status is 'feasible'")
    problems = []
    if status == "infeasible":
        if num_stated or num_real:
            problems.append(f"says that nothing can be anonymized and anonymizes {max(num_real, num_stated)}")
    else:
        problems += _unmet_bound(replayed)
    if optimum is not None:
        problems += _better_way(replayed, optimum)
        return judge("optimality", problems, f"{status}; re-proved: {optimum.effort}")
    if replayed.is_all_open and not replayed.hides_all:
        left = sorted(set(replayed.hideable).difference(replayed.protected))
        problems.append(f"not optimal: {replayed.survey.names(left)} can be hidden as well")
    if status == "infeasible":
        if num_anonymizable:
            problems.append(f"says that nothing can be anonymized, but {num_anonymizable} candidates can be")
        if is_bounded and replayed.hides_all:
            return judge("optimality", problems, "infeasible: all are too probable, or too near, to be hidden")
        if _most(proof, num_anonymizable) == 0:
            return judge("optimality", problems, "infeasible: no candidate belongs to a class that could be anonymized")
        return judge("optimality", problems, "infeasible by the planner's word; too large to re-prove", checked=False)
    if proof is not None and proof.more is not None:
        problems.append(f"not optimal: {proof.more} candidates can be anonymized, not only {num_stated}")
    if proof is not None and proof.cheaper is not None:
        cheaper = objective.figure(proof.cheaper, replayed.stated_size)
        problems.append(f"not optimal: a {objective.name} of {cheaper:.9g} is possible")
    if proof is None:
        if _needs_evidence(replayed):
            problems.append("says optimal without the certificate that proves it; plan again")
        return judge("optimality", problems, "optimal by the planner's word; too large to re-prove", checked=False)
    if not proof.has_bound:
        return judge("optimality", problems, f"optimal by the planner's word: {proof.effort}", checked=False)
    if not replayed.hides_all if is_bounded else _most(proof, num_anonymizable) > num_stated:
        reason = "that no more can be anonymized was not worked out"
        return judge("optimality", problems, f"optimal by the planner's word: {reason}", checked=False)
    return judge("optimality", problems, f"optimal (certificate: {proof.effort})")


def _unmet_bound(replayed: ReplayedPlaybook) -> list[str]:
    """What is wrong with the figures of a plan that is said to be optimal: both must meet the bound."""
    objective, hidden = replayed.objective, replayed.stated_size
    name, stated, bound, reached = objective.name, objective.stated, objective.bound, objective.reached
    if bound is None or stated is None:
        return [f"says optimal without a {name} and a bound that meets it"]
    problems = []
    if not objective.is_same(stated, bound, hidden):
        problems.append(f"says optimal, but the {name} {stated:.9g} does not meet the bound")
    if reached is not None and not objective.is_same(reached, bound, hidden):
        side = "worse" if reached > bound else "lower"
        problems.append(f"the real {name} {reached:.9g} is {side} than the {bound:.9g} claimed as optimal")
    return problems


def _most(proof: Proof | None, num_anonymizable: int | None) -> float:
    """No more than everybody who could be anonymized at all, and no more than the certificate leaves room for."""
    known = [num_anonymizable, None if proof is None else proof.most]
    return min((num for num in known if num is not None), default=math.inf)


def _better_way(replayed: ReplayedPlaybook, optimum: Optimum) -> list[str]:
    objective, hidden, most = replayed.objective, replayed.real_size, optimum.most
    if optimum.exceeds(most, hidden):
        return [f"not optimal: {optimum.size_text(most)} can be anonymized, not only {hidden:.9g}"]
    if not most and replayed.playbook.status == "optimal":
        return ["not optimal but infeasible: no candidate can be anonymized"]
    if optimum.exceeds(hidden, most):
        return [f"at most {optimum.size_text(most)} can be anonymized, yet {hidden:.9g} seem to be"]
    name, reached, least = objective.name, objective.reached, optimum.least_for(most)
    if not most or reached is None or least is None:
        return []
    best = objective.figure(least, most)
    if objective.is_same(reached, best, most):
        return []
    if reached < best:
        return [f"the {name} {reached:.9g} lies below the least possible, {best:.9g}"]
    return [f"not optimal: a {name} of {best:.9g} is possible, this one is {reached:.9g} ({optimum.effort})"]


def check_anonymizable(replayed: ReplayedPlaybook, num_anonymizable: int | None) -> ClaimVerdict:
    """How many candidates some planner could anonymize."""
    stated, num_real = replayed.playbook.claims.num_anonymizable, len(replayed.protected)
    num_coverable = max(len(replayed.hideable), num_real)
    if stated is None:
        return judge("anonymizable", [], "no number is stated")
    faults = {
        f"states {stated}, fewer than the {num_real} it anonymizes": stated < num_real,
        f"states {stated}, but only {num_coverable} can be covered at all, or hidden": stated > num_coverable,
        f"states {stated}, yet says that nothing can be anonymized": replayed.playbook.status == "infeasible"
        and stated,
        f"states {stated} anonymizable candidates, in truth there are {num_anonymizable}": (
            num_anonymizable is not None and stated != num_anonymizable
        ),
    }
    problems = [fault for fault, is_found in faults.items() if is_found][:1]
    if num_anonymizable is None:
        return judge("anonymizable", problems, f"{stated} by the planner's word; too large to recount", checked=False)
    return judge("anonymizable", problems, f"{num_anonymizable} belong to some class that could be anonymized")


def check_partition(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """Classes hold each counted candidate once, except those listed as uncoverable.

    In a randomised playbook a candidate may stand in several anonymized classes, and then in nothing else.
    """
    survey, playbook = replayed.survey, replayed.playbook
    problems = []
    home: dict[int, tuple[str, bool]] = {}
    places = [(f"class {i}", group.members) for i, group in enumerate(playbook.classes)]
    overlapping = [group.anonymized and replayed.is_randomised for group in playbook.classes]
    everything = [*places, ("the uncoverable list", playbook.uncoverable)]
    for (place, members), may_overlap in zip(everything, [*overlapping, False], strict=True):
        for label in members:
            c = survey.find(label)
            if c is None:
                problems.append(f"{place} holds {label}, which is no candidate that counts")
            elif c in home and not (may_overlap and home[c][1] and home[c][0] != place):
                problems.append(f"{label} is both in {home[c][0]} and in {place}")
            else:
                home[c] = (place, may_overlap)
    missing = [c for c in survey.counted if c not in home]
    if missing:
        problems.append(f"in no class and not listed as uncoverable: {survey.names(missing)}")
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
    homes = f"{len(playbook.classes)} classes or among {len(playbook.uncoverable)} uncoverable"
    once = "stand" if replayed.is_randomised else "stand once each"
    return judge("partition", problems, f"{number(len(survey.counted), 'candidate')} {once} in {homes}")


def check_class_size(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """Every candidate claimed anonymized shares its first m nodes with candidates at k - 1 other nodes at least."""
    survey, k, m = replayed.survey, replayed.rule.k, replayed.playbook.privacy.m
    shared = "route" if m is None else first_nodes(m)
    lost = sorted({draw[0] for draw in replayed.listed if draw not in replayed.groups})
    problems = [f"without a sound route, and so nobody to hide among: {survey.names(lost)}"] if lost else []
    groups = {group.mask: replayed.num_places(group.mask) for group in replayed.claimed_groups}
    for group, size in groups.items():
        if size < k:
            num, who = group.bit_count(), survey.names(members_of(group))
            shown = f"nobody shares the {shared} of {who}" if num == 1 else f"only {who} share their {shared}"
            shown = shown if num else f"a {shared} is for places that are never the secret"
            found = f"{size}" if size == num else f"{number(num, 'name')} at {number(size, 'place')}"
            problems.append(f"{shown}: {found} where {k} are needed")
    if not groups:
        return judge("class-size", problems, "no class is said to be anonymized")
    sizes = f"{min(groups.values())} to {max(groups.values())}"
    return judge("class-size", problems, f"groups found by replaying have {sizes} members, k is {k}")


def check_spread(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """Enough members of each group stand at least ell apart; groups that are too small are left to ``class-size``."""
    survey, rule, apart = replayed.survey, replayed.rule, replayed.playbook.privacy.distance_text
    problems = []
    if not replayed.claimed:
        return judge("spread", [], "no class is said to be anonymized")
    if rule.is_all_pairs and not replayed.is_randomised:
        groups = replayed.groups
        for own in dict.fromkeys(groups[draw].mask & mask for draw, mask in replayed.listed.items() if draw in groups):
            problems += [
                f"{survey.name(a)} and {survey.name(b)} share a class but {_gap(gap)}, less than {apart}"
                for a, b, gap in rule.close_pairs(own)
            ]
        return judge("spread", problems, f"all members of each class are pairwise at least {apart} apart")
    if rule.beta is not None:
        area = area_text(replayed.playbook.privacy)
        return judge("spread", [], f"any {area} counts as one in the claim risk")
    for group in dict.fromkeys(group.mask for group in replayed.claimed_groups):
        needed = min(rule.k, group.bit_count())
        far = rule.largest_far_set(group, enough=needed)
        if far.size < needed:
            a, b, gap = rule.close_pairs(group)[0]
            most = f"at most {far.size}" if far.is_largest else f"no more than {far.size} were found that"
            problems.append(
                f"of {survey.names(members_of(group))} {most} are pairwise at least {apart} "
                f"apart where {rule.k} are needed; {survey.name(a)} and {survey.name(b)} {_gap(gap)}"
            )
    return judge("spread", problems, f"{rule.k} members of each group are pairwise at least {apart} apart")


def check_history(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """What earlier trips have left of those who look the same hides each candidate that is claimed anonymized."""
    survey, rule = replayed.survey, replayed.rule
    problems = []
    for draw in replayed.listed:
        left = replayed.short_history(draw, replayed.groups[draw]) if draw in replayed.groups else None
        if left is not None:
            needed = f"{rule.k} are needed"
            if rule.beta is not None:
                needed = f"no {area_text(replayed.playbook.privacy)} may exceed {rule.beta:.9g}"
            who = survey.names(members_of(left)) or "nobody"
            problems.append(f"whoever linked earlier trips of {survey.name(draw[0])} is left with {who} where {needed}")
    num = sum(c in rule.lines for c in replayed.claimed)
    shown = f"{number(num, 'candidate')} with a history stay hidden from who links the trips, as far as it says"
    return judge("history", problems, shown)


def _gap(gap: float) -> str:
    """How far two stand apart who are near each other."""
    return f"are only {gap:.6g} apart" if gap < math.inf else "stood nearer on an earlier trip's map"


def check_coverable(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """The counts of candidates and the list of those that no walk of every trip can cover."""
    survey, claims = replayed.survey, replayed.playbook.claims
    problems = []
    if claims.num_candidates != len(survey.counted):
        problems.append(f"states {claims.num_candidates} candidates that count, there are {len(survey.counted)}")
    if claims.num_coverable != len(survey.coverable):
        problems.append(f"states {claims.num_coverable} coverable candidates, there are {len(survey.coverable)}")
    listed, coverable = {survey.find(label) for label in replayed.playbook.uncoverable}, set(survey.coverable)
    for c in survey.counted:
        if (c in listed) == (c in coverable):
            said = "uncoverable, but a walk covers it" if c in listed else "coverable, but no walk covers it"
            problems.append(f"{survey.name(c)} counts as {said}{' on every trip' * (len(survey.trips) > 1)}")
    shown = f"{len(survey.coverable)} of {number(len(survey.counted), 'candidate')} can be covered"
    return judge("coverable", problems, shown)


def check_anonymized(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """The number of anonymized candidates is the number for which what was promised really holds."""
    stated, real = replayed.playbook.claims.num_anonymized, len(replayed.protected)
    lost = sorted(set(replayed.claimed).difference(replayed.protected))
    who = replayed.survey.names(lost)
    problems = []
    if stated != real:
        tail = f"; not anonymized in truth: {who}" if lost else ""
        problems.append(f"states {stated} anonymized candidates, in truth there are {real}{tail}")
    elif lost:
        problems.append(f"classes called anonymized hold {who}, for whom it is not true")
    alone = {draw[0] for draw in replayed.listed if draw in replayed.groups and not replayed.is_class_alone(draw)}
    if lost and alone:
        problems.append(f"the class of {replayed.survey.names(sorted(alone))} falls short by itself: they get no route")
    problems = problems or _refused_by_route(replayed)
    promise = "(k, ell, m)" if replayed.rule.beta is None else "the bound on the risk"
    return judge("anonymized", problems, f"{promise} holds for {number(real, 'candidate')}, as stated")


def check_apr(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """APR is anonymized over coverable candidates; delta is over those stated to be anonymizable, if there are any."""
    claims, num_real, num_coverable = replayed.playbook.claims, len(replayed.protected), len(replayed.survey.coverable)
    real = num_real / num_coverable if num_coverable else 0.0
    problems = [] if is_same(real, claims.apr) else [f"states an APR of {claims.apr:.6g}, in truth it is {real:.6g}"]
    if claims.delta is not None:
        delta = num_real / claims.num_anonymizable if claims.num_anonymizable else 0.0
        if not is_same(delta, claims.delta):
            problems.append(f"states a delta of {claims.delta:.6g}, in truth it is {delta:.6g}")
    missing = ["delta"] if claims.delta is None and claims.num_anonymizable else []
    return judge("apr", problems, f"{num_real} / {num_coverable} = {real:.6g}", missing=missing)


def check_walk(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """Every route starts at the trip's start, ends at its goal and follows edges."""
    routes = distinct_routes(replayed)
    problems = [
        f"the route for {who}{replayed.on_trip(trip)} {route.fault}" for route, who, trip in routes if route.fault
    ]
    steps = number(sum(max(0, len(route.nodes) - 1) for route, _, _ in routes), "step")
    shown = f"{number(len(routes), 'distinct route')} of {steps} lead from start to goal along edges"
    return judge("walk", problems, shown)


def check_coverage(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """Every candidate that gets a route is covered by it."""
    given = replayed.answers
    problems = [
        f"the route for {replayed.survey.name(c)}{replayed.on_trip(trip)} leaves it out: "
        f"none of its {number(len(route.nodes), 'node')} sees it"
        for (c, position, trip), route in given.items()
        if route.nodes and (c, position, trip) not in replayed.covered
    ]
    return judge("coverage", problems, f"each of {number(len(given), 'answer')} covers the candidate it was given for")


def check_cost(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """Stated costs are the sums of the edges; routes that are no walks have none and are left to ``walk``."""
    compared = [
        (f"the route for {who}{replayed.on_trip(trip)}", route.real_cost, route.stated_cost)
        for route, who, trip in distinct_routes(replayed)
        if route.real_cost is not None and route.stated_cost is not UNSTATED
    ]
    compared += [
        (f"the route shown for {place}", math.fsum(holder.steps[: len(shown) - 1]), shown.cost)
        for place, shown, holder in _shown_only(replayed)
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


def check_same_route(replayed: ReplayedPlaybook, written_apart: WrittenApart) -> ClaimVerdict:
    """All members of an anonymized class get the same first m nodes on every trip; no class is shown with others.

    And the same bytes in every format in which a route can be had.
    """
    m = replayed.playbook.privacy.m
    problems, num_compared = [], 0
    written: dict[str, list[Route]] = {}
    for position, group in enumerate(replayed.playbook.classes):
        members = replayed.members(group)
        if not group.anonymized or not members:
            continue
        for trip in range(len(replayed.survey.trips)):
            answers = [(c, replayed.routes.get((c, replayed.home(c, position), trip))) for c in members]
            num_compared += len(answers)
            where = f"class {position}{replayed.on_trip(trip)}"
            if problem := _first_difference(replayed, answers, m):
                problems.append(f"{where}: {problem}")
            else:
                written[where] = _as_promised(answers, trip, m)
        if m is None and group.member_routes:
            problems.append(f"class {position} holds routes of single members beside the one that all share")
    written = {where: routes for where, routes in written.items() if len(routes) > 1}
    formats = written_apart(replayed.playbook, list(written.values())) if written else []
    problems += [
        f"{where}: as {format} the routes of its members are not written alike"
        for where, format in zip(written, formats, strict=True)
        if format is not None
    ]
    problems += [
        f"{place}: the route shown is not the one that its members get"
        for place, _, holder in _shown_only(replayed)
        if holder is None
    ]
    shared = "whole route" if m is None else first_nodes(m)
    return judge("same-route", problems, f"the {shared} of {number(num_compared, 'answer')} agree within their classes")


def _refused_by_route(replayed: ReplayedPlaybook) -> list[str]:
    """Members of classes called anonymized to whom the playbook itself gives no route, or one of no class of theirs.

    The playbook is asked as `veilroute route` asks it: what it refuses there leaves a gap on the street.
    """
    playbook, problems = replayed.playbook, []
    for c in () if replayed.is_foreign else replayed.claimed:
        label = replayed.survey.label(c)
        for trip in range(len(replayed.survey.trips)):
            try:
                nodes = playbook.route_for(label, trip).nodes
            except (VeilrouteError, TypeError):  # a playbook that was not read from a file may hold anything
                problems.append(f"route gives none to {replayed.survey.name(c)}{replayed.on_trip(trip)}")
                continue
            known = (replayed.routes.get((c, home, trip)) for home in replayed.homes.get(c, ()))
            if not any(route is not None and route.labels == nodes for route in known):
                problems.append(f"route gives {replayed.survey.name(c)} another route{replayed.on_trip(trip)}")
    return problems


def _first_difference(
    replayed: ReplayedPlaybook, answers: list[tuple[int, ReplayedRoute | None]], m: int | None
) -> str:
    first, route = answers[0]
    for c, other in answers:
        if other is None or route is None:
            return f"{replayed.survey.name(c if other is None else first)} gets no route"
        a, b = route.labels[:m], other.labels[:m]
        if a != b:
            common = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            both = f"{replayed.survey.name(first)} and {replayed.survey.name(c)}"
            return f"{both} get different routes, told apart at node {common + 1}"
    return ""


def _as_promised(answers: list[tuple[int, ReplayedRoute | None]], trip: int, m: int | None) -> list[Route]:
    """The routes that members are given, as far as they are promised to be alike; one object that several get is one.

    None where one of them is no walk, which is said elsewhere.
    """
    routes = {id(route): route for _, route in answers if route is not None}
    if any(route.fault for route in routes.values()):
        return []
    return [
        Route(route.labels[:m], route.stated_cost if isinstance(route.stated_cost, int | float) else 0.0, trip)
        for route in routes.values()
    ]


def _shown_only(replayed: ReplayedPlaybook) -> Iterator[tuple[str, Route, ReplayedRoute | None]]:
    """Routes that stand for a class but that nobody gets, because each member has one of its own.

    With each of them comes its place, and a member's route that begins with it: for as long as the promise holds, where
    there is one.
    """
    given = {} if replayed.is_foreign else replayed.answers
    m = replayed.playbook.privacy.m
    for position, group in enumerate(replayed.playbook.classes):
        members = replayed.members(group)
        for trip, shown in enumerate(group.routes[: len(replayed.survey.trips)]):
            places = ((c, replayed.home(c, position), trip) for c in members)
            own = [given[each] for each in places if each in given]
            if own and all((trip, label) in group.member_routes for label in group.members):
                place = f"class {position}{replayed.on_trip(trip)}"
                least = m if group.anonymized or m is None else 1
                long_enough = (route for route in own if len(shown) >= len(route.labels[:least]))
                holders = (route for route in long_enough if route.labels[: len(shown)] == shown.nodes)
                yield place, shown, next(holders, None)


def distinct_routes(replayed: ReplayedPlaybook) -> list[tuple[ReplayedRoute, str, int]]:
    """Each route once, with the candidates that get it and the trip."""
    holders: dict[int, tuple[ReplayedRoute, list[int], int]] = {}
    for (c, _, trip), route in replayed.answers.items():
        holders.setdefault(id(route), (route, [], trip))[1].append(c)
    return [(route, replayed.survey.names(candidates), trip) for route, candidates, trip in holders.values()]
