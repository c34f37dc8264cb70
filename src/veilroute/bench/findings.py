"""Sentences that are computed from the records: what a suite shows, beside what the paper found."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from veilroute.bench import published
from veilroute.bench.cells import Record
from veilroute.bench.selection import Selection, bounded_label, instance_key, method_label, select, setting
from veilroute.bench.suites import (
    BEST,
    BOUNDED,
    CONVERGING,
    KLR_ELLS,
    KLR_KS,
    KLR_METHODS,
    KLR_RADII,
    M_RATIOS,
    OPTIMAL,
)
from veilroute.bench.summaries import average, compare, num_instances, of_method, relate, steps_of
from veilroute.bench.table import counted, format_apr, format_number, format_seconds, listed, mean_time

Macs = Sequence[float | None]

_BEST = "Merge-BB with CostAsc and Tunnel"


def describe(suite_name: str, records: Sequence[Record]) -> list[str]:
    """A few sentences about a suite, none without records.

    Parameters
    ----------
    suite_name
        One of :data:`veilroute.bench.suites.SUITES`.
    records
        Of any suites, in any order.
    """
    chosen = select(suite_name, records)
    return _WRITERS[suite_name](chosen) if chosen.records else []


def _about_table1(chosen: Selection) -> list[str]:
    found = []
    for size in chosen.sizes:
        records = chosen.of_size(size).records
        best, exact = compare(records, BEST), compare(records, OPTIMAL)
        num = best.averages.num_cells
        if num:
            paper = published.TABLE1.get((BEST, size))
            beside = f" (the paper: {paper.coverage.text} %)" if paper else ""
            met = ""
            if best.num_proved:
                is_all = best.num_equal == best.num_proved == num
                met = f" and met the optimum on {'each' if is_all else f'{best.num_equal} of {best.num_proved}'}"
            found.append(
                f"With {size} candidates, {_BEST} finished on {best.averages.num_finished} of "
                f"{counted(num, 'instance')}{beside}{met}."
            )
        num = exact.averages.num_cells
        if num:
            slowest = max(record.outcome.runtime_s for record in of_method(records, OPTIMAL))
            found.append(
                f"With {size} candidates, optimal (exact) finished on {exact.averages.num_finished} of "
                f"{counted(num, 'instance')}, in {mean_time(exact.averages)} s on average and "
                f"{format_seconds(slowest)} s at most."
            )
    return found


def _about_table2(chosen: Selection) -> list[str]:
    found = []
    for size in chosen.sizes:
        records = chosen.of_size(size).records
        best, exact = relate(records, BEST), relate(records, OPTIMAL)
        parts = []
        if best.mean is not None:
            paper = published.TABLE2.get((BEST, size))
            beside = f" (the paper: {paper.mean.text})" if paper else ""
            parts.append(f"{_BEST} has {format_number(best.mean)} of the MAC of Naive{beside}")
        if exact.mean is not None:
            parts.append(
                f"optimal (exact) has {format_number(exact.mean)} of it"
                if parts
                else f"optimal (exact) has {format_number(exact.mean)} of the MAC of Naive"
            )
        if parts:
            found.append(f"With {size} candidates, on average, {' and '.join(parts)}.")
    return found


def _about_table3(chosen: Selection) -> list[str]:
    means = {method: mean_time(average(of_method(chosen.records, method))) for method in BOUNDED}
    times = [f"{bounded_label(method, chosen.records)} {text} s" for method, text in means.items() if text is not None]
    found = [f"Mean runtime over all m and k: {listed(times)}."]
    first, last = (average(setting(chosen.records, BOUNDED[1], ratio=ratio)).runtime_s for ratio in _ENDS)
    if first is not None and last is not None:
        paper, other = (published.TABLE3["cbp"][ratio].text for ratio in _ENDS)
        found.append(
            f"Cbp takes {format_seconds(first)} s at m = {_ENDS[0]:g} shortest paths and {format_seconds(last)} s at "
            f"m = {_ENDS[1]:g} (the paper: {paper} s and {other} s)."
        )
    return found


_ENDS = (M_RATIOS[0], M_RATIOS[-1])


def _about_table4(chosen: Selection) -> list[str]:
    bounded, found = _complete([record for record in chosen.records if record.cell.m_ratio is not None])
    ks = sorted({record.cell.k for record in bounded})
    macs = {
        (method.planner, k): [average(setting(bounded, method, k=k, ratio=ratio)).mac for ratio in M_RATIOS]
        for method in BOUNDED
        for k in ks
    }
    for method in (BOUNDED[2], BOUNDED[1], BOUNDED[0]):
        rows = {k: row for k in ks if None not in (row := macs[method.planner, k])}
        if rows:
            falling = [k for k, row in rows.items() if not _is_rising(row)]
            words = f"falls somewhere as m grows at k = {listed(falling)}" if falling else "never falls as m grows"
            ends = [
                f"{format_number(row[0] or 0)} to {format_number(row[-1] or 0)} at k = {k}" for k, row in rows.items()
            ]
            found.append(f"The MAC of {method_label(method)} {words}: from {listed(ends)}.")
    rbp = [row for k in ks if None not in (row := macs["rbp", k])]
    if len(rbp) == len(ks) > 1:
        is_same = all(_is_same(rbp[0], row) for row in rbp[1:])
        found.append(f"The MAC of Rbp is {'the same' if is_same else 'not the same'} for k = {listed(ks)}.")
    for k in ks:
        cbp, m_pbp = macs["cbp", k], macs["m-pbp", k]
        if None in cbp or None in m_pbp:
            continue
        beside = ""
        if ("cbp", k) in published.TABLE4:
            theirs = [[p.value for p in published.TABLE4[name, k].values()] for name in ("cbp", "m-pbp")]
            beside = f" (the paper: {_cheaper(*theirs)})"
        found.append(
            f"Values of m, in shortest paths, at which Cbp is cheaper than m-Pbp at k = {k}: "
            f"{_cheaper(cbp, m_pbp)}{beside}."
        )
    return found


def _complete(records: Sequence[Record]) -> tuple[list[Record], list[str]]:
    """The records of the instances that have all of them, so that means can be compared, and a word about it."""
    settings: dict[object, set[object]] = {}
    for record in records:
        cell = record.cell
        settings.setdefault(instance_key(record), set()).add((cell.method, cell.k, cell.ell, cell.radius, cell.m_ratio))
    everything = set().union(*settings.values())
    whole = [record for record in records if settings[instance_key(record)] == everything]
    if len(whole) == len(records):
        return whole, []
    return whole, [
        f"Only the {num_instances(whole)} of {counted(len(settings), 'instance')} that have every record count here."
    ]


def _is_rising(row: Macs) -> bool:
    values = [value for value in row if value is not None]
    return all(a <= b or math.isclose(a, b, rel_tol=1e-9) for a, b in pairwise(values))


def _is_same(row: Macs, other: Macs) -> bool:
    pairs = [(a, b) for a, b in zip(row, other, strict=True) if a is not None and b is not None]
    return all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in pairs)


def _cheaper(row: Macs, other: Macs) -> str:
    """The ratios of m at which the first is cheaper."""
    places = zip(M_RATIOS, row, other, strict=True)
    return listed([ratio for ratio, a, b in places if a is not None and b is not None and a < b])


def _about_convergence(chosen: Selection) -> list[str]:
    found = []
    for size in chosen.sizes:
        early, late = [], []
        for method in CONVERGING:
            own = of_method(chosen.of_size(size).records, method)
            averages = average(own)
            if averages.apr is None:
                continue
            if averages.num_partial:
                late.append(f"{method_label(method)} ({format_apr(averages.apr)})")
            else:
                ends = [
                    min((t for t, apr, _ in steps_of(r.outcome) if apr == 1), default=r.outcome.runtime_s) for r in own
                ]
                early.append(f"{method_label(method)} after {format_seconds(max(ends))} s")
        if early:
            found.append(f"With {size} candidates, APR 1 on every instance: {'; '.join(early)}.")
        if late:
            found.append(
                f"With {size} candidates, not on every instance within the limit (mean APR): {'; '.join(late)}."
            )
    return found


def _about_klr(chosen: Selection) -> list[str]:
    records, found = _complete(chosen.records)
    for method in KLR_METHODS:
        macs = {
            (k, ell, radius): average(setting(records, method, k=k, ell=ell, radius=radius, ratio=None)).mac
            for k in KLR_KS
            for ell in KLR_ELLS
            for radius in KLR_RADII
        }
        ks = [(macs[KLR_KS[0], ell, r], macs[KLR_KS[-1], ell, r]) for ell in KLR_ELLS for r in KLR_RADII]
        ells = [(macs[k, KLR_ELLS[0], r], macs[k, KLR_ELLS[-1], r]) for k in KLR_KS for r in KLR_RADII]
        rows = [[macs[k, ell, r] for r in KLR_RADII] for k in KLR_KS for ell in KLR_ELLS]
        whole = [row for row in rows if None not in row]
        even = sum(_is_rising(row) or _is_rising(row[::-1]) for row in whole)
        parts = [f"a larger k raises the mean MAC in {_raised(ks)} settings", f"a larger ell in {_raised(ells)}"]
        parts.append(f"the radius has a monotonic effect in {even} of {len(whole)}")
        if any(mac is not None for mac in macs.values()):
            found.append(f"{method_label(method)}: {', '.join(parts)}.")
    return found


def _raised(pairs: Sequence[tuple[float | None, float | None]]) -> str:
    known = [(low, high) for low, high in pairs if low is not None and high is not None]
    return f"{sum(high > low for low, high in known)} of {len(known)}"


def _about_examples(chosen: Selection) -> list[str]:
    verdicts = [record.outcome.audit_holds for record in chosen.records]
    found = [f"The auditor confirms {verdicts.count(True)} of {counted(len(verdicts), 'playbook')}."]
    if False in verdicts:
        found.append(f"It does NOT confirm {verdicts.count(False)}; this is a fault of the planner or of the auditor.")
    return found


_WRITERS: dict[str, Callable[[Selection], list[str]]] = {
    "table1": _about_table1,
    "table2": _about_table2,
    "table3": _about_table3,
    "table4": _about_table4,
    "convergence": _about_convergence,
    "klr": _about_klr,
    "examples": _about_examples,
}
