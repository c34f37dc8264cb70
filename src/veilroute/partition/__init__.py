"""How candidates are grouped into classes: one file per method, and all of them by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from veilroute.base.lazy import lazy_names
from veilroute.base.registry import Entry, Plugin, Registry, check_options
from veilroute.covering.task import CoveringTask
from veilroute.model.problem import Problem
from veilroute.model.rules import Rule
from veilroute.partition.result import Partition

if TYPE_CHECKING:
    from veilroute.partition.class_space import ClassSpace, Columns, Prices
    from veilroute.partition.columns import Proof, prove_cost
    from veilroute.partition.costs import BestPartition, Costs
    from veilroute.partition.crowd_strolls import CrowdStrolls, raise_by_crowd_strolls
    from veilroute.partition.crowded_space import CrowdedSpace, is_crowded
    from veilroute.partition.df_bb import partition_df_bb
    from veilroute.partition.exact import partition_by_columns, partition_exact
    from veilroute.partition.first import first_partition, split_into_classes
    from veilroute.partition.limits import other_limits
    from veilroute.partition.local_search import (
        LocalSearch,
        anneal_classes,
        greedy_partition,
        improve,
        partition_local_search,
    )
    from veilroute.partition.master import Bounding, separate
    from veilroute.partition.merge_bb import MERGE_ORDERS, partition_merge_bb
    from veilroute.partition.naive import shuffle_as_gnu
    from veilroute.partition.result import Grouping, Record
    from veilroute.partition.strolls import StrollSearch, raise_by_strolls
    from veilroute.partition.weighed_space import WeighedSpace

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = ["OPTIONS", "PARTITIONERS", "BestPartition", "Costs", "Entry", "Partition", "find_partitioner"]


#: All options that some built-in partitioner has; the last four are those of its search for covering walks.
OPTIONS = ("merge_order", "branch_order", "shuffle", "engine", "heuristic", "tie_break", "sighting")
_WALKS = OPTIONS[-4:]


def _adapt(plugin: Plugin) -> Entry:
    """A partitioner from elsewhere, whose classes are looked at before walks are looked for."""
    entry = plugin.to_entry(Partition)

    def partition(problem: Problem, task: CoveringTask, rule: Rule, **options: Any) -> Partition:
        made: Partition = entry.function(problem, task, rule, **options)
        plugin.check_members([*made.classes, made.left_out], len(task.members))
        return made

    return replace(entry, home=plugin.guard(partition))


# Each is imported when it is wanted: the paper's methods load the A* engine, a tenth of a second that who plans with
# `exact` need not wait for.
PARTITIONERS: Registry[Entry] = Registry(
    "partitioner",
    "veilroute.partitioners",
    _adapt,
    {
        "exact": Entry("veilroute.partition.exact:partition_exact"),
        "local-search": Entry("veilroute.partition.local_search:partition_local_search"),
        "merge-bb": Entry("veilroute.partition.merge_bb:partition_merge_bb", ("merge_order", *_WALKS)),
        "df-bb": Entry("veilroute.partition.df_bb:partition_df_bb", ("branch_order", *_WALKS)),
        "naive": Entry("veilroute.partition.naive:partition_naive", ("shuffle", *_WALKS)),
    },
)
"""By name; each is called as ``partition(problem, task, rule, seed=..., watch=..., **options)``."""


def find_partitioner(name: str, options: dict[str, Any]) -> Entry:
    """The partitioner called ``name``, after checking that it takes ``options``."""
    entry = PARTITIONERS.find(name)
    check_options(PARTITIONERS, name, options, entry.options)
    return entry
