"""Random walks that depend on the seed, the trip and a name alone, as the privacy rules ask."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from veilroute.arrays import Walk
from veilroute.covering.walks import NO_WALK
from veilroute.domain.graph import Domain
from veilroute.progress import Watch

_NODES_PER_LOOK = 1 << 12


def draw_walk(
    domain: Domain, start: int, rng: random.Random, is_long_enough: Callable[[int, int], bool], watch: Watch
) -> Walk:
    """A walk that goes to a neighbour drawn uniformly until ``is_long_enough(number of nodes, last node)``.

    It ends early at a node that no edge leaves, and is empty when the time is over.
    """
    walk = [start]
    while not is_long_enough(len(walk), walk[-1]):
        first, end = int(domain.indptr[walk[-1]]), int(domain.indptr[walk[-1] + 1])
        if first == end:
            break
        if len(walk) % _NODES_PER_LOOK == 0 and watch.is_over():
            return NO_WALK
        walk.append(int(domain.indices[rng.randrange(first, end)]))
    return np.array(walk, dtype=np.int64)


def seeded(planner: str, seed: int, trip: int, name: object = "") -> random.Random:
    """The generator for one walk."""
    return random.Random(f"veilroute-{planner}-{seed}-{trip}-{name}")
