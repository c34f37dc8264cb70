"""What a planner returns: classes and walks in node numbers, before they become a playbook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from veilroute.certificate import Certificate
from veilroute.covering.found import WalkSource
from veilroute.covering.task import CoveringTask
from veilroute.covering.walks import Walk


@dataclass(frozen=True, eq=False)
class PlannedClass:
    """Members that share one walk per trip, or the first m nodes of one.

    Parameters
    ----------
    members
        Positions in the task.
    is_anonymized
        Whether the class reaches k and ell.
    walks, costs
        One per trip.
    own
        Walks and costs of members that leave the shared walk, by (trip, member).
    """

    members: tuple[int, ...]
    is_anonymized: bool
    walks: tuple[Walk, ...]
    costs: tuple[float, ...]
    own: dict[tuple[int, int], tuple[Walk, float]] = field(default_factory=dict)

    def cost_of(self, member: int, trip: int) -> float:
        """What a member's walk costs."""
        return self.own[trip, member][1] if (trip, member) in self.own else self.costs[trip]


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
    certificate
        What the bound rests on, for who checks it.
    """

    task: CoveringTask
    classes: tuple[PlannedClass, ...]
    is_optimal: bool
    mac_lower_bound: float | None
    num_anonymizable: int | None
    options: dict[str, object]
    certificate: Certificate | None = None


def plan_parting(members: tuple[int, ...], routes: dict[tuple[int, int], tuple[Walk, float]]) -> PlannedClass:
    """A class whose members share only how their walks begin; the first member's stand for the class.

    Parameters
    ----------
    members
        Positions in the task.
    routes
        Walk and cost for each trip and member.
    """
    trips = sorted({trip for trip, member in routes if member == members[0]})
    first = [routes[trip, members[0]] for trip in trips]
    own = {
        (trip, member): routes[trip, member]
        for trip in trips
        for member in members
        if not np.array_equal(routes[trip, member][0], first[trip][0])
    }
    return PlannedClass(members, True, tuple(walk for walk, _ in first), tuple(cost for _, cost in first), own)


def plan_alone(task: CoveringTask, members: Sequence[int], source: WalkSource) -> list[PlannedClass]:
    """One class for each member that is left out, with the cheapest walk that covers it."""
    return [plan_shared(task, (member,), source, is_anonymized=False) for member in members]


def plan_shared(
    task: CoveringTask, members: tuple[int, ...], source: WalkSource, *, is_anonymized: bool
) -> PlannedClass:
    """A class whose members share the cheapest walk that covers all of them."""
    found = [source.find(members, trip) for trip in range(task.num_trips)]
    walks, costs = tuple(each.walk for each in found), tuple(each.cost for each in found)
    return PlannedClass(members, is_anonymized, walks, costs)
