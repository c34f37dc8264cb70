"""Edges that walks need, and narrow cuts, against lists of all there are."""

import math
from itertools import combinations

import numpy as np
import pytest

from veilroute.kernels import narrow_cuts

NUM_NODES = 7


@pytest.mark.parametrize("seed", range(30))
def test_cuts_are_the_narrowest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = list(combinations(range(NUM_NODES), 2))
    amounts = np.where(rng.random(len(ends)) < 0.6, rng.random(len(ends)).round(2), 0.0)
    tails, heads = (np.concatenate(each) for each in (np.array(ends).T, np.array(ends).T[::-1]))
    order = np.argsort(tails, kind="stable")
    at = np.argsort(order, kind="stable")
    half = len(ends)
    ptr = np.searchsorted(tails[order], np.arange(NUM_NODES + 1)).astype(np.int64)
    twins = np.concatenate((at[half:], at[:half]))[order]
    capacities = np.concatenate((amounts, amounts))[order]

    def width(side: np.ndarray) -> float:
        return math.fsum(amount for (a, b), amount in zip(ends, amounts.tolist(), strict=True) if side[a] != side[b])

    narrowest = []
    for target in range(1, NUM_NODES):
        others = [node for node in range(1, NUM_NODES) if node != target]
        sides = [{target, *some} for size in range(NUM_NODES - 1) for some in combinations(others, size)]
        narrowest.append(min(width(np.isin(np.arange(NUM_NODES), list(side))) for side in sides))
    targets, wanted = np.arange(1, NUM_NODES), np.full(NUM_NODES - 1, 1.2)
    found = np.zeros((2 * targets.size, NUM_NODES), dtype=np.bool_)
    num = narrow_cuts(ptr, heads[order], twins, capacities, 0, targets, wanted, 1e-3, found)
    short = [target for target, least in zip(targets.tolist(), narrowest, strict=True) if least < 1.2 - 1e-3]
    assert num == 2 * len(short)
    for row, side in enumerate(found[:num]):
        target = short[row // 2]
        assert side[target] and not side[0]
        assert width(side) == pytest.approx(narrowest[target - 1], abs=1e-8)
