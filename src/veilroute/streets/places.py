"""From what people call a place (latitude and longitude, an id, a name) to a node, and whether places fit together.

The start, the goal and the candidates are no secrets, so messages and warnings name them. Never locate the secret with
this: look it up among the candidates of the playbook.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veilroute.base.errors import InvalidInputError, Problems, listing, shorten
from veilroute.domain.connectivity import reached_from
from veilroute.domain.geography import AIR, Streets, great_circle_m
from veilroute.domain.graph import Domain, Label, folded, label_text
from veilroute.domain.grid import Anchor, Grid
from veilroute.streets.addresses import Gazetteer, similar_names
from veilroute.streets.coordinates import read_lat_lon
from veilroute.streets.doors import Door, DoorFinder, open_doors


@dataclass(frozen=True)
class Snap:
    """The junction nearest to a point, and how far it is as the crow flies."""

    node: int
    distance_m: float


def snap(domain: Domain, lonlat: tuple[float, float]) -> Snap:
    """The junction nearest to a point given as longitude and latitude, along the great circle.

    Looks at every junction. Of those equally near, to the millimetre, it is the one with the smallest number.
    """
    if domain.streets is None:
        raise InvalidInputError("domain", "a street network, which knows longitude and latitude", domain)
    metres = great_circle_m(domain.streets.lonlat, lonlat)
    # Rounded, so that the last bit of a platform's sine cannot choose between two junctions.
    node = int(np.argmin(np.round(metres, 3)))
    return Snap(node, float(metres[node]))


def span_text(streets: Streets) -> str:
    """Where a map is: ``latitude 60.155 to 60.181, longitude 24.915 to 24.958``."""
    west, south = streets.lonlat.min(axis=0).tolist()
    east, north = streets.lonlat.max(axis=0).tolist()
    return f"latitude {south:.3f} to {north:.3f}, longitude {west:.3f} to {east:.3f}"


ROLES = ("start", "goal", "candidate")  #: what a place of a file can be
FAR_M = 100.0  #: metres to the nearest junction beyond which a place comes with a warning
FURTHEST_M = 2000.0  #: metres to the nearest junction beyond which a place is off the map


_MOST_DOORS = 5  # so many doors with several candidates are told of


@dataclass(frozen=True)
class Place:
    """A place as given: by latitude and longitude, which :func:`locate` checks against a map, or by a node's label."""

    name: str | None = None  #: what people call it
    lat: float | None = None  #: in degrees, as is lon; both or neither
    lon: float | None = None
    node: str | None = None  #: the label of a node as text, or an address, where there are no coordinates
    role: str | None = None  #: one of ROLES, or None where that is said elsewhere
    origin: str = ""  #: where it was given, for messages: "branches.csv, line 3"

    def __post_init__(self) -> None:
        where = self.origin or "Place"
        if (self.lat is None) != (self.lon is None) or (self.lat is None) == (self.node is None):
            raise InvalidInputError(where, "both lat and lon, or the id of a node")
        if self.lat is not None and self.lon is not None and not math.isfinite(self.lat + self.lon):
            raise InvalidInputError(where, "finite degrees", f"{self.lat},{self.lon}")
        if self.role is not None and self.role not in ROLES:
            raise InvalidInputError(where, f"a role of {', '.join(ROLES[:-1])} or {ROLES[-1]}", self.role)

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        return f"{self.lat},{self.lon}" if self.node is None else self.node


@dataclass(frozen=True)
class Located:
    """A place with its node."""

    label: Label
    text: str  #: what the place was called: its name, or its coordinates or id as given
    name: str | None = None
    distance_m: float | None = None  #: from the coordinates to the node; None where the node itself was named
    warning: str | None = None  #: a line for the user when that is far
    origin: str = ""  #: where it was given, for messages
    lonlat: tuple[float, float] | None = None  #: the coordinates as given
    door: Door | None = None  #: where on a street coordinates are; the label is a node's once doors are open


def locate(
    domain: Domain,
    place: str | Place,
    *,
    field: str,
    far_m: float = FAR_M,
    places: Sequence[Place] = (),
    doors: DoorFinder | None = None,
    gazetteer: Gazetteer | None = None,
) -> Located:
    """Find the node that is meant by a place, or by a text as :func:`place_meant` takes it.

    Coordinates mean the nearest junction or, with ``doors``, the nearest point of a street, where a node is to be made
    (:func:`open_located`). Messages name the place's own ``origin``, or else ``field``. Beyond ``far_m`` metres the
    result has a warning; off the map is what is further than :data:`FURTHEST_M`, or than ``far_m`` where that is more.
    """
    if not 0 <= far_m < math.inf:
        raise InvalidInputError("far_m", "a finite number of metres >= 0", far_m)
    try:
        meant = place_meant(domain, place, field=field, places=places, gazetteer=gazetteer)
        where = meant.origin or field
        if meant.lat is not None and meant.lon is not None:
            return _located_by_coordinates(domain, meant, meant.lat, meant.lon, where, far_m, doors)
        assert meant.node is not None, "a place has coordinates or a node"
        return Located(domain.parse_label(meant.node, field=where), str(meant), meant.name, origin=where)
    except InvalidInputError as error:
        error.name = error.name or (place.name if isinstance(place, Place) else None)
        raise


def place_meant(
    domain: Domain,
    place: str | Place,
    *,
    field: str,
    places: Sequence[Place] = (),
    gazetteer: Gazetteer | None = None,
) -> Place:
    """The place that is meant by a text, or by a place without coordinates: with coordinates, or the label of a node.

    A text is the name of one of ``places``, or latitude and longitude on a street network, or the label of a node, or
    one of these names and labels but for capitals, or what the ``gazetteer`` knows; it is tried in this order. Where
    it may mean several, or means none, the message lists those that it may have meant.
    """
    if isinstance(place, Place):
        return place if place.lat is not None else _with_label(domain, place, place.origin or field, places, gazetteer)
    text = place.strip()
    exact = next((one for one in places if one.name == text), None)
    if exact is not None:
        return place_meant(domain, exact, field=field, gazetteer=gazetteer)
    # On a grid, 3,4 is a cell and 3.0,4.0 is a place on earth.
    is_place = domain.streets is not None or (domain.on_earth is not None and ("." in text or "°" in text))
    coordinates = typed_coordinates(text) if is_place else None
    if coordinates is not None:
        return Place(lat=coordinates[0], lon=coordinates[1])
    return _with_label(domain, Place(node=place), field, places, gazetteer)


def _with_label(
    domain: Domain, place: Place, where: str, places: Sequence[Place], gazetteer: Gazetteer | None
) -> Place:
    """The place with a label that there is, or with the coordinates that its text stands for."""
    text = place.node or ""
    try:
        domain.node(domain.parse_label(text, field=where), field=where)
    except InvalidInputError as error:
        unknown = error
    else:
        return place
    alike = {one.name: one for one in places if one.name is not None and folded(one.name) == folded(text)}
    alike |= {label_text(label): Place(place.name, node=label_text(label)) for label in domain.labels_like(text)}
    if len(alike) > 1:
        problem = f"{shorten(text)} may mean {listing(list(alike))}, which only capitals tell apart."
        raise InvalidInputError.saying(where, problem, name=place.name, did_you_mean=list(alike))
    for found in alike.values():
        return place_meant(domain, found, field=where, gazetteer=gazetteer)
    names = [one.name for one in places if one.name is not None]
    if gazetteer is not None and domain.streets is not None:
        lon, lat = gazetteer.find(text, field=where, name=place.name, names=names)
        return replace(place, name=place.name or text.strip(), node=None, lat=lat, lon=lon)
    near = similar_names(text, names)
    if domain.streets is None and not near:
        raise unknown
    problem = f"{shorten(text)} was not found."
    if not near:
        problem += f" Write LAT,LON such as {example_text(domain)}, the id of a junction, or the name of a place."
    raise InvalidInputError.saying(where, problem, name=place.name, did_you_mean=near)


def typed_coordinates(text: str) -> tuple[float, float] | None:
    """Latitude and longitude of a text such as ``60.17,24.94``; ``None`` where it is something else."""
    try:
        return read_lat_lon(text)
    except ValueError:
        return None


def example_text(domain: Domain) -> str:
    """A node of the domain as it can be typed: ``LAT,LON`` on street networks, ``R,C`` on grids, else a label."""
    if domain.grid is not None:
        return "3,4"
    if domain.streets is None:
        return label_text(domain.label(0))
    lon, lat = domain.streets.lonlat[0].tolist()
    return f"{lat:.4f},{lon:.4f}"


def _located_by_coordinates(
    domain: Domain, place: Place, lat: float, lon: float, where: str, far_m: float, doors: DoorFinder | None
) -> Located:
    typed = f"{lat},{lon}"
    if domain.grid is not None and domain.grid.anchor is not None:
        cell = _free_cell(domain.grid, domain.grid.anchor, lat, lon, where, place.name)
        return Located(cell, str(place), place.name, origin=where)
    if domain.streets is None:
        raise InvalidInputError(where, "the label of a node: only street networks know latitude and longitude", typed)

    def nearest(lonlat: tuple[float, float]) -> Snap | Door:
        return snap(domain, lonlat) if doors is None else doors.find(lonlat)

    furthest, what = max(FURTHEST_M, far_m), "junction" if doors is None else "street"
    is_flight = domain.streets.kinds == (AIR,)
    if is_flight:
        what = "point where one can fly"
        # Of a free cell every point is nearer than this to its middle, or to the moves that cross there.
        far_m = min(far_m, float(domain.streets.lengths.min()) * (math.sqrt(0.5) if doors is None else 0.5))
    found, meant = nearest((lon, lat)) if _is_on_earth(lat, lon) else None, list[str]()
    if found is None or found.distance_m > furthest:
        if _is_on_earth(lon, lat) and nearest((lat, lon)).distance_m <= furthest:
            problem = f"{typed} is off the map. The latitude comes first, then the longitude."
            meant = [f"{lon},{lat}"]
        elif found is None:
            problem = f"{typed} is nowhere. A latitude is from -90 to 90, a longitude from -180 to 180."
        else:
            away, span = f"{found.distance_m / 1000:.1f} km", span_text(domain.streets)
            problem = f"{typed} is outside the map ({span}): the nearest {what} is {away} away."
        raise InvalidInputError.saying(where, problem, name=place.name, did_you_mean=meant)
    name, label = f"nearest {what}", domain.label(found.node) if found.node is not None else str(place)
    if isinstance(found, Snap):
        door = Door((lon, lat), found.distance_m, node=found.node)
        name += f" {label_text(label)}"
    else:
        door = found
        name += f" {street}" if (street := domain.streets.name(found.edges[0])) else ""
    warning = f"{place}: {name} is {found.distance_m:.0f} m away" if found.distance_m > far_m else None
    if warning is not None and is_flight:
        what = f"the nearest point where one can fly is {found.distance_m:.0f} m away"
        warning = f"{place} is in a no-fly zone, outside the area, or at the edge of one: {what}"
    return Located(label, str(place), place.name, found.distance_m, warning, where, (lon, lat), door)


def open_located(domain: Domain, located: Sequence[Located]) -> tuple[Domain, list[Located]]:
    """The network with nodes at the doors of places, and the places with the labels that they have there.

    The same place may be given twice, as where a trip starts and where it ends.
    """
    if all(place.door is None for place in located):
        return domain, list(located)
    doors = {(place.text, place.door): place.door for place in located if place.door is not None}
    opened, labels = open_doors(domain, [(text, door) for (text, _), door in doors.items()])
    label_of = dict(zip(doors, labels, strict=True))
    return opened, [
        place if place.door is None else replace(place, label=label_of[place.text, place.door]) for place in located
    ]


def _free_cell(grid: Grid, anchor: Anchor, lat: float, lon: float, where: str, name: str | None) -> tuple[int, int]:
    """The cell around a point on earth; raises when it is blocked, and says which free one is nearest."""
    row, col = anchor.cell_at(lat, lon) if _is_on_earth(lat, lon) else (-1, -1)
    if not (0 <= row < grid.height and 0 <= col < grid.width):
        (west, north), (east, south) = anchor.lonlat([[0, 0], [grid.height, grid.width]]).tolist()
        span = f"latitude {south:.5f} to {north:.5f}, longitude {west:.5f} to {east:.5f}"
        raise InvalidInputError.saying(where, f"{lat},{lon} is outside the map ({span}).", name=name)
    if not grid.free[row, col]:
        away = np.hypot(*(grid.cells - (row, col)).T)
        nearest = grid.cell(int(np.argmin(away)))
        metres = float(away.min()) * anchor.cell_m
        ((free_lon, free_lat),) = anchor.lonlat([[nearest[0] + 0.5, nearest[1] + 0.5]]).tolist()
        problem = (
            f"one cannot go to {lat},{lon}: cell {row},{col} is inside a wall. The nearest free cell is "
            f"{label_text(nearest)}, {metres:.0f} m away."
        )
        raise InvalidInputError.saying(where, problem, name=name, did_you_mean=[f"{free_lat:.6f},{free_lon:.6f}"])
    return row, col


def _is_on_earth(lat: float, lon: float) -> bool:
    return abs(lat) <= 90 and abs(lon) <= 180


_REMEDY = "Choose another place, or rebuild the network with `veilroute streets --connected`"


def check_distinct(domain: Domain, start: Located, goal: Located, candidates: Sequence[Located]) -> None:
    """Raise when a candidate is where the trip starts or ends, or where two have one label.

    Start and goal may be at one place: that is a round trip. A candidate at the start or goal is refused when one of
    the two was given by coordinates, because nobody may have noticed; where both were given by ids it does not count,
    as usual. Several candidates at one spot are several labels of one node. All such candidates are told of at once.
    """
    problems = Problems()
    ends = {domain.node(end.label): end for end in (goal, start)}
    first: dict[Label, Located] = {}
    for place in candidates:
        other, end = first.setdefault(place.label, place), ends.get(domain.node(place.label))
        if other is place and end is not None and (place.distance_m is not None or end.distance_m is not None):
            other = end
        if other is not place:
            both = f"{other.text} and {place.text} are both at {_whereabouts(domain, place)}"
            problem = f"{both}. Leave one of them out, or move it along the street."
            problems.add(_about(place, InvalidInputError.saying(place.origin, problem)))
    problems.raise_all()


def _about(place: Located, error: InvalidInputError) -> InvalidInputError:
    """An error whose sentence has the name of the place already."""
    error.name = place.name
    return error


def shared_doors(domain: Domain, candidates: Sequence[Located]) -> list[str]:
    """A line for each spot at which several candidates are, under names of their own; of many the first ones."""
    names: dict[int, list[str]] = {}
    for place in candidates:
        if domain.has_label(place.label):
            names.setdefault(domain.node(place.label), []).append(place.text)
    shared = [each for each in (list(dict.fromkeys(texts)) for texts in names.values()) if len(each) > 1]
    lines = [
        f"{listing(each)} are at one door: an observer who works out the door has found them all"
        for each in shared[:_MOST_DOORS]
    ]
    more = len(shared) - _MOST_DOORS
    return lines + ([f"and at {more} more doors there are several candidates as well"] if more > 0 else [])


def _whereabouts(domain: Domain, place: Located) -> str:
    """Where a place is, in words."""
    if place.door is not None and place.door.node is None:
        return "one spot of a street"
    return f"junction {label_text(domain.label(domain.node(place.label)))}"


def check_way(domain: Domain, start: Located, goal: Located) -> None:
    """Raise when no route leads from start to goal, and say whether one-way streets are why."""
    if reached_from(domain, domain.node(start.label))[domain.node(goal.label)]:
        return
    check_joined(domain, start, [goal])
    parted = f"one-way streets leave no way from {start.text} to {goal.text}"
    problem = f"{parted}, though there is one against their direction. {_REMEDY}."
    raise _about(goal, InvalidInputError.saying(goal.origin, problem))


def check_joined(domain: Domain, start: Located, others: Sequence[Located]) -> None:
    """Raise when a place is on a part of the network that no street joins to the start, in whatever direction.

    Of the two, the one on the smaller part is named; all such places at once. A candidate that only one-way streets
    make impossible is not this function's business.
    """
    joined_here = reached_from(domain, domain.node(start.label), backward=True)
    problems = Problems()
    for other in others:
        node = domain.node(other.label)
        if joined_here[node]:
            continue
        there = reached_from(domain, node, backward=True)
        lost, joined = (start, other) if joined_here.sum() < there.sum() else (other, start)
        is_junction = lost.door is None or lost.door.node is not None
        here = f" ({_whereabouts(domain, lost)})" if is_junction else ""
        where = f"{lost.text}{here} is on a part of the network that is not connected to"
        problems.add(_about(lost, InvalidInputError.saying(lost.origin, f"{where} {joined.text}. {_REMEDY}.")))
        if lost is start:
            break
    problems.raise_all()
