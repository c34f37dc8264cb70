"""Fleets: a day of secret orders for several vehicles.

Open ``fleet/dispatch.py`` first: from the classes that today's orders touch to tours past every member of each.
"""

from veilroute.fleet.dispatch import dispatch, redispatch
from veilroute.fleet.exposure import ExposedClass, Exposure, expose, exposure
from veilroute.fleet.padding import pad
from veilroute.fleet.simulation import SimulatedDay, Simulation, simulate_days

__all__ = [
    "ExposedClass", "Exposure", "SimulatedDay", "Simulation", "dispatch", "expose", "exposure", "pad", "redispatch",
    "simulate_days",
]  # fmt: skip
