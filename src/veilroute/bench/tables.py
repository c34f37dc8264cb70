"""The tables of each suite, with the paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from veilroute.bench.bounded_tables import build_table3, build_table4
from veilroute.bench.design import KLR_ELLS, KLR_KS, KLR_METHODS, KLR_RADII
from veilroute.bench.examples import Example, find_examples
from veilroute.bench.partitioning_tables import build_convergence, build_table1, build_table2
from veilroute.bench.published import TABLE1, TABLE4
from veilroute.bench.records import Record
from veilroute.bench.selection import Selection, method_label, select, setting
from veilroute.bench.summaries import average
from veilroute.bench.table import Table, Value, format_apr
from veilroute.bench.wording import caveats, setting_note, stopped_note

__all__ = ["Table", "build_tables"]


def build_tables(suite_name: str, records: Sequence[Record]) -> list[Table]:
    """The tables of a suite.

    Parameters
    ----------
    suite_name
        One of :data:`veilroute.bench.design.SUITES`.
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
