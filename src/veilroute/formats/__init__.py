"""Files in and out, one module per format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.formats.area import read_area, read_zones
    from veilroute.formats.dimacs import read_dimacs
    from veilroute.formats.geojson import OKABE_ITO, playbook_geojson, route_geojson
    from veilroute.formats.gpx import Track, gpx_text, playbook_gpx, route_gpx
    from veilroute.formats.graphml import domain_from_osmnx, read_graphml
    from veilroute.formats.instance import Instance, read_domain, read_instance, write_instance
    from veilroute.formats.kml import playbook_kml, route_kml
    from veilroute.formats.movingai import Scenario, read_movingai, read_scenarios, write_movingai
    from veilroute.formats.network_file import read_network, read_network_cache, write_network, write_network_cache
    from veilroute.formats.orders import ORDERS, SENTENCES, read_customers, read_orders
    from veilroute.formats.osm import read_osm
    from veilroute.formats.osm_addresses import read_osm_addresses
    from veilroute.formats.places import read_places, read_prior, scan_places
    from veilroute.formats.route_table import make_table, write_csv, write_xlsx
    from veilroute.formats.route_text import differing_formats, route_texts
    from veilroute.formats.tables import read_edge_list

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = [
    "Instance", "Scenario", "domain_from_osmnx", "read_area", "read_dimacs", "read_domain", "read_edge_list",
    "read_graphml", "read_instance", "read_movingai", "read_network", "read_network_cache", "read_osm",
    "read_scenarios", "write_instance", "write_movingai", "write_network", "write_network_cache",
]  # fmt: skip
