"""Reuse: later trips with the classes of an earlier playbook (docs/theory, :ref:`Linked trips <theory-linking>`).

An observer who links two trips to the same secret intersects its classes. With a partition for each trip, most
intersections hold nobody but the secret. So a trip that comes later takes the partition as it is. Classes may lose
members, whom the new trips cannot cover, but are never regrouped, and nobody joins: the secret's class in the new
playbook then is part of its class in the earlier one, and linking the two shows no more than the new one alone, which
holds k members that stand apart.

For the same reason the trip after that reuses the *new* playbook and not the first one: two classes that lost different
members of one class may have a single member in common.

All this is about places and not about their labels. On another map (a newer extract, a road that is closed) the same
number may be another junction, and classes would be regrouped without a word. So the labels of an earlier playbook hold
on its own map only, which its hash tells; on others its candidates are found again by their names and coordinates.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veilroute.base.arrays import Classes, Members, as_members
from veilroute.base.errors import InvalidInputError, TooLargeError
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.fields import MAX_MEMBERS, FieldsEngine
from veilroute.covering.prefixes import Completions
from veilroute.covering.task import CoveringTask, k_and_ell, prepare_task
from veilroute.domain.graph import Domain, Label, plain_label
from veilroute.model.entry import Place, places_of, spots_of
from veilroute.model.identities import Roster, is_elsewhere
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy, Problem
from veilroute.planners.pbp import part_after
from veilroute.planners.plan import Plan, PlannedClass, find_class_prefix, plan_prefix, plan_unproved, shared_class

#: The most members of a class whose best shared prefix is looked for: that takes two to their power sweeps.
MAX_PARTING = 12


@dataclass(frozen=True)
class EarlierPartition:
    """A partition to reuse, as the new map calls its candidates."""

    classes: tuple[tuple[Label, ...], ...]  # those that were anonymized
    known: frozenset[Label]  # all candidates that it was made for and that are on the new map


def plan_reuse(
    problem: Problem,
    privacy: Privacy,
    *,
    seed: int,
    watch: Watch,
    partition: Playbook | Iterable[Iterable[Label]] | None = None,
) -> Plan:
    """Walk the classes of ``partition`` on the trips of a new problem.

    A candidate that is the start or goal of a new trip, that a new trip cannot cover, or that the problem does not have
    drops out of its class. Where fewer than k members remain, or too close together, or no walk covers them all, they
    are left out, as is everybody whom the earlier playbook left out. Of at most 12 members that share m nodes the best
    prefix is found; more of them share the first m nodes of the walk that covers all.

    Complexity: that of one covering walk for each class and trip, see :class:`FieldsEngine`, or of one prefix, see
    :func:`veilroute.covering.prefixes.find_prefixes`. Ties are theirs.
    """
    earlier = read_partition(partition, problem.domain, problem.names)
    stranger = next((i for i in problem.counted if problem.candidates[i] not in earlier.known), None)
    if stranger is not None:
        raise InvalidInputError(
            "Problem.candidates",
            "candidates that the reused partition knows (for others, plan under a ledger: plan --ledger)",
            problem.candidates[stranger],
        )
    watch.tell("covering fields")
    task = prepare_task(problem)
    classes = remaining_classes(problem, task, privacy, earlier)
    engine, completions = FieldsEngine(task), Completions(task)
    planned = []
    for number, members in enumerate(classes):
        watch.tell("walks", number, len(classes))
        planned.append(plan_class(members, privacy.m, engine, completions, watch))
    anonymized = [each for each, _ in planned if each is not None]
    is_stopped = any(was_stopped for _, was_stopped in planned)
    return plan_unproved(task, anonymized, engine, {"seed": seed, "stopped_early": is_stopped})


def read_partition(partition: object, domain: Domain, names: Mapping[Label, str]) -> EarlierPartition:
    """The classes of an earlier playbook as this map calls their members, or those given as lists of its labels."""
    if isinstance(partition, Playbook):
        now = find_again(partition, domain, names)
        anonymized = [each.members for each in partition.classes if each.anonymized]
        classes = [tuple(now[label] for label in members if label in now) for members in anonymized]
        known = frozenset(now[label] for label in partition.candidates if label in now)
    elif isinstance(partition, Iterable) and not isinstance(partition, str):
        classes = [_read_class(members) for members in partition]
        known = frozenset(label for members in classes for label in members)
    else:
        raise InvalidInputError("partition", "an earlier playbook, or a list of classes, each a list of candidates")
    for label, times in Counter(label for members in classes for label in members).items():
        if times > 1:
            raise InvalidInputError("partition", "classes that have no candidate in common", f"{label} twice")
    return EarlierPartition(tuple(classes), known)


def find_again(earlier: Playbook, domain: Domain, names: Mapping[Label, str]) -> dict[Label, Label]:
    """What this map calls the candidates and named nodes of an earlier playbook; those it lacks are left out.

    On the playbook's own map, by its hash, labels are what they were. On another one a node is found again by its name,
    or by its place: equal longitude and latitude, coordinates, or cell of a grid of the same size. A label that is text
    is a name as well. Numbers are not: they may have been given anew. It is an error when not one candidate is found,
    or one is found at two places or far from where it was.
    """
    labels = dict.fromkeys((*earlier.candidates, *earlier.names))
    if earlier.domain_sha256 == domain.sha256:
        return {label: label for label in labels}
    was = earlier.domain
    known = [label for label in labels if was is not None and was.has_label(label)]
    was_at = dict(zip(known, spots_of(was, [was.node(label) for label in known] if was else []), strict=True))
    was_called = _names(earlier.names, labels)
    only = _unique((name, label) for label, called in was_called.items() for name in called)
    further = [label for label, _ in domain.also]
    is_called = _names(names, [*domain.labels, *further] if domain.labels else names).items()
    now_called = _unique((name, label) for label, called in is_called for name in called)
    spots = spots_of(domain, range(domain.num_nodes))
    now_at = _unique((spot, domain.label(node)) for node, spot in enumerate(spots) if spot is not None)
    labels_now: dict[Label, Label] = {}
    taken: set[Label] = set()
    candidates = frozenset(earlier.candidates)
    for label in labels:
        again = {now_called[name] for name in was_called[label] if name in only and name in now_called}
        spot = was_at.get(label)
        if spot in now_at and domain.node(now_at[spot]) not in {domain.node(found) for found in again}:
            again |= {now_at[spot]}
        if len(again) == 1 and not again & taken and not is_elsewhere(spot, [spots[domain.node(*again)]]):
            labels_now[label] = next(iter(again))
            taken |= again
        elif again and label in candidates:
            raise InvalidInputError(
                "partition", "a playbook whose places have the same names on this map, which is another one", label
            )
    if labels_now.keys().isdisjoint(candidates):
        raise InvalidInputError(
            "partition",
            "a playbook made on this very map, or one whose candidates have names or coordinates that this map has as "
            "well; plan all trips together in one problem instead",
        )
    if was is not None:
        told = [label for label in known if label in candidates and label in labels_now]
        _check_moved(earlier, places_of(was, told, earlier.names), domain, names, [labels_now[each] for each in told])
    return labels_now


def _check_moved(
    earlier: Playbook, before: Sequence[Place], domain: Domain, names: Mapping[Label, str], labels: Sequence[Label]
) -> None:
    """Raise when a place is called like one and is where another one was: its class would be that of a neighbour."""
    roster = Roster()
    roster.enter(earlier.domain_sha256, before, earlier.privacy)
    try:
        roster.enter(domain.sha256, places_of(domain, labels, names), earlier.privacy)
    except InvalidInputError:
        expected = "a playbook whose places have their old names (was the list numbered again? plan with --ledger)"
        raise InvalidInputError("partition", expected) from None


def _names(names: Mapping[Label, str], labels: Iterable[Label]) -> dict[Label, list[str]]:
    """What nodes are called: their names, and labels that are text."""
    return {label: [*{names.get(label, ""), label if isinstance(label, str) else ""} - {""}] for label in labels}


def _unique(pairs: Iterable[tuple[Hashable, Label]]) -> dict[Hashable, Label]:
    """The node of each name or place that only one node has."""
    node_of = list(pairs)
    times = Counter(key for key, _ in node_of)
    return {key: label for key, label in node_of if times[key] == 1}


def _read_class(members: object) -> tuple[Label, ...]:
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise InvalidInputError("partition", "classes that are lists of candidates", type(members).__name__)
    return tuple(plain_label(label, field="partition") for label in members)


def remaining_classes(problem: Problem, task: CoveringTask, privacy: Privacy, earlier: EarlierPartition) -> Classes:
    """What is left of the classes and still qualifies, as positions in the task, each ascending, by first member."""
    position = {problem.candidates[i]: at for at, i in enumerate(task.members)}
    rule = k_and_ell(problem, task, privacy)
    left = [as_members(position[label] for label in members if label in position) for members in earlier.classes]
    qualified = tuple(sorted(members for members in left if rule.qualifies(members)))
    largest = max(map(len, qualified), default=0)
    if largest > MAX_MEMBERS:
        raise TooLargeError("partition", f"classes of at most {MAX_MEMBERS} members that one walk can cover", largest)
    return qualified


def plan_class(
    members: Members, m: int | None, engine: FieldsEngine, completions: Completions, watch: Watch
) -> tuple[PlannedClass | None, bool]:
    """The class with its walks, or nothing when there are none; and whether the time was too short for the best."""
    task, is_stopped = engine.task, False
    if m is not None and len(members) <= MAX_PARTING:
        try:
            shared = find_class_prefix(task, members, m, watch)
        except OutOfTimeError:
            shared, is_stopped = None, True
        if shared is not None:
            everybody = (1 << len(members)) - 1
            has_walks = np.isfinite(shared.shares[everybody])
            return plan_prefix(members, shared, everybody, completions) if has_walks else None, False
    covering = [engine.find(members, trip, watch=watch) for trip in range(task.num_trips)]
    is_stopped |= any(each.status in ("feasible", "unknown") for each in covering)
    if not all(each.walk.size for each in covering):
        return None, is_stopped
    whole = shared_class(members, covering)
    return whole if m is None else part_after(whole, m, completions), is_stopped
