"""Merge-BB: branch and bound over merges (paper, section 4.4, Algorithms 2 and 3).

The search begins with every member in a set of its own and merges two sets at a time::

    Merge_BB_Search(Psi):
        ap, mac of the sets of Psi that qualify;  keep Psi if (ap, -mac) is better than the best
        return if Psi is one set, or all of Psi qualifies,
               or the best holds everybody and mac >= mac*                       # the three terminations
        for (i, j) in MergeOrder(Psi):                                          # CostAsc or Random
            continue if Prunable(psi_i, psi_j)                                  # the three rules
            continue if no walk covers psi_i + psi_j
            Psi' = Psi - psi_i - psi_j + (psi_i + psi_j)
            Merge_BB_Search(Psi') unless Psi' was met before                    # duplicate detection

:mod:`veilroute.kernels.branching` is this text over bit masks. The third termination looks unsafe and is not: the same
classes can be built in another order (docs/theory, :ref:`Merge-BB <theory-merge-bb>`).
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from veilroute.base.arrays import Ints
from veilroute.base.registry import Plugin, Registry
from veilroute.base.run import Watch
from veilroute.covering.engines import CoverMemo
from veilroute.covering.task import CoveringTask
from veilroute.kernels import branching as kernel
from veilroute.kernels.branching import Pool, Tree
from veilroute.kernels.tables import fill_row_slots
from veilroute.model.problem import Problem
from veilroute.model.rules import Rule
from veilroute.partition.branch_and_bound import ROUNDING, STEPS_PER_CALL, Step, search_partitions, start_tree
from veilroute.partition.result import Partition


@dataclass(frozen=True)
class MergeOrder:
    """Which pairs to merge first: by ascending key, which is compiled into the search, or at random."""

    number: int  # among those of the kernel; the search of a plug-in has its key in the place of CostAsc
    search: Callable[..., int] = kernel.search_merges


def _adapt(plugin: Plugin) -> MergeOrder:
    return MergeOrder(kernel.COST_ASC, search=plugin.guard(plugin.guard(kernel.search_merges_by)(plugin.value)))


MERGE_ORDERS: Registry[MergeOrder] = Registry(
    "merge order",
    "veilroute.merge_orders",
    _adapt,
    {"cost-asc": MergeOrder(kernel.COST_ASC), "random": MergeOrder(kernel.RANDOM)},
)
"""By name."""

CLOSED_BYTES = 2**30  #: partitions are remembered up to this much memory; from then on some may be met again
_FIRST_ROOM = 1 << 12


def partition_merge_bb(
    problem: Problem,
    task: CoveringTask,
    rule: Rule,
    *,
    seed: int,
    watch: Watch,
    merge_order: str = "cost-asc",
    engine: str | None = None,
    heuristic: str | None = None,
    tie_break: str | None = None,
    sighting: str | None = None,
    closed_bytes: int = CLOSED_BYTES,
) -> Partition:
    """Find the best partition under all-pairs spread, or the best one in the time given.

    Complexity: at most one visit for each partition of the members (a Bell number: 4,140 for 8 members, 4 million for
    12), and one covering walk for each set that is met. Ties: the first partition met stays; pairs of equal cost are
    merged in the order of their lowest members.

    The ``merge_order`` is ``cost-asc`` (by the dearer walk times the number of members), ``random``, for which the
    seed matters, or a plug-in's. ``engine``, ``heuristic``, ``tie_break`` and ``sighting`` choose what finds
    covering walks, see :class:`~veilroute.covering.engines.CoverMemo`.
    """
    order = MERGE_ORDERS.find(merge_order)
    memo = CoverMemo(task, engine=engine, heuristic=heuristic, tie_break=tie_break, sighting=sighting)

    def start(num: int) -> tuple[Tree, Step]:
        return start_tree(num, num, _draw_state(seed)), _Merging(task, rule.least, num, order, closed_bytes)

    return search_partitions(task, rule, watch, memo=memo, start=start)


def _draw_state(seed: int) -> int:
    digest = hashlib.sha256(f"veilroute-merge-order-{seed}".encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


class _Merging:
    """Calls the kernel with the partitions met before, for which it makes room."""

    def __init__(self, task: CoveringTask, k: int, num: int, order: MergeOrder, closed_bytes: int) -> None:
        self.k, self.num, self.order, self.closed_bytes = k, num, order, closed_bytes
        self.weights = np.array(task.weights)
        self.keys = np.empty(max(1, num * (num - 1) // 2))
        self.closed: Ints = np.empty((0, -(-num // kernel.MEMBERS_PER_WORD)), dtype=np.int64)
        self._resize(_FIRST_ROOM, 0)

    def __call__(self, pool: Pool, tree: Tree) -> int:
        outcome = self.order.search(
            STEPS_PER_CALL, self.k, self.num, ROUNDING * self.num, self.order.number, self.weights,
            pool, tree, self.closed, self.closed_slots, self.keys,
        )  # fmt: skip
        if outcome == kernel.NO_ROOM:
            self._resize(2 * len(self.closed), int(tree.numbers[kernel.NUM_CLOSED]))
        tree.numbers[kernel.MAY_GROW] = 2 * (self.closed.nbytes + self.closed_slots.nbytes) <= self.closed_bytes
        return int(outcome)

    def _resize(self, room: int, num: int) -> None:
        closed = np.empty((room, self.closed.shape[1]), dtype=np.int64)
        closed[:num] = self.closed[:num]
        self.closed = closed
        self.closed_slots = np.full(2 * room, -1, dtype=np.int32)
        fill_row_slots(num, self.closed, self.closed_slots)
