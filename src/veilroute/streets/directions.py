"""A route over the streets: its line, turn by turn as a driver reads it, and those of a whole playbook by class.

Directions are made from the route's line and the names of its streets, and from nothing else. They do not know the
candidates: no place on the way is announced, so they say as much about the secret as the route does.

A playbook may be known to everybody, so the directions of all its classes may be, too. What a driver is given is made
by :func:`lay_route` from the one route that :meth:`Playbook.route_for` looks up.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from veilroute.arrays import Floats
from veilroute.checks import check_whole
from veilroute.closures import Closure, Replan
from veilroute.domain.geography import AIR, LATTICE, ON_FOOT, project, streets_of
from veilroute.domain.graph import Domain, Label
from veilroute.errors import InvalidInputError
from veilroute.playbook import Playbook, PlaybookClass, Route

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


@dataclass(frozen=True, eq=False)
class Itinerary:
    """A route over the streets, made by :func:`lay_route`.

    It depends on the route alone. Members of a class have the same route, and so they have the same itinerary.
    """

    nodes: tuple[Label, ...]  #: labels of the junctions, start and goal included
    legs: tuple[Leg, ...]  #: the moves between them
    start_place: tuple[float, float]  #: longitude and latitude of the first junction
    unit: str  #: what costs are measured in: "seconds" or "metres"
    attribution: str  #: whom to credit for the map

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
    for tail, head in pairwise(nodes):
        edge = edge_number(domain, tail, head)
        if edge < 0:
            raise InvalidInputError("route", "neighbouring nodes that a street joins in this direction")
        metres, cost = float(streets.lengths[edge]), domain.costs[edge].item()
        legs.append(Leg(streets.name(edge), streets.kind(edge), metres, cost, streets.line(tail, head, edge)))
    lon, lat = streets.lonlat[nodes[0]].tolist()
    return Itinerary(tuple(route), tuple(legs), (lon, lat), streets.unit, streets.attribution)


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
    itinerary: Itinerary, *, names: Mapping[Label, str] | None = None, arrival: str | None = None
) -> list[Step]:
    """Work out the instructions for a route; moves along one street are one as long as the street does not turn.

    Of ``names``, which people call nodes by, only those of the first and the last node are used: what else lies on the
    route is nobody's business. ``arrival`` is what to say at the end; that one arrives, when left out.
    """
    names = names or {}
    if arrival is None:
        goal = names.get(itinerary.nodes[-1], "")
        arrival = f"Arrive at {goal}" if goal else "Arrive"
    steps: list[Step] = []
    for text, first, last in _stretches(itinerary.legs):
        legs = itinerary.legs[first:last]
        if not steps and (start := names.get(itinerary.nodes[0], "")):
            text = f"From {start}, {text[0].lower()}{text[1:]}"
        metres = math.fsum(leg.metres for leg in legs)
        seconds = float(sum(leg.cost for leg in legs)) if itinerary.unit == "seconds" else None
        steps.append(Step(text, metres, seconds, _place(legs[0].line[0])))
    last_place = _place(itinerary.legs[-1].line[-1]) if itinerary.legs else itinerary.start_place
    return [*steps, Step(arrival, 0.0, None, last_place)]


def directions_text(itinerary: Itinerary, steps: Sequence[Step]) -> str:
    """The instructions, one a line and numbered, with the total and the credits of the map below them."""
    width = len(str(len(steps)))
    lines = [f"{number:>{width}}. {step.to_text()}" for number, step in enumerate(steps, start=1)]
    lines.append(f"Total: {total_text(itinerary)}")
    if itinerary.attribution:
        lines.append(f"Map: {itinerary.attribution}")
    return "".join(f"{line}\n" for line in lines)


def total_text(itinerary: Itinerary) -> str:
    """How long a whole route is and takes: ``3.2 km, 8 min``."""
    length = distance_text(itinerary.metres)
    return length if itinerary.seconds is None else f"{length}, {duration_text(itinerary.seconds)}"


def street_called(leg: Leg) -> str:
    """The name of a leg's street, or what kind of street it is: ``a service road``."""
    if leg.name:
        return leg.name
    if leg.kind.endswith("_link"):
        return "a slip road"
    return _UNNAMED.get(leg.kind, _UNNAMED[""])


def distance_text(metres: float) -> str:
    """Metres as people say them: to 5 m below 50 m, to 10 m below a kilometre, to 100 m beyond."""
    if metres < 47.5:
        return f"{_fives(metres)} m"
    if metres < 995:
        return f"{10 * round(metres / 10)} m"
    return f"{metres / 1000:.1f} km"


def duration_text(seconds: float) -> str:
    """Seconds as people say them: to 5 s below a minute and a half, to a minute beyond."""
    if seconds < 87.5:
        return f"{_fives(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


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


def _stretches(legs: Sequence[Leg]) -> Iterator[tuple[str, int, int]]:
    """Yield each instruction with its first leg and the one after its last."""
    if legs:
        texts = {0: _heading(legs[0], f" on {street_called(legs[0])}")}
        doings = ((i, _manoeuvre(before, after)) for i, (before, after) in enumerate(pairwise(legs), start=1))
        texts |= {i: doing for i, doing in doings if doing}
        for first, last in pairwise([*texts, len(legs)]):
            yield texts[first], first, last


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
    if goes_on and abs(angle) <= _SLIGHT:
        return ""
    if abs(angle) <= _STRAIGHT:
        return f"Continue onto {street}"
    side = "right" if angle > 0 else "left"
    sharpness = "slightly " if abs(angle) <= _SLIGHT else "" if abs(angle) <= _PLAIN else "sharp "
    return f"Turn {sharpness}{side} {'to stay on' if goes_on else 'onto'} {street}"


def _fives(value: float) -> int:
    """Rounded to fives; only nothing is 0."""
    return max(5, 5 * round(value / 5)) if value > 0 else 0


def _place(point: Floats) -> tuple[float, float]:
    return float(point[0]), float(point[1])


UNDECIDED = "No way on keeps enough places possible. Nobody chose beforehand: `veilroute replan` says who is exposed."


@dataclass(frozen=True, eq=False)
class RoutePart:
    """A stretch of a class's route: the whole of it, its shared beginning, or how some members go on from there."""

    title: str  #: "Class 1", with the trip when it is not the first; "..., shared beginning"; "..., rest for Harbour"
    role: str  #: "route", "shared" or "parting"
    members: tuple[Label, ...]  #: those who go this way
    itinerary: Itinerary

    def steps(self, names: Mapping[Label, str]) -> list[Step]:
        """The directions; a shared beginning ends where the members part."""
        arrival = "From here on the routes of the members differ" if self.role == "shared" else None
        return directions(self.itinerary, names=names, arrival=arrival)


@dataclass(frozen=True, eq=False)
class ClassRoute:
    """The route of one class on one trip."""

    number: int  #: of the class, from 1; only classes that the playbook anonymizes are numbered, as in pictures
    group: PlaybookClass
    trip: int  #: from 0
    parts: tuple[RoutePart, ...]  #: what all members share; then, where they part, how each goes on


def class_routes(playbook: Playbook, *, trip: int | None = None) -> list[ClassRoute]:
    """The routes of all anonymized classes, trip after trip; or those of one ``trip``, counted from 0."""
    streets_of(playbook.problem.domain)
    return [
        _class_route(playbook, number, group, which)
        for which in chosen_trips(playbook, trip)
        for number, group in enumerate(playbook.hidden_classes, start=1)
    ]


def playbook_directions(playbook: Playbook, *, trip: int | None = None) -> str:
    """Turn-by-turn directions for every anonymized class and trip (or for one ``trip``), as text.

    Where the members of a class part, what they share comes first and then the rest of each. Below each class is what
    to do where one of the roads is closed for which the playbook has a contingency.
    """
    texts = []
    for route in class_routes(playbook, trip=trip):
        for part in route.parts:
            who = "" if part.role == "parting" else f": {members_text(playbook, part.members)}"
            texts.append(f"{part.title}{who}\n\n{directions_text(part.itinerary, part.steps(playbook.names))}")
        texts += [detour_text(playbook, entry) for entry in contingencies_of(playbook, route)]
    return "\n".join(texts)


def contingencies_of(playbook: Playbook, route: ClassRoute) -> list[Replan]:
    """The contingencies of a class on a trip, in the order in which its route meets the roads."""
    mine = (entry for entry in playbook.contingencies if (entry.number, entry.trip) == (route.number, route.trip))
    return sorted(mine, key=lambda entry: entry.position)


def detour_text(playbook: Playbook, entry: Replan, domain: Domain | None = None) -> str:
    """What to do where roads are closed, turn by turn; as far as something is chosen, else that nothing is."""
    told = f"{detour_title(playbook, entry)}: at {playbook.name(entry.at)}"
    if entry.choice is None:
        return f"{told}, stop and ask\n\n{UNDECIDED}\n"
    texts = []
    for part in detour_parts(playbook, entry, domain):
        who = told if part.role != "parting" else f"{told}, then {part.title}"
        texts.append(f"{who}\n\n{directions_text(part.itinerary, part.steps(playbook.names))}")
    return "\n".join(texts)


def detour_title(playbook: Playbook, entry: Replan) -> str:
    """What a replan is for: ``Class 1, if Main Street (A to B) is closed``."""
    title = _class_title(entry.number, entry.trip)
    return f"{title}, if {closed_text(playbook, entry.closure)}"


def detour_parts(playbook: Playbook, entry: Replan, domain: Domain | None = None) -> tuple[RoutePart, ...]:
    """The way that a replan chose, from where the vehicle stands; on the playbook's own map when none is given."""
    way = entry.way
    own = {(0, member): Route(nodes, cost) for member, (nodes, cost) in way.own.items()}
    group = PlaybookClass(entry.members, True, (Route(way.route, way.cost or 0.0),), own)
    return _parts(playbook, domain or playbook.problem.domain, "Detour", group, 0)


def closed_text(playbook: Playbook, closure: Closure) -> str:
    """What is not as it was, in words: ``Main Street (A to B) is closed``."""
    domain, texts = playbook.problem.domain, []
    for tail, head in (*closure.roads, *closure.one_way):
        nodes = domain.node(tail), domain.node(head)
        edge = max(edge_number(domain, *nodes), edge_number(domain, *nodes[::-1]))
        street = "" if domain.streets is None or edge < 0 else domain.streets.name(edge)
        ends = f"{playbook.name(tail)} to {playbook.name(head)}"
        texts.append(f"{street} ({ends})" if street else f"the road from {ends}")
        if (tail, head) not in closure.roads:
            texts[-1] += " in this direction"
    texts += [f"junction {playbook.name(label)}" for label in closure.nodes]
    told = f"{', '.join(texts)} {'is' if len(texts) == 1 else 'are'} closed" if texts else ""
    costs = f"{len(closure.costs)} edges cost something else" if closure.costs else ""
    return " and ".join(part for part in (told, costs) if part) or "nothing is closed"


def chosen_trips(playbook: Playbook, trip: int | None) -> Sequence[int]:
    """The trip that was asked for, or all; raises when there is none of that number."""
    return range(len(playbook.trips)) if trip is None else [check_trip(playbook, trip)]


def check_trip(playbook: Playbook, trip: object) -> int:
    """The number of one trip of a playbook."""
    last = len(playbook.trips) - 1
    return check_whole("trip", trip, f"a trip from 0 to {last}", least=0, most=last)


def members_text(playbook: Playbook, members: Sequence[Label]) -> str:
    """The members of a class by name, or by label where they have none."""
    return ", ".join(playbook.name(member) for member in members)


def _class_title(number: int, trip: int) -> str:
    return f"Class {number}" if trip == 0 else f"Class {number}, trip {trip}"


def _class_route(playbook: Playbook, number: int, group: PlaybookClass, trip: int) -> ClassRoute:
    parts = _parts(playbook, playbook.problem.domain, _class_title(number, trip), group, trip)
    return ClassRoute(number, group, trip, parts)


def _parts(playbook: Playbook, domain: Domain, title: str, group: PlaybookClass, trip: int) -> tuple[RoutePart, ...]:
    """What all members share, and how each goes on where they part."""
    shared, rests = lay_route(domain, group.shared(trip)), group.rests(trip)
    about = (f"{title}, shared beginning", "shared") if rests else (title, "route")
    parts = [RoutePart(*about, group.members, shared)]
    for members, nodes in rests:
        rest = f"{title}, rest for {members_text(playbook, members)}"
        parts.append(RoutePart(rest, "parting", members, lay_route(domain, nodes)))
    return tuple(parts)
