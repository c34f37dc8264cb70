"""A route over the streets: its line, and turn by turn as a driver reads it.

Directions are made from the route's line, the names of its streets and its stops, and from nothing else. The stops are
those of everybody who could be meant (:mod:`veilroute.streets.stops`), so the directions say as much about the secret
as the route does. :mod:`veilroute.streets.sheets` has those of a whole playbook.
"""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from veilroute.base.arrays import Floats
from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import (
    AIR,
    LATTICE,
    ON_FOOT,
    distance_text,
    duration_text,
    places_on_earth,
    project,
    streets_of,
)
from veilroute.domain.graph import Domain, Label
from veilroute.streets.stops import Schedule, Stop

# How much of a street beside a junction tells its direction: its first metres may be a bend of the kerb.
_REACH_M = 15.0
# Turns up to these angles, in degrees, are no turn, a slight one, a turn, a sharp one; beyond is a U-turn.
_STRAIGHT, _SLIGHT, _PLAIN, _SHARP = 25.0, 50.0, 125.0, 168.0
# Off the streets nothing leads round a bend: beyond this angle it is another heading.
_SAME_HEADING = 10.0
_COMPASS = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")

_UNNAMED = {
    "": "an unnamed road", "bridleway": "a bridleway", "cycleway": "a cycle path", "footway": "a footpath",
    "living_street": "a living street", "motorway": "the motorway", "path": "a path",
    "pedestrian": "a pedestrian street", "primary": "a main road", "residential": "a residential street",
    "secondary": "a secondary road", "service": "a service road", "steps": "steps", "tertiary": "a minor road",
    "track": "a track", "trunk": "a trunk road", AIR: "free flight", ON_FOOT: "open ground",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Leg:
    """One move of a route along a street; its name and kind are empty where the street has none."""

    name: str
    kind: str
    metres: float
    cost: float  #: in the domain's unit
    line: Floats  #: longitude and latitude of its points, both ends included
    is_choice: bool = True  #: whether another street meets the route where it begins


@dataclass(frozen=True, eq=False)
class Itinerary:
    """A route over the streets, made by :func:`lay_route`.

    It depends on the route alone, and its stops are those of the route. Members of a class have the same route, and so
    they have the same itinerary.
    """

    nodes: tuple[Label, ...]  #: labels of the junctions, start and goal included
    legs: tuple[Leg, ...]  #: the moves between them
    start_place: tuple[float, float]  #: longitude and latitude of the first junction
    unit: str  #: what costs are measured in: "seconds" or "metres"
    attribution: str  #: whom to credit for the map
    stops: tuple[Stop, ...] = ()  #: where to stop on the way
    cost_before: float = 0.0  #: of the way up to where it begins, if it is the rest of another
    stops_before: int = 0  #: how many stops that way has

    @property
    def metres(self) -> float:
        """How long the whole route is."""
        return math.fsum(leg.metres for leg in self.legs)

    @property
    def cost(self) -> float:
        """What the whole route costs, in the domain's unit."""
        return sum(leg.cost for leg in self.legs)

    @property
    def seconds(self) -> float | None:
        """How long the whole route takes, ``None`` when costs are metres."""
        return self.cost if self.unit == "seconds" else None

    def place(self, position: int) -> tuple[float, float]:
        """Longitude and latitude of the node at a position."""
        return self.start_place if position == 0 else _place(self.legs[position - 1].line[-1])

    def seconds_until(self, position: int, schedule: Schedule) -> float | None:
        """When the node at a position is reached, counted from the start; stops at nodes before it take their time."""
        if self.unit != "seconds":
            return None
        stopped = self.stops_before + sum(stop.position < position for stop in self.stops)
        return self.cost_before + sum(leg.cost for leg in self.legs[:position]) + stopped * schedule.dwell_s

    @property
    def street_names(self) -> list[str]:
        """The streets in the order in which they are taken; unnamed ones are left out, and so are repetitions."""
        return [name for name, _ in groupby(leg.name for leg in self.legs if leg.name)]

    def polyline(self) -> Floats:
        """Longitude and latitude along the whole route, no point twice in a row."""
        points = np.concatenate([np.array([self.start_place]), *(leg.line[1:] for leg in self.legs)])
        kept = np.concatenate([[True], (np.diff(points, axis=0) != 0).any(axis=1)])
        return np.asarray(points[kept])


def lay_route(domain: Domain, route: Sequence[Label]) -> Itinerary:
    """Lay a route, given by the labels of its nodes, over the streets of its domain; raise where it leaves them."""
    streets = streets_of(domain)
    try:
        nodes = [domain.node(label) for label in route]
    except InvalidInputError:
        # Without the node, as below: this may be the route of a secret.
        raise InvalidInputError("route", "nodes of this domain") from None
    if not nodes:
        raise InvalidInputError("route", "at least one node", "none")
    legs = []
    for at, (tail, head) in enumerate(pairwise(nodes)):
        edge = edge_number(domain, tail, head)
        if edge < 0:
            raise InvalidInputError("route", "neighbouring nodes that a street joins in this direction")
        metres, cost = float(streets.lengths[edge]), domain.costs[edge].item()
        if at and nodes[at - 1] == head and domain.turns is not None:
            cost += domain.turns.u_turn_cost
        is_choice = at == 0 or not _neighbours(domain, tail) <= {nodes[at - 1], head}
        line = streets.line(tail, head, edge)
        legs.append(Leg(streets.name(edge), streets.kind(edge), metres, cost, line, is_choice))
    lon, lat = places_on_earth(domain, nodes[:1])[0].tolist()
    return Itinerary(tuple(route), tuple(legs), (lon, lat), streets.unit, streets.attribution)


def _neighbours(domain: Domain, node: int) -> set[int]:
    """The nodes that a street joins with a node, in either direction."""
    back_ptr, back, _ = domain.reversed_rows
    out = domain.indices[domain.indptr[node] : domain.indptr[node + 1]]
    return {*out.tolist(), *back[back_ptr[node] : back_ptr[node + 1]].tolist()}


def edge_number(domain: Domain, tail: int, head: int) -> int:
    """The number of the edge between two nodes, -1 where there is none."""
    first, last = int(domain.indptr[tail]), int(domain.indptr[tail + 1])
    edge = first + int(np.searchsorted(domain.indices[first:last], head))
    return edge if edge < last and int(domain.indices[edge]) == head else -1


@dataclass(frozen=True)
class Step:
    """One instruction, such as ``"Turn left onto Kaivokatu"``, and how far to go before the next."""

    text: str
    metres: float
    seconds: float | None  #: how long the metres take; None when the domain's costs are metres
    place: tuple[float, float]  #: longitude and latitude of where it is done

    def to_text(self) -> str:
        """The instruction with its distance and, where known, its time."""
        measures = [distance_text(self.metres)] if self.metres > 0 else []
        if measures and self.seconds is not None:
            measures.append(duration_text(self.seconds))
        return f"{self.text} ({', '.join(measures)})" if measures else self.text


def directions(
    itinerary: Itinerary,
    *,
    names: Mapping[Label, str] | None = None,
    arrival: str | None = None,
    schedule: Schedule | None = None,
) -> list[Step]:
    """Work out the instructions for a route; moves along one street are one as long as the street does not turn.

    Of ``names``, which people call nodes by, only those of the first and the last node are used: what else lies on the
    route is nobody's business, unless it is one of the itinerary's stops. ``arrival`` is what to say at the end; that
    one arrives, when left out. The ``schedule`` says when stops are reached and how long they take.
    """
    names, schedule = names or {}, schedule or Schedule()
    if arrival is None:
        goal = names.get(itinerary.nodes[-1], "")
        arrival = f"Arrive at {goal}" if goal else "Arrive"
    stops = {stop.position: stop for stop in itinerary.stops}
    last = len(itinerary.legs)
    steps = [_stop_step(itinerary, stops[0], schedule)] if 0 in stops else []
    is_first = True
    for text, begin, end in stretches(itinerary.legs, stops):
        legs = itinerary.legs[begin:end]
        if is_first and (start := names.get(itinerary.nodes[0], "")):
            text = f"From {start}, {text[0].lower()}{text[1:]}"
        is_first = False
        metres = math.fsum(leg.metres for leg in legs)
        seconds = float(sum(leg.cost for leg in legs)) if itinerary.unit == "seconds" else None
        steps.append(Step(text, metres, seconds, _place(legs[0].line[0])))
        if end in stops:
            steps.append(_stop_step(itinerary, stops[end], schedule))
    stays = sum(stop.position == last for stop in itinerary.stops) * schedule.dwell_s
    if itinerary.stops and (when := when_text(itinerary, last, schedule, stays)):
        arrival = f"{arrival}, {when}"
    return [*steps, Step(arrival, 0.0, None, itinerary.place(last))]


def _stop_step(itinerary: Itinerary, stop: Stop, schedule: Schedule) -> Step:
    return Step(f"{stop.text} ({stay_text(itinerary, stop, schedule)})", 0.0, None, itinerary.place(stop.position))


def stay_text(itinerary: Itinerary, stop: Stop, schedule: Schedule) -> str:
    """When a stop is reached and how long it takes: ``at 08:12, stay 60 s``."""
    stay = f"stay {schedule.stay}" if schedule.dwell_s else "pass without stopping"
    return ", ".join(part for part in (when_text(itinerary, stop.position, schedule), stay) if part)


def when_text(itinerary: Itinerary, position: int, schedule: Schedule, later_s: float = 0.0) -> str:
    """When a node is reached: by the clock, or from the start on; after how many metres where no times are known."""
    seconds = itinerary.seconds_until(position, schedule)
    if seconds is None:
        metres = math.fsum(leg.metres for leg in itinerary.legs[:position])
        return f"after {distance_text(metres)}"
    clock = schedule.clock(seconds + later_s)
    return f"after {duration_text(seconds + later_s)}" if clock is None else f"at {clock}"


def directions_text(itinerary: Itinerary, steps: Sequence[Step], schedule: Schedule | None = None) -> str:
    """The instructions, one a line and numbered, with the total and the credits of the map below them.

    Where there are stops, what to mind at these comes first, and the total has the time that they take.
    """
    width, schedule = len(str(len(steps))), schedule or Schedule()
    lines = [f"{number:>{width}}. {step.to_text()}" for number, step in enumerate(steps, start=1)]
    if itinerary.stops:
        begins = schedule.depart is not None and not itinerary.cost_before
        leave = [f"Leave at {schedule.clock(0)}."] if begins else []
        lines = [" ".join([*leave, schedule.note(len(itinerary.stops))]), "", *lines]
    lines.append(f"Total: {total_text(itinerary, schedule)}")
    if itinerary.attribution:
        lines.append(f"Map: {itinerary.attribution}")
    return "".join(f"{line}\n" for line in lines)


def total_text(itinerary: Itinerary, schedule: Schedule | None = None) -> str:
    """How long a whole route is and takes: ``3.2 km, 8 min``; with a schedule also what its stops add."""
    parts = [distance_text(itinerary.metres)]
    if itinerary.seconds is not None:
        parts.append(duration_text(itinerary.seconds))
    stops = len(itinerary.stops)
    if schedule is not None and stops and schedule.dwell_s:
        if itinerary.seconds is not None:
            parts[-1] += " of driving"
        parts.append(f"{stops} stop{'' if stops == 1 else 's'} of {schedule.stay}")
        if itinerary.seconds is not None:
            parts.append(f"{duration_text(itinerary.seconds + stops * schedule.dwell_s)} in all")
    return ", ".join(parts)


def street_called(leg: Leg) -> str:
    """The name of a leg's street, or what kind of street it is: ``a service road``."""
    if leg.name:
        return leg.name
    if leg.kind.endswith("_link"):
        return "a slip road"
    return _UNNAMED.get(leg.kind, _UNNAMED[""])


def bearing(line: Floats, *, at_end: bool = False) -> float:
    """The direction of a line at its beginning, or at its end, in degrees clockwise from north.

    It is that of the straight from the end of the line to the point 15 m along it, or as far as the line goes.
    """
    points = project(line)
    if at_end:
        points = points[::-1]
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    reach = min(_REACH_M, float(along[-1]))
    east, north = (float(np.interp(reach, along, points[:, i])) - float(points[0, i]) for i in range(2))
    angle = math.degrees(math.atan2(east, north))
    return (angle + 180.0 if at_end else angle) % 360.0


def turn_angle(before: float, after: float) -> float:
    """How far to turn from one bearing to another: from -180 exclusive to 180, right is positive."""
    angle = (after - before) % 360.0
    return angle - 360.0 if angle > 180.0 else angle


def stretches(legs: Sequence[Leg], stops: Container[int]) -> list[tuple[str, int, int]]:
    """Each instruction with its first leg and the one after its last; there is always one after a stop."""
    if not legs:
        return []
    texts = {0: _heading(legs[0], f" on {street_called(legs[0])}")}
    for i, (before, after) in enumerate(pairwise(legs), start=1):
        doing = _manoeuvre(before, after)
        if doing or i in stops:
            texts[i] = doing or (_heading(after) if after.kind in LATTICE else f"Continue on {street_called(after)}")
    return [(texts[first], first, last) for first, last in pairwise([*texts, len(legs)])]


def _heading(leg: Leg, on: str = "") -> str:
    """Where a leg leads; with the bearing where no street does."""
    angle = bearing(leg.line)
    return f"Head {_COMPASS[round(angle / 45.0) % 8]}{f', {round(angle) % 360}°' if leg.kind in LATTICE else on}"


def _manoeuvre(before: Leg, after: Leg) -> str:
    """What to do between two legs; empty when the street just goes on."""
    angle = turn_angle(bearing(before.line, at_end=True), bearing(after.line))
    if after.kind in LATTICE:
        return _heading(after) if abs(angle) > _SAME_HEADING else ""
    street = street_called(after)
    goes_on = street_called(before) == street
    if abs(angle) > _SHARP:
        return f"Make a U-turn {'on' if goes_on else 'onto'} {street}"
    if goes_on and (abs(angle) <= _SLIGHT or not after.is_choice):
        return ""
    if abs(angle) <= _STRAIGHT:
        return f"Continue onto {street}"
    side = "right" if angle > 0 else "left"
    sharpness = "slightly " if abs(angle) <= _SLIGHT else "" if abs(angle) <= _PLAIN else "sharp "
    return f"Turn {sharpness}{side} {'to stay on' if goes_on else 'onto'} {street}"


def _place(point: Floats) -> tuple[float, float]:
    return float(point[0]), float(point[1])
