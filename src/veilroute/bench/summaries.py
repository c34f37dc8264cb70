"""The records of a suite, and means over them: what tables, figures and sentences of a report have in common.

Means and deviations are those of :mod:`statistics`, whose sums are exact: the order of the records plays no part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from veilroute.bench.cells import InstanceKey, Method, Outcome, Record
from veilroute.bench.paper import MERGE_COST, MERGE_RANDOM, NAIVE, OPTIMAL, method_label


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean, ``None`` of nothing."""
    return fmean(values) if values else None


@dataclass(frozen=True)
class Averages:
    """Means over cells: runtime and APR over all, the MAC over the ``num_macs`` that have one.

    ``num_partial`` cells leave coverable candidates without anonymity.
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
        """Whether the runtime is only a lower bound, because the clock stopped some cells."""
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
class Selection:
    """The records of one suite: one for each instance, method and setting, sorted.

    ``num_repeated`` counts further records of the same, under a shorter time limit or another seed.
    """

    records: tuple[Record, ...]
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
    def bounded(self) -> tuple[Record, ...]:
        """The records with a finite m."""
        return tuple(record for record in self.records if record.cell.m_ratio is not None)

    @property
    def num_instances(self) -> int:
        """How many different instances occur."""
        return len({record.cell.instance_key for record in self.records})

    @property
    def is_finite_optimum_open(self) -> bool:
        """Whether the planner ``optimal`` left a finite m without a proof of optimality."""
        own = [record for record in self.bounded if record.cell.method == OPTIMAL]
        return any(record.outcome.status not in ("optimal", "infeasible") for record in own)

    def with_plugins(self, methods: tuple[Method, ...]) -> tuple[Method, ...]:
        """The methods of a table, then those of the records that name a plug-in, by name."""
        plugins = {record.cell.method for record in self.records if record.cell.method not in methods}
        return (*methods, *sorted((each for each in plugins if each.is_plugin), key=lambda method: method.name))

    def bounded_label(self, method: Method) -> str:
        """How a table of finite m calls a method: ``optimal`` without a proof for that m gets another name."""
        is_open = method == OPTIMAL and self.is_finite_optimum_open
        return "optimal (not all proved)" if is_open else method_label(method)

    def of_size(self, size: int) -> Selection:
        """Only the records with this number of candidates."""
        return Selection(tuple(r for r in self.records if r.cell.num_candidates == size), self.num_repeated)

    def by_size(self) -> Iterator[tuple[int, Selection]]:
        """Each number of candidates that occurs, with its records."""
        return ((size, self.of_size(size)) for size in self.sizes)

    def of_method(self, method: Method) -> list[Record]:
        """The records of one method."""
        return [record for record in self.records if record.cell.method == method]

    def by_instance(self, method: Method) -> dict[InstanceKey, Record]:
        """The records of one method by instance."""
        return {record.cell.instance_key: record for record in self.of_method(method)}

    def average(
        self, method: Method, *, ratio: float | None, k: int | None = None, ell: float = 1, radius: float = 0
    ) -> Averages:
        """Means of one method in one setting; ``k`` left out stands for every k."""
        setting = (ratio, ell, radius)
        return average(
            record
            for record in self.of_method(method)
            if (record.cell.m_ratio, record.cell.ell, record.cell.radius) == setting and k in (None, record.cell.k)
        )


@dataclass(frozen=True)
class Comparison:
    """One method at one number of candidates, as Table 1 has it.

    The total time is the mean over the :func:`timed_instances`, of which the method has ``num_timed``; ``None`` when
    there are none, or when it did not finish on each. On ``num_equal`` of the ``num_proved`` instances with a proved
    optimum the method met it.
    """

    averages: Averages
    total_time_s: float | None
    num_timed: int
    num_equal: int
    num_proved: int


def timed_instances(part: Selection) -> set[InstanceKey]:
    """The instances on which Merge-BB with Blind finished under both merge orders: those of the paper's Total Time."""
    first, second = (
        {key for key, record in part.by_instance(orders["blind"]).items() if record.outcome.is_finished}
        for orders in (MERGE_RANDOM, MERGE_COST)
    )
    return first & second


def compare(part: Selection, method: Method) -> Comparison:
    """Table 1's figures of one method; ``part`` has the records of one number of candidates."""
    own = part.by_instance(method)
    chosen = timed_instances(part)
    timed = [record.outcome for key, record in own.items() if key in chosen]
    optima = part.by_instance(OPTIMAL)
    proved = [
        (record.outcome, optima[key].outcome)
        for key, record in own.items()
        if key in optima and optima[key].outcome.status == "optimal"
    ]
    is_timed = all(outcome.is_finished for outcome in timed)
    return Comparison(
        averages=average(own.values()),
        total_time_s=mean([outcome.runtime_s for outcome in timed]) if is_timed else None,
        num_timed=len(timed),
        num_equal=sum(_is_as_good(outcome, optimum) for outcome, optimum in proved),
        num_proved=len(proved),
    )


def _is_as_good(outcome: Outcome, optimum: Outcome) -> bool:
    """Whether as many candidates are anonymized, at the same MAC but for rounding (1e-9, relative)."""
    if outcome.mac is None or optimum.mac is None or outcome.num_anonymized != optimum.num_anonymized:
        return False
    return math.isclose(outcome.mac, optimum.mac, rel_tol=1e-9, abs_tol=1e-12)


@dataclass(frozen=True)
class Relative:
    """One method's MAC divided by Naive's, as Table 2 has it: mean and deviation (n - 1) over the instances.

    On ``num_without`` instances the method has a record and there is no ratio: Naive's MAC is 0 or missing, or one of
    the two anonymized more candidates than the other.
    """

    mean: float | None
    deviation: float | None
    num_ratios: int
    num_without: int


def relate(part: Selection, method: Method) -> Relative:
    """Table 2's figures of one method; ``part`` has the records of one number of candidates.

    Naive is the one with the method's heuristic. A method without heuristic is compared with Naive under Tunnel, or
    under Blind on instances that have only that: both draw the same groups.
    """
    heuristics = (method.heuristic,) if method.heuristic in NAIVE else ("blind", "tunnel")
    naive = {key: record for heuristic in heuristics for key, record in part.by_instance(NAIVE[heuristic]).items()}
    own = part.by_instance(method)
    ratios = []
    for key, record in own.items():
        base = naive.get(key)
        if base is None or record.outcome.num_anonymized != base.outcome.num_anonymized:
            continue
        if record.outcome.mac is not None and base.outcome.mac:
            ratios.append(record.outcome.mac / base.outcome.mac)
    deviation = stdev(ratios) if len(ratios) > 1 else None
    return Relative(mean(ratios), deviation, len(ratios), len(own) - len(ratios))


@dataclass(frozen=True)
class Moment:
    """What a method has reached after some time.

    The APR is a mean over all cells, 0 for those without a partition yet; the MAC one over the ``num_macs`` cells whose
    partition has anonymized candidates.
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
