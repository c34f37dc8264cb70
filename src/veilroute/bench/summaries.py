"""Means over records: what tables, figures and sentences of a report have in common.

Sums are exact (``math.fsum``), so that the order of the records plays no part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from veilroute.bench.cells import Method, Outcome, Record
from veilroute.bench.selection import InstanceKey, by_instance, instance_key
from veilroute.bench.suites import NAIVE, OPTIMAL

MERGE_BB_BLIND = (Method("pbp", "merge-bb", "random", "blind"), Method("pbp", "merge-bb", "cost-asc", "blind"))
"""Their instances are those of the paper's Total Time."""


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean, ``None`` of nothing."""
    return math.fsum(values) / len(values) if values else None


def deviation(values: Sequence[float]) -> float | None:
    """Standard deviation of a sample (n - 1), ``None`` of fewer than two values."""
    middle = mean(values)
    if middle is None or len(values) < 2:
        return None
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


@dataclass(frozen=True)
class Averages:
    """Means over cells.

    Parameters
    ----------
    num_cells, num_finished
        How many there are, and how many came to their own end.
    runtime_s
        Mean over all; a lower bound when some were stopped by the clock.
    apr
        Mean over all.
    mac, num_macs
        Mean over those that have one, and how many have one.
    num_partial
        How many leave coverable candidates without anonymity.
    """

    num_cells: int
    num_finished: int
    runtime_s: float | None
    apr: float | None
    mac: float | None
    num_macs: int
    num_partial: int

    @property
    def is_time_bound(self) -> bool:
        """Whether the runtime is only a lower bound."""
        return self.num_finished < self.num_cells


def average(records: Iterable[Record]) -> Averages:
    """Means over records."""
    outcomes = [record.outcome for record in records]
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
class Comparison:
    """One method at one number of candidates, as Table 1 has it.

    Parameters
    ----------
    method
        Which one.
    averages
        Over all its instances.
    total_time_s, num_timed
        Mean runtime over the instances on which Merge-BB with Blind finished under both merge orders, and how many of
        them the method has. ``None`` when there are none, or when it did not finish on each.
    num_equal, num_proved
        On how many instances the MAC is the optimum, and on how many the optimum is proved.
    """

    method: Method
    averages: Averages
    total_time_s: float | None
    num_timed: int
    num_equal: int
    num_proved: int


def timed_instances(records: Sequence[Record]) -> set[InstanceKey]:
    """The instances on which Merge-BB with Blind finished under both merge orders."""
    ended = [
        {key for key, record in by_instance(records, method).items() if record.outcome.is_finished}
        for method in MERGE_BB_BLIND
    ]
    return ended[0] & ended[1]


def compare(records: Sequence[Record], method: Method) -> Comparison:
    """Table 1's figures of one method; ``records`` are those of one number of candidates."""
    own = by_instance(records, method)
    chosen = timed_instances(records)
    timed = [record.outcome for key, record in own.items() if key in chosen]
    is_timed = all(outcome.is_finished for outcome in timed)
    optima = by_instance(records, OPTIMAL)
    proved = [
        (record.outcome, optima[key].outcome)
        for key, record in own.items()
        if key in optima and optima[key].outcome.status == "optimal"
    ]
    return Comparison(
        method=method,
        averages=average(own.values()),
        total_time_s=mean([outcome.runtime_s for outcome in timed]) if is_timed else None,
        num_timed=len(timed),
        num_equal=sum(is_as_good(outcome, optimum) for outcome, optimum in proved),
        num_proved=len(proved),
    )


def is_as_good(outcome: Outcome, optimum: Outcome) -> bool:
    """Whether as many candidates are anonymized, at the same MAC but for rounding (1e-9, relative)."""
    if outcome.mac is None or optimum.mac is None or outcome.num_anonymized != optimum.num_anonymized:
        return False
    return math.isclose(outcome.mac, optimum.mac, rel_tol=1e-9, abs_tol=1e-12)


@dataclass(frozen=True)
class Relative:
    """One method's MAC divided by Naive's, as Table 2 has it.

    Parameters
    ----------
    method
        Which one.
    mean, deviation
        Of the ratios, one for each instance.
    num_ratios
        On how many instances there is one.
    num_without
        On how many the method has a record and there is none: Naive's MAC is 0 or missing, or one of the two
        anonymized more candidates than the other.
    """

    method: Method
    mean: float | None
    deviation: float | None
    num_ratios: int
    num_without: int


def relate(records: Sequence[Record], method: Method) -> Relative:
    """Table 2's figures of one method; ``records`` are those of one number of candidates.

    Naive is the one with the method's heuristic. A method without heuristic is compared with Naive under Tunnel, or
    under Blind on instances that have only that: both draw the same groups.
    """
    heuristics = (method.heuristic,) if method.heuristic in NAIVE else ("tunnel", "blind")
    naive: dict[InstanceKey, Record] = {}
    for heuristic in reversed(heuristics):
        naive |= by_instance(records, NAIVE[heuristic])
    own = by_instance(records, method)
    ratios = []
    for key, record in own.items():
        base = naive.get(key)
        if base is None or record.outcome.num_anonymized != base.outcome.num_anonymized:
            continue
        if record.outcome.mac is not None and base.outcome.mac:
            ratios.append(record.outcome.mac / base.outcome.mac)
    return Relative(method, mean(ratios), deviation(ratios), len(ratios), len(own) - len(ratios))


@dataclass(frozen=True)
class Moment:
    """What a method has reached after some time.

    Parameters
    ----------
    apr
        Mean over its instances; 0 counts for those without a partition yet.
    mac, num_macs
        Mean over the instances that have a partition with anonymized candidates, and how many have one.
    num_cells
        How many instances there are.
    """

    apr: float | None
    mac: float | None
    num_macs: int
    num_cells: int


def steps_of(outcome: Outcome) -> tuple[tuple[float, float, float | None], ...]:
    """Seconds, APR and MAC at each improvement; a method that reports none has its result when it ends."""
    if not outcome.improvements:
        return ((outcome.runtime_s, outcome.apr, outcome.mac),)
    coverable = outcome.num_coverable
    return tuple(
        (seconds, count / coverable if coverable else 0.0, mac if count else None)
        for seconds, count, mac in sorted(outcome.improvements, key=lambda step: step[0])
    )


def moment(records: Sequence[Record], time_s: float) -> Moment:
    """What the records of one method show at a time."""
    aprs: list[float] = []
    macs: list[float] = []
    for record in records:
        reached = [step for step in steps_of(record.outcome) if step[0] <= time_s]
        _, apr, mac = reached[-1] if reached else (0.0, 0.0, None)
        aprs.append(apr)
        if mac is not None:
            macs.append(mac)
    return Moment(mean(aprs), mean(macs), len(macs), len(records))


def of_method(records: Iterable[Record], method: Method) -> list[Record]:
    """The records of one method."""
    return [record for record in records if record.cell.method == method]


def num_instances(records: Iterable[Record]) -> int:
    """How many different instances occur."""
    return len({instance_key(record) for record in records})
