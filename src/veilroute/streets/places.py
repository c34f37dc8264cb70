"""From what people call a place to a junction: latitude and longitude, ids, names.

The start, the goal and the candidates are no secrets, so messages and warnings name them. Never locate the secret with
this: look it up among the candidates of the playbook.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from veilroute.domain.graph import Domain
from veilroute.domain.labels import Label, label_text
from veilroute.errors import InvalidInputError
from veilroute.streets.snapping import snap, span_text

ROLES = ("start", "goal", "candidate")
"""What a place of a file can be."""

FAR_M = 100.0
"""Metres to the nearest junction beyond which a place comes with a warning."""

FURTHEST_M = 2000.0
"""Metres to the nearest junction beyond which a place is off the map."""

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)"
_COORDINATES = re.compile(rf"\s*({_NUMBER})\s*,\s*({_NUMBER})\s*", re.ASCII)


@dataclass(frozen=True)
class Place:
    """A place as given: by latitude and longitude, or by the label of a node.

    Parameters
    ----------
    name
        What people call it, or ``None``.
    lat, lon
        Degrees, both or neither. They are checked against a map by :func:`locate`.
    node
        The label of a node as text, where there are no coordinates.
    role
        ``"start"``, ``"goal"``, ``"candidate"``, or ``None`` where that is said elsewhere.
    origin
        Where it was given, for messages: ``branches.csv, line 3``.
    """

    name: str | None = None
    lat: float | None = None
    lon: float | None = None
    node: str | None = None
    role: str | None = None
    origin: str = ""

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
    """A place with its node.

    Parameters
    ----------
    label
        The node's label.
    text
        What the place was called: its name, or its coordinates or id as given.
    name
        What people call it, or ``None``.
    distance_m
        Metres from the coordinates to the junction; ``None`` where the node itself was named.
    warning
        A line for the user when that is far, else ``None``.
    origin
        Where it was given, for messages.
    """

    label: Label
    text: str
    name: str | None = None
    distance_m: float | None = None
    warning: str | None = None
    origin: str = ""


def locate(
    domain: Domain, place: str | Place, *, field: str, far_m: float = FAR_M, places: Sequence[Place] = ()
) -> Located:
    """Find the node that is meant by a place, or by a text.

    A text is the name of one of ``places``, or ``LAT,LON`` in decimal degrees on a street network, or the label of a
    node; it is tried in this order. Coordinates mean the nearest junction.

    Parameters
    ----------
    domain
        The world; only street networks know coordinates.
    place
        A text or a place.
    field
        What holds it, for messages: ``--start``. The place's own ``origin`` goes before it.
    far_m
        Beyond this distance the result has a warning. Off the map is what is further than :data:`FURTHEST_M`, or than
        this where it is more.
    places
        The places that a text can name.
    """
    if not 0 <= far_m < math.inf:
        raise InvalidInputError("far_m", "a finite number of metres >= 0", far_m)
    meant = place if isinstance(place, Place) else _meant(domain, place, places)
    where = meant.origin or field
    if meant.lat is not None and meant.lon is not None:
        return _located_by_coordinates(domain, meant, meant.lat, meant.lon, where, far_m)
    assert meant.node is not None, "a place has coordinates or a node"
    try:
        label = domain.parse_label(meant.node, field=where)
        domain.node(label, field=where)
    except InvalidInputError:
        if domain.streets is None:
            raise
        expected = f"LAT,LON such as {example_text(domain)}, the id of a junction, or the name of a place in --places"
        raise InvalidInputError(where, expected, meant.node) from None
    return Located(label, str(meant), meant.name, origin=where)


def example_text(domain: Domain) -> str:
    """A node of the domain as it can be typed: ``LAT,LON`` on street networks, ``R,C`` on grids, else a label."""
    if domain.grid is not None:
        return "3,4"
    if domain.streets is None:
        return label_text(domain.label(0))
    lon, lat = domain.streets.lonlat[0].tolist()
    return f"{lat:.4f},{lon:.4f}"


def _meant(domain: Domain, text: str, places: Sequence[Place]) -> Place:
    for place in places:
        if place.name is not None and place.name == text.strip():
            return place
    match = _COORDINATES.fullmatch(text) if domain.streets is not None else None
    return Place(node=text) if match is None else Place(lat=float(match[1]), lon=float(match[2]))


def _located_by_coordinates(domain: Domain, place: Place, lat: float, lon: float, where: str, far_m: float) -> Located:
    typed = f"{lat},{lon}"
    if domain.streets is None:
        raise InvalidInputError(where, "the label of a node: only street networks know latitude and longitude", typed)
    furthest = max(FURTHEST_M, far_m)
    nearest = snap(domain, (lon, lat)) if _is_on_earth(lat, lon) else None
    if nearest is None or nearest.distance_m > furthest:
        if _is_on_earth(lon, lat) and snap(domain, (lat, lon)).distance_m <= furthest:
            expected = f"latitude first; this looks like longitude,latitude, so write {lon},{lat}"
            raise InvalidInputError(_called(place, where), expected, typed)
        if nearest is None:
            expected = "a latitude from -90 to 90, then a longitude from -180 to 180"
            raise InvalidInputError(_called(place, where), expected, typed)
        expected = f"a point on the map, at most {furthest / 1000:g} km from a junction ({span_text(domain.streets)})"
        raise InvalidInputError(_called(place, where), expected, typed)
    label = domain.label(nearest.node)
    warning = None
    if nearest.distance_m > far_m:
        warning = f"{place}: nearest junction {label_text(label)} is {nearest.distance_m:.0f} m away"
    return Located(label, str(place), place.name, nearest.distance_m, warning, where)


def _called(place: Place, where: str) -> str:
    return where if place.name is None else f"{where}: {place.name}"


def _is_on_earth(lat: float, lon: float) -> bool:
    return abs(lat) <= 90 and abs(lon) <= 180
