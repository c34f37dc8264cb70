"""The best plan that we can prove: the exact partitioner, at every m.

The optimal plan for a finite m: each class priced by its best shared beginning.

The paper's m-Pbp cuts the best plan for whole routes after m nodes. Here classes are priced by what sharing m nodes
really costs, so the partition is made for this m. The size lemma holds as for whole routes, because two parts of a
class can keep its beginning (docs/theory, :ref:`The first m nodes <theory-prefixes>`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veilroute.arrays import Walk
from veilroute.covering.class_costs import ClassWalks
from veilroute.covering.prefixes import Completions, SharedPrefixes, find_prefixes, fits_memory, has_two_colours
from veilroute.covering.task import CoveringTask, k_and_ell, prepare_task
from veilroute.covering.walks import walk_cost
from veilroute.partition.bitmask import MAX_MEMBERS, mark_classes, partition_by_shares
from veilroute.partition.exact import is_tried, partition_by_columns
from veilroute.partition.result import Partition
from veilroute.planners.m_pbp import plan_m_pbp
from veilroute.planners.pbp import plan_pbp
from veilroute.planners.plan import Plan, PlannedClass, plan_alone, plan_parting
from veilroute.problem import Privacy, Problem, Rule
from veilroute.progress import OutOfTimeError, Watch


def plan_bounded(problem: Problem, privacy: Privacy, *, m: int, seed: int, watch: Watch) -> Plan:
    """An optimal plan, or m-Pbp's over the exact partition where that is too much work or the time is over.

    An m that no route of the best plan with whole routes comes near counts as infinite.

    Few candidates: every set is tried. More: column generation where walks can be padded
    (:func:`~veilroute.covering.prefixes.has_two_colours`) and what is kept fits the memory; elsewhere it is too much.
    """
    watch.tell("covering fields")
    task = prepare_task(problem)
    options: dict[str, object] = {"partitioner": "exact", "seed": seed}
    if not task.members:
        return Plan(task, (), True, None, 0, {**options, "stopped_early": False})
    whole = _plan_whole(problem, task, privacy, m, seed, watch)
    if whole is not None:
        return whole
    planned = None
    can_pad = has_two_colours(task.domain)
    rule = k_and_ell(problem, task, privacy)
    if is_tried(rule) or (len(task.members) <= MAX_MEMBERS and not can_pad):
        planned = _try_everything(problem, task, rule, m, watch)
    elif can_pad and fits_memory(task):
        planned = _generate(problem, task, rule, m, watch)
    if planned is None:
        return plan_m_pbp(problem, privacy, seed=seed, watch=watch, partitioner="exact")
    partition, anonymized = planned
    return Plan(
        task=task,
        classes=(*anonymized, *plan_alone(task, partition.left_out, ClassWalks(task))),
        is_optimal=partition.is_optimal,
        least_mean=partition.least_mean,
        num_anonymizable=partition.num_anonymizable,
        options={**options, "stopped_early": partition.is_stopped},
        certificate=partition.certificate,
    )


def _plan_whole(problem: Problem, task: CoveringTask, privacy: Privacy, m: int, seed: int, watch: Watch) -> Plan | None:
    """The best plan with whole routes, where going separate ways after m nodes is never worth it.

    Whoever does has paid for m - 1 edges by then, and so have at least k members of the class: where that alone costs
    more than the whole plan, and the plan leaves nobody out, it is the best one for this m as well.
    """
    paid = (m - 1) * float(task.domain.costs.min()) if task.domain.costs.size else 0.0
    if not paid > 2 * task.base_costs.max() or len(task.members) < privacy.k:
        return None
    extras = np.sort((paid - task.base_costs) * task.rates, axis=1)[:, : privacy.k].sum(axis=1)
    plan = plan_pbp(problem, replace(privacy, m=None), seed=seed, watch=watch)
    grouped = sum(len(group.members) for group in plan.classes if group.is_anonymized)
    if not plan.is_optimal or plan.least_mean is None or grouped < len(task.members):
        return None
    is_beyond = bool((np.array(task.weights) * extras > plan.least_mean * grouped).all())
    return plan if is_beyond else None


def _try_everything(
    problem: Problem, task: CoveringTask, rule: Rule, m: int, watch: Watch
) -> tuple[Partition, list[PlannedClass]] | None:
    """By bit masks: all classes, then all partitions."""
    family = mark_classes(rule)
    masks = np.flatnonzero(family.needed).astype(np.int64)
    masks = np.concatenate(([np.int64(0)], masks[np.argsort(np.bitwise_count(masks), kind="stable")]))
    classes = np.flatnonzero(family.qualifies).astype(np.int64)
    try:
        shared = find_prefixes(task, masks, classes, m, watch)
    except OutOfTimeError:
        return None
    if shared is None:
        return None
    labels = [problem.candidates[i] for i in task.members]
    partition = partition_by_shares(family, shared.shares, labels, None, watch, is_complete=True)
    completions = Completions(task)
    return partition, [plan_shared_prefix(task, members, shared, completions) for members in partition.classes]


def _generate(
    problem: Problem, task: CoveringTask, rule: Rule, m: int, watch: Watch
) -> tuple[Partition, list[PlannedClass]] | None:
    """By column generation; the classes that it chose then get their walks one by one, whatever the time."""

    def plan_class(members: tuple[int, ...]) -> PlannedClass | None:
        found = find_class_prefix(problem, task, members, m, Watch())
        return None if found is None else plan_class_prefix(members, *found)

    partition = partition_by_columns(problem, task, rule, watch=watch, m=m, write_down=plan_class)
    planned = []
    for number, members in enumerate(partition.classes):
        watch.tell("walks", number, len(partition.classes))
        group = plan_class(members)
        if group is None:
            return None
        planned.append(group)
    return partition, planned


def find_class_prefix(
    problem: Problem, task: CoveringTask, members: tuple[int, ...], m: int, watch: Watch
) -> tuple[CoveringTask, SharedPrefixes] | None:
    """The best beginning of one class by itself, in a task of its own; ``None`` as for :func:`find_prefixes`."""
    mine = prepare_task(problem, [task.members[i] for i in members])
    sets = np.arange(1 << len(members), dtype=np.int64)
    by_size = sets[np.argsort(np.bitwise_count(sets), kind="stable")]
    shared = find_prefixes(mine, by_size, sets[-1:], m, watch)
    return None if shared is None else (mine, shared)


def plan_class_prefix(members: tuple[int, ...], task: CoveringTask, shared: SharedPrefixes) -> PlannedClass:
    """The class that has a task of its own, as one of the task that ``members`` belong to."""
    group = plan_shared_prefix(task, tuple(range(len(members))), shared, Completions(task))
    own = {(trip, members[i]): route for (trip, i), route in group.own.items()}
    return replace(group, members=members, own=own)


def plan_shared_prefix(
    task: CoveringTask, members: tuple[int, ...], shared: SharedPrefixes, completions: Completions
) -> PlannedClass:
    """A class with the best beginning that was found for it, from which each member goes on its own way."""
    mask = sum(1 << i for i in members)
    routes: dict[tuple[int, int], tuple[Walk, float]] = {}
    for trip in range(task.num_trips):
        walk, is_whole = shared.walk(mask, trip)
        if is_whole:
            routes |= dict.fromkeys(((trip, i) for i in members), (walk, walk_cost(task.domain, walk)))
        else:
            routes |= {(trip, i): completions.complete(walk, i, trip) for i in members}
    return plan_parting(task.domain, members, routes)


def plan_optimal(problem: Problem, privacy: Privacy, *, seed: int, watch: Watch) -> Plan:
    """Pbp with the exact partitioner for whole routes; for a finite m the plan that shares no more than it must."""
    if privacy.m is None:
        return plan_pbp(problem, privacy, seed=seed, watch=watch, partitioner="exact")
    return plan_bounded(problem, privacy, m=privacy.m, seed=seed, watch=watch)
