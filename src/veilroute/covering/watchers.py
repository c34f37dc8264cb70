"""From which nodes each candidate is seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veilroute.arrays import Indices
from veilroute.covering.sweeps import Sweeper
from veilroute.domain.graph import Domain
from veilroute.domain.measures import measured_domain, straight_distances
from veilroute.domain.tolerance import at_most
from veilroute.domain.visibility import AtNode, Explicit, LineOfSight, Visibility, WithinDistance
from veilroute.kernels.sight import visible_cells


def find_watchers(domain: Domain, visibility: Visibility, candidates: Sequence[int]) -> list[Indices]:
    """The watchers of each candidate node, in ascending order (the paper's inverse of v)."""
    match visibility:
        case AtNode():
            return [np.array([node], dtype=np.uint32) for node in candidates]
        case WithinDistance(radius, "straight"):
            reach = at_most(radius, exact=False)
            return [np.flatnonzero(straight_distances(domain, n) <= reach).astype(np.uint32) for n in candidates]
        case WithinDistance(radius, measure):
            ground = measured_domain(domain, measure)
            furthest = at_most(radius, exact=ground.has_integer_costs)
            if furthest < ground.smallest_cost:
                return [np.array([node], dtype=np.uint32) for node in candidates]
            sweeper = Sweeper(ground, backward=True, num_seeds=1)
            limit = furthest / sweeper.unit
            return [np.flatnonzero(sweeper.run(node, limit) <= limit).astype(np.uint32) for node in candidates]
        case LineOfSight(reach):
            grid = domain.grid
            assert grid is not None, "checked when the problem was built"
            watchers = []
            for node in candidates:
                cells = visible_cells(grid.free, *grid.cell(node), at_most(float(reach), exact=False))
                watchers.append(grid.index[cells[:, 0], cells[:, 1]].astype(np.uint32))
            return watchers
        case Explicit(sees):
            seers: dict[int, set[int]] = {node: set() for node in candidates}
            for seer, seen in sees.items():
                for label in seen:
                    node = domain.node(label)
                    if node in seers:
                        seers[node].add(domain.node(seer))
            return [np.array(sorted(seers[node]), dtype=np.uint32) for node in candidates]
