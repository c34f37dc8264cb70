"""The best plan that we can prove: Pbp over an optimal partition."""

from __future__ import annotations

from veilroute.planners.pbp import plan_pbp
from veilroute.planners.plan import Plan
from veilroute.problem import Privacy, Problem
from veilroute.progress import Watch


def plan_optimal(problem: Problem, privacy: Privacy, *, seed: int, watch: Watch) -> Plan:
    """Pbp with the exact partitioner: optimal for m = infinity, valid for every m."""
    return plan_pbp(problem, privacy, seed=seed, watch=watch, partitioner="exact")
