"""From a point on the earth to the nearest junction of a street network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilroute.domain.graph import Domain
from veilroute.domain.streets import Streets, great_circle_m
from veilroute.errors import InvalidInputError


@dataclass(frozen=True)
class Snap:
    """The junction nearest to a point.

    Parameters
    ----------
    node
        Its number.
    distance_m
        How far it is from the point, in metres as the crow flies.
    """

    node: int
    distance_m: float


def snap(domain: Domain, lonlat: tuple[float, float]) -> Snap:
    """The junction nearest to a point given as longitude and latitude, along the great circle.

    Looks at every junction. Of those equally near, to the millimetre, it is the one with the smallest number.
    """
    if domain.streets is None:
        raise InvalidInputError("domain", "a street network, which knows longitude and latitude", domain)
    metres = great_circle_m(domain.streets.lonlat, lonlat)
    # Rounded, so that the last bit of a platform's sine cannot choose between two junctions.
    node = int(np.argmin(np.round(metres, 3)))
    return Snap(node, float(metres[node]))


def span_text(streets: Streets) -> str:
    """Where a map is: ``latitude 60.155 to 60.181, longitude 24.915 to 24.958``."""
    west, south = streets.lonlat.min(axis=0).tolist()
    east, north = streets.lonlat.max(axis=0).tolist()
    return f"latitude {south:.3f} to {north:.3f}, longitude {west:.3f} to {east:.3f}"
