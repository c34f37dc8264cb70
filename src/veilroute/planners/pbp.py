"""Pbp, the partitioning-based planner (paper, Algorithm 1): a partition, then one cheapest walk per class."""

from __future__ import annotations

from typing import Any

from veilroute.covering.class_costs import ClassWalks
from veilroute.covering.task import k_and_ell, prepare_task
from veilroute.partition import find_partitioner
from veilroute.planners.plan import Plan, plan_alone, plan_shared
from veilroute.problem import Privacy, Problem
from veilroute.progress import Watch


def plan_pbp(
    problem: Problem, privacy: Privacy, *, seed: int, watch: Watch, partitioner: str = "exact", **options: Any
) -> Plan:
    """Group the candidates with ``partitioner`` and walk each class together.

    All members of a class share their whole walk, so the plan reaches (k, ell, m) for every m. Whether it is the
    best one is claimed for m = infinity only: at finite m, routes may part earlier and cost less.
    """
    entry = find_partitioner(partitioner, options)
    watch.tell("covering fields")
    task = prepare_task(problem)
    partition = entry.function(problem, task, k_and_ell(problem, task, privacy), seed=seed, watch=watch, **options)
    source = partition.source or ClassWalks(task)
    anonymized = []
    for number, members in enumerate(partition.classes):
        watch.tell("walks", number, len(partition.classes))
        anonymized.append(plan_shared(task, members, source, is_anonymized=True))
    is_optimal = partition.is_optimal and privacy.m is None
    return Plan(
        task=task,
        classes=(*anonymized, *plan_alone(task, partition.left_out, source)),
        is_optimal=is_optimal,
        least_mean=partition.least_mean if privacy.m is None else None,
        # At finite m more candidates may be anonymizable, on directed graphs, than a shared walk can cover.
        num_anonymizable=partition.num_anonymizable if privacy.m is None else None,
        options={
            "partitioner": partitioner,
            **entry.record(options),
            "seed": seed,
            "stopped_early": partition.is_stopped,
        },
        certificate=partition.certificate if privacy.m is None else None,
    )
