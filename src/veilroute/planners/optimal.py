"""The best plan that we can prove: the exact partitioner underneath."""

from __future__ import annotations

from veilroute.planners.m_pbp import plan_m_pbp
from veilroute.planners.plan import Plan
from veilroute.problem import Privacy, Problem
from veilroute.progress import Watch


def plan_optimal(problem: Problem, privacy: Privacy, *, seed: int, watch: Watch) -> Plan:
    """m-Pbp with the exact partitioner: optimal for m = infinity, valid and without proof for a finite m."""
    return plan_m_pbp(problem, privacy, seed=seed, watch=watch, partitioner="exact")
