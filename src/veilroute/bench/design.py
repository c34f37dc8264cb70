"""What the paper's experiments vary, and how much of it each preset runs (paper, section 6 and supplement)."""

from __future__ import annotations

from dataclasses import dataclass

from veilroute.bench.cells import Method

PAPER_MAPS = ("den101d", "den201d", "lak202d", "lak510d", "orz000d", "orz201d")
"""The six maps. The paper's text says lak102d where its figures and its authors' instances say lak202d."""

SIZES = (8, 12, 16)
"""Numbers of candidates."""

OPTIMAL = Method("optimal")
BEST = Method("pbp", "merge-bb", "cost-asc", "tunnel")
NAIVE = {heuristic: Method("pbp", "naive", "", heuristic) for heuristic in ("blind", "tunnel")}

PARTITIONING = (
    *NAIVE.values(),
    Method("pbp", "df-bb", "", "blind"),
    Method("pbp", "df-bb", "", "tunnel"),
    Method("pbp", "merge-bb", "random", "blind"),
    Method("pbp", "merge-bb", "random", "tunnel"),
    Method("pbp", "merge-bb", "cost-asc", "blind"),
    BEST,
    OPTIMAL,
)
"""Tables 1 and 2, at k = 2, ell = 1, radius 0, m = infinity; in the paper's order, ours last."""

CONVERGING = tuple(method for method in PARTITIONING if method.heuristic == "tunnel" or method == OPTIMAL)
"""The figure of convergence, from the same cells."""

BOUNDED = (
    Method("rbp"),
    Method("cbp"),
    Method("m-pbp", "merge-bb", "cost-asc", "tunnel"),
    OPTIMAL,
)
"""Tables 3 and 4, at ell = 1, radius 0, 8 candidates."""

BOUNDED_KS = (2, 3, 5)
M_RATIOS = (0.1, 0.3, 0.5, 1.0, 5.0, 10.0)
"""``m = max(1, round(ratio * nodes on a shortest start-goal path))``."""

BOUNDED_SIZE = 8

KLR_METHODS = (BEST, OPTIMAL)
KLR_KS = (2, 3)
KLR_ELLS = (1, 10)
KLR_RADII = (0, 2, 10)
KLR_SIZE = 8
"""The figure of k, ell and radius, at m = infinity."""

EXAMPLE_SIZE = 8
EXAMPLE_METHOD = OPTIMAL
"""The figures of playbooks: the first pair of each map, (2, 1, infinity); on the first map also (2, 10, infinity)."""

SUITES = ("table1", "table2", "table3", "table4", "convergence", "klr", "examples")
"""In the order of a report; ``all`` stands for all of them."""


@dataclass(frozen=True)
class Preset:
    """How much of the design is run.

    Parameters
    ----------
    name
        What the command line calls it.
    num_pairs
        Pairs of start and goal on each map.
    time_limit_s
        For each cell.
    """

    name: str
    num_pairs: int
    time_limit_s: float


PRESETS = {
    "quick": Preset("quick", num_pairs=2, time_limit_s=4.0),
    "paper": Preset("paper", num_pairs=5, time_limit_s=300.0),
}
