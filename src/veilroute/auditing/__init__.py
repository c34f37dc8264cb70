"""The adversary: replays a playbook for every candidate and checks each claim with code of its own.

It imports the data model (`domain`, `problem`, `playbook`) and nothing that plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.auditing.apartness import ClassRule, Spread, mask_of, members_of
    from veilroute.auditing.auditor import check_playbook, find_nodes_that_matter
    from veilroute.auditing.claims import check_bound, check_optimality, check_same_route
    from veilroute.auditing.class_search import ClassSearch, Workbench, count_anonymizable
    from veilroute.auditing.day import DayReport, Dispatcher, Order, PublicTerm, audit_day
    from veilroute.auditing.day_risk import observe_day
    from veilroute.auditing.detours import audit_replan
    from veilroute.auditing.driving import Lines
    from veilroute.auditing.legality import legal_map
    from veilroute.auditing.linked import LinkedCandidate, LinkedPlaybook, LinkedReport, LinkedStep, audit_linked
    from veilroute.auditing.mixtures import examine_mixture, whole_and_rest
    from veilroute.auditing.optimality import Optimum, find_optimum, price_prefixes
    from veilroute.auditing.pricing import PrefixPrices, SetPrices, can_pad, price_walks
    from veilroute.auditing.proofs import MAX_EFFORT, Combiner, Option, check_certificate, examine_certificate
    from veilroute.auditing.replay import Planner, ReplayedPlaybook, is_hidden, replay_playbook
    from veilroute.auditing.risk import measure_risk
    from veilroute.auditing.sightings import Observer, People, see_entry
    from veilroute.auditing.survey import SightLines, Survey, find_watchers, measured_map, survey_problem
    from veilroute.auditing.underway import audit_underway
    from veilroute.auditing.verdicts import (
        AnonymityStep,
        AuditReport,
        AuditSummary,
        BoundTo,
        ClaimVerdict,
        judge,
        names,
        number,
    )
    from veilroute.auditing.walking import TABLE_STEP, Effort, TooMuchError, WalkingMap

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = [
    "AnonymityStep",
    "AuditReport",
    "AuditSummary",
    "BoundTo",
    "ClaimVerdict",
    "DayReport",
    "Dispatcher",
    "LinkedCandidate",
    "LinkedPlaybook",
    "LinkedReport",
    "LinkedStep",
    "Planner",
    "PublicTerm",
    "audit_day",
    "audit_linked",
]
