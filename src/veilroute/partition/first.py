"""A first partition at once, before any two members have been compared: neighbours in the tree of shortest paths.

One sweep from the start gives every member's shortest path. Sorted by these paths, members that stand in one branch of
the tree stand side by side, and each k of them in a row make a class whose walk is not far from the tree's.
:func:`split_into_classes` makes classes of members who share their first nodes anyway.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from veilroute.base.arrays import Classes, Flags, Members, Walk, as_members
from veilroute.base.run import Watch
from veilroute.covering.set_costs import MAX_TOUR, ClassWalks
from veilroute.covering.task import CoveringTask, leads_both_ways
from veilroute.covering.walks import Sweeper
from veilroute.model.rules import KAndEll, Rule
from veilroute.partition.bitmask import best_partition, mark_classes
from veilroute.partition.result import Partition, outside

_MAX_TRIED = 14


def split_into_classes(group: Sequence[int], rule: KAndEll) -> list[Members]:
    """Classes out of members who share their first m nodes anyway; some may fit in none.

    Under a loose rule they are one class or none. Otherwise as many as possible are grouped, by trying all
    classes, if there are at most 14 of them. Of more, each member, in order, joins the first class from all of which it
    stands apart; classes that stay too small are dissolved, and their members try the others.
    """
    if rule.qualifies(group) or rule.is_loose:
        return [as_members(group)] if rule.qualifies(group) else []
    if len(group) <= _MAX_TRIED:
        return _group_most(group, rule)
    classes = _join_first_fit(group, [], rule.far, is_open=True)
    kept = [members for members in classes if len(members) >= rule.k]
    stray = [i for members in classes if len(members) < rule.k for i in members]
    return sorted(as_members(members) for members in _join_first_fit(stray, kept, rule.far, is_open=False))


def _group_most(group: Sequence[int], rule: KAndEll) -> list[Members]:
    """Classes that hold as many of a few members as possible, by trying all."""
    family = mark_classes(rule.renumbered(np.array(group, dtype=np.int64)))
    classes, _ = best_partition(family.worth, family.needed, np.where(family.qualifies, 0.0, np.inf), Watch())
    return sorted(as_members(group[i] for i in members) for members in classes)


def _join_first_fit(members: Sequence[int], classes: list[list[int]], far: Flags, *, is_open: bool) -> list[list[int]]:
    for i in members:
        home = next((inside for inside in classes if far[i, inside].all()), None)
        if home is not None:
            home.append(i)
        elif is_open:
            classes.append([i])
    return classes


@dataclass(frozen=True)
class FirstPartition:
    """Classes of neighbours, as positions in the task, each ascending; none where not everybody can be in one."""

    classes: Classes
    #: What they cost at most; infinite without any, and where edges lead one way, so that some may have no walk.
    mac: float


def first_partition(task: CoveringTask, rule: Rule) -> FirstPartition:
    """Classes of neighbours in the tree of shortest paths of the first trip, not too large to be walked."""
    through = task.from_start[0] + task.to_goal[0]
    mine = [task.posts.posts_of(i) for i in range(len(task.members))]
    posts = [int(each[int(through[each].argmin())]) for each in mine]
    stops: list[int] = task.posts.nodes[posts].tolist()
    sweeper = Sweeper(task.domain, backward=False, num_seeds=1)
    sweeper.run(task.starts[0])
    paths = [sweeper.follow(stop)[::-1] for stop in stops]
    groups = _group_neighbours(paths, rule)
    classes = tuple(sorted(as_members(group) for group in groups))
    if not groups or not leads_both_ways(task.domain):
        return FirstPartition(classes, math.inf)
    # To the first member and on to the goal, with a way from each to the next and back: no covering walk costs more.
    distances = task.all_from_start[0] * task.unit
    total = 0.0
    for group in groups:
        there = 0.0
        for one, other in pairwise(group):
            shorter = min(paths[one].size, paths[other].size)
            is_other = paths[one][:shorter] != paths[other][:shorter]
            common = int(is_other.argmax()) if is_other.any() else shorter
            there += distances[stops[one]] + distances[stops[other]] - 2 * distances[paths[one][common - 1]]
        for trip, weight in enumerate(task.weights):
            alone = task.from_start[trip][posts[group[0]]] + task.to_goal[trip][posts[group[0]]]
            whole = alone * task.unit + 2 * there
            ratios = task.rates[trip][group]
            total += weight * float((ratios * (whole - task.base_costs[trip][group])).sum())
    return FirstPartition(classes, total / len(task.members))


def _group_neighbours(paths: list[Walk], rule: Rule) -> list[list[int]]:
    """Neighbours, as few at a time as a class may have, or more until they qualify; none if that is too many."""
    num, least = len(paths), rule.least
    if num < least:
        return []
    # Highest byte first, so that the bytes of paths are in the same order as they are.
    order = sorted(range(num), key=lambda i: (paths[i].astype(">u4").tobytes(), i))
    groups = [order[at : at + least] for at in range(0, num - least + 1, least)]
    groups[-1] += order[len(groups) * least :]
    groups = _widen(groups, rule)
    return groups if groups and max(map(len, groups)) <= MAX_TOUR else []


def _widen(groups: list[list[int]], rule: Rule) -> list[list[int]]:
    """Put neighbouring groups together until each qualifies; none when that is not to be had."""
    if not isinstance(rule, KAndEll) or not rule.is_loose:
        return groups if all(map(rule.qualifies, groups)) else []
    done: list[list[int]] = []
    now: list[int] = []
    for group in groups:
        now += group
        if rule.qualifies(now):
            done.append(now)
            now = []
    if done:
        done[-1] += now
    return done


def stopped_at_first(task: CoveringTask, classes: Sequence[Members], source: ClassWalks) -> Partition:
    """What a partitioner returns that could compare no two members in time: the classes that walks cover."""
    kept = tuple(classes)
    if not leads_both_ways(task.domain):
        kept = tuple(members for members in classes if source.has_walks(members))
    return Partition(kept, outside(len(task.members), kept), is_optimal=False, is_stopped=True, source=source)
