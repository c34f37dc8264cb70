"""What a planner returns: classes and walks in node numbers, before they become a playbook."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from veilroute.base.arrays import Member, Members, Walk, as_members
from veilroute.base.run import Watch
from veilroute.covering.prefixes import Completions, SharedPrefixes, find_prefixes
from veilroute.covering.set_costs import ClassWalks
from veilroute.covering.task import CoveringTask, prepare_task
from veilroute.covering.walks import CoveringWalk, WalkSource, walk_cost
from veilroute.domain.graph import Domain
from veilroute.model.certificate import Certificate
from veilroute.model.problem import Problem
from veilroute.model.rules import Rule
from veilroute.partition.result import Partition, outside

Routes = dict[tuple[int, Member], tuple[Walk, float]]  #: walk and cost for each (trip, member)


@dataclass(frozen=True, eq=False)
class PlannedClass:
    """Members that share one walk per trip, or a prefix of their walks."""

    members: Members  #: positions in the task
    is_anonymized: bool  #: whether the class reaches k and ell
    walks: tuple[Walk, ...]  #: what all members share, one per trip
    costs: tuple[float, ...]
    #: walks and costs by (trip, member): of all members on the trips on which their walks part, else of nobody
    own: Routes = field(default_factory=dict)
    #: where classes overlap, for each member how probable it is that it is the secret and this class is drawn
    shares: dict[Member, float] = field(default_factory=dict)

    def cost_of(self, member: Member, trip: int) -> float:
        """What a member's walk costs."""
        return self.own[trip, member][1] if (trip, member) in self.own else self.costs[trip]


@dataclass(frozen=True, eq=False)
class Plan:
    """The outcome of a planner."""

    task: CoveringTask  #: who can be covered, at what base cost
    classes: tuple[PlannedClass, ...]  #: anonymized classes first, then one for each member that is left out
    is_optimal: bool = False  #: whether the partition is proved to be the best for the privacy asked for
    #: what no plan for as many members undercuts in the mean of the objective, worked out apart from the walks;
    #: ``None`` without a proof
    least_mean: float | None = None
    num_anonymizable: int | None = None  #: how many members any planner could anonymize, ``None`` when not known
    options: dict[str, object] = field(default_factory=dict)  #: what the planner was run with, for the record
    certificate: Certificate | None = None  #: what the bound rests on, for who checks it


def plan_partition(
    task: CoveringTask,
    partition: Partition,
    anonymized: Iterable[PlannedClass],
    source: WalkSource,
    options: dict[str, object],
) -> Plan:
    """The plan of a partition, with what is proved about it; who is left out goes alone."""
    completed: dict[str, object] = {"search_completed": True} if partition.is_completed else {}
    return Plan(
        task=task,
        classes=(*anonymized, *plan_alone(task, partition.left_out, source)),
        is_optimal=partition.is_optimal,
        least_mean=partition.least_mean,
        num_anonymizable=partition.num_anonymizable,
        options={**options, "stopped_early": partition.is_stopped} | completed,
        certificate=partition.certificate,
    )


def among_all(plan: Plan, task: CoveringTask) -> Plan:
    """The plan for some of a task's members as one for all of them: the others are left out."""
    place = {candidate: Member(at) for at, candidate in enumerate(task.members)}
    now = [place[candidate] for candidate in plan.task.members]
    classes = [
        replace(
            each,
            members=as_members(now[i] for i in each.members),
            own={(trip, now[i]): route for (trip, i), route in each.own.items()},
            shares={now[i]: share for i, share in each.shares.items()},
        )
        for each in plan.classes
    ]
    others = outside(len(task.members), (each.members for each in classes))
    return replace(plan, task=task, classes=(*classes, *plan_alone(task, others, ClassWalks(task))))


def plan_unproved(
    task: CoveringTask, anonymized: Sequence[PlannedClass], source: WalkSource, options: dict[str, object]
) -> Plan:
    """The plan of a planner that proves nothing: some classes, and everybody else on their own."""
    left_out = outside(len(task.members), (each.members for each in anonymized))
    return Plan(task, (*anonymized, *plan_alone(task, left_out, source)), options=options)


def unproved(partition: Partition) -> Partition:
    """A partition that may not be the best one for the promise, so that nothing is claimed but what it is."""
    return replace(partition, is_optimal=False, least_mean=None, num_anonymizable=None, certificate=None)


def rule_record(rule: Rule) -> dict[str, str]:
    """What a playbook records of a rule that is stricter than its promise, because there are too many areas to list."""
    return {} if rule.is_exact else {"areas": "surroundings"}


def plan_nobody(problem: Problem, seed: int) -> Plan:
    """The plan for more places than there are: nobody can be hidden, whoever plans."""
    task = prepare_task(problem)
    members = outside(len(task.members), ())
    partition = Partition((), members, is_optimal=True, num_anonymizable=0)
    return plan_partition(task, partition, (), ClassWalks(task), {"seed": seed})


def plan_alone(task: CoveringTask, members: Iterable[int], source: WalkSource) -> list[PlannedClass]:
    """One class for each member that is left out, with the cheapest walk that covers it."""
    return [plan_shared(task, as_members([member]), source, is_anonymized=False) for member in members]


def plan_shared(task: CoveringTask, members: Members, source: WalkSource, *, is_anonymized: bool) -> PlannedClass:
    """A class whose members share the cheapest walk that covers all of them."""
    kept = {} if task.kept is None else task.kept
    if ("walks", members) not in kept:
        kept["walks", members] = [source.find(members, trip) for trip in range(task.num_trips)]
    return shared_class(members, kept["walks", members], is_anonymized=is_anonymized)


def shared_class(members: Members, covering: Sequence[CoveringWalk], *, is_anonymized: bool = True) -> PlannedClass:
    """A class whose members share a walk on each trip."""
    return PlannedClass(members, is_anonymized, tuple(c.walk for c in covering), tuple(c.cost for c in covering))


def plan_parting(domain: Domain, members: Members, routes: Routes) -> PlannedClass:
    """A class whose members share only a prefix, from the routes of all its members on all trips.

    Where they part, the class has the nodes that all walks begin with, and every member a walk of its own: no member's
    walk stands for those of the others.
    """
    trips = sorted({trip for trip, member in routes if member == members[0]})
    shared: list[tuple[Walk, float]] = []
    own: Routes = {}
    for trip in trips:
        walks = [routes[trip, member][0] for member in members]
        num_shared = _num_shared(walks)
        if all(walk.size == num_shared for walk in walks):
            shared.append(routes[trip, members[0]])
        else:
            prefix = walks[0][:num_shared]
            shared.append((prefix, walk_cost(domain, prefix)))
            own |= {(trip, member): routes[trip, member] for member in members}
    return PlannedClass(members, True, tuple(walk for walk, _ in shared), tuple(cost for _, cost in shared), own)


def _num_shared(walks: Sequence[Walk]) -> int:
    """With how many nodes all walks begin."""
    least = min(walk.size for walk in walks)
    differs = np.any([walk[:least] != walks[0][:least] for walk in walks], axis=0)
    return int(np.argmax(differs)) if differs.any() else least


def find_class_prefix(task: CoveringTask, members: Members, m: int, watch: Watch) -> SharedPrefixes | None:
    """The best prefix of one class by itself, whose bit mask has all bits; ``None`` as for :func:`find_prefixes`."""
    is_needed = np.ones(1 << len(members), dtype=np.bool_)
    is_class = np.arange(is_needed.size) == is_needed.size - 1
    return find_prefixes(task.part(members), is_needed, is_class, m, watch)


def plan_prefix(members: Members, shared: SharedPrefixes, mask: int, completions: Completions) -> PlannedClass:
    """A class with the best prefix that was found for its bit mask, from which each member goes on its own way."""
    domain = completions.task.domain
    routes: Routes = {}
    for trip in range(completions.task.num_trips):
        walk, is_whole = shared.walk(mask, trip)
        if is_whole:
            routes |= dict.fromkeys(((trip, i) for i in members), (walk, walk_cost(domain, walk)))
        else:
            routes |= {(trip, i): completions.complete(walk, i, trip) for i in members}
    return plan_parting(domain, members, routes)
