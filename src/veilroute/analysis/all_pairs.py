"""Every start and goal of a map: whom a planner hides on which trip, and at what cost (the paper's Definition 3).

A planner has (k, ell, m)-anonymity *for a domain* when it gives every tuple of start, goal and transit point an
anonymized path that can have one. One plan answers for one start and goal; here there is one for each ordered pair of
some points of the map, or of all of them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, median
from typing import Any

from veilroute.base.checks import check_whole
from veilroute.base.errors import InvalidInputError
from veilroute.base.run import ProgressCallback, Watch, check_time_limit
from veilroute.domain.graph import Domain, Label
from veilroute.model.metrics import extra_costs
from veilroute.model.problem import Privacy, Problem, Trip
from veilroute.planners.solve import solve

MAX_POINTS = 3000  #: the most points whose pairs are surveyed: nine million of them


@dataclass(frozen=True)
class PairOutcome:
    """The plan for one start and goal in figures."""

    start: Label
    goal: Label
    status: str  #: of the plan: ``optimal``, ``feasible`` or ``infeasible``
    num_coverable: int
    num_anonymizable: int | None  #: whom any planner could hide on this trip; ``None`` where the planner does not say
    num_anonymized: int
    mac: float | None  #: ``None`` when nobody is hidden

    @property
    def is_whole(self) -> bool | None:
        """Whether everybody is hidden who can be; ``None`` where that is not known."""
        return None if self.num_anonymizable is None else self.num_anonymized == self.num_anonymizable

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class CandidateOutcome:
    """How one candidate fares over all surveyed pairs."""

    candidate: Label
    num_coverable: int  #: pairs on which it can be covered and is neither start nor goal
    num_anonymized: int  #: those of them on which it is hidden
    mean_extra: float | None  #: how much longer its route is on average where it is hidden, as a share

    @property
    def hidden(self) -> float | None:
        """On what share of the pairs it is hidden."""
        return self.num_anonymized / self.num_coverable if self.num_coverable else None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class PairSurvey:
    """What came of all pairs of some points of a map."""

    domain: Domain
    privacy: Privacy
    planner: str
    points: tuple[Label, ...]  #: the starts and goals, in the order in which they were drawn
    pairs: tuple[PairOutcome, ...]
    candidates: tuple[CandidateOutcome, ...]
    num_wanted: int  #: how many pairs were asked for; more than there are after an early stop

    @property
    def is_complete(self) -> bool:
        """Whether these are all pairs of nodes of the map."""
        return len(self.pairs) == self.domain.num_nodes**2

    @cached_property
    def num_anonymized(self) -> int:
        """How many tuples of start, goal and candidate are hidden."""
        return sum(pair.num_anonymized for pair in self.pairs)

    @cached_property
    def num_anonymizable(self) -> int | None:
        """How many could be; ``None`` where the planner does not say."""
        known = [pair.num_anonymizable for pair in self.pairs if pair.num_anonymizable is not None]
        return sum(known) if len(known) == len(self.pairs) else None

    @property
    def num_coverable(self) -> int:
        """How many tuples there are whose candidate can be covered."""
        return sum(pair.num_coverable for pair in self.pairs)

    @property
    def satisfies(self) -> bool | None:
        """Whether the planner keeps Definition 3 on the surveyed pairs; ``None`` where that is not known.

        A single tuple that could be hidden and is not says no, whatever the others are.
        """
        verdicts = {pair.is_whole for pair in self.pairs}
        if False in verdicts:
            return False
        return None if None in verdicts or not verdicts else True

    @cached_property
    def macs(self) -> tuple[float, ...]:
        """The MACs of all pairs that have one, ascending."""
        return tuple(sorted(pair.mac for pair in self.pairs if pair.mac is not None))

    def at_points(self) -> dict[Label, tuple[float | None, float | None]]:
        """For each point the mean MAC of the trips that start or end there, and what share of candidates they hide."""
        of: dict[Label, list[PairOutcome]] = {point: [] for point in self.points}
        for pair in self.pairs:
            for end in dict.fromkeys((pair.start, pair.goal)):
                of[end].append(pair)
        table: dict[Label, tuple[float | None, float | None]] = {}
        for point, pairs in of.items():
            macs = [pair.mac for pair in pairs if pair.mac is not None]
            num = sum(pair.num_coverable for pair in pairs)
            hidden = sum(pair.num_anonymized for pair in pairs)
            table[point] = (fmean(macs) if macs else None, hidden / num if num else None)
        return table

    def text(self) -> str:
        """The result in a few sentences."""
        privacy = self.privacy
        m = "infinity" if privacy.m is None else str(privacy.m)
        what = f"({privacy.k}, {privacy.ell:g}, {m})-anonymity"
        if privacy.risk is not None:
            what = f"a risk of at most {privacy.risk:g}"
        scope = "all pairs of this map" if self.is_complete else f"the pairs of {len(self.points)} of its points"
        tuples = f"{self.num_coverable:,} tuples with a candidate that can be covered"
        lines = [f"{len(self.pairs):,} pairs of start and goal, {tuples}."]
        hidden = f"{self.num_anonymized:,} are hidden"
        if self.num_anonymizable is None:
            lines.append(f"Of these {hidden}; how many could be, the planner {self.planner} does not say.")
        else:
            lines.append(f"Of these {self.num_anonymizable:,} can be hidden, and {hidden}.")
        verdict = {True: "holds", False: "does not hold", None: "is not known"}[self.satisfies]
        lines.append(f"Definition 3, {what} of {self.planner}, {verdict} on {scope}.")
        if self.macs:
            mean, middle = fmean(self.macs), median(self.macs)
            lines.append(f"MAC: {mean:.4g} on average, {middle:.4g} in the middle, {self.macs[-1]:.4g} at worst.")
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        at_points = self.at_points()
        return {
            "planner": self.planner,
            **self.privacy.to_dict(),
            "is_complete": self.is_complete,
            "num_pairs": len(self.pairs),
            "num_wanted": self.num_wanted,
            "num_coverable": self.num_coverable,
            "num_anonymizable": self.num_anonymizable,
            "num_anonymized": self.num_anonymized,
            "satisfies": self.satisfies,
            "mac": fmean(self.macs) if self.macs else None,
            "worst_mac": self.macs[-1] if self.macs else None,
            "points": [{"point": p, "mac": at_points[p][0], "hidden": at_points[p][1]} for p in self.points],
            "candidates": [each.to_dict() for each in self.candidates],
            "pairs": [pair.to_dict() for pair in self.pairs],
        }


def survey_pairs(
    problem: Problem,
    privacy: Privacy | None = None,
    *,
    points: int | Sequence[Label] | None = 24,
    planner: str = "optimal",
    seed: int = 0,
    time_limit_s: float | None = None,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
    **options: Any,
) -> PairSurvey:
    """Plan for every ordered pair of some points of a map, a start that is the goal included.

    Parameters
    ----------
    problem
        Domain, candidates and visibility; its trips play no part.
    privacy
        What to reach; ``Privacy()`` when left out.
    points
        How many points of the map to draw, or which ones to take; ``None`` for all of its nodes, which takes a plan for
        each of their pairs.
    planner, seed, **options
        As for :func:`~veilroute.solve`; the seed also draws the points, and a larger number of them goes on with the
        same.
    time_limit_s, progress, should_stop
        As for :func:`~veilroute.solve`, for the whole survey. Pairs are surveyed point by point, each with those
        before it, so that what was done before a stop is a survey of the first points.
    """
    privacy = Privacy() if privacy is None else privacy
    chosen = _choose(problem.domain, points, seed)
    watch = Watch(progress, check_time_limit(time_limit_s), should_stop)
    pairs: list[PairOutcome] = []
    tally = {label: _Tally() for label in problem.candidates}
    num_wanted = len(chosen) ** 2
    for start, goal in _pairs_of(chosen):
        watch.tell("pairs", len(pairs), num_wanted)
        if watch.is_over():
            break
        trip = replace(problem, trips=[Trip(start, goal)]).sharing_work()
        pair = _plan_pair(trip, privacy, tally, watch, planner=planner, seed=seed, **options)
        if pair is None:
            break
        pairs.append(pair)
    seen = {end for pair in pairs for end in (pair.start, pair.goal)}
    return PairSurvey(
        domain=problem.domain,
        privacy=privacy,
        planner=planner,
        points=tuple(point for point in chosen if point in seen),
        pairs=tuple(pairs),
        candidates=tuple(tally[label].outcome(label) for label in problem.candidates),
        num_wanted=num_wanted,
    )


@dataclass
class _Tally:
    num_coverable: int = 0
    num_anonymized: int = 0
    extra: float = 0.0

    def outcome(self, label: Label) -> CandidateOutcome:
        mean = self.extra / self.num_anonymized if self.num_anonymized else None
        return CandidateOutcome(label, self.num_coverable, self.num_anonymized, mean)


def _choose(domain: Domain, points: int | Sequence[Label] | None, seed: int) -> list[Label]:
    if points is None or isinstance(points, int):
        num = domain.num_nodes if points is None else points
        most = min(MAX_POINTS, domain.num_nodes)
        check_whole("points", num, f"a number from 1 to {most}", least=1, most=most)
        if points is None:
            return [domain.label(node) for node in range(domain.num_nodes)]
        order = list(range(domain.num_nodes))
        random.Random(f"veilroute-pairs-{seed}").shuffle(order)
        return [domain.label(node) for node in order[:num]]
    chosen = [domain.label(domain.node(label, field="points")) for label in points]
    if not chosen or len(set(chosen)) < len(chosen):
        raise InvalidInputError("points", "different nodes, one at least")
    return chosen


def _pairs_of(points: Sequence[Label]) -> Iterator[tuple[Label, Label]]:
    """Each point with all before it, both ways, and with itself."""
    for number, point in enumerate(points):
        yield point, point
        for other in points[:number]:
            yield point, other
            yield other, point


def _plan_pair(
    problem: Problem, privacy: Privacy, tally: dict[Label, _Tally], watch: Watch, **options: Any
) -> PairOutcome | None:
    """Plan for one start and goal, and add what comes of it to what is known about each candidate.

    ``None`` when it was over before the plan was done: then nothing is added.
    """
    # Here, because it loads the kernels, which nobody needs who only reads a survey.
    from veilroute.covering.task import prepare_task

    ends = problem.trips[0].start, problem.trips[0].goal
    task = prepare_task(problem)  # the plan will use it as well
    bases = {problem.candidates[c]: float(task.base_costs[0, i]) for i, c in enumerate(task.members)}
    playbook = None
    if privacy.k <= len(problem.counted):  # where start and goal are candidates, too few others may be left
        playbook = solve(problem, privacy, workers=1, should_stop=watch.is_over, **options)
        if playbook.options.get("stopped_early") and watch.is_over():
            return None
    for label in bases:
        tally[label].num_coverable += 1
    if playbook is None:
        return PairOutcome(*ends, "infeasible", len(bases), 0, 0, None)
    smallest = problem.domain.smallest_positive_cost
    hidden: dict[Label, list[tuple[float, float]]] = {}
    for group in playbook.hidden_classes:
        for member in group.members:
            share = group.share_of(member) if group.shares else 1.0
            (extra,) = extra_costs([group.route_of(member, 0).cost], [bases[member]])
            hidden.setdefault(member, []).append((share, extra / (bases[member] or smallest)))
    for member, drawn in hidden.items():
        tally[member].num_anonymized += 1
        tally[member].extra += math.fsum(s * e for s, e in drawn) / math.fsum(s for s, _ in drawn)
    claims, mac = playbook.claims, playbook.mac
    return PairOutcome(
        *ends,
        playbook.status,
        claims.num_coverable,
        claims.num_anonymizable,
        claims.num_anonymized,
        None if mac is None else float(mac),
    )
