"""The planners: one file each, and all of them by name; ``solve`` is the way in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.planners.cbp import Cluster, Leads, cluster_members
    from veilroute.planners.choose import PLANNERS, find_planner
    from veilroute.planners.constructive import join_walks
    from veilroute.planners.fleet import order_rates
    from veilroute.planners.parameters import (
        Cbp,
        Constructive,
        DfBB,
        Exact,
        Fleet,
        LocalSearch,
        MergeBB,
        MPbp,
        Naive,
        Optimal,
        Parameters,
        Partitioner,
        Pbp,
        Rbp,
        Reuse,
    )
    from veilroute.planners.pbp import plan_m_pbp, plan_pbp
    from veilroute.planners.plan import Plan, PlannedClass, plan_alone, plan_parting, plan_shared
    from veilroute.planners.replan import with_contingencies
    from veilroute.planners.solve import extend_playbook, playbook_from_classes

# Each is imported when it is wanted, because planners load the kernels; what is for users is in __all__.
__getattr__ = lazy_names(__name__, __file__)


__all__ = [
    "PLANNERS", "Cbp", "Constructive", "DfBB", "Exact", "Fleet", "LocalSearch", "MPbp", "MergeBB", "Naive", "Optimal",
    "Parameters", "Partitioner", "Pbp", "Plan", "PlannedClass", "Rbp", "Reuse", "extend_playbook", "find_planner",
    "plan_alone", "plan_parting", "plan_shared", "playbook_from_classes", "with_contingencies",
]  # fmt: skip
