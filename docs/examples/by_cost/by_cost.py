from veilroute.covering import ClassWalks, k_and_ell, prepare_task
from veilroute.planners import Plan, plan_alone, plan_shared


def plan_by_cost(problem, privacy, *, seed, watch, size=2):
    """Line the candidates up by what each costs to cover alone, and cut the line into classes of `size`."""
    task = prepare_task(problem)
    rule, walks = k_and_ell(problem, task, privacy), ClassWalks(task)
    line = task.base_costs.sum(axis=0).argsort(kind="stable").tolist()
    size = max(size, privacy.k)
    groups = [tuple(sorted(line[i : i + size])) for i in range(0, len(line), size)]
    groups = [group for group in groups if rule.qualifies(group) and walks.has_walks(group)]
    left_out = sorted(set(line).difference(*groups))
    hidden = [plan_shared(task, group, walks, is_anonymized=True) for group in groups]
    return Plan(task, (*hidden, *plan_alone(task, left_out, walks)))
