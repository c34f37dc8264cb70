"""From how many members on partitioners go about their work in another way.

All ways of the exact one prove the same optimum. Which one is quicker depends on how many members there are, so on a
small problem most of them are never taken. :func:`other_limits` has them taken all the same, for what compares them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from veilroute.model.certificate import MAX_TRIED


@dataclass(frozen=True)
class Limits:
    """Numbers of members, unless they say something else."""

    tried: int = MAX_TRIED  #: up to this many, all their sets are tried whatever the rule is
    certified: int = MAX_TRIED  #: more than this many are given a certificate with their tables
    tables: int = 20  #: up to this many, they may be: the tables have two to that power entries
    combined: int = 20  #: up to this many, no integer programme is needed (``combine_few``)
    few: int = 60  #: up to this many, pricing classes one by one ends if all classes have a price
    large_k: int = 5  #: from this k on a bound comes first where pricing classes one by one may never end
    large_gap: float = 0.1  #: and, of crowded classes, if what a quick look leaves between plan and bound is more
    many_columns: int = 8_000  #: of more classes those that differ in members who cost nothing are one
    #: how many steps a search for classes takes for each heaviest member, or leader, before it leaves them at a bound
    quota: float = 1e6
    steps: int = 4_000_000  #: how many it takes for a leader before it says that it cannot list all classes
    exact: int = 13  #: up to this many members of a crowd, what they cost is worked out, and not only a bound on it
    rows: int = 1 << 12  #: how many subsets local search looks at to group members again, from 40 to 4,096
    effort: int = 20_000  #: how many sets local search looks at for each member, after the first local optimum
    annealed: int = 400_000  #: how many moves a run of annealing tries


USUAL = Limits()
_limits: ContextVar[Limits] = ContextVar("limits", default=USUAL)


def limits() -> Limits:
    """Those that hold now."""
    return _limits.get()


@contextmanager
def other_limits(**changed: Any) -> Iterator[None]:
    """Let other limits hold in a block of code, on this thread."""
    token = _limits.set(replace(_limits.get(), **changed))
    try:
        yield
    finally:
        _limits.reset(token)
