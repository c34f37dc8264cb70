"""The adversary: replays a playbook for every candidate and checks each claim with code of its own.

It imports the data model (`domain`, `problem`, `playbook`) and nothing that plans.
"""

from veilroute.auditing.auditor import audit_playbook
from veilroute.auditing.day import DayReport, Dispatcher, PublicTerm, audit_day
from veilroute.auditing.linked import LinkedCandidate, LinkedPlaybook, LinkedReport, LinkedStep, audit_linked
from veilroute.auditing.replay import Planner
from veilroute.auditing.verdicts import AnonymityStep, AuditReport, AuditSummary, BoundTo, ClaimVerdict

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
    "audit_playbook",
]
