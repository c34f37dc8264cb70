"""What privacy costs: one plan for each of several privacies, side by side, and the most private one within a budget.

The plans share whatever does not depend on the privacy (:meth:`~veilroute.model.problem.Problem.sharing_work`); each is
the one that :func:`~veilroute.planners.solve.solve` gives by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from veilroute.base.checks import check_finite, count_text
from veilroute.base.errors import InvalidInputError
from veilroute.base.lazy import SHOWN_BY
from veilroute.base.run import Progress, ProgressCallback
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy, Problem, check_fit
from veilroute.planners.solve import solve

_FULL = 1 - 1e-9


@dataclass(frozen=True)
class FrontierPoint:
    """One privacy and what it costs."""

    privacy: Privacy
    status: str  #: of the plan: ``optimal``, ``feasible`` (stopped early) or ``infeasible``
    mac: float | None  #: how much longer routes are on average, as a share; ``None`` when nothing is hidden
    expected_mac: float | None  #: the same, each candidate weighted by its prior
    total_extra: float | None  #: what all routes together cost more
    worst_extra: float | None  #: the largest single detour
    num_anonymized: int
    num_coverable: int
    hidden_mass: float | None = None  #: how probable it is that the secret is one of those hidden
    worst_posterior: float | None = None
    bayes_success: float | None = None

    @classmethod
    def of(cls, playbook: Playbook) -> FrontierPoint:
        """The point of a playbook."""
        names = [name for name in cls.__dataclass_fields__ if name not in ("privacy", "status")]
        return cls(playbook.privacy, playbook.status, **{name: getattr(playbook.claims, name) for name in names})

    @property
    def level(self) -> float:
        """How private it is: k, or 1 over the risk."""
        return float(self.privacy.k) if self.privacy.risk is None else 1 / self.privacy.risk

    @property
    def longer(self) -> float | None:
        """How much longer routes are on average, by the prior where there is one."""
        return self.mac if self.expected_mac is None else self.expected_mac

    @property
    def hidden(self) -> float:
        """The share of what could be covered that is hidden, by the prior where there is one."""
        if self.hidden_mass is not None:
            return self.hidden_mass
        return self.num_anonymized / max(1, self.num_coverable)

    @property
    def is_proved(self) -> bool:
        """Whether no plan is better, and nobody who can be covered is left out."""
        return self.status == "optimal" and self.hidden >= _FULL

    @property
    def name(self) -> str:
        """The privacy in a few words: ``among 4 places (randomised)``."""
        privacy = self.privacy
        wanted = f"among {privacy.k} places" if privacy.risk is None else f"with a risk of {100 * privacy.risk:.3g}%"
        return f"{wanted} ({privacy.mechanism})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        privacy = self.privacy
        wanted = {"k": privacy.k} if privacy.risk is None else {"risk": privacy.risk}
        data = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "privacy"}
        return {**wanted, "ell": privacy.ell, "m": privacy.m, "mechanism": privacy.mechanism, **data}


@dataclass(frozen=True, repr=False)
class Frontier:
    """What several privacies cost for one problem; a point for each, in the order asked for."""

    points: tuple[FrontierPoint, ...]
    unit: str | None = None  #: of ``total_extra`` and ``worst_extra``, where the domain has one

    def best_within(self, budget: float) -> FrontierPoint | None:
        """The most private point whose routes are at most ``budget`` longer on average, as a share; ``None`` without.

        First come the points that hide as much as any does; of these the one with the largest k, or the least risk;
        then that of the largest ell, of the longest m, and the cheapest.
        """
        check_finite("budget", budget, least=0)
        most = max((point.hidden for point in self.points), default=0.0)
        within = [p for p in self.points if p.num_anonymized and p.longer is not None and p.longer <= budget + 1e-12]

        def rank(point: FrontierPoint) -> tuple[float, ...]:
            hidden = 1.0 if point.hidden >= most * _FULL else point.hidden
            m = math.inf if point.privacy.m is None else point.privacy.m
            return hidden, point.level, point.privacy.ell, m, -(point.longer or 0.0)

        return max(within, key=rank, default=None)

    def answer(self, budget: float) -> str:
        """What can be had for a budget, in one sentence."""
        best = self.best_within(budget)
        if best is None or best.longer is None:
            cheapest = min((p.longer for p in self.points if p.longer is not None), default=None)
            least = "" if cheapest is None else f"; the cheapest costs {cheapest:.1%}"
            return f"For at most {100 * budget:g}% more none of these can be had{least}."
        left = "" if best.hidden >= _FULL else f", which leaves {1 - best.hidden:.1%} without a route"
        apart = f", {best.privacy.distance_text} apart" if len({p.privacy.ell for p in self.points}) > 1 else ""
        span = ""
        if len({p.privacy.m for p in self.points}) > 1:
            span = ", for the whole route" if best.privacy.m is None else f", for the first {best.privacy.m} nodes"
        found = f"you can hide {best.name}{apart}{span}"
        return f"For at most {100 * budget:g}% more {found}: {best.longer:.1%} longer on average{left}."

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"points": [point.to_dict() for point in self.points]}

    def rows(self) -> list[dict[str, Any]]:
        """A flat row for each point, ready for ``pandas.DataFrame``; ``k`` and ``risk`` are in each of them."""
        wanted = ({"k": None if p.privacy.risk else p.privacy.k, "risk": p.privacy.risk} for p in self.points)
        return [{**each, **point.to_dict()} for each, point in zip(wanted, self.points, strict=True)]

    def __repr__(self) -> str:
        return f"<Frontier: {count_text(len(self.points), 'point')}>"

    def _repr_html_(self) -> str:
        """For notebooks: the chart and its points."""
        return str(SHOWN_BY["Frontier"](self))


def frontier(
    problem: Problem,
    privacies: Sequence[Privacy],
    *,
    time_limit_s: float | None = None,
    seed: int = 0,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
    keep: Callable[[int, Playbook], None] | None = None,
) -> Frontier:
    """Plan for each of several privacies with the planner ``optimal``.

    Parameters
    ----------
    problem
        Domain, trips, candidates, visibility and, where there is one, the prior.
    privacies
        What to reach, one for each point; :func:`privacies_of` makes all combinations.
    time_limit_s
        For each point: it is then the best that was found, and its status is ``feasible``.
    seed
        As for :func:`~veilroute.planners.solve.solve`.
    progress
        Called with reports; ``done`` counts the points.
    should_stop
        Asked now and then; true ends the work with the points so far, the last with the best plan that was found.
    keep
        Called with the place of each point, from 0, and its playbook.
    """
    wanted = tuple(privacies)
    if not wanted:
        raise InvalidInputError("privacies", "at least one Privacy", "none")
    for privacy in wanted:
        check_fit(problem, privacy)
    shared = problem.sharing_work()
    points: list[FrontierPoint] = []

    def report(inner: Progress) -> None:
        if progress is not None:
            stage = f"{len(points) + 1} of {len(wanted)}: {inner.stage}"
            progress(replace(inner, stage=stage, done=len(points), total=len(wanted)))

    for privacy in wanted:
        if should_stop is not None and should_stop():
            break
        found = solve(shared, privacy, time_limit_s=time_limit_s, seed=seed, progress=report, should_stop=should_stop)
        if keep is not None:
            keep(len(points), found)
        points.append(FrontierPoint.of(found))
    streets = problem.domain.streets
    return Frontier(tuple(points), None if streets is None else streets.unit)


def privacies_of(
    base: Privacy,
    *,
    ks: Sequence[int] = (),
    risks: Sequence[float] = (),
    ells: Sequence[float] = (),
    ms: Sequence[int | None] = (),
    mechanisms: Sequence[str] = (),
) -> Iterator[Privacy]:
    """All combinations, with ``base`` for whatever is left open; k = 1 promises nothing that could be drawn for."""
    levels = [{"k": k, "risk": None} for k in ks] + [{"k": None, "risk": risk} for risk in risks]
    for mechanism in mechanisms or (base.mechanism,):
        for ell in ells or (base.ell,):
            for m in ms or (base.m,):
                for level in levels or [{}]:
                    if mechanism == "partition" or level.get("k") != 1:
                        yield replace(base, ell=ell, m=m, mechanism=mechanism, **level)
