"""Files in and out, one module per format."""

from veilroute.formats.area import read_area
from veilroute.formats.dimacs import read_dimacs
from veilroute.formats.graphml import domain_from_osmnx, read_graphml
from veilroute.formats.instance import Instance, read_domain, read_instance, write_instance
from veilroute.formats.movingai import Scenario, read_movingai, read_scenarios, write_movingai
from veilroute.formats.network_file import read_network, read_network_cache, write_network, write_network_cache
from veilroute.formats.osm import read_osm
from veilroute.formats.tables import read_edge_list

__all__ = [
    "Instance", "Scenario", "domain_from_osmnx", "read_area", "read_dimacs", "read_domain", "read_edge_list",
    "read_graphml", "read_instance", "read_movingai", "read_network", "read_network_cache", "read_osm",
    "read_scenarios", "write_instance", "write_movingai", "write_network", "write_network_cache",
]  # fmt: skip
