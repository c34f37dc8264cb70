"""One route as a text: its nodes, JSON, directions, or a file for a navigation device.

``veilroute route`` prints these, and the driver's seat of a page has them with it (:mod:`veilroute.plotting.seats`).
One function makes them for both, so that they are the same to the byte. A text is made from the route, the map and the
names of its ends and of everybody's stops: it does not know who asked for it.
"""

from veilroute.domain.graph import label_text
from veilroute.errors import InvalidInputError
from veilroute.formats.geojson import route_geojson
from veilroute.jsontext import dump_canonical
from veilroute.playbook import Playbook, Route
from veilroute.streets.directions import Itinerary, Step, directions, directions_text
from veilroute.streets.sheets import route_itinerary
from veilroute.streets.stops import Schedule, Stops

ANYWHERE = ("text", "json")  #: formats that need no map
ON_EARTH = ("directions", "gpx", "kml", "geojson")  #: formats that need one that knows where it is on earth


def route_text(
    playbook: Playbook, route: Route, format: str, *, schedule: Schedule | None = None, stops: Stops | None = None
) -> str:
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
    stops
        Of the playbook, where they are at hand already.
    """
    if format == "text":
        return "".join(f"{label_text(node)}\n" for node in route)
    if format == "json":
        return dump_canonical({"route": route.nodes, "cost": route.cost, "trip": route.trip}).decode()
    if format not in ON_EARTH:
        raise InvalidInputError("format", f"one of {', '.join((*ANYWHERE, *ON_EARTH))}")
    itinerary = route_itinerary(playbook, route, stops)
    if format == "geojson":
        return route_geojson(itinerary, cost=route.cost, trip=route.trip).decode()
    schedule = schedule or Schedule()
    steps = directions(itinerary, names=playbook.names, schedule=schedule)
    if format == "directions":
        return directions_text(itinerary, steps, schedule)
    name = "Route" if len(playbook.trips) == 1 else f"Route, trip {route.trip}"
    return _device_text(itinerary, format, name, steps, schedule)


def _device_text(itinerary: Itinerary, format: str, name: str, steps: list[Step], schedule: Schedule) -> str:
    """GPX or KML."""
    # Here, because they load a library for XML.
    from veilroute.formats.gpx import route_gpx
    from veilroute.formats.kml import route_kml

    if format == "kml":
        return route_kml(itinerary, name=name, schedule=schedule)
    return route_gpx(itinerary, name=name, steps=steps, schedule=schedule)
