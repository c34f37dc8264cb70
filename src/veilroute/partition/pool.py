"""The sets that a branch-and-bound search has met, with what each costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veilroute.covering.memo import CoverMemo
from veilroute.covering.task import CoveringTask
from veilroute.errors import TooLargeError
from veilroute.kernels.branching import Pool, fill_slots
from veilroute.progress import Watch

MAX_MEMBERS = 62
"""The most members of a search: a set is the bits of one integer."""

_FIRST_ROOM = 1 << 8


class SetPool:
    """Grows the arrays of :class:`~veilroute.kernels.branching.Pool`, a set at a time.

    Parameters
    ----------
    task
        Members and trips.
    memo
        Where covering costs come from.
    far
        For each member the bit mask of those far enough away.
    """

    def __init__(self, task: CoveringTask, memo: CoverMemo, far: Sequence[int]) -> None:
        everybody = (1 << len(task.members)) - 1
        self._near = [everybody & ~mask & ~(1 << i) for i, mask in enumerate(far)]
        self._memo = memo
        self._ratios = np.array(task.weights)[:, None] * task.ratio_weights
        self._fixed = (self._ratios * task.base_costs).sum(axis=0)
        self.num_sets = 0
        self.num_unsolved = 0
        self.arrays = _make_room(_FIRST_ROOM, task.num_trips)

    def add(self, mask: int, watch: Watch) -> bool:
        """Work out what a set costs and put it in; false when the time is over.

        A set that is too large for the engine is put in as if no walk covered it, and counted.
        """
        members = tuple(i for i in range(mask.bit_length()) if mask >> i & 1)
        try:
            costs = self._memo.costs(members, watch)
        except TooLargeError:
            costs = None
        if costs is None:
            if watch.is_over():
                return False
            self.num_unsolved += 1
            costs = np.full(self._ratios.shape[0], np.inf)
        if self.num_sets == self.arrays.masks.size:
            larger = _make_room(2 * self.num_sets, self._ratios.shape[0])
            for name in ("masks", "sizes", "near", "costs", "ratios", "fixed", "shares"):
                getattr(larger, name)[: self.num_sets] = getattr(self.arrays, name)
            self.arrays = larger
            fill_slots(0, self.num_sets, larger)
        at, pool = self.num_sets, self.arrays
        chosen = list(members)
        pool.masks[at], pool.sizes[at] = mask, len(members)
        pool.near[at] = np.bitwise_or.reduce([self._near[i] for i in members])
        pool.costs[at], pool.ratios[at] = costs, self._ratios[:, chosen].sum(axis=1)
        pool.fixed[at] = self._fixed[chosen].sum()
        pool.shares[at] = float(costs @ pool.ratios[at]) - pool.fixed[at]
        self.num_sets += 1
        fill_slots(at, self.num_sets, pool)
        return True

    def members_of(self, at: int) -> tuple[int, ...]:
        """Members of the set that stands at a place."""
        mask = int(self.arrays.masks[at])
        return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def _make_room(num_sets: int, num_trips: int) -> Pool:
    whole: Any = {"dtype": np.int64}
    return Pool(
        masks=np.zeros(num_sets, **whole),
        sizes=np.zeros(num_sets, **whole),
        near=np.zeros(num_sets, **whole),
        costs=np.zeros((num_sets, num_trips)),
        ratios=np.zeros((num_sets, num_trips)),
        fixed=np.zeros(num_sets),
        shares=np.zeros(num_sets),
        slots=np.full(4 * num_sets, -1, dtype=np.int32),
    )
