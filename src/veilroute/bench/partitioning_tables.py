"""Tables of the partitioners at m = infinity: Table 1, Table 2, and the convergence of Figure 3."""

from __future__ import annotations

from dataclasses import replace

from veilroute.bench import published
from veilroute.bench.cells import Method
from veilroute.bench.design import CONVERGING, PARTITIONING
from veilroute.bench.selection import Selection, method_label
from veilroute.bench.summaries import Averages, Moment, compare, moment, of_method, relate, timed_instances
from veilroute.bench.table import Table, Value, format_apr, format_number, format_seconds
from veilroute.bench.wording import caveats, counted, mean_time, plus_minus, setting_note

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
