"""Who could be anonymized at all, by any planner."""

from __future__ import annotations

from veilroute.audit.case import Case
from veilroute.audit.pricing import TooMuchError
from veilroute.audit.workbench import MAX_MEMBERS, Workbench, open_workbench

_MAX_EFFORT = 8_000_000


def count_anonymizable(case: Case, m: int | None) -> int | None:
    """How many candidates belong to some class that could be anonymized; ``None`` when that is too much work.

    Who is anonymized by the playbook, could be. For everybody else k candidates are looked for who are far enough apart
    and whom a walk can cover together with this one.
    """
    coverable = case.facts.coverable
    protected = set(case.protected)
    unclear = [c for c in coverable if c not in protected]
    if not unclear:
        return len(coverable)
    if len(coverable) > MAX_MEMBERS:
        return None
    try:
        bench = open_workbench(case, _MAX_EFFORT, m)
        return len(coverable) - sum(not _could_be(bench, bench.members.index(c)) for c in unclear)
    except TooMuchError:
        return None


def _could_be(bench: Workbench, member: int) -> bool:
    if _is_reached(bench, member, 1 << member, bench.space.far[member]):
        return True
    # Under `witness` those who are far apart need not be far from the member itself.
    others = (1 << bench.space.num) - 1 & ~(1 << member)
    return not bench.space.is_all_pairs and _is_reached(bench, member, 0, others)


def _is_reached(bench: Workbench, member: int, apart: int, pool: int) -> bool:
    """Whether ``apart`` can be made k members from the pool, all far from it, that a walk covers with ``member``."""
    bench.effort.spend(1)
    if not bench.is_possible(apart | 1 << member):
        return False
    if apart.bit_count() >= bench.space.k:
        return True
    while pool:
        low = pool & -pool
        pool ^= low
        if _is_reached(bench, member, apart | low, pool & bench.space.far[low.bit_length() - 1]):
            return True
    return False
