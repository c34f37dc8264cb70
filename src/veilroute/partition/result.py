"""What a partitioner returns, and what it keeps on the way there: groupings, and the best of them so far."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from veilroute.base.arrays import Classes, Floats, Members, as_members
from veilroute.base.errors import InvalidInputError
from veilroute.base.run import Incumbent, Watch
from veilroute.covering.walks import WalkSource
from veilroute.model.certificate import Certificate
from veilroute.model.rules import KAndEll, Rule

_SAME_WORTH = 1e-9


@dataclass(frozen=True)
class Partition:
    """What a partitioner returns: a grouping of the members of a task.

    A plug-in needs the first three, and says ``is_stopped`` and ``source`` if it can;
    :class:`~veilroute.partition.BestPartition` fills them in.

    Attributes
    ----------
    classes
        The classes. Each is an ascending tuple of positions in ``task.members`` that the rule says yes to, and they
        stand in the order of their first members.
    left_out
        The members that are in no class, ascending.
    is_optimal
        Whether it is proved that no partition groups more members, or as many of them at a lower cost.
    is_stopped
        Whether the time was over before the method came to its end.
    is_completed
        Whether a search that claims no optimum has looked at everything.
    least_mean
        A proved lower bound on the MAC (or the mean of another objective) of all partitions that group as many members,
        from the costs of classes alone; ``None`` without a proof.
    num_anonymizable
        How many members are in some class that the rule allows; ``None`` if this is not known.
    improvements
        Each partition on the way that was better than all before it, in order; the last one is this partition.
    num_visited
        How many partitions the search has looked at.
    num_duplicates
        How many partitions it met again and passed over.
    certificate
        What a proof rests on, for the auditor; ``None`` if there is no proof, or everything was tried.
    source
        Finds the walks of the classes with what the method has worked out already; ``None`` if it has nothing.
    """

    classes: Classes
    left_out: Members
    is_optimal: bool
    is_stopped: bool = False
    is_completed: bool = False
    least_mean: float | None = None
    num_anonymizable: int | None = None
    improvements: tuple[Incumbent, ...] = ()
    num_visited: int = 0
    num_duplicates: int = 0
    certificate: Certificate | None = None
    source: WalkSource | None = None


def k_and_ell_only(rule: Rule) -> KAndEll:
    """The rule of a method from the paper, which counts; refuses to plan by risk."""
    if not isinstance(rule, KAndEll) or rule.value != 1:
        others = "plan by risk with the planner optimal, or with exact or local-search"
        raise InvalidInputError("partitioner", f"k and ell, the only rule that the paper's methods know; {others}")
    return rule


def outside(num: int, classes: Iterable[Iterable[int]]) -> Members:
    """Those of ``num`` members whom no class holds."""
    inside = {i for members in classes for i in members}
    return as_members(i for i in range(num) if i not in inside)


def subset_sums(values: Floats) -> Floats:
    """For every set of members, by bit mask, the sum of their values."""
    sums = np.zeros(1)
    for value in values.tolist():
        sums = np.concatenate((sums, sums + value))
    return sums


@dataclass(frozen=True)
class Grouping:
    """A partition in the numbering of a class space."""

    classes: Classes  # each ascending, ordered by first member
    shares: tuple[float, ...]  # what each adds to the MAC sum
    left_out: Members  # members that no class holds
    hidden: float  # what those are worth whom classes hold: their number, or how probable they are

    @classmethod
    def of(cls, worth: Floats, shares: Mapping[Members, float]) -> Grouping:
        """The grouping of members, with what each is worth, into classes with what each adds."""
        classes = tuple(sorted(shares))
        left_out = outside(worth.size, classes)
        hidden = math.fsum(np.delete(worth, left_out).tolist())
        return cls(classes, tuple(shares[members] for members in classes), left_out, hidden)

    @property
    def num_grouped(self) -> int:
        """How many members are in classes."""
        return sum(map(len, self.classes))

    @property
    def total(self) -> float:
        """What all classes add to the MAC sum."""
        return float(sum(self.shares))


def better(one: Grouping, other: Grouping) -> Grouping:
    """The partition that hides more, or as much for less; the first one when they are equal."""
    if math.isclose(one.hidden, other.hidden, rel_tol=_SAME_WORTH):
        return other if other.total < one.total else one
    return other if other.hidden > one.hidden else one


@dataclass(eq=False)
class Record:
    """The best partition so far, and each that was better than all before it."""

    best: Grouping
    watch: Watch  # who is told
    stage: str = "partition"  # and what the work is called
    improvements: list[Incumbent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tell()

    def offer(self, other: Grouping) -> bool:
        """Keep a partition that groups more members, or as many for less; whether it was kept."""
        if better(self.best, other) is self.best:
            return False
        self.best = other
        self._tell()
        return True

    def _tell(self) -> None:
        if self.best.classes:
            mac = self.best.total / self.best.hidden
            self.improvements.append(self.watch.tell_improvement(self.stage, self.best.num_grouped, mac))
