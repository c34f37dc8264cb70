"""A day of a fleet that goes on otherwise: a vehicle has broken down, or a road is closed.

What was driven so far is public. The customers of touched classes who were not visited yet are routed again, from
where everybody is and over the changed map. All this is a function of the day as it was planned, of positions and of
what has happened; orders are no argument of anything here. So every order stays among the members of its class, whoever
chose the closure (docs/theory, :ref:`Closed roads <theory-closures>`).

Room is counted as for goods that are collected: what a vehicle has taken stays taken. Any vehicle may visit anybody
who is left, unless vehicles *keep* their customers; then those of vehicles that stay are the only ones to change hands.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from veilroute.base.arrays import Floats
from veilroute.base.checks import check_name
from veilroute.base.errors import FallsShortError, InvalidInputError, Problems, listing
from veilroute.base.run import Watch
from veilroute.domain.geography import duration_text
from veilroute.domain.graph import Domain, Label, label_text
from veilroute.fleet.routing import Readiness, Routing, route_customers
from veilroute.fleet.standing import Position, find_stands
from veilroute.fleet.tours import MAX_EXACT, average_direct_cost, make_tour, touched_groups
from veilroute.fleet.ways import Leg, Ways
from veilroute.model.closure import CHOICES, GIVE_UP, GO_ON, Closure
from veilroute.model.day import Day, Stay, Terms, Tour, clock_text
from veilroute.model.day_state import FIT, STUCK, Shortage, Stand, Underway
from veilroute.model.playbook import Playbook
from veilroute.planners.replan import by_first_labels, change_domain, keeps_promise

_FIRST_SLACK_S = 300.0
_MOST_SLACK_S = 14 * 86_400.0
_ROUNDING_S = 1e-6
_SPARE_S = 10.0  # what is rounded up on the way, with some to spare
_IDLE = Tour((), (), (), 0)


def replan_day(
    playbook: Playbook,
    day: Day,
    *,
    at: float | None = None,
    positions: Mapping[int, Position] | None = None,
    closure: Closure,
    broken: Collection[int] = (),
    choice: str | None = None,
    late: bool = False,
    keep: bool = False,
    watch: Watch | None = None,
) -> Day:
    """What :func:`veilroute.fleet.redispatch` does."""
    watch = watch or Watch()
    if choice is not None:
        check_name("choice", choice, CHOICES)
    if day.playbook != playbook.sha256:
        raise InvalidInputError("day", "a day of this playbook")
    touched_groups(playbook, day.touched)
    domain = playbook.problem.domain
    closure = by_first_labels(domain, closure)
    closure = closure if day.after is None else closure.with_earlier(day.after.closure)
    stands = find_stands(playbook, day, at, positions or {}, broken)
    for number, stand in enumerate(stands, start=1):
        if stand.state == FIT and stand.at in closure.nodes:
            expected = f"other nodes than the one where vehicle {number} is, or comes to next"
            raise InvalidInputError("closed_nodes", expected, label_text(stand.at))
    rest = _Rest(playbook, day, stands, closure, change_domain(domain, closure), keep, watch)
    return rest.plan(choice, late=late)


def repeat_replan(playbook: Playbook, earlier: Day, rest: Day) -> Day:
    """Plan the rest of a day again, from what it says of itself: where vehicles are, what is closed, what was chosen.

    For the audit: everything else in a day follows from these, so an honest one comes out the same.
    """
    after = rest.after
    if after is None:
        raise InvalidInputError("day", "the rest of a day, which goes on from another")
    # That a vehicle is stuck is found out again.
    stands = tuple(replace(each, state=FIT) if each.state == STUCK else each for each in after.stands)
    changed, made = change_domain(playbook.problem.domain, after.closure), None
    for choice in dict.fromkeys([None, *(each.choice for each in after.short)]):
        with suppress(FallsShortError):
            made = _Rest(playbook, earlier, stands, after.closure, changed, after.keep, Watch()).plan(
                choice, late=after.late
            )
            if made == rest:
                break
    if made is None:
        raise InvalidInputError("day", "a choice for each class that falls short")
    return made


@dataclass
class _Rest:
    """What is left of a day, on the changed map."""

    playbook: Playbook
    day: Day
    stands: tuple[Stand, ...]
    closure: Closure
    changed: Domain
    keep: bool
    watch: Watch

    def plan(self, choice: str | None, *, late: bool) -> Day:
        """The rest of the day."""
        day, before = self.day, self.day.after
        done = {label for stand in self.stands for label in stand.done}
        dropped = dict.fromkeys(() if before is None else before.dropped)
        stays: dict[Label, Stay] = {}
        for number in day.touched:
            stays |= self.day.terms.stays(self.playbook.hidden_classes[number - 1].members)
        ahead = [label for label in stays if label not in done and label not in dropped]
        ways = self._find_ways(ahead)
        owner = {label: van for van, tour in enumerate(day.tours) for label in tour.stops} if self.keep else {}
        fleet = None if ways is None else _Fleet(self.playbook, day.terms, self.stands, stays, ways, owner)
        lost = dict.fromkeys(label for label in ahead if fleet is None or not fleet.can_visit(label))
        short = self._shortages(done, dropped | lost, choice)
        for each in short:
            if each.choice == GIVE_UP:
                lost |= dict.fromkeys(self.playbook.hidden_classes[each.number - 1].members)
        ahead = [label for label in ahead if label not in lost]
        dropped = {label: None for label in stays if label in dropped or (label in lost and label not in done)}
        tours, status, direct = (_IDLE,) * len(self.stands), "feasible", 0.0
        if fleet is not None:
            tours, status = fleet.tours(ahead, late, self.watch)
            direct = self._direct_cost(fleet, ahead)
        digest = hashlib.sha256(day.to_json()).hexdigest()
        after = Underway(digest, self.closure, self.stands, tuple(dropped), short, late, self.keep)
        return Day(day.playbook, day.terms, day.touched, tours, sum(t.cost for t in tours), direct, status, after)

    def _find_ways(self, ahead: Sequence[Label]) -> Ways | None:
        """The distances of vehicles that can go on; the others are stuck, and ``None`` where all are."""
        while fit := [number for number, stand in enumerate(self.stands) if stand.state == FIT]:
            vans = [self.day.terms.vans[number] for number in fit]
            walked = [[self.changed.node(label) for label in self.stands[number].walked] for number in fit]
            some = ahead or [self.stands[fit[0]].at]  # nobody may be left, and vehicles go home all the same
            ways = Ways(self.changed, some, vans, walked=walked, watch=self.watch)
            stuck = {number for number, kind in zip(fit, ways.kind_of, strict=True) if not ways.can_end(kind)}
            if not stuck:
                return ways
            self.stands = tuple(
                replace(stand, state=STUCK) if number in stuck else stand for number, stand in enumerate(self.stands)
            )
        return None

    def _shortages(
        self, done: Collection[Label], dropped: Collection[Label], choice: str | None
    ) -> tuple[Shortage, ...]:
        """The classes that keep their promise no more; where somebody has to choose about them, it is said who."""
        before = {} if self.day.after is None else {each.number: each for each in self.day.after.short}
        changed = self.changed if self.closure.costs else None
        found, open_ = [], []
        for number in self.day.touched:
            members = self.playbook.hidden_classes[number - 1].members
            known = before.get(number)
            if known is not None and known.choice == GIVE_UP:
                found.append(known)
                continue
            left = tuple(label for label in members if label not in dropped)
            if len(left) == len(members) and changed is None:
                continue
            if keeps_promise(self.playbook, number, left, changed):
                continue
            visited = tuple(label for label in left if label in done)
            decided = choice or (GO_ON if known is not None and known.going_on == left else None)
            found.append(Shortage(number, left, visited, decided or ""))
            open_ += [] if decided else [found[-1]]
        if open_:
            raise FallsShortError(open_, [self._in_words(each) for each in open_])
        return tuple(found)

    def _in_words(self, each: Shortage) -> str:
        members = self.playbook.hidden_classes[each.number - 1].members
        gone, on, up = (
            listing([self.playbook.name(label) for label in labels]) or "nobody"
            for labels in ([m for m in members if m not in each.going_on], each.going_on, each.giving_up)
        )
        return (
            f"class {each.number} keeps its promise no more (out of reach: {gone}); go-on leaves an observer with "
            f"{on}, give-up with {up}: choose, and not by today's orders"
        )

    def _direct_cost(self, fleet: _Fleet, ahead: Collection[Label]) -> float:
        groups = [
            [label for label in self.playbook.hidden_classes[number - 1].members if label in ahead]
            for number in self.day.touched
        ]
        left = [group for group in groups if group]
        return fleet.home_cost + average_direct_cost(
            fleet.ways, left, self.day.terms, fleet.stays, fleet.readiness(0.0, None), fleet.barred
        )


class _Fleet:
    """The vehicles that can go on, from where each is."""

    def __init__(
        self,
        playbook: Playbook,
        terms: Terms,
        stands: Sequence[Stand],
        stays: dict[Label, Stay],
        ways: Ways,
        owner: Mapping[Label, int],
    ) -> None:
        self.playbook, self.terms, self.stands, self.stays, self.ways = playbook, terms, stands, stays, ways
        self.fit = [number for number, stand in enumerate(stands) if stand.state == FIT]
        self.by_number = {number: stays[label] for label, number in ways.number_of.items() if label in stays}
        # Who keeps its customers leaves those of others alone who can go on themselves.
        self.barred = [
            frozenset(
                ways.number_of[label]
                for label, van in owner.items()
                if van != number and van in self.fit and label in ways.number_of
            )
            for number in self.fit
        ]

    def can_visit(self, label: Label) -> bool:
        """Whether some vehicle that may can visit a customer and still end its day."""
        customer = self.ways.number_of.get(label)
        return customer is not None and any(
            customer not in barred and np.isfinite(self._way(van, customer)).any()
            for van, barred in enumerate(self.barred)
        )

    def _way(self, van: int, customer: int) -> Floats:
        """What it costs to each post of a customer, infinite where a vehicle cannot end its day after that."""
        kind, posts = self.ways.kind_of[van], self.ways.posts_of(customer).tolist()
        return np.where(np.isfinite(self.ways.to_goal(kind, posts)), self.ways.from_start(kind, posts), np.inf)

    @property
    def home_cost(self) -> float:
        """What it costs to end the day at once."""
        return sum(self.ways.home_cost(kind) for kind in self.ways.kind_of)

    def readiness(self, slack: float, ahead: Sequence[Label] | None) -> list[Readiness]:
        """What each vehicle can do; its shift ends later by the slack, and never before it can be home."""
        found = []
        for van, number in enumerate(self.fit):
            stand, terms = self.stands[number], self.terms
            taken = sum(self.stays[label].demand for label in stand.done)
            room = None if terms.capacity is None else terms.capacity - taken
            ready, shift, home = stand.ready_s or 0.0, terms.shift_s, None
            if shift is not None and stand.departed_s is not None and stand.is_away:
                home, shift = max(ready, stand.departed_s + shift), None
                if ahead is not None and slack:
                    home = max(home + slack, self._earliest_home(van) + _SPARE_S)
            elif shift is not None and ahead is not None and slack:
                shift += slack
            found.append(Readiness(ready, room, shift, home))
        return found

    def _earliest_home(self, van: int) -> float:
        per_cost = self.terms.seconds_per_cost or 0.0
        return (self.stands[self.fit[van]].ready_s or 0.0) + self.ways.home_cost(self.ways.kind_of[van]) * per_cost

    def _earliest(self, label: Label) -> float:
        """When somebody can be at a customer at the earliest."""
        customer, per_cost = self.ways.number_of[label], self.terms.seconds_per_cost or 0.0
        return min(
            (self.stands[number].ready_s or 0.0) + float(self._way(van, customer).min()) * per_cost
            for van, number in enumerate(self.fit)
            if customer not in self.barred[van]
        )

    def _check(self, ahead: Sequence[Label], late: bool) -> None:
        """Whether nothing is asked for that no tours can keep; all that is wrong is said at once."""
        problems, terms = Problems(), self.terms
        ready = self.readiness(0.0, None)
        if terms.capacity is not None and ahead:
            rooms = [each.room or 0 for each in ready]
            total, most = sum(self.stays[label].demand for label in ahead), max(self.stays[n].demand for n in ahead)
            if total > sum(rooms) or most > max(rooms):
                expected = f"room for all who are left: {total} for {len(ahead)} customers, {most} for one"
                problems.add(InvalidInputError("capacity", expected, f"{sum(rooms)} in {len(rooms)} vehicles"))
        if terms.seconds_per_cost is not None and not late:
            for label in ahead:
                over = self._earliest(label) - self.stays[label].closes_s
                if over > _ROUNDING_S:
                    closes = f"{self.playbook.name(label)} closes at {clock_text(self.stays[label].closes_s)}"
                    expected = (
                        f"windows that can be met: {closes}, and none can be there until {duration_text(over)} later"
                    )
                    problems.add(InvalidInputError("windows", f"{expected} (late: drive on all the same)"))
            for van, each in enumerate(ready):
                over = 0.0 if each.home_s is None else self._earliest_home(van) - each.home_s
                if over > _ROUNDING_S:
                    expected = f"vehicle {self.fit[van] + 1} at home in time, not {duration_text(over)} later"
                    problems.add(InvalidInputError("shift", f"{expected} (late: drive on all the same)"))
        problems.raise_all()

    def tours(self, ahead: Sequence[Label], late: bool, watch: Watch) -> tuple[tuple[Tour, ...], str]:
        """A tour for each vehicle of the day, and whether they are the cheapest there are."""
        self._check(ahead, late)
        watch.tell("tours")
        customers = [self.ways.number_of[label] for label in ahead]
        if self._is_free(ahead) and 0 < len(ahead) <= MAX_EXACT:
            order, leg = self.ways.optimum(0, customers, watch)
            tour = self._make(0, order, leg, self.by_number, self.readiness(0.0, None)[0])
            if tour is not None:
                return self._placed([tour]), "optimal"
        slack = 0.0
        while True:
            stays = self._stretched(ahead, slack) if late else self.by_number
            ready = self.readiness(slack if late else 0.0, ahead if late else None)
            found = route_customers(self.ways, customers, stays, self.terms, readiness=ready, barred=self.barred)
            tours = self._tours_of(found, stays, ready)
            if tours is not None:
                return self._placed(tours), "feasible"
            slack = max(_FIRST_SLACK_S, 2 * slack)
            if not late or found.overload or slack > _MOST_SLACK_S:
                late_text = f"{duration_text(found.late_s)} late" if found.late_s else "some vehicle late"
                over = f", {found.overload} over capacity" if found.overload else ""
                expected = "terms that the rest of the day can keep: more time or iterations, or to come late"
                raise InvalidInputError("terms", expected, f"the best that was found is {late_text}{over} in all")

    def _is_free(self, ahead: Sequence[Label]) -> bool:
        """Whether a single vehicle is left, which may visit everybody in any order."""
        if len(self.fit) != 1 or self.ways.is_open[0] or self.terms.shift_s is not None:
            return False
        return all(not self.stays[label].opens_s and math.isinf(self.stays[label].closes_s) for label in ahead)

    def _stretched(self, ahead: Sequence[Label], slack: float) -> dict[int, Stay]:
        """Stops that may begin later by the slack, and in any case when somebody can be there."""
        stays = dict(self.by_number)
        for label in ahead:
            number = self.ways.number_of[label]
            closes = max(stays[number].closes_s + slack, self._earliest(label) + _SPARE_S)
            stays[number] = replace(stays[number], closes_s=closes)
        return stays

    def _tours_of(self, found: Routing, stays: dict[int, Stay], ready: Sequence[Readiness]) -> list[Tour] | None:
        """The tours of a routing; ``None`` where it does not keep its terms, or leads where no road does."""
        if not found.is_feasible:
            return None
        tours = []
        for van, (posts, customers) in enumerate(zip(found.posts, found.customers, strict=True)):
            kind = self.ways.kind_of[van]
            if not posts:
                tours.append(self._homeward(van))
                continue
            if not math.isfinite(self.ways.cost(kind, posts)) or self.barred[van] & set(customers):
                return None
            tour = self._make(van, customers, self.ways.walk(kind, posts), stays, ready[van])
            if tour is None:
                return None
            tours.append(tour)
        return tours

    def _make(
        self, van: int, customers: Sequence[int], leg: Leg, stays: dict[int, Stay], ready: Readiness
    ) -> Tour | None:
        """A walk as a tour with times; ``None`` where it does not keep them."""
        stand, terms = self.stands[self.fit[van]], self.terms
        if stand.ready_s is None:
            return make_tour(self.ways, customers, leg, stays, terms)
        if not stand.is_away:  # it leaves when it has to, as on any day
            own = replace(terms, depart_s=stand.ready_s, shift_s=ready.shift_s)
            return make_tour(self.ways, customers, leg, stays, own)
        # That it comes home in time PyVRP has seen to: it counts with times that are rounded up.
        return make_tour(self.ways, customers, leg, stays, terms, stand.ready_s)

    def _homeward(self, van: int) -> Tour:
        """What a vehicle drives that has nobody left to visit."""
        kind, stand = self.ways.kind_of[van], self.stands[self.fit[van]]
        goal = self.terms.vans[self.fit[van]].goal
        if not stand.is_away or goal is None or self.ways.domain.node(goal) == self.ways.domain.node(stand.at):
            return _IDLE
        leg = self.ways.home(kind)
        route = self.ways.domain.labels_of(leg.nodes)
        if self.terms.seconds_per_cost is None:
            return Tour((), (), route, leg.cost)
        return Tour((), (), route, leg.cost, (), stand.ready_s, leg.cost * self.terms.seconds_per_cost)

    def _placed(self, tours: Sequence[Tour]) -> tuple[Tour, ...]:
        own = dict(zip(self.fit, tours, strict=True))
        return tuple(own.get(number, _IDLE) for number in range(len(self.stands)))
