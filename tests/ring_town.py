"""The smallest town in which places can go wrong, and network files made by hand.

::

          4 === 3           7
          ‖     ‖           ‖
    5 ->- 1 === 2           6

1 to 4 are a ring of two-way streets, 5 can be left and not entered, and 6 and 7 are a pier on its own.
"""

from __future__ import annotations

import json
from pathlib import Path

import veilroute as vr
from veilroute.domain import domain_to_dict, street_domain

_SPOTS = [(0, 0), (1, 0), (1, 1), (0, 1), (-1, 0), (3, 0), (3, 1)]
_RING = [(1, 2), (2, 3), (3, 4), (4, 1)]


def ring_town(*, west: float = 24.94, south: float = 60.17) -> vr.Domain:
    """The town with junction 1 at the given place; the next one is 0.002 degrees east or 0.001 degrees north."""
    pairs = [*_RING, *((b, a) for a, b in _RING), (5, 1), (6, 7), (7, 6)]
    return street_domain(
        lonlat=[(west + 0.002 * x, south + 0.001 * y) for x, y in _SPOTS],
        tails=[a - 1 for a, _ in pairs],
        heads=[b - 1 for _, b in pairs],
        costs=[10] * len(pairs),
        lengths=[111] * len(pairs),
        unit="seconds",
        labels=range(1, 8),
    )


def write_network(path: Path, domain: vr.Domain) -> Path:
    """A network file as people would write it."""
    path.write_text(json.dumps({"format": "veilroute-network/1", "domain": domain_to_dict(domain)}), encoding="utf-8")
    return path
