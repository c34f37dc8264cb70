"""The best plan that we can prove: the exact partitioner, at every m.

For whole routes that is Pbp. For a finite m each class is priced by its best shared prefix. The paper's m-Pbp cuts the
best plan for whole routes after m nodes; here classes are priced by what sharing m nodes really costs, so the partition
is made for this m. The size lemma holds as for whole routes, because two parts of a class can keep its prefix
(docs/theory, :ref:`The first m nodes <theory-prefixes>`).
"""

from dataclasses import replace

import numpy as np

from veilroute.base.arrays import Members
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.prefixes import Completions, find_prefixes, fits_memory, has_two_colours
from veilroute.covering.set_costs import ClassWalks
from veilroute.covering.task import CoveringTask, mask_of, prepare_task, who_can_hide
from veilroute.model.problem import Privacy, Problem
from veilroute.model.rules import Rule
from veilroute.partition.bitmask import mark_classes, partition_by_shares
from veilroute.partition.exact import is_tried, partition_by_columns
from veilroute.partition.limits import limits
from veilroute.partition.result import Partition
from veilroute.planners.pbp import plan_m_pbp, plan_pbp
from veilroute.planners.plan import (
    Plan,
    PlannedClass,
    among_all,
    find_class_prefix,
    plan_partition,
    plan_prefix,
    rule_record,
    unproved,
)
from veilroute.planners.randomised import plan_randomised


def plan_optimal(problem: Problem, privacy: Privacy, *, seed: int, watch: Watch) -> Plan:
    """Pbp with the exact partitioner for whole routes; for a finite m the plan that shares no more than it must.

    For a finite m it is m-Pbp's over the exact partition where that is too much work or the time is over. An m that no
    route of the best plan with whole routes comes near counts as infinite. Few candidates: every set is tried. More:
    column generation where walks can be padded (:func:`~veilroute.covering.prefixes.has_two_colours`) and what is kept
    fits the memory; elsewhere it is too much.
    """
    m = privacy.m
    if privacy.mechanism == "randomised":
        return plan_randomised(problem, privacy, seed=seed, watch=watch)
    if m is None:
        return plan_pbp(problem, privacy, seed=seed, watch=watch, partitioner="exact")
    watch.tell("covering fields")
    everyone = prepare_task(problem)
    task, rule = who_can_hide(problem, everyone, privacy)
    options: dict[str, object] = {"partitioner": "exact", "seed": seed}
    if not task.members:
        nobody = Partition((), (), is_optimal=True, num_anonymizable=0)
        return among_all(plan_partition(task, nobody, (), ClassWalks(task), options), everyone)
    whole = _plan_whole(problem, task, rule, privacy, seed, watch)
    if whole is not None:
        return whole
    planned = None
    can_pad = has_two_colours(task.domain)
    if is_tried(rule) or (len(task.members) <= limits().tables and not can_pad):
        planned = _try_everything(problem, task, rule, m, watch)
    elif can_pad and fits_memory(task):
        planned = _generate(problem, task, rule, m, watch)
        if not rule.is_alike and not (planned[0].is_optimal or planned[0].is_stopped):
            # Columns prove nothing where somebody is left out; tables do, for as many as they have room for.
            few = len(task.members) <= limits().tables
            planned = (few and _try_everything(problem, task, rule, m, watch)) or planned
    if planned is None:
        return plan_m_pbp(problem, privacy, seed=seed, watch=watch, partitioner="exact")
    partition, anonymized = planned
    if not rule.is_exact:
        partition = unproved(partition)
    options |= rule_record(rule)
    return among_all(plan_partition(task, partition, anonymized, ClassWalks(task), options), everyone)


def _plan_whole(
    problem: Problem, task: CoveringTask, rule: Rule, privacy: Privacy, seed: int, watch: Watch
) -> Plan | None:
    """The best plan with whole routes, where going separate ways after m nodes is never worth it.

    Whoever does has paid for m - 1 edges by then, and so have at least k members of the class: where that alone costs
    more than the whole plan, and the plan leaves nobody out, it is the best one for this m as well.
    """
    least, m = rule.least, privacy.m or 1
    paid = (m - 1) * float(task.domain.costs.min()) if task.domain.costs.size else 0.0
    if not paid > 2 * task.base_costs.max() or len(task.members) < least:
        return None
    extras = np.sort((paid - task.base_costs) * task.rates, axis=1)[:, :least].sum(axis=1)
    watch.has_bounds = False
    plan = plan_pbp(problem, replace(privacy, m=None), seed=seed, watch=watch)
    watch.has_bounds = True
    grouped = sum(len(each.members) for each in plan.classes if each.is_anonymized)
    if not plan.is_optimal or plan.least_mean is None or grouped < len(task.members):
        return None
    total = plan.least_mean * float(rule.worth.sum())
    is_beyond = bool((np.array(task.weights) * extras > total).all())
    return plan if is_beyond else None


def _try_everything(
    problem: Problem, task: CoveringTask, rule: Rule, m: int, watch: Watch
) -> tuple[Partition, list[PlannedClass]] | None:
    """By bit masks: all classes, then all partitions."""
    family = mark_classes(rule)
    try:
        shared = find_prefixes(task, family.needed, family.qualifies, m, watch)
    except OutOfTimeError:
        return None
    if shared is None:
        return None
    labels = [problem.candidates[i] for i in task.members]
    partition = partition_by_shares(family, shared.shares, labels, None, watch, is_complete=True)
    completions = Completions(task)
    return partition, [plan_prefix(members, shared, mask_of(members), completions) for members in partition.classes]


def _generate(
    problem: Problem, task: CoveringTask, rule: Rule, m: int, watch: Watch
) -> tuple[Partition, list[PlannedClass]]:
    """By column generation; the classes that it chose then get their walks one by one, whatever the time."""
    completions = Completions(task)

    def plan_class(members: Members) -> PlannedClass:
        shared = find_class_prefix(task, members, m, Watch())
        assert shared is not None, "where walks can be padded, no class is too much work"
        return plan_prefix(members, shared, (1 << len(members)) - 1, completions)

    partition = partition_by_columns(problem, task, rule, watch=watch, m=m, write_down=plan_class)
    planned = []
    for number, members in enumerate(partition.classes):
        watch.tell("walks", number, len(partition.classes))
        planned.append(plan_class(members))
    return partition, planned
