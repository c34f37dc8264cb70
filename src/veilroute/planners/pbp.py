"""Pbp, the partitioning-based planner (paper, Algorithm 1), and m-Pbp, whose routes part after m nodes (section 5)."""

from dataclasses import replace
from typing import Any

from veilroute.base.run import Watch
from veilroute.covering.prefixes import Completions
from veilroute.covering.set_costs import ClassWalks
from veilroute.covering.task import prepare_task, who_can_hide
from veilroute.covering.walks import walk_cost
from veilroute.model.problem import Privacy, Problem
from veilroute.partition import find_partitioner
from veilroute.planners.plan import (
    Plan,
    PlannedClass,
    among_all,
    plan_parting,
    plan_partition,
    plan_shared,
    rule_record,
    unproved,
)


def plan_pbp(
    problem: Problem, privacy: Privacy, *, seed: int, watch: Watch, partitioner: str = "exact", **options: Any
) -> Plan:
    """Group the candidates with ``partitioner`` and give each class the cheapest walk that covers it.

    All members of a class share their whole walk, so the plan reaches (k, ell, m) for every m. Whether it is the
    best one is claimed for m = infinity only: at finite m, routes may part earlier and cost less.
    """
    entry = find_partitioner(partitioner, options)
    watch.tell("covering fields")
    everyone = prepare_task(problem)
    task, rule = who_can_hide(problem, everyone, privacy)
    partition = entry.function(problem, task, rule, seed=seed, watch=watch, **options)
    source = partition.source or ClassWalks(task)
    anonymized = []
    for number, members in enumerate(partition.classes):
        watch.tell("walks", number, len(partition.classes))
        anonymized.append(plan_shared(task, members, source, is_anonymized=True))
    if privacy.m is not None or not rule.is_exact:
        # More candidates may be anonymizable as well, on directed graphs, than a shared walk can cover.
        partition = unproved(partition)
    record = {"partitioner": partitioner, **entry.record(options), "seed": seed, **rule_record(rule)}
    return among_all(plan_partition(task, partition, anonymized, source, record), everyone)


def plan_m_pbp(
    problem: Problem, privacy: Privacy, *, seed: int, watch: Watch, partitioner: str = "exact", **options: Any
) -> Plan:
    """Plan as Pbp does and let the routes of a class part after m nodes, each member's its own cheapest way on.

    A member whose place the shared nodes have passed goes straight to the goal, the others past their places. A walk
    of at most m nodes is shared to its end, so the plan is Pbp's once m reaches the longest walk, or is infinite.
    """
    if privacy.m is not None:
        # Each member of a class gets a walk of its own.
        watch.walks_per_class += 2 * privacy.k
        watch.has_bounds = False
    plan = plan_pbp(problem, privacy, seed=seed, watch=watch, partitioner=partitioner, **options)
    if privacy.m is None:
        return plan
    completions = Completions(plan.task)
    parted = (part_after(each, privacy.m, completions) if each.is_anonymized else each for each in plan.classes)
    return replace(plan, classes=tuple(parted))


def part_after(whole: PlannedClass, m: int, completions: Completions) -> PlannedClass:
    """The class with its walks shared for m nodes only."""
    routes = {}
    for trip, (walk, cost) in enumerate(zip(whole.walks, whole.costs, strict=True)):
        for member in whole.members:
            if walk.size <= m:
                routes[trip, member] = (walk, cost)
            else:
                # To go on as the class does is one way to complete it.
                rest = walk_cost(completions.task.domain, walk[m - 1 :]) / completions.task.unit
                routes[trip, member] = completions.complete(walk[:m], member, trip, at_most=rest)
    return plan_parting(completions.task.domain, whole.members, routes)
