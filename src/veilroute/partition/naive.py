"""Naive: random groups of k (paper, section 6, baseline 1).

The paper splits its candidates into pairs. For any k: members are shuffled and cut into groups of k, and those left
over join the last group. Nothing is optimised, and a group that no walk covers, or whose members stand too close, is
not repaired: its members are left out.
"""

import random

import numpy as np

from veilroute.arrays import as_members
from veilroute.covering.engines import CoverMemo
from veilroute.covering.task import CoveringTask
from veilroute.partition.result import Partition, k_and_ell_only, outside
from veilroute.problem import Problem
from veilroute.progress import OutOfTimeError, Watch
from veilroute.rules import Rule


def partition_naive(
    problem: Problem,
    task: CoveringTask,
    rule: Rule,
    *,
    seed: int,
    watch: Watch,
    engine: str | None = None,
    heuristic: str | None = None,
) -> Partition:
    """Draw a partition, with the seed and nothing else.

    ``engine`` and ``heuristic`` choose what finds covering walks, see :class:`~veilroute.covering.engines.CoverMemo`.
    """
    rule = k_and_ell_only(rule)
    num, k = len(task.members), rule.least
    memo = CoverMemo(task, engine=engine, heuristic=heuristic)
    order = list(range(num))
    random.Random(f"veilroute-naive-{seed}").shuffle(order)
    ends = [*range(k, num - k + 1, k), num] if num >= k else []
    groups = [as_members(order[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
    classes = []
    cost = 0.0
    is_over = False
    for group in groups:
        try:
            costs = memo.costs(group, watch)
        except OutOfTimeError:  # and so would each of the others, after a greedy walk
            is_over = True
            break
        is_over = is_over or costs is None
        if costs is None or np.isinf(costs).any() or not rule.qualifies(group):
            continue
        classes.append(group)
        members = list(group)
        extra = (costs[:, None] - task.base_costs[:, members]) * task.rates[:, members]
        cost += float(np.array(task.weights) @ extra.sum(axis=1))
    watch.count("partitions", 1)
    num_grouped = sum(map(len, classes))
    improvements = [watch.tell_improvement("partition", num_grouped, cost / num_grouped)] if classes else []
    return Partition(
        classes=tuple(sorted(classes)),
        left_out=outside(num, classes),
        is_optimal=False,
        is_stopped=is_over,
        improvements=tuple(improvements),
        source=memo,
    )
