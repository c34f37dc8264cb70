"""Which candidates stand far enough apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from veilroute.covering.sweeps import Sweeper
from veilroute.domain.graph import Domain
from veilroute.domain.tolerance import at_least


def far_masks(domain: Domain, nodes: Sequence[int], ell: float) -> npt.NDArray[np.int64]:
    """For each node the bit mask of the others at least ``ell`` away, in both directions.

    One sweep per node, cut off at ``ell``; none when even neighbours are that far apart.
    """
    num = len(nodes)
    others = np.array([((1 << num) - 1) ^ (1 << i) for i in range(num)], dtype=np.int64)
    least = at_least(ell, exact=domain.has_integer_costs)
    if least <= domain.smallest_cost:
        return others
    sweeper = Sweeper(domain, backward=False, num_seeds=1)
    limit = least / sweeper.unit
    for i, node in enumerate(nodes):
        near = sweeper.run(node, limit)[np.array(nodes)] < limit
        for j in np.flatnonzero(near).tolist():
            if i != j:
                others[i] &= ~(1 << j)
                others[j] &= ~(1 << i)
    return others
