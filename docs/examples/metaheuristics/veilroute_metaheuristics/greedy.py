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
            while not rule.qualifies(group):
                others = [i for i in left if rule.together[i, group[-1]]]
                if not others:
                    break
                group.append(min(others, key=lambda i: costs.mac_share([*group, i])))
                left.remove(group[-1])
            if rule.qualifies(group):
                groups.append(group)
            else:  # too few are left: each joins the group to which it adds the least
                for i in group:
                    homes = [home for home in groups if rule.qualifies([*home, i])]
                    if homes:
                        min(homes, key=lambda home: costs.mac_share([*home, i]) - costs.mac_share(home)).append(i)
    except OutOfTimeError:
        is_stopped = True
    best.offer(groups)
    return best.partition(is_stopped=is_stopped)
