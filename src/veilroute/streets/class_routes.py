"""The routes of a whole playbook over the streets, class by class.

A playbook may be known to everybody, so these may be, too. What a driver is given is made by
:func:`~veilroute.streets.itinerary.lay_route` from the one route that :meth:`Playbook.route_for` looks up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from veilroute.domain.graph import Domain
from veilroute.domain.labels import Label
from veilroute.errors import InvalidInputError
from veilroute.playbook import Playbook, PlaybookClass
from veilroute.streets.directions import Step, directions, directions_text
from veilroute.streets.itinerary import Itinerary, lay_route, streets_of


@dataclass(frozen=True, eq=False)
class Parting:
    """How members go on from where the routes of their class part.

    Parameters
    ----------
    title
        ``Class 1, rest for Harbour``.
    members
        Those who go this way.
    itinerary
        Their way, from the last junction that all share to the goal.
    """

    title: str
    members: tuple[Label, ...]
    itinerary: Itinerary


@dataclass(frozen=True, eq=False)
class ClassRoute:
    """What the members of one class share on one trip, and how each goes on.

    Parameters
    ----------
    title
        ``Class 1``, with the trip when it is not the first; ``Class 1, shared beginning`` where the members part.
    number
        Of the class, from 1; only classes that the playbook anonymizes are numbered, as in pictures.
    group
        The class.
    trip
        Which trip, from 0.
    itinerary
        The shared route, up to where the members part.
    partings
        Where m is finite: every member's own rest; none where all go the same way.
    """

    title: str
    number: int
    group: PlaybookClass
    trip: int
    itinerary: Itinerary
    partings: tuple[Parting, ...]


def class_routes(playbook: Playbook, *, trip: int | None = None) -> list[ClassRoute]:
    """The routes of all anonymized classes, trip after trip.

    Parameters
    ----------
    playbook
        On a street network, with its domain attached.
    trip
        Only this trip, counted from 0; all when left out.
    """
    domain = street_network_of(playbook)
    hidden = [group for group in playbook.classes if group.anonymized]
    return [
        _class_route(playbook, domain, number, group, which)
        for which in chosen_trips(playbook, trip)
        for number, group in enumerate(hidden, start=1)
    ]


def playbook_directions(playbook: Playbook, *, trip: int | None = None) -> str:
    """Turn-by-turn directions for every anonymized class and trip (or for one ``trip``), as text.

    Where the members of a class part, what they share comes first and then the rest of each.
    """
    parts = []
    for route in class_routes(playbook, trip=trip):
        heading = f"{route.title}: {members_text(playbook, route.group.members)}"
        parts.append(f"{heading}\n\n{directions_text(route.itinerary, class_steps(playbook, route))}")
        for parting in route.partings:
            steps = directions(parting.itinerary, names=playbook.names)
            parts.append(f"{parting.title}\n\n{directions_text(parting.itinerary, steps)}")
    return "\n".join(parts)


def class_steps(playbook: Playbook, route: ClassRoute) -> list[Step]:
    """The directions of what a class shares, which may end where its members part."""
    if not route.partings:
        return directions(route.itinerary, names=playbook.names)
    return directions(route.itinerary, names=playbook.names, arrival="From here on the routes of the members differ")


def street_network_of(playbook: Playbook) -> Domain:
    """The domain of a playbook, or one line that says why there are no streets."""
    domain = playbook.problem.domain
    streets_of(domain)
    return domain


def chosen_trips(playbook: Playbook, trip: int | None) -> Sequence[int]:
    """The trip that was asked for, or all; raises when there is none of that number."""
    if trip is None:
        return range(len(playbook.trips))
    if isinstance(trip, bool) or not isinstance(trip, int) or not 0 <= trip < len(playbook.trips):
        raise InvalidInputError("trip", f"a trip from 0 to {len(playbook.trips) - 1}", trip)
    return [trip]


def members_text(playbook: Playbook, members: Sequence[Label]) -> str:
    """The members of a class by name, or by label where they have none."""
    return ", ".join(playbook.name(member) for member in members)


def _class_route(playbook: Playbook, domain: Domain, number: int, group: PlaybookClass, trip: int) -> ClassRoute:
    title = f"Class {number}" if trip == 0 else f"Class {number}, trip {trip}"
    partings = tuple(
        Parting(f"{title}, rest for {members_text(playbook, members)}", members, lay_route(domain, nodes))
        for members, nodes in group.rests(trip)
    )
    shared = lay_route(domain, group.shared(trip))
    return ClassRoute(f"{title}, shared beginning" if partings else title, number, group, trip, shared, partings)
