"""The optimal plan for a finite m: each class priced by its best shared beginning (theory, section 5).

The paper's m-Pbp cuts the best plan for whole routes after m nodes. Here classes are priced by what sharing m nodes
really costs, so the partition is made for this m. Classes of k to 2k - 1 members suffice as before: two halves of a
class can keep its beginning.
"""

from __future__ import annotations

import numpy as np

from veilroute.covering.completions import Completions
from veilroute.covering.fields_engine import FieldsEngine
from veilroute.covering.prefixes import SharedBeginnings, find_beginnings
from veilroute.covering.task import CoveringTask, prepare_task
from veilroute.covering.walks import Walk, walk_cost
from veilroute.partition.exact import mark_classes, partition_by_shares
from veilroute.planners.m_pbp import plan_m_pbp
from veilroute.planners.plan import Plan, PlannedClass, plan_alone, plan_parting
from veilroute.problem import Privacy, Problem
from veilroute.progress import Watch


def plan_bounded(problem: Problem, privacy: Privacy, *, m: int, seed: int, watch: Watch) -> Plan:
    """An optimal plan, or m-Pbp's over the exact partition where that is too much work or the time is over.

    Complexity: see :func:`veilroute.covering.prefixes.find_beginnings`, then the exact partition.
    """
    watch.tell("covering fields")
    task = prepare_task(problem)
    options: dict[str, object] = {"partitioner": "exact", "seed": seed}
    if not task.members:
        return Plan(task, (), True, None, 0, {**options, "stopped_early": False})
    family = mark_classes(problem, task, privacy)
    masks = np.flatnonzero(family.needed).astype(np.int64)
    masks = np.concatenate(([np.int64(0)], masks[np.argsort(np.bitwise_count(masks), kind="stable")]))
    classes = np.flatnonzero(family.qualifies).astype(np.int64)
    shared = find_beginnings(task, masks, classes, m, watch)
    if shared is None:
        return plan_m_pbp(problem, privacy, seed=seed, watch=watch, partitioner="exact")
    partition = partition_by_shares(family, shared.shares, None, watch, is_complete=True)
    completions = Completions(task)
    anonymized = [_plan_class(task, members, shared, completions) for members in partition.classes]
    return Plan(
        task=task,
        classes=(*anonymized, *plan_alone(task, partition.left_out, FieldsEngine(task))),
        is_optimal=partition.is_optimal,
        mac_lower_bound=partition.least_mac,
        num_anonymizable=partition.num_anonymizable,
        options={**options, "stopped_early": partition.is_stopped},
    )


def _plan_class(
    task: CoveringTask, members: tuple[int, ...], shared: SharedBeginnings, completions: Completions
) -> PlannedClass:
    mask = sum(1 << i for i in members)
    routes: dict[tuple[int, int], tuple[Walk, float]] = {}
    for trip in range(task.num_trips):
        walk, is_whole = shared.walk(mask, trip)
        if is_whole:
            routes |= dict.fromkeys(((trip, i) for i in members), (walk, walk_cost(task.domain, walk)))
        else:
            routes |= {(trip, i): completions.complete(walk, i, trip) for i in members}
    return plan_parting(members, routes)
