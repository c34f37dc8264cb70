"""Optimality proved again by trying everything, for problems small enough.

Every subset of the coverable candidates is priced and every way to split the candidates into classes is compared.
No lemma of the planners is used: classes of any size are tried, so that their size lemma is checked as well.

Who could be anonymized at all, by any planner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from veilroute.auditing.apartness import Spread, mask_of
from veilroute.auditing.beginnings import price_prefixes
from veilroute.auditing.combining import MAX_MEMBERS, Workbench, open_workbench
from veilroute.auditing.pricing import MAX_EFFORT, Prices, TooMuchError, price_walks
from veilroute.auditing.replay import Case
from veilroute.auditing.sight import Facts, TripFacts
from veilroute.auditing.verdicts import number
from veilroute.certificate import MAX_TRIED
from veilroute.problem import Privacy


@dataclass(frozen=True)
class Optimum:
    """The best that any planner can do.

    Parameters
    ----------
    num_anonymized
        The most candidates that can be anonymized at once.
    mac_at
        The least MAC for each number of anonymized candidates that can be reached.
    num_anonymizable
        Candidates that belong to some class that can be anonymized.
    effort
        What was tried, in words.
    """

    num_anonymized: int
    mac_at: dict[int, float]
    num_anonymizable: int
    effort: str

    @property
    def mac(self) -> float | None:
        """The least MAC while most candidates are anonymized, or ``None`` when none can be."""
        return self.mac_at.get(self.num_anonymized)


def find_optimum(facts: Facts, privacy: Privacy, spread: Spread) -> Optimum | None:
    """Try every class and every partition; ``None`` when that is too much work.

    Takes 2^n prices and 3^n steps for n coverable candidates; kept to a few seconds, of which 3^12 steps take two.
    """
    candidates = facts.coverable
    if len(candidates) > MAX_TRIED:
        return None
    try:
        shares = _class_shares(facts, privacy, candidates)
    except TooMuchError:
        return None
    classes = {
        chosen: share
        for chosen, share in enumerate(shares)
        if share < math.inf and _qualifies(chosen, candidates, privacy, spread)
    }
    least, num_ways = _best_partitions(len(candidates), classes)
    reachable = 0
    for chosen in classes:
        reachable |= chosen
    return Optimum(
        num_anonymized=max(least),
        mac_at={count: share / count for count, share in least.items() if count},
        num_anonymizable=reachable.bit_count(),
        effort=(
            f"{number(num_ways, 'way')} to group {number(len(candidates), 'coverable candidate')} compared, "
            f"from {number(len(classes), 'possible class', 'possible classes')}"
        ),
    )


def _qualifies(chosen: int, candidates: Sequence[int], privacy: Privacy, spread: Spread) -> bool:
    if chosen.bit_count() < privacy.k:
        return False
    mask = mask_of(c for i, c in enumerate(candidates) if chosen >> i & 1)
    if privacy.spread == "all-pairs":
        return spread.is_far(mask)
    return spread.largest_far_set(mask, enough=privacy.k).size >= privacy.k


def _class_shares(facts: Facts, privacy: Privacy, candidates: Sequence[int]) -> list[float]:
    """What each subset of the candidates adds to the sum behind MAC, over all trips; infinite when impossible."""
    total = math.fsum(trip.weight for trip in facts.problem.trips)
    shares = [0.0] * (1 << len(candidates))
    for trip, asked in zip(facts.trips, facts.problem.trips, strict=True):
        prices = _trip_shares(facts, trip, privacy, candidates, MAX_EFFORT / len(facts.trips))
        for chosen, price in enumerate(prices):
            shares[chosen] += asked.weight / total * price
    return shares


def _trip_shares(facts: Facts, trip: TripFacts, privacy: Privacy, candidates: Sequence[int], effort: float) -> Prices:
    if privacy.m is not None:
        return price_prefixes(facts, trip, candidates, privacy.m, effort)
    costs = price_walks(facts, trip, candidates, effort)
    weights = [1 / facts.divisor(trip.base_costs[c]) for c in candidates]
    extras = [trip.base_costs[c] * weight for c, weight in zip(candidates, weights, strict=True)]
    shares = [0.0] * len(costs)
    for chosen, cost in enumerate(costs):
        inside = [i for i in range(len(candidates)) if chosen >> i & 1]
        shares[chosen] = math.fsum(cost * weights[i] - extras[i] for i in inside)
    return shares


def _best_partitions(num: int, classes: dict[int, float]) -> tuple[dict[int, float], int]:
    """The least total share for every number of anonymized candidates, and how many ways there were.

    Candidate by candidate: the first one of a set is either left out or in one of the classes within the set.
    """
    best: list[dict[int, float]] = [{0: 0.0}]
    ways = [1]
    for chosen in range(1, 1 << num):
        first = chosen & -chosen
        rest = chosen ^ first
        found = dict(best[rest])
        count = ways[rest]
        others = rest
        while True:
            group = others | first
            share = classes.get(group)
            if share is not None:
                size = group.bit_count()
                count += ways[chosen ^ group]
                for covered, sofar in best[chosen ^ group].items():
                    if share + sofar < found.get(covered + size, math.inf):
                        found[covered + size] = share + sofar
            if not others:
                break
            others = (others - 1) & rest
        best.append(found)
        ways.append(count)
    return best[-1], ways[-1]


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
