"""One route as a text: its nodes, JSON, directions, or a file for a navigation device.

``veilroute route`` prints these, and the driver's seat of a page has them with it (:mod:`veilroute.plotting.seats`).
One function makes them for both, so that they are the same to the byte. A text is made from the nodes of the route, the
map and the names of its ends and of everybody's stops: it does not know who asked for it. What the route costs is added
up from the map; what a file says of that is not repeated, because two members' copies of one route could say it in two
ways.
"""

from collections.abc import Callable, Sequence

from veilroute.base.errors import InvalidInputError
from veilroute.base.io import dump_canonical
from veilroute.domain.graph import label_text
from veilroute.formats.geojson import route_geojson
from veilroute.model.playbook import Playbook, Route
from veilroute.streets.directions import directions, directions_text
from veilroute.streets.sheets import route_itinerary
from veilroute.streets.stops import Schedule, Stops

ANYWHERE = ("text", "json")  #: formats that need no map
ON_EARTH = ("directions", "gpx", "kml", "geojson")  #: formats that need one that knows where it is on earth


def route_text(playbook: Playbook, route: Route, format: str, *, schedule: Schedule | None = None) -> str:
    """The route in one of the formats above.

    Parameters
    ----------
    playbook
        That the route is from; with its domain, unless the format is one of :data:`ANYWHERE`.
    route
        What :meth:`~veilroute.Playbook.route_for` gave.
    format
        One of :data:`ANYWHERE` or :data:`ON_EARTH`.
    schedule
        How long each stop takes, and perhaps when the vehicle departs.
    """
    return route_texts(playbook, route, [format], schedule=schedule)[format]


def route_texts(
    playbook: Playbook,
    route: Route,
    formats: Sequence[str],
    *,
    schedule: Schedule | None = None,
    stops: Stops | None = None,
) -> dict[str, str]:
    """The route in several formats; ``stops`` are the playbook's, where they are at hand already."""
    known = (*ANYWHERE, *ON_EARTH)
    if not set(formats) <= set(known):
        raise InvalidInputError("format", f"one of {', '.join(known)}")
    texts = {}
    if "text" in formats:
        texts["text"] = "".join(f"{label_text(node)}\n" for node in route)
    if "json" in formats:
        about = {"route": route.nodes, "cost": playbook.cost_of(route.nodes), "trip": route.trip}
        texts["json"] = dump_canonical(about).decode()
    wanted = [format for format in formats if format in ON_EARTH]
    return texts | (_earth_texts(playbook, route, wanted, schedule or Schedule(), stops) if wanted else {})


def differing_formats(
    playbook: Playbook, groups: Sequence[Sequence[Route]], *, write: Callable[..., dict[str, str]] = route_texts
) -> list[str | None]:
    """For each group of routes a format in which they are not written byte for byte alike; ``None`` if there is none.

    The auditor asks this of what the members of a class are given: the file must not tell for whom it was made.
    """
    is_on_earth = playbook.problem.domain.on_earth is not None
    formats, stops = (*ANYWHERE, *ON_EARTH) if is_on_earth else ANYWHERE, Stops(playbook) if is_on_earth else None
    found = []
    for routes in groups:
        first, *others = (write(playbook, route, formats, stops=stops) for route in routes)
        found.append(next((each for each in formats for texts in others if texts[each] != first[each]), None))
    return found


def _earth_texts(
    playbook: Playbook, route: Route, formats: Sequence[str], schedule: Schedule, stops: Stops | None
) -> dict[str, str]:
    """Those that need the streets. What leads from turn to turn is worked out once for all of them."""
    itinerary = route_itinerary(playbook, route, stops)
    texts = {}
    if "geojson" in formats:
        cost = playbook.cost_of(route.nodes)
        assert cost is not None  # the route lies on the streets, or there would be no itinerary
        texts["geojson"] = route_geojson(itinerary, cost=cost, trip=route.trip).decode()
    if set(formats) <= {"geojson"}:
        return texts
    steps = directions(itinerary, names=playbook.names, schedule=schedule)
    if "directions" in formats:
        texts["directions"] = directions_text(itinerary, steps, schedule)
    if set(formats) <= {"geojson", "directions"}:
        return texts
    # Here, because they load a library for XML.
    from veilroute.formats.gpx import route_gpx
    from veilroute.formats.kml import route_kml

    name = "Route" if len(playbook.trips) == 1 else f"Route, trip {route.trip}"
    if "kml" in formats:
        texts["kml"] = route_kml(itinerary, name=name, schedule=schedule)
    if "gpx" in formats:
        texts["gpx"] = route_gpx(itinerary, name=name, steps=steps, schedule=schedule)
    return texts
