"""Small problems with a prior, for plans under a bound on the risk."""

from __future__ import annotations

from random import Random

import veilroute as vr


def small_problem(rng: Random, num: int) -> vr.Problem:
    """Rooms of some dozen cells with some candidates and a prior of some shape, or none."""
    domain = vr.generate_rooms(12, 14, seed=rng.randrange(20))
    labels = [domain.label(node) for node in rng.sample(range(domain.num_nodes), num + 4)]
    trips = [vr.Trip(labels[-1], labels[-2])]
    if rng.random() < 0.3:
        trips.append(vr.Trip(labels[-3], labels[-4], 2.0))
    priors: list[list[float] | None] = [
        None,
        [1 / (i + 1) for i in range(num)],
        [rng.random() ** 2 for _ in range(num)],
    ]
    priors += [[rng.choice([0.0, 1.0, 1.0, 2.0]) for _ in range(num - 2)] + [1.0, 1.0]]
    visibility: vr.Visibility = vr.WithinDistance(2) if rng.random() < 0.3 else vr.AtNode()
    return vr.Problem(domain, trips, labels[:num], visibility, prior=rng.choice(priors))
