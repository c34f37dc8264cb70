"""The authors' reading of m, so that the rows that they published can be computed again: never to plan with.

In the program of the paper's authors m is *ratio times the base cost of the secret*. So the number of nodes that two
members of a class share depends on which of them is the secret, and whoever counts them learns something: these figures
are **unsafe**, and no playbook comes of them. What else the program does:

- m-Pbp parts after m steps, that is after m + 1 nodes.
- Rbp draws one walk, of which each secret takes its first m nodes, and does not notice places that the walk has passed.
  Its program adds the cost of these nodes to a variable that is never set back to 0. So the cost of each candidate
  holds those of the walks of all candidates before it; that is the row *carried*, and it is the published one.
- Cbp's centre has the least *sum* of distances to its members; m nodes towards it, or a padded walk of m steps to it.
"""

import math
from collections.abc import Iterator
from itertools import accumulate

from veilroute import metrics
from veilroute.arrays import Walk
from veilroute.bench.cells import CARRIED, Method, Outcome
from veilroute.covering.prefixes import Completions
from veilroute.covering.task import CoveringTask, prepare_task
from veilroute.covering.walks import Sweeper, walk_cost
from veilroute.errors import InvalidInputError
from veilroute.planners import find_planner
from veilroute.planners.cbp import cluster_members, lead_to
from veilroute.planners.rbp import draw_walk, seeded
from veilroute.problem import Privacy, Problem
from veilroute.progress import Watch

Priced = tuple[int, float]  #: a member and what its route costs


def read_as_authors(
    problem: Problem, privacy: Privacy, method: Method, ratio: float, *, is_carried: bool, seed: int, watch: Watch
) -> Outcome:
    """What a method of the paper costs when m follows the secret; without times, which the caller takes.

    ``privacy`` has no m. ``is_carried``, for Rbp only, asks for the published sums.
    """
    task = prepare_task(problem)
    is_stopped = False
    if method.planner == "rbp":
        priced = list(_price_rbp(task, ratio, seed, watch, is_carried=is_carried))
    elif is_carried:
        raise InvalidInputError("reading", f"{CARRIED} for Rbp only", method.name)
    elif method.planner == "cbp":
        priced = list(_price_cbp(task, privacy.k, ratio, seed, watch))
    elif method.planner == "m-pbp":
        plan = find_planner("pbp", method.options)(problem, privacy, seed=seed, watch=watch, **method.options)
        task, is_stopped = plan.task, bool(plan.options.get("stopped_early"))
        whole = [(i, group.walks[0]) for group in plan.classes if group.is_anonymized for i in group.members]
        priced = [(i, _price_part(task, i, walk, _m_of(task, i, ratio) + 1)) for i, walk in whole]
    else:
        raise InvalidInputError("reading", "rbp, cbp or m-pbp for the authors' m", method.name)
    priced = [(i, cost) for i, cost in priced if math.isfinite(cost)]
    costs, base = [cost for _, cost in priced], [float(task.base_costs[0, i]) for i, _ in priced]
    smallest = problem.domain.smallest_positive_cost
    mac = metrics.mean_anonymization_cost(costs, base, smallest_positive_cost=smallest)
    num = len(task.members)
    return Outcome(
        "feasible", not is_stopped, num_coverable=num, num_anonymized=len(priced),
        apr=metrics.anonymized_path_ratio(len(priced), num), mac=None if mac is None else float(mac),
    )  # fmt: skip


def _m_of(task: CoveringTask, member: int, ratio: float) -> int:
    """The authors' m: a number of steps, rounded down."""
    return int(ratio * float(task.base_costs[0, member]))


def _price_rbp(task: CoveringTask, ratio: float, seed: int, watch: Watch, *, is_carried: bool) -> Iterator[Priced]:
    members = range(len(task.members))
    lengths = [max(1, _m_of(task, i, ratio)) for i in members]
    longest = max(lengths, default=1)
    walk = draw_walk(task.domain, task.starts[0], seeded("rbp", seed, 0), lambda num, _last: num >= longest, watch)
    firsts = [walk_cost(task.domain, walk[:length]) for length in lengths]
    paid = list(accumulate(firsts)) if is_carried else firsts
    for i in members:
        yield i, paid[i] + _way_on(task, i, walk[: lengths[i]])


def _price_cbp(task: CoveringTask, k: int, ratio: float, seed: int, watch: Watch) -> Iterator[Priced]:
    backward = Sweeper(task.domain, backward=True, num_seeds=1)
    for cluster in cluster_members(task, k, seed=seed, watch=watch, centre="sum"):
        distance = float(backward.run(cluster.centroid)[task.starts[0]])
        for i in cluster.members:
            m = _m_of(task, i, ratio)
            num_nodes = m + 1 if m > distance else max(1, m)
            lead = lead_to(task, cluster, num_nodes, 0, seed, backward, watch)
            yield i, walk_cost(task.domain, lead) + _way_on(task, i, lead) if lead.size else math.inf


def _price_part(task: CoveringTask, member: int, walk: Walk, num_shared: int) -> float:
    """What a member pays who leaves a walk after so many nodes, past its place if the walk has not passed it."""
    if walk.size <= num_shared:
        return walk_cost(task.domain, walk)
    return Completions(task).complete(walk[:num_shared], member, 0)[1]


def _way_on(task: CoveringTask, member: int, walk: Walk) -> float:
    """What it costs from the end of a walk past a member's place to the goal, whatever the walk has passed."""
    return Completions(task).complete(walk[-1:], member, 0)[1] if walk.size else math.inf
