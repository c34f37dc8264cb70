"""The check of a replanned day: where a vehicle has broken down or a road is closed, with the auditor's own code.

It must go on from what was driven by the day before it, visit everybody of the touched classes who is left, by walks on
the map without the closed roads, keep capacities and times, and say truly who is not visited any more and which classes
fall short by that. Nothing here knows how it was planned.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

from veilroute.auditing.apartness import Spread
from veilroute.auditing.changes import ChangedMap
from veilroute.auditing.legality import legal_map
from veilroute.auditing.pricing import price_walks
from veilroute.auditing.replay import is_same, wrong_figure
from veilroute.auditing.survey import measure_trip, survey_problem
from veilroute.auditing.verdicts import ClaimVerdict, judge, names, number
from veilroute.auditing.walking import TooMuchError
from veilroute.domain.graph import Label
from veilroute.model.closure import GIVE_UP
from veilroute.model.day import Customer, Day, Tour, clock_text
from veilroute.model.day_state import BROKEN, FIT, Shortage, Stand, Underway
from veilroute.model.playbook import Playbook

_ROUNDING_S = 1e-3
_EFFORT = 3e7
_MOST_PRICED = 10

_GOOD = {
    "binding": "goes on from that day, of this playbook, by the same terms",
    "begins": "every vehicle has driven the beginning of its tour",
    "complete": "everybody of the touched classes is visited once, but for those dropped",
    "dropped": "no open road leads to those dropped, or their class is given up",
    "promise": "the classes that fall short are as stated",
    "walk": "walks on the changed map from where the vehicles are to the ends of their days",
    "turns": "no turn is illegal on the changed map",
    "cost": "costs add up",
    "capacity": "nobody takes more than it has room for",
    "times": "times are possible",
    "optimal": "as stated",
}


def audit_underway(playbook: Playbook, earlier: Day, day: Day) -> tuple[ClaimVerdict, ...]:
    """Check the rest of a day against the day that it goes on from, one verdict for each topic."""
    after = day.after
    problems = ["is no day that goes on from another"] if after is None else _unbound(playbook, earlier, day, after)
    if problems or after is None:
        return (judge("binding", problems, ""),)
    check = _Check(playbook, earlier, day, after)
    if check.map.unknown:
        return (judge("binding", [f"closes {check.map.unknown}, which is no road of the map"], ""),)
    lost = [name for name, stand, _, _ in check._vans() if check._nodes(stand.walked) is None]
    if lost:
        return (judge("binding", [f"{name} is where no map is" for name in lost], ""),)
    topics = {name: list(getattr(check, f"_{name}")()) for name in _GOOD if name != "binding"}
    shown = _GOOD | ({} if not check.notes else {"times": "times are possible; late: " + "; ".join(check.notes)})
    verdicts = [judge(name, found, shown[name]) for name, found in topics.items() if name != "optimal"]
    last = judge("optimal", topics["optimal"], shown["optimal"], checked=check.is_priced or day.status != "optimal")
    return (judge("binding", [], _GOOD["binding"]), *verdicts, last)


def _unbound(playbook: Playbook, earlier: Day, day: Day, after: Underway) -> list[str]:
    """Why a day is not the rest of another."""
    problems = []
    if not day.playbook == earlier.playbook == playbook.sha256:
        problems.append("a day of another playbook")
    if after.earlier != hashlib.sha256(earlier.to_json()).hexdigest():
        problems.append("goes on from another day")
    if day.terms.to_dict() != earlier.terms.to_dict() or day.touched != earlier.touched:
        problems.append("has other terms, or touches other classes")
    if earlier.after is not None and after.closure != after.closure.with_earlier(earlier.after.closure):
        problems.append("opens again what was closed before")
    hidden = sum(group.anonymized for group in playbook.classes)
    if not all(1 <= group <= hidden for group in day.touched):
        problems.append("touches classes that there are not")
    if not len(after.stands) == len(day.tours) == len(earlier.tours) == len(day.terms.vans):
        problems.append("has other vehicles")
    return problems


class _Check:
    """One replanned day, on the map as it has changed."""

    def __init__(self, playbook: Playbook, earlier: Day, day: Day, after: Underway) -> None:
        self.playbook, self.earlier, self.day, self.after = playbook, earlier, day, after
        self.survey = survey_problem(playbook.problem)
        self.map = ChangedMap(self.survey, after.closure)
        groups = [group for group in playbook.classes if group.anonymized]
        self.members = {at: groups[at - 1].members for at in day.touched}
        self.class_of = {label: at for at, members in self.members.items() for label in members}
        self.done = [label for stand in after.stands for label in stand.done]
        self.is_priced = False
        self.notes: list[str] = []

    def _vans(self) -> Iterator[tuple[str, Stand, Tour, Label | None]]:
        for at, (stand, tour, van) in enumerate(
            zip(self.after.stands, self.day.tours, self.day.terms.vans, strict=True)
        ):
            yield f"vehicle {at + 1}", stand, tour, van.goal

    def _nodes(self, labels: Sequence[Label]) -> list[int] | None:
        found = [self.survey.node(label) for label in labels]
        nodes = [node for node in found if node is not None]
        return nodes if len(nodes) == len(found) else None

    def _begins(self) -> Iterator[str]:
        before = self.earlier.after
        for at, (name, stand, _, _) in enumerate(self._vans()):
            tour, start = self.earlier.tours[at], self.day.terms.vans[at].start
            past = Stand((start,), ()) if before is None else before.stands[at]
            place = len(stand.walked) - len(past.walked)
            planned = (*past.walked[:-1], *tour.route[: place + 1]) if tour.route else past.walked
            if place < 0 or self._nodes(stand.walked) is None or self._nodes(stand.walked) != self._nodes(planned):
                yield f"{name} has not walked that by its tour"
                continue
            if past.state == BROKEN and stand != past:
                yield f"{name} had broken down, and goes on"
                continue
            made = len(stand.done) - len(past.done)
            least, most = (sum(own <= last for own in tour.positions) for last in (place - 1, place))
            if stand.done != (*past.done, *tour.stops[:made]) or not least <= made <= most:
                yield f"{name} has not made these stops by then"
            has_times = self.day.terms.seconds_per_cost is not None
            left = past.departed_s if past.departed_s is not None else tour.departs_s
            if (stand.ready_s is None) == has_times or stand.departed_s not in (left, None):
                yield f"{name} has times where there are none, or others than planned"
            if stand.is_away and has_times and stand.departed_s is None:
                yield f"{name} is away and never left"
            soonest = (past.ready_s if past.is_away else self.day.terms.depart_s) or 0.0
            if stand.is_away and has_times and (stand.ready_s or 0.0) < soonest - _ROUNDING_S:
                yield f"{name} is ready before it was on its way"

    def _complete(self) -> Iterator[str]:
        stops = [label for tour in self.day.tours for label in tour.stops]
        visited = [*self.done, *stops]
        if len(set(visited)) < len(visited):
            yield f"visits twice: {names(dict.fromkeys(label for label in visited if visited.count(label) > 1))}"
        if strangers := [label for label in visited if label not in self.class_of]:
            yield f"visits who is in no touched class: {names(strangers)}"
        gone = {*visited, *self.after.dropped}
        if missing := [label for label in self.class_of if label not in gone]:
            yield f"visits nobody of: {names(missing)}"
        for name, stand, tour, _ in self._vans():
            if stand.state != FIT and (tour.stops or tour.route):
                yield f"{name} is {stand.state}, and drives"
            if taken := [label for label in tour.stops if not self._may_visit(stand, label)]:
                yield f"{name} takes over who is another's: {names(taken)}"

    def _may_visit(self, stand: Stand, label: Label) -> bool:
        """Whether a vehicle may visit a customer: where all keep theirs, only its own and those of who stays."""
        owner = self._owner.get(label)
        return not self.after.keep or owner is None or owner is stand or owner.state != FIT

    @cached_property
    def _owner(self) -> dict[Label, Stand]:
        """Who had each customer by the day before."""
        return {
            label: stand
            for stand, tour in zip(self.after.stands, self.earlier.tours, strict=True)
            for label in tour.stops
        }

    @cached_property
    def _reach(self) -> tuple[set[Label], list[bool]]:
        """The members that some vehicle can still visit and then end its day; and which vehicles can end it at all."""
        rules, found, can_end = self.map.rules, set[Label](), []
        histories = [tuple(self._nodes(stand.walked) or ()) for _, stand, _, _ in self._vans()]
        legal = None if rules is None else legal_map(rules, histories)
        ground = self.map.walking if legal is None else legal.walking
        for at, (_, stand, _, goal) in enumerate(self._vans()):
            begin = histories[at][-1] if legal is None else legal.begins[at]
            there = ground.distances([(begin, 0)])
            home = [0.0] * len(there)
            if goal is not None and (node := self.survey.node(goal)) is not None:
                ends = [node] if legal is None else legal.states_at([node])
                home = ground.distances([(end, 0) for end in ends], backwards=True)
            is_open = histories[at][-1] not in self.map.shut
            can_end.append(home[begin] < math.inf and is_open)
            if stand.state != FIT or not can_end[-1]:
                continue
            for label in self.class_of:
                place = self.survey.node(label)
                states = [] if place is None else [place] if legal is None else legal.states_at([place])
                if self._may_visit(stand, label) and any(there[at] + home[at] < math.inf for at in states):
                    found.add(label)
        return found, can_end

    @cached_property
    def _gone(self) -> tuple[Label, ...]:
        """The members who cannot be visited any more, whatever was chosen; in the order of the classes."""
        reach, _ = self._reach
        before = () if self.earlier.after is None else self.earlier.after.dropped
        return tuple(
            label for label in self.class_of if label not in self.done and (label in before or label not in reach)
        )

    def _dropped(self) -> Iterator[str]:
        given_up = {each.number for each in self.after.short if each.choice == GIVE_UP}
        wanted = {label for label, at in self.class_of.items() if label not in self.done and at in given_up} | set(
            self._gone
        )
        if set(self.after.dropped) != wanted or len(wanted) != len(self.after.dropped):
            yield f"drops {names(self.after.dropped) or 'nobody'}, where it is {names(wanted) or 'nobody'}"
        for (name, stand, _, _), can_end in zip(self._vans(), self._reach[1], strict=True):
            if stand.state != BROKEN and can_end != (stand.state == FIT):
                yield f"{name} is {stand.state}, which is not so"

    def _promise(self) -> Iterator[str]:
        rule = Spread(self.survey, self.playbook.privacy)
        known = {} if self.earlier.after is None else {each.number: each for each in self.earlier.after.short}
        stated = {each.number: each for each in self.after.short}
        if (
            list(stated) != sorted(stated)
            or len(stated) < len(self.after.short)
            or not stated.keys() <= self.members.keys()
        ):
            yield "lists classes that are not touched, or not in order"
        for at, members in self.members.items():
            if at in known and known[at].choice == GIVE_UP:
                real: Shortage | None = known[at]
            else:
                left = tuple(label for label in members if label not in self._gone)
                visited = tuple(label for label in left if label in self.done)
                is_whole = len(left) == len(members) and not self.after.closure.costs
                real = None if is_whole or self._keeps(rule, left) else Shortage(at, left, visited, "")
                if real is not None and at in stated:
                    real = replace(real, choice=stated[at].choice)
            if stated.get(at) != real:
                real_text = "keeps its promise" if real is None else f"is left with {names(real.going_on) or 'nobody'}"
                yield f"class {at} {real_text}, and that is not stated"

    def _keeps(self, rule: Spread, left: Sequence[Label]) -> bool:
        found = [self.survey.find(label) for label in left]
        masses = {c: self.survey.prior.get(c, 0.0) for c in found if c is not None}
        return len(masses) == len(found) and self.map.keeps(self.playbook, rule, masses)

    def _walk(self) -> Iterator[str]:
        for name, stand, tour, goal in self._vans():
            nodes, here = self._nodes(tour.route), self.survey.node(stand.at)
            if nodes is None or self._nodes(tour.stops) is None:
                yield f"{name} drives where no map is"
                continue
            end = None if goal is None else self.survey.node(goal)
            if not nodes:
                if tour.stops or (stand.state == FIT and stand.is_away and end is not None and here != end):
                    yield f"{name} has no way to the end of its day"
                continue
            if nodes[0] != here:
                yield f"{name} does not begin where it is"
            if end is None:
                end = self.survey.node(tour.stops[-1]) if tour.stops else here
            if nodes[-1] != end:
                yield f"{name} does not end where its day does"
            places = [nodes[place] if place < len(nodes) else None for place in tour.positions]
            if (
                len(places) != len(tour.stops)
                or places != self._nodes(tour.stops)
                or list(tour.positions) != sorted(tour.positions)
            ):
                yield f"{name} is not at its stops when it says so"
            for place, (tail, head) in enumerate(pairwise(nodes)):
                if self.map.step(tail, head) is None:
                    yield f"{name}: no open road leads from {tour.route[place]} to {tour.route[place + 1]}"
                    break

    def _turns(self) -> Iterator[str]:
        rules = self.map.rules
        for name, stand, tour, _ in self._vans():
            walked, ahead = self._nodes(stand.walked), self._nodes(tour.route[1:])
            if rules is not None and walked is not None and ahead is not None:
                illegal = rules.describe((*walked, *ahead), len(walked))
                if illegal:
                    yield f"{name} {illegal}"

    def _reached(self, stand: Stand, tour: Tour) -> list[float]:
        """What it costs to each node of a tour; infinite from where no road leads."""
        walked, ahead, rules = self._nodes(stand.walked) or [], self._nodes(tour.route[1:]) or [], self.map.rules
        whole, reached = [*walked, *ahead], [0.0]
        for last in range(len(walked), len(whole)):
            step = self.map.step(whole[last - 1], whole[last])
            extra = 0.0 if rules is None else rules.extra_cost(tuple(whole[: last + 1][-3:]))
            reached.append(reached[-1] + (math.inf if step is None else step + extra))
        return reached

    def _cost(self) -> Iterator[str]:
        for name, stand, tour, _ in self._vans():
            real = self._reached(stand, tour)[-1] if tour.route else 0.0
            if real < math.inf:
                yield from (f"{name}: {problem}" for problem in wrong_figure("cost", tour.cost, real))
        yield from wrong_figure("the cost of all", self.day.cost, math.fsum(tour.cost for tour in self.day.tours))

    def _customer(self, label: Label) -> Customer:
        return self.day.terms.customers.get(label, Customer())

    def _largest(self, label: Label, what: str, usual: float) -> float:
        """The largest demand, or the longest service, of the class of a member."""
        own = [getattr(self._customer(member), what) for member in self.members[self.class_of[label]]]
        return max(usual if each is None else each for each in own)

    def _capacity(self) -> Iterator[str]:
        terms = self.day.terms
        for name, stand, tour, _ in self._vans():
            known = [label for label in (*stand.done, *tour.stops) if label in self.class_of]
            load = sum(self._largest(label, "demand", terms.demand) for label in known)
            if terms.capacity is not None and tour.stops and load > terms.capacity:
                yield f"{name} takes {load:g}, and has room for {terms.capacity}"

    def _times(self) -> Iterator[str]:
        terms, is_late = self.day.terms, self.after.late
        per_cost = terms.seconds_per_cost
        for name, stand, tour, _ in self._vans():
            if per_cost is None or not tour.route:
                if tour.begins_s or tour.departs_s is not None or tour.seconds is not None:
                    yield f"{name} has times where there are none"
                continue
            reached, ready = self._reached(stand, tour), stand.ready_s or 0.0
            if tour.departs_s is None or tour.seconds is None or len(tour.begins_s) != len(tour.stops):
                yield f"{name} has no times"
                continue
            if stand.is_away and not math.isclose(tour.departs_s, ready, abs_tol=_ROUNDING_S):
                yield f"{name} does not go on when it can"
            if tour.departs_s < max(ready, terms.depart_s) - _ROUNDING_S:
                yield f"{name} leaves before it can"
            free, base = tour.departs_s, 0.0
            for label, place, begin in zip(tour.stops, tour.positions, tour.begins_s, strict=True):
                if label not in self.class_of or place >= len(reached):
                    continue  # said elsewhere
                arrives = free + (reached[place] - base) * per_cost
                opens, closes = self._customer(label).opens_s or 0.0, self._customer(label).closes_s
                soonest = max(arrives, opens)
                if begin < soonest - _ROUNDING_S or (stand.is_away and begin > soonest + _ROUNDING_S):
                    yield f"{name} cannot begin at {self.playbook.name(label)} at {clock_text(begin)}"
                if closes is not None and begin > closes + _ROUNDING_S:
                    text = f"{self.playbook.name(label)} by {begin - closes:.0f} s"
                    if is_late:
                        self.notes.append(text)
                    else:
                        yield f"{name} comes too late to {text}"
                free, base = begin + self._largest(label, "service_s", terms.service_s), reached[place]
            home = free + (reached[-1] - base) * per_cost
            if not is_same(home - tour.departs_s, tour.seconds, 1.0):
                yield f"{name} is home {home - tour.departs_s:.9g} s after it leaves, not {tour.seconds:.9g}"
            left = tour.departs_s if stand.departed_s is None else stand.departed_s
            over = 0.0 if terms.shift_s is None else home - left - terms.shift_s
            if over > _ROUNDING_S:
                if is_late:
                    self.notes.append(f"{name} is home {over:.0f} s after its shift")
                else:
                    yield f"{name} is home {over:.0f} s after its shift"

    def _optimal(self) -> Iterator[str]:
        """Where it is said that nothing is cheaper: a single vehicle past a few, by prices of the auditor's own."""
        fit = [(stand, tour, goal) for _, stand, tour, goal in self._vans() if stand.state == FIT]
        if self.day.status != "optimal" or len(fit) != 1 or not fit[0][1].stops:
            return
        stand, tour, goal = fit[0]
        candidates = [self.survey.find(label) for label in tour.stops]
        walked, end = self._nodes(stand.walked), self.survey.node(goal)
        if goal is None or len(candidates) > _MOST_PRICED or None in candidates or walked is None or end is None:
            return
        chosen = [c for c in candidates if c is not None]
        legal = None if self.map.rules is None else legal_map(self.map.rules, [tuple(walked)])
        # A customer is visited at its own node, whatever is seen from where.
        watchers = {c: frozenset([node]) for c, node in self.survey.nodes.items()}
        survey = replace(self.survey, walking=self.map.walking, legal=legal, watchers=watchers)
        begin = walked[-1] if legal is None else legal.begins[0]
        survey = replace(survey, trips=(measure_trip(survey, walked[-1], end, begin, ()),))
        try:
            least = price_walks(survey, survey.trips[0], chosen, _EFFORT)[-1]
        except TooMuchError:
            return
        self.is_priced = True
        if not is_same(least, tour.cost):
            yield f"{least:.9g} is the cheapest past {number(len(chosen), 'customer')}"
