"""What a partitioner returns."""

from __future__ import annotations

from dataclasses import dataclass

from veilroute.certificate import Certificate
from veilroute.covering.walks import WalkSource
from veilroute.progress import Incumbent


@dataclass(frozen=True)
class Partition:
    """A grouping of a task's members.

    Parameters
    ----------
    classes
        Qualifying classes as positions in the task, each ascending, ordered by first member.
    left_out
        Members that no class holds.
    is_optimal
        Whether no partition groups more members, or as many at a lower cost.
    is_stopped
        Whether the method was stopped before it was done.
    least_mean
        What no partition of as many members undercuts in the mean of the objective, from the class costs alone;
        ``None`` without a proof.
    num_anonymizable
        How many members belong to some qualifying class, ``None`` when not worked out.
    improvements
        Each partition on the way that was better than all before it, in order; the last one is this partition.
    num_visited, num_duplicates
        How many partitions a search has looked at, and how many it met again and passed over.
    certificate
        What the proof rests on, for who checks it; ``None`` where everything was tried.
    source
        Where to get the classes' walks, with what the method has worked out already; ``None`` when it has nothing.
    """

    classes: tuple[tuple[int, ...], ...]
    left_out: tuple[int, ...]
    is_optimal: bool
    is_stopped: bool = False
    least_mean: float | None = None
    num_anonymizable: int | None = None
    improvements: tuple[Incumbent, ...] = ()
    num_visited: int = 0
    num_duplicates: int = 0
    certificate: Certificate | None = None
    source: WalkSource | None = None
