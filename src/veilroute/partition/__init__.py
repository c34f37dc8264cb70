"""How candidates are grouped into classes: one file per method, and all of them by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from veilroute.covering.task import CoveringTask
from veilroute.partition.result import Partition
from veilroute.problem import Problem
from veilroute.registry import Entry, Plugin, Registry, check_options, lazy_names
from veilroute.rules import Rule

if TYPE_CHECKING:
    from veilroute.partition.costs import BestPartition, Costs

__all__ = ["OPTIONS", "PARTITIONERS", "BestPartition", "Costs", "Entry", "Partition", "find_partitioner"]

# They load kernels, which somebody who plans with another method need not wait for.
__getattr__ = lazy_names(__name__, costs="BestPartition Costs")

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
