"""A randomised playbook that can be checked by hand: three places in three classes of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import veilroute as vr

PLACES = ((0, 2), (2, 2), (0, 4))


def triangle_book(prior: Sequence[float] = (0.4, 0.35, 0.25), *, num_trips: int = 2) -> vr.Playbook:
    """Classes AB, AC and BC of two rooms; the shares follow from the prior, the two of a class being the same."""
    domain = vr.grid_domain(["...@...", ".......", "...@..."])
    trips = [vr.Trip((0, 0), (2, 6)), vr.Trip((2, 0), (0, 6), 2.0)][:num_trips]
    a, b, c = (weight / sum(prior) for weight in prior)
    classes = []
    for first, second, share in ((0, 1, (a + b - c) / 2), (0, 2, (a + c - b) / 2), (1, 2, (b + c - a) / 2)):
        two = vr.solve(vr.Problem(domain, trips, [PLACES[first], PLACES[second]]), vr.Privacy(k=2, ell=1))
        classes.append(replace(two.classes[0], shares=(share, share)))
    book = vr.solve(vr.Problem(domain, trips, PLACES, prior=prior), vr.Privacy(k=2, ell=1))
    privacy = vr.Privacy(k=2, ell=1, mechanism="randomised")
    return replace(book, privacy=privacy, classes=tuple(classes), certificate=None)
