"""Areas and places that stand apart, against every set of a few candidates."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from veilroute.model.areas import has_apart, heaviest_area, maximal_areas


def draw_close(rng: Random) -> list[int]:
    """For each of a few candidates the mask of those that are close to it."""
    num, share = rng.randint(1, 10), rng.choice([0.1, 0.3, 0.5, 0.8])
    close = [0] * num
    for one in range(num):
        for other in range(one):
            if rng.random() < share:
                close[one] |= 1 << other
                close[other] |= 1 << one
    return close


def members(mask: int, num: int) -> list[int]:
    return [one for one in range(num) if mask >> one & 1]


@pytest.mark.parametrize("seed", range(150))
def test_all_sets_say_the_same(seed: int) -> None:
    rng = Random(seed)
    close = draw_close(rng)
    num, masses = len(close), [rng.choice([0.0, 0.1, 0.25, 1.0]) for _ in close]
    sets = range(1, 1 << num)
    areas = [some for some in sets if all(some & ~close[one] == 1 << one for one in members(some, num))]
    apart = max(some.bit_count() for some in sets if all(not close[one] & some for one in members(some, num)))
    for wanted in range(1, num + 2):
        assert has_apart(close, wanted) is (apart >= wanted)
    assert heaviest_area(masses, close) == pytest.approx(
        max(sum(masses[one] for one in members(some, num)) for some in areas)
    )
    largest = [some for some in areas if not any(some & other == some != other for other in areas)]
    assert sorted(maximal_areas(close) or []) == sorted(some for some in largest if some.bit_count() > 1)


def test_clusters_count_by_themselves() -> None:
    """Three rings of five, of which two places each stand apart: six do, and seven do not."""
    close = [0] * 15
    for ring in range(3):
        for one, other in pairwise([*range(5), 0]):
            close[5 * ring + one] |= 1 << 5 * ring + other
            close[5 * ring + other] |= 1 << 5 * ring + one
    assert has_apart(close, 6) is True
    assert has_apart(close, 7) is False
