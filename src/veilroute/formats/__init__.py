"""Files in and out, one module per format."""

from veilroute.formats.instance import Instance, read_domain, read_instance, write_instance
from veilroute.formats.movingai import read_movingai, write_movingai
from veilroute.formats.scenario import Scenario, read_scenarios

__all__ = [
    "Instance",
    "Scenario",
    "read_domain",
    "read_instance",
    "read_movingai",
    "read_scenarios",
    "write_instance",
    "write_movingai",
]
