"""Cheapest walks that cover a set of candidates: watchers, fields, class costs and the walks themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.covering.cover import Cover, cover
from veilroute.registry import lazy_names

if TYPE_CHECKING:
    from veilroute.covering.astar import HEURISTICS
    from veilroute.covering.engines import CoverMemo
    from veilroute.covering.fields import FieldsEngine
    from veilroute.covering.prefixes import Completions
    from veilroute.covering.set_costs import ClassWalks
    from veilroute.covering.task import CoveringTask, k_and_ell, prepare_task
    from veilroute.covering.walks import CoveringWalk, WalkSource
    from veilroute.kernels.astar import Estimator

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
    "prepare_task",
]

# They load kernels, which would make `import veilroute` slow.
__getattr__ = lazy_names(
    __name__,
    astar="Estimator HEURISTICS",
    engines="CoverMemo",
    fields="FieldsEngine",
    prefixes="Completions",
    set_costs="ClassWalks",
    task="CoveringTask k_and_ell prepare_task",
    walks="CoveringWalk WalkSource",
)
