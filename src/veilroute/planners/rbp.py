"""Rbp, the random-walk-based planner (paper, section 5): m random nodes, then the cheapest way past each place."""

from __future__ import annotations

from veilroute.covering.task import prepare_task
from veilroute.planners.plan import Plan
from veilroute.planners.prefixes import plan_prefixes, require_finite_m
from veilroute.planners.random_walks import draw_walk, seeded
from veilroute.problem import Privacy, Problem
from veilroute.progress import Watch


def plan_rbp(problem: Problem, privacy: Privacy, *, seed: int, watch: Watch) -> Plan:
    """Draw the first m nodes of each trip, the same for everybody, and complete each member's route.

    The walk depends on the seed and the trip alone: a larger m continues it, and k plays no part. Where it runs into a
    dead end, or to where nobody comes back from, the members that cannot be covered any more get no route.
    """
    m = require_finite_m(privacy, "rbp")
    task = prepare_task(problem)
    prefixes = [
        draw_walk(problem.domain, start, seeded("rbp", seed, trip), lambda num_nodes, _last: num_nodes >= m, watch)
        for trip, start in enumerate(task.starts)
    ]
    return plan_prefixes(problem, privacy, task, [(range(len(task.members)), prefixes)], seed=seed, watch=watch)
