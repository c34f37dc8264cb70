"""Walks as node sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from veilroute.arrays import Walk
from veilroute.covering.sweeps import Sweeper
from veilroute.domain.graph import Domain
from veilroute.kernels.sweep import add_costs

NO_WALK: Walk = np.empty(0, dtype=np.int64)
"""What stands for a walk where there is none."""


def walk_cost(domain: Domain, nodes: Walk) -> float:
    """Sum of the edge costs along a walk, an integer when the domain's costs are."""
    total = float(add_costs(domain.indptr, domain.indices, domain.costs, nodes))
    return int(total) if domain.has_integer_costs and math.isfinite(total) else total


def walk_through(backward: Sweeper, start: int, stops: Sequence[int], lengths: Sequence[float] | None = None) -> Walk:
    """The walk from ``start`` to each stop in turn, by the shortest paths of :meth:`Sweeper.follow`; a sweep each.

    Where the ``lengths`` of the ways to the stops are known, in the sweeper's units, sweeps go no farther.
    """
    legs = [np.array([start], dtype=np.int64)]
    for number, stop in enumerate(stops):
        here = int(legs[-1][-1])
        if here != stop:
            # With some room: what is rounded must not cut the way off.
            backward.run(stop, math.inf if lengths is None else 1 + lengths[number] * (1 + 1e-9))
            legs.append(backward.follow(here)[1:])
    return np.concatenate(legs)
