"""How a run was made, from what its records say: cells, maps, versions, machines, time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from veilroute.bench.cells import Cell
from veilroute.bench.design import PAPER_MAPS
from veilroute.bench.records import Record
from veilroute.bench.selection import STATUSES, belongs, errors_of, method_label
from veilroute.bench.table import format_seconds
from veilroute.bench.wording import counted, listed

_MOST_ERRORS = 10


def how_it_was_made(suite_names: Sequence[str], records: Sequence[Record], notes: Sequence[str]) -> list[str]:
    """Sentences on how the records of some suites came about.

    Parameters
    ----------
    suite_names
        Whose records count.
    records
        Of these and possibly of other suites.
    notes
        What the records do not know; these come first.
    """
    own = [record for record in records if any(belongs(name, record.cell) for name in suite_names)]
    failed = errors_of(own)
    stopped = [r for r in own if r.outcome.status in STATUSES and not r.outcome.is_finished]
    lines = [f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in notes]
    lines.append(f"Suites: {listed(suite_names)}.")
    num_ended = len(own) - len(stopped) - len(failed)
    lines.append(
        f"Cells: {len(own)}; {num_ended} came to their own end, {len(stopped)} were stopped by the clock, "
        f"{len(failed)} ended with an error."
    )
    if not own:
        return lines
    runtime_s = math.fsum(record.outcome.runtime_s for record in own)
    limits = sorted({record.cell.time_limit_s for record in own})
    lines.append(f"Time limit for a cell: {listed(limits)} s. Sum of the runtimes: {_duration(runtime_s)}.")
    lines.append(_maps(own))
    pairs = sorted({record.cell.instance.seed for record in own})
    seeds = sorted({record.cell.seed for record in own})
    lines.append(f"Pairs of start and goal on each map: {listed(pairs)}. Seeds of random draws: {listed(seeds)}.")
    if stopped:
        lines.append(f"Stopped by the clock: {_by_method(stopped)}.")
    lines += [f"Error in {_name(r.cell)}: {r.outcome.error or 'unknown'}" for r in failed[:_MOST_ERRORS]]
    if len(failed) > _MOST_ERRORS:
        lines.append(f"And {counted(len(failed) - _MOST_ERRORS, 'more error')}.")
    return lines + _provenance(own)


def _maps(records: Iterable[Record]) -> str:
    found = sorted({(record.cell.instance.map_name, record.cell.map_sha256) for record in records})
    named = listed([f"{name} ({sha256[:8]})" for name, sha256 in found])
    others = sorted({name for name, _ in found} - set(PAPER_MAPS))
    tail = "all have names of the paper's" if not others else f"not among the paper's: {listed(others)}"
    return f"Maps, with the start of their SHA-256: {named}; {tail}."


def _by_method(records: Iterable[Record]) -> str:
    counts: dict[str, int] = {}
    for record in records:
        name = method_label(record.cell.method)
        counts[name] = counts.get(name, 0) + 1
    return "; ".join(f"{name}: {counted(count, 'cell')}" for name, count in sorted(counts.items()))


def _provenance(records: Iterable[Record]) -> list[str]:
    told = [record.provenance for record in records]
    lines = []
    versions = _distinct(told, "versions")
    if versions:
        lines.append(f"Versions: {'; or '.join(versions)}.")
    machines = _distinct(told, "machine")
    if machines:
        lines.append(f"Machines: {'; and '.join(machines)}.")
    workers = {str(entry.get("worker")) for entry in told if entry.get("worker")}
    runs = {str(entry.get("run")) for entry in told if entry.get("run")}
    lines.append(f"Made by {counted(len(workers), 'worker')} in {counted(len(runs), 'run')}.")
    times = sorted(str(entry["finished_at"]) for entry in told if entry.get("finished_at"))
    if times:
        lines.append(f"The first cell was finished at {times[0]}, the last at {times[-1]}.")
    return lines


def _distinct(told: Iterable[dict[str, Any]], key: str) -> list[str]:
    """The different values of a field, each as ``name value, name value``."""
    found = set()
    for entry in told:
        value = entry.get(key)
        if isinstance(value, dict):
            found.add(", ".join(f"{name} {value[name]}" for name in sorted(value) if value[name] not in ("", None)))
        elif value:
            found.add(str(value))
    return sorted(found)


def _name(cell: Cell) -> str:
    where = f"{cell.instance.map_name}, pair {cell.instance.seed}, {cell.num_candidates} candidates"
    ratio = "infinity" if cell.m_ratio is None else f"{cell.m_ratio:g} shortest paths"
    return f"{cell.method.name} on {where}, k = {cell.k}, ell = {cell.ell:g}, radius {cell.radius:g}, m = {ratio}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{format_seconds(seconds)} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{minutes:.1f} minutes" if minutes < 90 else f"{hours:.1f} hours"
