"""The planner for fleets: classes that keep the tours of a day short, and not single trips.

It hides exactly those whom the exact partition for single trips hides, begins with that, and regroups them
(:mod:`veilroute.partition.day_tours`). What it goes by is public: how often each customer orders, and when it may be
visited.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from veilroute.base.arrays import Floats, Members, as_members
from veilroute.base.checks import check_finite
from veilroute.base.errors import InvalidInputError
from veilroute.base.io import dump_canonical
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.set_costs import ClassWalks
from veilroute.covering.task import CoveringTask, PostTable, prepare_task, who_can_hide
from veilroute.covering.walks import WalkSource
from veilroute.domain.graph import Label
from veilroute.domain.visibility import AtNode
from veilroute.model.day import Customer
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy, Problem
from veilroute.model.rules import Rule
from veilroute.partition import find_partitioner
from veilroute.partition.day_tours import DayTours, regroup_for_tours
from veilroute.planners.plan import Plan, among_all, plan_shared, plan_unproved

ORDERING_SHARE = 0.15  #: how many of the candidates order on a day, when nobody says
_FIRST_PART = 0.5
_OTHER_TIME = 0.5


def plan_fleet(
    problem: Problem,
    privacy: Privacy,
    *,
    seed: int,
    watch: Watch,
    orders_per_day: float | None = None,
    customers: Mapping[Label, Customer] | None = None,
    partition: Playbook | None = None,
) -> Plan:
    """Regroup those whom the exact partition hides, so that a day past all touched classes costs little.

    All members of a class share their whole walk on single trips, so the plan reaches (k, ell, m) for every m. The
    exact partition has half of a time limit; ``partition`` is a playbook of the same problem to begin with instead.

    Nothing is proved about the result. It depends on the seed, which decides what is drawn.
    """
    rates = order_rates(problem, orders_per_day, customers)
    watch.tell("covering fields")
    everyone = prepare_task(problem)
    task, rule = who_can_hide(problem, everyone, privacy)
    source: WalkSource = ClassWalks(task)
    is_stopped = False
    if partition is None:
        half = replace(watch, time_limit_s=None if watch.time_limit_s is None else watch.time_limit_s * _FIRST_PART)
        found = find_partitioner("exact", {}).function(problem, task, rule, seed=seed, watch=half)
        first, is_stopped = list(found.classes), found.is_stopped
        source = found.source or source
        watch.reserve_s = half.reserve_s
    else:
        first = _classes_of(partition, [problem.candidates[i] for i in task.members], rule)
    classes = sorted(first)
    if classes:
        try:
            watch.check()
            between = _between(problem, task, customers or {}, watch)
            days = DayTours(between, rates[list(task.members)], seed)
            classes, is_over = regroup_for_tours(classes, rule, days, seed=seed, watch=watch)
            is_stopped |= is_over
        except OutOfTimeError:
            is_stopped = True
    watch.tell("walks", 0, len(classes))
    planned = [plan_shared(task, members, source, is_anonymized=True) for members in classes]
    if not np.isfinite([each.costs for each in planned]).all():
        # One-way streets leave some class without a walk.
        planned = [plan_shared(task, members, source, is_anonymized=True) for members in first]
    options: dict[str, object] = {"orders_per_day": float(rates.sum()), "seed": seed, "stopped_early": is_stopped}
    if customers:
        public = [{"customer": label, **vars(each)} for label, each in customers.items()]
        options["customers_sha256"] = hashlib.sha256(dump_canonical(public)).hexdigest()
    return among_all(plan_unproved(task, planned, source, options), everyone)


def _classes_of(partition: Playbook, labels: Sequence[Label], rule: Rule) -> list[Members]:
    """The classes of a playbook as members of the task."""
    place = {label: at for at, label in enumerate(labels)}
    groups = [[place.pop(label, -1) for label in group.members] for group in partition.hidden_classes]
    if any(-1 in group or not rule.qualifies(group) for group in groups):
        raise InvalidInputError("partition", "a playbook of the same problem and privacy, which is not randomised")
    return [as_members(group) for group in groups]


def order_rates(
    problem: Problem, orders_per_day: float | None = None, customers: Mapping[Label, Customer] | None = None
) -> Floats:
    """How probable it is that each candidate orders on a day.

    Customers may have a rate of their own. What is left of ``orders_per_day`` is shared out among the others, evenly or
    in proportion to the prior; nobody orders more than once a day. Left out, it is 15 % of those without a rate.
    """
    num = len(problem.candidates)
    known = {} if customers is None else customers
    own = [known.get(label, Customer()).rate for label in problem.candidates]
    rates = np.array([0.0 if rate is None else rate for rate in own])
    is_open = np.array([rate is None for rate in own], dtype=np.bool_)
    weights = np.ones(num) if problem.prior is None else np.array(problem.prior, dtype=np.float64)
    is_open &= weights > 0
    if orders_per_day is None:
        left = ORDERING_SHARE * int(is_open.sum())
    else:
        check_finite("orders_per_day", orders_per_day, least=0)
        if not 0 < orders_per_day <= num:
            raise InvalidInputError("orders_per_day", f"a number above 0, at most {num} candidates", orders_per_day)
        left = max(0.0, orders_per_day - float(rates.sum()))
    while is_open.any() and left > 0:
        shares = weights * (left / float(weights[is_open].sum()))
        is_full = is_open & (shares >= 1)
        if not is_full.any():
            rates[is_open] = shares[is_open]
            break
        rates[is_full] = 1.0
        left -= int(is_full.sum())
        is_open &= ~is_full
    return rates


def _between(problem: Problem, task: CoveringTask, customers: Mapping[Label, Customer], watch: Watch) -> Floats:
    """What it costs between members at their own nodes, the mean of both directions; the depots of all trips are last.

    Two whose windows have no time in common are farther apart, by half of what it costs to come from a depot: whoever
    passes one has to come again for the other.
    """
    labels = [problem.candidates[i] for i in task.members]
    at_door = prepare_task(Problem(problem.domain, problem.trips, labels, AtNode()), range(len(labels)))
    table = PostTable(at_door.domain, at_door.posts)
    table.complete(watch)
    num = len(labels)
    between: Floats = np.full((num + 1, num + 1), np.inf)
    if at_door.members:
        owners, ends = np.array(at_door.members), at_door.posts.watch_ptr[:-1]
        order = at_door.posts.watch_posts
        least = np.minimum.reduceat(table.distances[np.ix_(order, order)], ends, axis=0)
        least = np.minimum.reduceat(least, ends, axis=1)
        between[np.ix_(owners, owners)] = (least + least.T) / 2 * at_door.unit
        depots = np.array(at_door.weights) @ (at_door.from_start + at_door.to_goal) / 2
        between[num, owners] = between[owners, num] = np.minimum.reduceat(depots[order], ends) * at_door.unit
    np.fill_diagonal(between, 0.0)
    finite = between[np.isfinite(between)]
    between[np.isinf(between)] = 10 * float(finite.max(initial=1.0))
    return _apart_in_time(between, labels, customers)


def _apart_in_time(between: Floats, labels: Sequence[Label], customers: Mapping[Label, Customer]) -> Floats:
    known = [customers.get(label, Customer()) for label in labels]
    opens = np.array([0.0 if each.opens_s is None else each.opens_s for each in known])
    closes = np.array([np.inf if each.closes_s is None else each.closes_s for each in known])
    is_before = closes[:, None] < opens
    between[:-1, :-1] += np.where(is_before | is_before.T, _OTHER_TIME * between[-1, :-1].mean(), 0.0)
    return between
