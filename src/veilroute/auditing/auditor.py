"""The audit itself: replay, check every claim, watch the anonymity set over time."""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from veilroute.auditing import claims, risk
from veilroute.auditing.binding import bind, check_instance, check_shown
from veilroute.auditing.claims import WrittenApart
from veilroute.auditing.class_search import count_anonymizable
from veilroute.auditing.detours import check_contingencies
from veilroute.auditing.driving import check_doors, check_turns
from veilroute.auditing.linked import audit_linked
from veilroute.auditing.mixtures import examine_mixture
from veilroute.auditing.optimality import find_optimum
from veilroute.auditing.proofs import check_certificate, examine_certificate
from veilroute.auditing.replay import Planner, ReplayedPlaybook, replay_playbook, watch_trips
from veilroute.auditing.verdicts import AuditReport, AuditSummary, ClaimVerdict, judge
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy, Problem


def check_playbook(
    playbook: Playbook,
    *,
    written_apart: WrittenApart,
    planner: Planner | None = None,
    instance: Problem | None = None,
    privacy: Privacy | None = None,
    unstated: Collection[str] = (),
    prior: Sequence[float] | None = None,
    ledger: str | Path | None = None,
) -> AuditReport:
    """What ``vr.audit`` does, which says what the parameters mean.

    ``written_apart`` finds members of a class whose files differ. It writes the files as `veilroute route` does, so it
    is judged here and no part of the judge: the caller brings it along. Without it the claim ``same-route`` would say
    less than it promises, so nobody can leave it out.
    """
    replayed = replay_playbook(playbook, planner)
    bound_to = bind(playbook, instance, privacy, unstated)
    survey, stated = replayed.survey, playbook.claims
    optimum = proof = num_anonymizable = None
    m = find_nodes_that_matter(replayed)
    if playbook.status != "feasible" or replayed.objective.bound is not None or stated.num_anonymizable is not None:
        # Only trying everything can settle such claims.
        optimum = None if replayed.is_randomised else find_optimum(survey, replayed.rule, m)
        num_anonymizable = count_anonymizable(replayed, m) if optimum is None else optimum.num_anonymizable
    if playbook.certificate is not None:
        examine = examine_mixture if replayed.is_randomised else examine_certificate
        proof = examine(replayed, playbook.certificate, m)
    has_shares = replayed.is_randomised or any(group.shares for group in playbook.classes)
    past = None if playbook.past is None or ledger is None else _check_past(playbook, ledger)
    is_past_unknown = playbook.past is not None and not (past is not None and past.holds)
    is_compared = instance is not None or privacy is not None
    verdicts: tuple[ClaimVerdict, ...] = (
        claims.check_walk(replayed),
        *filter(None, [check_turns(replayed)]),
        claims.check_coverage(replayed),
        *filter(None, [check_doors(replayed)]),
        claims.check_cost(replayed),
        claims.check_same_route(replayed, written_apart),
        claims.check_partition(replayed),
        claims.check_class_size(replayed),
        claims.check_spread(replayed),
        *([claims.check_history(replayed)] if playbook.past is not None else []),
        *([past] if past is not None else []),
        claims.check_coverable(replayed),
        claims.check_anonymized(replayed),
        *([risk.check_shares(replayed)] if has_shares else []),
        risk.check_risk(replayed),
        *([risk.check_prior(replayed, prior)] if prior is not None else []),
        claims.check_apr(replayed),
        claims.check_mac(replayed),
        claims.check_extra_cost(replayed),
        risk.check_hidden_mass(replayed),
        risk.check_expected_mac(replayed),
        check_certificate(proof),
        claims.check_bound(replayed, optimum, proof),
        claims.check_optimality(replayed, optimum, proof, num_anonymizable),
        claims.check_anonymizable(replayed, num_anonymizable),
        *([check_contingencies(playbook, survey, replayed.rule)] if playbook.contingencies else []),
        check_shown(playbook, bound_to),
        *([check_instance(bound_to)] if is_compared else []),
    )
    if is_past_unknown:
        verdicts = tuple(_under_unknown_past(verdict, replayed) for verdict in verdicts)
    return AuditReport(
        holds=all(verdict.holds for verdict in verdicts),
        claims=verdicts,
        anonymity=watch_trips(replayed),
        summary=AuditSummary(
            privacy=playbook.privacy,
            num_trips=len(survey.trips),
            num_candidates=len(survey.counted),
            num_coverable=len(survey.coverable),
            num_claimed=len(replayed.claimed),
            num_protected=len(replayed.protected),
        ),
        bound_to=bound_to,
        total_extra=replayed.real_costs.total_extra,
        worst_extra=replayed.real_costs.worst_extra,
        names=survey.called,
        playbook_sha256=playbook.sha256,
        is_past_unknown=is_past_unknown,
        observer=risk.observe(replayed),
    )


def _check_past(playbook: Playbook, ledger: str | Path) -> ClaimVerdict:
    """Whether the ledger says of earlier trips what the playbook says; of others in the ledger nothing is asked."""
    found = next(claim for claim in audit_linked([playbook], ledger=ledger).claims if claim.claim == "past")
    return found if not found.holds else judge("past", [], "planned under what the ledger had then")


def _under_unknown_past(verdict: ClaimVerdict, replayed: ReplayedPlaybook) -> ClaimVerdict:
    """The verdict on a playbook whose past nobody has checked: who could be hidden, and how well, depends on it."""
    playbook = replayed.playbook
    depends = {
        "history": True,
        "bound": replayed.objective.bound is not None,
        "optimality": playbook.status != "feasible",
        "anonymizable": playbook.claims.num_anonymizable is not None,
    }
    if not verdict.holds or not depends.get(verdict.claim, False):
        return verdict
    return replace(verdict, checked=False, evidence=f"under a past that was not given: {verdict.evidence}")


def find_nodes_that_matter(replayed: ReplayedPlaybook) -> int | None:
    """The playbook's m, or ``None`` where it is so large that classes share whole routes, as with no m at all.

    Whoever goes their own way after m nodes has paid for m - 1 edges, and so have at least k members of the class.
    Where that alone costs more, on every trip, than the sum stated, all classes of a plan that costs no more share
    whole routes. Only while everybody is anonymized who can be: to anonymize more, a plan may take any detour. And only
    in a partition: what is drawn seldom costs little, however long it is.
    """
    survey, objective, hidden = replayed.survey, replayed.objective, replayed.real_size
    k, m = replayed.playbook.privacy.k, replayed.playbook.privacy.m
    everybody = replayed.hideable
    if m is None or objective.stated is None or replayed.is_randomised or not set(everybody) <= set(replayed.protected):
        return m
    # With room for rounding: a MAC of 0 may be stated as a little less, which no detour could undercut.
    total = objective.total(max(0.0, objective.stated), hidden)
    total += objective.margin(total, hidden)
    least = (m - 1) * survey.walking.smallest_cost
    for trip, share in zip(survey.trips, survey.trip_shares, strict=True):
        extras = sorted(max(0.0, least - trip.base_costs[c]) * survey.weight(trip, c) for c in everybody)
        if share * math.fsum(extras[:k]) <= total:
            return m
    return None
