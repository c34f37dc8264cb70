"""The planners by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from veilroute.errors import UnknownMethodError
from veilroute.partition.registry import OPTIONS as PARTITIONER_OPTIONS
from veilroute.partition.registry import check_options
from veilroute.planners.cbp import plan_cbp
from veilroute.planners.m_pbp import plan_m_pbp
from veilroute.planners.optimal import plan_optimal
from veilroute.planners.pbp import plan_pbp
from veilroute.planners.plan import Plan
from veilroute.planners.rbp import plan_rbp
from veilroute.planners.reuse import plan_reuse


@dataclass(frozen=True)
class Planner:
    """A planner and the names of its own options.

    Parameters
    ----------
    plan
        Called as ``plan(problem, privacy, seed=..., watch=..., **options)``.
    options
        What it takes beyond these.
    """

    plan: Callable[..., Plan]
    options: tuple[str, ...] = ()


PLANNERS: dict[str, Planner] = {
    "optimal": Planner(plan_optimal),
    "pbp": Planner(plan_pbp, options=("partitioner", *PARTITIONER_OPTIONS)),
    "m-pbp": Planner(plan_m_pbp, options=("partitioner", *PARTITIONER_OPTIONS)),
    "cbp": Planner(plan_cbp),
    "rbp": Planner(plan_rbp),
    "reuse": Planner(plan_reuse, options=("partition",)),
}


def find_planner(name: str, options: dict[str, Any]) -> Callable[..., Plan]:
    """The planner called ``name``, after checking that it takes ``options``."""
    if name not in PLANNERS:
        raise UnknownMethodError("planner", name, tuple(PLANNERS))
    check_options("planner", name, options, PLANNERS[name].options)
    return PLANNERS[name].plan
