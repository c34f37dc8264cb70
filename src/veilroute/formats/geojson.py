"""GeoJSON (RFC 7946): routes and playbooks for maps in other programs.

Files are canonical JSON, so that equal routes give equal bytes. A single route's file depends on the route alone: it
names neither the secret nor any other candidate.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from veilroute.base.io import dump_canonical, write_file
from veilroute.domain.geography import streets_of
from veilroute.domain.graph import Label
from veilroute.model.playbook import Playbook
from veilroute.streets.day_sheets import VanSheet, Visit
from veilroute.streets.directions import Itinerary
from veilroute.streets.sheets import ClassRoute, chosen_trips, class_routes

OKABE_ITO = ("#0072B2", "#D55E00", "#F0E442", "#000000", "#56B4E9", "#CC79A7", "#E69F00", "#009E73")
"""The colours of classes, for pictures and for map files alike.

They are those of Okabe and Ito ("Color universal design", 2008), in the order that keeps the first few furthest apart
(CIE Lab) for normal sight, protanopia, deuteranopia and tritanopia alike.
"""

_DECIMALS = 7
UNPROTECTED = "#7A7A7A"


def class_colour(index: int) -> str:
    """The colour of the class at ``index``, counted from 0; they repeat after eight."""
    return OKABE_ITO[index % len(OKABE_ITO)]


def route_geojson(itinerary: Itinerary, *, cost: float, trip: int = 0) -> bytes:
    """One route as a feature collection with one line; ``cost`` is what it adds up to on the map."""
    feature = _line(itinerary, {"cost": cost, "trip": trip})
    return dump_canonical(_collection([feature], itinerary.attribution))


def playbook_geojson(playbook: Playbook, *, trip: int | None = None) -> bytes:
    """A whole playbook: a line for each anonymized class and trip (or for one ``trip``), and points for all places.

    Where the members of a class part, its line is what they share, and one for the rest of each follows. Lines
    have the colour of their class (``stroke``), as in pictures. Points are starts, goals and candidates.
    """
    domain = playbook.problem.domain
    lines = [line for route in class_routes(playbook, trip=trip) for line in _class_lines(playbook, route)]
    return dump_canonical(_collection([*lines, *_points(playbook, trip)], streets_of(domain).attribution))


def write_geojson(playbook: Playbook, path: str | Path, *, trip: int | None = None) -> None:
    """Write a whole playbook as :func:`playbook_geojson` makes it."""
    write_file(path, playbook_geojson(playbook, trip=trip))


def day_geojson(sheets: Sequence[VanSheet]) -> bytes:
    """The tours of some vehicles: a line for each, in its colour, and points where it begins, stops and ends."""
    features = [feature for sheet in sheets for feature in (_van_line(sheet), *_van_points(sheet))]
    return dump_canonical(_collection(features, sheets[0].laid.attribution if sheets else ""))


def _van_line(sheet: VanSheet) -> dict[str, Any]:
    style = {"stroke": class_colour(sheet.number - 1), "stroke-width": 5, "stroke-opacity": 0.8}
    about = {"role": "tour", "vehicle": sheet.number, "name": sheet.title, "cost": sheet.tour.cost}
    times = {"leaves": sheet.leaves, "home": sheet.home, "seconds": sheet.tour.seconds} if sheet.home else {}
    return _line(sheet.laid, style | about | {"stops": len(sheet.visits)} | times)


def _van_points(sheet: VanSheet) -> Iterator[dict[str, Any]]:
    ends = (("start", sheet.start, 0, "s"), ("goal", sheet.goal or sheet.visits[-1].called, len(sheet.laid.legs), "g"))
    for role, name, position, symbol in ends:
        about = {"role": role, "vehicle": sheet.number, "name": name, "marker-symbol": symbol}
        yield _feature("Point", _rounded(sheet.laid.place(position)), about)
    for visit in sheet.visits:
        yield _feature("Point", _rounded(sheet.laid.place(visit.stop.position)), _visit_properties(sheet, visit))


def _visit_properties(sheet: VanSheet, visit: Visit) -> dict[str, Any]:
    about = {"role": "stop", "vehicle": sheet.number, "stop": visit.stop.number, "stops": visit.stop.total}
    about |= {"node": visit.customer, "name": visit.called, "class": visit.group, "service_s": visit.service_s}
    about |= {"at": visit.at, "begins_s": visit.begins_s} if visit.at else {}
    return about | {"marker-color": class_colour(sheet.number - 1)}


def _rounded(place: tuple[float, float]) -> list[float]:
    return [round(degrees, _DECIMALS) for degrees in place]


def _collection(features: list[dict[str, Any]], attribution: str) -> dict[str, Any]:
    collection: dict[str, Any] = {"type": "FeatureCollection", "features": features}
    return collection | {"attribution": attribution} if attribution else collection


def _line(itinerary: Itinerary, properties: dict[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {"role": "route", "unit": itinerary.unit, "metres": round(itinerary.metres, 1)}
    known["streets"] = itinerary.street_names
    positions = itinerary.polyline().round(_DECIMALS).tolist()
    # A line has two positions at least, also where the route stays where it is.
    positions = positions if len(positions) > 1 else 2 * positions
    return _feature("LineString", positions, known | properties)


def _class_lines(playbook: Playbook, route: ClassRoute) -> Iterator[dict[str, Any]]:
    style = {"stroke": class_colour(route.number - 1), "stroke-width": 5, "stroke-opacity": 0.8}
    for part in route.parts:
        about: dict[str, Any] = {"class": route.number, "trip": route.trip, "role": part.role, "name": part.title}
        about["members"] = [playbook.name(member) for member in part.members]
        about["cost"] = playbook.cost_of(part.itinerary.nodes)
        width = {"stroke-width": 3} if part.role == "parting" else {}
        yield _line(part.itinerary, style | width | about)


def _points(playbook: Playbook, trip: int | None) -> Iterator[dict[str, Any]]:
    """The ends of the trips, then the candidates."""
    for which in chosen_trips(playbook, trip):
        ends = playbook.trips[which]
        for role, label, symbol in (("start", ends.start, "s"), ("goal", ends.goal, "g")):
            yield _point(playbook, label, {"role": role, "trip": which, "marker-symbol": symbol})
    numbered = enumerate(playbook.hidden_classes, start=1)
    number_of = {member: number for number, group in numbered for member in group.members}
    for label in playbook.candidates:
        of_class = number_of.get(label)
        colour = UNPROTECTED if of_class is None else class_colour(of_class - 1)
        properties = {"role": "candidate", "class": of_class, "anonymized": of_class is not None}
        yield _point(playbook, label, properties | {"marker-color": colour})


def _point(playbook: Playbook, label: Label, properties: dict[str, Any]) -> dict[str, Any]:
    domain = playbook.problem.domain
    place = streets_of(domain).lonlat[domain.node(label)].round(_DECIMALS).tolist()
    about = {"node": label, "name": playbook.name(label)}
    return _feature("Point", place, about | properties)


def _feature(kind: str, coordinates: list[Any], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}, "properties": properties}
