"""What sets add to the MAC sum when their members share their first m nodes, asked for by the thousand.

On grids, and wherever walks can be padded (see :mod:`veilroute.covering.prefixes`): a beginning of m nodes that ends
at n and has covered S exists if and only if ``f_S(n)`` is at most m - 1 and n has the right colour. All beginnings cost
the same, so a set needs the best end for each of its subsets S, which is a look at the nodes that ``f_S`` reaches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veilroute.arrays import Flags, Floats, Int32s, Ints, Members
from veilroute.covering.set_costs import SetCosts
from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask
from veilroute.kernels.prefixes import price_beginnings
from veilroute.progress import Watch

MAX_BYTES = 2**30
"""The most memory for where beginnings that cover two members can end; some 500 members on 8,000 nodes."""

_SETS_PER_LOOK = 256


def fits_memory(task: CoveringTask) -> bool:
    """Whether the beginnings of all pairs can be kept: half of the nodes, those of one colour, for each."""
    num = len(task.members)
    return num * (num - 1) / 2 * task.domain.num_nodes / 2 * task.num_trips <= MAX_BYTES


class PrefixCosts:
    """Shares of sets whose members share a beginning.

    Parameters
    ----------
    task
        Members, posts and trips.
    order
        How the members are numbered.
    m
        How many nodes they share.
    whole
        Covering costs of whole walks: one of at most m nodes is shared to its end.
    """

    def __init__(self, task: CoveringTask, order: Ints, m: int, whole: SetCosts) -> None:
        self.task, self.order, self.m, self.whole = task, order, m, whole
        self._trips = [_TripBeginnings(task, order, m, trip) for trip in range(task.num_trips)]

    def shares(self, sets: Int32s, watch: Watch) -> Floats | None:
        """What sets of one size add, trips weighted; infinite where it is impossible. ``None`` when time is over."""
        total = np.zeros(len(sets))
        whole = self.whole.costs(sets, watch)
        if whole is None:
            return None
        ratios = self.task.ratio_weights[:, self.order]
        base = self.task.base_costs[:, self.order]
        for trip, beginnings in enumerate(self._trips):
            weight = ratios[trip][sets].sum(axis=1)
            prices = beginnings.prices(sets, watch)
            if prices is None:
                return None
            is_short = whole[:, trip] <= (self.m - 1) * self.task.unit * (1 + 1e-12)
            prices = np.minimum(prices, np.where(is_short, whole[:, trip] * weight, np.inf))
            fixed = (ratios[trip] * base[trip])[sets].sum(axis=1)
            total += self.task.weights[trip] * (prices - fixed)
        # Rounding must not make sharing look better than nothing.
        return np.maximum(total, 0.0)

    def pairs(self, watch: Watch) -> Floats | None:
        """What every two members add, as a symmetric matrix with zeros on its diagonal."""
        num = self.order.size
        rows, cols = np.triu_indices(num, 1)
        shares = self.shares(np.column_stack((rows, cols)).astype(np.int32), watch)
        if shares is None:
            return None
        out = np.zeros((num, num))
        out[rows, cols] = out[cols, rows] = shares
        return out


class _TripBeginnings:
    """The beginnings of one trip."""

    def __init__(self, task: CoveringTask, order: Ints, m: int, trip: int) -> None:
        self.task, self.trip, self.m = task, trip, m
        self._posts = [task.posts.posts_of(i) for i in order.tolist()]
        self._forward = Sweeper(task.domain, backward=False, num_seeds=max(1, task.posts.watch_posts.size))
        backward = Sweeper(task.domain, backward=True, num_seeds=max(1, task.posts.nodes.size))
        start = task.starts[trip]
        from_start = self._forward.run(start)
        to_goal = backward.run(task.goals[trip]).copy()
        is_stuck = m > 1 and task.domain.indptr[start] == task.domain.indptr[start + 1]
        has_colour = np.where(np.isfinite(from_start), from_start, 1 + m) % 2 == (m - 1) % 2
        is_end = (from_start <= m - 1) & has_colour & np.isfinite(to_goal) & (not is_stuck)
        self.nodes = np.flatnonzero(is_end)
        self._ratios = task.ratio_weights[trip][order]
        self._to_goal: Floats = to_goal[self.nodes] * task.unit
        self._ahead: Floats = np.empty((order.size, self.nodes.size))
        for i, mine in enumerate(self._posts):
            field = backward.run_from(task.posts.nodes[mine], task.to_goal[trip][mine])
            self._ahead[i] = field[self.nodes] * task.unit
        self._at_posts: dict[Members, Floats] = {(): from_start[task.posts.nodes]}
        self._row_of: dict[Members, int] = {(): 0 if self.nodes.size else -1}
        self._is_there: Flags = np.ones((64, self.nodes.size), dtype=np.bool_)
        self._num_rows = 1

    def prices(self, sets: Int32s, watch: Watch) -> Floats | None:
        """What the best beginning of each set costs its members together; ``None`` when the time is over."""
        out = np.empty(len(sets))
        size = sets.shape[1]
        for first in range(0, len(sets), _SETS_PER_LOOK):
            if watch.is_over():
                return None
            watch.tell("beginnings", first, len(sets))
            part = np.ascontiguousarray(sets[first : first + _SETS_PER_LOOK])
            rows = np.array([self._rows(members, size) for members in part.tolist()])
            price_beginnings(
                part, rows, self._is_there, self._to_goal, self._ahead, self._ratios, out[first : first + len(part)]
            )
        spent = (self.m - 1) * self.task.unit * self._ratios[sets].sum(axis=1)
        total: Floats = out + spent
        return total

    def _rows(self, members: Sequence[int], size: int) -> list[int]:
        """The row of each subset, by its bits."""
        return [self._row(tuple(members[i] for i in range(size) if covered >> i & 1)) for covered in range(1 << size)]

    def _row(self, covered: Members) -> int:
        """Where the nodes stand at which a beginning that covers a set can end; -1 when there are none."""
        known = self._row_of.get(covered)
        if known is not None:
            return known
        smaller = [covered[:i] + covered[i + 1 :] for i in range(len(covered))]
        row = -1
        if all(self._row(part) >= 0 for part in smaller):
            mine = [self._posts[i] for i in covered]
            values = [self._at_posts[part][posts] for part, posts in zip(smaller, mine, strict=True)]
            nodes, seeds = self.task.posts.nodes[np.concatenate(mine)], np.concatenate(values)
            is_soon = seeds <= self.m - 1
            if is_soon.any():
                field = self._forward.run_from(nodes[is_soon], seeds[is_soon])
                is_there = field[self.nodes] <= self.m - 1
                if is_there.any():
                    self._at_posts[covered] = field[self.task.posts.nodes]
                    row = self._keep(is_there)
        self._row_of[covered] = row
        return row

    def _keep(self, is_there: Flags) -> int:
        if self._num_rows == len(self._is_there):
            more = np.zeros_like(self._is_there)
            self._is_there = np.concatenate((self._is_there, more))
        self._is_there[self._num_rows] = is_there
        self._num_rows += 1
        return self._num_rows - 1
