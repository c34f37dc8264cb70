"""How fast one goes along a way: from its speed limit, or by the kind of road where none is stated.

A car drives at the limit. Where a way states none, or one that changes (``signals``, ``variable``), it drives at:

================================  ====    ================================  ====
kind of road                      km/h    kind of road                      km/h
================================  ====    ================================  ====
``motorway``                       110    ``motorway_link``                   60
``trunk``                           80    ``trunk_link``                      50
``primary``                         50    ``primary_link``                    40
``secondary``                       50    ``secondary_link``                  40
``tertiary``                        40    ``tertiary_link``                   30
``unclassified``, ``road``          40    ``residential``                     30
``living_street``                   10    ``service``                         20
================================  ====    ================================  ====

Limits in words are ``walk`` (6 km/h), ``none`` (130 km/h), and those of a country's law, of which only what follows the
colon counts (``FI:urban``): ``living_street`` 10, ``urban`` 50, ``rural`` 80, ``trunk`` 100, ``motorway`` 120,
``bicycle_road`` 30, ``zone30`` and ``zone:30`` the number; in Britain ``nsl_single`` 60 mph, ``nsl_dual`` 70 mph,
``nsl_restricted`` 30 mph. Of several limits (``50;30``) the lowest counts.

A bicycle rides at 16 km/h; on ``track`` and ``path`` at 12, on ``footway``, ``pedestrian`` and ``living_street`` at 10.
On foot one walks at 4.8 km/h, and at 2.4 on ``steps`` and in an ``elevator``. Neither heeds speed limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from veilroute.streets.rules import Network
from veilroute.streets.ways import Tags

DRIVING_KMH = {
    "motorway": 110.0, "motorway_link": 60.0, "trunk": 80.0, "trunk_link": 50.0, "primary": 50.0, "primary_link": 40.0,
    "secondary": 50.0, "secondary_link": 40.0, "tertiary": 40.0, "tertiary_link": 30.0, "unclassified": 40.0,
    "road": 40.0, "residential": 30.0, "living_street": 10.0, "service": 20.0,
}  # fmt: skip
"""How fast to drive where no limit is stated."""

CYCLING_KMH = {"track": 12.0, "path": 12.0, "footway": 10.0, "pedestrian": 10.0, "living_street": 10.0}
"""How fast to cycle where it is not :data:`CYCLING_DEFAULT_KMH`."""

WALKING_KMH = {"steps": 2.4, "elevator": 2.4}
"""How fast to walk where it is not :data:`WALKING_DEFAULT_KMH`."""

CYCLING_DEFAULT_KMH, WALKING_DEFAULT_KMH = 16.0, 4.8

_MILE_KM, _KNOT_KM = 1.609344, 1.852
_WORDS = {
    "walk": 6.0, "none": 130.0, "living_street": 10.0, "urban": 50.0, "rural": 80.0, "trunk": 100.0, "motorway": 120.0,
    "bicycle_road": 30.0, "nsl_single": 60 * _MILE_KM, "nsl_dual": 70 * _MILE_KM, "nsl_restricted": 30 * _MILE_KM,
}  # fmt: skip
_UNITS = {"": 1.0, "km/h": 1.0, "kmh": 1.0, "kph": 1.0, "mph": _MILE_KM, "knots": _KNOT_KM}
_NUMBER = re.compile(r"(\d{1,3}(?:\.\d+)?)\s*([a-z/]*)")
_ZONE = re.compile(r"(?:zone:?)?(\d{1,3})")
_LEAST_KMH, _LARGEST_KMH = 1.0, 200.0

KEYS = frozenset(
    ("maxspeed", "maxspeed:forward", "maxspeed:backward", "maxspeed:type", "zone:maxspeed", "source:maxspeed")
)
"""The tags that speeds are read from."""


@dataclass(frozen=True)
class Speeds:
    """How fast one goes along a way.

    Parameters
    ----------
    forward_kmh, backward_kmh
        Kilometres an hour in the direction in which the way is drawn, and against it.
    is_stated
        Whether both come from a limit that the way states.
    """

    forward_kmh: float
    backward_kmh: float
    is_stated: bool


def way_speeds(network: Network, tags: Tags) -> Speeds:
    """How fast one goes along a way of a network."""
    kind = tags["highway"]
    if network.name == "walk":
        kmh = WALKING_KMH.get(kind, WALKING_DEFAULT_KMH)
        return Speeds(kmh, kmh, False)
    if network.name == "cycle":
        kmh = CYCLING_KMH.get(kind, CYCLING_DEFAULT_KMH)
        return Speeds(kmh, kmh, False)
    both = next((kmh for key in _GENERAL if (kmh := parse_kmh(tags.get(key, "")))), 0.0)
    forward = parse_kmh(tags.get("maxspeed:forward", "")) or both
    backward = parse_kmh(tags.get("maxspeed:backward", "")) or both
    default = DRIVING_KMH[kind]
    return Speeds(forward or default, backward or default, bool(forward and backward))


_GENERAL = ("maxspeed", "maxspeed:type", "zone:maxspeed", "source:maxspeed")


def parse_kmh(text: str) -> float:
    """Read a speed limit; 0 where the text states none.

    Examples
    --------
    >>> from veilroute.streets.speeds import parse_kmh
    >>> [parse_kmh(text) for text in ("50", "40 km/h", "FI:urban", "50;30", "signals")]
    [50.0, 40.0, 50.0, 30.0, 0.0]
    """
    limits = [_parse_one(part.strip().lower()) for part in re.split(r"[;,|]", text)]
    return min((limit for limit in limits if limit), default=0.0)


def _parse_one(text: str) -> float:
    if (number := _NUMBER.fullmatch(text)) and number[2] in _UNITS:
        kmh = float(number[1]) * _UNITS[number[2]]
        return kmh if _LEAST_KMH <= kmh <= _LARGEST_KMH else 0.0
    country, colon, rest = text.partition(":")
    word = rest if colon and len(country) <= 6 else text
    if (zone := _ZONE.fullmatch(word)) and colon:
        return _parse_one(zone[1])
    return _WORDS.get(word, 0.0)
