"""Where every vehicle of a day is: by the clock, or at places on its route that somebody has told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from veilroute.base.checks import check_finite, check_whole, plain_number
from veilroute.base.errors import InvalidInputError
from veilroute.domain.graph import Domain, Label
from veilroute.domain.turns import edge_numbers
from veilroute.model.day import Day, Tour, clock_text
from veilroute.model.day_state import BROKEN, FIT, Stand
from veilroute.model.playbook import Playbook
from veilroute.planners.replan import change_domain

Position = int | tuple[int, int]
"""A place on a vehicle's route, from 0; with how many of its stops are done, where those at the place are not ahead."""


def find_stands(
    playbook: Playbook, day: Day, at: float | None, positions: Mapping[int, Position], broken: Collection[int]
) -> tuple[Stand, ...]:
    """Where the vehicles are and what each has done since the morning; vehicles are numbered from 1.

    A vehicle on its way between two nodes is at the one that it comes to next, unless it has broken down. One that has
    begun a stop finishes it. A vehicle whose position is told is there at the time ``at``, or when it was planned to.
    """
    domain, last = playbook.problem.domain, len(day.tours)
    for name, numbers in (("positions", positions), ("broken", broken)):
        for number in numbers:
            check_whole(name, plain_number(number), f"vehicles from 1 to {last}", least=1, most=last)
    if at is not None:
        check_finite("at", at, least=0)
    if day.after is not None:
        domain = change_domain(domain, day.after.closure)
    service: dict[Label, float] = {}
    for group in day.touched:
        stays = day.terms.stays(playbook.hidden_classes[group - 1].members)
        service |= {label: stay.service_s for label, stay in stays.items()}
    visited = [label for tour in day.tours for label in tour.stops]
    visited += [label for stand in (() if day.after is None else day.after.stands) for label in stand.done]
    if not service.keys() >= set(visited):
        raise InvalidInputError("day", "stops at members of the classes that it touches")
    stands = []
    for number, (van, tour) in enumerate(zip(day.terms.vans, day.tours, strict=True), start=1):
        began = (domain.label(domain.node(van.start)),)
        before = Stand(began, ()) if day.after is None else day.after.stands[number - 1]
        if before.state == BROKEN:
            if number in positions:
                raise InvalidInputError("positions", "vehicles that have not broken down before", number)
            stands.append(before)
            continue
        track = _Track(domain, day, number, before, tour, service)
        told = positions.get(number)
        place, num_done, ready = track.by_clock(at, number in broken) if told is None else track.at_place(told, at)
        walked = before.walked[:-1] + tour.route[: place + 1] if tour.route else before.walked
        stand = replace(before, walked=walked, done=before.done + tour.stops[:num_done], ready_s=ready, state=FIT)
        if before.departed_s is None and (stand.is_away or stand.done):
            stand = replace(stand, departed_s=tour.departs_s)
        if not stand.is_away and ready is not None:
            stand = replace(stand, ready_s=max(day.terms.depart_s if at is None else at, day.terms.depart_s))
        stands.append(replace(stand, state=BROKEN) if number in broken else stand)
    return tuple(stands)


class _Track:
    """When a vehicle is where on its tour, as it was planned."""

    def __init__(
        self, domain: Domain, day: Day, number: int, before: Stand, tour: Tour, service: Mapping[Label, float]
    ) -> None:
        self.number, self.tour, self.before = number, tour, before
        self.per_cost, self.depart_s = day.terms.seconds_per_cost, day.terms.depart_s
        self.service = [service[stop] for stop in tour.stops]
        self.reached = _reached(domain, before.walked, tour.route)

    def arrivals(self) -> list[float]:
        """When it comes to each node of its route; where it stops, and waits, it goes on later."""
        tour, per_cost = self.tour, self.per_cost
        assert per_cost is not None and tour.departs_s is not None, "asked for only where there are times"
        leaves, base, found, stop = tour.departs_s, 0.0, [], 0
        for place, cost in enumerate(self.reached):
            found.append(leaves + (cost - base) * per_cost)
            while stop < len(tour.stops) and tour.positions[stop] == place:
                leaves, base = tour.begins_s[stop] + self.service[stop], cost
                stop += 1
        return found

    def by_clock(self, at: float | None, is_broken: bool) -> tuple[int, int, float | None]:
        """The place, how many stops are done, and from when on it can go on."""
        tour = self.tour
        if not tour.route:
            return 0, 0, None if self.per_cost is None else max(at or 0.0, self.before.ready_s or self.depart_s)
        if at is None or self.per_cost is None:
            expected = "a place on the route of each vehicle" + ("; the day has no times" if at is not None else "")
            raise InvalidInputError("positions", expected, f"none for vehicle {self.number}")
        for place, arrives in enumerate(self.arrivals()):
            if arrives >= at:
                if is_broken and place and arrives > at:
                    return place - 1, self._num_until(place - 1), at
                return place, self._num_until(place - 1), arrives
            for stop in (stop for stop, own in enumerate(tour.positions) if own == place):
                if tour.begins_s[stop] > at:
                    return place, stop, at
                ends = tour.begins_s[stop] + self.service[stop]
                if ends > at:
                    return place, stop + 1, ends
        return len(tour.route) - 1, len(tour.stops), at

    def at_place(self, told: Position, at: float | None) -> tuple[int, int, float | None]:
        """The same for a place that was told. Stops there are ahead, unless it is told how many are done."""
        tour, last = self.tour, max(0, len(self.tour.route) - 1)
        place = plain_number(told[0] if isinstance(told, tuple) else told)
        expected = f"places from 0 to {last} on the route of vehicle {self.number}"
        check_whole("positions", place, expected, least=0, most=last)
        least, most = self._num_until(place - 1), self._num_until(place)
        num_done = least
        if isinstance(told, tuple):
            expected = f"{least} to {most} stops done by then" if least < most else f"{least} stops done by then"
            num_done = check_whole("positions", plain_number(told[1]), expected, least=least, most=most)
        if self.per_cost is None:
            return place, num_done, None
        soonest = self.before.ready_s if self.before.is_away else self.depart_s
        if at is not None and soonest is not None and at < soonest and (place or self.before.is_away):
            expected = f"a time at which vehicle {self.number} can be there: not before {clock_text(soonest)}"
            raise InvalidInputError("at", expected, clock_text(at))
        if at is not None or not tour.route:
            return place, num_done, at if at is not None else self.before.ready_s or self.depart_s
        arrives = self.arrivals()[place]
        return (
            place,
            num_done,
            arrives if num_done == least else tour.begins_s[num_done - 1] + self.service[num_done - 1],
        )

    def _num_until(self, place: int) -> int:
        """How many stops are at a place or before it."""
        return sum(own <= place for own in self.tour.positions)


def _reached(domain: Domain, walked: Sequence[Label], route: Sequence[Label]) -> list[float]:
    """What it costs to each node of a route, after what was walked before."""
    nodes = np.array([domain.node(label) for label in (*walked[-2:-1], *route)], dtype=np.int64)
    first = len(nodes) - len(route)
    if len(route) < 2:
        return [0.0] * len(route)
    edges = edge_numbers(domain, nodes[first:-1], nodes[first + 1 :])
    if (edges < 0).any():
        raise InvalidInputError("day", "routes along roads of the playbook's map")
    costs = domain.costs[edges].astype(np.float64)
    if domain.turns is not None and domain.turns.u_turn_cost:
        turned = np.concatenate([[False] * (2 - first), nodes[2:] == nodes[:-2]])[-len(costs) :]
        costs += domain.turns.u_turn_cost * turned
    return [0.0, *np.cumsum(costs).tolist()]
