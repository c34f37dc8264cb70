"""What a plan means: what observers believe, what more privacy costs, and what stands in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.analysis.all_pairs import CandidateOutcome, PairOutcome, PairSurvey, survey_pairs
    from veilroute.analysis.frontier import Frontier, FrontierPoint
    from veilroute.analysis.observers import (
        ADVERSARIES,
        Adversary,
        Bayesian,
        GuessStep,
        WatchReport,
        watch_by_fraction,
        watch_playbook,
    )
    from veilroute.analysis.obstacles import Obstacle, find_obstacles
    from veilroute.analysis.posterior import RiskReport

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = [
    "ADVERSARIES", "Adversary", "CandidateOutcome", "Frontier", "FrontierPoint", "GuessStep", "Obstacle", "PairOutcome",
    "PairSurvey", "RiskReport", "WatchReport", "find_obstacles", "survey_pairs", "watch_by_fraction", "watch_playbook",
]  # fmt: skip
