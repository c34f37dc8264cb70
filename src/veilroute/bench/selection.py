"""Which records belong to which suite, and in which order they are looked at.

Playbooks that are drawn: which records hold one, and the names of their pictures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from veilroute.bench import published
from veilroute.bench.cells import Cell, Method, Record
from veilroute.bench.suites import (
    BEST,
    BOUNDED,
    BOUNDED_SIZE,
    CONVERGING,
    KLR_ELLS,
    KLR_KS,
    KLR_METHODS,
    KLR_RADII,
    KLR_SIZE,
    OPTIMAL,
    PARTITIONING,
    SUITES,
)
from veilroute.errors import UnknownMethodError

InstanceKey = tuple[object, ...]

STATUSES = ("optimal", "feasible", "infeasible")
"""Of a cell that came to an end; any other status is an error and counts nowhere but in the list of errors."""

_PARTITIONERS = {"naive": "Naive", "df-bb": "DF-BB", "merge-bb": "Merge-BB", "exact": "exact"}
_ORDERS = {"random": "Random", "cost-asc": "CostAsc"}
_HEURISTICS = {"blind": "Blind", "tunnel": "Tunnel"}
_PLANNERS = {"rbp": "Rbp", "cbp": "Cbp", "m-pbp": "m-Pbp"}


@dataclass(frozen=True)
class Selection:
    """The records of one suite.

    Parameters
    ----------
    records
        One for each instance, method and setting, sorted.
    num_repeated
        How many more there were of the same instance, method and setting, under a shorter time limit or another seed.
    """

    records: tuple[Record, ...]
    num_repeated: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of candidates that occur."""
        return tuple(sorted({record.cell.num_candidates for record in self.records}))

    @property
    def time_limits_s(self) -> tuple[float, ...]:
        """The time limits that occur."""
        return tuple(sorted({record.cell.time_limit_s for record in self.records}))

    def of_size(self, size: int) -> Selection:
        """Only the records with this number of candidates."""
        return Selection(tuple(r for r in self.records if r.cell.num_candidates == size), self.num_repeated)


def select(suite_name: str, records: Iterable[Record]) -> Selection:
    """The records of a suite, each instance once for each method and setting.

    Of several records of the same the one with the longest time limit is taken, then the one with the smallest seed,
    then the one with the smallest key. The order of ``records`` plays no part. Errors are left out.
    """
    if suite_name not in SUITES:
        raise UnknownMethodError("suite", suite_name, SUITES)
    best: dict[tuple[object, ...], Record] = {}
    num_repeated = 0
    for record in sorted(records, key=_rank):
        if record.outcome.status not in STATUSES or not belongs(suite_name, record.cell):
            continue
        cell = record.cell
        place = (instance_key(record), cell.method, cell.k, cell.ell, cell.radius, cell.m_ratio)
        if place not in best:
            best[place] = record
        elif best[place].cell.key != cell.key:
            num_repeated += 1
    return Selection(tuple(sorted(best.values(), key=_order)), num_repeated)


def belongs(suite_name: str, cell: Cell) -> bool:
    """Whether a cell is one of a suite's, whatever its map, time limit and seed."""
    if suite_name == "examples" or cell.keep_playbook:
        return suite_name == "examples" and cell.keep_playbook
    if suite_name == "klr":
        setting = cell.k in KLR_KS and cell.ell in KLR_ELLS and cell.radius in KLR_RADII and cell.m_ratio is None
        return setting and cell.method in KLR_METHODS and cell.num_candidates == KLR_SIZE
    if cell.ell != 1 or cell.radius != 0:
        return False
    if suite_name in ("table3", "table4"):
        # Where m = infinity was run too, it is what m-Pbp converges to.
        unbounded = (BEST, OPTIMAL) if suite_name == "table4" else ()
        return cell.method in (unbounded if cell.m_ratio is None else BOUNDED) and cell.num_candidates == BOUNDED_SIZE
    methods = CONVERGING if suite_name == "convergence" else PARTITIONING
    return cell.k == 2 and cell.m_ratio is None and cell.method in methods


def instance_key(record: Record) -> InstanceKey:
    """Equal for records of the same trip with the same candidates on the same map."""
    cell = record.cell
    at = cell.instance
    return (at.map_name, cell.map_sha256, at.seed, at.start, at.goal, at.candidates)


def by_instance(records: Iterable[Record], method: Method) -> dict[InstanceKey, Record]:
    """The records of one method by instance."""
    return {instance_key(record): record for record in records if record.cell.method == method}


def setting(
    records: Iterable[Record],
    method: Method,
    *,
    ratio: float | None,
    k: int | None = None,
    ell: float = 1,
    radius: float = 0,
) -> list[Record]:
    """The records of one method in one setting; ``k`` left out stands for every k."""
    return [
        record
        for record in records
        if record.cell.method == method
        and record.cell.m_ratio == ratio
        and k in (None, record.cell.k)
        and (record.cell.ell, record.cell.radius) == (ell, radius)
    ]


def errors_of(records: Iterable[Record]) -> list[Record]:
    """Records of cells that ended with an error, sorted."""
    return sorted((record for record in records if record.outcome.status not in STATUSES), key=_order)


def method_label(method: Method) -> str:
    """How tables and figures call a method, for example ``Merge-BB, CostAsc, Tunnel``."""
    if method == OPTIMAL:
        return "optimal (exact)"
    if method in BOUNDED:
        return _PLANNERS[method.planner]
    parts = [] if method.planner == "pbp" else [_PLANNERS.get(method.planner, method.planner)]
    parts.append(_PARTITIONERS.get(method.partitioner, method.partitioner))
    parts.append(_ORDERS.get(method.merge_order, method.merge_order))
    parts.append(_HEURISTICS.get(method.heuristic, method.heuristic))
    return ", ".join(part for part in parts if part)


def bounded_label(method: Method, records: Sequence[Record]) -> str:
    """How tables and figures of finite m call a method: ``optimal`` without a proof for that m gets another name."""
    if method == OPTIMAL and is_finite_optimum_open(records):
        return "optimal (not all proved)"
    return method_label(method)


def is_finite_optimum_open(records: Sequence[Record]) -> bool:
    """Whether the planner ``optimal`` left a finite m without a proof of optimality."""
    finite = [r for r in records if r.cell.method == OPTIMAL and r.cell.m_ratio is not None]
    return any(record.outcome.status not in ("optimal", "infeasible") for record in finite)


def _rank(record: Record) -> tuple[Any, ...]:
    return (-record.cell.time_limit_s, record.cell.seed, record.cell.key)


def _order(record: Record) -> tuple[Any, ...]:
    cell = record.cell
    at = cell.instance
    ratio = float("inf") if cell.m_ratio is None else cell.m_ratio
    place = (at.map_name, cell.map_sha256, at.seed, at.start, at.goal, cell.num_candidates)
    return (*place, cell.k, cell.ell, cell.radius, ratio, cell.method.name, cell.key)


_LONGEST = 40


@dataclass(frozen=True)
class Example:
    """A record to draw.

    Parameters
    ----------
    record
        With or without the playbook that its cell asked for.
    name
        Of its picture, without suffix: lower case letters, digits and hyphens, different for different records.
    num_classes
        How many classes are anonymized, ``None`` without a playbook.
    paper_figure
        Where the paper draws the same setting on a map of this name, ``None`` where it does not.
    """

    record: Record
    name: str
    num_classes: int | None
    paper_figure: str | None


def find_examples(records: Iterable[Record]) -> list[Example]:
    """The examples among records, by map, pair and setting."""
    examples: list[Example] = []
    taken: set[str] = set()
    for record in select("examples", records).records:
        cell, playbook = record.cell, record.outcome.playbook
        name = plain = f"example-{_plain(cell.instance.map_name)}-{cell.instance.seed}-k{cell.k}-ell{cell.ell:g}"
        number = 1
        while name in taken:
            number += 1
            name = f"{plain}-{number}"
        taken.add(name)
        num_classes = None if playbook is None else sum(group["anonymized"] for group in playbook["classes"])
        is_drawn = cell.k == 2 and cell.m_ratio is None
        figure = published.EXAMPLES.get((cell.instance.map_name, float(cell.ell))) if is_drawn else None
        examples.append(Example(record, name, num_classes, figure))
    return examples


def _plain(name: str) -> str:
    """What is left of a map's name in the name of a file, on every system."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_LONGEST] or "map"
