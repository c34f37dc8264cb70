"""Local search: a partition that is improved a few classes at a time, for thousands of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veilroute.covering.set_costs import TourCosts
from veilroute.kernels.local_search import (
    MEMBER,
    NUM_NUMBERS,
    DRAW,
    NUM_FREE,
    NUM_OUT,
    QUEUE_LENGTH,
    WORK,
    Groups,
    search,
)
from veilroute.kernels.greedy_groups import group_greedily
from veilroute.kernels.regroup import Tours, make_union
from veilroute.kernels.subsets import Positions
from veilroute.partition.class_space import ClassSpace, Members
from veilroute.progress import Watch

NUM_PARTNERS = 12
NUM_FURTHER = 8

_WORK_PER_LOOK = 1 << 17
_ROUNDS_PER_LOOK = 200


@dataclass(frozen=True)
class Grouping:
    """A partition in the numbering of a class space.

    Parameters
    ----------
    classes
        Each ascending, ordered by first member.
    shares
        What each adds to the MAC sum.
    left_out
        Members that no class holds.
    """

    classes: tuple[Members, ...]
    shares: tuple[float, ...]
    left_out: Members

    @property
    def num_grouped(self) -> int:
        """How many members are in classes."""
        return sum(map(len, self.classes))

    @property
    def total(self) -> float:
        """What all classes add to the MAC sum."""
        return float(sum(self.shares))


def greedy_partition(space: ClassSpace, watch: Watch) -> Grouping:
    """A first partition (see :func:`~veilroute.kernels.local_search.group_greedily`).

    Pair costs must be there (:meth:`ClassSpace.prepare`).
    """
    if space.k == 1:
        return Grouping(tuple((i,) for i in range(space.num)), (0.0,) * space.num, ())
    class_of = np.full(space.num, -1, dtype=np.int64)
    apart = space.far if space.is_loose else space.compatible
    order = np.argsort((space.compatible & apart).sum(axis=1), kind="stable")
    group_greedily(
        order, space.k, space.max_size, space.weights, space.fixed, space.pair_costs, space.compatible, apart, class_of
    )
    by_class: dict[int, list[int]] = {}
    for member, number in enumerate(class_of.tolist()):
        if number >= 0:
            by_class.setdefault(number, []).append(member)
    return _price(space, [tuple(members) for members in by_class.values()])


def improve(space: ClassSpace, grouping: Grouping, *, seed: int, effort: int, watch: Watch) -> Grouping:
    """Improve a partition by local search until ``effort`` sets have been looked at, or the time is over."""
    if space.k == 1 or space.num < space.k:
        return grouping
    tours = _tours(space)
    groups, saved = _start(space, grouping, seed), _start(space, grouping, seed)
    near = _partners(space, NUM_PARTNERS)
    union = make_union(space.task.num_trips, 1)
    numbers = groups.numbers
    sought = np.where(space.compatible, space.pair_costs, np.inf)
    kth = np.partition(sought, space.k - 2, axis=2)[:, :, space.k - 2]
    least = (kth * space.weights).sum(axis=0) - space.fixed
    least = np.where(np.isfinite(least), least, 0.0)
    wide = np.array([12, 20])
    while not watch.is_over() and (numbers[WORK] < effort or numbers[QUEUE_LENGTH] or numbers[MEMBER] >= 0):
        search(
            tours, groups, saved, near, least, wide, 24, 2.0, 3, 1.0, effort, numbers[WORK] + _WORK_PER_LOOK, union
        )
    held = np.flatnonzero(groups.sizes)
    return _price(space, [tuple(sorted(groups.sets[c, : groups.sizes[c]].tolist())) for c in held])


def _price(space: ClassSpace, classes: Sequence[Members]) -> Grouping:
    """The grouping with these classes, at their exact shares; those that no walk covers are dissolved."""
    shares = {}
    for size in sorted({len(members) for members in classes}):
        sets = np.array([members for members in classes if len(members) == size], dtype=np.int32)
        costs = space.prices_of.costs(sets, Watch())
        assert costs is not None
        for members, share in zip(sets.tolist(), space.shares(sets, costs).tolist(), strict=True):
            if np.isfinite(share):
                shares[tuple(members)] = share
    kept = sorted(shares)
    inside = {i for members in kept for i in members}
    left_out = tuple(i for i in range(space.num) if i not in inside)
    return Grouping(tuple(kept), tuple(shares[members] for members in kept), left_out)


def _tours(space: ClassSpace) -> Tours:
    costs = space.prices_of
    assert isinstance(costs, TourCosts)
    everyone = np.arange(space.num + 1, dtype=np.int64)
    return Tours(
        space.k, space.max_size, space.is_loose, space.weights, space.fixed, space.pair_costs, space.compatible,
        space.far, everyone, everyone[:-1], costs.from_start, costs.to_goal, costs.between,
    )  # fmt: skip


def _start(space: ClassSpace, grouping: Grouping, seed: int) -> Groups:
    num, num_classes = space.num, len(grouping.classes)
    num_slots = num // space.k + 1
    sets = np.full((num_slots, space.max_size), -1, dtype=np.int32)
    sizes, shares = np.zeros(num_slots, dtype=np.int64), np.zeros(num_slots)
    class_of = np.full(num, -1, dtype=np.int64)
    for c, members in enumerate(grouping.classes):
        sets[c, : len(members)] = members
        class_of[list(members)] = c
        sizes[c] = len(members)
    shares[:num_classes] = grouping.shares
    free = np.arange(num_slots - 1, -1, -1, dtype=np.int64)
    numbers = np.zeros(NUM_NUMBERS, dtype=np.int64)
    numbers[MEMBER] = -1
    numbers[NUM_FREE] = num_slots - num_classes
    numbers[QUEUE_LENGTH] = num
    numbers[DRAW] = int(np.random.SeedSequence(seed % 2**64).generate_state(1)[0]) % 2147483646 + 1
    numbers[NUM_OUT] = len(grouping.left_out)
    return Groups(
        sets, sizes, shares, class_of, free, np.arange(num, dtype=np.int64), np.ones(num, dtype=np.bool_), numbers
    )


def _partners(space: ClassSpace, num: int) -> Positions:
    weight = space.weights[:, :, None] + space.weights[:, None, :]
    shares = (space.pair_costs * weight).sum(axis=0) - space.fixed[:, None] - space.fixed[None, :]
    shares = np.where(space.compatible, shares, np.inf)
    order = np.argsort(shares, axis=1, kind="stable")[:, :num]
    return np.where(np.isfinite(np.take_along_axis(shares, order, axis=1)), order, -1)
