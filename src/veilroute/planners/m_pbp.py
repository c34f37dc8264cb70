"""m-Pbp (paper, section 5): Pbp's first m nodes, then each member's own cheapest way on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veilroute.covering.prefixes import Completions
from veilroute.covering.walks import walk_cost
from veilroute.planners.pbp import plan_pbp
from veilroute.planners.plan import Plan, PlannedClass, plan_parting
from veilroute.problem import Privacy, Problem
from veilroute.progress import Watch


def plan_m_pbp(
    problem: Problem, privacy: Privacy, *, seed: int, watch: Watch, partitioner: str = "exact", **options: Any
) -> Plan:
    """Plan as Pbp does and let the routes of a class part after m nodes.

    A member whose place the shared nodes have passed goes straight to the goal, the others past their places. A walk
    of at most m nodes is shared to its end, so the plan is Pbp's once m reaches the longest walk, or is infinite.
    """
    if privacy.m is not None:
        # Each member of a class gets a walk of its own.
        watch.walks_per_class += 2 * privacy.k
    plan = plan_pbp(problem, privacy, seed=seed, watch=watch, partitioner=partitioner, **options)
    if privacy.m is None:
        return plan
    completions = Completions(plan.task)
    parted = (part_after(group, privacy.m, completions) if group.is_anonymized else group for group in plan.classes)
    return replace(plan, classes=tuple(parted))


def part_after(group: PlannedClass, m: int, completions: Completions) -> PlannedClass:
    """The class with its walks shared for m nodes only."""
    routes = {}
    for trip, (walk, cost) in enumerate(zip(group.walks, group.costs, strict=True)):
        for member in group.members:
            if walk.size <= m:
                routes[trip, member] = (walk, cost)
            else:
                # To go on as the class does is one way to complete it.
                rest = walk_cost(completions.task.domain, walk[m - 1 :]) / completions.task.unit
                routes[trip, member] = completions.complete(walk[:m], member, trip, at_most=rest)
    return plan_parting(completions.task.domain, group.members, routes)
