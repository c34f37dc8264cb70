"""The planner in the proof of Theorem 2, and its lemma: walks are extended, and joined into one that covers everybody.

The paper proves that on undirected graphs some planner reaches (k, ell, m) for everybody who can be hidden, by building
it: from start to goal past the first candidate, back to the start, on past the second, and so on. The planner here is
this proof as code. It hides whoever any planner hides, and shows what that costs when nobody looks for a short way.
Plans of routes that are there already, extended or made elsewhere, are here as well.
"""

from collections.abc import Sequence

import numpy as np

from veilroute.base.arrays import Member, Walk, as_members
from veilroute.base.errors import InvalidInputError
from veilroute.base.run import Watch
from veilroute.covering.set_costs import ClassWalks
from veilroute.covering.task import CoveringTask, k_and_ell, prepare_task
from veilroute.covering.walks import Sweeper, walk_cost
from veilroute.domain.graph import Label
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy, Problem
from veilroute.partition.first import split_into_classes
from veilroute.planners.plan import Plan, PlannedClass, Routes, plan_alone, plan_parting, plan_unproved


def join_walks(first: Walk, second: Walk) -> Walk:
    """One walk after the other; the second begins where the first ends (the paper's ring operator)."""
    if not first.size or not second.size or first[-1] != second[0]:
        raise InvalidInputError("walks", "a second walk that begins where the first ends")
    return np.concatenate((first, second[1:]))


def plan_constructive(problem: Problem, privacy: Privacy, *, seed: int, watch: Watch) -> Plan:
    """Give everybody the same walk: past each member in turn, and back to the start in between (Theorem 2).

    Members whom the walk has passed on the way need no turn of their own, which makes the walk shorter than the paper's
    and changes nothing in its proof. Where no way leads back, as one-way streets can have it, whoever is not covered
    yet gets the paper's Failure.

    Nothing is drawn. Members take their turns in the order of the candidates. Complexity: a sweep and a walk for each
    member that has a turn.
    """
    task = prepare_task(problem)
    rule = k_and_ell(problem, task, privacy)
    walks = [_walk_past_all(task, trip, watch) for trip in range(task.num_trips)]
    covered = [i for i in range(len(task.members)) if all(_covers(task, walk, i) for walk in walks)]
    costs = tuple(walk_cost(task.domain, walk) for walk in walks) if covered else ()
    classes = split_into_classes(as_members(covered), rule) if covered else []
    anonymized = [PlannedClass(members, True, tuple(walks), costs) for members in classes]
    return plan_unproved(task, anonymized, ClassWalks(task), {"seed": seed, "stopped_early": watch.is_over()})


def _walk_past_all(task: CoveringTask, trip: int, watch: Watch) -> Walk:
    """From the start past each member to the goal and back again, and at last to the goal; empty without members."""
    single, back = ClassWalks(task), Sweeper(task.domain, backward=True, num_seeds=1)
    returns = bool(np.isfinite(back.run(task.starts[trip])[task.goals[trip]]))
    way_back = back.follow(task.goals[trip]) if returns else None
    walk: Walk = np.empty(0, dtype=np.int64)
    for member in range(len(task.members)):
        watch.tell("walks", member, len(task.members))
        if walk.size and (way_back is None or watch.is_over()):
            break
        if _covers(task, walk, member):
            continue
        piece = single.find((member,), trip).walk
        walk = join_walks(join_walks(walk, way_back), piece) if walk.size and way_back is not None else piece
    return walk


def _covers(task: CoveringTask, walk: Walk, member: int) -> bool:
    return bool(np.isin(task.posts.nodes_of(member), walk).any())


def extend_plan(playbook: Playbook, problem: Problem, trip: int, before: Walk, after: Walk) -> Plan:
    """The plan of a playbook with every walk of a trip extended at both ends (the paper's Lemma Path-Extension).

    ``problem`` is the playbook's, with the trip that this makes. ``before`` ends where the trip started and ``after``
    begins where it ended. All walks are extended by the same nodes, which depend on no secret: those that were alike in
    their first m nodes are so still.
    """
    task = prepare_task(problem)
    place = {problem.candidates[candidate]: Member(at) for at, candidate in enumerate(task.members)}
    classes: list[PlannedClass] = []
    listed: set[int] = set()
    for group in playbook.classes:
        members = as_members(sorted(place[label] for label in group.members))
        label_of = {place[label]: label for label in group.members}
        listed.update(members)
        routes: Routes = {}
        for number in range(task.num_trips):
            for member in members:
                route = group.route_of(label_of[member], number).nodes
                walk: Walk = np.array([problem.domain.node(label) for label in route], dtype=np.int64)
                if number == trip:
                    walk = join_walks(join_walks(before, walk), after)
                routes[number, member] = (walk, walk_cost(task.domain, walk))
        planned = plan_parting(task.domain, members, routes)
        shares = {place[label]: share for label, share in zip(group.members, group.shares, strict=False)}
        classes.append(
            PlannedClass(planned.members, group.anonymized, planned.walks, planned.costs, planned.own, shares)
        )
    others = [i for i in range(len(task.members)) if i not in listed]
    return Plan(task, (*classes, *plan_alone(task, others, ClassWalks(task))), options=dict(playbook.options))


def plan_routes(
    problem: Problem, groups: Sequence[tuple[Sequence[Label], Walk, Sequence[float]]], *, is_partition: bool
) -> Plan:
    """The plan of classes with their routes, which came from elsewhere; whoever is in none goes alone."""
    task = prepare_task(problem)
    place = {problem.candidates[candidate]: Member(at) for at, candidate in enumerate(task.members)}
    classes: list[PlannedClass] = []
    listed: set[Member] = set()
    for number, (labels, walk, shares) in enumerate(groups):
        where = f"classes[{number}].members"
        if strangers := [label for label in labels if label not in place]:
            raise InvalidInputError(where, "candidates that the trip can cover", strangers[0])
        members = as_members(place[label] for label in labels)
        if len(set(members)) < len(members) or (is_partition and listed & set(members)):
            raise InvalidInputError(where, "each candidate once" if is_partition else "each candidate once in a class")
        listed.update(members)
        cost = walk_cost(task.domain, walk)
        drawn = {place[label]: share for label, share in zip(labels, shares, strict=False)}
        classes.append(PlannedClass(members, True, (walk,), (cost,), shares=drawn))
    others = [i for i in range(len(task.members)) if i not in listed]
    return Plan(task, (*classes, *plan_alone(task, others, ClassWalks(task))))
