"""Which ways one may drive, cycle or walk along, in which directions and how fast: pure functions of a way's tags.

The drive network is that of OSMnx's ``drive`` filter, but by a list of what is a road in place of one of what is not,
and with the whole hierarchy of access tags in place of a few. Restrictions that hold only at times
(``access:conditional``) are not read; those for large vehicles (``maxweight``, ``hgv``) are, for trucks.

A car drives at the speed limit, which may be a number or a word (:data:`LIMITS_KMH`). Of the words of a country's law
only what follows the colon counts (``FI:urban``), and of ``zone30`` and ``zone:30`` the number. Of several limits
(``50;30``) the lowest counts. Where a way states none, or one that changes (``signals``, ``variable``), it drives at
:data:`DRIVING_KMH`. A truck heeds ``maxspeed:hgv`` as well, and goes no faster than :data:`TRUCK_KMH`. Bicycles
(:data:`CYCLING_KMH`) and people on foot (:data:`WALKING_KMH`) do not heed limits.
"""

import math
import re
from dataclasses import dataclass, replace

from veilroute.base.errors import InvalidInputError, UnknownMethodError
from veilroute.streets.vehicles import ANY_SIZE, LIMIT_KEYS, Vehicle
from veilroute.streets.ways import Tags

#: Kinds of highway that everybody may use.
MAIN_ROADS = (
    "primary", "primary_link", "secondary", "secondary_link", "tertiary", "tertiary_link",
    "unclassified", "residential", "living_street", "road",
)  # fmt: skip
#: Kinds of highway that are for cars unless tags say otherwise.
FAST_ROADS = ("motorway", "motorway_link", "trunk", "trunk_link")
#: Kinds of highway that are for people on foot; ``steps`` and what follows it never for bicycles.
FOOT_PATHS = ("footway", "pedestrian", "path", "bridleway", "steps", "corridor", "platform", "crossing", "elevator")
#: Values of an access tag that open a way that its kind alone would close.
OPEN = frozenset(("yes", "designated", "permissive", "official", "destination", "customers", "delivery", "permit"))
#: Values of an access tag that close a way.
CLOSED = frozenset((
    "no", "private", "agricultural", "forestry", "emergency", "military", "restricted", "residents", "psv", "bus",
    "taxi", "service", "staff", "employees", "dismount", "use_sidepath",
))  # fmt: skip
#: Values of ``service`` that never belong to the drive network (OSMnx: ``drive_service``).
BACK_YARDS = frozenset(("emergency_access", "parking", "parking_aisle", "private"))
#: Values of ``service`` that belong to the drive network only with service roads (OSMnx: ``drive``).
SIDE_WAYS = BACK_YARDS | {"alley", "driveway"}
#: Values of ``barrier`` that stop everyone on wheels, unless an access tag beside it says otherwise.
OBSTACLES = frozenset(
    ("stile", "kissing_gate", "turnstile", "full-height_turnstile", "log", "debris", "fence", "wall", "hedge")
)
#: Values of ``barrier`` that stop cars, unless an access tag beside it says otherwise.
BOLLARDS = frozenset(("bollard", "block", "cycle_barrier", "motorcycle_barrier", "chain", "planter", "jersey_barrier"))

_YES, _REVERSED, _NO = ("yes", "true", "1"), ("-1", "reverse"), ("no", "false", "0")
_SLOW_WAYS = ("cycleway", "service", "track")
_CHANGING = ("alternating", "reversible")
_FOR_CARS = (*FAST_ROADS, "busway")
_SIDES = ("cycleway:left", "cycleway:right", "cycleway:both")


@dataclass(frozen=True)
class Ruling:
    """Whether a way belongs to a network, and whether one may go along it as it is drawn and against that."""

    forward: bool
    backward: bool
    reason: str = ""  # the tag that keeps the way out, as "access=private"; empty when it belongs

    @property
    def is_in(self) -> bool:
        """Whether the way belongs to the network."""
        return not self.reason


@dataclass(frozen=True)
class Network:
    """One way to move about."""

    name: str
    modes: tuple[str, ...]  # its access tags, the most general first: a later one overrules those before it
    heeds_oneway: bool  # whether "oneway" without a mode is meant for it
    usual: tuple[str, ...]  # the kinds of way that belong to it
    on_invitation: tuple[str, ...] = ()  # those that an access tag of its own mode must open
    is_motor: bool = False  # whether it is for cars or trucks
    vehicle: Vehicle = ANY_SIZE


def rule_way(network: Network, tags: Tags, *, service: bool = False) -> Ruling:
    """Decide whether a way belongs to a network, and in which directions.

    With ``service`` the networks for cars and trucks have service roads, too: alleys, driveways, ways through yards.
    """
    is_area = tags.get("area") == "yes"
    reason = _barred(network, tags, service) or ("area=yes" if is_area else _closed(network, tags))
    reason = reason or network.vehicle.reason_against(tags)
    if reason:
        return Ruling(False, False, reason)
    key, value = _oneway(network, tags)
    if value in _CHANGING:
        return Ruling(False, False, f"{key}={value}")
    forward, backward = value not in _REVERSED, value not in _YES
    if network.name == "cycle" and key != "oneway:bicycle" and forward != backward and _has_contraflow(tags, value):
        forward = backward = True
    forward, backward, reason = _turned(network, tags, forward, backward)
    if not forward and not backward:
        return Ruling(False, False, reason)
    return Ruling(forward, backward)


def network_called(name: str, vehicle: Vehicle | None = None) -> Network:
    """The network of that name, for trucks of a certain size."""
    try:
        network = NETWORKS[name]
    except (KeyError, TypeError):
        raise UnknownMethodError("network", name, tuple(NETWORKS)) from None
    if vehicle in (None, ANY_SIZE):
        return network
    if name != "truck":
        raise InvalidInputError("height, weight, length", "the network truck", name)
    return replace(network, vehicle=vehicle)


def is_stopped(network: Network, barrier: Tags) -> bool:
    """Whether a node with these tags cannot be passed: by the access tags beside ``barrier``, or else by its kind."""
    if network.vehicle.reason_against(barrier):
        return True
    if any(mode in barrier for mode in network.modes):
        return bool(_closed(network, barrier))
    kind = barrier.get("barrier", "")
    return (network.heeds_oneway and kind in OBSTACLES) or (network.is_motor and kind in BOLLARDS)


def _barred(network: Network, tags: Tags, service: bool) -> str:
    """The tag that makes a way unfit; or nothing."""
    kind = tags["highway"]
    if network.is_motor:
        if kind not in network.usual and not (service and kind == "service"):
            return f"highway={kind}"
        unfit = BACK_YARDS if service else SIDE_WAYS
        return next((f"service={word}" for word in _words(tags, "service") if word in unfit), "")
    is_invited = any(word in OPEN for word in _words(tags, network.modes[-1]))
    if kind in network.usual:
        return "motorroad=yes" if tags.get("motorroad") == "yes" and not is_invited else ""
    return "" if is_invited and kind in network.on_invitation else f"highway={kind}"


def _words(tags: Tags, key: str) -> list[str]:
    return [word.strip() for word in tags.get(key, "").split(";")]


def _is_closed(tags: Tags, key: str) -> bool:
    return all(word in CLOSED for word in _words(tags, key))


def _closed(network: Network, tags: Tags) -> str:
    """The access tag that closes a way, which is the most special one that there is; or nothing."""
    mode = next((mode for mode in reversed(network.modes) if mode in tags), None)
    return f"{mode}={tags[mode]}" if mode is not None and _is_closed(tags, mode) else ""


def _oneway(network: Network, tags: Tags) -> tuple[str, str]:
    """The tag that says in which direction to go and its value, which is ``no`` when both are free."""
    known = (*_YES, *_REVERSED, *_NO, *_CHANGING)
    for mode in reversed(network.modes[1:]):
        if tags.get(f"oneway:{mode}") in known:
            return f"oneway:{mode}", tags[f"oneway:{mode}"]
    if not network.heeds_oneway:
        return "implied", "no"
    if tags.get("oneway") in known:
        return "oneway", tags["oneway"]
    is_round = tags.get("junction") in ("roundabout", "circular")
    return "implied", "yes" if is_round or tags["highway"] in ("motorway", "motorway_link") else "no"


def _has_contraflow(tags: Tags, oneway: str) -> bool:
    """Whether bicycles may go against a one-way street."""
    if any(tags.get(key, "").startswith("opposite") for key in ("cycleway", *_SIDES)):
        return True
    against = (_YES if oneway in _REVERSED else _REVERSED) + _NO
    return any(
        tags.get(side, "no") not in ("no", "none", "separate") and tags.get(f"{side}:oneway") in against
        for side in _SIDES
    )


def _turned(network: Network, tags: Tags, forward: bool, backward: bool) -> tuple[bool, bool, str]:
    """Apply access tags for one direction, the most special that there is, and name the last that closes one.

    Only those of the network's own mode can open what ``oneway`` closed.
    """
    is_open, reason = {"forward": forward, "backward": backward}, ""
    for direction in is_open:
        keys = [f"{mode}:{direction}" for mode in reversed(network.modes)]
        key = next((key for key in keys if key in tags), None)
        if key is not None and _is_closed(tags, key):
            is_open[direction], reason = False, f"{key}={tags[key]}"
        elif tags.get(keys[0]) in OPEN:
            is_open[direction] = True
    return is_open["forward"], is_open["backward"], reason


_MOTOR = ("access", "vehicle", "motor_vehicle")
_NETWORKS = (
    Network("drive", (*_MOTOR, "motorcar"), True, (*MAIN_ROADS, *FAST_ROADS), is_motor=True),
    Network("truck", (*_MOTOR, "goods", "hgv"), True, (*MAIN_ROADS, *FAST_ROADS), is_motor=True),
    Network("cycle", ("access", "vehicle", "bicycle"), True, (*MAIN_ROADS, *_SLOW_WAYS), (*FOOT_PATHS[:4], *_FOR_CARS)),
    Network("walk", ("access", "foot"), False, (*MAIN_ROADS, *FOOT_PATHS, *_SLOW_WAYS), _FOR_CARS),
)
NETWORKS = {network.name: network for network in _NETWORKS}  #: the networks by name

_LIMITS = ("maxspeed", "maxspeed:type", "zone:maxspeed", "source:maxspeed")  # those of both directions, best first

_MODES = {mode for network in _NETWORKS for mode in network.modes}
#: The tags that rules and speeds are read from.
KEYS = frozenset(
    ["highway", "area", "service", "motorroad", "junction", "oneway", "cycleway", *_SIDES]
    + [f"{side}:oneway" for side in _SIDES]
    + [key for mode in _MODES for key in (mode, f"oneway:{mode}", f"{mode}:forward", f"{mode}:backward")]
    + [*_LIMITS, "maxspeed:forward", "maxspeed:backward", "maxspeed:hgv", *LIMIT_KEYS]
)

#: How fast to drive where no limit is stated.
DRIVING_KMH = {
    "motorway": 110.0, "motorway_link": 60.0, "trunk": 80.0, "trunk_link": 50.0, "primary": 50.0, "primary_link": 40.0,
    "secondary": 50.0, "secondary_link": 40.0, "tertiary": 40.0, "tertiary_link": 30.0, "unclassified": 40.0,
    "road": 40.0, "residential": 30.0, "living_street": 10.0, "service": 20.0,
}  # fmt: skip
TRUCK_KMH = {"": 80.0, "motorway": 90.0}  #: how fast a truck goes at most; on kinds not named, as on ``""``
#: How fast to cycle; on kinds of way that are not named, as on ``""``.
CYCLING_KMH = {"": 16.0, "track": 12.0, "path": 12.0, "footway": 10.0, "pedestrian": 10.0, "living_street": 10.0}
WALKING_KMH = {"": 4.8, "steps": 2.4, "elevator": 2.4}  #: how fast to walk, likewise

_MILE_KM, _KNOT_KM = 1.609344, 1.852
#: How fast one may drive where the limit is a word; the last three are of Britain.
LIMITS_KMH = {
    "walk": 6.0, "none": 130.0, "living_street": 10.0, "urban": 50.0, "rural": 80.0, "trunk": 100.0, "motorway": 120.0,
    "bicycle_road": 30.0, "nsl_single": 60 * _MILE_KM, "nsl_dual": 70 * _MILE_KM, "nsl_restricted": 30 * _MILE_KM,
}  # fmt: skip
_UNITS = {"": 1.0, "km/h": 1.0, "kmh": 1.0, "kph": 1.0, "mph": _MILE_KM, "knots": _KNOT_KM}
_NUMBER = re.compile(r"(\d{1,3}(?:\.\d+)?)\s*([a-z/]*)")
_ZONE = re.compile(r"(?:zone:?)?(\d{1,3})")
_LEAST_KMH, _LARGEST_KMH = 1.0, 200.0


@dataclass(frozen=True)
class Speeds:
    """How fast one goes along a way, as it is drawn and against that."""

    forward_kmh: float
    backward_kmh: float
    is_stated: bool  # whether both come from a limit that the way states


def way_speeds(network: Network, tags: Tags) -> Speeds:
    """How fast one goes along a way of a network."""
    kind = tags["highway"]
    if not network.is_motor:
        slow = WALKING_KMH if network.name == "walk" else CYCLING_KMH
        kmh = slow.get(kind, slow[""])
        return Speeds(kmh, kmh, False)
    both = next((kmh for key in _LIMITS if (kmh := parse_kmh(tags.get(key, "")))), 0.0)
    forward = parse_kmh(tags.get("maxspeed:forward", "")) or both
    backward = parse_kmh(tags.get("maxspeed:backward", "")) or both
    default = DRIVING_KMH[kind]
    is_stated = bool(forward and backward)
    if network.name == "drive":
        return Speeds(forward or default, backward or default, is_stated)
    own = parse_kmh(tags.get("maxspeed:hgv", ""))
    most = min(TRUCK_KMH.get(kind, TRUCK_KMH[""]), own or math.inf)
    return Speeds(min(forward or default, most), min(backward or default, most), is_stated or bool(own))


def parse_kmh(text: str) -> float:
    """Read a speed limit, such as ``40 km/h`` or ``FI:urban``; 0 where the text states none."""
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
    return LIMITS_KMH.get(word, 0.0)
