"""The optimal partition, or the best one with a proved bound: whichever method fits the number of members.

Few members: every set is tried (:mod:`veilroute.partition.bitmask`). More: column generation
(:mod:`veilroute.partition.columns`), which says what its proof rests on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from veilroute.base.arrays import Members, as_members
from veilroute.base.errors import TooLargeError
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.set_costs import MAX_TOUR, ClassWalks
from veilroute.covering.task import CoveringTask
from veilroute.model.problem import Problem
from veilroute.model.rules import KAndEll, Rule
from veilroute.partition.bitmask import partition_by_bitmask
from veilroute.partition.first import first_partition, stopped_at_first
from veilroute.partition.limits import limits
from veilroute.partition.result import Partition, Record, better

if TYPE_CHECKING:
    from collections.abc import Callable

_EFFORT_PER_MEMBER = 400
_MANY_NEAR = 0.3


def partition_exact(problem: Problem, task: CoveringTask, rule: Rule, *, seed: int, watch: Watch) -> Partition:
    """An optimal partition, or the best that was found in time with a proved bound on the MAC.

    Complexity: see :mod:`veilroute.partition.bitmask` and :mod:`veilroute.partition.columns`. Ties: that partition of
    equal cost which the method meets first; it is the same one in every process.
    """
    has_tables = len(task.members) <= limits().tables
    if is_tried(rule) or (has_tables and _is_crowded(rule)):
        return partition_by_bitmask(problem, task, rule, watch=watch)
    found = partition_by_columns(problem, task, rule, watch=watch)
    if found.is_optimal or found.is_stopped or not has_tables:
        return found
    # Classes so large that they have no price there.
    return partition_by_bitmask(problem, task, rule, watch=watch)


def is_tried(rule: Rule) -> bool:
    """Whether every set of members is tried: they are few, or classes too large to be priced one by one."""
    now = limits()
    if rule.num <= now.tried or (rule.num <= now.tables and 2 * rule.least - 1 > MAX_TOUR):
        return True
    if rule.least > MAX_TOUR:
        expected = f"at most {MAX_TOUR} where more than {now.tables} candidates can be covered"
        raise TooLargeError("Privacy.k", expected, rule.least)
    return False


def _is_crowded(rule: Rule) -> bool:
    """Whether so many stand near each other that classes get large; tables do not mind how large they are."""
    if not isinstance(rule, KAndEll) or not rule.is_loose:
        return False
    num_pairs = rule.num * (rule.num - 1)
    return num_pairs - int(rule.far.sum()) > _MANY_NEAR * num_pairs


def partition_by_columns(
    problem: Problem, task: CoveringTask, rule: Rule, *, watch: Watch, m: int | None = None,
    write_down: Callable[[Members], object] | None = None,
) -> Partition:  # fmt: skip
    """An optimal partition of many members, or the best that was found in time with a proved bound on the MAC.

    Classes share whole walks or, on domains of two colours, their first ``m`` nodes. What it takes to ``write_down``
    the walks of the classes is left of the time.
    """
    # Here and not at the top: who plans for a dozen candidates need not wait until HiGHS is loaded.
    from veilroute.partition.class_space import ClassSpace
    from veilroute.partition.columns import (
        count_anonymizable,
        hide_more,
        make_certificate,
        prove_cost,
        prove_count,
    )
    from veilroute.partition.crowded_space import CrowdedSpace
    from veilroute.partition.local_search import anneal_classes, greedy_partition, improve
    from veilroute.partition.master import CLOSED
    from veilroute.partition.weighed_space import make_space

    num = len(task.members)
    space = make_space(task, rule)
    rank = np.argsort(space.order)
    source = ClassWalks(task, space.prices_of)
    first = first_partition(task, rule)
    has_walks = first.mac < math.inf
    if has_walks:
        watch.tell_improvement("distances", num, first.mac)
    source.keep_time(first.classes, watch, write_down)
    try:
        try:
            space.prepare(watch)
        except OutOfTimeError:
            # By now the machine may keep another pace, and have more time.
            source.keep_time(first.classes, watch, write_down)
            space.prepare(watch)
        # What comes next looks at all pairs without a look at the watch: not when there is a partition already.
        if has_walks:
            watch.check()
    except OutOfTimeError:
        return stopped_at_first(task, first.classes, source)
    begin = greedy_partition(space, watch)
    if has_walks:
        begin = better(begin, space.price(as_members(rank[list(members)].tolist()) for members in first.classes))
    record = Record(begin, watch)
    source.keep_time(space.named(begin.classes), watch, write_down)
    # Annealing knows no members who must not be together.
    is_annealed = isinstance(space, CrowdedSpace) and int(rule.together.sum()) == num * (num - 1)
    if is_annealed:
        record.offer(anneal_classes(space, record.best, watch))
    if not is_annealed or rule.least < limits().large_k:
        record.offer(improve(space, record.best, seed=0, effort=_EFFORT_PER_MEMBER * num, watch=watch))
    if m is not None:
        space = ClassSpace(task, rule, m=m)
        try:
            space.prepare(watch)
        except OutOfTimeError:
            record = Record(space.price(record.best.classes), watch)
            return space.partition(record, source, is_optimal=False, is_stopped=True)
        record = Record(space.price(record.best.classes), watch)
    if record.best.left_out and not rule.is_alike:
        hide_more(space, record, watch)
        if m is None:
            record.offer(improve(space, record.best, seed=0, effort=_EFFORT_PER_MEMBER * num, watch=watch))
    if record.best.left_out and not rule.is_alike:
        # Bounds are for a number of members that are left out, and here these are not alike.
        return space.partition(record, source, is_optimal=False, is_stopped=watch.is_over())
    count_prices = prove_count(space, record, watch) if record.best.left_out else None
    is_most = count_prices is not None or not record.best.left_out
    num_anonymizable = count_anonymizable(space, record.best, watch)
    if not record.best.classes:
        return space.partition(
            record, source, is_optimal=is_most, is_stopped=not is_most, num_anonymizable=num_anonymizable
        )
    proof = prove_cost(space, record, watch)
    best = record.best
    is_closed = best.total - proof.bound <= CLOSED * abs(best.total)
    bound = best.total if is_closed else proof.bound
    # That no plan costs less than nothing needs no evidence, and is no bound.
    is_bounded = is_closed or bound > 0
    labels = [problem.candidates[task.members[i]] for i in space.order.tolist()]
    return space.partition(
        record,
        source,
        is_optimal=is_closed and is_most,
        is_stopped=watch.is_over() and not (is_closed and is_most),
        least_mean=bound / best.hidden if is_bounded else None,
        num_anonymizable=num_anonymizable,
        certificate=make_certificate(proof, count_prices, labels) if is_bounded else None,
    )
