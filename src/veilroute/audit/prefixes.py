"""What each class costs when only the first m nodes are shared, by trying every walk of m nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from veilroute.audit.facts import Facts, TripFacts
from veilroute.audit.pricing import HEAP_VISIT, MAX_EFFORT, TABLE_STEP, Prices, TooMuchError

_LAYER_VISIT = 4
"""What keeping one (node, covered set) takes, measured in visits by breadth-first search."""


def price_prefixes(
    facts: Facts, trip: TripFacts, candidates: Sequence[int], m: int, effort: float = MAX_EFFORT
) -> Prices:
    """What each subset adds to the sum behind MAC when its members share their first ``m`` nodes.

    They share either a walk of exactly m nodes, after which each goes its own cheapest way, or one complete walk of
    at most m nodes that covers them all. Walks are followed node by node, keeping for each (node, covered set) the
    cheapest; gives up with `TooMuchError` beyond ``effort``.
    """
    num_subsets = 1 << len(candidates)
    if len(candidates) * facts.walking.num_nodes * HEAP_VISIT > effort:
        raise TooMuchError
    # Every walk that is kept at the end is held against every subset.
    layer, complete = _walk_layers(facts, trip, candidates, m, effort, int(effort / (num_subsets * TABLE_STEP)))
    base = [trip.base_costs[c] for c in candidates]
    divisor = [facts.divisor(cost) for cost in base]
    covering = [
        facts.walking.distances(
            [(q, trip.to_goal[q]) for q in sorted(facts.watchers[c]) if trip.to_goal[q] < math.inf], backwards=True
        )
        for c in candidates
    ]
    prices = [math.inf] * num_subsets
    prices[0] = 0.0
    for seen, cost in complete.items():
        _lower(prices, [(cost - base[i]) / divisor[i] if seen >> i & 1 else math.inf for i in range(len(base))])
    for (node, seen), cost in layer.items():
        ahead = [trip.to_goal[node] if seen >> i & 1 else covering[i][node] for i in range(len(base))]
        _lower(prices, [(cost + ahead[i] - base[i]) / divisor[i] for i in range(len(base))])
    return prices


def _walk_layers(
    facts: Facts, trip: TripFacts, candidates: Sequence[int], m: int, effort: float, most: int
) -> tuple[dict[tuple[int, int], float], dict[int, float]]:
    """Cheapest walks of exactly m nodes by (last node, covered set), and complete ones of at most m by covered set.

    Gives up beyond ``effort``, or when more than ``most`` walks of the same length have to be kept.
    """
    seen_at: dict[int, int] = {}
    for i, c in enumerate(candidates):
        for node in facts.watchers[c]:
            seen_at[node] = seen_at.get(node, 0) | 1 << i
    layer = {(trip.start, seen_at.get(trip.start, 0)): 0.0}
    complete: dict[int, float] = {}
    spent = 0
    for length in range(1, m + 1):
        for (node, seen), cost in layer.items():
            if node == trip.goal:
                complete[seen] = min(cost, complete.get(seen, math.inf))
        if length == m:
            break
        ahead: dict[tuple[int, int], float] = {}
        for (node, seen), cost in layer.items():
            for head, step in facts.walking.edges_from(node):
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
