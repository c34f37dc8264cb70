"""What the domain itself says: watchers, base costs and which candidates can be covered."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from veilroute.audit.metres import CrowMap, measured_map
from veilroute.audit.sight import SightLines
from veilroute.audit.walking import WalkingMap
from veilroute.domain.labels import Label
from veilroute.domain.tolerance import at_most
from veilroute.domain.visibility import AtNode, Explicit, LineOfSight, WithinDistance
from veilroute.errors import InvalidInputError
from veilroute.problem import Problem

_MOST_DISTANCES = 1 << 26
_MOST_WATCHERS = 1 << 24
"""A small file may ask for more trips over a large map, or a wider view for more candidates, than any memory holds."""


@dataclass(frozen=True)
class TripFacts:
    """Distances of one trip.

    Parameters
    ----------
    start, goal
        Node numbers.
    from_start, to_goal
        Distance of every node from the start and to the goal.
    base_costs
        Cheapest start-goal walk covering each counted candidate alone, by position; infinite when there is none.
    """

    start: int
    goal: int
    from_start: Sequence[float]
    to_goal: Sequence[float]
    base_costs: dict[int, float]


@dataclass(frozen=True)
class Facts:
    """Everything that can be said before any route is looked at.

    Candidates are named by their position in ``problem.candidates``; only those that count are kept.
    """

    problem: Problem
    walking: WalkingMap
    nodes: dict[int, int]
    watchers: dict[int, frozenset[int]]
    trips: tuple[TripFacts, ...]

    @property
    def counted(self) -> tuple[int, ...]:
        """Positions of the candidates that are no trip's start or goal."""
        return tuple(self.nodes)

    @cached_property
    def coverable(self) -> tuple[int, ...]:
        """Positions of the candidates that a walk of every trip can cover."""
        return tuple(c for c in self.nodes if all(trip.base_costs[c] < math.inf for trip in self.trips))

    def label(self, candidate: int) -> Label:
        """What users call a candidate."""
        return self.problem.candidates[candidate]

    def find(self, label: object) -> int | None:
        """Position of the counted candidate of that name, or ``None``."""
        node = self.node(label)
        return None if node is None else self._candidate_at.get(node)

    @cached_property
    def _candidate_at(self) -> dict[int, int]:
        return {node: c for c, node in self.nodes.items()}

    def node(self, label: object) -> int | None:
        """Number of the node of that name, or ``None`` when the domain has no such node."""
        try:
            return self.problem.domain.node(label)
        except InvalidInputError:
            return None

    def divisor(self, base_cost: float) -> float:
        """What an extra cost is divided by; a base cost of 0 has no ratio, so the smallest edge cost stands in."""
        return base_cost if base_cost > 0 else self.walking.smallest_positive_cost


def gather_facts(problem: Problem) -> Facts:
    """Work out watchers, distances and base costs: two sweeps of the map per trip, one small one per candidate."""
    most = max(1, _MOST_DISTANCES // problem.domain.num_nodes)
    if len(problem.trips) > most:
        raise InvalidInputError("trips", f"at most {most:,} on a map of this size, to be audited", len(problem.trips))
    walking = WalkingMap(problem.domain)
    nodes = {c: problem.candidate_nodes[c] for c in problem.counted}
    watchers = find_watchers(problem, walking, nodes)
    trips = []
    for start, goal in zip(problem.start_nodes, problem.goal_nodes, strict=True):
        from_start = array("d", walking.distances([(start, 0)]))
        to_goal = array("d", walking.distances([(goal, 0)], backwards=True))
        base_costs = {
            c: min((from_start[node] + to_goal[node] for node in watchers[c]), default=math.inf) for c in nodes
        }
        trips.append(TripFacts(start, goal, from_start, to_goal, base_costs))
    return Facts(problem, walking, nodes, watchers, tuple(trips))


def find_watchers(problem: Problem, walking: WalkingMap, nodes: dict[int, int]) -> dict[int, frozenset[int]]:
    """For each candidate (position to node) the nodes that see it."""
    watchers: dict[int, frozenset[int]] = {}
    room = _MOST_WATCHERS
    for c, found in _each_watched(problem, walking, nodes):
        watchers[c] = found
        room -= len(found)
        if room < 0:
            expected = f"a narrower view: candidates seen from {_MOST_WATCHERS:,} nodes together can be audited"
            raise InvalidInputError("visibility", expected)
    return watchers


def _each_watched(problem: Problem, walking: WalkingMap, nodes: dict[int, int]) -> Iterator[tuple[int, frozenset[int]]]:
    match problem.visibility:
        case AtNode():
            yield from ((c, frozenset((node,))) for c, node in nodes.items())
        case WithinDistance(radius, "straight"):
            crow = CrowMap(problem.domain)
            yield from ((c, crow.within(node, at_most(radius, exact=False))) for c, node in nodes.items())
        case WithinDistance(radius, measure):
            # Who can walk to the candidate within the radius: found by walking backwards from it.
            ground = walking if measure == "cost" else measured_map(problem.domain, measure)
            limit = at_most(radius, exact=measure == "cost" and problem.domain.has_integer_costs)
            yield from ((c, frozenset(ground.near(node, limit, backwards=True))) for c, node in nodes.items())
        case LineOfSight(reach):
            yield from _watchers_in_sight(problem, nodes, reach)
        case Explicit(sees):
            yield from _listed_watchers(problem, nodes, list(sees.items())).items()


def _watchers_in_sight(problem: Problem, nodes: dict[int, int], reach: float) -> Iterator[tuple[int, frozenset[int]]]:
    grid = problem.domain.grid
    if grid is None:
        raise InvalidInputError("visibility", "a grid domain for line of sight")
    lines = SightLines(grid)
    node_at: list[list[int]] = grid.index.tolist()
    for c, node in nodes.items():
        yield c, frozenset(node_at[row][col] for row, col in lines.seen_from(grid.cell(node), reach))


def _listed_watchers(
    problem: Problem, nodes: dict[int, int], sees: list[tuple[Label, Sequence[Label]]]
) -> dict[int, frozenset[int]]:
    candidate_at = {node: c for c, node in nodes.items()}
    watchers: dict[int, set[int]] = {c: set() for c in nodes}
    for seer, seen in sees:
        for label in seen:
            candidate = candidate_at.get(problem.domain.node(label))
            if candidate is not None:
                watchers[candidate].add(problem.domain.node(seer))
    return {c: frozenset(found) for c, found in watchers.items()}
