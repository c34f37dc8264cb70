"""What is kept of a finished cell."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from veilroute.bench.cells import Cell, Instance, Method

FORMAT = "veilroute-record/1"


@dataclass(frozen=True)
class Outcome:
    """What came of a cell.

    Parameters
    ----------
    status
        Of the playbook: ``optimal``, ``feasible`` or ``infeasible``; ``error`` when there is none.
    is_finished
        Whether the method came to its own end, and was not stopped by the time limit.
    m
        In nodes, ``None`` for infinity.
    num_coverable, num_anonymized, apr, mac, mac_lower_bound
        As the playbook claims.
    runtime_s
        Seconds of planning, without imports and compilation.
    improvements
        Each better partition that the method found: seconds, members anonymized, MAC.
    peak_memory_mb
        The most memory that the worker has held so far.
    audit_holds
        What the auditor says, ``None`` when it was not asked.
    playbook
        Without its domain, when the cell asked to keep it.
    error
        Why the cell could not be run to an end, in one line; empty when it was.
    """

    status: str
    is_finished: bool
    m: int | None
    num_coverable: int
    num_anonymized: int
    apr: float
    mac: float | None
    mac_lower_bound: float | None
    runtime_s: float
    improvements: tuple[tuple[float, int, float], ...] = ()
    peak_memory_mb: float | None = None
    audit_holds: bool | None = None
    playbook: dict[str, Any] | None = None
    error: str = ""


@dataclass(frozen=True)
class Record:
    """A finished cell.

    Parameters
    ----------
    cell
        What was run.
    outcome
        What came of it.
    provenance
        Versions, machine, worker, run and time of day.
    """

    cell: Cell
    outcome: Outcome
    provenance: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, one line of a records file."""
        return {
            "format": FORMAT,
            "key": self.cell.key,
            "cell": self.cell.to_dict(),
            "outcome": asdict(self.outcome),
            "provenance": self.provenance,
        }


def record_from_dict(data: dict[str, Any]) -> Record:
    """Read a record back."""
    cell = dict(data["cell"])
    instance = dict(cell.pop("instance"))
    for name in ("start", "goal"):
        instance[name] = tuple(instance[name])
    instance["candidates"] = tuple(tuple(place) for place in instance["candidates"])
    outcome = dict(data["outcome"])
    outcome["improvements"] = tuple(tuple(step) for step in outcome["improvements"])
    method = Method(**cell.pop("method"))
    record = Record(Cell(Instance(**instance), method=method, **cell), Outcome(**outcome), data["provenance"])
    _check(record)
    return record


def _check(record: Record) -> None:
    """Raise `TypeError` for a record whose outcome is not of the kinds that tables count on."""
    outcome = record.outcome
    numbers = [getattr(outcome, name) for name in _NUMBERS] + [x for step in outcome.improvements for x in step]
    numbers += [value for name in _NUMBERS_OR_NONE if (value := getattr(outcome, name)) is not None]
    if not all(isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x) for x in numbers):
        raise TypeError("outcome: expected finite numbers")
    if not isinstance(outcome.is_finished, bool) or not isinstance(outcome.audit_holds, bool | None):
        raise TypeError("outcome: expected true or false")
    if not all(isinstance(text, str) for text in (outcome.status, outcome.error)):
        raise TypeError("outcome: expected text")
    if not isinstance(outcome.playbook, dict | None) or any(len(step) != 3 for step in outcome.improvements):
        raise TypeError("outcome: expected a playbook and steps of three")
    if not all(isinstance(record.provenance[name], dict) for name in ("versions", "machine", "worker")):
        raise TypeError("provenance: expected objects")
    if not all(isinstance(record.provenance[name], str) for name in ("run", "finished_at")):
        raise TypeError("provenance: expected text")


_NUMBERS = ("num_coverable", "num_anonymized", "apr", "runtime_s")
_NUMBERS_OR_NONE = ("m", "mac", "mac_lower_bound", "peak_memory_mb")
