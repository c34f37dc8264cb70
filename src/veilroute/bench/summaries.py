"""The records of a suite, and means over them: what tables, figures and sentences of a report have in common.

Means and deviations are those of :mod:`statistics`, whose sums are exact: the order of the records plays no part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, stdev

from veilroute.bench.cells import InstanceKey, Method, Outcome, Record
from veilroute.bench.paper import MERGE_COST, MERGE_RANDOM, NAIVE, OPTIMAL, method_label


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean, ``None`` of nothing."""
    return fmean(values) if values else None


@dataclass(frozen=True)
class Averages:
    """Means over cells: runtime and APR over all, the MAC over those that have one."""

    num_cells: int
    num_finished: int
    runtime_s: float | None
    apr: float | None
    mac: float | None
    num_macs: int
    num_partial: int  # cells that leave coverable candidates without anonymity

    @property
    def is_time_bound(self) -> bool:
        """Whether the runtime is only a lower bound, because the clock stopped some cells."""
        return self.num_finished < self.num_cells


def average(outcomes: Sequence[Outcome]) -> Averages:
    """Means over outcomes."""
    macs = [outcome.mac for outcome in outcomes if outcome.mac is not None]
    return Averages(
        num_cells=len(outcomes),
        num_finished=sum(outcome.is_finished for outcome in outcomes),
        runtime_s=mean([outcome.runtime_s for outcome in outcomes]),
        apr=mean([outcome.apr for outcome in outcomes]),
        mac=mean(macs),
        num_macs=len(macs),
        num_partial=sum(outcome.num_anonymized < outcome.num_coverable for outcome in outcomes),
    )


@dataclass(frozen=True)
class Selection:
    """The records of one suite: one for each instance, method and setting, sorted."""

    records: tuple[Record, ...]
    #: Further records of the same, under a shorter time limit or another seed.
    num_repeated: int = 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of candidates that occur."""
        return tuple(sorted({record.cell.num_candidates for record in self.records}))

    @property
    def time_limits_s(self) -> tuple[float, ...]:
        """The time limits that occur."""
        return tuple(sorted({record.cell.time_limit_s for record in self.records}))

    @property
    def num_instances(self) -> int:
        """How many different instances occur."""
        return len({record.cell.instance_key for record in self.records})

    @property
    def bounded(self) -> Selection:
        """Only the records with a finite m."""
        return Selection(tuple(record for record in self.records if record.cell.m_ratio is not None))

    @cached_property
    def averages(self) -> Averages:
        """Means over all records."""
        return average([record.outcome for record in self.records])

    def where(self, **setting: object) -> Selection:
        """Only the records whose cells have these values, such as ``method=BEST, k=2``."""
        wanted = setting.items()
        chosen = (r for r in self.records if all(getattr(r.cell, name) == value for name, value in wanted))
        return Selection(tuple(chosen), self.num_repeated)

    def by_size(self) -> Iterator[tuple[int, Selection]]:
        """Each number of candidates that occurs, with its records."""
        return ((size, self.where(num_candidates=size)) for size in self.sizes)

    def by_instance(self, method: Method) -> dict[InstanceKey, Outcome]:
        """The outcomes of one method by instance."""
        return {record.cell.instance_key: record.outcome for record in self.where(method=method).records}

    def with_plugins(self, methods: tuple[Method, ...]) -> tuple[Method, ...]:
        """The methods of a table, then those of the records that name a plug-in, by name."""
        plugins = {record.cell.method for record in self.records if record.cell.method not in methods}
        return (*methods, *sorted((each for each in plugins if each.is_plugin), key=lambda method: method.name))

    @property
    def is_finite_optimum_open(self) -> bool:
        """Whether the planner ``optimal`` left a finite m without a proof of optimality."""
        own = self.bounded.where(method=OPTIMAL).records
        return any(record.outcome.status not in ("optimal", "infeasible") for record in own)

    def bounded_label(self, method: Method) -> str:
        """How a table of finite m calls a method: ``optimal`` without a proof for that m gets another name."""
        is_open = method == OPTIMAL and self.is_finite_optimum_open
        return "optimal (not all proved)" if is_open else method_label(method)


@dataclass(frozen=True)
class Comparison:
    """One method at one number of candidates, as Table 1 has it."""

    averages: Averages
    #: The mean over the instances of the paper's total time; ``None`` without any, or when one was not finished.
    total_time_s: float | None
    num_timed: int  #: On how many of these instances the method has a record.
    num_equal: int  #: On how many of the instances with a proved optimum the method met it.
    num_proved: int  #: How many instances with a proved optimum there are.


def timed_instances(part: Selection) -> set[InstanceKey]:
    """The instances on which Merge-BB with Blind finished under both merge orders: those of the paper's Total Time."""
    first, second = (
        {key for key, outcome in part.by_instance(orders["blind"]).items() if outcome.is_finished}
        for orders in (MERGE_RANDOM, MERGE_COST)
    )
    return first & second


def compare(part: Selection, method: Method) -> Comparison:
    """Table 1's figures of one method; ``part`` has the records of one number of candidates."""
    own, optima, chosen = part.by_instance(method), part.by_instance(OPTIMAL), timed_instances(part)
    timed = [outcome for key, outcome in own.items() if key in chosen]
    proved = [(own[key], best) for key, best in optima.items() if key in own and best.status == "optimal"]
    is_timed = all(outcome.is_finished for outcome in timed)
    return Comparison(
        averages=average(list(own.values())),
        total_time_s=mean([outcome.runtime_s for outcome in timed]) if is_timed else None,
        num_timed=len(timed),
        num_equal=sum(_is_as_good(outcome, best) for outcome, best in proved),
        num_proved=len(proved),
    )


def _is_as_good(outcome: Outcome, optimum: Outcome) -> bool:
    """Whether as many candidates are anonymized, at the same MAC but for rounding (1e-9, relative)."""
    if outcome.mac is None or optimum.mac is None or outcome.num_anonymized != optimum.num_anonymized:
        return False
    return math.isclose(outcome.mac, optimum.mac, rel_tol=1e-9, abs_tol=1e-12)


@dataclass(frozen=True)
class Relative:
    """One method's MAC divided by Naive's, as Table 2 has it: mean and deviation (n - 1) over the instances."""

    mean: float | None
    deviation: float | None
    num_ratios: int
    # Instances with a record and no ratio: Naive's MAC is 0 or missing, or one of the two anonymized more candidates.
    num_without: int


def relate(part: Selection, method: Method) -> Relative:
    """Table 2's figures of one method; ``part`` has the records of one number of candidates.

    Naive is the one with the method's heuristic. A method without heuristic is compared with Naive under Tunnel, or
    under Blind on instances that have only that: both draw the same groups.
    """
    heuristics = (method.heuristic,) if method.heuristic in NAIVE else ("blind", "tunnel")
    naive = {key: outcome for name in heuristics for key, outcome in part.by_instance(NAIVE[name]).items()}
    own = part.by_instance(method)
    pairs = [(outcome, naive[key]) for key, outcome in own.items() if key in naive]
    ratios = [
        outcome.mac / base.mac
        for outcome, base in pairs
        if outcome.mac is not None and base.mac and outcome.num_anonymized == base.num_anonymized
    ]
    deviation = stdev(ratios) if len(ratios) > 1 else None
    return Relative(mean(ratios), deviation, len(ratios), len(own) - len(ratios))


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
    return average(outcomes)
