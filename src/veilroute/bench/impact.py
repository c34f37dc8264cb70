"""The suites on the impact of the setting: Tables 3 and 4 by k and a bounded m, Figure 4 by k, ell and radius."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from veilroute.bench import paper
from veilroute.bench.cells import TEXT, Cell, Method
from veilroute.bench.design import Selection, Suite, chart, paper_variations
from veilroute.bench.paper import method_label
from veilroute.bench.table import Row, Table, Value, counted, format_number, format_seconds, listed

_ENDS = (paper.M_RATIOS[0], paper.M_RATIOS[-1])
_M_HEADINGS = tuple(f"{ratio:g}" for ratio in paper.M_RATIOS)


def _is_bounded_or_limit(cell: Cell) -> bool:
    """Tables 3 and 4 have records of every k and m, not only of those that they vary; Table 4 also has those of m =
    infinity where it was run: what m-Pbp converges to.
    """
    is_usual = cell.ell == 1 and cell.radius == 0 and cell.num_candidates == 8
    is_usual = is_usual and not cell.keep_playbook and not cell.is_watched and cell.reading == TEXT
    if cell.m_ratio is None:
        return is_usual and cell.method in (paper.BEST, paper.OPTIMAL)
    return is_usual and (cell.method in paper.BOUNDED or cell.method.is_plugin)


def shown_ks(chosen: Selection) -> list[int]:
    """The paper's k and those of the records."""
    return sorted({*paper.BOUNDED_KS, *(record.cell.k for record in chosen.bounded.records)})


def _span(numbers: Sequence[int]) -> str:
    """For example ``30``, or ``12 to 30`` where they differ."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _finite_m_note(chosen: Selection) -> list[str]:
    if not chosen.is_finite_optimum_open:
        return []
    return [
        "Where the planner optimal could not prove an optimum for a finite m, too much work or stopped by the clock, "
        "it follows the optimum of m = infinity for the first m nodes. That hides as asked, and may cost more than it "
        "must."
    ]


def _tables_3(chosen: Selection) -> list[Table]:
    """Runtime by m."""
    rows: list[Row] = []
    bases: list[int] = []
    for method in chosen.with_plugins(paper.BOUNDED):
        label = chosen.bounded_label(method)
        ours = [chosen.where(method=method, m_ratio=ratio).averages for ratio in paper.M_RATIOS]
        counts = [cells.num_cells for cells in ours]
        bases += counts
        rows.append((label, "ours", *(cells.time_text for cells in ours), _span(counts)))
        if chosen.has_programs:
            rows.append((label, "ours, CPU", *(cells.cpu_text for cells in ours), _span(counts)))
        if method in paper.TABLE3:
            rows.append((label, "paper", *paper.TABLE3[method].values(), None))
    columns = ("planner", "source", *_M_HEADINGS, "cells")
    ks = sorted({record.cell.k for record in chosen.records})
    notes = [
        "The mean over all cells, of every k; the paper does not say for which k its times are. ≥ where some cells "
        "were stopped by the clock. The paper's times are from C++ on another machine.",
        *_finite_m_note(chosen),
    ]
    title = "Table 3: mean runtime in seconds by m over the shortest path"
    fixed = f"k = {listed(ks)}, ell = 1, radius 0"
    return [chosen.build_table("table3", title, columns, rows, fixed=fixed, bases=bases, notes=notes, noun="cells")]


def _findings_3(chosen: Selection) -> Iterator[str]:
    means = {method: chosen.where(method=method).averages.time_text for method in paper.BOUNDED}
    times = [f"{chosen.bounded_label(method)} {text} s" for method, text in means.items() if text is not None]
    yield f"Mean runtime over all m and k: {listed(times)}."
    first, last = (chosen.where(method=paper.CBP, m_ratio=ratio).averages.runtime_s for ratio in _ENDS)
    if first is not None and last is not None:
        first_text, last_text = (paper.TABLE3[paper.CBP][ratio] for ratio in _ENDS)
        yield (
            f"Cbp takes {format_seconds(first)} s at m = {_ENDS[0]:g} shortest paths and {format_seconds(last)} s at "
            f"m = {_ENDS[1]:g} (the paper: {first_text} s and {last_text} s)."
        )


def _tables_4(chosen: Selection) -> list[Table]:
    """MAC by k and m; also at m = infinity where that was run."""
    bounded = chosen.bounded
    if not bounded.records:
        return []
    has_limit = len(bounded.records) < len(chosen.records)
    # The paper has no column for m = infinity.
    headings, beside = (("infinity",), (None,)) if has_limit else ((), ())
    rows: list[Row] = []
    bases: list[int] = []
    for k, method in product(shown_ks(chosen), chosen.with_plugins(paper.BOUNDED)):
        label = chosen.bounded_label(method)
        finite = [chosen.where(method=method, k=k, m_ratio=ratio).averages for ratio in paper.M_RATIOS]
        bases += [cells.num_cells for cells in finite]
        counts = _span([cells.num_macs for cells in finite])
        # At m = infinity, m-Pbp is Pbp.
        unbounded = paper.BEST if method == paper.M_PBP else method
        limit = [chosen.where(method=unbounded, k=k, m_ratio=None).averages.mac for _ in headings]
        rows.append((k, label, "ours", *(cells.mac for cells in finite), *limit, counts))
        if (method, k) in paper.TABLE4:
            rows.append((k, label, "paper", *paper.TABLE4[method, k].values(), *beside, None))
    notes = [
        "m is a number of nodes: the given multiple of those on a shortest path from start to goal. The paper's m is "
        "that multiple of the secret's own base cost, which is longer and gives the secret away, and its Rbp adds up "
        "the walks of all candidates: compare shapes, not heights. 'veilroute bench paper --as-printed' computes "
        "the paper's rows.",
        *_finite_m_note(chosen),
    ]
    if has_limit:
        notes.append(
            "m = infinity, for the k that were run: in the row of m-Pbp it is Pbp with Merge-BB, CostAsc, Tunnel."
        )
    if num_partial := bounded.averages.num_partial:
        notes.append(f"{counted(num_partial, 'cell')} anonymized only a part of the candidates: MAC over that part.")
    notes += bounded.stopped_note()
    title = "Table 4 (supplement): mean MAC by k and by m over the shortest path"
    columns = ("k", "planner", "source", *_M_HEADINGS, *headings, "instances")
    return [chosen.build_table("table4", title, columns, rows, fixed="ell = 1, radius 0", bases=bases, notes=notes)]


def _findings_4(chosen: Selection) -> Iterator[str]:
    bounded, remark = _complete(chosen.bounded)
    yield from remark
    ks = sorted({record.cell.k for record in bounded.records})
    # Only rows with a MAC at every m.
    macs: dict[Method, dict[int, list[float]]] = {}
    for method in paper.BOUNDED:
        own = bounded.where(method=method)
        rows = {k: [own.where(k=k, m_ratio=ratio).averages.mac for ratio in paper.M_RATIOS] for k in ks}
        macs[method] = {k: [mac for mac in row if mac is not None] for k, row in rows.items() if None not in row}
    for method in (paper.M_PBP, paper.CBP, paper.RBP):
        whole = macs[method]
        if whole:
            falling = [k for k, row in whole.items() if not _is_rising(row)]
            trend = f"falls somewhere as m grows at k = {listed(falling)}" if falling else "never falls as m grows"
            ends = [f"{format_number(row[0])} to {format_number(row[-1])} at k = {k}" for k, row in whole.items()]
            yield f"The MAC of {method_label(method)} {trend}: from {listed(ends)}."
    rbp = list(macs[paper.RBP].values())
    if len(rbp) == len(ks) > 1:
        is_same = all(_is_same(rbp[0], row) for row in rbp[1:])
        yield f"The MAC of Rbp is {'the same' if is_same else 'not the same'} for k = {listed(ks)}."
    for k in ks:
        if k not in macs[paper.CBP] or k not in macs[paper.M_PBP]:
            continue
        beside = ""
        if (paper.CBP, k) in paper.TABLE4:
            printed = [[*map(paper.number, paper.TABLE4[each, k].values())] for each in (paper.CBP, paper.M_PBP)]
            beside = f" (the paper: {_cheaper(*printed)})"
        yield (
            f"Values of m, in shortest paths, at which Cbp is cheaper than m-Pbp at k = {k}: "
            f"{_cheaper(macs[paper.CBP][k], macs[paper.M_PBP][k])}{beside}."
        )


def _complete(chosen: Selection) -> tuple[Selection, list[str]]:
    """The records of the instances that have all of them, so that means can be compared, and a sentence about it."""
    settings: dict[object, set[object]] = {}
    for record in chosen.records:
        cell = record.cell
        setting = (cell.method, cell.k, cell.ell, cell.radius, cell.m_ratio)
        settings.setdefault(cell.instance_key, set()).add(setting)
    everything = set().union(*settings.values())
    whole = Selection(tuple(r for r in chosen.records if settings[r.cell.instance_key] == everything))
    if len(whole.records) == len(chosen.records):
        return whole, []
    num_all = counted(len(settings), "instance")
    return whole, [f"Only the {whole.num_instances} of {num_all} that have every record count here."]


def _is_rising(row: Sequence[float]) -> bool:
    return all(a <= b or math.isclose(a, b, rel_tol=1e-9) for a, b in pairwise(row))


def _is_same(row: Sequence[float], other: Sequence[float]) -> bool:
    return all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(row, other, strict=True))


def _cheaper(row: Sequence[float | None], other: Sequence[float | None]) -> str:
    """The ratios of m at which the first is cheaper."""
    places = zip(paper.M_RATIOS, row, other, strict=True)
    return listed([ratio for ratio, a, b in places if a is not None and b is not None and a < b])


def _tables_klr(chosen: Selection) -> list[Table]:
    """MAC by k, ell and radius."""
    rows: list[Row] = []
    bases = []
    for k, ell, radius in product(paper.KLR_KS, paper.KLR_ELLS, paper.KLR_RADII):
        row: list[Value] = [k, ell, radius]
        for method in chosen.with_plugins(paper.KLR_METHODS):
            ours = chosen.where(method=method, k=k, ell=ell, radius=radius).averages
            bases.append(ours.num_cells)
            row += [ours.mac, ours.apr_text, f"{ours.num_macs} of {ours.num_cells}"]
        printed = None
        if (ell, radius) == (1, 0):
            printed = paper.TABLE1[paper.BEST, 8].mac if k == 2 else paper.TABLE4[paper.M_PBP, k][10.0]
        rows.append((*row, printed))
    columns = ["k", "ell", "radius"]
    for method in chosen.with_plugins(paper.KLR_METHODS):
        columns += [f"{method_label(method)}: MAC", "APR", "instances"]
    columns.append("paper MAC")
    notes = [
        "MAC: the mean over the instances on which something was anonymized, which the third column counts. APR: the "
        "mean over all instances.",
        "The paper's figure has no numbers in the text. 0.229 is from its Table 1. 0.644 is from the supplement's "
        "table, for m-Pbp at m = 10 shortest paths, which converges to this setting.",
        *chosen.stopped_note(),
    ]
    title = "Figure 4 in numbers: MAC and APR by k, ell and radius"
    return [chosen.build_table("klr", title, columns, rows, fixed="m = infinity", bases=bases, notes=notes)]


def _findings_klr(chosen: Selection) -> Iterator[str]:
    whole, remark = _complete(chosen)
    yield from remark
    (low_k, high_k), (low_ell, high_ell), radii = paper.KLR_KS, paper.KLR_ELLS, paper.KLR_RADII
    for method in paper.KLR_METHODS:
        macs = {
            (k, ell, radius): whole.where(method=method, k=k, ell=ell, radius=radius).averages.mac
            for k, ell, radius in product(paper.KLR_KS, paper.KLR_ELLS, radii)
        }
        if all(mac is None for mac in macs.values()):
            continue
        by_k = [(macs[low_k, ell, r], macs[high_k, ell, r]) for ell, r in product(paper.KLR_ELLS, radii)]
        by_ell = [(macs[k, low_ell, r], macs[k, high_ell, r]) for k, r in product(paper.KLR_KS, radii)]
        rows = [[macs[k, ell, r] for r in radii] for k, ell in product(paper.KLR_KS, paper.KLR_ELLS)]
        by_radius = [[mac for mac in row if mac is not None] for row in rows if None not in row]
        num_monotonic = sum(_is_rising(row) or _is_rising(row[::-1]) for row in by_radius)
        yield (
            f"{method_label(method)}: a larger k raises the mean MAC in {_raised(by_k)} settings, a larger ell in "
            f"{_raised(by_ell)}, the radius has a monotonic effect in {num_monotonic} of {len(by_radius)}."
        )


def _raised(pairs: Sequence[tuple[float | None, float | None]]) -> str:
    known = [(low, high) for low, high in pairs if low is not None and high is not None]
    return f"{sum(high > low for low, high in known)} of {len(known)}"


TABLE3_SUITE = Suite(
    name="table3",
    heading="Table 3: runtimes by m",
    where="Table 3, section 6.2",
    shows="The runtime of the planners for bounded m, for m of 0.1 to 10 times the shortest path.",
    found="Rbp and Cbp are far faster than m-Pbp, and Cbp becomes faster as m grows.",
    variations=paper_variations("table3"),
    takes=lambda cell: cell.m_ratio is not None and _is_bounded_or_limit(cell),
    tables=_tables_3,
    findings=_findings_3,
    pictures=chart("table3", "Mean runtime by m over the shortest path, both axes logarithmic."),
)

TABLE4_SUITE = Suite(
    name="table4",
    heading="Table 4: MAC by k and m",
    where="Figure 6, section 6.2, and the table of the supplement with its numbers",
    shows="The MAC of the planners for bounded m by k and m, with 8 candidates and ell = 1.",
    found="The MAC of Rbp and Cbp grows without bound as m does, and Rbp does not depend on k. The MAC of m-Pbp "
    "converges to that of Pbp. For small m and k of 3 or 5 Cbp is cheaper than m-Pbp, for larger m dearer.",
    variations=paper_variations("table4"),
    takes=_is_bounded_or_limit,
    tables=_tables_4,
    findings=_findings_4,
    pictures=chart("table4", "Mean MAC by m over the shortest path, both axes logarithmic."),
)

KLR_SUITE = Suite(
    name="klr",
    heading="The impact of k, ell and the radius",
    where="Figure 4, section 6.1",
    shows="The MAC of Merge-BB with CostAsc and Tunnel by k, ell and radius. The figure has no numbers in the text.",
    found="Larger k and larger ell raise the MAC. The radius has no monotonic effect: a larger one shortens both the "
    "hidden routes and the routes that they are measured against.",
    variations=paper_variations("klr"),
    tables=_tables_klr,
    findings=_findings_klr,
    pictures=chart(
        "klr", "Mean MAC by k, ell and radius; where not all candidates are anonymized, the mean APR stands above."
    ),
)
