"""Street networks: from raw ways to a graph, from coordinates to junctions, from routes to directions."""

from veilroute.streets.directions import Itinerary, Leg, Step, lay_route
from veilroute.streets.doors import Door, DoorFinder, open_doors
from veilroute.streets.network import StreetNetwork
from veilroute.streets.network_report import NetworkReport
from veilroute.streets.places import Located, Place, Snap, locate, snap
from veilroute.streets.sheets import ClassRoute, RoutePart, class_routes, playbook_directions
from veilroute.streets.stops import Schedule, Stop

__all__ = [
    "ClassRoute", "Door", "DoorFinder", "Itinerary", "Leg", "Located", "NetworkReport", "Place", "RoutePart",
    "Schedule", "Snap", "Step", "Stop", "StreetNetwork", "class_routes", "lay_route", "locate", "open_doors",
    "playbook_directions", "snap",
]  # fmt: skip
