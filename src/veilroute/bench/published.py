"""What the paper published: its tables as data, and its figures without numbers in words.

H. Takahashi and A. Fukunaga, *On the Transit Obfuscation Problem*, AAMAS 2024, section 6 and supplement, "Additional
Results". Figures are kept as they were printed, because "<1", "n/a" and the number of digits say something too.
"""

from __future__ import annotations

from dataclasses import dataclass

from veilroute.bench.cells import Method
from veilroute.bench.suites import BEST, M_RATIOS, NAIVE, SIZES

NUM_INSTANCES = 30
"""Six maps with five pairs of start and goal each, at every number of candidates."""


@dataclass(frozen=True)
class Printed:
    """A figure as it stands in the paper.

    Parameters
    ----------
    text
        A number, ``<1``, ``n/a`` (does not apply) or ``-`` (not reported).
    """

    text: str

    @property
    def value(self) -> float | None:
        """The number, ``None`` where no number was printed; ``<1`` is not one."""
        return None if self.text in ("<1", "n/a", "-") else float(self.text)


@dataclass(frozen=True)
class Partitioning:
    """One row of Table 1 at one number of candidates.

    Parameters
    ----------
    coverage
        Percentage of the instances on which the search ended within 300 s.
    total_time_s
        Mean over the instances on which Merge-BB with Blind ended.
    apr
        Mean anonymized path ratio.
    mac
        Mean anonymization cost, where all instances have APR 1.
    """

    coverage: Printed
    total_time_s: Printed
    apr: Printed
    mac: Printed


@dataclass(frozen=True)
class Ratio:
    """One entry of Table 2: mean and standard deviation of a MAC over Naive's."""

    mean: Printed
    deviation: Printed


def _partitioning(
    rows: dict[Method, tuple[str, str, str, str]],
) -> dict[tuple[Method, int], Partitioning]:
    found = {}
    for method, measures in rows.items():
        by_size = zip(*(text.split() for text in measures), strict=True)
        for size, texts in zip(SIZES, by_size, strict=True):
            found[method, size] = Partitioning(*map(Printed, texts))
    return found


def _ratios(rows: dict[Method, tuple[str, str]]) -> dict[tuple[Method, int], Ratio]:
    return {
        (method, size): Ratio(Printed(mean), Printed(deviation))
        for method, (means, deviations) in rows.items()
        for size, mean, deviation in zip(SIZES, means.split(), deviations.split(), strict=True)
    }


TABLE1 = _partitioning(
    {
        NAIVE["blind"]: ("n/a n/a n/a", "<1 <1 -", "1.00 1.00 1.00", "0.714 0.434 0.582"),
        NAIVE["tunnel"]: ("n/a n/a n/a", "<1 <1 -", "1.00 1.00 1.00", "0.714 0.434 0.582"),
        Method("pbp", "df-bb", "", "blind"): ("77 0 0", "19 - -", "1.00 0.672 0.439", "0.232 - -"),
        Method("pbp", "df-bb", "", "tunnel"): ("100 20 0", "2 92 -", "1.00 0.828 0.558", "0.229 - -"),
        Method("pbp", "merge-bb", "random", "blind"): ("74 7 0", "35 185 -", "1.00 1.00 1.00", "0.232 0.418 0.561"),
        Method("pbp", "merge-bb", "random", "tunnel"): ("100 27 0", "3 13 -", "1.00 1.00 1.00", "0.229 0.287 0.452"),
        Method("pbp", "merge-bb", "cost-asc", "blind"): ("77 7 0", "10 80 -", "1.00 1.00 1.00", "0.231 0.222 0.223"),
        BEST: ("100 47 0", "1 5 -", "1.00 1.00 1.00", "0.229 0.190 0.205"),
    }
)
"""Table 1 by method and number of candidates, at k = 2, ell = 1, m = infinity."""

TABLE2 = _ratios(
    {
        Method("pbp", "merge-bb", "random", "blind"): ("0.425 0.679 0.937", "0.227 0.380 0.716"),
        Method("pbp", "merge-bb", "random", "tunnel"): ("0.423 0.462 0.706", "0.226 0.347 0.723"),
        Method("pbp", "merge-bb", "cost-asc", "blind"): ("0.435 0.350 0.378", "0.237 0.160 0.189"),
        BEST: ("0.423 0.313 0.349", "0.226 0.140 0.188"),
    }
)
"""Table 2 by method and number of candidates: MAC of Merge-BB divided by that of Naive."""


def _by_ratio(texts: str) -> dict[float, Printed]:
    return {ratio: Printed(text) for ratio, text in zip(M_RATIOS, texts.split(), strict=True)}


TABLE3 = {
    "rbp": _by_ratio("0.006 0.006 0.006 0.006 0.006 0.006"),
    "cbp": _by_ratio("0.098 0.085 0.046 0.009 0.006 0.006"),
    "m-pbp": _by_ratio("63.985 63.985 63.985 63.985 63.985 63.985"),
}
"""Table 3 by planner and m over the shortest path: runtime in seconds. The paper does not say for which k."""

_RBP = "0.47 1.63 2.81 5.73 29 58.1"

TABLE4 = {
    ("m-pbp", 2): _by_ratio("0.00707 0.0313 0.0803 0.188 0.216 0.229"),
    ("cbp", 2): _by_ratio("0.0116 0.0671 0.189 0.692 4.71 9.72"),
    ("rbp", 2): _by_ratio(_RBP),
    ("m-pbp", 3): _by_ratio("0.0228 0.1 0.192 0.416 0.628 0.644"),
    ("cbp", 3): _by_ratio("0.0149 0.0846 0.225 0.741 4.76 9.76"),
    ("rbp", 3): _by_ratio(_RBP),
    ("m-pbp", 5): _by_ratio("0.0551 0.2 0.365 0.793 1.64 1.87"),
    ("cbp", 5): _by_ratio("0.0218 0.133 0.316 0.864 4.93 9.95"),
    ("rbp", 5): _by_ratio(_RBP),
}
"""The supplement's table by planner and k, then m over the shortest path: MAC at ell = 1 and 8 candidates."""


@dataclass(frozen=True)
class Shown:
    """What a table or figure of the paper is about.

    Parameters
    ----------
    where
        Where it stands.
    shows
        What it shows, in a sentence.
    found
        What the authors read off it, in a sentence or two.
    """

    where: str
    shows: str
    found: str


SHOWN = {
    "table1": Shown(
        "Table 1, section 6.1",
        "Each partitioning strategy with each merge order and heuristic at 8, 12 and 16 candidates: coverage (how "
        "often the search ended within 300 s), time, APR and MAC, for k = 2, ell = 1 and m = infinity.",
        "Merge-BB has better MAC than Naive throughout and higher coverage than DF-BB; Merge-BB with CostAsc and "
        "Tunnel is best, with 100 %, 47 % and 0 % of the instances finished at 8, 12 and 16 candidates.",
    ),
    "table2": Shown(
        "Table 2, section 6.1",
        "The MAC of Merge-BB divided by the MAC of Naive on the same instance, mean and standard deviation.",
        "Merge-BB with CostAsc lowers the MAC by more than half at every number of candidates.",
    ),
    "table3": Shown(
        "Table 3, section 6.2",
        "The runtime of the planners for bounded m, for m of 0.1 to 10 times the shortest path.",
        "Rbp and Cbp are far faster than m-Pbp, and Cbp becomes faster as m grows.",
    ),
    "table4": Shown(
        "Figure 6, section 6.2, and the table of the supplement with its numbers",
        "The MAC of the planners for bounded m by k and m, with 8 candidates and ell = 1.",
        "The MAC of Rbp and Cbp grows without bound as m does, and Rbp does not depend on k. The MAC of m-Pbp "
        "converges to that of Pbp. For small m and k of 3 or 5 Cbp is cheaper than m-Pbp, for larger m dearer.",
    ),
    "convergence": Shown(
        "Figure 3, section 6.1",
        "APR and MAC over time with the Tunnel heuristic, for k = 2 and ell = 1. The figure has no numbers in the "
        "text; its ends at 300 s are those of Table 1.",
        "Merge-BB reaches a high APR sooner than DF-BB, and with CostAsc it finds a low MAC earlier than with Random.",
    ),
    "klr": Shown(
        "Figure 4, section 6.1",
        "The MAC of Merge-BB with CostAsc and Tunnel by k, ell and radius. The figure has no numbers in the text.",
        "Larger k and larger ell raise the MAC. The radius has no monotonic effect: a larger one shortens both the "
        "hidden routes and the routes that they are measured against.",
    ),
    "examples": Shown(
        "Figure 5 and the supplement's figures",
        "Optimal (2, 1, infinity)-anonymized paths on each of the six maps, and on den101d also for (2, 10, infinity).",
        "On den101d, two candidates in the left corner share a class at ell = 1 and not at ell = 10.",
    ),
}
"""By suite: what the paper shows and what it found."""

EXAMPLES = {
    ("den101d", 1.0): "Figure 5",
    ("den101d", 10.0): "supplement",
    ("den201d", 1.0): "supplement",
    ("lak202d", 1.0): "supplement",
    ("lak510d", 1.0): "supplement",
    ("orz000d", 1.0): "supplement",
    ("orz201d", 1.0): "supplement",
}
"""By map and ell: where the paper draws a playbook, at k = 2 and m = infinity."""
