"""Reuse: later trips with the classes of an earlier playbook (theory, section 6, rule 3).

An observer who links two trips to the same secret intersects its classes. With a partition for each trip, most
intersections hold nobody but the secret. So a trip that comes later takes the partition as it is. Classes may lose
members, whom the new trips cannot cover, but are never regrouped, and nobody joins: the secret's class in the new
playbook then is part of its class in the earlier one, and linking the two shows no more than the new one alone, which
holds k members that stand apart.

For the same reason the trip after that reuses the *new* playbook and not the first one: two classes that lost different
members of one class may have a single member in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from veilroute.covering.completions import Completions
from veilroute.covering.fields_engine import MAX_MEMBERS, FieldsEngine
from veilroute.covering.spread import far_matrix
from veilroute.covering.task import CoveringTask, prepare_task
from veilroute.domain.labels import Label, plain_label
from veilroute.errors import InvalidInputError, TooLargeError
from veilroute.partition.spread import Group, is_spread
from veilroute.planners.bounded import find_class_beginnings, plan_class_beginning
from veilroute.planners.m_pbp import part_after
from veilroute.planners.plan import Plan, PlannedClass, plan_alone
from veilroute.problem import Privacy, Problem
from veilroute.progress import Watch

MAX_PARTING = 12
"""The most members of a class whose best shared beginning is looked for: that takes two to their power sweeps."""


class EarlierClass(Protocol):
    """A class of an earlier playbook."""

    @property
    def members(self) -> Sequence[Label]:
        """Labels of the candidates."""

    @property
    def anonymized(self) -> bool:
        """Whether its members were given routes."""


@runtime_checkable
class EarlierPlan(Protocol):
    """What is asked of an earlier playbook."""

    @property
    def candidates(self) -> Sequence[Label]:
        """Labels of all candidates, those that were left out included."""

    @property
    def classes(self) -> Sequence[EarlierClass]:
        """The classes."""


@dataclass(frozen=True)
class EarlierPartition:
    """A partition to reuse.

    Parameters
    ----------
    classes
        Labels of those that were anonymized, class by class.
    known
        Labels of all that the partition was made for.
    """

    classes: tuple[tuple[Label, ...], ...]
    known: frozenset[Label]


def plan_reuse(
    problem: Problem,
    privacy: Privacy,
    *,
    seed: int,
    watch: Watch,
    partition: EarlierPlan | Iterable[Iterable[Label]] | None = None,
) -> Plan:
    """Walk the classes of ``partition`` on the trips of a new problem.

    A candidate that is the start or goal of a new trip, that a new trip cannot cover, or that the problem does not have
    drops out of its class. Where fewer than k members remain, or too close together, or no walk covers them all, they
    are left out, as is everybody whom the earlier playbook left out. Of at most 12 members that share m nodes the best
    beginning is found; more of them share the first m nodes of the walk that covers all.

    Complexity: that of one covering walk for each class and trip, see :class:`FieldsEngine`, or of one beginning, see
    :func:`veilroute.covering.prefixes.find_beginnings`. Ties are theirs.
    """
    earlier = read_partition(partition)
    stranger = next((i for i in problem.counted if problem.candidates[i] not in earlier.known), None)
    if stranger is not None:
        raise InvalidInputError(
            "Problem.candidates",
            "candidates that the reused partition knows (to add others, plan all trips together in one problem)",
            problem.candidates[stranger],
        )
    watch.tell("covering fields")
    task = prepare_task(problem)
    groups = remaining_classes(problem, task, privacy, earlier)
    walker = _Walker(problem, task, privacy.m, watch)
    planned = []
    for number, members in enumerate(groups):
        watch.tell("walks", number, len(groups))
        planned.append(walker.plan(members))
    anonymized = [group for group in planned if group is not None]
    grouped = {i for group in anonymized for i in group.members}
    left_out = [i for i in range(len(task.members)) if i not in grouped]
    return Plan(
        task=task,
        classes=(*anonymized, *plan_alone(task, left_out, walker.engine)),
        is_optimal=False,
        mac_lower_bound=None,
        num_anonymizable=None,
        options={"seed": seed, "stopped_early": walker.is_stopped},
    )


def read_partition(partition: object) -> EarlierPartition:
    """The partition behind a playbook, or behind lists of labels."""
    if isinstance(partition, EarlierPlan):
        classes = [tuple(group.members) for group in partition.classes if group.anonymized]
        known = frozenset(partition.candidates)
    elif isinstance(partition, Iterable) and not isinstance(partition, str):
        classes = [_read_class(members) for members in partition]
        known = frozenset(label for members in classes for label in members)
    else:
        raise InvalidInputError("partition", "an earlier playbook, or a list of classes, each a list of candidates")
    seen: set[Label] = set()
    for label in (label for members in classes for label in members):
        if label in seen:
            raise InvalidInputError("partition", "classes that have no candidate in common", f"{label} twice")
        seen.add(label)
    return EarlierPartition(tuple(classes), known)


def _read_class(members: object) -> tuple[Label, ...]:
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise InvalidInputError("partition", "classes that are lists of candidates", type(members).__name__)
    return tuple(plain_label(label, field="partition") for label in members)


def remaining_classes(
    problem: Problem, task: CoveringTask, privacy: Privacy, earlier: EarlierPartition
) -> tuple[Group, ...]:
    """What is left of the classes and still qualifies, as positions in the task, each ascending, by first member."""
    position = {problem.candidates[i]: at for at, i in enumerate(task.members)}
    far = far_matrix(problem.domain, [problem.candidate_nodes[i] for i in task.members], privacy)
    left = [tuple(sorted(position[label] for label in members if label in position)) for members in earlier.classes]
    groups = tuple(sorted(group for group in left if is_spread(group, far, privacy)))
    largest = max(map(len, groups), default=0)
    if largest > MAX_MEMBERS:
        raise TooLargeError("partition", f"classes of at most {MAX_MEMBERS} members that one walk can cover", largest)
    return groups


class _Walker:
    """Finds the walks of classes, and knows whether the time was enough for the best ones."""

    def __init__(self, problem: Problem, task: CoveringTask, m: int | None, watch: Watch) -> None:
        self.problem, self.task, self.m, self.watch = problem, task, m, watch
        self.engine = FieldsEngine(task)
        self.completions = Completions(task)
        self.is_stopped = False

    def plan(self, members: Group) -> PlannedClass | None:
        """The class with its walks, or nothing when there are none."""
        if self.m is None:
            return self._share(members)
        if len(members) <= MAX_PARTING:
            found = find_class_beginnings(self.problem, self.task, members, self.m, self.watch)
            if found is not None:
                return plan_class_beginning(members, *found) if np.isfinite(found[1].shares[-1]) else None
            self.is_stopped |= self.watch.is_over()
        whole = self._share(members)
        return None if whole is None else part_after(whole, self.m, self.completions)

    def _share(self, members: Group) -> PlannedClass | None:
        found = [self.engine.find(members, trip, watch=self.watch) for trip in range(self.task.num_trips)]
        self.is_stopped |= any(each.status in ("feasible", "unknown") for each in found)
        if not all(each.walk.size for each in found):
            return None
        return PlannedClass(members, True, tuple(each.walk for each in found), tuple(each.cost for each in found))
