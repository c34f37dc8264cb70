"""What a plan means: what observers believe, what more privacy costs, and what stands in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.analysis.observers import (
    ADVERSARIES,
    Adversary,
    GuessStep,
    WatchReport,
    watch_by_fraction,
    watch_playbook,
)
from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.analysis.observers import Bayesian

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = ["ADVERSARIES", "Adversary", "GuessStep", "WatchReport", "watch_by_fraction", "watch_playbook"]
