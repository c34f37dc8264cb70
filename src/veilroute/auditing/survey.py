"""What the map says before any route is looked at: who sees whom, distances, base costs, and what extra cost counts.

Nothing here is shared with planning, so that a mistake there is not repeated where it is looked for. Line of sight, for
one, is worked out row by row: the line between two centres crosses every row of cells over one unbroken run of columns.
It is free when no run holds a blocked cell, and when at no corner that it meets exactly the two cells on either side
are both blocked. All is counted in half cells, so nothing is rounded. (Planning follows the line from cell to cell.)
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, product

import numpy as np

from veilroute.auditing.legality import LegalMap, TurnRules, legal_map
from veilroute.auditing.verdicts import call_names, names
from veilroute.auditing.walking import WalkingMap, make_rows
from veilroute.base.arrays import Floats
from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import EARTH_RADIUS_M, Streets
from veilroute.domain.graph import Domain, Label, at_most, plain_label
from veilroute.domain.grid import Grid
from veilroute.domain.visibility import AtNode, Explicit, LineOfSight, WithinDistance
from veilroute.model.problem import ROUNDING, Problem

_MOST_DISTANCES = 1 << 26
_MOST_WATCHERS = 1 << 24
_MOST_BANNED = 1 << 24
"""A small file may ask for more trips over a large map, or a wider view for more candidates, than any memory holds; or
for stretches that are banned over thousands of nodes, all of whose beginnings are looked up."""


class SightLines:
    """Answers who sees whom on a grid."""

    def __init__(self, grid: Grid) -> None:
        self._height, self._width = grid.height, grid.width
        self._free: list[list[bool]] = grid.free.tolist()
        # How many blocked cells stand before each column: a run of columns is clear when its two ends agree.
        self._walls = [list(accumulate((not cell for cell in row), initial=0)) for row in self._free]

    def seen_from(self, cell: tuple[int, int], reach: float) -> Iterator[tuple[int, int]]:
        """The free cells within ``reach`` of a cell that no wall hides from it, itself included."""
        limit = at_most(reach, exact=False)
        (row, col), span = cell, math.floor(limit)
        rows = range(max(0, row - span), min(self._height, row + span + 1))
        cols = range(max(0, col - span), min(self._width, col + span + 1))
        for there in product(rows, cols):
            if self._free[there[0]][there[1]] and math.dist(cell, there) <= limit and self.is_clear(cell, there):
                yield there

    def is_clear(self, a: tuple[int, int], b: tuple[int, int]) -> bool:
        """Whether no wall stands between the centres of two cells."""
        (row, col), (last_row, last_col) = min(a, b), max(a, b)
        down, right = last_row - row, last_col - col
        if down == 0:
            return self._is_run_clear(row, col, last_col)
        for step in range(down + 1):
            # Where the line enters and leaves this row, in half cells below the first centre.
            enter, leave = max(2 * step - 1, 0), min(2 * step + 1, 2 * down)
            left, right_end = sorted((right * enter, right * leave))
            first = (left - down) // (2 * down) + 1 if right else 0
            final = -(-(right_end + down) // (2 * down)) - 1 if right else 0
            if not self._is_run_clear(row + step, col + first, col + final):
                return False
            if step < down and self._is_squeezed(row + step, col, right * (2 * step + 1), down):
                return False
        return True

    def _is_run_clear(self, row: int, first: int, final: int) -> bool:
        walls = self._walls[row]
        return walls[first] == walls[final + 1]

    def _is_squeezed(self, row: int, col: int, across: int, down: int) -> bool:
        """Whether the line leaves ``row`` through a corner between two blocked cells.

        It leaves ``across / down`` half cells to the right of the first centre; corners lie at odd half cells.
        """
        halves, rest = divmod(across, down)
        if rest or halves % 2 == 0:
            return False
        left = col + (halves - 1) // 2
        above, below = (left + 1, left) if across > 0 else (left, left + 1)
        return not (self._free[row][above] or self._free[row + 1][below])


def measured_map(domain: Domain, measure: str) -> WalkingMap | CrowMap:
    """The map whose edges are as long as the streets, both ways on foot; or the one with straight lines only."""
    if domain.streets is None:
        raise InvalidInputError("measure", "cost: only street networks know distances in metres", measure)
    if measure == "straight":
        return CrowMap(domain.streets)
    (tails, heads, _), lengths = domain.edge_arrays(), domain.streets.shortest
    if measure != "driving":
        tails, heads = np.concatenate((tails, heads)), np.concatenate((heads, tails))
        lengths = np.concatenate((lengths, lengths))
    return WalkingMap(make_rows(domain.num_nodes, tails, heads, lengths))


class CrowMap:
    """Straight-line distances over a street network, along the great circle."""

    def __init__(self, streets: Streets) -> None:
        self._places = on_sphere(streets.lonlat)

    def near(
        self, source: int, limit: float, *, backwards: bool = False, wanted: Set[int] | None = None
    ) -> dict[int, float]:
        """As :meth:`WalkingMap.near`; straight lines lead both ways."""
        nodes = np.arange(len(self._places)) if wanted is None else np.array(list(wanted))
        metres = metres_apart(self._places[source], self._places[nodes])
        is_near = metres <= limit
        return dict(zip(nodes[is_near].tolist(), metres[is_near].tolist(), strict=True))


def on_sphere(lonlat: Floats) -> Floats:
    """Longitudes and latitudes as points on a sphere of radius 1."""
    east, north = np.radians(lonlat).T
    return np.column_stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])


def metres_apart(a: Floats, b: Floats) -> Floats:
    """Distances over the ground between such points: by the angle between them, seen from the middle of the earth."""
    chords = np.sqrt(((a - b) ** 2).sum(axis=-1))
    return np.asarray(2 * EARTH_RADIUS_M * np.arcsin(np.minimum(1.0, chords / 2)))


@dataclass(frozen=True)
class TripDistances:
    """Of one trip the distance of every state from the start and to the goal, and the base cost of each candidate.

    The base cost is that of the cheapest start-goal walk covering the candidate alone, infinite when there is none.
    Where any turn is legal, states are nodes.
    """

    start: int
    goal: int
    from_start: Sequence[float]
    to_goal: Sequence[float]
    base_costs: dict[int, float]
    begin: int  # the state in which it begins
    ends: Sequence[int]  # those at the goal


@dataclass(frozen=True)
class Survey:
    """A problem and what was measured on its map.

    Candidates are named by their position in ``problem.candidates``; ``nodes`` and ``watchers`` hold those that count.
    ``walking`` has the edges, whatever turns are legal: how far apart places are is measured there.
    """

    problem: Problem
    walking: WalkingMap
    nodes: dict[int, int]
    watchers: dict[int, frozenset[int]]
    trips: tuple[TripDistances, ...]
    is_weighted: bool = False  # whether the objective's sum counts each candidate as much as it is probable
    legal: LegalMap | None = None  # the states of legal walks, where not all are

    @property
    def ground(self) -> WalkingMap:
        """Where walks are searched."""
        return self.walking if self.legal is None else self.legal.walking

    @cached_property
    def posts(self) -> dict[int, frozenset[int]]:
        """The states from which each candidate is seen."""
        if self.legal is None:
            return self.watchers
        return {c: frozenset(self.legal.states_at(nodes)) for c, nodes in self.watchers.items()}

    @cached_property
    def rules(self) -> TurnRules | None:
        """Which turns are legal; ``None`` where all are."""
        domain = self.problem.domain
        return None if domain.turns is None else TurnRules(domain, domain.turns, self.walking, self.called)

    @property
    def counted(self) -> tuple[int, ...]:
        """Positions of the candidates that are no trip's start or goal."""
        return tuple(self.nodes)

    @cached_property
    def coverable(self) -> tuple[int, ...]:
        """Positions of the candidates that a walk of every trip can cover."""
        return tuple(c for c in self.nodes if all(trip.base_costs[c] < math.inf for trip in self.trips))

    @cached_property
    def prior(self) -> dict[int, float]:
        """How probable each coverable candidate is among them; all the same without a prior, or with none for any."""
        given = self.problem.prior
        weights = {c: 1.0 if given is None else given[c] for c in self.coverable}
        total = math.fsum(weights.values())
        if total > 0:
            return {c: weight / total for c, weight in weights.items()}
        return dict.fromkeys(weights, 1 / max(1, len(weights)))

    def hideable(self, beta: float | None, among: Iterable[int] | None = None) -> tuple[int, ...]:
        """The coverable candidates that are not certainly too probable to be hidden; all possible ones without a risk.

        ``among`` are those that are not out of the question for other reasons.

        Whatever set H a plan hides, no area of it weighs more than beta of it, because no posterior of the area exceeds
        beta and posteriors average to priors. A single candidate is an area. So let t be the heaviest of H: it weighs
        at most beta of H, and H weighs no more than all candidates that are no heavier than t. The heaviest candidate
        that may be hidden is therefore the last, by weight, that weighs no more than beta of all up to it; heavier ones
        are certainly out. If a larger area, or the names at one node, weigh more than beta, then some of them cannot be
        hidden, but not which: all of them stay in here. Impossible candidates need no hiding, and hide nobody.
        """
        among = self.coverable if among is None else tuple(among)
        if beta is None:
            return tuple(c for c in among if self.prior[c] > 0)
        ordered = sorted((c for c in among if self.prior[c] > 0), key=lambda c: (self.prior[c], c))
        sums = list(accumulate(self.prior[c] for c in ordered))
        fitting = (i for i, c in enumerate(ordered) if self.prior[c] <= beta * sums[i] * (1 + ROUNDING))
        return tuple(sorted(ordered[: max(fitting, default=-1) + 1]))

    def label(self, candidate: int) -> Label:
        """The label of a candidate."""
        return self.problem.candidates[candidate]

    @cached_property
    def called(self) -> dict[Label, str]:
        """Nodes in words, where people call them something."""
        return call_names(self.problem.names, self.problem.candidates)

    def name(self, candidate: int) -> str:
        """A candidate in words."""
        label = self.label(candidate)
        return self.called.get(label, str(label))

    def names(self, candidates: Iterable[int]) -> str:
        """Some candidates in words, the first few of many."""
        return names(map(self.name, candidates))

    def find(self, label: object) -> int | None:
        """Position of the counted candidate of that name, or ``None``."""
        # By name and not by node: several candidates may be at one spot.
        if self.node(label) is None:
            return None
        try:
            return self._positions.get(plain_label(label))
        except InvalidInputError:
            return None

    @cached_property
    def _positions(self) -> dict[Label, int]:
        return {self.label(c): c for c in self.nodes}

    @cached_property
    def candidates_at(self) -> dict[int, list[int]]:
        """The counted candidates at each node that has some."""
        found: dict[int, list[int]] = {}
        for c, node in self.nodes.items():
            found.setdefault(node, []).append(c)
        return found

    def node(self, label: object) -> int | None:
        """Number of the node of that name, or ``None`` when the domain has no such node."""
        try:
            return self.problem.domain.node(label)
        except InvalidInputError:
            return None

    @cached_property
    def trip_shares(self) -> list[float]:
        """How much each trip counts; they sum to 1."""
        weights = [trip.weight for trip in self.problem.trips]
        return [weight / math.fsum(weights) for weight in weights]

    def weight(self, trip: TripDistances, candidate: int, objective: str | None = None) -> float:
        """What a unit of a candidate's extra cost adds to the objective's sum on a trip; the problem's when left out.

        The MAC divides by the base cost. One of 0 has no ratio, so the smallest positive edge cost stands in for it. In
        the total every unit counts once. In the expected MAC of a partition a candidate counts as it is probable.
        """
        if (objective or self.problem.objective) == "total":
            return 1.0
        ratio = 1 / (trip.base_costs[candidate] or self.walking.smallest_positive_cost)
        return ratio * self.prior[candidate] if self.is_weighted and objective is None else ratio

    def weights(self, members: Sequence[int]) -> list[list[float]]:
        """By trip and member, what a unit of a walk's cost adds to the objective's sum over all trips."""
        return [
            [share * self.weight(trip, c) for c in members]
            for trip, share in zip(self.trips, self.trip_shares, strict=True)
        ]

    def credits(self, members: Sequence[int]) -> list[float]:
        """What each member's own base costs take off that sum: for the MAC 1 (or its prior), unless one is 0."""
        by_trip = list(zip(self.trips, self.weights(members), strict=True))
        return [math.fsum(trip.base_costs[c] * own[i] for trip, own in by_trip) for i, c in enumerate(members)]


def survey_problem(
    problem: Problem, *, most_distances: int = _MOST_DISTANCES, most_watchers: int = _MOST_WATCHERS
) -> Survey:
    """Work out watchers, distances and base costs: two sweeps of the map per trip, one small one per candidate."""
    domain, starts = problem.domain, problem.start_nodes
    num_states = domain.num_nodes if domain.turns is None else domain.num_edges
    most = max(1, most_distances // max(1, num_states))
    if len(problem.trips) > most:
        raise InvalidInputError("trips", f"at most {most:,} on a map of this size, to be audited", len(problem.trips))
    if domain.turns is not None and sum(len(stretch) ** 2 for stretch in domain.turns.banned) > _MOST_BANNED:
        raise InvalidInputError("turns.banned", "shorter stretches, or fewer, to be audited")
    walking = WalkingMap(domain)
    nodes = {c: problem.candidate_nodes[c] for c in problem.counted}
    bare = Survey(problem, walking, nodes, find_watchers(problem, walking, nodes, most_watchers), ())
    legal = None if bare.rules is None else legal_map(bare.rules, [(start,) for start in starts])
    survey = replace(bare, legal=legal)
    begins = starts if legal is None else legal.begins
    trips = (measure_trip(survey, *trip, nodes) for trip in zip(starts, problem.goal_nodes, begins, strict=True))
    return replace(survey, trips=tuple(trips))


def bare_survey(problem: Problem, candidates: Iterable[int], walking: WalkingMap | None = None) -> Survey:
    """Of some candidates who sees them, and where they are; their base costs are 0, for who does not ask for any."""
    walking = walking or WalkingMap(problem.domain)
    nodes = {c: problem.candidate_nodes[c] for c in candidates}
    trips = tuple(
        TripDistances(start, goal, [], [], dict.fromkeys(nodes, 0.0), start, [goal])
        for start, goal in zip(problem.start_nodes, problem.goal_nodes, strict=True)
    )
    return Survey(problem, walking, nodes, find_watchers(problem, walking, nodes), trips)


def measure_trip(survey: Survey, start: int, goal: int, begin: int, candidates: Iterable[int]) -> TripDistances:
    """Of a trip that begins in a state of the survey's ground: distances, and the base costs of some candidates."""
    ends = [goal] if survey.legal is None else survey.legal.states_at([goal])
    from_start = array("d", survey.ground.distances([(begin, 0)]))
    to_goal = array("d", survey.ground.distances([(end, 0) for end in ends], backwards=True))
    base_costs = {
        c: min((from_start[state] + to_goal[state] for state in survey.posts[c]), default=math.inf) for c in candidates
    }
    return TripDistances(start, goal, from_start, to_goal, base_costs, begin, ends)


def find_watchers(
    problem: Problem, walking: WalkingMap, nodes: dict[int, int], most: int = _MOST_WATCHERS
) -> dict[int, frozenset[int]]:
    """For each candidate (position to node) the nodes that see it."""
    seers_of = _find_sight(problem, walking, nodes)
    watchers: dict[int, frozenset[int]] = {}
    room = most
    for c, node in nodes.items():
        watchers[c] = frozenset(seers_of(node))
        room -= len(watchers[c])
        if room < 0:
            expected = f"a narrower view: candidates seen from {most:,} nodes together can be audited"
            raise InvalidInputError("visibility", expected)
    return watchers


def _find_sight(problem: Problem, walking: WalkingMap, nodes: dict[int, int]) -> Callable[[int], Iterable[int]]:
    """What gives for a candidate's node the nodes that see it."""
    domain, grid = problem.domain, problem.domain.grid
    match problem.visibility:
        case AtNode():
            return lambda node: (node,)
        case WithinDistance(radius, measure):
            # Who can walk to the candidate within the radius: found by walking backwards from it.
            ground = walking if measure == "cost" else measured_map(domain, measure)
            limit = at_most(radius, exact=measure == "cost" and domain.has_integer_costs)
            return lambda node: ground.near(node, limit, backwards=True)
        case LineOfSight(reach):
            if grid is None:
                raise InvalidInputError("visibility", "a grid domain for line of sight")
            lines, node_at = SightLines(grid), grid.index.tolist()
            return lambda node: (node_at[row][col] for row, col in lines.seen_from(grid.cell(node), reach))
        case Explicit(sees):
            seers: dict[int, set[int]] = {node: set() for node in nodes.values()}
            for seer, seen in sees.items():
                for node in map(domain.node, seen):
                    if node in seers:
                        seers[node].add(domain.node(seer))
            return seers.__getitem__
