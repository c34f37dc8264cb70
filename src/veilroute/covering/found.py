"""What the engines have in common: the question, and what they found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from veilroute.arrays import Walk
from veilroute.progress import Watch

CoverStatus = Literal["optimal", "feasible", "infeasible", "over-bound", "unknown"]
"""What is known about a covering walk, see :class:`~veilroute.covering.cover.Cover`."""


@dataclass(frozen=True)
class Counts:
    """How much work a search was.

    Parameters
    ----------
    num_expanded, num_generated
        States that an A* search took off and put on its open list; 0 for other engines.
    num_sweeps
        Sweeps of the graph.
    """

    num_expanded: int = 0
    num_generated: int = 0
    num_sweeps: int = 0


@dataclass(frozen=True, eq=False)
class Found:
    """What an engine found for a set of members.

    Parameters
    ----------
    walk
        Nodes from start to goal; empty when there is none to show.
    cost
        Cost of the walk, infinite without one.
    status
        How much is proved.
    lower_bound
        What the search proved that every covering walk costs at least.
    counts
        How much work it was.
    """

    walk: Walk
    cost: float
    status: CoverStatus
    lower_bound: float
    counts: Counts


class WalkSource(Protocol):
    """Whatever can be asked for the covering walks of one task."""

    def find(self, members: Sequence[int], trip: int = 0) -> Found:
        """The cheapest walk of a trip that covers ``members`` (positions in the task)."""


class CoverEngine(Protocol):
    """Finds covering walks for the members of one task."""

    def find(
        self, members: Sequence[int], trip: int = 0, *, cost_bound: float = math.inf, watch: Watch | None = None
    ) -> Found:
        """The cheapest walk of a trip that covers ``members`` (positions in the task)."""
