"""Confidence intervals of means, and tests of paired differences.

Intervals are percentiles of the bootstrap over instances. Tests flip the signs of paired differences: if two methods
were alike, the sign of each difference would be a coin's. All flips are tried for up to :data:`MAX_EXACT` instances,
else :data:`NUM_RESAMPLES` are drawn. Holm's correction counts all tests of a table. Everything that is drawn has the
seed :data:`SEED`, which the tables print.
"""

from collections.abc import Sequence

import numpy as np

SEED = 1
NUM_RESAMPLES = 2000
MAX_EXACT = 12
LEVEL = 0.95
INTERVAL = f"{LEVEL:.0%} interval of the mean, by the bootstrap over instances ({NUM_RESAMPLES} resamples, seed {SEED})"
TEST = (
    f"two-sided, by flipping the signs of the differences, all of them up to {MAX_EXACT} instances, else "
    f"{NUM_RESAMPLES} drawn with seed {SEED}"
)
SAME_MAC = 1e-9  #: How far MACs of the same routes may be apart, by the order of adding up.


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Between which figures the mean lies with 95 % confidence; ``None`` for fewer than 2 values."""
    if len(values) < 2:
        return None
    drawn = np.random.default_rng(SEED).integers(len(values), size=(NUM_RESAMPLES, len(values)))
    means = np.array(values, dtype=np.float64)[drawn].mean(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return low, high


def paired_p_value(differences: Sequence[float]) -> float:
    """How probable a mean as far from 0 is when each difference has either sign; 1 without any difference."""
    values = np.array(differences, dtype=np.float64)
    values[np.abs(values) < SAME_MAC] = 0.0
    if not values.any():
        return 1.0
    far = abs(values.sum()) - 1e-12 * np.abs(values).sum()  # sums in another order differ by rounding
    if values.size <= MAX_EXACT:
        bits = np.arange(1 << values.size)[:, None] >> np.arange(values.size) & 1
        sums = np.where(bits, -1.0, 1.0) @ values
        return float(np.mean(np.abs(sums) >= far))
    signs = np.random.default_rng(SEED).choice([-1.0, 1.0], size=(NUM_RESAMPLES, values.size))
    # The signs as they were count as one of the draws, so that no p value is 0.
    num_extreme = int(np.sum(np.abs(signs @ values) >= far))
    return (1 + num_extreme) / (1 + NUM_RESAMPLES)


def correct_by_holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for this many tests."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = largest
    return corrected


def half_width(values: Sequence[float]) -> float | None:
    """Half the width of the interval of the mean."""
    interval = bootstrap_interval(values)
    return None if interval is None else (interval[1] - interval[0]) / 2
