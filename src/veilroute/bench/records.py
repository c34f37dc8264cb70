"""What is kept of a finished cell."""

from __future__ import annotations

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
    return Record(Cell(Instance(**instance), method=method, **cell), Outcome(**outcome), data["provenance"])
