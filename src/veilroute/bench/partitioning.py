"""The suites of the partitioners at m = infinity: Table 1, Table 2, and the convergence of Figure 3."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from veilroute.bench import paper
from veilroute.bench.cells import InstanceKey, Method, Outcome, Record
from veilroute.bench.design import Averages, Selection, Suite, chart, mean, paper_variations
from veilroute.bench.paper import method_label
from veilroute.bench.table import Row, Table, Value, counted, format_number, format_seconds

_SETTING = "k = 2, ell = 1, radius 0, m = infinity"
_BEST = "Merge-BB with CostAsc and Tunnel"


@dataclass(frozen=True)
class Comparison:
    """One method at one number of candidates, as Table 1 has it."""

    averages: Averages
    #: The mean over the instances of the paper's total time; ``None`` without any, or when one was not finished.
    total_time_s: float | None
    num_timed: int  #: On how many of these instances the method has a record.
    num_equal: int  #: On how many instances the method met a proved optimum.
    num_proved: int  #: On how many of its instances an optimum is proved.
    num_partitions: float | None = None  #: How many partitions it has looked at, on average; ``None`` if not counted.


def timed_instances(part: Selection) -> set[InstanceKey]:
    """The instances on which Merge-BB with Blind finished under both merge orders: those of the paper's Total Time."""
    first, second = (
        {key for key, outcome in part.by_instance(orders["blind"]).items() if outcome.is_finished}
        for orders in (paper.MERGE_RANDOM, paper.MERGE_COST)
    )
    return first & second


def compare(part: Selection, method: Method) -> Comparison:
    """Table 1's figures of one method; ``part`` has the records of one number of candidates."""
    own, optima, chosen = part.by_instance(method), part.by_instance(paper.OPTIMAL), timed_instances(part)
    timed = [outcome for key, outcome in own.items() if key in chosen]
    proved = [(own[key], best) for key, best in optima.items() if key in own and best.status == "optimal"]
    is_timed = all(outcome.is_finished for outcome in timed)
    counts = [outcome.num_partitions for outcome in own.values() if outcome.num_partitions is not None]
    return Comparison(
        averages=Averages(list(own.values())),
        total_time_s=mean([outcome.runtime_s for outcome in timed]) if is_timed else None,
        num_timed=len(timed),
        num_equal=sum(_is_as_good(outcome, best) for outcome, best in proved),
        num_proved=len(proved),
        num_partitions=mean(counts),
    )


def _is_as_good(outcome: Outcome, optimum: Outcome) -> bool:
    """Whether as many candidates are anonymized, at the same MAC but for rounding (1e-9, relative)."""
    if outcome.mac is None or optimum.mac is None or outcome.num_anonymized != optimum.num_anonymized:
        return False
    return math.isclose(outcome.mac, optimum.mac, rel_tol=1e-9, abs_tol=1e-12)


def relate(part: Selection, method: Method) -> list[float]:
    """Table 2's figures of one method: its MAC divided by Naive's, for each instance of one number of candidates.

    Naive is the one with the method's heuristic. A method without heuristic is compared with Naive under Tunnel, or
    under Blind on instances that have only that: both draw the same groups. There is no ratio where Naive's MAC is 0 or
    missing, or where one of the two anonymized more candidates than the other.
    """
    heuristics = (method.heuristic,) if method.heuristic in paper.NAIVE else ("blind", "tunnel")
    naive = {key: outcome for name in heuristics for key, outcome in part.by_instance(paper.NAIVE[name]).items()}
    pairs = [(outcome, naive[key]) for key, outcome in part.by_instance(method).items() if key in naive]
    return [
        outcome.mac / base.mac
        for outcome, base in pairs
        if outcome.mac is not None and base.mac and outcome.num_anonymized == base.num_anonymized
    ]


def steps_of(outcome: Outcome) -> tuple[tuple[float, float, float | None], ...]:
    """Seconds, APR and MAC at each improvement; a method that reports none has its result when it ends."""
    if not outcome.improvements:
        return ((outcome.runtime_s, outcome.apr, outcome.mac),)
    coverable = outcome.num_coverable
    return tuple(
        (seconds, count / coverable if coverable else 0.0, mac if count else None)
        for seconds, count, mac in sorted(outcome.improvements, key=lambda step: step[0])
    )


def averages_at(records: Iterable[Record], time_s: float) -> Averages:
    """Means of what the records of one method show at a time; before its first partition a cell has APR 0."""
    outcomes = []
    for record in records:
        reached = [step for step in steps_of(record.outcome) if step[0] <= time_s]
        _, apr, mac = reached[-1] if reached else (0.0, 0.0, None)
        outcomes.append(replace(record.outcome, apr=apr, mac=mac))
    return Averages(outcomes)


def _for_each_size(build: Callable[[Selection, int], Table], *notes: str) -> Callable[[Selection], list[Table]]:
    """Tables that are alike, one for each number of candidates; the last one has the explanations."""

    def build_all(chosen: Selection) -> list[Table]:
        *others, last = (build(part, size) for size, part in chosen.by_size())
        return [*others, replace(last, notes=(*last.notes, *notes))]

    return build_all


def _with_base(text: str, num: int, num_all: int) -> str:
    """A figure, in brackets on how many instances it rests, where these are not all."""
    return text if num == num_all else f"{text} ({num})"


def _table_1(part: Selection, size: int) -> Table:
    """Coverage, time, APR and MAC with one number of candidates."""
    num_timed = len(timed_instances(part))
    methods = part.with_plugins(paper.PARTITIONING)
    rows: list[dict[str, Value]] = []
    for method in methods:
        ours, printed = compare(part, method), paper.table1_row(method, size)
        every = ours.averages
        coverage: Value = None
        total_time = None
        if method in paper.NAIVE.values():
            coverage = "n/a"
        elif every.num_cells:
            coverage = every.of_finished(f"{100 * every.num_finished / every.num_cells:.0f}")
        if ours.total_time_s is not None:
            total_time = _with_base(format_seconds(ours.total_time_s), ours.num_timed, num_timed)
        has_mac = every.num_macs == every.num_cells and not every.num_partial
        rows.append(
            {
                "method": method_label(method),
                "instances": every.num_cells,
                "coverage [%]": coverage,
                "paper [%]": printed.coverage,
                "total time [s]": total_time,
                "paper [s]": printed.total_time_s,
                "mean time [s]": every.time_text,
                **({"mean CPU [s]": every.cpu_text} if part.has_programs else {}),
                "partitions": None if ours.num_partitions is None else f"{ours.num_partitions:.0f}",
                "APR": every.apr_text,
                "paper APR": printed.apr,
                "MAC": every.mac if has_mac else None,
                "paper MAC": printed.mac,
                "equal to the optimum": f"{ours.num_equal} of {ours.num_proved}" if ours.num_proved else None,
            }
        )
    return part.build_table(
        f"table1-{size}",
        f"Table 1 with {size} candidates: coverage, time, APR and MAC",
        tuple(rows[0]),
        [tuple(row.values()) for row in rows],
        fixed=_SETTING,
        bases=[part.where(method=method).averages.num_cells for method in methods],
        notes=[f"Total time is over {counted(num_timed, 'instance')}."] if num_timed else [],
    )


def _findings_1(chosen: Selection) -> Iterator[str]:
    for size, part in chosen.by_size():
        begin = f"With {size} candidates"
        best, averages = compare(part, paper.BEST), part.where(method=paper.BEST).averages
        if averages.num_cells:
            printed = paper.table1_row(paper.BEST, size).coverage
            beside = f" (the paper: {printed} %)" if printed else ""
            met = ""
            if best.num_proved:
                is_all = best.num_equal == best.num_proved == averages.num_cells
                met = f" and met the optimum on {'each' if is_all else f'{best.num_equal} of {best.num_proved}'}"
            yield f"{begin}, {_BEST} {_finished(averages)}{beside}{met}."
        exact = part.where(method=paper.OPTIMAL)
        if exact.records:
            slowest = max(record.outcome.runtime_s for record in exact.records)
            yield (
                f"{begin}, optimal (exact) {_finished(exact.averages)}, in {exact.averages.time_text} s on average "
                f"and {format_seconds(slowest)} s at most."
            )


def _finished(averages: Averages) -> str:
    return f"finished on {averages.num_finished} of {counted(averages.num_cells, 'instance')}"


def _tables_2(chosen: Selection) -> list[Table]:
    """MAC relative to Naive, all numbers of candidates in one table."""
    columns = ["method"]
    for size in chosen.sizes:
        columns += [f"{size} candidates", "instances", f"paper, {size}"]
    rows: list[Row] = []
    bases = []
    num_without = 0
    for method in chosen.with_plugins(paper.RATED):
        row: list[Value] = [method_label(method)]
        for size, part in chosen.by_size():
            ratios, printed = relate(part, method), paper.TABLE2.get((method, size))
            bases.append(len(part.where(method=method).records))
            num_without += bases[-1] - len(ratios)
            text = f"{fmean(ratios):.3f}" if ratios else None
            if len(ratios) > 1:
                text = f"{text} ± {stdev(ratios):.3f}"
            row += [text, len(ratios), f"{printed.mean} ± {printed.deviation}" if printed else None]
        rows.append(tuple(row))
    notes = [
        "The MAC of each method divided by that of Naive with the same heuristic on the same instance: mean ± standard "
        "deviation (n - 1). optimal (exact) is divided by Naive with Tunnel. The paper has no row for DF-BB.",
    ]
    if num_without:
        notes.append(
            f"{counted(num_without, 'result')} left out, because Naive's MAC is 0 or missing, or because the two "
            "anonymized different numbers of candidates."
        )
    title = "Table 2: MAC relative to Naive"
    return [chosen.build_table("table2", title, columns, rows, fixed=_SETTING, bases=bases, notes=notes)]


def _findings_2(chosen: Selection) -> Iterator[str]:
    for size, part in chosen.by_size():
        best, exact = (mean(relate(part, method)) for method in (paper.BEST, paper.OPTIMAL))
        parts = []
        if best is not None:
            printed = paper.TABLE2.get((paper.BEST, size))
            beside = f" (the paper: {printed.mean})" if printed else ""
            parts.append(f"{_BEST} has {format_number(best)} of the MAC of Naive{beside}")
        if exact is not None:
            parts.append(f"optimal (exact) has {format_number(exact)} of {'it' if parts else 'the MAC of Naive'}")
        if parts:
            yield f"With {size} candidates, on average, {' and '.join(parts)}."


def _table_convergence(part: Selection, size: int) -> Table:
    """APR and MAC at some times with one number of candidates."""
    stamps = time_stamps(part.time_limits_s[-1])
    rows: list[Row] = []
    bases = []
    for method in part.with_plugins(paper.CONVERGING):
        own, printed, label = part.where(method=method).records, paper.table1_row(method, size), method_label(method)
        moments = [averages_at(own, stamp) for stamp in stamps]
        bases.append(len(own))
        macs = [
            None if at.mac is None else _with_base(format_number(at.mac), at.num_macs, at.num_cells) for at in moments
        ]
        rows += [
            (label, "APR", *(at.apr_text for at in moments), printed.apr, len(own)),
            (label, "MAC", *macs, printed.mac, len(own)),
        ]
    columns = ("method", "measure", *(f"{stamp:g} s" for stamp in stamps), "paper, 300 s", "instances")
    title = f"Figure 3 in numbers, with {size} candidates: APR and MAC over time"
    return part.build_table(f"convergence-{size}", title, columns, rows, fixed=_SETTING, bases=bases)


def time_stamps(time_limit_s: float) -> tuple[float, ...]:
    """From a hundredth of a second up to the limit, two for each power of ten."""
    stamps = [float(f"{digit}e{power}") for power in range(-2, 7) for digit in (1, 3)]
    return (*(stamp for stamp in stamps if stamp < 0.8 * time_limit_s), time_limit_s)


def _findings_convergence(chosen: Selection) -> Iterator[str]:
    for size, part in chosen.by_size():
        early, late = [], []
        for method in paper.CONVERGING:
            own, label = part.where(method=method), method_label(method)
            if own.averages.num_partial:
                late.append(f"{label} ({own.averages.apr_text})")
            elif own.records:
                outcomes = [record.outcome for record in own.records]
                ends = [min((t for t, apr, _ in steps_of(o) if apr == 1), default=o.runtime_s) for o in outcomes]
                early.append(f"{label} after {format_seconds(max(ends))} s")
        begin = f"With {size} candidates"
        if early:
            yield f"{begin}, APR 1 on every instance: {'; '.join(early)}."
        if late:
            yield f"{begin}, not on every instance within the limit (mean APR): {'; '.join(late)}."


TABLE1_SUITE = Suite(
    name="table1",
    heading="Table 1: partitioning strategies",
    where="Table 1, section 6.1",
    shows="Each partitioning strategy with each merge order and heuristic at 8, 12 and 16 candidates: coverage (how "
    "often the search ended within 300 s), time, APR and MAC, for k = 2, ell = 1 and m = infinity.",
    found="Merge-BB has better MAC than Naive throughout and higher coverage than DF-BB; Merge-BB with CostAsc and "
    "Tunnel is best, with 100 %, 47 % and 0 % of the instances finished at 8, 12 and 16 candidates.",
    variations=paper_variations("table1"),
    tables=_for_each_size(
        _table_1,
        "Coverage: the share of the instances on which the method came to its own end, with proof, within the limit; "
        "of an external program what it says itself, and n/a if it does not say.",
        "Total time, as in the paper: the mean over the instances on which Merge-BB with Blind finished, under both "
        "merge orders. A dash where there are none, or where the method did not finish on each of them; in brackets "
        "how many it has, where it has not all. Mean time: over all instances; ≥ where some were stopped by the clock. "
        "Partitions: how many the search has looked at, on average.",
        "DF-BB opens a new set first here, and last in the paper's text; which one the paper ran is not known. "
        "MAC: the mean, where APR is 1 on every instance. Equal to the optimum: as many candidates anonymized, at the "
        "MAC that optimal (exact) has proved.",
    ),
    findings=_findings_1,
    pictures=chart(
        "table1",
        "Above: the share of the instances on which each method finished; the numbers on the right count them. Below: "
        "mean times; the paper's are over the instances on which Merge-BB with Blind finished.",
    ),
)

TABLE2_SUITE = Suite(
    name="table2",
    heading="Table 2: MAC relative to Naive",
    where="Table 2, section 6.1",
    shows="The MAC of Merge-BB divided by the MAC of Naive on the same instance, mean and standard deviation.",
    found="Merge-BB with CostAsc lowers the MAC by more than half at every number of candidates.",
    variations=paper_variations("table2"),
    tables=_tables_2,
    findings=_findings_2,
    pictures=chart("table2", "MAC divided by Naive's on the same instance; 1 is as costly as Naive."),
)

CONVERGENCE_SUITE = Suite(
    name="convergence",
    heading="Convergence: APR and MAC over time",
    where="Figure 3, section 6.1",
    shows="APR and MAC over time with the Tunnel heuristic, for k = 2 and ell = 1. The figure has no numbers in the "
    "text; its ends at 300 s are those of Table 1.",
    found="Merge-BB reaches a high APR sooner than DF-BB, and with CostAsc it finds a low MAC earlier than with "
    "Random.",
    variations=paper_variations("convergence"),
    tables=_for_each_size(
        _table_convergence,
        "Before its first partition a method has APR 0 and no MAC. MAC: the mean over the instances that have one, in "
        "brackets how many where not all do; it can rise when further instances join. Naive and optimal (exact) have "
        "their result when they end. The paper's figures are those of its Table 1, at 300 s.",
    ),
    findings=_findings_convergence,
    pictures=chart(
        "convergence",
        "Mean APR and mean MAC over time; time and MAC are logarithmic. A MAC is thin as long as some instances have "
        "none, and a MAC of 0 is below the axis. The paper's ends, from its Table 1, stand right of our time limit.",
    ),
)
