"""Optimality proved again by trying everything, for problems small enough.

Every subset of the coverable candidates is priced and every way to split the candidates into classes is compared.
No lemma of the planners is used: classes of any size are tried, so that their size lemma is checked as well.
"""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from veilroute.auditing.apartness import Spread, mask_of, members_of
from veilroute.auditing.pricing import price_walks
from veilroute.auditing.survey import Survey, TripDistances
from veilroute.auditing.verdicts import number
from veilroute.auditing.walking import HEAP_VISIT, TABLE_STEP, TooMuchError
from veilroute.model.certificate import MAX_TRIED

MAX_EFFORT = 4_000_000  #: node visits (or steps of similar cost) after which a price list is given up: a few seconds
_MASS_ROUNDING = 1e-9  #: how far sums of probabilities may be off
_LAYER_VISIT = 4  #: what keeping one (node, covered set) takes, measured in visits by breadth-first search

Prices = list[float]  #: one figure per subset of the candidates, by bit mask; infinite where there is no walk


@dataclass(frozen=True)
class Optimum:
    """The best that any planner can do.

    What a plan hides is so many candidates or, where a risk is bounded, so much probability.
    """

    most: float  # the most that can be hidden at once
    least: dict[float, float]  # the objective's least sum for everything above 0 that can be hidden
    num_anonymizable: int  # how many belong to some class that can be anonymized
    effort: str  # in words what was tried
    is_mass: bool = False  # whether what is hidden is probability

    @property
    def num_anonymized(self) -> int:
        """The most candidates that can be hidden at once, where it is these that count."""
        return round(self.most)

    def least_for(self, hidden: float) -> float | None:
        """The least sum of plans that hide so much."""
        as_much = (much for much in self.least if not (self.exceeds(much, hidden) or self.exceeds(hidden, much)))
        return min((self.least[much] for much in as_much), default=None)

    def exceeds(self, one: float, other: float) -> bool:
        """Whether one plan hides more than another, by more than sums of probabilities are off."""
        return one > other + _MASS_ROUNDING * self.is_mass

    def size_text(self, hidden: float) -> str:
        """So much in words."""
        return f"a probability of {hidden:.9g}" if self.is_mass else number(round(hidden), "candidate")


def find_optimum(survey: Survey, rule: Spread, m: int | None, *, effort: float = MAX_EFFORT) -> Optimum | None:
    """Try every class and every partition; ``None`` when that is too much work.

    Takes 2^n prices and 3^n steps for n coverable candidates, or those of them that could be hidden under a bound on
    the risk or after earlier trips; kept to a few seconds, of which 3^12 steps take two.
    """
    candidates = rule.hideable
    if len(candidates) > MAX_TRIED:
        return None
    try:
        shares = _class_shares(survey, m, candidates, effort / len(survey.trips))
    except TooMuchError:
        return None
    classes = {
        chosen: share
        for chosen, share in enumerate(shares)
        if share < math.inf and rule.qualifies(mask_of(candidates[i] for i in members_of(chosen)))
    }
    sums, num_ways = _best_partitions(len(candidates), classes)
    is_mass = rule.beta is not None
    least: dict[float, float] = {}
    for chosen, total in enumerate(sums):
        masses = (survey.prior[candidates[i]] for i in members_of(chosen))
        hidden = math.fsum(masses) if is_mass else chosen.bit_count()
        if total < least.get(hidden, math.inf):
            least[hidden] = total
    return Optimum(
        most=max(least),
        least={hidden: total for hidden, total in least.items() if hidden},
        num_anonymizable=reduce(operator.or_, classes, 0).bit_count(),
        effort=(
            f"{number(num_ways, 'way')} to group {number(len(candidates), 'coverable candidate')} compared, "
            f"from {number(len(classes), 'possible class', 'possible classes')}"
        ),
        is_mass=is_mass,
    )


def _class_shares(survey: Survey, m: int | None, candidates: Sequence[int], effort: float) -> Prices:
    """What each subset of the candidates adds to the objective's sum, over all trips; infinite when impossible."""
    shares = [0.0] * (1 << len(candidates))
    for trip, weight in zip(survey.trips, survey.trip_shares, strict=True):
        if m is None:
            prices = _walk_shares(survey, trip, candidates, effort)
        else:
            prices = price_prefixes(survey, trip, candidates, m, effort)
        shares = [share + weight * price for share, price in zip(shares, prices, strict=True)]
    return shares


def _walk_shares(survey: Survey, trip: TripDistances, candidates: Sequence[int], effort: float) -> Prices:
    """What each subset adds to the objective's sum when its members share a whole walk."""
    weights = [survey.weight(trip, c) for c in candidates]
    credits_ = [trip.base_costs[c] * weight for c, weight in zip(candidates, weights, strict=True)]
    return [
        math.fsum(cost * weights[i] - credits_[i] for i in members_of(chosen))
        for chosen, cost in enumerate(price_walks(survey, trip, candidates, effort))
    ]


def _best_partitions(num: int, classes: dict[int, float]) -> tuple[Prices, int]:
    """The least total share at which a plan hides exactly each set of candidates, and how many plans there are.

    Candidate by candidate: the first one of a set is in one of the classes within the set.
    """
    best, ways = [0.0], [1]
    for chosen in range(1, 1 << num):
        first = chosen & -chosen
        others = rest = chosen ^ first
        found, count = math.inf, 0
        while True:
            group = others | first
            share = classes.get(group)
            if share is not None:
                count += ways[chosen ^ group]
                found = min(found, share + best[chosen ^ group])
            if not others:
                break
            others = (others - 1) & rest
        best.append(found)
        ways.append(count)
    return best, sum(ways)


def price_prefixes(
    survey: Survey, trip: TripDistances, candidates: Sequence[int], m: int, effort: float = MAX_EFFORT
) -> Prices:
    """What each subset adds to the objective's sum when its members share their first ``m`` nodes.

    They share either a walk of exactly m nodes, after which each goes its own cheapest way, or one complete walk of
    at most m nodes that covers them all. Walks are followed node by node, keeping for each (node, covered set) the
    cheapest; gives up with `TooMuchError` beyond ``effort``.
    """
    num_subsets = 1 << len(candidates)
    if len(candidates) * survey.ground.num_nodes * HEAP_VISIT > effort:
        raise TooMuchError
    # Every walk that is kept at the end is held against every subset.
    layer, complete = _walk_layers(survey, trip, candidates, m, effort, int(effort / (num_subsets * TABLE_STEP)))
    base = [trip.base_costs[c] for c in candidates]
    weights = [survey.weight(trip, c) for c in candidates]
    covering = [
        survey.ground.distances(
            [(q, trip.to_goal[q]) for q in sorted(survey.posts[c]) if trip.to_goal[q] < math.inf], backwards=True
        )
        for c in candidates
    ]
    prices = [math.inf] * num_subsets
    prices[0] = 0.0
    for seen, cost in complete.items():
        _lower(prices, [(cost - base[i]) * weights[i] if seen >> i & 1 else math.inf for i in range(len(base))])
    for (node, seen), cost in layer.items():
        ahead = [trip.to_goal[node] if seen >> i & 1 else covering[i][node] for i in range(len(base))]
        _lower(prices, [(cost + ahead[i] - base[i]) * weights[i] for i in range(len(base))])
    return prices


def _walk_layers(
    survey: Survey, trip: TripDistances, candidates: Sequence[int], m: int, effort: float, most: int
) -> tuple[dict[tuple[int, int], float], dict[int, float]]:
    """Cheapest walks of exactly m nodes by (last node, covered set), and complete ones of at most m by covered set.

    Gives up beyond ``effort``, or when more than ``most`` walks of the same length have to be kept.
    """
    seen_at: dict[int, int] = {}
    for i, c in enumerate(candidates):
        for node in survey.posts[c]:
            seen_at[node] = seen_at.get(node, 0) | 1 << i
    layer = {(trip.begin, seen_at.get(trip.begin, 0)): 0.0}
    goals = set(trip.ends)
    complete: dict[int, float] = {}
    spent = 0
    for length in range(1, m + 1):
        for (node, seen), cost in layer.items():
            if node in goals:
                complete[seen] = min(cost, complete.get(seen, math.inf))
        if length == m:
            break
        ahead: dict[tuple[int, int], float] = {}
        for (node, seen), cost in layer.items():
            for head, step in survey.ground.edges_from(node):
                state = (head, seen | seen_at.get(head, 0))
                if cost + step < ahead.get(state, math.inf):
                    ahead[state] = cost + step
        layer = ahead
        if not layer:
            break
        spent += _LAYER_VISIT * len(layer)
        if spent > effort or len(layer) > most:
            raise TooMuchError
    return layer, complete


def _lower(prices: Prices, parts: list[float]) -> None:
    """Lower the price of every subset to the sum of its members' parts where that is less."""
    sums = [0.0]
    for part in parts:
        sums += [value + part for value in sums]
    for chosen, value in enumerate(sums):
        if value < prices[chosen]:
            prices[chosen] = value
