"""Plans for a fleet: a playbook whose classes are made for tours, and what days under it will cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from veilroute.app.places import read_public_terms
from veilroute.app.requests import PlanRequest
from veilroute.base.errors import InvalidInputError, MissingExtraError
from veilroute.base.run import ProgressCallback, Run
from veilroute.domain.geography import cost_text
from veilroute.domain.graph import Label
from veilroute.fleet import Simulation, simulate_days
from veilroute.model.day import Customer, Terms, Van
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy, Problem

_NUM_DAYS = 10
_ITERATIONS = 300
_STOPS_PER_VAN = 30
_SECONDS_PER_METRE = 3.6 / 30


@dataclass(frozen=True)
class FleetPlan:
    """A playbook for a fleet; and, where known, what days cost under it and under the best one for single trips."""

    playbook: Playbook
    made: Simulation | None
    single: Simulation | None
    runtime_s: float

    def summary(self) -> dict[str, Any] | None:
        """What `plan --json` says of it."""
        if self.made is None or self.single is None:
            return None
        return {
            "num_days": len(self.made.days),
            "orders_per_day": self.made.mean(lambda day: day.num_orders),
            "touched_per_day": self.made.mean(lambda day: day.num_touched),
            "stops_per_day": self.made.mean(lambda day: day.num_stops),
            "cost": self.made.cost,
            "direct_cost": self.made.direct_cost,
            "extra": self.made.extra,
            "single_trip_extra": self.single.extra,
        }

    def text(self) -> str | None:
        """The same in words."""
        if self.made is None or self.single is None:
            return None
        domain, made = self.playbook.domain, self.made
        cost, extra, single = (cost_text(domain, x) for x in (made.cost, made.extra, self.single.extra))
        orders, touched = made.mean(lambda day: day.num_orders), made.mean(lambda day: day.num_touched)
        stops = made.mean(lambda day: day.num_stops)
        more = "" if made.direct_cost <= 0 else f" ({made.extra / made.direct_cost:.0%})"
        return (
            f"A day of {orders:.0f} orders touches {touched:.1f} classes with {stops:.1f} "
            f"stops: tours of {cost}, {extra}{more} more than without hiding; with the partition for single trips "
            f"it would be {single} more ({len(made.days)} drawn days)."
        )


def plan_for_fleet(
    request: PlanRequest,
    problem: Problem,
    privacy: Privacy,
    run: Run,
    solve: Callable[..., tuple[Playbook, float]],
    progress: ProgressCallback,
    time_limit_s: float | None,
) -> FleetPlan:
    """Plan for single trips first, in half of the time, then for tours; then draw some days for both."""
    if privacy.mechanism == "randomised":
        raise InvalidInputError("mechanism", "partition with `purpose` fleet: classes must stay from day to day")
    method, seed = request.method, request.problem.seed or 0
    common = {"progress": progress, "should_stop": run.should_stop, "seed": seed}
    half = None if time_limit_s is None else time_limit_s / 2
    single, first_s = solve(problem, privacy, run, planner="optimal", time_limit_s=half, **common)
    customers = None if method.customers is None else read_public_terms(single, method.customers)
    playbook, then_s = solve(
        problem, privacy, run, planner="fleet", time_limit_s=half, partition=single, customers=customers,
        orders_per_day=method.orders_per_day, **common,
    )  # fmt: skip
    made = known = None
    if playbook.hidden_classes and not run.should_stop():
        terms = _usual_terms(playbook, customers or {}, seed)
        try:
            known, made = (
                simulate_days(
                    book, terms, _NUM_DAYS, orders_per_day=method.orders_per_day, seed=seed, progress=progress
                )
                for book in (single, playbook)
            )
        except (MissingExtraError, InvalidInputError) as error:
            run.warn(f"what days will cost is not known: {error}")
    return FleetPlan(playbook, made, known, first_s + then_s)


def _usual_terms(playbook: Playbook, customers: Mapping[Label, Customer], seed: int) -> Terms:
    """Vans with room for 30 stops each, at 30 km/h where there are windows, from the start of the first trip."""
    trip, streets = playbook.trips[0], playbook.problem.domain.streets
    num_vans = math.ceil(len(playbook.candidates) / _STOPS_PER_VAN) + 1
    public = {label: replace(each, demand=None) for label, each in customers.items()}
    return Terms(
        (Van(trip.start, trip.goal),) * num_vans,
        capacity=_STOPS_PER_VAN,
        customers=public,
        seconds_per_cost=1.0 if streets is not None and streets.unit == "seconds" else _SECONDS_PER_METRE,
        iterations=_ITERATIONS,
        seed=seed if seed >= 0 else 0,
    )
