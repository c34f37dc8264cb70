"""Street networks: from raw ways to a graph, from coordinates to junctions, from routes to directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.streets.addresses import Address, AddressBook, Gazetteer, addresses_of
    from veilroute.streets.coordinates import read_degrees, read_lat_lon
    from veilroute.streets.directions import Itinerary, Leg, Step, lay_route
    from veilroute.streets.doors import Door, DoorFinder, open_doors
    from veilroute.streets.joining import join_segments
    from veilroute.streets.network import StreetNetwork, build_network
    from veilroute.streets.network_report import NetworkReport
    from veilroute.streets.places import (
        Located,
        Place,
        Snap,
        check_distinct,
        check_joined,
        check_way,
        locate,
        shared_doors,
        snap,
    )
    from veilroute.streets.restrictions import kinds_for
    from veilroute.streets.roads import find_roads, split_places
    from veilroute.streets.rules import (
        BOLLARDS,
        CLOSED,
        NETWORKS,
        OBSTACLES,
        OPEN,
        Ruling,
        Speeds,
        is_stopped,
        network_called,
        parse_kmh,
        rule_way,
        way_speeds,
    )
    from veilroute.streets.sheets import ClassRoute, RoutePart, class_routes, playbook_directions, route_itinerary
    from veilroute.streets.stops import Schedule, Stop, Stops
    from veilroute.streets.vehicles import Vehicle, parse_metres, parse_tonnes
    from veilroute.streets.ways import Ways, WaysCollector

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = [
    "ClassRoute", "Door", "DoorFinder", "Itinerary", "Leg", "Located", "NetworkReport", "Place", "RoutePart",
    "Schedule", "Snap", "Step", "Stop", "StreetNetwork", "class_routes", "lay_route", "locate", "open_doors",
    "playbook_directions", "snap",
]  # fmt: skip
