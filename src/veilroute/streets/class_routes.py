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
class ClassRoute:
    """The route that the members of one class share on one trip.

    Parameters
    ----------
    number
        Of the class, from 1; only classes that the playbook anonymizes are numbered, as in pictures.
    group
        The class.
    trip
        Which trip, from 0.
    itinerary
        The shared route. Where m is finite and every member leaves it, only its first m nodes.
    partings
        Where m is finite: how single members go on from where they leave the shared route.
    """

    number: int
    group: PlaybookClass
    trip: int
    itinerary: Itinerary
    partings: tuple[Itinerary, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the shared route is given up to the goal."""
        return self.itinerary.nodes == self.group.routes[self.trip].nodes

    @property
    def title(self) -> str:
        """``Class 1``, with the trip when it is not the first."""
        return f"Class {self.number}" if self.trip == 0 else f"Class {self.number}, trip {self.trip}"


def class_routes(playbook: Playbook, *, trip: int | None = None) -> list[ClassRoute]:
    """The shared routes of all anonymized classes, trip after trip.

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
        _class_route(domain, number, group, which, playbook.privacy.m)
        for which in chosen_trips(playbook, trip)
        for number, group in enumerate(hidden, start=1)
    ]


def playbook_directions(playbook: Playbook, *, trip: int | None = None) -> str:
    """Turn-by-turn directions for every anonymized class and trip (or for one ``trip``), as text.

    Where m is finite the directions are those of what the members of the class share.
    """
    parts = []
    for route in class_routes(playbook, trip=trip):
        heading = f"{route.title}: {members_text(playbook, route.group.members)}"
        parts.append(f"{heading}\n\n{directions_text(route.itinerary, class_steps(playbook, route))}")
    return "\n".join(parts)


def class_steps(playbook: Playbook, route: ClassRoute) -> list[Step]:
    """The directions of a class's shared route, which may end where its members part."""
    if route.is_whole:
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


def _class_route(domain: Domain, number: int, group: PlaybookClass, trip: int, m: int | None) -> ClassRoute:
    shared, *rest = group.walks(trip, m)
    partings = tuple(lay_route(domain, nodes) for nodes in rest)
    return ClassRoute(number, group, trip, lay_route(domain, shared), partings)
