"""The cheapest walk covering each subset of the candidates, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

from veilroute.audit.facts import Facts, TripFacts
from veilroute.audit.walking import WalkingMap

Prices = list[float]
"""One figure per subset of the candidates, by bit mask; infinite where there is no walk."""

MAX_EFFORT = 4_000_000
"""Node visits (or steps of similar cost) after which a price list is given up: a few seconds."""

HEAP_VISIT = 4
TABLE_STEP = 0.125
"""What a visit by Dijkstra's algorithm and a look into a table take, measured in visits by breadth-first search."""


_FEW_POSTS = 300
_TABLE_ALLOWANCE = 5
"""Where there are few watchers, their distances may take this many times the effort: on a city of 100,000 junctions
they are nearly all of the work, and worth some seconds."""


class TooMuchError(Exception):
    """The problem is too large to try everything; never leaves the auditor."""


def price_walks(facts: Facts, trip: TripFacts, candidates: Sequence[int], effort: float = MAX_EFFORT) -> Prices:
    """Cost of the cheapest start-goal walk covering each subset.

    With ``f(S, n)`` the cheapest walk from the start to n covering S: ``f({}, n) = d(start, n)`` and ``f(S, n)`` is
    the least of ``f(S - t, q) + d(q, n)`` over t in S and watchers q of t. Either ``f`` is kept at watchers only,
    with a table of their distances, or one sweep of the map is made per subset, whichever is less work. Gives up with
    `TooMuchError` when both are more than ``effort``.
    """
    watchers = [sorted(facts.watchers[c]) for c in candidates]
    posts = sorted(set().union(*watchers))
    num_subsets = 1 << len(candidates)
    visit = 1 if facts.walking.unit is not None else HEAP_VISIT
    building = len(posts) * facts.walking.num_nodes * visit
    with_table = building + num_subsets * len(posts) ** 2 * TABLE_STEP
    with_sweeps = num_subsets * facts.walking.num_nodes * HEAP_VISIT
    spared = min(building, table_allowance(len(posts), effort))
    if min(with_table - spared, with_sweeps) > effort:
        raise TooMuchError
    if with_table <= with_sweeps:
        return _price_at_posts(facts.walking, trip, watchers, posts)
    return _price_by_sweeps(facts.walking, trip, watchers)


def table_allowance(num_posts: int, effort: float) -> float:
    """What a table of the distances between watchers may take beyond an effort."""
    return (_TABLE_ALLOWANCE - 1) * effort if num_posts <= _FEW_POSTS else 0.0


def _price_at_posts(walking: WalkingMap, trip: TripFacts, watchers: list[list[int]], posts: list[int]) -> Prices:
    place = {node: i for i, node in enumerate(posts)}
    table = walking.table(posts)
    to_goal = [trip.to_goal[node] for node in posts]
    reached = [[trip.from_start[node] for node in posts]]
    prices = [trip.from_start[trip.goal]]
    for chosen in range(1, 1 << len(watchers)):
        seeds: dict[int, float] = {}
        for i, nodes in enumerate(watchers):
            if chosen >> i & 1:
                before = reached[chosen ^ 1 << i]
                for node in nodes:
                    at = place[node]
                    seeds[at] = min(before[at], seeds.get(at, math.inf))
        row = [math.inf] * len(posts)
        for at, cost in seeds.items():
            if cost < math.inf:
                row = [min(old, cost + step) for old, step in zip(row, table[at], strict=True)]
        reached.append(row)
        prices.append(min((cost + to_goal[at] for at, cost in seeds.items()), default=math.inf))
    return prices


def _price_by_sweeps(walking: WalkingMap, trip: TripFacts, watchers: list[list[int]]) -> Prices:
    fields: list[Sequence[float]] = [trip.from_start]
    for chosen in range(1, 1 << len(watchers)):
        seeds = [
            (node, fields[chosen ^ 1 << i][node])
            for i, nodes in enumerate(watchers)
            if chosen >> i & 1
            for node in nodes
        ]
        fields.append(walking.distances(seed for seed in seeds if seed[1] < math.inf))
    return [field[trip.goal] for field in fields]
