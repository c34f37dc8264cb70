"""DF-BB: depth-first branch and bound over assignments (paper's supplement, "Depth-BB Partitioning").

The baseline of the paper's experiments::

    Depth_BB_Search(Psi, unassigned):
        if unassigned is empty:  keep Psi if it is better than the best;  return
        n = first of unassigned
        for psi in Psi:
            continue if Prunable(psi, {n})
            Depth_BB_Search(Psi - psi + (psi + n), unassigned - n)
        Depth_BB_Search(Psi + {n}, unassigned - n)

:mod:`veilroute.kernels.branching` is this text over bit masks. As in Merge-BB, no set without a walk is gone into,
and the third rule of Prunable waits for a partition that holds all members, assigned or not.

Some versions of the authors' program have the last line before the loop: they open a new set first. So small sets,
whose walks are quick to find, come before large ones, and a good partition comes early. That is the branch order
``new-first``, ours unless ``join-first`` is asked for, which is the text above and other versions of their program.
"""

from collections.abc import Mapping
from functools import partial

from veilroute.base.errors import UnknownMethodError
from veilroute.base.run import Watch
from veilroute.covering.engines import CoverMemo
from veilroute.covering.task import CoveringTask
from veilroute.kernels import branching as kernel
from veilroute.kernels.branching import Tree, search_assignments
from veilroute.model.problem import Problem
from veilroute.model.rules import Rule
from veilroute.partition.branch_and_bound import ROUNDING, STEPS_PER_CALL, Step, search_partitions, start_tree
from veilroute.partition.result import Partition

#: By name: whether the next member opens a set of its own first or last.
BRANCH_ORDERS: Mapping[str, int] = {"new-first": kernel.NEW_FIRST, "join-first": kernel.JOIN_FIRST}


def partition_df_bb(
    problem: Problem,
    task: CoveringTask,
    rule: Rule,
    *,
    seed: int,
    watch: Watch,
    branch_order: str = "new-first",
    engine: str | None = None,
    heuristic: str | None = None,
    tie_break: str | None = None,
    sighting: str | None = None,
) -> Partition:
    """Find the best partition under all-pairs spread, or the best one in the time given; the seed does not matter.

    Complexity: at most one visit for each partition of each first few members, and one covering walk for each set that
    is met. ``branch_order`` is one of :data:`BRANCH_ORDERS`: the very first partition has everybody alone, or
    everybody in one set. Ties: the first partition met stays. ``engine``, ``heuristic``, ``tie_break`` and ``sighting``
    choose what finds covering walks, see :class:`~veilroute.covering.engines.CoverMemo`.
    """
    if branch_order not in BRANCH_ORDERS:
        raise UnknownMethodError("branch_order", branch_order, tuple(BRANCH_ORDERS))
    order = BRANCH_ORDERS[branch_order]

    def start(num: int) -> tuple[Tree, Step]:
        return start_tree(num, 0), partial(search_assignments, STEPS_PER_CALL, rule.least, num, ROUNDING * num, order)

    memo = CoverMemo(task, engine=engine, heuristic=heuristic, tie_break=tie_break, sighting=sighting)
    return search_partitions(task, rule, watch, memo=memo, start=start)
