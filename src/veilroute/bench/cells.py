"""One cell of an experiment: an instance, a privacy, a method and a time limit."""

from __future__ import annotations

import hashlib
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
