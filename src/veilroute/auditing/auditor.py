"""The audit itself: replay, check every claim, watch the anonymity set over time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from veilroute.auditing.beginnings import is_beyond_every_route
from veilroute.auditing.binding import bind, check_instance, check_shown
from veilroute.auditing.claims import (
    check_anonymizable,
    check_anonymized,
    check_apr,
    check_bound,
    check_class_size,
    check_cost,
    check_coverable,
    check_coverage,
    check_mac,
    check_optimality,
    check_partition,
    check_same_route,
    check_spread,
    check_walk,
    recompute_mac,
)
from veilroute.auditing.optimality import count_anonymizable, find_optimum
from veilroute.auditing.proofs import check_certificate, examine_certificate
from veilroute.auditing.replay import ABSOLUTE, RELATIVE, Case, Planner, open_case, watch_trips
from veilroute.auditing.verdicts import AuditReport, AuditSummary, ClaimVerdict
from veilroute.playbook import Playbook
from veilroute.problem import Privacy, Problem


def audit_playbook(
    playbook: Playbook,
    *,
    planner: Planner | None = None,
    instance: Problem | None = None,
    privacy: Privacy | None = None,
    unstated: Collection[str] = (),
) -> AuditReport:
    """Check every claim of a playbook by playing the adversary, with code that planning does not share.

    Each candidate in turn is taken for the secret and its route asked for; what comes back is walked on the map,
    compared with the routes of all other candidates and priced. A bad route is a violated claim, not an exception.

    Parameters
    ----------
    playbook
        What to check; it must have its domain.
    planner
        Where the routes come from instead: called with a candidate's label and a trip, it returns a route or raises
        `NotAnonymizedError`. The claims are still those of the playbook.
    instance, privacy
        What was meant. With either there is one more claim, ``instance``: that the playbook is about this map, these
        trips and candidates in this order, this visibility, these names, and promises this privacy.
    unstated
        What of these nobody stated and is not to be compared: ``visibility`` or fields of the privacy, as in
        ``Instance.unstated``.

    Returns
    -------
    AuditReport
        A verdict per claim with the evidence, and the anonymity set over time.

    Raises
    ------
    InvalidInputError
        When the playbook holds only the hash of its domain, or names trips or candidates that the domain lacks.
    """
    case = open_case(playbook, planner)
    bound_to = bind(playbook, instance, privacy, unstated)
    facts = case.facts
    real = recompute_mac(case)
    optimum = proof = num_anonymizable = None
    m = find_nodes_that_matter(case)
    if _claims_optimum(playbook):
        optimum = find_optimum(facts, replace(playbook.privacy, m=m), case.standard.spread)
        num_anonymizable = count_anonymizable(case, m) if optimum is None else optimum.num_anonymizable
    if playbook.certificate is not None:
        proof = examine_certificate(case, playbook.certificate, m)
    claims: tuple[ClaimVerdict, ...] = (
        check_walk(case),
        check_coverage(case),
        check_cost(case),
        check_same_route(case),
        check_partition(case),
        check_class_size(case),
        check_spread(case),
        check_coverable(case),
        check_anonymized(case),
        check_apr(case),
        check_mac(case, real),
        check_certificate(proof),
        check_bound(case, real, optimum, proof),
        check_optimality(case, real, optimum, proof, num_anonymizable),
        check_anonymizable(case, num_anonymizable),
        check_shown(playbook, bound_to),
    )
    if instance is not None or privacy is not None:
        claims += (check_instance(bound_to),)
    return AuditReport(
        holds=all(verdict.holds for verdict in claims),
        claims=claims,
        anonymity=watch_trips(facts, case.replay, case.standard),
        summary=AuditSummary(
            privacy=playbook.privacy,
            num_trips=len(facts.trips),
            num_candidates=len(facts.counted),
            num_coverable=len(facts.coverable),
            num_claimed=len(case.claimed),
            num_protected=len(case.protected),
        ),
        bound_to=bound_to,
    )


def find_nodes_that_matter(case: Case) -> int | None:
    """The playbook's m, or ``None`` where it is so large that classes share whole routes, as with no m at all.

    Only while everybody is anonymized: to anonymize more, a plan may take any detour.
    """
    privacy, claims = case.playbook.privacy, case.playbook.claims
    if privacy.m is None or claims.mac is None or len(case.protected) < len(case.facts.coverable):
        return privacy.m
    # With room for rounding: a MAC of 0 may be stated as a little less, which no detour could undercut.
    mac_sum = (max(0.0, claims.mac) * (1 + RELATIVE) + ABSOLUTE) * len(case.protected)
    return None if is_beyond_every_route(case.facts, privacy.k, privacy.m, mac_sum) else privacy.m


def _claims_optimum(playbook: Playbook) -> bool:
    """Whether anything is claimed that only trying everything can settle."""
    claims = playbook.claims
    return playbook.status != "feasible" or claims.mac_lower_bound is not None or claims.num_anonymizable is not None
