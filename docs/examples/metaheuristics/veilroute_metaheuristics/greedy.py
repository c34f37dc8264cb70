"""The simplest partitioner: each candidate in turn, with those that make the cheapest group with it."""

from veilroute import OutOfTimeError
from veilroute.partition import BestPartition, Costs


def partition_greedy(problem, task, rule, *, seed, watch):
    costs = Costs(problem, task, watch)
    best = BestPartition(rule, costs)
    groups, left, is_stopped = [], list(range(len(task.members))), False
    try:
        while left:
            group = [left.pop(0)]
            while left and not rule.qualifies(group):
                nearest = min(left, key=lambda other: costs.mac_share([*group, other]))
                left.remove(nearest)
                group.append(nearest)
            groups.append(group)
    except OutOfTimeError:
        is_stopped = True
    best.offer(groups)
    return best.partition(is_stopped=is_stopped)
