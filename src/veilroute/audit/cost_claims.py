"""Claims about what anonymity costs: MAC, its lower bound and optimality."""

from __future__ import annotations

import math
from dataclasses import dataclass

from veilroute.audit.case import Case, is_same
from veilroute.audit.certificate import Proof
from veilroute.audit.optimality import Optimum
from veilroute.audit.report import ClaimVerdict, judge, names, number
from veilroute.certificate import MAX_TRIED

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
