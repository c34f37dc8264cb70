"""The routes of a whole playbook, class by class, with their stops: what a driver is given, as data and as text.

A playbook may be known to everybody, so the sheets of all its classes may be, too. What one driver is given is made by
:func:`route_itinerary` from the one route that :meth:`Playbook.route_for` looks up.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from veilroute.base.checks import check_whole
from veilroute.base.errors import listing
from veilroute.domain.geography import streets_of
from veilroute.domain.graph import Domain, Label
from veilroute.model.closure import Closure, Replan, Way
from veilroute.model.exposure import across_text, percent
from veilroute.model.playbook import Playbook, PlaybookClass, Route
from veilroute.streets.directions import Itinerary, Step, directions, directions_text, edge_number, lay_route
from veilroute.streets.stops import Schedule, Stops

UNDECIDED = "No way on keeps enough places possible. Nobody chose beforehand: `veilroute replan` says who is exposed."
_MOST_ROADS = 3  # of a street that are told of one by one


@dataclass(frozen=True, eq=False)
class RoutePart:
    """A stretch of a class's route: the whole of it, its shared beginning, or how some members go on from there."""

    title: str  #: "Class 1", with the trip when it is not the first; "..., shared beginning"; "..., rest for Harbour"
    role: str  #: "route", "shared" or "parting"
    members: tuple[Label, ...]  #: those who go this way
    itinerary: Itinerary

    def steps(self, names: Mapping[Label, str], schedule: Schedule | None = None) -> list[Step]:
        """The directions; a shared beginning ends where the members part."""
        arrival = "From here on the routes of the members differ" if self.role == "shared" else None
        return directions(self.itinerary, names=names, arrival=arrival, schedule=schedule)

    def text(self, names: Mapping[Label, str], schedule: Schedule | None = None) -> str:
        """The directions as a sheet."""
        return directions_text(self.itinerary, self.steps(names, schedule), schedule)


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
    stops = Stops(playbook)
    return [
        ClassRoute(number, group, which, _class_parts(playbook, stops, _class_title(number, which), group, which))
        for which in chosen_trips(playbook, trip)
        for number, group in enumerate(playbook.hidden_classes, start=1)
    ]


def route_itinerary(playbook: Playbook, route: Route, stops: Stops | None = None) -> Itinerary:
    """One route over the streets, with the stops of everybody who could be meant by it.

    Whoever asks for many routes gives the ``stops`` of the playbook, which are the same for all.
    """
    domain = playbook.problem.domain
    return replace(lay_route(domain, route), stops=(stops or Stops(playbook)).on_route(route.nodes, route.trip))


def playbook_directions(playbook: Playbook, *, trip: int | None = None, schedule: Schedule | None = None) -> str:
    """The driver's sheet for every anonymized class and trip (or for one ``trip``), as text.

    Where the members of a class part, what they share comes first and then the rest of each. Below each class is what
    to do where one of the roads is closed for which the playbook has a contingency.
    """
    texts = []
    for route in class_routes(playbook, trip=trip):
        for part in route.parts:
            who = "" if part.role == "parting" else f": {members_text(playbook, part.members)}"
            texts.append(f"{part.title}{who}\n\n{part.text(playbook.names, schedule)}")
        texts += [detour_text(playbook, entry, schedule=schedule) for entry in contingencies_of(playbook, route)]
    return "\n".join(texts)


def contingencies_of(playbook: Playbook, route: ClassRoute) -> list[Replan]:
    """The contingencies of a class on a trip, in the order in which its route meets the roads."""
    mine = (entry for entry in playbook.contingencies if (entry.number, entry.trip) == (route.number, route.trip))
    return sorted(mine, key=lambda entry: entry.position)


def detour_text(
    playbook: Playbook, entry: Replan, domain: Domain | None = None, *, schedule: Schedule | None = None
) -> str:
    """What to do where roads are closed, turn by turn; as far as something is chosen, else that nothing is.

    Times are counted from where the vehicle leaves its route: nobody knows when it gets there.
    """
    told = f"{detour_title(playbook, entry)}: at {playbook.name(entry.at)}"
    if entry.choice is None:
        return f"{told}, stop and ask\n\n{UNDECIDED}\n"
    texts, schedule = [], Schedule((schedule or Schedule()).dwell_s)
    for part in detour_parts(playbook, entry, domain):
        who = told if part.role != "parting" else f"{told}, then {part.title}"
        texts.append(f"{who}\n\n{part.text(playbook.names, schedule)}")
    return "\n".join(texts)


def detour_title(playbook: Playbook, entry: Replan) -> str:
    """What a replan is for: ``Class 1, if Main Street (A to B) is closed``."""
    title = _class_title(entry.number, entry.trip)
    return f"{title}, if {closed_text(playbook, entry.closure)}"


def detour_parts(playbook: Playbook, entry: Replan, domain: Domain | None = None) -> tuple[RoutePart, ...]:
    """The way that a replan chose, from where the vehicle stands; on the playbook's own map when none is given."""
    way, domain = entry.way, domain or playbook.problem.domain
    stops = Stops(playbook)
    own = {(0, member): Route(nodes, cost) for member, (nodes, cost) in way.own.items()}
    group = PlaybookClass(entry.members, True, (Route(way.route, way.cost or 0.0),), own)
    first, *rests = _parts(playbook, domain, "Detour", group, 0)
    shared = stops.on_detour(way.left, entry.walked, first.itinerary.nodes)
    parts = [replace(first, itinerary=replace(first.itinerary, stops=shared))]
    for rest in rests:
        wanted = [label for label in rest.members if label in way.left]
        made = stops.on_detour(wanted, (*entry.walked, *first.itinerary.nodes), rest.itinerary.nodes)
        laid = replace(rest.itinerary, stops=made, cost_before=first.itinerary.cost, stops_before=len(shared))
        parts.append(replace(rest, itinerary=laid))
    return tuple(parts)


def closed_text(playbook: Playbook, closure: Closure) -> str:
    """What is not as it was, in words: ``Main Street (A to B) is closed``."""
    domain, texts = playbook.problem.domain, list[str]()
    called = [_street_between(domain, *pair) for pair in closure.roads]
    many = {street: count for street, count in Counter(called).items() if street and count > _MOST_ROADS}
    texts += [f"{street} ({count} roads)" for street, count in many.items()]
    for tail, head in (*closure.roads, *closure.one_way):
        street = _street_between(domain, tail, head)
        if street in many and (tail, head) in closure.roads:
            continue
        ends = f"{playbook.name(tail)} to {playbook.name(head)}"
        texts.append(f"{street} ({ends})" if street else f"the road from {ends}")
        if (tail, head) not in closure.roads:
            texts[-1] += " in this direction"
    texts += [f"junction {playbook.name(label)}" for label in closure.nodes]
    told = f"{', '.join(texts)} {'is' if len(texts) == 1 else 'are'} closed" if texts else ""
    costs = f"{len(closure.costs)} edges cost something else" if closure.costs else ""
    return " and ".join(part for part in (told, costs) if part) or "nothing is closed"


def _street_between(domain: Domain, tail: Label, head: Label) -> str:
    """The name of the street between two nodes, empty where it has none."""
    nodes = domain.node(tail), domain.node(head)
    edge = max(edge_number(domain, *nodes), edge_number(domain, *nodes[::-1]))
    return "" if domain.streets is None or edge < 0 else domain.streets.name(edge)


def chosen_trips(playbook: Playbook, trip: int | None) -> Sequence[int]:
    """The trip that was asked for, or all; raises when there is none of that number."""
    return range(len(playbook.trips)) if trip is None else [check_trip(playbook, trip)]


def check_trip(playbook: Playbook, trip: object) -> int:
    """The number of one trip of a playbook."""
    last = len(playbook.trips) - 1
    return check_whole("trip", trip, f"a trip from 0 to {last}", least=0, most=last)


def sighting_text(playbook: Playbook, way: Way, number: int) -> str:
    """What an observer who sees a way of a class can find out: who looks the same, and the three figures."""
    seen = way.seen
    if seen is None or not way.left or seen.worst_place is None or seen.worst_area is None:
        return "Nobody is covered."
    others = [each for each in seen.looks_like if each != number]
    same = "To an observer of this trip it looks like no other class."
    if others:
        # Classes that go the same way stop at their own members, so who sees the stops tells them apart.
        observer = "To an observer of this trip"
        if playbook.problem.domain.streets is not None:
            observer = "To an observer of this trip who does not see where the vehicle stops,"
        same = (
            f"{observer} it looks like {_classes_text(others)}, if all drivers know of the closure: "
            f"{_places_text(seen.num_together)}."
        )
    if seen.may_look_like:
        same += f" It may look like {_classes_text(seen.may_look_like)}, depending on what other drivers do."
    possible = "stays possible" if seen.num_possible == 1 else "stay possible"
    return (
        f"{same} In any case at least {_places_text(seen.num_possible)} {possible}; the observer is at most "
        f"{percent(seen.worst_place)} sure of one place, and at most {percent(seen.worst_area)} sure of "
        f"{across_text(playbook.privacy)}."
    )


def _places_text(num: int) -> str:
    return "1 place" if num == 1 else f"{num} places"


def _classes_text(numbers: Sequence[int]) -> str:
    return f"class{'es' * (len(numbers) > 1)} {listing(list(map(str, numbers)))}"


def members_text(playbook: Playbook, members: Sequence[Label]) -> str:
    """The members of a class by name, or by label where they have none."""
    return ", ".join(playbook.name(member) for member in members)


def _class_title(number: int, trip: int) -> str:
    return f"Class {number}" if trip == 0 else f"Class {number}, trip {trip}"


def _class_parts(
    playbook: Playbook, stops: Stops, title: str, group: PlaybookClass, trip: int
) -> tuple[RoutePart, ...]:
    """The parts of a class's route with their stops."""
    first, *rests = _parts(playbook, playbook.problem.domain, title, group, trip)
    if not rests:
        made = stops.on_route(first.itinerary.nodes, trip)
        return (replace(first, itinerary=replace(first.itinerary, stops=made)),)
    whole = [group.route_of(rest.members[0], trip).nodes for rest in rests]
    shared, own = stops.on_parts(whole, len(first.itinerary.nodes), trip)
    parts = [replace(first, itinerary=replace(first.itinerary, stops=shared))]
    for rest, made in zip(rests, own, strict=True):
        laid = replace(rest.itinerary, stops=made, cost_before=first.itinerary.cost, stops_before=len(shared))
        parts.append(replace(rest, itinerary=laid))
    return tuple(parts)


def _parts(playbook: Playbook, domain: Domain, title: str, group: PlaybookClass, trip: int) -> tuple[RoutePart, ...]:
    """What all members share, and how each goes on where they part."""
    shared, rests = lay_route(domain, group.shared(trip)), group.rests(trip)
    about = (f"{title}, shared beginning", "shared") if rests else (title, "route")
    parts = [RoutePart(*about, group.members, shared)]
    for members, nodes in rests:
        rest = f"{title}, rest for {members_text(playbook, members)}"
        parts.append(RoutePart(rest, "parting", members, lay_route(domain, nodes)))
    return tuple(parts)
