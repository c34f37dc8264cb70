"""The tables of each suite, with the paper's figures beside ours.

Tables of the planners for bounded m: Table 3 and the table of the supplement.

Tables of the partitioners at m = infinity: Table 1, Table 2, and the convergence of Figure 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from veilroute.bench import published
from veilroute.bench.cells import Method, Record
from veilroute.bench.published import TABLE1, TABLE4
from veilroute.bench.selection import Example, Selection, bounded_label, find_examples, method_label, select, setting
from veilroute.bench.suites import (
    BEST,
    BOUNDED,
    BOUNDED_KS,
    CONVERGING,
    KLR_ELLS,
    KLR_KS,
    KLR_METHODS,
    KLR_RADII,
    M_RATIOS,
    PARTITIONING,
)
from veilroute.bench.summaries import Averages, Moment, average, compare, moment, of_method, relate, timed_instances
from veilroute.bench.table import (
    PAPERS_M,
    Table,
    Value,
    caveats,
    counted,
    finite_m_note,
    format_apr,
    format_number,
    format_seconds,
    listed,
    mean_time,
    plus_minus,
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


_SETTING = "k = 2, ell = 1, radius 0, m = infinity"


_TABLE1_NOTES = (
    "Coverage: the share of the instances on which the method came to its own end, with proof, within the limit.",
    "Total time, as in the paper: the mean over the instances on which Merge-BB with Blind finished, under both merge "
    "orders. A dash where there are none, or where the method did not finish on each of them; in brackets how many it "
    "has, where it has not all. Mean time: over all instances; ≥ where some were stopped by the clock.",
    "MAC: the mean, where APR is 1 on every instance. Equal to the optimum: as many candidates anonymized, at the MAC "
    "that optimal (exact) has proved.",
)
_CONVERGENCE_NOTES = (
    "Before its first partition a method has APR 0 and no MAC. MAC: the mean over the instances that have one, in "
    "brackets how many where not all do; it can rise when further instances join. Naive and optimal (exact) have their "
    "result when they end. The paper's figures are those of its Table 1, at 300 s.",
)


def build_table1(chosen: Selection) -> list[Table]:
    """Coverage, time, APR and MAC, one table for each number of candidates; the last one has the explanations."""
    tables = [_table1(chosen.of_size(size), size) for size in chosen.sizes]
    return [*tables[:-1], replace(tables[-1], notes=(*tables[-1].notes, *_TABLE1_NOTES))]


def _table1(part: Selection, size: int) -> Table:
    num_timed = len(timed_instances(part.records))
    rows: list[tuple[Value, ...]] = []
    bases: list[int] = []
    for method in PARTITIONING:
        ours = compare(part.records, method)
        every = ours.averages
        has_mac = every.num_macs == every.num_cells and not every.num_partial
        paper = published.TABLE1.get((method, size))
        bases.append(every.num_cells)
        rows.append(
            (
                method_label(method),
                every.num_cells,
                _coverage(method, every),
                paper.coverage.text if paper else None,
                _total_time(ours.total_time_s, ours.num_timed, num_timed),
                paper.total_time_s.text if paper else None,
                mean_time(every),
                None if every.apr is None else format_apr(every.apr),
                paper.apr.text if paper else None,
                every.mac if has_mac else None,
                paper.mac.text if paper else None,
                f"{ours.num_equal} of {ours.num_proved}" if ours.num_proved else None,
            )
        )
    columns = (
        *("method", "instances", "coverage [%]", "paper [%]", "total time [s]", "paper [s]", "mean time [s]"),
        *("APR", "paper APR", "MAC", "paper MAC", "equal to the optimum"),
    )
    timed = f"Total time is over {counted(num_timed, 'instance')}."
    notes = (setting_note(part, _SETTING), timed, *caveats(part, bases))
    title = f"Table 1 with {size} candidates: coverage, time, APR and MAC"
    return Table(f"table1-{size}", title, columns, tuple(rows), notes)


def _coverage(method: Method, averages: Averages) -> str | None:
    if method.partitioner == "naive":
        return "n/a"
    return f"{100 * averages.num_finished / averages.num_cells:.0f}" if averages.num_cells else None


def _total_time(seconds: float | None, num_timed: int, num_chosen: int) -> str | None:
    if seconds is None:
        return None
    return format_seconds(seconds) + ("" if num_timed == num_chosen else f" ({num_timed})")


def build_table2(chosen: Selection) -> list[Table]:
    """MAC relative to Naive, all numbers of candidates in one table."""
    columns = ["method"]
    for size in chosen.sizes:
        columns += [f"{size} candidates", "instances", f"paper, {size}"]
    rows: list[tuple[Value, ...]] = []
    bases: list[int] = []
    num_without = 0
    for method in PARTITIONING:
        if method.partitioner == "naive":
            continue
        row: list[Value] = [method_label(method)]
        for size in chosen.sizes:
            ours = relate(chosen.of_size(size).records, method)
            paper = published.TABLE2.get((method, size))
            num_without += ours.num_without
            bases.append(ours.num_ratios + ours.num_without)
            row += [
                None if ours.mean is None else plus_minus(ours.mean, ours.deviation),
                ours.num_ratios,
                f"{paper.mean.text} ± {paper.deviation.text}" if paper else None,
            ]
        rows.append(tuple(row))
    notes = [
        setting_note(chosen, _SETTING),
        "The MAC of each method divided by that of Naive with the same heuristic on the same instance: mean ± standard "
        "deviation (n - 1). optimal (exact) is divided by Naive with Tunnel. The paper has no row for DF-BB.",
    ]
    if num_without:
        notes.append(
            f"{counted(num_without, 'result')} left out, because Naive's MAC is 0 or missing, or because the two "
            "anonymized different numbers of candidates."
        )
    notes += caveats(chosen, bases)
    return [Table("table2", "Table 2: MAC relative to Naive", tuple(columns), tuple(rows), tuple(notes))]


def build_convergence(chosen: Selection) -> list[Table]:
    """APR and MAC at some times, one table for each number of candidates; the last one has the explanations."""
    tables = [_convergence(chosen.of_size(size), size) for size in chosen.sizes]
    return [*tables[:-1], replace(tables[-1], notes=(*tables[-1].notes, *_CONVERGENCE_NOTES))]


def _convergence(part: Selection, size: int) -> Table:
    stamps = time_stamps(part.time_limits_s[-1])
    rows: list[tuple[Value, ...]] = []
    bases: list[int] = []
    for method in CONVERGING:
        own = of_method(part.records, method)
        moments = [moment(own, stamp) for stamp in stamps]
        paper = published.TABLE1.get((method, size))
        bases.append(len(own))
        aprs = [None if at.apr is None else format_apr(at.apr) for at in moments]
        macs = [_mac_text(at) for at in moments]
        rows.append((method_label(method), "APR", *aprs, paper.apr.text if paper else None, len(own)))
        rows.append((method_label(method), "MAC", *macs, paper.mac.text if paper else None, len(own)))
    notes = (setting_note(part, _SETTING), *caveats(part, bases))
    columns = ("method", "measure", *(f"{stamp:g} s" for stamp in stamps), "paper, 300 s", "instances")
    title = f"Figure 3 in numbers, with {size} candidates: APR and MAC over time"
    return Table(f"convergence-{size}", title, columns, tuple(rows), notes)


def _mac_text(at: Moment) -> str | None:
    if at.mac is None:
        return None
    return format_number(at.mac) + ("" if at.num_macs == at.num_cells else f" ({at.num_macs})")


def time_stamps(time_limit_s: float) -> tuple[float, ...]:
    """From a hundredth of a second up to the limit, two for each power of ten."""
    stamps = [float(f"{digit}e{power}") for power in range(-2, 7) for digit in (1, 3)]
    return (*(stamp for stamp in stamps if stamp < 0.8 * time_limit_s), time_limit_s)


__all__ = ["Table", "build_tables"]


def build_tables(suite_name: str, records: Sequence[Record]) -> list[Table]:
    """The tables of a suite.

    Parameters
    ----------
    suite_name
        One of :data:`veilroute.bench.suites.SUITES`.
    records
        Of any suites, in any order; those that do not belong to this one are left aside.

    Returns
    -------
    list of Table
        One for each number of candidates for ``table1`` and ``convergence``, else a single one; none without records.
    """
    chosen = select(suite_name, records)
    return _BUILDERS[suite_name](chosen) if chosen.records else []


def _build_klr(chosen: Selection) -> list[Table]:
    """Figure 4: MAC by k, ell and radius."""
    rows: list[tuple[Value, ...]] = []
    bases: list[int] = []
    for k in KLR_KS:
        for ell in KLR_ELLS:
            for radius in KLR_RADII:
                row: list[Value] = [k, ell, radius]
                for method in KLR_METHODS:
                    ours = average(setting(chosen.records, method, k=k, ell=ell, radius=radius, ratio=None))
                    bases.append(ours.num_cells)
                    apr = None if ours.apr is None else format_apr(ours.apr)
                    row += [ours.mac, apr, f"{ours.num_macs} of {ours.num_cells}"]
                rows.append((*row, _paper_klr(k, ell, radius)))
    columns = ["k", "ell", "radius"]
    for method in KLR_METHODS:
        columns += [f"{method_label(method)}: MAC", "APR", "instances"]
    notes = [
        setting_note(chosen, "m = infinity"),
        "MAC: the mean over the instances on which something was anonymized, which the third column counts. APR: the "
        "mean over all instances.",
        "The paper's figure has no numbers in the text. 0.229 is from its Table 1. 0.644 is from the supplement's "
        "table, for m-Pbp at m = 10 shortest paths, which converges to this setting.",
        *stopped_note(chosen.records),
        *caveats(chosen, bases),
    ]
    title = "Figure 4 in numbers: MAC and APR by k, ell and radius"
    return [Table("klr", title, (*columns, "paper MAC"), tuple(rows), tuple(notes))]


def _paper_klr(k: int, ell: float, radius: float) -> str | None:
    if (ell, radius) != (1, 0):
        return None
    return TABLE1[KLR_METHODS[0], 8].mac.text if k == 2 else TABLE4["m-pbp", k][10.0].text


def _build_examples(chosen: Selection) -> list[Table]:
    """Figure 5 and the supplement's figures: one row for each playbook."""
    rows = tuple(_example_row(example) for example in find_examples(chosen.records))
    columns = (
        *("map", "pair", "k", "ell", "radius", "candidates", "classes", "APR", "MAC", "status", "audit", "picture"),
        "paper's picture",
    )
    notes = (
        "optimal (exact), m = infinity. Classes: those that are anonymized. Audit: the verdict of the auditor, which "
        "shares no code with the planners. The paper's pictures have no numbers.",
    )
    return [Table("examples", "Drawn playbooks", columns, rows, notes)]


def _example_row(example: Example) -> tuple[Value, ...]:
    cell, outcome = example.record.cell, example.record.outcome
    verdict = {True: "holds", False: "VIOLATED", None: "not asked"}[outcome.audit_holds]
    at = cell.instance
    return (
        *(at.map_name, at.seed, cell.k, f"{cell.ell:g}", f"{cell.radius:g}", cell.num_candidates, example.num_classes),
        *(format_apr(outcome.apr), outcome.mac, outcome.status, verdict),
        f"{example.name}.png" if outcome.playbook is not None else None,
        example.paper_figure,
    )


_BUILDERS: dict[str, Callable[[Selection], list[Table]]] = {
    "table1": build_table1,
    "table2": build_table2,
    "table3": build_table3,
    "table4": build_table4,
    "convergence": build_convergence,
    "klr": _build_klr,
    "examples": _build_examples,
}
