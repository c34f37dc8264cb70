"""The claims about driving the routes as they are: every turn is legal, and the vehicle comes past every door.

Distances between doors and lines are the auditor's own: on the plane that touches the earth at a place, where a street
is drawn as straight pieces between its bends. All that matters there is near the place.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from veilroute.auditing.claims import distinct_routes
from veilroute.auditing.replay import ReplayedPlaybook, ReplayedRoute
from veilroute.auditing.verdicts import ClaimVerdict, judge, number
from veilroute.base.arrays import Floats, Ints
from veilroute.domain.geography import EARTH_RADIUS_M, Streets
from veilroute.domain.graph import Domain
from veilroute.domain.visibility import AtNode

_DEGREE_M = math.pi * EARTH_RADIUS_M / 180
_TOLERANCE_M = 1.0  #: how much farther from a place its route may be than its street

_WHERE = {"never": "nowhere", "dead-ends": "at dead ends only", "allow": "anywhere"}


def check_turns(replayed: ReplayedPlaybook) -> ClaimVerdict | None:
    """No route has an illegal turn; routes that are no walks are left to ``walk``. ``None`` if any turn is legal."""
    rules = replayed.survey.rules
    if rules is None:
        return None
    routes = distinct_routes(replayed)
    problems = [
        f"the route for {who}{replayed.on_trip(trip)} {route.illegal}" for route, who, trip in routes if route.illegal
    ]
    banned = number(len(rules.turns.banned), "banned stretch", "banned stretches")
    shown = f"{number(len(routes), 'distinct route')}, none with any of {banned}; turning round is legal"
    return judge("turns", problems, f"{shown} {_WHERE[rules.turns.u_turns]}")


def check_doors(replayed: ReplayedPlaybook) -> ClaimVerdict | None:
    """Every route comes as near to the places that it was given for as their nodes are.

    A place that only has to be seen may be farther off; then this is a figure. So is how far the nearest street is,
    which may be another where places were taken to be at junctions. ``None`` if the playbook does not say where any of
    its candidates are, or the map has no streets.
    """
    survey, problem = replayed.survey, replayed.survey.problem
    streets, places = problem.domain.streets, problem.places
    if streets is None or not any(survey.label(c) in places for c in replayed.homes):
        return None
    lines = Lines(problem.domain, streets)
    problems: list[str] = []
    found: dict[tuple[int, int], tuple[float, float, float, str]] = {}
    for (c, _, trip), route in replayed.answers.items():
        label, node = survey.label(c), survey.nodes[c]
        if label not in places or route.fault or (c, id(route)) in found:
            continue
        away, door = lines.from_route(places[label], route), lines.from_node(places[label], node)
        found[c, id(route)] = away, door, lines.from_streets(places[label], away), survey.name(c)
        if isinstance(problem.visibility, AtNode) and (node not in route.nodes or away > door + _TOLERANCE_M):
            which = f"the route for {survey.name(c)}{replayed.on_trip(trip)}"
            problems.append(f"{which} stays {away:,.1f} m away from it, though its door is only {door:,.1f} m off")
    if not found:
        return judge("doors", problems, "no walk is given to a place whose coordinates are known")
    away, door, nearest, farthest = max(found.values())
    shown = f"of {number(len({c for c, _ in found}), 'place')} {farthest} is the farthest from its route: {away:,.1f} m"
    shown += f" (from its node {door:,.1f} m, from the nearest street {nearest:,.1f} m)"
    off = {c: away - nearest for (c, _), (away, _, nearest, _) in found.items() if away > nearest + _TOLERANCE_M}
    if off:
        farther = f"{max(off.values()):,.1f} m"
        shown += f"; for {number(len(off), 'place')} a street is nearer than the route, by up to {farther}"
    return judge("doors", problems, shown)


class Lines:
    """The streets of a map as they are drawn, in straight pieces."""

    def __init__(self, domain: Domain, streets: Streets) -> None:
        self._domain, self._streets = domain, streets
        tails, heads, _ = domain.edge_arrays()
        sizes = np.diff(streets.shape_ptr)
        # Of each edge the tail, then its bends, then the head; a piece begins at each of them but the last.
        points = np.insert(streets.shape, streets.shape_ptr[:-1], streets.lonlat[tails], axis=0)
        ends = np.cumsum(sizes + 1)
        points = np.insert(points, ends, streets.lonlat[heads], axis=0)
        last = np.cumsum(sizes + 2) - 1
        self._begins: Floats = np.delete(points, last, axis=0)
        self._ends: Floats = np.delete(points, last - sizes - 1, axis=0)
        self._first: Ints = np.concatenate([[0], np.cumsum(sizes + 1)])  # of each edge, among the pieces
        self._known: dict[int, Ints] = {}

    def from_node(self, place: tuple[float, float], node: int) -> float:
        """Metres between a place and a node."""
        there = self._streets.lonlat[node : node + 1]
        return float(_from_pieces(place, there, there).min())

    def from_route(self, place: tuple[float, float], route: ReplayedRoute) -> float:
        """Metres between a place and the nearest point of a route as it is drawn."""
        if id(route) not in self._known:
            self._known[id(route)] = self._pieces_along([node for node in route.nodes if node is not None])
        pieces = self._known[id(route)]
        if not pieces.size:
            return self.from_node(place, route.nodes[0] or 0)
        return float(_from_pieces(place, self._begins[pieces], self._ends[pieces]).min())

    def _pieces_along(self, nodes: Sequence[int]) -> Ints:
        indptr, indices = self._domain.indptr.astype(np.int64), self._domain.indices
        found = []
        for tail, head in pairwise(nodes):
            edge = indptr[tail] + np.searchsorted(indices[indptr[tail] : indptr[tail + 1]], head)
            found.append(np.arange(self._first[edge], self._first[edge + 1]))
        return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)

    def from_streets(self, place: tuple[float, float], most: float) -> float:
        """Metres between a place and the nearest street; ``most`` where there is none nearer."""
        span = (most + _TOLERANCE_M) / _DEGREE_M * np.array([1 / max(math.cos(math.radians(place[1])), 1e-6), 1.0])
        low, high = np.minimum(self._begins, self._ends), np.maximum(self._begins, self._ends)
        near = ((low <= place + span) & (high >= place - span)).all(axis=1)
        return min(most, float(_from_pieces(place, self._begins[near], self._ends[near]).min(initial=math.inf)))


def _from_pieces(place: tuple[float, float], begins: Floats, ends: Floats) -> Floats:
    """Metres between a place and each of some straight pieces, on the plane at the place."""
    scale = _DEGREE_M * np.array([math.cos(math.radians(place[1])), 1.0])
    a, b = begins - place, ends - place
    a[:, 0], b[:, 0] = ((each[:, 0] + 180) % 360 - 180 for each in (a, b))  # across the date line
    a, b = a * scale, b * scale
    along = b - a
    lengths = (along**2).sum(axis=1)
    share = np.clip(-(a * along).sum(axis=1) / np.where(lengths > 0, lengths, 1.0), 0.0, 1.0)
    return np.asarray(np.sqrt(((a + share[:, None] * along) ** 2).sum(axis=1)))
