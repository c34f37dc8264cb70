"""Areas the plain way: every set of candidates is looked at, and kept if all its pairs are close."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations


def areas(candidates: Sequence[int], is_close: Callable[[int, int], bool]) -> Iterator[tuple[int, ...]]:
    """All sets of candidates that are pairwise close, single candidates included."""
    for size in range(1, len(candidates) + 1):
        for group in combinations(candidates, size):
            if all(is_close(one, other) for one, other in combinations(group, 2)):
                yield group


def heaviest_area(
    candidates: Sequence[int], is_close: Callable[[int, int], bool], mass: Callable[[int], float]
) -> float:
    """The largest mass of an area."""
    return max(math.fsum(map(mass, group)) for group in areas(candidates, is_close))
