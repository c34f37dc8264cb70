"""What each vehicle of a fleet does on a day, stop by stop and turn by turn: for drivers, devices, maps and reports.

Sheets are made from a day and its playbook, both of which may be known to everybody. They name every customer that is
visited and cannot tell who has ordered: nothing in a day does.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import cost_text, distance_text, duration_text
from veilroute.domain.graph import Domain, Label
from veilroute.fleet.exposure import exposure
from veilroute.model.closure import GIVE_UP, Closure
from veilroute.model.day import Day, Terms, Tour, clock_text
from veilroute.model.day_state import BROKEN, FIT
from veilroute.model.playbook import Playbook
from veilroute.streets.directions import Itinerary, Step, edge_number, lay_route, stretches
from veilroute.streets.sheets import closed_text, members_text
from veilroute.streets.stops import Stop, stay_length, stay_note

SAME = (
    "Every member of every class that is driven is visited, with the same stay and room for the same order. "
    "Tours, times and files would be the same whoever of these had ordered."
)
_WAITING_S = 30.0  # what is less is not worth a word


@dataclass(frozen=True)
class Visit:
    """One stop of a vehicle: at one customer, who may have ordered or not."""

    stop: Stop
    group: int  #: the number of its class, from 1
    demand: int  #: how much room it takes, ordered or not
    service_s: float
    window: str  #: when it is open, as ``09:00-12:00``; empty where it always is
    cost: float  #: of the way up to it, in the domain's unit
    arrives_s: float | None = None  #: seconds after midnight; ``None`` where nobody knows
    begins_s: float | None = None

    @property
    def customer(self) -> Label:
        """Who is visited."""
        return self.stop.members[0]

    @property
    def called(self) -> str:
        """What people call the customer."""
        return self.stop.called[0]

    @property
    def at(self) -> str:
        """When the stop begins, ``HH:MM``; empty where nobody knows."""
        return "" if self.begins_s is None else clock_text(self.begins_s)


@dataclass(frozen=True, eq=False)
class VanSheet:
    """The day of one vehicle that has something to do."""

    number: int  #: of the vehicle, from 1
    tour: Tour
    visits: tuple[Visit, ...]
    start: str  #: what people call the place where it begins
    goal: str  #: and where it ends; empty where that is the last stop
    seconds_per_cost: float | None
    reached: tuple[float, ...]  #: per node of the route what it costs up to there
    itinerary: Itinerary | None  #: the route over the streets, where they have places on earth

    @property
    def title(self) -> str:
        """``Vehicle 2``."""
        return f"Vehicle {self.number}"

    @property
    def load(self) -> int:
        """How much it carries at most."""
        return sum(visit.demand for visit in self.visits)

    @property
    def leaves(self) -> str:
        """When it leaves, ``HH:MM``; empty where nobody knows."""
        return "" if self.tour.departs_s is None else clock_text(self.tour.departs_s)

    @property
    def home(self) -> str:
        """When its day ends."""
        departs, seconds = self.tour.departs_s, self.tour.seconds
        return "" if departs is None or seconds is None else clock_text(departs + seconds)

    @property
    def driving_s(self) -> float | None:
        """How long it drives."""
        return None if self.seconds_per_cost is None else self.reached[-1] * self.seconds_per_cost

    @property
    def about(self) -> str:
        """``24 stops, 12.3 km, 08:00 to 10:12``, as far as it is known."""
        parts = [_stops_text(len(self.visits))]
        if self.itinerary is not None:
            parts.append(distance_text(self.itinerary.metres))
        if self.home:
            parts.append(f"{self.leaves} to {self.home}")
        return ", ".join(parts)

    @property
    def note(self) -> str:
        """When to leave, and what whoever drives has to know about the stops."""
        leave = f"Leave {self.start} at {self.leaves}. " if self.leaves else ""
        if not self.visits:
            return f"{leave}Nobody is left to visit: drive to the end of the day."
        stays = {visit.service_s for visit in self.visits}
        return f"{leave}{stay_note(stays.pop() if len(stays) == 1 else None, len(self.visits))}"

    def when_text(self, visit: Visit) -> str:
        """When a stop is reached and how long it takes: ``at 08:12, stay 60 s``."""
        stay = f"stay {stay_length(visit.service_s)}" if visit.service_s else "pass without stopping"
        if visit.begins_s is None or visit.arrives_s is None:
            metres = math.fsum(leg.metres for leg in self.laid.legs[: visit.stop.position])
            return f"after {distance_text(metres)}, {stay}"
        if visit.begins_s - visit.arrives_s < _WAITING_S:
            return f"at {visit.at}, {stay}"
        return f"at {clock_text(visit.arrives_s)}, wait until {visit.at}, {stay}"

    @property
    def laid(self) -> Itinerary:
        """The route over the streets; raises where there are none."""
        if self.itinerary is None:
            raise InvalidInputError("domain", "a street network, or a grid with an origin, for directions")
        return self.itinerary

    def steps(self) -> list[Step]:
        """The directions, stops among them."""
        laid, here = self.laid, dict[int, list[Step]]()
        for visit in self.visits:
            text, place = f"{visit.stop.text} ({self.when_text(visit)})", laid.place(visit.stop.position)
            here.setdefault(visit.stop.position, []).append(Step(text, 0.0, None, place))
        steps = list(here.get(0, ()))
        for text, begin, end in stretches(laid.legs, here):
            legs = laid.legs[begin:end]
            if begin == 0:
                text = f"From {self.start}, {text[0].lower()}{text[1:]}"
            seconds = None if self.seconds_per_cost is None else sum(leg.cost for leg in legs) * self.seconds_per_cost
            lon, lat = legs[0].line[0].tolist()
            steps.append(Step(text, math.fsum(leg.metres for leg in legs), seconds, (lon, lat)))
            steps += here.get(end, ())
        arrival = f"Arrive at {self.goal}" if self.goal else "The day ends here"
        when = f", at {self.home}" if self.home else ""
        return [*steps, Step(f"{arrival}{when}", 0.0, None, laid.place(len(laid.legs)))]

    @property
    def total_text(self) -> str:
        """How long the tour is and takes: ``12.3 km, 34 min of driving, 24 stops, 58 min in all``."""
        parts = [distance_text(self.laid.metres)]
        if self.driving_s is not None:
            parts.append(f"{duration_text(self.driving_s)} of driving")
        parts.append(_stops_text(len(self.visits)))
        if self.tour.seconds is not None:
            parts.append(f"{duration_text(self.tour.seconds)} in all")
        return ", ".join(parts)

    def text(self) -> str:
        """The driver's sheet."""
        steps = self.steps()
        width = len(str(len(steps)))
        lines = [f"{self.title}: {self.about}", "", self.note, ""]
        lines += [f"{number:>{width}}. {step.to_text()}" for number, step in enumerate(steps, start=1)]
        lines.append(f"Total: {self.total_text}")
        if self.laid.attribution:
            lines.append(f"Map: {self.laid.attribution}")
        return "".join(f"{line}\n" for line in lines)


def day_sheets(playbook: Playbook, day: Day) -> list[VanSheet]:
    """The sheets of all vehicles that have something to do."""
    if day.playbook != playbook.sha256:
        raise InvalidInputError("day", "a day of this playbook; it names another", day.playbook[:16])
    if any(number > len(playbook.hidden_classes) for number in day.touched):
        raise InvalidInputError("day", f"classes from 1 to {len(playbook.hidden_classes)}")
    domain, sheets = playbook.problem.domain, []
    if day.after is not None:
        from veilroute.planners.replan import change_domain  # here, because it loads what plans

        domain = change_domain(domain, day.after.closure)
    for number, (van, tour) in enumerate(zip(day.terms.vans, day.tours, strict=True), start=1):
        if not tour.route:
            continue
        before = () if day.after is None else day.after.stands[number - 1].walked[-2:-1]
        reached = costs_along(domain, tour.route, before)
        sheets.append(
            VanSheet(
                number,
                tour,
                _visits(playbook, day, tour, reached),
                playbook.name(tour.route[0]),
                "" if van.goal is None else playbook.name(van.goal),
                day.terms.seconds_per_cost,
                tuple(reached),
                None if domain.on_earth is None else lay_route(domain, tour.route),
            )
        )
    return sheets


def costs_along(domain: Domain, route: Sequence[Label], before: Sequence[Label] = ()) -> list[float]:
    """What it costs up to each node of a route, for who comes from the node before; raise where no edge leads on."""
    nodes = [domain.node(label) for label in route]
    came = [domain.node(label) for label in before][-1:]
    total, costs = 0.0, [0.0]
    for at, (tail, head) in enumerate(pairwise(nodes)):
        edge = edge_number(domain, tail, head)
        if edge < 0:
            raise InvalidInputError("route", "neighbouring nodes that an edge joins in this direction")
        total += domain.costs[edge].item()
        if domain.turns is not None and (nodes[at - 1 : at] if at else came) == [head]:
            total += domain.turns.u_turn_cost
        costs.append(total)
    return costs


def _visits(playbook: Playbook, day: Day, tour: Tour, reached: Sequence[float]) -> tuple[Visit, ...]:
    """The stops of a tour; a vehicle that comes too early waits where it is."""
    terms, visits = day.terms, list[Visit]()
    groups = {member: number for number in day.touched for member in playbook.hidden_classes[number - 1].members}
    leaves, before = tour.departs_s, 0.0
    for at, (customer, position) in enumerate(zip(tour.stops, tour.positions, strict=True)):
        if customer not in groups:
            raise InvalidInputError("day", "stops at members of the classes that it touches, and at nobody else")
        stay = terms.stays(playbook.hidden_classes[groups[customer] - 1].members)[customer]
        stop = Stop(at + 1, len(tour.stops), position, (customer,), (playbook.name(customer),))
        arrives = begins = None
        if leaves is not None and terms.seconds_per_cost is not None:
            begins = tour.begins_s[at]
            arrives = min(leaves + (reached[position] - before) * terms.seconds_per_cost, begins)
            leaves, before = begins + stay.service_s, reached[position]
        window = _window_text(terms, customer)
        visits.append(
            Visit(stop, groups[customer], stay.demand, stay.service_s, window, reached[position], arrives, begins)
        )
    return tuple(visits)


def _window_text(terms: Terms, customer: Label) -> str:
    own = terms.customers.get(customer)
    opens, closes = (None, None) if own is None else (own.opens_s, own.closes_s)
    if opens is None and closes is None:
        return ""
    return "-".join("" if end is None else clock_text(end) for end in (opens, closes))


def _stops_text(number: int) -> str:
    return f"{number} stop{'' if number == 1 else 's'}"


def day_facts(playbook: Playbook, day: Day, sheets: Sequence[VanSheet]) -> list[tuple[str, str]]:
    """A whole day in figures, as name and value."""
    domain, num = playbook.problem.domain, len(day.touched)
    idle = sorted(set(range(1, len(day.tours) + 1)) - {sheet.number for sheet in sheets})
    vehicles = f"{len(sheets)} of {len(day.tours)} drive"
    if idle:
        vehicles += f"; idle: {', '.join(map(str, idle))}"
    members = sum(len(sheet.visits) for sheet in sheets)
    classes = f"{num} class{'' if num == 1 else 'es'}"
    whom = f"all members of {classes}" if day.after is None else f"those left of {classes}"
    rows = [("Vehicles", vehicles), ("Stops", f"{members}, at {whom}")]
    if sheets and sheets[0].itinerary is not None:
        rows.append(("Distance", distance_text(math.fsum(sheet.laid.metres for sheet in sheets))))
    if sheets and sheets[0].driving_s is not None:
        driving = duration_text(math.fsum(sheet.driving_s or 0.0 for sheet in sheets))
        rows.append(("Time", f"{driving} of driving, {duration_text(_working_s(sheets))} with stops and waiting"))
    cost = cost_text(domain, day.cost)
    if day.direct_cost > 0:
        more = f"{abs(day.cost / day.direct_cost - 1):.0%} {'more' if day.cost >= day.direct_cost else 'less'}"
        mean = cost_text(domain, day.direct_cost)
        cost += f"; {more} than tours past one customer of each of these classes, which cost {mean} on average"
    proof = "no tours cost less" if day.status == "optimal" else f"the best of {day.terms.iterations} iterations"
    return [*rows, ("Cost", cost), ("Tours", proof)]


def _working_s(sheets: Sequence[VanSheet]) -> float:
    return math.fsum(sheet.tour.seconds or 0.0 for sheet in sheets)


def visible_lines(playbook: Playbook, day: Day) -> list[str]:
    """What whoever watches all vehicles learns, line by line."""
    if day.after is None or not (day.after.dropped or day.after.short):
        return [*exposure(playbook, day).text().splitlines(), SAME]
    return [*missed_lines(playbook, day), "Tours, times and files would be the same whoever had ordered."]


def stand_lines(playbook: Playbook, day: Day) -> list[str]:
    """What has happened on a day that goes on otherwise, and where every vehicle is; nothing on other days."""
    if (after := day.after) is None:
        return []
    lines = [f"Changed: {closed_text(playbook, after.closure)}."] if after.closure != Closure() else []
    for number, (stand, tour) in enumerate(zip(after.stands, day.tours, strict=True), start=1):
        ahead = f"{_stops_text(len(tour.stops))} ahead" if tour.stops else "goes home" if tour.route else "stays"
        if stand.state != FIT:
            ahead = "has broken down" if stand.state == BROKEN else "stays: no open road leads to the end of its day"
        cost = f", {cost_text(playbook.problem.domain, tour.cost)}" if tour.route else ""
        when = "" if stand.ready_s is None else f", {clock_text(stand.ready_s)}"
        done = f"{_stops_text(len(stand.done))} done"
        lines.append(f"Vehicle {number} at {playbook.name(stand.at)}{when}: {done}; {ahead}{cost}.")
    return lines


def missed_lines(playbook: Playbook, day: Day) -> list[str]:
    """On such a day, who is not visited any more, which classes fall short, and who is visited late."""
    if (after := day.after) is None:
        return []
    lines = [f"Dropped, for everybody: {members_text(playbook, after.dropped)}."] if after.dropped else []
    for each in after.short:
        left = each.giving_up if each.choice == GIVE_UP else each.going_on
        kept = members_text(playbook, left) or "nobody"
        lines.append(f"Class {each.number} keeps its promise no more ({each.choice}): an observer is left with {kept}.")
    for tour in day.tours:
        for label, begin in zip(tour.stops, tour.begins_s, strict=False):
            own = day.terms.customers.get(label)
            if own is not None and own.closes_s is not None and begin > own.closes_s + 1e-3:
                lines.append(f"Late: {playbook.name(label)}, by {duration_text(begin - own.closes_s)}.")
    return lines
