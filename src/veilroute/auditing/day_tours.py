"""The tours of a day, walked, priced and timed by the auditor's own code.

What a stop takes is worked out from the public terms again: the largest demand and the longest service of its class,
and its own window. Nothing here knows how tours are found, and nothing knows the orders.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from veilroute.auditing.legality import TurnRules, legal_map
from veilroute.auditing.replay import is_same, wrong_figure
from veilroute.auditing.verdicts import ClaimVerdict, call_names, judge, number
from veilroute.auditing.walking import WalkingMap
from veilroute.base.arrays import Floats
from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import duration_text
from veilroute.domain.graph import Label, label_text
from veilroute.model.day import Day, Tour, Van, clock_text
from veilroute.model.playbook import Playbook

_ROUNDING_S = 1e-5
_MOST_TRIED = 10  #: stops in all, up to which every way to share them out and to order them is tried
_MOST_SWEPT = 4_000_000  #: states that may be visited for that


@dataclass(frozen=True)
class Needs:
    """What a stop takes, by the terms."""

    demand: int
    service_s: float
    opens_s: float
    closes_s: float


@dataclass(frozen=True)
class ReplayedTour:
    """A tour, and what walking it showed."""

    tour: Tour
    name: str
    fault: str  #: why it is no walk of the vehicle, or nothing
    illegal: str  #: which of its turns is not legal, or nothing
    reached: tuple[float, ...]  #: what it costs up to each node; empty where it is no walk

    @property
    def is_timed(self) -> bool:
        """Whether it can be said when the vehicle is where."""
        places = self.tour.positions
        return bool(self.tour.stops) and not self.fault and all(place < len(self.reached) for place in places)


class ReplayedDay:
    """A day on the map of its playbook."""

    def __init__(self, playbook: Playbook, day: Day) -> None:
        self.playbook, self.day = playbook, day
        self.domain = playbook.problem.domain
        self.walking = WalkingMap(self.domain)
        self.called = call_names(playbook.names, playbook.candidates)
        turns = self.domain.turns
        self.rules = None if turns is None else TurnRules(self.domain, turns, self.walking, self.called)
        self.tours = [
            self._walk(van, tour, f"vehicle {at}")
            for at, (van, tour) in enumerate(zip(day.terms.vans, day.tours, strict=True), start=1)
        ]

    def name(self, label: Label) -> str:
        """A place in words."""
        return self.called.get(label, label_text(label))

    def node(self, label: Label | None) -> int | None:
        """The number of a place on the map; ``None`` where there is no such place."""
        try:
            return None if label is None else self.domain.node(label)
        except InvalidInputError:
            return None

    @cached_property
    def groups(self) -> dict[int, tuple[Label, ...]]:
        """The members of each touched class that there is, by its number."""
        hidden = [group for group in self.playbook.classes if group.anonymized]
        return {at: hidden[at - 1].members for at in self.day.touched if at <= len(hidden)}

    @cached_property
    def needs(self) -> dict[Label, Needs]:
        """What a stop takes at each member of a touched class."""
        terms, found = self.day.terms, {}
        for members in self.groups.values():
            demand, service, windows = 0, 0.0, {}
            for member in members:
                own = terms.customers.get(member)
                windows[member] = (None, None) if own is None else (own.opens_s, own.closes_s)
                demand = max(demand, terms.demand if own is None or own.demand is None else own.demand)
                service = max(service, terms.service_s if own is None or own.service_s is None else own.service_s)
            for member, (opens, closes) in windows.items():
                found[member] = Needs(demand, service, opens or 0.0, math.inf if closes is None else closes)
        return found

    @cached_property
    def has_deadlines(self) -> bool:
        """Whether it depends on the clock who can be visited, today or on another day of these terms."""
        owns = self.day.terms.customers.values()
        return self.day.terms.shift_s is not None or any((own.opens_s, own.closes_s) != (None, None) for own in owns)

    @property
    def driven(self) -> Iterator[ReplayedTour]:
        """The tours with stops that are walks past them, past members of touched classes only."""
        for each in self.tours:
            if each.is_timed and all(stop in self.needs for stop in each.tour.stops):
                yield each

    def _walk(self, van: Van, tour: Tour, name: str) -> ReplayedTour:
        nodes = tuple(self.node(label) for label in tour.route)
        fault = self._fault(van, tour, nodes)
        walked = tuple(node for node in nodes if node is not None)
        if fault or not walked:
            return ReplayedTour(tour, name, fault, "", ())
        steps = [self.walking.edge_cost(tail, head) or 0.0 for tail, head in pairwise(walked)]
        illegal = ""
        if self.rules is not None:
            # Whether one turns round is seen from three nodes.
            steps = [cost + self.rules.extra_cost(walked[max(0, at - 1) : at + 2]) for at, cost in enumerate(steps)]
            illegal = self.rules.describe(walked)
        return ReplayedTour(tour, name, "", illegal, tuple(accumulate(steps, initial=0.0)))

    def _fault(self, van: Van, tour: Tour, nodes: Sequence[int | None]) -> str:
        if not tour.stops:
            is_still = not tour.route and not tour.cost and tour.seconds is None
            return "" if is_still else "has no stops and yet something to drive"
        if not nodes:
            return "has stops and no route"
        if None in nodes:
            return f"names {tour.route[nodes.index(None)]}, which is not on the map"
        if nodes[0] != self.node(van.start):
            return f"begins at {self.name(tour.route[0])} instead of {self.name(van.start)}"
        if van.goal is not None and nodes[-1] != self.node(van.goal):
            return f"ends at {self.name(tour.route[-1])} instead of {self.name(van.goal)}"
        if van.goal is None and tour.positions[-1] != len(nodes) - 1:
            return "drives on after its last stop"
        for at, (tail, head) in enumerate(pairwise(nodes)):
            if tail is None or head is None or self.walking.edge_cost(tail, head) is None:
                a, b = (self.name(label) for label in tour.route[at : at + 2])
                return f"jumps from {a} to {b}, which no edge joins (nodes {at + 1} and {at + 2} of the route)"
        return ""


def check_tours(replayed: ReplayedDay) -> tuple[ClaimVerdict, ...]:
    """All claims about what vehicles drive."""
    return (
        _check_walk(replayed),
        *([] if replayed.rules is None else [_check_turns(replayed)]),
        _check_stops(replayed),
        _check_cost(replayed),
        _check_capacity(replayed),
        _check_times(replayed),
        _check_windows(replayed),
        _check_shift(replayed),
        _check_optimality(replayed),
    )


def _check_walk(replayed: ReplayedDay) -> ClaimVerdict:
    """Every tour follows edges from where its vehicle begins to where it ends; others stay where they are."""
    problems = [f"{each.name} {each.fault}" for each in replayed.tours if each.fault]
    used = sum(bool(each.tour.stops) for each in replayed.tours)
    idle = len(replayed.tours) - used
    return judge("walk", problems, f"{number(used, 'tour')} over edges of the map; {number(idle, 'vehicle')} idle")


def _check_turns(replayed: ReplayedDay) -> ClaimVerdict:
    """No tour has an illegal turn, at stops neither."""
    problems = [f"{each.name} {each.illegal}" for each in replayed.tours if each.illegal]
    return judge("turns", problems, "no tour has an illegal turn")


def _check_stops(replayed: ReplayedDay) -> ClaimVerdict:
    """Every stop is at the customer's own node, its door."""
    problems = []
    for each in replayed.tours:
        for stop, place in zip(each.tour.stops, each.tour.positions, strict=True):
            there = each.tour.route[place] if place < len(each.tour.route) else None
            if replayed.node(stop) is None or replayed.node(stop) != replayed.node(there):
                where = "nowhere" if there is None else replayed.name(there)
                problems.append(f"{each.name} stops for {replayed.name(stop)} at {where}")
    num = sum(len(each.tour.stops) for each in replayed.tours)
    return judge("stops", problems, f"{number(num, 'stop')}, each at the customer's own place")


def _check_cost(replayed: ReplayedDay) -> ClaimVerdict:
    """The costs stated are what the edges, and turning round, add up to."""
    problems, total = [], 0.0
    for each in replayed.tours:
        if not each.fault:
            real = each.reached[-1] if each.reached else 0.0
            problems += wrong_figure(f"the cost of {each.name}", each.tour.cost, real)
            total += real
    if not any(each.fault for each in replayed.tours):
        problems += wrong_figure("the cost of the day", replayed.day.cost, total)
    return judge("cost", problems, f"all tours add up to {total:.9g}")


def _check_capacity(replayed: ReplayedDay) -> ClaimVerdict:
    """No vehicle needs more room than it has, were every stop the largest order of its class."""
    capacity, most, problems = replayed.day.terms.capacity, 0, []
    for each in replayed.tours:
        load = sum(replayed.needs[stop].demand for stop in each.tour.stops if stop in replayed.needs)
        most = max(most, load)
        if capacity is not None and load > capacity:
            problems.append(f"{each.name} needs room for {load}, and has {capacity}")
    room = "room is not bounded" if capacity is None else f"{capacity} fit in"
    return judge("capacity", problems, f"the fullest vehicle needs room for {most}; {room}")


def _schedule(replayed: ReplayedDay, each: ReplayedTour) -> tuple[list[float], float]:
    """When stops begin and the vehicle leaves by the rule: home as early as can be, and no leaving before one must.

    Where nothing depends on the clock, it leaves when vehicles may.
    """
    terms, tour = replayed.day.terms, each.tour
    legs = _legs(replayed, each)
    needs = [replayed.needs[stop] for stop in tour.stops]
    begins, clock = [], terms.depart_s
    for leg, need in zip(legs, needs, strict=False):
        begins.append(max(clock + leg, need.opens_s))
        clock = begins[-1] + need.service_s
    if not replayed.has_deadlines:
        return begins, terms.depart_s
    ahead = begins[-1]
    for at in reversed(range(len(begins) - 1)):
        ahead = max(begins[at], min(ahead - legs[at + 1] - needs[at].service_s, needs[at].closes_s))
        begins[at] = ahead
    return begins, max(terms.depart_s, begins[0] - legs[0])


def _legs(replayed: ReplayedDay, each: ReplayedTour) -> list[float]:
    """Seconds from the start to the first stop, from stop to stop, and from the last one to the end."""
    per_cost = replayed.day.terms.seconds_per_cost or 0.0
    reached = [0.0, *(each.reached[place] for place in each.tour.positions), each.reached[-1]]
    return [(there - here) * per_cost for here, there in pairwise(reached)]


def _check_times(replayed: ReplayedDay) -> ClaimVerdict:
    """Stops begin when a vehicle can be there, all of a class take as long, and nobody waits without reason."""
    terms, problems = replayed.day.terms, []
    if terms.seconds_per_cost is None:
        problems = [f"{each.name} has times, and nobody knows how fast it is" for each in replayed.tours
                    if each.tour.seconds is not None]  # fmt: skip
        return judge("times", problems, "none are stated: nobody knows how fast vehicles are")
    num = 0
    for each in replayed.driven:
        tour, legs = each.tour, _legs(replayed, each)
        if tour.seconds is None or tour.departs_s is None or len(tour.begins_s) != len(tour.stops):
            problems.append(f"{each.name} has no times")
            continue
        problems += _impossible(replayed, each, legs)
        home = tour.begins_s[-1] + replayed.needs[tour.stops[-1]].service_s + legs[-1]
        if abs(home - tour.departs_s - tour.seconds) > _ROUNDING_S:
            stated, real = (duration_text(seconds) for seconds in (tour.seconds, home - tour.departs_s))
            problems.append(f"{each.name} is said to be on its way for {stated}, and is for {real}")
        begins, departs = _schedule(replayed, each)
        if not problems:
            odd = [at for at, due in enumerate(begins) if abs(due - tour.begins_s[at]) > _ROUNDING_S]
            if odd:
                late = tour.begins_s[odd[0]] - begins[odd[0]]
                off = f"{duration_text(abs(late))} {'later' if late > 0 else 'earlier'}"
                where = replayed.name(tour.stops[odd[0]])
                problems.append(f"{each.name} waits otherwise than by the rule: it begins at {where} {off}")
            elif abs(departs - tour.departs_s) > _ROUNDING_S:
                problems.append(f"{each.name} leaves at {clock_text(tour.departs_s)} instead of {clock_text(departs)}")
        num += len(tour.stops)
    return judge("times", problems, f"{number(num, 'stop')} timed again; nobody waits but by the rule")


def _impossible(replayed: ReplayedDay, each: ReplayedTour, legs: Sequence[float]) -> Iterator[str]:
    """Stops that begin before the vehicle can be there, and a departure before vehicles may leave."""
    clock = each.tour.departs_s or 0.0
    if clock < replayed.day.terms.depart_s - _ROUNDING_S:
        yield f"{each.name} leaves at {clock_text(clock)}, before vehicles may"
    for stop, begins, leg in zip(each.tour.stops, each.tour.begins_s, legs, strict=False):
        if begins < clock + leg - _ROUNDING_S:
            early = f"{duration_text(clock + leg - begins)} before it can be there"
            yield f"{each.name} begins at {replayed.name(stop)} at {clock_text(begins)}, {early}"
        clock = begins + replayed.needs[stop].service_s


def _check_windows(replayed: ReplayedDay) -> ClaimVerdict:
    """No stop begins before its customer opens or after it closes."""
    problems, num = [], 0
    for each in replayed.driven:
        for stop, begins in zip(each.tour.stops, each.tour.begins_s, strict=False):
            need = replayed.needs[stop]
            num += bool(need.opens_s) or need.closes_s < math.inf
            if begins < need.opens_s - _ROUNDING_S:
                opens = clock_text(need.opens_s)
                problems.append(f"{each.name} begins at {replayed.name(stop)} before it opens at {opens}")
            if begins > need.closes_s + _ROUNDING_S:
                closes = clock_text(need.closes_s)
                problems.append(f"{each.name} begins at {replayed.name(stop)} after it closes at {closes}")
    return judge("windows", problems, f"{number(num, 'window')} met" if num else "no stop has one")


def _check_shift(replayed: ReplayedDay) -> ClaimVerdict:
    """No vehicle is on its way for longer than a shift."""
    shift, problems, most = replayed.day.terms.shift_s, [], 0.0
    for each in replayed.driven:
        tour = each.tour
        if tour.departs_s is None or len(tour.begins_s) != len(tour.stops):
            continue
        home = tour.begins_s[-1] + replayed.needs[tour.stops[-1]].service_s + _legs(replayed, each)[-1]
        most = max(most, home - tour.departs_s)
        if shift is not None and home - tour.departs_s > shift + _ROUNDING_S:
            long = duration_text(home - tour.departs_s)
            problems.append(f"{each.name} is on its way for {long}, and may be for {duration_text(shift)}")
    bound = "shifts are not bounded" if shift is None else f"{duration_text(shift)} are allowed"
    longest = f"the longest tour takes {duration_text(most)}; " if most else ""
    return judge("shift", problems, longest + bound)


def _check_optimality(replayed: ReplayedDay) -> ClaimVerdict:
    """What the status says: where no tours are said to be cheaper, all are tried."""
    if replayed.day.status == "feasible":
        return judge("optimality", [], "none claimed: the status is 'feasible'")
    stops = list(replayed.needs)
    if len(stops) > _MOST_TRIED:
        reason = f"{len(stops)} stops are too many to try all tours"
        return judge("optimality", [], f"optimal by the dispatcher's word: {reason}", checked=False)
    least = _least_cost(replayed, stops)
    if least is None:
        reason = "the map is too large to try all tours"
        return judge("optimality", [], f"optimal by the dispatcher's word: {reason}", checked=False)
    if is_same(replayed.day.cost, least):
        return judge("optimality", [], f"optimal; re-proved: every way to share {len(stops)} stops out was tried")
    has_windows = any(need.opens_s or need.closes_s < math.inf for need in replayed.needs.values())
    if least < replayed.day.cost and (has_windows or replayed.day.terms.shift_s is not None):
        reason = f"{least:.9g} is possible where nothing depends on the clock"
        return judge("optimality", [], f"optimal by the dispatcher's word: {reason}", checked=False)
    side = "cheaper than any tours are" if least > replayed.day.cost else "not optimal"
    return judge("optimality", [f"{side}: the least is {least:.9g}, this day costs {replayed.day.cost:.9g}"], "")


def _least_cost(replayed: ReplayedDay, stops: Sequence[Label]) -> float | None:
    """What the cheapest tours past some stops cost that keep to the room; ``None`` where that is too much to try.

    By the cheapest tour of each kind of vehicle past each set of stops, and then by who may take which set.
    """
    vans = [(replayed.node(van.start), None if van.goal is None else replayed.node(van.goal), van.goal is None)
            for van in replayed.day.terms.vans]  # fmt: skip
    kinds = list(dict.fromkeys(vans))
    starts = [start for start, _, _ in kinds if start is not None]
    nodes = [node for node in map(replayed.node, stops) if node is not None]
    if len(starts) < len(kinds) or len(nodes) < len(stops):
        return None
    ground, begins = replayed.walking, starts
    at_node: Sequence[Sequence[int]] = [[node] for node in range(ground.num_nodes)]
    if replayed.rules is not None:
        legal = legal_map(replayed.rules, [(start,) for start in starts])
        ground, begins, at_node = legal.walking, list(legal.begins), legal.at_node
    owners = [at for at, node in enumerate(nodes) for _ in at_node[node]]
    posts = [state for node in nodes for state in at_node[node]]
    if (len(posts) + 2 * len(kinds)) * ground.num_nodes > _MOST_SWEPT:
        return None

    def sweep(seeds: Sequence[int], *, backwards: bool = False) -> Floats:
        return np.array(ground.distances([(seed, 0) for seed in seeds], backwards=backwards))[posts]

    between = np.array([sweep([post]) for post in posts]).reshape(len(posts), len(posts))
    own = [np.flatnonzero(np.array(owners) == at) for at in range(len(stops))]
    tables = []
    for begin, (_, goal, is_open) in zip(begins, kinds, strict=True):
        ends = np.zeros(len(posts)) if is_open or goal is None else sweep(list(at_node[goal]), backwards=True)
        tables.append(_tour_costs(sweep([begin]), between, ends, own))
    room = replayed.day.terms.capacity
    loads = [sum(replayed.needs[stop].demand for at, stop in enumerate(stops) if mask >> at & 1)
             for mask in range(1 << len(stops))]  # fmt: skip
    best: Floats = np.full(len(loads), np.inf)
    best[0] = 0.0
    for kind in (kind for kind, num in Counter(vans).items() for _ in range(min(num, len(stops)))):
        table, before = tables[kinds.index(kind)], best.copy()
        for part in range(1, len(loads)):
            if room is None or loads[part] <= room:
                rest = [mask for mask in range(len(loads)) if not mask & part]
                joined = [mask | part for mask in rest]
                best[joined] = np.minimum(best[joined], before[rest] + table[part])
    return float(best[-1])


def _tour_costs(first: Floats, between: Floats, last: Floats, own: Sequence[np.ndarray]) -> Floats:
    """What the cheapest tour past each set of stops costs; ``own`` has the posts of each."""
    ways: Floats = np.full((1 << len(own), len(first)), np.inf)
    for at, posts in enumerate(own):
        ways[1 << at, posts] = first[posts]
    for mask in range(1, len(ways)):
        for at, posts in enumerate(own):
            if not mask >> at & 1:
                ahead = (ways[mask][:, None] + between[:, posts]).min(axis=0)
                grown = ways[mask | 1 << at]
                grown[posts] = np.minimum(grown[posts], ahead)
    return np.asarray((ways + last).min(axis=1, initial=np.inf))
