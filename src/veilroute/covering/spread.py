"""Which candidates stand far enough apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veilroute.arrays import Flags, Ints
from veilroute.covering.sweeps import Sweeper
from veilroute.domain.graph import Domain
from veilroute.domain.measures import measured_domain, straight_distances
from veilroute.domain.tolerance import at_least
from veilroute.problem import Privacy


def far_matrix(domain: Domain, nodes: Sequence[int], privacy: Privacy) -> Flags:
    """For every two nodes whether they are at least ell apart, in both directions; false for a node and itself.

    One sweep per node, cut off at ell; none when even neighbours are that far apart.
    """
    num = len(nodes)
    far = ~np.eye(num, dtype=np.bool_)
    if privacy.measure == "straight":
        least = at_least(privacy.ell, exact=False)
        for i, node in enumerate(nodes):
            far[i] &= straight_distances(domain, node)[np.array(nodes)] >= least
        return far
    ground = measured_domain(domain, privacy.measure)
    least = at_least(privacy.ell, exact=ground.has_integer_costs)
    if least <= ground.smallest_cost:
        return far
    sweeper = Sweeper(ground, backward=False, num_seeds=1)
    limit = least / sweeper.unit
    for i, node in enumerate(nodes):
        near = sweeper.run(node, limit)[np.array(nodes)] < limit
        far[i, near] = far[near, i] = False
    return far


def far_masks(domain: Domain, nodes: Sequence[int], privacy: Privacy) -> Ints:
    """The rows of :func:`far_matrix` as bit masks, for at most 62 nodes."""
    bits = np.int64(1) << np.arange(len(nodes), dtype=np.int64)
    masks: Ints = far_matrix(domain, nodes, privacy).astype(np.int64) @ bits
    return masks


def is_everybody_far(far: Ints) -> bool:
    """Whether all nodes of :func:`far_masks` are far from all others, so that both readings of spread agree."""
    return bool(np.all(np.bitwise_count(far) == far.size - 1))
