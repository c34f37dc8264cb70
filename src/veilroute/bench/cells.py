"""One cell of an experiment: an instance, a privacy, a method and a time limit.

What is kept of a finished cell.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from veilroute.jsontext import dump_canonical

Place = tuple[int, int]


@dataclass(frozen=True)
class Method:
    """A planner with its options, under the name that tables and records use.

    Parameters
    ----------
    planner
        Name of a planner, as :func:`veilroute.solve` takes it.
    partitioner, merge_order, heuristic
        Its options; empty where the planner has none, or takes its default.
    """

    planner: str
    partitioner: str = ""
    merge_order: str = ""
    heuristic: str = ""

    @property
    def name(self) -> str:
        """For example ``pbp/merge-bb/cost-asc/tunnel``."""
        return "/".join(part for part in (self.planner, self.partitioner, self.merge_order, self.heuristic) if part)

    @property
    def options(self) -> dict[str, str]:
        """What to hand to :func:`veilroute.solve` beside the planner."""
        given = {"partitioner": self.partitioner, "merge_order": self.merge_order, "heuristic": self.heuristic}
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True)
class Instance:
    """A trip with candidates on a map.

    Parameters
    ----------
    map_name
        Without suffix, such as ``den101d``.
    seed
        Number of the pair of start and goal on this map.
    start, goal, candidates
        Cells; an experiment with n candidates takes the first n.
    """

    map_name: str
    seed: int
    start: Place
    goal: Place
    candidates: tuple[Place, ...]


@dataclass(frozen=True)
class Cell:
    """One run: what is solved, how, and for how long.

    Parameters
    ----------
    instance
        With exactly the candidates that take part.
    map_sha256
        Hash of the domain, so that records of another map with the same name are not mistaken for these.
    method
        How it is solved.
    k, ell, radius
        Privacy and visibility.
    m_ratio
        ``m`` over the number of nodes on a shortest path; ``None`` stands for m = infinity.
    time_limit_s
        When the method has to stop.
    seed
        For methods that draw at random.
    keep_playbook
        Whether the record holds the playbook, to draw it.
    """

    instance: Instance
    map_sha256: str
    method: Method
    k: int
    ell: float
    radius: float
    m_ratio: float | None
    time_limit_s: float
    seed: int = 0
    keep_playbook: bool = False

    @property
    def num_candidates(self) -> int:
        """How many candidates take part."""
        return len(self.instance.candidates)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a record."""
        return asdict(self)

    @cached_property
    def key(self) -> str:
        """Names the cell in a records file: equal for equal cells, in every process."""
        return hashlib.sha256(dump_canonical(self.to_dict())).hexdigest()[:16]


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
