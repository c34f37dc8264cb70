"""The best plan that we can prove: the exact partitioner, at every m."""

from __future__ import annotations

from veilroute.planners.bounded import plan_bounded
from veilroute.planners.pbp import plan_pbp
from veilroute.planners.plan import Plan
from veilroute.problem import Privacy, Problem
from veilroute.progress import Watch


def plan_optimal(problem: Problem, privacy: Privacy, *, seed: int, watch: Watch) -> Plan:
    """Pbp with the exact partitioner for whole routes; for a finite m the plan that shares no more than it must."""
    if privacy.m is None:
        return plan_pbp(problem, privacy, seed=seed, watch=watch, partitioner="exact")
    return plan_bounded(problem, privacy, m=privacy.m, seed=seed, watch=watch)
