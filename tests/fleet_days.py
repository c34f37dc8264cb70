"""Honest days of fleets on several kinds of maps, and a dispatcher in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random

import veilroute as vr
from door_towns import door_problem, winding_town
from veilroute.auditing import Order

KINDS = ("streets", "doors", "rooms", "open")
_HOUR_S = 3600.0


@dataclass(frozen=True)
class FleetDay:
    """A playbook, the terms of a day, and which classes are touched."""

    book: vr.Playbook
    terms: vr.Terms
    touched: tuple[int, ...]

    @cached_property
    def day(self) -> vr.Day:
        """The day that the dispatcher makes."""
        return vr.dispatch(self.book, self.touched, self.terms)

    def run(self, orders: Sequence[Order]) -> dict[str, bytes]:
        """What the dispatcher makes of orders: the day, and a sheet beside it."""
        number_of = {member: at for at, group in enumerate(self.book.hidden_classes, 1) for member in group.members}
        return files_of(vr.dispatch(self.book, {number_of[label] for label, _ in orders}, self.terms))


def files_of(day: vr.Day) -> dict[str, bytes]:
    """The files of a day: itself, and a sheet in place of all that is made for people."""
    sheet = "".join(f"{tour.stops}\n" for tour in day.tours)
    return {"day.json": day.to_json(), "sheet.txt": sheet.encode()}


@cache
def draw_day(kind: str, seed: int = 0) -> FleetDay:
    """A day with windows, shifts and room on a map of some kind."""
    rng = Random(f"{kind}-{seed}")
    if kind == "doors":
        problem = door_problem(seed, winding_town(seed, u_turn_cost=3.0), num=12)
        depot = problem.trips[0].start
        problem = vr.Problem(problem.domain, [vr.Trip(depot, depot)], problem.candidates, places=problem.places)
        privacy, per_cost = vr.Privacy(k=2, ell=20), 1.0
    elif kind == "rooms":
        domain = vr.generate_rooms(24, 40, seed=seed)
        depot, *customers = (domain.label(node) for node in rng.sample(range(domain.num_nodes), 19))
        problem, privacy, per_cost = vr.Problem(domain, [vr.Trip(depot, depot)], customers), vr.Privacy(k=3, ell=3), 2.0
    else:
        domain = vr.generate_streets(12, 12, seed=seed, one_way_share=0.3)
        depot, *customers = (domain.label(node) for node in rng.sample(range(domain.num_nodes), 25))
        problem = vr.Problem(domain, [vr.Trip(depot, depot)], customers)
        privacy, per_cost = vr.Privacy(k=3, ell=150), 0.1
    book = vr.solve(problem, privacy, planner="pbp", partitioner="local-search")
    last = len(book.hidden_classes)
    touched = tuple(sorted(rng.sample(range(1, last + 1), min(3, last))))
    members = [member for number in touched for member in book.hidden_classes[number - 1].members]
    own = {
        member: vr.Customer(opens_s=9 * _HOUR_S, closes_s=12 * _HOUR_S)
        if rng.random() < 0.5
        else vr.Customer(demand=2, service_s=120.0)
        for member in rng.sample(sorted(members, key=str), 3)
    }
    goal = None if kind == "open" else problem.trips[0].goal
    other = rng.choice(problem.candidates)
    vans = (vr.Van(problem.trips[0].start, goal),) * 2 + (vr.Van(other, None if goal is None else other),)
    terms = vr.Terms(
        vans, capacity=len(members) + 2, shift_s=10 * _HOUR_S, seconds_per_cost=per_cost, customers=own,
        iterations=100,
    )  # fmt: skip
    return FleetDay(book, terms, touched)
