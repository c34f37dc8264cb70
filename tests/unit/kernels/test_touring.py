"""Classes that are put together along a short way: no single change of their members makes them cheaper."""

import math
from itertools import pairwise, product

import numpy as np
import pytest

from veilroute.kernels import gather_class


@pytest.mark.parametrize("seed", range(20))
def test_no_member_that_joins_or_leaves_makes_the_class_cheaper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    num = 9
    spots, depot = rng.random((num, 2)), rng.random(2)
    ends = np.hypot(*(spots - depot).T)
    between = np.hypot(*(spots[:, None] - spots[None]).transpose(2, 0, 1))
    weights, prizes, masses = rng.choice([0.5, 1.0], num), 0.8 * rng.random(num), rng.choice([0.5, 1.0], num)
    heaviest, missing = int(masses.argmax()), float(rng.choice([0.5, 1.5, 2.5]))
    others = np.array([x for x in range(num) if x != heaviest])
    fits = rng.random((num, num)) < 0.9
    fits = fits & fits.T
    order = np.full(6, -1, dtype=np.int64)
    order[0] = heaviest
    size, reduced = gather_class(
        heaviest, others, missing, 1.0, 1.0, weights, prizes, masses, fits, ends, ends, between, order, 1
    )

    def length(way: list[int]) -> float:
        return float(ends[way[0]] + ends[way[-1]]) + math.fsum(between[a, b] for a, b in pairwise(way))

    def value(way: list[int]) -> float:
        """What a class adds, less its prizes; infinite if it is none."""
        rest = [x for x in way if x != heaviest]
        is_class = len(way) <= 6 and masses[rest].sum() >= missing - 1e-12
        is_class &= all(fits[a, b] for a in way for b in way if a != b and (a in added) != (b in added))
        return length(way) * weights[way].sum() - prizes[way].sum() if is_class else math.inf

    added: set[int] = set()
    if not size:
        return
    way = order[:size].tolist()
    assert heaviest in way
    assert reduced == pytest.approx(value(way))
    for out, joins in product([None, *way], [None, *range(num)]):
        kept = [x for x in way if x != out]
        if out == heaviest or joins in way:
            continue
        added = set() if joins is None else {joins}
        ways = [kept] if joins is None else [[*kept[:at], joins, *kept[at:]] for at in range(len(kept) + 1)]
        assert min(map(value, ways)) >= reduced - 1e-8, (out, joins)
