"""The paper as data: which methods it compares at which settings, and the figures that it printed.

H. Takahashi and A. Fukunaga, *On the Transit Obfuscation Problem*, AAMAS 2024, section 6 and supplement, "Additional
Results". Figures are kept as they were printed, because "<1", "n/a" and the number of digits say something too.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from veilroute.base.io import parse_json
from veilroute.bench.cells import Instance, Method

# The paper's text says lak102d where its figures and its authors' instances say lak202d.
MAPS = ("den101d", "den201d", "lak202d", "lak510d", "orz000d", "orz201d")
NUM_INSTANCES = 30  #: six maps with five pairs of start and goal each, at every number of candidates
SIZES = (8, 12, 16)  #: numbers of candidates

OPTIMAL = Method("optimal")
BEST = Method("pbp", "merge-bb", "cost-asc", "tunnel")
NAIVE = {heuristic: Method("pbp", "naive", "", heuristic) for heuristic in ("blind", "tunnel")}
DF_BB = {heuristic: Method("pbp", "df-bb", "", heuristic) for heuristic in ("blind", "tunnel")}
BASE = NAIVE["tunnel"]  #: what Table 2 measures the others against
MERGE_RANDOM = {heuristic: Method("pbp", "merge-bb", "random", heuristic) for heuristic in ("blind", "tunnel")}
MERGE_COST = {"blind": Method("pbp", "merge-bb", "cost-asc", "blind"), "tunnel": BEST}

# Tables 1 and 2, at k = 2, ell = 1, radius 0, m = infinity; in the paper's order, ours last.
PARTITIONING = (*NAIVE.values(), *DF_BB.values(), *MERGE_RANDOM.values(), *MERGE_COST.values(), OPTIMAL)
# The figure of convergence, from the same cells.
CONVERGING = tuple(method for method in PARTITIONING if method.heuristic == "tunnel" or method == OPTIMAL)

# Tables 3 and 4, at ell = 1, radius 0, 8 candidates.
RBP, CBP, M_PBP = Method("rbp"), Method("cbp"), Method("m-pbp", "merge-bb", "cost-asc", "tunnel")
BOUNDED = (RBP, CBP, M_PBP, OPTIMAL)
BOUNDED_KS = (2, 3, 5)
M_RATIOS = (0.1, 0.3, 0.5, 1.0, 5.0, 10.0)  #: ``m = max(1, round(ratio * nodes on a shortest start-goal path))``

# The figure of k, ell and radius, at m = infinity and 8 candidates.
KLR_METHODS = (BEST, OPTIMAL)
KLR_KS, KLR_ELLS, KLR_RADII = (2, 3), (1, 10), (0, 2, 10)

_LABELS = {
    "naive": "Naive", "df-bb": "DF-BB", "merge-bb": "Merge-BB", "random": "Random", "cost-asc": "CostAsc",
    "blind": "Blind", "tunnel": "Tunnel", "rbp": "Rbp", "cbp": "Cbp", "m-pbp": "m-Pbp",
}  # fmt: skip


def method_label(method: Method) -> str:
    """How tables and figures call a method, for example ``Merge-BB, CostAsc, Tunnel``."""
    if method == OPTIMAL:
        return "optimal (exact)"
    if method.command:
        return method.name.partition("/")[2]
    if method in BOUNDED:
        return _LABELS[method.planner]
    planner = "" if method.planner == "pbp" else method.planner
    parts = (planner, method.partitioner, method.merge_order, method.heuristic)
    own = (f"{name} = {value}" for name, value in method.extra)
    return ", ".join([*(_LABELS.get(part, part) for part in parts if part), *own])


Printed = str | None
"""A figure of the paper: a number, ``<1``, ``n/a`` (does not apply), ``-`` (not reported); ``None`` without one."""


def number(printed: Printed) -> float | None:
    """A printed figure as a number, ``None`` where no number was printed; ``<1`` is not one."""
    return None if printed in (None, "<1", "n/a", "-") else float(printed)


class Partitioning(NamedTuple):
    """One row of Table 1 at one number of candidates."""

    coverage: Printed = None  # the percentage of the instances on which the search ended within 300 s
    total_time_s: Printed = None  # a mean over the instances on which Merge-BB with Blind ended
    apr: Printed = None
    mac: Printed = None  # a mean where all instances have APR 1


class Ratio(NamedTuple):
    """One entry of Table 2: mean and standard deviation of a MAC over Naive's."""

    mean: Printed = None
    deviation: Printed = None


TABLE1 = {
    (method, size): Partitioning(*figures)
    for method, measures in {
        NAIVE["blind"]: ("n/a n/a n/a", "<1 <1 -", "1.00 1.00 1.00", "0.714 0.434 0.582"),
        NAIVE["tunnel"]: ("n/a n/a n/a", "<1 <1 -", "1.00 1.00 1.00", "0.714 0.434 0.582"),
        DF_BB["blind"]: ("77 0 0", "19 - -", "1.00 0.672 0.439", "0.232 - -"),
        DF_BB["tunnel"]: ("100 20 0", "2 92 -", "1.00 0.828 0.558", "0.229 - -"),
        MERGE_RANDOM["blind"]: ("74 7 0", "35 185 -", "1.00 1.00 1.00", "0.232 0.418 0.561"),
        MERGE_RANDOM["tunnel"]: ("100 27 0", "3 13 -", "1.00 1.00 1.00", "0.229 0.287 0.452"),
        MERGE_COST["blind"]: ("77 7 0", "10 80 -", "1.00 1.00 1.00", "0.231 0.222 0.223"),
        BEST: ("100 47 0", "1 5 -", "1.00 1.00 1.00", "0.229 0.190 0.205"),
    }.items()
    for size, *figures in zip(SIZES, *map(str.split, measures), strict=True)
}
"""Table 1 by method and number of candidates, at k = 2, ell = 1, m = infinity."""


TABLE2 = {
    (method, size): Ratio(*figures)
    for method, measures in {
        MERGE_RANDOM["blind"]: ("0.425 0.679 0.937", "0.227 0.380 0.716"),
        MERGE_RANDOM["tunnel"]: ("0.423 0.462 0.706", "0.226 0.347 0.723"),
        MERGE_COST["blind"]: ("0.435 0.350 0.378", "0.237 0.160 0.189"),
        BEST: ("0.423 0.313 0.349", "0.226 0.140 0.188"),
    }.items()
    for size, *figures in zip(SIZES, *map(str.split, measures), strict=True)
}
"""Table 2 by method and number of candidates: MAC of Merge-BB divided by that of Naive."""


def _by_ratio(texts: str) -> Mapping[float, Printed]:
    return dict(zip(M_RATIOS, texts.split(), strict=True))


TABLE3 = {
    RBP: _by_ratio("0.006 0.006 0.006 0.006 0.006 0.006"),
    CBP: _by_ratio("0.098 0.085 0.046 0.009 0.006 0.006"),
    M_PBP: _by_ratio("63.985 63.985 63.985 63.985 63.985 63.985"),
}
"""Table 3 by planner and m over the shortest path: runtime in seconds. The paper does not say for which k."""

TABLE4 = {(RBP, k): _by_ratio("0.47 1.63 2.81 5.73 29 58.1") for k in BOUNDED_KS} | {
    (M_PBP, 2): _by_ratio("0.00707 0.0313 0.0803 0.188 0.216 0.229"),
    (CBP, 2): _by_ratio("0.0116 0.0671 0.189 0.692 4.71 9.72"),
    (M_PBP, 3): _by_ratio("0.0228 0.1 0.192 0.416 0.628 0.644"),
    (CBP, 3): _by_ratio("0.0149 0.0846 0.225 0.741 4.76 9.76"),
    (M_PBP, 5): _by_ratio("0.0551 0.2 0.365 0.793 1.64 1.87"),
    (CBP, 5): _by_ratio("0.0218 0.133 0.316 0.864 4.93 9.95"),
}
"""The supplement's table by planner and k, then m over the shortest path: MAC at ell = 1 and 8 candidates."""


@cache
def _data() -> Mapping[str, Any]:
    file = resources.files("veilroute.bench").joinpath("instances.json")
    data: Mapping[str, Any] = parse_json(file.read_bytes(), "instances.json")
    return data


@cache
def read_paper_instances() -> tuple[Instance, ...]:
    """The paper's 30 instances, five on each map, with 16 candidates each."""
    rows = _data()["instances"]
    return tuple(cell_instance(row["map"], row["seed"], row["start"], row["goal"], row["candidates"]) for row in rows)


def map_fingerprints() -> Mapping[str, str]:
    """The SHA-256 of each of the paper's maps, by name."""
    return {name: str(value) for name, value in _data()["maps"].items()}


def cell_instance(map_name: str, seed: int, start: Any, goal: Any, candidates: Iterable[Any]) -> Instance:
    """An instance from cells of a grid, each two numbers."""
    start, goal, *places = ((row, col) for row, col in (start, goal, *candidates))
    return Instance(map_name, seed, start, goal, tuple(places))
