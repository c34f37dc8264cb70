"""The suite of observers: how often each guesses right against each planner. The paper has none of it."""

from collections.abc import Iterator
from typing import NamedTuple

from veilroute.bench import paper
from veilroute.bench.cells import Method
from veilroute.bench.design import Averages, Selection, Suite, chart, paper_variations
from veilroute.bench.paper import method_label
from veilroute.bench.table import Row, Table

RISK = 0.5  #: what is bounded, for k = 2
RATIO = 1.0  #: the finite m, over the shortest path
OBSERVERS = ("counting", "goal-recognition", "bayesian")
_FINITE = (paper.RBP, paper.CBP, paper.M_PBP, paper.OPTIMAL)
_WHOLE = (paper.BEST, paper.OPTIMAL)
_NOTE = (
    "Candidates have a prior of 1, 1/2, 1/3, ... in the order in which they were drawn, and the secret is drawn by it. "
    "A figure is how often the best guess is right, ties shared, after the first m nodes."
)


class Rival(NamedTuple):
    """What observers are let loose on: a method with what it was asked for."""

    method: Method
    m_ratio: float | None
    risk: float | None = None
    mechanism: str = "partition"

    @property
    def label(self) -> str:
        """How table and figure call it."""
        if self.risk is None:
            return f"{method_label(self.method)}, k = 2"
        name = "optimal (exact)" if self.mechanism == "partition" else "randomised"
        return f"{name}, risk {self.risk:g}"


def rivals(chosen: Selection, *, is_finite: bool) -> list[Rival]:
    """All of one kind of m, those of plug-ins included."""
    m_ratio = RATIO if is_finite else None
    counting = chosen.where(m_ratio=m_ratio, risk=None).with_plugins(_FINITE if is_finite else _WHOLE)
    bounded = [Rival(paper.OPTIMAL, m_ratio, RISK, mechanism) for mechanism in ("partition", "randomised")]
    return [*(Rival(method, m_ratio) for method in counting), *bounded]


def faring(chosen: Selection, rival: Rival) -> Averages:
    """Means over the records of a rival."""
    return chosen.where(**rival._asdict()).averages


def _tables(chosen: Selection) -> list[Table]:
    rows: list[Row] = []
    bases: list[int] = []
    for is_finite in (True, False):
        for rival in rivals(chosen, is_finite=is_finite):
            ours = faring(chosen, rival)
            bases.append(ours.num_cells)
            until = f"{RATIO:g} shortest path" if is_finite else "the whole route"
            chances = [ours.guesses[name][0] if name in ours.guesses else None for name in OBSERVERS]
            at_end = ours.guesses["bayesian"][1] if "bayesian" in ours.guesses else None
            rows.append((rival.label, until, *chances, at_end, ours.apr_text, ours.mac, ours.num_cells))
    columns = ("planner", "m", *OBSERVERS, "bayesian at the end", "APR", "MAC", "instances")
    title = "Observers: how often each guesses right"
    fixed = "ell = 1, radius 0"
    return [chosen.build_table("adversaries", title, columns, rows, fixed=fixed, bases=bases, notes=[_NOTE])]


def _findings(chosen: Selection) -> Iterator[str]:
    by_label = {rival.label: faring(chosen, rival).guesses.get("bayesian") for rival in rivals(chosen, is_finite=False)}
    told = [f"{label} {chances[0]:.0%}" for label, chances in by_label.items() if chances]
    if told:
        yield f"Whole routes: how often the Bayesian observer is right: {'; '.join(told)}. k = 2 suggests 50%."


ADVERSARIES_SUITE = Suite(
    name="adversaries",
    heading="Observers: who guesses right how often",
    where="",
    shows="Beyond the paper, which counts who stays possible: three observers who bet on how probable each candidate "
    "is, against each planner, and against plans that bound the risk.",
    found="",
    variations=paper_variations("adversaries"),
    tables=_tables,
    findings=_findings,
    pictures=chart(
        "adversaries", "How often each observer guesses right within the promise; dots: when all has been seen."
    ),
)
