"""Fleets: a day of secret orders for several vehicles.

Open ``fleet/dispatch.py`` first: from the classes that today's orders touch to tours past every member of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names
from veilroute.fleet.dispatch import dispatch, redispatch
from veilroute.fleet.exposure import ExposedClass, Exposure, expose, exposure
from veilroute.fleet.padding import pad
from veilroute.fleet.simulation import SimulatedDay, Simulation, simulate_days

if TYPE_CHECKING:
    from veilroute.fleet.replanning import repeat_replan
    from veilroute.fleet.routing import route_customers
    from veilroute.fleet.tours import plan_day
    from veilroute.fleet.ways import Ways
    from veilroute.model.day import Customer, Day, Terms, Tour, Van, read_day
    from veilroute.model.day_state import Shortage, Stand, Underway

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = [
    "Customer", "Day", "ExposedClass", "Exposure", "Shortage", "SimulatedDay", "Simulation", "Stand", "Terms", "Tour",
    "Underway", "Van", "dispatch", "expose", "exposure", "pad", "read_day", "redispatch", "simulate_days",
]  # fmt: skip
