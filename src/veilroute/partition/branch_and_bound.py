"""What the paper's two branch-and-bound searches share: the pool of sets, the tree, the best partition so far."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from veilroute.base.arrays import Members
from veilroute.base.errors import TooLargeError
from veilroute.base.run import Incumbent, OutOfTimeError, Watch
from veilroute.covering.engines import CoverMemo
from veilroute.covering.task import CoveringTask, bits
from veilroute.kernels import branching as kernel
from veilroute.kernels.branching import Pool, Tree
from veilroute.kernels.tables import fill_slots
from veilroute.model.rules import Rule
from veilroute.partition.result import Partition, k_and_ell_only, outside

MAX_MEMBERS = 62  #: the most members of a search: a set is the bits of one integer
_FIRST_ROOM = 1 << 8


class SetPool:
    """The sets that a search has met, and what each costs; ``far`` holds each member's far partners, as bits."""

    def __init__(self, task: CoveringTask, memo: CoverMemo, far: Sequence[int]) -> None:
        everybody = (1 << len(task.members)) - 1
        self._near = [everybody & ~mask & ~(1 << i) for i, mask in enumerate(far)]
        self._memo = memo
        self._ratios = np.array(task.weights)[:, None] * task.rates
        self._fixed = (self._ratios * task.base_costs).sum(axis=0)
        self.num_sets = 0
        self.has_unsolved = False
        whole, numbers = np.zeros((3, _FIRST_ROOM), dtype=np.int64), np.zeros((2, _FIRST_ROOM))
        by_trip = np.zeros((2, _FIRST_ROOM, task.num_trips))
        self.arrays = Pool(*[*whole, *by_trip, *numbers, np.full(4 * _FIRST_ROOM, -1, dtype=np.int32)])

    def add(self, mask: int, watch: Watch) -> None:
        """Work out what a set costs and put it in; one too large for the engine counts as one that no walk covers."""
        members = bits(mask)
        try:
            costs = self._memo.costs(members, watch)
        except TooLargeError:
            costs = None
        if costs is None:
            self.has_unsolved = True
            costs = np.full(self._ratios.shape[0], np.inf)
        if self.num_sets == self.arrays.masks.size:
            grown: list[Any] = [np.concatenate((array, np.zeros_like(array))) for array in self.arrays[:-1]]
            slots = np.full(2 * self.arrays.slots.size, -1, dtype=np.int32)
            self.arrays = Pool(*[*grown, slots])
            fill_slots(0, self.num_sets, self.arrays.masks, slots)
        at, pool = self.num_sets, self.arrays
        chosen = list(members)
        pool.masks[at], pool.sizes[at] = mask, len(members)
        pool.near[at] = np.bitwise_or.reduce([self._near[i] for i in members])
        pool.costs[at], pool.ratios[at] = costs, self._ratios[:, chosen].sum(axis=1)
        pool.fixed[at] = self._fixed[chosen].sum()
        pool.shares[at] = float(costs @ pool.ratios[at]) - pool.fixed[at]
        self.num_sets += 1
        fill_slots(at, self.num_sets, pool.masks, pool.slots)

    def members_of(self, at: int) -> Members:
        """Members of the set that stands at a place."""
        return bits(int(self.arrays.masks[at]))


STEPS_PER_CALL = 1 << 14  #: partitions between two looks at the clock
ROUNDING = 1e-12  #: per member: a partition is better only if it is cheaper by more than this

Step = Callable[[Pool, Tree], int]
"""Goes on with a search until it needs something, has found something, or is at its end."""


def start_tree(num: int, num_first: int, draw: int = 0) -> Tree:
    """A tree whose root has the first ``num_first`` single members as its sets, one each."""
    tree = Tree(
        parts=np.zeros((num + 1, num), dtype=np.int32),
        counts=np.zeros(num + 1, dtype=np.int64),
        pairs=np.zeros((num + 1, num * (num - 1) // 2), dtype=np.int32),
        num_pairs=np.zeros(num + 1, dtype=np.int64),
        positions=np.zeros(num + 1, dtype=np.int64),
        sums=np.zeros(num + 1),
        best=np.zeros(num, dtype=np.int32),
        best_cost=np.full(1, np.inf),
        numbers=np.zeros(10, dtype=np.int64),
    )
    tree.parts[0, :num_first] = np.arange(num_first)
    tree.counts[0] = num_first
    tree.numbers[kernel.IS_FRESH] = 1
    tree.numbers[kernel.DRAW] = draw
    return tree


def search_partitions(
    task: CoveringTask, rule: Rule, watch: Watch, *, memo: CoverMemo, start: Callable[[int], tuple[Tree, Step]]
) -> Partition:
    """Walk a search tree to its end or until the time is over.

    Both searches enforce the all-pairs reading of spread; what they return holds under ``witness`` too. A search that
    comes to its end has nothing to hand over that others could check, so it claims no optimum and no bound: it only
    records that it was completed. ``start`` gives, for a number of members, the root of the tree and how to go on from
    there.
    """
    rule = k_and_ell_only(rule)
    num = len(task.members)
    if num == 0:
        return Partition((), (), is_optimal=True, is_completed=True, num_anonymizable=0, source=memo)
    if num > MAX_MEMBERS:
        raise TooLargeError("candidates", f"at most {MAX_MEMBERS} coverable candidates for this partitioner", num)
    pool = SetPool(task, memo, rule.far_masks.tolist())
    tree, step = start(num)
    improvements: list[Incumbent] = []
    outcome = kernel.PAUSED
    with suppress(OutOfTimeError):
        for i in range(num):
            pool.add(1 << i, watch)
        while outcome != kernel.EXHAUSTED:
            outcome = step(pool.arrays, tree)
            if outcome == kernel.IMPROVED:
                grouped = int(tree.numbers[kernel.BEST_GROUPED])
                improvements.append(watch.tell_improvement("partition", grouped, float(tree.best_cost[0]) / grouped))
            elif outcome == kernel.NEEDS_SET:
                pool.add(int(tree.numbers[kernel.WANTED]), watch)
            watch.tell("partitions", int(tree.numbers[kernel.NUM_VISITED]))
            watch.check()
    watch.count("partitions", int(tree.numbers[kernel.NUM_VISITED]))
    best = [pool.members_of(at) for at in tree.best[: tree.numbers[kernel.BEST_COUNT]].tolist()]
    classes = tuple(sorted(members for members in best if len(members) >= rule.k))
    num_grouped = sum(map(len, classes))
    is_completed = outcome == kernel.EXHAUSTED and not pool.has_unsolved
    return Partition(
        classes=classes,
        left_out=outside(num, classes),
        is_optimal=False,
        is_stopped=not is_completed,
        is_completed=is_completed,
        num_anonymizable=num if num_grouped == num else None,
        improvements=tuple(improvements),
        num_visited=int(tree.numbers[kernel.NUM_VISITED]),
        num_duplicates=int(tree.numbers[kernel.NUM_DUPLICATES]),
        source=memo,
    )
