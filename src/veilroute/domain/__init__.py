"""The world as frozen data: graphs, grids, visibility and generated maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.domain.codec import domain_from_dict, domain_to_dict
    from veilroute.domain.connectivity import largest_component, strong_components
    from veilroute.domain.free_flight import FreeFlight, Zone
    from veilroute.domain.generate import draw_candidates, generate_rooms, generate_streets
    from veilroute.domain.geography import (
        EARTH_RADIUS_M,
        MEASURES,
        Streets,
        distance_text,
        great_circle_m,
        places_on_earth,
        project,
        street_domain,
        streets_of,
    )
    from veilroute.domain.graph import Domain, Label, checked_costs, folded, label_text
    from veilroute.domain.grid import Anchor, Grid, grid_domain
    from veilroute.domain.polygons import MOST, Shape, crossing_of, touches, without_repeats
    from veilroute.domain.turns import Turns, with_rules
    from veilroute.domain.visibility import (
        AtNode,
        Explicit,
        LineOfSight,
        Visibility,
        WithinDistance,
        visibility_from_dict,
        visibility_to_dict,
    )

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = [
    "Anchor", "AtNode", "Domain", "Explicit", "FreeFlight", "Grid", "Label", "LineOfSight", "Streets", "Turns",
    "Visibility", "WithinDistance", "draw_candidates", "generate_rooms", "generate_streets", "grid_domain",
    "street_domain",
]  # fmt: skip
