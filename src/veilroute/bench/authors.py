"""The paper's methods as its authors' program runs them, for the published figures. Do not plan with them.

In that program m is *ratio times the base cost of the secret*. So the number of nodes that two members of a class share
depends on which of them is the secret, and an observer who counts them learns something: these figures are **unsafe**,
and no playbook comes of them. What else the program does, and which option of ours does it:

- Naive draws its pairs with the seed 42 (``shuffle`` ``libstdc++``).
- Of walks of equal cost, A* finds another one than ours (``tie_break`` ``last-made``, ``sighting`` ``leaving``). m-Pbp
  parts after m steps of it, that is after m + 1 nodes.
- Cbp's centre has the least *sum* of distances to its members (``centre`` ``sum``), its first clusters are the
  candidates as listed (``cluster_order`` ``listed``), and the walk to a centre is aimed at the goal
  (``centre_heuristic`` ``to-goal``). Members share m nodes of it, or a padded walk of m steps to the centre.
- Rbp draws one walk, of which each secret takes its first m nodes, and does not notice places that the walk has passed.
  The program adds the cost of these nodes to a variable that is never set back to 0. So the cost of each candidate
  holds those of the walks of all candidates before it; that is the row *carried*, and it is the published one.

Options that a method states itself go before these, so that a study can measure what each of them does.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import accumulate

import numpy as np

from veilroute.base.arrays import Indices, Walk
from veilroute.base.errors import InvalidInputError
from veilroute.base.registry import Plain
from veilroute.base.run import Watch
from veilroute.bench.cells import CARRIED, Method, Outcome
from veilroute.covering.astar import edge_order
from veilroute.covering.prefixes import Completions
from veilroute.covering.task import CoveringTask, prepare_task
from veilroute.covering.walks import Sweeper, walk_cost
from veilroute.model import metrics
from veilroute.model.problem import Privacy, Problem
from veilroute.planners import find_planner
from veilroute.planners.cbp import Leads, cluster_members

Priced = tuple[int, float]  #: a member and what its route costs

_SEED = 42  # of every generator in the program
_OPTIONS: Mapping[str, Mapping[str, Plain]] = {
    "naive": {"shuffle": "libstdc++"},
    "m-pbp": {"tie_break": "last-made", "sighting": "leaving"},
    "cbp": {"centre": "sum", "cluster_order": "listed", "centre_heuristic": "to-goal"},
}


def read_as_authors(
    problem: Problem, privacy: Privacy, method: Method, ratio: float | None, *, is_carried: bool, watch: Watch
) -> Outcome:
    """What a method of the paper costs in the authors' program; without times, which the caller takes.

    ``privacy`` has no m; ``ratio`` is m over the base cost of the secret, and there is none for Naive. ``is_carried``,
    for Rbp only, asks for the published sums.
    """
    is_naive = method.partitioner == "naive"
    if (ratio is None) != is_naive:
        raise InvalidInputError("reading", "a finite m for the authors' rbp, cbp and m-pbp, and none for naive", ratio)
    if is_carried and method.planner != "rbp":
        raise InvalidInputError("reading", f"{CARRIED} for Rbp only", method.name)
    options = {**_OPTIONS.get("naive" if is_naive else method.planner, {}), **method.options}
    task = prepare_task(problem)
    is_stopped = False
    if method.planner == "rbp":
        priced = list(_price_rbp(task, ratio or 0.0, is_carried=is_carried))
    elif method.planner == "cbp":
        priced = list(_price_cbp(task, privacy.k, ratio or 0.0, options, watch))
    elif is_naive or method.planner == "m-pbp":
        plan = find_planner("pbp", options)(problem, privacy, seed=_SEED, watch=watch, **options)
        task, is_stopped = plan.task, bool(plan.options.get("stopped_early"))
        whole = [(i, group.walks[0]) for group in plan.classes if group.is_anonymized for i in group.members]
        priced = [(i, _price_part(task, i, walk, ratio)) for i, walk in whole]
    else:
        raise InvalidInputError("reading", "rbp, cbp, m-pbp or naive for the authors' reading", method.name)
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
    """The authors' m: a number of steps, rounded down from a product of single precision."""
    return int(np.float32(ratio) * np.float32(task.base_costs[0, member]))


def _price_rbp(task: CoveringTask, ratio: float, *, is_carried: bool) -> Iterator[Priced]:
    members = range(len(task.members))
    lengths = [max(1, _m_of(task, i, ratio)) for i in members]
    walk = _draw_walk(task, max(lengths, default=1))
    firsts = [walk_cost(task.domain, walk[:length]) for length in lengths]
    paid = list(accumulate(firsts)) if is_carried else firsts
    for i in members:
        yield i, paid[i] + _way_on(task, i, walk[: lengths[i]])


def _draw_walk(task: CoveringTask, num_nodes: int) -> Walk:
    """The random walk of the program, which ends early at a node that no edge leaves.

    Each step takes one number of the Mersenne Twister mt19937 (Matsumoto and Nishimura 1998) to one of the d edges, as
    ``std::uniform_int_distribution`` of GNU's library does: 2**32 numbers are divided into d equal parts, and what is
    beyond them is drawn again.
    """
    domain, twister = task.domain, np.random.RandomState(_SEED)
    heads: Indices = domain.indices[edge_order(domain)]
    walk = [int(task.starts[0])]
    while len(walk) < num_nodes:
        choices = heads[domain.indptr[walk[-1]] : domain.indptr[walk[-1] + 1]]
        if not choices.size:
            break
        width = (2**32 - 1) // choices.size
        while (part := int(twister.randint(2**32, dtype=np.uint32)) // width) >= choices.size:
            pass
        walk.append(int(choices[part]))
    return np.array(walk, dtype=np.int64)


def _price_cbp(
    task: CoveringTask, k: int, ratio: float, options: Mapping[str, Plain], watch: Watch
) -> Iterator[Priced]:
    backward = Sweeper(task.domain, backward=True, num_seeds=1)
    leads = Leads(task, _SEED, watch, str(options["centre_heuristic"]))
    order, centre = str(options["cluster_order"]), str(options["centre"])
    for cluster in cluster_members(task, k, seed=_SEED, watch=watch, centre=centre, cluster_order=order):
        distance = float(backward.run(cluster.centroid)[task.starts[0]])
        for i in cluster.members:
            m = _m_of(task, i, ratio)
            lead = leads.find(cluster, m + 1 if m > distance else max(1, m), 0)
            yield i, walk_cost(task.domain, lead) + _way_on(task, i, lead) if lead.size else math.inf


def _price_part(task: CoveringTask, member: int, walk: Walk, ratio: float | None) -> float:
    """What a member pays that leaves a walk after its m steps, past its place if the walk has not passed it."""
    num_shared = walk.size if ratio is None else _m_of(task, member, ratio) + 1
    if walk.size <= num_shared:
        return walk_cost(task.domain, walk)
    return Completions(task).complete(walk[:num_shared], member, 0)[1]


def _way_on(task: CoveringTask, member: int, walk: Walk) -> float:
    """What it costs from the end of a walk past a member's place to the goal, whatever the walk has passed."""
    return Completions(task).complete(walk[-1:], member, 0)[1] if walk.size else math.inf
