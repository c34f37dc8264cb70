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
"""

from functools import partial

from veilroute.covering.engines import CoverMemo
from veilroute.covering.task import CoveringTask
from veilroute.kernels.branching import Tree, search_assignments
from veilroute.partition.branch_and_bound import ROUNDING, STEPS_PER_CALL, Step, search_partitions, start_tree
from veilroute.partition.result import Partition
from veilroute.problem import Problem
from veilroute.progress import Watch
from veilroute.rules import Rule


def partition_df_bb(
    problem: Problem,
    task: CoveringTask,
    rule: Rule,
    *,
    seed: int,
    watch: Watch,
    engine: str | None = None,
    heuristic: str | None = None,
) -> Partition:
    """Find an optimal partition under all-pairs spread, or the best one in the time given; the seed does not matter.

    Complexity: at most one visit for each partition of each first few members, and one covering walk for each set that
    is met; the very first partition has everybody in one set. Ties: the first partition met stays. ``engine`` and
    ``heuristic`` choose what finds covering walks, see :class:`~veilroute.covering.engines.CoverMemo`.
    """

    def start(num: int) -> tuple[Tree, Step]:
        return start_tree(num, 0), partial(search_assignments, STEPS_PER_CALL, rule.least, num, ROUNDING * num)

    memo = CoverMemo(task, engine=engine, heuristic=heuristic)
    return search_partitions(task, rule, watch, memo=memo, start=start)
