"""What a planner returns: classes and walks in node numbers, before they become a playbook."""

from __future__ import annotations

from dataclasses import dataclass

from veilroute.covering.task import CoveringTask
from veilroute.covering.walks import Walk


@dataclass(frozen=True, eq=False)
class PlannedClass:
    """Members that share one walk per trip.

    Parameters
    ----------
    members
        Positions in the task.
    is_anonymized
        Whether the class reaches k and ell.
    walks, costs
        One per trip.
    """

    members: tuple[int, ...]
    is_anonymized: bool
    walks: tuple[Walk, ...]
    costs: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """The outcome of a planner.

    Parameters
    ----------
    task
        Who can be covered, at what base cost.
    classes
        Anonymized classes first, then one class for each member that is left out.
    is_optimal
        Whether the partition is proved to be the best for the privacy asked for.
    mac_lower_bound
        The MAC that no plan for as many members undercuts, worked out apart from the walks; ``None`` without a proof.
    num_anonymizable
        How many members any planner could anonymize, ``None`` when not worked out.
    options
        What the planner was run with, for the record.
    """

    task: CoveringTask
    classes: tuple[PlannedClass, ...]
    is_optimal: bool
    mac_lower_bound: float | None
    num_anonymizable: int | None
    options: dict[str, object]
