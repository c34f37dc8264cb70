"""Cheapest walks that cover a set of candidates: watchers, fields, class costs and the walks themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names
from veilroute.covering.cover import Cover, cover, m_of_ratio

if TYPE_CHECKING:
    from veilroute.base.arrays import Members, Node, as_members
    from veilroute.covering.astar import HEURISTICS, AStarEngine
    from veilroute.covering.crew import ClusterCrew, Crew, Sweeps, at_work, num_threads
    from veilroute.covering.engines import ENGINES, CoverMemo
    from veilroute.covering.fields import FieldsEngine, FieldStepper, SharedFields, allocate_rows, check_room
    from veilroute.covering.prefixes import Completions, fits_memory, has_two_colours
    from veilroute.covering.set_costs import MAX_TOUR, ClassWalks, FieldCosts, Method, TourCosts, compute_class_costs
    from veilroute.covering.states import StateGraph, search_graph
    from veilroute.covering.task import (
        CoveringTask,
        Posts,
        PostTable,
        base_costs,
        far_matrix,
        find_watchers,
        k_and_ell,
        prepare_task,
        who_can_hide,
    )
    from veilroute.covering.walks import CoveringWalk, Sweeper, WalkSource, walk_cost
    from veilroute.kernels.astar import Estimator
    from veilroute.model.rules import KAndEll, RiskBound

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = [
    "HEURISTICS",
    "ClassWalks",
    "Completions",
    "Cover",
    "CoverMemo",
    "CoveringTask",
    "CoveringWalk",
    "Estimator",
    "FieldsEngine",
    "WalkSource",
    "cover",
    "k_and_ell",
    "m_of_ratio",
    "prepare_task",
]
