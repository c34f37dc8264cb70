"""Words and numbers that tables and sentences of a report share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from veilroute.bench import published
from veilroute.bench.records import Record
from veilroute.bench.selection import Selection, is_finite_optimum_open
from veilroute.bench.summaries import Averages, num_instances
from veilroute.bench.table import format_seconds

FINITE_M = (
    "Where the planner optimal could not prove an optimum for a finite m, too much work or stopped by the clock, it "
    "follows the optimum of m = infinity for the first m nodes. That hides as asked, and may cost more than it must."
)

PAPERS_M = (
    "m is a number of nodes: the given multiple of those on a shortest path from start to goal. The extra cost of Rbp "
    "is then at most two steps for each of them, and its MAC at most about twice the multiple. The paper's is above "
    "that, so its m must have been measured against something else: compare shapes, not heights."
)


def counted(number: int, noun: str) -> str:
    """For example ``1 cell`` or ``3 cells``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(items: Iterable[object]) -> str:
    """For example ``2, 3 and 5``."""
    texts = [f"{item:g}" if isinstance(item, float) else str(item) for item in items]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}" if texts else "none"


def span_of(numbers: Iterable[int]) -> str:
    """For example ``30``, or ``12 to 30`` where they differ."""
    found = sorted(set(numbers))
    return "0" if not found else str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def mean_time(averages: Averages) -> str | None:
    """Mean runtime in seconds, with ≥ where some cells were stopped by the clock."""
    if averages.runtime_s is None:
        return None
    return f"{'≥ ' if averages.is_time_bound else ''}{format_seconds(averages.runtime_s)}"


def plus_minus(middle: float, deviation: float | None) -> str:
    """Mean and standard deviation as the paper prints them; the mean alone where there is only one value."""
    return f"{middle:.3f}" if deviation is None else f"{middle:.3f} ± {deviation:.3f}"


def setting_note(chosen: Selection, fixed: str) -> str:
    """The setting, the time limit and how many instances there are."""
    sizes = f"{listed(chosen.sizes)} candidates"
    limits = f"time limit {listed(chosen.time_limits_s)} s"
    here = counted(num_instances(chosen.records), "instance")
    if len(chosen.sizes) > 1:
        here += f" at {len(chosen.sizes)} sizes"
        paper = published.NUM_INSTANCES * len(chosen.sizes)
    else:
        paper = published.NUM_INSTANCES
    return f"{fixed}, {sizes}, {limits}. Records of {here}; the paper has {paper}, and a limit of 300 s."


def caveats(chosen: Selection, bases: Iterable[object], noun: str = "instances") -> list[str]:
    """What keeps a table from being complete and even: gaps, mixed limits, repetitions."""
    notes = []
    counts = sorted({base for base in bases if isinstance(base, int)})
    if len(counts) > 1:
        notes.append(
            f"Not complete: some figures rest on {counts[0]} and others on {counts[-1]} of the {noun}, so they are "
            "not all comparable."
        )
    if len(chosen.time_limits_s) > 1:
        notes.append(f"The records have different time limits: {listed(chosen.time_limits_s)} s.")
    if chosen.num_repeated:
        notes.append(
            f"{counted(chosen.num_repeated, 'record')} of the same instances and methods with a shorter limit or "
            "another seed left out."
        )
    return notes


def stopped_note(records: Sequence[Record]) -> list[str]:
    """How many cells the clock stopped, if any."""
    stopped = sum(not record.outcome.is_finished for record in records)
    if not stopped:
        return []
    return [f"{stopped} of {counted(len(records), 'cell')} stopped by the clock; their best so far counts."]


def finite_m_note(chosen: Selection) -> list[str]:
    """What the row of the optimal planner is at a finite m, as long as it is not proved there."""
    return [FINITE_M] if is_finite_optimum_open(chosen.records) else []
