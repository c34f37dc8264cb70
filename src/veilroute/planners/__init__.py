"""The planners: one file each, and all of them by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from veilroute.lazy import lazy_names
from veilroute.partition import OPTIONS as PARTITIONER_OPTIONS
from veilroute.partition import PARTITIONERS
from veilroute.planners.constructive import plan_constructive
from veilroute.planners.optimal import plan_optimal
from veilroute.planners.pbp import plan_m_pbp, plan_pbp
from veilroute.planners.plan import Plan, PlannedClass, plan_alone, plan_parting, plan_shared
from veilroute.planners.rbp import plan_rbp
from veilroute.planners.reuse import plan_reuse
from veilroute.registry import Entry, Plugin, Registry, check_options

if TYPE_CHECKING:
    from veilroute.planners.cbp import Cluster, Leads, cluster_members
    from veilroute.planners.constructive import join_walks
    from veilroute.planners.fleet import order_rates

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = [
    "PLANNERS",
    "Plan",
    "PlannedClass",
    "find_planner",
    "plan_alone",
    "plan_parting",
    "plan_shared",
]


def _adapt(plugin: Plugin) -> Entry:
    """A planner from elsewhere, whose options are kept in its plans whether it does so itself or not."""
    entry = plugin.to_entry(Plan)

    def plan(*given: Any, seed: int, **options: Any) -> Plan:
        made: Plan = entry.function(*given, seed=seed, **options)
        plugin.check_members([group.members for group in made.classes], len(made.task.members))
        own = {name: value for name, value in options.items() if name in entry.options}
        return replace(made, options={**entry.record(own), "seed": seed, **made.options})

    return replace(entry, home=plugin.guard(plan))


PLANNERS: Registry[Entry] = Registry(
    "planner",
    "veilroute.planners",
    _adapt,
    {
        "optimal": Entry(plan_optimal),
        "pbp": Entry(plan_pbp, options=("partitioner", *PARTITIONER_OPTIONS)),
        "m-pbp": Entry(plan_m_pbp, options=("partitioner", *PARTITIONER_OPTIONS)),
        "cbp": Entry("veilroute.planners.cbp:plan_cbp", options=("centre", "cluster_order", "centre_heuristic")),
        "rbp": Entry(plan_rbp),
        "constructive": Entry(plan_constructive),
        "reuse": Entry(plan_reuse, options=("partition",)),
        "fleet": Entry("veilroute.planners.fleet:plan_fleet", options=("orders_per_day", "customers", "partition")),
    },
)
"""By name; each is called as ``plan(problem, privacy, seed=..., watch=..., **options)``."""

_ANY_ORDER = ("optimal", "rbp", "reuse", "fleet")
_ANY_ORDER_WITHIN = ("exact", "local-search")


def takes_any_order(name: str, options: dict[str, Any]) -> bool:
    """Whether a planner may take the candidates sorted. The paper's other methods and plug-ins take them as listed.

    Naive and Cbp deal the list out at random, Merge-BB and DF-BB search along it, and the constructive planner serves
    it in turn: sorted, they would not do what the paper's experiments did.
    """
    return name in _ANY_ORDER or (name in ("pbp", "m-pbp") and options.get("partitioner", "exact") in _ANY_ORDER_WITHIN)


def find_planner(name: str, options: dict[str, Any]) -> Callable[..., Plan]:
    """The planner called ``name``, after checking that it takes ``options``.

    A planner that is told its partitioner also takes what that takes, which matters for those from elsewhere.
    """
    entry = PLANNERS.find(name)
    taken = entry.options
    partitioner = options.get("partitioner")
    if "partitioner" in taken and isinstance(partitioner, str) and partitioner not in PARTITIONERS:
        taken = tuple(dict.fromkeys((*taken, *PARTITIONERS.find(partitioner).options)))
    check_options(PLANNERS, name, options, taken)
    return entry.function
