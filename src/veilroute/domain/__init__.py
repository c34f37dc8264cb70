"""The world as frozen data: graphs, grids, visibility and generated maps."""

from veilroute.domain.free_flight import FreeFlight
from veilroute.domain.generate import draw_candidates, generate_rooms, generate_streets
from veilroute.domain.geography import Streets, street_domain
from veilroute.domain.graph import Domain, Label
from veilroute.domain.grid import Anchor, Grid, grid_domain
from veilroute.domain.turns import Turns
from veilroute.domain.visibility import AtNode, Explicit, LineOfSight, Visibility, WithinDistance

__all__ = [
    "Anchor", "AtNode", "Domain", "Explicit", "FreeFlight", "Grid", "Label", "LineOfSight", "Streets", "Turns",
    "Visibility", "WithinDistance", "draw_candidates", "generate_rooms", "generate_streets", "grid_domain",
    "street_domain",
]  # fmt: skip
