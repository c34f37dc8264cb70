"""Tables of the planners for bounded m: Table 3 and the table of the supplement."""

from __future__ import annotations

from veilroute.bench import published
from veilroute.bench.cells import Method
from veilroute.bench.design import BEST, BOUNDED, BOUNDED_KS, M_RATIOS
from veilroute.bench.selection import Selection, bounded_label, setting
from veilroute.bench.summaries import average
from veilroute.bench.table import Table, Value
from veilroute.bench.wording import (
    PAPERS_M,
    caveats,
    counted,
    finite_m_note,
    listed,
    mean_time,
    setting_note,
    span_of,
    stopped_note,
)


def build_table3(chosen: Selection) -> list[Table]:
    """Runtime by m."""
    rows: list[tuple[Value, ...]] = []
    bases: list[int] = []
    for method in BOUNDED:
        ours = [average(setting(chosen.records, method, ratio=ratio)) for ratio in M_RATIOS]
        counts = [cells.num_cells for cells in ours]
        bases += counts
        rows.append((bounded_label(method, chosen.records), "ours", *map(mean_time, ours), span_of(counts)))
        if method.planner in published.TABLE3:
            paper = published.TABLE3[method.planner]
            rows.append(
                (bounded_label(method, chosen.records), "paper", *(paper[ratio].text for ratio in M_RATIOS), None)
            )
    ks = sorted({record.cell.k for record in chosen.records})
    notes = (
        setting_note(chosen, f"k = {listed(ks)}, ell = 1, radius 0"),
        "The mean over all cells, of every k; the paper does not say for which k its times are. ≥ where some cells "
        "were stopped by the clock. The paper's times are from C++ on another machine.",
        *finite_m_note(chosen),
        *caveats(chosen, bases, "cells"),
    )
    title = "Table 3: mean runtime in seconds by m over the shortest path"
    columns = ("planner", "source", *(f"{ratio:g}" for ratio in M_RATIOS), "cells")
    return [Table("table3", title, columns, tuple(rows), notes)]


def build_table4(chosen: Selection) -> list[Table]:
    """MAC by k and m; also at m = infinity where that was run."""
    bounded = [record for record in chosen.records if record.cell.m_ratio is not None]
    if not bounded:
        return []
    ratios: tuple[float | None, ...] = M_RATIOS if len(bounded) == len(chosen.records) else (*M_RATIOS, None)
    rows: list[tuple[Value, ...]] = []
    bases: list[int] = []
    for k in sorted({*BOUNDED_KS, *(record.cell.k for record in bounded)}):
        for method in BOUNDED:
            ours = [average(setting(chosen.records, at_ratio(method, ratio), k=k, ratio=ratio)) for ratio in ratios]
            counts = [cells.num_macs for cells in ours[: len(M_RATIOS)]]
            bases += [cells.num_cells for cells in ours[: len(M_RATIOS)]]
            rows.append(
                (k, bounded_label(method, chosen.records), "ours", *(cells.mac for cells in ours), span_of(counts))
            )
            if (method.planner, k) in published.TABLE4:
                paper = published.TABLE4[method.planner, k]
                texts = [None if ratio is None else paper[ratio].text for ratio in ratios]
                rows.append((k, bounded_label(method, chosen.records), "paper", *texts, None))
    notes = [setting_note(chosen, "ell = 1, radius 0"), PAPERS_M, *finite_m_note(chosen)]
    if None in ratios:
        notes.append(
            "m = infinity, for the k that were run: in the row of m-Pbp it is Pbp with Merge-BB, CostAsc, Tunnel."
        )
    num_partial = average(bounded).num_partial
    if num_partial:
        notes.append(f"{counted(num_partial, 'cell')} anonymized only a part of the candidates: MAC over that part.")
    notes += [*stopped_note(bounded), *caveats(chosen, bases)]
    title = "Table 4 (supplement): mean MAC by k and by m over the shortest path"
    headings = ("infinity" if ratio is None else f"{ratio:g}" for ratio in ratios)
    return [Table("table4", title, ("k", "planner", "source", *headings, "instances"), tuple(rows), tuple(notes))]


def at_ratio(method: Method, ratio: float | None) -> Method:
    """The method itself; at m = infinity, m-Pbp is Pbp."""
    return BEST if ratio is None and method.planner == "m-pbp" else method
