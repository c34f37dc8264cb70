"""All planners by name, which options each takes, and which may take the candidates in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from veilroute.base.registry import Entry, Plugin, Registry, check_options
from veilroute.partition import OPTIONS as PARTITIONER_OPTIONS
from veilroute.partition import PARTITIONERS
from veilroute.planners.plan import Plan


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
        "optimal": Entry("veilroute.planners.optimal:plan_optimal"),
        "pbp": Entry("veilroute.planners.pbp:plan_pbp", options=("partitioner", *PARTITIONER_OPTIONS)),
        "m-pbp": Entry("veilroute.planners.pbp:plan_m_pbp", options=("partitioner", *PARTITIONER_OPTIONS)),
        "cbp": Entry("veilroute.planners.cbp:plan_cbp", options=("centre", "cluster_order", "centre_heuristic")),
        "rbp": Entry("veilroute.planners.rbp:plan_rbp"),
        "constructive": Entry("veilroute.planners.constructive:plan_constructive"),
        "reuse": Entry("veilroute.planners.reuse:plan_reuse", options=("partition",)),
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
